/* SPDX-License-Identifier: BSD-2-Clause */
/* How a path begins and ends.
 *
 *      opener                       listener
 *        HELLO  tag, incarnation,     keeps nothing
 *               own time ->
 *        <- COOKIE  siphash(address, tag, incarnation, time), the opener's time
 *        OPEN  the same, cookie ->    address proven: makes the path
 *        <- ACCEPT  its own tag
 *
 * With its own time back the opener knows the round trip, whichever HELLO was answered, and
 * tells the listener with the OPEN.  What it repeats it does after twice the round trip, if
 * it knows one: for a HELLO, that of the last path to that address.  Each pause is twice the
 * one before.  Who knows none waits shortly for the first time, for most ways are short and
 * some lose; then it may be a long one, or nobody there yet, and the next pause is four times
 * that: HELLO leaves at 0, 20, 100, 260 and 580 ms.
 *
 * An OPEN that repeats tag and incarnation of the path we have is answered
 * with the same ACCEPT.  One with another incarnation means that the peer
 * started anew: the old path goes down, a new one comes up.  Paths that ended
 * are remembered for as long as their cookies live, so that a delayed OPEN of
 * a former run does not win. */
#include "path_internal.h"

#include "base/bytes.h"
#include "base/serial.h"
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
put_unverified_hdr(uint8_t *out, enum suci_type type, uint32_t tag, uint64_t now_ns)
{
	struct suci_path_hdr h = {
		.version = SUCI_VERSION,
		.type = (uint8_t)type,
		.path_tag = tag,
		.time_us = base_us32(now_ns),
	};
	suci_path_hdr_encode(&h, out);
}

size_t
suci_put_close(uint8_t *out, enum suci_type type, uint32_t tag, uint16_t reason, const char *text,
	       uint64_t now_ns)
{
	struct suci_close f = {
		.reason = reason,
		.text_len = (uint16_t)strnlen(text, SUCI_TEXT_MAX - 1),
		.text = (const uint8_t *)text,
	};
	put_unverified_hdr(out, type, tag, now_ns);
	return SUCI_PATH_HDR + suci_close_encode(&f, out + SUCI_PATH_HDR);
}

void
suci_send_close(struct suci *ep, struct suci_path *p, enum suci_down why, const char *text,
		uint32_t repeats, uint64_t gap_ns, uint64_t now_ns)
{
	struct suci_stateless *o = suci_stateless_new(ep, &p->peer, false);
	if (!o)
		return;
	size_t len = suci_put_close(o->bytes, SUCI_T_CLOSE, p->tx_tag, (uint16_t)why, text, now_ns);
	if (p->seal)
		len = suci_seal_close(ep, p, o->bytes, len);
	o->len = (uint16_t)len;
	suci_stateless_send(ep, o, repeats, gap_ns);
}

/* CLOSE to somebody we have no path to: the answer to an OPEN, sealed as that was. */
static void
turn_away(struct suci *ep, const struct suci_addr *to, const struct suci_body *b, uint16_t reason,
	  const char *text, uint64_t now_ns)
{
	struct suci_stateless *o = suci_stateless_new(ep, to, false);
	if (!o)
		return;
	size_t len = suci_put_close(o->bytes, SUCI_T_CLOSE, b->tag, reason, text, now_ns);
	if (b->nonce)
		len = suci_seal_refusal(ep, b, o->bytes, len);
	o->len = (uint16_t)len;
	suci_stateless_send(ep, o, 0, 0);
}

/* An ACCEPT for an open we gave up meanwhile, or made again with another tag: do not leave the
 * peer alone with a path that nobody uses.  Where paths are sealed, RESET does that. */
static void
decline(struct suci *ep, const struct suci_addr *to, const struct suci_body *b, uint64_t now_ns)
{
	if (suci_seal_wanted(ep, to) || suci_pacer_next_ns(&ep->reset_pacer, now_ns) > now_ns)
		return;
	suci_pacer_sent(&ep->reset_pacer, 1, now_ns);
	turn_away(ep, to, b, SUCI_DOWN_STALE, "its opener has given up that open", now_ns);
}

