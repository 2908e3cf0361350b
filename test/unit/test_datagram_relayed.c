/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors of libsuci over two real relays (lib/relay), all in this process on the loopback interface:
 *
 *     socket -- relay 0 ===== relay 1 -- socket
 *
 * or two in each cluster: 0 and 2, 1 and 3.  A relay here has one UDP socket: what comes from those
 * of the other cluster is its global leg. */
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

static uint64_t
clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * BASE_S_NS + (uint64_t)ts.tv_nsec;
}

static uint8_t *
write_payload(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	(void)user, (void)cookie, (void)len;
	return (uint8_t *)(uintptr_t)data;
}

static void
hold_payload(void *user, uint64_t cookie)
{
	((struct toy_relay *)user)->held[cookie]++;
}

static void
release_payload(void *user, uint64_t cookie)
{
	((struct toy_relay *)user)->held[cookie]--;
}

static void
end_no_job(void *user, uint32_t base, const char *why)
{
	(void)user, (void)base;
	fail_msg("a job ends: %s", why);
}

static void
print_up(void *user, uint32_t path, const struct suci_addr *peer, const char *what)
{
	if (getenv("TOY_LOG"))
		print_message("    relay %u: path %u up to %u: %s\n",
			      ((struct toy_relay *)user)->port, path, peer->port, what);
}

static void
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

static void
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

static void
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
		rc.cluster[k] = (struct relay_fellow){
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

static void
stop_relay(struct toy_relay *r)
{
	suci_fini(r->ep, clock_ns());
	relay_core_fini(r->core);
	free(r->ep_mem);
	free(r->core_mem);
	r->ep = NULL;
}

static bool
is_far(const struct toy_relay *r, uint16_t port)
{
	return port == r->far[0] || (r->nfar > 1 && port == r->far[1]);
}

static void
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

static void
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
	bool over;
	char at[2][64]; /* of each cluster */
	struct kit k;
};

static void *
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
static struct relays *
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

static struct relays *
make_relays(void)
{
	return make_relays_of(1);
}

static void
open_behind(struct relays *w, uint32_t i, uint32_t relay, uint32_t doors, uint64_t realm)
{
	struct datagram_conf c;
	datagram_conf_init(&c);
	c.doors = doors;
	c.relay = w->at[relay];
	c.realm = realm;
	c.close_ms = 2000;
	if (w->n > 2)
		c.liveness_ms = 500;
	c.sockbuf_bytes = 1u << 20;
	w->k.s[i] = datagram_open_with(&c);
	assert_non_null(w->k.s[i]);
	w->k.n = i >= w->k.n ? i + 1 : w->k.n;
}

static void
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

static void
address_of(struct relays *w, uint32_t i, char out[DATAGRAM_ADDRESS_MAX])
{
	int err = datagram_address(w->k.s[i], out);
	if (err)
		print_error("%s\n", datagram_error(w->k.s[i]));
	assert_int_equal(err, 0);
}

/* A door behind each relay, and the address of the first. */
static void
open_both(struct relays *w, uint32_t doors, char address[DATAGRAM_ADDRESS_MAX])
{
	open_behind(w, 0, 0, 4, REALM);
	open_behind(w, 1, 1, doors, REALM);
	address_of(w, 0, address);
}

static void
send_relayed(struct relays *w, uint32_t i, int64_t id, const char *text)
{
	assert_true(id >= DATAGRAM_DOOR_ID);
	assert_int_equal(datagram_destination(w->k.s[i], (uint32_t)id), 0);
	assert_int_equal(datagram_write0(w->k.s[i], text, strlen(text) + 1), strlen(text) + 1);
}

/* Returns the id it came from. */
static int64_t
expect_relayed(struct relays *w, uint32_t i, const char *text)
{
	char got[64];
	KIT_UNTIL(&w->k, datagram_peek(w->k.s[i], NULL, NULL) == 1);
	assert_int_equal(datagram_read0(w->k.s[i], got, sizeof got), strlen(text) + 1);
	assert_string_equal(got, text);
	return datagram_source(w->k.s[i]);
}

