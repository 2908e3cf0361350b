#include "impi/client.h"
#include "impi/server.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "test_impi_golden.h"

#define SECOND 1000000000ull
#define CONNS  (IMPI_CLIENTS_MAX + IMPI_SERVER_STRANGERS_MAX)
#define OUT    65536

struct rig {
	void *mem;
	struct impi_server *s;
	struct impi_server_config cfg;
	uint8_t out[CONNS][OUT];
	size_t out_len[CONNS];
	size_t tx_chunk; /* largest tx call */
	unsigned int joined, sized, started, complete, failed, closed;
	struct impi_error close_err[CONNS];
	bool is_closed[CONNS];
	int32_t rank[CONNS];
	struct impi_error job_err;
};

static struct rig r;

static void
rig_init_mem(uint32_t nclients, struct impi_auth auth, size_t tx_bytes, size_t store_bytes)
{
	r = (struct rig){.tx_chunk = OUT};
	r.cfg = (struct impi_server_config){.nclients = nclients,
					    .auth = auth,
					    .join_timeout_ns = SECOND,
					    .store_bytes = store_bytes,
					    .tx_bytes = tx_bytes};
	size_t bytes = impi_server_footprint(&r.cfg);
	assert_true(bytes > 0);
	r.mem = aligned_alloc(64, bytes);
	assert_non_null(r.mem);
	memset(r.mem, 0xa5, bytes);
	r.s = impi_server_new(r.mem, &r.cfg);
	assert_non_null(r.s);
}

static void
rig_init(uint32_t nclients, uint32_t mask, size_t tx_bytes)
{
	rig_init_mem(nclients, (struct impi_auth){mask, 5678}, tx_bytes, 65536);
}

static void
rig_fini(void)
{
	impi_server_end(r.s);
	free(r.mem);
}

static void
run_events(void)
{
	struct impi_server_event ev;
	while (impi_server_next(r.s, &ev)) {
		switch (ev.type) {
		case IMPI_SV_JOINED:
			r.joined++;
			r.rank[ev.conn] = ev.rank;
			break;
		case IMPI_SV_SIZED:
			r.sized++;
			break;
		case IMPI_SV_STARTED:
			r.started++;
			break;
		case IMPI_SV_CLOSE:
			assert_false(r.is_closed[ev.conn]);
			r.closed++;
			r.is_closed[ev.conn] = true;
			r.close_err[ev.conn] = ev.err;
			break;
		case IMPI_SV_COMPLETE:
			r.complete++;
			break;
		case IMPI_SV_FAILED:
			r.failed++;
			r.job_err = ev.err;
			break;
		}
	}
}

/* Take what the server has for conn, at most max bytes in all. */
static size_t
drain(int conn, size_t max)
{
	size_t total = 0, n = 1;
	while (total < max && n > 0) {
		size_t cap = max - total < r.tx_chunk ? max - total : r.tx_chunk;
		if (cap > OUT - r.out_len[conn])
			cap = OUT - r.out_len[conn];
		n = impi_server_tx(r.s, conn, r.out[conn] + r.out_len[conn], cap);
		r.out_len[conn] += n;
		total += n;
	}
	return total;
}

static void
drain_all(int nconns)
{
	size_t any;
	do {
		any = 0;
		for (int i = 0; i < nconns; i++)
			any += drain(i, OUT);
	} while (any > 0);
}

static int
open_conn(void)
{
	int conn = impi_server_open(r.s, 0);
	if (conn >= 0) {
		r.is_closed[conn] = false;
		r.out_len[conn] = 0;
	}
	return conn;
}

static void
send_bytes(int conn, const void *p, size_t len)
{
	impi_server_rx(r.s, conn, p, len, 0);
	run_events();
}

static void
send_split(int conn, const uint8_t *p, size_t len, size_t split)
{
	if (split > len)
		split = len;
	send_bytes(conn, p, split);
	drain_all(2);
	send_bytes(conn, p + split, len - split);
	drain_all(2);
}

