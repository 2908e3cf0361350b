/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of a pipeline in one program, each with its thread and its socket; the test is their
 * manager.  1 source --chain 0: I/O 2, 3--> 4, 5 filter --chain 1: I/O 6--> 7 sink; 8 is a spare
 * for rank 1 of the filter. */
#include "cmocka_all.h"
#include "driver/spxrun.h"

#include "base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROCS = 8, FRAME_MAX = 1 << 20, LONG_MS = 120000, ROOM = 8192 };

static struct world {
	struct spxrun *r[PROCS + 1];
	int fd[PROCS + 1];
	char where[PROCS + 1][SPX_ADDRESS_MAX];
	const char *at[PROCS];
	struct spx_proc proc[PROCS];
	struct spx_cluster cluster[3];
	struct spx_chain chain[2];
	struct spx_view view;
	uint32_t again; /* frames passed that somebody may have begun before */
} w;

/* One frame of the process; false: nothing is there. */
static bool
hear_from(uint32_t id, bool wait, struct spx_feed *f, uint8_t b[ROOM])
{
	char why[SPX_TEXT_MAX];
	ssize_t n = recv(w.fd[id], b, 4, wait ? MSG_WAITALL : MSG_DONTWAIT);

	if (n < 4)
		return false;
	size_t len = spx_feed_length(b);
	assert_true(len && len <= ROOM);
	assert_int_equal(recv(w.fd[id], b + 4, len - 4, MSG_WAITALL), len - 4);
	if (!spx_feed_read(f, b, len, why))
		fail_msg("process %u: %s", id, why);
	return true;
}

static void
tell_one(uint32_t id, const struct spx_feed *f)
{
	uint8_t b[ROOM];
	size_t n = spx_feed_write(b, sizeof b, f);

	assert_true(n);
	assert_int_equal(send(w.fd[id], b, n, MSG_NOSIGNAL), n);
}

static void
start_one(uint32_t id)
{
	struct spx_feed f = {.type = SPX_FEED_SETUP,
			     .realm = 7,
			     .conf = {.id = id,
				      .procs_max = 32,
				      .origins_max = 4,
				      .window_max = 16,
				      .room = 4,
				      .ahead = 2,
				      .frame_max = FRAME_MAX,
				      .retry_ns = 20 * BASE_MS_NS,
				      .retry_max_ns = 200 * BASE_MS_NS,
				      .poll_ns = 5 * BASE_MS_NS,
				      .stall_ns = 0,
				      .start_ns = BASE_S_NS},
			     .ip = {"127.0.0.1", 9},
			     .relay = {"", 0}};
	int pair[2];
	uint8_t b[ROOM];
	char why[SPX_TEXT_MAX];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	w.fd[id] = pair[0];
	tell_one(id, &f);
	w.r[id] = spxrun_open(pair[1], why);
	if (!w.r[id])
		fail_msg("process %u: %s", id, why);
	assert_true(hear_from(id, true, &f, b));
	assert_int_equal(f.type, SPX_FEED_HELLO);
	memcpy(w.where[id], f.text.at, f.text.len);
	w.proc[id - 1].ready = true;
}

static void
show_view(uint32_t nproc)
{
	size_t room;
	uint8_t *b;

	w.view.number++;
	w.view.nproc = nproc;
	for (uint32_t i = 0; i < nproc; i++)
		w.at[i] = w.where[i + 1];
	room = spx_feed_view_bytes(&w.view);
	b = malloc(room);
	assert_non_null(b);
	size_t n = spx_feed_write_view(b, room, &w.view, w.at);
	assert_true(n);
	for (uint32_t id = 1; id <= PROCS; id++)
		if (w.r[id])
			assert_int_equal(send(w.fd[id], b, n, MSG_NOSIGNAL), n);
	free(b);
}

