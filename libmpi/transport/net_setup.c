/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket, endpoint, relays: opening, watching, closing. */
#include "net_internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "driver/aead.h"
#include "impi/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define eng lmpi_eng
#define net lmpi_net

/* Loopback: larger datagrams only fall out of the cache, and two of these fit a
 * message that the kernel cuts. */
#define MTU_MAX	     32752u
#define SEGMENTS_MAX 16384u
#define CREDIT_MAX   LMPI_KNOB_CREDIT_MOST
#define PING_NS	     BASE_S_NS
#define PATHS_MORE   256u  /* to processes of other jobs, at a time */
#define LANE_BUCKETS 1024u /* labels of doors are the relay's choice; strangers have the same */
/* A process that computes does not answer; its launcher knows whether it lives. */
#define HANDSHAKE_NS (86400 * BASE_S_NS)

int
lmpi_net_open(const struct suci_addr *at)
{
	struct suci_udp_conf conf = {.mtu_max = MTU_MAX,
				     .bufs = LMPI_HELD_MAX + 4 * SUCI_UDP_BATCH,
				     .run = lmpi_tuned.run,
				     .run_watched = lmpi_tuned.run_stored};
	char name[SUCI_ADDR_TEXT_MAX];

	conf.at = *at;
	conf.at.port = 0;
	conf.mtu = (uint32_t)lmpi_knob_number(LMPI_KNOB_MTU);
	conf.busy_poll_us = (uint32_t)lmpi_knob_number(LMPI_KNOB_BUSY_POLL);
	conf.huge_pages = lmpi_knob_number(LMPI_KNOB_HUGE_PAGES) != 0;
	conf.xdp = lmpi_knob_number(LMPI_KNOB_XDP) != 0;
	conf.ecn = lmpi_knob_number(LMPI_KNOB_ECN) != 0;
	int err = suci_udp_open(&conf, &net.udp);
	suci_addr_ip_text(at, name);
	if (err == 0) {
		struct suci_udp_info info;
		suci_udp_get_info(net.udp, &info);
		if (conf.xdp && !info.xdp)
			fprintf(stderr, "libmpi: LIBMPI_XDP on %s: %s; the UDP socket receives\n",
				name, info.xdp_why);
		return LMPI_OK;
	}
	fprintf(stderr, "libmpi: cannot open a UDP socket on %s: %s\n", name, strerror(-err));
	return LMPI_ERR_OTHER;
}

uint64_t
lmpi_net_run(void)
{
	return net.udp ? suci_udp_get_run(net.udp) : lmpi_tuned.run;
}

void
lmpi_net_run_to(uint64_t datagrams)
{
	lmpi_tuned.run = (uint32_t)datagrams;
	if (net.udp)
		suci_udp_set_run(net.udp, (uint32_t)datagrams);
}

uint64_t
lmpi_net_ack(void)
{
	return lmpi_tuned.ack;
}

void
lmpi_net_ack_to(uint64_t packets)
{
	lmpi_tuned.ack = (uint32_t)packets;
	if (net.ep)
		suci_set_ack_every(net.ep, lmpi_tuned.ack);
}

uint32_t
lmpi_net_ipv4(void)
{
	struct suci_addr a = net.udp ? suci_udp_local(net.udp) : (struct suci_addr){0};
	return a.family == 4 ? be32_load(a.ip + 12) : 0;
}

uint32_t
lmpi_net_mtu(void)
{
	return net.udp ? suci_udp_mtu(net.udp) : MTU_MAX;
}

uint16_t
lmpi_net_port(void)
{
	return net.udp ? suci_udp_local(net.udp).port : 0;
}

/* Slots that processes of other jobs may get. */
static uint32_t
slots_more(void)
{
	return eng.slots_max > lmpi_world.size ? eng.slots_max - lmpi_world.size : 0;
}

