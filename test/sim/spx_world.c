/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of lib/spx, their programs, and their master: sim/spx_world.h. */
#include "spx_world.h"

#include "draw.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NETWORK	   1u
#define RETRY_NS   (4 * BASE_MS_NS)
#define POLL_NS	   (6 * BASE_MS_NS)
#define FILTERED   0x5a
#define CHECK_EACH 32u
#define POISONED   101u
#define LOST_WORDS 2u /* that somebody died with it: who has it from another one does not know */

static sim_fn wake_node;

static uint32_t
id_of_node(const struct spxw_node *n)
{
	return n->index + 1;
}

static const char *const cluster_names[] = {"input", "filter", "filter2", "output"};

/* ---- frames --------------------------------------------------------------------- */

static void
draw_frame(uint32_t origin, uint64_t number, uint8_t bytes[SPXW_FRAME_BYTES])
{
	struct base_prng p = base_prng_seed(number * 31 + origin);

	be64_store(bytes, number);
	be32_store(bytes + 8, origin);
	be32_store(bytes + 12, 0); /* filters passed */
	for (uint32_t i = 16; i < SPXW_FRAME_BYTES; i++)
		bytes[i] = (uint8_t)base_prng_next(&p);
}

static void
filter_frame(const uint8_t *in, uint8_t *out)
{
	memcpy(out, in, 16);
	be32_store(out + 12, be32_load(in + 12) + 1);
	for (uint32_t i = 16; i < SPXW_FRAME_BYTES; i++)
		out[i] = in[i] ^ FILTERED;
}

static void
check_frame_bytes(struct spxw_node *n, const struct spx_frame *f)
{
	struct spxw *w = n->w;
	uint8_t made[SPXW_FRAME_BYTES], want[SPXW_FRAME_BYTES];
	bool last = n->cluster == SPXW_OUTPUT;

	draw_frame(f->origin, f->number, made);
	filter_frame(made, want);
	bool raw = f->len == sizeof made && !memcmp(f->bytes, made, sizeof made);
	bool good = f->len == sizeof want && !memcmp(f->bytes, want, sizeof want);
	INVARIANT(w->s, BYTES, last ? good || (raw && w->conf.on_lost == SPX_BYPASS) : raw,
		  "frame %llu of rank %u is not what was sent, at %s rank %u",
		  (unsigned long long)f->number, f->origin & 0xffff, cluster_names[n->cluster],
		  n->rank);
	w->bypassed += last && raw;
}

/* ---- what must hold as a frame begins ------------------------------------------------ */

static struct spxw_truth *
truth_of(struct spxw *w, uint32_t origin, uint64_t number)
{
	BASE_ASSERT((origin & 0xffff) < SPXW_ORIGINS_MAX && number < SPXW_FRAMES_MAX);
	return &w->truth[origin & 0xffff][number];
}

static bool
lives(const struct spxw *w, uint32_t plus_one)
{
	return plus_one && w->node[plus_one - 1].alive;
}

static uint64_t
given_up_by(const struct spx *x)
{
	return spx_counters(x)->dropped + spx_counters(x)->aside;
}

/* By whoever lives or lived: frames that no program of the output may have seen. */
static uint64_t
dropped_frames(const struct spxw *w)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->nnode; i++)
		n += w->node[i].alive ? given_up_by(w->node[i].x) : w->node[i].dropped;
	return n;
}

static bool
is_poison(const struct spxw_node *n, const struct spx_frame *f)
{
	bool filters = n->cluster == SPXW_FILTER || n->cluster == SPXW_FILTER2;

	return n->w->conf.aside && filters && (f->number * 7 + f->origin) % POISONED == 3;
}

