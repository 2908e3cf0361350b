$(call prog,relayctl,tools/relayctl/relayctl.c,,jansson libbsd)
