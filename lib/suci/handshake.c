/* How a path begins and ends.
 *
 *      opener                       listener
 *        HELLO  tag, incarnation ->   keeps nothing
 *        <- COOKIE  siphash(address, tag, incarnation, time)
 *        OPEN  the same, cookie ->    address proven: makes the path
 *        <- ACCEPT  its own tag
 *
 * An OPEN that repeats tag and incarnation of the path we have is answered
 * with the same ACCEPT.  One with another incarnation means that the peer
 * started anew: the old path goes down, a new one comes up.  Paths that ended
 * are remembered for as long as their cookies live, so that a delayed OPEN of
 * a former run does not win. */
#include "private.h"

#include "base/bytes.h"
#include "base/siphash.h"

#include <string.h>

#define COOKIE_BUCKET_NS (8 * BASE_S_NS) /* a cookie lives 8 to 16 s */
#define RETRY_FIRST_NS	 (20 * BASE_MS_NS)
#define RETRY_MAX_NS	 BASE_S_NS
#define OPEN_TRIES	 4 /* then ask for a fresh cookie */
#define MTU_MIN		 1200

static uint64_t
cookie_for(const struct suci *ep, const struct suci_addr *from, const struct suci_body *b,
	   uint64_t bucket)
{
	uint8_t in[sizeof *from + 20];
	memcpy(in, from, sizeof *from);
	be32_store(in + sizeof *from, b->tag);
	be64_store(in + sizeof *from + 4, b->incarnation);
	be64_store(in + sizeof *from + 12, bucket);
	uint64_t c = base_siphash(ep->conf.cookie_secret, in, sizeof in);
	return c ? c : 1;
}

static bool
cookie_good(const struct suci *ep, const struct suci_addr *from, const struct suci_body *b,
	    uint64_t now_ns)
{
	uint64_t bucket = now_ns / COOKIE_BUCKET_NS;
	return b->cookie == cookie_for(ep, from, b, bucket) ||
	       (bucket && b->cookie == cookie_for(ep, from, b, bucket - 1));
}

static void
put_stranger_hdr(uint8_t *out, enum suci_type type, uint32_t tag, uint64_t now_ns)
{
	struct suci_path_hdr h = {
		.version = SUCI_VERSION,
		.type = (uint8_t)type,
		.path_tag = tag,
		.time_us = suci_clock_us(now_ns),
	};
	suci_path_hdr_encode(&h, out);
}

void
suci_send_close(struct suci *ep, const struct suci_addr *to, uint32_t tag, uint16_t reason,
		const char *text, uint32_t repeats, uint64_t gap_ns, uint64_t now_ns)
{
	struct suci_oob *o = suci_oob_new(ep, to, false);
	if (!o)
		return;
	struct suci_farewell f = {
		.reason = reason,
		.text_len = (uint16_t)strnlen(text, SUCI_TEXT_MAX - 1),
		.text = (const uint8_t *)text,
	};
	put_stranger_hdr(o->bytes, SUCI_T_CLOSE, tag, now_ns);
	o->len = (uint16_t)(SUCI_PATH_HDR + suci_farewell_encode(&f, o->bytes + SUCI_PATH_HDR));
	suci_oob_send(ep, o, repeats, gap_ns);
}

void
suci_send_reset(struct suci *ep, const struct suci_addr *to, uint32_t tag, uint64_t now_ns)
{
	if (suci_pacer_next_ns(&ep->reset_pacer, now_ns) > now_ns)
		return;
	struct suci_oob *o = suci_oob_new(ep, to, true);
	if (!o)
		return;
	suci_pacer_sent(&ep->reset_pacer, 1, now_ns);
	struct suci_farewell f = {.reason = SUCI_DOWN_RESET};
	put_stranger_hdr(o->bytes, SUCI_T_RESET, tag, now_ns);
	o->len = (uint16_t)(SUCI_PATH_HDR + suci_farewell_encode(&f, o->bytes + SUCI_PATH_HDR));
	suci_oob_send(ep, o, 0, 0);
}

/* An ACCEPT for an open we gave up meanwhile: do not leave the peer alone with
 * a path that nobody uses. */
static void
decline(struct suci *ep, const struct suci_addr *to, uint32_t tag, uint64_t now_ns)
{
	if (suci_pacer_next_ns(&ep->reset_pacer, now_ns) > now_ns)
		return;
	suci_pacer_sent(&ep->reset_pacer, 1, now_ns);
	suci_send_close(ep, to, tag, SUCI_DOWN_CLOSED, "the opener has given up", 0, 0, now_ns);
}

