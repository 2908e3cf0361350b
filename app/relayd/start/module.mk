$(call room,start,rpc reload control circuits jobs figures datapath gateway mail loop host,rdconf rdnet rdctl gateway relay impi light sucaead seal suci rddpdk process base,libdpdk libbsd)
