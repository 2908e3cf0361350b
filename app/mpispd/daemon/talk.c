/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes say and are told: sp/client.h.  Cards go to all units of the cluster, and from
 * there to its processes. */
#include "daemon.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WANT_NS (300 * BASE_MS_NS)

static uint8_t out[SP_CLIENT_MAX];
static uint64_t want_ns = BASE_NEVER_NS; /* when to ask for cards that have not come */

/* An epoch of sp/client.h counts from 1. */
static uint64_t
epoch_of(const struct sp_view *v)
{
	return v->epoch + UINT64_C(1);
}

static void
tell_process(struct spd_proc *p, const struct sp_client_msg *m, const struct sp_role *roles)
{
	size_t len = sp_client_write(m, roles, out);

	if (p->fd < 0 || !len)
		return;
	if (send(p->fd, out, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
		return;
	if (errno == EPIPE || errno == ECONNRESET)
		return; /* it ends */
	/* It has not read for long: what it does not know now it would never know. */
	spd_log("%s does not read what it is told (%s); it is ended", spd_proc_name(p),
		strerror(errno));
	spd_proc_kill(p);
}

void
spd_talk_end(struct spd_proc *p, uint32_t why, const char *text)
{
	struct sp_client_msg m = {.type = SP_CLIENT_END, .number = why};

	snprintf(m.text, sizeof m.text, "%s", text);
	tell_process(p, &m, NULL);
}

/* ---- epochs ---- */

static uint32_t
count_takeovers(const struct sp_view *v, uint32_t role)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < v->slots; s++)
		n += v->slot[s].role == role;
	return n ? n - 1 : 0;
}

static struct sp_role *
roles_of_view(const struct sp_view *v)
{
	struct sp_role *role = calloc(v->l.roles, sizeof *role);

	for (uint32_t r = 0; role && r < v->l.roles; r++) {
		uint32_t s = v->role[r];
		role[r] = (struct sp_role){.slot = v->gone[r] ? SP_CLIENT_GONE : s,
					   .takeovers = count_takeovers(v, r)};
		if (s == SP_NONE)
			continue;
		role[r].unit = v->slot[s].unit;
		role[r].ip = spd.ip[spd.group.unit[v->slot[s].unit]];
	}
	return role;
}

static void
tell_card(struct spd_proc *p, uint32_t role)
{
	const struct spd_card *c = &spd.card[role];

	if (c->epoch)
		tell_process(p,
			     &(struct sp_client_msg){.type = SP_CLIENT_CARD,
						     .epoch = c->epoch,
						     .role = role,
						     .body = c->bytes,
						     .n = c->n},
			     NULL);
}

static void
tell_epoch(struct spd_proc *p, const struct sp_view *v, const struct sp_role *roles)
{
	uint32_t mine = p->slot < v->slots && v->slot[p->slot].state == SP_SLOT_ROLE
				? v->slot[p->slot].role
				: SP_NONE;
	bool first = p->role_told == SP_NONE;

	if (!p->hello || p->left || mine == SP_NONE || p->epoch_told == epoch_of(v))
		return;
	if (first && v->epoch)
		spd_log("%s has its role from view %llu on", spd_proc_name(p),
			(unsigned long long)v->number);
	p->epoch_told = epoch_of(v);
	p->role_told = mine;
	tell_process(p,
		     &(struct sp_client_msg){.type = SP_CLIENT_EPOCH,
					     .epoch = p->epoch_told,
					     .view = v->number,
					     .role = mine,
					     .n = v->l.roles},
		     roles);
	for (uint32_t r = 0; first && r < v->l.roles; r++)
		tell_card(p, r);
}

static bool
cards_missing(const struct sp_view *v)
{
	for (uint32_t r = 0; r < spd.cluster->compute; r++)
		if (!v->gone[r] && spd.card[r].epoch != epoch_of(v))
			return true;
	return false;
}

void
spd_talk_follow(const struct sp_view *v, uint64_t now_ns)
{
	struct sp_role *roles = roles_of_view(v);

	for (uint32_t i = 0; roles && i < spd.nproc; i++)
		if (spd.proc[i].pid)
			tell_epoch(&spd.proc[i], v, roles);
	free(roles);
	want_ns = cards_missing(v) ? now_ns + WANT_NS : BASE_NEVER_NS;
}

/* ---- cards ---- */

void
spd_card_came(const struct spd_note *n, uint64_t now_ns)
{
	const struct sp_view *v = spd_view();
	struct spd_card *c = n->role < v->l.roles ? &spd.card[n->role] : NULL;

	(void)now_ns;
	if (!c || n->epoch < c->epoch || n->n > sizeof c->bytes)
		return;
	*c = (struct spd_card){.epoch = n->epoch, .slot = n->slot, .n = n->n};
	memcpy(c->bytes, n->body, n->n);
	for (uint32_t i = 0; i < spd.nproc; i++)
		if (spd.proc[i].pid && spd.proc[i].role_told != SP_NONE && !spd.proc[i].left)
			tell_card(&spd.proc[i], n->role);
}

