/* The fast path: one segment in, one segment out. */
#include "core_internal.h"

#include "base/bytes.h"

enum exit_kind { WAY_PROC, WAY_TRUNK, WAY_GATEWAY };

struct ends {
	struct job *job;
	struct proc *src, *dst;
	uint32_t src_rank, dst_rank;
	/* WAY_TRUNK: the ways that were full, and the last of them. */
	uint64_t tried;
	struct pick way;
};

static enum suci_verdict
drop(struct path *in, uint64_t *counter)
{
	++*counter;
	in->rx_dropped++;
	return SUCI_DROPPED;
}

static enum suci_verdict
refuse(struct path *in, uint64_t *counter)
{
	++*counter;
	in->rx_refused++;
	return SUCI_REFUSED;
}

/* May this source come over this path? */
static bool
source_ok(const struct relay_core *c, const struct path *in, uint32_t job, const struct ends *e)
{
	switch ((enum relay_path_kind)in->kind) {
	case RELAY_PATH_PROC:
		return in->job == job && in->rank == e->src_rank;
	case RELAY_PATH_TRUNK:
		return e->job->trunk_clients[in->trunk] & 1u << e->src->client;
	case RELAY_PATH_LIGHT:
		return e->job->trunk_clients[c->light[in->trunk].peer] & 1u << e->src->client;
	case RELAY_PATH_GATEWAY:
		return (e->src->flags & PROC_FOREIGN) && uses_gateway(e->job, in->trunk);
	case RELAY_PATH_NONE:
		break;
	}
	return false;
}

/* A foreign destination: is there a gateway to give it to? */
static uint64_t *
check_foreign(struct relay_core *c, const struct path *in, const struct ends *e)
{
	uint8_t g = e->src->gateway;
	if (!c->conf.ngateways)
		return &c->n.drop_foreign;
	/* What a gateway can do itself it does not give to us. */
	if (g == NO_GATEWAY || !uses_gateway(e->job, g) ||
	    (in->kind == RELAY_PATH_GATEWAY && in->trunk == g))
		return &c->n.drop_destination;
	return NULL;
}

/* The tables are asked.  What they say is kept; whether it may pass is not. */
static uint64_t *
look_up(struct relay_core *c, struct recent *r, const struct suci_segment *seg)
{
	uint32_t src_job;
	r->era = 0;
	const struct proc *dst = find_proc(c, seg->dst_label, &r->job, &r->dst_rank);
	if (!dst)
		return &c->n.drop_label;
	const struct proc *src = find_proc(c, seg->src_label, &src_job, &r->src_rank);
	if (!src || src_job != r->job)
		return &c->n.drop_source_label;
	r->dst_label = seg->dst_label;
	r->src_label = seg->src_label;
	r->dst = (uint32_t)(dst - c->proc);
	r->src = (uint32_t)(src - c->proc);
	r->era = c->era;
	return NULL;
}

/* Which processes the segment names, and may it come over this path?  NULL, or
 * the counter of what is wrong. */
static uint64_t *
check_ends(struct relay_core *c, struct path *in, const struct suci_segment *seg, struct ends *e)
{
	struct recent *r = &in->recent;
	if (in->kind == RELAY_PATH_NONE)
		return &c->n.drop_path;
	if (r->era != c->era || r->dst_label != seg->dst_label || r->src_label != seg->src_label) {
		uint64_t *unknown = look_up(c, r, seg);
		if (unknown)
			return unknown;
	}
	e->dst = &c->proc[r->dst];
	e->src = &c->proc[r->src];
	e->dst_rank = r->dst_rank;
	e->src_rank = r->src_rank;
	e->job = &c->job[r->job];
	if (!source_ok(c, in, r->job, e))
		return &c->n.drop_source;
	/* Relays stand between the own cluster and others. */
	if (((e->src->flags ^ e->dst->flags) & PROC_LOCAL) == 0)
		return &c->n.drop_destination;
	if (e->dst->flags & PROC_FOREIGN)
		return check_foreign(c, in, e);
	/* It has all it needs: a late copy or lane ack, which refused would come
	 * again until the job ends. */
	if ((e->dst->flags & PROC_LEFT) && e->dst->path == NONE)
		return &c->n.drop_left;
	/* A shard that owns no process of the job has no way to other clusters, and
	 * never will. */
	if (!(e->dst->flags & PROC_LOCAL) && e->job->host[e->dst->host].trunk == NONE &&
	    !e->job->group[e->dst->client].n)
		return &c->n.drop_destination;
	return NULL;
}

