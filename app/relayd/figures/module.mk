# SPDX-License-Identifier: BSD-2-Clause
$(call room,figures,mail loop host datapath gateway circuits,rdconf rdnet gateway relay light seal suci rddpdk base,libdpdk libbsd)
