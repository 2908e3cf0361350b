$(call prog,obsim,tools/obsim/obsim.c,ocs base,,-lm -lbsd)
