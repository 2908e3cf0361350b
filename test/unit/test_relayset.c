/* SPDX-License-Identifier: BSD-2-Clause */
/* Which relays carry the lanes to a client, and with what weight; in virtual time, with Suci
 * and three relays that answer it: what happens when they go and come back. */
#include "cmocka_all.h"

#include "relayset_internal.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT NOT_A_MEMBER
#define DRN DRAINS
enum { RELAYS = 3, CLIENT = 1 };

/* Three relays of weight 10, 20, 30, the group's is relay 1; what differs from "all up, all
 * with a way" is named by a bit per relay. */
static const struct {
	const char *name;
	enum relay_policy policy;
	uint32_t own; /* RELAYSET_NONE: not told */
	unsigned down, no_way, drains, small;
	int want[RELAYS];
} cases[] = {
	{"dest: the one named, others wait", RELAY_POLICY_DEST, 0, 0, 0, 0, 0, {0, 20, 0}},
	{"dest: it is down, the others share", RELAY_POLICY_DEST, 0, 2, 0, 0, 0, {10, OUT, 30}},
	{"dest: it has no way", RELAY_POLICY_DEST, 0, 0, 2, 0, 0, {10, OUT, 30}},
	{"dest: it drains, and keeps what it has", RELAY_POLICY_DEST, 0, 0, 0, 2, 0, {10, DRN, 30}},
	{"dest: another one drains", RELAY_POLICY_DEST, 0, 0, 0, 1, 0, {DRN, 20, 0}},
	{"dest: all drain", RELAY_POLICY_DEST, 0, 0, 0, 7, 0, {DRN, DRN, DRN}},
	{"dest: no way at all, lanes wait", RELAY_POLICY_DEST, 0, 0, 7, 0, 0, {0, 0, 0}},
	{"dest: only a reserve has a way", RELAY_POLICY_DEST, 0, 0, 6, 0, 0, {10, OUT, OUT}},
	{"dest: datagrams too small", RELAY_POLICY_DEST, 0, 0, 0, 0, 2, {10, OUT, 30}},
	{"source: the one that owns me", RELAY_POLICY_SOURCE, 2, 0, 0, 0, 0, {0, 0, 30}},
	{"source: it is down", RELAY_POLICY_SOURCE, 2, 4, 0, 0, 0, {10, 20, OUT}},
	{"source: not told, the one named",
	 RELAY_POLICY_SOURCE,
	 RELAYSET_NONE,
	 0,
	 0,
	 0,
	 0,
	 {0, 20, 0}},
	{"stripe: all", RELAY_POLICY_STRIPE, 0, 0, 0, 0, 0, {10, 20, 30}},
	{"stripe: one down", RELAY_POLICY_STRIPE, 0, 1, 0, 0, 0, {OUT, 20, 30}},
	{"stripe: one drains", RELAY_POLICY_STRIPE, 0, 0, 0, 4, 0, {10, 20, DRN}},
	{"stripe: one drains, two have no way",
	 RELAY_POLICY_STRIPE,
	 0,
	 0,
	 3,
	 4,
	 0,
	 {OUT, OUT, DRN}},
	{"all down", RELAY_POLICY_STRIPE, 0, 7, 0, 0, 0, {OUT, OUT, OUT}},
};

static void
weights(void **state)
{
	struct relay relay[RELAYS];
	struct relayset rs = {.relay = relay, .nrelays = RELAYS, .mss_given = 1400};
	struct group g = {.client = CLIENT, .relay = 1};

	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		printf("  %s\n", cases[k].name);
		rs.policy[CLIENT] = (uint8_t)cases[k].policy;
		rs.own = cases[k].own;
		for (uint32_t i = 0; i < RELAYS; i++)
			relay[i] = (struct relay){
				.up = !(cases[k].down >> i & 1),
				.ways = cases[k].no_way >> i & 1 ? ~(1u << CLIENT) : UINT32_MAX,
				.weight = cases[k].drains >> i & 1 ? 0 : 10 * (i + 1),
				.mtu = cases[k].small >> i & 1 ? 1400 : 9000,
			};
		for (uint32_t i = 0; i < RELAYS; i++)
			assert_int_equal(relayset_weight(&rs, &g, i), cases[k].want[i]);
	}
}

