/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel UDP driver: two real Suci endpoints over loopback. */
#include "driver/aead.h"
#include "driver/suci_udp.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define LIMIT_NS (120 * BASE_S_NS) /* a test that needs longer hangs */
#define SEGMENTS 3000u
#define HOLD_MAX 16u
#define EQUAL	 1000u /* payload of segments that can go as one run */

static const uint8_t loopback[4] = {127, 0, 0, 1};
static const struct suci_addr loopback_6 = {.ip = {[15] = 1}, .family = 6}, any_6 = {.family = 6};
/* Where the ends opened next are. */
static struct suci_addr here = {.ip = {[12] = 127, [15] = 1}, .family = 4};

struct end {
	struct suci_udp *udp;
	struct suci *ep;
	void *mem;
	bool up, down;
	enum suci_down why;
	uint32_t path, acked, abandoned, received;
	uint8_t seen[SEGMENTS];
	bool bad, equal;
	uint64_t held[HOLD_MAX]; /* receive buffers kept beyond the call */
	const uint8_t *held_data[HOLD_MAX];
	uint32_t held_seq[HOLD_MAX];
	uint32_t nheld;
};

static uint8_t payload[65536];
static bool use_seal;
static bool use_ecn; /* of the ends opened next */

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	struct end *e = user;
	(void)peer, (void)hello, (void)len, (void)incoming;
	e->up = true;
	e->path = path;
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct end *e = user;
	(void)path, (void)text;
	e->down = true;
	e->why = why;
}

static void
check_held(struct end *e)
{
	for (uint32_t i = 0; i < e->nheld; i++) {
		if (memcmp(e->held_data[i], payload + e->held_seq[i] % 1000, 200) != 0)
			e->bad = true;
		suci_udp_release(e->udp, e->held[i]);
	}
	e->nheld = 0;
}

static uint16_t
length_of(uint32_t seq, bool equal)
{
	return (uint16_t)(equal ? EQUAL : 200 + seq % 900);
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct end *e = user;

	(void)path, (void)now_ns;
	if (seg->seq >= SEGMENTS || seg->data_len != length_of(seg->seq, e->equal) ||
	    memcmp(seg->data, payload + seg->seq % 1000, seg->data_len) != 0) {
		e->bad = true;
		return SUCI_DROPPED;
	}
	if (!e->seen[seg->seq]++)
		e->received++;
	if (e->nheld == HOLD_MAX)
		check_held(e);
	suci_udp_hold(e->udp, seg->cookie);
	e->held[e->nheld] = seg->cookie;
	e->held_data[e->nheld] = seg->data;
	e->held_seq[e->nheld++] = seg->seq;
	return SUCI_TAKEN;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct end *e = user;
	(void)path, (void)cookie, (void)now_ns;
	if (fate == SUCI_FATE_ACKED)
		e->acked++;
	else
		e->abandoned++;
}

static const struct suci_ops ops = {
	.accept = on_accept,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
};

static void
open_end(struct end *e, uint64_t incarnation, bool offload)
{
	struct suci_udp_conf uc = {.bufs = 64 + HOLD_MAX,
				   .mtu = suci_addr_is_any(&here) ? 1472 : 0,
				   .mtu_max = 1472,
				   .no_gso = !offload,
				   .no_gro = !offload,
				   .ecn = use_ecn};
	struct suci_config c = {.limits = {.paths_max = 4,
					   .segments_max = 1024,
					   .queue_max = 512,
					   .window_max = 256},
				.incarnation = incarnation,
				.seed = incarnation,
				.mtu_max = 1472,
				.cc = SUCI_CC_CUBIC,
				.ops = &ops,
				.user = e};

	memset(e, 0, sizeof *e);
	uc.at = here;
	assert_int_equal(suci_udp_open(&uc, &e->udp), 0);
	assert_int_equal(suci_udp_mtu(e->udp), 1472);
	assert_true(suci_udp_local(e->udp).port != 0);
	if (use_seal) {
		c.limits.sealed_max = 4;
		c.seal = (struct suci_seal_conf){.aead = seal_aes256gcm(),
						 .key = {{.id = 1, .secret = {9, 8, 7}}},
						 .nkeys = 1,
						 .legs = 1,
						 .seed = {5, (uint8_t)incarnation},
						 .epoch = 1000};
		c.cookie_secret[0] = (uint8_t)incarnation;
	}
	c.ecn = suci_udp_ecn_works(e->udp);
	assert_int_equal(c.ecn, use_ecn);
	c.burst_bytes = suci_udp_burst(e->udp);
	assert_true(c.burst_bytes >= 16 * c.mtu_max);
	c.credit = suci_udp_credit(e->udp, 1);
	if (c.credit > 256)
		c.credit = 256;
	e->mem = aligned_alloc(64, (suci_footprint(&c.limits) + 63) & ~63ull);
	e->ep = suci_new(e->mem, &c, suci_udp_now_ns());
	assert_non_null(e->ep);
	suci_udp_attach(e->udp, e->ep);
}

