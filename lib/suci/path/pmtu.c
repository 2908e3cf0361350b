/* SPDX-License-Identifier: BSD-2-Clause */
/* How large a datagram may be: DPLPMTUD, RFC 8899, over datagrams that carry no
 * segment.
 *
 *      min .. mtu   gets through: used          mtu .. bad   not known
 *      bad ..       does not                    bad = mtu_max + 1: everything might
 *
 * The first probe has the size both ends announced.  Then the sizes that are usual on
 * links, then halves of what is left, until that is less than STEP.  One probe is on its
 * way at a time; after PROBES losses its size is bad: only those count behind which
 * something else arrived.  A lost probe is not told to congestion control.  RAISE_NS after
 * the search everything above is tried again, and when for CONFIRM_NS nothing large has
 * passed, the size in use: so an idle path notices in time that it has shrunk.
 *
 * Black holes (section 4.3): packets are small up to floor, and large above.  When large
 * ones are lost in ROUNDS rounds, each between small ones that arrived, and not one large
 * one arrived meanwhile, the path has shrunk.  A round counts only losses of what was
 * sent after the round before was noticed, so that an outage of everything, after which
 * some small packet happens to be first, is none.  If there are only large ones to send,
 * something small goes behind the one that a probe timeout sends again, and from then on behind the
 * first of each round, until a large one passes: a round is a round trip.  Should that be lost,
 * every other timeout sends something small, see suci_pmtu_doubt().
 *
 * What congestion control was before the first of these losses is kept: they tell nothing about
 * congestion when the path has shrunk, and it goes on with as many bytes as before.
 *
 * A path that has shrunk goes on with what passes anywhere, floor, and searches; segments in
 * custody that are larger travel in parts (frag.c).  With a peer that puts none together floor is
 * min, and when one in custody is larger the path ends, and whoever opens it again begins with
 * min.  min was said to pass, so below it more doubt is needed than above. */
#include "path_internal.h"

#include "base/assert.h"

#include <stdio.h>

#define PROBES	   3u
#define ROUNDS	   3u
#define STEP	   32u
#define RAISE_NS   (600 * BASE_S_NS)
#define CONFIRM_NS (15 * BASE_S_NS)

/* UDP payloads over IPv4 of links with MTU 1400, 1420, 1480, 1492, 1500, 4352, 9000 and
 * what tunnels leave of them. */
static const uint16_t usual[] = {1372, 1392, 1452, 1464, 1472, 4324, 8922, 8972};

/* Something large has passed, or the size in use is another. */
static void
trust(struct suci_path *p)
{
	struct suci_pmtu *m = &p->pmtu;
	p->cc.holds = p->cc.held = false;
	m->rounds = 0;
	m->small_pn = 0;
	m->doubted = m->followed = m->follow = false;
}

static void
rest(struct suci_path *p, uint64_t now_ns)
{
	struct suci_pmtu *m = &p->pmtu;
	if (p->mtu < p->mtu_max && m->raise_ns == BASE_NEVER_NS)
		m->raise_ns = base_add_ns(now_ns, RAISE_NS);
	m->at_ns = p->mtu > m->min ? base_add_ns(now_ns, CONFIRM_NS) : BASE_NEVER_NS;
	m->at_ns = base_min_ns(m->at_ns, m->raise_ns);
}

static void
next_size(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_pmtu *m = &p->pmtu;
	m->tries = 0;
	m->size = 0;
	m->due = false;
	m->at_ns = BASE_NEVER_NS;
	if (p->mtu >= p->mtu_max || (m->bad - p->mtu <= STEP && m->bad <= p->mtu_max)) {
		rest(p, now_ns);
		return;
	}
	if (m->bad > p->mtu_max) {
		m->size = p->mtu_max;
	} else {
		uint32_t fit[sizeof usual / sizeof *usual], n = 0;
		for (uint32_t i = 0; i < sizeof usual / sizeof *usual; i++)
			if (usual[i] > p->mtu && usual[i] < m->bad)
				fit[n++] = usual[i];
		m->size = n ? fit[n / 2] : p->mtu + (m->bad - p->mtu) / 2;
	}
	m->due = true;
	suci_path_ready(ep, p);
}

void
suci_pmtu_init(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	uint32_t min = suci_leg_mtu_min(ep, &p->peer);
	p->pmtu =
		(struct suci_pmtu){.rec = NONE, .at_ns = BASE_NEVER_NS, .raise_ns = BASE_NEVER_NS};
	p->mtu = p->mtu_max;
	min = min < p->mtu_max ? min : p->mtu_max;
	uint32_t floor = p->frag.peer_reassembles && min > SUCI_MTU_SAFE ? SUCI_MTU_SAFE : min;
	if (floor == p->mtu_max || !min)
		return;
	p->pmtu.min = p->mtu = min;
	p->pmtu.floor = floor;
	p->pmtu.bad = p->mtu_max + 1;
	p->frag.on = p->frag.peer_reassembles && min < p->mtu_max;
	next_size(ep, p, now_ns);
}

uint32_t
suci_pmtu_take(struct suci *ep, struct suci_path *p)
{
	static const uint8_t padding[UINT16_MAX];
	struct suci_pmtu *m = &p->pmtu;
	if (m->rec != NONE) { /* of a search that is over */
		suci_rec_detach(ep, p, m->rec);
		suci_rec_give(ep, m->rec);
	}
	uint32_t i = suci_rec_take(ep, REC_MTU, path_index(ep, p));
	m->rec = i;
	m->due = false;
	ep->rec[i].data = padding;
	ep->rec[i].data_len = (uint16_t)(m->size - SUCI_PATH_HDR - seal_tag(p));
	ep->count.tx_mtu_probes++;
	return i;
}

