/* SPDX-License-Identifier: BSD-2-Clause */
/* How a job ends in the forwarding core: aborts, deaths, lost trunks, and as it
 * should. */
#include "relay_core_kit.h"

/* ---- aborts and losses --------------------------------------------------------------- */

static void
abort_of_a_process_reaches_all(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t p0 = connect_proc(r, &spec2, 0, 0), p1 = connect_proc(r, &spec2, 1, 1);
	uint32_t p2 = connect_proc(r, &spec2, 2, 2), t = connect_trunk(r, 1, 0);
	struct relay_note n = {.type = RELAY_NOTE_ABORT,
			       .label_base = spec2.label_base[0],
			       .text = "rank 1: MPI_Abort(3)"};
	uint8_t buf[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&n, buf);
	relay_ops()->note(r->c, p1, buf, len, r->ep.now);
	check(r);
	assert_int_equal(r->ended, 1);
	assert_int_equal(r->ended_base, spec2.label_base[0]);
	assert_string_equal(r->why, "rank 1: MPI_Abort(3)");
	notes_are(r, p0, 1, RELAY_NOTE_ABORT, MAKER_PROC_BASE, "MPI_Abort(3)");
	notes_are(r, p1, 0, 0, 0, NULL);
	notes_are(r, p2, 1, RELAY_NOTE_ABORT, MAKER_PROC_BASE, "MPI_Abort(3)");
	notes_are(r, t, 1, RELAY_NOTE_ABORT, spec2.label_base[1], "MPI_Abort(3)");
	/* Its echo from others changes nothing. */
	relay_ops()->note(r->c, t, buf, len, r->ep.now);
	relay_ops()->note(r->c, p0, buf, len, r->ep.now);
	assert_int_equal(relay_core_counters(r->c)->notes_late, 2);
	assert_int_equal(r->ended, 1);
	assert_int_equal(relay_job_end(r->c, spec2.label_base[0], NULL, 0), RELAY_ERR_NOTFOUND);
	/* Segments of the job are strangers now. */
	struct suci_segment s = make_segment(r, 0, spec2.label_base[0] + 3, spec2.label_base[0], 0);
	assert_int_equal(feed(r, p0, &s), SUCI_DROPPED);
	/* Paths of a job that is over are closed after a while; trunks stay. */
	r->ep.now += 3 * BASE_S_NS;
	relay_core_tick(r->c, r->ep.now);
	assert_false(r->ep.path[p0].used || r->ep.path[p1].used || r->ep.path[p2].used);
	assert_true(r->ep.path[t].used);
	relay_free(r);
}

static void
abort_from_a_trunk_reaches_all(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t p0 = connect_proc(r, &spec2, 0, 0), t = connect_trunk(r, 1, 0);
	struct relay_note n = {.type = RELAY_NOTE_ABORT, .label_base = spec2.label_base[0]};
	uint8_t buf[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&n, buf);
	relay_ops()->note(r->c, t, buf, len, r->ep.now);
	check(r);
	assert_int_equal(r->ended, 1);
	assert_non_null(strstr(r->why, "192.0.2.11:7000"));
	assert_non_null(strstr(r->why, "client 1"));
	notes_are(r, p0, 1, RELAY_NOTE_ABORT, MAKER_PROC_BASE, "client 1");
	notes_are(r, t, 0, 0, 0, NULL);
	relay_free(r);
}

static void
notes_of_outsiders(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct job_spec other = spec2;
	other.nclients = 3;
	other.nprocs[2] = other.nrelays[2] = 1;
	other.label_base[0] = 0x01000100;
	add_job(r, spec2);
	add_job(r, other);
	uint32_t p0 = connect_proc(r, &spec2, 0, 0), t2 = connect_trunk(r, 2, 0);
	struct relay_note n = {.type = RELAY_NOTE_ABORT};
	uint8_t buf[RELAY_NOTE_MAX];
	/* A process about another job; a relay about a job it is not in. */
	n.label_base = other.label_base[0];
	relay_ops()->note(r->c, p0, buf, relay_note_encode(&n, buf), 0);
	n.label_base = spec2.label_base[0];
	relay_ops()->note(r->c, t2, buf, relay_note_encode(&n, buf), 0);
	relay_ops()->note(r->c, p0, "\1\2", 2, 0);
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 3);
	assert_int_equal(r->ended, 0);
	relay_free(r);
}