static void
close_end(struct end *e)
{
	check_held(e);
	suci_fini(e->ep, suci_udp_now_ns());
	suci_udp_detach(e->udp);
	suci_udp_close(e->udp);
	free(e->mem);
	e->ep = NULL;
}

/* Turns of both until *flag; who needs longer hangs, on a loaded machine, too. */
static void
run(struct end *a, struct end *b, const bool *flag)
{
	uint64_t end = suci_udp_now_ns() + LIMIT_NS, now;

	while (!*flag && (now = suci_udp_now_ns()) < end) {
		bool moved = suci_udp_poll(a->udp, now);
		if (b->ep)
			moved |= suci_udp_poll(b->udp, now);
		if (!moved) {
			struct pollfd p[2] = {
				{.fd = suci_udp_fd(a->udp), .events = suci_udp_events(a->udp)},
				{.fd = b->ep ? suci_udp_fd(b->udp) : -1, .events = POLLIN},
			};
			(void)poll(p, 2, 1);
		}
	}
	assert_true(*flag);
}

static void
connect_ends(struct end *a, struct end *b, bool offload)
{
	for (size_t i = 0; i < sizeof payload; i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8));
	open_end(a, 1, offload);
	open_end(b, 2, offload);
	struct suci_addr to = suci_udp_local(b->udp);
	assert_int_equal(suci_path_open(a->ep, &to, "hi", 2, &a->path, suci_udp_now_ns()), 0);
	run(a, b, &a->up);
}

/* SEGMENTS from a to b, each byte checked. */
static void
transfer(struct end *a, struct end *b, bool equal)
{
	uint32_t sent = 0;

	b->equal = equal;
	while (a->acked < SEGMENTS) {
		struct suci_segment s = {.seq = sent,
					 .data = payload + sent % 1000,
					 .data_len = length_of(sent, equal),
					 .cookie = sent};
		if (sent < SEGMENTS && suci_path_send(a->ep, a->path, &s, suci_udp_now_ns()) == 0) {
			sent++;
			continue;
		}
		uint32_t before = a->acked;
		uint64_t end = suci_udp_now_ns() + LIMIT_NS;
		while (a->acked == before && suci_udp_now_ns() < end) {
			suci_udp_poll(a->udp, suci_udp_now_ns());
			suci_udp_poll(b->udp, suci_udp_now_ns());
		}
		assert_true(a->acked > before);
	}
	check_held(b);
	assert_false(b->bad);
	assert_int_equal(b->received, SEGMENTS);
	assert_int_equal(a->abandoned, 0);
	assert_int_equal(suci_held(a->ep), 0);
	assert_int_equal(suci_udp_counters(b->udp)->rx_truncated, 0);
}

static void
transfer_and_unreachable(void **state)
{
	static struct end a, b;

	(void)state;
	connect_ends(&a, &b, false);
	transfer(&a, &b, false);
	assert_int_equal(suci_udp_counters(a.udp)->tx_runs, 0);
	assert_int_equal(suci_udp_counters(b.udp)->rx_merged, 0);

	/* The other process dies: the kernel says so, and Suci is told. */
	close_end(&b);
	struct suci_segment s = {.data = payload, .data_len = 10};
	assert_int_equal(suci_path_send(a.ep, a.path, &s, suci_udp_now_ns()), 0);
	run(&a, &b, &a.down);
	assert_int_equal(a.why, SUCI_DOWN_UNREACHABLE);
	assert_true(suci_udp_counters(a.udp)->unreachable > 0);
	assert_int_equal(a.abandoned, 1);
	close_end(&a);
}

