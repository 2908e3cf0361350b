/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes with doors, and the world they are in: sim/doors.h. */
#include "doors.h"
#include "pieces.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/addr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUESTION   1u
#define ANSWER	   2u
#define PAYLOAD	   24u	 /* kind, from door, to door, import, number, by which relay */
#define PROC_PATHS 1024u /* of one: so many notes may be under way */

void
doors_conf_default(struct doors_conf *c)
{
	*c = (struct doors_conf){.nclusters = 2,
				 .relays = 1,
				 .procs = 3,
				 .lan_ns = 50 * BASE_US_NS,
				 .wan_ns = 10 * BASE_MS_NS,
				 .doors_max = 512,
				 .imports_max = 128,
				 .per_proc_max = 64,
				 .asks_per_s = 1000,
				 .most = 4096,
				 .lost_ns = 4 * BASE_S_NS};
}

bool
doors_owns(const struct doors *w, const struct doors_proc *p, uint32_t door)
{
	const struct doors_door *d = door < w->ndoors ? &w->door[door] : NULL;
	return d && d->proc == p->index && d->life == p->life && d->state == DOOR_STATE_OPEN;
}

/* ---- a process ---------------------------------------------------------------------- */

static sim_fn wake_proc;

static void
drive_proc(struct doors_proc *p)
{
	door_guest_send(&p->g);
	door_guest_sleep(&p->g, BASE_NEVER_NS, wake_proc, p);
}

static void
turn_proc(struct doors_proc *p)
{
	p->g.say_ns = BASE_NEVER_NS;
	door_guest_turn(&p->g);
}

static void
wake_proc(struct sim *s, void *who, uint64_t at)
{
	struct doors_proc *p = who;
	if (!p->alive || !door_guest_wakes(&p->g, at))
		return;
	if (s->now_ns >= p->g.say_ns)
		turn_proc(p);
	drive_proc(p);
}

/* Its relays, or it, are gone: so is all it had. */
static void
lose_all(struct doors_proc *p)
{
	struct doors *w = p->w;
	p->up = false;
	p->npeers = 0;
	for (uint32_t i = 0; i < w->ndoors; i++)
		if (w->door[i].proc == p->index && w->door[i].life == p->life &&
		    w->door[i].state <= DOOR_STATE_OPEN) {
			w->door[i].state = DOOR_STATE_GONE;
			w->door[i].gone_ns = w->s->now_ns;
		}
	for (uint32_t i = 0; i < w->nimports; i++)
		if (w->import[i].proc == p->index && w->import[i].life == p->life &&
		    w->import[i].state <= IMPORT_HELD)
			w->import[i].state = IMPORT_DROPPED;
	p->life++;
}

static void
proc_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	size_t hello_len, bool incoming)
{
	struct doors_proc *p = user;
	(void)peer, (void)incoming;
	p->up = true;
	SIM_CHECK(p->w->s, door_sites_up(&p->g.sites, path, hello, hello_len, p->w->s->now_ns),
		  "process %u: no relay", p->index);
}

/* What it had at that relay alone. */
static void
lose_some(struct doors_proc *p, uint32_t site)
{
	struct doors *w = p->w;
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peer[i].site == site)
			p->peer[i--] = p->peer[--p->npeers];
	for (uint32_t i = 0; i < p->client.owns; i++) {
		struct doors_door *d = &w->door[p->own[i].whose];
		if (p->own[i].state != DOOR_CLIENT_WANTED || d->state != DOOR_STATE_OPEN)
			continue;
		d->state = DOOR_STATE_GONE;
		d->gone_ns = w->s->now_ns;
		door_client_close(&p->client, i);
		for (uint32_t k = 0; k < w->nimports; k++)
			if (w->import[k].own == p->own[i].whose &&
			    w->import[k].state <= IMPORT_HELD) {
				w->import[k].state = IMPORT_DROPPED;
				door_client_drop(&p->client, w->import[k].place);
			}
	}
}

