/* SPDX-License-Identifier: BSD-2-Clause */
#include "net.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "driver/eal.h"
#include "driver/poller.h"
#include "pktgen/frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <bsd/string.h>

#define ARP_AGAIN_NS (100 * BASE_MS_NS)
#define TAP_FRAMES   32

/* ---- who is who ------------------------------------------------------------------- */

/* 02:50:47 is unicast, locally administered, "PG". */
static void
station_mac(uint8_t side, uint32_t i, uint8_t mac[6])
{
	const uint8_t m[6] = {
		0x02,	   0x50, 0x47, (uint8_t)((uint32_t)side << 4 | i >> 16), (uint8_t)(i >> 8),
		(uint8_t)i};
	memcpy(mac, m, 6);
}

static bool
station_of(const struct pg_side *s, const uint8_t mac[6], uint32_t *i)
{
	uint8_t want[6];
	*i = (uint32_t)(mac[3] & 15) << 16 | (uint32_t)mac[4] << 8 | mac[5];
	station_mac(s->index, *i, want);
	return *i < s->stations && memcmp(mac, want, 6) == 0;
}

void
pg_station(const struct pg_net *n, uint8_t side, uint32_t i, struct rd_station *out)
{
	const struct pg_side_conf *c = n->side[side].conf;
	*out = (struct rd_station){
		.address = c->first + i, .prefix_len = c->prefix_len, .udp_port = c->udp_port};
	station_mac(side, i, out->mac);
}

static void
address_six(const struct pg_side_conf *c, uint32_t address, uint8_t out[16])
{
	memcpy(out, c->six_prefix, sizeof c->six_prefix);
	be32_store(out + sizeof c->six_prefix, address);
}

/* From now on the station is called by its IPv6 address, too, if the side has any. */
static void
speak_six(struct pg_side *s, struct rd_station *self)
{
	self->six = s->conf->six ? &s->spoken : NULL;
	if (!self->six)
		return;
	s->spoken.prefix_len = 96;
	address_six(s->conf, self->address, s->spoken.address);
}

/* ---- set-up ------------------------------------------------------------------------ */

static int
open_port(struct pg_net *n, int i, char *err, size_t err_max)
{
	struct pg_side *s = &n->side[i];
	struct rd_port_conf pc = {
		.device = s->conf->port,
		.pmd = s->conf->af_xdp ? RD_PMD_AF_XDP : RD_PMD_AF_PACKET,
		.index = (uint32_t)i,
		.mtu = s->conf->mtu,
		.n_rxq = s->nqueues,
		.n_txq = s->nqueues,
		.n_rxd = s->conf->descriptors,
		.n_txd = s->conf->descriptors,
		.pool = n->pool,
		.promisc = true, /* every station has a MAC of its own */
	};
	return rd_port_open(&s->port, &pc, err, err_max);
}

static int
tap_ioctl(int sock, unsigned long what, struct ifreq *r, const char *step, char *err, size_t max)
{
	if (ioctl(sock, what, r) == 0)
		return 0;
	snprintf(err, max, "TAP %s: %s: %s", r->ifr_name, step, strerror(errno));
	return -1;
}

static void
set_net_ipv4(struct ifreq *r, uint32_t ip)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(ip)};
	_Static_assert(sizeof sin == sizeof r->ifr_addr, "same size by definition");
	memcpy(&r->ifr_addr, &sin, sizeof sin);
}

static int
tap_up(const struct pg_side *s, struct ifreq *r, int sock, char *err, size_t max)
{
	r->ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(r->ifr_hwaddr.sa_data, s->tap_mac, 6);
	if (tap_ioctl(sock, SIOCSIFHWADDR, r, "MAC", err, max))
		return -1;
	r->ifr_mtu = s->conf->mtu;
	if (tap_ioctl(sock, SIOCSIFMTU, r, "MTU", err, max))
		return -1;
	set_net_ipv4(r, s->conf->primary);
	if (tap_ioctl(sock, SIOCSIFADDR, r, "address", err, max))
		return -1;
	set_net_ipv4(r, ~0u << (32 - s->conf->prefix_len));
	if (tap_ioctl(sock, SIOCSIFNETMASK, r, "netmask", err, max))
		return -1;
	r->ifr_flags = IFF_UP | IFF_RUNNING;
	return tap_ioctl(sock, SIOCSIFFLAGS, r, "up", err, max);
}