static void
rx_hello(struct suci *ep, const struct suci_addr *from, const struct suci_body *b, uint64_t now_ns)
{
	struct suci_oob *o = suci_oob_new(ep, from, true);
	if (!o)
		return;
	struct suci_body answer = {
		.cookie = cookie_for(ep, from, b, now_ns / COOKIE_BUCKET_NS),
	};
	put_stranger_hdr(o->bytes, SUCI_T_COOKIE, b->tag, now_ns);
	o->len = (uint16_t)(SUCI_PATH_HDR + suci_body_encode(&answer, o->bytes + SUCI_PATH_HDR));
	suci_oob_send(ep, o, 0, 0);
}

static void
rx_cookie(struct suci *ep, struct suci_path *p, const struct suci_body *b)
{
	if (!b->cookie) {
		ep->count.drop_state++;
		return;
	}
	if (p->state != PATH_HELLO)
		return; /* the answer to a HELLO sent again, or opens that crossed */
	p->state = PATH_OPEN;
	p->cookie = b->cookie;
	p->hs_tries = 0;
	p->hs_retry_ns = BASE_NEVER_NS;
	p->send_hs = true;
	suci_path_ready(ep, p);
}

/* True if this OPEN began a path that has ended: a delayed copy. */
static bool
is_former(const struct suci *ep, const struct suci_addr *from, const struct suci_body *b,
	  uint64_t now_ns)
{
	for (uint32_t i = 0; i < ep->former_max; i++) {
		const struct former *f = &ep->former[i];
		if (f->incarnation == b->incarnation && f->tag == b->tag &&
		    now_ns - f->at_ns <= FORMER_NS && !memcmp(&f->addr, from, sizeof *from))
			return true;
	}
	return false;
}

/* The path at that address belongs to a run or an open that is over. */
static struct suci_path *
replace(struct suci *ep, struct suci_path *old, const struct suci_body *b, uint64_t now_ns)
{
	struct suci_addr peer = old->peer;
	if (old->peer_incarnation != b->incarnation)
		suci_path_down(ep, old, SUCI_DOWN_RESTARTED, "the peer was started again", now_ns);
	else
		suci_path_down(ep, old, SUCI_DOWN_CLOSED, "the peer opened the path again", now_ns);
	/* path_down may have opened it again itself. */
	struct suci_path *p = suci_path_at(ep, &peer);
	return p ? p : suci_path_new(ep, &peer);
}

static void
rx_open(struct suci *ep, const struct suci_addr *from, const struct suci_body *b, uint64_t now_ns)
{
	if (!cookie_good(ep, from, b, now_ns)) {
		ep->count.drop_cookie++;
		return;
	}
	struct suci_path *p = suci_path_at(ep, from);
	bool made = false;
	if (p && p->state == PATH_UP) {
		if (p->peer_incarnation == b->incarnation && p->tx_tag == b->tag) {
			p->send_hs = true; /* our ACCEPT was lost */
			suci_path_ready(ep, p);
			return;
		}
	}
	if (is_former(ep, from, b, now_ns)) {
		ep->count.drop_incarnation++;
		return;
	}
	if (p && p->state == PATH_UP) {
		p = replace(ep, p, b, now_ns);
		made = p && p->state == PATH_NEW;
	} else if (!p) {
		p = suci_path_new(ep, from);
		made = true;
	}
	if (!p) {
		ep->count.drop_paths++;
		suci_send_close(ep, from, b->tag, SUCI_DOWN_REFUSED, "all paths are in use", 0, 0,
				now_ns);
		return;
	}
	char why[SUCI_TEXT_MAX] = "";
	if (ep->ops->accept(ep->user, from, b->hello, b->hello_len, why)) {
		why[SUCI_TEXT_MAX - 1] = 0;
		suci_send_close(ep, from, b->tag, SUCI_DOWN_REFUSED, why, 0, 0, now_ns);
		if (made)
			suci_path_unmake(ep, p); /* nobody has heard of it */
		return;
	}
	suci_path_establish(ep, p, b, true, 0, now_ns);
}

static void
rx_accept(struct suci *ep, struct suci_path *p, const struct suci_body *b, uint64_t now_ns)
{
	if (b->peer_incarnation != ep->conf.incarnation) {
		ep->count.drop_incarnation++;
		return;
	}
	if (p->state == PATH_UP && p->tx_tag == b->tag)
		return; /* the ACCEPT again, or opens that crossed */
	/* Also one that took so long that we had begun again. */
	if (p->state != PATH_OPEN && !(p->state == PATH_HELLO && p->cookie)) {
		ep->count.drop_state++;
		return;
	}
	uint64_t rtt_ns = p->hs_tries == 1 ? now_ns - p->hs_sent_ns : 0;
	suci_path_establish(ep, p, b, false, rtt_ns, now_ns);
}

