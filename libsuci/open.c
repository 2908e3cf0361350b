/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration, opening, closing. */
#include "datagram_internal.h"

#include "driver/aead.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC 0x4c69625375636931ull
/* Loopback: larger datagrams only fall out of the cache, and two of these fit a
 * message that the kernel cuts. */
#define MTU_MAX	  32752u
#define MEM_LEAST (64u << 10)

void
datagram_conf_init(struct datagram_conf *conf)
{
	*conf = (struct datagram_conf){
		.size = sizeof *conf,
		.read_bytes = 64u << 20,
		.write_bytes = 16u << 20,
		.blocks = 4096,
		.packets = 16384,
		.early_packets = 512,
		.window = 4096,
		.connect_ms = 30000,
		.liveness_ms = 60000,
		.close_ms = 5000,
		.spin_us = 50,
	};
}

/* NULL: all is well. */
static const char *
conf_wrong(const struct datagram_conf *c)
{
	if (c->id > DATAGRAM_ID_MAX)
		return "id is larger than 65535";
	if (c->db && c->db_file)
		return "one of db and db_file has to be set, not both";
	if (!c->db && !c->db_file && !c->doors)
		return "one of db and db_file has to be set, or doors";
	if (c->doors > DATAGRAM_ID_MAX)
		return "doors is not 0 .. 65535";
	if (c->relay && !c->doors)
		return "relay carries doors, and doors is 0";
	if (c->address && !c->doors)
		return "address is a door's, and doors is 0";
	if (!c->identity_file != !c->peers_file)
		return "identity_file and peers_file go together";
	if (c->read_bytes < MEM_LEAST || c->write_bytes < MEM_LEAST ||
	    (c->write_bytes_peer && c->write_bytes_peer < MEM_LEAST))
		return "read_bytes, write_bytes and write_bytes_peer are 65536 at least";
	if (c->blocks < 16 || c->blocks > 1u << 20)
		return "blocks is not 16 .. 1048576";
	if (c->packets < 64 || c->packets > 1u << 24)
		return "packets is not 64 .. 16777216";
	if (c->early_packets < 64 || c->early_packets > 65536)
		return "early_packets is not 64 .. 65536";
	if (c->window < 4 || c->window > 65535)
		return "window is not 4 .. 65535";
	if (c->mtu && (c->mtu < 1200 || c->mtu > 65000))
		return "mtu is not 0 or 1200 .. 65000";
	if (c->sockbuf_bytes > 1u << 30)
		return "sockbuf_bytes is larger than 1 GiB";
	if (c->cc < DATAGRAM_CC_CUBIC || c->cc > DATAGRAM_CC_BBR)
		return "cc is none of enum datagram_cc";
	if (c->priority < 0 || c->priority >= PRIOS)
		return "priority is not 0 .. 3";
	if (c->flags & ~(DATAGRAM_CRC | DATAGRAM_NO_OFFLOAD | DATAGRAM_HUGE_PAGES | DATAGRAM_XDP))
		return "unknown flags";
	return NULL;
}

static int
open_udp(struct datagram_sock *s, const struct db_entry *me, const char *ip)
{
	const struct datagram_conf *c = &s->conf;
	struct suci_udp_conf u = {
		.at = me->at,
		.mtu = c->mtu,
		.mtu_max = MTU_MAX > c->mtu ? MTU_MAX : c->mtu,
		.bufs = s->conf.early_packets + 4 * SUCI_UDP_BATCH,
		.sockbuf_bytes = c->sockbuf_bytes,
		.no_gso = c->flags & DATAGRAM_NO_OFFLOAD,
		.no_gro = c->flags & DATAGRAM_NO_OFFLOAD,
		.ecn = true,
		.huge_pages = c->flags & DATAGRAM_HUGE_PAGES,
		.xdp = c->flags & DATAGRAM_XDP,
		.busy_poll_us = c->busy_poll_us,
	};
	char at[SUCI_ADDR_TEXT_MAX];
	const char *fault = ip ? datagram_db_ip(ip, &u.at) : NULL;
	if (fault) {
		datagram_fail_open(EINVAL, "\"%.46s\" %s", ip, fault);
		return -1;
	}
	u.at.port = c->port ? c->port : me->at.port;
	datagram_tuned_read(s, &u);
	int err = suci_udp_open(&u, &s->udp);
	if (!err) /* what the kernel merges takes up to 64 KiB */
		s->fixed_bytes += (uint64_t)u.bufs * (u.no_gro ? suci_udp_mtu(s->udp) : 65536u);
	if (!err) {
		struct suci_udp_info info;
		suci_udp_get_info(s->udp, &info);
		s->fixed_bytes += info.xdp_bytes;
	}
	if (err)
		datagram_fail_open(-err, "cannot open a UDP socket on %s: %s",
				   suci_addr_text(&u.at, at), strerror(-err));
	return err;
}

