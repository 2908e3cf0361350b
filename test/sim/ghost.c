/* SPDX-License-Identifier: BSD-2-Clause */
/* IMPI hosts that speak TCP and no Suci: a model from the reference, byte by byte. */
#include "gworld.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

void
gpipe_init(struct gpipe *p, struct gworld *w)
{
	*p = (struct gpipe){.w = w,
			    .window = w->conf.tcp_window,
			    .rate_bps = w->conf.tcp_rate_bps,
			    .delay_ns = w->conf.lan_delay_ns};
	p->buf = malloc(p->window);
	BASE_ASSERT(p->buf);
}

static void
arrive(struct sim *s, void *who, uint64_t upto)
{
	struct gpipe *p = who;
	p->arrived = upto;
	p->reader(s, p->reader_who, 0);
}

uint32_t
gpipe_write(struct gpipe *p, const void *bytes, size_t len)
{
	struct sim *s = p->w->s;
	const uint8_t *b = bytes;
	uint64_t room = p->window - (p->written - p->consumed);
	len = len < room ? len : (size_t)room;
	if (!len)
		return 0;
	for (size_t i = 0; i < len; i++)
		p->buf[(p->written + i) % p->window] = b[i];
	p->written += len;
	p->busy_ns = base_max_ns(p->busy_ns, s->now_ns) + len * BASE_S_NS / p->rate_bps;
	sim_at(s, p->busy_ns + p->delay_ns, arrive, p, p->written);
	return (uint32_t)len;
}

uint32_t
gpipe_read(struct gpipe *p, void *out, size_t len)
{
	uint8_t *o = out;
	uint64_t have = p->arrived - p->consumed;
	len = len < have ? len : (size_t)have;
	for (size_t i = 0; i < len; i++)
		o[i] = p->buf[(p->consumed + i) % p->window];
	if (len && p->written - p->consumed == p->window)
		sim_at(p->w->s, p->w->s->now_ns + p->delay_ns, p->writer, p->writer_who, 0);
	p->consumed += len;
	return (uint32_t)len;
}

/* ---- what it reads ---- */

static void
take_frame(struct ghost *h, struct gconn *c)
{
	struct gworld *w = h->w;
	struct impi_packet p = impi_packet_decode(c->frame);
	SIM_CHECK(w->s, !c->fini_rx, "host %u.%u: a packet after FINI", h->client, h->first);
	if (p.type == IMPI_PK_FINI) {
		c->fini_rx = true;
		return;
	}
	gworld_arrived(w, h->client, G_NONE, G_NONE, c->frame, c->got);
}

static void
read_some(struct ghost *h, struct gconn *c)
{
	struct gworld *w = h->w;
	uint8_t id[4];
	while (!w->s->failed) {
		if (c->ident) {
			/* All four or none: they come in one piece here. */
			if (c->out.arrived < 4 || gpipe_read(&c->out, id, 4) != 4)
				return;
			c->ident = 0;
			SIM_CHECK(w->s, be32_load(id) == c->gate_rank,
				  "host %u.%u: gate %u says it is %u", h->client, h->first,
				  c->gate_rank, be32_load(id));
		}
		uint32_t want = IMPI_PACKET_BYTES;
		if (c->got >= IMPI_PACKET_BYTES) {
			struct impi_packet p = impi_packet_decode(c->frame);
			enum impi_packet_fault f = impi_packet_check(&p, w->conf.datalen);
			SIM_CHECK(w->s, f == IMPI_PACKET_OK, "host %u.%u: %s", h->client, h->first,
				  impi_packet_fault_name(f));
			if (f)
				return;
			want += impi_packet_payload_bytes(&p);
			if (c->got == want) {
				take_frame(h, c);
				c->got = 0;
				continue;
			}
		}
		uint32_t n = gpipe_read(&c->out, c->frame + c->got, want - c->got);
		if (!n)
			return;
		c->got += n;
	}
}

/* ---- what it writes ---- */

static uint32_t
fini(uint8_t *out)
{
	struct impi_packet p = {.type = IMPI_PK_FINI,
				.len = 128,
				.src = {.pid = UINT64_MAX},
				.dest = {.pid = UINT64_MAX},
				.msglen = 128,
				.lsrank = -1,
				.tag = -1};
	impi_packet_encode(&p, out);
	return IMPI_PACKET_BYTES;
}

/* The next packet for the connection, the pairs in turn. */
static uint32_t
next_packet(struct ghost *h, struct gconn *c)
{
	struct gworld *w = h->w;
	uint32_t n = h->n * c->at.nprocs;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (c->turn + i) % n;
		uint32_t len = gworld_next(w, h->first + at / c->at.nprocs,
					   c->at.first_rank + at % c->at.nprocs, c->pending);
		if (len) {
			c->turn = at + 1;
			return len;
		}
	}
	if (w->closing && !c->fini_tx) {
		c->fini_tx = true;
		return fini(c->pending);
	}
	return 0;
}

static void
write_some(struct ghost *h, struct gconn *c)
{
	while (!h->w->s->failed) {
		if (c->pending_at == c->pending_len) {
			c->pending_at = 0;
			c->pending_len = next_packet(h, c);
			if (!c->pending_len)
				return;
		}
		uint32_t most = 1 + (uint32_t)base_prng_below(&h->w->prng, 40000);
		uint32_t left = c->pending_len - c->pending_at;
		uint32_t n =
			gpipe_write(&c->in, c->pending + c->pending_at, left < most ? left : most);
		if (!n)
			return;
		c->pending_at += n;
	}
}

void
ghost_drive(struct ghost *h)
{
	struct gworld *w = h->w;
	for (uint32_t i = 0; i < h->nconns; i++) {
		struct gconn *c = &w->conn[h->conn[i]];
		if (!c->frame || (c->host_connects && !c->in.written))
			continue; /* not connected yet */
		if (w->s->now_ns >= h->deaf_until_ns)
			read_some(h, c);
		if (c->host_connects || !c->ident)
			write_some(h, c);
	}
}

static void
later(struct sim *s, void *who, uint64_t arg)
{
	struct ghost *h = who;
	(void)s, (void)arg;
	h->kicked = false;
	ghost_drive(h);
}

void
ghost_kick(struct ghost *h)
{
	if (h->kicked || h->w->quitting)
		return;
	h->kicked = true;
	sim_at(h->w->s, h->w->s->now_ns, later, h, 0);
}

void
ghost_connect(struct sim *s, void *who, uint64_t arg)
{
	struct gconn *c = who;
	uint8_t id[4];
	(void)s, (void)arg;
	be32_store(id, c->host->rank[c->relay->client]);
	gpipe_write(&c->in, id, 4);
	ghost_drive(c->host);
}
