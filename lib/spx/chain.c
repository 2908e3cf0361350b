/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts that change chains. */
#include "internal.h"

#include <string.h>

struct word {
	const char *at;
	size_t len;
};

#define WORDS_MAX 8

static const char *const policy_names[] = {"rr", "least", "weight", "sticky", "user"};
static const char *const on_lost_names[] = {"wait", "bypass", "stop", "restart"};

const char *
spx_policy_name(enum spx_policy p)
{
	return policy_names[p];
}

const char *
spx_on_lost_name(enum spx_on_lost l)
{
	return on_lost_names[l];
}

static bool
is_word_of(const struct word *w, const char *text)
{
	return w->len == strlen(text) && !memcmp(w->at, text, w->len);
}

/* true: w is key=VALUE. */
static bool
split_value(const struct word *w, const char *key, struct word *value)
{
	size_t n = strlen(key);

	if (w->len <= n || memcmp(w->at, key, n) != 0 || w->at[n] != '=')
		return false;
	*value = (struct word){w->at + n + 1, w->len - n - 1};
	return true;
}

static uint32_t
find_option_name(const struct word *w, const char *const *name, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_word_of(w, name[i]))
			return i;
	return SPX_NONE;
}

static bool
read_window(const struct word *w, uint16_t *n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < w->len; i++) {
		if (w->at[i] < '0' || w->at[i] > '9' || sum > SPX_WINDOW_MAX)
			return false;
		sum = 10 * sum + (uint32_t)(w->at[i] - '0');
	}
	*n = (uint16_t)sum;
	return w->len > 0 && sum >= 1 && sum <= SPX_WINDOW_MAX;
}

static bool
read_option(const struct word *w, struct spx_chain *a, char *why)
{
	struct word value;
	uint32_t i = 0;

	if (is_word_of(w, "ordered")) {
		a->ordered = true;
		return true;
	}
	if (split_value(w, "policy", &value) &&
	    (i = find_option_name(&value, policy_names, 5)) != SPX_NONE) {
		a->policy = (enum spx_policy)i;
		return true;
	}
	if (split_value(w, "on_lost", &value) &&
	    (i = find_option_name(&value, on_lost_names, 4)) != SPX_NONE) {
		a->on_lost = (enum spx_on_lost)i;
		return true;
	}
	if (split_value(w, "window", &value) && read_window(&value, &a->window))
		return true;
	return spx_say(why,
		       "\"%.*s\" is none of: ordered, policy=rr|least|weight|sticky|user, "
		       "window=1..%d, on_lost=wait|bypass|stop|restart",
		       (int)(w->len > 64 ? 64 : w->len), w->at, SPX_WINDOW_MAX);
}

/* --- on a copy of the table ----------------------------------------------------- */

struct ops {
	struct spx_view v; /* clusters are somebody else's */
	struct spx_chain chain[SPX_CHAINS_MAX];
	char *why;
};

static bool
read_cluster(const struct ops *o, const struct word *w, uint16_t *k)
{
	char name[SPX_NAME_MAX] = {0};
	uint32_t i = SPX_NONE;

	if (w->len < sizeof name) {
		memcpy(name, w->at, w->len);
		i = spx_view_cluster(&o->v, name);
	}
	if (i == SPX_NONE)
		return spx_say(o->why, "there is no cluster \"%.*s\"",
			       (int)(w->len > 64 ? 64 : w->len), w->at);
	*k = (uint16_t)i;
	return true;
}

static struct spx_chain *
find_chain(struct ops *o, uint16_t from, uint16_t to)
{
	for (uint32_t c = 0; c < o->v.nchain; c++)
		if (o->chain[c].from == from && o->chain[c].to == to)
			return &o->chain[c];
	return NULL;
}

