/* SPDX-License-Identifier: BSD-2-Clause */
#include "events.h"

#include "base/clock.h"
#include "relay/addr.h"

void
rd_event_log_init(struct rd_event_log *l, const struct rd_conf *conf)
{
	*l = (struct rd_event_log){
		.conf = conf,
		.neigh = RD_LOG_LIMIT_INIT,
		.path = {.interval_ns = BASE_S_NS, .burst = 200},
		.channel = {.interval_ns = BASE_S_NS, .burst = 50},
		.site = {.interval_ns = 10 * BASE_S_NS, .burst = 3},
	};
}

void
rd_event_log_tick(struct rd_event_log *l, uint64_t now_ns)
{
	struct rd_log_limit *all[] = {&l->neigh, &l->path, &l->channel, &l->site};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		rd_log_limit_tick(all[i], now_ns);
}

/* A site that relayd.conf does not let in, and what to do about it. */
static void
log_stranger(struct rd_event_log *l, uint64_t now_ns, const struct rd_event *e)
{
	char at[SUCI_ADDR_TEXT_MAX];
	const char *file = l->conf->sealing.peers_file;
	suci_addr_text(&e->log.peer, at);
	if (!*e->log.what)
		rd_log_limited(
			&l->site, now_ns, RD_LOG_WARNING,
			"%s is refused: %s; sealing.identity_file and sealing.peers_file are "
			"for both ends or for none",
			at,
			*file ? "it has no identity, and here only sites of peers_file may call"
			      : "it has an identity, and there is none here");
	else if (*e->text)
		rd_log_limited(
			&l->site, now_ns, RD_LOG_WARNING,
			"%s is refused: its public key %s is that of site %s, whose prefixes "
			"do not cover this address; add one to its line of %s and reload "
			"relayd, if it has moved",
			at, e->log.what, e->text, file);
	else
		rd_log_limited(
			&l->site, now_ns, RD_LOG_WARNING,
			"%s is refused: its public key %s is not in %s; if its operator says "
			"the same key, add a line with a name, the key and its addresses, and "
			"reload relayd",
			at, e->log.what, file);
}

static const char *
address_text(const struct rd_event *e, char out[SUCI_ADDR_TEXT_MAX])
{
	if (e->log.address)
		return rd_ipv4_text(e->log.address, out);
	return suci_addr_ip_text(&e->log.peer, out);
}

void
rd_event_log(struct rd_event_log *l, uint64_t now_ns, const struct rd_event *e)
{
	char a[SUCI_ADDR_TEXT_MAX], peer[SUCI_ADDR_TEXT_MAX];
	switch (e->type) {
	case RD_EVENT_CHANNEL:
		rd_log_limited(&l->channel, now_ns, RD_LOG_INFO, "%s", e->text);
		break;
	case RD_EVENT_PATH_UP:
		rd_log_limited(&l->path, now_ns, RD_LOG_INFO, "path to %s is up: %s",
			       suci_addr_text(&e->log.peer, peer), e->log.what);
		break;
	case RD_EVENT_PATH_DOWN:
		rd_log_limited(&l->path, now_ns, RD_LOG_INFO, "path to %s is down: %s: %s",
			       suci_addr_text(&e->log.peer, peer), e->log.what, e->text);
		break;
	case RD_EVENT_NEIGHBOUR:
		rd_log_limited(&l->neigh, now_ns, RD_LOG_WARNING, "%s leg: %s does not answer %s",
			       rd_leg_names[e->log.leg], address_text(e, a),
			       e->log.address ? "ARP" : "neighbour discovery");
		break;
	case RD_EVENT_STRANGER:
		log_stranger(l, now_ns, e);
		break;
	case RD_EVENT_CONTESTED:
		rd_log_limited(&l->neigh, now_ns, RD_LOG_WARNING,
			       "%s leg: station %s claims %s, which %s has; believed only if that "
			       "one is silent (neighbours.mac fixes it)",
			       rd_leg_names[e->log.leg], e->text, address_text(e, a), e->log.what);
		break;
	case RD_EVENT_CONFLICT:
		rd_log_limited(&l->neigh, now_ns, RD_LOG_ERROR,
			       "%s leg: station %s claims our address %s; one of the two is "
			       "configured wrongly",
			       rd_leg_names[e->log.leg], e->log.what, address_text(e, a));
		break;
	default:
		break;
	}
}