/* --- with relays that answer ---------------------------------------------------- */

#define TOKEN	0x5ec2e70000001234u
#define BASE	(1u << 24) /* of the job's labels at the relays */
#define MTU	1472u
#define STEP_NS (5 * BASE_MS_NS)

#define LABEL_BASE 16 /* of a process */

/* Rank 0 of client 0; rank 1 is of client 1 and reached over relay 0. */
static struct relayset *set;
static struct suci *ep;
static struct suci_lanes *lanes;
static uint32_t lane;
static uint64_t now_ns;
static char failed[600]; /* what nobody_left() said */
static uint32_t went;
static bool six; /* all are at IPv6 addresses; fd00::a00:64 is called 10.0.0.100 */

static struct suci_addr
addr_of(const uint8_t ip[4], uint16_t port)
{
	struct suci_addr a = {.ip = {six ? 0xfd : 0}, .port = port, .family = six ? 6 : 4};

	memcpy(a.ip + 12, ip, 4);
	return a;
}

struct fake { /* a relay */
	struct suci *ep;
	struct suci_addr addr;
	bool cut, refuses;
	uint32_t path; /* to the process; UINT32_MAX: none */
	uint32_t accepted;
	char closed[SUCI_TEXT_MAX];    /* what the process said when it closed */
	uint32_t lost[2];	       /* notes LOST: found, lost */
	uint32_t deaths, first, count; /* notes DEATH, and the last one's ranks */
	uint32_t segments;
};
static struct fake fakes[RELAYS];
static struct suci_addr me;

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	struct fake *f = user;
	struct relay_hello h;

	(void)from;
	assert_int_equal(relay_hello_decode(hello, len, &h), 0);
	assert_true(h.token == relay_hello_token(TOKEN, BASE));
	assert_true(h.label == BASE && h.kind == RELAY_HELLO_PROCESS);
	snprintf(why, SUCI_TEXT_MAX, "no such job");
	return f->refuses ? -1 : 0;
}

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	struct fake *f = user;

	(void)peer, (void)hello, (void)len, (void)incoming;
	f->path = path;
	f->accepted++;
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct fake *f = user;

	(void)path, (void)why;
	f->path = UINT32_MAX;
	snprintf(f->closed, sizeof f->closed, "%s", text ? text : "");
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t at_ns)
{
	struct fake *f = user;

	(void)path, (void)at_ns;
	assert_true(seg->dst_label == BASE + 1 && seg->src_label == BASE);
	f->segments++;
	return SUCI_DROPPED;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t at_ns)
{
	(void)user, (void)path, (void)cookie, (void)fate, (void)at_ns;
}

static void
on_note(void *user, uint32_t path, const void *note, size_t len, uint64_t at_ns)
{
	struct fake *f = user;
	struct relay_note n;

	(void)path, (void)at_ns;
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	if (n.type == RELAY_NOTE_LOST) {
		assert_int_equal(n.label_base, BASE);
		f->lost[n.lost]++;
	}
	if (n.type == RELAY_NOTE_DEATH) {
		assert_true(n.label_base == BASE && n.token == 77);
		f->deaths++;
		f->first = n.first;
		f->count = n.count;
	}
}

static const struct suci_ops fake_ops = {
	.accept = on_accept,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
	.note = on_note,
};

