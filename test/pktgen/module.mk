## pktgen        every scenario of tools/pktgen-scenarios against a relayd over memif; build/pktgen/ (root)
.PHONY: pktgen soak
pktgen: $(B)/bin/relayd $(B)/bin/relay-pktgen
	@test/pktgen/run $(B)

## soak          the same again and again for SOAK_S (1800) seconds: pools, lanes, RSS flat (root)
SOAK_S ?= 1800
soak: $(B)/bin/relayd $(B)/bin/relay-pktgen
	@test/pktgen/soak $(B) $(SOAK_S)