static int
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

static struct relay_counters
counters_of(struct relays *w, uint32_t relay)
{
	pthread_mutex_lock(&w->lock);
	struct relay_counters c = *relay_core_counters(w->relay[relay].core);
	pthread_mutex_unlock(&w->lock);
	return c;
}

static void
blocks_cross_two_relays(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX];
	size_t len = 300000;
	uint8_t *out = malloc(len), *in = malloc(len);
	assert_true(out && in);
	open_both(w, 4, address);
	int64_t there = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, there, "question");
	int64_t from = expect_relayed(w, 0, "question");
	send_relayed(w, 0, from, "answer");
	assert_int_equal(expect_relayed(w, 1, "answer"), there);
	for (uint32_t prio = 0; prio < 4; prio++) {
		assert_int_equal(datagram_priority(w->k.s[1], (uint32_t)there, (int)prio), 0);
		send_relayed(w, 1, there, "prio");
		assert_int_equal(expect_relayed(w, 0, "prio"), from);
	}
	kit_fill(out, len, 3);
	assert_int_equal(datagram_write0(w->k.s[1], out, len), len);
	KIT_UNTIL(&w->k, datagram_peek(w->k.s[0], NULL, NULL) == 1);
	assert_int_equal(datagram_read0(w->k.s[0], in, len), len);
	kit_check(in, len, 3);
	free_relays(w);
	free(out);
	free(in);
}

/* Who came by itself is opened by its address: one id, nothing is lost or comes twice. */
static void
both_open_each_other(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX];
	open_both(w, 4, a);
	address_of(w, 1, b);
	int64_t there = datagram_open_at(w->k.s[1], a);
	send_relayed(w, 1, there, "one");
	int64_t came = expect_relayed(w, 0, "one");
	int64_t opened = datagram_open_at(w->k.s[0], b);
	send_relayed(w, 0, came, "two");
	send_relayed(w, 0, opened, "three");
	assert_int_equal(expect_relayed(w, 1, "two"), there);
	assert_int_equal(expect_relayed(w, 1, "three"), there);
	send_relayed(w, 1, there, "four");
	assert_int_equal(expect_relayed(w, 0, "four"), opened);
	free_relays(w);
}

static void
who_left_is_gone(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX];
	open_both(w, 4, address);
	int64_t there = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, there, "in");
	expect_relayed(w, 0, "in");
	KIT_UNTIL(&w->k, datagram_queue_length(w->k.s[1], (uint32_t)there) == 0);
	datagram_close(w->k.s[0]);
	w->k.s[0] = NULL;
	struct datagram_info info;
	KIT_UNTIL(&w->k, datagram_info(w->k.s[1], (uint32_t)there, &info) == 0 &&
				 info.state != DATAGRAM_UP);
	/* Stale: its door is not there any more. */
	assert_int_equal(relayed_error(w, 1, there), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_unknown >= 1);
	free_relays(w);
}

static void
forged_and_foreign_are_refused(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX], text[DOOR_TEXT_MAX];
	struct door_address a;
	open_behind(w, 0, 0, 4, REALM);
	open_behind(w, 1, 1, 8, REALM);
	open_behind(w, 2, 1, 8, REALM + 1);
	address_of(w, 0, address);
	int64_t good = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, good, "in"); /* there is a trunk now */
	expect_relayed(w, 0, "in");
	assert_int_equal(door_address_parse(address, &a), 0);
	a.token ^= 1;
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 1, datagram_open_at(w->k.s[1], text)), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_token >= 1);
	a.token ^= 1;
	a.label += 8;
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 1, datagram_open_at(w->k.s[1], text)), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_unknown >= 1);
	a.label -= 8;
	/* A leaked address in another realm, whose field is forged, too. */
	assert_int_equal(datagram_open_at(w->k.s[2], address), -1);
	assert_int_equal(errno, EACCES);
	a.realm = REALM + 1;
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 2, datagram_open_at(w->k.s[2], text)), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_realm >= 1);
	/* Our own relay's door, and one that says it is no relay's. */
	char own[DATAGRAM_ADDRESS_MAX];
	open_behind(w, 3, 1, 4, REALM);
	address_of(w, 3, own);
	assert_int_equal(door_address_parse(own, &a), 0);
	a.near = (struct door_relay){0};
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 1, datagram_open_at(w->k.s[1], text)), ECONNREFUSED);
	assert_true(counters_of(w, 1).door_here >= 1);
	free_relays(w);
}