/* ---- jobs that survive deaths -------------------------------------------------------- */

static void
tell_death(struct relay *r, uint32_t path, uint32_t first, uint32_t count)
{
	struct relay_note n = {.type = RELAY_NOTE_DEATH,
			       .label_base = spec2.label_base[0],
			       .first = first,
			       .count = count};
	uint8_t buf[RELAY_NOTE_MAX];

	relay_ops()->note(r->c, path, buf, relay_note_encode(&n, buf), r->ep.now);
	relay_core_tick(r->c, r->ep.now);
	check(r);
}

/* The notes DEATH on that path, `runs` of them, are about first and count at last. */
static void
deaths_are(const struct relay *r, uint32_t path, uint32_t runs, uint32_t first, uint32_t count)
{
	const struct fake_path *f = &r->ep.path[path];
	struct relay_note note = {0};

	assert_int_equal(f->nnotes, runs);
	if (!runs)
		return;
	assert_int_equal(
		relay_note_decode(f->note[f->nnotes - 1], f->note_len[f->nnotes - 1], &note), 0);
	assert_int_equal(note.type, RELAY_NOTE_DEATH);
	assert_int_equal(note.first, first);
	assert_int_equal(note.count, count);
}

static void
job_outlives_a_process(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t p0 = connect_proc(r, &spec2, 0, 0), p1 = connect_proc(r, &spec2, 1, 1);
	uint32_t t = connect_trunk(r, 1, 0);
	tell_death(r, p0, 0, 0);
	assert_true(r->tolerant);
	deaths_are(r, p0, 0, 0, 0);
	fake_down(&r->ep, p1, SUCI_DOWN_UNREACHABLE, "");
	relay_core_tick(r->c, r->ep.now);
	check(r);
	assert_int_equal(r->ended, 0);
	assert_int_equal(relay_core_counters(r->c)->procs_dead, 1);
	deaths_are(r, p0, 1, 1, 1);
	deaths_are(r, t, 1, 1, 1);
	/* What comes for it is done with. */
	struct suci_segment s =
		make_segment(r, 0, spec2.label_base[0] + 1, spec2.label_base[0] + 3, 0);
	assert_int_equal(feed(r, t, &s), SUCI_DROPPED);
	assert_int_equal(relay_core_counters(r->c)->drop_left, 1);
	/* A process says so of another of its cluster: once is enough, and of those only. */
	tell_death(r, p0, 2, 1);
	tell_death(r, p0, 2, 1);
	assert_int_equal(relay_core_counters(r->c)->procs_dead, 2);
	deaths_are(r, p0, 2, 1, 2);
	tell_death(r, p0, 3, 1);
	tell_death(r, p0, 2, 2);
	tell_death(r, p0, 6, 3);
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 3);
	/* The last one leaves: so have all. */
	assert_false(r->left);
	fake_down(&r->ep, p0, SUCI_DOWN_CLOSED, "");
	relay_core_tick(r->c, r->ep.now);
	assert_true(r->left);
	assert_int_equal(r->ended, 0);
	relay_free(r);
}

/* Its hello says so: a process that dies at once ends nothing. */
static void
job_outlives_its_first_process(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.token = spec2.token,
				.label = spec2.label_base[0],
				.survives = true};
	struct suci_addr from = maker_proc_addr(0);
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	relay_hello_encode(&h, hello);
	uint32_t p = fake_incoming(&r->ep, &from, hello, sizeof hello, why);
	assert_int_not_equal(p, UINT32_MAX);
	fake_down(&r->ep, p, SUCI_DOWN_UNREACHABLE, "");
	relay_core_tick(r->c, r->ep.now);
	check(r);
	assert_true(r->tolerant);
	assert_int_equal(r->ended, 0);
	assert_int_equal(relay_core_counters(r->c)->procs_dead, 1);
	relay_free(r);
}

