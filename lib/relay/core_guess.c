/* Guesses of a job's token, by where they come from.  A source that has guessed wrong GUESSES
 * times is not heard for some time, whatever it says: then GUESSES / GUESS_NS bounds what
 * it can try, and what it hears of a label says nothing about the token. */
#include "core_internal.h"

static struct guess *
guess_find(struct relay_core *c, const struct suci_addr *from)
{
	for (uint32_t i = 0; i < GUESS_SOURCES; i++)
		if (c->guess[i].wrong && memcmp(c->guess[i].ip, from->ip, sizeof from->ip) == 0)
			return &c->guess[i];
	return NULL;
}

static void
guess_fade(const struct relay_core *c, struct guess *g)
{
	uint64_t n = (c->now_ns - g->at_ns) / GUESS_NS;
	g->wrong = n < g->wrong ? g->wrong - (uint32_t)n : 0;
	g->at_ns += n * GUESS_NS;
}

bool
guess_bound(struct relay_core *c, const struct suci_addr *from)
{
	struct guess *g = guess_find(c, from);
	if (!g)
		return false;
	guess_fade(c, g);
	return g->wrong >= GUESSES;
}

void
guess_wrong(struct relay_core *c, const struct suci_addr *from)
{
	struct guess *g = guess_find(c, from);
	if (!g) { /* in place of the one that guessed least */
		g = &c->guess[0];
		for (uint32_t i = 0; i < GUESS_SOURCES; i++) {
			if (c->guess[i].wrong)
				guess_fade(c, &c->guess[i]);
			if (c->guess[i].wrong < g->wrong)
				g = &c->guess[i];
		}
		*g = (struct guess){.at_ns = c->now_ns};
		memcpy(g->ip, from->ip, sizeof g->ip);
	}
	guess_fade(c, g);
	g->wrong++;
}
