/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <stddef.h>

const char *
obs_strategy_name(enum obs_strategy s)
{
	static const char *const name[] = {
#define X(n, mode, text, t) text,
		OBS_STRATEGIES(X)
#undef X
	};
	return (unsigned)s < OBS_STRATEGY_COUNT ? name[s] : NULL;
}

const char *
obs_algorithm_name(enum obs_algorithm a)
{
	static const char *const name[] = {"linear", "ring", "recursive doubling", "binomial"};
	return (unsigned)a < 4 ? name[a] : "?";
}

static uint32_t
log2_up(uint32_t p)
{
	uint32_t d = 0;
	while ((1ull << d) < p)
		d++;
	return d;
}

static uint32_t
batches(uint32_t circuits, uint32_t k)
{
	return (circuits + k - 1) / k;
}

/* Ring with one circuit at a time: the messages of a step go in so many turns. */
static uint32_t
turns(uint32_t p)
{
	return p == 2 ? 1 : p % 2 ? 3 : 2;
}

/* Doubling of p processes: how many beyond the largest power of two. */
static uint32_t
beyond(uint32_t p)
{
	uint32_t power = 1;
	while (power <= p / 2)
		power *= 2;
	return p - power;
}

static uint32_t
doubling_steps(uint32_t p)
{
	return beyond(p) ? log2_up(p) + 1 : log2_up(p);
}

/* Blocks that pass one after another through the process that gets most. */
static double
doubling_blocks(uint32_t p)
{
	uint32_t extra = beyond(p);
	double n = extra ? 1 + p : 0;
	for (uint32_t i = 1; 2 * i <= p; i *= 2)
		n += i + (i < extra ? i : extra);
	return n;
}

uint32_t
obs_model_gammas(const struct obs_model *m, enum obs_algorithm a, enum obs_strategy mode)
{
	if (mode == OBS_IDEAL || m->p < 2)
		return 0;
	uint32_t steps = a == OBS_LINEAR || a == OBS_RING ? m->p - 1
			 : a == OBS_DOUBLING		  ? doubling_steps(m->p)
							  : log2_up(m->p);
	if (a == OBS_RING) /* two neighbours, lit once; with one port, every turn */
		return mode == OBS_BATCHED && m->k >= 2 ? 1 : turns(m->p) * steps;
	if (a == OBS_DOUBLING && mode == OBS_BATCHED && beyond(m->p) && m->k + 1 >= steps)
		return 1; /* the first circuit is lit still when the last step needs it */
	return mode == OBS_NAIVE ? steps : batches(steps, m->k);
}

double
obs_model_s(const struct obs_model *m, enum obs_algorithm a, enum obs_strategy mode, double n)
{
	if (!m->p || !m->k)
		return -1;
	double part = n / m->p, steps;
	double light = obs_model_gammas(m, a, mode) * m->gamma_s;
	switch (a) {
	case OBS_LINEAR:
		steps = m->p - 1;
		return steps * (m->alpha_s + n * m->beta_s_per_byte) + light;
	case OBS_RING:
		steps = m->p - 1;
		if (mode == OBS_NAIVE || (mode == OBS_BATCHED && m->k < 2))
			steps *= turns(m->p);
		return steps * (m->alpha_s + part * m->beta_s_per_byte) + light;
	case OBS_DOUBLING:
		return doubling_steps(m->p) * m->alpha_s +
		       doubling_blocks(m->p) * part * m->beta_s_per_byte + light;
	case OBS_BINOMIAL:
		return log2_up(m->p) * (m->alpha_s + n * m->beta_s_per_byte) + light;
	}
	return -1;
}

double
obs_model_pipelined_s(const struct obs_model *m, uint32_t steps, double step_s)
{
	if (!m->k || !steps)
		return m->k ? 0 : -1;
	double dark = m->gamma_s - (m->k - 1) * step_s;
	return m->gamma_s + steps * step_s + (batches(steps, m->k) - 1) * (dark > 0 ? dark : 0);
}
