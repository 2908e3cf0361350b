/* SPDX-License-Identifier: BSD-2-Clause */
/* Relayed start-up: whole start-ups of several clusters, with the streams cut at
 * every chunk size. */
#include "relay_startup_world.h"

static void
whole_startups(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct world w;
	} cases[] = {
		{"2 clients, 1 relay each",
		 {.n = 2, .c = {{.nprocs = 2, .nrelays = 1}, {.nprocs = 2, .nrelays = 1}}}},
		{"2 clients, 2 and 1 relays",
		 {.n = 2, .c = {{.nprocs = 5, .nrelays = 2}, {.nprocs = 3, .nrelays = 1}}}},
		{"2 clients, 3 and 2 relays, several hosts",
		 {.n = 2,
		  .c = {{.nprocs = 7, .nhosts = 7, .nrelays = 3},
			{.nprocs = 4, .nhosts = 2, .nrelays = 2}}}},
		{"fewer processes than relays",
		 {.n = 2, .c = {{.nprocs = 1, .nrelays = 3}, {.nprocs = 2, .nrelays = 3}}}},
		{"fewer processes than relays and shards",
		 {.n = 2,
		  .c = {{.nprocs = 1, .nrelays = 2, .nshards = 3},
			{.nprocs = 7, .nrelays = 3, .nshards = 4}}}},
		{"2 clients, 3 processes over 2 relays of 2 shards",
		 {.n = 2,
		  .c = {{.nprocs = 3, .nrelays = 2, .nshards = 2},
			{.nprocs = 9, .nrelays = 1, .nshards = 2}}}},
		{"3 clients, 1 2 3 relays",
		 {.n = 3,
		  .c = {{.nprocs = 4, .nrelays = 1},
			{.nprocs = 5, .nhosts = 3, .nrelays = 2},
			{.nprocs = 3, .nrelays = 3}}}},
		{"3 clients, shards",
		 {.n = 3,
		  .c = {{.nprocs = 9, .nrelays = 2, .nshards = 3},
			{.nprocs = 1, .nrelays = 1, .nshards = 2},
			{.nprocs = 8, .nrelays = 1, .nshards = 4}}}},
		{"pipelined",
		 {.n = 2,
		  .c = {{.nprocs = 4, .nrelays = 2, .order = PIPELINED},
			{.nprocs = 4, .nrelays = 2, .order = LOCKSTEP}}}},
		{"one cluster with global addresses",
		 {.n = 3,
		  .c = {{.nprocs = 2, .nrelays = 2},
			{.nprocs = 3, .nhosts = 3, .direct = true},
			{.nprocs = 2, .nrelays = 1}}}},
		{"relays that are down take no part",
		 {.n = 2,
		  .c = {{.nprocs = 5, .nrelays = 2, .some_down = true},
			{.nprocs = 4, .nrelays = 3, .some_down = true}}}},
		{"IPv6 alone inside, relays at its hosts' kind of address",
		 {.n = 3,
		  .c = {{.nprocs = 5, .nhosts = 3, .nrelays = 2, .six = true, .relays_six = true},
			{.nprocs = 3, .nrelays = 1, .six = true, .relays_six = true, .nshards = 2},
			{.nprocs = 2, .nrelays = 2, .order = PIPELINED}}}},
		{"IPv6 for relays, and for no process",
		 {.n = 2,
		  .c = {{.nprocs = 3, .nrelays = 2, .relays_six = true},
			{.nprocs = 2, .nrelays = 1}}}},
		{"one client alone", {.n = 1, .c = {{.nprocs = 3, .nrelays = 2}}}},
	};
	static const size_t chunks[] = {1, 7, 4096, 0};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t k = 0; k < 4; k++) {
			print_message("%s, chunk %zu\n", cases[i].name, chunks[k]);
			struct world w = cases[i].w;
			w.chunk = chunks[k];
			world_start(&w);
			expect_all_well(&w);
			world_free(&w);
		}
	}
}

