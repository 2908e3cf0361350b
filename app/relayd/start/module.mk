$(call room,start,rpc control circuits jobs figures datapath gateway mail loop host,rdconf rdnet rdctl gateway relay impi light sucaead seal suci rddpdk process base,libdpdk libbsd)
$(call room_unit,test_rd_channel_keys,start,app/relayd/start/channel_keys.c,rdconf relay impi sucaead suci seal base,)
