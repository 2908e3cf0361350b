/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/client.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "test_impi_captured.h"
#include "test_impi_golden.h"

static const struct impi_limits limits = {.hosts_max = 64, .procs_max = 256};

static const struct impi_client_config none_0 = {.auth = {.mask = IMPI_AUTH_MASK_NONE}};

struct rig {
	void *mem;
	struct impi_client *c;
	struct impi_host host;
	struct impi_proc proc[2];
	struct impi_offer offer;
	uint8_t out[4096];
	size_t out_len;
	unsigned int labels, sizes, started, failed;
	bool lock_step;
};

static void
rig_init(struct rig *r, const struct impi_client_config *cfg, const struct impi_limits *l)
{
	*r = (struct rig){0};
	size_t bytes = impi_client_footprint(l, cfg);
	assert_true(bytes > 0);
	r->mem = aligned_alloc(64, bytes);
	assert_non_null(r->mem);
	memset(r->mem, 0xa5, bytes);
	r->c = impi_client_new(r->mem, l, cfg);
	assert_non_null(r->c);
	bool first = cfg->rank == 0;
	r->host = (struct impi_host){.port = first ? 40000 : 40001,
				     .nprocs = first ? 2 : 1,
				     .ackmark = first ? 10 : 16,
				     .hiwater = first ? 20 : 64};
	impi_addr_from_ipv4(r->host.addr, first ? 0x0a000001 : 0x0a000002);
	for (int i = 0; i < 2; i++) {
		memcpy(r->proc[i].hostid, r->host.addr, 16);
		r->proc[i].pid = first ? 1001 + (uint64_t)i : 2001;
	}
	r->offer = (struct impi_offer){.nhosts = 1,
				       .nprocs = first ? 2 : 1,
				       .datalen = first ? 0x10000 : 0x4000,
				       .tagub = first ? INT32_MAX : 0x3fffffff,
				       .xsize = -1,
				       .maxlinear = -1,
				       .host = &r->host,
				       .proc = r->proc};
}

static void
rig_fini(struct rig *r)
{
	impi_client_end(r->c);
	free(r->mem);
}

static void
drain(struct rig *r)
{
	size_t n;
	/* odd sizes, so that the queue wraps everywhere */
	while ((n = impi_client_tx(r->c, r->out + r->out_len,
				   sizeof r->out - r->out_len < 7 ? sizeof r->out - r->out_len
								  : 7)) > 0)
		r->out_len += n;
}

/* What a caller does: submit in order, everything at once or label by label. */
static void
react(struct rig *r, const struct impi_client_event *ev)
{
	uint32_t label;
	switch (ev->type) {
	case IMPI_CL_NONE:
		return;
	case IMPI_CL_SIZE:
		r->sizes++;
		break;
	case IMPI_CL_LABEL:
		r->labels++;
		break;
	case IMPI_CL_STARTED:
		r->started++;
		return;
	case IMPI_CL_FAILED:
		r->failed++;
		return;
	}
	while ((label = impi_client_next_label(r->c)) != IMPI_NO_LABEL) {
		assert_int_equal(impi_client_submit_offer(r->c, label, &r->offer), IMPI_ERR_OK);
		assert_false(impi_client_wants(r->c, label));
		if (r->lock_step)
			return;
	}
	if (impi_client_state(r->c) == IMPI_CLS_COLLECTING)
		assert_int_equal(impi_client_done(r->c), IMPI_ERR_OK);
}

static void
feed(struct rig *r, const uint8_t *p, size_t len)
{
	struct impi_client_event ev;
	do {
		size_t n = impi_client_rx(r->c, p, len, &ev);
		assert_true(n <= len && (n > 0 || len == 0));
		p += n;
		len -= n;
		react(r, &ev);
		drain(r);
	} while (len > 0);
}

static void
check_golden_result(struct rig *r, const uint8_t *c2s, size_t c2s_len)
{
	if (impi_client_error(r->c)->code)
		print_message("error: %s\n", impi_client_error(r->c)->text);
	assert_int_equal(impi_client_state(r->c), IMPI_CLS_RUNNING);
	assert_int_equal(r->out_len, c2s_len);
	assert_memory_equal(r->out, c2s, c2s_len);
	assert_int_equal(r->labels, IMPI_NLABELS);
	assert_int_equal(r->sizes, 1);
	assert_int_equal(r->started, 1);
	const struct impi_tables *t = impi_client_tables(r->c);
	assert_true(t->finished);
	assert_int_equal(t->nclients, 2);
	assert_int_equal(t->nprocs, 3);
	assert_int_equal(t->datalen, 16384);
	assert_int_equal(t->tagub, 1073741823);
	assert_int_equal(t->xsize, 1024);
	assert_int_equal(t->maxlinear, 4);
	assert_int_equal(t->ackmark, 10);
	assert_int_equal(t->hiwater, 20);
	assert_int_equal(t->proc_host[2], 1);
	assert_int_equal(t->proc[1].pid, 1002);
	r->out_len = 0;
	assert_int_equal(impi_client_fini(r->c), IMPI_ERR_OK);
	drain(r);
	assert_int_equal(r->out_len, sizeof golden_fini);
	assert_memory_equal(r->out, golden_fini, sizeof golden_fini);
	assert_false(impi_client_eof(r->c));
}

