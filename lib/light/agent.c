/* SPDX-License-Identifier: BSD-2-Clause */
#include "light/agent.h"

#include "base/carve.h"

#include <string.h>

struct job {
	bool used;
	uint64_t key;
	uint32_t label_base, client;
};

struct light_agent {
	struct light_agent_config cfg;
	bool connected;
	struct light_offer offer;
	struct light_slot_row slot[LIGHT_SLOTS_MAX];
	struct light_agent_counters count;
	struct job *job; /* [jobs] */
};

size_t
light_agent_footprint(const struct light_agent_config *cfg)
{
	return base_carved(sizeof(struct light_agent)) +
	       base_carved(cfg->jobs * sizeof(struct job)) + BASE_CARVE_ALIGN;
}

struct light_agent *
light_agent_new(void *mem, const struct light_agent_config *cfg)
{
	uint8_t *at = base_carve_from(mem);
	struct light_agent *a = base_carve(&at, sizeof *a);
	*a = (struct light_agent){.cfg = *cfg};
	a->job = base_carve(&at, cfg->jobs * sizeof *a->job);
	memset(a->job, 0, cfg->jobs * sizeof *a->job);
	return a;
}

static void
send_agent(struct light_agent *a, const struct light_frame *f)
{
	if (a->connected)
		(void)a->cfg.ops->send(a->cfg.user, f);
}

/* ---- processes ---- */

static void
tell_offer(struct light_agent *a, uint32_t label_base, uint32_t rank)
{
	struct light_note n = {.kind = LIGHT_NOTE_OFFER, .u.offer = a->offer};
	uint8_t bytes[LIGHT_NOTE_MAX];
	size_t len = light_note_encode(&n, bytes);
	a->count.notes_down++;
	a->cfg.ops->note(a->cfg.user, label_base, rank, bytes, len);
}

static void
offer_agent(struct light_agent *a, struct light_offer o)
{
	bool news = o.on || a->offer.on;
	a->offer = o;
	for (uint32_t i = 0; news && i < a->cfg.jobs; i++)
		if (a->job[i].used)
			tell_offer(a, a->job[i].label_base, LIGHT_ANY);
}

void
light_agent_proc(struct light_agent *a, uint32_t label_base, uint32_t rank)
{
	if (a->offer.on)
		tell_offer(a, label_base, rank);
}

static struct job *
by_label(struct light_agent *a, uint32_t label_base)
{
	for (uint32_t i = 0; i < a->cfg.jobs; i++)
		if (a->job[i].used && a->job[i].label_base == label_base)
			return &a->job[i];
	return NULL;
}

static void
tell_agent_job(struct light_agent *a, const struct job *j)
{
	struct light_frame f = {
		.type = LIGHT_FRAME_JOB, .key = j->key, .client = (uint8_t)j->client};
	send_agent(a, &f);
}

void
light_agent_job(struct light_agent *a, uint64_t key, uint32_t label_base, uint32_t client)
{
	struct job *j = by_label(a, label_base);
	for (uint32_t i = 0; i < a->cfg.jobs && !j; i++)
		if (!a->job[i].used)
			j = &a->job[i];
	if (!j || client >= LIGHT_CLIENTS)
		return; /* more than we were told to expect: without light */
	*j = (struct job){true, key, label_base, client};
	tell_agent_job(a, j);
}

void
light_agent_job_end(struct light_agent *a, uint32_t label_base)
{
	struct job *j = by_label(a, label_base);
	if (!j)
		return;
	struct light_frame f = {.type = LIGHT_FRAME_JOB_END, .key = j->key};
	j->used = false;
	send_agent(a, &f);
}

/* Its list of algorithms need not be ours: no word of it reaches the controller. */
static void
refuse_call(struct light_agent *a, uint32_t label_base, uint32_t rank, const struct light_call *k)
{
	struct light_note n = {.kind = LIGHT_NOTE_CLEAR_TO_SEND, .counts = 1};
	uint8_t bytes[LIGHT_NOTE_MAX];
	n.u.count[0] =
		(struct light_count){k->comm, k->leader, k->seq, LIGHT_ANY, LIGHT_ANY, UINT32_MAX};
	a->count.calls_refused++;
	a->count.notes_down++;
	a->cfg.ops->note(a->cfg.user, label_base, LIGHT_ANY, bytes, light_note_encode(&n, bytes));
	if (a->cfg.ops->refused)
		a->cfg.ops->refused(a->cfg.user, label_base, rank, LIGHT_TEXT_BY_INDEX);
}

void
light_agent_note(struct light_agent *a, uint32_t label_base, uint32_t rank, const uint8_t *note,
		 size_t len)
{
	struct job *j = by_label(a, label_base);
	struct light_note n;
	uint8_t clients[LIGHT_NOTE_RANKS];
	struct light_frame f = {
		.type = LIGHT_FRAME_NOTE, .rank = rank, .note = note, .note_len = (uint16_t)len};
	bool ok = len <= LIGHT_NOTE_MAX && light_note_decode(note, len, &n) == LIGHT_ERR_OK &&
		  light_note_is_up(n.kind);
	if (ok && n.kind == LIGHT_NOTE_COMM) {
		for (uint32_t i = 0; i < n.u.piece.n && ok; i++) {
			uint32_t k =
				a->cfg.ops->client_of(a->cfg.user, label_base, n.u.piece.rank[i]);
			clients[i] = (uint8_t)k;
			ok = k < LIGHT_CLIENTS;
		}
		f.clients = clients;
		f.nclients = n.u.piece.n;
	}
	if (!ok) {
		a->count.bad_notes++;
		return;
	}
	if (!j)
		return;
	if (n.kind == LIGHT_NOTE_CALL_BY_INDEX) {
		refuse_call(a, label_base, rank, &n.u.call);
		return;
	}
	f.key = j->key;
	a->count.notes_up++;
	send_agent(a, &f);
}

