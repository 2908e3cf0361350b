/* SPDX-License-Identifier: BSD-2-Clause */
/* The difference between two configurations, and what of it a running relay can take over. */
#include "rd/reload.h"

#include "conf_internal.h"
#include "suci/addr.h"

#include <string.h>

#include <bsd/string.h>

/* What only the control thread reads, or tells the others by mail. */
static const char *const reloadable[] = {
	"impi.server",
	"impi.auth",
	"impi.key_file",
	"impi.allow",
	"impi.step_timeout_s",
	"sealing.key_file",
	"sealing.peers_file",
	"sealing.identity_file",
	"idle",
	"suci.liveness_ms",
	"suci.keepalive_ms",
	"suci.ack_delay_us",
	"suci.private_cc",
	"suci.global_cc",
	"suci.initial_window",
	"suci.private_window",
	"suci.global_window",
	"suci.global_rate_mbps",
	"suci.global_ecn",
	"suci.global_migrate",
	"trunks.policy",
	"trunks.pairs",
	"trunks.weight",
	"drain_ms",
	"log_level",
	"stats_file",
};

bool
rd_conf_reloads(const struct rd_key *key)
{
	for (size_t i = 0; i < sizeof reloadable / sizeof reloadable[0]; i++)
		if (strcmp(reloadable[i], key->path) == 0)
			return true;
	return false;
}

static const void *
field_in(const struct rd_conf *c, const struct rd_key *key)
{
	return (const uint8_t *)c + key->offset;
}

static uint32_t
number_in(const struct rd_conf *c, const struct rd_key *key)
{
	uint32_t n;
	memcpy(&n, field_in(c, key), sizeof n);
	return n;
}

static bool
same_relays(const struct rd_conf *a, const struct rd_conf *b)
{
	bool same = a->cluster.nrelays == b->cluster.nrelays;
	for (uint32_t i = 0; same && i < a->cluster.nrelays; i++) {
		struct rd_conf_relay p = a->cluster.relay[i], q = b->cluster.relay[i];
		if (p.workers == a->workers && q.workers == b->workers)
			q.workers = p.workers; /* as many as the relay itself: not written down */
		same = memcmp(&p, &q, sizeof p) == 0;
	}
	return same;
}

static bool
same_lights(const struct rd_conf *a, const struct rd_conf *b)
{
	bool same = a->optical.nports == b->optical.nports;
	for (uint32_t i = 0; same && i < a->optical.nports; i++) {
		const struct rd_conf_port *p = &a->port[RD_LEG_LIGHT + i];
		const struct rd_conf_port *q = &b->port[RD_LEG_LIGHT + i];
		same = strcmp(p->device, q->device) == 0 &&
		       strcmp(p->interface, q->interface) == 0 && p->address == q->address &&
		       p->prefix_len == q->prefix_len &&
		       a->optical.at[i].in == b->optical.at[i].in &&
		       a->optical.at[i].out == b->optical.at[i].out;
	}
	return same;
}

static bool
same_extra(const struct rd_conf *a, const struct rd_conf *b)
{
	bool same = a->eal.nextra == b->eal.nextra;
	for (uint32_t i = 0; same && i < a->eal.nextra; i++)
		same = strcmp(a->eal.extra[i], b->eal.extra[i]) == 0;
	return same;
}

bool
rd_conf_same_value(const struct rd_conf *a, const struct rd_conf *b, const struct rd_key *key)
{
	switch (key->type) {
	case RD_KEY_STRING:
		return strcmp(field_in(a, key), field_in(b, key)) == 0;
	case RD_KEY_BOOL:
		return *(const bool *)field_in(a, key) == *(const bool *)field_in(b, key);
	case RD_KEY_ENUM:
	case RD_KEY_UINT:
	case RD_KEY_IPV4:
		return number_in(a, key) == number_in(b, key);
	case RD_KEY_STRINGS:
		return same_extra(a, b);
	case RD_KEY_RELAYS:
		return same_relays(a, b);
	case RD_KEY_LIGHTS:
		return same_lights(a, b);
	}
	return true;
}

