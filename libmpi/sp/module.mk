# SPDX-License-Identifier: BSD-2-Clause
# Ranks that went to another process; built by ../module.mk.
$(call lmpi_room,sp,SURFACE,ft comms coll objects engine)