static struct spd_note
note_of_card(uint32_t role)
{
	const struct spd_card *c = &spd.card[role];

	return (struct spd_note){.type = SPD_NOTE_CARD,
				 .cluster = spd.conf->unit[spd.me].cluster,
				 .epoch = c->epoch,
				 .role = role,
				 .slot = c->slot,
				 .body = c->bytes,
				 .n = c->n};
}

void
spd_card_wanted(uint32_t unit, uint64_t epoch)
{
	const struct sp_view *v = spd_view();

	for (uint32_t r = 0; r < v->l.roles; r++) {
		uint32_t s = spd.card[r].slot;
		if (spd.card[r].epoch < epoch || s >= v->slots || v->slot[s].unit != spd.unit)
			continue;
		struct spd_note n = note_of_card(r);
		spd_net_note(unit, &n);
	}
}

uint64_t
spd_card_turn(uint64_t now_ns)
{
	const struct sp_view *v = spd_view();

	if (!v || spd.ending)
		return BASE_NEVER_NS;
	if (now_ns < want_ns)
		return want_ns;
	if (!cards_missing(v)) {
		want_ns = BASE_NEVER_NS;
		return BASE_NEVER_NS;
	}
	want_ns = now_ns + WANT_NS;
	spd_net_cluster(&(struct spd_note){.type = SPD_NOTE_WANT,
					   .cluster = spd.conf->unit[spd.me].cluster,
					   .epoch = epoch_of(v)});
	return want_ns;
}

/* ---- what a process says ---- */

static void
hear_hello(struct spd_proc *p, uint64_t now_ns)
{
	struct sp_client_msg m = {.type = SP_CLIENT_WELCOME,
				  .compute = spd.cluster->compute,
				  .in_flight = (uint8_t)spd.cluster->in_flight,
				  .token = p->token};

	if (p->hello)
		return;
	p->hello = true;
	spd.early = 0;
	if (!spd_program_fits(p, now_ns))
		return;
	snprintf(m.text, sizeof m.text, "%s", spd.cluster->name);
	snprintf(m.unit, sizeof m.unit, "%s", spd.conf->unit[spd.me].name);
	tell_process(p, &m, NULL);
	if (p->slot == SP_NONE)
		sp_node_ready(spd.node, p->token, now_ns);
	spd.view_is_new = true; /* it has not been told */
}

static void
take_card(struct spd_proc *p, const struct sp_client_msg *m, uint64_t now_ns)
{
	struct spd_note n = {.type = SPD_NOTE_CARD,
			     .cluster = spd.conf->unit[spd.me].cluster,
			     .epoch = m->epoch,
			     .role = p->role_told,
			     .slot = p->slot,
			     .body = m->body,
			     .n = m->n};

	if (p->role_told == SP_NONE || m->epoch != p->epoch_told)
		return; /* of an epoch that is over */
	spd_net_cluster(&n);
	spd_card_came(&n, now_ns);
}

void
spd_abort_all(uint32_t status, const char *text)
{
	struct spd_note n = {.type = SPD_NOTE_ABORT,
			     .cluster = spd.conf->unit[spd.me].cluster,
			     .status = status & 0xff ? status & 0xff : 1};

	snprintf(n.text, sizeof n.text, "%s", text);
	spd_log("%s", n.text);
	spd_net_cluster(&n);
	spd_end((int)n.status, SP_WHY_OPERATOR, n.text);
}

static void
hear_abort(const struct spd_proc *p, const struct sp_client_msg *m)
{
	char text[SP_TEXT_MAX];

	snprintf(text, sizeof text, "%s ends the cluster: %.400s", spd_proc_name(p), m->text);
	spd_abort_all(m->number, text);
}

static void
hear_message(struct spd_proc *p, const struct sp_client_msg *m, uint64_t now_ns)
{
	switch (m->type) {
	case SP_CLIENT_HELLO:
		hear_hello(p, now_ns);
		break;
	case SP_CLIENT_CARD:
		take_card(p, m, now_ns);
		break;
	case SP_CLIENT_LEFT:
		spd_proc_has_left(p);
		break;
	case SP_CLIENT_ABORT:
		hear_abort(p, m);
		break;
	case SP_CLIENT_ALIVE:
		if (p->slot != SP_NONE)
			sp_node_alive(spd.node, p->slot, now_ns);
		break;
	case SP_CLIENT_PATH:
		if (p->slot != SP_NONE)
			sp_node_path_down(spd.node, p->slot, m->number, now_ns);
		break;
	case SP_CLIENT_WELCOME:
	case SP_CLIENT_EPOCH:
	case SP_CLIENT_END:
		break;
	}
}

void
spd_talk_read(struct spd_proc *p, uint64_t now_ns)
{
	static uint8_t in[SP_CLIENT_MAX];
	struct sp_client_msg m;

	for (;;) {
		ssize_t n = recv(p->fd, in, sizeof in, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) { /* its end closed: the program may go on without us */
			close(p->fd);
			p->fd = -1;
			return;
		}
		if (sp_client_read(&m, in, (size_t)n < sizeof in ? (size_t)n : sizeof in)) {
			hear_message(p, &m, now_ns);
			continue;
		}
		spd_log("%s says what makes no sense; is its libmpi of another version?",
			spd_proc_name(p));
		spd_proc_kill(p);
		return;
	}
}
