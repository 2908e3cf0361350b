# SPDX-License-Identifier: BSD-2-Clause
# Stages of pipelines: MPISP_ calls and special ranks; built by ../module.mk.
$(call lmpi_room,spx,SURFACE,sp comms coll objects engine)
