# The MPI_ surface; built by ../module.mk.
$(call lmpi_room,calls,SURFACE,rma io ft comms coll objects engine)