static int
open_player_tap(struct pg_side *s, char *err, size_t max)
{
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int result = -1, sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	s->tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	snprintf(r.ifr_name, sizeof r.ifr_name, "pktgen%u", s->index);
	if (s->tap < 0 || sock < 0)
		snprintf(err, max, "/dev/net/tun: %s; fix: modprobe tun", strerror(errno));
	else if (tap_ioctl(s->tap, TUNSETIFF, &r, "create", err, max) == 0)
		result = tap_up(s, &r, sock, err, max);
	if (sock >= 0)
		close(sock);
	return result;
}

static int
start_eal(struct pg_net *n, const struct pg_lab *lab, const char *prog, char *err, size_t max)
{
	uint16_t mtu = lab->side[0].mtu > lab->side[1].mtu ? lab->side[0].mtu : lab->side[1].mtu;
	uint32_t slots = 0, own = PG_SIDES * PG_NET_FRAMES;
	for (int i = 0; i < PG_SIDES; i++) {
		slots += 2u * lab->side[i].descriptors * n->side[i].nqueues;
		own += (PG_TX_MAX + PG_RX_BURST) * n->side[i].nqueues;
	}
	n->plan = rd_pool_plan((uint16_t)(mtu + PG_OVER_MAX), slots, own, 1);
	struct rd_eal_opts eo = {
		.prog = prog,
		.file_prefix = *lab->file_prefix ? lab->file_prefix : NULL,
		.lcores = *lab->lcores ? lab->lcores : NULL,
		.main_lcore = -1,
		.huge = lab->hugepages,
		.mem_mb = lab->memory_mb ? lab->memory_mb : rd_pool_mem_mb(n->plan.bytes),
	};
	/* A NIC reads our memory by DMA: it needs hugepages. */
	for (int i = 0; i < PG_SIDES; i++)
		if (rd_dev_is_pci(lab->side[i].port)) {
			eo.pci_allow[eo.n_pci_allow++] = lab->side[i].port;
			eo.huge = true;
		}
	int r = rd_eal_start(&eo, err, max);
	return r ? r : rd_pool_create(&n->pool, "pktgen", &n->plan, 0, err, max);
}

int
pg_net_open(struct pg_net *n, const struct pg_lab *lab, const char *prog, char *err, size_t max)
{
	n->lab = lab;
	n->prng = 1;
	for (uint8_t i = 0; i < PG_SIDES; i++) {
		n->side[i].conf = &lab->side[i];
		n->side[i].nqueues = lab->side[i].queues ? lab->side[i].nshards : 1;
		n->side[i].index = i;
		n->side[i].tap = -1;
		const uint8_t mac[6] = {0x02, 0x50, 0x47, 0xff, 0xff, i};
		memcpy(n->side[i].tap_mac, mac, 6);
	}
	(void)sched_getaffinity(0, sizeof n->given, &n->given);
	if (start_eal(n, lab, prog, err, max) || open_port(n, 0, err, max) ||
	    open_port(n, 1, err, max))
		return -1;
	if (unshare(CLONE_NEWNET)) {
		snprintf(err, max, "no network namespace of our own: %s", strerror(errno));
		return -1;
	}
	for (int i = 0; i < PG_SIDES; i++)
		if (lab->side[i].primary && open_player_tap(&n->side[i], err, max))
			return -1;
	(void)sched_getaffinity(0, sizeof n->pinned, &n->pinned);
	rd_clock_init(&n->clock);
	n->now_ns = rd_clock_ns(&n->clock);
	return 0;
}

/* The kernel's TCP must not go to a MAC that is no more. */
static void
forget_mac(const struct pg_side *s)
{
	struct arpreq r = {0};
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(s->conf->relay)};
	int sock = s->tap < 0 ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return;
	memcpy(&r.arp_pa, &sin, sizeof sin);
	snprintf(r.arp_dev, sizeof r.arp_dev, "pktgen%u", s->index);
	(void)ioctl(sock, SIOCDARP, &r); /* there may be none */
	close(sock);
}

