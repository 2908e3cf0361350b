/* SPDX-License-Identifier: BSD-2-Clause */
/* The forwarding core: labels, ids, custody, refusals, who may come in, jobs that
 * come and go. */
#include "relay_core_kit.h"

/* ---- forwarding ---------------------------------------------------------------------- */

static void
proc_to_trunk(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct relay_job *j = make_job(&spec2);
	add_job(r, spec2);
	uint32_t p = connect_proc(r, &spec2, 1, 1), t = connect_trunk(r, 1, 0);
	uint32_t base = spec2.label_base[0];

	struct suci_segment s = make_segment(r, 3, base + 5, base + 1, SUCI_SF_FIRST);
	assert_int_equal(feed(r, p, &s), SUCI_TAKEN);
	assert_int_equal(r->refs[3], 1);
	const struct suci_segment *o = &r->ep.path[t].sent[0];
	assert_int_equal(r->ep.path[t].nsent, 1);
	assert_int_equal(o->dst_label, spec2.label_base[1] + 5);
	assert_int_equal(o->src_label, spec2.label_base[1] + 1);
	assert_int_equal(o->seq, 9);
	assert_int_equal(o->block_bytes, 200);
	assert_int_equal(o->crc32c, 0x1234);
	assert_ptr_equal(o->data, r->buf[3]);
	assert_memory_equal(o->data + 8, j->global_id[1], 24);
	assert_memory_equal(o->data + 32, j->global_id[5], 24);
	assert_int_equal(o->data[7], 0x5a);
	assert_int_equal(o->data[56], 0x5a);

	/* Not the first of its block: no byte is touched. */
	uint16_t flags = SUCI_SF_LAST | SUCI_SF_ASK | 2 << SUCI_SF_PRIO_SHIFT;
	s = make_segment(r, 4, base + 5, base + 1, flags);
	assert_int_equal(feed(r, p, &s), SUCI_TAKEN);
	assert_int_equal(r->ep.path[t].sent[1].flags, flags); /* its class goes with it */
	for (int i = 0; i < 200; i++)
		assert_int_equal(r->buf[4][i], 0x5a);

	/* A pure ack holds no buffer. */
	s = make_segment(r, 5, base + 5, base + 1, SUCI_SF_ACK);
	s.data_len = 0;
	assert_int_equal(feed(r, p, &s), SUCI_TAKEN);
	assert_int_equal(r->refs[5], 0);
	assert_int_equal(relay_core_held(r->c), 3);

	fake_give_back(&r->ep, t, SUCI_FATE_ACKED);
	assert_int_equal(r->refs[3] + r->refs[4], 0);
	assert_int_equal(relay_core_counters(r->c)->tx_acked, 3);
	assert_int_equal(relay_core_counters(r->c)->rewritten, 1);
	free(j);
	relay_free(r);
}

static void
trunk_to_proc(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct relay_job *j = make_job(&spec2);
	add_job(r, spec2);
	uint32_t p = connect_proc(r, &spec2, 1, 1), t = connect_trunk(r, 1, 0);
	uint32_t base = spec2.label_base[0];
	struct suci_segment s = make_segment(r, 0, base + 1, base + 6, SUCI_SF_FIRST);
	assert_int_equal(feed(r, t, &s), SUCI_TAKEN);
	const struct suci_segment *o = &r->ep.path[p].sent[0];
	assert_int_equal(o->dst_label, MAKER_PROC_BASE + 1);
	assert_int_equal(o->src_label, MAKER_PROC_BASE + 6);
	assert_memory_equal(o->data + 8, j->private_id[6], 24);
	assert_memory_equal(o->data + 32, j->private_id[1], 24);
	fake_give_back(&r->ep, p, SUCI_FATE_ACKED);
	free(j);
	relay_free(r);
}

/* Out of one core, into the other: what rank 0 sends arrives at rank 3 under the
 * names rank 3 knows. */
