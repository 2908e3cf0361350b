/* SPDX-License-Identifier: BSD-2-Clause */
#include "pktgen/frames.h"

#include "base/bytes.h"
#include "suci/wire.h"

#include <string.h>

enum { ETH = 14, VLAN_TAG = 4, IP = 20, UDP = 8, ARP = 28 };
enum { MF = 0x2000, DF = 0x4000 };
#define UDP_ROOM (PG_SAVED_MAX - ETH - VLAN_TAG - IP - UDP)
#define MTU	 1400 /* announced in handshakes */

_Static_assert(PG_WHOLE == SUCI_PATH_HDR + SUCI_BODY_HDR + 16, "16 bytes of hello data");
_Static_assert(SUCI_PATH_HDR + SUCI_ACK_HDR + SUCI_LANE_HDR + 64 <= UDP_ROOM, "DATA can be saved");

const char *const pg_kind_names[PG_KINDS_COUNT] = {
#define X(n, h) #n,
	PG_KINDS(X)
#undef X
};
const char *const pg_kind_help[PG_KINDS_COUNT] = {
#define X(n, h) h,
	PG_KINDS(X)
#undef X
};

enum pg_kind
pg_kind_find(const char *name)
{
	int k = 0;
	while (k < PG_KINDS_COUNT && strcmp(pg_kind_names[k], name) != 0)
		k++;
	return (enum pg_kind)k;
}

static uint32_t
below(struct pg_gen *g, uint32_t n)
{
	return (uint32_t)base_prng_below(&g->prng, n);
}

static uint64_t
not_zero(struct pg_gen *g)
{
	return base_prng_next(&g->prng) | 1;
}

static void
random_bytes(struct pg_gen *g, uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)below(g, 256);
}

/* ---- what is around a datagram --------------------------------------------------- */

static uint32_t
sum_words(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0u);
	return sum;
}

static uint16_t
frames_checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void
put_eth(const struct pg_gen *g, uint8_t *at, const uint8_t *dst, uint16_t type)
{
	memcpy(at, dst, 6);
	memcpy(at + 6, g->conf.src_mac, 6);
	be16_store(at + 12, type);
}

static void
put_ip(struct pg_gen *g, uint8_t *ip, uint16_t total, uint16_t frag)
{
	ip[0] = 0x45;
	ip[1] = 0;
	be16_store(ip + 2, total);
	be16_store(ip + 4, (uint16_t)below(g, 0x10000));
	be16_store(ip + 6, frag);
	ip[8] = 64;
	ip[9] = 17;
	be16_store(ip + 10, 0);
	be32_store(ip + 12, g->conf.src_ip);
	be32_store(ip + 16, g->conf.dst_ip);
	be16_store(ip + 10, frames_checksum(sum_words(0, ip, IP)));
}

/* IP and UDP headers in front of the len bytes at ip + IP + UDP; their length. */
static size_t
put_udp_ip(struct pg_gen *g, uint8_t *ip, size_t len, uint16_t frag)
{
	uint8_t *udp = ip + IP;
	put_ip(g, ip, (uint16_t)(IP + UDP + len), frag);
	be16_store(udp, (uint16_t)(1024 + below(g, 0x10000 - 1024)));
	be16_store(udp + 2, g->conf.dst_port);
	be16_store(udp + 4, (uint16_t)(UDP + len));
	be16_store(udp + 6, 0);
	uint32_t sum = sum_words(17 + UDP + (uint32_t)len, ip + 12, 8);
	uint16_t c = frames_checksum(sum_words(sum, udp, UDP + len));
	be16_store(udp + 6, c ? c : 0xffff);
	return IP + UDP + len;
}

/* ---- datagrams --------------------------------------------------------------------- */

static void
put_path_hdr(struct pg_gen *g, uint8_t *d, enum suci_type type, uint32_t tag)
{
	d[0] = (uint8_t)(SUCI_VERSION << 4 | type);
	d[1] = 0;
	be16_store(d + 2, 0);
	be32_store(d + 4, tag);
	be32_store(d + 8, 0);
	be32_store(d + 12, (uint32_t)base_prng_next(&g->prng));
}

/* A handshake datagram as a stranger would send it. */
static size_t
put_handshake(struct pg_gen *g, uint8_t *d, enum suci_type type, uint16_t hello_len)
{
	uint8_t *b = d + SUCI_PATH_HDR;
	bool names_path = type == SUCI_T_COOKIE || type == SUCI_T_ACCEPT;
	put_path_hdr(g, d, type, names_path ? (uint32_t)not_zero(g) : 0);
	be32_store(b, type == SUCI_T_COOKIE ? 0 : (uint32_t)not_zero(g));
	be16_store(b + 4, MTU);
	be16_store(b + 6, hello_len);
	be64_store(b + 8, type == SUCI_T_COOKIE ? 0 : not_zero(g));
	be64_store(b + 16, type == SUCI_T_HELLO ? 0 : not_zero(g));
	be64_store(b + 24, type == SUCI_T_ACCEPT ? not_zero(g) : 0);
	random_bytes(g, b + SUCI_BODY_HDR, hello_len);
	return SUCI_PATH_HDR + SUCI_BODY_HDR + (size_t)hello_len;
}

