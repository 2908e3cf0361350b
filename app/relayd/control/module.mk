# SPDX-License-Identifier: BSD-2-Clause
$(call room,control,circuits jobs reload rpc figures datapath gateway mail loop host,rdconf rdnet rdctl gateway relay impi light sucaead seal suci rddpdk base,libdpdk libbsd)