/* Of one cluster: they reach each other without their relay, and others through it as before. */
static void
near_ones_go_directly(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char far[DATAGRAM_ADDRESS_MAX], a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX];
	struct door_address forged;
	open_both(w, 4, far);
	open_behind(w, 2, 1, 4, REALM);
	address_of(w, 1, a);
	address_of(w, 2, b);
	int64_t there = datagram_open_at(w->k.s[1], b), back = datagram_open_at(w->k.s[2], a);
	send_relayed(w, 1, there, "near");
	assert_int_equal(expect_relayed(w, 2, "near"), back);
	send_relayed(w, 2, back, "answer");
	assert_int_equal(expect_relayed(w, 1, "answer"), there);
	assert_int_equal(counters_of(w, 1).doors_imported, 0);
	int64_t away = datagram_open_at(w->k.s[1], far);
	send_relayed(w, 1, away, "far");
	expect_relayed(w, 0, "far");
	assert_int_equal(counters_of(w, 1).doors_imported, 1);
	assert_int_equal(counters_of(w, 1).door_here, 0);
	/* Who knows where it is and not its secret does not get in. */
	assert_int_equal(door_address_parse(b, &forged), 0);
	forged.token ^= 1;
	open_behind(w, 3, 1, 4, REALM);
	address_of(w, 3, a);
	door_address_print(&forged, b);
	assert_int_equal(relayed_error(w, 3, datagram_open_at(w->k.s[3], b)), ECONNREFUSED);
	free_relays(w);
}

/* The relay starts anew: another address, and what was opened works again. */
static void
relay_is_replaced(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX], again[DATAGRAM_ADDRESS_MAX];
	open_both(w, 4, address);
	int64_t there = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, there, "in");
	expect_relayed(w, 0, "in");
	assert_int_equal(datagram_close_at(w->k.s[1], (uint32_t)there), 0);
	assert_int_equal(datagram_destination(w->k.s[1], (uint32_t)there), -1);
	assert_int_equal(datagram_open_at(w->k.s[1], address), there); /* its place was kept */
	send_relayed(w, 1, there, "more");
	expect_relayed(w, 0, "more");
	pthread_mutex_lock(&w->lock);
	stop_relay(&w->relay[1]);
	start_relay(&w->relay[1], 2);
	pthread_mutex_unlock(&w->lock);
	struct datagram_info info;
	KIT_UNTIL(&w->k, datagram_info(w->k.s[1], (uint32_t)there, &info) == 0 &&
				 info.state != DATAGRAM_UP);
	(void)datagram_queue_length(w->k.s[1], (uint32_t)there);
	send_relayed(w, 1, there, "again");
	expect_relayed(w, 0, "again");
	address_of(w, 0, again);
	assert_string_equal(address, again); /* its own relay was there all the time */
	free_relays(w);
}

static void
doors_are_bounded(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX], text[DOOR_TEXT_MAX];
	struct door_address a;
	open_both(w, 64, address);
	int64_t good = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, good, "in");
	expect_relayed(w, 0, "in");
	/* As many as a process may have; the good one stays. */
	assert_int_equal(door_address_parse(address, &a), 0);
	a.relay[0].ipv4 = 0x7f000009; /* nobody, so they wait */
	for (uint32_t i = 0; i < 2 * PER_SOCKET; i++) {
		a.token++;
		door_address_print(&a, text);
		int64_t id = datagram_open_at(w->k.s[1], text);
		assert_true(id >= DATAGRAM_DOOR_ID);
		datagram_destination(w->k.s[1], (uint32_t)id);
		(void)datagram_write0(w->k.s[1], "x", 1);
	}
	KIT_UNTIL(&w->k, counters_of(w, 1).door_proc_full >= PER_SOCKET + 1);
	send_relayed(w, 1, good, "still");
	expect_relayed(w, 0, "still");
	datagram_close(w->k.s[1]);
	w->k.s[1] = NULL;
	free_relays(w);
}

