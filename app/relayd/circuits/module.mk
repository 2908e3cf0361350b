$(call room,circuits,control datapath gateway host,rdconf rdnet gateway relay impi light ocsdrv ocs seal suci rddpdk base,libdpdk libbsd)
