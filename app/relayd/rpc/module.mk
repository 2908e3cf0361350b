# SPDX-License-Identifier: BSD-2-Clause
$(call room,rpc,reload jobs figures circuits datapath gateway mail loop host,rdconf rdnet rdctl gateway relay impi light circ ocs coll sucaead seal suci rddpdk base,libdpdk libbsd)
