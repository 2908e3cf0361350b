# SPDX-License-Identifier: BSD-2-Clause
# Failures as errors: who has failed, revoking, agreeing with any number of deaths.  Sans-I/O.
$(call lib,ft,lib/ft,base)

$(call unit,test_ft,test/unit/test_ft.c,ft base)
$(call fuzz,fuzz_ft_frame,test/fuzz/fuzz_ft_frame.c,ft base)