/* Socket 1 asks the other one, who answers; what was lost is asked again.  How often it was. */
static uint32_t
ask_until_answered(struct relays *w, int64_t id)
{
	char got[64];
	for (uint32_t asked = 1;; asked++) {
		double end = kit_now() + 0.5;
		assert_true(asked < 2 * LIMIT_S);
		assert_int_equal(datagram_destination(w->k.s[1], (uint32_t)id), 0);
		(void)datagram_write0(w->k.s[1], "question", 9);
		while (kit_now() < end) {
			kit_progress(&w->k);
			if (datagram_peek(w->k.s[0], NULL, NULL) == 1) {
				assert_int_equal(datagram_read0(w->k.s[0], got, sizeof got), 9);
				datagram_destination(w->k.s[0],
						     (uint32_t)datagram_source(w->k.s[0]));
				(void)datagram_write0(w->k.s[0], "answer", 7);
			}
			if (datagram_peek(w->k.s[1], NULL, NULL) != 1)
				continue;
			assert_int_equal(datagram_read0(w->k.s[1], got, sizeof got), 7);
			assert_int_equal(datagram_source(w->k.s[1]), id);
			return asked;
		}
	}
}

static void
kill_relay(struct relays *w, uint32_t i)
{
	pthread_mutex_lock(&w->lock);
	stop_relay(&w->relay[i]);
	pthread_mutex_unlock(&w->lock);
}

/* Two relays in each cluster: that of the one who is asked dies, then that of the one who asks, and
 * both go on under the address that was given away. */
static void
doors_outlive_relays(void **state)
{
	(void)state;
	struct relays *w = make_relays_of(2);
	char address[DATAGRAM_ADDRESS_MAX], again[DATAGRAM_ADDRESS_MAX];
	struct door_address a;
	open_both(w, 4, address);
	assert_int_equal(door_address_parse(address, &a), 0);
	assert_int_equal(a.nrelays, 2);
	int64_t there = datagram_open_at(w->k.s[1], address);
	assert_int_equal(ask_until_answered(w, there), 1);
	for (uint32_t dead = 0; dead < 2; dead++) {
		double began = kit_now();
		kill_relay(w, dead);
		uint32_t asked = ask_until_answered(w, there);
		print_message("  relay %u died: answered after %.1f s, asked %u times\n", dead,
			      kit_now() - began, asked);
		/* Those that were under way are answered later, or lost. */
		while (ask_until_answered(w, there) > 1) {
		}
		address_of(w, 0, again);
		assert_string_equal(again, address);
	}
	free_relays(w);
}

static struct datagram_conf
conf_of_claim(struct relays *w, uint32_t relay, uint32_t number, char address[DATAGRAM_ADDRESS_MAX])
{
	struct datagram_claim claim = {
		.relay = w->at[relay], .number = number, .realm = REALM, .token = 17 + number};
	struct datagram_conf c;
	assert_int_equal(datagram_address_for(&claim, address), 0);
	datagram_conf_init(&c);
	c.doors = 8;
	c.relay = w->at[relay];
	c.realm = REALM;
	c.address = address;
	c.liveness_ms = 500;
	c.close_ms = 500;
	c.connect_ms = 1000;
	c.sockbuf_bytes = 1u << 20;
	return c;
}

static void
open_claimed(struct relays *w, uint32_t i, uint32_t relay, uint32_t number,
	     char address[DATAGRAM_ADDRESS_MAX])
{
	struct datagram_conf c = conf_of_claim(w, relay, number, address);
	w->k.s[i] = datagram_open_with(&c);
	if (!w->k.s[i])
		fail_msg("%s", datagram_error(NULL));
	w->k.n = i >= w->k.n ? i + 1 : w->k.n;
}