/* ---- links ---- */

static void
say_state(struct light_agent *a, uint32_t link, uint32_t slot, enum base_lightpath state)
{
	struct light_frame f = {.type = LIGHT_FRAME_LINK,
				.link = link,
				.slot = (uint8_t)slot,
				.state = (uint8_t)state};
	send_agent(a, &f);
}

void
light_agent_state(struct light_agent *a, uint32_t slot, enum base_lightpath state)
{
	struct light_slot_row *s = slot < LIGHT_SLOTS_MAX ? &a->slot[slot] : NULL;
	if (!s || s->state == BASE_LIGHTPATH_DARK)
		return;
	bool up = state == BASE_LIGHTPATH_OPEN;
	if (state == BASE_LIGHTPATH_DRAINED && s->state != BASE_LIGHTPATH_CLOSING)
		return; /* not asked for: of the one before */
	a->count.links_up += up;
	a->count.links_failed += state == BASE_LIGHTPATH_FAILED;
	if (!up)
		s->state = BASE_LIGHTPATH_DARK;
	else if (s->state == BASE_LIGHTPATH_OPENING)
		s->state = BASE_LIGHTPATH_OPEN;
	say_state(a, s->link, slot, state);
}

static bool
link_up_agent(struct light_agent *a, const struct light_frame *f)
{
	if (f->slot >= a->cfg.hello.n)
		return false;
	a->slot[f->slot] = (struct light_slot_row){.state = BASE_LIGHTPATH_OPENING,
						   .link = f->link,
						   .relay = f->peer,
						   .light = f->light};
	a->count.links++;
	a->cfg.ops->light(a->cfg.user, f->slot, f->peer, f->light);
	return true;
}

static bool
link_down_agent(struct light_agent *a, const struct light_frame *f)
{
	if (f->slot >= a->cfg.hello.n)
		return false;
	struct light_slot_row *s = &a->slot[f->slot];
	if (s->state == BASE_LIGHTPATH_DARK || s->link != f->link) {
		say_state(a, f->link, f->slot, BASE_LIGHTPATH_DRAINED);
		return true;
	}
	s->state = BASE_LIGHTPATH_CLOSING;
	a->cfg.ops->dark(a->cfg.user, f->slot);
	return true;
}

/* ---- the session ---- */

void
light_agent_connected(struct light_agent *a)
{
	struct light_frame f = {.type = LIGHT_FRAME_HELLO, .hello = a->cfg.hello};
	a->connected = true;
	a->count.sessions++;
	send_agent(a, &f);
	for (uint32_t i = 0; i < a->cfg.jobs; i++)
		if (a->job[i].used)
			tell_agent_job(a, &a->job[i]);
}

void
light_agent_lost(struct light_agent *a)
{
	a->connected = false;
	for (uint32_t i = 0; i < a->cfg.hello.n; i++) {
		if (a->slot[i].state != BASE_LIGHTPATH_DARK)
			a->cfg.ops->dark(a->cfg.user, i);
		a->slot[i].state = BASE_LIGHTPATH_DARK;
	}
	offer_agent(a, (struct light_offer){0});
}

static bool
note_down(struct light_agent *a, const struct light_frame *f)
{
	if (f->note_len < LIGHT_NOTE_HEAD)
		return false;
	for (uint32_t i = 0; i < a->cfg.jobs; i++) {
		const struct job *j = &a->job[i];
		if (!j->used || j->key != f->key)
			continue;
		a->count.notes_down++;
		a->cfg.ops->note(a->cfg.user, j->label_base, f->rank, f->note, f->note_len);
	}
	return true;
}

bool
light_agent_heard(struct light_agent *a, const struct light_frame *f)
{
	switch ((enum light_frame_type)f->type) {
	case LIGHT_FRAME_NOTE:
		return note_down(a, f);
	case LIGHT_FRAME_LINK_UP:
		return link_up_agent(a, f);
	case LIGHT_FRAME_LINK_DOWN:
		return link_down_agent(a, f);
	case LIGHT_FRAME_OFFER:
		offer_agent(a, f->offer);
		return true;
	case LIGHT_FRAME_PING:
		return true;
	case LIGHT_FRAME_HELLO:
	case LIGHT_FRAME_JOB:
	case LIGHT_FRAME_JOB_END:
	case LIGHT_FRAME_LINK:
		break;
	}
	return false;
}

const struct light_agent_counters *
light_agent_counters(const struct light_agent *a)
{
	return &a->count;
}

bool
light_agent_is_connected(const struct light_agent *a)
{
	return a->connected;
}

struct light_slot_row
light_agent_slot(const struct light_agent *a, uint32_t slot)
{
	return slot < LIGHT_SLOTS_MAX ? a->slot[slot] : (struct light_slot_row){0};
}
