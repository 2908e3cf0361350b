/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains, and what must hold for all of the configuration together. */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- chains: said as spx_chain_ops() reads them, which knows what cannot work ---- */

static struct spx_view
names_of(const struct spd_conf *c, struct spx_cluster cluster[SPD_CLUSTERS_MAX])
{
	for (uint32_t i = 0; i < c->nclusters; i++) {
		cluster[i] = (struct spx_cluster){.compute = (uint16_t)c->cluster[i].compute};
		snprintf(cluster[i].name, sizeof cluster[i].name, "%s", c->cluster[i].name);
	}
	return (struct spx_view){.number = 1, .ncluster = c->nclusters, .cluster = cluster};
}

static void
say_chain(struct reading *r, const json_t *o, const char *path, char *ops, size_t room)
{
	static const char *const keys[] = {"policy", "on_lost"};
	char *from = spd_text_of(r, o, path, "from", true),
	     *to = spd_text_of(r, o, path, "to", true);

	if (from && to && spd_name_is_good(r, from, path, SPX_NAME_MAX))
		(void)spd_name_is_good(r, to, path, SPX_NAME_MAX);
	uint32_t window = spd_number_of(r, o, path, "window", 1, SPX_WINDOW_MAX, 8);
	size_t at = (size_t)snprintf(ops, room, "add %.60s %.60s window=%u%s", from ? from : "?",
				     to ? to : "?", window,
				     spd_truth_of(r, o, path, "ordered", false) ? " ordered" : "");

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		char *word = spd_text_of(r, o, path, keys[i], false);
		if (word)
			at += (size_t)snprintf(ops + at, room - at, " %s=%.40s", keys[i], word);
		free(word);
	}
	free(from);
	free(to);
}

void
spd_read_chains(struct reading *r, struct spd_conf *c, const json_t *root)
{
	const json_t *chains = json_object_get(root, "chains");
	struct spx_cluster cluster[SPD_CLUSTERS_MAX];
	struct spx_view names = names_of(c, cluster);
	char path[64], ops[SPD_WHY], why[SPX_TEXT_MAX];

	if (chains && !json_is_array(chains))
		spd_reading_failed(r, "chains", "a list is needed here");
	for (size_t i = 0; i < json_array_size(chains) && !r->failed; i++) {
		const json_t *o = json_array_get(chains, i);
		snprintf(path, sizeof path, "chains[%zu]", i);
		spd_keys_are(r, o, path, "from to ordered policy window on_lost");
		if (r->failed)
			return;
		say_chain(r, o, path, ops, sizeof ops);
		if (!r->failed &&
		    !spx_chain_ops(&names, c->chain, &c->nchains, ops, strlen(ops), why))
			spd_reading_failed(r, path, "%s", why);
	}
}

/* ---- all together ---- */

static void
check_cluster(struct reading *r, const struct spd_conf *c, const struct spd_cluster *k)
{
	uint32_t all = spd_slots(k);
	char path[SPD_WHY / 4];

	snprintf(path, sizeof path, "clusters.%s", k->name);
	if (spd_roles(k) > SP_ROLES_MAX)
		spd_reading_failed(r, path, "%u ranks and I/O processes; at most %u are possible",
				   spd_roles(k), SP_ROLES_MAX);
	if (all > c->slots_max)
		spd_reading_failed(
			r, path,
			"%u processes in the beginning, but universe.slots_max is %u; each "
			"death takes one more, so make it much larger",
			all, c->slots_max);
	if (k->io_spares && !k->stage)
		spd_reading_failed(r, path,
				   "io_spares for I/O processes, but it has none: \"in\", "
				   "\"out\" say how many");
	if (k->later && !k->stage)
		spd_reading_failed(
			r, path,
			"\"start\": \"later\" is for stages of a pipeline, "
			"which have \"in\" or \"out\"; mpispctl cluster add starts them");
	if (k->spares && !(c->severity.of[SP_FAULT_PROCESS].set & SP_TAKEOVER) &&
	    !(c->severity.of[SP_FAULT_NODE].set & SP_TAKEOVER))
		spd_reading_failed(r, path,
				   "%u spares, but neither severity.process nor severity.node says "
				   "takeover: nobody would ever use them",
				   k->spares);
}

