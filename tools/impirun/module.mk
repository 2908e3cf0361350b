$(call prog,impirun,tools/impirun/impirun.c,impi base,libbsd-overlay)
