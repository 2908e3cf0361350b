$(call room,rpc,control circuits jobs datapath gateway host,rdconf rdnet rdctl gateway relay impi light circ ocs coll seal suci rddpdk base,libdpdk libbsd)