static void
check_golden(void)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(r.out_len[i], sizeof golden_s2c);
		assert_memory_equal(r.out[i], golden_s2c, sizeof golden_s2c);
	}
	assert_int_equal(r.started, 1);
	assert_int_equal(r.sized, 1);
	assert_int_equal(impi_server_state(r.s), IMPI_SVS_RUNNING);
	send_bytes(0, golden_fini, sizeof golden_fini);
	assert_int_equal(r.complete, 0);
	assert_true(r.is_closed[0] && r.close_err[0].code == IMPI_ERR_OK);
	send_bytes(1, golden_fini, sizeof golden_fini);
	assert_int_equal(r.complete, 1);
	assert_int_equal(r.closed, 2);
	assert_int_equal(r.failed, 0);
	assert_int_equal(impi_server_open(r.s, 0), -1);
}

static void
golden_at_every_split(void **state)
{
	(void)state;
	for (size_t split = 0; split <= sizeof golden_c2s_0; split++) {
		rig_init(2, IMPI_AUTH_MASK_NONE, split % 2 ? 64 : 4096);
		assert_int_equal(open_conn(), 0);
		assert_int_equal(open_conn(), 1);
		if (split % 3) {
			send_split(0, golden_c2s_0, sizeof golden_c2s_0, split);
			send_split(1, golden_c2s_1, sizeof golden_c2s_1, split);
		} else {
			send_split(1, golden_c2s_1, sizeof golden_c2s_1, split);
			send_split(0, golden_c2s_0, sizeof golden_c2s_0, split);
		}
		check_golden();
		rig_fini();
	}
}

static void
golden_byte_by_byte_in_turns(void **state)
{
	(void)state;
	for (size_t lag = 0; lag < 64; lag++) {
		rig_init(2, IMPI_AUTH_MASK_NONE, 64);
		open_conn();
		open_conn();
		for (size_t i = 0; i < sizeof golden_c2s_0 + lag; i++) {
			if (i < sizeof golden_c2s_0)
				send_bytes(0, golden_c2s_0 + i, 1);
			if (i >= lag && i - lag < sizeof golden_c2s_1)
				send_bytes(1, golden_c2s_1 + (i - lag), 1);
			drain(0, 3);
			drain(1, 1);
		}
		drain_all(2);
		check_golden();
		rig_fini();
	}
}

/* One client reads nothing until all has been sent: the other gets every
 * reply, and DONE only when the slow one's replies are on their way. */
static void
slow_reader_holds_its_own_replies_only(void **state)
{
	(void)state;
	rig_init(2, IMPI_AUTH_MASK_NONE, 64);
	open_conn();
	open_conn();
	send_bytes(0, golden_c2s_0, sizeof golden_c2s_0);
	send_bytes(1, golden_c2s_1, sizeof golden_c2s_1);
	while (drain(0, OUT) > 0)
		;
	assert_int_equal(r.out_len[0], sizeof golden_s2c - 8);
	while (drain(1, 5) > 0 && r.out_len[1] < 60)
		drain(0, OUT);
	assert_int_equal(r.out_len[0], sizeof golden_s2c - 8);
	drain_all(2);
	check_golden();
	rig_fini();
}

/* --- real clients against the real server --------------------------------- */

struct peer {
	void *mem;
	struct impi_client *c;
	struct impi_host host;
	struct impi_proc proc[3];
	struct impi_offer offer;
};

static void
peer_init(struct peer *p, uint32_t rank, uint32_t nprocs)
{
	static const struct impi_limits limits = {64, 256};
	struct impi_client_config cfg = {.auth = {3, 5678}, .rank = rank};
	p->mem = aligned_alloc(64, impi_client_footprint(&limits, &cfg));
	assert_non_null(p->mem);
	p->c = impi_client_new(p->mem, &limits, &cfg);
	p->host = (struct impi_host){
		.port = 1000 + rank, .nprocs = nprocs, .ackmark = 40 - rank, .hiwater = 50 + rank};
	impi_addr_from_ipv4(p->host.addr, 0x0a000000 + rank);
	for (uint32_t i = 0; i < 3; i++) {
		memcpy(p->proc[i].hostid, p->host.addr, 16);
		p->proc[i].pid = i;
	}
	p->offer = (struct impi_offer){.nhosts = 1,
				       .nprocs = nprocs,
				       .datalen = 1000 + rank,
				       .tagub = 40000,
				       .xsize = rank % 2 ? -1 : 1024,
				       .maxlinear = -1,
				       .host = &p->host,
				       .proc = p->proc};
}

