# SPDX-License-Identifier: BSD-2-Clause
$(call prog,mpitrace,tools/mpitrace/mpitrace.c tools/mpitrace/read.c,base,libbsd-overlay)
$(call fuzz,fuzz_mpitrace,test/fuzz/fuzz_mpitrace.c tools/mpitrace/read.c,)