/* Of those that count its deaths some die as well, and some words get lost. */
static void
die_of_frame(struct spxw_node *n)
{
	struct spxw *w = n->w;
	uint32_t most = w->conf.aside * (1 + w->lost_io) + LOST_WORDS;
	uint32_t killed = ++truth_of(w, n->now.origin, n->now.number)->killed;

	INVARIANT(w->s, COMPLETE, killed <= most,
		  "frame %llu of rank %u has ended %u processes, and is to be set aside after %u",
		  (unsigned long long)n->now.number, n->now.origin & 0xffff, killed, w->conf.aside);
	spxw_kill(w, n);
}

static void
check_begin(struct spxw_node *n, const struct spx_frame *f)
{
	struct spxw *w = n->w;
	struct spxw_truth *t = truth_of(w, f->origin, f->number);
	unsigned long long number = f->number;
	uint32_t rank = f->origin & 0xffff;

	INVARIANT(w->s, ONCE, !f->lost || w->conf.in_flight != SPX_DROP,
		  "frame %llu of rank %u begins at process %u: who had it died, and it is to be "
		  "given up",
		  number, rank, id_of_node(n));
	INVARIANT(w->s, ONCE, !lives(w, t->by),
		  "frame %llu of rank %u begins at process %u, but %u has it or had it", number,
		  rank, id_of_node(n), t->by);
	INVARIANT(w->s, ONCE, f->again || !t->begun,
		  "frame %llu of rank %u begins a second time, and says it is the first", number,
		  rank);
	INVARIANT(w->s, ONCE, !lives(w, t->root),
		  "frame %llu of rank %u begins, but its origin has forgotten it", number, rank);
	w->repeats += t->finished > 0;
	for (uint32_t i = 0; i < w->nnode && w->conf.ordered; i++) {
		const struct spxw_node *m = &w->node[i];
		INVARIANT(w->s, LEAD,
			  m == n || !m->alive || !m->working || m->cluster != SPXW_OUTPUT ||
				  m->now.origin != f->origin,
			  "frames of rank %u are begun by processes %u and %u at once", rank,
			  id_of_node(n), id_of_node(m));
	}
	uint64_t may_lack = dropped_frames(w);
	for (uint64_t k = 0; k < f->number && w->conf.ordered; k++) {
		if (truth_of(w, f->origin, k)->finished)
			continue;
		INVARIANT(w->s, ORDER, may_lack > 0,
			  "frame %llu of rank %u begins before frame %llu has ended", number, rank,
			  (unsigned long long)k);
		may_lack -= may_lack > 0;
	}
	t->begun++;
	t->by = id_of_node(n);
}

/* ---- programs ----------------------------------------------------------------------- */

static void drive_node(struct spxw_node *n);
static sim_fn end_work;

static void
note_ready(void *user)
{
	struct spxw_node *n = user;

	if (n->working || !spx_begin(n->x, &n->now, n->w->s->now_ns))
		return;
	struct spxw *w = n->w;
	n->working = true;
	w->begun_again += n->now.again;
	if (!w->first_of[n->cluster])
		w->first_of[n->cluster] = w->s->now_ns;
	check_frame_bytes(n, &n->now);
	if (n->cluster == SPXW_OUTPUT)
		check_begin(n, &n->now);
	uint64_t work = w->conf.work_ns[n->cluster];
	sim_at(w->s, w->s->now_ns + work / 2 + base_prng_below(&w->prng, work + 1), end_work, n, 0);
}

static void
end_work(struct sim *s, void *who, uint64_t arg)
{
	struct spxw_node *n = who;
	uint8_t out[SPXW_FRAME_BYTES];

	(void)arg;
	if (!n->alive)
		return;
	if (is_poison(n, &n->now)) {
		die_of_frame(n);
		return;
	}
	n->w->done_by[n->cluster]++;
	if (n->cluster == SPXW_OUTPUT) {
		n->w->finished += !truth_of(n->w, n->now.origin, n->now.number)->finished++;
	} else {
		filter_frame(n->now.bytes, out);
		spx_put(n->x, n->now.origin, n->now.number, out, sizeof out, s->now_ns);
	}
	INVARIANT(s, HONEST, spx_finish(n->x, n->now.origin, n->now.number, s->now_ns),
		  "what was begun cannot be finished at process %u", id_of_node(n));
	n->working = false;
	note_ready(n);
	drive_node(n);
}

