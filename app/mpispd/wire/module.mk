# SPDX-License-Identifier: BSD-2-Clause
$(call lib,spdwire,app/mpispd/wire,spclient seal base)
$(call fuzz,fuzz_spd_wire,test/fuzz/fuzz_spd_wire.c,spdwire spclient base)
$(call fuzz,fuzz_spd_far,test/fuzz/fuzz_spd_far.c,spdwire seal base)
$(call unit,test_spd_far,test/unit/test_spd_far.c,spdwire seal base)
