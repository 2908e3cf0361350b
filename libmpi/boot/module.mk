# SPDX-License-Identifier: BSD-2-Clause
# How a process learns who else is in the job; built by ../module.mk.
$(call lmpi_room,boot,ENGINE,engine)

$(call unit,test_lmpi_boot,test/unit/test_lmpi_boot.c,lmpi_engine)
$(call unit,test_lmpi_join,test/unit/test_lmpi_join.c,lmpi_engine)
$(call unit,test_lmpi_dance,test/unit/test_lmpi_dance.c,lmpi_engine)
UNITS_THREADED += $(B)/test/unit/test_lmpi_dance $(B)/test/unit/test_lmpi_join
$(call fuzz,fuzz_lmpi_blobs,test/fuzz/fuzz_lmpi_blobs.c,lmpi_engine)