void
pg_net_relink(struct pg_net *n)
{
	for (int i = 0; i < PG_SIDES; i++) {
		struct pg_side *s = &n->side[i];
		s->relay_known = false;
		forget_mac(s);
		if (strcmp(s->port.driver, "net_memif") != 0)
			continue;
		(void)rte_eth_dev_stop(s->port.id);
		(void)rte_eth_dev_start(s->port.id);
	}
}

void
pg_net_pin(struct pg_net *n, bool on)
{
	(void)sched_setaffinity(0, sizeof n->given, on ? &n->pinned : &n->given);
}

int
pg_net_close(struct pg_net *n)
{
	for (int i = 0; i < PG_SIDES; i++) {
		struct pg_side *s = &n->side[i];
		for (uint16_t q = 0; q < s->nqueues; q++) {
			if (s->queue[q].ntx)
				rte_pktmbuf_free_bulk(s->queue[q].tx, s->queue[q].ntx);
			s->queue[q].ntx = 0;
		}
		rd_port_close(&s->port);
		if (s->tap >= 0)
			close(s->tap);
		s->tap = -1;
	}
	uint32_t lost = rd_pool_free(n->pool);
	n->pool = NULL;
	if (lost)
		fprintf(stderr, "relay-pktgen: %u of %u buffers did not come back\n", lost,
			n->plan.count);
	rd_eal_stop();
	return lost ? -1 : 0;
}

/* ---- out ---------------------------------------------------------------------------- */

static void
flush_net(struct pg_side *s, uint16_t q)
{
	struct pg_queue *t = &s->queue[q];
	struct rd_poller *poller = rd_poller_new();
	rd_poll_begin(poller);
	uint16_t k = rte_eth_tx_burst(s->port.id, q, t->tx, t->ntx);
	rd_poll_end(poller);
	s->count.tx_frames += k;
	if (k < t->ntx) {
		/* Frames wait here, and endpoints with them: nothing is lost on our side. */
		memmove(t->tx, t->tx + k, (size_t)(t->ntx - k) * sizeof t->tx[0]);
		s->count.tx_waits++;
		(void)rte_eth_tx_done_cleanup(s->port.id, q, 0);
	}
	t->ntx = (uint16_t)(t->ntx - k);
}

void
pg_net_flush(struct pg_net *n)
{
	for (int i = 0; i < PG_SIDES; i++)
		for (uint16_t q = 0; q < n->side[i].nqueues; q++)
			if (n->side[i].queue[q].ntx)
				flush_net(&n->side[i], q);
}

/* Of the worker whose UDP port the frame is for; ARP and TCP are the first one's. */
static uint16_t
queue_of(const struct pg_side *s, const struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	if (s->nqueues == 1 || m->data_len < RD_FRAME_HDR)
		return 0;
	bool six = be16_load(f + 12) == 0x86dd && m->data_len >= RD_FRAME6_HDR;
	uint32_t udp = RD_ETH_HDR + (six ? RD_IPV6_HDR : RD_IPV4_HDR);
	if (six ? f[RD_ETH_HDR + 6] != 17 : be16_load(f + 12) != 0x0800 || f[RD_ETH_HDR + 9] != 17)
		return 0;
	uint32_t shard = (uint32_t)be16_load(f + udp + 2) - s->conf->udp_port;
	return shard < s->nqueues ? (uint16_t)shard : 0;
}

/* xorshift: which frames are lost. */
static bool
unlucky(struct pg_net *n, const struct pg_side *s)
{
	if (!s->loss_ppm)
		return false;
	n->prng ^= n->prng << 13;
	n->prng ^= n->prng >> 7;
	n->prng ^= n->prng << 17;
	return n->prng % 1000000 < s->loss_ppm;
}

static void
push_net(struct pg_net *n, struct pg_side *s, struct rte_mbuf *m)
{
	if (s->tx_cut || unlucky(n, s)) {
		s->count.tx_cut++;
		rte_pktmbuf_free(m);
		return;
	}
	uint16_t q = queue_of(s, m);
	struct pg_queue *t = &s->queue[q];
	s->count.tx_bytes += m->pkt_len;
	t->tx[t->ntx++] = m;
	if (t->ntx == PG_RX_BURST)
		flush_net(s, q);
}

void
pg_net_push(struct pg_net *n, uint8_t side, struct rte_mbuf *m)
{
	push_net(n, &n->side[side], m);
}

