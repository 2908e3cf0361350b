/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress.h"

#include "base/clock.h"
#include "world.h"

#include <stdio.h>
#include <unistd.h>

#define TERMINAL_NS (250 * BASE_MS_NS)

void
pg_progress_init(struct pg_progress *p, bool always)
{
	*p = (struct pg_progress){.terminal = isatty(STDERR_FILENO)};
	p->on = p->terminal || always;
}

void
pg_progress_begin(struct pg_progress *p, const char *scenario)
{
	p->scenario = scenario;
	p->phase = "begins";
	p->begin_ns = p->last_ns = p->last_received = 0;
	p->pps = 0;
}

void
pg_progress_phase(struct pg_progress *p, const char *phase)
{
	p->phase = phase;
	p->pps = 0;
}

void
pg_progress_rate(struct pg_progress *p, double pps)
{
	p->phase = "tries";
	p->pps = pps;
}

void
pg_progress_turn(struct pg_progress *p, uint64_t now_ns, const struct pg_world *w)
{
	if (!p->on || !p->scenario || now_ns < p->next_ns)
		return;
	p->next_ns = now_ns + (p->terminal ? TERMINAL_NS : BASE_S_NS);
	if (!p->begin_ns)
		p->begin_ns = now_ns;
	uint64_t received = w ? w->received.segments : 0;
	double ns = (double)(now_ns - p->last_ns);
	bool known = p->last_ns && received >= p->last_received && ns > 0;
	fprintf(stderr, "%s%s: %s", p->terminal ? "\r\033[K" : "", p->scenario, p->phase);
	if (p->pps > 0)
		fprintf(stderr, " %.0f segments a second", p->pps);
	fprintf(stderr, ", %.1f s", (double)(now_ns - p->begin_ns) / 1e9);
	if (known)
		fprintf(stderr, ", %.4f Mpps", (double)(received - p->last_received) * 1e3 / ns);
	if (w && w->latency.count)
		fprintf(stderr, ", p99 %.1f us",
			(double)base_hist_quantile(&w->latency, 990000) / 1e3);
	if (!p->terminal)
		fputc('\n', stderr);
	p->last_ns = now_ns;
	p->last_received = received;
	fflush(stderr);
}

void
pg_progress_end(struct pg_progress *p)
{
	if (p->on && p->terminal)
		fputs("\r\033[K", stderr);
	p->scenario = NULL;
}