static enum exit_kind
way_of(const struct proc *dst)
{
	if (dst->flags & PROC_FOREIGN)
		return WAY_GATEWAY;
	return dst->flags & PROC_LOCAL ? WAY_PROC : WAY_TRUNK;
}

static uint32_t
trunk_out(struct relay_core *c, struct ends *e, uint32_t *label_base)
{
	const struct job_host *h = &e->job->host[e->dst->host];
	struct group *g = &e->job->group[e->dst->client];
	if (h->process) {
		*label_base = h->label_base;
		return c->trunk[h->trunk].path;
	}
	if (!group_pick(c, g, h->way, e->src_rank, e->dst_rank, e->tried, &e->way))
		return NONE;
	*label_base = g->way[e->way.way].label_base;
	return e->way.path;
}

/* Way out and label base there; NONE if there is none now. */
static uint32_t
way_out(struct relay_core *c, struct ends *e, enum exit_kind way, uint32_t *label_base)
{
	switch (way) {
	case WAY_GATEWAY:
		*label_base = e->job->gateway_base;
		return c->gateway[e->src->gateway].path;
	case WAY_TRUNK:
		return trunk_out(c, e, label_base);
	case WAY_PROC:
		break;
	}
	*label_base = e->dst->label_base;
	if (e->dst->path == NONE) {
		e->dst->flags |= PROC_NEEDED;
		if (!(e->dst->flags & PROC_WANTED))
			proc_want(c, e->job, e->dst, c->now_ns);
	}
	return e->dst->path;
}

static uint64_t *
not_connected(struct relay_core *c, enum exit_kind way)
{
	switch (way) {
	case WAY_PROC:
		return &c->n.refused_proc;
	case WAY_TRUNK:
		return &c->n.refused_trunk;
	case WAY_GATEWAY:
		break;
	}
	return &c->n.refused_gateway;
}

/* pk_src and pk_dest as the next hop knows them; a gateway goes by the labels alone.
 * False: buffer is read-only. */
static bool
rewrite_ids(struct relay_core *c, const struct suci_segment *seg, const struct ends *e,
	    bool to_local)
{
	uint8_t *w = c->conf.ops->writable(c->conf.user, seg->cookie, seg->data, seg->data_len);
	if (!w)
		return false;
	memcpy(w + IDS_OFF, to_local ? e->src->private_id : e->src->global_id, RELAY_PROC_ID_LEN);
	memcpy(w + IDS_OFF + RELAY_PROC_ID_LEN, to_local ? e->dst->private_id : e->dst->global_id,
	       RELAY_PROC_ID_LEN);
	c->n.rewritten++;
	return true;
}

static enum suci_verdict
send_error(struct relay_core *c, struct path *in, int err, enum exit_kind way)
{
	switch (err) {
	case SUCI_ERR_TOOBIG:
	case SUCI_ERR_INVAL:
		return drop(in, &c->n.drop_toobig);
	case SUCI_ERR_NOMEM:
		return refuse(in, &c->n.refused_nomem);
	case SUCI_ERR_DOWN:
		return refuse(in, not_connected(c, way));
	default:
		return refuse(in, &c->n.refused_full);
	}
}

/* A segment is never cut into two, and the peer takes no parts of one, or not of one so large: what
 * it belongs to will never be whole. */