/* A process that takes leave and closes its port is heard before the kernel's word that
 * the port is closed, though that comes first out of the socket. */
static void
farewell_before_unreachable(void **state)
{
	static struct end a, b;
	struct suci_segment s = {.data = payload, .data_len = 10};

	(void)state;
	connect_ends(&a, &b, false);
	run(&a, &b, &b.up);
	suci_path_close(b.ep, b.path, "bye", suci_udp_now_ns());
	suci_udp_tx(b.udp, suci_udp_now_ns());
	close_end(&b);
	assert_int_equal(suci_path_send(a.ep, a.path, &s, suci_udp_now_ns()), 0);
	suci_udp_tx(a.udp, suci_udp_now_ns()); /* to the closed port */
	run(&a, &b, &a.down);
	assert_int_equal(a.why, SUCI_DOWN_CLOSED);
	assert_true(suci_udp_counters(a.udp)->unreachable > 0);
	close_end(&a);
}

/* sendmmsg() keeps the error to itself that it met behind its first message: it is read all the
 * same, or poll() would return at once from then on. */
static void
error_amid_a_batch(void **state)
{
	static struct end a, b, c;
	struct suci_addr to;
	uint32_t path;

	(void)state;
	open_end(&b, 2, false);
	to = suci_udp_local(b.udp);
	close_end(&b);
	open_end(&a, 1, false);
	open_end(&c, 3, false);
	assert_int_equal(suci_path_open(a.ep, &to, "hi", 2, &path, suci_udp_now_ns()), 0);
	to = suci_udp_local(c.udp);
	assert_int_equal(suci_path_open(a.ep, &to, "hi", 2, &a.path, suci_udp_now_ns()), 0);
	assert_true(suci_udp_tx(a.udp, suci_udp_now_ns()));
	suci_udp_poll(a.udp, suci_udp_now_ns());
	struct pollfd p = {.fd = suci_udp_fd(a.udp), .events = POLLIN};
	assert_true(poll(&p, 1, 0) >= 0);
	assert_false(p.revents & POLLERR);
	run(&a, &c, &a.up);
	close_end(&c);
	close_end(&a);
}

/* The kernel cuts and merges, if it can at all. */
static void
transfer_in_runs(void **state)
{
	static struct end a, b;
	int v = 0;
	socklen_t len = sizeof v;

	(void)state;
	connect_ends(&a, &b, true);
	bool gso = getsockopt(suci_udp_fd(a.udp), IPPROTO_UDP, UDP_SEGMENT, &v, &len) == 0;
	bool gro = getsockopt(suci_udp_fd(b.udp), IPPROTO_UDP, UDP_GRO, &v, &len) == 0;
	/* There was no load yet. */
	if (gro)
		assert_int_equal(v, 0);
	transfer(&a, &b, true);
	const struct suci_udp_counters *ca = suci_udp_counters(a.udp);
	const struct suci_udp_counters *cb = suci_udp_counters(b.udp);
	if (gso && ca->gso_refused == 0) {
		assert_true(ca->tx_runs > 0);
		assert_true(ca->tx_datagrams > ca->tx_calls);
	}
	/* Loopback hands a run over as it is, to who asks for it. */
	if (gro && ca->tx_runs > 0) {
		assert_int_equal(getsockopt(suci_udp_fd(b.udp), IPPROTO_UDP, UDP_GRO, &v, &len), 0);
		assert_int_equal(v, 1);
		assert_true(cb->rx_merged > 0);
	}
	assert_true(cb->rx_datagrams >= SEGMENTS);
	close_end(&b);
	close_end(&a);
}

/* The ECN bits go through the kernel both ways, with runs and without. */
static void
marks(void **state)
{
	static struct end a, b;
	struct suci_path_info i;

	(void)state;
	for (int offload = 0; offload < 2; offload++) {
		use_ecn = true;
		connect_ends(&a, &b, offload);
		use_ecn = false;
		transfer(&a, &b, true);
		assert_true(suci_path_info(a.ep, a.path, &i));
		assert_true(i.ecn); /* every mark was echoed */
		assert_int_equal(suci_counters(a.ep)->ecn_failed, 0);
		close_end(&b);
		close_end(&a);
	}
	/* A peer that does not see them. */
	connect_ends(&a, &b, true);
	close_end(&a);
	use_ecn = true;
	open_end(&a, 3, true);
	use_ecn = false;
	struct suci_addr to = suci_udp_local(b.udp);
	assert_int_equal(suci_path_open(a.ep, &to, "hi", 2, &a.path, suci_udp_now_ns()), 0);
	run(&a, &b, &a.up);
	transfer(&a, &b, true);
	assert_true(suci_path_info(a.ep, a.path, &i));
	assert_false(i.ecn);
	assert_int_equal(suci_counters(a.ep)->ecn_failed, 1);
	close_end(&b);
	close_end(&a);
}

