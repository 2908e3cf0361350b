# SPDX-License-Identifier: BSD-2-Clause
## attack        hostile frames and connections against relays, impi-server and a job; ONLY S (root)
.PHONY: attack
attack: all $(B)/test/mpi/failover
	@B=$(B) test/attack/run
