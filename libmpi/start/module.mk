# SPDX-License-Identifier: BSD-2-Clause
# Start and end of a process; built by ../module.mk.
$(call lmpi_room,start,ENGINE,others epoch transport boot engine)

$(call unit,test_lmpi_memory,test/unit/test_lmpi_memory.c,lmpi_surface lmpi_engine)
$(call unit,test_lmpi_procs,test/unit/test_lmpi_procs.c,lmpi_engine)
$(B)/test/unit/test_lmpi_memory.o: | $(LMPI_GEN)/stamp
