/* SPDX-License-Identifier: BSD-2-Clause */
/* The channel to the other relays of the cluster (relay/peer.h): one TCP
 * connection per pair, dialled by the relay with the lower index.  What its frames
 * mean is relay/cluster.h's business. */
#include "jobs_internal.h"
#include "sock.h"

#include "base/clock.h"
#include "base/version.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#define REDIAL_NS (BASE_S_NS / 5)
#define PROBE_NS  BASE_S_NS /* for a channel to answer before another takes its place */
#define OUT_MAX	  (RELAY_PEER_FRAME_MAX + 65536ull) /* one largest frame and small talk */

static const char *
name_of(const struct rd_jobs *j, uint32_t index, char buf[RD_IPV4_TEXT])
{
	return rd_ipv4_text(j->conf->cluster.relay[index].private_address, buf);
}

bool
rd_peer_up(const struct rd_jobs *j, uint32_t index)
{
	return j->peer[index].live != NULL;
}

/* ---- the connection ------------------------------------------------------------- */

static void
peer_lost(struct rd_peer *p, const char *why)
{
	struct rd_jobs *j = p->jobs;
	char a[RD_IPV4_TEXT];
	p->gone = true;
	rd_log(RD_LOG_WARNING, "relay %s of cluster %s is gone: %s", name_of(j, p->index, a),
	       j->conf->cluster.name, why);
	relay_cluster_down(j->cluster, p->index, why);
}

bool
rd_peer_send(struct rd_jobs *j, uint32_t index, const struct relay_peer_frame *frame)
{
	struct rd_link *l = j->peer[index].live;
	uint8_t small[RELAY_PEER_SMALL_MAX];
	return l && rd_link_send(l, small, relay_peer_encode(frame, small));
}

bool
rd_peer_send_job(struct rd_jobs *j, uint32_t index, const struct relay_job *job)
{
	struct rd_link *l = j->peer[index].live;
	size_t len = relay_peer_job_len(job);
	uint8_t *frame = l ? malloc(len) : NULL;
	bool sent = frame && relay_peer_encode_job(job, frame, len) == len &&
		    rd_link_send(l, frame, len);
	free(frame);
	return sent;
}

/* ---- whose channel it is ---------------------------------------------------------- */

static void
ping(struct rd_link *l)
{
	static const struct relay_peer_frame frame = {.type = RELAY_PEER_PING};
	uint8_t small[RELAY_PEER_SMALL_MAX];
	(void)rd_link_send(l, small, relay_peer_encode(&frame, small));
}

static void
say_version(struct rd_peer *p)
{
	static const struct relay_peer_frame frame = {
		.type = RELAY_PEER_REFUSE, .job = RELAY_PEER_NO_JOB, .text = BASE_VERSION};
	*p->version = '\0';
	(void)rd_peer_send(p->jobs, p->index, &frame);
}

static void
hear_version(struct rd_peer *p, const char *told)
{
	char a[RD_IPV4_TEXT];
	strlcpy(p->version, told, sizeof p->version);
	if (strcmp(p->version, BASE_VERSION) != 0)
		rd_log(RD_LOG_WARNING,
		       "relay %s has relayd %s, this one is " BASE_VERSION
		       "; fix: update the older one",
		       name_of(p->jobs, p->index, a), p->version);
}

static long
take(struct rd_link *l, const uint8_t *in, size_t len, size_t *need)
{
	struct rd_peer *p = l->owner;
	struct relay_peer_frame frame;
	long n = relay_peer_decode(in, len, &frame, need);
	if (n == RELAY_ERR_SHORT)
		return 0;
	if (n > 0 && frame.type == RELAY_PEER_REFUSE && frame.job == RELAY_PEER_NO_JOB)
		hear_version(p, frame.text);
	else if (n > 0)
		relay_cluster_frame(p->jobs->cluster, p->index, &frame);
	return n > 0 ? n : -1;
}

static void
become_live(struct rd_peer *p, struct rd_link *l)
{
	char a[RD_IPV4_TEXT];
	p->live = l;
	p->gone = false;
	rd_log(RD_LOG_INFO, "relay %s connected", name_of(p->jobs, p->index, a));
	say_version(p);
	relay_cluster_up(p->jobs->cluster, p->index);
}

/* It has shown the keys, or there are none.  A channel that answers is not given up for it. */
static void
link_up(struct rd_link *l)
{
	struct rd_peer *p = l->owner;
	if (!p->live) {
		become_live(p, l);
		return;
	}
	if (p->heir)
		rd_link_close(p->heir, "it connected anew");
	p->heir = l;
	p->probe_ns = p->jobs->loop->now_ns;
	rd_link_hold(l);
	ping(p->live);
}

static void
link_down(struct rd_link *l, const char *why)
{
	struct rd_peer *p = l->owner;
	char a[RD_IPV4_TEXT];
	p->dial_ns = p->jobs->loop->now_ns + REDIAL_NS;
	if (p->heir == l)
		p->heir = NULL;
	if (p->live == l) {
		p->live = NULL;
		peer_lost(p, why);
	} else if (l->reached) {
		rd_log_limited(&p->jobs->limit_peer, p->jobs->loop->now_ns, RD_LOG_INFO,
			       "no channel to relay %s yet: %s", name_of(p->jobs, p->index, a),
			       why);
	}
}

