/* SPDX-License-Identifier: BSD-2-Clause */
/* One page: what passed, then for each scenario its rate over time, its latency, and the trials of
 * a search.  Pictures are SVG in the page; there is no script and nothing to load. */
#include "base/version.h"
#include "report.h"
#include "search_run.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WIDTH  460
#define HEIGHT 190
#define LEFT   62
#define RIGHT  12
#define TOP    24
#define BOTTOM 36
#define TICKS  5

/* ---- plots ----------------------------------------------------------------------------- */

/* One axis: low .. high onto from .. to. */
struct axis {
	double low, high;
	double from, to;
	bool is_log;
};

struct plot {
	FILE *f;
	struct axis x, y;
};

static double
place_on(const struct axis *a, double v)
{
	double low = a->low, high = a->high;
	if (a->is_log) {
		low = log(low);
		high = log(high);
		v = log(v > a->low ? v : a->low);
	}
	return a->from + (v - low) / (high > low ? high - low : 1) * (a->to - a->from);
}

/* At most that many steps of 1, 2 or 5 times a power of ten. */
static double
choose_step(double span, int steps)
{
	double unit = pow(10, floor(log10(span / steps)));
	double n = span / steps / unit;
	return (n <= 1 ? 1 : n <= 2 ? 2 : n <= 5 ? 5 : 10) * unit;
}

/* 100k and 2.5M where all digits are too many for the place. */
static const char *
tick_text(double v, char buf[24])
{
	if (fabs(v) >= 1e6)
		snprintf(buf, 24, "%.4gM", v / 1e6);
	else if (fabs(v) >= 1e4)
		snprintf(buf, 24, "%.4gk", v / 1e3);
	else
		snprintf(buf, 24, "%.5g", v);
	return buf;
}

static void
draw_tick(const struct plot *p, bool across, double v)
{
	char room[24];
	const char *text = tick_text(v, room);
	if (across) {
		double at = place_on(&p->x, v);
		fprintf(p->f,
			"<path class=g d=\"M%.1f %dV%d\"/><text x=%.1f y=%d "
			"text-anchor=middle>%s</text>",
			at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 14, text);
	} else {
		double at = place_on(&p->y, v);
		fprintf(p->f,
			"<path class=g d=\"M%d %.1fH%d\"/><text x=%d y=%.1f "
			"text-anchor=end>%s</text>",
			LEFT, at, WIDTH - RIGHT, LEFT - 5, at + 4, text);
	}
}

static void
draw_axis(const struct plot *p, bool across)
{
	const struct axis *a = across ? &p->x : &p->y;
	if (a->is_log) {
		double every = ceil(log10(a->high / a->low) / 6);
		double first = pow(10, ceil(log10(a->low) - 1e-9));
		for (double v = first; v <= a->high * 1.0001; v *= pow(10, every < 1 ? 1 : every))
			draw_tick(p, across, v);
		return;
	}
	double step = choose_step(a->high - a->low, TICKS);
	for (double v = ceil(a->low / step) * step; v <= a->high + step / 1e3; v += step)
		draw_tick(p, across, v);
}

static void
begin_plot(struct plot *p, const char *title, const char *across, const char *up)
{
	p->x.from = LEFT;
	p->x.to = WIDTH - RIGHT;
	p->y.from = HEIGHT - BOTTOM;
	p->y.to = TOP;
	fprintf(p->f,
		"<svg role=img viewBox=\"0 0 %d %d\" width=%d height=%d><title>%s</title>"
		"<text class=t x=%d y=14>%s</text>",
		WIDTH, HEIGHT, WIDTH, HEIGHT, title, LEFT, title);
	draw_axis(p, true);
	draw_axis(p, false);
	fprintf(p->f,
		"<text x=%d y=%d text-anchor=end>%s</text><text "
		"transform=\"translate(12 %d) rotate(-90)\" text-anchor=middle>%s</text>",
		WIDTH - RIGHT, HEIGHT - 5, across, (TOP + HEIGHT - BOTTOM) / 2, up);
}

static void
end_plot(struct plot *p)
{
	fputs("</svg>\n", p->f);
}

static void
draw_point(const struct plot *p, bool first, double x, double y)
{
	fprintf(p->f, "%c%.1f %.1f", first ? 'M' : 'L', place_on(&p->x, x), place_on(&p->y, y));
}

static void
plot_rate(FILE *f, const struct pg_result *r)
{
	uint64_t most = 1;
	double slot_s = r->load->measure_ms / 1e3 / PG_SLOTS;
	double per = 1e-3 / (slot_s * r->load->rounds);
	for (uint32_t i = 0; i < PG_SLOTS; i++)
		most = r->slot[i] > most ? r->slot[i] : most;
	struct plot p = {.f = f,
			 .x = {.low = 0, .high = r->load->measure_ms / 1e3},
			 .y = {.low = 0, .high = (double)most * per}};
	begin_plot(&p, "Rate over time", "s since measuring began", "thousand segments / s");
	fputs("<path class=l d=\"", f);
	for (uint32_t i = 0; i < PG_SLOTS; i++)
		draw_point(&p, i == 0, (i + 0.5) * slot_s, (double)r->slot[i] * per);
	fputs("\"/>", f);
	end_plot(&p);
}

