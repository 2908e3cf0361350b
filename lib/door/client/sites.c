/* SPDX-License-Identifier: BSD-2-Clause */
#include "door/sites.h"

#include "base/assert.h"
#include "relayproto/note.h"

#include <string.h>

#define NONE DOOR_CLIENT_NONE

uint32_t
door_sites_parse(const char *text, struct suci_addr relay[DOOR_CLIENT_SITES])
{
	for (uint32_t n = 0; n < DOOR_CLIENT_SITES; n++) {
		size_t len = strcspn(text, ",");
		if (!suci_addr_parse(text, len, &relay[n]) || suci_addr_fault(&relay[n]) ||
		    relay[n].family != relay[0].family ||
		    (n && memcmp(&relay[n], &relay[0], sizeof *relay) == 0))
			return 0;
		if (!text[len])
			return n + 1;
		text += len + 1;
	}
	return 0;
}

void
door_sites_init(struct door_sites *s, struct door_client *client, struct suci *ep)
{
	*s = (struct door_sites){.client = client, .ep = ep, .hurry_ns = BASE_NEVER_NS};
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		s->site[k].path = NONE;
}

void
door_sites_add(struct door_sites *s, const struct suci_addr *relay)
{
	BASE_ASSERT(s->n < DOOR_CLIENT_SITES);
	s->site[s->n++].relay = *relay;
}

/* ---- which ---- */

uint32_t
door_sites_at(const struct door_sites *s, uint32_t path)
{
	for (uint32_t k = 0; k < s->n; k++)
		if (path != NONE && s->site[k].path == path)
			return k;
	return NONE;
}

uint32_t
door_sites_of(const struct door_sites *s, const struct suci_addr *relay)
{
	for (uint32_t k = 0; k < s->n; k++)
		if (memcmp(&s->site[k].relay, relay, sizeof *relay) == 0)
			return k;
	return NONE;
}

bool
door_sites_alone(const struct door_sites *s)
{
	for (uint32_t k = 0; k < s->n; k++)
		if (s->site[k].path != NONE)
			return false;
	return true;
}

uint32_t
door_sites_mss(const struct door_sites *s, uint32_t site)
{
	uint32_t least = s->site[site].mss;
	for (uint32_t k = 0; k < s->n; k++)
		if (s->site[k].mss && s->site[k].mss < least)
			least = s->site[k].mss;
	return least;
}

struct suci_lane_conf
door_sites_lane(const struct door_sites *s, uint32_t site, uint32_t own, uint32_t label)
{
	return (struct suci_lane_conf){.path = s->site[site].path,
				       .tx_dst_label = label,
				       .tx_src_label = own,
				       .rx_dst_label = own,
				       .rx_src_label = label,
				       .crc = true,
				       .mss = door_sites_mss(s, site)};
}

/* ---- paths ---- */

static void
set_dirty(const struct door_sites *s)
{
	if (s->dirty)
		*s->dirty = true;
}

int
door_sites_call(struct door_sites *s, uint32_t site, uint64_t now_ns)
{
	struct door_site *to = &s->site[site];
	uint8_t hello[RELAY_HELLO_LEN];
	door_client_hello(hello);
	int err = suci_path_open(s->ep, &to->relay, hello, sizeof hello, &to->path, now_ns);
	if (err) {
		to->path = NONE;
		s->client->site[site].retry_ns = now_ns + DOOR_SITES_AGAIN_NS;
		return err;
	}
	set_dirty(s);
	door_client_coming(s->client, site);
	return SUCI_ERR_OK;
}

uint64_t
door_sites_seek(struct door_sites *s, uint64_t now_ns)
{
	uint64_t next = BASE_NEVER_NS;
	for (uint32_t k = 0; k < s->n; k++) {
		const uint64_t *retry_ns = &s->client->site[k].retry_ns;
		if (s->site[k].path != NONE || s->site[k].is_none ||
		    (s->on_demand && !door_client_wants(s->client, k)))
			continue;
		if (now_ns >= *retry_ns && door_sites_call(s, k, now_ns) == SUCI_ERR_OK)
			continue;
		next = base_min_ns(next, *retry_ns);
	}
	return next;
}

