# SPDX-License-Identifier: BSD-2-Clause
$(call lib,spdwire,app/mpispd/wire,spclient base)
$(call fuzz,fuzz_spd_wire,test/fuzz/fuzz_spd_wire.c,spdwire spclient base)