static sim_fn make_more;

static void
note_room(void *user)
{
	struct spxw_node *n = user;
	struct spxw *w = n->w;
	uint8_t bytes[SPXW_FRAME_BYTES];
	uint64_t number;
	bool again;

	if (n->kind != SPX_COMPUTE || n->cluster != SPXW_INPUT)
		return;
	while (spx_next(n->x, &number, &again) && number < w->conf.frames) {
		if (w->conf.work_ns[SPXW_INPUT] && w->s->now_ns < n->pace_ns)
			return;
		n->pace_ns = w->s->now_ns + w->conf.work_ns[SPXW_INPUT];
		draw_frame(SPX_ROLE(SPXW_INPUT, n->rank), number, bytes);
		INVARIANT(w->s, HONEST,
			  spx_put(n->x, SPX_ROLE(SPXW_INPUT, n->rank), number, bytes, sizeof bytes,
				  w->s->now_ns),
			  "rank %u cannot put the frame that it was asked for", n->rank);
		if (w->conf.work_ns[SPXW_INPUT])
			sim_at(w->s, n->pace_ns, make_more, n, 0);
	}
}

static void
make_more(struct sim *s, void *who, uint64_t arg)
{
	struct spxw_node *n = who;

	(void)s, (void)arg;
	if (!n->alive)
		return;
	note_room(n);
	drive_node(n);
}

static void
note_done(void *user, uint32_t origin, uint64_t number)
{
	struct spxw_node *n = user;
	struct spxw_truth *t = truth_of(n->w, origin, number);

	if (n->cluster != SPXW_INPUT)
		return;
	INVARIANT(n->w->s, PLACED, t->finished || dropped_frames(n->w),
		  "frame %llu of rank %u is committed, but was never finished",
		  (unsigned long long)number, n->rank);
	n->w->committed += !t->root;
	t->root = id_of_node(n);
}

static void
log_event(void *user, const struct spx_event *e)
{
	struct spxw_node *n = user;

	sim_log(n->w->s, "process %u: %s", id_of_node(n), e->text);
	if (e->kind != SPX_EVENT_ASIDE)
		return;
	struct spxw_truth *t = truth_of(n->w, e->origin, e->number);
	INVARIANT(n->w->s, ALIVE, t->killed || !n->w->conf.fatal,
		  "frame %llu of rank %u is set aside, and it ends nobody",
		  (unsigned long long)e->number, e->origin & 0xffff);
	n->w->aside += !t->aside;
	t->aside = true;
}

static void *
get_frame_memory(void *user, size_t bytes)
{
	struct spxw_node *n = user;
	const struct spxw_conf *c = &n->w->conf;
	/* Chains that are added again have a window of 8; and a frame is copied as it comes. */
	uint32_t window = c->window > 8 ? c->window : 8;
	uint32_t most = 2u * c->ranks[SPXW_INPUT] * window + 2;

	n->pieces++;
	INVARIANT(n->w->s, MEMORY, n->pieces <= most,
		  "process %u holds %u frames, %u are its bound", id_of_node(n), n->pieces, most);
	return malloc(bytes);
}

static void
put_frame_memory(void *user, void *p)
{
	struct spxw_node *n = user;

	n->pieces--;
	free(p);
}

/* ---- a node ---------------------------------------------------------------------------- */

static void
send_from_node(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
	       size_t len)
{
	struct spxw_node *n = user;
	struct sim_piece piece[2] = {{head, head_len}, {frame, len}};

	sim_send(n->w->s, n->port, to, piece, 2);
}

static void
check_spx_node(struct spxw_node *n)
{
	const char *what;

	if (++n->checks % CHECK_EACH)
		return;
	if (spx_check(n->x, &what))
		return;
	INVARIANT(n->w->s, TIMER, !strstr(what, "timer") && !strstr(what, "nothing asks"),
		  "process %u: %s", id_of_node(n), what);
	INVARIANT(n->w->s, TABLES, false, "process %u: %s", id_of_node(n), what);
}