static void
job_outlives_a_cluster(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t p0 = connect_proc(r, &spec2, 0, 0), t = connect_trunk(r, 1, 0);
	/* Before the job is known to survive it, a note of that changes nothing; then it counts. */
	tell_death(r, t, 4, 1);
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 0);
	assert_int_equal(relay_core_counters(r->c)->procs_dead, 0);
	tell_death(r, p0, 0, 0);
	assert_int_equal(relay_core_counters(r->c)->procs_dead, 1);
	deaths_are(r, p0, 1, 4, 1);
	tell_death(r, t, 4, 1);
	deaths_are(r, p0, 1, 4, 1);
	deaths_are(r, t, 0, 0, 0);
	/* Of those that it does not speak for it has nothing to say. */
	tell_death(r, t, 2, 1);
	tell_death(r, t, 6, 2);
	tell_death(r, t, 4, 0);
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 3);
	/* The relay goes, and with it all behind it. */
	fake_down(&r->ep, t, SUCI_DOWN_SILENT, "");
	relay_core_tick(r->c, r->ep.now);
	check(r);
	assert_int_equal(r->ended, 0);
	assert_int_equal(relay_core_counters(r->c)->procs_dead, 4);
	deaths_are(r, p0, 2, 3, 4);
	/* Who connects later is told all of it. */
	uint32_t p1 = connect_proc(r, &spec2, 1, 1);
	relay_core_tick(r->c, r->ep.now);
	deaths_are(r, p1, 1, 3, 4);
	/* MPI_Abort ends it as ever. */
	struct relay_note n = {.type = RELAY_NOTE_ABORT, .label_base = spec2.label_base[0]};
	uint8_t buf[RELAY_NOTE_MAX];
	relay_ops()->note(r->c, p1, buf, relay_note_encode(&n, buf), r->ep.now);
	assert_int_equal(r->ended, 1);
	relay_free(r);
}

static void
death_of_a_process(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum suci_down why;
		const char *text;
		bool leave, aborts;
		const char *names;
	} cases[] = {
		{"silent", SUCI_DOWN_SILENT, "", false, true,
		 "process 1 (10.0.0.2:6001, client 0)"},
		{"reset", SUCI_DOWN_RESET, NULL, false, true, "it was restarted"},
		{"unreachable", SUCI_DOWN_UNREACHABLE, "", false, true,
		 "process 1 (10.0.0.2:6001, client 0) is gone: it is not there"},
		{"closed with a reason", SUCI_DOWN_CLOSED, "segv", false, true, "segv"},
		{"closed without", SUCI_DOWN_CLOSED, "", false, false, NULL},
		{"silent after LEAVE", SUCI_DOWN_SILENT, "", true, false, NULL},
		{"unreachable after LEAVE", SUCI_DOWN_UNREACHABLE, "", true, false, NULL},
		{"closed with a reason after LEAVE", SUCI_DOWN_CLOSED, "bye", true, false, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("%s\n", cases[i].name);
		struct relay *r = relay_new(0);
		add_job(r, spec2);
		uint32_t p0 = connect_proc(r, &spec2, 0, 0), p1 = connect_proc(r, &spec2, 1, 1);
		uint32_t t = connect_trunk(r, 1, 0);
		if (cases[i].leave) {
			struct relay_note n = {.type = RELAY_NOTE_LEAVE,
					       .label_base = spec2.label_base[0]};
			uint8_t buf[RELAY_NOTE_MAX];
			relay_ops()->note(r->c, p1, buf, relay_note_encode(&n, buf), 0);
		}
		fake_down(&r->ep, p1, cases[i].why, cases[i].text);
		check(r);
		assert_int_equal(r->ended, cases[i].aborts);
		assert_string_equal(r->down_what, "process 1 of job 7");
		if (cases[i].aborts) {
			assert_non_null(strstr(r->why, cases[i].names));
			notes_are(r, p0, 1, RELAY_NOTE_ABORT, MAKER_PROC_BASE, "process 1");
			notes_are(r, t, 1, RELAY_NOTE_ABORT, spec2.label_base[1], "process 1");
		} else {
			struct relay_job_info info;
			assert_true(relay_core_job(r->c, 0, &info));
			assert_int_equal(info.local_left, 1);
			assert_int_equal(info.local_up, 1);
			/* What still comes for it is done with, and not asked for again;
			 * nobody tries to reach it. */
			struct suci_segment s =
				make_segment(r, 0, spec2.label_base[0] + 1, spec2.label_base[0] + 3,
					     SUCI_SF_FIRST);
			assert_int_equal(feed(r, t, &s), SUCI_DROPPED);
			assert_int_equal(relay_core_counters(r->c)->drop_left, 1);
			uint32_t opened = r->ep.opened;
			r->ep.now += BASE_S_NS;
			relay_core_tick(r->c, r->ep.now);
			assert_int_equal(r->ep.opened, opened);
			check(r);
		}
		relay_free(r);
	}
}

