/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams between roots of one cluster, as the kernel's: what was said arrives, in order, also if
 * its speaker has hung up; who hangs up is heard behind what it said. */
#include "meet.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static uint32_t
end_of(const struct mt_pipe *p, const struct mt_node *who)
{
	return p->end[1] == who;
}

/* arg: pipe, end and life of it, then how far what it said has come; all ones: its end. */
#define FIN 0xfffffffu

static void
arrive_bytes(struct sim *s, void *who, uint64_t arg)
{
	struct mt *w = who;
	struct mt_pipe *p = &w->pipe[arg >> 32];
	uint32_t from = arg >> 31 & 1;
	uint64_t come = arg & FIN;
	(void)s;
	if (come == FIN)
		p->dir[from].fin = true;
	else
		p->dir[from].come = come;
	struct mt_node *to = p->end[!from];
	if (to->alive && !p->closed[!from])
		mt_drive(to);
}

static void
send_event(struct mt *w, uint32_t pipe, uint32_t from, uint64_t come)
{
	sim_at(w->s, w->s->now_ns + w->d->conf.lan_ns, arrive_bytes, w,
	       (uint64_t)pipe << 32 | (uint64_t)from << 31 | come);
}

uint32_t
mt_pipe_dial(struct mt_node *from, struct mt_node *to)
{
	struct mt *w = from->w;
	uint32_t i = 0;
	if (!to->alive || !to->open || from->g.cluster != to->g.cluster ||
	    to->nbacklog == MT_BACKLOG)
		return MT_NONE;
	while (i < MT_PIPES && w->pipe[i].used)
		i++;
	if (i == MT_PIPES)
		return MT_NONE;
	w->pipe[i] = (struct mt_pipe){.used = true, .end = {from, to}};
	to->backlog[to->nbacklog++] = i;
	send_event(w, i, 0, 0);
	return i;
}

int64_t
mt_pipe_say(struct mt *w, uint32_t pipe, const struct mt_node *who, const void *data, size_t len)
{
	struct mt_pipe *p = &w->pipe[pipe];
	uint32_t me = end_of(p, who);
	/* As libmpi looks. */
	if (p->dir[!me].fin && p->dir[!me].heard == p->dir[!me].come)
		return -1;
	p->dir[me].data = realloc(p->dir[me].data, p->dir[me].len + len);
	BASE_ASSERT(p->dir[me].data && p->dir[me].len + len < FIN);
	memcpy(p->dir[me].data + p->dir[me].len, data, len);
	p->dir[me].len += len;
	send_event(w, pipe, me, p->dir[me].len);
	return (int64_t)len;
}

int64_t
mt_pipe_hear(struct mt *w, uint32_t pipe, const struct mt_node *who, void *data, size_t len)
{
	struct mt_pipe *p = &w->pipe[pipe];
	uint32_t from = !end_of(p, who);
	size_t there = p->dir[from].come - p->dir[from].heard;
	if (!there)
		return p->dir[from].fin ? -1 : 0;
	len = len < there ? len : there;
	memcpy(data, p->dir[from].data + p->dir[from].heard, len);
	p->dir[from].heard += len;
	return (int64_t)len;
}

void
mt_pipe_close(struct mt *w, uint32_t pipe, const struct mt_node *who)
{
	struct mt_pipe *p = &w->pipe[pipe];
	uint32_t me = end_of(p, who);
	if (p->closed[me])
		return;
	p->closed[me] = true;
	send_event(w, pipe, me, FIN);
}

void
mt_pipes_free(struct mt *w)
{
	for (uint32_t i = 0; i < MT_PIPES; i++)
		for (uint32_t k = 0; k < 2; k++)
			free(w->pipe[i].dir[k].data);
}