static void
drive_node(struct spxw_node *n)
{
	uint64_t at = spx_expiry_ns(n->x);

	check_spx_node(n);
	if (at == BASE_NEVER_NS || at == n->wake_ns)
		return;
	n->wake_ns = at;
	sim_at(n->w->s, base_max_ns(at, n->w->s->now_ns), wake_node, n, at);
}

static void
wake_node(struct sim *s, void *who, uint64_t at)
{
	struct spxw_node *n = who;

	if (!n->alive || n->w->over || at != n->wake_ns)
		return;
	n->wake_ns = BASE_NEVER_NS;
	spx_tick(n->x, s->now_ns);
	drive_node(n);
}

static void
deliver_message(struct sim *s, void *who, uint64_t buf)
{
	struct spxw_node *n = who;
	const struct sim_buf *b = &s->buf[buf];

	if (!n->alive || n->w->over)
		return;
	const struct spx_counts *c = spx_counters(n->x);
	const struct spx_view *v = spx_view_of(n->x);
	uint32_t from = s->port[b->from].ipv4;
	const struct spx_proc *p = spx_view_proc(v, from);
	bool other = be64_load(b->data + 8) != v->number || !p || p->state == SPX_DEAD;
	uint64_t dropped = c->epoch + c->stranger;
	INVARIANT(s, HONEST, spx_on_message(n->x, from, b->data, b->len, s->now_ns),
		  "process %u: a malformed message of process %u", id_of_node(n), from);
	INVARIANT(s, EPOCH, !other || c->epoch + c->stranger > dropped,
		  "process %u takes a message of another view, or of the dead process %u",
		  id_of_node(n), from);
	drive_node(n);
}

struct spxw_node *
spxw_add(struct spxw *w, enum spx_kind kind, uint16_t cluster, uint16_t rank, uint16_t takeovers,
	 enum spxw_side side)
{
	static const struct spx_ops ops = {send_from_node, note_ready, note_room,
					   note_done,	   log_event,  NULL};
	static struct spx_memory memory[SPXW_NODES_MAX];
	const struct spxw_conf *c = &w->conf;

	BASE_ASSERT(w->nnode < SPXW_NODES_MAX);
	struct spxw_node *n = &w->node[w->nnode];
	struct spx_conf x = {.id = w->nnode + 1,
			     .procs_max = SPXW_NODES_MAX,
			     .origins_max = SPXW_ORIGINS_MAX,
			     .window_max = 64,
			     .room = c->room,
			     .ahead = c->ahead,
			     .frame_max = SPXW_FRAME_BYTES,
			     .in_flight = c->in_flight,
			     .aside = c->aside,
			     .retry_ns = RETRY_NS,
			     .retry_max_ns = 16 * RETRY_NS,
			     .poll_ns = POLL_NS,
			     .stall_ns = 500 * BASE_MS_NS,
			     .start_ns = 200 * BASE_MS_NS};
	struct sim_link_conf link = {.delay_ns = c->delay_ns,
				     .loss_ppb = c->loss_ppb,
				     .dup_ppb = c->dup_ppb,
				     .reorder_ppb = c->reorder_ppb,
				     .reorder_ns = 4 * c->delay_ns};

