/* SPDX-License-Identifier: BSD-2-Clause */
/* Suci: a lane pair over one direct path, on the kernel driver.  No CRC on the lane: as
 * for the others the kernel's UDP (TCP) checksum is all there is.  DUEL_SEAL=1: the path is
 * sealed (AES-256-GCM).  Receives through AF_XDP where that can be had (MTU 1500 here);
 * DUEL_XDP=0: by the UDP socket only. */
#include "duel.h"

#include "driver/aead.h"
#include "driver/suci_udp.h"
#include "suci/lane.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS_MAX 512u
#define FLIGHT_MAX (4u << 20) /* bytes of blocks given to the lane and not done */
#define LABEL_SELF 1u
#define LABEL_PEER 2u
#define SMALL	   64u /* messages that have a place of their own */

const char duel_name[] = "suci";
static struct suci_udp *udp;
static struct suci *ep;
static struct suci_lanes *lanes;
static uint32_t path = UINT32_MAX, lane = UINT32_MAX;
static int is_server, up;
static uint64_t sent, done;	/* blocks */
static uint64_t arrived, taken; /* blocks */
static uint8_t *sink;		/* long messages, one after the other */
static size_t sink_at;
static uint8_t small[BLOCKS_MAX][SMALL];
static uint64_t begun;
static struct into {
	uint8_t *at;
} into[BLOCKS_MAX];

static void *
block_begin(void *user, uint32_t l, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now)
{
	uint32_t i = begun++ % BLOCKS_MAX;
	(void)user, (void)l, (void)first, (void)first_len, (void)now;
	if (bytes <= SMALL)
		sink_at = 0;
	into[i].at = bytes <= SMALL ? small[i] : sink + duel_walk(&sink_at, bytes);
	return &into[i];
}

static void
block_data(void *user, uint32_t l, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	(void)user, (void)l;
	memcpy(((struct into *)block)->at + off, data, len);
}

static void
block_end(void *user, uint32_t l, void *block, uint64_t now)
{
	(void)user, (void)l, (void)block, (void)now;
	arrived++;
}

static void
block_done(void *user, uint32_t l, uint64_t cookie, bool ok, uint64_t now)
{
	(void)user, (void)l, (void)cookie, (void)ok, (void)now;
	done++;
}

static void
hold(void *user, uint64_t cookie)
{
	(void)user;
	suci_udp_hold(udp, cookie);
}

static void
release(void *user, uint64_t cookie)
{
	(void)user;
	suci_udp_release(udp, cookie);
}

static void
lane_down(void *user, uint32_t l, enum suci_down why, const char *text)
{
	(void)user, (void)l, (void)why, (void)text;
	lane = UINT32_MAX;
}

static int
accept_peer(void *user, const struct suci_addr *from, const void *hello, size_t len,
	    char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static void
path_up(void *user, uint32_t p, const struct suci_addr *peer, const void *hello, size_t len,
	bool incoming)
{
	(void)user, (void)peer, (void)hello, (void)len, (void)incoming;
	path = p;
	up = 1;
	/* Two ends and no others, as in a job of two ranks or behind one relay. */
	if (!getenv("DUEL_MANY") && suci_udp_connect(udp, peer) < 0)
		duel_die("connect");
	struct suci_lane_conf c = {.path = p,
				   .tx_dst_label = LABEL_SELF,
				   .tx_src_label = LABEL_PEER,
				   .rx_dst_label = LABEL_SELF,
				   .rx_src_label = LABEL_PEER,
				   .direct = true,
				   .window = 16384};
	if (suci_lane_open(lanes, &c, &lane, duel_now_ns()) < 0)
		up = -1;
}

static void
path_down(void *user, uint32_t p, enum suci_down why, const char *text)
{
	(void)user, (void)p, (void)why, (void)text;
	up = -1;
}

static const struct suci_lane_ops ops = {
	.block_begin = block_begin,
	.block_data = block_data,
	.block_end = block_end,
	.block_done = block_done,
	.hold = hold,
	.release = release,
	.lane_down = lane_down,
	.accept = accept_peer,
	.path_up = path_up,
	.path_down = path_down,
};

static uint32_t
knob(const char *name, uint32_t other)
{
	const char *v = getenv(name);
	return v ? (uint32_t)strtoul(v, NULL, 0) : other;
}

/* The address we have towards the server: AF_XDP needs to know the interface. */
static void
own_address(const uint8_t to[4], uint8_t own[4])
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(duel_port)};
	socklen_t len = sizeof sa;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&sa.sin_addr, to, 4);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof sa) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		duel_die("own address");
	memcpy(own, &sa.sin_addr, 4);
	close(fd);
}

