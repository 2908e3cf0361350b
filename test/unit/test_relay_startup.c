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

static void
foreign_processes(void **state)
{
	(void)state;
	for (int gateway = 0; gateway <= 1; gateway++) {
		struct world w = {.n = 2,
				  .gateway = gateway,
				  .c = {{.nprocs = 2, .nrelays = 2},
					{.nprocs = 3, .foreign = true, .direct = true}}};
		world_start(&w);
		world_run(&w);
		if (gateway) {
			uint32_t rank = 0;
			assert_true(w.c[0].running);
			assert_true(relay_job_has_foreign(relay_startup_job(w.c[0].rs), &rank));
			assert_int_equal(rank, 2);
		} else {
			assert_true(w.c[0].ended && !w.c[0].running);
			assert_non_null(
				strstr(relay_startup_why(w.c[0].rs), "process 2 (client 1)"));
			assert_non_null(strstr(relay_startup_why(w.c[0].rs), "gateway"));
		}
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
	bad.server_auth.mask = 0;
	assert_null(relay_startup_new(mem, &bad));
	bad = good;
	bad.limits.nworld_max = 0;
	assert_null(relay_startup_new(mem, &bad));
	assert_int_equal(relay_startup_footprint(&bad.limits), 0);
	m.nshards = 0;
	assert_null(relay_startup_new(mem, &good));
	free(mem);
	assert_null(relay_startup_fini(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_startups),
		cmocka_unit_test(labels_in_any_order),
		cmocka_unit_test(marks_are_minima),
		cmocka_unit_test(keys_on_both_sides),
		cmocka_unit_test(client_must_wait_for_the_table),
		cmocka_unit_test(foreign_processes),
		cmocka_unit_test(bad_configurations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
