/* SPDX-License-Identifier: BSD-2-Clause */
/* Sites: nodes that reach each other by their addresses, and others by the relay of their site. */
#include "sites.h"

#include "base/bytes.h"
#include "base/siphash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many: one, or two that differ with a comma between; 0: it is none of that. */
static uint32_t
count_site_relays(const char *text)
{
	const char *comma = strchr(text, ',');
	char first[SP_NAME_MAX];

	if (!comma)
		return spd_is_relay(text);
	if (strlen(text) >= sizeof first)
		return 0;
	snprintf(first, sizeof first, "%.*s", (int)(comma - text), text);
	return spd_is_relay(first) && spd_is_relay(comma + 1) && strcmp(first, comma + 1) != 0 ? 2
											       : 0;
}

/* "10.0.0.254:7812" */
static uint32_t
read_relay_place(struct reading *r, const json_t *o, const char *path, const char *key,
		 const char *which, char to[SP_NAME_MAX])
{
	char where[SPD_WHY / 2], *text = spd_text_of(r, o, path, key, true);
	uint32_t n = text ? count_site_relays(text) : 0;

	snprintf(where, sizeof where, "%s.%s", path, key);
	if (text && n == 0)
		spd_reading_failed(r, where,
				   "\"%.80s\" is no IPv4:PORT of a relay, %s, or of two with a "
				   "comma between",
				   text, which);
	else if (text)
		snprintf(to, SP_NAME_MAX, "%s", text);
	free(text);
	return n;
}

/* One of them is in both. */
static bool
share_relay(const char *a, const char *b)
{
	size_t n = strcspn(a, ",");
	char first[SP_NAME_MAX + 2], all[SP_NAME_MAX + 2];

	snprintf(all, sizeof all, ",%s,", b);
	snprintf(first, sizeof first, ",%.*s,", (int)n, a);
	if (strstr(all, first))
		return true;
	return a[n] && share_relay(a + n + 1, b);
}

void
spd_read_sites(struct reading *r, struct spd_conf *c, const json_t *root)
{
	json_t *all = json_object_get(root, "sites"), *o;
	const char *name;
	char path[SPD_WHY / 4];

	if (!all)
		return;
	if (!json_is_object(all) || json_object_size(all) == 0 ||
	    json_object_size(all) > SPD_SITES_MAX)
		spd_reading_failed(r, "sites",
				   "1 to %u sites are needed here: {\"east\": {\"relay\": "
				   "\"10.0.0.254:7812\", \"wan\": \"192.0.2.1:7812\"}}",
				   SPD_SITES_MAX);
	json_object_foreach(all, name, o)
	{
		struct spd_site *s = &c->site[c->nsites];
		snprintf(path, sizeof path, "sites.%.60s", name);
		if (r->failed || !spd_name_is_good(r, name, path, sizeof s->name))
			return;
		spd_keys_are(r, o, path, "relay wan");
		snprintf(s->name, sizeof s->name, "%s", name);
		uint32_t n = read_relay_place(r, o, path, "relay", "as nodes of the site reach it",
					      s->relay);
		if (n != read_relay_place(r, o, path, "wan", "as relays of other sites reach it",
					  s->wan))
			spd_reading_failed(r, path,
					   "\"relay\" and \"wan\" name another number of relays");
		for (uint32_t i = 0; i < c->nsites && !r->failed; i++)
			if (share_relay(s->wan, c->site[i].wan))
				spd_reading_failed(r, path,
						   "sites %s and %s have the same relay, \"wan\" "
						   "%s: nodes of both would claim one address",
						   c->site[i].name, s->name, s->wan);
		c->nsites++;
	}
}

void
spd_site_of_unit(struct reading *r, struct spd_conf *c, struct spd_unit *u, const json_t *at,
		 const char *path)
{
	char *site = json_is_object(at) ? spd_text_of(r, at, path, "site", false) : NULL;
	uint32_t i = 0;

	u->site = SPD_NO_SITE;
	while (site && i < c->nsites && strcmp(c->site[i].name, site) != 0)
		i++;
	if (site && i == c->nsites)
		spd_reading_failed(r, path, "there is no site %.60s in \"sites\"", site);
	else if (site)
		u->site = (uint16_t)i;
	else if (c->nsites)
		spd_reading_failed(r, path,
				   "it names no site, and there are \"sites\": say {\"at\": "
				   "\"10.0.0.1\", \"site\": \"%s\"}",
				   c->site[0].name);
	free(site);
}

static void
check_cluster_sites(struct reading *r, const struct spd_conf *c, const struct spd_cluster *k)
{
	const struct spd_unit *first = &c->unit[k->first];
	char path[SPD_WHY / 4];

	snprintf(path, sizeof path, "clusters.%s", k->name);
	if (k->relay[0])
		spd_reading_failed(r, path,
				   "its relay is that of its units' sites; leave \"relay\" out");
	for (uint32_t i = 1; i < k->units && !k->stage; i++)
		if (c->unit[k->first + i].site != first->site)
			spd_reading_failed(r, path,
					   "%s is at site %s and %s at %s, but it is no stage of a "
					   "pipeline: only frames go between sites",
					   first->name, c->site[first->site].name,
					   c->unit[k->first + i].name,
					   c->site[c->unit[k->first + i].site].name);
}

void
spd_check_sites(struct reading *r, const struct spd_conf *c)
{
	char path[SPD_WHY / 4];

	for (uint32_t i = 0; i < c->nsites; i++) {
		bool any = false;
		for (uint32_t u = 0; u < c->nunits; u++)
			any |= c->unit[u].site == i;
		snprintf(path, sizeof path, "sites.%s", c->site[i].name);
		if (!any)
			spd_reading_failed(r, path, "no unit is at that site");
	}
	for (uint32_t i = 0; i < c->nclusters && c->nsites && !r->failed; i++)
		check_cluster_sites(r, c, &c->cluster[i]);
}

bool
spd_unit_is_near(const struct spd_conf *c, uint32_t a, uint32_t b)
{
	return c->unit[a].site == c->unit[b].site;
}

const char *
spd_relay_of_unit(const struct spd_conf *c, uint32_t unit)
{
	const struct spd_unit *u = &c->unit[unit];

	return u->site == SPD_NO_SITE ? c->cluster[u->cluster].relay : c->site[u->site].relay;
}

/* From a name alone: files that differ elsewhere have to lead to a word about it. */
static uint64_t
hash_universe(const struct spd_conf *c, const char what[16])
{
	uint8_t key[16];

	memcpy(key, what, sizeof key);
	return base_siphash(key, c->name, strlen(c->name));
}

struct spd_claim
spd_claim_of_unit(const struct spd_conf *c, uint32_t unit, uint32_t numbers)
{
	struct spd_claim k = {.realm = hash_universe(c, "daemons of it..")};
	uint64_t token = hash_universe(c, "who may write..");
	uint8_t key[16] = {0}, said[4];

	be64_store(key, token);
	be32_store(said, unit);
	k.token = base_siphash(key, said, sizeof said);
	k.number =
		(uint32_t)(hash_universe(c, "labels of it...") % (numbers - SPD_UNITS_MAX)) + unit;
	return k;
}
