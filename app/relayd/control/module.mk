$(call room,control,circuits jobs rpc datapath gateway host,rdconf rdnet rdctl gateway relay impi light seal suci rddpdk base,libdpdk libbsd)
$(call room_unit,test_rd_link,control,app/relayd/control/link.c,rdconf rdnet light circ ocs coll gateway relay impi sucaead suci seal rddpdk base,libdpdk libbsd)