static const struct rd_link_kind kind = {
	.in_max = RELAY_PEER_FRAME_MAX + RELAY_PEER_HEAD,
	.out_max = OUT_MAX,
	.ping_ns = RELAY_PEER_PING_NS,
	.dead_ns = RELAY_PEER_DEAD_NS,
	.take = take,
	.up = link_up,
	.down = link_down,
	.ping = ping,
};

/* The heir's turn: the channel is gone, has answered, or has had its time to. */
static void
settle(struct rd_peer *p)
{
	struct rd_link *heir = p->heir;
	if (!heir)
		return;
	if (p->live && p->live->heard_ns > p->probe_ns) {
		p->jobs->loop->count.peer_claims++;
		rd_link_close(heir, "the channel that is there answers");
		return;
	}
	if (p->live && p->jobs->loop->now_ns - p->probe_ns < PROBE_NS)
		return;
	p->heir = NULL;
	if (p->live)
		rd_link_close(p->live, "it connected anew");
	become_live(p, heir);
	rd_link_release(heir);
}

/* A place for a connection that says to be p: a free one, or the oldest that has shown
 * nothing. */
static struct rd_link *
place(struct rd_peer *p)
{
	struct rd_link *oldest = NULL;
	for (uint32_t i = 0; i < RD_PEER_LINKS; i++) {
		struct rd_link *l = &p->link[i];
		if (!rd_link_open(l))
			return l;
		if (!l->up && (!oldest || l->since_ns < oldest->since_ns))
			oldest = l;
	}
	if (oldest)
		rd_link_close(oldest, "it did not show the key before others came");
	return oldest;
}

void
rd_peer_accept(struct rd_listener *listener)
{
	struct rd_jobs *j = listener->owner;
	char a[RD_IPV4_TEXT];
	struct suci_addr from;
	uint32_t self = j->conf->cluster.self;
	int fd = rd_listener_accept(listener, &from);
	if (fd < 0)
		return;
	uint32_t ip = be32_load(from.ip + 12); /* the channel is IPv4's */
	for (uint32_t i = 0; i < self; i++) {  /* only lower ones dial us */
		if (j->conf->cluster.relay[i].private_address != ip)
			continue;
		struct rd_link *l = place(&j->peer[i]);
		if (!l)
			break;
		rd_sock_tune(fd, true);
		(void)rd_link_adopt(l, fd, false);
		return;
	}
	rd_log_limited(&j->limit_peer, j->loop->now_ns, RD_LOG_WARNING,
		       "connection to the peer port from %s refused: not a relay before us in "
		       "cluster.relays",
		       rd_ipv4_text(ip, a));
	close(fd);
}

static void
dial(struct rd_jobs *j, struct rd_peer *p)
{
	p->dial_ns = j->loop->now_ns + REDIAL_NS;
	int fd = rd_sock_connect(j->tap_name[RD_LEG_PRIVATE], j->conf->port[RD_LEG_PRIVATE].address,
				 j->conf->cluster.relay[p->index].private_address,
				 j->conf->cluster.peer_port, true);
	if (fd >= 0) /* else again after a pause */
		(void)rd_link_adopt(&p->link[0], fd, true);
}

void
rd_peer_tick(struct rd_jobs *j, bool dials)
{
	for (uint32_t i = 0; i < j->conf->cluster.nrelays; i++) {
		struct rd_peer *p = &j->peer[i];
		if (i == j->conf->cluster.self)
			continue;
		for (uint32_t k = 0; k < RD_PEER_LINKS; k++)
			rd_link_tick(&p->link[k]);
		settle(p);
		if (i > j->conf->cluster.self && !rd_link_open(&p->link[0]) &&
		    j->loop->now_ns >= p->dial_ns && dials)
			dial(j, p);
	}
}

void
rd_peer_init(struct rd_jobs *j)
{
	for (uint32_t i = 0; i < RD_RELAYS_MAX; i++) {
		struct rd_peer *p = &j->peer[i];
		p->jobs = j;
		p->index = i;
		for (uint32_t k = 0; k < RD_PEER_LINKS; k++)
			rd_link_init(&p->link[k], j->loop, &kind,
				     j->peer_keys.nkeys ? &j->peer_keys : NULL, p);
	}
	if (j->conf->cluster.nrelays > 1 && !j->peer_keys.nkeys)
		rd_log(RD_LOG_WARNING,
		       "no leg is sealed, so the channels between the relays of this cluster are "
		       "not either: who can take a relay's private address can give it jobs");
}

static void
fini_links(struct rd_peer *p)
{
	p->live = p->heir = NULL;
	for (uint32_t k = 0; k < RD_PEER_LINKS; k++)
		rd_link_fini(&p->link[k]);
}

void
rd_jobs_close_peers(struct rd_jobs *j)
{
	rd_listener_close(&j->listen_peer);
	for (uint32_t i = 0; i < RD_RELAYS_MAX; i++)
		fini_links(&j->peer[i]);
}

void
rd_peer_fini(struct rd_jobs *j)
{
	for (uint32_t i = 0; i < RD_RELAYS_MAX; i++)
		fini_links(&j->peer[i]);
}
