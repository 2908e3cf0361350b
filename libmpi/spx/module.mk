# Stages of pipelines: MPISP_ calls and special ranks; built by ../module.mk.
$(call lmpi_room,spx,SURFACE,comms coll objects engine)