/* Who says nothing of it is at any address of the kind that the relay has. */
static const char *
ip_to_bind(const struct db_entry *me, const struct datagram_conf *conf)
{
	bool six = conf->relay && conf->relay[0] == '[';
	return !conf->ip && six && suci_addr_is_any(&me->at) ? "::" : conf->ip;
}

static void *
take_sock(struct datagram_sock *s, size_t n)
{
	n = (n + 63) & ~(size_t)63;
	s->fixed_bytes += n;
	return n ? aligned_alloc(64, n) : NULL;
}

static int
make_sock_peers(struct datagram_sock *s, const struct datagram_db *db)
{
	s->npeers = (uint32_t)db->n;
	s->nplaces = s->npeers + s->conf.doors;
	s->paths_max = s->nplaces + 8; /* some are going down while others come */
	s->lanes_max = s->nplaces <= 256 ? PRIOS * s->nplaces : s->nplaces + 768;
	size_t peers = s->nplaces * sizeof *s->peer;
	size_t paths = s->paths_max * sizeof *s->path_peer;
	size_t lanes = s->lanes_max * sizeof *s->lane;
	size_t imports = s->door.via ? DOOR_IMPORTS(s->conf.doors) * sizeof *s->door.import : 0;
	s->peer = take_sock(s, peers);
	s->path_peer = take_sock(s, paths);
	s->lane = take_sock(s, lanes);
	s->door.import = take_sock(s, imports);
	if (!s->peer || !s->path_peer || !s->lane || (imports && !s->door.import))
		return -1;
	if (imports) {
		memset(s->door.import, 0, imports);
		door_client_grow(&s->door.client, s->door.import, DOOR_IMPORTS(s->conf.doors));
	}
	memset(s->peer, 0, peers);
	memset(s->path_peer, 0, paths);
	memset(s->lane, 0, lanes);
	for (uint32_t i = 0; i < s->npeers; i++) {
		const struct db_entry *e = &db->e[i];
		struct peer *p = &s->peer[i];
		datagram_peer_init(s, p, e->id);
		p->label = e->id * PRIOS;
		p->own = s->conf.id * PRIOS;
		p->anywhere = e->anywhere;
		if (!e->anywhere)
			p->addr = e->at;
	}
	for (uint32_t i = s->npeers; i < s->nplaces; i++) {
		datagram_peer_init(s, &s->peer[i], DATAGRAM_DOOR_ID + i - s->npeers);
		s->peer[i].door = true;
	}
	s->me = datagram_peer_find(s, s->conf.id);
	return 0;
}

static int
make_sock_lanes(struct datagram_sock *s)
{
	struct suci_lanes_config c = {
		.limits = {.lanes_max = s->lanes_max,
			   .blocks_max = s->conf.blocks + s->conf.blocks / 4,
			   .rx_blocks_max = s->nplaces + 1024,
			   .held_max = s->conf.early_packets,
			   .ranges_max = 4096,
			   .labels_max = PRIOS * (s->peer[s->npeers - 1].id + 1)},
		.ops = &datagram_libsuci_ops,
		.user = s,
	};
	if (s->conf.doors) { /* a relay's labels may be as small as those of the database */
		c.limits.labels_max = 1;
		c.limits.buckets = 1u << (32 - __builtin_clz(s->lanes_max));
	}
	s->lanes_mem = take_sock(s, suci_lanes_footprint(&c.limits));
	s->lanes = s->lanes_mem ? suci_lanes_new(s->lanes_mem, &c) : NULL;
	return s->lanes ? 0 : -1;
}

static enum suci_cc_kind
cc_kind(int cc)
{
	return cc == DATAGRAM_CC_FIXED ? SUCI_CC_FIXED
	       : cc == DATAGRAM_CC_BBR ? SUCI_CC_BBR
				       : SUCI_CC_CUBIC;
}

