# SPDX-License-Identifier: BSD-2-Clause
$(call room,figures,mail loop host datapath gateway circuits,rdconf rdnet gateway relay light seal suci rddpdk base,libdpdk libbsd)
$(call room_unit,test_rd_nics,figures,app/relayd/figures/nics.c app/relayd/figures/nic_reset.c app/relayd/mail/mail.c app/relayd/mail/post.c app/relayd/host/wake.c app/relayd/host/log.c app/relayd/host/service.c,rdconf rdnet relay impi suci rddpdk base,libdpdk libbsd)