static int
make_lanes(void)
{
	struct suci_lanes_config c = {
		.limits = {.lanes_max = net.lanes_max,
			   .blocks_max = 8192,
			   .rx_blocks_max = 4096,
			   .held_max = LMPI_HELD_MAX,
			   .ranges_max = 16384,
			   .labels_max = LMPI_LABEL_BASE + lmpi_world.size,
			   .buckets = LANE_BUCKETS,
			   .groups_max = net.relays_limits.groups_max},
		.ops = &lmpi_net_ops,
	};
	size_t n = suci_lanes_footprint(&c.limits);
	net.lanes_mem = n ? aligned_alloc(64, (n + 63) & ~(size_t)63) : NULL;
	net.lanes = net.lanes_mem ? suci_lanes_new(net.lanes_mem, &c) : NULL;
	return net.lanes ? 0 : -1;
}

/* cubic shares a network with TCP; bbr is for clusters that reach each other over a
 * wide-area network with long queues, without relays. */
static enum suci_cc_kind
cc_of_env(void)
{
	return lmpi_knob_word(LMPI_KNOB_CC) == 1 ? SUCI_CC_BBR : SUCI_CC_CUBIC; /* cubic, bbr */
}

/* Paths inside a cluster are not sealed; all others lead over the wide-area network, also those
 * to relays of other clusters, where the own one has none. */
static bool
outside(void *user, const struct suci_addr *addr)
{
	(void)user;
	if (!net.relays_outside && relayset_find(net.relays, addr) != RELAYSET_NONE)
		return false;
	if (lmpi_doors_is_relay(addr))
		return false;
	for (uint32_t i = 0; lmpi_route && i < lmpi_world.client_size; i++) {
		const struct lmpi_route *p = &lmpi_route[lmpi_world.client_first + i];
		if (addr->port == p->at.port && lmpi_addr_same(addr, &p->at))
			return false;
	}
	return true;
}

static bool
relays_are_outside(const struct lmpi_relay *relay, uint32_t n, uint32_t server_ipv4)
{
	for (uint32_t i = 0; i < n; i++) {
		if (relay[i].placed)
			return true;
		if (be32_load(relay[i].at.ip + 12) == server_ipv4)
			return false;
	}
	return n > 0 && server_ipv4 != 0;
}

/* The site's identity and the public keys of others, if there are any. */
static bool
identity_of_env(struct suci_seal_conf *seal)
{
	static struct seal_ring ring;
	const char *own = lmpi_knob_text(LMPI_KNOB_IDENTITY_FILE);
	const char *peers = lmpi_knob_text(LMPI_KNOB_PEERS_FILE);
	char why[SEAL_TEXT];

	if (!own && !peers)
		return true;
	if (!own != !peers) {
		fprintf(stderr, "libmpi: LIBMPI_IDENTITY_FILE and LIBMPI_PEERS_FILE go together; "
				"one of them is not set\n");
		return false;
	}
	if (!ring.npeers && seal_ring_load(own, peers, &ring, why)) {
		fprintf(stderr, "libmpi: LIBMPI_IDENTITY_FILE, LIBMPI_PEERS_FILE: %s\n", why);
		return false;
	}
	seal->aead = seal_aes256gcm();
	seal->me = &ring.me;
	seal_hex(ring.me.public_key, net.public_key);
	seal->peer = ring.peer;
	seal->npeers = ring.npeers;
	seal->wanted = outside;
	return true;
}

/* The keys towards other clusters, if there are any.  false: the file is no good. */
static bool
keys_of_env(struct suci_seal_conf *seal)
{
	const char *path = lmpi_knob_text(LMPI_KNOB_KEY_FILE);
	char why[SEAL_TEXT];

	if (!identity_of_env(seal))
		return false;
	if (!path)
		return true;
	int n = seal_psk_load(path, seal->key, why);
	seal->aead = seal_aes256gcm();
	if (n < 0 || !seal->aead) {
		fprintf(stderr, "libmpi: LIBMPI_KEY_FILE=%s: %s\n", path,
			n < 0 ? why : "the AES library cannot be used on this machine");
		return false;
	}
	seal->nkeys = (uint32_t)n;
	seal->wanted = outside;
	net.sealing = true;
	return true;
}

/* Packets that may be on their way to this process: what the socket holds, or less if a
 * switch on the way holds less. */
static uint32_t
endpoint_credit_total(void)
{
	uint32_t total = suci_udp_credit(net.udp, 1);

	total = total > 4 ? total / 4 * 3 : total;
	total = total < CREDIT_MAX ? total : CREDIT_MAX;
	return (uint32_t)lmpi_knob_number_or(LMPI_KNOB_CREDIT, total);
}

