# SPDX-License-Identifier: BSD-2-Clause
# Packets to peers; built by ../module.mk.
$(call lmpi_room,transport,ENGINE,boot engine)

$(call unit,test_lmpi_away,test/unit/test_lmpi_away.c,lmpi_engine)
$(call unit,test_lmpi_shm_ring,test/unit/test_lmpi_shm_ring.c,lmpi_engine)
$(call unit,test_lmpi_streams,test/unit/test_lmpi_streams.c,lmpi_engine)
$(call unit,test_lmpi_tcp,test/unit/test_lmpi_tcp.c,lmpi_engine)
$(call unit,test_lmpi_switch,test/unit/test_lmpi_switch.c,lmpi_engine)
$(call unit,test_lmpi_hall,test/unit/test_lmpi_hall.c,lmpi_engine)
UNITS_THREADED += $(B)/test/unit/test_lmpi_shm_ring $(B)/test/unit/test_lmpi_switch