static void
labels_in_any_order(void **state)
{
	(void)state;
	for (size_t seed = 0; seed < 200; seed++) {
		struct world w = {.n = 3,
				  .c = {{.nprocs = 3, .nhosts = 2, .nrelays = 2, .order = SHUFFLED},
					{.nprocs = 4, .nrelays = 1, .order = SHUFFLED},
					{.nprocs = 2, .nrelays = 3, .order = SHUFFLED}}};
		w.chunk = 1 + seed;
		world_start(&w);
		expect_all_well(&w);
		world_free(&w);
	}
}

static void
marks_are_minima(void **state)
{
	(void)state;
	struct world w = {.n = 2,
			  .c = {{.nprocs = 3, .nhosts = 3, .nrelays = 2},
				{.nprocs = 2, .nhosts = 2, .nrelays = 3}}};
	world_start(&w);
	world_run(&w);
	for (uint32_t i = 0; i < 2; i++) {
		const struct impi_tables *t = impi_client_tables(w.c[i].cl);
		assert_int_equal(t->ackmark, 10);
		assert_int_equal(t->hiwater, 20);
		uint32_t first = t->client[!i].first_host;
		for (uint32_t h = first; h < first + t->client[!i].nhosts; h++) {
			assert_int_equal(t->host[h].ackmark, 10);
			assert_int_equal(t->host[h].hiwater, 20 + !i);
		}
	}
	world_free(&w);
}

/* A client that says nothing about flow control (MetaMPICH) takes no space among
 * those that do. */
static void
marks_of_some(void **state)
{
	(void)state;
	static struct world w;
	w = (struct world){.n = 4,
			   .c = {{.nprocs = 3, .nhosts = 3, .direct = true, .no_marks = true},
				 {.nprocs = 3, .nhosts = 3, .nrelays = 2},
				 {.nprocs = 2, .nhosts = 2, .nrelays = 3},
				 {.nprocs = 1, .nrelays = 1}}};
	for (uint32_t i = 0; i < 4; i++)
		w.c[i].order = PIPELINED; /* label by label all would wait for each other */
	world_start(&w);
	world_run(&w);
	for (uint32_t i = 1; i < 4; i++) {
		const struct impi_tables *t = impi_client_tables(w.c[i].cl);
		assert_true(w.c[i].running && t->finished);
		assert_int_equal(t->ackmark, 10);
		assert_int_equal(t->hiwater, 21);
		for (uint32_t h = 0; h < t->nhosts; h++) {
			uint32_t c = t->host[h].client;
			uint32_t n = h - t->client[c].first_host;
			assert_int_equal(t->host[h].ackmark, c == 0 ? 0 : c == i ? 10 + n : 10);
			assert_int_equal(t->host[h].hiwater, c == 0 ? 0 : 20 + c);
		}
		assert_int_equal(relay_startup_job(w.c[i].rs)->ackmark, 10);
		assert_int_equal(relay_startup_job(w.c[i].rs)->hiwater, 21);
	}
	world_free(&w);
}

static void
keys_on_both_sides(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct impi_auth client, down, up, server;
		bool ok;
	} cases[] = {
		{"key, key", {2, 4711}, {2, 4711}, {2, 4711}, {2, 4711}, true},
		{"none below, key above", {1, 0}, {1, 0}, {2, 4711}, {2, 4711}, true},
		{"key below, none above", {2, 99}, {2, 99}, {1, 0}, {1, 0}, true},
		{"wrong key below", {2, 4712}, {2, 4711}, {1, 0}, {1, 0}, false},
		{"nothing in common below", {1, 0}, {2, 4711}, {1, 0}, {1, 0}, false},
		{"wrong key above", {1, 0}, {1, 0}, {2, 4712}, {2, 4711}, false},
		{"nothing in common above", {1, 0}, {1, 0}, {1, 0}, {2, 4711}, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("%s\n", cases[i].name);
		struct world w = {.n = 2,
				  .relay_down_auth = cases[i].down,
				  .relay_up_auth = cases[i].up,
				  .server_auth = cases[i].server,
				  .c = {{.nprocs = 2, .nrelays = 1, .auth = cases[i].client},
					{.nprocs = 2, .nrelays = 1, .auth = cases[i].client}}};
		world_start(&w);
		if (cases[i].ok) {
			expect_all_well(&w);
		} else {
			world_run(&w);
			assert_true(w.c[0].ended && !relay_startup_ok(w.c[0].rs));
			assert_true(strlen(relay_startup_why(w.c[0].rs)) > 10);
			assert_false(w.c[0].running);
		}
		world_free(&w);
	}
}

