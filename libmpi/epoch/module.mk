# A process of a cluster that goes on, started by mpispd; built by ../module.mk.
$(call lmpi_room,epoch,ENGINE,transport boot engine)