	*n = (struct spxw_node){.w = w,
				.index = w->nnode++,
				.kind = kind,
				.cluster = cluster,
				.rank = rank,
				.takeovers = takeovers,
				.side = side,
				.alive = true,
				.wake_ns = BASE_NEVER_NS};
	n->port = sim_add_port(w->s, n, deliver_message, NETWORK, id_of_node(n));
	n->out_link = sim_add_link(w->s, &link);
	n->in_link = sim_add_link(w->s, &link);
	for (uint32_t i = 0; i < n->index; i++) {
		const struct spxw_node *m = &w->node[i];
		sim_set_route(w->s, n->port, m->port, (uint32_t[]){n->out_link, m->in_link}, 2);
		sim_set_route(w->s, m->port, n->port, (uint32_t[]){m->out_link, n->in_link}, 2);
	}
	memory[n->index] = (struct spx_memory){get_frame_memory, put_frame_memory, n};
	n->mem = malloc(spx_bytes(&x));
	BASE_ASSERT(n->mem);
	n->x = spx_new(n->mem, &x, &ops, n, &memory[n->index], w->s->now_ns);
	w->proc[n->index] = (struct spx_proc){.id = id_of_node(n),
					      .cluster = cluster,
					      .rank = rank,
					      .kind = kind,
					      .ready = true,
					      .weight = (uint16_t)(1 + n->index % 3),
					      .takeovers = takeovers};
	w->view.nproc = w->nnode;
	return n;
}

/* ---- the master -------------------------------------------------------------------------- */

static void
show_view(struct sim *s, void *who, uint64_t arg)
{
	struct spxw_node *n = who;
	char why[SPX_TEXT_MAX];

	(void)arg;
	if (!n->alive || n->w->over)
		return;
	if (n->isolated) {
		sim_at(s, s->now_ns + 10 * BASE_MS_NS, show_view, n, 0);
		return;
	}
	bool ok = spx_install(n->x, &n->w->view, s->now_ns, why);
	INVARIANT(s, HONEST, ok, "process %u refuses a view: %s", id_of_node(n), why);
	drive_node(n);
}

void
spxw_publish(struct spxw *w)
{
	w->view.number++;
	for (uint32_t i = 0; i < w->nnode; i++) {
		const struct spxw_node *n = &w->node[i];
		struct spx_proc *p = &w->proc[i];
		if (n->known_dead)
			p->state = SPX_DEAD;
		for (uint32_t c = 0; n->kind == SPX_IO && c < w->view.nchain; c++)
			if (n->side == SPXW_BEFORE ? w->chain[c].from == SPXW_INPUT
						   : w->chain[c].to == SPXW_OUTPUT)
				p->chains |= SPX_CHAIN_BIT(c);
		if (n->alive)
			sim_at(w->s, w->s->now_ns + base_prng_below(&w->prng, 1 + w->conf.view_ns),
			       show_view, &w->node[i], 0);
	}
}

void
spxw_ops(struct spxw *w, const char *ops)
{
	char why[SPX_TEXT_MAX];
	bool ok = spx_chain_ops(&w->view, w->chain, &w->view.nchain, ops, strlen(ops), why);

	sim_log(w->s, "master: %s: %s", ops, ok ? "done" : why);
	if (ok)
		spxw_publish(w);
}

static void
replace_node(struct sim *s, void *who, uint64_t arg)
{
	struct spxw_node *n = who;
	struct spxw *w = n->w;

	(void)s, (void)arg;
	if (w->over || w->nnode == SPXW_NODES_MAX)
		return;
	/* The cluster may have been started again meanwhile. */
	if (n->kind == SPX_COMPUTE && spx_view_role(&w->view, SPX_ROLE(n->cluster, n->rank))) {
		spxw_publish(w);
		return;
	}
	spxw_add(w, n->kind, n->cluster, n->rank, (uint16_t)(n->takeovers + 1), n->side);
	spxw_publish(w);
}

static void
notice_death(struct sim *s, void *who, uint64_t arg)
{
	struct spxw_node *n = who;
	struct spxw *w = n->w;

	(void)arg;
	if (w->over)
		return;
	n->known_dead = true;
	w->proc[n->index].state = SPX_DEAD;
	sim_log(s, "master: process %u is dead", id_of_node(n));
	if (w->conf.takeover_ns) {
		spxw_publish(w);
		sim_at(s, s->now_ns + w->conf.takeover_ns, replace_node, n, 0);
	} else { /* the spare is in the same view */
		replace_node(s, n, 0);
	}
}

