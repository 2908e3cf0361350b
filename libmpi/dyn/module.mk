# SPDX-License-Identifier: BSD-2-Clause
# Processes that come and go; built by ../module.mk.
$(call lmpi_room,dyn,SURFACE,comms coll objects engine)
