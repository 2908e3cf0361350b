# worker.h has the relay's snapshot, and with it the figures of gateway and circuits.
$(call room,datapath,host gateway circuits,rdconf rdnet rdctl gateway relay light sucaead suci rddpdk base,libdpdk libbsd)
$(call room_unit,test_rd_frame,datapath,app/relayd/datapath/frame.c,rdnet relay impi suci rddpdk base,libdpdk)
$(call room_unit,test_rd_steer,datapath,app/relayd/datapath/steer.c,rdconf rdnet light circ ocs coll gateway relay impi suci rddpdk base,libdpdk)
$(call room_unit,test_rd_tap,datapath,app/relayd/datapath/tap_io.c app/relayd/datapath/mail.c app/relayd/host/wake.c,rdconf rdnet relay impi suci rddpdk base,libdpdk libbsd)