static void
client_must_wait_for_the_table(void **state)
{
	(void)state;
	struct world w = {.n = 2,
			  .c = {{.nprocs = 2, .nrelays = 2, .hold_table = true},
				{.nprocs = 2, .nrelays = 1, .order = PIPELINED}}};
	world_start(&w);
	world_run(&w);
	assert_true(w.c[0].table_seen && w.c[1].table_seen);
	assert_false(w.c[0].running || w.c[1].running);
	assert_false(impi_tables_have(impi_client_tables(w.c[0].cl), IMPI_P_PID));
	assert_string_equal(relay_startup_waiting(w.c[0].rs),
			    "the job table to be installed on the cluster's relays");
	relay_startup_table_done(w.c[0].rs, NULL);
	expect_all_well(&w);
	world_free(&w);
}

#define FOREIGN(p, h, r)                                                      \
	{                                                                     \
		.nprocs = (p), .nhosts = (h), .nrelays = (r), .foreign = true \
	}
#define FOREIGN_DIRECT(p, h)                                                  \
	{                                                                     \
		.nprocs = (p), .nhosts = (h), .foreign = true, .direct = true \
	}
#define OURS(p, r)                                         \
	{                                                  \
		.nprocs = (p), .nhosts = 1, .nrelays = (r) \
	}
#define OURS_DIRECT(p)                                       \
	{                                                    \
		.nprocs = (p), .nhosts = (p), .direct = true \
	}

/* LAM/MPI's way: label by label; the others as libmpi. */
static void
foreign_startups(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct world w;
	} cases[] = {
		{"own client foreign", {.n = 2, .c = {FOREIGN(2, 1, 1), OURS(2, 1)}}},
		{"own client foreign, 4 relays", {.n = 2, .c = {OURS(3, 2), FOREIGN(9, 1, 4)}}},
		{"both foreign, behind relays",
		 {.n = 2, .c = {FOREIGN(3, 1, 2), FOREIGN(4, 1, 3)}}},
		{"foreign with a global address",
		 {.n = 2, .c = {OURS(4, 2), FOREIGN_DIRECT(3, 1)}}},
		{"the same, the other way round",
		 {.n = 2, .c = {FOREIGN_DIRECT(3, 3), OURS(4, 4)}}},
		{"foreign behind relays and with global addresses",
		 {.n = 2, .c = {FOREIGN(5, 2, 3), FOREIGN_DIRECT(4, 2)}}},
		{"more relays than foreign processes",
		 {.n = 3, .c = {FOREIGN(1, 1, 4), OURS(2, 3), FOREIGN_DIRECT(1, 1)}}},
		{"hosts without processes",
		 {.n = 3, .c = {FOREIGN(2, 4, 2), FOREIGN_DIRECT(1, 3), OURS(3, 2)}}},
		{"a host id per process",
		 {.n = 2,
		  .c = {{.nprocs = 5, .nhosts = 2, .nrelays = 2, .foreign = true, .own_ids = true},
			{.nprocs = 4, .foreign = true, .direct = true, .own_ids = true}}}},
		{"with libmpi in between, several shards",
		 {.n = 3,
		  .c = {FOREIGN(4, 2, 2),
			{.nprocs = 7, .nrelays = 2, .nshards = 3},
			OURS_DIRECT(3)}}},
		{"5 clients of all sorts",
		 {.n = 5,
		  .c = {OURS(5, 1), FOREIGN(6, 2, 2), OURS_DIRECT(2), FOREIGN_DIRECT(3, 2),
			FOREIGN(4, 1, 3)}}},
		{"5 clients, unequal numbers",
		 {.n = 5,
		  .c = {FOREIGN_DIRECT(1, 1), FOREIGN(11, 4, 4), OURS(1, 3), FOREIGN_DIRECT(7, 3),
			OURS(8, 2)}}},
	};
	static const size_t chunks[] = {1, 4096, 0};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t k = 0; k < 3 * 3; k++) {
			static struct world w;
			w = cases[i].w;
			w.gateway = true;
			w.chunk = chunks[k % 3];
			for (uint32_t c = 0; c < w.n; c++)
				w.c[c].order = k < 3 ? LOCKSTEP : k < 6 ? PIPELINED : SHUFFLED;
			print_message("%s, chunk %zu, order %zu\n", cases[i].name, w.chunk, k / 3);
			world_start(&w);
			expect_all_well(&w);
			world_free(&w);
		}
	}
}

