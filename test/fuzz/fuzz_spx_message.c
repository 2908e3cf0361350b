/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of lib/spx: bytes from any process of a view, to each kind of process, while its
 * program takes, finishes and makes frames, and views change.
 * Input: the kind; records of a choice, a sender, a length and so many bytes.  Bytes behind the
 * first two of a message are put into one that is well formed, so that parsing is passed. */
#include "spx/spx.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCS = 5, WINDOW = 8, FRAME = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct rig {
	struct spx *x;
	struct spx_proc proc[PROCS];
	struct spx_cluster cluster[3];
	struct spx_chain chain[2];
	struct spx_view view;
	uint32_t me;
	uint64_t now_ns, pieces;
};

static void *
take_fuzz_memory(void *user, size_t bytes)
{
	struct rig *r = user;
	r->pieces++;
	return bytes % 7 == 6 ? (r->pieces--, NULL) : malloc(bytes);
}

static void
give_fuzz_memory(void *user, void *p)
{
	struct rig *r = user;
	r->pieces--;
	free(p);
}

static void
check_sent(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
	   size_t len)
{
	const struct rig *r = user;
	(void)head, (void)frame;
	BASE_ASSERT(to >= 1 && to <= PROCS && to != r->me && len <= FRAME &&
		    head_len <= SPX_MESSAGE_MAX);
}

static void
ignore_news(void *user)
{
	(void)user;
}

static void
ignore_done(void *user, uint32_t origin, uint64_t number)
{
	(void)user, (void)origin, (void)number;
}

static void
check_event_text(void *user, const struct spx_event *e)
{
	(void)user;
	BASE_ASSERT(e->text[0]);
}

static void
make_fuzz_view(struct rig *r)
{
	static const char names[3][2] = {"a", "b", "c"};
	/* a -> 2 -> b -> 4 -> c */
	for (uint32_t i = 0; i < PROCS; i++) {
		bool io = i == 1 || i == 3;
		r->proc[i] = (struct spx_proc){.id = i + 1,
					       .cluster = (uint16_t)(i / 2),
					       .kind = io ? SPX_IO : SPX_COMPUTE,
					       .ready = true,
					       .takeovers = i == 0,
					       .chains = i == 1	  ? 1
							 : i == 3 ? 2
								  : 0};
	}
	for (uint32_t k = 0; k < 3; k++) {
		r->cluster[k] = (struct spx_cluster){.compute = 1, .started = true};
		r->cluster[k].name[0] = names[k][0];
	}
	for (uint32_t c = 0; c < 2; c++)
		r->chain[c] = (struct spx_chain){.from = (uint16_t)c,
						 .to = (uint16_t)(c + 1),
						 .state = SPX_CHAIN_ACTIVE,
						 .window = WINDOW,
						 .ordered = c == 1};
	r->view = (struct spx_view){.number = 1,
				    .nproc = PROCS,
				    .ncluster = 3,
				    .nchain = 2,
				    .proc = r->proc,
				    .cluster = r->cluster,
				    .chain = r->chain};
}

static void
take_input(struct rig *r, uint32_t from, const uint8_t *data, size_t len)
{
	uint8_t m[SPX_HEAD + 256] = {0xf6};

	if (len > sizeof m - 8)
		return;
	if (len < 12) {
		(void)spx_on_message(r->x, from, data, len, r->now_ns);
		return;
	}
	/* type, bits, want, view, number, floor, origin, room, ready; then a frame */
	size_t more = len - 12;
	m[1] = (uint8_t)(1 + data[0] % 19);
	m[2] = data[1] % 8;
	m[7] = data[2];
	be64_store(m + 8, r->view.number - (data[3] == 255));
	m[23] = data[4];
	m[31] = data[5];
	be32_store(m + 32, data[6] < 250 ? SPX_ROLE(data[6] % 3, 0) : data[6]);
	m[39] = data[7];
	m[43] = data[8];
	if (m[1] == 15) /* STATE has bits for its window */
		more = more < 2 ? more : 2;
	else if (m[1] != 1 && m[1] != 6)
		more = 0;
	be32_store(m + 44, (uint32_t)more);
	if (more)
		memcpy(m + SPX_HEAD, data + 12, more);
	(void)spx_on_message(r->x, from, m, SPX_HEAD + more, r->now_ns);
}

static void
run_program(struct rig *r)
{
	struct spx_frame f;
	uint64_t number;
	bool again;

	if (spx_next(r->x, &number, &again))
		(void)spx_put(r->x, SPX_ROLE(0, 0), number, "frame", 5, r->now_ns);
	if (!spx_begin(r->x, &f, r->now_ns))
		return;
	if (f.number % 3 == 2) {
		BASE_ASSERT(spx_abandon(r->x, f.origin, f.number, r->now_ns));
		return;
	}
	(void)spx_put(r->x, f.origin, f.number, f.bytes, f.len, r->now_ns);
	BASE_ASSERT(spx_finish(r->x, f.origin, f.number, r->now_ns));
}

static void
change_view(struct rig *r, uint8_t what)
{
	char why[SPX_TEXT_MAX];

	if (what % 8 < PROCS && what % 8 + 1u != r->me)
		r->proc[what % 8].state = what & 64 ? SPX_ALIVE : SPX_DEAD;
	else
		r->chain[what % 2].state = what & 64 ? SPX_CHAIN_ACTIVE : SPX_CHAIN_DRAINING;
	if (what & 32)
		r->cluster[1].lost = !r->cluster[1].lost;
	r->chain[0].on_lost = (enum spx_on_lost)(what / 8 % 4);
	r->view.number++;
	BASE_ASSERT(spx_install(r->x, &r->view, r->now_ns, why));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct spx_ops ops = {check_sent,	ignore_news,	  ignore_news,
					   ignore_done, check_event_text, NULL};
	struct rig r = {.now_ns = 1};
	struct spx_memory memory = {take_fuzz_memory, give_fuzz_memory, &r};
	const char *what;
	char why[SPX_TEXT_MAX];

	if (size < 1)
		return 0;
	r.me = 1 + data[0] % PROCS;
	struct spx_conf c = {.id = r.me,
			     .procs_max = PROCS,
			     .origins_max = 3,
			     .window_max = WINDOW,
			     .room = 2,
			     .ahead = 2,
			     .frame_max = FRAME,
			     .retry_ns = 1000000,
			     .retry_max_ns = 8000000,
			     .poll_ns = 2000000,
			     .stall_ns = 20000000,
			     .start_ns = 20000000};
	void *mem = malloc(spx_bytes(&c));
	BASE_ASSERT(mem);
	r.x = spx_new(mem, &c, &ops, &r, &memory, r.now_ns);
	make_fuzz_view(&r);
	BASE_ASSERT(spx_install(r.x, &r.view, r.now_ns, why));
	for (data++, size--; size >= 3;) {
		size_t len = data[2] < size - 3 ? data[2] : size - 3;
		if (data[0] % 8 == 0)
			change_view(&r, data[1]);
		else if (data[0] % 8 == 1)
			run_program(&r);
		else if (data[0] % 8 == 2)
			spx_tick(r.x, r.now_ns += data[1] * 100000ull);
		else
			take_input(&r, 1 + data[1] % (PROCS + 1), data + 3, len);
		if (!spx_check(r.x, &what) && !strstr(what, "room")) {
			fprintf(stderr, "process %u: %s\n", r.me, what);
			abort();
		}
		data += 3 + len;
		size -= 3 + len;
	}
	spx_end(r.x);
	BASE_ASSERT(!r.pieces);
	free(mem);
	return 0;
}
