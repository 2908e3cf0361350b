/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses that are known before anybody has them: made, claimed at our relay. */
#include "datagram_internal.h"

#include "base/bytes.h"
#include "base/prefix.h"

#include <errno.h>
#include <string.h>

bool
datagram_claim_read(struct datagram_sock *s, const struct datagram_conf *conf)
{
	struct door_address *a = &s->door.claim;
	int err = conf->address ? door_address_parse(conf->address, a) : 0;
	const char *what = err		    ? door_strerror(err)
			   : !conf->address ? NULL
			   : !conf->relay   ? "conf.relay has to say which relay carries it"
			   : a->realm != conf->realm ? "it is of another realm than conf.realm"
			   : a->label < DOOR_CLAIMS || a->n != PRIOS
				   ? "it is none of datagram_address_for()"
			   : a->nrelays != s->door.sites.n
				   ? "conf.relay names another number of relays than it"
				   : NULL;
	if (what)
		datagram_fail_open(EINVAL, "conf.address: %s", what);
	s->door.claims = conf->address && !what;
	s->door.due_ns = s->door.claims ? 0 : s->door.due_ns;
	return !what;
}

int
datagram_claimed(struct datagram_sock *s)
{
	const struct door_client_own *d = s->door.own;
	if (datagram_enter(s))
		return -1;
	if (!s->door.claims)
		return datagram_fail(s, EINVAL, "conf.address is not set: nothing is claimed");
	if (s->door.have)
		return 0;
	if (d->state != DOOR_CLIENT_OVER || !s->door.client.up)
		return datagram_fail(s, EAGAIN, "our address is not ours yet: %s",
				     *s->door.why ? s->door.why : "our relay has not answered yet");
	struct suci_addr is_at = {0};
	uint8_t ip[16];
	char at[SUCI_ADDR_TEXT_MAX];
	switch ((enum door_client_why)d->why) {
	case DOOR_CLIENT_TAKEN:
		return datagram_fail(s, EADDRINUSE,
				     "somebody behind our relay has our address, or died with it "
				     "less than 2 s ago");
	case DOOR_CLIENT_ELSEWHERE:
		base_prefix_v4(d->is_at.ipv4, ip);
		is_at = suci_addr_of(ip, d->is_at.port);
		suci_addr_text(&is_at, at);
		return datagram_fail(s, EADDRNOTAVAIL,
				     "our relay says that others reach it at %s, and our address "
				     "says otherwise",
				     at);
	case DOOR_CLIENT_FULL:
		break;
	}
	return datagram_fail(s, EADDRNOTAVAIL,
			     "our relay has no room for a door, or is of a version that gives "
			     "none an address known before");
}

/* As other clusters reach them. */
static bool
read_places(const char *text, struct door_address *a)
{
	struct suci_addr at[DOOR_CLIENT_SITES];
	a->nrelays = (uint8_t)door_sites_parse(text, at);
	for (uint32_t k = 0; k < a->nrelays; k++)
		a->relay[k] = (struct door_relay){be32_load(at[k].ip + 12), at[k].port};
	return a->nrelays && at[0].family == 4;
}

int
datagram_address_for(const struct datagram_claim *c, char out[DATAGRAM_ADDRESS_MAX])
{
	struct door_address a = {.realm = c->realm, .token = c->token, .n = PRIOS};
	out[0] = 0;
	a.label = DOOR_CLAIMS + c->number * PRIOS;
	if (c->number >= DATAGRAM_CLAIMS)
		datagram_fail_open(EINVAL, "number is %u and has to be below %u", c->number,
				   DATAGRAM_CLAIMS);
	else if (!c->relay || !read_places(c->relay, &a) || door_address_print(&a, out))
		datagram_fail_open(EINVAL,
				   "relay is \"%.60s\" and has to be IPv4:port as other clusters "
				   "reach it, or two with a comma between",
				   c->relay ? c->relay : "");
	else
		return 0;
	return -1;
}
