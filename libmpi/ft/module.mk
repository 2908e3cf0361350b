# SPDX-License-Identifier: BSD-2-Clause
# Failures as errors: MPIX_ calls; built by ../module.mk.
$(call lmpi_room,ft,SURFACE,comms coll objects engine)
