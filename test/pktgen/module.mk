# SPDX-License-Identifier: BSD-2-Clause
## pktgen        every scenario of tools/pktgen-scenarios against a relayd over memif; build/pktgen/ (root)
.PHONY: pktgen soak
pktgen: $(B)/bin/relayd $(B)/bin/relay-pktgen
	@test/pktgen/run $(B)

## pktgen-tsan   a short one of them against a relayd with ThreadSanitizer (root)
.PHONY: pktgen-tsan
pktgen-tsan: $(B)/bin/relay-pktgen
	@$(MAKE) --no-print-directory CC=clang EXTRAS=tsan build/clang-tsan/bin/relayd
	@test/pktgen/tsan $(B) build/clang-tsan/bin/relayd

## soak          all but relayd-restart again and again for SOAK_S (1800) seconds: memory flat, drops named: PASS or FAIL (root)
SOAK_S ?= 1800
soak: $(B)/bin/relayd $(B)/bin/relay-pktgen
	@test/pktgen/soak $(B) $(SOAK_S)
