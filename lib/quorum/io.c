/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of callbacks that libraft calls.  What it wants to hear of later is kept and told when
 * it is not on the stack any more; writes are durable when the callback returns, so between a
 * write and its end no message comes. */
#include "internal.h"

#include "canary.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

#ifdef SUCI_CANARY
enum quorum_bug quorum_canary;
#endif

static struct quorum *
quorum_of(const struct raft_io *io)
{
	return io->impl;
}

/* --- what is told later ---------------------------------------------------- */

void
quorum_defer(struct quorum *q, const struct quorum_done *d)
{
	if (q->ndone == q->done_room) {
		size_t room = 2 * q->done_room + 16;
		struct quorum_done *more = raft_realloc(q->done, room * sizeof *more);
		BASE_ASSERT(more); /* libraft's request would be lost */
		q->done = more;
		q->done_room = room;
	}
	q->done[q->ndone++] = *d;
}

/* libraft owns what it is given here. */
static struct raft_snapshot *
copy_snapshot(struct quorum *q)
{
	const struct quorum_image *m = &q->image;
	struct raft_snapshot *s = raft_calloc(1, sizeof *s);

	if (!s)
		return NULL;
	*s = (struct raft_snapshot){.index = m->snap_index,
				    .term = m->snap_term,
				    .configuration_index = m->snap_conf_index,
				    .n_bufs = 1};
	s->bufs = raft_malloc(sizeof *s->bufs);
	void *base = raft_malloc(m->snap_len ? m->snap_len : 1);
	if (!s->bufs || !base || quorum_configure(q, &s->configuration)) {
		raft_free(base);
		raft_free(s->bufs);
		raft_free(s);
		return NULL;
	}
	if (m->snap_len)
		memcpy(base, m->snap, m->snap_len);
	s->bufs[0] = (struct raft_buffer){base, m->snap_len};
	return s;
}

/* libraft 0.22 puts requests that have ended into a list, and leaves calling back to its I/O.  Its
 * function for that is not exported; the list and what is in it are in raft.h. */
static bool
end_request(struct quorum *q)
{
#ifdef RAFT_VERSION_NUMBER
	void **head = q->raft.legacy.requests, **at = head[0]; /* next, previous */

	if (at == head)
		return false;
	void **next = at[0], **previous = at[1];
	previous[0] = next;
	next[1] = previous;
	struct raft_barrier *b = (void *)((char *)at - offsetof(struct raft_barrier, queue));
	struct raft_apply *a = (void *)((char *)at - offsetof(struct raft_apply, queue));
	if (b->type == RAFT_BARRIER) {
		b->cb(b, b->status);
	} else {
		BASE_ASSERT(b->type == RAFT_COMMAND); /* nothing else is asked for here */
		a->cb(a, a->status, a->result);
	}
	return true;
#else
	(void)q;
	return false;
#endif
}

/* Calls back what is in the array when it begins, and what comes to it then. */
static void
end_operations(struct quorum *q)
{
	for (size_t i = 0; i < q->ndone; i++) {
		struct quorum_done d = q->done[i]; /* the array may move */
		if (d.kind == QUORUM_DONE_SEND) {
			d.send(d.req, d.status);
		} else if (d.kind == QUORUM_DONE_APPEND) {
			d.append(d.req, d.status);
		} else if (d.kind == QUORUM_DONE_PUT) {
			d.put(d.req, d.status);
		} else {
			struct raft_snapshot *s = d.status ? NULL : copy_snapshot(q);
			d.get(d.req, s, s ? 0 : d.status ? d.status : RAFT_NOMEM);
		}
	}
	q->ndone = 0;
}

void
quorum_flush(struct quorum *q)
{
	do
		end_operations(q);
	while (end_request(q));
}

/* --- the journal ----------------------------------------------------------- */

/* A write that failed may be on the disk in part, and libraft's log is ahead of the journal then:
 * this object does nothing any more, who owns it makes it anew from the journal. */
static int
check_written(struct quorum *q, bool written)
{
	if (written)
		return 0;
	q->count.write_failures++;
	q->down = true;
	return RAFT_IOERR;
}

static int
replace_all(struct quorum *q)
{
	q->out.len = 0;
	if (q->down || !quorum_record_all(&q->out, &q->image))
		return check_written(q, false);
	q->count.replaces++;
	return check_written(q, q->ops.replace(q->user, q->out.p, q->out.len));
}

/* What is in q->out, appended; the image has it already. */
static int
write_records(struct quorum *q, bool made)
{
	if (q->down || !made)
		return check_written(q, false);
	if (q->unknown_end) {
		int rv = replace_all(q);
		q->unknown_end = rv != 0;
		return rv;
	}
	q->count.writes++;
	return check_written(q, q->ops.write(q->user, q->out.p, q->out.len));
}

/* The end of a callback that writes.  Never a failure: libraft 0.22 frees the entries of the
 * message that led here twice then, and ends the process.  While the disk is down nothing is sent,
 * no write succeeds and nobody leads here, so no one learns what libraft goes on with. */