/* Sealed datagrams through the kernel, in runs and one by one, over some changes of the
 * key; then the peer dies, which the kernel's word alone does not prove. */
static void
sealed(void **state)
{
	static struct end a, b;
	struct suci_path_info i;
	struct suci_segment s = {.data = payload, .data_len = 10};

	(void)state;
	use_seal = true;
	for (int offload = 0; offload < 2; offload++) {
		connect_ends(&a, &b, offload);
		transfer(&a, &b, offload);
		assert_true(suci_path_info(a.ep, a.path, &i));
		assert_true(i.sealed);
		assert_true(suci_counters(a.ep)->tx_rekeys >= SEGMENTS / 1000 - 1);
		assert_int_equal(suci_counters(b.ep)->drop_seal, 0);
		assert_int_equal(suci_counters(b.ep)->drop_unsealed, 0);
		close_end(&b);
		if (!offload)
			close_end(&a);
	}
	use_seal = false;
	assert_int_equal(suci_path_send(a.ep, a.path, &s, suci_udp_now_ns()), 0);
	run(&a, &b, &a.down);
	assert_int_equal(a.why, SUCI_DOWN_UNREACHABLE);
	assert_true(suci_counters(a.ep)->tx_probes >= 2);
	close_end(&a);
}

/* Only when it gets a run does the kernel say that it does not cut for this
 * socket or device: nothing may be lost by that. */
static void
runs_refused(void **state)
{
	static struct end a, b;
	int on = 1, v = 0;
	socklen_t len = sizeof v;

	(void)state;
	connect_ends(&a, &b, true);
	if (getsockopt(suci_udp_fd(a.udp), IPPROTO_UDP, UDP_SEGMENT, &v, &len) < 0) {
		close_end(&b);
		close_end(&a);
		skip();
	}
	/* The kernel refuses runs without checksums. */
	assert_int_equal(setsockopt(suci_udp_fd(a.udp), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on),
			 0);
	transfer(&a, &b, true);
	assert_int_equal(suci_udp_counters(a.udp)->gso_refused, 1);
	assert_int_equal(suci_udp_counters(a.udp)->tx_runs, 0);
	assert_int_equal(suci_udp_counters(a.udp)->tx_errors, 0);
	close_end(&b);
	close_end(&a);
}

/* Bytes to a port of the loopback that the ends are at. */
static void
send_as_stranger(uint16_t port, const void *bytes, size_t len)
{
	struct sockaddr_in six_not = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool v6 = here.family == 6;
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		sendto(fd, bytes, len, 0,
		       v6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&six_not,
		       v6 ? sizeof six : sizeof six_not),
		(ssize_t)len);
	close(fd);
}

/* Datagrams from strangers: too long, empty, garbage. */
static void
strangers(void **state)
{
	static struct end a;
	static const size_t lengths[] = {0, 1, 15, 16, 100, 1472, 1473, 9000};
	static uint8_t junk[9000];
	bool done = false;

	(void)state;
	open_end(&a, 3, true);
	for (size_t i = 0; i < sizeof junk; i++)
		junk[i] = (uint8_t)(i * 31 + 11);
	for (size_t i = 0; i < 8; i++)
		send_as_stranger(suci_udp_local(a.udp).port, junk, lengths[i]);
	for (int i = 0; i < 2000 && !done; i++) {
		struct pollfd p = {.fd = suci_udp_fd(a.udp), .events = POLLIN};
		suci_udp_poll(a.udp, suci_udp_now_ns());
		done = suci_udp_counters(a.udp)->rx_datagrams == 8;
		if (!done)
			(void)poll(&p, 1, 10);
	}
	assert_true(done);
	assert_int_equal(suci_udp_counters(a.udp)->rx_truncated, 2);
	assert_int_equal(suci_counters(a.ep)->rx_datagrams, 6);
	assert_false(a.up);
	close_end(&a);
}

