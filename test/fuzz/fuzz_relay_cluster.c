/* SPDX-License-Identifier: BSD-2-Clause */
/* A relay's job coordinator whose other relays, workers and gateway say anything at any time: its
 * tables agree, orders are never more than jobs allow, and all memory comes back.
 *
 *     u8 what | ...   0-7 a frame of relay what % 3: u16 length, bytes as on the channel
 *                     8   answer to the oldest order; u8 odd: refused      9  its place ended the
 * job 10  gateway finished   11 ways u8 of worker u8, left  12 channel u8 goes, comes 13  time
 * passes, u8 * 100 ms     14  our client's job begins   15  ends, u8: well */
#include "relay/cluster.h"

#include "../unit/relay_job_maker.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define RELAYS	 3
#define WORKERS	 2
#define JOBS	 4
#define ORDERS	 256
#define LABELS_0 0x02000040u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct rig {
	struct relay_cluster *c;
	struct relay_labels labels;
	struct relay_member member[RELAYS];
	struct relay_cluster_order order[ORDERS];
	uint32_t norders, rooms, own; /* RELAY_CLUSTER_NONE */
	bool ended;
	uint64_t now_ns;
};

static void
order(void *user, const struct relay_cluster_order *o)
{
	struct rig *r = user;
	BASE_ASSERT(o->text && (o->place < WORKERS || o->place == RELAY_CLUSTER_GATEWAY));
	if (o->type == RELAY_CLUSTER_ELSEWHERE)
		return;
	BASE_ASSERT(r->norders < ORDERS);
	r->order[r->norders++] = *o;
}

static bool
send_frame(void *user, uint32_t i, const struct relay_peer_frame *f)
{
	struct relay_peer_frame back;
	uint8_t out[RELAY_PEER_SMALL_MAX];
	size_t n = relay_peer_encode(f, out);
	(void)user;
	BASE_ASSERT(i < RELAYS && i != 1);
	BASE_ASSERT(relay_peer_decode(out, n, &back, NULL) == (long)n);
	return true;
}

static bool
send_job(void *user, uint32_t i, const struct relay_job *table)
{
	const char *what;
	(void)user;
	BASE_ASSERT(i < RELAYS && i != 1 && relay_job_validate(table, &what) == 0);
	return true;
}

static void *
room(void *user, size_t len)
{
	((struct rig *)user)->rooms++;
	return malloc(len);
}

static void
give_back(void *user, void *mem)
{
	((struct rig *)user)->rooms--;
	free(mem);
}

static void
end_own(struct rig *r, const char *why)
{
	r->ended = true;
	relay_cluster_end(r->c, r->own, why);
}

static void
installed(void *user, void *owner, const char *refusal)
{
	struct rig *r = user;
	BASE_ASSERT(owner == user);
	if (refusal)
		end_own(r, refusal);
	else
		relay_cluster_running(r->c, r->own);
}

static void
aborted(void *user, void *owner, const char *why)
{
	BASE_ASSERT(owner == user);
	end_own(user, why);
}

static void
say(void *user, enum relay_cluster_level level, void *owner, uint32_t id, uint32_t primary,
    const char *text)
{
	(void)user;
	(void)level;
	(void)owner;
	(void)id;
	BASE_ASSERT(*text && primary < RELAYS);
}

static const struct relay_cluster_ops ops = {
	.order = order,
	.send = send_frame,
	.send_job = send_job,
	.room = room,
	.give_back = give_back,
	.installed = installed,
	.aborted = aborted,
	.say = say,
};

static void
answer(struct rig *r, bool refused)
{
	struct relay_cluster_order o = r->order[0];
	if (!r->norders)
		return;
	memmove(r->order, r->order + 1, --r->norders * sizeof *r->order);
	relay_cluster_answer(r->c, o.job, o.type, o.place, refused ? "no" : NULL);
}

static void
begin_own(struct rig *r, const struct relay_job *table)
{
	if (r->own != RELAY_CLUSTER_NONE)
		return;
	r->own = relay_cluster_begin(r->c, r, table, 7, r->now_ns);
	r->ended = r->own == RELAY_CLUSTER_NONE;
}

