# SPDX-License-Identifier: BSD-2-Clause
# server.c needs tools/launch, whose sources a program names itself.
CFLAGS_app/mpispd/pmix/server.c := -Itools/launch
$(call lib,spdpmix,app/mpispd/pmix,base,pmix)
$(call unit,test_spd_fence,test/unit/test_spd_fence.c,spdpmix base,pmix)
$(call testprog,pmix_client,test/smoke/pmix_client.c,,pmix)