static void
bad_configurations(void **state)
{
	struct suci_udp *u = NULL;
	struct suci_udp_conf not_ours = {.at = suci_addr_v4((uint8_t[]){203, 0, 113, 77}, 0)};

	(void)state;
	assert_int_equal(suci_udp_open(&(struct suci_udp_conf){.mtu = 100}, &u), -22);
	assert_int_equal(suci_udp_open(&(struct suci_udp_conf){.mtu_max = 65001}, &u), -22);
	assert_int_equal(suci_udp_open(&(struct suci_udp_conf){.bufs = 10}, &u), -22);
	assert_true(suci_udp_open(&not_ours, &u) < 0);
	assert_null(u);
	suci_udp_close(NULL);
}

/* Both ends have each other only: all arrives, a stranger's datagram does not, and that a
 * port is closed is still noticed. */
static void
connected(void **state)
{
	static struct end a, b;
	struct suci_udp_info info;

	(void)state;
	connect_ends(&a, &b, true);
	run(&a, &b, &b.up);
	struct suci_addr at_a = suci_udp_local(a.udp), at_b = suci_udp_local(b.udp);
	struct suci_addr other = {.family = here.family == 6 ? 0 : 6};
	assert_true(suci_udp_connect(a.udp, &other) < 0);
	suci_udp_get_info(a.udp, &info);
	assert_false(info.connected);
	assert_int_equal(suci_udp_connect(a.udp, &at_b), 0);
	assert_int_equal(suci_udp_connect(b.udp, &at_a), 0);
	suci_udp_get_info(b.udp, &info);
	assert_true(info.connected);
	send_as_stranger(at_b.port, "me too", 6);
	transfer(&a, &b, true);
	assert_int_equal(suci_counters(b.ep)->drop_short, 0); /* 6 bytes would be that */
	close_end(&b);
	struct suci_segment s = {.data = payload, .data_len = 10};
	assert_int_equal(suci_path_send(a.ep, a.path, &s, suci_udp_now_ns()), 0);
	run(&a, &b, &a.down);
	assert_int_equal(a.why, SUCI_DOWN_UNREACHABLE);
	close_end(&a);
}

/* Whether this machine grants it or not, what was asked for is told truly and nothing
 * else depends on it. */
static void
granted(void **state)
{
	struct suci_udp_conf conf = {
		.at = suci_addr_v4(loopback, 0), .huge_pages = true, .busy_poll_us = 50};
	struct suci_udp *u = NULL;
	struct suci_udp_info info;
	int us = 0;
	socklen_t len = sizeof us;

	(void)state;
	assert_int_equal(suci_udp_open(&conf, &u), 0);
	suci_udp_get_info(u, &info);
	assert_true(info.region_bytes >= 512ull * suci_udp_mtu(u));
	assert_int_equal(info.region_bytes % (2u << 20), 0);
	assert_int_equal(getsockopt(suci_udp_fd(u), SOL_SOCKET, SO_BUSY_POLL, &us, &len), 0);
	assert_int_equal(info.busy_poll_us, us);
	assert_true(info.busy_poll_us == 50 || geteuid() != 0);
	/* Reserved pages show as such to the kernel's eyes: KernelPageSize of the region. */
	FILE *f = fopen("/proc/self/smaps", "r");
	bool huge = false;
	char line[256];
	while (f && fgets(line, sizeof line, f))
		huge |= strstr(line, "KernelPageSize:") && strstr(line, " 2048 kB");
	if (f)
		fclose(f);
	assert_int_equal(info.pages == SUCI_UDP_PAGES_RESERVED, huge);
	suci_udp_close(u);
	conf.busy_poll_us = 1000001;
	assert_int_equal(suci_udp_open(&conf, &u), -22);
}

/* What cannot have AF_XDP says why and receives by its socket; an address of nobody's cannot
 * even be bound. */
