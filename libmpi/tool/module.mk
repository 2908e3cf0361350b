# SPDX-License-Identifier: BSD-2-Clause
# What MPI_T shows and sets; built by ../module.mk.
$(call lmpi_room,tool,SURFACE,objects engine)
