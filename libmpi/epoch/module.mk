# SPDX-License-Identifier: BSD-2-Clause
# A process of a cluster that goes on, started by mpispd; built by ../module.mk.
$(call lmpi_room,epoch,ENGINE,transport boot engine)

$(call unit,test_lmpi_epoch,test/unit/test_lmpi_epoch.c,lmpi_engine)
UNITS_THREADED += $(B)/test/unit/test_lmpi_epoch