void
lmpi_net_hello(bool survives, uint8_t out[RELAY_HELLO_LEN])
{
	uint32_t label = LMPI_LABEL_BASE + lmpi_world.rank;

	relay_hello_encode(&(struct relay_hello){.kind = RELAY_HELLO_PROCESS,
						 .token = relay_hello_token(lmpi_loop.token, label),
						 .label = label,
						 .rank = lmpi_world.rank,
						 .survives = survives},
			   out);
}

static int
make_transport_endpoint(const struct suci_seal_conf *seal)
{
	uint32_t credit = suci_udp_credit(net.udp, lmpi_world.size + relayset_count(net.relays));
	struct suci_config c = {
		.limits = {.paths_max = net.paths_max,
			   .segments_max = SEGMENTS_MAX,
			   .queue_max = 2048,
			   .window_max = 1024,
			   .sealed_max = seal->aead ? net.paths_max : 0},
		.seal = *seal,
		.cc = cc_of_env(),
		.ack_every = lmpi_tuned.ack,
		.credit_total = endpoint_credit_total(),
		.credit = credit < 8	  ? 8
			  : credit > 1024 ? 1024
					  : credit,
		.handshake_ns = HANDSHAKE_NS,
		.hello_len = RELAY_HELLO_LEN,
		.user = net.lanes,
	};
	lmpi_net_hello(false, c.hello);
	net.ep = suci_udp_endpoint(net.udp, &c, &net.ep_mem);
	return net.ep ? 0 : -1;
}

/* *paths: to how many processes there may be a path, and then how many may be there at a time. */
static int
bound_paths(uint32_t *paths)
{
	uint64_t most = lmpi_knob_number(LMPI_KNOB_PATHS_MAX);

	if (!most || most >= *paths)
		return 0;
	if (!lmpi_pool_make(lmpi_world.size + slots_more(), (uint32_t)most))
		return -1;
	*paths = (uint32_t)most;
	return 0;
}

int
lmpi_net_start(const struct lmpi_relay *relay, uint32_t nrelays, uint32_t server_ipv4)
{
	struct suci_seal_conf seal = {0};

	net.relays_outside = relays_are_outside(relay, nrelays, server_ipv4);
	if (!keys_of_env(&seal))
		return LMPI_ERR_OTHER;
	if (lmpi_relays_start(relay, nrelays) < 0)
		goto fail;
	uint32_t more = slots_more() < PATHS_MORE ? slots_more() : PATHS_MORE;
	uint32_t direct = lmpi_world.size + more;
	if (bound_paths(&direct) < 0)
		goto fail;
	net.paths_max = direct + net.relays_limits.relays_max + 8;
	net.lanes_max = lmpi_world.size + more + LMPI_TALKS_MAX;
	net.path_use = malloc(net.paths_max * sizeof *net.path_use);
	net.lane_rank = calloc(net.lanes_max, sizeof *net.lane_rank);
	if (!net.path_use || !net.lane_rank)
		goto fail;
	for (uint32_t i = 0; i < net.paths_max; i++)
		net.path_use[i] = USE_NONE;
	if (make_lanes() < 0 || make_transport_endpoint(&seal) < 0)
		goto fail;
	explicit_bzero(&seal, sizeof seal);
	suci_lanes_bind(net.lanes, net.ep);
	relayset_bind(net.relays, net.ep, net.lanes);
	suci_udp_attach(net.udp, net.ep);
	return LMPI_OK;
fail:
	fprintf(stderr, "libmpi: cannot set up Suci for %u processes: out of memory\n",
		lmpi_world.size);
	return LMPI_ERR_NO_MEM;
}

bool
lmpi_net_is_open(void)
{
	return net.ep != NULL;
}

int
lmpi_net_more(void)
{
	return net.udp ? suci_udp_disconnect(net.udp) : 0;
}

/* Its log names who was refused; from here that looks like silence. */
static const char *
why_identity(void)
{
	static char text[300];

	snprintf(
		text, sizeof text,
		"does its sealing.peers_file have our public key %s (its log says who is refused), "
		"is its own in LIBMPI_PEERS_FILE, is sealing on for its global leg, and is UDP let "
		"through?",
		net.public_key);
	return text;
}

