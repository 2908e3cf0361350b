# SPDX-License-Identifier: BSD-2-Clause
$(call room,reload,jobs circuits datapath mail loop host,rdconf rdnet rdctl relay impi light sucaead seal suci rddpdk base,libdpdk libbsd)
$(call room_unit,test_rd_channel_keys,reload,app/relayd/reload/channel_keys.c app/relayd/datapath/keys.c,rdconf relay impi sucaead suci seal base,)