static bool
add_chain(struct ops *o, const struct spx_chain *as)
{
	struct spx_chain *a = find_chain(o, as->from, as->to);

	if (a && a->state == SPX_CHAIN_ACTIVE)
		return spx_say(o->why, "chain %s -> %s is there already",
			       o->v.cluster[as->from].name, o->v.cluster[as->to].name);
	if (!a && o->v.nchain == SPX_CHAINS_MAX)
		return spx_say(o->why, "there are %d chains, which is the limit", SPX_CHAINS_MAX);
	if (!a)
		a = &o->chain[o->v.nchain++];
	*a = *as;
	a->state = SPX_CHAIN_ACTIVE;
	return spx_chains_check(&o->v, o->why);
}

static bool
end_chain(struct ops *o, struct spx_chain *a, enum spx_chain_state state)
{
	if (state == SPX_CHAIN_OFF && a->state != SPX_CHAIN_DRAINING)
		return spx_say(o->why, "chain %s -> %s was not drained: drain it first",
			       o->v.cluster[a->from].name, o->v.cluster[a->to].name);
	a->state = state;
	return true;
}

static bool
do_words(struct ops *o, const struct word *w, uint32_t n)
{
	static const char *const verbs[] = {"add", "drain", "remove", "move"};
	uint32_t verb = find_option_name(&w[0], verbs, 4);
	struct spx_chain as = {.window = 8};

	if (verb == SPX_NONE || n < (verb == 3 ? 4u : 3u) ||
	    (verb != 0 && n > (verb == 3 ? 4u : 3u)))
		return spx_say(o->why,
			       "\"%.*s\": wanted add FROM TO [options], drain FROM TO, remove FROM "
			       "TO, or move FROM TO NEW",
			       (int)(w[0].len > 64 ? 64 : w[0].len), w[0].at);
	if (!read_cluster(o, &w[1], &as.from) || !read_cluster(o, &w[2], &as.to))
		return false;
	if (verb == 0) {
		for (uint32_t i = 3; i < n; i++)
			if (!read_option(&w[i], &as, o->why))
				return false;
		return add_chain(o, &as);
	}
	struct spx_chain *a = find_chain(o, as.from, as.to);
	if (!a || a->state == SPX_CHAIN_OFF)
		return spx_say(o->why, "there is no chain %s -> %s", o->v.cluster[as.from].name,
			       o->v.cluster[as.to].name);
	if (verb == 3) {
		as = *a;
		return read_cluster(o, &w[3], &as.to) && add_chain(o, &as) &&
		       end_chain(o, a, SPX_CHAIN_DRAINING);
	}
	return end_chain(o, a, verb == 1 ? SPX_CHAIN_DRAINING : SPX_CHAIN_OFF);
}

static bool
is_end(char c)
{
	return c == ';' || c == '\n';
}

/* One operation, up to its end; *at goes behind it. */
static bool
do_operation(struct ops *o, const char **at, const char *end)
{
	struct word w[WORDS_MAX];
	uint32_t n = 0;

	while (*at < end && !is_end(**at)) {
		if (**at == ' ' || **at == '\t' || **at == '\r') {
			++*at;
			continue;
		}
		if (n == WORDS_MAX)
			return spx_say(o->why, "\"%.*s ...\": more than %d words",
				       (int)(w[0].len > 64 ? 64 : w[0].len), w[0].at, WORDS_MAX);
		w[n].at = *at;
		while (*at < end && !is_end(**at) && **at != ' ' && **at != '\t' && **at != '\r')
			++*at;
		w[n].len = (size_t)(*at - w[n].at);
		n++;
	}
	if (*at < end)
		++*at;
	return n == 0 || do_words(o, w, n);
}

bool
spx_chain_ops(const struct spx_view *names, struct spx_chain *chains, uint32_t *nchain,
	      const char *ops, size_t len, char *why)
{
	struct ops o = {.v = *names, .why = why};
	const char *at = ops;

	o.v.chain = o.chain;
	o.v.nchain = *nchain;
	memcpy(o.chain, chains, *nchain * sizeof *chains);
	while (at < ops + len)
		if (!do_operation(&o, &at, ops + len))
			return false;
	*nchain = o.v.nchain;
	memcpy(chains, o.chain, *nchain * sizeof *chains);
	return true;
}