static void
proc_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct doors_proc *p = user;
	(void)text;
	if (!p->alive)
		return;
	uint32_t site = door_sites_at(&p->g.sites, path);
	sim_log(p->w->s, "process %u: its relay is gone (%u)", p->index, (unsigned)why);
	door_sites_down(&p->g.sites, site, false, p->w->s->now_ns);
	if (p->client.up) {
		lose_some(p, site);
		return;
	}
	lose_all(p);
	for (uint32_t i = 0; i < p->client.owns; i++)
		door_client_close(&p->client, i);
	for (uint32_t i = 0; i < p->client.imports; i++)
		door_client_drop(&p->client, i);
	p->g.say_ns = 0;
}

static void
free_payload(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	(void)user, (void)path, (void)fate, (void)now_ns;
	free((void *)(uintptr_t)cookie);
}

static void
send_segment(struct doors_proc *p, uint32_t site, uint32_t dst, uint32_t src,
	     const uint32_t what[5])
{
	uint8_t *data = malloc(PAYLOAD);
	BASE_ASSERT(data);
	memset(data, 0, PAYLOAD);
	for (uint32_t i = 0; i < 5; i++)
		be32_store(data + 4 * i, what[i]);
	if (p->w->conf.relays > 1)
		be32_store(data + 20, door_guest_relay(&p->g, site)->index + 1);
	struct suci_segment seg = {.dst_label = dst,
				   .src_label = src,
				   .flags = SUCI_SF_FIRST | SUCI_SF_LAST,
				   .mss = PAYLOAD,
				   .block_bytes = PAYLOAD,
				   .data = data,
				   .data_len = PAYLOAD,
				   .cookie = (uintptr_t)data};
	if (!p->client.site[site].up ||
	    suci_path_send(p->g.ep, p->g.sites.site[site].path, &seg, p->w->s->now_ns))
		free(data);
}

void
doors_note(struct doors_proc *p, const void *note, size_t len)
{
	if (!p->up)
		return;
	bool said = door_sites_say(&p->g.sites, !p->client.site[0].up, note, len, p->w->s->now_ns);
	BASE_ASSERT(said || p->evil);
}

/* The door of ours that has the label, or NONE. */
static uint32_t
own_door(const struct doors_proc *p, uint32_t label)
{
	uint32_t place = door_client_mine(&p->client, label);
	return place == DOOR_CLIENT_NONE ? DOORS_NONE : p->own[place].whose;
}

/* Who we do not import is held, and stays who it is. */
static void
know_peer(struct doors_proc *p, uint32_t site, uint32_t label, uint32_t door, uint32_t by)
{
	struct sim *s = p->w->s;
	for (uint32_t i = 0; i < p->npeers; i++) {
		if (p->peer[i].site != site || p->peer[i].label != label || p->peer[i].told)
			continue;
		INVARIANT(s, REACH, p->peer[i].by == by,
			  "process %u: label %u asked by relay %u and asks by relay %u", p->index,
			  label, p->peer[i].by, by);
		INVARIANT(s, REACH, p->peer[i].door == door,
			  "process %u: label %u was door %u and is door %u", p->index, label,
			  p->peer[i].door, door);
		return;
	}
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peer[i].told)
			p->peer[i--] = p->peer[--p->npeers];
	if (p->npeers == DOORS_PEERS)
		return;
	if (door_client_hold(&p->client, site, label))
		p->peer[p->npeers++] = (struct doors_peer){site, label, door, by, false};
}

static void
take_question(struct doors_proc *p, uint32_t site, const struct suci_segment *seg,
	      const uint32_t what[6])
{
	struct doors *w = p->w;
	struct doors_door *to = &w->door[what[2]];
	if (!to->first_ns)
		to->first_ns = w->s->now_ns;
	know_peer(p, site, seg->src_label, what[1], what[5]);
	uint32_t back[5] = {ANSWER, what[2], what[1], what[3], what[4]};
	send_segment(p, site, seg->src_label, seg->dst_label, back);
}

