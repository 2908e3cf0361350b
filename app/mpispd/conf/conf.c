/* SPDX-License-Identifier: BSD-2-Clause */
/* The file: universe, detector, units, clusters, severity.  Chains are in rules.c, with what must
 * hold for all of it together. */
#include "rules.h"
#include "sites.h"

#include "base/siphash.h"
#include "spx/spx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1u << 20)

/* ---- universe, detect, spares ---- */

static void
read_universe(struct reading *r, struct spd_conf *c, const json_t *root)
{
	const json_t *u = json_object_get(root, "universe");
	char *name;

	if (u)
		spd_keys_are(r, u, "universe",
			     "name slots_max psk_file state voters start_timeout_s");
	name = spd_text_of(r, u, "universe", "name", true);
	if (name && spd_name_is_good(r, name, "universe.name", sizeof c->name))
		snprintf(c->name, sizeof c->name, "%s", name);
	free(name);
	c->slots_max = spd_number_of(r, u, "universe", "slots_max", 2, SP_SLOTS_MAX, 1024);
	c->voters = spd_number_of(r, u, "universe", "voters", 1, 7, 3);
	c->start_timeout_s = spd_number_of(r, u, "universe", "start_timeout_s", 1, 86400, 60);
	c->psk_file = spd_text_of(r, u, "universe", "psk_file", false);
	c->state = spd_text_of(r, u, "universe", "state", false);
	if (!c->state)
		c->state = strdup("/var/lib/mpispd");
}

static void
read_detect(struct reading *r, struct spd_conf *c, const json_t *root)
{
	const json_t *d = json_object_get(root, "detect");

	if (d)
		spd_keys_are(r, d, "detect", "beat_ms missed hang_s restart_ms");
	c->beat_ms = spd_number_of(r, d, "detect", "beat_ms", 2, 10000, 20);
	c->missed = spd_number_of(r, d, "detect", "missed", 2, 1000, 5);
	c->hang_s = spd_number_of(r, d, "detect", "hang_s", 0, 86400, 0);
	c->restart_ms = spd_number_of(r, d, "detect", "restart_ms", 0, 3600000, 100);
}

static void
read_spares(struct reading *r, struct spd_conf *c, const json_t *root)
{
	const json_t *s = json_object_get(root, "spares");

	if (!s)
		return;
	spd_keys_are(r, s, "spares", "none_left refill");
	char *word = spd_text_of(r, s, "spares", "none_left", false);
	if (word && strcmp(word, "stop") == 0)
		c->none_left = SP_NONE_LEFT_STOP;
	else if (word && strcmp(word, "shrink") == 0)
		c->none_left = SP_NONE_LEFT_SHRINK;
	else if (word && strcmp(word, "wait") != 0)
		spd_reading_failed(r, "spares.none_left", "\"%.40s\" is none of wait, stop, shrink",
				   word);
	free(word);
	c->refill = spd_truth_of(r, s, "spares", "refill", false);
}

static void
read_severity(struct reading *r, struct spd_conf *c, const json_t *root)
{
	const json_t *s = json_object_get(root, "severity");
	char why[SPD_WHY / 2], path[64];

	c->severity = sp_severity_default();
	if (!s)
		return;
	spd_keys_are(r, s, "severity", "process node path cluster master");
	for (unsigned f = 0; f < SP_FAULT_COUNT; f++) {
		const json_t *v = json_object_get(s, sp_fault_name(f));
		size_t n = json_is_array(v) ? json_array_size(v) : v ? 1 : 0;
		if (n == 0)
			continue;
		snprintf(path, sizeof path, "severity.%s", sp_fault_name(f));
		c->severity.of[f] = (struct sp_measures){0};
		for (size_t i = 0; i < n; i++) {
			const json_t *word = json_is_array(v) ? json_array_get(v, i) : v;
			const char *text = json_string_value(word);
			if (!text)
				spd_reading_failed(r, path,
						   "a text or a list of texts is needed here");
			else if (!sp_severity_add(&c->severity, (enum sp_fault)f, text, why,
						  sizeof why))
				spd_reading_failed(r, path, "%s", why);
		}
		if (!sp_severity_fits(&c->severity, (enum sp_fault)f, why, sizeof why))
			spd_reading_failed(r, path, "%s", why);
	}
}

/* ---- units ---- */

/* "10.0.0.1:7820", "10.0.0.1", "node1". */
static void
place_unit(struct reading *r, struct spd_unit *u, const char *at, const char *path)
{
	const char *colon = strrchr(at, ':');
	size_t n = colon ? (size_t)(colon - at) : strlen(at);
	char *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : SPD_PORT;

	if (n == 0 || n >= sizeof u->host || port == 0 || port > 65535 || (end && *end)) {
		spd_reading_failed(r, path, "\"%.80s\" is no HOST or HOST:PORT", at);
		return;
	}
	memcpy(u->host, at, n);
	u->host[n] = '\0';
	u->port = (uint16_t)port;
}

