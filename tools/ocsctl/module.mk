$(call prog,ocsctl,$(wildcard tools/ocsctl/*.c),ocsdrv ocsproto ocs base,libbsd)
