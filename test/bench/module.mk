$(call testprog,netpp,test/bench/netpp.c,,)

## bench         ratios of ours to kernel sockets, tables and build/bench/*.json (root)
.PHONY: bench
bench: all $(B)/test/netpp
	@test/bench/run-bench $(B)