/* Nobody lets a newcomer in there. */
static void
check_pmix_cluster(struct reading *r, const struct spd_cluster *k)
{
	char path[SPD_WHY / 4];

	snprintf(path, sizeof path, "clusters.%s.pmix", k->name);
	if (k->pmix && k->stage)
		spd_reading_failed(r, path,
				   "%s is a stage of a pipeline, whose processes are of libmpi",
				   k->name);
	else if (k->pmix && k->spares)
		spd_reading_failed(r, path,
				   "%u spares, but PMIx gives a process its rank when it starts: "
				   "a spare has none, and could not take one over",
				   k->spares);
}

static void
check_none_left(struct reading *r, const struct spd_conf *c)
{
	if (c->refill && c->none_left != SP_NONE_LEFT_WAIT)
		spd_reading_failed(r, "spares.none_left",
				   "\"%s\" would never come about with \"refill\": a spare is "
				   "started for each role that has none",
				   c->none_left == SP_NONE_LEFT_STOP ? "stop" : "shrink");
	for (uint32_t i = 0; i < c->nclusters && c->none_left == SP_NONE_LEFT_SHRINK; i++) {
		const struct spd_cluster *k = &c->cluster[i];
		if (k->stage)
			spd_reading_failed(r, "spares.none_left",
					   "\"shrink\" is for clusters that are no stages; %s is "
					   "one: its ranks are each alone in their MPI_COMM_WORLD, "
					   "and the others do the frames of one that waits",
					   k->name);
		else if (k->in_flight == SP_IN_FLIGHT_DROP)
			spd_reading_failed(
				r, "spares.none_left",
				"\"shrink\", but clusters.%s has in_flight drop: a "
				"program that knows of no takeovers cannot know that its "
				"world has fewer ranks",
				k->name);
	}
}

static void
check_chained(struct reading *r, const struct spd_conf *c)
{
	for (uint32_t i = 0; i < c->nchains; i++) {
		const struct spx_chain *h = &c->chain[i];
		const struct spd_cluster *from = &c->cluster[h->from], *to = &c->cluster[h->to];
		char path[64];
		snprintf(path, sizeof path, "chains[%u]", i);
		if (from->compute == 0 || to->compute == 0)
			spd_reading_failed(
				r, path,
				"cluster %s has no ranks (\"compute\"): nobody would %s frames",
				from->compute ? to->name : from->name,
				from->compute ? "take" : "make");
		if (from->out + to->in == 0)
			spd_reading_failed(
				r, path,
				"neither %s has an \"out\" nor %s an \"in\": a chain needs an "
				"I/O process",
				from->name, to->name);
		if (from->later || to->later)
			spd_reading_failed(
				r, path,
				"cluster %s starts later, and nothing runs until all of a "
				"pipeline are there; chain it by mpispctl chain",
				from->later ? from->name : to->name);
	}
}

/* All stages have one table of processes. */
static void
check_stages(struct reading *r, const struct spd_conf *c)
{
	uint32_t roles = 0, slots = 0;
	bool later = true;

	for (uint32_t i = 0; i < c->nclusters; i++) {
		if (!c->cluster[i].stage)
			continue;
		roles += spd_roles(&c->cluster[i]);
		slots += spd_slots(&c->cluster[i]);
		later &= c->cluster[i].later;
	}
	if (roles > SP_ROLES_MAX)
		spd_reading_failed(r, "clusters",
				   "%u ranks and I/O processes of all stages; at most "
				   "%u are possible",
				   roles, SP_ROLES_MAX);
	if (slots && c->slots_max > SPX_PROCS_MAX)
		spd_reading_failed(r, "universe.slots_max", "at most %d with a pipeline",
				   SPX_PROCS_MAX);
	if (slots > c->slots_max)
		spd_reading_failed(
			r, "clusters",
			"%u processes of all stages in the beginning, but universe.slots_max "
			"is %u; each death takes one more, so make it much larger",
			slots, c->slots_max);
	if (slots && later)
		spd_reading_failed(r, "clusters",
				   "all stages start later: nothing would ever begin");
}

/* Voters are the first units of all stages.  Those of a cluster that starts later are not waited
 * for; away: units of `k` among them, anywhere: of all clusters, at "*". */
struct electors {
	uint32_t all, away, anywhere;
	char text[96]; /* names of those of `k` */
};

