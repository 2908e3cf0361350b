/* Relayed start-ups and running jobs that end: refused tables, limits, lost
 * connections, aborts. */
#include "relay_startup_world.h"

static void
refused_table_ends_the_job(void **state)
{
	(void)state;
	struct world w = {.n = 2,
			  .c = {{.nprocs = 2, .nrelays = 2, .hold_table = true},
				{.nprocs = 2, .nrelays = 1}}};
	world_start(&w);
	world_run(&w);
	relay_startup_table_done(w.c[0].rs, "relay 10.0.0.3: no trunk slot left");
	world_run(&w);
	assert_true(w.c[0].ended && !relay_startup_ok(w.c[0].rs));
	assert_non_null(strstr(relay_startup_why(w.c[0].rs), "no trunk slot left"));
	assert_true(w.c[1].ended && !relay_startup_ok(w.c[1].rs));
	world_free(&w);
}

static void
done_without_processes(void **state)
{
	(void)state;
	struct world w = {
		.n = 2,
		.c = {{.nprocs = 2, .nrelays = 1, .no_pid = true}, {.nprocs = 2, .nrelays = 1}}};
	world_start(&w);
	world_run(&w);
	assert_true(w.c[0].ended);
	assert_non_null(strstr(relay_startup_why(w.c[0].rs), "IMPI_P_PID"));
	world_free(&w);
}

static void
job_over_the_limits(void **state)
{
	(void)state;
	struct world w = {.n = 2,
			  .nworld_max = 4,
			  .c = {{.nprocs = 3, .nrelays = 1}, {.nprocs = 2, .nrelays = 1}}};
	world_start(&w);
	world_run(&w);
	assert_true(w.c[0].ended && w.c[1].ended);
	assert_false(relay_startup_ok(w.c[0].rs));
	print_message("%s\n", relay_startup_why(w.c[0].rs));
	world_free(&w);
}

/* A connection ends after n bytes of that direction: never a hang, always a
 * text, and the server hears of it. */
static void
ends_at_every_byte(void **state)
{
	(void)state;
	for (int side = 0; side < 2; side++) {
		for (int cut = 0;; cut += 3) {
			struct world w = {
				.n = 2,
				.chunk = 1,
				.c = {{.nprocs = 2, .nrelays = 2}, {.nprocs = 1, .nrelays = 1}}};
			world_start(&w);
			bool moved = true;
			int turns = 0;
			for (; moved && turns < cut; turns++) {
				moved = false;
				for (uint32_t i = 0; i < w.n; i++) {
					moved |= pump_cluster(&w, &w.c[i]);
					moved |= relay_events(&w, &w.c[i]);
				}
			}
			bool whole = w.c[0].running;
			relay_startup_eof(w.c[0].rs, (enum relay_side)side,
					  cut % 2 ? "Connection reset by peer" : NULL);
			world_run(&w);
			assert_true(w.c[0].ended && !relay_startup_ok(w.c[0].rs));
			assert_true(strlen(relay_startup_why(w.c[0].rs)) > 20);
			assert_int_equal(
				relay_startup_tx(w.c[0].rs, RELAY_SIDE_SERVER, &(uint8_t[8]){0}, 8),
				0);
			if (w.failed)
				assert_true(w.c[1].ended && !relay_startup_ok(w.c[1].rs));
			world_free(&w);
			if (whole)
				break;
		}
	}
}

static void
eof_after_fini_is_fine(void **state)
{
	(void)state;
	struct world w = {.n = 1, .c = {{.nprocs = 2, .nrelays = 1}}};
	world_start(&w);
	expect_all_well(&w);
	relay_startup_eof(w.c[0].rs, RELAY_SIDE_CLIENT, NULL);
	relay_startup_eof(w.c[0].rs, RELAY_SIDE_SERVER, NULL);
	assert_true(relay_startup_ok(w.c[0].rs));
	assert_int_equal(relay_startup_poll(w.c[0].rs), RELAY_STARTUP_NONE);
	world_free(&w);
}

static void
abort_while_running(void **state)
{
	(void)state;
	struct world w = {.n = 2, .c = {{.nprocs = 2, .nrelays = 1}, {.nprocs = 2, .nrelays = 1}}};
	world_start(&w);
	world_run(&w);
	assert_true(w.c[0].running);
	relay_startup_abort(w.c[0].rs, "relay 192.0.2.1 of client 1 is gone");
	world_run(&w);
	assert_true(w.c[0].ended);
	assert_string_equal(relay_startup_why(w.c[0].rs), "relay 192.0.2.1 of client 1 is gone");
	/* The server lets the others end by themselves: the cores tell each other. */
	assert_false(w.c[1].ended);
	relay_startup_abort(w.c[1].rs, "relay 192.0.2.1 of client 0 ended the job");
	world_run(&w);
	assert_true(w.failed);
	assert_true(w.c[1].ended && !relay_startup_ok(w.c[1].rs));
	world_free(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_table_ends_the_job),
		cmocka_unit_test(done_without_processes),
		cmocka_unit_test(job_over_the_limits),
		cmocka_unit_test(ends_at_every_byte),
		cmocka_unit_test(eof_after_fini_is_fine),
		cmocka_unit_test(abort_while_running),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