/* Turns until a datagram moved or until_ns is over: looks for DUEL_SPIN_NS, then sleeps. */
static void
wait_turn(uint64_t until_ns)
{
	uint64_t now = duel_now_ns(), asleep_at = now + DUEL_SPIN_NS;

	while (!suci_udp_poll(udp, now)) {
		now = duel_now_ns();
		if (now >= until_ns)
			return;
		if (now < asleep_at)
			continue;
		uint64_t due = suci_expiry_ns(ep) < until_ns ? suci_expiry_ns(ep) : until_ns;
		uint64_t ns = due > now ? due - now : 0;
		struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
				     .tv_nsec = (long)(ns % 1000000000u)};
		struct pollfd p = {.fd = suci_udp_fd(udp), .events = suci_udp_events(udp)};
		/* Whatever it says, the next turn sees why. */
		(void)ppoll(&p, 1, due == UINT64_MAX ? NULL : &t, NULL);
		now = duel_now_ns();
	}
}

static void
make(const uint8_t ip[4])
{
	struct suci_udp_conf uc = {.mtu = duel_mtu - 28,
				   .bufs = 1024,
				   .xdp = knob("DUEL_XDP", 1),
				   .huge_pages = true,
				   .sockbuf_bytes = 32u << 20};
	uint8_t own[4];
	if (!is_server)
		own_address(ip, own);
	uc.at = suci_addr_v4(is_server ? ip : own, is_server ? duel_port : 0);
	int err = suci_udp_open(&uc, &udp);
	if (err) {
		errno = -err;
		duel_die("suci_udp_open");
	}
	struct suci_lanes_config lc = {.limits = {.lanes_max = 4,
						  .blocks_max = BLOCKS_MAX * 2,
						  .rx_blocks_max = BLOCKS_MAX,
						  .held_max = 512,
						  .ranges_max = 4096,
						  .labels_max = 4},
				       .ops = &ops};
	lanes = suci_lanes_new(aligned_alloc(64, suci_lanes_footprint(&lc.limits)), &lc);
	struct suci_config c = {.limits = {.paths_max = 4,
					   .segments_max = 16384,
					   .queue_max = 4096,
					   .window_max = knob("DUEL_WINDOW", 4096)},
				.incarnation = duel_now_ns() | 1,
				.seed = (uint64_t)getpid(),
				.mtu_max = suci_udp_mtu(udp),
				.cc = SUCI_CC_CUBIC,
				.initial_window = 64,
				.ack_every = knob("DUEL_ACK_EVERY", 32),
				.ack_ride_ns = knob("DUEL_ACK_RIDE_NS", 50000),
				.burst_bytes = knob("DUEL_BURST", 256u << 10),
				.credit = suci_udp_credit(udp, 1),
				.ops = suci_lanes_ops(),
				.user = lanes};
	if (getrandom(c.cookie_secret, sizeof c.cookie_secret, 0) < 0)
		duel_die("getrandom");
	if (getenv("DUEL_SHOW")) {
		struct suci_udp_info info;
		suci_udp_get_info(udp, &info);
		fprintf(stderr, "  xdp %s\n", info.xdp ? "yes" : info.xdp_why);
	}
	if (knob("DUEL_SEAL", 0)) {
		c.limits.sealed_max = c.limits.paths_max;
		c.seal = (struct suci_seal_conf){.aead = seal_aes256gcm(), .nkeys = 1, .legs = ~0u};
		c.seal.key[0].id = 1;
		if (getrandom(c.seal.seed, sizeof c.seal.seed, 0) < 0)
			duel_die("getrandom");
	}
	if (lanes)
		ep = suci_new(aligned_alloc(64, suci_footprint(&c.limits)), &c, duel_now_ns());
	if (!ep) {
		errno = EINVAL;
		duel_die("suci_new");
	}
	suci_lanes_bind(lanes, ep);
	suci_udp_attach(udp, ep);
}

