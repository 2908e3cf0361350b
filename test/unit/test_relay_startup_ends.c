/* SPDX-License-Identifier: BSD-2-Clause */
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

/* The relay ends a start-up in which a client with a rank does not take its turn, and no
 * other: not one in which it waits for others. */
static void
a_silent_client_loses_its_rank(void **state)
{
	(void)state;
	struct world w = {
		.n = 2,
		.step_timeout_ns = 60,
		.c = {{.nprocs = 2, .nrelays = 1, .order = LOCKSTEP}, {.nprocs = 2, .nrelays = 1}}};
	world_start(&w);
	/* Client 0 says its rank; the other one does not come. */
	for (int i = 0; i < 100; i++) {
		(void)pump_cluster(&w, &w.c[0]);
		(void)relay_events(&w, &w.c[0]);
	}
	assert_int_equal(relay_startup_rank(w.c[0].rs), 0);
	for (uint64_t t = 1; t < 100000; t += 50)
		relay_startup_tick(w.c[0].rs, t);
	assert_int_equal(relay_startup_poll(w.c[0].rs), RELAY_STARTUP_NONE);
	/* It comes, and client 0 says nothing more: each label it has said gave it new time. */
	w.c[0].waiting = true;
	world_run(&w);
	assert_int_equal(relay_startup_nclients(w.c[0].rs), 2);
	relay_startup_tick(w.c[0].rs, 200000);
	relay_startup_tick(w.c[0].rs, 200059);
	world_run(&w);
	assert_false(w.c[0].ended);
	w.c[0].waiting = false;
	(void)client_step(&w.c[0]);
	world_run(&w);
	relay_startup_tick(w.c[0].rs, 200059);
	relay_startup_tick(w.c[0].rs, 200118);
	world_run(&w);
	assert_true(w.c[0].running && !w.c[0].ended);
	for (uint64_t t = 300000; t < 400000; t += 50)
		relay_startup_tick(w.c[0].rs, t);
	world_run(&w);
	assert_false(w.c[0].ended);
	world_free(&w);
}

static void
silence_has_an_end(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		struct world w = {.n = 1,
				  .step_timeout_ns = 60,
				  .c = {{.nprocs = 2, .nrelays = 1, .order = LOCKSTEP}}};
		world_start(&w);
		w.c[0].waiting = true;
		world_run(&w);
		assert_int_equal(relay_startup_nclients(w.c[0].rs), 1);
		relay_startup_tick(w.c[0].rs, 1000);
		if (half) /* a command that is begun is no step */
			relay_startup_rx(w.c[0].rs, RELAY_SIDE_CLIENT, "COLL", 4);
		relay_startup_tick(w.c[0].rs, 1059);
		world_run(&w);
		assert_false(w.c[0].ended);
		relay_startup_tick(w.c[0].rs, 1060);
		world_run(&w);
		assert_true(w.c[0].ended && w.failed);
		assert_non_null(strstr(relay_startup_why(w.c[0].rs), "although it is its turn"));
		world_free(&w);
	}
}

/* A relay calls processes of other clusters by IPv4 addresses, and those of its own by both. */
static void
processes_with_ipv6_alone(void **state)
{
	(void)state;
	struct world w = {.n = 2,
			  .c = {{.nprocs = 2, .nrelays = 1},
				{.nprocs = 3, .nhosts = 2, .direct = true, .six = true}}};
	world_start(&w);
	impi_hostid_encode(&(struct impi_hostid){.kind = IMPI_HOSTID_LIBMPI, .port = 1, .ipv4 = 1},
			   w.c[1].proc[0].hostid);
	impi_hostid_encode(&(struct impi_hostid){.kind = IMPI_HOSTID_LIBMPI, .port = 1, .ipv4 = 1},
			   w.c[1].proc[1].hostid);
	world_run(&w);
	assert_true(w.c[0].ended);
	assert_string_equal(relay_startup_why(w.c[0].rs),
			    "process 4 (client 1) is at 2001:db8::ffff:c633:6409 and has IPv6 "
			    "alone, relay 192.0.2.0 calls it by IPv4; fix: a relay for it, an "
			    "IPv4 address (LIBMPI_NET) or a name (LIBMPI_PLACES)");
	world_free(&w);

	struct world own = {
		.n = 2,
		.c = {{.nprocs = 2, .nrelays = 1, .six = true}, {.nprocs = 2, .direct = true}}};
	world_start(&own);
	world_run(&own);
	assert_true(own.c[0].ended);
	assert_string_equal(
		relay_startup_why(own.c[0].rs),
		"process 0 is at 2001:db8::ffff:a00:1 and has IPv6 alone, relay "
		"10.0.0.240 has none inside; fix: ports.private.ipv6 and private6 of the "
		"relays, or an IPv4 address (LIBMPI_NET)");
	world_free(&own);

	struct world group = {
		.n = 2,
		.c = {{.nprocs = 2, .nhosts = 2, .nrelays = 1, .six = true, .relays_six = true},
		      {.nprocs = 2, .direct = true}}};
	world_start(&group);
	memcpy(group.c[0].host[1].addr, (uint8_t[]){0xff, 2}, 2);
	world_run(&group);
	assert_true(group.c[0].ended);
	assert_string_equal(relay_startup_why(group.c[0].rs),
			    "process 1 says that it is where its host is, and the address of that, "
			    "ff02:db8::ffff:a00:2, is a multicast address");
	world_free(&group);
}