static void
through_two_cores(void **state)
{
	(void)state;
	struct job_spec b = spec2;
	b.my_client = 1;
	struct relay *ra = relay_new(0), *rb = relay_new(1);
	struct relay_job *jb = make_job(&b);
	add_job(ra, spec2);
	add_job(rb, b);
	uint32_t pa = connect_proc(ra, &spec2, 0, 0), ta = connect_trunk(ra, 1, 0);
	uint32_t pb = connect_proc(rb, &b, 3, 0), tb = connect_trunk(rb, 0, 0);

	struct suci_segment s = make_segment(ra, 0, spec2.label_base[0] + 3,
					     spec2.label_base[0] + 0, SUCI_SF_FIRST);
	assert_int_equal(feed(ra, pa, &s), SUCI_TAKEN);
	s = ra->ep.path[ta].sent[0];
	memcpy(rb->buf[1], s.data, s.data_len);
	s.data = rb->buf[1];
	s.cookie = 1;
	assert_int_equal(feed(rb, tb, &s), SUCI_TAKEN);
	const struct suci_segment *o = &rb->ep.path[pb].sent[0];
	assert_int_equal(o->dst_label, MAKER_PROC_BASE + 3);
	assert_int_equal(o->src_label, MAKER_PROC_BASE + 0);
	assert_memory_equal(o->data + 8, jb->private_id[0], 24);
	assert_memory_equal(o->data + 32, jb->private_id[3], 24);
	free(jb);
	relay_free(ra);
	relay_free(rb);
}

static void
misuse_is_dropped_and_counted(void **state)
{
	(void)state;
	enum from { PROC1, TRUNK10, STRANGER };
	static const struct {
		const char *name;
		enum from from;
		uint32_t dst, src; /* ranks, relative to the job's base */
		uint16_t flags, len;
		size_t counter;
	} cases[] = {
#define C(n) offsetof(struct relay_counters, n)
		{"unknown destination", PROC1, 7, 1, 0, 200, C(drop_label)},
		{"far destination", PROC1, 0x00800000, 1, 0, 200, C(drop_label)},
		{"label 0", PROC1, (uint32_t)-0x01000040, 1, 0, 200, C(drop_label)},
		{"label of another primary", PROC1, 0x05000000, 1, 0, 200, C(drop_label)},
		{"unknown source", PROC1, 3, 7, 0, 200, C(drop_source_label)},
		{"somebody else's source", PROC1, 3, 0, 0, 200, C(drop_source)},
		{"remote source over a local path", PROC1, 3, 4, 0, 200, C(drop_source)},
		{"local destination over a local path", PROC1, 0, 1, 0, 200, C(drop_destination)},
		{"local source over a trunk", TRUNK10, 0, 1, 0, 200, C(drop_source)},
		{"remote destination over a trunk", TRUNK10, 4, 3, 0, 200, C(drop_destination)},
		{"first without room for ids", PROC1, 3, 1, SUCI_SF_FIRST, 55, C(drop_malformed)},
		{"path of nobody", STRANGER, 3, 1, 0, 200, C(drop_path)},
#undef C
	};
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t p = connect_proc(r, &spec2, 1, 1), t = connect_trunk(r, 1, 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const uint64_t *n =
			(const uint64_t *)(const void *)((const uint8_t *)relay_core_counters(
								 r->c) +
							 cases[i].counter);
		uint64_t before = *n;
		print_message("%s\n", cases[i].name);
		struct suci_segment s =
			make_segment(r, 0, spec2.label_base[0] + cases[i].dst,
				     spec2.label_base[0] + cases[i].src, cases[i].flags);
		s.data_len = cases[i].len;
		uint32_t path = cases[i].from == PROC1 ? p : cases[i].from == TRUNK10 ? t : 20;
		assert_int_equal(feed(r, path, &s), SUCI_DROPPED);
		assert_int_equal(*n, before + 1);
		assert_int_equal(r->refs[0], 0);
	}
	assert_int_equal(r->ep.path[p].nsent + r->ep.path[t].nsent, 0);
	relay_free(r);
}

/* A trunk speaks only for the clients its relay announced: client 2's relay may
 * not send as client 1. */
