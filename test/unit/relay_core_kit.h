/* SPDX-License-Identifier: BSD-2-Clause */
/* The forwarding core on a fake endpoint, for tests: one relay with counted buffers,
 * jobs put into it, paths from its processes and to other relays. */
#ifndef TEST_RELAY_CORE_KIT_H
#define TEST_RELAY_CORE_KIT_H

#include "block_pool.h"
#include "cmocka_all.h"

#include "relay_fake_suci.h"
#include "relay_job_maker.h"

#include "base/clock.h"

#define BUFS 32

struct relay {
	struct relay_core *c;
	struct suci ep;
	uint8_t buf[BUFS][256];
	int refs[BUFS];
	bool readonly;
	uint32_t ended; /* how often job_ended was called */
	uint32_t ended_base;
	char why[RELAY_WHY_MAX];
	char down_what[64];
	uint32_t states, ways; /* as job_state told last */
	bool left, tolerant;
	struct { /* as light_state told: how often, and the last of each slot */
		uint32_t told;
		enum base_lightpath last;
	} light[RELAY_LIGHTS_MAX];
	uint32_t procs_up, proc_up;	    /* how often proc_up was called, and its last rank */
	uint8_t note[RELAY_NOTE_LIGHT_MAX]; /* from note_other */
	size_t note_len;
	uint32_t notes, note_rank, note_base;
};

static inline uint8_t *
op_writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	struct relay *r = user;
	(void)len;
	assert_ptr_equal(data, r->buf[cookie]);
	return r->readonly ? NULL : r->buf[cookie];
}

static inline void
op_hold(void *user, uint64_t cookie)
{
	((struct relay *)user)->refs[cookie]++;
}

static inline void
op_release(void *user, uint64_t cookie)
{
	struct relay *r = user;
	assert_true(r->refs[cookie] > 0);
	r->refs[cookie]--;
}

static inline void
op_job_ended(void *user, uint32_t base, const char *why)
{
	struct relay *r = user;
	r->ended++;
	r->ended_base = base;
	relay_text_set(r->why, "%s", why);
}

static inline void
op_path_up(void *user, uint32_t path, const struct suci_addr *peer, const char *what)
{
	(void)user, (void)path, (void)peer;
	assert_true(strlen(what) > 0);
}

static inline void
op_path_down(void *user, uint32_t path, const struct suci_addr *peer, const char *what,
	     const char *why)
{
	struct relay *r = user;
	(void)path, (void)peer;
	strncpy(r->down_what, what, sizeof r->down_what - 1);
	assert_true(strlen(why) > 0);
}

static inline void
op_job_state(void *user, uint32_t base, uint32_t ways, bool left, bool tolerant)
{
	struct relay *r = user;
	(void)base;
	r->tolerant = tolerant;
	r->states++;
	r->ways = ways;
	r->left = left;
}

static inline void
op_light_state(void *user, uint32_t slot, enum base_lightpath state)
{
	struct relay *r = user;
	r->light[slot].told++;
	r->light[slot].last = state;
}

static inline void
op_proc_up(void *user, uint32_t base, uint32_t rank)
{
	struct relay *r = user;
	(void)base;
	r->procs_up++;
	r->proc_up = rank;
}

static inline void
op_note_other(void *user, uint32_t base, uint32_t rank, const uint8_t *note, size_t len)
{
	struct relay *r = user;
	assert_true(len <= sizeof r->note);
	memcpy(r->note, note, len);
	r->note_len = len;
	r->note_base = base;
	r->note_rank = rank;
	r->notes++;
}

static const struct relay_core_ops ops = {
	.writable = op_writable,
	.hold = op_hold,
	.release = op_release,
	.job_ended = op_job_ended,
	.path_up = op_path_up,
	.path_down = op_path_down,
	.job_state = op_job_state,
	.light_state = op_light_state,
	.proc_up = op_proc_up,
	.note_other = op_note_other,
};

/* Gateway of relay m of the own cluster. */
static inline struct suci_addr
kit_gateway(uint32_t m)
{
	return relay_addr_v4(0x0a0000e0u + m, 7200, RELAY_LEG_PRIVATE);
}

static inline struct relay *
relay_new_conf(const struct relay_core_conf *given)
{
	struct relay *r = block_take(sizeof *r);
	memset(r, 0, sizeof *r);
	struct relay_core_conf conf = *given;
	conf.trunk_mtu = 1472;
	conf.limits.paths_max = FAKE_PATHS;
	conf.ops = &ops;
	conf.user = r;
	r->c = relay_core_new(block_take(relay_core_footprint(&conf.limits)), &conf);
	assert_non_null(r->c);
	r->ep.user = r->c;
	relay_bind(r->c, &r->ep);
	return r;
}

static inline struct relay *
relay_new_with(struct suci_addr self, uint32_t ngateways)
{
	struct relay_core_conf conf = {
		.limits = {.jobs_max = 3,
			   .procs_max = 512,
			   .hosts_max = 8,
			   .trunks_max = 4,
			   .primaries_max = 2},
		.self_global = self,
		.peer = {relay_addr_v4(0xc0000263, 7000, RELAY_LEG_GLOBAL)},
		.npeers = 1,
		.ngateways = ngateways,
	};
	for (uint32_t m = 0; m < ngateways; m++)
		conf.gateway[m] = kit_gateway(m);
	return relay_new_conf(&conf);
}

