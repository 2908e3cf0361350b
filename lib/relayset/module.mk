# SPDX-License-Identifier: BSD-2-Clause
# A process and the relays of its cluster: which relay carries what.  Sans-I/O.
$(call lib,relayset,lib/relayset,relayproto suci base)

$(call unit,test_relayset,test/unit/test_relayset.c,relayset)
CFLAGS_test/unit/test_relayset.c := -Ilib/relayset
