/* SPDX-License-Identifier: BSD-2-Clause */
/* A pipeline of processes of lib/spx that send each other messages in memory, and what their
 * programs do. */
#ifndef TEST_SPX_KIT_H
#define TEST_SPX_KIT_H

#include "cmocka_all.h"
#include "spx/spx.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 source --chain 0: I/O 2, 3--> 4 filter --chain 1: I/O 5--> 6 sink; 7, 8 spares of the source */
enum { PROCS = 8, SOURCE = 1, IO_A, IO_B, FILTER, IO_C, SINK, SPARE, SPARE2, LINE = 4096 };

#define STALL_NS (100 * BASE_MS_NS)
#define ORIGIN	 SPX_ROLE(0, 0)

struct message {
	uint32_t from, to;
	size_t len;
	uint8_t bytes[SPX_MESSAGE_MAX + 64];
};

static struct world {
	uint64_t now_ns;
	struct spx *x[PROCS + 1];
	void *mem[PROCS + 1];
	bool dead[PROCS + 1], deaf[PROCS + 1];
	struct spx_proc proc[PROCS];
	struct spx_cluster cluster[3];
	struct spx_chain chain[2];
	struct spx_view view;
	struct message line[LINE];
	uint32_t first, n;
	uint64_t pieces, done[PROCS + 1];
	uint32_t picks;
	struct {
		enum spx_event_kind kind;
		uint32_t of, proc;
		char text[SPX_TEXT_MAX];
	} event[64];
	uint32_t events;
	uint32_t room; /* of I/O processes */
} w;

static inline uint32_t
id_of_user(const void *user)
{
	return (uint32_t)(uintptr_t)user;
}

static inline void *
take_memory(void *user, size_t bytes)
{
	(void)user;
	w.pieces++;
	return malloc(bytes);
}

static inline void
give_memory(void *user, void *p)
{
	(void)user;
	w.pieces--;
	free(p);
}

static inline void
queue_message(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
	      size_t len)
{
	assert_true(w.n < LINE && head_len + len <= sizeof w.line[0].bytes);
	struct message *m = &w.line[(w.first + w.n++) % LINE];
	m->from = id_of_user(user);
	m->to = to;
	m->len = head_len + len;
	memcpy(m->bytes, head, head_len);
	if (len)
		memcpy(m->bytes + head_len, frame, len);
}

static inline void
ignore_program(void *user)
{
	(void)user;
}

static inline void
count_done(void *user, uint32_t origin, uint64_t number)
{
	(void)number;
	assert_int_equal(origin, ORIGIN);
	w.done[id_of_user(user)]++;
}

static inline void
keep_event(void *user, const struct spx_event *e)
{
	assert_true(w.events < 64);
	w.event[w.events].kind = e->kind;
	w.event[w.events].of = id_of_user(user);
	w.event[w.events].proc = e->proc;
	snprintf(w.event[w.events++].text, SPX_TEXT_MAX, "%s", e->text);
}

static inline uint32_t
pick_last(void *user, const struct spx_candidate *c, uint32_t n, bool out)
{
	(void)user, (void)c, (void)out;
	w.picks++;
	return n - 1;
}

static const struct spx_ops ops = {queue_message, ignore_program, ignore_program,
				   count_done,	  keep_event,	  pick_last};
static const struct spx_memory memory = {take_memory, give_memory, NULL};

/* The view as it is now, to all. */
static inline void
show_view_to_all(void)
{
	char why[SPX_TEXT_MAX];

	w.view.number++;
	for (uint32_t i = 1; i <= PROCS; i++)
		if (w.dead[i])
			w.proc[i - 1].state = SPX_DEAD;
	for (uint32_t i = 1; i <= PROCS; i++)
		if (!w.dead[i] && !spx_install(w.x[i], &w.view, w.now_ns, why))
			fail_msg("view: %s", why);
}

static inline void
deliver_all(void)
{
	const char *what;

	while (w.n) {
		struct message m = w.line[w.first];
		w.first = (w.first + 1) % LINE;
		w.n--;
		if (w.dead[m.to] || w.dead[m.from] || w.deaf[m.to])
			continue;
		assert_true(spx_on_message(w.x[m.to], m.from, m.bytes, m.len, w.now_ns));
		if (!spx_check(w.x[m.to], &what))
			fail_msg("process %u: %s", m.to, what);
	}
}

