/* SPDX-License-Identifier: BSD-2-Clause */
/* Foreign processes in the forwarding core: ways to gateways, from them, and what the
 * end of such a path means. */
#include "relay_core_kit.h"

/* Client 0 ours, ranks 0-4 behind 2 relays; client 1 foreign with a global address,
 * ranks 5-6; client 2 behind a relay, ranks 7-8, another's processes. */
static const struct job_spec remote_spec = {.nclients = 3,
					    .my_client = 0,
					    .nprocs = {5, 2, 2},
					    .nrelays = {2, 0, 1},
					    .foreign = {0, 1, 1},
					    .label_base = {0x01000040, 0, 0x02000080},
					    .token = 0xabcd,
					    .id = 7};

/* Client 0 foreign, ranks 0-2 on 2 hosts behind 2 relays; client 1 ours behind 1 relay,
 * ranks 3-6; client 2 foreign with a global address, ranks 7-8. */
static const struct job_spec own_spec = {.nclients = 3,
					 .my_client = 0,
					 .nprocs = {3, 4, 2},
					 .nrelays = {2, 1, 0},
					 .foreign = {2, 0, 1},
					 .label_base = {0x01000040, 0x02000080, 0},
					 .token = 0xabcd,
					 .id = 8};

static const struct job_spec *const spec_of[] = {&remote_spec, &own_spec};

enum from { PROC1, TRUNK, GATEWAY0, GATEWAY1 };

/* One relay, everything connected. */
static struct relay *
connected(const struct job_spec *s, uint32_t relay, uint32_t path[4])
{
	struct relay *r = relay_new_with(maker_relay_addr(0, relay), 2);
	struct relay_job_info info;
	add_job(r, *s);
	path[PROC1] = s == &remote_spec ? connect_proc(r, s, 1, 1) : UINT32_MAX;
	path[TRUNK] = connect_trunk(r, s == &remote_spec ? 2 : 1, 0);
	path[GATEWAY0] = connect_gateway(r, 0);
	path[GATEWAY1] = connect_gateway(r, 1);
	check(r);
	assert_true(relay_core_job(r->c, 0, &info));
	assert_int_equal(info.gateways, 2);
	assert_int_equal(info.gateways_up, 2);
	assert_int_equal(info.local_up, s == &remote_spec ? 1 : 3);
	return r;
}

enum to { LOCAL1, TO_TRUNK, TO_G0, TO_G1, DROP_SOURCE, DROP_DESTINATION };

/* Every kind of source by every kind of destination. */
static const struct way_case {
	int spec;
	enum from from;
	uint32_t src, dst;
	enum to to;
} way_cases[] = {
	/* Local processes 0-2 are behind relay 0, 3-4 behind relay 1. */
	{0, PROC1, 1, 5, TO_G0},
	{0, PROC1, 1, 6, TO_G0},
	{0, PROC1, 1, 7, TO_TRUNK},
	{0, PROC1, 5, 1, DROP_SOURCE},
	{0, GATEWAY0, 5, 1, LOCAL1},
	{0, GATEWAY1, 6, 1, LOCAL1},
	{0, GATEWAY0, 5, 7, DROP_DESTINATION}, /* neither is of this cluster */
	{0, GATEWAY0, 5, 6, DROP_DESTINATION},
	{0, GATEWAY0, 7, 1, DROP_SOURCE}, /* foreign, but not to us */
	{0, GATEWAY0, 2, 1, DROP_SOURCE},
	{0, TRUNK, 7, 1, LOCAL1},
	{0, TRUNK, 7, 5, DROP_DESTINATION},
	{0, TRUNK, 5, 1, DROP_SOURCE},
	/* Private gates: 3-4 on relay 0, 5-6 on 1, 7 on 0, 8 on 1; global ones: 0-1 on
	 * 0, 2 on 1. */
	{1, TRUNK, 3, 0, TO_G0},
	{1, TRUNK, 4, 2, TO_G0},
	{1, TRUNK, 5, 0, TO_G1},
	{1, TRUNK, 6, 2, TO_G1},
	{1, TRUNK, 7, 0, DROP_SOURCE},
	{1, TRUNK, 3, 7, DROP_DESTINATION},
	{1, GATEWAY0, 0, 3, TO_TRUNK},
	{1, GATEWAY1, 2, 6, TO_TRUNK},
	{1, GATEWAY0, 0, 2, DROP_DESTINATION}, /* of one client */
	{1, GATEWAY0, 3, 0, DROP_SOURCE},
	{1, GATEWAY0, 2, 7, TO_G1},
	{1, GATEWAY1, 0, 8, TO_G0},
	{1, GATEWAY0, 0, 7, DROP_DESTINATION}, /* it could do that itself */
	{1, GATEWAY1, 2, 8, DROP_DESTINATION},
	{1, GATEWAY0, 8, 0, TO_G1},
	{1, GATEWAY1, 7, 2, TO_G0},
	{1, GATEWAY1, 8, 0, DROP_DESTINATION},
};