/* Move bytes both ways; true if anything moved. */
static bool
peer_turn(struct peer *p, int conn, size_t max)
{
	struct impi_client_event ev;
	uint8_t buf[97];
	size_t n = impi_client_tx(p->c, buf, max);
	bool moved = n > 0;
	if (n)
		send_bytes(conn, buf, n);
	n = impi_server_tx(r.s, conn, buf, max);
	moved |= n > 0;
	for (size_t at = 0; at < n;) {
		at += impi_client_rx(p->c, buf + at, n - at, &ev);
		assert_int_not_equal(ev.type, IMPI_CL_FAILED);
		if (ev.type != IMPI_CL_SIZE)
			continue;
		/* every client in another order: replies must not depend on it */
		unsigned int first = (unsigned int)conn;
		for (unsigned int i = 0; i < IMPI_NLABELS; i++)
			assert_int_equal(impi_client_submit_offer(
						 p->c,
						 impi_label_at((first + i * 3) % IMPI_NLABELS),
						 &p->offer),
					 IMPI_ERR_OK);
		impi_client_done(p->c);
	}
	return moved;
}

static void
jobs_of_1_2_and_32_clients(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {1, 2, 5, 32};
	static struct peer peer[32];
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		uint32_t n = sizes[k];
		uint32_t total = 0;
		bool moved;
		print_message("%u clients\n", n);
		rig_init(n, 3, 128);
		for (uint32_t i = 0; i < n; i++) {
			/* connection order is not client order */
			peer_init(&peer[i], n - 1 - i, 1 + i % 3);
			assert_int_equal(open_conn(), (int)i);
			total += 1 + i % 3;
		}
		do {
			moved = false;
			for (uint32_t i = 0; i < n; i++)
				moved |= peer_turn(&peer[i], (int)i, 1 + (i * 13) % 97);
		} while (moved);
		assert_int_equal(r.joined, n);
		assert_int_equal(r.started, 1);
		for (uint32_t i = 0; i < n; i++) {
			const struct impi_tables *t = impi_client_tables(peer[i].c);
			assert_int_equal(impi_client_state(peer[i].c), IMPI_CLS_RUNNING);
			assert_int_equal(t->nclients, n);
			assert_int_equal(t->nprocs, total);
			assert_int_equal(t->datalen, 1000);
			assert_int_equal(t->ackmark, 40 - (n - 1));
			assert_int_equal(t->hiwater, 50);
			assert_int_equal(t->host[n - 1].port, 1000 + n - 1);
			for (uint32_t rank = 0; rank < total; rank++)
				assert_int_equal(impi_tables_rank(t, &t->proc[rank]), rank);
			assert_int_equal(impi_client_fini(peer[i].c), IMPI_ERR_OK);
		}
		for (uint32_t i = 0; i < n; i++) {
			while (peer_turn(&peer[i], (int)i, 97))
				;
			impi_server_eof(r.s, (int)i);
			impi_client_end(peer[i].c);
			free(peer[i].mem);
		}
		run_events();
		assert_int_equal(r.complete, 1);
		assert_int_equal(r.failed, 0);
		rig_fini();
	}
}

/* --- who misbehaves --------------------------------------------------------- */

#define B(...)              \
	{                   \
		__VA_ARGS__ \
	}
#define U4(n)		    0, 0, 0, (n)
#define AUTH_NONE	    'A', 'U', 'T', 'H', U4(4), U4(1)
#define AUTH_KEY	    'A', 'U', 'T', 'H', U4(4), U4(2)
#define RANK(n)		    'I', 'M', 'P', 'I', U4(4), U4(n)
#define HEAD(a, b, c, d, n) a, b, c, d, U4(n)