static void
rx_hello(struct suci *ep, const struct suci_addr *from, const struct suci_body *b, uint64_t now_ns)
{
	struct suci_stateless *o = suci_stateless_new(ep, from, true);
	if (!o)
		return;
	struct suci_body answer = {
		.cookie = cookie_for(ep, from, b, now_ns / COOKIE_BUCKET_NS),
		.incarnation = ep->conf.incarnation,
		.peer_incarnation = b->peer_incarnation, /* its time */
	};
	put_unverified_hdr(o->bytes, SUCI_T_COOKIE, b->tag, now_ns);
	o->len = (uint16_t)(SUCI_PATH_HDR + suci_body_encode(&answer, o->bytes + SUCI_PATH_HDR));
	suci_stateless_send(ep, o, 0, 0);
}

/* Before a path is up its peer_incarnation is the life that gave the last cookie, 0 if it did not
 * say.  An earlier one may have taken an OPEN of ours: what it sent to that tag must not be taken
 * for data of this one. */
static bool
of_other_life(const struct suci_path *p, const struct suci_body *b)
{
	return p->hs.peer_incarnation && b->incarnation && p->hs.peer_incarnation != b->incarnation;
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
	/* A listener of an older version gives no time back: then only one HELLO is clear. */
	uint64_t sent_ns = b->peer_incarnation;
	if (!sent_ns && p->hs.tries == 1)
		sent_ns = p->hs.sent_ns;
	bool known = sent_ns && sent_ns <= p->hs.sent_ns && ep->now_ns - sent_ns <= RETRY_MAX_NS;
	p->hs.rtt_ns = known ? ep->now_ns - sent_ns : 0;
	bool other = of_other_life(p, b);
	p->hs.peer_incarnation = b->incarnation;
	p->nobody.told_ns = 0;
	/* On a sealed path the same tag with other keys does it.  Anybody can send a false cookie
	 * there, and an OPEN with another tag ends the path that the first one made. */
	if (other && p->seal) {
		suci_seal_again(ep, p);
	} else if (other) { /* the cookie is for the old tag, too */
		suci_path_retag(ep, p);
		p->hs.tries = 0;
		p->hs.retry_ns = BASE_NEVER_NS;
		p->hs.due = true;
		suci_path_ready(ep, p);
		return;
	}
	p->state = PATH_OPEN;
	p->hs.cookie = b->cookie;
	p->hs.tries = 0;
	p->hs.retry_ns = BASE_NEVER_NS;
	p->hs.due = true;
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

/* An OPEN that left before what brought the path up: late, held back, or recorded.  After as long
 * as a cookie lives there is none any more. */
static bool
left_before_path(const struct suci_path *p, const struct suci_body *b, uint64_t now_ns)
{
	return p && p->state == PATH_UP && p->hs.peer_incarnation == b->incarnation &&
	       now_ns - p->hs.sent_ns <= FORMER_NS && serial_le(b->time_us, p->hs.made_us);
}

/* The path at that address belongs to a run or an open that is over. */
static struct suci_path *
replace_handshake(struct suci *ep, struct suci_path *old, const struct suci_body *b,
		  uint64_t now_ns)
{
	struct suci_addr peer = old->peer;
	if (old->hs.peer_incarnation != b->incarnation)
		suci_path_down(ep, old, SUCI_DOWN_RESTARTED, "the peer was started again", now_ns);
	else
		suci_path_down(ep, old, SUCI_DOWN_RESET, "the peer opened the path again", now_ns);
	/* path_down may have opened it again itself. */
	struct suci_path *p = suci_path_at(ep, &peer);
	return p ? p : suci_path_new(ep, &peer);
}

/* Is it sealed if it is to be, and, as far as that is cheap to see, by somebody with our key? */
static bool
open_authentic(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
	       uint8_t *dgram, size_t len, struct suci_body *b, uint64_t now_ns)
{
	bool sealed = h->flags & SUCI_PF_SEALED;
	if (!suci_seal_wanted(ep, from)) {
		ep->count.drop_sealed += sealed;
		if (sealed) /* no more than a hint to the peer's operator */
			turn_away(ep, from, b, SUCI_DOWN_REFUSED, "sealing is off here", now_ns);
		return !sealed;
	}
	if (!sealed) {
		ep->count.drop_unsealed++;
		return false;
	}
	return suci_seal_opens(ep, from, dgram, len, b);
}

/* The OPEN of the path that is up, again: our ACCEPT was lost. */
static void
open_again(struct suci *ep, struct suci_path *p, uint8_t *dgram, struct suci_body *b)
{
	struct suci_seal *s = p->seal;
	if (s && (s->attempt != b->attempt || memcmp(s->peer_nonce, b->nonce, SEAL_NONCE))) {
		/* It tries another key meanwhile; or this is a late one. */
		if (s->heard || b->attempt <= s->attempt) {
			ep->count.drop_state++;
			return;
		}
		if (!suci_seal_opened(ep, &p->peer, dgram, b))
			return;
		suci_seal_keys(ep, p, b);
	}
	if (s && s->heard)
		return; /* it has our ACCEPT, and we no longer what seals that */
	p->hs.due = true;
	suci_path_ready(ep, p);
}

/* Opens that cross, perhaps under different keys and repeated with others: one of the two
 * has to win, and both sides must know which. */
static bool
crossed_and_ours_wins(const struct suci *ep, const struct suci_path *p, const struct suci_body *b)
{
	if (!p || !p->seal || p->state == PATH_UP)
		return false;
	return p->rx_tag != b->tag ? p->rx_tag > b->tag : ep->conf.incarnation > b->incarnation;
}

static void
rx_open(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
	uint8_t *dgram, size_t len, struct suci_body *b, uint64_t now_ns)
{
	if (!cookie_good(ep, from, b, now_ns)) {
		ep->count.drop_cookie++;
		return;
	}
	if (!open_authentic(ep, from, h, dgram, len, b, now_ns))
		return;
	struct suci_path *p = suci_path_at(ep, from);
	bool made = false;
	if (p && p->state == PATH_UP && p->hs.peer_incarnation == b->incarnation &&
	    p->tx_tag == b->tag) {
		open_again(ep, p, dgram, b);
		return;
	}
	if (crossed_and_ours_wins(ep, p, b)) {
		ep->count.drop_state++;
		return;
	}
	if (is_former(ep, from, b, now_ns) || left_before_path(p, b, now_ns)) {
		ep->count.drop_incarnation++;
		return;
	}
	if (b->nonce && !suci_seal_opened(ep, from, dgram, b))
		return;
	if (p && p->state == PATH_UP) {
		p = replace_handshake(ep, p, b, now_ns);
		made = p && p->state == PATH_NEW;
	} else if (!p) {
		p = suci_path_new(ep, from);
		made = true;
	}
	if (!p) {
		ep->count.drop_paths++;
		turn_away(ep, from, b, SUCI_DOWN_REFUSED, "all paths are in use", now_ns);
		return;
	}
	char why[SUCI_TEXT_MAX] = "";
	int verdict = ep->ops->accept(ep->user, from, b->hello, b->hello_len, why);
	if (verdict) {
		why[SUCI_TEXT_MAX - 1] = 0;
		ep->count.drop_later += verdict == SUCI_LATER;
		if (verdict != SUCI_LATER)
			turn_away(ep, from, b, SUCI_DOWN_REFUSED, why, now_ns);
		if (made)
			suci_path_unmake(ep, p); /* nobody has heard of it */
		return;
	}
	if (!p->seal && of_other_life(p, b))
		suci_path_retag(ep, p);
	suci_path_establish(ep, p, b, true, 0, now_ns);
}

static void
rx_accept(struct suci *ep, struct suci_path *p, const struct suci_path_hdr *h, uint8_t *dgram,
	  size_t len, struct suci_body *b, uint64_t now_ns)
{
	bool sealed = h->flags & SUCI_PF_SEALED;
	if (sealed != (p->seal != NULL)) {
		ep->count.drop_sealed += sealed;
		ep->count.drop_unsealed += !sealed;
		return;
	}
	if (b->peer_incarnation != ep->conf.incarnation) {
		ep->count.drop_incarnation++;
		return;
	}
	if (p->state == PATH_UP && p->tx_tag == b->tag)
		return; /* the ACCEPT again, or opens that crossed */
	/* Also one that took so long that we had begun again. */
	if (p->state != PATH_OPEN && !(p->state == PATH_HELLO && p->hs.cookie)) {
		ep->count.drop_state++;
		return;
	}
	if (p->seal && !suci_seal_accepted(ep, p, dgram, len, b))
		return;
	uint64_t rtt_ns = p->hs.tries == 1 ? now_ns - p->hs.sent_ns : 0;
	suci_path_establish(ep, p, b, false, rtt_ns, now_ns);
}

/* The reason a CLOSE or RESET gives, also as text for a person. */
static bool
close_text(struct suci *ep, const uint8_t *body, size_t len, uint16_t *reason,
	   char text[SUCI_TEXT_MAX])
{
	struct suci_close f;
	if (!suci_close_decode(&f, body, len)) {
		ep->count.drop_malformed++;
		return false;
	}
	for (uint32_t i = 0; i < f.text_len; i++)
		text[i] = f.text[i] >= 0x20 && f.text[i] != 0x7f ? (char)f.text[i] : '?';
	text[f.text_len] = 0;
	*reason = f.reason;
	return true;
}

/* A sealed CLOSE of that path, up or being opened. */
static bool
close_authentic(struct suci *ep, struct suci_path *p, uint8_t *dgram, size_t len)
{
	return p->state == PATH_UP ? suci_seal_close_open(ep, p, dgram, len)
				   : suci_seal_refusal_open(ep, p, dgram, len);
}

/* What the CLOSE of a path that is up says.  One about an open is no end of the peer: our OPEN went
 * twice, say, and one was accepted, the other refused. */
static enum suci_down
closed_why(uint16_t reason)
{
	switch (reason) {
	case SUCI_DOWN_SILENT: /* it lives and does not hear us: the way there is cut */
		return SUCI_DOWN_SILENT;
	case SUCI_DOWN_REFUSED:
	case SUCI_DOWN_STALE:
		return SUCI_DOWN_STALE;
	default:
		return SUCI_DOWN_CLOSED;
	}
}

static void
rx_close(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
	 uint8_t *dgram, size_t len, uint64_t now_ns)
{
	char text[SUCI_TEXT_MAX];
	uint16_t reason;
	bool sealed = h->flags & SUCI_PF_SEALED;
	struct suci_path *p = suci_path_by_tag(ep, h->path_tag);
	if (!p) {
		ep->count.drop_unknown_tag++;
		return;
	}
	if (memcmp(&p->peer, from, sizeof *from)) {
		ep->count.drop_address++;
		return;
	}
	if (sealed != (p->seal != NULL)) {
		ep->count.drop_sealed += sealed;
		ep->count.drop_unsealed += !sealed;
		p->hs.hinted = !sealed;
		return;
	}
	if (sealed && !close_authentic(ep, p, dgram, len))
		return;
	len -= SUCI_PATH_HDR + (sealed ? (size_t)SUCI_SEAL_EXT + SUCI_SEAL_TAG : 0);
	if (!close_text(ep, dgram + SUCI_PATH_HDR, len, &reason, text))
		return;
	suci_path_down(ep, p, p->state == PATH_UP ? closed_why(reason) : SUCI_DOWN_REFUSED, text,
		       now_ns);
}

void
suci_handshake_rx(struct suci *ep, const struct suci_addr *from, const struct suci_path_hdr *h,
		  uint8_t *dgram, size_t len, uint64_t now_ns)
{
	if (h->type == SUCI_T_RESET) {
		suci_reset_rx(ep, from, h, dgram, len, now_ns);
		return;
	}
	if (h->type == SUCI_T_CLOSE) {
		rx_close(ep, from, h, dgram, len, now_ns);
		return;
	}
	struct suci_body b = {0};
	if (!suci_body_decode(&b, dgram + SUCI_PATH_HDR, len - SUCI_PATH_HDR)) {
		ep->count.drop_short++;
		return;
	}
	bool names_sender = h->type != SUCI_T_COOKIE;
	bool may_seal = h->type == SUCI_T_OPEN || h->type == SUCI_T_ACCEPT;
	if (b.hello_len > SUCI_HELLO_MAX || (h->flags & SUCI_PF_SEALED && !may_seal) ||
	    (names_sender && (!b.tag || !b.incarnation || b.mtu < MTU_MIN))) {
		ep->count.drop_malformed++;
		return;
	}
	b.offer = h->pn;
	b.time_us = h->time_us;
	b.joins = h->flags & SUCI_PF_PART;
	if (h->type == SUCI_T_HELLO) {
		rx_hello(ep, from, &b, now_ns);
		return;
	}
	if (h->type == SUCI_T_OPEN) {
		rx_open(ep, from, h, dgram, len, &b, now_ns);
		return;
	}
	struct suci_path *p = suci_path_by_tag(ep, h->path_tag);
	if (!p) {
		ep->count.drop_unknown_tag++;
		if (h->type == SUCI_T_ACCEPT && b.peer_incarnation == ep->conf.incarnation)
			decline(ep, from, &b, now_ns);
	} else if (memcmp(&p->peer, from, sizeof *from)) {
		ep->count.drop_address++;
	} else if (h->type == SUCI_T_COOKIE) {
		rx_cookie(ep, p, &b);
	} else {
		rx_accept(ep, p, h, dgram, len, &b, now_ns);
	}
}

/* Before what is sent now is sent again. */
static uint64_t
retry_wait(const struct suci_path *p)
{
	uint32_t doublings = p->hs.tries + (!p->hs.rtt_ns && p->hs.tries ? 1u : 0u);
	uint64_t first = base_max_ns(RETRY_FIRST_NS, 2 * p->hs.rtt_ns);
	return base_min_ns(first << (doublings < 6 ? doublings : 6), RETRY_MAX_NS);
}

size_t
suci_handshake_tx(struct suci *ep, struct suci_path *p, uint8_t *out, uint64_t now_ns)
{
	const struct suci_path_hello *h = &ep->hello[path_index(ep, p)];
	bool own = h->len != UINT16_MAX;
	if (p->state == PATH_OPEN && p->hs.tries >= OPEN_TRIES) {
		p->state = PATH_HELLO; /* the cookie may have grown old */
		p->hs.tries = 0;
		if (p->seal) /* the peer may not have the key yet */
			suci_seal_retry(ep, p);
	}
	bool with_hello = p->state != PATH_HELLO;
	struct suci_body b = {
		.tag = p->rx_tag,
		.mtu = (uint16_t)suci_leg_mtu(ep, &p->peer),
		.hello = own ? h->bytes : ep->conf.hello,
		.hello_len = !with_hello ? 0
			     : own	 ? h->len
					 : ep->conf.hello_len,
		.incarnation = ep->conf.incarnation,
		.cookie = p->state == PATH_OPEN ? p->hs.cookie : 0,
		.peer_incarnation = p->state == PATH_UP	     ? p->hs.peer_incarnation
				    : p->state == PATH_HELLO ? now_ns
							     : 0,
	};
	enum suci_type type = p->state == PATH_UP     ? SUCI_T_ACCEPT
			      : p->state == PATH_OPEN ? SUCI_T_OPEN
						      : SUCI_T_HELLO;
	put_unverified_hdr(out, type, p->state == PATH_UP ? p->tx_tag : 0, now_ns);
	if (type != SUCI_T_HELLO) {
		be32_store(out + 8, suci_credit_offer(ep, p));
		if (ep->conf.limits.wholes_max)
			out[1] |= SUCI_PF_PART;
	}
	if (p->state != PATH_UP) {
		p->hs.retry_ns = now_ns + retry_wait(p);
		p->hs.tries = p->hs.tries < UINT8_MAX ? (uint8_t)(p->hs.tries + 1) : UINT8_MAX;
		p->hs.sent_ns = now_ns;
	}
	size_t len = SUCI_PATH_HDR + suci_body_encode(&b, out + SUCI_PATH_HDR);
	return p->seal && with_hello ? suci_seal_handshake(ep, p, out, len) : len;
}