static void
take_reply(struct doors_proc *p, const struct suci_segment *seg, const uint32_t what[6])
{
	struct doors *w = p->w;
	struct doors_import *m = &w->import[what[3]];
	if (m->proc != p->index || m->life != p->life || m->state != IMPORT_HELD)
		return;
	INVARIANT(w->s, REACH, seg->src_label == m->label && m->target == what[1],
		  "process %u: what it asked label %u is answered by label %u, door %u for %u",
		  p->index, m->label, seg->src_label, what[1], m->target);
	INVARIANT(w->s, REACH, !m->by || m->by == what[5],
		  "process %u: import %u went by relay %u, goes by relay %u, and is not told",
		  p->index, what[3], m->by, what[5]);
	m->by = what[5];
	if (what[4] != m->asked)
		return;
	w->answers += m->answered != m->asked;
	m->answered = m->asked;
	m->wait_ns = base_max_ns(m->wait_ns, w->s->now_ns - m->asked_ns);
}

static enum suci_verdict
take_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct doors_proc *p = user;
	struct doors *w = p->w;
	uint32_t what[6] = {0}, site = door_sites_at(&p->g.sites, path);
	(void)now_ns;
	if (seg->data_len != PAYLOAD) {
		invariant_broken(w->s, INV_BYTES, "process %u: %u bytes for %u", p->index,
				 seg->data_len, PAYLOAD);
		return SUCI_DROPPED;
	}
	for (uint32_t i = 0; i < 6; i++)
		what[i] = be32_load(seg->data + 4 * i);
	uint32_t door = own_door(p, seg->dst_label);
	if (door == DOORS_NONE)
		return SUCI_DROPPED; /* it left, or its address is still under way */
	INVARIANT(w->s, REACH, what[2] == door && what[1] < w->ndoors,
		  "process %u: what is for door %u came to door %u", p->index, what[2], door);
	INVARIANT(w->s, REACH, w->door[what[1]].realm == w->door[door].realm,
		  "process %u: door %u hears door %u of another realm", p->index, door, what[1]);
	if (w->s->failed)
		return SUCI_DROPPED;
	if (what[0] == QUESTION)
		take_question(p, site, seg, what);
	else
		take_reply(p, seg, what);
	return SUCI_TAKEN;
}

/* Whoever gets it finds that it is not for it. */
static void
forge_question(struct doors_proc *p, uint32_t site, uint32_t dst, uint32_t src)
{
	uint32_t what[5] = {QUESTION, 0, DOORS_NONE, 0, 0};
	p->w->forged_segments++;
	send_segment(p, site, dst, src, what);
}

/* ---- what its client of doors wants, and tells ---- */

static void
take_address(void *user, uint32_t own)
{
	struct doors_proc *p = user;
	const struct door_client_own *o = &p->own[own];
	struct doors_door *d = &p->w->door[o->whose];
	INVARIANT(p->w->s, REACH, d->proc == p->index && d->place == own,
		  "process %u: door %u is not its", p->index, o->whose);
	if (o->state != DOOR_CLIENT_HAVE) {
		d->state = DOOR_STATE_REFUSED;
		door_client_close(&p->client, own);
		return;
	}
	d->at = o->at;
	p->w->given += o->claimed;
	d->len = (uint8_t)door_address_encode(&d->at, d->address);
	d->state = DOOR_STATE_OPEN;
	INVARIANT(p->w->s, REACH, d->len && d->at.n == d->n && d->at.realm == d->realm,
		  "process %u: the address of door %u is not its", p->index, o->whose);
}

static void
take_import(void *user, uint32_t import)
{
	struct doors_proc *p = user;
	struct doors *w = p->w;
	uint32_t i = p->import[import].whose;
	struct doors_import *m = &w->import[i];
	m->label = p->import[import].label;
	if (p->import[import].state == DOOR_CLIENT_NAMED) {
		m->named = true;
		/* Who has no proof has its words dropped. */
		if (m->target == DOORS_NONE)
			forge_question(p, p->import[import].site, m->label,
				       w->door[m->own].at.label);
		return;
	}
	if (m->state == IMPORT_HELD)
		return; /* reached anew, by the same label */
	INVARIANT(w->s, PROOF, m->target != DOORS_NONE,
		  "process %u: import %u proves nothing and was granted", p->index, i);
	m->since_ns = w->s->now_ns;
	m->state = IMPORT_HELD;
}

