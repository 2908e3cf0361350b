/* A client before it is a job: who may connect, who makes room, who is let in. */
#include "session_private.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

void
rd_session_leave_lobby(struct rd_session *s)
{
	base_lobby_leave(&s->ctl->lobby, s->seat);
	s->seat = -1;
}

/* Round robin: a host of a job that ended meets nobody on its old port for long.  There
 * are as many as sessions may be. */
static uint32_t
take_slot(struct rd_control *c)
{
	uint32_t n = c->conf->limits.jobs;
	while (c->slot_used[c->slot_next % n])
		c->slot_next++;
	uint32_t slot = c->slot_next++ % n;
	c->slot_used[slot] = true;
	return slot;
}

/* Somebody may have that rank already: the server says what comes of it, and people want to
 * know who it is. */
static void
name_holder(const struct rd_session *s)
{
	const struct rd_session *o;
	LIST_FOREACH(o, &s->ctl->sessions, link)
	if (o != s && o->admitted && !o->ended && o->port_index == s->port_index &&
	    relay_startup_rank(o->s) == relay_startup_rank(s->s))
		rd_log(RD_LOG_WARNING,
		       "job %u (port %u): client %s says rank %d, which client %s (job %u) has "
		       "since %llu s: %s",
		       s->id, listen_port(s), s->client, relay_startup_rank(s->s), o->client, o->id,
		       (unsigned long long)((s->ctl->now_ns - o->begun_ns) / BASE_S_NS),
		       o->running ? "it waits at the server until that job has ended"
				  : "the server takes one of the two");
}

/* The client has said its rank: it is a job, if there is room for one more. */
bool
rd_session_admit(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	if (c->nsessions >= c->conf->limits.jobs) {
		char why[RELAY_WHY_MAX];
		snprintf(why, sizeof why, "%u jobs are running (limits.jobs)", c->nsessions);
		c->count.sessions_refused++;
		relay_startup_abort(s->s, why);
		return false;
	}
	rd_session_leave_lobby(s);
	s->admitted = true;
	s->id = c->next_job_id++;
	s->slot = take_slot(c);
	c->nsessions++;
	c->count.sessions++;
	if (!relay_startup_admit(
		    s->s, s->id,
		    (uint16_t)(c->conf->cluster.self * c->conf->limits.jobs + s->slot))) {
		relay_startup_abort(s->s, "the gateway's ports end behind 65535");
		return false;
	}
	rd_log(RD_LOG_INFO, "job %u (port %u): client %s connected, for the server %s:%u", s->id,
	       listen_port(s), s->client, c->conf->impi.server_host, server_port(s));
	name_holder(s);
	return true;
}

/* ---- beginning ------------------------------------------------------------------ */

/* Those that listen to us now; soon after our own start all may be about to come, but for those
 * that were here and are gone. */
static void
take_members(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	bool early = c->now_ns - c->began_ns < RELAY_CLUSTER_JOIN_NS;
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++) {
		bool awaited = early && !c->peer[i].gone;
		if (i != c->conf->cluster.self && !awaited && !rd_peer_up(c, i))
			continue;
		s->member[s->nmembers] = c->member[i];
		s->member_index[s->nmembers++] = (uint8_t)i;
	}
}

static bool
start(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	take_members(s);
	struct relay_startup_conf conf = {
		.limits = {.nworld_max = c->conf->limits.procs,
			   .nhosts_max = c->conf->limits.hosts},
		.member = s->member,
		.nmembers = s->nmembers,
		.member_index = s->member_index,
		.client_auth = c->auth,
		.server_auth = c->auth,
		.labels = &c->labels,
		.gateway = c->gateway,
		.step_timeout_ns = c->conf->impi.step_timeout_s * BASE_S_NS,
	};
	if (getrandom(&conf.token, sizeof conf.token, 0) < 0)
		return false;
	size_t need = relay_startup_footprint(&conf.limits);
	s->mem = need ? aligned_alloc(64, (need + 63) & ~(size_t)63) : NULL;
	s->s = s->mem ? relay_startup_new(s->mem, &conf) : NULL;
	return s->s;
}

