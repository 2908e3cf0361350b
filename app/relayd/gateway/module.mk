# SPDX-License-Identifier: BSD-2-Clause
$(call room,gateway,datapath mail host,rdconf rdnet gateway relay suci rddpdk base,libdpdk libbsd)