static inline void
pass_time(uint64_t ns)
{
	for (uint64_t end = w.now_ns + ns; w.now_ns < end;) {
		w.now_ns += BASE_MS_NS;
		for (uint32_t i = 1; i <= PROCS; i++)
			if (!w.dead[i] && spx_expiry_ns(w.x[i]) <= w.now_ns)
				spx_tick(w.x[i], w.now_ns);
		deliver_all();
	}
}

static enum spx_in_flight in_flight;
static uint32_t set_aside;

static inline struct spx_conf
conf_of_process(uint32_t id)
{
	return (struct spx_conf){.id = id,
				 .procs_max = PROCS,
				 .origins_max = 2,
				 .window_max = 16,
				 .room = w.room,
				 .ahead = 1,
				 .frame_max = 64,
				 .in_flight = in_flight,
				 .aside = set_aside,
				 .retry_ns = 2 * BASE_MS_NS,
				 .retry_max_ns = 16 * BASE_MS_NS,
				 .poll_ns = 3 * BASE_MS_NS,
				 .stall_ns = STALL_NS,
				 .start_ns = 50 * BASE_MS_NS};
}

static inline void
make_pipeline(uint32_t room)
{
	static const char *const names[] = {"source", "filter", "sink"};
	static const uint16_t cluster_of[] = {0, 0, 0, 1, 1, 2, 0, 0};

	memset(&w, 0, sizeof w);
	w.now_ns = BASE_S_NS;
	w.room = room;
	for (uint32_t i = 1; i <= PROCS; i++) {
		bool io = i == IO_A || i == IO_B || i == IO_C;
		struct spx_conf c = conf_of_process(i);
		w.mem[i] = malloc(spx_bytes(&c));
		w.x[i] = spx_new(w.mem[i], &c, &ops, (void *)(uintptr_t)i, &memory, w.now_ns);
		w.proc[i - 1] = (struct spx_proc){.id = i,
						  .cluster = cluster_of[i - 1],
						  .kind = io ? SPX_IO : SPX_COMPUTE,
						  .ready = true,
						  .chains = !io		? 0
							    : i == IO_C ? 2
									: 1};
	}
	for (uint32_t k = 0; k < 3; k++) {
		snprintf(w.cluster[k].name, SPX_NAME_MAX, "%s", names[k]);
		w.cluster[k].compute = 1;
	}
	for (uint16_t c = 0; c < 2; c++)
		w.chain[c] = (struct spx_chain){.from = c,
						.to = (uint16_t)(c + 1),
						.state = SPX_CHAIN_ACTIVE,
						.window = 4,
						.ordered = true};
	w.view = (struct spx_view){.nproc = SINK,
				   .ncluster = 3,
				   .nchain = 2,
				   .proc = w.proc,
				   .cluster = w.cluster,
				   .chain = w.chain};
}

static inline void
end_world(void)
{
	for (uint32_t i = 1; i <= PROCS; i++) {
		spx_end(w.x[i]);
		free(w.mem[i]);
	}
	assert_int_equal(w.pieces, 0);
}

static inline int
begin_test(void **state)
{
	(void)state;
	make_pipeline(4);
	show_view_to_all();
	return 0;
}

static inline int
end_test(void **state)
{
	(void)state;
	end_world();
	return 0;
}

/* --- what programs do ----------------------------------------------------------- */

static inline bool
make_one(uint64_t expected)
{
	uint64_t number;
	bool again;

	if (!spx_next(w.x[SOURCE], &number, &again))
		return false;
	assert_int_equal(number, expected);
	assert_false(again);
	assert_true(spx_put(w.x[SOURCE], ORIGIN, number, &number, sizeof number, w.now_ns));
	return true;
}

/* The program there takes the frame and ends it; put: passes it on. */
static inline void
take_one(uint32_t who, uint64_t expected, bool again, bool passes)
{
	struct spx_frame f;
	uint64_t number;

	if (!spx_begin(w.x[who], &f, w.now_ns))
		fail_msg("process %u has nothing to begin, not %llu", who,
			 (unsigned long long)expected);
	assert_int_equal(f.number, expected);
	assert_int_equal(f.origin, ORIGIN);
	assert_int_equal(f.again, again);
	assert_int_equal(f.len, sizeof number);
	memcpy(&number, f.bytes, sizeof number);
	assert_int_equal(number, expected);
	if (passes)
		assert_true(spx_put(w.x[who], f.origin, f.number, f.bytes, f.len, w.now_ns));
	assert_true(spx_finish(w.x[who], f.origin, f.number, w.now_ns));
	pass_time(10 * BASE_MS_NS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

#endif