static const char *
why_no_answer(void)
{
	if (!net.relays_outside)
		return "is relayd running there, and is UDP let through?";
	if (!net.sealing)
		return "it belongs to another cluster, whose global leg is sealed unless its "
		       "relayd "
		       "says \"sealing\": \"off\": set LIBMPI_KEY_FILE to a file with the relay's "
		       "key "
		       "(sealing.key_file there); or is UDP not let through?";
	if (net.public_key[0])
		return why_identity();
	return "is a key in LIBMPI_KEY_FILE the same as in sealing.key_file of that relay, is "
	       "sealing "
	       "on for its global leg, and is UDP let through?";
}

/* All that start-up named; those that were told of since may come later. */
static bool
relays_up(void *arg)
{
	const uint32_t *n = arg;

	return relayset_all_up(net.relays, *n);
}

int
lmpi_net_connect_relays(void)
{
	uint64_t now = suci_udp_now_ns();
	uint32_t named = relayset_count(net.relays);
	struct relayset_info r;

	for (uint32_t i = 0; i < named; i++) {
		int err = relayset_open(net.relays, i, now);
		relayset_info(net.relays, i, &r);
		if (err) {
			fprintf(stderr, "libmpi: relay %s: %s\n", r.name, suci_strerror(err));
			return LMPI_ERR_OTHER;
		}
	}
	net.dirty = true;
	bool all = lmpi_wait_until(relays_up, &named, now + RELAYSET_WAIT_NS);
	net.connected = true;
	relayset_connected(net.relays);
	if (all)
		return LMPI_OK;
	for (uint32_t i = 0; i < named; i++) {
		relayset_info(net.relays, i, &r);
		if (!r.up)
			fprintf(stderr,
				"libmpi: relay %s does not answer on UDP within %llu s: %s\n",
				r.name, (unsigned long long)(RELAYSET_WAIT_NS / BASE_S_NS),
				why_no_answer());
	}
	/* Of several one is enough. */
	return relayset_any_up(net.relays) ? LMPI_OK : LMPI_ERR_OTHER;
}

static void
send_endpoint_note(uint32_t i, enum relay_note_type type, const char *text)
{
	struct relay_note n = {.type = (uint8_t)type, .label_base = lmpi_net_relay_base(i)};

	relay_text_copy(n.text, text, strlen(text));
	(void)lmpi_relays_note(i, &n);
}

/* Processes of other clients that we reach without a relay: no launcher tells us
 * of their end, but the kernel does when something is sent to them. */
static void
ask_remote(uint64_t since_ns, uint64_t now_ns)
{
	static uint64_t asked_ns;
	struct suci_path_info info;
	uint8_t bytes[RELAY_NOTE_MAX];

	if (lmpi_world.nclients < 2 || now_ns - since_ns < PING_NS || now_ns - asked_ns < PING_NS)
		return;
	asked_ns = now_ns;
	for (uint32_t r = 0; r < lmpi_world.size; r++) {
		const struct lmpi_route *peer = &lmpi_route[r];
		if (peer->reach != LMPI_REACH_DIRECT || peer->path == UINT32_MAX ||
		    lmpi_world.proc[r].client == lmpi_world.client ||
		    !suci_path_info(net.ep, peer->path, &info) || !info.up ||
		    info.in_flight + info.queued > 0)
			continue;
		size_t n = relay_note_encode(&(struct relay_note){.type = RELAY_NOTE_PING}, bytes);
		(void)suci_path_note(net.ep, peer->path, bytes, n, now_ns);
		net.dirty = true;
	}
}

void
lmpi_net_watch(uint64_t since_ns, uint64_t now_ns)
{
	if (!net.ep || eng.closing)
		return;
	ask_remote(since_ns, now_ns);
	lmpi_net_kick();
}

/* Turns of the endpoint alone until nothing is held or the time is over. */
static void
push_out(uint64_t limit_ns)
{
	uint64_t until = suci_udp_now_ns() + limit_ns, now;

	while ((now = suci_udp_now_ns()) < until) {
		eng.in_transport = true;
		suci_udp_poll(net.udp, now);
		eng.in_transport = false;
		if (suci_held(net.ep) == 0)
			return;
		struct pollfd p = {.fd = suci_udp_fd(net.udp), .events = POLLIN};
		(void)poll(&p, 1, 1);
	}
}

