/* SPDX-License-Identifier: BSD-2-Clause */
/* Views: what the processes act by. */
#include "mpisprun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A cluster that was complete once does not wait again. */
static void
mark_started(struct run *r, const struct spx_view *v)
{
	char why[SPX_TEXT_MAX];

	for (uint32_t k = 0; k < v->ncluster; k++)
		if (!v->cluster[k].started &&
		    (spx_view_into(v, (uint16_t)k) | spx_view_out_of(v, (uint16_t)k)) &&
		    spx_view_complete(v, (uint16_t)k, why)) {
			r->view.cluster[k].started = true;
			tell_line(r, "cluster %s is complete", v->cluster[k].name);
		}
}

static void
fill_proc(const struct run *r, const struct member *m, struct spx_proc *p)
{
	*p = (struct spx_proc){.id = m->id,
			       .cluster = m->cluster,
			       .rank = m->rank,
			       .kind = m->role == MEMBER_IO ? SPX_IO : SPX_COMPUTE,
			       .state = m->alive ? SPX_ALIVE : SPX_DEAD,
			       .ready = m->ready,
			       .takeovers = m->role == MEMBER_RANK && m->alive
						    ? r->cluster[m->cluster].takeovers[m->rank]
						    : 0,
			       .chains = m->serves};
}

static void
send_view(struct run *r, const void *frame, size_t len)
{
	for (uint32_t i = 0; i < r->nmember; i++) {
		struct member *m = &r->member[i];
		if (!m->alive || m->feed < 0)
			continue;
		ssize_t n = send(m->feed, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n != (ssize_t)len && errno != EPIPE && errno != ECONNRESET) {
			tell_line(r, "process %u does not read what it is told, and is ended",
				  m->id);
			procs_end(m);
		}
	}
}

void
views_show(struct run *r)
{
	struct spx_view *v = &r->view;
	const char **at;
	char why[SPX_TEXT_MAX];
	uint8_t *frame;
	size_t room, len = 0;

	if (!r->changed)
		return;
	r->changed = false;
	v->number++;
	v->nproc = 0;
	at = calloc(r->nmember + 1, sizeof *at);
	for (uint32_t i = 0; at && i < r->nmember; i++) {
		const struct member *m = &r->member[i];
		if (m->id == 0 || m->role == MEMBER_SPARE)
			continue;
		at[v->nproc] = m->address;
		fill_proc(r, m, &v->proc[v->nproc++]);
	}
	if (at && !spx_view_check(v, why)) {
		tell_line(r, "this cannot work: %s", why);
		r->over = r->failed = true;
	}
	mark_started(r, v);
	room = spx_feed_view_bytes(v);
	frame = malloc(room);
	if (frame && at)
		len = spx_feed_write_view(frame, room, v, at);
	if (len)
		send_view(r, frame, len);
	free(frame);
	free(at);
}