void
duel_open(int server, const char *ip, size_t most)
{
	uint8_t bytes[4];
	uint64_t until = duel_now_ns() + 10000000000ull;
	if (inet_pton(AF_INET, ip, bytes) != 1)
		duel_die(ip);
	is_server = server;
	sink = malloc(most + 64);
	memset(sink, 0, most + 64);
	make(bytes);
	if (server) {
		duel_ready();
	} else {
		struct suci_addr to = suci_addr_v4(bytes, duel_port);
		if (suci_path_open(ep, &to, NULL, 0, &path, duel_now_ns()) < 0)
			duel_die("suci_path_open");
	}
	while (!up && (server || duel_now_ns() < until))
		wait_turn(server ? UINT64_MAX : until);
	if (up < 0)
		duel_die("path");
}

void
duel_send(const void *bytes, size_t n)
{
	while (up > 0 && sent != done &&
	       (sent - done >= BLOCKS_MAX / 2 || (sent - done) * n > FLIGHT_MAX))
		wait_turn(UINT64_MAX);
	uint64_t now = duel_now_ns();
	if (suci_lane_send(lanes, lane, NULL, 0, bytes, n, false, 0, now) < 0)
		duel_die("suci_lane_send");
	/* Behind others it goes along with them. */
	if (sent++ == done)
		suci_udp_tx(udp, now);
}

const void *
duel_recv(void *buf, size_t n)
{
	(void)buf, (void)n;
	while (arrived == taken && up > 0)
		wait_turn(UINT64_MAX);
	if (arrived == taken)
		duel_die("path down");
	return into[taken++ % BLOCKS_MAX].at;
}

static void
show(void)
{
	if (!getenv("DUEL_SHOW"))
		return;
	const struct suci_udp_counters *u = suci_udp_counters(udp);
	const struct suci_counters *e = suci_counters(ep);
#define X(n, h)   \
	if (u->n) \
		fprintf(stderr, "  %-14s %llu\n", #n, (unsigned long long)u->n);
	SUCI_UDP_COUNTERS(X)
#undef X
#define X(n, h)   \
	if (e->n) \
		fprintf(stderr, "  %-20s %llu\n", #n, (unsigned long long)e->n);
	SUCI_COUNTERS(X)
#undef X
}

void
duel_idle(int until)
{
	struct pollfd p = {.fd = until, .events = POLLIN};

	suci_flush_acks(ep);
	suci_udp_tx(udp, duel_now_ns());
	while (up > 0 && poll(&p, 1, 0) == 0)
		wait_turn(duel_now_ns() + 1000000);
}

void
duel_close(void)
{
	uint64_t until = duel_now_ns() + 2000000000ull;
	/* The server stays until the other has closed the path. */
	while (up > 0 && (sent != done || is_server) && duel_now_ns() < until)
		wait_turn(until);
	suci_flush_acks(ep);
	suci_udp_tx(udp, duel_now_ns());
	show();
	if (up > 0)
		suci_path_close(ep, path, "end", duel_now_ns());
	suci_udp_tx(udp, duel_now_ns());
	suci_udp_detach(udp);
	suci_fini(ep, duel_now_ns());
	suci_udp_close(udp);
}
