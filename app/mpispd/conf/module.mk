# SPDX-License-Identifier: BSD-2-Clause
$(call lib,spdconf,app/mpispd/conf,sp spclient spxagreed spx base,jansson)
$(call unit,test_spd_conf,test/unit/test_spd_conf.c,spdconf spxagreed sp quorum spclient spx base,jansson)
$(call fuzz,fuzz_spd_conf,test/fuzz/fuzz_spd_conf.c,spdconf spxagreed sp quorum spclient spx base)
