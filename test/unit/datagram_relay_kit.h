/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors of libsuci over two real relays (lib/relay), all in this process on the loopback interface:
 *
 *     socket -- relay 0 ===== relay 1 -- socket
 *
 * or two in each cluster: 0 and 2, 1 and 3.  A relay here has one UDP socket: what comes from those
 * of the other cluster is its global leg. */
#ifndef TEST_DATAGRAM_RELAY_KIT_H
#define TEST_DATAGRAM_RELAY_KIT_H

#include "datagram_kit.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "door/address.h"
#include "relay/core.h"
#include "suci/endpoint.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#define REALM	   7u
#define DOORS_MAX  64u
#define PATHS	   32u
#define BUFS	   256u
#define BUF_BYTES  2048u
#define RELAY_MTU  1400u
#define PER_SOCKET 8u

#define RELAYS 4u

struct toy_relay {
	int fd;
	uint32_t index, nfar, nown;
	uint16_t port, far[2]; /* far: of the other cluster */
	uint16_t own[2];       /* those of this one, of which we are index / 2 */
	struct relay_core *core;
	struct suci *ep;
	void *core_mem, *ep_mem;
	uint8_t buf[BUFS][BUF_BYTES];
	uint32_t held[BUFS];
};

static inline uint64_t
clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * BASE_S_NS + (uint64_t)ts.tv_nsec;
}

static inline uint8_t *
write_payload(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	(void)user, (void)cookie, (void)len;
	return (uint8_t *)(uintptr_t)data;
}

static inline void
hold_payload(void *user, uint64_t cookie)
{
	((struct toy_relay *)user)->held[cookie]++;
}

static inline void
release_payload(void *user, uint64_t cookie)
{
	((struct toy_relay *)user)->held[cookie]--;
}

static inline void
end_no_job(void *user, uint32_t base, const char *why)
{
	(void)user, (void)base;
	fail_msg("a job ends: %s", why);
}

static inline void
print_up(void *user, uint32_t path, const struct suci_addr *peer, const char *what)
{
	if (getenv("TOY_LOG"))
		print_message("    relay %u: path %u up to %u: %s\n",
			      ((struct toy_relay *)user)->port, path, peer->port, what);
}

static inline void
print_down(void *user, uint32_t path, const struct suci_addr *peer, const char *what,
	   const char *why)
{
	if (getenv("TOY_LOG"))
		print_message("    relay %u: path %u down to %u: %s: %s\n",
			      ((struct toy_relay *)user)->port, path, peer->port, what, why);
}

static const struct relay_core_ops toy_ops = {.path_up = print_up,
					      .path_down = print_down,
					      .writable = write_payload,
					      .hold = hold_payload,
					      .release = release_payload,
					      .job_ended = end_no_job};

static inline void
bind_relay(struct toy_relay *r)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(r->port)};
	socklen_t len = sizeof sa;
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(r->fd, (struct sockaddr *)&sa, sizeof sa), 0);
	assert_int_equal(getsockname(r->fd, (struct sockaddr *)&sa, &len), 0);
	r->port = ntohs(sa.sin_port);
}

static inline void
start_relay(struct toy_relay *r, uint64_t life)
{
	struct relay_core_conf rc = {
		.limits = {.jobs_max = 1,
			   .procs_max = RELAY_LABEL_PAGE,
			   .hosts_max = 1,
			   .trunks_max = 8,
			   .paths_max = PATHS,
			   .primaries_max = 1,
			   .doors_max = DOORS_MAX,
			   .holds_max = DOORS_MAX},
		.self_global = relay_addr_v4(INADDR_LOOPBACK, r->port, RELAY_LEG_GLOBAL),
		.trunk_mtu = RELAY_MTU,
		.doors = {.per_proc_max = PER_SOCKET},
		.ops = &toy_ops,
		.user = r,
	};
	struct suci_config c = {.limits = {.paths_max = PATHS,
					   .segments_max = 128,
					   .queue_max = 128,
					   .window_max = 128},
				.cc = SUCI_CC_CUBIC,
				.mtu_max = RELAY_MTU,
				.credit = 64,
				.handshake_ns = 5 * BASE_S_NS,
				.liveness_ns = 60 * BASE_S_NS,
				.incarnation = life,
				.seed = life * 77 + r->port,
				.ops = relay_ops()};
	rc.self = r->index / 2;
	rc.ncluster = r->nown > 1 ? r->nown : 0;
	for (uint32_t k = 0; k < rc.ncluster; k++)
		rc.cluster[k] = (struct relay_sibling){
			.global = relay_addr_v4(INADDR_LOOPBACK, r->own[k], RELAY_LEG_GLOBAL),
			.private = relay_addr_v4(INADDR_LOOPBACK, r->own[k], RELAY_LEG_PRIVATE),
			.weight = RELAY_WEIGHT_MAX};
	if (r->nown > 1) /* of which one may die */
		c.liveness_ns = c.keepalive_ns = BASE_S_NS / 2;
	memset(r->held, 0, sizeof r->held);
	r->core_mem = aligned_alloc(64, (relay_core_footprint(&rc.limits) + 63) & ~63ul);
	r->ep_mem = aligned_alloc(64, (suci_footprint(&c.limits) + 63) & ~63ul);
	assert_true(r->core_mem && r->ep_mem);
	r->core = relay_core_new(r->core_mem, &rc);
	assert_non_null(r->core);
	relay_core_hello(r->core, c.hello);
	c.hello_len = RELAY_HELLO_LEN;
	c.user = r->core;
	r->ep = suci_new(r->ep_mem, &c, clock_ns());
	assert_non_null(r->ep);
	relay_bind(r->core, r->ep);
}

