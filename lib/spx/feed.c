/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between a process and who manages it, big-endian:
 *
 *   u32 bytes that follow, u8 version 0xf8, u8 type, u16 0, then
 *   SETUP   u32 id, procs_max, origins_max, window_max, room, ahead, frame_max, in_flight, aside,
 *	     u64 retry_ns, retry_max_ns, poll_ns, stall_ns, start_ns, realm, text ip, text relay
 *   HELLO   text address
 *   VIEW    u64 number, u32 processes, u32 clusters, u32 chains, u32 0, then of each
 *	     cluster  u16 ranks, u8 bits (lost, started), text name
 *	     chain    u16 from, u16 to, u8 state, u8 ordered, u16 window, u8 policy, u8 on_lost
 *	     process  u32 id, u16 cluster, u16 rank, u8 kind, u8 state, u8 ready, u8 0, u16 weight,
 *		      u16 takeovers, u64 chains, text address
 *   CHAIN   u32 number, text
 *   ANSWER  u32 number, u8 ok, text
 *   EVENT   u8 kind, u8 on_lost, u32 cluster, u32 process, u32 origin, u64 number, text
 *   ALIVE, DONE, OVER  nothing
 *
 * A text is u16 length and so many bytes, none of them 0. */
#include "internal.h"

#include "base/bytes.h"
#include "spx/feed.h"

#include <string.h>

#define VERSION 0xf8

/* --- writing --------------------------------------------------------------------- */

static void
write_feed_text(struct base_writer *w, const char *text, size_t len)
{
	base_write_be16(w, (uint16_t)len);
	base_write_bytes(w, text, len);
}

static void
begin_frame(struct base_writer *w, enum spx_feed_type type)
{
	base_write_be32(w, 0);
	base_write_u8(w, VERSION);
	base_write_u8(w, (uint8_t)type);
	base_write_be16(w, 0);
}

static size_t
end_frame(struct base_writer *w)
{
	if (!base_writer_ok(w))
		return 0;
	be32_store(w->start, (uint32_t)(base_writer_len(w) - 4));
	return base_writer_len(w);
}

size_t
spx_feed_view_bytes(const struct spx_view *v)
{
	return SPX_FEED_HEAD + 24u + (size_t)v->ncluster * SPX_FEED_CLUSTER +
	       (size_t)v->nchain * SPX_FEED_CHAIN + (size_t)v->nproc * SPX_FEED_PROC;
}

static void
write_proc(struct base_writer *w, const struct spx_proc *p, const char *address)
{
	base_write_be32(w, p->id);
	base_write_be16(w, p->cluster);
	base_write_be16(w, p->rank);
	base_write_u8(w, (uint8_t)p->kind);
	base_write_u8(w, (uint8_t)p->state);
	base_write_u8(w, p->ready);
	base_write_u8(w, 0);
	base_write_be16(w, p->weight);
	base_write_be16(w, p->takeovers);
	base_write_be64(w, p->chains);
	write_feed_text(w, address, address ? strnlen(address, SPX_ADDRESS_MAX - 1) : 0);
}

size_t
spx_feed_write_view(void *to, size_t room, const struct spx_view *v, const char *const *address)
{
	struct base_writer w = base_writer(to, room);

	begin_frame(&w, SPX_FEED_VIEW);
	base_write_be64(&w, v->number);
	base_write_be32(&w, v->nproc);
	base_write_be32(&w, v->ncluster);
	base_write_be32(&w, v->nchain);
	base_write_be32(&w, 0);
	for (uint32_t i = 0; i < v->ncluster; i++) {
		const struct spx_cluster *k = &v->cluster[i];
		base_write_be16(&w, k->compute);
		base_write_u8(&w, (uint8_t)(k->lost | k->started << 1));
		write_feed_text(&w, k->name, strnlen(k->name, SPX_NAME_MAX));
	}
	for (uint32_t i = 0; i < v->nchain; i++) {
		const struct spx_chain *c = &v->chain[i];
		base_write_be16(&w, c->from);
		base_write_be16(&w, c->to);
		base_write_u8(&w, (uint8_t)c->state);
		base_write_u8(&w, c->ordered);
		base_write_be16(&w, c->window);
		base_write_u8(&w, (uint8_t)c->policy);
		base_write_u8(&w, (uint8_t)c->on_lost);
	}
	for (uint32_t i = 0; i < v->nproc; i++)
		write_proc(&w, &v->proc[i], address[i]);
	return end_frame(&w);
}

static void
write_setup(struct base_writer *w, const struct spx_feed *f)
{
	const struct spx_conf *c = &f->conf;
	const uint32_t small[] = {c->id,    c->procs_max, c->origins_max, c->window_max, c->room,
				  c->ahead, c->frame_max, c->in_flight,	  c->aside};
	const uint64_t large[] = {c->retry_ns, c->retry_max_ns, c->poll_ns,
				  c->stall_ns, c->start_ns,	f->realm};

	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		base_write_be32(w, small[i]);
	for (size_t i = 0; i < sizeof large / sizeof *large; i++)
		base_write_be64(w, large[i]);
	write_feed_text(w, f->ip.at, f->ip.len);
	write_feed_text(w, f->relay.at, f->relay.len);
}