static void
lose_one(void *user, uint32_t import, enum door_client_lost why)
{
	struct doors_proc *p = user;
	struct doors *w = p->w;
	struct doors_import *m = &w->import[p->import[import].whose];
	if (why == DOOR_CLIENT_RESET) {
		w->resets++;
		m->by = 0;
		m->named = m->named && p->import[import].state != DOOR_CLIENT_WANTED;
		if (p->import[import].state == DOOR_CLIENT_WANTED && m->state == IMPORT_HELD)
			m->state = IMPORT_ASKED;
	}
	if (why == DOOR_CLIENT_RELAY || why == DOOR_CLIENT_RESET)
		return;
	m->since_ns = w->s->now_ns;
	m->state = why == DOOR_CLIENT_GONE ? IMPORT_GONE : IMPORT_REFUSED;
	if (why == DOOR_CLIENT_GONE)
		w->told++;
	else
		w->refused++;
	door_client_drop(&p->client, import);
}

static void
hear_left(void *user, uint32_t site, uint32_t label)
{
	struct doors_proc *p = user;
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peer[i].site == site && p->peer[i].label == label)
			p->peer[i].told = true;
}

static const struct door_client_ops client_of_proc = {.say = door_guest_say,
						      .wake = door_guest_wake,
						      .opened = take_address,
						      .reached = take_import,
						      .lost = lose_one,
						      .left = hear_left};

static void
take_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct doors_proc *p = user;
	(void)now_ns;
	door_client_note(&p->client, door_sites_at(&p->g.sites, path), note, len);
}

static const struct suci_ops proc_ops = {.accept = door_guest_refuse,
					 .path_up = proc_up,
					 .path_down = proc_down,
					 .segment = take_segment,
					 .released = free_payload,
					 .note = take_note};

static void
deliver_proc(struct sim *s, void *who, uint64_t b)
{
	struct doors_proc *p = who;
	if (!p->alive) {
		door_guest_bounce(&p->g, b);
		return;
	}
	door_guest_take(&p->g, b);
	if (s->now_ns >= p->g.say_ns)
		turn_proc(p);
	drive_proc(p);
}

void
doors_start_proc(struct doors_proc *p)
{
	struct door_client_conf conf = {.ops = &client_of_proc, .user = p};
	door_guest_start_bare(&p->g, &p->client, ++p->life, PROC_PATHS, &proc_ops);
	be64_store(conf.secret, base_prng_next(&p->w->prng));
	memset(p->own, 0, sizeof p->own);
	memset(p->import, 0, sizeof p->import);
	door_client_init(&p->client, &conf, p->own, DOORS_OWN, p->import, DOORS_IMPORTS);
	p->alive = true;
	p->up = false;
	turn_proc(p);
	drive_proc(p);
}

void
doors_kill_proc(struct doors_proc *p)
{
	if (!p->alive)
		return;
	sim_log(p->w->s, "process %u dies", p->index);
	p->alive = false;
	suci_fini(p->g.ep, p->w->s->now_ns);
	door_guest_end(&p->g);
	lose_all(p);
}

/* ---- what processes do ----------------------------------------------------------------- */

uint32_t
doors_register(struct doors_proc *p, uint16_t n, uint64_t realm)
{
	struct doors *w = p->w;
	uint32_t i = w->ndoors;
	uint32_t place = p->up && i < w->conf.most ? doors_open(p, n, realm, i) : DOOR_CLIENT_NONE;
	if (place == DOOR_CLIENT_NONE)
		return DOORS_NONE;
	w->ndoors++;
	w->door[i] = (struct doors_door){.proc = p->index,
					 .life = p->life,
					 .place = place,
					 .n = n,
					 .realm = realm,
					 .asked_ns = w->s->now_ns};
	turn_proc(p);
	drive_proc(p);
	return i;
}

uint32_t
doors_import(struct doors_proc *p, uint32_t own, uint32_t target, const struct door_address *at)
{
	struct doors *w = p->w;
	uint32_t i = w->nimports;
	uint32_t place = p->up && i < w->conf.most
				 ? door_client_import(&p->client, at, w->door[own].place, i)
				 : DOOR_CLIENT_NONE;
	if (place == DOOR_CLIENT_NONE)
		return DOORS_NONE;
	w->nimports++;
	w->import[i] = (struct doors_import){.proc = p->index,
					     .life = p->life,
					     .own = own,
					     .target = target,
					     .place = place,
					     .since_ns = w->s->now_ns};
	turn_proc(p);
	drive_proc(p);
	return i;
}

