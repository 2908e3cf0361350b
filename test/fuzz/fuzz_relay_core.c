/* SPDX-License-Identifier: BSD-2-Clause */
/* The input is a list of operations on a relay core with a fake endpoint:
 * segments with arbitrary labels over any path, paths that come and go, hellos,
 * notes, jobs added and ended, acks, time; doors of processes and of other clusters.  After each
 * the core's books must be right, and at the end every buffer is back.  An operation is 11 bytes;
 * if there are some over, the core has gateways; if more than five, it knows two relays of its own
 * cluster, and keeps strays.  Three ports have light. */
#define FAKE_NOTES 8 /* cleared for each input */
#include "../unit/block_pool.h"
#include "../unit/relay_fake_suci.h"
#include "../unit/relay_job_maker.h"

#include "door/address.h"
#include "relayproto/door.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUFS 8
static struct {
	uint8_t bytes[128];
	int refs;
} buf[BUFS];
static bool readonly;

static uint8_t *
op_writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	(void)user;
	BASE_ASSERT(cookie < BUFS && data == buf[cookie].bytes && len <= sizeof buf[0].bytes);
	return readonly ? NULL : buf[cookie].bytes;
}

static void
op_hold(void *user, uint64_t cookie)
{
	(void)user;
	BASE_ASSERT(cookie < BUFS);
	buf[cookie].refs++;
}

static void
op_release(void *user, uint64_t cookie)
{
	(void)user;
	BASE_ASSERT(cookie < BUFS && buf[cookie].refs > 0);
	buf[cookie].refs--;
}

static void
op_job_ended(void *user, uint32_t base, const char *why)
{
	(void)user, (void)base;
	BASE_ASSERT(memchr(why, 0, RELAY_WHY_MAX));
}

static const struct relay_core_ops ops = {
	.writable = op_writable, .hold = op_hold, .release = op_release, .job_ended = op_job_ended};

/* Numbers near the ones that mean something. */
static uint32_t
label(uint8_t a, uint8_t b)
{
	return ((uint32_t)(a >> 6) << 24) + (uint32_t)(a & 0x3f) * 32 + b % 80;
}

static struct suci_addr
address(uint8_t a)
{
	if (a >> 5 == 6)
		return relay_addr_v4(0x0a0000e0u + a % 4, 7200, RELAY_LEG_PRIVATE);
	if (a & 1)
		return maker_relay_addr((a >> 1) % 4, (a >> 3) % 3);
	return maker_proc_addr((a >> 1) % 8);
}

static void
add(struct relay_core *c, uint8_t a, uint8_t b, uint8_t foreign, uint8_t direct, uint64_t now)
{
	struct job_spec s = {.nclients = 1 + a % 4, .my_client = 0, .token = b, .id = a};
	s.my_client = b % s.nclients;
	for (uint32_t i = 0; i < s.nclients; i++) {
		s.nrelays[i] = 1 + (b >> i) % 3;
		s.nprocs[i] = 1 + (uint32_t)((a >> i) ^ b) % 70;
		s.label_base[i] = label(a & 0xfe, 0);
		s.foreign[i] = (foreign >> 2 * i) & 3;
		if (s.foreign[i] && (direct >> i & 1) && i != s.my_client)
			s.nrelays[i] = 0;
	}
	struct relay_job *j = make_job(&s);
	const char *what = NULL;
	BASE_ASSERT(j->label_base < 1u << 24 || relay_job_validate(j, &what) == 0);
	(void)relay_job_add(c, j, now);
	free(j);
}

static void
segment(struct suci *ep, const uint8_t p[10], uint64_t now)
{
	uint64_t cookie = p[8] % BUFS;
	struct suci_segment s = {.dst_label = label(p[1], p[2]),
				 .src_label = label(p[3], p[4]),
				 .flags = (uint16_t)(p[5] & 0x7f),
				 .data = buf[cookie].bytes,
				 .data_len = p[6] % 129,
				 .seq = p[7],
				 .cookie = cookie};
	readonly = p[9] == 1;
	ep->send_error = p[9] >= 2 && p[9] <= 6 ? -(int)(p[9] - 1) : 0;
	(void)relay_ops()->segment(ep->user, p[0] % FAKE_PATHS, &s, now);
	ep->send_error = 0;
}