static int
end_write(const struct quorum *q, int rv)
{
	BASE_ASSERT(rv == 0 || q->down);
	return 0;
}

static int
io_set_term(struct raft_io *io, raft_term term)
{
	struct quorum *q = quorum_of(io);

	q->image.term = term;
	q->image.vote = 0;
	q->out.len = 0;
	return end_write(q, write_records(q, quorum_record_number(&q->out, false, term)));
}

static int
io_set_vote(struct raft_io *io, raft_id id)
{
	struct quorum *q = quorum_of(io);

	q->image.vote = id;
	q->out.len = 0;
	return end_write(q, write_records(q, quorum_record_number(&q->out, true, id)));
}

static int
append_entries(struct quorum *q, const struct raft_entry *entry, unsigned n)
{
	uint64_t from = quorum_image_end(&q->image);

	for (unsigned i = 0; i < n; i++)
		if (!quorum_image_append(&q->image, entry[i].term, entry[i].type, entry[i].buf.base,
					 entry[i].buf.len))
			return check_written(q, false);
	q->out.len = 0;
	if (QUORUM_BUG(AMNESIA) && entry[0].type == RAFT_COMMAND)
		return 0;
	return write_records(q, quorum_record_entries(&q->out, &q->image, from));
}

static int
io_append(struct raft_io *io, struct raft_io_append *req, const struct raft_entry entries[],
	  unsigned n, raft_io_append_cb cb)
{
	struct quorum *q = quorum_of(io);

	quorum_defer(q, &(struct quorum_done){.kind = QUORUM_DONE_APPEND,
					      .req = req,
					      .append = cb,
					      .status = append_entries(q, entries, n)});
	return 0;
}

static int
io_truncate(struct raft_io *io, raft_index index)
{
	struct quorum *q = quorum_of(io);

	/* libraft 0.22 says so before each append. */
	if (index >= quorum_image_end(&q->image))
		return 0;
	quorum_image_truncate(&q->image, index);
	q->out.len = 0;
	return end_write(q, write_records(q, quorum_record_truncate(&q->out, index)));
}

static int
put_snapshot(struct quorum *q, unsigned trailing, const struct raft_snapshot *s)
{
	size_t len = 0, at = 0;

	for (unsigned i = 0; i < s->n_bufs; i++)
		len += s->bufs[i].len;
	uint8_t *all = raft_malloc(len ? len : 1);
	if (!all)
		return RAFT_NOMEM;
	for (unsigned i = 0; i < s->n_bufs; i++) {
		if (s->bufs[i].len)
			memcpy(all + at, s->bufs[i].base, s->bufs[i].len);
		at += s->bufs[i].len;
	}
	bool kept = quorum_image_snapshot(&q->image, s->index, s->term, s->configuration_index, all,
					  len);
	raft_free(all);
	if (!kept)
		return RAFT_NOMEM;
	if (trailing == 0) {
		quorum_image_truncate(&q->image, q->image.first);
		q->image.first = s->index + 1;
	} else if (s->index > trailing) {
		quorum_image_drop(&q->image, s->index - trailing + 1);
	}
	return replace_all(q);
}

static int
io_snapshot_put(struct raft_io *io, unsigned trailing, struct raft_io_snapshot_put *req,
		const struct raft_snapshot *snapshot, raft_io_snapshot_put_cb cb)
{
	struct quorum *q = quorum_of(io);

	quorum_defer(q, &(struct quorum_done){.kind = QUORUM_DONE_PUT,
					      .req = req,
					      .put = cb,
					      .status = put_snapshot(q, trailing, snapshot)});
	return 0;
}

static int
io_snapshot_get(struct raft_io *io, struct raft_io_snapshot_get *req, raft_io_snapshot_get_cb cb)
{
	struct quorum *q = quorum_of(io);

	quorum_defer(q, &(struct quorum_done){.kind = QUORUM_DONE_GET,
					      .req = req,
					      .get = cb,
					      .status = q->image.snap ? 0 : RAFT_NOTFOUND});
	return 0;
}

/* Entries as libraft frees them: the bytes of all in one piece. */
static bool
load_entries(const struct quorum_image *m, struct raft_entry **entries)
{
	size_t all = 0, at = 0;

	*entries = NULL;
	if (m->n == 0)
		return true;
	for (size_t i = 0; i < m->n; i++)
		all += m->entry[i].len;
	struct raft_entry *e = raft_calloc(m->n, sizeof *e);
	uint8_t *batch = raft_malloc(all ? all : 1);
	if (!e || !batch) {
		raft_free(e);
		raft_free(batch);
		return false;
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct quorum_entry *k = &m->entry[i];
		e[i] = (struct raft_entry){.term = k->term,
					   .type = k->type,
					   .buf = {batch + at, k->len},
					   .batch = batch};
		if (k->len)
			memcpy(batch + at, k->bytes, k->len);
		at += k->len;
	}
	*entries = e;
	return true;
}