static struct suci *
endpoint(const struct suci_ops *ops, void *user, uint64_t incarnation)
{
	static const struct suci_limits limits = {
		.paths_max = 16, .segments_max = 256, .queue_max = 64, .window_max = 64};
	struct suci_config c = {
		.limits = limits,
		.incarnation = incarnation,
		.seed = incarnation,
		.mtu_max = MTU,
		.handshake_ns = 86400 * BASE_S_NS,
		.hello_len = RELAY_HELLO_LEN,
		.ops = ops,
		.user = user,
	};
	struct relay_hello h = {.kind = user == lanes ? RELAY_HELLO_PROCESS : RELAY_HELLO_RELAY,
				.token = TOKEN,
				.label = LABEL_BASE,
				.rank = UINT32_MAX,
				.mtu = MTU};

	relay_hello_encode(&h, c.hello);
	struct suci *e =
		suci_new(aligned_alloc(64, (suci_footprint(&limits) + 63) & ~63ull), &c, now_ns);
	assert_non_null(e);
	return e;
}

static void
relay_starts(struct fake *f)
{
	static uint64_t runs;

	f->path = UINT32_MAX;
	f->ep = endpoint(&fake_ops, f, 100 + ++runs);
}

static void
relay_dies(struct fake *f)
{
	/* Its farewell gets nowhere. */
	free(suci_fini(f->ep, now_ns));
	f->ep = NULL;
}

static void
deliver(struct suci *from, const struct suci_addr *addr, struct suci *only)
{
	struct suci_out o;
	uint8_t d[2048];

	while (from && suci_tx(from, &o, now_ns)) {
		size_t n = o.head_len;
		memcpy(d, o.head, n);
		if (o.seg_head_len)
			memcpy(d + n, o.seg_head, o.seg_head_len);
		n += o.seg_head_len;
		if (o.data_len)
			memcpy(d + n, o.data, o.data_len);
		n += o.data_len;
		if (only) {
			suci_rx(only, addr, d, n, 0, now_ns);
			continue;
		}
		for (uint32_t i = 0; i < RELAYS; i++)
			if (fakes[i].ep && !fakes[i].cut &&
			    !memcmp(&fakes[i].addr, &o.to, sizeof o.to))
				suci_rx(fakes[i].ep, addr, d, n, 0, now_ns);
	}
}

static void
pass(uint64_t ns)
{
	for (uint64_t end = now_ns + ns; now_ns < end; now_ns += STEP_NS) {
		deliver(ep, &me, NULL);
		for (uint32_t i = 0; i < RELAYS; i++) {
			if (!fakes[i].ep)
				continue;
			suci_tick(fakes[i].ep, now_ns);
			if (!fakes[i].cut)
				deliver(fakes[i].ep, &fakes[i].addr, ep);
		}
		suci_tick(ep, now_ns);
		relayset_turn(set, now_ns);
	}
}

/* --- what a process does with it */

static int
proc_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	    char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static void
proc_up(void *user, uint32_t path, const struct suci_addr *addr, const void *hello, size_t len,
	bool incoming)
{
	struct relay_hello h;

	(void)user, (void)incoming;
	assert_int_equal(relay_hello_decode(hello, len, &h), 0);
	assert_true(relayset_path_up(set, path, addr, h.mtu, now_ns));
}

static void
proc_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user;
	assert_true(relayset_path_down(set, path, why, text ? text : "went", now_ns));
}

static void
proc_note(void *user, uint32_t path, const void *note, size_t len, uint64_t at_ns)
{
	(void)user, (void)path, (void)note, (void)len, (void)at_ns;
}

static void
proc_done(void *user, uint32_t of, uint64_t cookie, bool ok, uint64_t at_ns)
{
	(void)user, (void)of, (void)cookie, (void)ok, (void)at_ns;
}

static void
proc_lane_down(void *user, uint32_t of, enum suci_down why, const char *text)
{
	(void)user, (void)of, (void)text;
	assert_int_equal(why, SUCI_DOWN_LOCAL);
}

/* Nothing comes for it. */
static void *
proc_begin(void *user, uint32_t of, uint64_t bytes, const uint8_t *first, size_t first_len,
	   uint64_t at_ns)
{
	(void)user, (void)of, (void)bytes, (void)first, (void)first_len, (void)at_ns;
	fail_msg("a block");
	return NULL;
}

