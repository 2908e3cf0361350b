/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of labels: whole pages, next fit. */
#include "relay/job.h"

#include "base/assert.h"

#include <string.h>

static bool
page_used(const struct relay_labels *l, uint32_t page)
{
	return (l->map[page / 64] >> (page % 64)) & 1;
}

static void
page_mark(struct relay_labels *l, uint32_t page, bool used)
{
	uint64_t bit = 1ull << (page % 64);
	if (used)
		l->map[page / 64] |= bit;
	else
		l->map[page / 64] &= ~bit;
}

static uint32_t
pages_of(uint32_t n)
{
	return n / RELAY_LABEL_PAGE + (n % RELAY_LABEL_PAGE != 0);
}

void
relay_labels_init(struct relay_labels *l, uint32_t index)
{
	BASE_ASSERT(index < RELAY_RELAYS_MAX);
	memset(l, 0, sizeof *l);
	l->base = (index + 1) << 24;
}

/* First page >= from that begins a free run of n pages and ends before the
 * space does; RELAY_LABEL_PAGES_MAX if none. */
static uint32_t
find_run(const struct relay_labels *l, uint32_t from, uint32_t n)
{
	uint32_t run = 0;
	for (uint32_t p = from; p < RELAY_LABEL_PAGES_MAX; p++) {
		run = page_used(l, p) ? 0 : run + 1;
		if (run == n)
			return p + 1 - n;
	}
	return RELAY_LABEL_PAGES_MAX;
}

uint32_t
relay_labels_alloc(struct relay_labels *l, uint32_t n)
{
	uint32_t pages = pages_of(n);
	if (pages == 0 || pages > RELAY_LABEL_PAGES_MAX - l->used)
		return 0;
	uint32_t first = find_run(l, l->next, pages);
	if (first == RELAY_LABEL_PAGES_MAX)
		first = find_run(l, 0, pages);
	if (first == RELAY_LABEL_PAGES_MAX)
		return 0;
	for (uint32_t p = first; p < first + pages; p++)
		page_mark(l, p, true);
	l->used += pages;
	l->next = (first + pages) % RELAY_LABEL_PAGES_MAX;
	return l->base + first * RELAY_LABEL_PAGE;
}

bool
relay_labels_take(struct relay_labels *l, uint32_t first, uint32_t n)
{
	uint32_t page = (first - l->base) / RELAY_LABEL_PAGE, pages = pages_of(n);
	if (first < l->base || (first - l->base) % RELAY_LABEL_PAGE != 0 || pages == 0 ||
	    page >= RELAY_LABEL_PAGES_MAX || pages > RELAY_LABEL_PAGES_MAX - page ||
	    find_run(l, page, pages) != page)
		return false;
	for (uint32_t p = page; p < page + pages; p++)
		page_mark(l, p, true);
	l->used += pages;
	return true;
}

void
relay_labels_free(struct relay_labels *l, uint32_t first, uint32_t n)
{
	BASE_ASSERT(first >= l->base && (first - l->base) % RELAY_LABEL_PAGE == 0);
	uint32_t page = (first - l->base) / RELAY_LABEL_PAGE, pages = pages_of(n);
	BASE_ASSERT(page < RELAY_LABEL_PAGES_MAX && pages <= RELAY_LABEL_PAGES_MAX - page);
	for (uint32_t p = page; p < page + pages; p++) {
		BASE_ASSERT(page_used(l, p));
		page_mark(l, p, false);
	}
	l->used -= pages;
}

uint32_t
relay_gateway_base(uint32_t label_base)
{
	uint32_t primary = label_base >> 24, page = (label_base & 0xffffffu) / RELAY_LABEL_PAGE;
	if (primary < 1 || primary > RELAY_RELAYS_MAX || page >= RELAY_LABEL_PAGES_MAX ||
	    label_base % RELAY_LABEL_PAGE != 0)
		return 0;
	return ((primary - 1) * RELAY_LABEL_PAGES_MAX + page + 1) * RELAY_LABEL_PAGE;
}
