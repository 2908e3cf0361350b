/* SPDX-License-Identifier: BSD-2-Clause */
#include "turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MS_MAX 60000ul

void
pg_turn_ready(void)
{
	puts("ready");
	fflush(stdout);
}

bool
pg_turn_next(uint32_t *ms)
{
	char text[16];
	size_t n = 0;
	while (n < sizeof text - 1 && read(STDIN_FILENO, text + n, 1) == 1 && text[n] != '\n')
		n++;
	text[n] = 0;
	unsigned long v = strtoul(text, NULL, 10);
	*ms = (uint32_t)v;
	return v > 0 && v <= MS_MAX;
}

static struct {
	uint64_t ns[PG_TURN_SAMPLES];
	uint32_t n; /* one more than fit: not all are there */
} samples;

void
pg_turn_begin(void)
{
	samples.n = 0;
}

void
pg_turn_sample(uint64_t ns)
{
	if (samples.n < PG_TURN_SAMPLES)
		samples.ns[samples.n] = ns;
	samples.n += samples.n <= PG_TURN_SAMPLES;
}

static int
by_turns_value(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return (a > b) - (a < b);
}

static uint64_t
turns_median(const struct base_hist *h)
{
	if (!samples.n || samples.n > PG_TURN_SAMPLES)
		return base_hist_quantile(h, 500000);
	qsort(samples.ns, samples.n, sizeof samples.ns[0], by_turns_value);
	return samples.ns[samples.n / 2];
}

void
pg_turn_print(const struct pg_turn *t)
{
	printf("{\"mpps\": %.6f, \"gbps\": %.4f, \"received\": %llu, \"ms\": %.3f, \"p50_us\": "
	       "%.3f, "
	       "\"p99_us\": %.3f, \"max_us\": %.1f}\n",
	       (double)t->segments * 1e3 / t->ns, (double)t->bytes * 8 / t->ns,
	       (unsigned long long)t->segments, t->ns / 1e6, (double)turns_median(t->latency) / 1e3,
	       (double)base_hist_quantile(t->latency, 990000) / 1e3,
	       t->latency->count ? (double)t->latency->max / 1e3 : 0);
	fflush(stdout);
}