/* Labels and ids of what left over path out. */
static void
check_out(struct relay *r, const struct way_case *k, uint32_t out)
{
	const struct job_spec *sp = spec_of[k->spec];
	struct relay_job *j = make_job(sp);
	const struct suci_segment *o = &r->ep.path[out].sent[0];
	uint32_t base = relay_gateway_base(sp->label_base[0]);
	const uint8_t *src = NULL, *dst = NULL;
	if (k->to == LOCAL1) {
		base = MAKER_PROC_BASE;
		src = j->private_id[k->src];
		dst = j->private_id[k->dst];
	} else if (k->to == TO_TRUNK) {
		base = sp->label_base[sp == &remote_spec ? 2 : 1];
		src = j->global_id[k->src];
		dst = j->global_id[k->dst];
	}
	assert_int_equal(r->ep.path[out].nsent, 1);
	assert_int_equal(o->dst_label, base + k->dst);
	assert_int_equal(o->src_label, base + k->src);
	assert_int_equal(relay_core_counters(r->c)->rewritten, src != NULL);
	for (int b = 0; !src && b < 200; b++)
		assert_int_equal(o->data[b], 0x5a);
	if (src) {
		assert_memory_equal(o->data + 8, src, 24);
		assert_memory_equal(o->data + 32, dst, 24);
	}
	free(j);
}

static void
ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof way_cases / sizeof way_cases[0]; i++) {
		const struct way_case *k = &way_cases[i / 2];
		const struct job_spec *sp = spec_of[k->spec];
		uint32_t path[4], base = sp->label_base[0];
		struct relay *r = connected(sp, i % 2, path);
		const uint32_t out[] = {path[PROC1],	path[TRUNK], path[GATEWAY0],
					path[GATEWAY1], UINT32_MAX,  UINT32_MAX};
		print_message("spec %d, way %d, %u -> %u at relay %zu\n", k->spec, (int)k->from,
			      k->src, k->dst, i % 2);
		struct suci_segment s =
			make_segment(r, 3, base + k->dst, base + k->src, SUCI_SF_FIRST);
		enum suci_verdict v = feed(r, path[k->from], &s);
		const struct relay_counters *n = relay_core_counters(r->c);
		assert_int_equal(v, out[k->to] == UINT32_MAX ? SUCI_DROPPED : SUCI_TAKEN);
		assert_int_equal(n->drop_source, k->to == DROP_SOURCE);
		assert_int_equal(n->drop_destination, k->to == DROP_DESTINATION);
		assert_int_equal(n->rx_from_gateways, k->from >= GATEWAY0);
		if (out[k->to] != UINT32_MAX) {
			check_out(r, k, out[k->to]);
			fake_give_back(&r->ep, out[k->to], SUCI_FATE_ACKED);
		}
		relay_free(r);
	}
}

