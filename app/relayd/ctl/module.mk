# SPDX-License-Identifier: BSD-2-Clause
$(call lib,rdctl,app/relayd/ctl,base,jansson)
$(call unit,test_rd_advise,test/unit/test_rd_advise.c,rdctl base)
$(call unit,test_rd_filter,test/unit/test_rd_filter.c,rdctl base)
$(call unit,test_rd_rpc,test/unit/test_rd_rpc.c,rdctl base,jansson)
$(call fuzz,fuzz_rd_rpc,test/fuzz/fuzz_rd_rpc.c,rdctl base)
