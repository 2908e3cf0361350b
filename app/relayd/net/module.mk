# SPDX-License-Identifier: BSD-2-Clause
$(call lib,rdnet,app/relayd/net,base)
$(call unit,test_rd_cksum,test/unit/test_rd_cksum.c,rdnet base)
$(call unit,test_rd_packet,test/unit/test_rd_packet.c,rdnet base)
$(call unit,test_rd_packet6,test/unit/test_rd_packet6.c,rdnet base)
$(call unit,test_rd_kernel,test/unit/test_rd_kernel.c,rdnet base)
$(call unit,test_rd_kernel6,test/unit/test_rd_kernel6.c,rdnet base)
$(call unit,test_rd_neigh,test/unit/test_rd_neigh.c,rdnet base)
$(call fuzz,fuzz_rd_packet,test/fuzz/fuzz_rd_packet.c,rdnet base)