void
door_sites_enter(struct door_sites *s, uint32_t site, uint32_t path, uint32_t mtu, uint64_t now_ns)
{
	struct door_site *at = &s->site[site];
	struct suci_path_info info = {0};
	(void)suci_path_info(s->ep, path, &info);
	at->path = path;
	at->silence = (struct relay_silence){0};
	at->mss = door_client_mss(info.mss, mtu);
	if (s->n > 1)
		s->hurry_ns = DOOR_SITES_HURRY_NS;
	s->turned_ns = now_ns;
	door_client_up(s->client, site);
}

bool
door_sites_up(struct door_sites *s, uint32_t path, const void *hello, size_t len, uint64_t now_ns)
{
	uint32_t site = door_sites_at(s, path), mtu;
	if (door_client_is_relay(hello, len, &mtu)) {
		door_sites_enter(s, site, path, mtu, now_ns);
		return true;
	}
	s->site[site].is_none = true;
	suci_path_close(s->ep, path, "not a relay", now_ns);
	return false;
}

void
door_sites_down(struct door_sites *s, uint32_t site, bool again, uint64_t now_ns)
{
	s->site[site].path = NONE;
	door_client_down(s->client, site, again, now_ns);
}

void
door_sites_close(const struct door_sites *s, const char *text, uint64_t now_ns)
{
	for (uint32_t k = 0; k < s->n; k++)
		if (s->site[k].path != NONE)
			suci_path_close(s->ep, s->site[k].path, text, now_ns);
}

/* ---- turns ---- */

bool
door_sites_say(struct door_sites *s, uint32_t site, const void *note, size_t len, uint64_t now_ns)
{
	set_dirty(s);
	return suci_path_note(s->ep, s->site[site].path, note, len, now_ns) == SUCI_ERR_OK;
}

static void
listen_to_site(struct door_sites *s, uint32_t site, uint64_t gap_ns, uint64_t limit_ns,
	       uint64_t now_ns)
{
	struct door_site *at = &s->site[site];
	uint8_t ping[RELAY_NOTE_MAX];
	struct suci_path_info info;
	if (at->path == NONE || !suci_path_info(s->ep, at->path, &info) || !info.up)
		return;
	switch (relay_silence_look(&at->silence, info.last_rx_ns, gap_ns, limit_ns, now_ns)) {
	case RELAY_SILENCE_NONE:
		break;
	case RELAY_SILENCE_ASK:
		(void)door_sites_say(
			s, site, ping,
			relay_note_encode(&(struct relay_note){.type = RELAY_NOTE_PING}, ping),
			now_ns);
		break;
	case RELAY_SILENCE_OVER:
		suci_path_silent(s->ep, at->path, now_ns);
		set_dirty(s);
	}
}

void
door_sites_listen(struct door_sites *s, uint64_t gap_ns, uint64_t limit_ns, uint64_t now_ns)
{
	for (uint32_t k = 0; k < s->n; k++)
		listen_to_site(s, k, gap_ns, limit_ns, now_ns);
}

/* The other relay may have answered while the owner computed, or waited for a processor. */
static uint64_t
wait_for_other(struct door_sites *s, uint64_t now_ns)
{
	if (s->hurry_ns == BASE_NEVER_NS)
		return BASE_NEVER_NS;
	uint64_t step = base_min_ns(now_ns - s->turned_ns, 2 * DOOR_SITES_LOOK_NS);
	s->turned_ns = now_ns;
	s->hurry_ns -= base_min_ns(step, s->hurry_ns);
	if (s->hurry_ns)
		return now_ns + base_min_ns(s->hurry_ns, DOOR_SITES_LOOK_NS);
	s->hurry_ns = BASE_NEVER_NS;
	door_client_hurry(s->client);
	return BASE_NEVER_NS;
}

uint64_t
door_sites_turn(struct door_sites *s, uint64_t now_ns)
{
	uint64_t next = wait_for_other(s, now_ns);
	if (!door_client_turn(s->client))
		return base_min_ns(next, now_ns + DOOR_CLIENT_SOON_NS);
	return next;
}