static int
claimed(struct relays *w, uint32_t i)
{
	return datagram_claimed(w->k.s[i]) == 0 ? 0 : errno;
}

/* Both know each other's address before the other one is there, and nobody says it. */
static void
addresses_are_known_before(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX], got[DATAGRAM_ADDRESS_MAX];
	open_claimed(w, 0, 0, 0, a);
	assert_int_equal(claimed(w, 0), EAGAIN);
	KIT_UNTIL(&w->k, claimed(w, 0) == 0);
	open_claimed(w, 1, 1, 1, b);
	int64_t there = datagram_open_at(w->k.s[1], a);
	send_relayed(w, 1, there, "question");
	int64_t from = expect_relayed(w, 0, "question");
	send_relayed(w, 0, from, "answer");
	assert_int_equal(expect_relayed(w, 1, "answer"), there);
	assert_int_equal(datagram_open_at(w->k.s[0], a), 0); /* our own */
	int64_t back = datagram_open_at(w->k.s[0], b);
	send_relayed(w, 0, back, "more");
	assert_int_equal(expect_relayed(w, 1, "more"), there);
	/* It says where its process is, too; nobody needs that. */
	address_of(w, 0, got);
	assert_int_equal(datagram_open_at(w->k.s[1], got), there);
	free_relays(w);
}

static void
one_has_an_address(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char a[DATAGRAM_ADDRESS_MAX];
	open_claimed(w, 0, 0, 0, a);
	KIT_UNTIL(&w->k, claimed(w, 0) == 0);
	open_claimed(w, 1, 0, 0, a);
	KIT_UNTIL(&w->k, claimed(w, 1) == EADDRINUSE);
	print_message("  %s\n", datagram_error(w->k.s[1]));
	char got[DATAGRAM_ADDRESS_MAX];
	assert_int_equal(datagram_address(w->k.s[1], got), -1);
	assert_int_equal(errno, EADDRINUSE);
	uint64_t refused = counters_of(w, 0).door_named;
	assert_true(refused >= 2 && refused < 20); /* five a second */
	/* Who had it leaves: it is the other one's without a word. */
	datagram_close(w->k.s[0]);
	w->k.s[0] = NULL;
	KIT_UNTIL(&w->k, claimed(w, 1) == 0);
	/* The relay is elsewhere than the address says. */
	struct datagram_conf c = conf_of_claim(w, 1, 3, a);
	c.relay = w->at[0];
	w->k.s[0] = datagram_open_with(&c);
	assert_non_null(w->k.s[0]);
	KIT_UNTIL(&w->k, claimed(w, 0) == EADDRNOTAVAIL);
	print_message("  %s\n", datagram_error(w->k.s[0]));
	free_relays(w);
}

/* What no relay is. */
static void
relays_are_read(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  ",",
					  "127.0.0.1",
					  "127.0.0.1:7812,",
					  "127.0.0.1:7812,127.0.0.1:7812",
					  "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
					  "::1:7812",
					  "[::1]",
					  "[::1]:7812,127.0.0.1:7812"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct datagram_conf c;
		datagram_conf_init(&c);
		c.doors = 1;
		c.relay = bad[i];
		assert_null(datagram_open_with(&c));
		assert_int_equal(errno, EINVAL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_cross_two_relays),
		cmocka_unit_test(both_open_each_other),
		cmocka_unit_test(who_left_is_gone),
		cmocka_unit_test(forged_and_foreign_are_refused),
		cmocka_unit_test(near_ones_go_directly),
		cmocka_unit_test(relay_is_replaced),
		cmocka_unit_test(doors_are_bounded),
		cmocka_unit_test(doors_outlive_relays),
		cmocka_unit_test(addresses_are_known_before),
		cmocka_unit_test(one_has_an_address),
		cmocka_unit_test(relays_are_read),
	};
	return cmocka_run_group_tests_name("datagram doors over relays", tests, NULL, NULL);
}
