# The relay paper's evaluation in virtual time (doc/evaluation.md).
$(call testprog,udpcost,test/eval/udpcost.c,)

## eval-calibrate  measure what a datagram costs nodes and relays on this machine, write test/eval/costs.txt
.PHONY: eval-calibrate
eval-calibrate: $(B)/test/counted $(B)/test/udpcost
	@test/eval/calibrate $(B)

## eval-relay    the relay paper's figures in virtual time: tables, build/eval/*.svg and eval.json
.PHONY: eval-relay
eval-relay: $(B)/test/simulator
	@test/eval/run $(B) build/eval

## eval-optical  the optical paper's figures and Table 4 in model time, and our modes: tables, build/eval/optical-*.svg
.PHONY: eval-optical
eval-optical: $(B)/bin/obsim
	@test/eval/optical $(B) build/eval
