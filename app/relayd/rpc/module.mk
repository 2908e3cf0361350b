$(call room,rpc,figures circuits datapath gateway mail loop host,rdconf rdnet rdctl gateway relay impi light circ ocs coll seal suci rddpdk base,libdpdk libbsd)
