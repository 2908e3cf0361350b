/* SPDX-License-Identifier: BSD-2-Clause */
/* A tenant's processes at the relay of their cluster that ask for all they can, and for what they
 * may not have:
 *
 *     doors_flood IP:PORT SECONDS PROCESSES ADDRESS STALE [SEED]
 *
 * registers doors without end; imports ADDRESS, which is another tenant's, with a wrong token,
 * under its own realm, with a door of a foreign realm, at relays that are not there; imports STALE,
 * whose door has left; says what is no address, HOLD, DROP and LEAVE of any label; writes to any
 * label. The last line says what was sent, what came back, and the seed; without one it is of the
 * clock.  Ends with 0 if nothing forged was granted and all that was refused was told so. */
#include "door/client.h"
#include "driver/suci_udp.h"

#include "base/clock.h"
#include "base/prng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 64u
#define NOTES_TURN    32u /* of a process, then it listens */
#define OUR_REALM     0xe711u
#define FULL_US	      100 /* there is no room for more to be said */
#define UP_NS	      (10 * BASE_S_NS)

static const struct suci_addr anywhere;
static const uint8_t nothing[8];

struct process {
	struct suci_udp *udp;
	struct suci *ep;
	uint32_t path, request;
	bool up;
	struct door_address own; /* label 0: none yet */
};

static struct {
	struct process process[PROCESSES_MAX];
	uint32_t n;
	struct door_address good, stale;
	struct base_prng prng;
	uint64_t notes, segments, addresses, refused, granted, gone, lost;
} flood;

static int
refuse_paths(void *user, const struct suci_addr *from, const void *hello, size_t len,
	     char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len;
	snprintf(why, SUCI_TEXT_MAX, "nobody opens paths to us");
	return -1;
}

static void
come_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
	bool incoming)
{
	struct process *p = user;
	(void)peer, (void)hello, (void)len, (void)incoming;
	p->path = path;
	p->up = true;
}

static void
go_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct process *p = user;
	(void)path;
	fprintf(stderr, "a path is down: %u %s\n", (unsigned)why, text ? text : "");
	flood.lost++;
	p->up = false;
	p->own.label = 0;
}

static enum suci_verdict
drop_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	(void)user, (void)path, (void)seg, (void)now_ns;
	return SUCI_DROPPED;
}

static void
forget_segment(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	(void)user, (void)path, (void)cookie, (void)fate, (void)now_ns;
}

static void
hear_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct process *p = user;
	struct relay_door_note n;
	(void)path, (void)now_ns;
	if (relay_door_decode(note, len, &n))
		return;
	flood.refused += n.op == RELAY_DOOR_REFUSED;
	flood.granted += n.op == RELAY_DOOR_IMPORTED;
	flood.gone += n.op == RELAY_DOOR_GONE;
	if (n.op != RELAY_DOOR_ADDRESS)
		return;
	flood.addresses++;
	if (!p->own.label)
		(void)door_address_decode(n.address.at, n.address.len, &p->own);
}

static const struct suci_ops ops = {.accept = refuse_paths,
				    .path_up = come_up,
				    .path_down = go_down,
				    .segment = drop_segment,
				    .released = forget_segment,
				    .note = hear_note};

static bool
start_process(struct process *p, const struct suci_addr *relay, uint32_t number)
{
	struct suci_udp_conf uc = {.at = anywhere, .mtu = 1400, .bufs = 128};
	struct suci_config c = {.limits = {.paths_max = 2,
					   .segments_max = 512,
					   .queue_max = 256,
					   .window_max = 128},
				.incarnation = base_prng_next(&flood.prng) | 1,
				.seed = base_prng_next(&flood.prng),
				.mtu_max = 1400,
				.cc = SUCI_CC_CUBIC,
				.ops = &ops,
				.user = p};
	uint8_t hello[RELAY_HELLO_LEN];
	if (suci_udp_open(&uc, &p->udp))
		return false;
	for (size_t i = 0; i < sizeof c.cookie_secret; i++)
		c.cookie_secret[i] = (uint8_t)base_prng_next(&flood.prng);
	void *mem = aligned_alloc(64, (suci_footprint(&c.limits) + 63) & ~(size_t)63);
	p->ep = mem ? suci_new(mem, &c, suci_udp_now_ns()) : NULL;
	if (!p->ep)
		return false;
	suci_udp_attach(p->udp, p->ep);
	door_client_hello(hello);
	p->request = number << 20;
	return !suci_path_open(p->ep, relay, hello, sizeof hello, &p->path, suci_udp_now_ns());
}

/* An address that is to be refused, and the door that is offered with it. */
static void
forge(const struct process *p, struct door_address *a, uint32_t *own)
{
	struct base_prng *g = &flood.prng;
	*a = flood.good;
	*own = p->own.label;
	switch (base_prng_below(g, 6)) {
	case 0: /* the realm is its own, the door we come with is not of it */
		return;
	case 1:
		*own = 0;
		a->realm = p->own.realm;
		return;
	case 2:
		*own = 0;
		a->token ^= base_prng_next(g) | 1;
		return;
	case 3:
		*own = 0;
		*a = flood.stale;
		return;
	case 4:
		a->realm = p->own.realm;
		a->relay[0].ipv4 =
			(a->relay[0].ipv4 & 0xffffff00) | (uint32_t)(200 + base_prng_below(g, 50));
		return;
	default: /* of our own relay */
		*a = p->own;
	}
}

