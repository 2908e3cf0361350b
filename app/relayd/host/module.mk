# SPDX-License-Identifier: BSD-2-Clause
$(call room,host,,rdconf process base,libbsd)
$(call room_unit,test_rd_wake,host,app/relayd/host/wake.c,base,,-pthread)
UNITS_THREADED += $(B)/test/unit/test_rd_wake