static void
abort_toobig(struct relay_core *c, struct job *j, uint32_t out_path, const struct suci_segment *seg)
{
	char at[RELAY_ADDR_TEXT_MAX], msg[RELAY_WHY_MAX];
	struct suci_path_info info = {0};
	(void)suci_path_info(c->ep, out_path, &info);
	relay_text_set(msg,
		       "%u bytes of a message do not fit the way to %s: at most %u do; LIBMPI_MTU "
		       "or ports.*.mtu of the relays is too large",
		       seg->data_len, relay_addr_text(&c->path[out_path].peer, at), info.mss);
	job_abort(c, j, NONE, msg);
}

/* Over that path; what suci_path_send() says. */
static int
forward(struct relay_core *c, const struct ends *e, const struct suci_segment *seg,
	uint32_t out_path, uint32_t base)
{
	struct suci_segment out = *seg;
	out.dst_label = base + e->dst_rank;
	out.src_label = base + e->src_rank;
	if (seg->data_len == 0)
		out.cookie = COOKIE_NONE;
	else
		c->conf.ops->hold(c->conf.user, seg->cookie);
	struct path *op = &c->path[out_path];
	c->held++;
	int err = suci_path_send(c->ep, out_path, &out, c->now_ns);
	if (err) {
		c->held--;
		if (seg->data_len)
			c->conf.ops->release(c->conf.user, seg->cookie);
		return err;
	}
	op->tx_segments++;
	op->tx_bytes += seg->data_len;
	c->n.tx_segments++;
	c->n.tx_bytes += seg->data_len;
	if (op->kind == RELAY_PATH_LIGHT) {
		c->n.tx_light++;
		c->n.tx_light_bytes += seg->data_len;
	}
	return 0;
}

/* A trunk that closes is passed over, and under STRIPE one that is full; light, if it closes or
 * takes less than the trunks do. */
static bool
try_other(const struct ends *e, enum exit_kind way, int err)
{
	if (way != WAY_TRUNK || e->job->host[e->dst->host].process)
		return false;
	if (e->way.light)
		return err == SUCI_ERR_DOWN || err == SUCI_ERR_TOOBIG;
	return err == SUCI_ERR_DOWN ||
	       (err == SUCI_ERR_FULL &&
		e->job->group[e->dst->client].policy == RELAY_POLICY_STRIPE);
}

static enum suci_verdict
send_on(struct relay_core *c, struct path *in, const struct suci_segment *seg, struct ends *e)
{
	enum exit_kind way = way_of(e->dst);
	uint32_t base = 0, out_path;
	bool first = seg->flags & SUCI_SF_FIRST, rewritten = false, full = false;

	while ((out_path = way_out(c, e, way, &base)) != NONE) {
		/* What lost its trunk goes first. */
		if (way == WAY_TRUNK && e->job->group[e->dst->client].nstrays) {
			in->blocked = out_path;
			return refuse(in, &c->n.refused_full);
		}
		if (first && !rewritten && way != WAY_GATEWAY &&
		    !rewrite_ids(c, seg, e, way == WAY_PROC))
			return refuse(in, &c->n.refused_readonly);
		rewritten = true;
		int err = forward(c, e, seg, out_path, base);
		if (!err) {
			in->rx_taken++;
			return SUCI_TAKEN;
		}
		if (!e->tried)
			in->blocked = out_path;
		if (try_other(e, way, err)) {
			e->tried |=
				e->way.light ? TRIED_LIGHT(e->way.way) : TRIED_TRUNK(e->way.way);
			full = full || err == SUCI_ERR_FULL;
			continue;
		}
		if (err == SUCI_ERR_TOOBIG)
			abort_toobig(c, e->job, out_path, seg);
		return send_error(c, in, err, way);
	}
	return refuse(in, full ? &c->n.refused_full : not_connected(c, way));
}