/* The first of two relays that serve cluster 0 of two; every cluster pair has that policy. */
static inline struct relay_core_conf
relay_conf_of_two(enum relay_policy policy, uint32_t trunks, uint64_t partition_ns)
{
	struct relay_core_conf conf = {
		.limits = {.jobs_max = 3,
			   .procs_max = 512,
			   .hosts_max = 8,
			   .trunks_max = trunks,
			   .primaries_max = 2,
			   .strays_max = 16},
		.self_global = maker_relay_addr(0, 0),
		.ncluster = 2,
		.rule = {{.policy = (uint8_t)policy}},
		.nrules = 1,
		.partition_ns = partition_ns,
	};
	for (uint32_t i = 0; i < 2; i++)
		conf.cluster[i] = (struct relay_sibling){
			.global = maker_relay_addr(0, i),
			.private = relay_addr_v4(0x0a0000c8 + i, 7000, RELAY_LEG_PRIVATE),
			.weight = 100};
	return conf;
}

/* The first relay of a client. */
static inline struct relay *
relay_new(uint32_t client)
{
	return relay_new_with(maker_relay_addr(client, 0), 0);
}

static inline void
check(const struct relay *r)
{
	const char *what = NULL;
	if (!relay_core_check(r->c, &what))
		fail_msg("does not hold: %s", what);
}

static inline void
relay_free(struct relay *r)
{
	check(r);
	for (uint32_t p = 0; p < FAKE_PATHS; p++)
		if (r->ep.path[p].used)
			fake_give_back(&r->ep, p, SUCI_FATE_ABANDONED);
	assert_int_equal(relay_core_held(r->c), 0);
	for (int i = 0; i < BUFS; i++)
		assert_int_equal(r->refs[i], 0);
	block_give(relay_core_fini(r->c));
	block_give(r);
}

/* Client 0: ranks 0-2 behind 2 relays, client 1: ranks 3-6 behind 1. */
static const struct job_spec spec2 = {.nclients = 2,
				      .my_client = 0,
				      .nprocs = {3, 4},
				      .nrelays = {2, 1},
				      .label_base = {0x01000040, 0x02000080},
				      .token = 0xabcd,
				      .id = 7};

/* Client 0: one process of ours behind relay 0; client 1: ranks 1-4 behind 2 relays. */
static const struct job_spec spec_one = {.nclients = 2,
					 .my_client = 0,
					 .nprocs = {1, 4},
					 .nrelays = {1, 2},
					 .label_base = {0x01000040, 0x02000080},
					 .token = 0xabcd,
					 .id = 7};

static inline void
add_job(struct relay *r, struct job_spec s)
{
	struct relay_job *j = make_job(&s);
	assert_int_equal(relay_job_add(r->c, j, r->ep.now), 0);
	free(j);
	check(r);
}

static inline uint32_t
connect_proc(struct relay *r, const struct job_spec *s, uint32_t rank, uint32_t i)
{
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.token = s->token,
				.label = s->label_base[s->my_client] + rank,
				.rank = rank};
	struct suci_addr from = maker_proc_addr(i);
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	relay_hello_encode(&h, hello);
	uint32_t p = fake_incoming(&r->ep, &from, hello, sizeof hello, why);
	assert_int_not_equal(p, UINT32_MAX);
	return p;
}

static inline uint32_t
connect_trunk(struct relay *r, uint32_t client, uint32_t relay)
{
	struct suci_addr a = maker_relay_addr(client, relay);
	uint32_t p = fake_find(&r->ep, &a);
	assert_int_not_equal(p, UINT32_MAX);
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	fake_accepted(&r->ep, p, &h);
	return p;
}

static inline uint32_t
connect_gateway(struct relay *r, uint32_t m)
{
	struct suci_addr a = kit_gateway(m);
	uint32_t p = fake_find(&r->ep, &a);
	assert_int_not_equal(p, UINT32_MAX);
	struct relay_hello h = {.kind = RELAY_HELLO_GATEWAY, .rank = RELAY_RANK_NONE};
	fake_accepted(&r->ep, p, &h);
	return p;
}

static inline struct suci_segment
make_segment(struct relay *r, uint64_t cookie, uint32_t dst, uint32_t src, uint16_t flags)
{
	memset(r->buf[cookie], 0x5a, sizeof r->buf[cookie]);
	return (struct suci_segment){.dst_label = dst,
				     .src_label = src,
				     .seq = 9,
				     .block = 9,
				     .flags = flags,
				     .mss = 1400,
				     .crc32c = 0x1234,
				     .block_bytes = 200,
				     .data = r->buf[cookie],
				     .data_len = 200,
				     .cookie = cookie};
}

static inline enum suci_verdict
feed(struct relay *r, uint32_t path, const struct suci_segment *s)
{
	enum suci_verdict v = relay_ops()->segment(r->c, path, s, r->ep.now);
	check(r);
	return v;
}

static inline void
notes_are(const struct relay *r, uint32_t path, uint32_t n, uint8_t type, uint32_t base,
	  const char *text)
{
	const struct fake_path *f = &r->ep.path[path];
	struct relay_note note;
	assert_int_equal(f->nnotes, n);
	if (n == 0)
		return;
	assert_int_equal(relay_note_decode(f->note[n - 1], f->note_len[n - 1], &note), 0);
	assert_int_equal(note.type, type);
	assert_int_equal(note.label_base, base);
	if (text)
		assert_non_null(strstr(note.text, text));
}

#endif
