/* SPDX-License-Identifier: BSD-2-Clause */
/* base/ilist.h - doubly linked lists of the rows of a table, by index.
 *
 * A row has a link for each list that it can be in.  Indices are half as long as pointers, hold
 * wherever the table lies, and may be checked against its length.
 *
 *     struct row { ...; struct base_ilink link; } *row;
 *     struct base_ilinks links = BASE_ILINKS(row, link);
 *     struct base_ilist list = BASE_ILIST_EMPTY;
 *     base_ilist_append(&list, links, i);
 *     for (uint32_t i = list.head; i != BASE_INONE; i = row[i].link.next)
 *             ...
 *     base_ilist_unlink(&list, links, i);
 *
 * A base_ichain is a list that knows no last row: for what is pushed in front and leaves from
 * anywhere.
 *
 * Nothing is checked: a row is in one list per link, and the caller knows in which.
 *
 * Threads  one owner. */
#ifndef BASE_ILIST_H
#define BASE_ILIST_H

#include <stddef.h>
#include <stdint.h>

#define BASE_INONE UINT32_MAX /* no row */

struct base_ilink {
	uint32_t next, prev;
};

struct base_ilist {
	uint32_t head, tail;
};

struct base_ichain {
	uint32_t head;
};

#define BASE_ILIST_EMPTY               \
	{                              \
		BASE_INONE, BASE_INONE \
	}
#define BASE_ICHAIN_EMPTY  \
	{                  \
		BASE_INONE \
	}

/* Where the links of a table are. */
struct base_ilinks {
	void *first;
	size_t stride;
};

#define BASE_ILINKS(table, member) ((struct base_ilinks){(void *)&(table)->member, sizeof *(table)})

static inline struct base_ilink *
base_ilink(struct base_ilinks l, uint32_t i)
{
	return (struct base_ilink *)(void *)((char *)l.first + (size_t)i * l.stride);
}

static inline void
base_ilist_init(struct base_ilist *l)
{
	l->head = l->tail = BASE_INONE;
}

/* Behind row at, or in front of all with BASE_INONE. */
static inline void
base_ilist_insert(struct base_ilist *l, struct base_ilinks links, uint32_t at, uint32_t i)
{
	struct base_ilink *r = base_ilink(links, i);
	uint32_t *next = at == BASE_INONE ? &l->head : &base_ilink(links, at)->next;
	r->prev = at;
	r->next = *next;
	*next = i;
	if (r->next == BASE_INONE)
		l->tail = i;
	else
		base_ilink(links, r->next)->prev = i;
}

static inline void
base_ilist_append(struct base_ilist *l, struct base_ilinks links, uint32_t i)
{
	struct base_ilink *r = base_ilink(links, i);
	r->next = BASE_INONE;
	r->prev = l->tail;
	if (l->tail == BASE_INONE)
		l->head = i;
	else
		base_ilink(links, l->tail)->next = i;
	l->tail = i;
}

static inline void
base_ilist_prepend(struct base_ilist *l, struct base_ilinks links, uint32_t i)
{
	base_ilist_insert(l, links, BASE_INONE, i);
}

/* The link of i stays as it was. */
static inline void
base_ilist_unlink(struct base_ilist *l, struct base_ilinks links, uint32_t i)
{
	const struct base_ilink *r = base_ilink(links, i);
	if (r->prev == BASE_INONE)
		l->head = r->next;
	else
		base_ilink(links, r->prev)->next = r->next;
	if (r->next == BASE_INONE)
		l->tail = r->prev;
	else
		base_ilink(links, r->next)->prev = r->prev;
}

static inline void
base_ichain_push(struct base_ichain *c, struct base_ilinks links, uint32_t i)
{
	struct base_ilink *r = base_ilink(links, i);
	r->prev = BASE_INONE;
	r->next = c->head;
	if (c->head != BASE_INONE)
		base_ilink(links, c->head)->prev = i;
	c->head = i;
}

/* The link of i stays as it was. */
static inline void
base_ichain_unlink(struct base_ichain *c, struct base_ilinks links, uint32_t i)
{
	const struct base_ilink *r = base_ilink(links, i);
	if (r->prev == BASE_INONE)
		c->head = r->next;
	else
		base_ilink(links, r->prev)->next = r->next;
	if (r->next != BASE_INONE)
		base_ilink(links, r->next)->prev = r->prev;
}

#endif
