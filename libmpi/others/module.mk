# SPDX-License-Identifier: BSD-2-Clause
# Where other jobs are met, and started; built by ../module.mk.
$(call lmpi_room,others,ENGINE,transport boot engine)

$(call unit,test_lmpi_port,test/unit/test_lmpi_port.c,lmpi_engine,,-Xlinker --wrap=lmpi_wait_until)
$(call unit,test_lmpi_guests,test/unit/test_lmpi_guests.c,lmpi_engine)