static int
make_sock_endpoint(struct datagram_sock *s, const struct suci_seal_conf *seal)
{
	const struct datagram_conf *c = &s->conf;
	/* What all together may have in flight to us fits the kernel's buffer. */
	uint32_t total = suci_udp_credit(s->udp, 1);
	struct suci_config e = {
		.limits = {.paths_max = s->paths_max,
			   .segments_max = c->packets,
			   .queue_max = c->packets < 2048 ? c->packets : 2048,
			   .window_max = c->window,
			   .sealed_max = seal->aead ? s->paths_max : 0},
		.seal = *seal,
		.cc = cc_kind(c->cc),
		.fixed_window = c->window,
		.ack_every = s->ack_every,
		.credit = total < c->window ? total : c->window,
		.credit_total = total,
		/* peer.c gives up; this only has to be no shorter. */
		.handshake_ns = c->connect_ms ? (c->connect_ms + 1000ull) * BASE_MS_NS
					      : 365ull * 86400 * BASE_S_NS,
		.liveness_ns = c->liveness_ms * (uint64_t)BASE_MS_NS,
		/* A relay that was started anew does not know that we have a door there. */
		.keepalive_ns = s->door.via ? BASE_S_NS : 0,
		.hello_len = HELLO_BYTES,
		.user = s->lanes,
	};
	datagram_hello_put(e.hello, c, DATAGRAM_ID_MAX + 1);
	s->ep = s->door.sites.ep = suci_udp_endpoint(s->udp, &e, &s->ep_mem);
	s->fixed_bytes += (suci_footprint(&e.limits) + 63) & ~(size_t)63;
	return s->ep ? 0 : -1;
}

static void
dismantle_sock(struct datagram_sock *s)
{
	s->closing = true;
	if (s->ep)
		suci_fini(s->ep, suci_udp_now_ns());
	if (s->lanes)
		suci_lanes_fini(s->lanes);
	if (s->udp)
		suci_udp_detach(s->udp);
	suci_udp_close(s->udp);
	if (s->peer)
		datagram_in_fini(s);
	datagram_mem_fini(&s->in_mem);
	datagram_mem_fini(&s->out_mem);
	free(s->ep_mem);
	datagram_keys_free(s);
	free(s->lanes_mem);
	free(s->peer);
	free(s->path_peer);
	free(s->lane);
	free(s->door.import);
	if (s->alive)
		munmap((void *)(uintptr_t)s->alive, 1);
	s->magic = 0;
	free(s);
}

/* A page that the kernel clears in children. */
static int
mark_alive(struct datagram_sock *s)
{
	uint8_t *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -1;
	if (madvise(page, 1, MADV_WIPEONFORK) < 0) {
		munmap(page, 1);
		return -1;
	}
	page[0] = 1;
	s->alive = page;
	return 0;
}

static struct datagram_sock *
open_checked(const struct datagram_conf *conf, const struct datagram_db *db)
{
	const struct db_entry *me = datagram_db_find(db, conf->id);
	if (!me) {
		datagram_fail_open(ENOENT, "id %u is not in the address database", conf->id);
		return NULL;
	}
	struct datagram_sock *s = calloc(1, sizeof *s);
	if (!s) {
		datagram_fail_open(ENOMEM, "out of memory");
		return NULL;
	}
	s->magic = MAGIC;
	s->conf = *conf;
	s->conf.db = NULL;
	s->conf.db_file = s->conf.ip = s->conf.psk_file = NULL;
	s->conf.identity_file = s->conf.peers_file = s->conf.relay = s->conf.address = NULL;
	s->fixed_bytes = sizeof *s;
	s->pending_at_ns = BASE_NEVER_NS;
	s->spin_ns = s->spin_ns_max = conf->spin_us * 1000ull;
	datagram_in_init(s);
	datagram_mem_init(&s->out_mem, conf->write_bytes);
	struct suci_seal_conf seal = {0};
	bool told = open_udp(s, me, ip_to_bind(me, conf)) || datagram_keys_open(s, conf, &seal) ||
		    datagram_door_init(s, conf);
	int err = told ? errno : 0;
	if (!told && (mark_alive(s) < 0 || make_sock_peers(s, db) < 0 || make_sock_lanes(s) < 0 ||
		      make_sock_endpoint(s, &seal) < 0)) {
		datagram_fail_open(ENOMEM, "out of memory for %zu ids",
				   db->n + (size_t)conf->doors);
		err = ENOMEM;
	}
	explicit_bzero(&seal, sizeof seal);
	if (err) {
		dismantle_sock(s);
		errno = err;
		return NULL;
	}
	suci_lanes_bind(s->lanes, s->ep);
	suci_udp_attach(s->udp, s->ep);
	/* A single peer whose address is known: the kernel need not look for the way. */
	for (uint32_t i = 0; s->nplaces == 2 && i < s->npeers; i++)
		if (&s->peer[i] != s->me && !s->peer[i].anywhere)
			(void)suci_udp_connect(s->udp, &s->peer[i].addr);
	return s;
}

