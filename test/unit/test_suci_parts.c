/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments larger than the datagrams of their path: cut and put together, over paths that shrink,
 * lose, refuse and run out of buffers; and parts that no honest peer sends. */
#include "test_suci_path.h"

#include "sent.h"

#define DELAY_NS (5 * BASE_MS_NS)
#define RTT_NS	 (2 * DELAY_NS)
#define HEAD_LEN 100
#define WHOLES	 64
#define MOST	 (1 + WHOLES / 4) /* of one path */

static struct {
	uint32_t buffers, buffers_most; /* given and not given back */
	bool no_buffer;
	uint32_t refuse_every; /* segments, each at its first tries */
	uint8_t refused[PAIR_SEGS];
	uint32_t first; /* until this one has come, all others are refused */
} t0;

/* As the wire's datagrams are: one allocation each, named by its address. */
static uint8_t *
on_buffer(void *user, uint32_t path, uint32_t len, uint64_t *cookie)
{
	struct pair_side *s = user;
	assert_int_equal(path, s->path);
	if (t0.no_buffer)
		return NULL;
	struct dgram *d = malloc(sizeof *d + len);
	assert_non_null(d);
	*d = (struct dgram){.holds = 1, .len = len};
	s->t->l.held++;
	*cookie = (uintptr_t)d;
	if (++t0.buffers > t0.buffers_most)
		t0.buffers_most = t0.buffers;
	return d->bytes;
}

static void
on_unbuffer(void *user, uint64_t cookie)
{
	struct pair_side *s = user;
	t0.buffers--;
	link_release(&s->t->l, cookie);
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	assert_true(seg->seq < PAIR_SEGS);
	if (t0.refuse_every && seg->seq % t0.refuse_every == 0 && t0.refused[seg->seq] < 3) {
		t0.refused[seg->seq]++;
		return SUCI_REFUSED;
	}
	if (t0.first && seg->seq != t0.first)
		return SUCI_REFUSED;
	t0.first = 0;
	return pair_on_segment(user, path, seg, now_ns);
}

/* With and without a head and the length of a block. */
static bool
on_pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns)
{
	struct pair_side *s = user;
	if (!pair_on_pull(user, path, seg, now_ns))
		return false;
	if (seg->seq % 3 == 1 && seg->data_len > HEAD_LEN) {
		seg->head = s->t->payload;
		seg->head_len = HEAD_LEN;
		seg->data += HEAD_LEN;
		seg->data_len -= HEAD_LEN;
	}
	if (seg->seq % 2) {
		seg->flags |= SUCI_SF_FIRST;
		seg->block_bytes = seg->seq;
	}
	return true;
}

static struct pair *
parts_pair(uint32_t mtu_max, uint32_t mtu_min, uint64_t seed)
{
	static struct suci_ops ops;
	ops = pair_ops;
	ops.segment = on_segment;
	ops.pull = on_pull;
	ops.buffer = on_buffer;
	ops.unbuffer = on_unbuffer;
	memset(&t0, 0, sizeof t0);
	struct pair *t = pair_new(seed, DELAY_NS);
	for (int side = 0; side < 2; side++) {
		t->conf[side].ops = &ops;
		t->conf[side].mtu_max = mtu_max;
		t->conf[side].mtu_min = mtu_min;
		t->conf[side].limits.parts_max = 1024;
		t->conf[side].limits.wholes_max = WHOLES;
	}
	t->l.filter = pair_too_long;
	return t;
}

static void
parts_free(struct pair *t)
{
	for (int side = 0; side < 2; side++) {
		const char *what;
		if (!suci_check(t->l.ep[side], &what))
			fail_msg("side %d: %s", side, what);
	}
	pair_free(t);
	assert_int_equal(t0.buffers, 0);
}

static const struct {
	const char *name;
	uint32_t mtu_max, mtu_min, len, most, most2;
	uint64_t loss_ppb;
	uint32_t cc;
	uint64_t within_rtts;
} shrink_cases[] = {
	{"8972 to 1472", 8972, 1472, 8972, 1472, 0, 0, SUCI_CC_CUBIC, 200},
	{"8972 to 1300, below where it began", 8972, 1472, 8972, 1300, 0, 0, SUCI_CC_CUBIC, 200},
	{"1472, which was trusted, to 1300", 1472, 1472, 1472, 1300, 0, 0, SUCI_CC_CUBIC, 150},
	{"to 4000, then to 1232", 8972, 1232, 8972, 4000, 1232, 0, SUCI_CC_CUBIC, 300},
	{"to 1400 with 1 % lost", 8972, 1472, 8972, 1400, 0, 10000000, SUCI_CC_BBR, 400},
	{"to 1400 with a tenth lost", 8972, 1472, 8972, 1400, 0, 100000000, SUCI_CC_FIXED, 900},
	{"65000 to 1400", 65000, 1232, 65000, 1400, 0, 10000000, SUCI_CC_BBR, 2500},
};