static int
io_load(struct raft_io *io, raft_term *term, raft_id *voted_for, struct raft_snapshot **snapshot,
	raft_index *start_index, struct raft_entry *entries[], size_t *n_entries)
{
	struct quorum *q = quorum_of(io);

	*term = q->image.term;
	*voted_for = q->image.vote;
	*start_index = q->image.first;
	*n_entries = q->image.n;
	*snapshot = q->image.snap ? copy_snapshot(q) : NULL;
	if (q->image.snap && !*snapshot)
		return RAFT_NOMEM;
	return load_entries(&q->image, entries) ? 0 : RAFT_NOMEM;
}

static int
io_bootstrap(struct raft_io *io, const struct raft_configuration *conf)
{
	struct quorum *q = quorum_of(io);
	struct raft_buffer buf;

	int rv = raft_configuration_encode(conf, &buf);
	if (rv)
		return rv;
	bool kept = quorum_image_append(&q->image, 1, RAFT_CHANGE, buf.base, buf.len);
	raft_free(buf.base);
	q->image.term = 1;
	return kept ? replace_all(q) : RAFT_NOMEM;
}

static int
io_recover(struct raft_io *io, const struct raft_configuration *conf)
{
	(void)io, (void)conf;
	return RAFT_INVALID; /* voters do not change */
}

/* --- network, time, start, end --------------------------------------------- */

/* libraft 0.22 asks for the snapshot and sends it later.  If there is a later one by then it takes
 * that one's index, and leaves the term of the one before: whoever gets it has a log of which
 * libraft says that it cannot be.  What was asked for last is what the image has. */
static struct raft_message
with_term_of_snapshot(const struct quorum *q, const struct raft_message *m)
{
	struct raft_message sent = *m;

	if (m->type == RAFT_IO_INSTALL_SNAPSHOT &&
	    m->install_snapshot.last_index == q->image.snap_index)
		sent.install_snapshot.last_term = q->image.snap_term;
	return sent;
}

static int
io_send(struct raft_io *io, struct raft_io_send *req, const struct raft_message *m,
	raft_io_send_cb cb)
{
	struct quorum *q = quorum_of(io);
	uint32_t to = (uint32_t)(m->server_id - 1);

	BASE_ASSERT(to < q->conf.voters);
	struct raft_message sent = with_term_of_snapshot(q, m);
	struct quorum_stamps s = {q->now_ns, q->heard[to], quorum_idle_ns(q)};
	q->out.len = 0;
	size_t len = quorum_frame_write(&q->out, &sent, &s);
	if (len && !q->down) {
		q->count.sent++;
		q->ops.send(q->user, to, q->out.p, len);
	}
	quorum_defer(q, &(struct quorum_done){.kind = QUORUM_DONE_SEND, .req = req, .send = cb});
	return 0;
}

static int
io_init(struct raft_io *io, raft_id id, const char *address)
{
	(void)io, (void)id, (void)address;
	return 0;
}

static int
io_start(struct raft_io *io, unsigned msecs, raft_io_tick_cb tick, raft_io_recv_cb recv)
{
	struct quorum *q = quorum_of(io);

	(void)msecs;
	q->tick = tick;
	q->recv = recv;
	return 0;
}

static void
io_close(struct raft_io *io, raft_io_close_cb cb)
{
	quorum_flush(quorum_of(io));
	cb(io);
}

static raft_time
io_time(struct raft_io *io)
{
	return quorum_of(io)->now_ns / BASE_MS_NS;
}

/* How long this voter waits for a leader.  Each has a part of the time of its own: two that wait
 * alike ask for votes together, and over a long way none is elected.  Who comes behind the last
 * leader is the first; for the leader's neighbours, of its site perhaps, may have died with it. */
static int
io_random(struct raft_io *io, int min, int max)
{
	struct quorum *q = quorum_of(io);
	uint32_t n = q->conf.voters, first = q->followed == QUORUM_NOBODY ? 0 : q->followed + 1;
	uint64_t all = (uint64_t)(max - min), part = all / n;

	if (part < 1 || QUORUM_BUG(TURNS))
		return min + (int)base_prng_below(&q->prng, all);
	uint32_t turn = (q->conf.me + n - first % n) % n;
	return min + (int)(turn * part + base_prng_below(&q->prng, part / 4 + 1));
}

void
quorum_io_init(struct quorum *q)
{
	q->io = (struct raft_io){.version = 1,
				 .impl = q,
				 .init = io_init,
				 .close = io_close,
				 .load = io_load,
				 .start = io_start,
				 .bootstrap = io_bootstrap,
				 .recover = io_recover,
				 .set_term = io_set_term,
				 .set_vote = io_set_vote,
				 .send = io_send,
				 .append = io_append,
				 .truncate = io_truncate,
				 .snapshot_put = io_snapshot_put,
				 .snapshot_get = io_snapshot_get,
				 .time = io_time,
				 .random = io_random};
}
