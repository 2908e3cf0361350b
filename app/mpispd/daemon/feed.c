/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of a pipeline: what they say and are told (spx/feed.h), on every node the same view.
 * Where they can be reached goes to all units beside the view. */
#include "daemon.h"

#include "base/clock.h"
#include "spx/feed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WANT_NS	  (300 * BASE_MS_NS) /* between two questions for addresses */
#define BEHIND_NS (20 * BASE_MS_NS)  /* before a process that did not read is told again */
#define IN_ROOM	  8192u

static uint8_t *frame;
static size_t frame_room, frame_len;
static const char **address; /* [slots_max] of view's processes */
static uint64_t want_ns = BASE_NEVER_NS, behind_ns = BASE_NEVER_NS;

/* Who waits for a change of chains: a process, by its question. */
static struct {
	struct spd_proc *proc;
	pid_t pid;
	uint32_t number;
	bool asked;
	spd_asked_fn *tell; /* an operator's; NULL: a process asks */
	uint64_t given_up;
} ask;

/* ---- telling ---- */

static void
tell_feed(const struct spd_proc *p, const struct spx_feed *f)
{
	uint8_t bytes[2 * SPX_FEED_TEXT];
	size_t n = spx_feed_write(bytes, sizeof bytes, f);

	if (p->fd >= 0 && n)
		(void)!send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

_Static_assert((int)SPX_EPOCH == SP_IN_FLIGHT_EPOCH && (int)SPX_ULFM == SP_IN_FLIGHT_ULFM &&
		       (int)SPX_DROP == SP_IN_FLIGHT_DROP,
	       "the same three");

void
spd_feed_begin(struct spd_proc *p)
{
	const struct spd_conf *c = spd.conf;
	struct in_addr a = {htonl(spd.ip[spd.me])};
	char ip[INET_ADDRSTRLEN] = "";
	const char *relay = spd_relay_of_unit(c, spd.me);
	struct spx_feed f = {.type = SPX_FEED_SETUP, .realm = c->hash};

	if (p->told_id || p->slot == SP_NONE)
		return;
	p->told_id = true;
	inet_ntop(AF_INET, &a, ip, sizeof ip);
	f.conf = (struct spx_conf){.id = spx_id_of_slot(&spd.group.agreed, p->slot),
				   .procs_max = c->slots_max,
				   .origins_max = 32,
				   .window_max = SPX_WINDOW_MAX,
				   .room = c->room,
				   .ahead = c->ahead,
				   .frame_max = c->frame_max,
				   .aside = c->set_aside,
				   .in_flight = (enum spx_in_flight)spd.cluster->in_flight,
				   .retry_ns = 20 * BASE_MS_NS,
				   .retry_max_ns = 500 * BASE_MS_NS,
				   .poll_ns = 5 * BASE_MS_NS,
				   .stall_ns = c->stall_ms * BASE_MS_NS,
				   .start_ns = c->missing_ms * BASE_MS_NS};
	f.ip = (struct spx_feed_text){ip, (uint32_t)strlen(ip)};
	f.relay = (struct spx_feed_text){relay, (uint32_t)strlen(relay)};
	tell_feed(p, &f);
}

void
spd_feed_end(struct spd_proc *p)
{
	tell_feed(p, &(struct spx_feed){.type = SPX_FEED_OVER});
}

/* The newest view.  A process that does not read misses some: the next one makes up for them. */
static void
tell_view(struct spd_proc *p)
{
	if (!p->pid || !p->feed || p->fd < 0 || !p->told_id)
		return;
	ssize_t n = send(p->fd, frame, frame_len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n == (ssize_t)frame_len) {
		p->behind = false;
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		p->behind = true;
		behind_ns = spd_now_ns() + BEHIND_NS;
		return;
	}
	if (n < 0)
		return; /* it ends */
	spd_log("%s does not read what it is told; it is ended", spd_proc_name(p));
	spd_proc_kill(p);
}

static bool
write_view(void)
{
	uint32_t i = 0;

	for (; i < spd.told->nproc; i++)
		address[i] = spd.door[spx_slot_of_id(&spd.group.agreed, spd.told->proc[i].id)];
	size_t bytes = spx_feed_view_bytes(spd.told);
	if (bytes > frame_room) {
		free(frame);
		frame_room = 2 * bytes;
		frame = malloc(frame_room);
	}
	if (!frame) {
		frame_room = 0;
		return false;
	}
	frame_len = spx_feed_write_view(frame, frame_room, spd.told, address);
	return frame_len > 0;
}

static bool
lacks_address(const struct sp_view *v)
{
	for (uint32_t s = 0; s < v->slots; s++)
		if (v->slot[s].ready && sp_slot_lives(v, s) && !spd.door[s][0])
			return true;
	return false;
}

static void
say_role(struct spd_proc *p, const struct sp_view *v)
{
	bool again = false;

	if (!p->pid || p->slot == SP_NONE || p->slot >= v->slots ||
	    v->slot[p->slot].state != SP_SLOT_ROLE || p->role_told == v->slot[p->slot].role)
		return;
	p->role_told = v->slot[p->slot].role;
	for (uint32_t s = 0; s < v->slots; s++)
		again |= s != p->slot && v->slot[s].role == p->role_told;
	if (p->slot >= spd.group.roles)
		spd_say("%s %s in view %llu", spd_proc_name(p), again ? "takes over" : "begins",
			(unsigned long long)v->number);
}

void
spd_feed_follow(const struct sp_view *v, uint64_t now_ns)
{
	if (!spd.told)
		spd.told = spd_pipeline_tables();
	if (!address)
		address = calloc(spd.conf->slots_max, sizeof *address);
	if (spd.told)
		spd_pipeline_view(v, spd.told);
	if (!spd.told || !address || !write_view()) {
		spd_end(1, SP_WHY_OPERATOR, "out of memory");
		return;
	}
	for (uint32_t i = 0; i < spd.nproc; i++) {
		if (!spd.proc[i].pid)
			continue;
		spd_feed_begin(&spd.proc[i]);
		say_role(&spd.proc[i], v);
		tell_view(&spd.proc[i]);
	}
	if (lacks_address(v))
		want_ns = base_min_ns(want_ns, now_ns + WANT_NS / 10);
	spd_pipeline_lead(v, spd.told, now_ns);
	spd_end_if_done();
}

/* ---- addresses ---- */

static struct spd_note
note_of_door(uint32_t slot)
{
	struct spd_note n = {
		.type = SPD_NOTE_DOOR, .cluster = spd.conf->unit[spd.me].cluster, .slot = slot};

	snprintf(n.text, sizeof n.text, "%s", spd.door[slot]);
	return n;
}

void
spd_door_came(uint32_t slot, const char *text)
{
	if (slot >= spd.conf->slots_max || strlen(text) >= SPX_ADDRESS_MAX)
		return;
	snprintf(spd.door[slot], sizeof spd.door[slot], "%s", text);
	spd.view_is_new = true; /* the same one, told with it */
}

void
spd_doors_wanted(uint32_t unit)
{
	for (uint32_t i = 0; i < spd.nproc; i++) {
		const struct spd_proc *p = &spd.proc[i];
		if (!p->pid || p->slot == SP_NONE || !spd.door[p->slot][0])
			continue;
		struct spd_note n = note_of_door(p->slot);
		spd_net_note(unit, &n);
	}
}

/* ---- what processes say ---- */

static void
hear_feed_hello(struct spd_proc *p, const struct spx_feed *f, uint64_t now_ns)
{
	bool first = !p->hello;

	if (p->slot == SP_NONE || f->text.len >= SPX_ADDRESS_MAX)
		return;
	p->hello = true;
	if (first)
		spd.early = 0;
	if (first && !spd_program_fits(p, now_ns))
		return;
	if (!first && !spd.door[p->slot][0])
		return; /* it was refused */
	memcpy(spd.door[p->slot], f->text.at, f->text.len);
	spd.door[p->slot][f->text.len] = '\0';
	struct spd_note n = note_of_door(p->slot);
	spd_net_cluster(&n);
	spd.view_is_new = true;
	if (first)
		sp_node_reached(spd.node, p->slot, now_ns);
}

static void
answer_process(struct spd_proc *p, uint32_t number, bool ok, const char *why)
{
	tell_feed(p, &(struct spx_feed){.type = SPX_FEED_ANSWER,
					.number = number,
					.ok = ok,
					.text = {why, (uint32_t)strlen(why)}});
}

static void
hear_chain_ops(struct spd_proc *p, const struct spx_feed *f, uint64_t now_ns)
{
	char why[SPX_TEXT_MAX] = "";

	if (ask.asked)
		spx_say(why, "another change is under way; ask again");
	else if (spd_pipeline_chain(f->text.at, f->text.len, why, now_ns)) {
		spd_say("%s asks: chain %.*s", spd_proc_name(p), (int)f->text.len, f->text.at);
		ask.asked = true;
		ask.tell = NULL;
		ask.proc = p;
		ask.pid = p->pid;
		ask.number = f->number;
		(void)sp_node_asks(spd.node, &ask.given_up);
		return;
	}
	answer_process(p, f->number, false, why);
}

bool
spd_feed_ask(const char *what, bool on, bool cluster, spd_asked_fn *asked, char why[SPX_TEXT_MAX],
	     uint64_t now_ns)
{
	if (ask.asked)
		return spx_say(why, "another change is under way; ask again");
	if (!(cluster ? spd_pipeline_cluster(what, on, why, now_ns)
		      : spd_pipeline_chain(what, strlen(what), why, now_ns)))
		return false;
	ask.asked = true;
	ask.tell = asked;
	(void)sp_node_asks(spd.node, &ask.given_up);
	return true;
}

static void
settle_ask(void)
{
	static const char why[] = "it was not agreed on: no master answered, or it does not fit "
				  "what others asked for";
	uint64_t given_up;

	if (!ask.asked || sp_node_asks(spd.node, &given_up) || !sp_node_is_durable(spd.node))
		return;
	bool ok = given_up == ask.given_up;
	ask.asked = false;
	if (ask.tell)
		ask.tell(ok, why);
	else if (ask.proc->pid == ask.pid)
		answer_process(ask.proc, ask.number, ok, ok ? "" : why);
}

/* Ids are those of views, which nobody else knows: what an I/O process is, and where. */
static const char *
place_of_hoarder(const struct spx_event *e)
{
	static char text[SPX_TEXT_MAX + SPX_NAME_MAX];
	const struct sp_view *v = spd_view();
	uint32_t s = spx_slot_of_id(&spd.group.agreed, e->proc);

	if (e->kind != SPX_EVENT_HOARDED || !v || s >= v->slots || v->slot[s].role == SP_NONE)
		return "";
	snprintf(text, sizeof text, " (it is %s, slot %u of unit %.*s)",
		 spd_role_name(v->slot[s].role), s, SPX_NAME_MAX,
		 spd.conf->unit[spd.group.unit[v->slot[s].unit]].name);
	return text;
}

/* The processes that the start waits for: the first one of them, and how many more. */
static const char *
place_of_missing(void)
{
	static char text[2 * SPX_TEXT_MAX];
	char more[32] = "";
	const struct sp_view *v = spd_view();
	uint32_t n = 0, first = SP_NONE;

	for (uint32_t r = 0; v && r < v->l.roles; r++)
		if (v->role[r] != SP_NONE && !v->slot[v->role[r]].ready && n++ == 0)
			first = r;
	if (first == SP_NONE)
		return "";
	uint32_t s = v->role[first];
	if (n > 1)
		snprintf(more, sizeof more, ", and %u others", n - 1);
	snprintf(text, sizeof text,
		 " (%s, slot %u of unit %.*s%s: does its program call MPI_Init of libmpi?)",
		 spd_role_name(first), s, SPX_NAME_MAX,
		 spd.conf->unit[spd.group.unit[v->slot[s].unit]].name, more);
	return text;
}

/* What concerns all is told by each of them. */
static void
hear_feed_event(const struct spd_proc *p, const struct spx_feed *f)
{
	static char said[SPX_FEED_TEXT];

	if (f->text.len < sizeof said && !strncmp(said, f->text.at, f->text.len) &&
	    said[f->text.len] == '\0')
		return;
	snprintf(said, sizeof said, "%.*s", (int)f->text.len, f->text.at);
	if (f->event.kind == SPX_EVENT_RUNNING || f->event.kind == SPX_EVENT_MISSING)
		spd_log("%s%s", said, f->event.kind == SPX_EVENT_MISSING ? place_of_missing() : "");
	else
		spd_say("%s: %s%s", spd_proc_name(p), said, place_of_hoarder(&f->event));
}

static void
hear_feed(struct spd_proc *p, const struct spx_feed *f, uint64_t now_ns)
{
	switch (f->type) {
	case SPX_FEED_HELLO:
		hear_feed_hello(p, f, now_ns);
		break;
	case SPX_FEED_CHAIN_OPS:
		hear_chain_ops(p, f, now_ns);
		break;
	case SPX_FEED_EVENT:
		hear_feed_event(p, f);
		break;
	case SPX_FEED_ALIVE:
		if (p->slot != SP_NONE)
			sp_node_alive(spd.node, p->slot, now_ns);
		break;
	case SPX_FEED_DONE:
		if (p->slot != SP_NONE)
			spd_proc_has_left(p);
		break;
	default:
		break;
	}
}

/* false: its end is closed, or it makes no sense. */
static bool
take_feed_bytes(struct spd_proc *p, uint64_t now_ns)
{
	char why[SPX_TEXT_MAX];
	struct spx_feed f;

	while (p->in_len >= 4) {
		size_t len = spx_feed_length(p->in);
		if (!len || len > IN_ROOM ||
		    (len <= p->in_len && !spx_feed_read(&f, p->in, len, why))) {
			spd_log("%s says what makes no sense; is its libmpi of another version?",
				spd_proc_name(p));
			spd_proc_kill(p);
			return false;
		}
		if (len > p->in_len)
			return true;
		hear_feed(p, &f, now_ns);
		p->in_len -= len;
		memmove(p->in, p->in + len, p->in_len);
	}
	return true;
}

void
spd_feed_read(struct spd_proc *p, uint64_t now_ns)
{
	if (!p->in)
		p->in = malloc(IN_ROOM);
	for (;;) {
		ssize_t n =
			p->in ? recv(p->fd, p->in + p->in_len, IN_ROOM - p->in_len, MSG_DONTWAIT)
			      : 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		p->in_len += n > 0 ? (size_t)n : 0;
		if (n > 0 && take_feed_bytes(p, now_ns))
			continue;
		close(p->fd);
		p->fd = -1;
		return;
	}
}

/* ---- the end, time ---- */

uint64_t
spd_feed_turn(uint64_t now_ns)
{
	const struct sp_view *v = spd_view();

	if (!v || !spd.group.pipeline || spd.ending)
		return BASE_NEVER_NS;
	settle_ask();
	for (uint32_t i = 0; i < spd.nproc; i++) {
		struct spd_proc *p = &spd.proc[i];
		if (!p->pid || !p->fresh)
			continue;
		p->fresh = false; /* it joins before it has said anything: its slot names it */
		sp_node_ready(spd.node, p->token, now_ns);
	}
	if (now_ns >= behind_ns) {
		behind_ns = BASE_NEVER_NS;
		for (uint32_t i = 0; i < spd.nproc; i++)
			if (spd.proc[i].pid && spd.proc[i].behind)
				tell_view(&spd.proc[i]);
	}
	if (now_ns >= want_ns) {
		want_ns = lacks_address(v) ? now_ns + WANT_NS : BASE_NEVER_NS;
		if (want_ns != BASE_NEVER_NS)
			spd_net_cluster(
				&(struct spd_note){.type = SPD_NOTE_WANT,
						   .cluster = spd.conf->unit[spd.me].cluster,
						   .epoch = v->number});
	}
	return base_min_ns(want_ns, ask.asked ? now_ns + BEHIND_NS : behind_ns);
}