/* A path that passed large datagrams passes them no more while segments of that size are in
 * custody: nothing is lost, and it goes on in parts. */
static void
test_shrink(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shrink_cases / sizeof *shrink_cases; i++) {
		struct pair *t = parts_pair(shrink_cases[i].mtu_max, shrink_cases[i].mtu_min, 1);
		t->l.loss_ppb = 0;
		t->conf[0].cc = t->conf[1].cc = (enum suci_cc_kind)shrink_cases[i].cc;
		t->conf[0].fixed_window = t->conf[1].fixed_window = 64;
		pair_start(t);
		pair_run(t, 3 * RTT_NS);
		assert_int_equal(pair_info(t, 0).mtu, shrink_cases[i].mtu_max);
		t->want = 2000;
		pair_send(t, 0, t->want, (uint16_t)(shrink_cases[i].len - SUCI_OVERHEAD));
		pair_run(t, 2 * RTT_NS);
		t->most = shrink_cases[i].most;
		t->l.loss_ppb = shrink_cases[i].loss_ppb;
		uint64_t from_ns = t->l.now_ns;
		if (shrink_cases[i].most2) {
			pair_run(t, 30 * RTT_NS);
			t->most = shrink_cases[i].most2;
		}
		bool all = link_run(&t->l, from_ns + shrink_cases[i].within_rtts * RTT_NS,
				    pair_all_acked, t);
		const struct suci_counters *n = pair_count(t, 0), *m = pair_count(t, 1);
		print_message("  %s: %u of %u after %u RTT; %u cut into %u, %u put together, %u "
			      "refused, at most %u at a time\n",
			      shrink_cases[i].name, t->s[0].acked, t->want,
			      (unsigned)((t->l.now_ns - from_ns) / RTT_NS), (unsigned)n->tx_cut,
			      (unsigned)n->tx_parts, (unsigned)m->rx_joined,
			      (unsigned)m->drop_part_room, t0.buffers_most);
		assert_true(all);
		assert_int_equal(t->s[0].downs + t->s[1].downs, 0);
		assert_true(n->tx_cut > 0 && n->mtu_shrunk > 0);
		assert_true(t0.buffers_most <= MOST);
		assert_int_equal(m->drop_part, 0);
		for (uint32_t k = 0; k < t->want; k++)
			assert_true(t->s[1].seen[k]);
		assert_in_range(pair_info(t, 0).mtu, 1232, t->most);
		parts_free(t);
	}
}

/* As it was: one of the two takes no parts, or sends none. */
static void
test_older_peer(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++) {
		struct pair *t = parts_pair(8972, 1472, 1);
		if (k)
			t->conf[0].limits.parts_max = 0;
		else
			t->conf[1].limits.wholes_max = 0;
		pair_start(t);
		pair_run(t, 3 * RTT_NS);
		pair_send(t, 0, 2000, 8972 - SUCI_OVERHEAD);
		pair_run(t, 2 * RTT_NS);
		t->most = 1472;
		pair_run(t, 60 * RTT_NS);
		assert_int_equal(t->s[0].why, SUCI_DOWN_MTU);
		assert_string_equal(t->s[0].text, "large datagrams do not get through any more: at "
						  "most 1472 bytes do, a segment in custody needs "
						  "8956");
		assert_int_equal(pair_count(t, 0)->tx_parts, 0);
		parts_free(t);
	}
}

/* The upper layer there refuses, and there are no buffers for a while. */
static void
test_refused(void **state)
{
	(void)state;
	static const struct {
		uint32_t refuse_every, most;
		bool no_buffer;
	} cases[] = {{7, 1300, false}, {1, 1300, false}, {0, 1300, true}, {3, 2000, true}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pair *t = parts_pair(8972, 1472, 3 + i);
		pair_start(t);
		t->most = cases[i].most;
		pair_run(t, BASE_S_NS);
		t0.refuse_every = cases[i].refuse_every;
		t0.no_buffer = cases[i].no_buffer;
		t->want = 1000;
		pair_send(t, 0, t->want, 8972 - SUCI_OVERHEAD);
		pair_run(t, 20 * RTT_NS);
		if (t0.no_buffer)
			assert_int_equal(t->s[0].acked, 0);
		t0.no_buffer = false;
		assert_true(link_run(&t->l, t->l.now_ns + 60 * BASE_S_NS, pair_all_acked, t));
		for (uint32_t k = 0; k < t->want; k++)
			assert_int_equal(t->s[1].seen[k], 1);
		assert_int_equal(t->s[0].downs, 0);
		parts_free(t);
	}
}

