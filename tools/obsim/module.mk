OBSIM := tools/obsim/call.c tools/obsim/replay.c tools/obsim/trace.c tools/obsim/mpi.c tools/mpitrace/read.c
$(call prog,obsim,tools/obsim/obsim.c tools/obsim/rules.c $(OBSIM),ocs coll base,jansson,-lm -lbsd)
$(call fuzz,fuzz_obsim_trace,test/fuzz/fuzz_obsim_trace.c $(OBSIM),ocs coll base)