/* It has not the open that made the path: it lives, and the path is opened again. */
static void
a_stale_path_is_no_death(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	connect_proc(r, &spec2, 0, 0);
	uint32_t p1 = connect_proc(r, &spec2, 1, 1), t = connect_trunk(r, 1, 0);
	uint32_t opened = r->ep.opened;
	fake_down(&r->ep, p1, SUCI_DOWN_STALE, "its opener has given up that open");
	fake_down(&r->ep, t, SUCI_DOWN_STALE, "its opener has given up that open");
	check(r);
	assert_int_equal(r->ended, 0);
	r->ep.now += BASE_S_NS;
	relay_core_tick(r->c, r->ep.now);
	assert_int_equal(r->ep.opened, opened + 2);
	assert_int_equal(r->ended, 0);
	check(r);
	relay_free(r);
}

static void
loss_of_a_trunk_names_relay_and_client(void **state)
{
	(void)state;
	struct job_spec other = {.nclients = 2,
				 .nprocs = {1, 1},
				 .nrelays = {1, 1},
				 .label_base = {0x01000200, 0x02000400},
				 .token = 2,
				 .id = 8};
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	add_job(r, other);
	uint32_t p0 = connect_proc(r, &spec2, 0, 0), t = connect_trunk(r, 1, 0);
	struct suci_segment s =
		make_segment(r, 0, spec2.label_base[0] + 3, spec2.label_base[0], SUCI_SF_FIRST);
	assert_int_equal(feed(r, p0, &s), SUCI_TAKEN);
	struct relay_path_info info;
	assert_true(relay_core_path(r->c, t, &info));
	assert_int_equal(info.kind, RELAY_PATH_TRUNK);
	assert_int_equal(info.jobs, 2);
	assert_int_equal(info.held, 1);
	fake_down(&r->ep, t, SUCI_DOWN_SILENT, "");
	check(r);
	assert_int_equal(r->ended, 2); /* both jobs used it */
	assert_string_equal(r->why, "relay 192.0.2.11:7000 of client 1 is gone: "
				    "it is silent");
	assert_int_equal(r->refs[0], 0);
	assert_int_equal(relay_core_counters(r->c)->drop_abandoned, 1);
	notes_are(r, p0, 1, RELAY_NOTE_ABORT, MAKER_PROC_BASE, "192.0.2.11:7000");
	struct relay_job_info ji;
	for (uint32_t i = 0; i < 3; i++)
		assert_false(relay_core_job(r->c, i, &ji));
	relay_free(r);
}

/* The other relay has the table a little later than we. */
static void
refused_trunk_is_tried_again(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct suci_addr a = maker_relay_addr(1, 0);
	add_job(r, spec2);
	uint64_t start = r->ep.now;
	int tries = 0;
	for (;;) {
		uint32_t p = fake_find(&r->ep, &a);
		if (p != UINT32_MAX) {
			tries++;
			fake_down(&r->ep, p, SUCI_DOWN_REFUSED, "named by no current job");
			check(r);
		}
		if (r->ended)
			break;
		assert_int_not_equal(relay_core_expiry_ns(r->c), BASE_NEVER_NS);
		r->ep.now = relay_core_expiry_ns(r->c) > r->ep.now ? relay_core_expiry_ns(r->c)
								   : r->ep.now + 1;
		relay_core_tick(r->c, r->ep.now);
	}
	assert_in_range(r->ep.now - start, 10 * BASE_S_NS, 11 * BASE_S_NS);
	assert_in_range(tries, 190, 210);
	assert_non_null(strstr(r->why, "named by no current job"));
	relay_free(r);
}