static void
no_gateways(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	uint32_t base = own_spec.label_base[0];
	add_job(r, own_spec);
	uint32_t t = connect_trunk(r, 1, 0);
	assert_int_equal(r->ep.opened, 1);
	struct suci_segment s = make_segment(r, 0, base + 0, base + 3, 0);
	assert_int_equal(feed(r, t, &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_foreign, 1);
	relay_free(r);

	/* A list that is too short for the table is no list. */
	r = relay_new_with(maker_relay_addr(0, 0), 1);
	struct relay_job *j = make_job(&own_spec);
	assert_int_equal(relay_job_add(r->c, j, 0), RELAY_ERR_INVAL);
	assert_int_equal(r->ep.opened, 0);
	free(j);
	relay_free(r);
}

/* Which cores open which paths. */
static void
gateways_are_opened_as_needed(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t nprocs, nrelays, relay; /* of client 0 */
		bool own, remote;
		uint32_t gateways; /* mask */
	} cases[] = {
		{"no foreign processes", 5, 4, 0, false, false, 0},
		{"all four", 5, 4, 3, false, true, 15},
		{"own foreign, all four", 5, 4, 0, true, false, 15},
		{"two relays have processes", 2, 4, 1, true, true, 3},
		{"one relay has processes", 1, 4, 0, true, true, 1},
		{"this one has none", 1, 4, 1, true, true, 0},
		{"one relay", 3, 1, 0, false, true, 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct job_spec s = {.nclients = 2,
				     .nprocs = {cases[i].nprocs, 9},
				     .nrelays = {cases[i].nrelays, cases[i].remote ? 0 : 1},
				     .foreign = {cases[i].own, cases[i].remote},
				     .label_base = {0x01000040, 0x02000080}};
		struct relay *r = relay_new_with(maker_relay_addr(0, cases[i].relay), 4);
		struct relay_path_info info;
		print_message("%s\n", cases[i].name);
		add_job(r, s);
		for (uint32_t m = 0; m < 4; m++) {
			struct suci_addr a = kit_gateway(m);
			uint32_t p = fake_find(&r->ep, &a);
			assert_int_equal(p != UINT32_MAX, cases[i].gateways >> m & 1);
			if (p == UINT32_MAX)
				continue;
			/* As to a process: token and label of nobody. */
			struct relay_hello h;
			assert_int_equal(relay_hello_decode(r->ep.path[p].hello, 24, &h), 0);
			assert_int_equal(h.kind, RELAY_HELLO_RELAY);
			assert_int_equal(h.token + h.label, 0);
			assert_int_equal(h.rank, RELAY_RANK_NONE);
			assert_int_equal(h.mtu, 1472);
			connect_gateway(r, m);
			assert_true(relay_core_path(r->c, p, &info));
			assert_int_equal(info.kind, RELAY_PATH_GATEWAY);
			assert_int_equal(info.rank, m);
			assert_int_equal(info.jobs, 1);
			assert_true(info.up);
		}
		relay_free(r);
	}
}

static void
refused_until_connected(void **state)
{
	(void)state;
	struct relay *r = relay_new_with(maker_relay_addr(0, 0), 2);
	uint32_t base = own_spec.label_base[0];
	add_job(r, own_spec);
	uint32_t t = connect_trunk(r, 1, 0);
	struct suci_addr a = kit_gateway(0);
	uint32_t g = fake_find(&r->ep, &a);
	struct suci_segment s = make_segment(r, 0, base + 0, base + 3, 0);
	r->ep.send_error = SUCI_ERR_DOWN; /* the handshake is on its way */
	assert_int_equal(feed(r, t, &s), SUCI_REFUSED);
	r->ep.send_error = 0;
	fake_down(&r->ep, g, SUCI_DOWN_TIMEOUT, NULL);
	assert_int_equal(feed(r, t, &s), SUCI_REFUSED);
	assert_int_equal(relay_core_counters(r->c)->refused_gateway, 2);
	assert_int_equal(r->ended, 0);
	/* Again after a pause, not before. */
	relay_core_tick(r->c, r->ep.now);
	assert_int_equal(fake_find(&r->ep, &a), UINT32_MAX);
	r->ep.now += 50 * BASE_MS_NS;
	relay_core_tick(r->c, r->ep.now);
	g = connect_gateway(r, 0);
	assert_int_equal(relay_core_counters(r->c)->gateway_retries, 1);
	assert_int_equal(feed(r, t, &s), SUCI_TAKEN);
	fake_give_back(&r->ep, g, SUCI_FATE_ACKED);
	relay_free(r);
}

static void
answer_of_something_else(void **state)
{
	(void)state;
	struct relay *r = relay_new_with(maker_relay_addr(0, 0), 2);
	struct suci_addr a = kit_gateway(1);
	add_job(r, own_spec);
	for (int i = 0; r->ended == 0; i++) {
		assert_true(i < 300);
		uint32_t p = fake_find(&r->ep, &a);
		if (p != UINT32_MAX && !r->ep.path[p].up) {
			struct relay_hello h = {.kind = i % 2 ? RELAY_HELLO_RELAY
							      : RELAY_HELLO_PROCESS};
			fake_accepted(&r->ep, p, &h);
			assert_string_equal(r->ep.close_text, "it is not a gateway");
			assert_int_equal(fake_find(&r->ep, &a), UINT32_MAX);
		}
		r->ep.now += 50 * BASE_MS_NS;
		relay_core_tick(r->c, r->ep.now);
		check(r);
	}
	assert_in_range(r->ep.now, 10 * BASE_S_NS, 10 * BASE_S_NS + 100 * BASE_MS_NS);
	assert_non_null(strstr(r->why, "gateway 10.0.0.225:7200 of relay 1 is gone: "
				       "it is not a gateway"));
	relay_free(r);
}

/* No gateway opens a path itself, and none has a say in a job. */
static void
gateways_have_no_say(void **state)
{
	(void)state;
	uint32_t path[4];
	struct relay *r = connected(&own_spec, 0, path);
	struct relay_hello h = {.kind = RELAY_HELLO_GATEWAY, .rank = RELAY_RANK_NONE};
	struct suci_addr from = relay_addr_v4(0x0a0000e9, 7200, RELAY_LEG_PRIVATE);
	uint8_t hello[RELAY_HELLO_LEN], buf[RELAY_NOTE_MAX];
	char why[SUCI_TEXT_MAX];
	relay_hello_encode(&h, hello);
	assert_int_equal(fake_incoming(&r->ep, &from, hello, sizeof hello, why), UINT32_MAX);
	assert_int_equal(relay_core_counters(r->c)->accept_hello, 1);

	struct relay_note n = {.type = RELAY_NOTE_ABORT, .label_base = own_spec.label_base[0]};
	relay_ops()->note(r->c, path[GATEWAY0], buf, relay_note_encode(&n, buf), r->ep.now);
	n.type = RELAY_NOTE_LEAVE;
	relay_ops()->note(r->c, path[GATEWAY0], buf, relay_note_encode(&n, buf), r->ep.now);
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 2);
	n.type = RELAY_NOTE_PING;
	relay_ops()->note(r->c, path[GATEWAY0], buf, relay_note_encode(&n, buf), r->ep.now);
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 2);
	assert_int_equal(r->ended, 0);

	/* Nor may a process that is not reached by Suci connect. */
	h = (struct relay_hello){.kind = RELAY_HELLO_PROCESS,
				 .token = own_spec.token,
				 .label = own_spec.label_base[0] + 1,
				 .rank = 1};
	relay_hello_encode(&h, hello);
	from = maker_proc_addr(1);
	assert_int_equal(fake_incoming(&r->ep, &from, hello, sizeof hello, why), UINT32_MAX);
	assert_int_equal(relay_core_counters(r->c)->accept_rank, 1);
	relay_free(r);
}

