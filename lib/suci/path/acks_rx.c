/* SPDX-License-Identifier: BSD-2-Clause */
#include "acks_rx.h"

#include "base/serial.h"

#include <string.h>

#define LEN_MAX UINT16_MAX /* of one range and one gap in an ack block */

void
suci_acks_init(struct suci_acks *a, uint32_t first)
{
	memset(a, 0, sizeof *a);
	a->floor = first;
}

enum suci_acks_seen
suci_acks_search(const struct suci_acks *a, uint32_t pn)
{
	if (serial_lt(pn, a->floor))
		return SUCI_ACKS_OLD;
	for (uint32_t i = 0; i < a->n; i++) {
		if (serial_gt(pn, a->range[i].hi))
			return SUCI_ACKS_NEW;
		if (serial_ge(pn, a->range[i].lo))
			return SUCI_ACKS_DUPLICATE;
	}
	return SUCI_ACKS_NEW;
}

static void
remove_range(struct suci_acks *a, uint32_t i)
{
	memmove(&a->range[i], &a->range[i + 1], (a->n - i - 1) * sizeof a->range[0]);
	memmove(&a->reports[i], &a->reports[i + 1], a->n - i - 1u);
	a->n--;
}

static void
insert_range(struct suci_acks *a, uint32_t i, uint32_t pn)
{
	if (a->n == SUCI_ACKS_RANGES) {
		a->floor = a->range[a->n - 1].hi + 1;
		a->n--;
		if (i > a->n) /* pn itself is now below the floor */
			return;
	}
	memmove(&a->range[i + 1], &a->range[i], (a->n - i) * sizeof a->range[0]);
	memmove(&a->reports[i + 1], &a->reports[i], a->n - i);
	a->range[i] = (struct suci_pn_range){pn, pn};
	a->reports[i] = 0;
	a->n++;
}

bool
suci_acks_insert(struct suci_acks *a, uint32_t pn, uint32_t time_us, uint64_t now_ns)
{
	if (!a->n || serial_gt(pn, a->range[0].hi)) {
		bool first = !a->n && pn == a->floor;
		a->missing += pn - (a->n ? a->range[0].hi + 1 : a->floor);
		insert_range(a, 0, pn);
		a->largest_time_us = time_us;
		a->largest_at_ns = now_ns;
		return !first;
	}
	uint32_t i = 0;
	a->missing--;
	while (i < a->n && serial_lt(pn, a->range[i].lo))
		i++;
	/* Between range i - 1 (above) and range i (below). */
	bool above = i > 0 && a->range[i - 1].lo == pn + 1;
	bool below = i < a->n && a->range[i].hi + 1 == pn;
	if (above && below) {
		a->range[i - 1].lo = a->range[i].lo;
		a->reports[i - 1] = 0;
		remove_range(a, i);
	} else if (above) {
		a->range[i - 1].lo = pn;
		a->reports[i - 1] = 0;
	} else if (below) {
		a->range[i].hi = pn;
		a->reports[i] = 0;
	} else {
		insert_range(a, i, pn);
	}
	return true;
}

void
suci_acks_refuse(struct suci_acks *a, uint32_t pn)
{
	uint32_t n = a->nrefused;
	/* A range that was reported is not grown: its parts would be told unevenly often. */
	if (n && a->refused[n - 1].hi + 1 == pn && !a->refused_reports[n - 1] &&
	    pn - a->refused[n - 1].lo < LEN_MAX) {
		a->refused[n - 1].hi = pn;
		return;
	}
	if (n == SUCI_ACK_REFUSED_MAX) {
		if (!a->refused_reports[0])
			return;
		memmove(&a->refused[0], &a->refused[1], (n - 1) * sizeof a->refused[0]);
		memmove(&a->refused_reports[0], &a->refused_reports[1], n - 1);
		n--;
	}
	a->refused[n] = (struct suci_pn_range){pn, pn};
	a->refused_reports[n] = 0;
	a->nrefused = (uint8_t)(n + 1);
}

/* Oldest first: the reports of a later one are never ahead of an earlier one's. */
static void
build_refused(struct suci_acks *a, struct suci_ack *out)
{
	uint32_t n = a->nrefused, over = 0;
	out->flags = SUCI_AF_REFUSED;
	out->nrefused = n;
	memcpy(out->refused, a->refused, n * sizeof a->refused[0]);
	for (uint32_t i = 0; i < n; i++)
		over += ++a->refused_reports[i] >= SUCI_REFUSED_REPORTS;
	memmove(&a->refused[0], &a->refused[over], (n - over) * sizeof a->refused[0]);
	memmove(&a->refused_reports[0], &a->refused_reports[over], n - over);
	a->nrefused = (uint8_t)(n - over);
}

uint32_t
suci_acks_more(const struct suci_acks *a)
{
	uint32_t last = 0;
	for (uint32_t i = 1; i < a->n && i <= SUCI_ACK_RANGES_MAX; i++)
		if (a->reports[i] < SUCI_ACKS_REPORTS)
			last = i;
	return last;
}

void
suci_acks_build(struct suci_acks *a, uint16_t credit, uint64_t now_ns, struct suci_ack *out)
{
	uint32_t more = suci_acks_more(a);
	out->flags = 0;
	out->nrefused = 0;
	out->n = 0;
	out->credit = credit;
	if (a->nrefused)
		build_refused(a, out);
	if (!a->n) {
		out->largest = out->echo_us = 0;
		out->delay_us = 0;
		return;
	}
	uint64_t us = now_ns > a->largest_at_ns ? (now_ns - a->largest_at_ns) / 1000 : 0;
	out->largest = a->range[0].hi;
	out->echo_us = a->largest_time_us;
	out->delay_us = us > UINT16_MAX ? UINT16_MAX : (uint16_t)us;
	for (uint32_t i = 0; i <= more; i++) {
		struct suci_pn_range r = a->range[i];
		if (out->n && out->range[out->n - 1].lo - 1 - r.hi > LEN_MAX)
			break;
		if (a->reports[i] < SUCI_ACKS_REPORTS)
			a->reports[i]++;
		bool cut = r.hi - r.lo >= LEN_MAX;
		if (cut)
			r.lo = r.hi - (LEN_MAX - 1);
		out->range[out->n++] = r;
		if (cut) /* what follows would hide the part cut off; it was reported */
			break;
	}
}
