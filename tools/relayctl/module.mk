$(call prog,relayctl,$(wildcard tools/relayctl/*.c),,jansson libbsd)