static void
foreign_32_clients(void **state)
{
	(void)state;
	static struct world w;
	for (uint32_t foreign = 0; foreign < 3; foreign++) {
		w = (struct world){.n = 32, .gateway = true, .chunk = 4096};
		for (uint32_t c = 0; c < 32; c++) {
			w.c[c] = (struct cluster){.nprocs = 1 + c % 4, .nrelays = 1 + c % 4};
			w.c[c].foreign = foreign && c % 3 == foreign;
			w.c[c].direct = foreign && c % 5 == 2;
		}
		world_start(&w);
		expect_all_well(&w);
		world_free(&w);
	}
}

static void
foreign_without_a_gateway(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
		struct world w;
	} cases[] = {
		{"remote",
		 "process 2 (client 1) belongs to another IMPI implementation, and this relay has "
		 "no IMPI/TCP gateway",
		 {.n = 2, .c = {OURS(2, 2), FOREIGN_DIRECT(3, 1)}}},
		{"own",
		 "process 0 (client 0) belongs to another",
		 {.n = 2, .c = {FOREIGN(2, 1, 2), OURS(3, 1)}}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		static struct world w;
		w = cases[i].w;
		world_start(&w);
		world_run(&w);
		print_message("%s: %s\n", cases[i].name, relay_startup_why(w.c[0].rs));
		assert_true(w.c[0].ended && !w.c[0].running && !w.c[0].table_seen);
		assert_non_null(strstr(relay_startup_why(w.c[0].rs), cases[i].text));
		world_free(&w);
	}
}

static void
too_few_gates(void **state)
{
	(void)state;
	static const struct {
		uint32_t n, ngates, add, written; /* written: by the operator, in gates */
		bool via_host;
	} cases[] = {
		{3, 1, 1, 0, false},  {5, 1, 3, 0, false},    {5, 3, 1, 2, false},
		{5, 4, 0, 3, false},  {32, 30, 1, 29, false}, {32, 31, 0, 30, false},
		{3, 1, 1, 1, true},   {5, 3, 1, 3, true},     {5, 4, 0, 4, true},
		{32, 1, 30, 1, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		static struct world w;
		char want[64];
		w = (struct world){.n = cases[i].n, .gateway = true};
		for (uint32_t c = 0; c < w.n; c++)
			w.c[c] = (struct cluster){.nprocs = 2, .nrelays = 2};
		w.c[1].foreign = true;
		w.c[1].ngates = cases[i].ngates;
		w.c[1].via_host = cases[i].via_host;
		world_start(&w);
		if (!cases[i].add) {
			expect_all_well(&w);
			world_free(&w);
			continue;
		}
		world_run(&w);
		snprintf(want, sizeof want, "add %u to the %u of cluster.relays[0].gates",
			 cases[i].add, cases[i].written);
		print_message("%s\n", relay_startup_why(w.c[1].rs));
		assert_true(w.c[1].ended && !w.c[1].table_seen);
		assert_non_null(strstr(relay_startup_why(w.c[1].rs), want));
		assert_int_equal(!strstr(relay_startup_why(w.c[1].rs), "one at the private"),
				 cases[i].via_host);
		/* An own client of ours needs no address of its own for anybody. */
		assert_null(strstr(relay_startup_why(w.c[0].rs), "gates"));
		world_free(&w);
	}
}

/* What cannot be a table ends with a text. */
static void
foreign_hosts_that_make_no_sense(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"IPv6 address, own", "host 1 of client 0, another implementation's, has no IPv4"},
		{"no address, remote", "host 0 of client 2, another implementation's, has no IPv4"},
		{"processes of two kinds", "host 0 of client 0 has processes of two"},
		{"hosts with too few processes", "hosts of client 0 have not the 4 processes"},
		{"hosts with too many processes", "hosts of client 0 have not the 4 processes"},
		{"Suci id of another version", "process 1 (client 0): its Suci host id is of no"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		static struct world w;
		w = (struct world){.n = 3,
				   .gateway = true,
				   .c = {FOREIGN(4, 2, 2), OURS(2, 1), FOREIGN_DIRECT(2, 1)}};
		world_start(&w);
		struct cluster *k = &w.c[0];
		switch (i) {
		case 0:
			memset(k->host[1].addr, 0x20, 16);
			break;
		case 1:
			memset(w.c[2].host[0].addr, 0, 16);
			break;
		case 2:
			impi_hostid_encode(&(struct impi_hostid){.token = 1,
								 .kind = IMPI_HOSTID_LIBMPI,
								 .port = 6000,
								 .ipv4 = 1},
					   k->proc[1].hostid);
			break;
		case 3:
			k->host[1].nprocs = 1;
			break;
		case 4:
			k->host[0].nprocs = 0xfffffffe;
			break;
		default:
			memcpy(k->proc[1].hostid, "\xfdSUC\0\0\0\1\3\1", 10);
			break;
		}
		world_run(&w);
		const char *why = relay_startup_why(w.c[0].rs);
		print_message("%s: %s\n", cases[i].name, why);
		assert_true(w.c[0].ended && !w.c[0].table_seen);
		assert_non_null(strstr(why, cases[i].text));
		world_free(&w);
	}
}