static void
death_of_a_gateway_ends_its_jobs(void **state)
{
	(void)state;
	static const struct {
		enum suci_down why;
		const char *text;
	} cases[] = {{SUCI_DOWN_SILENT, "it is silent"},
		     {SUCI_DOWN_RESTARTED, "it was restarted"},
		     {SUCI_DOWN_CLOSED, "it closed the path"},
		     {SUCI_DOWN_UNREACHABLE, "it is not there"}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint32_t path[4];
		struct relay *r = connected(&own_spec, 0, path);
		struct job_spec other = spec2;
		other.label_base[0] = 0x02000080;
		add_job(r, other); /* does not use gateways */
		uint32_t base = own_spec.label_base[0];
		struct suci_segment s = make_segment(r, 0, base + 0, base + 5, 0);
		assert_int_equal(feed(r, path[TRUNK], &s), SUCI_TAKEN);
		fake_down(&r->ep, path[GATEWAY1], cases[i].why, NULL);
		check(r);
		assert_int_equal(r->ended, 1);
		assert_int_equal(r->ended_base, base);
		assert_non_null(strstr(r->why, "gateway 10.0.0.225:7200 of relay 1 is gone"));
		assert_non_null(strstr(r->why, cases[i].text));
		notes_are(r, path[TRUNK], 1, RELAY_NOTE_ABORT, own_spec.label_base[1],
			  "of relay 1 is gone");
		notes_are(r, path[GATEWAY0], 0, 0, 0, NULL);
		assert_int_equal(relay_core_counters(r->c)->drop_abandoned, 1);
		/* Nobody needs it any more: it is not opened again. */
		r->ep.now += BASE_S_NS;
		relay_core_tick(r->c, r->ep.now);
		struct suci_addr a = kit_gateway(1);
		assert_int_equal(fake_find(&r->ep, &a), UINT32_MAX);
		/* The next job gets it. */
		add_job(r, own_spec);
		connect_gateway(r, 1);
		relay_free(r);
	}
}