static void
proc_data(void *user, uint32_t of, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	(void)user, (void)of, (void)block, (void)offset, (void)data, (void)len;
}

static void
proc_end(void *user, uint32_t of, void *block, uint64_t at_ns)
{
	(void)user, (void)of, (void)block, (void)at_ns;
}

static const struct suci_lane_ops proc_ops = {
	.block_begin = proc_begin,
	.block_data = proc_data,
	.block_end = proc_end,
	.accept = proc_accept,
	.path_up = proc_up,
	.path_down = proc_down,
	.note = proc_note,
	.block_done = proc_done,
	.lane_down = proc_lane_down,
};

static void
on_nobody_left(void *user, const char *text)
{
	(void)user;
	snprintf(failed, sizeof failed, "%s", text);
}

static void
on_relay_down(void *user, uint32_t i)
{
	(void)user, (void)i;
	went++;
}

static const struct relayset_ops set_ops = {.nobody_left = on_nobody_left,
					    .relay_down = on_relay_down};

static void
open_lane(void)
{
	struct suci_lane_conf c = {
		.path = UINT32_MAX,
		.group = relayset_group(set, CLIENT, 0, now_ns),
		.tx_dst_label = BASE + 1,
		.tx_src_label = BASE,
		.rx_dst_label = LABEL_BASE,
		.rx_src_label = LABEL_BASE + 1,
		.crc = true,
		.window = 64,
		.mss = relayset_mss(set),
	};

	if (lane == UINT32_MAX)
		assert_int_equal(suci_lane_open(lanes, &c, &lane, now_ns), 0);
}

static int
begin(void **state)
{
	struct relayset_conf rc = {.limits = {.relays_max = 1 + RELAYSET_MORE, .groups_max = 4},
				   .silence_ns = 400 * BASE_MS_NS,
				   .ops = &set_ops};

	(void)state;
	now_ns = BASE_S_NS;
	failed[0] = 0;
	went = 0;
	lane = UINT32_MAX;
	me = addr_of((const uint8_t[]){10, 0, 0, 1}, 5000);
	memset(fakes, 0, sizeof fakes);
	for (uint32_t i = 0; i < RELAYS; i++) {
		fakes[i].addr = addr_of((const uint8_t[]){10, 0, 0, (uint8_t)(100 + i)}, 7000);
		relay_starts(&fakes[i]);
	}
	set = relayset_new(aligned_alloc(64, relayset_footprint(&rc.limits)), &rc);
	assert_int_equal(relayset_expiry_ns(set), BASE_NEVER_NS);
	assert_false(relayset_turn(set, now_ns));
	assert_int_equal(relayset_add(set, &(struct relayset_relay){.addr = fakes[0].addr,
								    .token = TOKEN,
								    .base = BASE}),
			 0);
	struct suci_lanes_config c = {.limits = {.lanes_max = 2,
						 .blocks_max = 64,
						 .rx_blocks_max = 16,
						 .held_max = 0,
						 .ranges_max = 64,
						 .labels_max = LABEL_BASE + 2,
						 .groups_max = rc.limits.groups_max},
				      .ops = &proc_ops};
	lanes = suci_lanes_new(aligned_alloc(64, (suci_lanes_footprint(&c.limits) + 63) & ~63ull),
			       &c);
	ep = endpoint(suci_lanes_ops(), lanes, 7);
	suci_lanes_bind(lanes, ep);
	relayset_bind(set, ep, lanes);
	assert_false(relayset_any_up(set) || relayset_all_up(set, 1));
	assert_int_equal(relayset_mss(set), 0);
	assert_int_equal(relayset_open(set, 0, now_ns), 0);
	pass(100 * BASE_MS_NS);
	assert_true(relayset_any_up(set) && relayset_all_up(set, 1));
	assert_int_equal(set->relay[0].mtu, MTU);
	assert_string_equal(set->relay[0].name, six ? "[fd00::a00:64]:7000" : "10.0.0.100:7000");
	relayset_connected(set);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	relayset_closing(set);
	free(suci_fini(ep, now_ns));
	free(suci_lanes_fini(lanes));
	for (uint32_t i = 0; i < RELAYS; i++)
		if (fakes[i].ep)
			relay_dies(&fakes[i]);
	free(set);
	return 0;
}

