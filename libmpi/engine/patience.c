/* SPDX-License-Identifier: BSD-2-Clause */
/* How long to look at one ring: see patience.h. */
#include "patience.h"

/* Before the first answer: more than one from a far socket takes. */
#define START_NS 2000u
/* Giving up sooner saves nothing: the long way takes half of that. */
#define LEAST_NS 1000u
/* What takes longer was not on its way yet: its sender computes, or has no CPU.  Then a wait of
 * that length is below a tenth of the spinning before a sleep (spin.h). */
#define MOST_NS 16000u
/* Others of the node, whose messages are not looked at, wait so long for a turn of the loop. */
#define TURN_NS	    10000u
#define EVERY_LEAST 16u
#define EVERY_MOST  1024u

static uint32_t
cycles(uint32_t per_us, uint32_t ns)
{
	return (uint32_t)((uint64_t)per_us * ns / 1000);
}

static uint32_t
within(const struct lmpi_patience *p, uint32_t bound)
{
	return bound < p->least ? p->least : bound > p->most ? p->most : bound;
}

void
lmpi_patience_init(struct lmpi_patience *p, uint32_t cycles_per_us)
{
	*p = (struct lmpi_patience){
		.bound = cycles(cycles_per_us, START_NS),
		.answer = cycles(cycles_per_us, START_NS) / 2,
		.least = cycles(cycles_per_us, LEAST_NS),
		.most = cycles(cycles_per_us, MOST_NS),
		.turn = cycles(cycles_per_us, TURN_NS),
		.every = EVERY_LEAST,
		.left = EVERY_LEAST,
	};
}

void
lmpi_patience_waited(struct lmpi_patience *p, uint64_t cycles)
{
	if (cycles > p->most) {
		/* Nothing that we are willing to wait would have been enough. */
		p->bound = within(p, p->bound / 2);
		return;
	}
	/* Up at once, as each answer that is missed costs the long way; down slowly, as waiting too
	 * long costs nothing but a turn that others get later. */
	if (cycles > p->answer)
		p->answer = (uint32_t)cycles;
	else
		p->answer -= (p->answer - (uint32_t)cycles) / 64;
	p->bound = within(p, 2 * p->answer);
}

void
lmpi_patience_turned(struct lmpi_patience *p, bool due, uint64_t cycles)
{
	if (due && cycles < p->turn / 2 && p->every < EVERY_MOST)
		p->every *= 2;
	else if (due && cycles > p->turn && p->every > EVERY_LEAST)
		p->every /= 2;
	p->left = p->every;
}