static const struct {
	const char *name;
	size_t len;
	uint32_t server_mask;
	enum impi_err want;
	uint8_t bytes[64];
} strangers[] = {
	{"IMPI first", 12, 1, IMPI_ERR_ORDER, B(RANK(0))},
	{"COLL after AUTH", 20, 1, IMPI_ERR_ORDER, B(AUTH_NONE, HEAD('C', 'O', 'L', 'L', 4))},
	{"DONE after AUTH", 20, 1, IMPI_ERR_ORDER, B(AUTH_NONE, HEAD('D', 'O', 'N', 'E', 0))},
	{"AUTH twice", 24, 1, IMPI_ERR_ORDER, B(AUTH_NONE, AUTH_NONE)},
	{"garbage", 16, 1, IMPI_ERR_COMMAND, B('G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P')},
	{"AUTH of 8", 8, 1, IMPI_ERR_LENGTH, B(HEAD('A', 'U', 'T', 'H', 8))},
	{"giant AUTH", 8, 1, IMPI_ERR_LENGTH, B('A', 'U', 'T', 'H', 0x7f, 255, 255, 255)},
	{"no common method", 12, 2, IMPI_ERR_AUTH, B(AUTH_NONE)},
	{"no method at all", 12, 3, IMPI_ERR_AUTH, B('A', 'U', 'T', 'H', U4(4), U4(0))},
	{"wrong key", 20, 2, IMPI_ERR_KEY, B(AUTH_KEY, 0, 0, 0, 0, 0, 0, 0x16, 0x2f)},
	{"half a key, wrong", 20, 3, IMPI_ERR_KEY, B(AUTH_KEY, 1, 0, 0, 0, 0, 0, 0x16, 0x2e)},
	{"rank 2 of 2", 24, 1, IMPI_ERR_RANK, B(AUTH_NONE, RANK(2))},
	{"rank -1", 24, 1, IMPI_ERR_RANK,
	 B(AUTH_NONE, HEAD('I', 'M', 'P', 'I', 4), 255, 255, 255, 255)},
	{"rank taken", 24, 1, IMPI_ERR_DUPLICATE, B(AUTH_NONE, RANK(0))},
};

static const uint8_t join_none_0[] = {AUTH_NONE, RANK(0)};
static const uint8_t join_none_1[] = {AUTH_NONE, RANK(1)};
static const uint8_t join_key_0[] = {AUTH_KEY, 0, 0, 0, 0, 0, 0, 0x16, 0x2e, RANK(0)};

static void
strangers_are_closed_and_the_job_waits_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
		for (size_t split = 0; split < strangers[i].len; split++) {
			rig_init(2, strangers[i].server_mask, 64);
			int good = open_conn(), bad = open_conn();
			if (strangers[i].server_mask & 2)
				send_bytes(good, join_key_0, sizeof join_key_0);
			else
				send_bytes(good, join_none_0, sizeof join_none_0);
			send_bytes(bad, strangers[i].bytes, split);
			send_bytes(bad, strangers[i].bytes + split, strangers[i].len - split);
			if (split == 0)
				print_message("%s: %s\n", strangers[i].name, r.close_err[bad].text);
			assert_true(r.is_closed[bad]);
			assert_int_equal(r.close_err[bad].code, strangers[i].want);
			assert_int_equal(r.closed, 1);
			assert_int_equal(impi_server_state(r.s), IMPI_SVS_GATHERING);
			assert_int_equal(impi_server_joined(r.s), 1);
			assert_int_equal(open_conn(), bad); /* its place is free again */
			rig_fini();
		}
}