static void
rx_farewell(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
	    const uint8_t *body, size_t len, uint64_t now_ns)
{
	struct suci_farewell f;
	if (!suci_farewell_decode(&f, body, len)) {
		ep->count.drop_malformed++;
		return;
	}
	char text[SUCI_TEXT_MAX];
	for (uint32_t i = 0; i < f.text_len; i++)
		text[i] = f.text[i] >= 0x20 && f.text[i] != 0x7f ? (char)f.text[i] : '?';
	text[f.text_len] = 0;
	if (h->type == SUCI_T_RESET) {
		/* Believed only if it echoes the tag we use towards that very
		 * address while something of ours is unanswered there. */
		struct suci_path *p = suci_path_at(ep, from);
		if (!p || p->state != PATH_UP || p->tx_tag != h->path_tag)
			ep->count.drop_unknown_tag++;
		else if (!outstanding(p))
			ep->count.drop_state++;
		else
			suci_path_down(ep, p, SUCI_DOWN_RESET, "the peer does not know the path",
				       now_ns);
		return;
	}
	struct suci_path *p = suci_path_by_tag(ep, h->path_tag);
	if (!p)
		ep->count.drop_unknown_tag++;
	else if (memcmp(&p->peer, from, sizeof *from))
		ep->count.drop_address++;
	else
		suci_path_down(ep, p, p->state == PATH_UP ? SUCI_DOWN_CLOSED : SUCI_DOWN_REFUSED,
			       text, now_ns);
}

void
suci_handshake_rx(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
		  const uint8_t *body, size_t len, uint64_t now_ns)
{
	if (h->type == SUCI_T_CLOSE || h->type == SUCI_T_RESET) {
		rx_farewell(ep, from, h, body, len, now_ns);
		return;
	}
	struct suci_body b;
	if (!suci_body_decode(&b, body, len)) {
		ep->count.drop_short++;
		return;
	}
	bool names_sender = h->type != SUCI_T_COOKIE;
	if (b.hello_len > SUCI_HELLO_MAX ||
	    (names_sender && (!b.tag || !b.incarnation || b.mtu < MTU_MIN))) {
		ep->count.drop_malformed++;
		return;
	}
	if (h->type == SUCI_T_HELLO) {
		rx_hello(ep, from, &b, now_ns);
		return;
	}
	if (h->type == SUCI_T_OPEN) {
		rx_open(ep, from, &b, now_ns);
		return;
	}
	struct suci_path *p = suci_path_by_tag(ep, h->path_tag);
	if (!p) {
		ep->count.drop_unknown_tag++;
		if (h->type == SUCI_T_ACCEPT && b.peer_incarnation == ep->conf.incarnation)
			decline(ep, from, b.tag, now_ns);
	} else if (memcmp(&p->peer, from, sizeof *from)) {
		ep->count.drop_address++;
	} else if (h->type == SUCI_T_COOKIE) {
		rx_cookie(ep, p, &b);
	} else {
		rx_accept(ep, p, &b, now_ns);
	}
}

size_t
suci_handshake_tx(struct suci *ep, struct suci_path *p, uint8_t *out, uint64_t now_ns)
{
	const struct suci_path_hello *h = &ep->hello[path_index(ep, p)];
	bool own = h->len != UINT16_MAX;
	if (p->state == PATH_OPEN && p->hs_tries >= OPEN_TRIES) {
		p->state = PATH_HELLO; /* the cookie may have grown old */
		p->hs_tries = 0;
	}
	bool greet = p->state != PATH_HELLO;
	struct suci_body b = {
		.tag = p->rx_tag,
		.mtu = (uint16_t)suci_leg_mtu(ep, &p->peer),
		.hello = own ? h->bytes : ep->conf.hello,
		.hello_len = !greet ? 0
			     : own  ? h->len
				    : ep->conf.hello_len,
		.incarnation = ep->conf.incarnation,
		.cookie = p->state == PATH_OPEN ? p->cookie : 0,
		.peer_incarnation = p->state == PATH_UP ? p->peer_incarnation : 0,
	};
	enum suci_type type = p->state == PATH_UP     ? SUCI_T_ACCEPT
			      : p->state == PATH_OPEN ? SUCI_T_OPEN
						      : SUCI_T_HELLO;
	put_stranger_hdr(out, type, p->state == PATH_UP ? p->tx_tag : 0, now_ns);
	if (p->state != PATH_UP) {
		uint64_t wait = RETRY_FIRST_NS << (p->hs_tries < 6 ? p->hs_tries : 6);
		p->hs_tries++;
		p->hs_sent_ns = now_ns;
		p->hs_retry_ns = now_ns + base_min_ns(wait, RETRY_MAX_NS);
	}
	return SUCI_PATH_HDR + suci_body_encode(&b, out + SUCI_PATH_HDR);
}
