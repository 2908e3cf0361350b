# SPDX-License-Identifier: BSD-2-Clause
$(call room,jobs,circuits mail loop host,rdconf relay impi light sucaead seal suci rddpdk base,libdpdk libbsd)