/* The upper layer there wants one of many first, and there are places for few that are not whole:
 * it has its turn, wherever it is among them. */
static void
test_wanted_first(void **state)
{
	(void)state;
	for (uint32_t first = 1; first < 30; first++) {
		struct pair *t = parts_pair(8972, 1472, first);
		for (int side = 0; side < 2; side++)
			t->conf[side].limits.wholes_max = 8;
		pair_start(t);
		t->most = 1300;
		pair_run(t, BASE_S_NS);
		t0.first = first;
		t->want = 100;
		pair_send(t, 0, t->want, 8972 - SUCI_OVERHEAD);
		if (!link_run(&t->l, t->l.now_ns + 10 * BASE_S_NS, pair_all_acked, t))
			fail_msg("segment %u never had its turn", first);
		assert_int_equal(t->s[0].downs, 0);
		parts_free(t);
	}
}

/* A segment that is queued when its owner goes, or its path, is given back whole, once. */
static bool
match_all(void *arg, uint64_t cookie)
{
	(void)cookie;
	return arg == NULL;
}

static void
test_purged(void **state)
{
	(void)state;
	for (int close = 0; close < 2; close++) {
		struct pair *t = parts_pair(8972, 1472, 9);
		pair_start(t);
		t->most = 1472;
		pair_run(t, BASE_S_NS);
		pair_send(t, 0, 300, 8972 - SUCI_OVERHEAD);
		pair_run(t, 3 * RTT_NS + DELAY_NS / 3);
		t->s[0].to_pull = 0;
		uint32_t held = suci_held(t->l.ep[0]), acked = t->s[0].acked;
		assert_true(held > 1);
		if (close)
			suci_path_close(t->l.ep[0], t->s[0].path, "", t->l.now_ns);
		else
			suci_path_purge(t->l.ep[0], t->s[0].path, match_all, NULL, t->l.now_ns);
		assert_int_equal(t->s[0].abandoned, held);
		assert_int_equal(suci_held(t->l.ep[0]), 0);
		pair_run(t, 5 * RTT_NS);
		assert_int_equal(t->s[0].acked, acked);
		parts_free(t);
	}
}

/* ---- what no honest peer sends ---- */

/* A datagram of side 0 with another number and a part in it, for side 1. */
struct forger {
	uint8_t hdr[SUCI_PATH_HDR];
	uint32_t pn;
};

static struct forger forger;

static bool
listen_in(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l;
	if (!from && (bytes[0] & 15) == SUCI_T_DATA && !(bytes[1] & SUCI_PF_BARE) && len > 16)
		memcpy(forger.hdr, bytes, sizeof forger.hdr);
	return false;
}

static void
forge(struct pair *t, uint32_t id, uint32_t low, uint32_t off, uint32_t total, uint32_t len)
{
	uint8_t d[2000] = {0};
	memcpy(d, forger.hdr, sizeof forger.hdr);
	d[1] = SUCI_PF_PART;
	be16_store(d + 2, 0);
	be32_store(d + 8, ++forger.pn);
	uint8_t *p = d + SUCI_PATH_HDR;
	be32_store(p, id);
	be32_store(p + 4, low);
	be16_store(p + 8, (uint16_t)off);
	be16_store(p + 10, (uint16_t)total);
	for (uint32_t i = 0; i < len; i++) /* labels and number are 0 */
		p[SUCI_PART_HDR + i] =
			off + i < SUCI_LANE_HDR ? 0 : t->payload[off + i - SUCI_LANE_HDR];
	struct dgram *g = link_dgram(1, &t->l.addr[0], d, SUCI_PATH_HDR + SUCI_PART_HDR + len);
	link_deliver(&t->l, g);
}

static struct pair *
forgery(void)
{
	struct pair *t = parts_pair(8972, 1472, 5);
	t->l.filter = listen_in;
	pair_start(t);
	t->want = 1;
	pair_send(t, 0, t->want, 100);
	assert_true(link_run(&t->l, t->l.now_ns + BASE_S_NS, pair_all_acked, t));
	forger.pn = 1000;
	return t;
}

struct one {
	uint32_t id, low, off, total, len;
};