/* Relay 0 tells of all, and how: weight of itself, policy, partition timeout of 3 s. */
static void
told(enum relay_policy policy, uint8_t weight)
{
	struct relay_list n = {.n = RELAYS, .self = 0, .own = 1, .partition_s = 3, .places = six};

	for (uint32_t i = 0; i < RELAYS; i++) {
		n.relay[i].ipv4 = be32_load(fakes[i].addr.ip + 12);
		n.relay[i].port = 7000;
		n.relay[i].weight = i ? 1 : weight;
		memcpy(n.place[i], fakes[i].addr.ip, sizeof n.place[i]);
	}
	n.npolicies = 1;
	n.policy[0].client = CLIENT;
	n.policy[0].policy = (uint8_t)policy;
	relayset_list(set, set->relay[0].path, &n);
	pass(200 * BASE_MS_NS);
	assert_int_equal(relayset_count(set), RELAYS);
}

/* Weights in the group of the lane to rank 1, by relay; -1: not a member. */
static void
members(int w0, int w1, int w2)
{
	int want[RELAYS] = {w0, w1, w2};
	struct suci_group_info info;

	open_lane();
	assert_int_equal(set->ngroups, 1);
	assert_true(suci_group_info(lanes, set->group[0].id, &info));
	for (uint32_t i = 0; i < RELAYS; i++) {
		uint32_t r = 0;
		int weight = OUT;
		while (set->relay[r].conf.addr.ip[15] != 100 + i)
			r++;
		for (uint32_t k = 0; k < info.npaths; k++)
			if (info.path[k].path == set->relay[r].path)
				weight = info.path[k].weight == SUCI_WEIGHT_DRAINS
						 ? DRN
						 : (int)info.path[k].weight;
		assert_int_equal(weight, want[i]);
	}
}

static void
go_and_come_back(void **state)
{
	(void)state;
	told(RELAY_POLICY_DEST, 1);
	members(1, 0, 0);
	relay_dies(&fakes[0]);
	pass(600 * BASE_MS_NS);
	assert_int_equal(went, 1);
	assert_string_equal(failed, "");
	members(-1, 1, 1);
	assert_true(fakes[1].lost[1] == 1 && fakes[2].lost[1] == 1);
	relay_starts(&fakes[0]);
	fakes[0].refuses = true; /* it has not got its tables back */
	pass(3 * BASE_S_NS);
	members(-1, 1, 1);
	fakes[0].refuses = false;
	pass(3 * BASE_S_NS);
	members(1, 0, 0);
	assert_true(fakes[1].lost[0] == 1 && fakes[0].accepted == 2);
}

static void
silence(void **state)
{
	(void)state;
	told(RELAY_POLICY_STRIPE, 1);
	members(1, 1, 1);
	pass(10 * BASE_S_NS); /* idle, and asked now and then: nobody goes */
	members(1, 1, 1);
	fakes[2].cut = true;
	pass(600 * BASE_MS_NS);
	members(1, 1, -1);
	now_ns += 5 * BASE_S_NS; /* the program computes: nobody went for that */
	pass(200 * BASE_MS_NS);
	members(1, 1, -1);
	fakes[2].cut = false;
	pass(4 * BASE_S_NS);
	members(1, 1, 1);
	fakes[1].cut = true;
	pass(200 * BASE_MS_NS);
	fakes[1].cut = false; /* in time */
	pass(400 * BASE_MS_NS);
	members(1, 1, 1);
	assert_string_equal(fakes[1].closed, "");
}