static enum suci_verdict
segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct relay_core *c = user;
	struct path *in = &c->path[path];
	struct ends e = {0};

	see_time(c, now_ns);
	c->last_seg_ns = c->now_ns;
	c->n.rx_segments++;
	c->n.rx_bytes += seg->data_len;
	in->rx_segments++;
	in->rx_bytes += seg->data_len;
	c->n.rx_from_trunks += in->kind == RELAY_PATH_TRUNK;
	c->n.rx_from_light += in->kind == RELAY_PATH_LIGHT;
	c->n.rx_from_gateways += in->kind == RELAY_PATH_GATEWAY;

	uint64_t *fault = check_ends(c, in, seg, &e);
	if (fault)
		return drop(in, fault);
	e.job->rx_segments++;
	e.job->rx_bytes += seg->data_len;
	if (seg->head_len || (seg->flags & SUCI_SF_FIRST && seg->data_len < IDS_OFF + IDS_LEN))
		return drop(in, &c->n.drop_malformed);
	return send_on(c, in, seg, &e);
}

/* The same, and tell who watches.  Labels are looked up again: nobody else pays for that. */
static enum suci_verdict
segment_watched(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct relay_core *c = user;
	if (__builtin_expect(!c->watch, 1))
		return segment(user, path, seg, now_ns);
	enum suci_verdict v = segment(user, path, seg, now_ns);
	uint32_t job, src_job;
	struct relay_seen s = {
		.in_path = path,
		.bytes = seg->data_len,
		.cookie = seg->cookie,
	};
	if (v != SUCI_TAKEN || !find_proc(c, seg->dst_label, &job, &s.dst_rank) ||
	    !find_proc(c, seg->src_label, &src_job, &s.src_rank))
		return v;
	s.job = c->job[job].label_base;
	c->watch(c->watch_user, &s);
	return v;
}

void
relay_core_watch(struct relay_core *c, void (*fn)(void *user, const struct relay_seen *s),
		 void *user)
{
	c->watch = fn;
	c->watch_user = user;
}

/* Room on the way out that last had none. */
static uint32_t
room(void *user, uint32_t path)
{
	struct relay_core *c = user;
	return suci_path_room(c->ep, c->path[path].blocked);
}

static void
released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct relay_core *c = user;
	see_time(c, now_ns);
	BASE_ASSERT(c->held > 0);
	if (c->kept && fate == SUCI_FATE_ABANDONED) {
		c->kept = false; /* still held, as a stray */
		c->path[path].tx_abandoned++;
		return;
	}
	c->held--;
	if (c->nstrays)
		wake_at(c, c->now_ns); /* there is room somewhere */
	if (fate == SUCI_FATE_ACKED) {
		c->n.tx_acked++;
		c->path[path].tx_acked++;
		if (c->path[path].kind == RELAY_PATH_LIGHT)
			light_acked(c, &c->path[path]);
	} else {
		c->n.drop_abandoned++;
		c->path[path].tx_abandoned++;
	}
	if (cookie != COOKIE_NONE)
		c->conf.ops->release(c->conf.user, cookie);
}

/* Its path goes down; released() follows. */
static void
abandoned(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct relay_core *c = user;
	const struct path *p = &c->path[path];
	see_time(c, now_ns);
	c->kept = p->up && stray_keep(c, p, seg);
}

static uint8_t *
buffer(void *user, uint32_t path, uint32_t len, uint64_t *cookie)
{
	struct relay_core *c = user;
	return c->conf.ops->buffer ? c->conf.ops->buffer(c->conf.user, path, len, cookie) : NULL;
}

static void
unbuffer(void *user, uint64_t cookie)
{
	struct relay_core *c = user;
	c->conf.ops->release(c->conf.user, cookie);
}

const struct suci_ops *
relay_ops(void)
{
	static const struct suci_ops ops = {
		.accept = path_accept,
		.path_up = path_up,
		.path_down = path_down,
		.segment = segment_watched,
		.abandoned = abandoned,
		.released = released,
		.note = path_note,
		.room = room,
		.buffer = buffer,
		.unbuffer = unbuffer,
	};
	return &ops;
}
