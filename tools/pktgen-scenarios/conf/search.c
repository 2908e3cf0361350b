/* SPDX-License-Identifier: BSD-2-Clause */
#include "pktgen/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
pg_search_init(struct pg_search *s, const struct pg_search_conf *conf)
{
	memset(s, 0, sizeof *s);
	s->conf = *conf;
}

/* The next rate for one goal; 0: it is found, or there is none. */
static double
choose_rate(const struct pg_search *s, enum pg_goal g)
{
	double low = (double)s->conf.min_pps, high = (double)s->conf.max_pps;
	double close = 1 + (double)s->conf.precision_ppm / 1e6;
	double good = s->good[g], bad = s->bad[g];
	if (good >= high || (bad > 0 && bad <= low))
		return 0;
	if (bad <= 0)
		return high;
	if (good <= 0)
		return bad > low * close ? sqrt(low * bad) : low;
	return bad > good * close ? sqrt(good * bad) : 0;
}

bool
pg_search_next(struct pg_search *s, double *pps)
{
	for (int g = 0; !s->n && g < PG_GOALS; g++)
		if ((s->at = choose_rate(s, (enum pg_goal)g)) > 0)
			break;
	*pps = s->at;
	return s->at > 0;
}

static int
compare_shares(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

/* A verdict that contradicts an earlier one of the same goal is noise, and changes nothing. */
static void
judge_rate(struct pg_search *s, enum pg_goal g, bool is_good)
{
	bool between = s->at > s->good[g] && (s->bad[g] <= 0 || s->at < s->bad[g]);
	if (between && is_good)
		s->good[g] = s->at;
	else if (between)
		s->bad[g] = s->at;
}

void
pg_search_note(struct pg_search *s, double missed)
{
	s->missed[s->n++] = missed;
	if (s->n < s->conf.trials)
		return;
	qsort(s->missed, s->n, sizeof s->missed[0], compare_shares);
	double median = s->missed[s->n / 2];
	s->n = 0;
	judge_rate(s, PG_NDR, median <= 0);
	judge_rate(s, PG_PDR, median <= (double)s->conf.loss_ppm / 1e6);
}

double
pg_search_found(const struct pg_search *s, enum pg_goal g)
{
	return s->good[g];
}