static struct electors
count_electors(const struct spd_conf *c, const struct spd_cluster *k)
{
	struct electors e = {0};
	uint32_t units = 0, at = 0;

	for (uint32_t u = 0; u < c->nunits; u++)
		units += c->cluster[c->unit[u].cluster].stage;
	e.all = spd_voters(c, units);
	for (uint32_t u = 0, n = 0; u < c->nunits && n < e.all; u++) {
		const struct spd_cluster *of = &c->cluster[c->unit[u].cluster];
		n += of->stage;
		e.anywhere += of->stage && strcmp(c->unit[u].host, SPD_ANYWHERE) == 0;
		if (of != k || !k->later)
			continue;
		e.away++;
		if (at < sizeof e.text - 1)
			at += (uint32_t)snprintf(e.text + at, sizeof e.text - at, "%s%s",
						 at ? ", " : "", c->unit[u].name);
	}
	return e;
}

static void
check_electors(struct reading *r, const struct spd_conf *c)
{
	for (uint32_t i = 0; i < c->nclusters; i++) {
		const struct spd_cluster *k = &c->cluster[i];
		struct electors e = count_electors(c, k);
		char path[SPD_WHY / 4];
		if (e.away == 0 || e.anywhere * 2 < e.all)
			continue;
		snprintf(path, sizeof path, "clusters.%s.units", k->name);
		spd_reading_failed(r, path,
				   "the first %u units vote, and %u of them are at "
				   "\"" SPD_ANYWHERE "\", %s among them: no majority would be "
				   "there to begin; put %s behind the clusters that start now, or "
				   "make universe.voters smaller",
				   e.all, e.anywhere, e.text, k->name);
	}
}

/* What a chain names is a stage. */
static void
mark_stages(struct spd_conf *c)
{
	for (uint32_t i = 0; i < c->nchains; i++)
		c->cluster[c->chain[i].from].stage = c->cluster[c->chain[i].to].stage = true;
}

static void
check_unit_places(struct reading *r, const struct spd_conf *c)
{
	for (uint32_t a = 0; a < c->nunits; a++) {
		const struct spd_unit *u = &c->unit[a];
		bool anywhere = strcmp(u->host, SPD_ANYWHERE) == 0;
		if (anywhere && !c->cluster[u->cluster].later)
			spd_reading_failed(r, "units",
					   "%s is at \"" SPD_ANYWHERE
					   "\", which is for clusters that start later; %s starts "
					   "now",
					   u->name, c->cluster[u->cluster].name);
		for (uint32_t b = a + 1; b < c->nunits && !anywhere; b++)
			if (strcmp(u->host, c->unit[b].host) == 0 && u->port == c->unit[b].port &&
			    u->site == c->unit[b].site)
				spd_reading_failed(r, "units", "%s and %s are both at %s:%u%s%s",
						   u->name, c->unit[b].name, u->host, u->port,
						   c->nsites ? " of site " : "",
						   c->nsites ? c->site[u->site].name : "");
	}
}

void
spd_check_rules(struct reading *r, struct spd_conf *c)
{
	mark_stages(c);
	for (uint32_t i = 0; i < c->nclusters; i++)
		check_cluster(r, c, &c->cluster[i]);
	for (uint32_t i = 0; i < c->nclusters; i++)
		check_pmix_cluster(r, &c->cluster[i]);
	check_unit_places(r, c);
	check_none_left(r, c);
	check_chained(r, c);
	check_stages(r, c);
	check_electors(r, c);
	if (c->slots_max > SP_SLOTS_MAX)
		spd_reading_failed(r, "universe.slots_max", "at most %u", SP_SLOTS_MAX);
}

/* ---- what may not be meant ---- */

/* I/O processes on a side of the cluster where no chain is. */
static bool
is_unchained(const struct spd_conf *c, const struct spd_cluster *k, bool before)
{
	bool any = k->later || (before ? k->in : k->out) == 0;

	for (uint32_t i = 0; i < c->nchains; i++)
		any |= &c->cluster[before ? c->chain[i].to : c->chain[i].from] == k;
	return !any;
}