void
doors_leave(struct doors *w, uint32_t door)
{
	struct doors_door *d = &w->door[door];
	struct doors_proc *p = &w->proc[d->proc];
	if (!doors_owns(w, p, door))
		return;
	d->state = DOOR_STATE_GONE;
	d->gone_ns = w->s->now_ns;
	for (uint32_t i = 0; i < w->nimports; i++)
		if (w->import[i].own == door && w->import[i].proc == p->index &&
		    w->import[i].life == p->life && w->import[i].state <= IMPORT_HELD)
			doors_drop(w, i);
	door_client_close(&p->client, d->place);
	turn_proc(p);
	drive_proc(p);
}

/* Also while it is asked for. */
void
doors_drop(struct doors *w, uint32_t import)
{
	struct doors_import *m = &w->import[import];
	struct doors_proc *p = &w->proc[m->proc];
	if (m->life != p->life || !p->up || m->state > IMPORT_HELD)
		return;
	m->state = IMPORT_DROPPED;
	door_client_drop(&p->client, m->place);
	turn_proc(p);
	drive_proc(p);
}

void
doors_ask(struct doors *w, uint32_t import)
{
	struct doors_import *m = &w->import[import];
	struct doors_proc *p = &w->proc[m->proc];
	bool may = m->state == IMPORT_HELD || (m->state == IMPORT_ASKED && m->named);
	if (m->life != p->life || !may || !doors_owns(w, p, m->own) || m->target == DOORS_NONE)
		return;
	m->asked++;
	m->asked_ns = w->s->now_ns;
	w->questions++;
	uint32_t what[5] = {QUESTION, m->own, m->target, import, m->asked};
	send_segment(p, p->import[m->place].site, m->label, w->door[m->own].at.label, what);
	drive_proc(p);
}

void
doors_ask_labels(struct doors_proc *p, uint32_t dst, uint32_t src)
{
	if (!p->up)
		return;
	forge_question(p, !p->client.site[0].up, dst, src);
	drive_proc(p);
}

/* ---- the world --------------------------------------------------------------------------- */

void
doors_cut(struct doors *w, uint32_t a, uint32_t b, bool down)
{
	for (uint32_t i = a; i < w->nrelays; i += w->conf.nclusters)
		for (uint32_t k = b; k < w->nrelays; k += w->conf.nclusters) {
			w->s->link[w->wan[i][k]].down = down;
			w->s->link[w->wan[k][i]].down = down;
		}
	sim_log(w->s, "clusters %u and %u: %s", a, b, down ? "cut" : "joined");
}

void
doors_lose(struct doors *w, uint32_t loss_ppb)
{
	for (uint32_t a = 0; a < w->nrelays; a++)
		for (uint32_t b = 0; b < w->nrelays; b++)
			if (w->relay[a].cluster != w->relay[b].cluster)
				w->s->link[w->wan[a][b]].conf.loss_ppb = loss_ppb;
}

static void
lay_links(struct doors *w)
{
	struct sim *s = w->s;
	const struct doors_conf *c = &w->conf;
	struct sim_link_conf wan = {
		.delay_ns = c->wan_ns, .loss_ppb = c->loss_ppb, .rate_bps = c->wan_bytes_s};
	for (uint32_t a = 0; a < w->nrelays; a++)
		for (uint32_t b = 0; b < w->nrelays; b++) {
			if (w->relay[a].cluster == w->relay[b].cluster)
				continue;
			w->wan[a][b] = sim_add_link(s, &wan);
			sim_set_route(s, w->relay[a].port[RELAY_LEG_GLOBAL],
				      w->relay[b].port[RELAY_LEG_GLOBAL], &w->wan[a][b], 1);
		}
}