static void
stop_node(struct spxw_node *n)
{
	sim_log(n->w->s, "process %u (%s %s rank %u) dies", id_of_node(n),
		n->kind == SPX_IO ? "I/O" : "computing", cluster_names[n->cluster], n->rank);
	n->dropped = given_up_by(n->x);
	n->w->lost_io += n->kind == SPX_IO;
	n->alive = false;
	n->working = false;
}

void
spxw_kill(struct spxw *w, struct spxw_node *n)
{
	if (!n->alive)
		return;
	stop_node(n);
	sim_at(w->s, w->s->now_ns + w->conf.detect_ns, notice_death, n, 0);
}

static void
notice_cluster(struct sim *s, void *who, uint64_t cluster)
{
	struct spxw *w = who;

	(void)s;
	if (w->over)
		return;
	for (uint32_t i = 0; i < w->nnode; i++)
		if (w->node[i].kind == SPX_COMPUTE && w->node[i].cluster == cluster &&
		    !w->node[i].alive) {
			w->node[i].known_dead = true;
			w->proc[i].state = SPX_DEAD;
		}
	w->cluster[cluster].lost = true;
	spxw_publish(w);
}

static void
restart_cluster(struct sim *s, void *who, uint64_t cluster)
{
	struct spxw *w = who;

	(void)s;
	if (w->over)
		return;
	w->cluster[cluster].lost = false;
	for (uint16_t r = 0; r < w->conf.ranks[cluster]; r++)
		if (!spx_view_role(&w->view, SPX_ROLE(cluster, r)))
			spxw_add(w, SPX_COMPUTE, (uint16_t)cluster, r, 1, 0);
	spxw_publish(w);
}

void
spxw_kill_cluster(struct spxw *w, uint16_t cluster, uint64_t back_ns)
{
	if (w->cluster[cluster].lost || !w->cluster[cluster].compute)
		return;
	for (uint32_t i = 0; i < w->nnode; i++)
		if (w->node[i].kind == SPX_COMPUTE && w->node[i].cluster == cluster &&
		    w->node[i].alive)
			stop_node(&w->node[i]);
	sim_at(w->s, w->s->now_ns + w->conf.detect_ns, notice_cluster, w, cluster);
	sim_at(w->s, w->s->now_ns + w->conf.detect_ns + back_ns, restart_cluster, w, cluster);
}

static void
fence_node(struct sim *s, void *who, uint64_t arg)
{
	struct spxw_node *n = who;

	(void)s, (void)arg;
	if (!n->isolated || !n->alive)
		return;
	spxw_kill(n->w, n);
}

static void
join_again(struct sim *s, void *who, uint64_t arg)
{
	struct spxw_node *n = who;

	(void)arg;
	n->isolated = false;
	s->link[n->out_link].down = s->link[n->in_link].down = false;
}

void
spxw_isolate(struct spxw *w, struct spxw_node *n, uint64_t ns)
{
	if (!n->alive || n->isolated)
		return;
	sim_log(w->s, "process %u is cut off for %llu us", id_of_node(n),
		(unsigned long long)(ns / 1000));
	n->isolated = true;
	w->s->link[n->out_link].down = w->s->link[n->in_link].down = true;
	sim_at(w->s, w->s->now_ns + ns, join_again, n, 0);
	if (ns > w->conf.lease_ns)
		sim_at(w->s, w->s->now_ns + w->conf.lease_ns, fence_node, n, 0);
}

void
spxw_start_second(struct spxw *w)
{
	char ops[160];

	if (w->cluster[SPXW_FILTER2].compute)
		return;
	w->cluster[SPXW_FILTER2].compute = (uint16_t)w->conf.ranks[SPXW_FILTER2];
	for (uint16_t r = 0; r < w->conf.ranks[SPXW_FILTER2]; r++)
		spxw_add(w, SPX_COMPUTE, SPXW_FILTER2, r, 0, 0);
	snprintf(ops, sizeof ops,
		 "add input filter2 window=%u policy=%s on_lost=%s; "
		 "add filter2 output window=%u on_lost=wait%s",
		 w->conf.window, spx_policy_name(w->conf.policy), spx_on_lost_name(w->conf.on_lost),
		 w->conf.window, w->conf.ordered ? " ordered" : "");
	spxw_ops(w, ops);
}

