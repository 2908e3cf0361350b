# SPDX-License-Identifier: BSD-2-Clause
$(call room,datapath,mail host,rdconf rdnet rdctl relay sucaead suci rddpdk base,libdpdk libbsd)
$(call room_unit,test_rd_frame,datapath,app/relayd/datapath/frame.c,rdnet relay impi suci rddpdk base,libdpdk)
$(call room_unit,test_rd_edge,datapath,app/relayd/datapath/edge.c,rdnet relay impi suci rddpdk base,libdpdk)
$(call room_unit,test_rd_steer,datapath,app/relayd/datapath/steer.c,rdconf rdnet relay impi suci rddpdk base,libdpdk)
$(call room_unit,test_rd_tap,datapath,app/relayd/datapath/tap_io.c app/relayd/mail/mail.c app/relayd/host/wake.c,rdconf rdnet relay impi suci rddpdk base,libdpdk libbsd)