void
rd_conf_put_value(const struct rd_conf *c, const struct rd_key *key, char out[RD_VALUE_TEXT])
{
	uint32_t n = 0;
	switch (key->type) {
	case RD_KEY_STRING:
		snprintf(out, RD_VALUE_TEXT, "\"%s\"", (const char *)field_in(c, key));
		return;
	case RD_KEY_BOOL:
		strlcpy(out, *(const bool *)field_in(c, key) ? "true" : "false", RD_VALUE_TEXT);
		return;
	case RD_KEY_UINT:
		snprintf(out, RD_VALUE_TEXT, "%u", number_in(c, key));
		return;
	case RD_KEY_IPV4:
		(void)rd_ipv4_text(number_in(c, key), out);
		return;
	case RD_KEY_ENUM: {
		const char *word = key->words;
		for (n = number_in(c, key); n && word; n--)
			word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL;
		snprintf(out, RD_VALUE_TEXT, "%.*s", word ? (int)strcspn(word, "|") : 1,
			 word ? word : "?");
		return;
	}
	case RD_KEY_STRINGS:
		n = c->eal.nextra;
		break;
	case RD_KEY_RELAYS:
		n = c->cluster.nrelays;
		break;
	case RD_KEY_LIGHTS:
		n = c->optical.nports;
		break;
	}
	snprintf(out, RD_VALUE_TEXT, "a list of %u", n);
}

/* Why a value cannot be taken over though the key can; "": it can. */
static const char *
find_hindrance(const struct rd_conf *runs, const struct rd_conf *file, const struct rd_key *key)
{
	struct suci_addr server;
	if (strcmp(key->path, "impi.server") == 0 && !rd_conf_server(file, &server))
		return "a name is looked up at the start; an address can be reloaded";
	if ((strcmp(key->path, "sealing.identity_file") == 0 ||
	     strcmp(key->path, "sealing.peers_file") == 0) &&
	    !*runs->sealing.identity_file != !*file->sealing.identity_file)
		return "all sites must go to identities, or leave them, together";
	return "";
}

static bool
can_take(const struct rd_conf *runs, const struct rd_conf *file, const struct rd_key *key)
{
	return rd_conf_reloads(key) && !*find_hindrance(runs, file, key);
}

void
rd_conf_changes(const struct rd_conf *runs, const struct rd_conf *file, struct rd_changes *out)
{
	out->count = out->restart = 0;
	for (uint32_t i = 0; i < rd_conf_keys_count && out->count < RD_CHANGES_MAX; i++) {
		const struct rd_key *key = &rd_conf_keys[i];
		struct rd_change *c = &out->change[out->count];
		if (rd_conf_same_value(runs, file, key))
			continue;
		c->key = key;
		c->why = rd_conf_reloads(key) ? find_hindrance(runs, file, key) : "";
		c->now = can_take(runs, file, key);
		rd_conf_put_value(runs, key, c->from);
		rd_conf_put_value(file, key, c->to);
		out->restart += !c->now;
		out->count++;
	}
}

/* And what is read out of their texts. */
static void
take_derived(struct rd_conf *to, const struct rd_conf *from)
{
	memcpy(to->impi.server_host, from->impi.server_host, sizeof to->impi.server_host);
	to->impi.server_port = from->impi.server_port;
	to->impi.allowed = from->impi.allowed;
	memcpy(to->trunks.pair, from->trunks.pair, sizeof to->trunks.pair);
	to->trunks.npairs = from->trunks.npairs;
}

bool
rd_conf_merge(const struct rd_conf *runs, const struct rd_conf *file, struct rd_conf *out,
	      struct rd_faults *faults)
{
	uint32_t before = faults->count;
	*out = *runs;
	for (uint32_t i = 0; i < rd_conf_keys_count; i++)
		if (can_take(runs, file, &rd_conf_keys[i]))
			memcpy((uint8_t *)out + rd_conf_keys[i].offset,
			       field_in(file, &rd_conf_keys[i]), rd_conf_keys[i].size);
	rd_conf_cross_check(out, NULL, 0, faults);
	return faults->count == before;
}

void
rd_conf_take(struct rd_conf *runs, const struct rd_conf *merged)
{
	for (uint32_t i = 0; i < rd_conf_keys_count; i++)
		if (rd_conf_reloads(&rd_conf_keys[i]))
			memcpy((uint8_t *)runs + rd_conf_keys[i].offset,
			       field_in(merged, &rd_conf_keys[i]), rd_conf_keys[i].size);
	take_derived(runs, merged);
}