static void
set_up(bool all)
{
	static const char names[3][8] = {"input", "filter", "output"};

	memset(&w, 0, sizeof w);
	for (uint32_t k = 0; k < 3; k++) {
		w.cluster[k].compute = k == 1 ? 2 : 1;
		memcpy(w.cluster[k].name, names[k], sizeof names[k]);
	}
	for (uint32_t c = 0; c < 2; c++)
		w.chain[c] = (struct spx_chain){.from = (uint16_t)c,
						.to = (uint16_t)(c + 1),
						.state = SPX_CHAIN_ACTIVE,
						.ordered = c == 1,
						.window = 8};
	static const uint16_t of[PROCS] = {0, 0, 0, 1, 1, 1, 2, 1},
			      rank[PROCS] = {0, 0, 0, 0, 1, 0, 0, 1};
	static const uint64_t serves[PROCS] = {0, 1, 1, 0, 0, 2, 0, 0};
	for (uint32_t i = 0; i < PROCS; i++)
		w.proc[i] = (struct spx_proc){.id = i + 1,
					      .cluster = of[i],
					      .rank = rank[i],
					      .kind = serves[i] ? SPX_IO : SPX_COMPUTE,
					      .chains = serves[i]};
	w.view = (struct spx_view){
		.ncluster = 3, .nchain = 2, .proc = w.proc, .cluster = w.cluster, .chain = w.chain};
	for (uint32_t id = 1; id <= PROCS; id++)
		if (all || id != 7)
			start_one(id);
	show_view(7);
}

static void
end_one(uint32_t id)
{
	if (!w.r[id])
		return;
	spxrun_free(w.r[id]);
	close(w.fd[id]);
	w.r[id] = NULL;
}

static void
end_all(void)
{
	for (uint32_t id = 1; id <= PROCS; id++)
		end_one(id);
}

/* ---- programs ---- */

/* false: the window is full. */
static bool
make_frame(uint32_t id, size_t len)
{
	struct spx_frame f;
	char why[SPX_TEXT_MAX];
	uint64_t *b;

	if (spxrun_begin(w.r[id], &f, 1) != SPXRUN_FRAME)
		return false;
	b = calloc(1, len);
	assert_non_null(b);
	b[0] = f.number;
	b[len / 8 - 1] = ~f.number;
	if (!spxrun_end(w.r[id], &f, b, len, why))
		fail_msg("%s", why);
	free(b);
	return true;
}

/* false: there was none in that time. */
static bool
pass_frame(uint32_t id, int64_t wait_ms)
{
	struct spx_frame f;
	char why[SPX_TEXT_MAX];

	if (spxrun_begin(w.r[id], &f, wait_ms) != SPXRUN_FRAME)
		return false;
	w.again += f.again;
	if (!spxrun_end(w.r[id], &f, f.bytes, f.len, why))
		fail_msg("%s", why);
	return true;
}

static bool
take_frame(uint32_t id, uint64_t number, size_t len)
{
	struct spx_frame f;
	char why[SPX_TEXT_MAX];
	uint64_t first, last;

	if (spxrun_begin(w.r[id], &f, 0) != SPXRUN_FRAME)
		return false;
	assert_int_equal(f.number, number);
	assert_int_equal(f.len, len);
	memcpy(&first, f.bytes, 8);
	memcpy(&last, (const char *)f.bytes + len - 8, 8);
	assert_true(first == number && last == ~number);
	if (!spxrun_end(w.r[id], &f, NULL, 0, why))
		fail_msg("%s", why);
	return true;
}

/* ---- tests ---- */