static void
conformance_13_1_client_replay_at_every_split(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < 2; rank++) {
		const uint8_t *c2s = rank ? golden_c2s_1 : golden_c2s_0;
		size_t len = rank ? sizeof golden_c2s_1 : sizeof golden_c2s_0;
		for (size_t split = 0; split <= sizeof golden_s2c; split++) {
			struct rig r;
			struct impi_client_config cfg = none_0;
			cfg.rank = rank;
			rig_init(&r, &cfg, &limits);
			r.lock_step = split % 2;
			drain(&r);
			/* lock step: DONE goes out only after the last label's reply, and its
			 * answer must not be there before */
			feed(&r, golden_s2c, split);
			feed(&r, golden_s2c + split, sizeof golden_s2c - split);
			check_golden_result(&r, c2s, len);
			rig_fini(&r);
		}
	}
}

static void
conformance_13_1_client_replay_byte_by_byte(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r, &none_0, &limits);
	drain(&r);
	for (size_t i = 0; i < sizeof golden_s2c; i++)
		feed(&r, golden_s2c + i, 1);
	check_golden_result(&r, golden_c2s_0, sizeof golden_c2s_0);
	rig_fini(&r);
}

/* Offset of reply i (0 = VERSION) in golden_s2c, and its bytes. */
static const uint8_t *
golden_reply(unsigned int i, size_t *len)
{
	const uint8_t *p = golden_s2c + 8 + 12;
	for (;;) {
		*len = 8 + be32_load(p + 4);
		if (i-- == 0)
			return p;
		p += *len;
	}
}

static void
replies_in_any_order_and_unknown_ones(void **state)
{
	(void)state;
	static const uint8_t unknown[] = {'C',	'O', 'L', 'L', 0, 0, 0, 13, 0, 0, 0x77,
					  0x77, 0,   0,	  0,   3, 1, 2, 3,  4, 5};
	for (unsigned int start = 0; start < IMPI_NLABELS; start++) {
		struct rig r;
		size_t len;
		rig_init(&r, &none_0, &limits);
		drain(&r);
		feed(&r, golden_s2c, 20);
		for (unsigned int i = 0; i < IMPI_NLABELS; i++) {
			/* 5 is prime to 14: every label once, in a scrambled order */
			const uint8_t *p = golden_reply((start + i * 5) % IMPI_NLABELS, &len);
			feed(&r, p, len);
			feed(&r, unknown, sizeof unknown);
		}
		const uint8_t *done = golden_reply(IMPI_NLABELS, &len);
		assert_int_equal(len, 8);
		feed(&r, done, len);
		check_golden_result(&r, golden_c2s_0, sizeof golden_c2s_0);
		rig_fini(&r);
	}
}

static void
key_is_sent_when_chosen(void **state)
{
	(void)state;
	static const uint8_t choice[] = {0, 0, 0, 1, 0, 0, 0, 8}; /* len is not to be trusted */
	static const uint8_t want[] = {'A', 'U', 'T', 'H', 0, 0, 0, 4,	  0,	0,   0,
				       3,   0,	 0,   0,   0, 0, 0, 0x16, 0x2e, 'I', 'M',
				       'P', 'I', 0,   0,   0, 4, 0, 0,	  0,	5};
	struct impi_client_config cfg = {.auth = {3, 5678}, .rank = 5};
	struct rig r;
	rig_init(&r, &cfg, &limits);
	feed(&r, choice, sizeof choice);
	assert_int_equal(r.out_len, sizeof want);
	assert_memory_equal(r.out, want, sizeof want);
	rig_fini(&r);
}