static void
tell_endpoint(enum relay_note_type type, const char *text, uint64_t limit_ns)
{
	if (!net.ep || relayset_count(net.relays) == 0)
		return;
	eng.now_ns = suci_udp_now_ns();
	for (uint32_t i = 0; i < relayset_count(net.relays); i++)
		send_endpoint_note(i, type, text);
	push_out(limit_ns);
}

/* The farewell to processes that are reached without a relay, and what else waits to go out. */
static void
close_direct(const char *text)
{
	if (!net.ep)
		return;
	uint64_t now = suci_udp_now_ns();
	eng.in_transport = true;
	for (uint32_t r = 0; r < lmpi_world.slots; r++) {
		const struct lmpi_route *peer = &lmpi_route[r];

		if ((peer->reach == LMPI_REACH_DIRECT || peer->reach == LMPI_REACH_SHM) &&
		    peer->path != UINT32_MAX)
			suci_path_close(net.ep, peer->path, text, now);
	}
	lmpi_doors_leave(text);
	suci_udp_tx(net.udp, now);
	eng.in_transport = false;
}

void
lmpi_net_shun(uint32_t world)
{
	struct lmpi_route *r = &lmpi_route[world];
	bool was = eng.in_transport;

	if (!net.ep)
		return;
	relayset_failed(net.relays, world, eng.now_ns);
	net.dirty = true;
	if (r->door) {
		eng.in_transport = true;
		lmpi_doors_forget(world);
		eng.in_transport = was;
	}
	if (r->reach == LMPI_REACH_RELAY && r->has_lane) {
		eng.in_transport = true;
		suci_lane_close(net.lanes, r->lane, suci_udp_now_ns());
		eng.in_transport = was;
		r->has_lane = false;
		net.dirty = true;
	}
	if (r->path == UINT32_MAX)
		return;
	net.path_use[r->path] = USE_NONE;
	(void)lmpi_pool_down(world, SUCI_DOWN_LOCAL);
	eng.in_transport = true;
	suci_path_close(net.ep, r->path, "this job goes on without you", suci_udp_now_ns());
	eng.in_transport = was;
	r->path = UINT32_MAX;
	net.dirty = true;
}

static bool
direct_is_up(uint32_t world)
{
	struct suci_path_info info;
	uint32_t path = lmpi_route[world].path;

	return path != UINT32_MAX && suci_path_info(net.ep, path, &info) && info.up;
}

/* Of each client of which nobody has a path with us, its first process: who hears of the end by a
 * closed port does not know with which status the job ends. */
static void
reach_clients(uint64_t limit_ns)
{
	uint32_t reached = 1u << lmpi_world.client, asked[IMPI_CLIENTS_MAX], n = 0, up = 0;
	uint64_t until = suci_udp_now_ns() + limit_ns, now;

	for (uint32_t r = 0; r < lmpi_world.size; r++)
		if (lmpi_route[r].reach == LMPI_REACH_DIRECT && direct_is_up(r))
			reached |= 1u << lmpi_world.proc[r].client;
	eng.in_transport = true;
	for (uint32_t r = 0; r < lmpi_world.size; r++) {
		uint32_t bit = 1u << lmpi_world.proc[r].client;
		if (lmpi_route[r].reach != LMPI_REACH_DIRECT || reached & bit)
			continue;
		reached |= bit;
		if (lmpi_net_open_path(r) == 0)
			asked[n++] = r;
	}
	while (up < n && (now = suci_udp_now_ns()) < until) {
		suci_udp_poll(net.udp, now);
		struct pollfd p = {.fd = suci_udp_fd(net.udp), .events = POLLIN};
		(void)poll(&p, 1, 1);
		up = 0;
		for (uint32_t i = 0; i < n; i++)
			up += direct_is_up(asked[i]);
	}
	eng.in_transport = false;
}

void
lmpi_net_tell_abort(const char *why, uint64_t limit_ns)
{
	eng.closing = true;
	tell_endpoint(RELAY_NOTE_ABORT, why, limit_ns);
	if (net.ep && lmpi_world.nclients > 1)
		reach_clients(limit_ns);
	close_direct(why);
}