static void
members_that_misbehave_end_the_job(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t len;
		uint8_t bytes[64];
		enum impi_err want;
	} cases[] = {
		{"AUTH again", 8, B(HEAD('A', 'U', 'T', 'H', 4)), IMPI_ERR_ORDER},
		{"rank again", 8, B(HEAD('I', 'M', 'P', 'I', 4)), IMPI_ERR_ORDER},
		{"FINI before DONE", 8, B(HEAD('F', 'I', 'N', 'I', 0)), IMPI_ERR_ORDER},
		{"label after DONE", 16,
		 B(HEAD('D', 'O', 'N', 'E', 0), HEAD('C', 'O', 'L', 'L', 8)), IMPI_ERR_ORDER},
		{"DONE with 4 bytes", 8, B(HEAD('D', 'O', 'N', 'E', 4)), IMPI_ERR_LENGTH},
		{"COLL of 3", 8, B(HEAD('C', 'O', 'L', 'L', 3)), IMPI_ERR_LENGTH},
		{"label 0", 12, B(HEAD('C', 'O', 'L', 'L', 4), U4(0)), IMPI_ERR_LABEL},
		{"label twice", 24,
		 B(HEAD('C', 'O', 'L', 'L', 4), U4(9), HEAD('C', 'O', 'L', 'L', 4), U4(9)),
		 IMPI_ERR_LABEL},
		{"more than the store", 8, B('C', 'O', 'L', 'L', 0, 1, 0, 5), IMPI_ERR_OVERSIZE},
		{"more than 64 MiB", 8, B('C', 'O', 'L', 'L', 4, 0, 0, 1), IMPI_ERR_LENGTH},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int all_here = 0; all_here < 2; all_here++) {
			rig_init(2, 1, 64);
			int a = open_conn(), b = open_conn(), c = open_conn();
			send_bytes(a, join_none_0, sizeof join_none_0);
			if (all_here)
				send_bytes(b, join_none_1, sizeof join_none_1);
			send_bytes(a, cases[i].bytes, cases[i].len);
			print_message("%s: %s\n", cases[i].name, r.job_err.text);
			assert_int_equal(r.failed, 1);
			assert_int_equal(r.job_err.code, IMPI_ERR_LOST);
			assert_int_equal(r.close_err[a].code, cases[i].want);
			assert_true(r.is_closed[a] && r.is_closed[b] && r.is_closed[c]);
			assert_int_equal(r.close_err[b].code, IMPI_ERR_LOST);
			assert_int_equal(impi_server_open(r.s, 0), -1);
			assert_int_equal(drain(b, OUT), 0);
			rig_fini();
		}
}

static void
lost_clients_end_the_job_until_fini(void **state)
{
	(void)state;
	for (size_t cut = 0; cut <= sizeof golden_c2s_0; cut++) {
		rig_init(2, 1, 4096);
		open_conn();
		open_conn();
		send_bytes(1, golden_c2s_1, sizeof golden_c2s_1);
		send_bytes(0, golden_c2s_0, cut);
		drain_all(2);
		impi_server_eof(r.s, 0);
		run_events();
		bool joined = cut >= 24;
		assert_int_equal(r.failed, joined);
		assert_true(r.is_closed[0]);
		assert_int_equal(r.is_closed[1], joined);
		assert_int_equal(r.close_err[0].code, IMPI_ERR_EOF);
		rig_fini();
	}
}

static void
too_slow(void **state)
{
	(void)state;
	rig_init(2, 1, 64);
	assert_true(impi_server_expiry_ns(r.s) == UINT64_MAX);
	int a = impi_server_open(r.s, 5);
	assert_true(impi_server_expiry_ns(r.s) == SECOND + 5);
	impi_server_rx(r.s, a, "AUTH", 4, SECOND); /* a trickle does not help a stranger */
	assert_true(impi_server_expiry_ns(r.s) == SECOND + 5);
	impi_server_tick(r.s, SECOND + 4);
	run_events();
	assert_int_equal(r.closed, 0);
	impi_server_tick(r.s, SECOND + 5);
	run_events();
	assert_int_equal(r.close_err[a].code, IMPI_ERR_TIMEOUT);
	assert_int_equal(r.failed, 0);
	/* a member may be silent between commands, not inside one */
	a = open_conn();
	impi_server_rx(r.s, a, join_none_0, sizeof join_none_0, 0);
	assert_true(impi_server_expiry_ns(r.s) == UINT64_MAX);
	impi_server_tick(r.s, 1000 * SECOND);
	impi_server_rx(r.s, a, "COLL", 4, 2000 * SECOND);
	assert_true(impi_server_expiry_ns(r.s) == 2001 * SECOND);
	impi_server_rx(r.s, a, "\0\0\0\10", 4, 2001 * SECOND - 1);
	assert_true(impi_server_expiry_ns(r.s) == 2002 * SECOND - 1);
	run_events();
	assert_int_equal(r.failed, 0);
	impi_server_tick(r.s, 2002 * SECOND);
	run_events();
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.close_err[a].code, IMPI_ERR_TIMEOUT);
	rig_fini();
}

