/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of a plan, and commands while it runs. */
#include "mpisprun.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool
plan_say(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, SPX_TEXT_MAX, fmt, ap);
	va_end(ap);
	return false;
}

static bool
split_line(struct words *w, const char *line, char *why)
{
	char *save = NULL;

	w->n = 0;
	if (strlen(line) >= sizeof w->text)
		return plan_say(why, "a line has more than %zu bytes", sizeof w->text - 1);
	snprintf(w->text, sizeof w->text, "%s", line);
	w->text[strcspn(w->text, "#\n")] = '\0';
	for (char *t = strtok_r(w->text, " \t", &save); t; t = strtok_r(NULL, " \t", &save)) {
		if (w->n == WORDS_MAX)
			return plan_say(why, "a line has more than %d words", WORDS_MAX);
		w->word[w->n++] = t;
	}
	w->word[w->n] = NULL;
	return true;
}

/* The words from `first` on, in memory of their own. */
static void
keep_words(struct words *to, const struct words *from, int first)
{
	size_t at = 0;

	to->n = 0;
	for (int i = first; i < from->n; i++) {
		to->word[to->n++] = to->text + at;
		at += (size_t)snprintf(to->text + at, sizeof to->text - at, "%s", from->word[i]) +
		      1;
	}
	to->word[to->n] = NULL;
}

static bool
read_count(const char *text, const char *what, uint32_t most, uint32_t *n, char *why)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end || end == text || v > most)
		return plan_say(why, "%s=%s is not a number from 0 to %u", what, text, most);
	*n = (uint32_t)v;
	return true;
}

static bool
copy_name(char *to, const char *name, char *why)
{
	if (strlen(name) >= SPX_NAME_MAX)
		return plan_say(why, "the name %s has more than %d bytes", name, SPX_NAME_MAX - 1);
	snprintf(to, SPX_NAME_MAX, "%s", name);
	return true;
}

static bool
find_cluster(const struct run *r, const char *name, uint32_t *k, char *why)
{
	*k = spx_view_cluster(&r->view, name);
	return *k != SPX_NONE || plan_say(why, "there is no cluster %s", name);
}

/* unit NAME ADDRESS [COMMAND...] */
static bool
add_unit(struct run *r, const struct words *w, char *why)
{
	struct unit *u = &r->unit[r->nunit];

	if (w->n < 3)
		return plan_say(why, "a unit needs a name and an address: unit n1 10.0.0.1 "
				     "[COMMAND that leads there]");
	for (uint32_t i = 0; i < r->nunit; i++)
		if (!strcmp(r->unit[i].name, w->word[1]))
			return plan_say(why, "unit %s is there twice", w->word[1]);
	if (r->nunit == UNITS_MAX)
		return plan_say(why, "more than %d units", UNITS_MAX);
	if (!copy_name(u->name, w->word[1], why))
		return false;
	snprintf(u->ip, sizeof u->ip, "%s", w->word[2]);
	keep_words(&u->prefix, w, 3);
	r->nunit++;
	return true;
}

