# SPDX-License-Identifier: BSD-2-Clause
# Instructions per segment, and per MPI call, under callgrind.
$(call testprog,counted,test/count/count.c,relay impi suci base)
CFLAGS_test/count/count.c := -Itest/unit
COUNTED_ROOMS := datapath mail host
COUNTED_SOURCES := $(foreach r,$(COUNTED_ROOMS),$(wildcard app/relayd/$(r)/*.c))
$(call testprog,counted-worker,test/count/count_worker.c $(COUNTED_SOURCES),rdconf rdnet rdctl relay impi sucaead suci seal rddpdk process base,libdpdk libbsd)
$(eval $(call room_again,../count/count_worker,datapath,$(COUNTED_SOURCES)))
CFLAGS_test/count/count_worker.c := -Itest/unit
$(call testprog,counted-frame,test/count/count_frame.c,rdnet base)

$(B)/test/counted-mpi: test/count/count_mpi.c $(LMPI_ALL)
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICC_CC="$(CC)" $(B)/bin/mpicc -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -o $@ $<

## count         instructions per segment and MPI call (callgrind), at most 10 % above test/count/baseline.json
.PHONY: count count-record
count: $(B)/bin/mpispd $(B)/test/counted $(B)/test/counted-frame $(B)/test/counted-worker $(B)/test/counted-mpi
	@test/count/run $(B) "$(CC)"

## count-record  the same, and take what was counted as the new baseline
count-record: $(B)/bin/mpispd $(B)/test/counted $(B)/test/counted-frame $(B)/test/counted-worker $(B)/test/counted-mpi
	@test/count/run $(B) "$(CC)" --record

## count-beside  mpi-udp and mpi-window by turns with those of another build; OTHER=its directory
.PHONY: count-beside
count-beside: $(B)/test/counted-mpi $(B)/bin/mpirun
	@test/count/run $(B) "$(CC)" --beside "$(OTHER)"
