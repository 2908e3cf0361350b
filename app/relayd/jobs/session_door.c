/* SPDX-License-Identifier: BSD-2-Clause */
/* A client before it is a job: who may connect, who makes room, who is let in. */
#include "jobs_internal.h"
#include "sock.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

void
rd_session_leave_lobby(struct rd_session *s)
{
	base_lobby_leave(&s->jobs->lobby, s->seat);
	s->seat = -1;
}

/* Round robin: a host of a job that ended meets nobody on its old port for long.  There
 * are as many as sessions may be. */
static uint32_t
take_slot(struct rd_jobs *j)
{
	uint32_t n = j->conf->limits.jobs;
	while (j->slot_used[j->slot_next % n])
		j->slot_next++;
	uint32_t slot = j->slot_next++ % n;
	j->slot_used[slot] = true;
	return slot;
}

/* Somebody may have that rank already: the server says what comes of it, and people want to
 * know who it is. */
static void
name_holder(const struct rd_session *s)
{
	const struct rd_session *o;
	LIST_FOREACH(o, &s->jobs->sessions, link)
	if (o != s && o->admitted && !o->ended && o->port_index == s->port_index &&
	    relay_startup_rank(o->s) == relay_startup_rank(s->s))
		rd_log(RD_LOG_WARNING,
		       "job %u (port %u): client %s says rank %d, which client %s (job %u) has "
		       "since %llu s: %s",
		       s->id, listen_port(s), s->client, relay_startup_rank(s->s), o->client, o->id,
		       (unsigned long long)((s->jobs->loop->now_ns - o->begun_ns) / BASE_S_NS),
		       o->running ? "it waits at the server until that job has ended"
				  : "the server takes one of the two");
}

/* The client has said its rank: what it may have now is more than a seat, if there is room for
 * one more job. */
static void *
make_job_room(void *user, size_t bytes, const char **why)
{
	struct rd_session *s = user;
	struct rd_jobs *j = s->jobs;
	uint64_t gone_ns = relay_startup_gone_ns(s->s);
	size_t all = (bytes + 63) & ~(size_t)63;

	if (gone_ns && j->joined_ns[s->port_index][relay_startup_rank(s->s)] >= gone_ns) {
		*why = "its client had joined";
		return NULL;
	}
	if (j->nsessions >= j->conf->limits.jobs) {
		snprintf(s->why, sizeof s->why, "%u jobs are running (limits.jobs)", j->nsessions);
		j->loop->count.sessions_refused++;
		*why = s->why;
		return NULL;
	}
	s->room = aligned_alloc(64, all + 2 * OUT_BYTES);
	if (!s->room) {
		snprintf(s->why, sizeof s->why, "out of memory for a job of limits.procs %u",
			 j->conf->limits.procs);
		j->loop->count.sessions_refused++;
		j->loop->count.refused_memory++;
		*why = s->why;
		return NULL;
	}
	for (int i = 0; i < 2; i++) {
		struct side *d = &s->side[i];
		uint8_t *out = (uint8_t *)s->room + all + (size_t)i * OUT_BYTES;
		memcpy(out, s->seat_out, sizeof s->seat_out); /* what the socket did not take */
		d->out = out;
		d->cap = OUT_BYTES;
	}
	return s->room;
}

/* It is a job now. */
bool
rd_session_admit(struct rd_session *s)
{
	struct rd_jobs *j = s->jobs;
	uint64_t gone_ns = relay_startup_gone_ns(s->s);
	char at[SERVER_TEXT];
	rd_session_leave_lobby(s);
	if (!gone_ns)
		j->joined_ns[s->port_index][relay_startup_rank(s->s)] = j->loop->now_ns;
	s->admitted = true;
	s->id = j->next_job_id++;
	s->slot = take_slot(j);
	j->nsessions++;
	j->loop->count.sessions++;
	if (!relay_startup_admit(
		    s->s, s->id,
		    (uint16_t)(j->conf->cluster.self * j->conf->limits.jobs + s->slot))) {
		relay_startup_abort(s->s, "the gateway's ports end behind 65535");
		return false;
	}
	rd_log(RD_LOG_INFO, "job %u (port %u): %s %s connected, for the server %s", s->id,
	       listen_port(s), gone_ns ? "launcher" : "client", s->client, server_text(s, at));
	if (!gone_ns)
		name_holder(s);
	return true;
}

/* ---- beginning ------------------------------------------------------------------ */

/* Those that listen to us now; soon after our own start all may be about to come, but for those
 * that were here and are gone. */
static void
take_members(struct rd_session *s)
{
	struct rd_jobs *j = s->jobs;
	bool early = j->loop->now_ns - j->began_ns < RELAY_CLUSTER_JOIN_NS;
	for (uint32_t i = 0; i < j->conf->cluster.nrelays; i++) {
		bool awaited = early && !j->peer[i].gone;
		if (i != j->conf->cluster.self && !awaited && !rd_peer_up(j, i))
			continue;
		s->member[s->nmembers] = j->member[i];
		s->member_index[s->nmembers++] = (uint8_t)i;
	}
}

