/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs: who may talk over which channel, by which names; how they begin and end. */
#include "gateway_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct gw_job *
gw_job_find(struct gw *g, uint32_t label_base)
{
	for (uint32_t i = 0; i < g->conf.limits.jobs_max; i++)
		if (g->job[i].used && g->job[i].label_base == label_base)
			return &g->job[i];
	return NULL;
}

/* ---- processes: pages by label, names by hash ---- */

static uint32_t
job_index(const struct gw *g, const struct gw_job *j)
{
	return (uint32_t)(j - g->job);
}

static struct gw_proc *
proc_of_label(const struct gw *g, uint32_t label)
{
	uint32_t page = label / RELAY_LABEL_PAGE;
	if (page >= g->nmap || g->map[page] == GW_NONE)
		return NULL;
	struct gw_proc *p = &g->proc[g->map[page] * RELAY_LABEL_PAGE + label % RELAY_LABEL_PAGE];
	return p->job == GW_NONE ? NULL : p;
}

struct gw_job *
gw_job_of_label(struct gw *g, uint32_t label, uint32_t *rank)
{
	const struct gw_proc *p = proc_of_label(g, label);
	if (!p)
		return NULL;
	*rank = p->rank;
	return &g->job[p->job];
}

struct gw_proc *
gw_job_proc(struct gw *g, const struct gw_job *j, uint32_t rank)
{
	struct gw_proc *p = proc_of_label(g, j->base + rank);
	BASE_ASSERT(p && p->rank == rank);
	return p;
}

static uint32_t *
job_bucket(const struct gw *g, uint32_t job, uint8_t view, const uint8_t *id)
{
	uint64_t w[3];
	memcpy(w, id, sizeof w);
	uint64_t h = (uint64_t)job << 1 | view;
	for (int i = 0; i < 3; i++) {
		h = (h ^ w[i]) * g->key[i];
		h ^= h >> 29;
	}
	return &g->proc_hash[h & (g->nproc_hash - 1)];
}

static uint32_t
rank_in(const struct gw *g, uint32_t job, uint8_t view, const uint8_t *id)
{
	for (uint32_t e = *job_bucket(g, job, view, id); e != GW_NONE;) {
		const struct gw_proc *p = &g->proc[e / GW_VIEWS];
		if (e % GW_VIEWS == view && p->job == job &&
		    memcmp(p->id[view], id, RELAY_PROC_ID_LEN) == 0)
			return p->rank;
		e = p->next[e % GW_VIEWS];
	}
	return GW_NONE;
}

uint32_t
gw_job_rank(const struct gw *g, const struct gw_job *j, uint8_t view, const uint8_t *id)
{
	return rank_in(g, job_index(g, j), view, id);
}

static void
unname_job(struct gw *g, uint32_t proc)
{
	struct gw_proc *p = &g->proc[proc];
	for (uint8_t v = 0; v < GW_VIEWS; v++) {
		uint32_t *at = job_bucket(g, p->job, v, p->id[v]);
		while (*at != proc * GW_VIEWS + v)
			at = &g->proc[*at / GW_VIEWS].next[*at % GW_VIEWS];
		*at = p->next[v];
	}
	p->job = GW_NONE;
}

static void
procs_free(struct gw *g, struct gw_job *j)
{
	for (uint32_t r = 0; r < j->nworld; r += RELAY_LABEL_PAGE) {
		uint32_t *slot = &g->map[(j->base + r) / RELAY_LABEL_PAGE];
		if (*slot == GW_NONE)
			continue;
		for (uint32_t i = 0; i < RELAY_LABEL_PAGE; i++)
			if (g->proc[*slot * RELAY_LABEL_PAGE + i].job != GW_NONE)
				unname_job(g, *slot * RELAY_LABEL_PAGE + i);
		g->page_next[*slot] = g->page_free;
		g->page_free = *slot;
		g->pages_free++;
		*slot = GW_NONE;
	}
}

