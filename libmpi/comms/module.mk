# Making communicators; built by ../module.mk.
$(call lmpi_room,comms,SURFACE,coll objects engine)
