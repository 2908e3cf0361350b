/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path: one segment in, one segment out. */
#include "door_internal.h"

#include "base/bytes.h"

/* What was tried for one segment. */
struct tries {
	uint64_t tried; /* EXIT_TRUNK: the ways that did not take it, and the last of them */
	struct pick way;
	bool full; /* one of them had no room */
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
source_ok(const struct relay_core *c, const struct path *in, const struct recent *r)
{
	const struct job *j = r->job;
	switch ((enum relay_path_kind)in->kind) {
	case RELAY_PATH_PROC:
		return in->job != NONE && &c->job[in->job] == j && in->rank == r->src_rank;
	case RELAY_PATH_TRUNK:
		return j->trunk_clients[in->trunk] & 1u << r->src->client;
	case RELAY_PATH_LIGHT:
		return j->trunk_clients[c->light[in->trunk].peer] & 1u << r->src->client;
	case RELAY_PATH_GATEWAY:
		return (r->src->flags & PROC_FOREIGN) && uses_gateway(j, in->trunk);
	case RELAY_PATH_DOOR: /* in no job */
	case RELAY_PATH_NONE:
		break;
	}
	return false;
}

/* A foreign destination: is there a gateway to give it to? */
static uint64_t *
check_foreign(struct relay_core *c, const struct path *in, const struct recent *r)
{
	uint8_t g = r->src->gateway;
	if (!c->conf.ngateways)
		return &c->n.drop_foreign;
	/* What a gateway can do itself it does not give to us. */
	if (g == NO_GATEWAY || !uses_gateway(r->job, g) ||
	    (in->kind == RELAY_PATH_GATEWAY && in->trunk == g))
		return &c->n.drop_destination;
	return NULL;
}

/* May what the labels name pass, from that path?  NULL, or the counter of what is wrong. */
static uint64_t *
check_ends(struct relay_core *c, const struct path *in, const struct recent *r)
{
	const struct proc *src = r->src, *dst = r->dst;
	if (!source_ok(c, in, r))
		return &c->n.drop_source;
	/* Relays stand between the own cluster and others. */
	if (((src->flags ^ dst->flags) & PROC_LOCAL) == 0)
		return &c->n.drop_destination;
	if (dst->flags & PROC_FOREIGN)
		return check_foreign(c, in, r);
	/* It has all it needs: a late copy or lane ack, which refused would come
	 * again until the job ends. */
	if ((dst->flags & PROC_LEFT) && dst->path == NONE)
		return &c->n.drop_left;
	/* A shard that owns no process of the job has no way to other clusters, and
	 * never will. */
	if (!(dst->flags & PROC_LOCAL) && r->job->host[dst->host].trunk == NONE &&
	    !r->job->group[dst->client].n)
		return &c->n.drop_destination;
	return NULL;
}

static enum exit_kind
exit_of(const struct proc *dst)
{
	if (dst->flags & PROC_FOREIGN)
		return EXIT_GATEWAY;
	return dst->flags & PROC_LOCAL ? EXIT_PROC : EXIT_TRUNK;
}

/* The way out that all segments take until something else changes, and label base there; NONE if
 * each has to be looked at. */
static uint32_t
straight_out(const struct relay_core *c, const struct recent *r, uint32_t *label_base)
{
	const struct job_host *h = &r->job->host[r->dst->host];
	const struct group *g = &r->job->group[r->dst->client];
	switch ((enum exit_kind)r->exit) {
	case EXIT_PROC:
		*label_base = r->dst->label_base;
		return r->dst->path;
	case EXIT_GATEWAY:
		*label_base = r->job->gateway_base;
		return c->gateway[r->src->gateway].path;
	case EXIT_TRUNK:
		break;
	}
	if (g->nstrays)
		return NONE;
	if (h->process) {
		*label_base = h->label_base;
		return c->trunk[h->trunk].path;
	}
	if (g->policy == RELAY_POLICY_STRIPE || !own_trunk_good(c, g, h->way, 0))
		return NONE;
	*label_base = g->way[h->way].label_base;
	return c->trunk[g->way[h->way].trunk].path;
}

/* ---- doors -------------------------------------------------------------------- */

/* From a process: both labels stay as they are, the other relay has a tree of ours. */
static uint64_t *
look_up_import(struct relay_core *c, uint32_t path, struct recent *r,
	       const struct suci_segment *seg)
{
	const struct doors *d = &c->doors;
	uint32_t src = relay_door_at(c, seg->src_label, DOOR_OWN);
	uint32_t dst = relay_door_at(c, seg->dst_label, DOOR_IMPORT);
	if (dst == NONE)
		return &c->n.drop_label;
	if (src == NONE)
		return &c->n.drop_source_label;
	if (d->door[src].at != path)
		return &c->n.drop_source;
	if (d->door[src].realm != d->door[dst].realm && !RELAY_BUG(DOOR_REALM))
		return &c->n.drop_realm;
	const struct door_cluster *k = &d->cluster[d->door[dst].at];
	r->exit = EXIT_TRUNK;
	r->out = NONE;
	uint32_t way = relay_door_way(&d->door[dst]);
	if (way != DOOR_RELAYS_MAX)
		r->out = c->trunk[k->trunk[way]].path;
	r->dst_rank = seg->dst_label;
	r->src_rank = seg->src_label;
	return NULL;
}

/* From a trunk: what its tree does not have may not pass. */
static uint64_t *
look_up_export(struct relay_core *c, uint32_t t, struct recent *r, const struct suci_segment *seg)
{
	const struct doors *d = &c->doors;
	uint32_t root = c->trunk[t].door_root;
	uint32_t dst = relay_door_find(d, root, seg->dst_label);
	uint32_t src = relay_door_find(d, root, seg->src_label);
	if (RELAY_BUG(DOOR_ANY) && dst == NONE)
		dst = relay_door_at(c, seg->dst_label, DOOR_EXPORT);
	if (dst == NONE || d->door[dst].kind != DOOR_EXPORT)
		return &c->n.drop_label;
	if (src == NONE || d->door[src].kind != DOOR_IMPORT)
		return &c->n.drop_source_label;
	if (d->door[src].realm != d->door[d->door[dst].of].realm && !RELAY_BUG(DOOR_REALM))
		return &c->n.drop_realm;
	const struct door_cluster *k = &d->cluster[d->door[src].at];
	if (k->n > 1 && relay_door_index(k, t) != relay_door_way(&d->door[src]))
		return &c->n.drop_door_way;
	r->exit = EXIT_PROC;
	r->out = d->door[d->door[dst].of].at;
	r->dst_rank = d->door[dst].here + (seg->dst_label - d->door[dst].there);
	r->src_rank = d->door[src].here + (seg->src_label - d->door[src].there);
	return NULL;
}

/* As look_up(); r->job is NULL and the ranks are the labels at the next hop. */
static uint64_t *
look_up_door(struct relay_core *c, uint32_t path, struct recent *r, const struct suci_segment *seg)
{
	const struct path *in = &c->path[path];
	r->job = NULL;
	r->dst = r->src = NULL;
	r->out_base = 0;
	if (!c->conf.limits.doors_max)
		return &c->n.drop_label;
	if (in->kind == RELAY_PATH_DOOR || in->kind == RELAY_PATH_PROC)
		return look_up_import(c, path, r, seg);
	return in->kind == RELAY_PATH_TRUNK ? look_up_export(c, in->trunk, r, seg)
					    : &c->n.drop_label;
}

/* What comes from a door that began anew comes behind the word of that. */
static uint64_t *
tell_first(struct relay_core *c, const struct recent *r)
{
	uint32_t src = relay_door_at(c, r->src_rank, DOOR_IMPORT);
	return relay_door_knows(c, src, r->out) ? NULL : &c->n.drop_door_untold;
}

static bool
same_door(struct relay_core *c, uint32_t path, const struct recent *r)
{
	struct recent again = {0};
	const struct suci_segment seg = {.dst_label = r->dst_label, .src_label = r->src_label};
	return !look_up_door(c, path, &again, &seg) && again.out == r->out &&
	       again.exit == r->exit && again.dst_rank == r->dst_rank &&
	       again.src_rank == r->src_rank;
}

/* ---- all ------------------------------------------------------------------------ */

static uint64_t *
look_up_job(struct relay_core *c, const struct path *in, struct recent *r,
	    const struct suci_segment *seg)
{
	uint32_t job, src_job;
	r->dst = find_proc(c, seg->dst_label, &job, &r->dst_rank);
	if (!r->dst)
		return &c->n.drop_label;
	r->src = find_proc(c, seg->src_label, &src_job, &r->src_rank);
	if (!r->src || src_job != job)
		return &c->n.drop_source_label;
	r->job = &c->job[job];
	uint64_t *fault = check_ends(c, in, r);
	if (fault)
		return fault;
	r->exit = (uint8_t)exit_of(r->dst);
	r->out = straight_out(c, r, &r->out_base);
	return NULL;
}

/* The tables are asked, and what they say is kept.  NULL, or the counter of what is wrong. */
static uint64_t *
look_up(struct relay_core *c, struct path *in, const struct suci_segment *seg)
{
	struct recent *r = &in->recent;
	uint64_t *fault;
	r->generation = 0;
	if (in->kind == RELAY_PATH_NONE)
		return &c->n.drop_path;
	if (seg->dst_label < DOOR_LABELS_END)
		fault = look_up_door(c, (uint32_t)(in - c->path), r, seg);
	else
		fault = look_up_job(c, in, r, seg);
	if (!fault && !r->job && r->exit == EXIT_PROC)
		fault = tell_first(c, r);
	if (fault)
		return fault;
	r->dst_label = seg->dst_label;
	r->src_label = seg->src_label;
	r->generation = c->generation;
	return NULL;
}

static bool
names(const struct relay_core *c, const struct job *j, uint32_t label, const struct proc *p,
      uint32_t rank)
{
	uint32_t job, r;
	const struct proc *named = find_proc(c, label, &job, &r);
	return named && named == p && &c->job[job] == j && r == rank;
}

const char *
relay_forward_check(const struct relay_core *c)
{
	struct relay_core *asked = (struct relay_core *)(uintptr_t)c; /* counters are named only */
	for (uint32_t i = 0; i < c->conf.limits.paths_max; i++) {
		const struct path *in = &c->path[i];
		const struct recent *r = &in->recent;
		uint32_t base = 0;
		if (r->generation != c->generation)
			continue;
		if (!r->job && !same_door(asked, i, r))
			return "what passed last to a door still may";
		if (!r->job)
			continue;
		if (in->kind == RELAY_PATH_NONE ||
		    !names(c, r->job, r->dst_label, r->dst, r->dst_rank) ||
		    !names(c, r->job, r->src_label, r->src, r->src_rank))
			return "what a path's labels named last = what they name";
		if (check_ends(asked, in, r) || r->exit != (uint8_t)exit_of(r->dst))
			return "what passed last over a path may pass";
		if (r->out != NONE && (straight_out(c, r, &base) != r->out || base != r->out_base))
			return "the way out that a path's segments took last is theirs";
	}
	return NULL;
}

static uint32_t
trunk_out(struct relay_core *c, const struct recent *r, struct tries *t, uint32_t *label_base)
{
	const struct job_host *h = &r->job->host[r->dst->host];
	struct group *g = &r->job->group[r->dst->client];
	if (h->process) {
		*label_base = h->label_base;
		return c->trunk[h->trunk].path;
	}
	if (!group_pick(c, g, h->way, r->src_rank, r->dst_rank, t->tried, &t->way))
		return NONE;
	*label_base = g->way[t->way.way].label_base;
	return t->way.path;
}

/* Way out and label base there; NONE if there is none now. */
static uint32_t
way_out(struct relay_core *c, const struct recent *r, struct tries *t, uint32_t *label_base)
{
	switch ((enum exit_kind)r->exit) {
	case EXIT_GATEWAY:
		*label_base = r->job->gateway_base;
		return c->gateway[r->src->gateway].path;
	case EXIT_TRUNK:
		return trunk_out(c, r, t, label_base);
	case EXIT_PROC:
		break;
	}
	*label_base = r->dst->label_base;
	if (r->dst->path == NONE) {
		r->dst->flags |= PROC_NEEDED;
		if (!(r->dst->flags & PROC_WANTED))
			relay_proc_want(c, r->job, r->dst, c->now_ns);
	}
	return r->dst->path;
}

static bool
has_strays(const struct recent *r)
{
	return r->exit == EXIT_TRUNK && r->job->group[r->dst->client].nstrays;
}

static uint64_t *
not_connected(struct relay_core *c, enum exit_kind way)
{
	switch (way) {
	case EXIT_PROC:
		return &c->n.refused_proc;
	case EXIT_TRUNK:
		return &c->n.refused_trunk;
	case EXIT_GATEWAY:
		break;
	}
	return &c->n.refused_gateway;
}

/* pk_src and pk_dest as the next hop knows them; a gateway goes by the labels alone. */
static void
rewrite_ids(struct relay_core *c, const struct recent *r, uint8_t *payload)
{
	bool to_local = r->exit == EXIT_PROC;
	const struct proc *src = r->src, *dst = r->dst;
	memcpy(payload + IDS_OFF, to_local ? src->private_id : src->global_id, RELAY_PROC_ID_LEN);
	memcpy(payload + IDS_OFF + RELAY_PROC_ID_LEN, to_local ? dst->private_id : dst->global_id,
	       RELAY_PROC_ID_LEN);
	c->n.rewritten++;
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
	char at[SUCI_ADDR_TEXT_MAX], msg[RELAY_WHY_MAX];
	struct suci_path_info info = {0};
	(void)suci_path_info(c->ep, out_path, &info);
	relay_text_set(msg,
		       "%u bytes of a message do not fit the way to %s: at most %u do; LIBMPI_MTU "
		       "or ports.*.mtu of the relays is too large",
		       seg->data_len, suci_addr_text(&c->path[out_path].peer, at), info.mss);
	relay_job_abort(c, j, NONE, msg);
}

/* Over that path; what suci_path_send() says.  payload: the segment's, if its buffer may be
 * written: then it is sent as it lies there.  mark: COOKIE_DOOR(), or 0. */
static inline __attribute__((always_inline)) int
forward(struct relay_core *c, const struct recent *r, const struct suci_segment *seg,
	uint8_t *payload, uint32_t out_path, uint32_t base, uint64_t mark)
{
	struct path *op = &c->path[out_path];
	uint32_t dst = base + r->dst_rank, src = base + r->src_rank;
	int err;
	if (seg->data_len)
		c->conf.ops->hold(c->conf.user, seg->cookie);
	if (payload && !mark) {
		err = suci_path_forward(c->ep, out_path, seg, payload, dst, src, c->now_ns);
	} else if (payload) {
		struct suci_segment out = *seg;
		out.cookie |= mark;
		err = suci_path_forward(c->ep, out_path, &out, payload, dst, src, c->now_ns);
	} else {
		struct suci_segment out = *seg;
		out.dst_label = dst;
		out.src_label = src;
		if (!seg->data_len)
			out.cookie = mark ? COOKIE_NONE >> (64 - COOKIE_BITS) : COOKIE_NONE;
		out.cookie |= mark;
		err = suci_path_send(c->ep, out_path, &out, c->now_ns);
	}
	if (err) {
		if (seg->data_len)
			c->conf.ops->release(c->conf.user, seg->cookie);
		return err;
	}
	c->held++;
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
try_other(const struct recent *r, const struct tries *t, int err)
{
	if (r->exit != EXIT_TRUNK || r->job->host[r->dst->host].process)
		return false;
	if (t->way.light)
		return err == SUCI_ERR_DOWN || err == SUCI_ERR_TOOBIG;
	return err == SUCI_ERR_DOWN ||
	       (err == SUCI_ERR_FULL &&
		r->job->group[r->dst->client].policy == RELAY_POLICY_STRIPE);
}

/* A way did not take it.  True: another may; else *v is what becomes of it. */
static __attribute__((noinline)) bool
another(struct relay_core *c, struct path *in, const struct suci_segment *seg, struct tries *t,
	uint32_t out_path, int err, enum suci_verdict *v)
{
	const struct recent *r = &in->recent;
	enum exit_kind way = (enum exit_kind)r->exit;
	if (!t->tried)
		in->blocked = out_path;
	if (try_other(r, t, err)) {
		t->tried |= t->way.light ? TRIED_LIGHT(t->way.way) : TRIED_TRUNK(t->way.way);
		t->full = t->full || err == SUCI_ERR_FULL;
		return true;
	}
	if (err == SUCI_ERR_TOOBIG)
		abort_toobig(c, r->job, out_path, seg);
	*v = send_error(c, in, err, way);
	return false;
}

/* Over the way that the last one took, if that is the only one; if there is more than one or it
 * takes nothing, over the first that does. */
static inline enum suci_verdict
send_on(struct relay_core *c, struct path *in, const struct suci_segment *seg, uint8_t *payload)
{
	const struct recent *r = &in->recent;
	struct tries t = {0};
	uint32_t base = r->out_base, out_path = r->out;
	enum suci_verdict v;
	for (bool straight = out_path != NONE;; straight = false) {
		if (!straight && (out_path = way_out(c, r, &t, &base)) == NONE)
			return refuse(in, t.full ? &c->n.refused_full
						 : not_connected(c, (enum exit_kind)r->exit));
		/* What lost its trunk goes first. */
		if (!straight && has_strays(r)) {
			in->blocked = out_path;
			return refuse(in, &c->n.refused_full);
		}
		int err = forward(c, r, seg, payload, out_path, base, 0);
		if (!err) {
			in->rx_taken++;
			return SUCI_TAKEN;
		}
		if (!straight && !another(c, in, seg, &t, out_path, err, &v))
			return v;
	}
}

/* *payload: where it is to be written, or NULL.  False: it has to be, for the ids in a first
 * segment, and cannot. */
static inline bool
make_ready(struct relay_core *c, const struct recent *r, const struct suci_segment *seg,
	   uint8_t **payload)
{
	*payload = NULL;
	if (seg->data_len)
		*payload =
			c->conf.ops->writable(c->conf.user, seg->cookie, seg->data, seg->data_len);
	if (!(seg->flags & SUCI_SF_FIRST) || r->exit == EXIT_GATEWAY)
		return true;
	if (*payload)
		rewrite_ids(c, r, *payload);
	return *payload;
}

/* What does not come from processes. */
static void
count_origin(struct relay_core *c, const struct path *in)
{
	c->n.rx_from_trunks += in->kind == RELAY_PATH_TRUNK;
	c->n.rx_from_light += in->kind == RELAY_PATH_LIGHT;
	c->n.rx_from_gateways += in->kind == RELAY_PATH_GATEWAY;
}

/* Of a door: one way out, and nothing in the payload is ours. */
static __attribute__((noinline)) enum suci_verdict
pass_door(struct relay_core *c, struct path *in, const struct suci_segment *seg)
{
	const struct recent *r = &in->recent;
	uint8_t *payload = NULL;
	if (seg->head_len)
		return drop(in, &c->n.drop_malformed);
	if (r->out == NONE)
		return refuse(in, not_connected(c, (enum exit_kind)r->exit));
	struct path *out = &c->path[r->out];
	uint64_t mark = out->kind == RELAY_PATH_TRUNK ? COOKIE_DOOR(out->second) : 0;
	if (seg->data_len)
		payload =
			c->conf.ops->writable(c->conf.user, seg->cookie, seg->data, seg->data_len);
	int err = forward(c, r, seg, payload, r->out, 0, mark);
	if (!err) {
		out->way[out->second] += mark != 0;
		in->rx_taken++;
		return SUCI_TAKEN;
	}
	in->blocked = r->out;
	return send_error(c, in, err, (enum exit_kind)r->exit);
}

static inline enum suci_verdict
pass(struct relay_core *c, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct path *in = &c->path[path];
	const struct recent *r = &in->recent;

	see_time(c, now_ns);
	c->last_seg_ns = c->now_ns;
	c->n.rx_segments++;
	c->n.rx_bytes += seg->data_len;
	in->rx_segments++;
	in->rx_bytes += seg->data_len;
	if (in->kind != RELAY_PATH_PROC)
		count_origin(c, in);

	if (r->generation != c->generation || r->dst_label != seg->dst_label ||
	    r->src_label != seg->src_label) {
		uint64_t *fault = look_up(c, in, seg);
		if (fault)
			return drop(in, fault);
	}
	if (__builtin_expect(!r->job, 0))
		return pass_door(c, in, seg);
	r->job->rx_segments++;
	r->job->rx_bytes += seg->data_len;
	if (seg->head_len || (seg->flags & SUCI_SF_FIRST && seg->data_len < IDS_OFF + IDS_LEN))
		return drop(in, &c->n.drop_malformed);
	uint8_t *payload;
	if (!make_ready(c, r, seg, &payload))
		return refuse(in, &c->n.refused_readonly);
	return send_on(c, in, seg, payload);
}

/* Labels are looked up again: nobody else pays for who watches. */
static __attribute__((noinline)) void
tell_watcher(struct relay_core *c, uint32_t path, const struct suci_segment *seg)
{
	uint32_t job, src_job;
	struct relay_seen s = {
		.in_path = path,
		.bytes = seg->data_len,
		.cookie = seg->cookie,
	};
	if (!find_proc(c, seg->dst_label, &job, &s.dst_rank) ||
	    !find_proc(c, seg->src_label, &src_job, &s.src_rank))
		return;
	s.job = c->job[job].label_base;
	c->watch(c->watch_user, &s);
}

static enum suci_verdict
segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct relay_core *c = user;
	enum suci_verdict v = pass(c, path, seg, now_ns);
	if (c->watch && v == SUCI_TAKEN)
		tell_watcher(c, path, seg);
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

/* A segment of a door is not on its way any more.  The cookie as it was given. */
static __attribute__((noinline)) uint64_t
take_mark(struct relay_core *c, struct path *p, uint64_t cookie)
{
	bool second = (cookie & COOKIE_DOOR(true)) != 0;
	cookie &= COOKIE_NONE >> (64 - COOKIE_BITS);
	BASE_ASSERT(p->way[second] > 0);
	if (!--p->way[second] && second != p->second && c->doors.ndying)
		wake_at(c, c->now_ns); /* places may be free */
	return cookie == COOKIE_NONE >> (64 - COOKIE_BITS) ? COOKIE_NONE : cookie;
}

static bool
is_marked(uint64_t cookie)
{
	return cookie >> COOKIE_BITS && cookie != COOKIE_NONE;
}

static void
released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct relay_core *c = user;
	see_time(c, now_ns);
	BASE_ASSERT(c->held > 0);
	if (__builtin_expect(is_marked(cookie), 0))
		cookie = take_mark(c, &c->path[path], cookie);
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
			relay_light_acked(c, &c->path[path]);
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
	relay_new_era(c);
	/* What is for a door has one way. */
	c->kept = p->up && !is_marked(seg->cookie) && relay_stray_keep(c, p, seg);
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

static void
stranger(void *user, const struct suci_addr *from, const uint8_t *public_key,
	 const struct seal_peer *known)
{
	struct relay_core *c = user;
	if (c->conf.ops->stranger)
		c->conf.ops->stranger(c->conf.user, from, public_key, known);
}

const struct suci_ops *
relay_ops(void)
{
	static const struct suci_ops ops = {
		.accept = relay_path_accept,
		.path_up = relay_path_up,
		.path_down = relay_path_down,
		.segment = segment,
		.abandoned = abandoned,
		.released = released,
		.note = relay_path_note,
		.stranger = stranger,
		.room = room,
		.buffer = buffer,
		.unbuffer = unbuffer,
	};
	return &ops;
}