/* False: two processes have the same id. */
static bool
procs_add(struct gw *g, struct gw_job *j, const struct relay_job *t)
{
	uint32_t slot = GW_NONE, job = job_index(g, j);
	for (uint32_t r = 0; r < j->nworld; r++) {
		if (r % RELAY_LABEL_PAGE == 0) {
			slot = g->page_free;
			g->page_free = g->page_next[slot];
			g->pages_free--;
			g->map[(j->base + r) / RELAY_LABEL_PAGE] = slot;
			for (uint32_t i = 0; i < RELAY_LABEL_PAGE; i++)
				g->proc[slot * RELAY_LABEL_PAGE + i].job = GW_NONE;
		}
		uint32_t at = slot * RELAY_LABEL_PAGE + r % RELAY_LABEL_PAGE;
		struct gw_proc *p = &g->proc[at];
		if (rank_in(g, job, RELAY_GATE_PRIVATE, t->private_id[r]) != GW_NONE ||
		    rank_in(g, job, RELAY_GATE_GLOBAL, t->global_id[r]) != GW_NONE)
			return false;
		memcpy(p->id[RELAY_GATE_PRIVATE], t->private_id[r], RELAY_PROC_ID_LEN);
		memcpy(p->id[RELAY_GATE_GLOBAL], t->global_id[r], RELAY_PROC_ID_LEN);
		p->job = job;
		p->rank = r;
		for (uint8_t v = 0; v < GW_VIEWS; v++) {
			uint32_t *b = job_bucket(g, job, v, p->id[v]);
			p->next[v] = *b;
			*b = at * GW_VIEWS + v;
		}
	}
	return true;
}

/* ---- a job begins ---- */

static bool
is_channel(const struct gw *g, const struct relay_job *t, const struct relay_gate *gate,
	   const struct relay_foreign *f)
{
	return gate->relay == g->conf.my_relay &&
	       (gate->side == RELAY_GATE_PRIVATE) == (f->client == t->my_client);
}

static bool
range_good(uint32_t first, uint32_t n, uint32_t nworld)
{
	return first <= nworld && n <= nworld - first;
}

static int
table_good(const struct gw *g, const struct relay_job *t, uint32_t *nchannels)
{
	*nchannels = 0;
	if (t->nworld == 0 || t->datalen == 0 || t->ackmark == 0 || t->ackmark > t->hiwater ||
	    t->label_base % RELAY_LABEL_PAGE != 0)
		return GW_ERR_INVAL;
	for (uint32_t i = 0; i < t->ngates; i++) {
		const struct relay_gate *gate = &t->gate[i];
		if (gate->side > RELAY_GATE_GLOBAL ||
		    !range_good(gate->first_rank, gate->nprocs, t->nworld))
			return GW_ERR_INVAL;
		for (uint32_t k = 0; k < t->nforeign; k++) {
			const struct relay_foreign *f = &t->foreign[k];
			if (!range_good(f->first_rank, f->nprocs, t->nworld))
				return GW_ERR_INVAL;
			if (!is_channel(g, t, gate, f))
				continue;
			uint32_t ip;
			if (gate->rank == f->rank)
				return GW_ERR_INVAL;
			if (gate->rank > f->rank &&
			    impi_addr_classify(f->addr, &ip) != IMPI_ADDR_V4)
				return GW_ERR_ADDRESS;
			++*nchannels;
		}
	}
	return GW_ERR_OK;
}

static bool
has_room(const struct gw *g, const struct relay_job *t, uint32_t base, uint32_t nchannels)
{
	uint32_t pages = (t->nworld + RELAY_LABEL_PAGE - 1) / RELAY_LABEL_PAGE;
	uint32_t free_channels = 0;
	for (uint32_t i = g->chan_free; i != GW_NONE && free_channels < nchannels;
	     i = g->chan[i].next)
		free_channels++;
	return pages <= g->pages_free && base / RELAY_LABEL_PAGE + pages <= g->nmap &&
	       free_channels == nchannels && t->datalen <= gw_pool_largest(&g->pool);
}

static void
channels_add(struct gw *g, struct gw_job *j, const struct relay_job *t)
{
	for (uint32_t i = t->ngates; i-- > 0;)
		for (uint32_t k = t->nforeign; k-- > 0;) {
			if (!is_channel(g, t, &t->gate[i], &t->foreign[k]))
				continue;
			uint32_t chan = g->chan_free;
			struct gw_chan *c = &g->chan[chan];
			g->chan_free = c->next;
			uint8_t *stage = c->stage;
			*c = (struct gw_chan){.stage = stage,
					      .job = job_index(g, j),
					      .gate_index = i,
					      .foreign_index = k,
					      .gate = t->gate[i],
					      .host = t->foreign[k],
					      .view = t->gate[i].side,
					      .next = j->channels};
			j->channels = chan;
			j->open_channels++;
			gw_chan_init(g, chan);
		}
}

