# SPDX-License-Identifier: BSD-2-Clause
$(call room,gateway,datapath mail host,rdconf rdnet gateway relay suci rddpdk process base,libdpdk libbsd)