static const struct {
	const char *name;
	struct one part[4];
	uint64_t bad, room;
	uint32_t buffers, segments; /* then */
} bad_cases[] = {
	{"no bytes", {{1, 1, 0, 100, 0}}, 1, 0, 0, 0},
	{"beyond its end", {{1, 1, 90, 100, 11}}, 1, 0, 0, 0},
	{"off beyond its end", {{1, 1, 100, 100, 1}}, 1, 0, 0, 0},
	{"less than a lane header", {{1, 1, 0, 31, 31}}, 1, 0, 0, 0},
	{"larger than was announced", {{1, 1, 0, 8957, 100}}, 1, 0, 0, 0},
	{"as large as was announced", {{1, 1, 0, 8956, 100}}, 0, 0, 1, 0},
	{"low above its number", {{1, 2, 0, 100, 50}}, 1, 0, 0, 0},
	{"whole in one part", {{1, 1, 0, 40, 40}}, 0, 0, 0, 1},
	{"a gap", {{1, 1, 0, 100, 50}, {1, 1, 51, 100, 49}}, 0, 0, 1, 0},
	{"overlapping", {{1, 1, 0, 40, 30}, {1, 1, 20, 40, 20}}, 0, 0, 0, 1},
	{"the same twice", {{1, 1, 0, 100, 50}, {1, 1, 0, 100, 50}}, 0, 0, 1, 0},
	{"another length", {{1, 1, 0, 40, 30}, {1, 1, 30, 41, 11}}, 1, 0, 1, 0},
	{"low forgets it", {{1, 1, 0, 100, 50}, {2, 2, 0, 100, 50}}, 0, 0, 1, 0},
	{"low does not", {{1, 1, 0, 100, 50}, {2, 1, 0, 100, 50}}, 0, 0, 2, 0},
	{"numbers wrap",
	 {{UINT32_MAX, UINT32_MAX, 0, 100, 50}, {1, UINT32_MAX, 0, 100, 50}, {1, 1, 50, 100, 9}},
	 0,
	 0,
	 1,
	 0},
};

static void
test_bad_parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
		struct pair *t = forgery();
		uint32_t before = t->s[1].segments;
		print_message("  %s\n", bad_cases[i].name);
		for (const struct one *o = bad_cases[i].part; o->id && o < bad_cases[i].part + 4;
		     o++)
			forge(t, o->id, o->low, o->off, o->total, o->len);
		assert_int_equal(pair_count(t, 1)->drop_part, bad_cases[i].bad);
		assert_int_equal(pair_count(t, 1)->drop_part_room, bad_cases[i].room);
		assert_int_equal(t0.buffers, bad_cases[i].buffers);
		assert_int_equal(pair_count(t, 1)->rx_joined, bad_cases[i].segments);
		assert_int_equal(t->s[1].segments - before, bad_cases[i].segments);
		parts_free(t);
	}
}

/* Who takes none does not look at them. */
static void
test_not_announced(void **state)
{
	(void)state;
	struct pair *t = parts_pair(8972, 1472, 5);
	t->conf[1].limits.wholes_max = 0;
	t->l.filter = listen_in;
	pair_start(t);
	t->want = 1;
	pair_send(t, 0, t->want, 100);
	assert_true(link_run(&t->l, t->l.now_ns + BASE_S_NS, pair_all_acked, t));
	forger.pn = 1000;
	forge(t, 1, 1, 0, 40, 40);
	assert_int_equal(pair_count(t, 1)->drop_part, 1);
	assert_int_equal(t0.buffers_most, 0);
	parts_free(t);
}

/* Parts that never become whole, and holes without number: a bound of buffers, all else refused
 * and counted. */
static void
test_flood(void **state)
{
	(void)state;
	struct pair *t = forgery();
	for (uint32_t id = 1; id <= 100000; id++)
		forge(t, id, 1, id % 7000, 8000, 1);
	assert_int_equal(t0.buffers, MOST);
	assert_int_equal(t0.buffers_most, MOST);
	assert_int_equal(pair_count(t, 1)->drop_part_room, 100000 - MOST);
	for (uint32_t off = 0; off < 8000; off += 2)
		forge(t, 200000, 200000, off, 8000, 1);
	assert_int_equal(t0.buffers, 1);
	assert_int_equal(pair_count(t, 1)->drop_part_room, 100000 - MOST + 4000 - 8);
	parts_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shrink),	      cmocka_unit_test(test_older_peer),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_wanted_first),
		cmocka_unit_test(test_purged),	      cmocka_unit_test(test_bad_parts),
		cmocka_unit_test(test_not_announced), cmocka_unit_test(test_flood),
	};
	return cmocka_run_group_tests_name("suci parts", tests, NULL, NULL);
}