static void
no_xdp(void **state)
{
	struct suci_udp_conf conf = {.at = suci_addr_v4(loopback, 0), .xdp = true};
	struct suci_udp *u = NULL;
	struct suci_udp_info info;

	(void)state;
	assert_int_equal(suci_udp_open(&conf, &u), 0);
	suci_udp_get_info(u, &info);
	assert_false(info.xdp); /* 64 KB frames */
	assert_non_null(strstr(info.xdp_why, "too long"));
	assert_true(suci_udp_events(u) & POLLIN);
	suci_udp_close(u);
	conf.at = loopback_6;
	assert_int_equal(suci_udp_open(&conf, &u), 0);
	suci_udp_get_info(u, &info);
	assert_non_null(strstr(info.xdp_why, "too long"));
	suci_udp_close(u);
	conf.at = (struct suci_addr){0};
	assert_int_equal(suci_udp_open(&conf, &u), 0);
	suci_udp_get_info(u, &info);
	assert_false(info.xdp);
	assert_non_null(strstr(info.xdp_why, "no interface"));
	suci_udp_close(u);
	conf.xdp = false;
	assert_int_equal(suci_udp_open(&conf, &u), 0);
	suci_udp_get_info(u, &info);
	assert_false(info.xdp);
	assert_non_null(strstr(info.xdp_why, "not asked for"));
	suci_udp_close(u);
}

/* A socket at :: has peers of both kinds, with marks and with errors of both; one at an IPv6
 * address sends nothing to an IPv4 peer, and the other way round. */
static void
both_kinds(void **state)
{
	static struct end a, b;
	struct suci_addr four = suci_addr_v4(loopback, 0);

	(void)state;
	for (int six = 0; six < 2; six++) {
		use_ecn = true;
		here = any_6;
		open_end(&a, 1, true);
		here = six ? loopback_6 : four;
		open_end(&b, 2, true);
		struct suci_addr to = suci_udp_local(b.udp);
		assert_int_equal(suci_path_open(a.ep, &to, "hi", 2, &a.path, suci_udp_now_ns()), 0);
		run(&a, &b, &a.up);
		transfer(&a, &b, true);
		struct suci_path_info i;
		assert_true(suci_path_info(a.ep, a.path, &i));
		assert_true(i.ecn);
		assert_memory_equal(&i.peer, &to, sizeof to);
		close_end(&b);
		struct suci_segment s = {.data = payload, .data_len = 10};
		assert_int_equal(suci_path_send(a.ep, a.path, &s, suci_udp_now_ns()), 0);
		run(&a, &b, &a.down);
		assert_int_equal(a.why, SUCI_DOWN_UNREACHABLE);
		close_end(&a);
		use_ecn = false;
		open_end(&a, 3, true);
		to = six ? four : loopback_6;
		to.port = 9;
		assert_int_equal(suci_path_open(a.ep, &to, "hi", 2, &a.path, suci_udp_now_ns()), 0);
		suci_udp_poll(a.udp, suci_udp_now_ns());
		assert_int_equal(suci_udp_counters(a.udp)->tx_errors, 1);
		close_end(&a);
	}
}

static int
be_at_six(void **state)
{
	(void)state;
	here = loopback_6;
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_configurations),
		cmocka_unit_test(transfer_and_unreachable),
		cmocka_unit_test(farewell_before_unreachable),
		cmocka_unit_test(error_amid_a_batch),
		cmocka_unit_test(transfer_in_runs),
		cmocka_unit_test(marks),
		cmocka_unit_test(sealed),
		cmocka_unit_test(runs_refused),
		cmocka_unit_test(strangers),
		cmocka_unit_test(connected),
		cmocka_unit_test(granted),
		cmocka_unit_test(no_xdp),
	};
	const struct CMUnitTest six[] = {
		cmocka_unit_test(transfer_and_unreachable),
		cmocka_unit_test(farewell_before_unreachable),
		cmocka_unit_test(error_amid_a_batch),
		cmocka_unit_test(transfer_in_runs),
		cmocka_unit_test(marks),
		cmocka_unit_test(sealed),
		cmocka_unit_test(strangers),
		cmocka_unit_test(connected),
		cmocka_unit_test(both_kinds),
	};
	int failed = cmocka_run_group_tests_name("ipv4", tests, NULL, NULL);
	if (access("/proc/net/if_inet6", F_OK) != 0)
		return failed; /* this kernel has no IPv6 */
	return failed + cmocka_run_group_tests_name("ipv6", six, be_at_six, NULL);
}