/* What a launcher says about its client goes up with its age, and what the server says about
 * another one goes down. */
static void
a_launcher_speaks_through_the_relay(void **state)
{
	(void)state;
	struct world w = {.n = 2, .c = {{.nprocs = 2, .nrelays = 1}, {.nprocs = 2, .nrelays = 1}}};
	struct impi_limits il = {1024, PROCS_MAX};
	struct impi_client_config cc = {.auth = auth_none, .rank = 1, .gone = "killed"};
	struct impi_client *waits, *launcher;
	world_start(&w);
	waits = w.c[0].cl;
	launcher = impi_client_new(w.c[1].cl, &il, &cc);
	assert_int_equal(impi_client_say_gone(launcher, 7), IMPI_ERR_STATE);
	assert_int_equal(relay_startup_gone_ns(w.c[1].rs), 0);
	world_run(&w);
	assert_int_equal(relay_startup_rank(w.c[1].rs), -1);
	assert_int_equal(impi_client_say_gone(launcher, 7), IMPI_ERR_OK);
	assert_int_equal(impi_client_say_gone(launcher, 7), IMPI_ERR_STATE);
	world_run(&w);
	assert_int_equal(relay_startup_rank(w.c[1].rs), 1);
	assert_true(relay_startup_gone_ns(w.c[1].rs) > 0);
	assert_int_equal(impi_server_joined(w.server), 1);
	relay_startup_tick(w.c[1].rs, 5);
	world_run(&w);
	assert_true(w.c[1].ended);
	assert_non_null(strstr(relay_startup_why(w.c[1].rs), "client 1 is gone: killed"));
	impi_server_tick(w.server, 1);
	world_run(&w);
	assert_true(w.c[0].ended);
	assert_non_null(
		strstr(relay_startup_why(w.c[0].rs), "client 1 is gone before it joined: killed"));
	assert_int_equal(impi_client_state(waits), IMPI_CLS_FAILED);
	assert_string_equal(impi_client_error(waits)->text,
			    "client 1 is gone before it joined: killed");
	world_free(&w);
}

static void *
no_room(void *user, size_t bytes, const char **why)
{
	unsigned int *asked = user;
	assert_true(bytes > 100000);
	*why = "the house is full";
	(*asked)++;
	return NULL;
}

/* Who has proved nothing takes a seat, and the rest is asked for with the rank. */
static void
a_seat_before_the_rank(void **state)
{
	(void)state;
	static const uint8_t auth[] = {'A', 'U', 'T', 'H', 0, 0, 0, 4, 0, 0, 0, 1},
			     rank[] = {'I', 'M', 'P', 'I', 0, 0, 0, 4, 0, 0, 0, 0};
	struct relay_labels labels;
	struct relay_member member = {
		.nshards = 1, .gateway_port_global = 9, .gateway_port_private = 9};
	unsigned int asked = 0;
	struct relay_startup_conf conf = {.limits = {4096, 1024},
					  .member = &member,
					  .nmembers = 1,
					  .client_auth = auth_none,
					  .server_auth = auth_none,
					  .labels = &labels,
					  .room = no_room,
					  .user = &asked};
	assert_true(relay_startup_seat_bytes() < 16384);
	assert_int_equal(relay_startup_seat_bytes() + relay_startup_room_bytes(&conf.limits),
			 relay_startup_footprint(&conf.limits));
	struct relay_startup *s = relay_startup_new(zalloc(relay_startup_seat_bytes()), &conf);
	uint8_t out[64];
	relay_startup_rx(s, RELAY_SIDE_CLIENT, auth, sizeof auth);
	assert_int_equal(relay_startup_tx(s, RELAY_SIDE_CLIENT, out, sizeof out), 8);
	assert_int_equal(asked, 0);
	relay_startup_rx(s, RELAY_SIDE_CLIENT, rank, sizeof rank);
	assert_int_equal(asked, 1);
	assert_int_equal(relay_startup_poll(s), RELAY_STARTUP_ENDED);
	assert_string_equal(relay_startup_why(s), "the house is full");
	relay_startup_rx(s, RELAY_SIDE_CLIENT, rank, sizeof rank);
	assert_int_equal(asked, 1);
	block_give(relay_startup_fini(s));
}

/* Number and ports that a job gets once it is one. */
static void
admitted_at_its_rank(void **state)
{
	(void)state;
	struct world w = {.n = 1, .c = {{.nprocs = 2, .nrelays = 1}}};
	world_start(&w);
	assert_false(relay_startup_admit(w.c[0].rs, 9, 65535 - 9000));
	assert_true(relay_startup_admit(w.c[0].rs, 9, SLOT));
	expect_all_well(&w);
	assert_int_equal(relay_startup_job(w.c[0].rs)->id, 9);
	world_free(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_client_loses_its_rank),
		cmocka_unit_test(silence_has_an_end),
		cmocka_unit_test(admitted_at_its_rank),
		cmocka_unit_test(a_seat_before_the_rank),
		cmocka_unit_test(processes_with_ipv6_alone),
		cmocka_unit_test(a_launcher_speaks_through_the_relay),
		cmocka_unit_test(refused_table_ends_the_job),
		cmocka_unit_test(done_without_processes),
		cmocka_unit_test(job_over_the_limits),
		cmocka_unit_test(ends_at_every_byte),
		cmocka_unit_test(eof_after_fini_is_fine),
		cmocka_unit_test(abort_while_running),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
