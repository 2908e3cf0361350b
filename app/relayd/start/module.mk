# SPDX-License-Identifier: BSD-2-Clause
$(call room,start,rpc reload control circuits jobs figures datapath gateway mail loop host,rdconf rdnet rdctl gateway relay impi light sucaead seal suci rddpdk process base,libdpdk libbsd)
$(call room_unit,test_rd_advice,start,app/relayd/start/advice.c,rdconf base,jansson libbsd)
$(call room_unit,test_rd_pci,start,app/relayd/start/check_pci.c,rdconf base,jansson libbsd)
$(call room_unit,test_rd_sorting,start,app/relayd/start/sorting.c,rdconf rddpdk base,libdpdk jansson libbsd)