static void
drain(void **state)
{
	static const uint8_t block[2000];

	(void)state;
	told(RELAY_POLICY_DEST, 1);
	members(1, 0, 0);
	assert_false(relayset_draining(set));
	told(RELAY_POLICY_DEST, 0);
	members(DRN, 1, 1);
	assert_true(relayset_draining(set));
	uint32_t before = fakes[0].segments;
	assert_int_equal(
		suci_lane_send(lanes, lane, NULL, 0, block, sizeof block, false, 0, now_ns), 0);
	pass(100 * BASE_MS_NS);
	assert_int_equal(fakes[0].segments, before);
	assert_true(fakes[1].segments + fakes[2].segments >= 2);
	told(RELAY_POLICY_DEST, 1);
	members(1, 0, 0);
}

static void
ways(void **state)
{
	static const uint8_t block[100];
	uint32_t before;

	(void)state;
	told(RELAY_POLICY_DEST, 1);
	members(1, 0, 0);
	suci_lane_send(lanes, lane, NULL, 0, block, sizeof block, false, 0, now_ns);
	pass(100 * BASE_MS_NS);
	assert_int_equal(fakes[0].segments, 1);
	/* Relay 0 lost its trunks, and what it had: over the others, once. */
	relayset_ways(set, set->relay[0].path, ~(1u << CLIENT), 1u << CLIENT, 0);
	pass(100 * BASE_MS_NS);
	members(-1, 1, 1);
	before = fakes[1].segments + fakes[2].segments;
	assert_true(before >= 1);
	relayset_ways(set, set->relay[0].path, UINT32_MAX, 0, 0);
	pass(100 * BASE_MS_NS);
	members(1, 0, 0);
	assert_int_equal(fakes[0].segments, 1);
}

/* Whatever the policy says, what is for a client goes over the relays that have light to it. */
static void
light_goes_first(void **state)
{
	static const struct {
		uint32_t relay, lit, want[RELAYS];
	} step[] = {{1, 1u << CLIENT, {0, 1, 0}},
		    {2, 1u << CLIENT, {0, 1, 1}},
		    {1, 1u << (CLIENT + 1), {0, 0, 1}},
		    {2, 0, {1, 0, 0}}};
	(void)state;
	told(RELAY_POLICY_DEST, 1);
	for (uint32_t i = 0; i < sizeof step / sizeof *step; i++) {
		const uint32_t *w = step[i].want, r = step[i].relay;
		relayset_ways(set, set->relay[r].path, UINT32_MAX, 0, step[i].lit);
		pass(100 * BASE_MS_NS);
		members((int)w[0], (int)w[1], (int)w[2]);
	}
}

static void
nobody_left(void **state)
{
	(void)state;
	told(RELAY_POLICY_DEST, 1);
	members(1, 0, 0);
	for (uint32_t i = 0; i < RELAYS; i++)
		fakes[i].cut = true;
	pass(3000 * BASE_MS_NS); /* 400 ms until that is noticed */
	assert_string_equal(failed, "");
	members(-1, -1, -1);
	pass(1000 * BASE_MS_NS);
	assert_non_null(strstr(failed, "has been reachable for 3 s: relay "));
	assert_non_null(strstr(failed, set->relay[0].name));
}

static void
back_in_time(void **state)
{
	(void)state;
	told(RELAY_POLICY_STRIPE, 1);
	members(1, 1, 1);
	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < RELAYS; i++)
			fakes[i].cut = true;
		pass(2500 * BASE_MS_NS);
		for (uint32_t i = 0; i < RELAYS; i++)
			fakes[i].cut = false;
		pass(4 * BASE_S_NS);
		assert_string_equal(failed, "");
		members(1, 1, 1);
	}
}

/* Ranks 0 to 3 are of this cluster, 4 and 5 of another. */
static bool dead[6];
static uint32_t named;