int
gw_job_add(struct gw *g, const struct relay_job *t, uint64_t now_ns)
{
	uint32_t i = 0, nchannels, base = relay_gateway_base(t->label_base);
	gw_see_time(g, now_ns);
	if (gw_job_find(g, t->label_base))
		return GW_ERR_EXISTS;
	int err = table_good(g, t, &nchannels);
	if (err || base == 0)
		return err ? err : GW_ERR_INVAL;
	while (i < g->conf.limits.jobs_max && g->job[i].used)
		i++;
	if (i == g->conf.limits.jobs_max || !has_room(g, t, base, nchannels))
		return GW_ERR_NOMEM;
	struct gw_job *j = &g->job[i];
	*j = (struct gw_job){.used = true,
			     .id = t->id,
			     .label_base = t->label_base,
			     .base = base,
			     .my_client = t->my_client,
			     .nworld = t->nworld,
			     .datalen = t->datalen,
			     .ackmark = t->ackmark,
			     .hiwater = t->hiwater,
			     .channels = GW_NONE,
			     .pairs = BASE_ICHAIN_EMPTY,
			     .linger_ns = BASE_NEVER_NS,
			     .deliver_ns = BASE_NEVER_NS,
			     .path_wait_ns = BASE_NEVER_NS};
	if (!procs_add(g, j, t)) {
		procs_free(g, j);
		j->used = false;
		return GW_ERR_INVAL;
	}
	channels_add(g, j, t);
	for (uint32_t c = j->channels, next; c != GW_NONE; c = next) {
		next = g->chan[c].next;
		g->conf.ops->open(g->conf.user, c);
	}
	return GW_ERR_OK;
}

uint32_t
gw_job_channel(const struct gw *g, const struct gw_job *j, uint32_t from, uint32_t to)
{
	for (uint32_t i = j->channels; i != GW_NONE; i = g->chan[i].next) {
		const struct gw_chan *c = &g->chan[i];
		if (from - c->host.first_rank < c->host.nprocs &&
		    to - c->gate.first_rank < c->gate.nprocs)
			return i;
	}
	return GW_NONE;
}

/* ---- a job ends ---- */

/* Everything of the job goes; the driver is told to close what is open. */
static void
job_free(struct gw *g, struct gw_job *j)
{
	for (uint32_t i = j->channels; i != GW_NONE; i = g->chan[i].next)
		if (g->chan[i].state != GW_CHAN_OVER)
			gw_chan_over(g, i);
	while (j->pairs.head != GW_NONE)
		gw_pair_free(g, j->pairs.head, &g->n.drop_job_over);
	for (uint32_t i = j->channels, next; i != GW_NONE; i = next) {
		next = g->chan[i].next;
		g->chan[i].state = GW_CHAN_FREE;
		g->chan[i].next = g->chan_free;
		g->chan_free = i;
	}
	procs_free(g, j);
	j->used = false;
	g->freed = true;
}

void
gw_job_fail(struct gw *g, struct gw_job *j, uint64_t *counter, const char *fmt, ...)
{
	char why[RELAY_WHY_MAX];
	uint32_t base = j->label_base;
	bool finishing = j->finishing;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	++*counter;
	job_free(g, j);
	if (finishing)
		g->conf.ops->job_finished(g->conf.user, base, why);
	else
		g->conf.ops->job_failed(g->conf.user, base, why);
}

int
gw_job_abort(struct gw *g, uint32_t label_base, const char *why, uint64_t now_ns)
{
	struct gw_job *j = gw_job_find(g, label_base);
	(void)why; /* nobody on a channel can be told: IMPI 0.0 has no abort */
	gw_see_time(g, now_ns);
	if (!j)
		return GW_ERR_NOTFOUND;
	job_free(g, j);
	gw_settle(g);
	gw_kick(g);
	return GW_ERR_OK;
}

/* What the core refuses comes again: its processes are not there yet, or have no room.  What it
 * took and nobody acknowledges is for processes that have left. */
static bool
delivery_is_over(const struct gw *g, struct gw_job *j)
{
	if (j->deliver_ns == BASE_NEVER_NS || suci_held(g->ep) || g->waiting.head != GW_NONE)
		j->deliver_ns = base_add_ns(g->now_ns, g->conf.deliver_ns);
	return g->now_ns >= j->deliver_ns || g->now_ns >= j->linger_ns;
}

