# SPDX-License-Identifier: BSD-2-Clause
$(call lib,rddpdk,driver/dpdk,base,libdpdk)
$(call unit,test_rddpdk_time,test/unit/test_rddpdk_time.c,rddpdk base)
$(call unit,test_rddpdk_poller,test/unit/test_rddpdk_poller.c,rddpdk base,libdpdk)
$(call unit,test_rddpdk_port,test/unit/test_rddpdk_port.c,rddpdk base,libdpdk)
$(call unit,test_rddpdk_sort,test/unit/test_rddpdk_sort.c,rddpdk base,libdpdk)
$(call unit,test_rddpdk_rules,test/unit/test_rddpdk_rules.c,rddpdk base,libdpdk,-Xlinker --wrap=rte_flow_validate -Xlinker --wrap=rte_flow_create -Xlinker --wrap=rte_flow_destroy -Xlinker --wrap=rte_eth_dev_rss_reta_update)
UNITS_THREADED += $(B)/test/unit/test_rddpdk_poller