static void
violations_of_the_server(void **state)
{
	(void)state;
#define AUTH_OK 0, 0, 0, 0, 0, 0, 0, 0
#define SIZE(n) 'I', 'M', 'P', 'I', 0, 0, 0, 4, 0, 0, 0, n
	static const struct {
		const char *name;
		size_t len;
		uint8_t bytes[48];
		enum impi_err want;
	} cases[] = {
		{"method not offered", 8, {0, 0, 0, 1}, IMPI_ERR_AUTH},
		{"method -1", 8, {255, 255, 255, 255}, IMPI_ERR_AUTH},
		{"size 0", 20, {AUTH_OK, SIZE(0)}, IMPI_ERR_VALUE},
		{"size 33", 20, {AUTH_OK, SIZE(33)}, IMPI_ERR_VALUE},
		{"size with len 8", 16, {AUTH_OK, 'I', 'M', 'P', 'I', 0, 0, 0, 8}, IMPI_ERR_LENGTH},
		{"COLL before size", 16, {AUTH_OK, 'C', 'O', 'L', 'L', 0, 0, 0, 8}, IMPI_ERR_ORDER},
		{"unknown command",
		 16,
		 {AUTH_OK, 'W', 'H', 'A', 'T', 0, 0, 0, 0},
		 IMPI_ERR_COMMAND},
		{"giant", 16, {AUTH_OK, 'I', 'M', 'P', 'I', 255, 0, 0, 0}, IMPI_ERR_LENGTH},
		{"size twice",
		 28,
		 {AUTH_OK, SIZE(2), 'I', 'M', 'P', 'I', 0, 0, 0, 4},
		 IMPI_ERR_ORDER},
		{"COLL too short",
		 28,
		 {AUTH_OK, SIZE(2), 'C', 'O', 'L', 'L', 0, 0, 0, 7},
		 IMPI_ERR_LENGTH},
		{"DONE without answers",
		 28,
		 {AUTH_OK, SIZE(2), 'D', 'O', 'N', 'E', 0, 0, 0, 0},
		 IMPI_ERR_ORDER},
		{"mask of strangers",
		 40,
		 {AUTH_OK, SIZE(2), 'C', 'O', 'L', 'L', 0, 0, 0, 12, 0,
		  0,	   0x11,    0,	 0,   0,   0,	4, 0, 0, 0,  1},
		 IMPI_ERR_VALUE},
		{"larger than this process",
		 32,
		 {AUTH_OK, SIZE(2), 'C', 'O', 'L', 'L', 0, 1, 0, 8, 0, 0, 0x20},
		 IMPI_ERR_LIMIT},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t split = 0; split <= cases[i].len; split += 3) {
			struct rig r;
			rig_init(&r, &none_0, &limits);
			feed(&r, cases[i].bytes, split);
			feed(&r, cases[i].bytes + split, cases[i].len - split + 4);
			print_message("%s: %s\n", cases[i].name, impi_client_error(r.c)->text);
			assert_int_equal(impi_client_error(r.c)->code, cases[i].want);
			assert_int_equal(r.failed, 1);
			assert_int_equal(impi_client_state(r.c), IMPI_CLS_FAILED);
			assert_int_equal(impi_client_submit(r.c, 1, "", 0), IMPI_ERR_STATE);
			rig_fini(&r);
		}
}

static void
rank_must_exist(void **state)
{
	(void)state;
	struct impi_client_config cfg = none_0;
	struct rig r;
	cfg.rank = 2;
	rig_init(&r, &cfg, &limits);
	feed(&r, golden_s2c, 20);
	assert_int_equal(impi_client_error(r.c)->code, IMPI_ERR_RANK);
	rig_fini(&r);
}

static void
early_end_is_an_error_everywhere(void **state)
{
	(void)state;
	for (size_t cut = 0; cut <= sizeof golden_s2c; cut++) {
		struct rig r;
		rig_init(&r, &none_0, &limits);
		feed(&r, golden_s2c, cut);
		assert_true(impi_client_eof(r.c));
		assert_int_equal(impi_client_error(r.c)->code, IMPI_ERR_EOF);
		assert_false(impi_client_eof(r.c));
		rig_fini(&r);
	}
}

static void
nothing_may_come_while_running(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r, &none_0, &limits);
	feed(&r, golden_s2c, sizeof golden_s2c);
	feed(&r, golden_fini, sizeof golden_fini);
	assert_int_equal(impi_client_error(r.c)->code, IMPI_ERR_COMMAND);
	rig_fini(&r);
}

