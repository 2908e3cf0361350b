/* Several relays in one cluster: which clients each worker and each other relay can reach,
 * so that a job ends only when nobody has a way (relay_job_elsewhere()); policies and
 * weights at run time. */
#include "control.h"

#include "base/clock.h"

#include <stdlib.h>

/* What is known of one job. */
struct rd_ways {
	LIST_ENTRY(rd_ways) link;
	uint32_t label_base;
	uint32_t worker[RD_WORKERS_MAX], peer[RD_RELAYS_MAX];
	uint32_t told[RD_WORKERS_MAX]; /* what others can reach, as the worker knows it */
	uint32_t told_peers;
};

static struct rd_ways *
find(struct rd_control *c, uint32_t label_base)
{
	struct rd_ways *x;
	LIST_FOREACH(x, &c->ways, link)
	if (x->label_base == label_base)
		return x;
	return NULL;
}

static struct rd_ways *
get(struct rd_control *c, uint32_t label_base)
{
	struct rd_ways *x = find(c, label_base);
	if (x)
		return x;
	x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	x->label_base = label_base;
	LIST_INSERT_HEAD(&c->ways, x, link);
	return x;
}

/* Tell each worker what the others have, and the other relays what we have. */
static void
share(struct rd_control *c, struct rd_ways *x)
{
	uint32_t all = 0, peers = 0;
	for (uint32_t i = 0; i < c->nworkers; i++)
		all |= x->worker[i];
	for (uint32_t i = 0; i < RD_RELAYS_MAX; i++)
		peers |= x->peer[i];
	for (uint32_t i = 0; i < c->nworkers; i++) {
		uint32_t others = peers;
		for (uint32_t k = 0; k < c->nworkers; k++)
			others |= k == i ? 0 : x->worker[k];
		if (others == x->told[i])
			continue;
		struct rd_mail *mail = rd_control_mail(c, i, RD_MAIL_ELSEWHERE);
		mail->label_base = x->label_base;
		mail->ways = x->told[i] = others;
		rd_control_post(c, mail);
	}
	if (all != x->told_peers)
		rd_peer_send_ways(c, x->label_base, all);
	x->told_peers = all;
}

void
rd_trunks_state(struct rd_control *c, uint32_t worker, uint32_t label_base, uint32_t ways)
{
	struct rd_ways *x = get(c, label_base);
	if (!x)
		return;
	x->worker[worker] = ways;
	share(c, x);
}

void
rd_trunks_peer_ways(struct rd_control *c, uint32_t index, uint32_t label_base, uint32_t ways)
{
	struct rd_ways *x = find(c, label_base);
	if (!x) /* its job is not here */
		return;
	x->peer[index] = ways;
	share(c, x);
}

void
rd_trunks_peer_lost(struct rd_control *c, uint32_t index)
{
	struct rd_ways *x;
	LIST_FOREACH(x, &c->ways, link)
	{
		x->peer[index] = 0;
		share(c, x);
	}
}

void
rd_trunks_tell_peers(struct rd_control *c)
{
	const struct rd_ways *x;
	LIST_FOREACH(x, &c->ways, link)
	rd_peer_send_ways(c, x->label_base, x->told_peers);
}

void
rd_trunks_forget(struct rd_control *c, uint32_t label_base)
{
	struct rd_ways *x = find(c, label_base);
	if (!x)
		return;
	LIST_REMOVE(x, link);
	free(x);
}

void
rd_trunks_fini(struct rd_control *c)
{
	struct rd_ways *x, *next;
	LIST_FOREACH_SAFE(x, &c->ways, link, next)
	{
		LIST_REMOVE(x, link);
		free(x);
	}
}