struct doors *
doors_new(uint64_t seed, bool verbose, const struct doors_conf *c)
{
	struct doors *w = calloc(1, sizeof *w);
	BASE_ASSERT(w && c->nclusters <= DOORS_CLUSTERS);
	w->s = sim_new(seed);
	w->s->verbose = verbose;
	w->conf = *c;
	w->prng = base_prng_seed(seed ^ 0xd00d);
	w->nprocs = c->nclusters * c->procs;
	w->nrelays = c->nclusters * c->relays;
	w->proc = calloc(w->nprocs, sizeof *w->proc);
	w->door = calloc(c->most, sizeof *w->door);
	w->import = calloc(c->most, sizeof *w->import);
	BASE_ASSERT(w->proc && w->door && w->import);
	for (uint32_t i = 0; i < w->nrelays; i++) {
		struct doors_relay *r = &w->relay[i];
		r->w = w;
		r->index = i;
		r->cluster = i % c->nclusters;
		r->ipv4[RELAY_LEG_PRIVATE] =
			0x0a0000fe - i / c->nclusters; /* the same in every cluster */
		r->ipv4[RELAY_LEG_GLOBAL] = 0xc0000201 + i;
		r->port[RELAY_LEG_PRIVATE] = sim_add_port(w->s, r, doors_deliver_relay, r->cluster,
							  r->ipv4[RELAY_LEG_PRIVATE]);
		r->port[RELAY_LEG_GLOBAL] = sim_add_port(w->s, r, doors_deliver_relay, DOORS_WAN,
							 r->ipv4[RELAY_LEG_GLOBAL]);
	}
	for (uint32_t i = 0; i < w->nprocs; i++) {
		struct doors_proc *p = &w->proc[i];
		p->w = w;
		p->index = i;
		door_guest_place(&p->g, w, i, deliver_proc, p);
	}
	lay_links(w);
	for (uint32_t i = 0; i < w->nrelays; i++)
		doors_start_relay(&w->relay[i]);
	for (uint32_t i = 0; i < w->nprocs; i++)
		doors_start_proc(&w->proc[i]);
	return w;
}

void
doors_pass(struct doors *w, uint64_t ns)
{
	if (!w->s->failed)
		sim_run(w->s, w->s->now_ns + ns, NULL, NULL);
}

void
doors_check(struct doors *w)
{
	struct sim *s = w->s;
	for (uint32_t i = 0; i < w->nrelays && !s->failed; i++) {
		const struct doors_relay *r = &w->relay[i];
		const char *what = "";
		struct relay_door_info d;
		if (!r->alive)
			continue;
		relay_core_doors(r->core, &d);
		/* Those asked for, and those that our own processes were offered with. */
		uint32_t most = (w->conf.imports_max + d.own) *
				((w->conf.nclusters - 1) * w->conf.relays + (w->rogue != NULL));
		INVARIANT(s, MEMORY, d.exports <= most, "relay %u: %u exports, %u may be", i,
			  d.exports, most);
		INVARIANT(s, MEMORY,
			  d.own <= w->conf.procs * w->conf.per_proc_max &&
				  d.holds <= 2 * w->conf.doors_max,
			  "relay %u: %u doors and %u holds", i, d.own, d.holds);
		INVARIANT(s, TABLES, relay_core_check(r->core, &what), "relay %u: %s", i, what);
		INVARIANT(s, TABLES, suci_check(r->ep, &what), "relay %u: %s", i, what);
	}
	for (uint32_t i = 0; i < w->nprocs && !s->failed; i++) {
		const char *what = door_client_check(&w->proc[i].client);
		INVARIANT(s, TABLES, !what, "process %u: %s", i, what);
	}
	sim_check_links(s);
}

void
doors_finish(struct doors *w, struct outcome *o)
{
	struct sim *s = w->s;
	uint64_t left = 0;
	for (uint32_t i = 0; i < w->nprocs; i++)
		doors_kill_proc(&w->proc[i]);
	for (uint32_t i = 0; i < w->nrelays; i++)
		doors_kill_relay(&w->relay[i]);
	doors_rogue_free(w->rogue);
	for (uint32_t i = 0; i < s->nlink; i++)
		left += s->link[i].inside;
	INVARIANT(s, EMPTY, s->buf_live == left, "%llu receive buffers are still held",
		  (unsigned long long)(s->buf_live - left));
	sim_outcome(s, o);
	free(w->proc);
	free(w->door);
	free(w->import);
	sim_free(s);
	free(w);
}