/* Which share took longer: a straight line down to the rare ones, that an average hides. */
static void
plot_latency(FILE *f, const struct base_hist *h)
{
	double low = (double)(h->min ? h->min : 1) / 1e3, high = (double)h->max / 1e3;
	uint64_t seen = 0;
	struct plot p = {.f = f,
			 .x = {.low = low, .high = high > low ? high : low * 2, .is_log = true},
			 .y = {.low = 100.0 / (double)h->count, .high = 100, .is_log = true}};
	if (h->count < 2)
		p.y.low = 50;
	begin_plot(&p, "Latency: share of segments that took longer", "us", "%");
	fputs("<path class=l d=\"", f);
	draw_point(&p, true, low, 100);
	for (uint32_t b = 0; b < BASE_HIST_BUCKETS; b++) {
		if (!h->bucket[b])
			continue;
		double us = (double)base_hist_upper(b) / 1e3;
		seen += h->bucket[b];
		if (seen < h->count)
			draw_point(&p, false, us < high ? us : high,
				   100.0 * (double)(h->count - seen) / (double)h->count);
	}
	draw_point(&p, false, high, p.y.low);
	fputs("\"/>", f);
	end_plot(&p);
}

static void
plot_found(const struct plot *p, const char *name, double pps, int row)
{
	if (pps <= 0)
		return;
	double at = place_on(&p->x, pps);
	bool is_left = at < (p->x.from + p->x.to) / 2;
	fprintf(p->f,
		"<path class=m d=\"M%.1f %dV%d\"/><text x=%.1f y=%d text-anchor=%s>%s %.0f</text>",
		at, TOP, HEIGHT - BOTTOM, is_left ? at + 4 : at - 4, TOP + 12 + 14 * row,
		is_left ? "start" : "end", name, pps);
}

static void
plot_search(FILE *f, const struct pg_result *r)
{
	const struct pg_trials *t = r->trials;
	double low = (double)t->conf.max_pps, high = 0, most = t->conf.loss_ppm / 1e4;
	for (uint32_t i = 0; i < t->n; i++) {
		low = fmin(low, t->trial[i].pps);
		high = fmax(high, t->trial[i].pps);
		most = fmax(most, 100 * t->trial[i].missed);
	}
	if (!t->n)
		return;
	struct plot p = {.f = f,
			 .x = {.low = low * 0.9, .high = high * 1.1, .is_log = true},
			 .y = {.low = 0, .high = most > 0 ? most : 1}};
	begin_plot(&p, "Search: each dot is a trial", "offered segments / s", "missed %");
	plot_found(&p, "NDR", r->m[PG_M_ndr_pps], 0);
	plot_found(&p, "PDR", r->m[PG_M_pdr_pps], 1);
	for (uint32_t i = 0; i < t->n; i++)
		fprintf(f, "<circle r=2.5 cx=%.1f cy=%.1f />", place_on(&p.x, t->trial[i].pps),
			place_on(&p.y, 100 * t->trial[i].missed));
	end_plot(&p);
}

/* ---- words ----------------------------------------------------------------------------- */

static void
write_latency(FILE *f, const struct base_hist *h)
{
	fputs("<table><tr><th>latency<th>us</tr>", f);
	fprintf(f, "<tr><td>least<td>%.1f</tr>", (double)h->min / 1e3);
	fprintf(f, "<tr><td>mean<td>%.1f</tr>", (double)h->sum / (double)h->count / 1e3);
	for (uint32_t i = 0; i < PG_PERCENTILES; i++)
		fprintf(f, "<tr><td>%g %%<td>%.1f</tr>", pg_percentiles[i].ppm / 1e4,
			(double)base_hist_quantile(h, pg_percentiles[i].ppm) / 1e3);
	fprintf(f, "<tr><td>largest<td>%.1f</tr></table>\n", (double)h->max / 1e3);
}

static void
write_wants(FILE *f, const struct pg_result *r)
{
	fputs("<table><tr><th>wanted<th>is<th>at least<th>at most</tr>", f);
	for (uint32_t i = 0; i < r->load->nwants; i++) {
		const struct pg_want *w = &r->load->want[i];
		const struct pg_verdict *v = &r->verdict[i];
		fprintf(f, "<tr%s><td>", v->failed ? " class=bad" : "");
		pg_report_text(f, w->counters ? w->counter[0] : pg_measure_names[w->measure]);
		if (w->ncounters > 1)
			fputs(" and others", f);
		fputs("<td>", f);
		if (v->known)
			fprintf(f,
				v->value == floor(v->value) ? "%.0f"
				: v->value >= 100	    ? "%.1f"
							    : "%.4g",
				v->value);
		else
			fputs("not known", f);
		fputs("<td>", f);
		if (w->has_min)
			fprintf(f, "%.9g", w->min);
		fputs("<td>", f);
		if (w->has_max)
			fprintf(f, "%.9g", w->max);
		fputs("</tr>", f);
	}
	fputs("</table>\n", f);
}

