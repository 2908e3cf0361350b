/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/order.h"

#include "canary.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- fewer will do ---- */

#define NUMBER_MAX 1000000000L

static long
read_bound(const char **at, char **end)
{
	long v = strtol(*at, end, 10);

	return v > NUMBER_MAX ? NUMBER_MAX : v < -NUMBER_MAX ? -NUMBER_MAX : v;
}

/* The largest of a, a + step, .. to b that is below `below`, or 0. */
static long
largest_below(long a, long b, long step, long below)
{
	long v, least = step > 0 ? a : b, most = step > 0 ? b : a;

	if (step == 0 || least > most || least >= below)
		return 0;
	if (step > 0) {
		long top = most < below ? most : below - 1;
		v = a + (top - a) / step * step;
	} else {
		long over = a < below ? 0 : a - (below - 1);
		v = a - (over - step - 1) / -step * -step;
	}
	return v >= least && v > 0 ? v : 0;
}

/* The largest number below `below` of the list "a,b:c,d:e:f"; 0: there is none. */
static uint64_t
next_softer(const char *soft, uint64_t below)
{
	long best = 0;
	long limit = below > (uint64_t)NUMBER_MAX ? NUMBER_MAX : (long)below;

	while (soft != NULL && *soft != '\0') {
		long t[3] = {0, 0, 1};
		char *end;
		int n = 0;

		do {
			t[n] = read_bound(&soft, &end);
			if (end == soft)
				return (uint64_t)best; /* not a list: what has been read counts */
			soft = end + (*end == ':');
		} while (++n < 3 && *end == ':');
		if (n == 1)
			t[1] = t[0];
		long v = largest_below(t[0], t[1], t[2], limit);
		best = v > best ? v : best;
		soft += *soft == ',';
	}
	return (uint64_t)best;
}

bool
launch_order_fewer(struct launch_count *c, const char *const *soft, uint32_t commands)
{
	for (uint32_t i = 0; i < commands; i++) {
		uint64_t n = next_softer(soft[i], c[i].n);
		if (n == 0)
			continue;
		c[i].n = LAUNCH_BUG(INSISTS) ? c[i].n : n;
		return true;
	}
	return false;
}

void
launch_order_codes(const struct launch_count *c, uint32_t commands, int failed, int unstarted,
		   int *codes)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < commands; i++)
		all += c[i].n;
	for (uint32_t i = 0; i < commands; i++)
		for (uint64_t k = 0; k < c[i].wanted; k++) {
			bool runs = LAUNCH_BUG(IN_A_ROW) ? all > 0 : k < c[i].n;
			all -= LAUNCH_BUG(IN_A_ROW) && all > 0;
			*codes++ = failed ? failed : runs ? 0 : unstarted;
		}
}

/* ---- jobs that are to come ---- */

static bool
is_outstanding(const struct launch_await *a)
{
	return a->name[0] == '\0' && !a->refused;
}

static bool
any_outstanding(const struct launch_awaited *l)
{
	for (const struct launch_await *a = l->first; a; a = a->next)
		if (is_outstanding(a))
			return true;
	return false;
}

static void
mark_unmet(struct launch_await *a, const char *why)
{
	if (a->unmet)
		return;
	a->unmet = true;
	snprintf(a->why, sizeof a->why, "%s", why);
}

void
launch_await(struct launch_awaited *l, struct launch_await *a, const char *port)
{
	a->next = l->first;
	a->port = port;
	a->name[0] = '\0';
	a->refused = a->unmet = false;
	l->first = a;
}

void
launch_await_answer(struct launch_awaited *l, struct launch_await *a, const char *name)
{
	a->refused = name == NULL;
	if (a->refused)
		return;
	snprintf(a->name, sizeof a->name, "%s", name);
	for (uint32_t i = 0; i < LAUNCH_EARLY_MAX; i++) {
		struct launch_early *e = &l->early[i];
		if (e->name[0] == '\0' || strcmp(e->name, a->name) != 0)
			continue;
		mark_unmet(a, e->why);
		e->name[0] = '\0';
	}
}

static bool
note_of_job(struct launch_awaited *l, const char *name, const char *why, bool ended)
{
	for (struct launch_await *a = l->first; a; a = a->next) {
		if (name[0] == '\0' || strcmp(a->name, name) != 0)
			continue;
		mark_unmet(a, why);
		return true;
	}
	if (!any_outstanding(l) || LAUNCH_BUG(TOO_EARLY))
		return false;
	struct launch_early *e = &l->early[l->next_early++ % LAUNCH_EARLY_MAX];
	snprintf(e->name, sizeof e->name, "%s", name);
	snprintf(e->why, sizeof e->why, "%s", why);
	e->ended = ended;
	return true;
}

bool
launch_await_unmet(struct launch_awaited *l, const char *name, const char *why)
{
	return note_of_job(l, name, why, false);
}

bool
launch_await_ended(struct launch_awaited *l, const char *name, const char *why)
{
	return note_of_job(l, name, why, true);
}

bool
launch_await_stray(struct launch_awaited *l, struct launch_early *e)
{
	if (any_outstanding(l))
		return false;
	for (uint32_t i = 0; i < LAUNCH_EARLY_MAX; i++) {
		if (l->early[i].name[0] == '\0')
			continue;
		*e = l->early[i];
		l->early[i].name[0] = '\0';
		if (!e->ended)
			return true;
	}
	return false;
}

const char *
launch_await_why(const struct launch_awaited *l, const char *port)
{
	for (const struct launch_await *a = l->first; a; a = a->next)
		if (a->unmet && a->port && strcmp(a->port, port) == 0)
			return a->why;
	return NULL;
}

void
launch_await_give_up(struct launch_awaited *l, const char *port)
{
	for (struct launch_await *a = l->first; a; a = a->next)
		if (a->port && strcmp(a->port, port) == 0)
			a->port = NULL;
}

struct launch_await *
launch_await_forget(struct launch_awaited *l, const char *port)
{
	for (struct launch_await **at = &l->first; *at; at = &(*at)->next) {
		struct launch_await *a = *at;
		if (!a->port || strcmp(a->port, port) != 0)
			continue;
		*at = a->next;
		return a;
	}
	return NULL;
}