static bool
warn_cluster(const struct spd_conf *c, const struct spd_cluster *k, uint32_t n, char *text)
{
	uint32_t most = 0;
	uint32_t *on = calloc(k->units, sizeof *on);

	for (uint32_t i = 0; on && i < spd_roles(k); i++)
		most = ++on[k->unit_of[i]] > most ? on[k->unit_of[i]] : most;
	free(on);
	struct electors e = count_electors(c, k);
	if (e.away && n-- == 0)
		snprintf(text, SPD_WHY,
			 "cluster %s starts later, and %u of the %u voters are its (%s), as the "
			 "first units vote: until these are up they count as dead; put it behind "
			 "the clusters that start now",
			 k->name, e.away, e.all, e.text);
	else if (k->units == 2 && !k->stage && n-- == 0)
		snprintf(text, SPD_WHY,
			 "cluster %s has two units: the death of %s ends it, as one of two is no "
			 "majority; of two, only the death of the other one is survived",
			 k->name, c->unit[k->first].name);
	else if (k->units > 1 && k->spares && most > k->spares && n-- == 0)
		snprintf(text, SPD_WHY,
			 "cluster %s has %u spares, and a unit with %u processes: when that dies "
			 "some ranks wait",
			 k->name, k->spares, most);
	else if (k->spares > k->units && n-- == 0)
		snprintf(text, SPD_WHY,
			 "cluster %s has more spares than units (%u on %u): spares on one node die "
			 "together",
			 k->name, k->spares, k->units);
	else if ((is_unchained(c, k, true) || is_unchained(c, k, false)) && n-- == 0)
		snprintf(text, SPD_WHY,
			 "cluster %s has I/O processes %s it, and no chain there: they do nothing "
			 "until mpispctl chain makes one",
			 k->name, is_unchained(c, k, true) ? "before" : "behind");
	else if (k->units == 1 && c->nunits > 1 && n-- == 0)
		snprintf(text, SPD_WHY, "cluster %s has one unit: it does not survive its death",
			 k->name);
	else
		return false;
	return true;
}

/* All that agree on one table, and so share its room: all stages, or one cluster. */
static uint32_t
count_largest_table(const struct spd_conf *c)
{
	uint32_t stages = 0, most = 0;

	for (uint32_t i = 0; i < c->nclusters; i++) {
		const struct spd_cluster *k = &c->cluster[i];
		uint32_t n = spd_slots(k);
		if (k->stage)
			n = stages += n;
		most = n > most ? n : most;
	}
	return most;
}

static bool
warn_universe(const struct spd_conf *c, uint32_t n, char *text)
{
	uint32_t begin = count_largest_table(c);

	if (!c->psk_file && c->nunits > 1 && n-- == 0)
		snprintf(text, SPD_WHY,
			 "universe.psk_file is not set: whoever reaches the daemons' ports can "
			 "command them");
	else if (c->state[0] != '/' && n-- == 0)
		snprintf(text, SPD_WHY,
			 "universe.state \"%s\" is a folder below the one where a daemon is "
			 "started: started elsewhere a voter finds no journal, and forgets what it "
			 "promised; name it from / on",
			 c->state);
	else if (c->slots_max - begin < begin && n-- == 0)
		snprintf(text, SPD_WHY,
			 "universe.slots_max is %u, and %u processes begin: after %u deaths none "
			 "is started any more; make it larger",
			 c->slots_max, begin, c->slots_max - begin);
	else
		return false;
	return true;
}

/* A stage that is passed by, and behind which there is none. */
static bool
warn_bypass(const struct spd_conf *c, const struct spx_chain *h, char *text)
{
	if (h->on_lost != SPX_BYPASS)
		return false;
	for (uint32_t i = 0; i < c->nchains; i++)
		if (c->chain[i].from == h->to)
			return false;
	snprintf(text, SPD_WHY,
		 "chain %s -> %s has on_lost bypass, but no chain leads on from %s: frames for it "
		 "wait",
		 c->cluster[h->from].name, c->cluster[h->to].name, c->cluster[h->to].name);
	return true;
}

bool
spd_conf_warning(const struct spd_conf *c, uint32_t n, char text[SPD_WHY])
{
	for (uint32_t k = 0; k < 3 && warn_universe(c, k, text); k++)
		if (n-- == 0)
			return true;
	for (uint32_t i = 0; i < c->nchains; i++)
		if (warn_bypass(c, &c->chain[i], text) && n-- == 0)
			return true;
	for (uint32_t i = 0; i < c->nclusters; i++) {
		uint32_t k = 0;
		while (k < 6 && warn_cluster(c, &c->cluster[i], k, text)) {
			if (n-- == 0)
				return true;
			k++;
		}
	}
	return false;
}