static void
write_losses(FILE *f, const struct pg_result *r)
{
	if (!r->nreasons)
		return;
	fputs("<table><tr><th>of relayd<th>rose by</tr>", f);
	for (uint32_t i = 0; i < r->nreasons; i++) {
		fputs("<tr><td>", f);
		pg_report_text(f, r->reason[i].name);
		fprintf(f, "<td>%.0f</tr>", r->reason[i].count);
	}
	fputs("</table>\n", f);
}

static void
write_scenario(FILE *f, const struct pg_result *r, uint32_t i)
{
	fprintf(f, "<h2 id=s%u>", i);
	pg_report_text(f, r->name);
	fprintf(f, ": <span class=%s</span></h2>\n<p>", r->passed ? "ok>passed" : "bad>failed");
	pg_report_text(f, r->proves);
	fputs("</p>\n", f);
	if (*r->error || *r->detail) {
		fputs("<pre class=bad>", f);
		pg_report_text(f, *r->error ? r->error : r->detail);
		fputs("</pre>\n", f);
	}
	fputs("<div>", f);
	if (r->load && r->latency.count) {
		plot_rate(f, r);
		plot_latency(f, &r->latency);
	}
	if (r->trials)
		plot_search(f, r);
	fputs("</div><div>", f);
	if (r->load && r->latency.count)
		write_latency(f, &r->latency);
	if (r->load)
		write_wants(f, r);
	write_losses(f, r);
	fputs("</div>\n", f);
}

static const char head[] =
	"<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>relay-pktgen</title>\n<style>\n"
	"body{font:15px/1.4 sans-serif;margin:2em auto;max-width:1000px;padding:0 1em;"
	"color:#222;background:#fff}\n"
	"table{border-collapse:collapse;margin:0 1.5em 1em 0}\n"
	"td,th{padding:1px 8px;text-align:right;border-bottom:1px solid #ddd}\n"
	"td:first-child,th:first-child{text-align:left}\n"
	"div{display:flex;flex-wrap:wrap;align-items:flex-start}\n"
	"svg{margin:0 1em 1em 0;font-size:11px}text{fill:#444}.t{font-weight:bold}\n"
	".g{stroke:#ddd}.l{fill:none;stroke:#1a5fb4;stroke-width:1.5}\n"
	".m{stroke:#26a269;stroke-dasharray:4 3}circle{fill:#1a5fb4;fill-opacity:.6}\n"
	".ok{color:#1b7a43}.bad{color:#b3261e}\n</style>\n<h1>relay-pktgen</h1>\n";

static void
write_overview(FILE *f, const struct pg_result *r, uint32_t n)
{
	uint32_t passed = 0;
	for (uint32_t i = 0; i < n; i++)
		passed += r[i].passed;
	fprintf(f,
		"<p>%u passed, %u failed; relay-pktgen " BASE_VERSION
		"</p>\n<table><tr><th>scenario<th><th>Mpps<th>Gb/s<th>received<th>lost<th>p50 "
		"us<th>p99 us<th>s</tr>\n",
		passed, n - passed);
	for (uint32_t i = 0; i < n; i++) {
		const double *m = r[i].m;
		fprintf(f, "<tr><td><a href=\"#s%u\">", i);
		pg_report_text(f, r[i].name);
		fprintf(f, "</a><td class=%s", r[i].passed ? "ok>passed" : "bad>failed");
		if (r[i].load)
			fprintf(f, "<td>%.4f<td>%.3f<td>%.0f<td>%.0f<td>%.1f<td>%.1f", m[PG_M_mpps],
				m[PG_M_gbps], m[PG_M_received], m[PG_M_lost], m[PG_M_p50_us],
				m[PG_M_p99_us]);
		else
			fprintf(f, "<td><td><td>%.0f<td><td><td>", m[PG_M_sent]);
		fprintf(f, "<td>%.1f</tr>\n", r[i].seconds);
	}
	fputs("</table>\n", f);
}

int
pg_report_html(const char *path, const struct pg_result *r, uint32_t n)
{
	errno = 0;
	FILE *f = fopen(path, "we");
	if (!f)
		return -errno;
	fputs(head, f);
	write_overview(f, r, n);
	for (uint32_t i = 0; i < n; i++)
		write_scenario(f, &r[i], i);
	fputs("</html>\n", f);
	bool bad = ferror(f);
	return fclose(f) || bad ? -EIO : 0;
}
