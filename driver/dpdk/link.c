/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "driver/link.h"

/* The attributes of an answer, whatever it brings. */
static bool
read_attributes(const uint8_t *answer, size_t len, struct rd_link_mtu *out)
{
	struct nlmsghdr hdr;
	size_t at = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct ifinfomsg)));
	bool known = false;
	if (len < at)
		return false;
	memcpy(&hdr, answer, sizeof hdr);
	if (hdr.nlmsg_type != RTM_NEWLINK || hdr.nlmsg_len < at)
		return false;
	if (hdr.nlmsg_len < len)
		len = hdr.nlmsg_len;
	while (len - at >= sizeof(struct rtattr)) {
		struct rtattr a;
		uint32_t v = 0;
		memcpy(&a, answer + at, sizeof a);
		if (a.rta_len < sizeof a || a.rta_len > len - at)
			break;
		if (a.rta_len >= RTA_LENGTH(sizeof v))
			memcpy(&v, answer + at + RTA_LENGTH(0), sizeof v);
		if (a.rta_type == IFLA_MTU) {
			out->now = v;
			known = true;
		} else if (a.rta_type == IFLA_MIN_MTU) {
			out->min = v;
		} else if (a.rta_type == IFLA_MAX_MTU) {
			out->max = v;
		}
		size_t step = RTA_ALIGN(a.rta_len);
		at += step < len - at ? step : len - at;
	}
	return known;
}

bool
rd_link_mtu(const char *ifname, struct rd_link_mtu *out)
{
	struct {
		struct nlmsghdr hdr;
		struct ifinfomsg ifi;
	} ask = {
		.hdr = {.nlmsg_len = sizeof ask,
			.nlmsg_type = RTM_GETLINK,
			.nlmsg_flags = NLM_F_REQUEST},
		.ifi = {.ifi_index = (int)if_nametoindex(ifname)},
	};
	uint8_t answer[16384]; /* with virtual functions there is much to say */
	memset(out, 0, sizeof *out);
	int fd =
		ask.ifi.ifi_index ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) : -1;
	if (fd < 0)
		return false;
	ssize_t n = -1;
	if (send(fd, &ask, sizeof ask, 0) == (ssize_t)sizeof ask)
		n = recv(fd, answer, sizeof answer, 0);
	close(fd);
	return n > 0 && read_attributes(answer, (size_t)n, out);
}

bool
rd_link_mtu_outside(const char *ifname, const struct rd_link_mtu *mtu, uint32_t wish, char *text,
		    size_t text_max)
{
	if (wish >= mtu->min && (!mtu->max || wish <= mtu->max))
		return false;
	snprintf(text, text_max,
		 "%s: MTU %u is asked, its driver takes %u to %u; fix: ask for no more", ifname,
		 wish, mtu->min, mtu->max);
	return true;
}

bool
rd_link_mtu_lacks(const char *ifname, const struct rd_link_mtu *mtu, uint32_t wish, char *text,
		  size_t text_max)
{
	if (wish <= mtu->now)
		return false;
	if (!rd_link_mtu_outside(ifname, mtu, wish, text, text_max))
		snprintf(text, text_max, "%s has MTU %u, %u is asked; fix: ip link set %s mtu %u",
			 ifname, mtu->now, wish, ifname, wish);
	return true;
}
