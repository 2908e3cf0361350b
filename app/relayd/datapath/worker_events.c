/* SPDX-License-Identifier: BSD-2-Clause */
/* What a worker and its relay core tell control: events, without waiting. */
#include "worker.h"
#include "worker_internal.h"

#include "base/clock.h"
#include "custody.h"

#include <string.h>

#include <bsd/string.h>

/* ---- events ---------------------------------------------------------------- */

struct rd_event *
rd_worker_event(struct rd_worker *w, bool important)
{
	if (!important && base_ring_count(&w->box->event_free) <= RD_EVENTS_RESERVED) {
		w->count.events_lost++;
		return NULL;
	}
	struct rd_event *e = base_ring_pop(&w->box->event_free);
	if (!e)
		w->count.events_lost++;
	else
		e->worker = (uint8_t)w->index;
	return e;
}

void
rd_worker_post(struct rd_worker *w, struct rd_event *e)
{
	if (!base_ring_push(&w->box->events, e)) /* as many slots as events */
		w->count.events_lost++;
	rd_wake_up(w->box->wake);
}

/* ---- relay core ops ---------------------------------------------------------- */

static void
core_job_ended(void *user, uint32_t label_base, const char *why)
{
	struct rd_worker *w = user;
	struct rd_event *e = rd_worker_event(w, true);
	if (!e)
		return;
	e->type = RD_EVENT_JOB_ENDED;
	e->job.label_base = label_base;
	strlcpy(e->text, why ? why : "", sizeof e->text);
	rd_worker_post(w, e);
}

static void
core_path(struct rd_worker *w, enum rd_event_type type, const struct suci_addr *peer,
	  const char *what, const char *why)
{
	struct rd_event *e = rd_worker_event(w, false);
	if (!e)
		return;
	e->type = type;
	e->log.peer = *peer;
	strlcpy(e->log.what, what ? what : "", sizeof e->log.what);
	strlcpy(e->text, why ? why : "", sizeof e->text);
	rd_worker_post(w, e);
}

static void
core_path_up(void *user, uint32_t path, const struct suci_addr *peer, const char *what)
{
	struct rd_worker *w = user;
	bool light = peer->leg >= RELAY_LEG_LIGHT;
	uint32_t cc = light ? w->conf->optical.cc : w->suci.global_cc;
	bool differs = cc != w->suci.private_cc || cc == RD_CC_FIXED;
	if (differs && peer->leg != RELAY_LEG_PRIVATE && w->nfresh < RD_FRESH_MAX) {
		w->fresh[w->nfresh].path = path;
		w->fresh[w->nfresh++].light = light;
	}
	if (!light) /* RD_EVENT_LIGHT tells */
		core_path(w, RD_EVENT_PATH_UP, peer, what, NULL);
}

static void
core_path_down(void *user, uint32_t path, const struct suci_addr *peer, const char *what,
	       const char *why)
{
	(void)path;
	if (peer->leg < RELAY_LEG_LIGHT)
		core_path(user, RD_EVENT_PATH_DOWN, peer, what, why);
}

/* Sites ask again and again, and one line tells it all: not each time. */
static void
core_stranger(void *user, const struct suci_addr *from, const uint8_t *public_key,
	      const struct seal_peer *known)
{
	struct rd_worker *w = user;
	if (w->stranger_ns && w->now_ns - w->stranger_ns < BASE_S_NS)
		return;
	struct rd_event *e = rd_worker_event(w, false);
	if (!e)
		return;
	w->stranger_ns = w->now_ns;
	e->type = RD_EVENT_STRANGER;
	e->log.peer = *from;
	*e->log.what = '\0';
	if (public_key)
		seal_hex(public_key, e->log.what);
	strlcpy(e->text, known ? known->name : "", sizeof e->text);
	rd_worker_post(w, e);
}

static void
core_job_state(void *user, uint32_t label_base, uint32_t ways, bool left, bool tolerant)
{
	struct rd_worker *w = user;
	struct rd_event *e = rd_worker_event(w, true);
	if (!e)
		return;
	e->type = RD_EVENT_JOB_STATE;
	e->job.label_base = label_base;
	e->job.ways = ways;
	e->job.left = left;
	e->job.tolerant = tolerant;
	rd_worker_post(w, e);
}

static void
core_light_state(void *user, uint32_t slot, enum base_lightpath state)
{
	struct rd_worker *w = user;
	struct rd_event *e = rd_worker_event(w, true);
	if (!e)
		return;
	e->type = RD_EVENT_LIGHT;
	e->light.slot = slot;
	e->light.state = state;
	rd_worker_post(w, e);
}

static void
core_proc_up(void *user, uint32_t label_base, uint32_t rank)
{
	struct rd_worker *w = user;
	struct rd_event *e = w->conf->optical.nports ? rd_worker_event(w, true) : NULL;
	if (!e)
		return;
	e->type = RD_EVENT_PROC;
	e->light.label_base = label_base;
	e->light.rank = rank;
	rd_worker_post(w, e);
}

static void
core_note(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note, size_t len)
{
	struct rd_worker *w = user;
	if (!w->conf->optical.nports)
		return; /* it had no offer from us */
	struct rd_note *n = w->note_spare ? w->note_spare : base_ring_pop(&w->box->note_free);
	w->note_spare = NULL;
	struct rd_event *e = n ? rd_worker_event(w, false) : NULL;
	if (!e) {
		w->count.notes_lost++;
		w->note_spare = n;
		return;
	}
	memcpy(n->bytes, note, len);
	n->len = (uint16_t)len;
	e->type = RD_EVENT_NOTE;
	e->light.label_base = label_base;
	e->light.rank = rank;
	e->light.note = n;
	rd_worker_post(w, e);
}

const struct relay_core_ops *
rd_worker_core_ops(void)
{
	static const struct relay_core_ops ops = {
		.writable = rd_custody_writable,
		.hold = rd_custody_hold,
		.release = rd_custody_release,
		.buffer = rd_custody_buffer,
		.job_ended = core_job_ended,
		.path_up = core_path_up,
		.path_down = core_path_down,
		.stranger = core_stranger,
		.job_state = core_job_state,
		.light_state = core_light_state,
		.proc_up = core_proc_up,
		.note_other = core_note,
	};
	return &ops;
}
