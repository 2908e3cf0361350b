$(call prog,impirun,tools/impirun/impirun.c tools/launch/place.c,impi base,libbsd-overlay)