static inline void
stop_relay(struct toy_relay *r)
{
	suci_fini(r->ep, clock_ns());
	relay_core_fini(r->core);
	free(r->ep_mem);
	free(r->core_mem);
	r->ep = NULL;
}

static inline bool
is_far(const struct toy_relay *r, uint16_t port)
{
	return port == r->far[0] || (r->nfar > 1 && port == r->far[1]);
}

static inline void
receive_all(struct toy_relay *r)
{
	for (uint32_t i = 0; i < BUFS; i++) {
		struct sockaddr_in sa;
		socklen_t len = sizeof sa;
		if (r->held[i])
			continue;
		ssize_t n = recvfrom(r->fd, r->buf[i], BUF_BYTES, 0, (struct sockaddr *)&sa, &len);
		if (n < 0)
			return;
		uint16_t port = ntohs(sa.sin_port);
		struct suci_addr from =
			relay_addr_v4(INADDR_LOOPBACK, port,
				      is_far(r, port) ? RELAY_LEG_GLOBAL : RELAY_LEG_PRIVATE);
		if (r->ep)
			suci_rx(r->ep, &from, r->buf[i], (size_t)n, i, clock_ns());
	}
}

static inline void
turn_relay(struct toy_relay *r)
{
	static struct suci_out out;
	receive_all(r);
	if (!r->ep)
		return;
	uint64_t now = clock_ns();
	if (now >= suci_expiry_ns(r->ep))
		suci_tick(r->ep, now);
	if (now >= relay_core_expiry_ns(r->core))
		relay_core_tick(r->core, now);
	while (suci_tx(r->ep, &out, now)) {
		struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(out.to.port)};
		sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		struct iovec v[3] = {{out.head, out.head_len},
				     {(void *)(uintptr_t)out.seg_head, out.seg_head_len},
				     {(void *)(uintptr_t)out.data, out.data_len}};
		struct msghdr m = {
			.msg_name = &sa, .msg_namelen = sizeof sa, .msg_iov = v, .msg_iovlen = 3};
		(void)sendmsg(r->fd, &m, 0);
	}
}

/* The relays turn in a thread of their own: calls of the library wait for them. */
struct relays {
	struct toy_relay relay[RELAYS];
	uint32_t n;
	pthread_mutex_t lock;
	pthread_t thread;
	bool over, impatient; /* impatient: socket 0 */
	uint32_t relay_ms;    /* of all sockets */
	char at[2][64];	      /* of each cluster */
	struct kit k;
};

static inline void *
turn_relays(void *arg)
{
	struct relays *w = arg;
	for (bool over = false; !over;) {
		struct pollfd p[RELAYS];
		pthread_mutex_lock(&w->lock);
		for (uint32_t i = 0; i < w->n; i++) {
			p[i] = (struct pollfd){.fd = w->relay[i].fd, .events = POLLIN};
			turn_relay(&w->relay[i]);
		}
		over = w->over;
		pthread_mutex_unlock(&w->lock);
		(void)poll(p, w->n, 1);
	}
	return NULL;
}