void
suci_pmtu_passed(struct suci *ep, struct suci_path *p, uint32_t size, uint64_t now_ns)
{
	struct suci_pmtu *m = &p->pmtu;
	trust(p);
	m->passed_ns = now_ns;
	if (size > p->mtu && size < m->bad)
		suci_path_set_mtu(ep, p, size, now_ns);
	if (size == m->size)
		next_size(ep, p, now_ns);
}

void
suci_pmtu_too_small(struct suci *ep, struct suci_path *p, uint32_t len)
{
	char text[SUCI_TEXT_MAX];
	snprintf(text, sizeof text,
		 "large datagrams do not get through any more: at most %u bytes do, "
		 "a segment in custody needs %u",
		 p->mtu, len);
	suci_path_fail(ep, p, SUCI_DOWN_MTU, text);
}

static uint32_t
largest_in(const struct suci *ep, const struct suci_path *p, const struct base_ilist *l,
	   uint32_t most)
{
	for (uint32_t i = l->head; i != NONE; i = ep->rec[i].link.next) {
		const struct suci_rec *r = &ep->rec[i];
		if (r->kind != REC_MTU && suci_rec_len(p, r) > most)
			most = suci_rec_len(p, r);
	}
	return most;
}

static void
shrink(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_pmtu *m = &p->pmtu;
	uint32_t len = m->floor, before = p->mtu;
	ep->count.mtu_shrunk++;
	m->bad = p->mtu;
	suci_path_set_mtu(ep, p, m->floor, now_ns);
	if (p->cc.ops->shrunk)
		p->cc.ops->shrunk(&p->cc, before);
	suci_pacer_set_rate(&p->pacer, p->cc.rate_bps, now_ns);
	trust(p);
	if (p->frag.peer_reassembles) {
		suci_frag_shrunk(ep, p);
		next_size(ep, p, now_ns);
		return;
	}
	len = largest_in(ep, p, &p->sent.flight, len);
	len = largest_in(ep, p, &p->sent.lost, len);
	for (uint32_t k = 0; k < REFUSED_LISTS; k++)
		len = largest_in(ep, p, &p->refused.list[k], len);
	for (uint32_t q = 0; q < PRIOS; q++)
		len = largest_in(ep, p, &p->sent.queue[q], len);
	if (len > m->floor)
		suci_pmtu_too_small(ep, p, len);
	else
		next_size(ep, p, now_ns);
}

void
suci_pmtu_lost(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_pmtu *m = &p->pmtu;
	if (!m->size || m->due)
		return;
	if (++m->tries < PROBES) {
		m->due = true;
		suci_path_ready(ep, p);
	} else if (m->size <= p->mtu) {
		shrink(ep, p, now_ns);
	} else {
		m->bad = m->size;
		next_size(ep, p, now_ns);
	}
}

void
suci_pmtu_again(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	if (!p->pmtu.min)
		return;
	trust(p);
	p->pmtu.raise_ns = BASE_NEVER_NS;
	p->pmtu.bad = p->mtu_max + 1;
	next_size(ep, p, now_ns);
}

void
suci_pmtu_timer(struct suci *ep, struct suci_path *p, uint64_t now_ns)
{
	struct suci_pmtu *m = &p->pmtu;
	if (now_ns < m->at_ns)
		return;
	if (now_ns >= m->raise_ns) {
		suci_pmtu_again(ep, p, now_ns);
	} else if (now_ns - m->passed_ns < CONFIRM_NS) {
		m->at_ns = base_min_ns(m->passed_ns + CONFIRM_NS, m->raise_ns);
	} else {
		m->at_ns = BASE_NEVER_NS;
		m->size = p->mtu;
		m->tries = 0;
		m->due = true;
		suci_path_ready(ep, p);
	}
}

void
suci_pmtu_seg_passed(struct suci_path *p, const struct suci_rec *r)
{
	struct suci_pmtu *m = &p->pmtu;
	if (suci_rec_len(p, r) > m->floor) {
		m->passed_ns = base_max_ns(m->passed_ns, r->sent_ns);
		trust(p);
	} else if (!m->small_pn) {
		m->followed = false;
		m->small_pn = m->mark_pn = r->pn;
	}
}

/* By numbers, not by times: a driver that reads its clock once a turn sends the first packet of a
 * round at the very time at which the round before was noticed. */
void
suci_pmtu_seg_lost(struct suci *ep, struct suci_path *p, const struct suci_rec *r, uint64_t now_ns)
{
	struct suci_pmtu *m = &p->pmtu;
	if (suci_rec_len(p, r) <= m->floor || !m->small_pn || r->pn <= m->mark_pn || p->closing)
		return;
	m->mark_pn = p->sent.next_pn - 1;
	m->followed = false;
	if (++m->rounds >= ROUNDS)
		shrink(ep, p, now_ns);
}

void
suci_pmtu_timeout(struct suci_path *p)
{
	p->cc.holds = true;
	p->pmtu.doubted = true;
	p->pmtu.followed = false;
}

void
suci_pmtu_sent(struct suci_path *p, uint32_t len)
{
	struct suci_pmtu *m = &p->pmtu;
	if (m->followed || len <= m->floor)
		return;
	m->followed = m->follow = true;
	p->loss.probe_due = true;
}

bool
suci_pmtu_doubt(const struct suci_path *p)
{
	if (!suci_pmtu_grown(p))
		return false;
	if (p->pmtu.follow)
		return true;
	if (p->mtu <= p->pmtu.min)
		return p->loss.probes >= 2 && p->loss.probes % 2 == 0;
	return p->pmtu.small_pn || p->loss.probes % 2 == 0;
}