static void
take_dead(void *user, uint32_t first, uint32_t count)
{
	(void)user;
	named = first * 16 + count;
}

static bool
is_dead(void *user, uint32_t rank)
{
	(void)user;
	return dead[rank];
}

static void
told_of_deaths(const struct fake *f, uint32_t notes, uint32_t first, uint32_t count)
{
	assert_int_equal(f->deaths, notes);
	assert_int_equal(f->first, first);
	assert_int_equal(f->count, count);
}

static void
deaths(void **state)
{
	struct relayset_survivors s = {.nworld = 6,
				       .n = 4,
				       .label_base = LABEL_BASE,
				       .token = 77,
				       .failed = take_dead,
				       .has_failed = is_dead};
	uint8_t ping[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&(struct relay_note){.type = RELAY_NOTE_PING}, ping);

	(void)state;
	memset(dead, 0, sizeof dead);
	told(RELAY_POLICY_STRIPE, 1);
	relayset_survive(set, &s);
	pass(100 * BASE_MS_NS);
	for (uint32_t i = 0; i < RELAYS; i++)
		told_of_deaths(&fakes[i], 1, 0, 0);
	/* Those of other clusters are none of its business. */
	dead[5] = true;
	relayset_failed(set, 5, now_ns);
	pass(50 * BASE_MS_NS);
	told_of_deaths(&fakes[0], 1, 0, 0);
	dead[2] = true;
	relayset_failed(set, 2, now_ns);
	pass(50 * BASE_MS_NS);
	for (uint32_t i = 0; i < RELAYS; i++)
		told_of_deaths(&fakes[i], 2, 2, 1);
	/* What finds no room is told later, all of it. */
	while (relayset_tell(set, 0, ping, len, now_ns))
		;
	dead[3] = true;
	relayset_failed(set, 3, now_ns);
	pass(200 * BASE_MS_NS);
	told_of_deaths(&fakes[0], 4, 2, 2);
	/* So is it told to one that was started anew. */
	relay_dies(&fakes[1]);
	pass(500 * BASE_MS_NS);
	dead[0] = true;
	relayset_failed(set, 0, now_ns);
	relay_starts(&fakes[1]);
	fakes[1].deaths = 0;
	pass(3 * BASE_S_NS);
	told_of_deaths(&fakes[1], 3, 2, 2);
	told_of_deaths(&fakes[2], 5, 0, 1);
}

static void
deaths_told(void **state)
{
	struct relayset_survivors s = {.nworld = 6,
				       .n = 4,
				       .label_base = LABEL_BASE,
				       .token = 77,
				       .failed = take_dead,
				       .has_failed = is_dead};
	struct relay_note n = {.type = RELAY_NOTE_DEATH,
			       .label_base = LABEL_BASE,
			       .token = 77,
			       .first = 3,
			       .count = 3};

	(void)state;
	named = 0;
	assert_false(relayset_death(set, &n)); /* it does not survive them */
	relayset_survive(set, &s);
	assert_true(relayset_death(set, &n));
	assert_int_equal(named, 3 * 16 + 3);
	named = 0;
	n.count = 4;
	assert_false(relayset_death(set, &n));
	n.count = 1;
	n.token = 78;
	assert_false(relayset_death(set, &n));
	n.token = 77;
	n.label_base++;
	assert_false(relayset_death(set, &n));
	assert_int_equal(named, 0);
}

#define ROW(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights),
		ROW(go_and_come_back),
		ROW(silence),
		ROW(drain),
		ROW(ways),
		ROW(light_goes_first),
		ROW(nobody_left),
		ROW(back_in_time),
		ROW(deaths),
		ROW(deaths_told),
	};

	int rc = cmocka_run_group_tests_name("relayset", tests, NULL, NULL);
	six = true;
	return rc + cmocka_run_group_tests_name("relayset by IPv6", tests, NULL, NULL);
}
