# SPDX-License-Identifier: BSD-2-Clause
$(call testprog,doors_flood,test/attack/doors_flood.c,sucaead sucudp doorclient relayproto door suci tune base)

## attack        hostile frames and connections against relays, impi-server and a job; ONLY S (root)
.PHONY: attack
attack: all $(B)/test/mpi/failover $(B)/test/doors_flood
	@B=$(B) test/attack/run