static void
add_conf_unit(struct reading *r, struct spd_conf *c, const json_t *places, const char *name,
	      const char *path)
{
	const json_t *at = json_object_get(places, name);
	char where[SPD_WHY / 2];

	if (!spd_name_is_good(r, name, path, SP_NAME_MAX))
		return;
	uint32_t same = spd_conf_unit(c, name);
	if (same < c->nunits) {
		spd_reading_failed(r, path,
				   "unit %s is in cluster %s already; each unit is in one, once",
				   name, c->cluster[c->unit[same].cluster].name);
		return;
	}
	if (c->nunits == SPD_UNITS_MAX) {
		spd_reading_failed(r, path, "more than %u units", SPD_UNITS_MAX);
		return;
	}
	struct spd_unit *u = &c->unit[c->nunits++];
	struct spd_cluster *k = &c->cluster[c->nclusters];
	snprintf(u->name, sizeof u->name, "%s", name);
	u->cluster = (uint16_t)c->nclusters;
	u->index = (uint16_t)k->units++;
	snprintf(where, sizeof where, "units.%s", name);
	const json_t *place = json_is_object(at) ? json_object_get(at, "at") : at;
	if (json_is_object(at))
		spd_keys_are(r, at, where, "at site");
	if (place && !json_is_string(place))
		spd_reading_failed(r, where,
				   "a text is needed here, HOST or HOST:PORT, or {\"at\": that, "
				   "\"site\": NAME}");
	else
		place_unit(r, u, place ? json_string_value(place) : name, where);
	spd_site_of_unit(r, c, u, at, where);
}

/* ---- clusters ---- */

static void
read_relay(struct reading *r, struct spd_cluster *k, const json_t *o, const char *path)
{
	char where[SPD_WHY / 2], *text = spd_text_of(r, o, path, "relay", false);

	if (!text)
		return;
	snprintf(where, sizeof where, "%s.relay", path);
	if (!spd_are_relays(text))
		spd_reading_failed(r, where,
				   "\"%.80s\" is no IPv4:PORT of a relay, or of two with a comma "
				   "between",
				   text);
	else
		snprintf(k->relay, sizeof k->relay, "%s", text);
	free(text);
}

static void
read_conf_words(struct reading *r, char **to, const json_t *o, const char *path, const char *key)
{
	const json_t *p = json_object_get(o, key);
	size_t n = json_array_size(p);
	char where[SPD_WHY / 2];

	snprintf(where, sizeof where, "%s.%s", path, key);
	if (n == 0 || n > SPD_WORDS_MAX) {
		spd_reading_failed(r, where,
				   "a list of 1 to %u words is needed here, as "
				   "[\"./pipeline\", \"filter\"]",
				   SPD_WORDS_MAX);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *word = json_string_value(json_array_get(p, i));
		to[i] = word ? strdup(word) : NULL;
		if (!to[i])
			spd_reading_failed(r, where, "word %zu is no text", i);
	}
}

static void
read_in_flight(struct reading *r, struct spd_cluster *k, const json_t *o, const char *path)
{
	char where[SPD_WHY / 2], *word = spd_text_of(r, o, path, "in_flight", false);

	snprintf(where, sizeof where, "%s.in_flight", path);
	if (word) {
		k->in_flight = sp_in_flight_of(word);
		if (k->in_flight == SP_IN_FLIGHT_COUNT)
			spd_reading_failed(r, where, "\"%.40s\" is none of epoch, ulfm, drop",
					   word);
	}
	free(word);
}

static void
read_begin(struct reading *r, struct spd_cluster *k, const json_t *o, const char *path)
{
	char where[SPD_WHY / 2], *word = spd_text_of(r, o, path, "start", false);

	snprintf(where, sizeof where, "%s.start", path);
	k->later = word && strcmp(word, "later") == 0;
	if (word && !k->later && strcmp(word, "now") != 0)
		spd_reading_failed(r, where, "\"%.40s\" is none of now, later", word);
	free(word);
}

/* Ranks in blocks, then I/O processes in turn, then spares backwards. */
static void
lay_out_cluster(struct reading *r, struct spd_cluster *k, const char *path)
{
	uint32_t roles = spd_roles(k), n = spd_slots(k);

	if (r->failed || roles == 0) {
		spd_reading_failed(r, path, "it has no process: compute, in and out are 0");
		return;
	}
	k->unit_of = calloc(n, sizeof *k->unit_of);
	for (uint32_t i = 0; k->unit_of && i < n; i++)
		k->unit_of[i] = (uint16_t)(i < k->compute ? (uint64_t)i * k->units / k->compute
					   : i < roles	  ? (i - k->compute) % k->units
							  : k->units - 1 - (i - roles) % k->units);
	if (!k->unit_of)
		spd_reading_failed(r, path, "out of memory");
}

