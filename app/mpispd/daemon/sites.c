/* SPDX-License-Identifier: BSD-2-Clause */
/* Daemons of other sites: each is a door behind the relay of its site, at an address that is made
 * of the configuration.  What they say is sealed from one to the other (spd/far.h). */
#include "daemon.h"

#include "spd/far.h"

#include "base/clock.h"
#include "driver/aead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define QUEUE_MAX  256 /* blocks for a unit that does not take any */
#define BLOCK_ROOM ((1u << 20) + SPD_FAR_MORE)
#define HELLO_NS   (20 * BASE_MS_NS) /* between two to a unit, at least */
#define LOOK_NS	   BASE_S_NS	     /* whether the relay has given us our address */
#define LATE_NS	   (2 * BASE_S_NS)   /* until it is told that it has not */

static struct {
	struct datagram_sock *net; /* NULL: there is one site */
	struct spd_far *far;
	uint8_t *out, *in; /* BLOCK_ROOM */
	uint32_t id[SPD_UNITS_MAX];
	uint64_t hello_ns[SPD_UNITS_MAX]; /* the next one not before */
	bool told_key[SPD_UNITS_MAX];
	uint64_t look_ns, good_ns; /* good: since then our address is not ours */
	bool told;
	char why[SPD_WHY]; /* "": it is ours */
} s;

/* ---- begin and end ---- */

static bool
read_far_keys(char why[SPD_WHY])
{
	struct seal_psk key[SEAL_PSK_MAX];
	char text[SEAL_TEXT];
	int n = spd.conf->psk_file ? seal_psk_load(spd.conf->psk_file, key, text) : 0;

	if (n < 0)
		snprintf(why, SPD_WHY, "%s: %s", spd.conf->psk_file, text);
	else
		spd_far_keys(s.far, key, (uint32_t)n);
	explicit_bzero(key, sizeof key);
	return n >= 0;
}

static bool
make_address(uint32_t unit, char address[DATAGRAM_ADDRESS_MAX], char why[SPD_WHY])
{
	struct spd_claim k = spd_claim_of_unit(spd.conf, unit, DATAGRAM_CLAIMS);
	struct datagram_claim c = {.relay = spd.conf->site[spd.conf->unit[unit].site].wan,
				   .number = k.number,
				   .realm = k.realm,
				   .token = k.token};

	if (datagram_address_for(&c, address) == 0)
		return true;
	snprintf(why, SPD_WHY, "unit %s: %s", spd.conf->unit[unit].name, datagram_error(NULL));
	return false;
}

static bool
open_others(char why[SPD_WHY])
{
	char address[DATAGRAM_ADDRESS_MAX];

	for (uint32_t u = 0; u < spd.conf->nunits; u++) {
		if (spd_unit_is_near(spd.conf, u, spd.me))
			continue;
		int64_t id = make_address(u, address, why) ? datagram_open_at(s.net, address) : -1;
		if (id < 0)
			return false;
		s.id[u] = (uint32_t)id;
	}
	return true;
}

bool
spd_sites_open(char why[SPD_WHY])
{
	const struct spd_conf *c = spd.conf;
	const char *relay = spd_relay_of_unit(c, spd.me);
	struct datagram_conf d;
	char address[DATAGRAM_ADDRESS_MAX];
	uint64_t session = 0;

	if (c->nsites < 2)
		return true;
	snprintf(why, SPD_WHY, "no random numbers from the kernel");
	while (session == 0)
		if (getrandom(&session, sizeof session, 0) != (ssize_t)sizeof session)
			return false;
	s.out = malloc(BLOCK_ROOM);
	s.in = malloc(BLOCK_ROOM);
	s.far = spd_far_new(seal_aes256gcm(), c->nunits, spd.me, session);
	snprintf(why, SPD_WHY, "out of memory");
	if (!s.out || !s.in || !s.far || !read_far_keys(why) || !make_address(spd.me, address, why))
		return false;
	datagram_conf_init(&d);
	d.relay = relay;
	d.address = address;
	d.realm = spd_claim_of_unit(c, spd.me, DATAGRAM_CLAIMS).realm;
	d.doors = 2 * c->nunits; /* who comes by itself has a place of its own until it is known */
	d.read_bytes = d.write_bytes = 8u << 20;
	d.sockbuf_bytes = 1u << 20;
	d.connect_ms = 2000;
	/* With two relays the other one is to carry beats before they are missed.  Not too soon:
	 * who took a living relay for dead waits for his own address. */
	d.liveness_ms = c->beat_ms * c->missed / 4;
	if (d.liveness_ms < 500)
		d.liveness_ms = 500;
	d.close_ms = 500;
	d.spin_us = 0;
	s.net = datagram_open_with(&d);
	if (!s.net)
		snprintf(why, SPD_WHY, "sites.%s: %s", c->site[c->unit[spd.me].site].name,
			 datagram_error(NULL));
	return s.net && open_others(why);
}