static void
trunk_of_another_client(void **state)
{
	(void)state;
	struct job_spec s3 = {.nclients = 3,
			      .nprocs = {2, 2, 2},
			      .nrelays = {1, 1, 1},
			      .label_base = {0x01000000, 64, 128},
			      .token = 1,
			      .id = 1};
	struct relay *r = relay_new(0);
	add_job(r, s3);
	connect_proc(r, &s3, 0, 0);
	uint32_t t2 = connect_trunk(r, 2, 0);
	struct suci_segment s = make_segment(r, 0, 0x01000000, 0x01000002, 0);
	assert_int_equal(feed(r, t2, &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_source, 1);
	s = make_segment(r, 0, 0x01000000, 0x01000004, 0);
	assert_int_equal(feed(r, t2, &s), SUCI_TAKEN);
	relay_free(r);
}

static void
refusals_keep_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int send_error;
		enum suci_verdict verdict;
		size_t counter;
	} cases[] = {
		{"full", SUCI_ERR_FULL, SUCI_REFUSED,
		 offsetof(struct relay_counters, refused_full)},
		{"no slots", SUCI_ERR_NOMEM, SUCI_REFUSED,
		 offsetof(struct relay_counters, refused_nomem)},
		{"down", SUCI_ERR_DOWN, SUCI_REFUSED,
		 offsetof(struct relay_counters, refused_trunk)},
	};
	struct relay *r = relay_new(0);
	uint32_t base = spec2.label_base[0];
	add_job(r, spec2);
	uint32_t p = connect_proc(r, &spec2, 1, 1);
	connect_trunk(r, 1, 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("%s\n", cases[i].name);
		struct suci_segment s = make_segment(r, 0, base + 3, base + 1, SUCI_SF_FIRST);
		r->ep.send_error = cases[i].send_error;
		assert_int_equal(feed(r, p, &s), cases[i].verdict);
		assert_int_equal(r->refs[0], 0);
		assert_int_equal(
			*(const uint64_t *)(const void *)((const uint8_t *)relay_core_counters(
								  r->c) +
							  cases[i].counter),
			1);
	}
	r->ep.send_error = 0;
	r->readonly = true;
	struct suci_segment s = make_segment(r, 0, base + 3, base + 1, SUCI_SF_FIRST);
	assert_int_equal(feed(r, p, &s), SUCI_REFUSED);
	assert_int_equal(relay_core_counters(r->c)->refused_readonly, 1);
	relay_free(r);
}

