/* SPDX-License-Identifier: BSD-2-Clause */
/* relayd's counters before and after. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

json_t *
pg_stats_read(const struct pg_lab *lab)
{
	json_error_t e;
	if (!*lab->stats)
		return NULL;
	FILE *f = popen(lab->stats, "re");
	json_t *j = f ? json_loadf(f, 0, &e) : NULL;
	if (!j)
		fprintf(stderr, "relay-pktgen: the lab's stats command: %s\n",
			f ? e.text : "cannot be run");
	if (f)
		(void)pclose(f);
	return j;
}

/* What is refused is sent again, so it is listed but no drop. */
static bool
stats_is_drop(const char *parent, const char *key)
{
	return strcmp(parent, "rx_drops") == 0 || strncmp(key, "drop_", 5) == 0;
}

static bool
is_loss(const char *parent, const char *key)
{
	return stats_is_drop(parent, key) || strncmp(key, "refused_", 8) == 0 ||
	       strncmp(key, "accept_", 7) == 0 || strcmp(key, "tx_refused") == 0 ||
	       strcmp(key, "tx_retransmits") == 0;
}

static void
note_reason(struct pg_result *out, const char *path, const char *key, double rise)
{
	if (out->nreasons == PG_REASONS_MAX)
		return;
	struct pg_reason *r = &out->reason[out->nreasons++];
	snprintf(r->name, sizeof r->name, "%.60s/%.30s", path, key);
	r->count = rise;
}

static double
walk_stats(json_t *before, json_t *after, const char *path, const char *parent,
	   struct pg_result *out)
{
	const char *key;
	json_t *is;
	double sum = 0;
	json_object_foreach(after, key, is)
	{
		json_t *was = json_object_get(before, key);
		if (json_is_object(is)) {
			char sub[128];
			snprintf(sub, sizeof sub, "%.60s%s%.60s", path, *path ? "/" : "", key);
			sum += walk_stats(was, is, sub, key, out);
		} else if (json_is_integer(is) && is_loss(parent, key)) {
			double rise =
				(double)json_integer_value(is) - (double)json_integer_value(was);
			/* Asked for by SUCI's acknowledgements as well. */
			if (rise < 0) /* relayd was started anew */
				rise = (double)json_integer_value(is);
			if (rise > 0)
				note_reason(out, path, key, rise);
			if (stats_is_drop(parent, key) && strcmp(key, "drop_refused") != 0)
				sum += rise;
		}
	}
	return sum;
}

double
pg_stats_reasons(const json_t *before, const json_t *after, struct pg_result *out)
{
	/* jansson's getters take no const. */
	json_t *b = json_deep_copy(before), *a = json_deep_copy(after);
	double sum = walk_stats(b, a, "", "", out);
	json_decref(a);
	json_decref(b);
	return sum;
}