/* ---- the whole --------------------------------------------------------------------------- */

struct spxw *
spxw_new(uint64_t seed, bool verbose, const struct spxw_conf *c)
{
	struct spxw *w = calloc(1, sizeof *w);
	char ops[160];

	BASE_ASSERT(w);
	w->s = sim_new(seed);
	w->s->verbose = verbose;
	w->conf = *c;
	w->prng = base_prng_seed(seed ^ 0x59c1);
	w->view = (struct spx_view){.ncluster = SPXW_CLUSTERS,
				    .proc = w->proc,
				    .cluster = w->cluster,
				    .chain = w->chain};
	for (uint16_t k = 0; k < SPXW_CLUSTERS; k++) {
		snprintf(w->cluster[k].name, SPX_NAME_MAX, "%s", cluster_names[k]);
		if (k == SPXW_FILTER2)
			continue;
		w->cluster[k].compute = (uint16_t)c->ranks[k];
		for (uint16_t r = 0; r < c->ranks[k]; r++)
			spxw_add(w, SPX_COMPUTE, k, r, 0, 0);
	}
	for (uint32_t side = 0; side < SPXW_SIDES; side++)
		for (uint32_t i = 0; i < c->io[side]; i++)
			spxw_add(w, SPX_IO, SPXW_FILTER, 0, 0, side);
	snprintf(ops, sizeof ops,
		 "add input filter window=%u policy=%s on_lost=%s\n"
		 "add filter output window=%u on_lost=wait%s",
		 c->window, spx_policy_name(c->policy), spx_on_lost_name(c->on_lost), c->window,
		 c->ordered ? " ordered" : "");
	spxw_ops(w, ops);
	if (c->second)
		spxw_start_second(w);
	return w;
}

static uint64_t
frames_in_all(const struct spxw *w)
{
	return (uint64_t)w->conf.frames * w->conf.ranks[SPXW_INPUT];
}

bool
spxw_complete(void *who)
{
	const struct spxw *w = who;

	if (w->finished + dropped_frames(w) < frames_in_all(w))
		return false;
	for (uint32_t i = 0; i < w->nnode; i++)
		if (w->node[i].alive && spx_busy(w->node[i].x))
			return false;
	return true;
}

void
spxw_check_end(struct spxw *w)
{
	INVARIANT(w->s, COMPLETE, w->finished + dropped_frames(w) >= frames_in_all(w),
		  "%llu of %llu frames are taken, %llu given up", (unsigned long long)w->finished,
		  (unsigned long long)frames_in_all(w), (unsigned long long)dropped_frames(w));
	for (uint32_t i = 0; i < w->nnode; i++) {
		struct spxw_node *n = &w->node[i];
		if (!n->alive)
			continue;
		INVARIANT(w->s, COMPLETE, !spx_busy(n->x),
			  "process %u still has %u frames when all is committed", id_of_node(n),
			  spx_busy(n->x));
		INVARIANT(w->s, EMPTY, !n->pieces, "process %u holds %u pieces of memory",
			  id_of_node(n), n->pieces);
		n->checks = CHECK_EACH - 1;
		check_spx_node(n);
	}
	sim_check_links(w->s);
}

void
spxw_free(struct spxw *w, struct outcome *o)
{
	o->hash = w->s->hash;
	o->events = w->s->events;
	o->virtual_ns = w->s->now_ns - BASE_S_NS;
	o->ok = !w->s->failed;
	o->broken = w->s->broken;
	snprintf(o->why, sizeof o->why, "%s", w->s->why);
	w->over = true;
	for (uint32_t i = 0; i < w->nnode; i++) {
		spx_end(w->node[i].x);
		free(w->node[i].mem);
	}
	sim_free(w->s);
	free(w);
}