static void
bad_configurations(void **state)
{
	(void)state;
	static struct relay_labels labels;
	struct relay_member m = {.gateway_port_global = 1, .gateway_port_private = 1, .nshards = 1};
	const struct relay_startup_conf good = {.limits = {4, 4},
						.member = &m,
						.nmembers = 1,
						.client_auth = auth_none,
						.server_auth = auth_none,
						.labels = &labels};
	void *mem = zalloc(relay_startup_footprint(&good.limits));
	assert_non_null(relay_startup_new(mem, &good));
	struct relay_startup_conf bad = good;
	bad.nmembers = 0;
	assert_null(relay_startup_new(mem, &bad));
	bad = good;
	bad.member_index = &(const uint8_t){RELAY_RELAYS_MAX};
	assert_null(relay_startup_new(mem, &bad));
	bad = good;
	bad.server_auth.mask = 0;
	assert_null(relay_startup_new(mem, &bad));
	bad = good;
	bad.limits.nworld_max = 0;
	assert_null(relay_startup_new(mem, &bad));
	assert_int_equal(relay_startup_footprint(&bad.limits), 0);
	bad = good;
	bad.gateway_slot = 65535;
	assert_null(relay_startup_new(mem, &bad));
	m.gate_private[0] = m.gate_private[1] = 0x0a000001;
	m.ngate_private = 2;
	assert_null(relay_startup_new(mem, &good));
	m.ngate_private = RELAY_CLIENTS_MAX + 1;
	assert_null(relay_startup_new(mem, &good));
	m.ngate_private = 1;
	assert_non_null(relay_startup_new(mem, &good));
	m.nshards = 0;
	assert_null(relay_startup_new(mem, &good));
	block_give(mem);
	assert_null(relay_startup_fini(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_startups),
		cmocka_unit_test(labels_in_any_order),
		cmocka_unit_test(marks_are_minima),
		cmocka_unit_test(marks_of_some),
		cmocka_unit_test(keys_on_both_sides),
		cmocka_unit_test(client_must_wait_for_the_table),
		cmocka_unit_test(foreign_startups),
		cmocka_unit_test(foreign_32_clients),
		cmocka_unit_test(foreign_without_a_gateway),
		cmocka_unit_test(too_few_gates),
		cmocka_unit_test(foreign_hosts_that_make_no_sense),
		cmocka_unit_test(bad_configurations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