static struct rte_mbuf *
net_buffer(struct pg_net *n, struct pg_side *s, size_t len)
{
	bool room = true; /* in any queue: it is not known yet which one it will be */
	for (uint16_t q = 0; q < s->nqueues; q++)
		room = room && s->queue[q].ntx < PG_TX_MAX;
	struct rte_mbuf *m = room ? rte_pktmbuf_alloc(n->pool) : NULL;
	if (m && rte_pktmbuf_append(m, (uint16_t)len))
		return m;
	rte_pktmbuf_free(m);
	s->count.no_buffer++;
	return NULL;
}

bool
pg_net_raw(struct pg_net *n, uint8_t side, const void *frame, size_t len)
{
	struct pg_side *s = &n->side[side];
	struct rte_mbuf *m = net_buffer(n, s, len);
	if (!m)
		return false;
	memcpy(rte_pktmbuf_mtod(m, void *), frame, len);
	push_net(n, s, m);
	return true;
}

bool
pg_net_replay(struct pg_net *n, uint8_t side)
{
	struct pg_side *s = &n->side[side];
	if (!s->nkept)
		return false;
	uint32_t i = s->replay++ % s->nkept;
	return pg_net_raw(n, side, s->kept[i].frame, s->kept[i].len);
}

void
pg_net_forget(struct pg_net *n)
{
	for (int i = 0; i < PG_SIDES; i++)
		n->side[i].nkept = n->side[i].replay = 0;
}

static void
keep_net(struct pg_side *s, const struct rte_mbuf *m)
{
	if (m->data_len > PG_KEPT_LEN)
		return;
	memcpy(s->kept[s->nkept].frame, rte_pktmbuf_mtod(m, const void *), m->data_len);
	s->kept[s->nkept++].len = m->data_len;
}

void
pg_write_front(struct pg_side *s, uint8_t *at, struct rd_station *from, uint16_t port,
	       uint16_t ip_id, uint32_t udp, uint8_t ecn)
{
	uint8_t relay[16];
	if (!s->conf->six) {
		rd_write_udp(at, from, s->relay_mac, s->conf->relay, port, ip_id, udp, ecn);
		return;
	}
	speak_six(s, from);
	address_six(s->conf, s->conf->relay, relay);
	rd_write_udp6(at, from, s->relay_mac, relay, port, udp, ecn);
}

void
pg_write_sum(const struct pg_side *s, uint8_t *at, size_t here, uint64_t rest)
{
	if (s->conf->six)
		rd_udp6_checksum(at, here, rest);
	else
		rd_udp_checksum(at, here, rest);
}

bool
pg_net_send(struct pg_net *n, uint8_t side, struct rd_station *from, uint16_t *ip_id,
	    struct suci *ep, const struct suci_out *o)
{
	struct pg_side *s = &n->side[side];
	uint32_t udp = suci_out_len(o), front = pg_front(s->conf);
	struct rte_mbuf *m = net_buffer(n, s, front + udp);
	if (!m)
		return false;
	uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *), *p = at + front;
	pg_write_front(s, at, from, o->to.port, (*ip_id)++, udp, o->ecn);
	if (o->sealed) {
		if (!suci_seal(ep, o, p, udp)) {
			rte_pktmbuf_free(m);
			return true; /* its path is down: as good as lost on the way */
		}
	} else {
		memcpy(p, o->head, o->head_len);
		if (o->seg_head_len)
			memcpy(p + o->head_len, o->seg_head, o->seg_head_len);
		if (o->data_len)
			memcpy(p + o->head_len + o->seg_head_len, o->data, o->data_len);
	}
	pg_write_sum(s, at, udp, 0);
	if (s->nkept < PG_KEPT_MAX)
		keep_net(s, m);
	push_net(n, s, m);
	return true;
}

/* ---- in ----------------------------------------------------------------------------- */