void
rd_session_free(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	rd_watch_close(c, &s->side[0].watch);
	rd_watch_close(c, &s->side[1].watch);
	rd_session_leave_lobby(s);
	rd_session_unseal(s);
	if (s->admitted) {
		c->slot_used[s->slot] = false;
		c->nsessions--;
	}
	c->nlisted--;
	LIST_REMOVE(s, link);
	if (s->job != RELAY_CLUSTER_NONE)
		relay_cluster_forget(c->cluster, s->job);
	relay_startup_fini(s->s);
	free(s->mem);
	free(s);
}

/* The one that the lobby says goes; it is freed by the tick. */
static void
make_room(struct rd_control *c, uint32_t ip)
{
	struct rd_session *s;
	int seat = base_lobby_victim(&c->lobby, ip, c->now_ns);
	LIST_FOREACH(s, &c->sessions, link)
	{
		if (seat < 0 || s->seat != seat)
			continue;
		c->count.strangers_evicted++;
		relay_startup_abort(s->s, "it did not say its rank before others came");
		rd_session_pump(s);
		return;
	}
}

size_t
rd_session_strangers_bytes(const struct rd_conf *conf)
{
	struct relay_startup_limits limits = {.nworld_max = conf->limits.procs,
					      .nhosts_max = conf->limits.hosts};
	size_t one = sizeof(struct rd_session) + relay_startup_footprint(&limits);
	if (conf->impi.server_sealing)
		one += sizeof(struct seal_link);
	return BASE_LOBBY_SEATS_MAX * one;
}

static bool
allowed(struct rd_control *c, uint32_t ip, uint32_t port)
{
	uint8_t address[16];
	char from[RD_IPV4_TEXT];
	base_prefix_v4(ip, address);
	if (base_prefixes_have(&c->conf->impi.allowed, address))
		return true;
	c->count.strangers_not_allowed++;
	rd_log_limited(&c->limit_allow, c->now_ns, RD_LOG_WARNING,
		       "client %s refused on port %u: impi.allow does not cover it",
		       rd_ipv4_text(ip, from), port);
	return false;
}

/* NULL: out of memory. */
static struct rd_session *
new_session(struct rd_control *c, int fd)
{
	struct rd_session *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	*s = (struct rd_session){
		.ctl = c,
		.seat = -1,
		.job = RELAY_CLUSTER_NONE,
		.begun_ns = c->now_ns,
		.side[0].watch.fd = -1,
		.side[1].watch.fd = -1,
	};
	LIST_INSERT_HEAD(&c->sessions, s, link);
	c->nlisted++;
	s->side[RELAY_SIDE_CLIENT].watch.owner = s;
	s->side[RELAY_SIDE_CLIENT].watch.fn = rd_session_client_ready;
	if (start(s) && rd_watch_add(c, &s->side[RELAY_SIDE_CLIENT].watch, fd, EPOLLIN) == 0)
		return s;
	rd_session_free(s);
	return NULL;
}

void
rd_session_accept(struct rd_listener *l)
{
	struct rd_control *c = l->ctl;
	uint32_t ip, from_port, index = (uint32_t)(l - c->listen_impi);
	uint64_t room_ns = base_lobby_room_ns(&c->lobby);
	char from[RD_IPV4_TEXT];
	if (c->nlisted >= c->conf->limits.jobs + 2 * BASE_LOBBY_SEATS_MAX)
		room_ns = c->now_ns + RD_CONTROL_TICK_MS * BASE_MS_NS; /* the tick frees some */
	if (room_ns > c->now_ns) {
		rd_listener_pause(l, room_ns);
		return;
	}
	int fd = rd_listener_accept(l, &ip, &from_port);
	if (fd < 0)
		return;
	rd_ipv4_text(ip, from);
	if (!allowed(c, ip, c->conf->impi.listen_port + index)) {
		close(fd);
		return;
	}
	make_room(c, ip);
	rd_sock_tune(fd, true);
	struct rd_session *s = new_session(c, fd);
	if (!s) {
		rd_log_limited(&c->limit_stranger, c->now_ns, RD_LOG_ERROR,
			       "client %s refused: out of memory for a job of limits.procs %u",
			       from, c->conf->limits.procs);
		c->count.sessions_refused++;
		c->count.refused_memory++;
		close(fd);
		return;
	}
	s->port_index = index;
	s->seat = base_lobby_enter(&c->lobby, ip, c->now_ns);
	snprintf(s->client, sizeof s->client, "%s:%u", from, from_port);
	if (s->seat < 0) { /* all have their grace */
		relay_startup_abort(s->s, "too many that have not said their rank");
		rd_session_pump(s);
	}
}