struct bytes {
	const uint8_t *at;
	size_t left;
};

static uint32_t
take(struct bytes *b)
{
	if (!b->left)
		return 0;
	b->left--;
	return *b->at++;
}

static void
hear(struct rig *r, struct bytes *b, uint32_t from)
{
	size_t n = take(b);
	n = n << 8 | take(b);
	n = n < b->left ? n : b->left;
	struct relay_peer_frame f;
	if (relay_peer_decode(b->at, n, &f, NULL) > 0)
		relay_cluster_frame(r->c, from % RELAYS, &f);
	b->at += n;
	b->left -= n;
}

static void
step(struct rig *r, struct bytes *b, const struct relay_job *table)
{
	uint32_t what = take(b) % 16, arg;
	uint32_t label = r->norders ? r->order[0].label_base : LABELS_0;
	uint32_t place = r->norders ? r->order[0].place : 0;
	switch (what) {
	case 8:
		answer(r, take(b) & 1);
		break;
	case 9:
		relay_cluster_ended(r->c, label, place, "it died");
		break;
	case 10:
		relay_cluster_finished(r->c, label, "");
		break;
	case 11:
		arg = take(b);
		relay_cluster_state(r->c, label, arg % (WORKERS + 1), take(b), arg >> 7, r->now_ns);
		break;
	case 12:
		arg = take(b) % 2 ? 0 : 2;
		relay_cluster_down(r->c, arg, "cut");
		relay_cluster_up(r->c, arg);
		break;
	case 13:
		r->now_ns += take(b) * 100000000ull;
		relay_cluster_tick(r->c, r->now_ns);
		break;
	case 14:
		begin_own(r, table);
		break;
	case 15:
		if (r->own != RELAY_CLUSTER_NONE && !r->ended)
			end_own(r, take(b) & 1 ? NULL : "over");
		break;
	default:
		hear(r, b, what);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig r = {.own = RELAY_CLUSTER_NONE, .now_ns = 1};
	struct bytes b = {data, size};
	struct job_spec spec = {.nclients = 2,
				.nprocs = {4, 2},
				.nrelays = {RELAYS, size % 2},
				.label_base = {LABELS_0, 0x05000040},
				.foreign = {0, !(size % 2)},
				.token = 77,
				.id = 1};
	const char *what;
	for (uint32_t i = 0; i < RELAYS; i++)
		r.member[i] = (struct relay_member){.ipv4_global = maker_relay_ip(0, i),
						    .nshards = WORKERS,
						    .port_global = {7000, 7001}};
	struct relay_cluster_conf conf = {
		.self = 1,
		.nrelays = RELAYS,
		.member = r.member,
		.name = "a",
		.gateway = true,
		.jobs_max = JOBS,
		.limits = {.nworld_max = 64, .nhosts_max = 64},
		.labels = &r.labels,
		.ops = &ops,
		.user = &r,
	};
	relay_labels_init(&r.labels, 1);
	struct relay_job *table = make_job(&spec);
	void *mem = malloc(relay_cluster_footprint(&conf));
	r.c = relay_cluster_new(mem, &conf);
	BASE_ASSERT(r.c);
	while (b.left) {
		step(&r, &b, table);
		BASE_ASSERT(relay_cluster_check(r.c, &what));
	}
	/* Everything ends. */
	relay_cluster_end_all(r.c, "stops");
	while (r.norders)
		answer(&r, false);
	if (r.own != RELAY_CLUSTER_NONE) {
		BASE_ASSERT(relay_cluster_over(r.c, r.own));
		relay_cluster_forget(r.c, r.own);
	}
	struct relay_cluster_info info;
	for (uint32_t i = 0; i < JOBS; i++)
		BASE_ASSERT(!relay_cluster_job(r.c, i, &info));
	BASE_ASSERT(!r.rooms);
	relay_cluster_fini(r.c);
	free(mem);
	free(table);
	return 0;
}
