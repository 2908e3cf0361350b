$(call room,gateway,datapath host circuits,rdconf rdnet gateway relay light suci rddpdk base,libdpdk libbsd)