static void
strangers_are_bounded_and_members_find_room(void **state)
{
	(void)state;
	rig_init(32, 1, 64);
	for (int i = 0; i < IMPI_SERVER_STRANGERS_MAX; i++)
		assert_int_equal(open_conn(), i);
	assert_int_equal(open_conn(), -1);
	for (uint8_t i = 0; i < 32; i++) {
		uint8_t join[] = {AUTH_NONE, RANK(0)};
		join[23] = i;
		send_bytes(i, join, sizeof join);
		if (i < 31)
			assert_true(open_conn() >= 0);
		else
			assert_int_equal(r.sized, 1);
	}
	rig_fini();
}

/* Labels only some submit are answered when the rest has said DONE, to those who
 * submitted them; the server does not care what labels mean. */
static void
labels_of_some_clients(void **state)
{
	(void)state;
	static const uint8_t a_says[] = {AUTH_NONE,
					 RANK(0),
					 HEAD('C', 'O', 'L', 'L', 6),
					 U4(77),
					 0xaa,
					 0xbb,
					 HEAD('C', 'O', 'L', 'L', 4),
					 U4(78),
					 HEAD('D', 'O', 'N', 'E', 0)};
	static const uint8_t b_joins[] = {AUTH_NONE, RANK(1), HEAD('C', 'O', 'L', 'L', 5), U4(78),
					  0xcc};
	static const uint8_t b_done[] = {HEAD('D', 'O', 'N', 'E', 0)};
	static const uint8_t want_a[] = {0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 HEAD('I', 'M', 'P', 'I', 4),
					 U4(2),
					 HEAD('C', 'O', 'L', 'L', 9),
					 U4(78),
					 U4(3),
					 0xcc,
					 HEAD('C', 'O', 'L', 'L', 10),
					 U4(77),
					 U4(1),
					 0xaa,
					 0xbb,
					 HEAD('D', 'O', 'N', 'E', 0)};
	static const uint8_t want_b[] = {0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 HEAD('I', 'M', 'P', 'I', 4),
					 U4(2),
					 HEAD('C', 'O', 'L', 'L', 9),
					 U4(78),
					 U4(3),
					 0xcc,
					 HEAD('D', 'O', 'N', 'E', 0)};
	rig_init(2, 1, 4096);
	open_conn();
	open_conn();
	send_bytes(0, a_says, sizeof a_says);
	send_bytes(1, b_joins, sizeof b_joins);
	drain_all(2);
	assert_int_equal(r.out_len[0], 8 + 12 + 17);
	send_bytes(1, b_done, sizeof b_done);
	drain_all(2);
	assert_int_equal(r.out_len[0], sizeof want_a);
	assert_memory_equal(r.out[0], want_a, sizeof want_a);
	assert_int_equal(r.out_len[1], sizeof want_b);
	assert_memory_equal(r.out[1], want_b, sizeof want_b);
	rig_fini();
}

static void
label_table_is_bounded(void **state)
{
	(void)state;
	rig_init(1, 1, 64);
	open_conn();
	send_bytes(0, join_none_0, sizeof join_none_0);
	for (uint8_t i = 1; i <= 64; i++) {
		uint8_t coll[] = {HEAD('C', 'O', 'L', 'L', 4), U4(0)};
		coll[11] = i;
		send_bytes(0, coll, sizeof coll);
		assert_int_equal(r.failed, 0);
	}
	uint8_t coll[] = {HEAD('C', 'O', 'L', 'L', 4), U4(65)};
	send_bytes(0, coll, sizeof coll);
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.close_err[0].code, IMPI_ERR_OVERSIZE);
	rig_fini();
}

