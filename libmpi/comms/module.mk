# SPDX-License-Identifier: BSD-2-Clause
# Making communicators; built by ../module.mk.
$(call lmpi_room,comms,SURFACE,coll objects engine)