/* A segment that does not fit the way out will never arrive: the job ends and knows why. */
static void
too_big_ends_the_job(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	uint32_t base = spec2.label_base[0];
	add_job(r, spec2);
	uint32_t p = connect_proc(r, &spec2, 1, 1);
	uint32_t t = connect_trunk(r, 1, 0);
	r->ep.path[t].mtu = 1232;
	struct suci_segment s = make_segment(r, 0, base + 3, base + 1, SUCI_SF_FIRST);
	r->ep.send_error = SUCI_ERR_TOOBIG;
	assert_int_equal(feed(r, p, &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_toobig, 1);
	assert_int_equal(r->refs[0], 0);
	assert_int_equal(r->ended, 1);
	assert_non_null(strstr(r->why, "bytes of a message do not fit the way to"));
	assert_non_null(strstr(r->why, "at most 1160 do"));
	r->ep.send_error = 0;
	relay_free(r);
}

/* Trunks that probe: processes are told a size that passes all of them. */
static void
told_what_passes(void **state)
{
	(void)state;
	struct relay_core_conf conf = {
		.limits = {.jobs_max = 3,
			   .procs_max = 512,
			   .hosts_max = 8,
			   .trunks_max = 4,
			   .primaries_max = 2},
		.self_global = maker_relay_addr(0, 0),
		.trunk_mtu_start = 1232,
	};
	struct job_spec s3 = {.nclients = 3,
			      .nprocs = {4, 2, 2},
			      .nrelays = {1, 1, 1},
			      .label_base = {0x01000000, 64, 128},
			      .token = 1,
			      .id = 1};
	struct relay *r = relay_new_conf(&conf);
	struct relay_hello h;
	add_job(r, s3);
	connect_proc(r, &s3, 0, 0);
	assert_int_equal(relay_hello_decode(r->ep.hello, sizeof r->ep.hello, &h), 0);
	assert_int_equal(h.mtu, 1232);
	assert_int_equal(h.kind, RELAY_HELLO_RELAY);
	uint32_t t1 = connect_trunk(r, 1, 0);
	r->ep.path[t1].mtu = 1400;
	connect_proc(r, &s3, 1, 1);
	assert_int_equal(relay_hello_decode(r->ep.hello, sizeof r->ep.hello, &h), 0);
	assert_int_equal(h.mtu, 1232); /* the other trunk is not up */
	uint32_t t2 = connect_trunk(r, 2, 0);
	r->ep.path[t2].mtu = 1450;
	connect_proc(r, &s3, 2, 2);
	assert_int_equal(relay_hello_decode(r->ep.hello, sizeof r->ep.hello, &h), 0);
	assert_int_equal(h.mtu, 1400);
	r->ep.path[t1].mtu = 1472;
	connect_proc(r, &s3, 3, 3);
	assert_int_equal(relay_hello_decode(r->ep.hello, sizeof r->ep.hello, &h), 0);
	assert_int_equal(h.mtu, 1450);
	relay_free(r);
}

/* ---- who may come in ----------------------------------------------------------------- */

static void
accept_decisions(void **state)
{
	(void)state;
	struct suci_addr proc0 = maker_proc_addr(0), relay1 = maker_relay_addr(1, 0);
	struct suci_addr relay9 = maker_relay_addr(9, 9);
	struct suci_addr configured = relay_addr_v4(0xc0000263, 7000, RELAY_LEG_GLOBAL);
	struct suci_addr outside = proc0, inside_relay = relay1;
	outside.leg = RELAY_LEG_GLOBAL;
	inside_relay.leg = RELAY_LEG_PRIVATE;
	uint32_t base = spec2.label_base[0];
	const struct {
		const char *name;
		const struct suci_addr *from;
		struct relay_hello h;
		size_t len;
		size_t counter;
	} cases[] = {
#define C(n)			 offsetof(struct relay_counters, n)
#define PROC(token, label, rank) {1, token, label, rank, false, 0}
#define RELAY                                      \
	{                                          \
		2, 0, 0, RELAY_RANK_NONE, false, 0 \
	}
		{"good process", &proc0, PROC(0xabcd, base, 0), 24, C(accepted)},
		{"short hello", &proc0, PROC(0xabcd, base, 0), 20, C(accept_hello)},
		{"unknown label", &proc0, PROC(0xabcd, 0x01000000, 0), 24, C(accept_label)},
		{"wrong token", &proc0, PROC(0xabce, base, 0), 24, C(accept_token)},
		{"rank and label differ", &proc0, PROC(0xabcd, base, 1), 24, C(accept_rank)},
		{"remote rank", &proc0, PROC(0xabcd, base + 3, 3), 24, C(accept_rank)},
		{"from outside", &outside, PROC(0xabcd, base, 0), 24, C(accept_rank)},
		{"relay of the job", &relay1, RELAY, 24, C(accepted)},
		{"relay of nobody", &relay9, RELAY, 24, C(accept_relay)},
		{"relay from inside", &inside_relay, RELAY, 24, C(accept_relay)},
		{"configured relay", &configured, RELAY, 24, C(accepted)},
#undef RELAY
#undef PROC
#undef C
	};
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const uint64_t *n =
			(const uint64_t *)(const void *)((const uint8_t *)relay_core_counters(
								 r->c) +
							 cases[i].counter);
		uint64_t before = *n;
		uint8_t hello[RELAY_HELLO_LEN];
		char why[SUCI_TEXT_MAX];
		print_message("%s\n", cases[i].name);
		relay_hello_encode(&cases[i].h, hello);
		uint32_t p = fake_incoming(&r->ep, cases[i].from, hello, cases[i].len, why);
		bool good = cases[i].counter == offsetof(struct relay_counters, accepted);
		assert_int_equal(p != UINT32_MAX, good);
		assert_int_equal(why[0] == '\0', good);
		assert_int_equal(*n, before + 1);
		check(r);
	}
	relay_free(r);
}

/* A relay opens paths to the processes it owns in the global mapping, with the
 * process's own token and label. */
