# SPDX-License-Identifier: BSD-2-Clause
# The measured optimum: tuner, store of what it found, watch over what is used.  Sans-I/O.
$(call lib,tune,lib/tune,base)
$(call unit,test_tune_tuner,test/unit/test_tune_tuner.c,tune base,,-lm)
$(call unit,test_tune_watch,test/unit/test_tune_watch.c,tune base)
$(call unit,test_tune_caches,test/unit/test_tune_caches.c,tune base)
$(call unit,test_tune_store,test/unit/test_tune_store.c,tune base)
$(call fuzz,fuzz_tune_store,test/fuzz/fuzz_tune_store.c,tune base)