/* A store holds what waits, not what was ever sent. */
static void
answered_values_make_room(void **state)
{
	(void)state;
	rig_init_mem(1, (struct impi_auth){1, 0}, 4096, 128);
	open_conn();
	send_bytes(0, join_none_0, sizeof join_none_0);
	for (uint8_t i = 1; i <= 20; i++) {
		uint8_t coll[12 + 100] = {HEAD('C', 'O', 'L', 'L', 104), U4(0)};
		coll[11] = i;
		memset(coll + 12, i, 100);
		send_bytes(0, coll, sizeof coll);
		drain_all(1);
		assert_int_equal(r.failed, 0);
		assert_int_equal(r.out_len[0], 20 + (size_t)i * 116);
		assert_int_equal(r.out[0][r.out_len[0] - 1], i);
	}
	rig_fini();
}

static size_t
slurp(const char *name, uint8_t *buf, size_t cap)
{
	char path[256];
	snprintf(path, sizeof path, "test/data/impi/%s", name);
	FILE *f = fopen(path, "rb");
	if (!f)
		fail_msg("%s is missing; run from the top folder", path);
	size_t n = fread(buf, 1, cap, f);
	fclose(f);
	return n;
}

static void
captured_clients_get_the_captured_answers(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int nclients;
		uint32_t mask;
	} cases[] = {{"01-p2p-barrier-bcast-2x2", 2, 1},
		     {"02-same-own-server-2x2", 2, 1},
		     {"03-keyauth-1x1", 2, 3},
		     {"10-three-clients-2x1x2", 3, 1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static uint8_t c2s[3][4096], s2c[4096];
		size_t len[3] = {0};
		char name[128];
		rig_init((uint32_t)cases[i].nclients, cases[i].mask, 64);
		for (int c = 0; c < cases[i].nclients; c++) {
			snprintf(name, sizeof name, "%s.client%d.c2s", cases[i].name, c);
			print_message("%s\n", name);
			len[c] = slurp(name, c2s[c], sizeof c2s[c]);
			assert_int_equal(open_conn(), c);
			send_bytes(c, c2s[c], len[c] - 8); /* all but FINI */
		}
		drain_all(cases[i].nclients);
		for (int c = 0; c < cases[i].nclients; c++) {
			snprintf(name, sizeof name, "%s.client%d.s2c", cases[i].name, c);
			size_t want_len = slurp(name, s2c, sizeof s2c);
			assert_int_equal(r.out_len[c], want_len);
			assert_memory_equal(r.out[c], s2c, want_len);
		}
		for (int c = 0; c < cases[i].nclients; c++)
			send_bytes(c, c2s[c] + len[c] - 8, 8);
		assert_int_equal(r.complete, 1);
		rig_fini();
	}
}

static void
bad_configurations_have_no_footprint(void **state)
{
	(void)state;
	struct impi_server_config good = {.nclients = 1,
					  .auth = {1, 0},
					  .join_timeout_ns = 1,
					  .store_bytes = 64,
					  .tx_bytes = 64},
				  c;
	assert_true(impi_server_footprint(&good) > 0);
	c = good, c.nclients = 0;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.nclients = 33;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.auth.mask = 0;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.join_timeout_ns = 0;
	assert_int_equal(impi_server_footprint(&c), 0);
	c = good, c.tx_bytes = 63;
	assert_int_equal(impi_server_footprint(&c), 0);
	impi_server_end(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_at_every_split),
		cmocka_unit_test(golden_byte_by_byte_in_turns),
		cmocka_unit_test(slow_reader_holds_its_own_replies_only),
		cmocka_unit_test(jobs_of_1_2_and_32_clients),
		cmocka_unit_test(strangers_are_closed_and_the_job_waits_on),
		cmocka_unit_test(members_that_misbehave_end_the_job),
		cmocka_unit_test(lost_clients_end_the_job_until_fini),
		cmocka_unit_test(too_slow),
		cmocka_unit_test(strangers_are_bounded_and_members_find_room),
		cmocka_unit_test(labels_of_some_clients),
		cmocka_unit_test(label_table_is_bounded),
		cmocka_unit_test(answered_values_make_room),
		cmocka_unit_test(captured_clients_get_the_captured_answers),
		cmocka_unit_test(bad_configurations_have_no_footprint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