static void
net_arp(struct pg_net *n, struct pg_side *s, uint8_t *frame, size_t len)
{
	if (len < RD_ARP_FRAME)
		return;
	const uint8_t *a = frame + RD_ETH_HDR;
	uint32_t sender = be32_load(a + 14), target = be32_load(a + 24);
	s->count.rx_arp++;
	if (sender == s->conf->relay) {
		memcpy(s->relay_mac, a + 8, 6);
		s->relay_known = true;
	}
	/* Who is spoken to by IPv6 is not there for others. */
	if (be16_load(a + 6) == 1 && target - s->conf->first < s->stations && !s->conf->six) {
		struct rd_station self;
		pg_station(n, s->index, target - s->conf->first, &self);
		rd_arp_answer(frame, &self);
		(void)pg_net_raw(n, s->index, frame, RD_ARP_FRAME);
	} else if (s->tap >= 0) {
		(void)!write(s->tap, frame, len); /* the kernel asks again */
	}
}

/* Neighbour discovery for station i, f of the parser: as net_arp(). */
static void
net_nd(struct pg_net *n, struct pg_side *s, uint32_t i, const uint8_t *frame, size_t len,
       const struct rd_rx_frame *f)
{
	uint8_t relay[16], answer[RD_ND_FRAME] = {0};
	struct rd_station self;
	s->count.rx_arp++;
	address_six(s->conf, s->conf->relay, relay);
	if (memcmp(frame + f->src_6, relay, sizeof relay) == 0) {
		memcpy(s->relay_mac, f->src_mac, 6);
		s->relay_known = true;
	}
	if (f->verdict != RD_RX_ND_REQUEST)
		return;
	pg_station(n, s->index, i, &self);
	speak_six(s, &self);
	memcpy(answer, frame, len < sizeof answer ? len : sizeof answer);
	rd_nd_answer(answer, &self, f);
	(void)pg_net_raw(n, s->index, answer, sizeof answer);
}

/* Of whom a solicitation to a group asks; the parser looks at the rest. */
static bool
solicited(const struct pg_side *s, const uint8_t *frame, size_t len, uint32_t *i)
{
	const size_t target = RD_ETH_HDR + RD_IPV6_HDR + 8;
	if (!s->conf->six || len < target + 16 || be16_load(frame) != 0x3333 ||
	    be16_load(frame + 12) != 0x86dd)
		return false;
	*i = be32_load(frame + target + 12) - s->conf->first;
	return *i < s->stations;
}

/* A frame for station i. */
static void
receive_for(struct pg_net *n, struct pg_side *s, uint32_t i, uint8_t *frame, size_t len)
{
	struct rd_station self;
	struct rd_rx_frame f;
	/* What the parser reads of it, without clearing the lists. */
	self.address = s->conf->first + i;
	self.udp_port = s->conf->udp_port;
	self.gateway_port = 0;
	self.sum_required = false; /* plain UDP of pg_blast_main() has none */
	self.nmore = self.nopen = 0;
	self.other = self.other_mask = 0;
	station_mac(s->index, i, self.mac);
	speak_six(s, &self);
	rd_packet_parse(&self, frame, len, &f);
	if (f.verdict == RD_RX_SUCI && !n->datagram) {
		s->count.rx_stray++; /* of an earlier run's paths */
	} else if (f.verdict == RD_RX_SUCI) {
		struct suci_addr from = {.port = f.src_port, .family = 4, .leg = s->index};
		if (f.src_6) {
			from.family = 6;
			memcpy(from.ip, frame + f.src_6, sizeof from.ip);
		} else {
			be32_store(from.ip + 12, f.src_ip);
		}
		n->datagram(n->user, s->index, i, &from, frame + f.payload_off, f.payload_len,
			    f.ecn);
	} else if (f.verdict == RD_RX_ND_REQUEST || f.verdict == RD_RX_ND_REPLY) {
		net_nd(n, s, i, frame, len, &f);
	} else if (be16_load(frame + 12) == 0x0806) {
		net_arp(n, s, frame, len);
	} else {
		s->count.rx_bad++;
	}
}

static void
receive_net(struct pg_net *n, struct pg_side *s, struct rte_mbuf *m)
{
	uint32_t i;
	if (s->rx_cut || unlucky(n, s)) {
		s->count.rx_cut++;
		return;
	}
	if (m->nb_segs > 1 && rte_pktmbuf_linearize(m)) {
		s->count.rx_bad++;
		return;
	}
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	if (m->data_len < RD_ETH_HDR) {
		s->count.rx_bad++;
	} else if (station_of(s, frame, &i) || solicited(s, frame, m->data_len, &i)) {
		receive_for(n, s, i, frame, m->data_len);
	} else if (be16_load(frame + 12) == 0x0806) {
		net_arp(n, s, frame, m->data_len);
	} else if (s->tap >= 0 && memcmp(frame, s->tap_mac, 6) == 0) {
		(void)!write(s->tap, frame, m->data_len); /* TCP sends it again */
	} else {
		s->count.rx_stray++;
	}
}

