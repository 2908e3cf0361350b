/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames and the messages in them. */
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "engine.h"
#include "rep.h"
#include "spx.h"

#include "spx/record.h"

enum { TURN_MS = 20 };

/* What came with the frame: its messages, in order; and what goes to the next stage. */
static struct {
	struct spx_record *in;
	bool *taken;
	size_t n, first; /* those before are taken */
	size_t in_room;
	uint8_t *out;
	size_t out_len, out_room;
	bool sent;
} msgs;

static int
lack_frame_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for the messages of a frame");
}

static int
read_frame_messages(void)
{
	const struct spx_frame *f = &lmpi_pipeline.frame;
	struct spx_record r;
	size_t at = 0;

	msgs.n = msgs.first = msgs.out_len = 0;
	msgs.sent = false;
	if (f->len && !spx_records_check(f->bytes, f->len))
		return lmpi_error(MPI_ERR_OTHER,
				  "frame %lld is not made of messages: is the stage before it a "
				  "program with mpisp.h, of the same release?",
				  (long long)lmpi_pipeline.name);
	while (spx_record_next(f->bytes, f->len, &at, &r)) {
		if (msgs.n == msgs.in_room) {
			size_t room = msgs.in_room ? 2 * msgs.in_room : 16;
			struct spx_record *in = realloc(msgs.in, room * sizeof(*in));
			bool *taken;
			if (in == NULL)
				return lack_frame_memory();
			msgs.in = in;
			taken = realloc(msgs.taken, room * sizeof(*taken));
			if (taken == NULL)
				return lack_frame_memory();
			msgs.taken = taken;
			msgs.in_room = room;
		}
		msgs.taken[msgs.n] = false;
		msgs.in[msgs.n++] = r;
	}
	return MPI_SUCCESS;
}

/* ---- beginning, ending ---- */

static int64_t
name_frame(const struct spx_frame *f)
{
	return (int64_t)(f->number & ((UINT64_C(1) << 44) - 1)) |
	       (int64_t)(f->origin & 0xfff) << 44 |
	       (int64_t)(SPX_ROLE_CLUSTER(f->origin) & 0x3f) << 56;
}

static int
no_frames_here(void)
{
	const struct lmpi_pipeline *p = &lmpi_pipeline;

	if (p->in_frame)
		return lmpi_error(
			MPI_ERR_OTHER,
			"frame %lld has not ended: MPISP_Frame_end it, then begin another",
			(long long)p->name);
	if (p->self.kind == SPX_IO)
		return lmpi_error(MPI_ERR_OTHER,
				  "this is an I/O process: it takes and gives frames by itself; "
				  "call MPISP_Run and wait");
	return MPI_SUCCESS;
}

int
lmpi_frame_begin(int64_t *frame, int *again)
{
	struct lmpi_pipeline *p = &lmpi_pipeline;
	enum spxrun_got got = SPXRUN_NONE;
	int rc = no_frames_here();

	while (rc == MPI_SUCCESS && got == SPXRUN_NONE) {
		unsigned depth = lmpi_lock_drop();
		got = spxrun_begin(p->run, &p->frame, TURN_MS);
		lmpi_lock_retake(depth);
		lmpi_pipeline_events();
		lmpi_poke(); /* others of this world may wait for us */
	}
	if (rc)
		return rc;
	*again = 0;
	*frame = MPISP_FRAME_END;
	if (got == SPXRUN_OVER) {
		const char *why = spxrun_over(p->run);
		return why && why[0] ? lmpi_error(MPI_ERR_OTHER, "the pipeline has ended: %s", why)
				     : MPI_SUCCESS;
	}
	(void)spxrun_self(p->run, &p->self, 0); /* chains may have changed */
	p->name = name_frame(&p->frame);
	p->in_frame = true;
	rc = read_frame_messages();
	if (rc) {
		lmpi_frame_abandon();
		return rc;
	}
	*frame = p->name;
	*again = p->frame.again;
	if (p->frame.lost && spxrun_in_flight(p->run) == SPX_ULFM)
		return lmpi_error(
			LMPI_ERR_PROC_FAILED,
			"frame %lld has begun: who had it before died in it, and "
			"in_flight is ulfm: do it as any, or end it at once to give it up",
			(long long)p->name);
	return MPI_SUCCESS;
}

int
lmpi_frame_end(int64_t frame)
{
	struct lmpi_pipeline *p = &lmpi_pipeline;
	char why[SPX_TEXT_MAX];

	if (!p->in_frame)
		return lmpi_error(MPI_ERR_OTHER, "no frame has begun here");
	if (frame != p->name)
		return lmpi_error(MPI_ERR_ARG, "frame %lld has not begun here: it is %lld",
				  (long long)frame, (long long)p->name);
	/* Without a message the frame goes on empty, and no program sees it. */
	bool any = msgs.sent || p->self.makes;
	if (!spxrun_end(p->run, &p->frame, any ? (msgs.out ? msgs.out : (uint8_t *)"") : NULL,
			msgs.out_len, why))
		return lmpi_error(MPI_ERR_OTHER, "%s", why);
	p->in_frame = false;
	lmpi_pipeline_events();
	return MPI_SUCCESS;
}