static void
opens_to_its_own_processes(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2); /* ranks 0, 1 are ours, 2 the other relay's */
	for (uint32_t i = 0; i < 3; i++) {
		struct suci_addr a = maker_proc_addr(i);
		uint32_t p = fake_find(&r->ep, &a);
		struct relay_hello h;
		assert_int_equal(p != UINT32_MAX, i < 2);
		if (p == UINT32_MAX)
			continue;
		assert_int_equal(relay_hello_decode(r->ep.path[p].hello, 24, &h), 0);
		assert_int_equal(h.kind, RELAY_HELLO_RELAY);
		assert_int_equal(h.token, maker_proc_token(i));
		assert_int_equal(h.label, MAKER_PROC_BASE + i);
		assert_int_equal(h.mtu, 1472);
	}
	assert_int_equal(r->ep.opened, 3); /* two processes and the trunk */
	/* A segment for the one that is not ours: refused, then connected by the tick. */
	uint32_t t = connect_trunk(r, 1, 0), base = spec2.label_base[0];
	struct suci_segment s = make_segment(r, 0, base + 2, base + 3, 0);
	assert_int_equal(feed(r, t, &s), SUCI_REFUSED);
	assert_int_equal(relay_core_counters(r->c)->refused_proc, 1);
	assert_true(relay_core_expiry_ns(r->c) <= r->ep.now);
	relay_core_tick(r->c, r->ep.now);
	struct suci_addr a = maker_proc_addr(2);
	uint32_t p = fake_find(&r->ep, &a);
	assert_int_not_equal(p, UINT32_MAX);
	/* While it is connecting the endpoint queues. */
	assert_int_equal(feed(r, t, &s), SUCI_TAKEN);
	assert_int_equal(r->ep.path[p].nsent, 1);
	relay_free(r);
}

/* The process is not ready at first: the relay asks again, and does not give up
 * the job for it. */
static void
unready_process_is_asked_again(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	struct suci_addr a = maker_proc_addr(0);
	for (int i = 0; i < 5; i++) {
		uint32_t p = fake_find(&r->ep, &a);
		assert_int_not_equal(p, UINT32_MAX);
		fake_down(&r->ep, p, SUCI_DOWN_REFUSED, "not yet");
		check(r);
		r->ep.now = relay_core_expiry_ns(r->c);
		relay_core_tick(r->c, r->ep.now);
	}
	assert_int_equal(r->ended, 0);
	uint32_t p = fake_find(&r->ep, &a);
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS};
	fake_accepted(&r->ep, p, &h);
	struct relay_job_info info;
	assert_true(relay_core_job(r->c, 0, &info));
	assert_int_equal(info.local_up, 1);
	relay_free(r);
}

/* ---- jobs come and go ---------------------------------------------------------------- */

static void
what_does_not_fit_changes_nothing(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct relay_job *j;
	static const struct {
		const char *name;
		struct job_spec s;
		int want;
	} cases[] = {
		{"label base in use",
		 {.nclients = 2,
		  .nprocs = {1, 1},
		  .nrelays = {1, 1},
		  .label_base = {0x01000040, 0}},
		 RELAY_ERR_EXISTS},
		{"reaches into it",
		 {.nclients = 2,
		  .nprocs = {60, 10},
		  .nrelays = {1, 1},
		  .label_base = {0x01000000, 0}},
		 RELAY_ERR_EXISTS},
		{"third primary of two",
		 {.nclients = 2,
		  .nprocs = {1, 1},
		  .nrelays = {1, 1},
		  .label_base = {0x03000000, 0}},
		 RELAY_ERR_LABELS},
		{"beyond the pages",
		 {.nclients = 2,
		  .nprocs = {1, 1},
		  .nrelays = {1, 1},
		  .label_base = {0x01040000, 0}},
		 RELAY_ERR_LABELS},
		{"too many processes",
		 {.nclients = 2,
		  .nprocs = {300, 170},
		  .nrelays = {1, 1},
		  .label_base = {0x02000000, 0}},
		 RELAY_ERR_NOMEM},
		{"too many hosts",
		 {.nclients = 2,
		  .nprocs = {5, 4},
		  .nrelays = {5, 4},
		  .label_base = {0x02000000, 0}},
		 RELAY_ERR_NOMEM},
		{"too many trunks",
		 {.nclients = 2,
		  .nprocs = {1, 5},
		  .nrelays = {1, 5},
		  .label_base = {0x02000000, 0}},
		 RELAY_ERR_NOMEM},
		{"base off the page",
		 {.nclients = 2,
		  .nprocs = {1, 1},
		  .nrelays = {1, 1},
		  .label_base = {0x02000001, 0}},
		 RELAY_ERR_INVAL},
	};
	add_job(r, spec2);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint32_t opened = r->ep.opened;
		print_message("%s\n", cases[i].name);
		j = make_job(&cases[i].s);
		assert_int_equal(relay_job_add(r->c, j, 0), cases[i].want);
		assert_int_equal(r->ep.opened, opened);
		free(j);
		check(r);
	}
	relay_free(r);
}