static uint32_t
poll_queue(struct pg_net *n, struct pg_side *s, uint16_t q)
{
	struct rte_mbuf *m[PG_RX_BURST];
	struct rd_poller *poller = rd_poller_new();
	rd_poll_begin(poller);
	uint16_t k = rte_eth_rx_burst(s->port.id, q, m, PG_RX_BURST);
	rd_poll_end(poller);
	for (uint16_t j = 0; j < k; j++) {
		if (j + 1 < k)
			__builtin_prefetch(rte_pktmbuf_mtod(m[j + 1], void *));
		s->count.rx_frames++;
		s->count.rx_bytes += m[j]->pkt_len;
		receive_net(n, s, m[j]);
	}
	if (k)
		rte_pktmbuf_free_bulk(m, k);
	return k;
}

uint32_t
pg_net_poll(struct pg_net *n)
{
	uint32_t total = 0;
	for (int i = 0; i < PG_SIDES; i++)
		for (uint16_t q = 0; q < n->side[i].nqueues; q++)
			total += poll_queue(n, &n->side[i], q);
	return total;
}

void
pg_net_poll_taps(struct pg_net *n)
{
	uint8_t frame[10240];
	for (uint8_t i = 0; i < PG_SIDES; i++) {
		for (int k = 0; k < TAP_FRAMES && n->side[i].tap >= 0 && pg_net_room(n, i); k++) {
			ssize_t len = read(n->side[i].tap, frame, sizeof frame);
			if (len <= 0)
				break;
			uint16_t type = len >= RD_ETH_HDR ? be16_load(frame + 12) : 0;
			if (type == 0x0800 || type == 0x0806) /* IPv6 noise stays here */
				(void)pg_net_raw(n, i, frame, (size_t)len);
		}
	}
}

static void
ask_net(struct pg_net *n, struct pg_side *s)
{
	struct rd_station self;
	uint8_t frame[RD_ND_FRAME], relay[16];
	pg_station(n, s->index, 0, &self);
	if (s->conf->six) {
		speak_six(s, &self);
		address_six(s->conf, s->conf->relay, relay);
		rd_write_nd_request(frame, &self, relay, NULL);
	} else {
		rd_write_arp_request(frame, &self, s->conf->relay, NULL);
	}
	(void)pg_net_raw(n, s->index, frame, s->conf->six ? RD_ND_FRAME : RD_ARP_FRAME);
}

int
pg_net_ready(struct pg_net *n, uint32_t wait_ms, char *err, size_t err_max)
{
	uint64_t end = rd_clock_ns(&n->clock) + wait_ms * BASE_MS_NS, asked = 0;
	for (;;) {
		bool ready = true;
		uint64_t now = n->now_ns = rd_clock_ns(&n->clock);
		bool again = now - asked >= ARP_AGAIN_NS;
		for (int i = 0; i < PG_SIDES; i++) {
			struct pg_side *s = &n->side[i];
			ready = ready && s->relay_known;
			if (again && !s->relay_known && rd_port_link_up(&s->port) &&
			    pg_net_room(n, (uint8_t)i))
				ask_net(n, s);
		}
		if (again)
			asked = now;
		if (ready)
			return 0;
		if (now >= end) {
			const struct pg_side *s = &n->side[n->side[0].relay_known];
			struct in_addr a = {htonl(s->conf->relay)};
			snprintf(err, err_max, "%s: %s after %u ms", s->port.name,
				 !rd_port_link_up(&s->port) ? "the link is down"
				 : s->conf->six ? "relayd does not answer neighbour discovery"
						: "relayd does not answer ARP",
				 wait_ms);
			(void)a;
			return -1;
		}
		(void)pg_net_poll(n);
		pg_net_poll_taps(n);
		pg_net_flush(n);
		usleep(200);
	}
}