size_t
spx_feed_write(void *to, size_t room, const struct spx_feed *f)
{
	struct base_writer w = base_writer(to, room);

	begin_frame(&w, f->type);
	if (f->type == SPX_FEED_SETUP)
		write_setup(&w, f);
	if (f->type == SPX_FEED_CHAIN_OPS || f->type == SPX_FEED_ANSWER)
		base_write_be32(&w, f->number);
	if (f->type == SPX_FEED_ANSWER)
		base_write_u8(&w, f->ok);
	if (f->type == SPX_FEED_EVENT) {
		base_write_u8(&w, (uint8_t)f->event.kind);
		base_write_u8(&w, (uint8_t)f->event.on_lost);
		base_write_be32(&w, f->event.cluster);
		base_write_be32(&w, f->event.proc);
		base_write_be32(&w, f->event.origin);
		base_write_be64(&w, f->event.number);
	}
	if (f->type == SPX_FEED_HELLO || f->type == SPX_FEED_CHAIN_OPS ||
	    f->type == SPX_FEED_ANSWER || f->type == SPX_FEED_EVENT)
		write_feed_text(&w, f->text.at, f->text.len);
	return end_frame(&w);
}

/* --- reading --------------------------------------------------------------------- */

/* A text of fewer than `most` bytes; else the reader fails. */
static struct spx_feed_text
read_feed_text(struct base_reader *r, size_t most)
{
	uint16_t len = base_read_be16(r);
	const uint8_t *at = base_read_bytes(r, len);

	if (at && (len >= most || memchr(at, 0, len)))
		r->overrun = true;
	return base_reader_ok(r) ? (struct spx_feed_text){(const char *)at, len}
				 : (struct spx_feed_text){"", 0};
}

/* A byte below `end`. */
static uint8_t
read_choice(struct base_reader *r, unsigned end)
{
	uint8_t v = base_read_u8(r);

	if (v >= end) {
		r->overrun = true;
		return 0;
	}
	return v;
}

size_t
spx_feed_length(const void *bytes)
{
	uint64_t len = (uint64_t)be32_load(bytes) + 4;

	return len < SPX_FEED_HEAD || len > SPX_FEED_MAX ? 0 : (size_t)len;
}

static bool
read_head(struct base_reader *r, const void *frame, size_t len, uint8_t *type, char *why)
{
	*r = base_reader(frame, len);
	if (len < SPX_FEED_HEAD || spx_feed_length(base_read_bytes(r, 4)) != len)
		return spx_say(why, "a frame's length is not as it says");
	uint8_t version = base_read_u8(r);
	*type = base_read_u8(r);
	if (version != VERSION)
		return spx_say(why,
			       "a frame has version 0x%02x, not 0x%02x: both programs have to be "
			       "of one release",
			       version, VERSION);
	if (*type < SPX_FEED_SETUP || *type > SPX_FEED_LAST || base_read_be16(r))
		return spx_say(why, "a frame has the unknown type %u", *type);
	return true;
}

static bool
read_setup(struct spx_feed *f, struct base_reader *r, char *why)
{
	struct spx_conf *c = &f->conf;
	uint32_t in_flight = 0;
	uint32_t *small[] = {&c->id,	&c->procs_max, &c->origins_max, &c->window_max, &c->room,
			     &c->ahead, &c->frame_max, &in_flight,	&c->aside};
	uint64_t *large[] = {&c->retry_ns, &c->retry_max_ns, &c->poll_ns,
			     &c->stall_ns, &c->start_ns,     &f->realm};

	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		*small[i] = base_read_be32(r);
	for (size_t i = 0; i < sizeof large / sizeof *large; i++)
		*large[i] = base_read_be64(r);
	c->in_flight = in_flight <= SPX_DROP ? (enum spx_in_flight)in_flight : SPX_EPOCH;
	if (in_flight > SPX_DROP)
		return spx_say(why, "in_flight %u is none", in_flight);
	f->ip = read_feed_text(r, SPX_ADDRESS_MAX);
	f->relay = read_feed_text(r, SPX_ADDRESS_MAX);
	return !base_reader_ok(r) || spx_conf_check(c, why);
}