/* A job whose client is foreign ends by its owner; paths to gateways stay for the next. */
static void
end_of_a_foreign_job(void **state)
{
	(void)state;
	uint32_t path[4];
	struct relay *r = connected(&own_spec, 0, path);
	uint32_t base = own_spec.label_base[0];
	struct relay_path_info info;
	struct job_spec second = own_spec;
	second.label_base[0] = 0x010000c0;
	add_job(r, second);
	assert_true(relay_core_path(r->c, path[GATEWAY0], &info));
	assert_int_equal(info.jobs, 2);
	assert_int_equal(relay_job_end(r->c, base, NULL, r->ep.now), 0);
	notes_are(r, path[TRUNK], 1, RELAY_NOTE_LEAVE, own_spec.label_base[1], NULL);
	notes_are(r, path[GATEWAY0], 0, 0, 0, NULL);
	struct suci_segment s = make_segment(r, 0, base + 0, base + 3, 0);
	assert_int_equal(feed(r, path[GATEWAY0], &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_label, 1);
	/* The other job goes on. */
	s = make_segment(r, 0, second.label_base[0] + 3, second.label_base[0] + 0, 0);
	assert_int_equal(feed(r, path[GATEWAY0], &s), SUCI_TAKEN);
	fake_give_back(&r->ep, path[TRUNK], SUCI_FATE_ACKED);
	assert_int_equal(relay_job_end(r->c, second.label_base[0], NULL, r->ep.now), 0);
	check(r);
	r->ep.now += 10 * BASE_S_NS;
	relay_core_tick(r->c, r->ep.now);
	assert_true(r->ep.path[path[GATEWAY0]].used);
	assert_true(relay_core_path(r->c, path[GATEWAY0], &info));
	assert_int_equal(info.jobs, 0);
	assert_int_equal(r->ended, 0);
	/* Gone while nobody uses it: no job to end. */
	fake_down(&r->ep, path[GATEWAY0], SUCI_DOWN_SILENT, NULL);
	assert_int_equal(r->ended, 0);
	relay_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways),
		cmocka_unit_test(no_gateways),
		cmocka_unit_test(gateways_are_opened_as_needed),
		cmocka_unit_test(refused_until_connected),
		cmocka_unit_test(answer_of_something_else),
		cmocka_unit_test(gateways_have_no_say),
		cmocka_unit_test(death_of_a_gateway_ends_its_jobs),
		cmocka_unit_test(end_of_a_foreign_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
