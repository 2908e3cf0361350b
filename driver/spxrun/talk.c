/* SPDX-License-Identifier: BSD-2-Clause */
/* The stream to the manager. */
#include "spxrun_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
keep_text(char to[SPX_TEXT_MAX], struct spx_feed_text t)
{
	size_t n = t.len < SPX_TEXT_MAX - 1 ? t.len : SPX_TEXT_MAX - 1;

	memcpy(to, t.at, n);
	to[n] = '\0';
}

/* Small frames are taken whole or not at all by a stream socket; a manager that does not read for
 * so long misses what is told. */
bool
spxrun_tell(struct spxrun *r, const struct spx_feed *f)
{
	uint8_t b[SPX_FEED_HEAD + 64 + SPX_FEED_TEXT];
	size_t n = spx_feed_write(b, sizeof b, f);
	ssize_t sent;

	do
		sent = send(r->feed, b, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)n;
}

static void
take_view(struct spxrun *r, const void *frame, size_t len)
{
	char why[SPX_TEXT_MAX];

	if (!spx_feed_read_view(&r->view, r->where, r->conf.procs_max, frame, len, why)) {
		spxrun_set_over(r, why);
		return;
	}
	uint64_t has = spx_view_of(r->x)->number;
	if (r->view.number < has)
		return;
	spxrun_net_view(r);
	if (r->view.number == has)
		return; /* with addresses that were not known */
	if (!spx_install(r->x, &r->view, spxrun_now_ns(), why)) {
		spxrun_set_over(r, why);
		return;
	}
	const struct spx_proc *me = spx_view_proc(&r->view, r->conf.id);
	if (me && me->state == SPX_DEAD)
		spxrun_set_over(r, "others take this process for dead");
	pthread_cond_broadcast(&r->news);
}

static void
take_feed_frame(struct spxrun *r, const void *frame, size_t len)
{
	char why[SPX_TEXT_MAX];
	struct spx_feed f;

	if (!spx_feed_read(&f, frame, len, why)) {
		spxrun_set_over(r, why);
	} else if (f.type == SPX_FEED_VIEW) {
		take_view(r, frame, len);
	} else if (f.type == SPX_FEED_ANSWER) {
		r->answered = f.number;
		r->answer_ok = f.ok;
		keep_text(r->answer, f.text);
		pthread_cond_broadcast(&r->news);
	} else if (f.type == SPX_FEED_OVER) {
		spxrun_set_over(r, "");
	}
}

/* What is there, or what comes first: 1; 0: nothing; -1: the other end is gone. */
static int
receive_feed(struct spxrun *r, bool wait)
{
	if (r->in_len == r->in_room) {
		size_t room = r->in_room ? 2 * r->in_room : 4096;
		uint8_t *more = realloc(r->in, room);
		if (!more)
			return -1;
		r->in = more;
		r->in_room = room;
	}
	ssize_t n =
		recv(r->feed, r->in + r->in_len, r->in_room - r->in_len, wait ? 0 : MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	r->in_len += (size_t)n;
	return 1;
}

/* Bytes of the frame at the beginning; 0: not all of it is there; SIZE_MAX: it is none. */
static size_t
whole_frame(const struct spxrun *r)
{
	size_t len = r->in_len < 4 ? 0 : spx_feed_length(r->in);

	if (r->in_len >= 4 && !len)
		return SIZE_MAX;
	return len && r->in_len >= len ? len : 0;
}

static void
drop_feed_frame(struct spxrun *r, size_t len)
{
	r->in_len -= len;
	memmove(r->in, r->in + len, r->in_len);
}

void
spxrun_talk_turn(struct spxrun *r)
{
	size_t len;

	for (int got = 1; got == 1 && !r->over;) {
		got = receive_feed(r, false);
		if (got < 0)
			spxrun_set_over(r, "the manager is gone");
		while ((len = whole_frame(r)) && !r->over) {
			if (len == SIZE_MAX) {
				spxrun_set_over(r, "a frame of the manager has no length");
				return;
			}
			take_feed_frame(r, r->in, len);
			drop_feed_frame(r, len);
		}
	}
}

static bool
make_view_tables(struct spxrun *r)
{
	r->x_memory = malloc(spx_bytes(&r->conf));
	r->view.proc = calloc(r->conf.procs_max, sizeof *r->view.proc);
	r->view.cluster = calloc(SPX_CLUSTERS_MAX, sizeof *r->view.cluster);
	r->view.chain = calloc(SPX_CHAINS_MAX, sizeof *r->view.chain);
	r->where = calloc(r->conf.procs_max, sizeof *r->where);
	return r->x_memory && r->view.proc && r->view.cluster && r->view.chain && r->where;
}

bool
spxrun_talk_begin(struct spxrun *r, char *why)
{
	struct spx_feed f;
	size_t len = 0;

	while (!len) {
		if (receive_feed(r, true) < 0)
			return spx_say(why, "the manager is gone before it said who we are");
		len = whole_frame(r);
	}
	if (len == SIZE_MAX)
		return spx_say(why, "what comes from the manager is no frame");
	if (!spx_feed_read(&f, r->in, len, why))
		return false;
	if (f.type != SPX_FEED_SETUP)
		return spx_say(why, "the manager does not begin with who we are");
	r->conf = f.conf;
	if (!make_view_tables(r))
		return spx_say(why, "no memory for %u processes and windows of %u",
			       r->conf.procs_max, r->conf.window_max);
	r->x = spx_new(r->x_memory, &r->conf, &r->ops, r, &r->memory, spxrun_now_ns());
	bool ok = spxrun_net_open(r, &f, why);
	drop_feed_frame(r, len);
	return ok;
}