bool
spx_feed_read(struct spx_feed *f, const void *frame, size_t len, char *why)
{
	struct base_reader r;
	uint8_t type;

	*f = (struct spx_feed){.ok = true};
	if (!read_head(&r, frame, len, &type, why))
		return false;
	f->type = (enum spx_feed_type)type;
	if (f->type == SPX_FEED_VIEW)
		return true;
	if (f->type == SPX_FEED_SETUP && !read_setup(f, &r, why))
		return false;
	if (f->type == SPX_FEED_CHAIN_OPS || f->type == SPX_FEED_ANSWER)
		f->number = base_read_be32(&r);
	if (f->type == SPX_FEED_ANSWER)
		f->ok = read_choice(&r, 2);
	if (f->type == SPX_FEED_EVENT) {
		f->event.kind = (enum spx_event_kind)read_choice(&r, SPX_EVENT_LAST + 1);
		f->event.on_lost = (enum spx_on_lost)read_choice(&r, SPX_RESTART + 1);
		f->event.cluster = base_read_be32(&r);
		f->event.proc = base_read_be32(&r);
		f->event.origin = base_read_be32(&r);
		f->event.number = base_read_be64(&r);
	}
	if (f->type == SPX_FEED_HELLO)
		f->text = read_feed_text(&r, SPX_ADDRESS_MAX);
	if (f->type == SPX_FEED_CHAIN_OPS || f->type == SPX_FEED_ANSWER ||
	    f->type == SPX_FEED_EVENT)
		f->text = read_feed_text(&r, SPX_FEED_TEXT);
	if (!base_reader_ok(&r) || base_reader_left(&r))
		return spx_say(why, "a frame of type %u is malformed", type);
	return true;
}

static void
read_clusters(struct spx_view *v, struct base_reader *r)
{
	for (uint32_t i = 0; i < v->ncluster; i++) {
		struct spx_cluster *k = &v->cluster[i];
		*k = (struct spx_cluster){.compute = base_read_be16(r)};
		uint8_t bits = read_choice(r, 4);
		struct spx_feed_text name = read_feed_text(r, SPX_NAME_MAX);
		k->lost = bits & 1;
		k->started = bits & 2;
		memcpy(k->name, name.at, name.len);
	}
}

static void
read_chains(struct spx_view *v, struct base_reader *r)
{
	for (uint32_t i = 0; i < v->nchain; i++) {
		struct spx_chain *c = &v->chain[i];
		*c = (struct spx_chain){.from = base_read_be16(r)};
		c->to = base_read_be16(r);
		c->state = (enum spx_chain_state)read_choice(r, SPX_CHAIN_DRAINING + 1);
		c->ordered = read_choice(r, 2);
		c->window = base_read_be16(r);
		c->policy = (enum spx_policy)read_choice(r, SPX_USER + 1);
		c->on_lost = (enum spx_on_lost)read_choice(r, SPX_RESTART + 1);
	}
}

static void
read_procs(struct spx_view *v, char (*address)[SPX_ADDRESS_MAX], struct base_reader *r)
{
	for (uint32_t i = 0; i < v->nproc; i++) {
		struct spx_proc *p = &v->proc[i];
		*p = (struct spx_proc){.id = base_read_be32(r)};
		p->cluster = base_read_be16(r);
		p->rank = base_read_be16(r);
		p->kind = (enum spx_kind)read_choice(r, SPX_IO + 1);
		p->state = (enum spx_proc_state)read_choice(r, SPX_DEAD + 1);
		p->ready = read_choice(r, 2);
		(void)read_choice(r, 1);
		p->weight = base_read_be16(r);
		p->takeovers = base_read_be16(r);
		p->chains = base_read_be64(r);
		struct spx_feed_text at = read_feed_text(r, SPX_ADDRESS_MAX);
		memcpy(address[i], at.at, at.len);
		address[i][at.len] = 0;
	}
}

bool
spx_feed_read_view(struct spx_view *v, char (*address)[SPX_ADDRESS_MAX], uint32_t procs_max,
		   const void *frame, size_t len, char *why)
{
	struct base_reader r;
	uint8_t type;

	if (!read_head(&r, frame, len, &type, why))
		return false;
	v->number = base_read_be64(&r);
	v->nproc = base_read_be32(&r);
	v->ncluster = base_read_be32(&r);
	v->nchain = base_read_be32(&r);
	uint32_t zero = base_read_be32(&r);
	if (type != SPX_FEED_VIEW || !base_reader_ok(&r) || zero || v->nproc > procs_max ||
	    v->ncluster > SPX_CLUSTERS_MAX || v->nchain > SPX_CHAINS_MAX) {
		bool many = base_reader_ok(&r) && v->nproc > procs_max;
		*v = (struct spx_view){.proc = v->proc, .cluster = v->cluster, .chain = v->chain};
		return many ? spx_say(why, "a view has more processes than the %u agreed on",
				      procs_max)
			    : spx_say(why, "a view is malformed");
	}
	read_clusters(v, &r);
	read_chains(v, &r);
	read_procs(v, address, &r);
	if (!base_reader_ok(&r) || base_reader_left(&r))
		return spx_say(why, "a view is malformed");
	return true;
}