static bool
place_cluster(struct run *r, struct cluster *c, char *names, char *why)
{
	char *save = NULL;

	for (char *t = strtok_r(names, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		uint32_t i = 0;
		while (i < r->nunit && strcmp(r->unit[i].name, t) != 0)
			i++;
		if (i == r->nunit)
			return plan_say(why, "there is no unit %s", t);
		if (c->nunit == UNITS_MAX)
			return plan_say(why, "more than %d units", UNITS_MAX);
		c->unit[c->nunit++] = i;
	}
	return true;
}

/* cluster NAME [ranks=N] [spares=N] [units=A,B] program WORDS */
static bool
add_cluster(struct run *r, const struct words *w, char *why)
{
	uint32_t k = r->agreed.clusters, ranks = 1, spares = 0;
	struct spx_role role[1024];
	struct cluster *c = &r->cluster[k];
	int i = 2;

	if (w->n < 4)
		return plan_say(why, "a cluster needs a name and a program: cluster filter "
				     "ranks=4 spares=2 program ./filter");
	if (k == SPX_POOLED_MAX)
		return plan_say(why, "more than %d clusters", SPX_POOLED_MAX);
	if (spx_view_cluster(&r->view, w->word[1]) != SPX_NONE)
		return plan_say(why, "cluster %s is there already", w->word[1]);
	*c = (struct cluster){.nunit = 0};
	r->planned[k] = (struct spx_cluster){.lost = false};
	if (!copy_name(r->planned[k].name, w->word[1], why))
		return false;
	for (; i < w->n && strcmp(w->word[i], "program") != 0; i++) {
		char *value = strchr(w->word[i], '=');
		bool ok = value != NULL;
		if (ok && !strncmp(w->word[i], "ranks=", 6))
			ok = read_count(value + 1, "ranks", 1024, &ranks, why);
		else if (ok && !strncmp(w->word[i], "spares=", 7))
			ok = read_count(value + 1, "spares", 1024, &spares, why);
		else if (ok && !strncmp(w->word[i], "units=", 6))
			ok = place_cluster(r, c, value + 1, why);
		else
			return plan_say(why,
					"cluster %s: unknown word %s; there are ranks=, "
					"spares=, units= and then program",
					w->word[1], w->word[i]);
		if (!ok)
			return false;
	}
	if (i + 1 >= w->n || ranks == 0)
		return plan_say(why, "cluster %s has no %s", w->word[1],
				ranks ? "program" : "ranks");
	keep_words(&c->program, w, i + 1);
	if (c->nunit == 0)
		c->unit[c->nunit++] = 0;
	r->planned[k].compute = (uint16_t)ranks;
	r->agreed.clusters++;
	for (uint32_t n = 0; n < ranks; n++)
		role[n] = (struct spx_role){SPX_PART_RANK, (uint16_t)k, (uint16_t)n};
	if (!agree_roles(r, role, ranks, (uint8_t)SPX_POOL(k, false), why)) {
		r->agreed.clusters--;
		return false;
	}
	c->want[0] = ranks + spares;
	return true;
}

/* io FROM TO [N]: so many processes for that chain. */
static bool
add_io(struct run *r, const struct words *w, char *why)
{
	uint32_t from, to, n = 1;
	struct spx_role role[64];

	if (w->n < 3)
		return plan_say(why, "I/O processes need two clusters: io FROM TO [N]");
	if (!find_cluster(r, w->word[1], &from, why) || !find_cluster(r, w->word[2], &to, why) ||
	    (w->n > 3 && !read_count(w->word[3], "number of I/O processes", 64, &n, why)))
		return false;
	for (uint32_t c = 0; c < r->view.nchain; c++)
		if (r->view.chain[c].from == from && r->view.chain[c].to == to) {
			for (uint32_t i = 0; i < n; i++)
				role[i] = (struct spx_role){SPX_PART_CHAIN, (uint16_t)from,
							    (uint16_t)c};
			if (n && !agree_roles(r, role, n, (uint8_t)SPX_POOL(from, true), why))
				return false;
			r->cluster[from].want[1] += n;
			return true;
		}
	return plan_say(why, "no chain leads from %s to %s: chain add %s %s comes first",
			w->word[1], w->word[2], w->word[1], w->word[2]);
}

static bool
change_planned_chains(struct run *r, const char *line, char *why)
{
	const char *ops = strstr(line, "chain") + 5;

	return agree_chains(r, ops, strcspn(ops, "#\n"), why);
}

/* The first role that is so and that somebody plays; SP_NONE: there is none. */
static uint32_t
find_role(struct run *r, enum spx_part part, uint32_t cluster, uint32_t index)
{
	for (uint32_t i = 0; i < r->nrole; i++)
		if (r->role[i].part == part && r->role[i].cluster == cluster &&
		    r->role[i].index == index && procs_of_role(r, i))
			return i;
	return SP_NONE;
}

/* kill CLUSTER RANK, or kill io FROM TO: as a fault of theirs. */
static bool
kill_one(struct run *r, const struct words *w, char *why)
{
	uint32_t from, to, rank = 0, role = SP_NONE;
	char name[SPX_TEXT_MAX];

	if (w->n == 4 && !strcmp(w->word[1], "io")) {
		if (!find_cluster(r, w->word[2], &from, why) ||
		    !find_cluster(r, w->word[3], &to, why))
			return false;
		for (uint32_t c = 0; c < r->view.nchain && role == SP_NONE; c++)
			if (r->view.chain[c].from == from && r->view.chain[c].to == to)
				role = find_role(r, SPX_PART_CHAIN, from, c);
	} else if (w->n == 3) {
		if (!find_cluster(r, w->word[1], &from, why) ||
		    !read_count(w->word[2], "rank", 1023, &rank, why))
			return false;
		role = find_role(r, SPX_PART_RANK, from, rank);
	} else {
		return plan_say(why, "kill CLUSTER RANK, or kill io FROM TO");
	}
	const struct member *m = role == SP_NONE ? NULL : procs_of_role(r, role);
	if (!m || m->pid <= 0)
		return plan_say(why, "no such process lives");
	procs_name(r, m, name);
	tell_line(r, "killing %s (pid %d)", name, (int)m->pid);
	return kill(m->pid, SIGKILL) == 0 || plan_say(why, "kill: %s", strerror(errno));
}

/* lost UNIT: as if that node had failed. */
static bool
lose_unit(struct run *r, const struct words *w, char *why)
{
	for (uint32_t i = 0; i < r->nunit && w->n == 2; i++)
		if (!strcmp(r->unit[i].name, w->word[1])) {
			tell_line(r, "unit %s is lost", w->word[1]);
			r->unit[i].lost = true;
			procs_end_unit(r, i);
			return true;
		}
	return plan_say(why, "lost UNIT: there is no such unit");
}

static bool
show_status(struct run *r)
{
	char name[SPX_TEXT_MAX];

	for (uint32_t i = 0; i < r->nmember; i++) {
		const struct member *m = &r->member[i];
		if (!m->alive)
			continue;
		procs_name(r, m, name);
		tell_line(r, "%s: pid %d unit %s%s", name, (int)m->pid, r->unit[m->unit].name,
			  m->ready ? "" : " not ready");
	}
	return true;
}

bool
plan_line(struct run *r, const char *line, char why[SPX_TEXT_MAX])
{
	struct words w;

	if (!split_line(&w, line, why))
		return false;
	if (w.n == 0)
		return true;
	if (!strcmp(w.word[0], "unit"))
		return add_unit(r, &w, why);
	if (!strcmp(w.word[0], "cluster"))
		return add_cluster(r, &w, why);
	if (!strcmp(w.word[0], "io"))
		return add_io(r, &w, why);
	if (!strcmp(w.word[0], "chain"))
		return change_planned_chains(r, line, why);
	if (!strcmp(w.word[0], "kill"))
		return kill_one(r, &w, why);
	if (!strcmp(w.word[0], "lost"))
		return lose_unit(r, &w, why);
	if (!strcmp(w.word[0], "status"))
		return show_status(r);
	return plan_say(why,
			"unknown word %s; there are unit, cluster, chain, io, kill, lost, status",
			w.word[0]);
}

bool
plan_read(struct run *r, const char *file, char why[SPX_TEXT_MAX])
{
	FILE *f = fopen(file, "r");
	char line[2048], text[SPX_TEXT_MAX];
	int n = 0;
	bool ok = true;

	if (!f)
		return plan_say(why, "%s: %s", file, strerror(errno));
	while (ok && fgets(line, sizeof line, f)) {
		n++;
		ok = plan_line(r, line, text) || plan_say(why, "%s:%d: %.180s", file, n, text);
	}
	fclose(f);
	return ok;
}