static void
jobs_come_and_go(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	static struct relay_labels labels;
	relay_labels_init(&labels, 0);
	for (uint32_t turn = 0; turn < 2000; turn++) {
		struct job_spec s = spec2;
		s.nprocs[0] = 1 + turn % 5;
		s.nprocs[1] = 1 + turn * 7 % 130;
		uint32_t n = s.nprocs[0] + s.nprocs[1];
		s.token = turn;
		s.label_base[0] = relay_labels_alloc(&labels, n);
		assert_int_not_equal(s.label_base[0], 0);
		add_job(r, s);
		uint32_t p = connect_proc(r, &s, 0, 0);
		if (turn == 0)
			connect_trunk(r, 1, 0);
		struct suci_addr ta = maker_relay_addr(1, 0);
		uint32_t t = fake_find(&r->ep, &ta);
		struct suci_segment seg = make_segment(r, turn % BUFS, s.label_base[0] + n - 1,
						       s.label_base[0], SUCI_SF_FIRST);
		assert_int_equal(feed(r, p, &seg), SUCI_TAKEN);
		if (turn % 3 == 0)
			fake_down(&r->ep, p, SUCI_DOWN_SILENT, "");
		else
			assert_int_equal(relay_job_end(r->c, s.label_base[0],
						       turn % 3 == 1 ? NULL : "stop", r->ep.now),
					 0);
		check(r);
		/* Custody outlives the job. */
		fake_give_back(&r->ep, t, SUCI_FATE_ACKED);
		for (uint32_t i = 0; i < FAKE_PATHS; i++)
			r->ep.path[i].nnotes = 0;
		r->ep.now += 3 * BASE_S_NS;
		relay_core_tick(r->c, r->ep.now);
		check(r);
		relay_labels_free(&labels, s.label_base[0], n);
	}
	uint32_t used = 0;
	for (uint32_t i = 0; i < FAKE_PATHS; i++)
		used += r->ep.path[i].used;
	assert_int_equal(used, 1); /* the trunk */
	assert_int_equal(relay_core_counters(r->c)->jobs_added, 2000);
	assert_int_equal(labels.used, 0);
	relay_free(r);
}

/* The same two labels over the same trunk, which are of one job, of none, and of the next one,
 * where they name others; and of a process that may not have come this way. */