void
gw_job_maybe_finished(struct gw *g, struct gw_job *j)
{
	if (!j->used || !j->finishing || j->open_channels)
		return;
	if (j->undelivered && !delivery_is_over(g, j)) {
		gw_wake_at(g, j->deliver_ns);
		return;
	}
	if (g->in_lane) { /* lanes are not closed from their callbacks */
		gw_wake_at(g, g->now_ns);
		return;
	}
	uint32_t base = j->label_base;
	suci_lanes_flush(g->lanes, g->now_ns); /* others wait for our acks */
	job_free(g, j);
	g->conf.ops->job_finished(g->conf.user, base, "");
}

int
gw_job_finish(struct gw *g, uint32_t label_base, uint64_t now_ns)
{
	struct gw_job *j = gw_job_find(g, label_base);
	gw_see_time(g, now_ns);
	if (!j)
		return GW_ERR_NOTFOUND;
	if (j->finishing)
		return GW_ERR_OK;
	j->finishing = true;
	j->linger_ns = base_add_ns(g->now_ns, g->conf.linger_ns);
	j->path_wait_ns = BASE_NEVER_NS;
	gw_wake_at(g, j->linger_ns);
	for (uint32_t i = j->channels; i != GW_NONE; i = g->chan[i].next) {
		if (g->chan[i].state == GW_CHAN_UP)
			gw_chan_fini(g, i);
		else if (g->chan[i].state != GW_CHAN_OVER)
			gw_chan_over(g, i); /* it never came: nobody to tell */
	}
	gw_job_maybe_finished(g, j);
	gw_kick(g);
	gw_settle(g);
	return GW_ERR_OK;
}

/* ---- time ---- */

const char *
gw_host_text(const struct gw_chan *c, char out[GW_HOST_TEXT_MAX])
{
	snprintf(out, GW_HOST_TEXT_MAX, "host %u of client %u (%u.%u.%u.%u:%u)", c->host.rank,
		 c->host.client, c->remote_ip >> 24, c->remote_ip >> 16 & 255,
		 c->remote_ip >> 8 & 255, c->remote_ip & 255, c->host.port);
	return out;
}

/* False: the job is gone. */
static bool
chan_tick(struct gw *g, struct gw_job *j, uint32_t chan)
{
	struct gw_chan *c = &g->chan[chan];
	char who[GW_HOST_TEXT_MAX];
	if (c->state != GW_CHAN_OPENING && c->state != GW_CHAN_RETRY)
		return true;
	if (g->now_ns >= c->deadline_ns) {
		uint64_t s = g->conf.connect_ns / BASE_S_NS;
		if (c->connects)
			gw_job_fail(g, j, &g->n.failed_connect, "%s cannot be reached: %s",
				    gw_host_text(c, who), c->fault[0] ? c->fault : "no answer");
		else
			gw_job_fail(g, j, &g->n.failed_connect,
				    "%s has not connected to our gate %u within %llu s",
				    gw_host_text(c, who), c->gate.rank, (unsigned long long)s);
		return false;
	}
	gw_wake_at(g, c->deadline_ns);
	if (c->state == GW_CHAN_RETRY && g->now_ns >= c->retry_ns) {
		c->state = GW_CHAN_OPENING;
		g->conf.ops->open(g->conf.user, chan);
	} else if (c->state == GW_CHAN_RETRY) {
		gw_wake_at(g, c->retry_ns);
	}
	return true;
}

void
gw_job_tick(struct gw *g, struct gw_job *j)
{
	gw_job_maybe_finished(g, j);
	if (!j->used)
		return;
	for (uint32_t i = j->channels, next; i != GW_NONE; i = next) {
		next = g->chan[i].next;
		if (!chan_tick(g, j, i))
			return;
	}
	if (g->now_ns >= j->path_wait_ns) {
		gw_job_fail(g, j, &g->n.failed_path,
			    "the own relay core has no path to the gateway");
		return;
	}
	gw_wake_at(g, j->path_wait_ns);
	if (g->now_ns < j->linger_ns) {
		gw_wake_at(g, j->linger_ns);
		return;
	}
	char who[GW_HOST_TEXT_MAX];
	for (uint32_t i = j->channels; i != GW_NONE; i = g->chan[i].next)
		if (g->chan[i].state != GW_CHAN_OVER) {
			gw_job_fail(g, j, &g->n.failed_linger, "%s did not %s in time",
				    gw_host_text(&g->chan[i], who),
				    g->chan[i].fini_rx ? "take what it was sent" : "send FINI");
			return;
		}
}