static bool
start(struct rd_session *s)
{
	struct rd_jobs *j = s->jobs;
	take_members(s);
	struct relay_startup_conf conf = {
		.limits = {.nworld_max = j->conf->limits.procs,
			   .nhosts_max = j->conf->limits.hosts},
		.member = s->member,
		.nmembers = s->nmembers,
		.member_index = s->member_index,
		.client_auth = j->auth,
		.server_auth = j->auth,
		.labels = &j->labels,
		.gateway = j->post->gateway,
		.step_timeout_ns = j->conf->impi.step_timeout_s * BASE_S_NS,
		.begun_ns = j->loop->now_ns,
		.room = make_job_room,
		.user = s,
	};
	if (getrandom(&conf.token, sizeof conf.token, 0) < 0)
		return false;
	s->mem = aligned_alloc(64, relay_startup_seat_bytes());
	s->s = s->mem ? relay_startup_new(s->mem, &conf) : NULL;
	return s->s;
}

void
rd_session_free(struct rd_session *s)
{
	struct rd_jobs *j = s->jobs;
	rd_watch_close(j->loop, &s->side[0].watch);
	rd_watch_close(j->loop, &s->side[1].watch);
	rd_session_leave_lobby(s);
	rd_session_unseal(s);
	if (s->admitted) {
		j->slot_used[s->slot] = false;
		j->nsessions--;
	}
	j->nlisted--;
	LIST_REMOVE(s, link);
	if (s->job != RELAY_CLUSTER_NONE)
		relay_cluster_forget(j->cluster, s->job);
	relay_startup_fini(s->s);
	free(s->room);
	free(s->mem);
	free(s);
}

/* The one that the lobby says goes; it is freed by the tick. */
static void
make_room(struct rd_jobs *j, uint64_t source)
{
	struct rd_session *s;
	int seat = base_lobby_victim(&j->lobby, source, j->loop->now_ns);
	LIST_FOREACH(s, &j->sessions, link)
	{
		if (seat < 0 || s->seat != seat)
			continue;
		j->loop->count.strangers_evicted++;
		relay_startup_abort(s->s, "it did not say its rank before others came");
		rd_session_pump(s);
		return;
	}
}

size_t
rd_jobs_strangers_bytes(void)
{
	return BASE_LOBBY_SEATS_MAX * (sizeof(struct rd_session) + relay_startup_seat_bytes());
}

static bool
allowed(struct rd_jobs *j, const struct suci_addr *from, const uint8_t address[16], uint32_t port)
{
	char text[SUCI_ADDR_TEXT_MAX];
	if (base_prefixes_have(&j->conf->impi.allowed, address))
		return true;
	j->loop->count.strangers_not_allowed++;
	rd_log_limited(&j->limit_allow, j->loop->now_ns, RD_LOG_WARNING,
		       "client %s refused on port %u: impi.allow does not cover it",
		       suci_addr_ip_text(from, text), port);
	return false;
}

/* NULL: out of memory. */
static struct rd_session *
new_session(struct rd_jobs *j, int fd)
{
	struct rd_session *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	*s = (struct rd_session){
		.jobs = j,
		.seat = -1,
		.job = RELAY_CLUSTER_NONE,
		.begun_ns = j->loop->now_ns,
		.side[0].watch.fd = -1,
		.side[1].watch.fd = -1,
	};
	LIST_INSERT_HEAD(&j->sessions, s, link);
	j->nlisted++;
	s->side[RELAY_SIDE_CLIENT].out = s->seat_out;
	s->side[RELAY_SIDE_CLIENT].cap = sizeof s->seat_out;
	s->side[RELAY_SIDE_CLIENT].watch.owner = s;
	s->side[RELAY_SIDE_CLIENT].watch.fn = rd_session_client_ready;
	if (start(s) && rd_watch_add(j->loop, &s->side[RELAY_SIDE_CLIENT].watch, fd, EPOLLIN) == 0)
		return s;
	rd_session_free(s);
	return NULL;
}

void
rd_session_accept(struct rd_listener *l)
{
	struct rd_jobs *j = l->owner;
	uint32_t index = (uint32_t)(l - j->listen_impi) % RD_IMPI_PORTS_MAX;
	uint64_t room_ns = base_lobby_room_ns(&j->lobby), source;
	struct suci_addr from;
	uint8_t address[16];
	char text[SUCI_ADDR_TEXT_MAX];
	if (j->nlisted >= j->conf->limits.jobs + 2 * BASE_LOBBY_SEATS_MAX)
		room_ns = j->loop->now_ns + RD_LOOP_TICK_MS * BASE_MS_NS; /* the tick frees some */
	if (room_ns > j->loop->now_ns) {
		rd_listener_pause(l, room_ns);
		return;
	}
	int fd = rd_listener_accept(l, &from);
	if (fd < 0)
		return;
	suci_addr_16(&from, address);
	source = base_lobby_source(address);
	if (!allowed(j, &from, address, j->conf->impi.listen_port + index)) {
		close(fd);
		return;
	}
	make_room(j, source);
	rd_sock_tune(fd, true);
	struct rd_session *s = new_session(j, fd);
	if (!s) {
		rd_log_limited(&j->limit_stranger, j->loop->now_ns, RD_LOG_ERROR,
			       "client %s refused: out of memory for its seat",
			       suci_addr_ip_text(&from, text));
		j->loop->count.sessions_refused++;
		j->loop->count.refused_memory++;
		close(fd);
		return;
	}
	s->port_index = index;
	s->seat = base_lobby_enter(&j->lobby, source, j->loop->now_ns);
	suci_addr_text(&from, s->client);
	if (s->seat < 0) { /* all have their grace */
		relay_startup_abort(s->s, "too many that have not said their rank");
		rd_session_pump(s);
	}
}