/* So many for each of two clusters. */
static inline struct relays *
make_relays_of(uint32_t each)
{
	struct relays *w = calloc(1, sizeof *w);
	assert_non_null(w);
	w->n = 2 * each;
	for (uint32_t i = 0; i < w->n; i++)
		bind_relay(&w->relay[i]);
	for (uint32_t i = 0; i < w->n; i++) {
		struct toy_relay *r = &w->relay[i];
		size_t len = strlen(w->at[i % 2]);
		r->index = i;
		for (uint32_t k = 0; k < w->n; k++)
			if (k % 2 == i % 2)
				r->own[r->nown++] = w->relay[k].port;
			else
				r->far[r->nfar++] = w->relay[k].port;
		snprintf(w->at[i % 2] + len, sizeof w->at[0] - len, "%s127.0.0.1:%u",
			 len ? "," : "", r->port);
		start_relay(r, 1);
	}
	pthread_mutex_init(&w->lock, NULL);
	assert_int_equal(pthread_create(&w->thread, NULL, turn_relays, w), 0);
	return w;
}

static inline struct relays *
make_relays(void)
{
	return make_relays_of(1);
}

static inline void
open_behind(struct relays *w, uint32_t i, uint32_t relay, uint32_t doors, uint64_t realm)
{
	struct datagram_conf c;
	datagram_conf_init(&c);
	c.doors = doors;
	c.relay = w->at[relay];
	c.realm = realm;
	c.close_ms = 2000;
	c.relay_ms = w->relay_ms;
	if ((w->n > 2 && !w->relay_ms) || (w->impatient && !i))
		c.liveness_ms = 500;
	c.sockbuf_bytes = 1u << 20;
	w->k.s[i] = datagram_open_with(&c);
	assert_non_null(w->k.s[i]);
	w->k.n = i >= w->k.n ? i + 1 : w->k.n;
}

static inline void
free_relays(struct relays *w)
{
	kit_fini(&w->k);
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	for (uint32_t i = 0; i < w->n; i++) {
		const char *what = "";
		if (w->relay[i].ep) {
			assert_true(relay_core_check(w->relay[i].core, &what));
			stop_relay(&w->relay[i]);
		}
		close(w->relay[i].fd);
	}
	free(w);
}

static inline void
address_of(struct relays *w, uint32_t i, char out[DATAGRAM_ADDRESS_MAX])
{
	int err = datagram_address(w->k.s[i], out);
	if (err)
		print_error("%s\n", datagram_error(w->k.s[i]));
	assert_int_equal(err, 0);
}

/* A door behind each relay, and the address of the first. */
static inline void
open_both(struct relays *w, uint32_t doors, char address[DATAGRAM_ADDRESS_MAX])
{
	open_behind(w, 0, 0, 4, REALM);
	open_behind(w, 1, 1, doors, REALM);
	address_of(w, 0, address);
}

static inline void
send_relayed(struct relays *w, uint32_t i, int64_t id, const char *text)
{
	assert_true(id >= DATAGRAM_DOOR_ID);
	assert_int_equal(datagram_destination(w->k.s[i], (uint32_t)id), 0);
	assert_int_equal(datagram_write0(w->k.s[i], text, strlen(text) + 1), strlen(text) + 1);
}

/* Returns the id it came from. */
static inline int64_t
expect_relayed(struct relays *w, uint32_t i, const char *text)
{
	char got[64];
	KIT_UNTIL(&w->k, datagram_peek(w->k.s[i], NULL, NULL) == 1);
	assert_int_equal(datagram_read0(w->k.s[i], got, sizeof got), strlen(text) + 1);
	assert_string_equal(got, text);
	return datagram_source(w->k.s[i]);
}

static inline int
relayed_error(struct relays *w, uint32_t i, int64_t id)
{
	assert_true(id >= DATAGRAM_DOOR_ID);
	assert_int_equal(datagram_destination(w->k.s[i], (uint32_t)id), 0);
	(void)datagram_write0(w->k.s[i], "x", 1);
	KIT_UNTIL(&w->k, datagram_queue_length(w->k.s[i], (uint32_t)id) < 0);
	int err = errno;
	print_message("  %s\n", datagram_error(w->k.s[i]));
	return err;
}

static inline struct relay_counters
counters_of(struct relays *w, uint32_t relay)
{
	pthread_mutex_lock(&w->lock);
	struct relay_counters c = *relay_core_counters(w->relay[relay].core);
	pthread_mutex_unlock(&w->lock);
	return c;
}

#endif
