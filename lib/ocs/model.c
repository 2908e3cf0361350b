#include "ocs/model.h"

const char *
ocs_algorithm_name(enum ocs_algorithm a)
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

uint32_t
ocs_model_gammas(const struct ocs_model *m, enum ocs_algorithm a, enum ocs_mode mode)
{
	if (mode == OCS_IDEAL || m->p < 2)
		return 0;
	uint32_t steps = a == OCS_LINEAR || a == OCS_RING ? m->p - 1 : log2_up(m->p);
	if (a == OCS_RING) /* two neighbours, lit once; with one port, every half-step */
		return mode == OCS_BATCHED && m->k >= 2 ? 1 : 2 * steps;
	return mode == OCS_NAIVE ? steps : batches(steps, m->k);
}

double
ocs_model_s(const struct ocs_model *m, enum ocs_algorithm a, enum ocs_mode mode, double n)
{
	if (!m->p || !m->k)
		return -1;
	double part = n / m->p, steps;
	double light = ocs_model_gammas(m, a, mode) * m->gamma_s;
	switch (a) {
	case OCS_LINEAR:
		steps = m->p - 1;
		return steps * (m->alpha_s + n * m->beta_s_per_byte) + light;
	case OCS_RING:
		steps = m->p - 1;
		if (mode == OCS_NAIVE || (mode == OCS_BATCHED && m->k < 2))
			steps *= 2;
		return steps * (m->alpha_s + part * m->beta_s_per_byte) + light;
	case OCS_DOUBLING:
		return log2_up(m->p) * m->alpha_s + (m->p - 1) * part * m->beta_s_per_byte + light;
	case OCS_BINOMIAL:
		return log2_up(m->p) * (m->alpha_s + n * m->beta_s_per_byte) + light;
	}
	return -1;
}
