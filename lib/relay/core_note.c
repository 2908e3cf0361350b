/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes that come in; those that go out are in core_tell.c. */
#include "door_internal.h"

#include "canary.h"

/* A process tells of its own cluster's only: of others their relays do. */
static void
death_from_proc(struct relay_core *c, struct job *j, const struct relay_note *n)
{
	if (n->first + n->count > j->nworld ||
	    (n->count && !RELAY_BUG(DEATH_ANY) &&
	     (n->first < j->first_local || n->first + n->count > j->first_local + j->nlocal))) {
		c->n.notes_bad++;
		return;
	}
	relay_job_tolerates(c, j);
	relay_bury(c, j, n->first, n->count);
}

/* A relay tells of the clients that it speaks for. */
static void
death_from_trunk(struct relay_core *c, struct job *j, uint32_t t, const struct relay_note *n)
{
	bool says = n->count > 0 && n->first + n->count <= j->nworld;

	for (uint32_t r = n->first; says && r < n->first + n->count; r++)
		says = j->trunk_clients[t] >> job_proc(c, j, r)->client & 1;
	if (!says) {
		c->n.notes_bad++;
		return;
	}
	/* A relay that has just been started hears from others before its processes are there. They
	 * say whether the job survives deaths; the other relay says it once. */
	if (j->tolerant)
		relay_bury(c, j, n->first, n->count);
	for (uint32_t r = n->first; r < n->first + n->count; r++)
		job_proc(c, j, r)->flags |= PROC_SAID;
}

static void
note_from_proc(struct relay_core *c, uint32_t path, const struct relay_note *n, const void *note,
	       size_t len)
{
	struct path *p = &c->path[path];
	if (p->job == NONE) {
		c->n.notes_late++;
		return;
	}
	struct job *j = &c->job[p->job];
	if (n->label_base != j->label_base) {
		c->n.notes_bad++;
		return;
	}
	if (n->type == RELAY_NOTE_LEAVE) {
		job_proc(c, j, p->rank)->flags |= PROC_LEFT;
		/* Others would wait for its acks: nothing else holds it until all have them. */
		if (j->tolerant)
			relay_bury(c, j, p->rank, 1);
		j->state = true;
		wake_at(c, c->now_ns);
		return;
	}
	if (n->type == RELAY_NOTE_LOST) {
		relay_lost_from_proc(c, p, n);
		return;
	}
	if (n->type == RELAY_NOTE_LIGHT && c->conf.ops->note_other) {
		c->conf.ops->note_other(c->conf.user, j->label_base, p->rank, note, len);
		return;
	}
	if (n->type == RELAY_NOTE_DEATH) {
		death_from_proc(c, j, n);
		return;
	}
	if (n->type != RELAY_NOTE_ABORT) {
		c->n.notes_bad++;
		return;
	}
	char msg[RELAY_WHY_MAX];
	relay_text_set(msg, "process %u ended the job", p->rank);
	relay_job_abort(c, j, path, n->text[0] ? n->text : msg);
}

static void
trunk_leaves(struct relay_core *c, struct job *j, uint32_t t)
{
	for (uint32_t h = 0; h < j->nhosts; h++)
		if (j->host[h].process && j->host[h].trunk == t)
			j->host[h].left = true;
	for (uint32_t mask = j->trunk_clients[t]; mask; mask &= mask - 1) {
		struct way *w = relay_group_find(&j->group[__builtin_ctz(mask)], t);
		if (w)
			w->left = true;
		/* It may have had no turn to tell of each. */
		if (w && j->tolerant)
			relay_bury_client(c, j, (uint32_t)__builtin_ctz(mask));
	}
}

static void
note_from_trunk(struct relay_core *c, uint32_t path, const struct relay_note *n)
{
	uint32_t t = c->path[path].trunk;
	struct job *j = relay_job_by_base(c, n->label_base);
	if (!j) {
		c->n.notes_late++;
		return;
	}
	if (!j->trunk_clients[t]) {
		c->n.notes_bad++;
		return;
	}
	/* Told late: of a job that had these labels before. */
	if (n->token && n->token != j->token) {
		c->n.notes_stale++;
		return;
	}
	if (n->type == RELAY_NOTE_LEAVE) {
		trunk_leaves(c, j, t);
		return;
	}
	if (n->type == RELAY_NOTE_DEATH) {
		death_from_trunk(c, j, t, n);
		return;
	}
	if (n->type != RELAY_NOTE_ABORT) {
		c->n.notes_bad++;
		return;
	}
	char who[128], at[SUCI_ADDR_TEXT_MAX], msg[RELAY_WHY_MAX];
	relay_clients_text(j->trunk_clients[t], who, sizeof who);
	relay_text_set(msg, "relay %s of %s ended the job", suci_addr_text(&c->trunk[t].addr, at),
		       who);
	relay_job_abort(c, j, path, n->text[0] ? n->text : msg);
}

static void
door_note(struct relay_core *c, uint32_t path, const void *note, size_t len)
{
	if (c->path[path].kind == RELAY_PATH_DOOR || c->path[path].kind == RELAY_PATH_PROC)
		relay_door_from_proc(c, path, note, len);
	else if (c->path[path].kind == RELAY_PATH_TRUNK)
		relay_door_from_trunk(c, c->path[path].trunk, note, len);
	else
		c->n.door_malformed++;
}

void
relay_path_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct relay_core *c = user;
	struct relay_note n;

	see_time(c, now_ns);
	relay_new_era(c);
	c->n.notes_rx++;
	if (len && *(const uint8_t *)note == RELAY_NOTE_DOOR) {
		door_note(c, path, note, len);
		return;
	}
	if (relay_note_decode(note, len, &n) || c->path[path].kind == RELAY_PATH_NONE)
		c->n.notes_bad++;
	else if (n.type == RELAY_NOTE_PING)
		return; /* the endpoint has acknowledged it: that is all it wants */
	else if (n.type == RELAY_NOTE_RELAYS && c->path[path].kind == RELAY_PATH_TRUNK)
		relay_list_from_trunk(c, c->path[path].trunk, note, len);
	else if (c->path[path].kind == RELAY_PATH_PROC)
		note_from_proc(c, path, &n, note, len);
	else if (c->path[path].kind == RELAY_PATH_TRUNK)
		note_from_trunk(c, path, &n);
	else
		c->n.notes_bad++; /* gateways have no say: whoever runs them has */
}
