# SPDX-License-Identifier: BSD-2-Clause
# The MPI_ surface; built by ../module.mk.
$(call lmpi_room,calls,SURFACE,rma io sp ft spx dyn comms coll objects engine)
