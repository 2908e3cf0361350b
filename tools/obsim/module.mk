# SPDX-License-Identifier: BSD-2-Clause
OBSIM := tools/obsim/call.c tools/obsim/replay.c tools/obsim/play.c tools/obsim/trace.c tools/obsim/mpi.c tools/obsim/match.c tools/obsim/model.c tools/mpitrace/read.c
$(call prog,obsim,tools/obsim/obsim.c libmpi/coll/rules.c $(OBSIM),lmpiknobs circ ocs coll base,,-lm -lbsd)
$(call fuzz,fuzz_obsim_trace,test/fuzz/fuzz_obsim_trace.c $(OBSIM),circ ocs coll base)
$(call fuzz,fuzz_lmpi_rules,test/fuzz/fuzz_lmpi_rules.c libmpi/coll/rules.c,lmpiknobs coll base)
$(call unit,test_lmpi_rules,test/unit/test_lmpi_rules.c libmpi/coll/rules.c,lmpiknobs coll base)
$(call unit,test_obsim,test/unit/test_obsim.c $(filter-out tools/obsim/obsim.c,$(OBSIM)),circ ocs coll base)
$(call unit,test_obsim_model,test/unit/test_obsim_model.c tools/obsim/model.c,circ ocs coll base)
