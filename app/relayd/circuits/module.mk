# SPDX-License-Identifier: BSD-2-Clause
$(call room,circuits,mail loop host,rdconf relay impi light ocsdrv ocs seal suci rddpdk base,libdpdk libbsd)