/* What a peer may still send to a relay that was started anew. */
static size_t
put_data(struct pg_gen *g, uint8_t *d)
{
	uint32_t form = below(g, 3); /* segment, segment with ack block, bare ack */
	size_t at = SUCI_PATH_HDR;
	put_path_hdr(g, d, SUCI_T_DATA, (uint32_t)not_zero(g));
	be32_store(d + 8, 1 + below(g, 1u << 30));
	if (form > 0) {
		d[1] = form == 2 ? SUCI_PF_BARE : 0;
		be16_store(d + 2, SUCI_ACK_HDR);
		memset(d + at, 0, SUCI_ACK_HDR);
		be32_store(d + at, 1 + below(g, 1u << 30));
		be16_store(d + at + 10, 64);
		be16_store(d + at + 14, 1);
		at += SUCI_ACK_HDR;
	}
	if (form < 2) {
		random_bytes(g, d + at, SUCI_LANE_HDR);
		be16_store(d + at + 22, SUCI_SF_LAST);
		at += SUCI_LANE_HDR;
		size_t len = 1 + below(g, 64);
		random_bytes(g, d + at, len);
		at += len;
	}
	return at;
}

/* A segment that makes the frame 1 .. PG_OVER_MAX bytes larger than the MTU allows. */
static size_t
put_large(struct pg_gen *g, uint8_t *d)
{
	size_t len = g->conf.mtu + 1u + below(g, PG_OVER_MAX) - IP - UDP;
	put_path_hdr(g, d, SUCI_T_DATA, (uint32_t)not_zero(g));
	be32_store(d + 8, 1 + below(g, 1u << 30));
	random_bytes(g, d + SUCI_PATH_HDR, SUCI_LANE_HDR);
	be16_store(d + SUCI_PATH_HDR + 22, SUCI_SF_LAST);
	memset(d + SUCI_PATH_HDR + SUCI_LANE_HDR, (int)below(g, 256),
	       len - SUCI_PATH_HDR - SUCI_LANE_HDR);
	return len;
}

static size_t
put_datagram(struct pg_gen *g, enum pg_kind kind, uint8_t *d)
{
	static const enum suci_type cut[] = {SUCI_T_HELLO, SUCI_T_OPEN, SUCI_T_ACCEPT};
	uint64_t nth = g->made[kind];
	size_t len;
	switch (kind) {
	case PG_garbage:
		len = 1 + below(g, 300);
		random_bytes(g, d, len);
		return len;
	case PG_truncated:
		(void)put_handshake(g, d, cut[nth / PG_WHOLE % 3], 16);
		return nth % PG_WHOLE;
	case PG_bad_version:
		len = put_handshake(g, d, SUCI_T_HELLO, 0);
		d[0] = (uint8_t)((SUCI_VERSION + 1 + below(g, 15)) % 16 << 4 | SUCI_T_HELLO);
		return len;
	case PG_bad_type:
		len = put_handshake(g, d, SUCI_T_HELLO, 0);
		d[0] = (uint8_t)(SUCI_VERSION << 4 |
				 (SUCI_T_RESPONSE + 1 + below(g, 15 - SUCI_T_RESPONSE)));
		return len;
	case PG_unknown_tag:
		if (nth % 8 == 6)
			return put_handshake(g, d, SUCI_T_COOKIE, 0);
		if (nth % 8 == 7)
			return put_handshake(g, d, SUCI_T_ACCEPT, 16);
		return put_data(g, d);
	case PG_replay_data:
		return put_data(g, d);
	case PG_over_mtu:
		return put_large(g, d);
	case PG_replay_open:
	case PG_bad_cookie:
		return put_handshake(g, d, SUCI_T_OPEN, 16);
	default: /* a good HELLO; what is wrong is around it */
		return put_handshake(g, d, SUCI_T_HELLO, 0);
	}
}

/* ---- frames ------------------------------------------------------------------------ */

/* An address of the source's /24 that is neither the source nor the target. */
static uint32_t
other_ip(struct pg_gen *g)
{
	uint32_t ip;
	do
		ip = (g->conf.src_ip & ~255u) | (1 + below(g, 254));
	while (ip == g->conf.src_ip || ip == g->conf.dst_ip);
	return ip;
}

static void
other_mac(struct pg_gen *g, uint8_t mac[6])
{
	do {
		random_bytes(g, mac, 6);
		mac[0] = 0x02; /* unicast, locally administered */
	} while (memcmp(mac, g->conf.dst_mac, 6) == 0);
}

