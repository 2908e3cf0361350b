$(call room,jobs,control circuits datapath gateway host,rdconf rdnet gateway relay impi light sucaead seal suci rddpdk base,libdpdk libbsd)
