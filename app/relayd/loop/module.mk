# SPDX-License-Identifier: BSD-2-Clause
$(call room,loop,host,rdconf seal rddpdk process base,libdpdk libbsd)
$(call room_unit,test_rd_link,loop,app/relayd/loop/link.c,rdconf sucaead suci seal rddpdk base,libdpdk libbsd)