/* A socket that knows nobody but by their addresses. */
static struct datagram_db *
make_own_db(const struct datagram_conf *conf)
{
	struct datagram_db *db = datagram_db_new();
	if (db && datagram_db_add(db, conf->id, NULL, 0)) {
		datagram_db_free(db);
		db = NULL;
	}
	return db;
}

struct datagram_sock *
datagram_open_with(const struct datagram_conf *given)
{
	struct datagram_conf conf;
	datagram_conf_init(&conf);
	/* A program compiled against an older header has fewer fields. */
	size_t n = given->size < sizeof conf ? given->size : sizeof conf;
	memcpy(&conf, given, n);
	const char *wrong =
		given->size < sizeof given->size ? "datagram_conf_init() first" : conf_wrong(&conf);
	if (wrong) {
		datagram_fail_open(EINVAL, "%s", wrong);
		return NULL;
	}
	if (conf.db)
		return open_checked(&conf, conf.db);
	char text[TEXT_MAX - 1] = "out of memory";
	struct datagram_db *db = conf.db_file ? datagram_db_read(conf.db_file, text, sizeof text)
					      : make_own_db(&conf);
	if (!db) {
		datagram_fail_open(errno, "%s", text);
		return NULL;
	}
	struct datagram_sock *s = open_checked(&conf, db);
	int err = errno;
	datagram_db_free(db);
	errno = err;
	return s;
}

struct datagram_sock *
datagram(const char *addrdb, const char *myaddr, uint16_t myport, uint32_t myid)
{
	struct datagram_conf conf;
	datagram_conf_init(&conf);
	conf.db_file = addrdb;
	conf.ip = myaddr;
	conf.port = myport;
	conf.id = myid;
	return datagram_open_with(&conf);
}

/* ---- closing ---- */

static bool
all_acked(struct datagram_sock *s, void *arg)
{
	(void)arg;
	return s->outs == 0;
}

static bool
sock_all_left(struct datagram_sock *s, void *arg)
{
	(void)arg;
	return s->outs == 0 && datagram_peers_left(s);
}

int
datagram_flush(struct datagram_sock *s, long sec, long usec)
{
	if (datagram_enter(s))
		return -1;
	int r = datagram_wait_until(s, all_acked, NULL, datagram_deadline_of(sec, usec), NULL);
	datagram_settle(s);
	return r;
}

static bool
sock_never(struct datagram_sock *s)
{
	(void)s;
	return false;
}

int
datagram_close(struct datagram_sock *s)
{
	if (!s)
		return 0;
	int err = 0;
	if (s->alive[0]) {
		uint64_t lost = s->lost, limit = s->conf.close_ms * (uint64_t)BASE_MS_NS;
		uint64_t deadline = base_add_ns(suci_udp_now_ns(), limit);
		if (!datagram_wait_until(s, sock_all_left, NULL, deadline, sock_never))
			err = ETIMEDOUT;
		else if (s->lost != lost)
			err = ECONNRESET;
		s->closing = true;
		s->now_ns = suci_udp_now_ns();
		for (uint32_t i = 0; i < s->nplaces; i++)
			if (s->peer[i].path != NONE && !s->peer[i].relayed)
				suci_path_close(s->ep, s->peer[i].path, "", s->now_ns);
		door_sites_close(&s->door.sites, "", s->now_ns);
		suci_udp_tx(s->udp, s->now_ns);
	}
	dismantle_sock(s);
	errno = err ? err : errno;
	return err ? -1 : 0;
}