void
spd_sites_close(void)
{
	if (s.net)
		(void)datagram_close(s.net);
	s.net = NULL;
	spd_far_free(s.far);
	free(s.in);
	free(s.out);
}

bool
spd_sites_rekey(char why[SPD_WHY])
{
	return !s.net || read_far_keys(why);
}

struct datagram_sock *
spd_sites_net(void)
{
	return s.net;
}

/* ---- sending ---- */

/* False: there is no room. */
static bool
write_far(uint32_t unit, size_t len)
{
	/* An error of the peer is told once, and then it may be written to again. */
	for (int i = 0; i < 2; i++) {
		if (datagram_queue_length(s.net, s.id[unit]) < QUEUE_MAX &&
		    datagram_destination(s.net, s.id[unit]) == 0 &&
		    datagram_write0(s.net, s.out, len) >= 0)
			return true;
		if (errno == EAGAIN)
			break;
	}
	return false;
}

static void
say_far_hello(uint32_t unit)
{
	uint64_t now = spd_now_ns();

	if (now < s.hello_ns[unit])
		return;
	s.hello_ns[unit] = now + HELLO_NS;
	(void)write_far(unit, spd_far_hello(s.far, unit, s.out));
}

bool
spd_sites_send(uint32_t unit, const void *bytes, size_t len)
{
	if (len > BLOCK_ROOM - SPD_FAR_MORE)
		return false;
	if (!spd_far_knows(s.far, unit)) {
		say_far_hello(unit);
		return true; /* it is said again */
	}
	return write_far(unit, spd_far_seal(s.far, unit, bytes, len, s.out));
}

/* ---- receiving ---- */

static void
hear_far(uint8_t *bytes, size_t len, spd_hear_fn *hear, uint64_t now_ns)
{
	uint32_t unit = spd.me;
	const uint8_t *block;
	size_t n;

	switch (spd_far_open(s.far, bytes, len, &unit, &block, &n)) {
	case SPD_FAR_BLOCK:
		if (!spd_unit_is_near(spd.conf, unit, spd.me))
			hear(unit, block, n, now_ns);
		break;
	case SPD_FAR_ANSWER:
		if (!spd_unit_is_near(spd.conf, unit, spd.me))
			say_far_hello(unit);
		break;
	case SPD_FAR_KEY:
		if (!s.told_key[unit])
			spd_log("who says to be unit %s has another key, or none: nothing of it is "
				"taken",
				spd.conf->unit[unit].name);
		s.told_key[unit] = true;
		break;
	case SPD_FAR_BAD:
		spd.far_malformed++;
		break;
	case SPD_FAR_NONE:
		break;
	}
}

void
spd_sites_read(spd_hear_fn *hear, uint64_t now_ns)
{
	if (!s.net)
		return;
	(void)datagram_progress(s.net);
	for (;;) {
		int64_t n = datagram_read0(s.net, s.in, BLOCK_ROOM);
		if (n >= 0) {
			hear_far(s.in, (size_t)n, hear, now_ns);
			continue;
		}
		if (errno != EMSGSIZE)
			return;
		/* Nobody of ours writes one that large: it has to be read to be rid of it. */
		spd.far_malformed++;
		uint64_t size = 0;
		(void)datagram_peek(s.net, NULL, &size);
		uint8_t *all = malloc(size);
		n = all ? datagram_read0(s.net, all, size) : -1;
		free(all);
		if (n < 0)
			return;
	}
}

/* ---- our address ---- */

uint64_t
spd_sites_turn(uint64_t now_ns)
{
	if (!s.net)
		return BASE_NEVER_NS;
	if (now_ns < s.look_ns)
		return s.look_ns;
	s.look_ns = now_ns + LOOK_NS;
	bool ours = datagram_claimed(s.net) == 0;
	snprintf(s.why, sizeof s.why, "%s", ours ? "" : datagram_error(s.net));
	if (ours && s.told)
		spd_log("daemons of other sites reach us again");
	s.told &= !ours;
	s.good_ns = ours || !s.good_ns ? now_ns : s.good_ns;
	if (!ours && !s.told && now_ns - s.good_ns >= LATE_NS) {
		s.told = true;
		spd_log("daemons of other sites do not reach us: relay %s of site %s: %s",
			spd_relay_of_unit(spd.conf, spd.me),
			spd.conf->site[spd.conf->unit[spd.me].site].name, s.why);
	}
	return s.look_ns;
}

const char *
spd_sites_why(void)
{
	return s.why[0] ? s.why : NULL;
}