void
lmpi_frame_abandon(void)
{
	if (lmpi_pipeline.in_frame)
		spxrun_abandon(lmpi_pipeline.run, &lmpi_pipeline.frame);
	lmpi_pipeline.in_frame = false;
}

/* ---- messages ---- */

static int
no_frame(const char *rank)
{
	int rc = lmpi_pipeline_get();

	if (rc)
		return rc;
	return lmpi_error(MPI_ERR_RANK,
			  "%s is for messages of a frame, and none has begun here: call "
			  "MPISP_Frame_begin first, or have MPISP_Run call you",
			  rank);
}

int
lmpi_spx_send(const struct lmpi_type *type, const void *buf, int64_t count, int tag)
{
	const struct lmpi_pipeline *p = &lmpi_pipeline;
	int64_t len = count * type->size;

	if (!p->in_frame)
		return no_frame("MPISP_CLUSTER_OUT");
	if (p->self.ends)
		return lmpi_error(MPI_ERR_RANK,
				  "MPISP_CLUSTER_OUT: no chain leads on from cluster %s",
				  p->self.cluster);
	size_t more = spx_record_bytes((size_t)len), most = spxrun_frame_max(p->run);
	if (more > most || msgs.out_len + more > most)
		return lmpi_error(MPI_ERR_COUNT,
				  "frame %lld has %zu bytes with this message of %lld, but frames "
				  "of at most %zu are agreed on: give the manager a larger "
				  "frame_max",
				  (long long)p->name, msgs.out_len + more, (long long)len, most);
	if (msgs.out_len + more > msgs.out_room) {
		size_t room = 2 * (msgs.out_len + more);
		uint8_t *out = realloc(msgs.out, room);
		if (out == NULL)
			return lack_frame_memory();
		msgs.out = out;
		msgs.out_room = room;
	}
	void *to = spx_record_write(msgs.out + msgs.out_len, (uint32_t)tag, (size_t)len);
	int rc = lmpi_rep_pack(type, buf, count, LMPI_REP_NATIVE, to);
	if (rc)
		return rc;
	msgs.out_len += more;
	msgs.sent = true;
	return MPI_SUCCESS;
}

/* The first message with that tag that was not taken; SIZE_MAX: none. */
static size_t
find_message(int tag)
{
	for (size_t i = msgs.first; i < msgs.n; i++)
		if (!msgs.taken[i] && (tag == MPI_ANY_TAG || msgs.in[i].tag == (uint32_t)tag))
			return i;
	return SIZE_MAX;
}

static int
no_message(int tag)
{
	const struct lmpi_pipeline *p = &lmpi_pipeline;
	char of[32] = "any tag";

	if (p->self.makes)
		return lmpi_error(MPI_ERR_RANK, "MPISP_CLUSTER_IN: no chain leads to cluster %s",
				  p->self.cluster);
	if (tag != MPI_ANY_TAG)
		snprintf(of, sizeof(of), "tag %d", tag);
	return lmpi_error(MPI_ERR_RANK,
			  "MPISP_CLUSTER_IN: frame %lld has no more message of %s; the stage "
			  "before sent %zu in it",
			  (long long)p->name, of, msgs.n);
}

int
lmpi_spx_recv(const struct lmpi_type *type, void *buf, int64_t count, int tag,
	      struct lmpi_spx_got *got)
{
	if (!lmpi_pipeline.in_frame)
		return no_frame("MPISP_CLUSTER_IN");
	size_t i = find_message(tag);
	if (i == SIZE_MAX)
		return no_message(tag);
	const struct spx_record *r = &msgs.in[i];
	int64_t len = (int64_t)r->len, room = count * type->size;
	msgs.taken[i] = true;
	while (msgs.first < msgs.n && msgs.taken[msgs.first])
		msgs.first++;
	*got = (struct lmpi_spx_got){(int)r->tag, len};
	if (room > 0)
		lmpi_type_unpack(type, buf, count, r->bytes, 0, len < room ? len : room);
	if (len > room)
		return lmpi_error(MPI_ERR_TRUNCATE,
				  "a message of %lld bytes of frame %lld does not fit a receive "
				  "buffer of %lld bytes",
				  (long long)len, (long long)lmpi_pipeline.name, (long long)room);
	return MPI_SUCCESS;
}

int
lmpi_spx_probe(int tag, bool must, bool *flag, struct lmpi_spx_got *got)
{
	if (!lmpi_pipeline.in_frame)
		return no_frame("MPISP_CLUSTER_IN");
	size_t i = find_message(tag);
	*flag = i != SIZE_MAX;
	if (*flag)
		*got = (struct lmpi_spx_got){(int)msgs.in[i].tag, (int64_t)msgs.in[i].len};
	return !*flag && must ? no_message(tag) : MPI_SUCCESS;
}