static void
read_conf_cluster(struct reading *r, struct spd_conf *c, const char *name, const json_t *o,
		  const json_t *places)
{
	struct spd_cluster *k = &c->cluster[c->nclusters];
	const json_t *units = json_object_get(o, "units");
	char path[SPD_WHY / 4], where[SPD_WHY / 2];

	snprintf(path, sizeof path, "clusters.%.60s", name);
	spd_keys_are(r, o, path,
		     "units program wdir compute in out spares in_flight relay io "
		     "io_spares start pmix");
	if (!spd_name_is_good(r, name, path, sizeof k->name))
		return;
	snprintf(k->name, sizeof k->name, "%s", name);
	k->first = c->nunits;
	snprintf(where, sizeof where, "%s.units", path);
	if (json_array_size(units) == 0)
		spd_reading_failed(r, where, "a list of names of units is needed here");
	for (size_t i = 0; i < json_array_size(units) && !r->failed; i++) {
		const char *unit = json_string_value(json_array_get(units, i));
		if (unit)
			add_conf_unit(r, c, places, unit, where);
		else
			spd_reading_failed(r, where, "a list of names of units is needed here");
	}
	read_begin(r, k, o, path);
	if (!k->later || json_object_get(o, "program"))
		read_conf_words(r, k->program, o, path, "program");
	if (json_object_get(o, "io"))
		read_conf_words(r, k->io, o, path, "io");
	k->wdir = spd_text_of(r, o, path, "wdir", false);
	k->compute = spd_number_of(r, o, path, "compute", 0, SP_ROLES_MAX, 0);
	k->in = spd_number_of(r, o, path, "in", 0, 256, 0);
	k->out = spd_number_of(r, o, path, "out", 0, 256, 0);
	k->spares = spd_number_of(r, o, path, "spares", 0, SP_ROLES_MAX, 0);
	k->io_spares = spd_number_of(r, o, path, "io_spares", 0, 256, 0);
	k->stage = k->in + k->out > 0;
	read_in_flight(r, k, o, path);
	k->pmix = spd_truth_of(r, o, path, "pmix", false);
	read_relay(r, k, o, path);
	if (!r->failed)
		lay_out_cluster(r, k, path);
	c->nclusters++;
}

static void
read_conf_clusters(struct reading *r, struct spd_conf *c, const json_t *root)
{
	json_t *all = json_object_get(root, "clusters"), *o;
	const json_t *places = json_object_get(root, "units");
	const char *name;

	if (places && !json_is_object(places))
		spd_reading_failed(r, "units",
				   "an object is needed here: {\"n0\": \"10.0.0.1:%u\"}", SPD_PORT);
	if (json_object_size(all) == 0 || json_object_size(all) > SPD_CLUSTERS_MAX)
		spd_reading_failed(r, "clusters", "1 to %u clusters are needed here",
				   SPD_CLUSTERS_MAX);
	json_object_foreach(all, name, o) if (!r->failed) read_conf_cluster(r, c, name, o, places);
	json_object_foreach((json_t *)(uintptr_t)places, name,
			    o) if (!r->failed && spd_conf_unit(c, name) == c->nunits)
		spd_reading_failed(r, "units", "no cluster has unit %s", name);
}

/* ---- a pipeline ---- */

static void
read_pipeline(struct reading *r, struct spd_conf *c, const json_t *root)
{
	const json_t *p = json_object_get(root, "pipeline");

	if (p)
		spd_keys_are(r, p, "pipeline",
			     "frame_max room ahead stall_ms missing_ms set_aside");
	c->frame_max = spd_number_of(r, p, "pipeline", "frame_max", 64, 1u << 30, 1u << 20);
	c->room = spd_number_of(r, p, "pipeline", "room", 1, 1024, 16);
	c->ahead = spd_number_of(r, p, "pipeline", "ahead", 1, SPX_AHEAD_MAX, 2);
	c->set_aside = spd_number_of(r, p, "pipeline", "set_aside", 0, SPX_ASIDE_MAX, 0);
	if (c->set_aside == 1)
		spd_reading_failed(r, "pipeline.set_aside",
				   "0, never, or 2 to %u: of one death nobody knows which of its "
				   "frames was the cause",
				   SPX_ASIDE_MAX);
	c->stall_ms = spd_number_of(r, p, "pipeline", "stall_ms", 0, 3600000, 5000);
	c->missing_ms = spd_number_of(r, p, "pipeline", "missing_ms", 0, 3600000, 5000);
}

