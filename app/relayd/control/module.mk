$(call room,control,circuits jobs rpc figures datapath gateway mail loop host,rdconf rdnet rdctl gateway relay impi light seal suci rddpdk base,libdpdk libbsd)