static void
queue_has_room_for_all_and_no_more(void **state)
{
	(void)state;
	struct rig r;
	static uint8_t big[100000];
	rig_init(&r, &none_0, &limits);
	assert_int_equal(impi_client_submit(r.c, IMPI_C_NHOSTS, big, 4), IMPI_ERR_STATE);
	struct impi_client_event ev;
	assert_int_equal(impi_client_rx(r.c, golden_s2c, 20, &ev), 20);
	assert_int_equal(ev.type, IMPI_CL_SIZE);
	assert_int_equal(ev.nclients, 2);
	assert_int_equal(impi_client_submit(r.c, IMPI_NO_LABEL, big, 4), IMPI_ERR_STATE);
	assert_int_equal(impi_client_submit(r.c, 0x9999, big, sizeof big), IMPI_ERR_FULL);
	assert_int_equal(impi_client_submit(r.c, 0x9999, big, UINT32_MAX), IMPI_ERR_OVERSIZE);
	assert_true(impi_client_wants(r.c, 0x9999));
	/* the largest job these limits allow, all of it in this client */
	struct impi_host *host = calloc(64, sizeof *host);
	struct impi_proc *proc = calloc(256, sizeof *proc);
	assert_true(host && proc);
	r.offer.nhosts = 64;
	r.offer.nprocs = 256;
	r.offer.host = host;
	r.offer.proc = proc;
	for (unsigned int i = 0; i < IMPI_NLABELS; i++)
		assert_int_equal(impi_client_submit_offer(r.c, impi_label_at(i), &r.offer),
				 IMPI_ERR_OK);
	assert_int_equal(impi_client_done(r.c), IMPI_ERR_OK);
	assert_int_equal(impi_client_done(r.c), IMPI_ERR_STATE);
	assert_int_equal(impi_client_fini(r.c), IMPI_ERR_STATE);
	free(host);
	free(proc);
	rig_fini(&r);
}

static void
bad_limits_have_no_footprint(void **state)
{
	(void)state;
	struct impi_client_config cfg = none_0;
	assert_int_equal(impi_client_footprint(&(struct impi_limits){0, 1}, &cfg), 0);
	assert_int_equal(impi_client_footprint(&(struct impi_limits){1, 0}, &cfg), 0);
	assert_int_equal(impi_client_footprint(&(struct impi_limits){1, IMPI_PROCS_MAX + 1}, &cfg),
			 0);
	cfg.rank = 32;
	assert_int_equal(impi_client_footprint(&limits, &cfg), 0);
	cfg.rank = 31;
	cfg.auth.mask = 0;
	assert_int_equal(impi_client_footprint(&limits, &cfg), 0);
	impi_client_end(NULL);
}

static void
captured_servers_are_understood(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t nclients, nprocs, key_mask, datalen, ackmark, hiwater;
	} cases[] = {
		{"01-p2p-barrier-bcast-2x2", 2, 4, 1, 65536, 10, 20},
		{"02-same-own-server-2x2", 2, 4, 1, 65536, 10, 20},
		{"03-keyauth-1x1", 2, 2, 3, 65536, 10, 20},
		{"10-three-clients-2x1x2", 3, 5, 1, 65536, 10, 20},
		{"14-datalen1024-ack2-hi4-1x1", 2, 2, 1, 1024, 2, 4},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (uint32_t rank = 0; rank < cases[i].nclients; rank++) {
			struct impi_client_config cfg = {.auth = {cases[i].key_mask, 5678},
							 .rank = rank};
			uint8_t s2c[4096];
			char name[128];
			struct rig r;
			snprintf(name, sizeof name, "%s.client%u.s2c", cases[i].name, rank);
			print_message("%s\n", name);
			size_t len = captured_read(name, s2c, sizeof s2c);
			rig_init(&r, &cfg, &limits);
			r.lock_step = true; /* as the LAM client did */
			feed(&r, s2c, len);
			if (impi_client_error(r.c)->code)
				print_message("error: %s\n", impi_client_error(r.c)->text);
			assert_int_equal(r.started, 1);
			const struct impi_tables *t = impi_client_tables(r.c);
			assert_int_equal(t->nclients, cases[i].nclients);
			assert_int_equal(t->nprocs, cases[i].nprocs);
			assert_int_equal(t->datalen, cases[i].datalen);
			assert_int_equal(t->ackmark, cases[i].ackmark);
			assert_int_equal(t->hiwater, cases[i].hiwater);
			for (uint32_t h = 0; h < t->nhosts; h++) {
				uint32_t ipv4 = 0;
				assert_int_equal(impi_addr_classify(t->host[h].addr, &ipv4),
						 IMPI_ADDR_V4);
				assert_int_equal(ipv4, 0x0a630002 + h);
			}
			rig_fini(&r);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conformance_13_1_client_replay_at_every_split),
		cmocka_unit_test(conformance_13_1_client_replay_byte_by_byte),
		cmocka_unit_test(replies_in_any_order_and_unknown_ones),
		cmocka_unit_test(key_is_sent_when_chosen),
		cmocka_unit_test(violations_of_the_server),
		cmocka_unit_test(rank_must_exist),
		cmocka_unit_test(early_end_is_an_error_everywhere),
		cmocka_unit_test(nothing_may_come_while_running),
		cmocka_unit_test(queue_has_room_for_all_and_no_more),
		cmocka_unit_test(bad_limits_have_no_footprint),
		cmocka_unit_test(captured_servers_are_understood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
