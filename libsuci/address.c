/* SPDX-License-Identifier: BSD-2-Clause */
/* Our own address: where we are, or which door our relay has for us. */
#include "datagram_internal.h"

#include "base/bytes.h"
#include "base/prefix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DIRECT_LABEL 1u /* in an address without a relay: nobody looks there */

static bool
own_known(struct datagram_sock *s, void *arg)
{
	(void)arg;
	return s->door.have || s->door.error;
}

static int
name_place(struct datagram_sock *s)
{
	struct suci_addr at = suci_udp_local(s->udp);
	uint8_t ip[16];
	if (suci_addr_is_any(&at))
		return datagram_fail(s, EINVAL,
				     "conf.ip has to say at which address others reach us, or "
				     "conf.relay which relay carries the door");
	suci_addr_16(&at, ip);
	door_address_put_place(&s->door.at, ip, at.port);
	s->door.at.label = DIRECT_LABEL;
	s->door.have = true;
	return 0;
}

/* Which address we have on the way to our relay: a socket that is asked sends nothing. */
static bool
find_side(const struct suci_addr *relay, struct suci_addr *at)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(relay->port)}, me;
	socklen_t len = sizeof me;
	uint8_t ip[16];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(&to.sin_addr, relay->ip + 12, sizeof to.sin_addr);
	bool good = fd >= 0 && !connect(fd, (const struct sockaddr *)&to, sizeof to) &&
		    !getsockname(fd, (struct sockaddr *)&me, &len);
	if (fd >= 0)
		close(fd);
	if (!good)
		return false;
	base_prefix_v4(ntohl(me.sin_addr.s_addr), ip);
	*at = suci_addr_of(ip, at->port);
	return true;
}

/* Where we are, for those of our cluster. */
static void
say_near(const struct datagram_sock *s, struct door_address *a)
{
	const struct suci_addr *relay = &s->door.sites.site[0].relay;
	struct suci_addr at = suci_udp_local(s->udp);
	bool known = !suci_addr_is_any(&at) || (relay->family == 4 && find_side(relay, &at));
	if (known && at.family == 4)
		(void)door_address_put_near(a, be32_load(at.ip + 12), at.port);
}

int
datagram_address(struct datagram_sock *s, char out[DATAGRAM_ADDRESS_MAX])
{
	if (datagram_enter(s))
		return -1;
	if (!s->conf.doors)
		return datagram_fail(s, EINVAL, "conf.doors is 0: this socket is no door");
	if (!s->door.have && !s->door.via && name_place(s))
		return -1;
	if (!s->door.have) {
		uint64_t wait = s->conf.connect_ms * (uint64_t)BASE_MS_NS;
		uint64_t now = suci_udp_now_ns();
		s->door.error = 0;
		datagram_door_want(s);
		int r = datagram_wait_until(s, own_known, NULL,
					    wait ? base_add_ns(now, wait) : BASE_NEVER_NS, NULL);
		int err = r ? s->door.error : ETIMEDOUT;
		s->door.error = 0;
		if (r < 0 || (!r && s->door.claims && datagram_claimed(s) && errno != EAGAIN))
			return -1;
		if (err)
			return datagram_fail(s, err, "no address: %s",
					     *s->door.why ? s->door.why
							  : "our relay does not answer");
	}
	struct door_address mine = s->door.at;
	if (s->door.via)
		say_near(s, &mine);
	int err = door_address_print(&mine, out);
	return err ? datagram_fail(s, EINVAL, "%s", door_strerror(err)) : 0;
}

uint32_t
datagram_address_changes(const struct datagram_sock *s)
{
	return s->door.changes;
}