/* A relay that owns no process of a job: the other clusters do not know it, it
 * opens nothing, takes no trunk slots, and time does not end the job. */
/* A handshake without an answer lasts as long as is tried, a turn of the worker less: the job ends
 * then, not after a second one. */
static void
silent_trunk_is_not_tried_twice(void **state)
{
	(void)state;
	static const struct {
		uint64_t after_ns; /* the handshake's end */
		bool over;
	} cases[] = {
		{5 * BASE_S_NS, false},
		{10 * BASE_S_NS - 60 * BASE_MS_NS, false},
		{10 * BASE_S_NS - 40 * BASE_US_NS, true},
		{10 * BASE_S_NS, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct relay *r = relay_new(0);
		struct suci_addr a = maker_relay_addr(1, 0);
		add_job(r, spec2);
		r->ep.now += cases[i].after_ns;
		relay_core_tick(r->c, r->ep.now);
		fake_down(&r->ep, fake_find(&r->ep, &a), SUCI_DOWN_TIMEOUT, "");
		check(r);
		assert_int_equal(r->ended, cases[i].over);
		relay_free(r);
	}
}

static void
owner_of_nothing_opens_nothing(void **state)
{
	(void)state;
	struct job_spec five = {.nclients = 2,
				.nprocs = {1, 5},
				.nrelays = {1, 5},
				.label_base = {0x02000000, 64},
				.token = 3,
				.id = 9};
	struct suci_addr shard = maker_relay_addr(0, 0);
	shard.port++;
	const struct suci_addr self[] = {maker_relay_addr(0, 7), shard};
	for (size_t i = 0; i < sizeof self / sizeof self[0]; i++) {
		struct relay *r = relay_new_with(self[i], 0);
		struct relay_job_info info;
		add_job(r, spec2);
		add_job(r, five); /* five remote hosts, four trunk slots */
		for (int sec = 0; sec < 30; sec++) {
			r->ep.now += BASE_S_NS;
			relay_core_tick(r->c, r->ep.now);
			check(r);
		}
		assert_int_equal(r->ep.opened, 0);
		assert_int_equal(r->ended, 0);
		assert_true(relay_core_job(r->c, 0, &info));
		assert_int_equal(info.trunks, 0);

		/* A process that comes here all the same gets nowhere, and is told apart
		 * from one whose trunk is only late. */
		uint32_t p = connect_proc(r, &spec2, 1, 1);
		struct suci_segment s = make_segment(r, 0, spec2.label_base[0] + 3,
						     spec2.label_base[0] + 1, SUCI_SF_FIRST);
		assert_int_equal(feed(r, p, &s), SUCI_DROPPED);
		assert_int_equal(relay_core_counters(r->c)->drop_destination, 1);

		/* It still hears of the end, from control. */
		assert_int_equal(relay_job_end(r->c, spec2.label_base[0], "x", r->ep.now), 0);
		assert_int_equal(relay_job_end(r->c, five.label_base[0], NULL, r->ep.now), 0);
		check(r);
		relay_free(r);
	}
}

/* A process that waits asks whether we are there: no say in any job. */
static void
ping_is_counted_and_no_more(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t p0 = connect_proc(r, &spec2, 0, 0), t = connect_trunk(r, 1, 0);
	relay_ops()->note(r->c, p0, "\3", 1, r->ep.now);
	relay_ops()->note(r->c, t, "\3", 1, r->ep.now);
	assert_int_equal(relay_job_end(r->c, spec2.label_base[0], NULL, r->ep.now), 0);
	relay_ops()->note(r->c, p0, "\3", 1, r->ep.now); /* lingers */
	assert_int_equal(relay_core_counters(r->c)->notes_rx, 3);
	assert_int_equal(relay_core_counters(r->c)->notes_bad, 0);
	assert_int_equal(relay_core_counters(r->c)->notes_late, 0);
	assert_int_equal(r->ended, 0);
	relay_free(r);
}

/* ---- told late: the trunk was not up when the job ended --------------------------------- */

static uint32_t
trunk_comes_in(struct relay *r, uint32_t client)
{
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	struct suci_addr from = maker_relay_addr(client, 0);
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	relay_hello_encode(&h, hello);
	return fake_incoming(&r->ep, &from, hello, sizeof hello, why);
}

static void
end_is_told_when_the_trunk_is_up(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		const char *why;
		bool down;	   /* the try to connect fails first, theirs comes */
		uint64_t after_ns; /* the end */
		bool told;
	} cases[] = {
		{"abort, connecting", "gone", false, BASE_S_NS, true},
		{"leave, connecting", NULL, false, BASE_S_NS, true},
		{"abort, down", "gone", true, BASE_S_NS, true},
		{"abort, down, just in time", "gone", true, 60 * BASE_S_NS - 1, true},
		{"abort, down, too late", "gone", true, 60 * BASE_S_NS, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("%s\n", cases[i].name);
		struct relay *r = relay_new(0);
		const struct relay_counters *n = relay_core_counters(r->c);
		struct suci_addr a = maker_relay_addr(1, 0);
		add_job(r, spec2);
		assert_int_equal(relay_job_end(r->c, spec2.label_base[0], cases[i].why, r->ep.now),
				 0);
		check(r);
		assert_int_equal(n->notes_kept, 1);
		assert_int_equal(n->notes_tx, 0);
		uint32_t opened = r->ep.opened, t = fake_find(&r->ep, &a);
		if (cases[i].down)
			fake_down(&r->ep, t, SUCI_DOWN_TIMEOUT, "");
		r->ep.now += cases[i].after_ns;
		relay_core_tick(r->c, r->ep.now);
		check(r);
		assert_int_equal(r->ep.opened, opened);
		t = cases[i].down ? trunk_comes_in(r, 1) : connect_trunk(r, 1, 0);
		assert_int_equal(t != UINT32_MAX, cases[i].told);
		assert_int_equal(n->notes_forgotten, !cases[i].told);
		if (cases[i].told) {
			assert_true(relay_core_expiry_ns(r->c) <= r->ep.now);
			relay_core_tick(r->c, r->ep.now);
			notes_are(r, t, 1, cases[i].why ? RELAY_NOTE_ABORT : RELAY_NOTE_LEAVE,
				  spec2.label_base[1], cases[i].why);
			/* Once. */
			r->ep.now += BASE_S_NS;
			relay_core_tick(r->c, r->ep.now);
			notes_are(r, t, 1, cases[i].why ? RELAY_NOTE_ABORT : RELAY_NOTE_LEAVE,
				  spec2.label_base[1], cases[i].why);
		}
		relay_free(r);
	}
}

/* More ends than are kept: the newest are told. */
static void
untold_ends_are_bounded(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct relay_note note;
	const struct relay_counters *n = relay_core_counters(r->c);
	for (uint32_t i = 0; i < 20; i++) {
		struct job_spec s = spec2;
		s.label_base[1] += i * RELAY_LABEL_PAGE;
		s.token_of[1] = 0xef00 + i;
		add_job(r, s);
		assert_int_equal(relay_job_end(r->c, s.label_base[0], "gone", ++r->ep.now), 0);
		check(r);
	}
	assert_int_equal(n->notes_kept, 20);
	assert_int_equal(n->notes_forgotten, 12);
	uint32_t t = connect_trunk(r, 1, 0), seen = 0;
	relay_core_tick(r->c, r->ep.now);
	assert_int_equal(r->ep.path[t].nnotes, 8);
	for (uint32_t i = 0; i < 8; i++) {
		const struct fake_path *p = &r->ep.path[t];
		assert_int_equal(relay_note_decode(p->note[i], p->note_len[i], &note), 0);
		uint32_t job = (note.label_base - spec2.label_base[1]) / RELAY_LABEL_PAGE;
		assert_int_equal(note.token, 0xef00 + job); /* the receiver's */
		seen |= 1u << job;
	}
	assert_int_equal(seen, 0xff000);
	relay_free(r);
}

/* The slot of a trunk that only keeps what is untold goes to a job that needs it. */
static void
untold_ends_hold_no_slot(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	for (uint32_t i = 1; i <= 5; i++) {
		struct job_spec s = {.nclients = i + 1, .nprocs = {1}, .nrelays = {1}};
		s.label_base[0] = spec2.label_base[0];
		s.label_base[i] = spec2.label_base[1];
		s.nprocs[i] = s.nrelays[i] = 1;
		s.token = i;
		add_job(r, s);
		struct suci_addr a = maker_relay_addr(i, 0);
		fake_down(&r->ep, fake_find(&r->ep, &a), SUCI_DOWN_REFUSED, "");
		assert_int_equal(relay_job_end(r->c, s.label_base[0], "gone", ++r->ep.now), 0);
		check(r);
	}
	assert_int_equal(relay_core_counters(r->c)->notes_kept, 5);
	assert_int_equal(relay_core_counters(r->c)->notes_forgotten, 1);
	relay_free(r);
}

/* Told late, of a job whose labels another has now. */
static void
stale_note_ends_no_later_job(void **state)
{
	(void)state;
	static const uint8_t type[] = {RELAY_NOTE_ABORT, RELAY_NOTE_LEAVE};
	for (size_t i = 0; i < sizeof type; i++) {
		struct relay *r = relay_new(0);
		const struct relay_counters *n = relay_core_counters(r->c);
		uint8_t buf[RELAY_NOTE_MAX];
		add_job(r, spec2);
		uint32_t t = connect_trunk(r, 1, 0);
		struct relay_note note = {.type = type[i],
					  .label_base = spec2.label_base[0],
					  .token = spec2.token + 1};
		relay_ops()->note(r->c, t, buf, relay_note_encode(&note, buf), r->ep.now);
		assert_int_equal(n->notes_stale, 1);
		assert_int_equal(r->ended, 0);
		/* Nor does it count as having left. */
		note.token = spec2.token;
		if (type[i] == RELAY_NOTE_ABORT)
			relay_ops()->note(r->c, t, buf, relay_note_encode(&note, buf), r->ep.now);
		else
			fake_down(&r->ep, t, SUCI_DOWN_SILENT, "");
		assert_int_equal(r->ended, 1);
		assert_int_equal(n->notes_stale, 1);
		relay_free(r);
	}
}

/* ---- as it should, or by control ----------------------------------------------------- */

/* A job that ends as it should: processes leave one by one, some close their
 * paths first, the client says FINI, what is left lingers and is closed. */
static void
job_that_ends_normally(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	struct relay_job_info info;
	uint8_t buf[RELAY_NOTE_MAX];
	add_job(r, spec2);
	uint32_t p[3], t = connect_trunk(r, 1, 0);
	for (uint32_t i = 0; i < 3; i++)
		p[i] = connect_proc(r, &spec2, i, i);
	struct relay_note n = {.type = RELAY_NOTE_LEAVE, .label_base = spec2.label_base[0]};
	size_t len = relay_note_encode(&n, buf);
	relay_ops()->note(r->c, p[0], buf, len, r->ep.now);
	fake_down(&r->ep, p[0], SUCI_DOWN_CLOSED, "");
	check(r);
	/* The others still run, and their segments still pass. */
	assert_true(relay_core_job(r->c, 0, &info));
	assert_int_equal(info.local_left, 1);
	assert_int_equal(info.local_up, 2);
	struct suci_segment s =
		make_segment(r, 0, spec2.label_base[0] + 3, spec2.label_base[0] + 1, SUCI_SF_FIRST);
	assert_int_equal(feed(r, p[1], &s), SUCI_TAKEN);
	fake_give_back(&r->ep, t, SUCI_FATE_ACKED);
	/* It is not asked to come back. */
	uint32_t opened = r->ep.opened;
	r->ep.now += 20 * BASE_S_NS;
	relay_core_tick(r->c, r->ep.now);
	assert_int_equal(r->ep.opened, opened);

	relay_ops()->note(r->c, p[1], buf, len, r->ep.now);
	relay_ops()->note(r->c, p[2], buf, len, r->ep.now);
	assert_int_equal(relay_job_end(r->c, spec2.label_base[0], NULL, r->ep.now), 0);
	fake_down(&r->ep, p[1], SUCI_DOWN_CLOSED, "");
	assert_true(r->ep.path[p[2]].used);
	r->ep.now += 2 * BASE_S_NS - 1;
	relay_core_tick(r->c, r->ep.now);
	assert_true(r->ep.path[p[2]].used);
	relay_core_tick(r->c, ++r->ep.now);
	assert_false(r->ep.path[p[2]].used);
	assert_string_equal(r->ep.close_text, "");
	assert_true(r->ep.path[t].used);
	notes_are(r, t, 1, RELAY_NOTE_LEAVE, spec2.label_base[1], NULL);
	assert_int_equal(r->ended, 0);
	assert_int_equal(relay_core_counters(r->c)->jobs_finished, 1);
	assert_int_equal(relay_core_counters(r->c)->jobs_aborted, 0);
	relay_free(r);
}

static void
trunk_that_says_idle_is_opened_again(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t t = connect_trunk(r, 1, 0);
	fake_down(&r->ep, t, SUCI_DOWN_CLOSED, "idle");
	assert_int_equal(r->ended, 0);
	r->ep.now += 50 * BASE_MS_NS;
	relay_core_tick(r->c, r->ep.now);
	connect_trunk(r, 1, 0);
	assert_int_equal(relay_core_counters(r->c)->trunk_retries, 1);
	relay_free(r);
}

static void
trunk_lost_after_leave_is_no_loss(void **state)
{
	(void)state;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	uint32_t t = connect_trunk(r, 1, 0);
	struct relay_note n = {.type = RELAY_NOTE_LEAVE, .label_base = spec2.label_base[0]};
	uint8_t buf[RELAY_NOTE_MAX];
	relay_ops()->note(r->c, t, buf, relay_note_encode(&n, buf), 0);
	fake_down(&r->ep, t, SUCI_DOWN_CLOSED, "relay stops");
	assert_int_equal(r->ended, 0);
	check(r);
	assert_int_equal(relay_job_end(r->c, spec2.label_base[0], "", 0), 0);
	assert_int_equal(relay_core_counters(r->c)->jobs_finished, 1);
	relay_free(r);
}

static void
end_by_control(void **state)
{
	(void)state;
	for (uint32_t abort = 0; abort <= 1; abort++) {
		struct relay *r = relay_new(0);
		add_job(r, spec2);
		uint32_t p0 = connect_proc(r, &spec2, 0, 0), t = connect_trunk(r, 1, 0);
		assert_int_equal(relay_job_end(r->c, spec2.label_base[0],
					       abort ? "client 0: connection ended" : NULL, 0),
				 0);
		assert_int_equal(r->ended, 0);
		notes_are(r, p0, abort, RELAY_NOTE_ABORT, MAKER_PROC_BASE, "connection ended");
		notes_are(r, t, 1, abort ? RELAY_NOTE_ABORT : RELAY_NOTE_LEAVE, spec2.label_base[1],
			  NULL);
		check(r);
		relay_free(r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(abort_of_a_process_reaches_all),
		cmocka_unit_test(abort_from_a_trunk_reaches_all),
		cmocka_unit_test(notes_of_outsiders),
		cmocka_unit_test(job_outlives_a_process),
		cmocka_unit_test(job_outlives_its_first_process),
		cmocka_unit_test(job_outlives_a_cluster),
		cmocka_unit_test(death_of_a_process),
		cmocka_unit_test(a_stale_path_is_no_death),
		cmocka_unit_test(loss_of_a_trunk_names_relay_and_client),
		cmocka_unit_test(refused_trunk_is_tried_again),
		cmocka_unit_test(silent_trunk_is_not_tried_twice),
		cmocka_unit_test(owner_of_nothing_opens_nothing),
		cmocka_unit_test(ping_is_counted_and_no_more),
		cmocka_unit_test(end_is_told_when_the_trunk_is_up),
		cmocka_unit_test(untold_ends_are_bounded),
		cmocka_unit_test(untold_ends_hold_no_slot),
		cmocka_unit_test(stale_note_ends_no_later_job),
		cmocka_unit_test(job_that_ends_normally),
		cmocka_unit_test(trunk_that_says_idle_is_opened_again),
		cmocka_unit_test(trunk_lost_after_leave_is_no_loss),
		cmocka_unit_test(end_by_control),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