static void
labels_are_used_again(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct job_spec later = spec2;
	later.token = spec2.token + 1;
	later.nprocs[0] = 2; /* rank 2 is remote now */
	add_job(r, spec2);
	uint32_t base = spec2.label_base[0], t = connect_trunk(r, 1, 0);
	uint32_t p = connect_proc(r, &spec2, 1, 1);
	struct suci_segment s = make_segment(r, 0, base + 2, base + 3, 0);
	struct suci_segment to_1 = make_segment(r, 1, base + 1, base + 3, 0);
	uint32_t p2 = connect_proc(r, &spec2, 2, 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(feed(r, t, &s), SUCI_TAKEN);
	assert_int_equal(r->ep.path[p2].nsent, 3);
	assert_int_equal(feed(r, t, &to_1), SUCI_TAKEN);
	assert_int_equal(r->ep.path[p].nsent, 1);
	/* What one path may send the other may not, with the labels just looked up. */
	struct suci_segment up = make_segment(r, 2, base + 3, base + 1, 0);
	assert_int_equal(feed(r, p, &up), SUCI_TAKEN);
	assert_int_equal(feed(r, p2, &up), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_source, 1);

	assert_int_equal(feed(r, t, &s), SUCI_TAKEN); /* looked up when the job ends */
	assert_int_equal(relay_job_end(r->c, base, NULL, r->ep.now), 0);
	assert_int_equal(feed(r, t, &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_label, 1);
	add_job(r, later);
	assert_int_equal(feed(r, t, &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_destination, 1);
	assert_int_equal(relay_core_counters(r->c)->drop_label, 1);
	check(r);
	relay_free(r);
}

/* Four trunk slots, a fifth relay: the one nobody uses makes room. */
static void
idle_trunk_makes_room(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	for (uint32_t c = 1; c <= 5; c++) {
		struct job_spec s = {.nclients = c + 1,
				     .id = c,
				     .token = 1,
				     .label_base = {0x01000000 + 64 * c}};
		s.nprocs[0] = s.nrelays[0] = s.nprocs[c] = s.nrelays[c] = 1;
		for (uint32_t i = 1; i < c; i++)
			s.nrelays[i] = 1;
		s.label_base[c] = 64;
		add_job(r, s);
		connect_trunk(r, c, 0);
		assert_int_equal(relay_job_end(r->c, s.label_base[0], NULL, r->ep.now), 0);
		check(r);
	}
	assert_string_equal(r->ep.close_text, "idle");
	relay_free(r);
}

static void
bad_limits(void **state)
{
	(void)state;
	struct relay_core_limits good = {.jobs_max = 1,
					 .procs_max = 64,
					 .hosts_max = 1,
					 .trunks_max = 1,
					 .paths_max = 1,
					 .primaries_max = 1};
	assert_true(relay_core_footprint(&good) > 0);
	struct relay_core_limits bad = good;
	bad.jobs_max = 0;
	assert_int_equal(relay_core_footprint(&bad), 0);
	bad = good;
	bad.procs_max = 63;
	assert_int_equal(relay_core_footprint(&bad), 0);
	bad = good;
	bad.primaries_max = RELAY_RELAYS_MAX + 1;
	assert_int_equal(relay_core_footprint(&bad), 0);
	struct relay_core_conf conf = {.limits = good};
	void *mem = aligned_alloc(64, relay_core_footprint(&good));
	assert_null(relay_core_new(mem, &conf)); /* no ops */
	free(mem);
	assert_null(relay_core_fini(NULL));
}

/* ---- measuring ------------------------------------------------------------------------ */

static struct relay_seen seen[8];
static uint32_t nseen;
static void
see(void *user, const struct relay_seen *s)
{
	assert_ptr_equal(user, &nseen);
	assert_true(nseen < 8);
	seen[nseen++] = *s;
}

static void
who_watches_sees_what_is_taken(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t p = connect_proc(r, &spec2, 1, 1), base = spec2.label_base[0];
	nseen = 0;
	relay_core_watch(r->c, see, &nseen);

	/* Refused; then taken; then one that names nobody. */
	uint32_t t = connect_trunk(r, 1, 0);
	struct suci_segment s = make_segment(r, 3, base + 5, base + 1, SUCI_SF_FIRST);
	r->readonly = true;
	assert_int_equal(feed(r, p, &s), SUCI_REFUSED);
	assert_int_equal(nseen, 0);
	r->readonly = false;
	assert_int_equal(feed(r, p, &s), SUCI_TAKEN);
	assert_int_equal(nseen, 1);
	assert_int_equal(seen[0].job, base);
	assert_int_equal(seen[0].src_rank, 1);
	assert_int_equal(seen[0].dst_rank, 5);
	assert_int_equal(seen[0].in_path, p);
	assert_int_equal(seen[0].bytes, 200);
	assert_int_equal(seen[0].cookie, 3);
	s = make_segment(r, 4, base + 63, base + 1, 0);
	assert_int_equal(feed(r, p, &s), SUCI_DROPPED);
	assert_int_equal(nseen, 1);

	/* The other way, and no more of it when nobody watches. */
	s = make_segment(r, 5, base + 1, base + 5, 0);
	assert_int_equal(feed(r, t, &s), SUCI_TAKEN);
	assert_int_equal(nseen, 2);
	assert_int_equal(seen[1].in_path, t);
	assert_int_equal(seen[1].src_rank, 5);
	relay_core_watch(r->c, NULL, NULL);
	s = make_segment(r, 6, base + 1, base + 5, 0);
	assert_int_equal(feed(r, t, &s), SUCI_TAKEN);
	assert_int_equal(nseen, 2);
	relay_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proc_to_trunk),
		cmocka_unit_test(trunk_to_proc),
		cmocka_unit_test(through_two_cores),
		cmocka_unit_test(misuse_is_dropped_and_counted),
		cmocka_unit_test(trunk_of_another_client),
		cmocka_unit_test(refusals_keep_nothing),
		cmocka_unit_test(too_big_ends_the_job),
		cmocka_unit_test(told_what_passes),
		cmocka_unit_test(accept_decisions),
		cmocka_unit_test(opens_to_its_own_processes),
		cmocka_unit_test(unready_process_is_asked_again),
		cmocka_unit_test(what_does_not_fit_changes_nothing),
		cmocka_unit_test(jobs_come_and_go),
		cmocka_unit_test(labels_are_used_again),
		cmocka_unit_test(idle_trunk_makes_room),
		cmocka_unit_test(who_watches_sees_what_is_taken),
		cmocka_unit_test(bad_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
