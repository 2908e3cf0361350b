# SPDX-License-Identifier: BSD-2-Clause
# An I/O process that hoards, for test/smoke/pipeline-nodes.sh.
$(call testprog,hoarder,test/smoke/hoarder.c tools/mpisp-io/mpisp-io.c,spxrun spx datagram tunefile sucaead sucudp doorclient relayproto door suci tune lmpiknobs base,,-lpthread -Xlinker --wrap=spx_on_message)
CFLAGS_test/smoke/hoarder.c := -I.