static size_t
put_arp(struct pg_gen *g, uint8_t *out)
{
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint8_t *a = out + ETH;
	uint32_t sender = other_ip(g);
	put_eth(g, out, all, 0x0806);
	other_mac(g, out + 6); /* each of another station */
	be16_store(a, 1);
	be16_store(a + 2, 0x0800);
	a[4] = 6;
	a[5] = 4;
	be16_store(a + 6, 1);
	memcpy(a + 8, out + 6, 6);
	be32_store(a + 14, sender);
	memset(a + 18, 0, 6);
	uint32_t target = g->conf.dst_ip;
	if (g->made[PG_arp_storm] % 4 != 3)
		do
			target = other_ip(g);
		while (target == sender);
	be32_store(a + 24, target);
	return ETH + ARP;
}

static size_t
put_vlan(struct pg_gen *g, uint8_t *out)
{
	uint8_t *ip = out + ETH + VLAN_TAG;
	size_t len = put_datagram(g, PG_vlan, ip + IP + UDP);
	put_eth(g, out, g->conf.dst_mac, 0x8100);
	be16_store(out + ETH, (uint16_t)(below(g, 8) << 13 | (1 + below(g, 4094))));
	be16_store(out + ETH + 2, 0x0800);
	return ETH + VLAN_TAG + put_udp_ip(g, ip, len, DF);
}

static void
flip_bit(struct pg_gen *g, uint8_t *field, bool zero_means_none)
{
	uint16_t c = be16_load(field), spoilt;
	do
		spoilt = (uint16_t)(c ^ 1u << below(g, 16));
	while (zero_means_none && spoilt == 0);
	be16_store(field, spoilt);
}

/* More to come, or an offset, or both: never all parts of one datagram. */
static uint16_t
fragment_field(struct pg_gen *g)
{
	uint16_t offset = (uint16_t)below(g, 0x1000);
	return offset && below(g, 2) ? offset : (uint16_t)(MF | offset);
}

/* The header says more than there is, and than could have come in one frame. */
static void
claim_length(struct pg_gen *g, uint8_t *ip)
{
	uint32_t least = g->conf.mtu + 1u;
	be16_store(ip + 2, (uint16_t)(least + below(g, 0x10000 - least)));
	be16_store(ip + 10, 0);
	be16_store(ip + 10, frames_checksum(sum_words(0, ip, IP)));
}

static size_t
put_frame(struct pg_gen *g, enum pg_kind kind, uint8_t *out)
{
	uint8_t *ip = out + ETH;
	if (kind == PG_arp_storm)
		return put_arp(g, out);
	if (kind == PG_vlan)
		return put_vlan(g, out);
	size_t len = put_datagram(g, kind, ip + IP + UDP);
	put_eth(g, out, g->conf.dst_mac, 0x0800);
	len = ETH + put_udp_ip(g, ip, len, kind == PG_ip_fragment ? fragment_field(g) : DF);
	if (kind == PG_bad_ip_checksum)
		flip_bit(g, ip + 10, false);
	else if (kind == PG_bad_udp_checksum)
		flip_bit(g, ip + IP + 6, true);
	else if (kind == PG_wrong_mac)
		other_mac(g, out);
	else if (kind == PG_long_ip)
		claim_length(g, ip);
	else if (kind == PG_short_frame)
		len = ETH + 1 + g->made[kind] % (IP - 1);
	return len;
}

/* The frame that was made first. */
static size_t
put_again(struct pg_gen *g, enum pg_kind kind, uint8_t *out)
{
	if (!g->saved[kind].len)
		g->saved[kind].len = put_frame(g, kind, g->saved[kind].frame);
	memcpy(out, g->saved[kind].frame, g->saved[kind].len);
	return g->saved[kind].len;
}

bool
pg_init(struct pg_gen *g, const struct pg_conf *conf)
{
	*g = (struct pg_gen){.conf = *conf, .prng = base_prng_seed(conf->seed)};
	for (int k = 0; k < PG_KINDS_COUNT; k++) {
		if (conf->weight[k] > PG_WEIGHT_MAX)
			return false;
		g->weights += conf->weight[k];
	}
	return g->weights && conf->dst_port && conf->src_ip != conf->dst_ip &&
	       conf->mtu >= PG_MTU_MIN && conf->mtu <= PG_MTU_MAX;
}

size_t
pg_next(struct pg_gen *g, uint8_t out[PG_FRAME_MAX], enum pg_kind *kind)
{
	uint64_t pick = base_prng_below(&g->prng, g->weights);
	int k = 0;
	while (pick >= g->conf.weight[k])
		pick -= g->conf.weight[k++];
	bool again = k == PG_replay_hello || k == PG_replay_open || k == PG_replay_data;
	size_t len =
		again ? put_again(g, (enum pg_kind)k, out) : put_frame(g, (enum pg_kind)k, out);
	g->made[k]++;
	*kind = (enum pg_kind)k;
	return len;
}
