$(call testprog,netpp,test/bench/netpp.c,,)
$(call testprog,impipp,test/bench/impipp.c,impi)

## bench         ratios of ours to kernel sockets, tables and build/bench/*.json (root)
.PHONY: bench
bench: all $(B)/test/netpp $(B)/test/impipp
	@test/bench/run-bench $(B)