static void
frames_pass_in_order_whatever_their_size(void **state)
{
	(void)state;
	static const size_t len[3] = {16, 70000, FRAME_MAX};
	uint64_t taken = 0;
	struct spxrun_self self;
	char name[SPX_CLUSTERS_MAX][SPX_NAME_MAX], why[SPX_TEXT_MAX];

	set_up(true);
	assert_true(spxrun_self(w.r[5], &self, LONG_MS));
	assert_true(self.rank == 1 && self.ranks == 2 && !self.makes && !self.ends);
	assert_string_equal(self.cluster, "filter");
	assert_false(spxrun_self(w.r[8], &self, 0)); /* a spare has no place */
	assert_true(spxrun_self(w.r[6], &self, LONG_MS));
	assert_int_equal(spxrun_worlds(w.r[6], name), 2);
	assert_string_equal(name[1], "output");
	for (uint64_t made = 0; taken < 24;) {
		made += made < 24 && make_frame(1, len[made % 3]);
		(void)pass_frame(4, 1);
		(void)pass_frame(5, 1);
		while (take_frame(7, taken, len[taken % 3]))
			taken++;
	}
	for (uint32_t id = 1; id <= 7; id++)
		tell_one(id, &(struct spx_feed){.type = SPX_FEED_OVER});
	assert_true(spxrun_finish(w.r[7], LONG_MS, why));
	end_all();
}

static void
a_spare_goes_on_with_the_frames_of_who_died(void **state)
{
	(void)state;
	struct spx_frame f;
	struct spxrun_self self;
	struct spxrun_event e;
	uint64_t taken = 0;

	set_up(true);
	for (uint64_t made = 0; made < 4;)
		made += make_frame(1, 64);
	/* Rank 1 dies in a frame, and the first I/O process with what it holds. */
	enum spxrun_got got;
	do /* an event ends the wait, too */
		got = spxrun_begin(w.r[5], &f, LONG_MS);
	while (got == SPXRUN_NONE && spxrun_event(w.r[5], &e));
	assert_int_equal(got, SPXRUN_FRAME);
	end_one(5);
	end_one(2);
	w.proc[4].state = w.proc[1].state = SPX_DEAD;
	w.proc[7].takeovers = 1;
	show_view(8);
	assert_true(spxrun_self(w.r[8], &self, LONG_MS));
	assert_true(self.rank == 1 && self.takeovers == 1);
	for (uint64_t made = 4; taken < 16;) {
		made += made < 16 && make_frame(1, 64);
		(void)pass_frame(4, 1);
		(void)pass_frame(8, 1);
		while (take_frame(7, taken, 64))
			taken++;
	}
	assert_true(w.again > 0);
	end_all();
}

static void
what_cannot_be_is_said(void **state)
{
	(void)state;
	struct spx_frame f;
	struct spxrun_event e;
	struct spx_feed told;
	uint8_t b[ROOM];
	char why[SPX_TEXT_MAX];

	set_up(false); /* no output */
	do
		assert_int_equal(spxrun_begin(w.r[1], &f, LONG_MS), SPXRUN_NONE);
	while (!spxrun_event(w.r[1], &e));
	assert_int_equal(e.e.kind, SPX_EVENT_MISSING);
	assert_non_null(strstr(e.text, "cluster output: rank 0 of 1"));
	assert_true(hear_from(1, true, &told, b));
	assert_int_equal(told.type, SPX_FEED_EVENT);
	start_one(7);
	show_view(7);
	while (spxrun_begin(w.r[1], &f, LONG_MS) != SPXRUN_FRAME)
		assert_null(spxrun_over(w.r[1])); /* it is told that it runs */
	assert_false(spxrun_end(w.r[1], &f, b, (size_t)FRAME_MAX + 1, why));
	assert_non_null(strstr(why, "larger frame_max"));
	close(w.fd[1]);
	while (!spxrun_over(w.r[1]))
		(void)spxrun_begin(w.r[1], &f, 1);
	assert_false(spxrun_finish(w.r[1], LONG_MS, why));
	assert_non_null(strstr(why, "manager is gone"));
	w.fd[1] = dup(w.fd[4]); /* to be closed once more */
	end_all();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_pass_in_order_whatever_their_size),
		cmocka_unit_test(a_spare_goes_on_with_the_frames_of_who_died),
		cmocka_unit_test(what_cannot_be_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