static void
hello(struct suci *ep, const uint8_t p[10])
{
	struct relay_hello h = {.kind = p[1] & 1 ? RELAY_HELLO_PROCESS : RELAY_HELLO_RELAY,
				.token = p[2],
				.label = label(p[3], p[4]),
				.rank = p[5]};
	struct suci_addr from = address(p[0]);
	uint8_t bytes[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	relay_hello_encode(&h, bytes);
	bytes[p[6] % sizeof bytes] ^= p[7];
	uint32_t path = fake_find(ep, &from);
	if (path != UINT32_MAX && ep->path[path].up)
		return;
	fake_incoming(ep, &from, bytes, sizeof bytes, why);
}

/* Light ordered, lit by the other side, dark; a note about it to a process. */
static void
light(struct suci *ep, struct relay_core *c, const uint8_t p[10])
{
	uint32_t slot = p[1] % 4;
	struct relay_light l = {
		.peer = maker_relay_addr(p[2] % 4, p[3] % 3),
		.addr = relay_addr_v4(0x0a320000u + p[4] % 4, 7000, RELAY_LEG_GLOBAL)};
	uint8_t note[12] = {p[5] % 16 ? RELAY_NOTE_LIGHT : p[5]}, bytes[RELAY_HELLO_LEN];
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	char why[SUCI_TEXT_MAX];
	l.addr.leg = (uint8_t)(RELAY_LEG_LIGHT + slot - (p[6] == 1));
	switch (p[0] % 4) {
	case 0:
		(void)relay_core_light(c, slot, &l, ep->now);
		break;
	case 1: {
		uint32_t path = fake_find(ep, &l.addr);
		relay_hello_encode(&h, bytes);
		bytes[p[7] % sizeof bytes] ^= p[8];
		if (path == UINT32_MAX || !ep->path[path].up)
			fake_incoming(ep, &l.addr, bytes, sizeof bytes, why);
		break;
	}
	case 2:
		(void)relay_core_dark(c, slot, ep->now);
		break;
	default:
		(void)relay_core_note(c, label(p[2], 0), p[3] ? p[3] % 64 : RELAY_RANK_NONE, note,
				      p[4] % sizeof note, ep->now);
		break;
	}
}

/* ---- doors: few realms, tokens, labels and relays, so that they meet ---- */

#define REALM 7u
#define DOORS 64u

static uint64_t
door_token(uint8_t a)
{
	return 1 + a % 4;
}

static uint32_t
door_label(uint8_t a)
{
	return (uint32_t)(a >> 6) << 18 | (a & 63);
}

/* Of a cluster of one relay or two, or of this relay itself; a byte of it may be wrong. */
static struct relay_door_bytes
door_bytes(uint8_t token, uint8_t lab, uint8_t where, uint8_t wrong, uint8_t out[DOOR_ADDRESS_MAX])
{
	struct door_address a = {.realm = REALM + (token >> 7),
				 .token = door_token(token),
				 .label = door_label(lab) + !lab,
				 .n = 1 + (where >> 6),
				 .nrelays = 1 + (where >> 5 & 1)};
	for (uint32_t m = 0; m < a.nrelays; m++)
		a.relay[m] =
			(struct door_relay){maker_relay_ip(where % 4, (where >> 2 & 1) + m), 7000};
	size_t len = door_address_encode(&a, out);
	if (len && wrong)
		out[wrong % len] ^= wrong;
	return (struct relay_door_bytes){out, (uint8_t)len};
}

/* Any note about doors, over any path. */
static void
say_door(struct suci *ep, struct relay_core *c, const uint8_t p[10])
{
	uint8_t at[DOOR_ADDRESS_MAX], own[DOOR_ADDRESS_MAX], bytes[RELAY_DOOR_NOTE_MAX];
	uint32_t path = p[0] % FAKE_PATHS;
	struct relay_door_note n = {.op = (uint8_t)(1 + p[1] % RELAY_DOOR_NAMED),
				    .request = p[2] % 8,
				    .label = door_label(p[3]),
				    .n = 1 + p[9] % 3,
				    .importers = p[8] % 3,
				    .realm = REALM + (p[4] >> 7),
				    .token = door_token(p[4]),
				    .address =
					    door_bytes(p[4], p[5], p[6], p[9] > 250 ? p[8] : 0, at),
				    .ok = p[7] & 1,
				    .called = door_label(p[5]),
				    .offered = p[7] & 2 ? door_label(p[8]) : 0};
	if (n.op == RELAY_DOOR_ASK)
		n.own = door_bytes(p[4], p[7], p[8], 0, own);
	if (n.op == RELAY_DOOR_REGISTER && n.label) {
		n.with_ipv4 = maker_relay_ip(0, p[6] % 2);
		n.with_port = 7000;
	}
	size_t len = relay_door_encode(&n, bytes);
	if (!ep->path[path].used || !ep->path[path].up)
		return;
	ep->note_number += p[7] >> 7 ? 0 : 1;
	relay_ops()->note(c, path, bytes, p[7] >> 2 & 1 ? p[8] % (len + 1) : len, ep->now);
	ep->note_number = 0;
}

/* A process with doors, or a relay that proves to know one. */
static void
door_hello(struct suci *ep, const uint8_t p[10])
{
	struct relay_hello h = {.kind = RELAY_HELLO_DOOR, .rank = RELAY_RANK_NONE};
	struct suci_addr from = maker_proc_addr(p[1] % 8);
	uint8_t bytes[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	if (p[2] & 1) {
		h.kind = RELAY_HELLO_RELAY;
		h.label = door_label(p[3]);
		h.token = relay_hello_token(door_token(p[4]), h.label);
		from = maker_relay_addr(p[1] % 4, p[1] >> 2 & 1);
	}
	relay_hello_encode(&h, bytes);
	uint32_t path = fake_find(ep, &from);
	if (path == UINT32_MAX || !ep->path[path].up)
		fake_incoming(ep, &from, bytes, sizeof bytes, why);
}

static void
operate_door(struct suci *ep, struct relay_core *c, uint8_t op, const uint8_t p[10])
{
	switch (op % 8) {
	case 0:
		door_hello(ep, p);
		break;
	case 1: {
		struct suci_segment s = {.dst_label = door_label(p[1]),
					 .src_label = door_label(p[2]),
					 .flags = SUCI_SF_FIRST,
					 .data = buf[p[8] % BUFS].bytes,
					 .data_len = p[6] % 129,
					 .cookie = p[8] % BUFS};
		(void)relay_ops()->segment(c, p[0] % FAKE_PATHS, &s, ep->now);
		break;
	}
	default:
		say_door(ep, c, p);
		break;
	}
}

static void
operate(struct suci *ep, struct relay_core *c, uint8_t op, const uint8_t p[10])
{
	uint32_t path = p[0] % FAKE_PATHS;
	if (op >= 224) {
		light(ep, c, p);
		return;
	}
	if (op >= 192) {
		operate_door(ep, c, op, p);
		return;
	}
	switch (op % 9) {
	case 0:
	case 1:
		segment(ep, p, ep->now);
		break;
	case 2:
		add(c, p[0], p[1], p[2], p[3], ep->now);
		break;
	case 3:
		hello(ep, p);
		break;
	case 4:
		if (ep->path[path].used && !ep->path[path].up)
			fake_accepted(
				ep, path,
				&(struct relay_hello){.kind = p[1] & 1 ? RELAY_HELLO_GATEWAY : 2});
		break;
	case 5:
		if (ep->path[path].used)
			fake_down(ep, path, (enum suci_down)(p[1] % 8), p[2] & 1 ? "idle" : "");
		break;
	case 6: {
		uint8_t note[9] = {p[1], 0, 0, 0, 0, 0, p[4] % 4, p[5], p[6]};
		be32_store(note + 1, label(p[2], 0));
		if (ep->path[path].used)
			relay_ops()->note(c, path, note, p[7] % 10, ep->now);
		break;
	}
	case 7:
		if (ep->path[path].used)
			fake_give_back(ep, path, SUCI_FATE_ACKED);
		ep->path[path].nnotes = 0;
		break;
	default:
		ep->now += (uint64_t)p[1] << (p[2] % 36);
		if (p[3] & 1)
			(void)relay_job_end(c, label(p[4], 0), p[5] & 1 ? "why" : NULL, ep->now);
		relay_core_tick(c, ep->now);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct suci ep;
	struct relay_core_conf conf = {
		.limits = {.jobs_max = 3,
			   .procs_max = 640,
			   .hosts_max = 8,
			   .trunks_max = 4,
			   .paths_max = FAKE_PATHS,
			   .primaries_max = 2,
			   .doors_max = DOORS,
			   .holds_max = DOORS},
		.self_global = maker_relay_addr(0, 0),
		.trunk_mtu = 1472,
		.ngateways = size % 11 ? 3 : 0,
		.nlights = 3,
		.ops = &ops,
	};
	for (uint32_t m = 0; size % 11 > 5 && m < 2; m++) {
		conf.cluster[conf.ncluster++] = (struct relay_sibling){
			.global = maker_relay_addr(0, m),
			.private = relay_addr_v4(0x0a0000c8u + m, 7000, RELAY_LEG_PRIVATE),
			.weight = 100};
		conf.limits.strays_max = 8;
		conf.rule[0].policy = RELAY_POLICY_STRIPE;
		conf.nrules = 1;
		conf.partition_ns = BASE_S_NS;
	}
	for (uint32_t m = 0; m < conf.ngateways; m++)
		conf.gateway[m] = relay_addr_v4(0x0a0000e0u + m, 7200, RELAY_LEG_PRIVATE);
	struct relay_core *c =
		relay_core_new(block_take(relay_core_footprint(&conf.limits)), &conf);
	const char *what = NULL;

	memset(&ep, 0, sizeof ep);
	memset(buf, 0, sizeof buf);
	ep.user = c;
	relay_bind(c, &ep);
	for (; size >= 11; data += 11, size -= 11) {
		operate(&ep, c, data[0], data + 1);
		BASE_ASSERT(relay_core_check(c, &what));
	}
	for (uint32_t p = 0; p < FAKE_PATHS; p++)
		fake_give_back(&ep, p, SUCI_FATE_ABANDONED);
	relay_core_end_all(c, "over", ep.now); /* strays with them */
	BASE_ASSERT(relay_core_held(c) == 0);
	for (int i = 0; i < BUFS; i++)
		BASE_ASSERT(buf[i].refs == 0);
	block_give(relay_core_fini(c));
	return 0;
}