/* ---- what units have to agree on ---- */

static void
hash_json(struct reading *r, const json_t *o, uint64_t *hash)
{
	static const uint8_t key[16] = "mpispd";
	char *text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

	if (text)
		*hash = base_siphash(key, text, strlen(text));
	else
		spd_reading_failed(r, "", "out of memory");
	free(text);
}

/* What is a cluster's own is taken out of `all` and put together in what is returned. */
static json_t *
part_own(json_t *all, const char *name)
{
	static const char *const own[] = {"program", "io", "wdir", "relay"};
	json_t *o = json_object_get(json_object_get(all, "clusters"), name), *unit;
	json_t *places = json_object_get(all, "units"), *part = json_object();
	size_t i;

	for (i = 0; i < sizeof own / sizeof *own; i++) {
		json_object_set(part, own[i], json_object_get(o, own[i]));
		json_object_del(o, own[i]);
	}
	json_array_foreach(json_object_get(o, "units"), i, unit)
	{
		const char *at = json_string_value(unit);
		json_object_set(part, at, json_object_get(places, at));
		json_object_del(places, at);
	}
	if (json_object_size(places) == 0)
		json_object_del(all, "units");
	return part;
}

static void
hash_parts(struct reading *r, struct spd_conf *c, const json_t *root)
{
	json_t *all = json_deep_copy(root);

	for (uint32_t k = 0; all && k < c->nclusters; k++) {
		json_t *part = c->cluster[k].later ? part_own(all, c->cluster[k].name) : NULL;
		if (part)
			hash_json(r, part, &c->cluster[k].own);
		json_decref(part);
	}
	hash_json(r, all, &c->hash);
	json_decref(all);
}

/* ---- all of it ---- */

static void
fill_conf(struct reading *r, struct spd_conf *c, const json_t *root)
{
	spd_keys_are(r, root, "",
		     "universe detect sites units clusters chains pipeline severity spares");
	if (r->failed)
		return;
	read_universe(r, c, root);
	read_detect(r, c, root);
	read_spares(r, c, root);
	read_severity(r, c, root);
	read_pipeline(r, c, root);
	if (!r->failed)
		spd_read_sites(r, c, root);
	if (!r->failed)
		read_conf_clusters(r, c, root);
	if (!r->failed)
		spd_read_chains(r, c, root);
	if (!r->failed)
		spd_check_rules(r, c);
	if (!r->failed)
		spd_check_sites(r, c);
}

struct spd_conf *
spd_conf_parse(const char *name, const char *text, size_t len, char why[SPD_WHY])
{
	struct reading r = {.why = why};
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	struct spd_conf *c;

	why[0] = '\0';
	if (!root) {
		snprintf(why, SPD_WHY, "%s:%d: %s", name, error.line, error.text);
		return NULL;
	}
	c = calloc(1, sizeof *c);
	if (c)
		fill_conf(&r, c, root);
	if (c && !r.failed)
		hash_parts(&r, c, root);
	json_decref(root);
	if (!c) {
		snprintf(why, SPD_WHY, "out of memory");
		return NULL;
	}
	if (!r.failed)
		return c;
	spd_conf_free(c);
	return NULL;
}

struct spd_conf *
spd_conf_read(const char *file, char why[SPD_WHY])
{
	FILE *f = fopen(file, "re");
	char *text = f ? malloc(FILE_MAX) : NULL;
	struct spd_conf *c = NULL;

	if (!text) {
		snprintf(why, SPD_WHY, "%s: %s", file, strerror(errno));
		if (f)
			fclose(f);
		return NULL;
	}
	size_t n = fread(text, 1, FILE_MAX, f);
	if (n == FILE_MAX)
		snprintf(why, SPD_WHY, "%s: longer than %u bytes", file, FILE_MAX - 1);
	else
		c = spd_conf_parse(file, text, n, why);
	free(text);
	fclose(f);
	return c;
}

void
spd_conf_free(struct spd_conf *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < SPD_CLUSTERS_MAX; i++) {
		struct spd_cluster *k = &c->cluster[i];
		for (uint32_t w = 0; w < SPD_WORDS_MAX; w++)
			free(k->program[w]);
		for (uint32_t w = 0; w < SPD_WORDS_MAX; w++)
			free(k->io[w]);
		free(k->wdir);
		free(k->unit_of);
	}
	free(c->psk_file);
	free(c->state);
	free(c);
}

uint32_t
spd_conf_unit(const struct spd_conf *c, const char *name)
{
	uint32_t u = 0;

	while (u < c->nunits && strcmp(c->unit[u].name, name) != 0)
		u++;
	return u;
}