static bool
say(struct process *p, const void *note, size_t len)
{
	if (suci_path_note(p->ep, p->path, note, len, suci_udp_now_ns()))
		return false;
	flood.notes++;
	return true;
}

static bool
say_one(struct process *p)
{
	static const uint8_t any[] = {RELAY_DOOR_HOLD, RELAY_DOOR_DROP, RELAY_DOOR_LEAVE,
				      RELAY_DOOR_GONE, RELAY_DOOR_ANSWER};
	struct base_prng *g = &flood.prng;
	uint8_t at[DOOR_ADDRESS_MAX], buf[RELAY_DOOR_NOTE_MAX];
	struct relay_door_note n = {.request = ++p->request};
	struct door_address a;
	uint64_t what = p->own.label ? base_prng_below(g, 8) : 0;
	if (what < 2) {
		n.op = RELAY_DOOR_REGISTER;
		n.n = (uint16_t)(what ? base_prng_below(g, 200) : 1);
		n.realm = OUR_REALM;
		n.token = base_prng_next(g);
		return say(p, buf, relay_door_encode(&n, buf));
	}
	if (what == 2) {
		n.op = any[base_prng_below(g, sizeof any)];
		do
			n.label = (uint32_t)base_prng_below(g, 8192);
		while (n.label == p->own.label);
		return say(p, buf, relay_door_encode(&n, buf));
	}
	forge(p, &a, &n.label);
	n.op = RELAY_DOOR_IMPORT;
	n.address.at = at;
	n.address.len = (uint8_t)door_address_encode(&a, at);
	if (what == 3)
		at[base_prng_below(g, n.address.len)] ^= 1;
	return say(p, buf, relay_door_encode(&n, buf));
}

static void
write_to_any(struct process *p)
{
	struct suci_segment seg = {.dst_label = (uint32_t)base_prng_below(&flood.prng, 8192),
				   .src_label = p->own.label,
				   .flags = SUCI_SF_FIRST | SUCI_SF_LAST,
				   .mss = sizeof nothing,
				   .block_bytes = sizeof nothing,
				   .data = nothing,
				   .data_len = sizeof nothing};
	if (p->own.label && !suci_path_send(p->ep, p->path, &seg, suci_udp_now_ns()))
		flood.segments++;
}

static void
turn(struct process *p)
{
	for (uint32_t i = 0; p->up && i < NOTES_TURN; i++)
		if (!say_one(p))
			break;
	if (p->up)
		write_to_any(p);
	(void)suci_udp_poll(p->udp, suci_udp_now_ns());
}

/* From when all are connected; those that do not come are not waited for longer than UP_NS. */
static void
go_on_for(uint64_t ns)
{
	uint64_t began = suci_udp_now_ns(), end = began + UP_NS + ns;
	bool all_up = false;

	for (uint64_t now = began; now < end; now = suci_udp_now_ns()) {
		uint64_t said = flood.notes;
		uint32_t up = 0;
		for (uint32_t i = 0; i < flood.n; i++) {
			turn(&flood.process[i]);
			up += flood.process[i].up;
		}
		if (!all_up && up == flood.n) {
			all_up = true;
			end = now + ns;
		}
		if (flood.notes == said)
			usleep(FULL_US);
	}
}

int
main(int argc, char **argv)
{
	struct suci_addr relay;
	if (argc < 6 || argc > 7 || !suci_addr_parse(argv[1], strlen(argv[1]), &relay) ||
	    door_address_parse(argv[4], &flood.good) || door_address_parse(argv[5], &flood.stale)) {
		fprintf(stderr, "usage: doors_flood IP:PORT SECONDS PROCESSES ADDRESS STALE "
				"[SEED]\n");
		return 2;
	}
	uint64_t seed = argc > 6 ? strtoull(argv[6], NULL, 0) : suci_udp_now_ns();
	flood.prng = base_prng_seed(seed);
	uint32_t n = (uint32_t)strtoul(argv[3], NULL, 10);
	for (; flood.n < n && flood.n < PROCESSES_MAX; flood.n++)
		if (!start_process(&flood.process[flood.n], &relay, flood.n + 1)) {
			fprintf(stderr, "no socket, memory or path\n");
			return 2;
		}
	go_on_for(strtoull(argv[2], NULL, 10) * BASE_S_NS);
	printf("%llu notes, %llu segments of %u processes: %llu addresses, %llu refused, %llu "
	       "granted, %llu gone, %llu paths lost; seed %#llx\n",
	       (unsigned long long)flood.notes, (unsigned long long)flood.segments, flood.n,
	       (unsigned long long)flood.addresses, (unsigned long long)flood.refused,
	       (unsigned long long)flood.granted, (unsigned long long)flood.gone,
	       (unsigned long long)flood.lost, (unsigned long long)seed);
	return flood.addresses && flood.refused && !flood.granted ? 0 : 1;
}
