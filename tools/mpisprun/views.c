/* SPDX-License-Identifier: BSD-2-Clause */
/* Views: what the processes act by. */
#include "mpisprun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A cluster that was complete once does not wait again. */
static void
mark_started(struct run *r)
{
	uint64_t given_up, fresh = spx_agreed_complete(&r->view);

	if (sp_node_asks(r->node, &given_up)) /* what is asked for makes another view */
		return;
	for (uint32_t k = 0; k < r->view.ncluster; k++)
		if (fresh >> k & 1)
			tell_line(r, "cluster %s is complete", r->view.cluster[k].name);
	if (fresh)
		spx_agreed_start(r->node, fresh, run_now_ns());
}

static void
send_view(struct run *r, const void *frame, size_t len)
{
	char name[SPX_TEXT_MAX];

	for (uint32_t i = 0; i < r->nmember; i++) {
		struct member *m = &r->member[i];
		if (!m->alive || m->feed < 0 || m->slot == SP_NONE)
			continue;
		ssize_t n = send(m->feed, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n != (ssize_t)len && errno != EPIPE && errno != ECONNRESET) {
			procs_name(r, m, name);
			tell_line(r, "%s does not read what it is told, and is ended", name);
			procs_end(m);
		}
	}
}

/* By process: where each can be reached. */
static void
collect_addresses(const struct run *r, const char **at)
{
	for (uint32_t i = 0; i < r->view.nproc; i++)
		at[i] = "";
	for (uint32_t i = 0; i < r->nmember; i++) {
		const struct member *m = &r->member[i];
		const struct spx_proc *p =
			m->slot == SP_NONE
				? NULL
				: spx_view_proc(&r->view, spx_id_of_slot(&r->agreed, m->slot));
		if (p)
			at[p - r->view.proc] = m->address;
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
	spx_agreed_view(&r->agreed, sp_node_view(r->node), 0, v);
	if (!spx_view_check(v, why)) {
		tell_line(r, "this cannot work: %s", why);
		agree_stop(r, SP_WHY_OPERATOR);
		return;
	}
	mark_started(r);
	at = calloc(v->nproc + 1, sizeof *at);
	room = spx_feed_view_bytes(v);
	frame = malloc(room);
	if (frame && at) {
		collect_addresses(r, at);
		len = spx_feed_write_view(frame, room, v, at);
	}
	if (len)
		send_view(r, frame, len);
	free(frame);
	free(at);
}
