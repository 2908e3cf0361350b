/* SPDX-License-Identifier: BSD-2-Clause */
/* IMPI packets of relayed lanes: bytes of doc/job-setup.md. */
#include "mpi/impi_packet.h"

#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *name;
	struct lmpi_hdr h;
	uint64_t payload;
	uint32_t pk_type;
	uint8_t back; /* type after decoding */
} packet_cases[] = {
	{"short", {.type = LMPI_T_EAGER, .msglen = 100}, 100, 0, LMPI_T_EAGER},
	{"empty", {.type = LMPI_T_EAGER, .msglen = 0}, 0, 0, LMPI_T_EAGER},
	{"synchronous",
	 {.type = LMPI_T_EAGER, .flags = LMPI_HF_SYNC, .msglen = 9},
	 9,
	 1,
	 LMPI_T_EAGER},
	{"first of a long one",
	 {.type = LMPI_T_EAGER, .flags = LMPI_HF_SYNC, .msglen = 5000},
	 1024,
	 1,
	 LMPI_T_EAGER},
	{"rest of a long one",
	 {.type = LMPI_T_DATA, .msglen = 5000, .drq = 77},
	 1000,
	 0,
	 LMPI_T_DATA},
	{"syncack", {.type = LMPI_T_MATCHED, .srq = 5, .drq = 77}, 0, 3, LMPI_T_MATCHED},
	{"protoack", {.type = LMPI_T_PROTOACK}, 0, 2, LMPI_T_PROTOACK},
};

static void
packets(void **state)
{
	struct lmpi_peer peer[2] = {{.world = 0}, {.world = 1}};
	uint8_t pkt[LMPI_PKT_BYTES];
	struct lmpi_hdr back;

	(void)state;
	memset(peer[0].id, 0xa0, 24);
	memset(peer[1].id, 0xb1, 24);
	struct lmpi_engine e = {.peer = peer, .size = 2, .datalen = 1024};
	for (size_t i = 0; i < sizeof packet_cases / sizeof packet_cases[0]; i++) {
		struct lmpi_hdr h = packet_cases[i].h;
		uint64_t n = packet_cases[i].payload;
		printf("  %s\n", packet_cases[i].name);
		h.lsrank = 3;
		h.tag = 4;
		h.cid = 1ull << 33;
		e.rank = 0;
		lmpi_pkt_encode(&e, &peer[1], &h, n, pkt);
		assert_int_equal(be32_load(pkt), packet_cases[i].pk_type);
		assert_memory_equal(pkt + 8, peer[0].id, 24);
		assert_memory_equal(pkt + 32, peer[1].id, 24);
		e.rank = 1;
		assert_null(lmpi_pkt_decode(&e, &peer[0], pkt, n, &back));
		assert_int_equal(back.type, packet_cases[i].back);
		assert_int_equal(back.flags, h.flags);
		assert_int_equal(back.src, 0);
		assert_true(back.srq == h.srq && back.drq == h.drq && back.cid == h.cid);
		assert_true(back.lsrank == 3 && back.tag == 4);
		if (n) {
			assert_true(back.msglen == h.msglen);
			assert_non_null(lmpi_pkt_decode(&e, &peer[0], pkt, n - 1, &back));
		}
		pkt[9] ^= 1; /* somebody else's packet */
		assert_non_null(lmpi_pkt_decode(&e, &peer[0], pkt, n, &back));
		pkt[9] ^= 1;
		pkt[40] ^= 1;
		assert_non_null(lmpi_pkt_decode(&e, &peer[0], pkt, n, &back));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