void
lmpi_net_tell_leave(uint64_t limit_ns)
{
	tell_endpoint(RELAY_NOTE_LEAVE, "", limit_ns);
	if (!net.ep)
		return;
	uint64_t now = suci_udp_now_ns();
	eng.in_transport = true;
	for (uint32_t i = 0; i < relayset_count(net.relays); i++) {
		struct relayset_info r;
		relayset_info(net.relays, i, &r);
		if (r.up)
			suci_path_close(net.ep, r.path, "finished", now);
	}
	eng.in_transport = false;
	/* Who still waits for our ack of its last message gets it before the farewell,
	 * instead of finding the port closed. */
	close_direct(LMPI_FINISHED);
}

void
lmpi_net_print_paths(void)
{
	struct suci_path_info i;

	for (uint32_t k = 0; net.ep && k < net.paths_max; k++) {
		if (!suci_path_info(net.ep, k, &i) || !i.up)
			continue;
		char name[SUCI_ADDR_TEXT_MAX];
		suci_addr_text(&i.peer, name);
		fprintf(stderr,
			"libmpi: [%u] path %s mtu %u rtt %.1f us (least %.1f) window %u of %u "
			"rate %.0f MB/s %s%s%s\n",
			lmpi_world.rank, name, i.mtu, (double)i.rtt_ns / 1e3,
			(double)i.rtt_ns_min / 1e3, i.cwnd, i.peer_credit, (double)i.rate_bps / 1e6,
			i.cc == SUCI_CC_BBR ? "bbr" : "cubic", i.ecn ? " ecn" : "",
			i.sealed ? " sealed" : "");
	}
}

void
lmpi_net_print_stats(void)
{
	if (!net.ep)
		return;
	lmpi_relays_print_stats();
	const struct suci_counters *c = suci_counters(net.ep);
	const struct suci_lane_counters *l = suci_lane_counters(net.lanes);
	const struct suci_udp_counters *u = suci_udp_counters(net.udp);
#define X(n, help)                                                                  \
	if (c->n)                                                                   \
		fprintf(stderr, "libmpi: [%u] suci %s %llu\n", lmpi_world.rank, #n, \
			(unsigned long long)c->n);
	SUCI_COUNTERS(X)
#undef X
#define X(n, help)                                                                  \
	if (l->n)                                                                   \
		fprintf(stderr, "libmpi: [%u] lane %s %llu\n", lmpi_world.rank, #n, \
			(unsigned long long)l->n);
	SUCI_LANE_COUNTERS(X)
#undef X
#define X(n, help)                                                                 \
	if (u->n)                                                                  \
		fprintf(stderr, "libmpi: [%u] udp %s %llu\n", lmpi_world.rank, #n, \
			(unsigned long long)u->n);
	SUCI_UDP_COUNTERS(X)
#undef X
	const struct pathpool_counters *p = net.pool ? pathpool_counters(net.pool) : NULL;
#define X(n, help)                                                                  \
	if (p && p->n)                                                              \
		fprintf(stderr, "libmpi: [%u] pool %s %llu\n", lmpi_world.rank, #n, \
			(unsigned long long)p->n);
	PATHPOOL_COUNTERS(X)
#undef X
}

const void *
lmpi_net_counters(enum lmpi_net_counts of)
{
	if (!net.ep)
		return NULL;
	switch (of) {
	case LMPI_NET_SUCI:
		return suci_counters(net.ep);
	case LMPI_NET_LANES:
		return suci_lane_counters(net.lanes);
	case LMPI_NET_UDP:
		break;
	}
	return suci_udp_counters(net.udp);
}

void
lmpi_net_close(void)
{
	eng.in_transport = true;
	if (net.ep) {
		suci_fini(net.ep, suci_udp_now_ns());
		suci_lanes_fini(net.lanes);
	}
	if (net.udp)
		suci_udp_detach(net.udp);
	eng.in_transport = false;
	suci_udp_close(net.udp);
	lmpi_doors_fini();
	free(net.ep_mem);
	free(net.lanes_mem);
	free(net.path_use);
	free(net.lane_rank);
	free(net.relays);
	free(net.pool);
	net = (struct lmpi_net_state){.strangers_due_ns = BASE_NEVER_NS};
}
