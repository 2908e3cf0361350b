/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"
#include "search_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- table ----------------------------------------------------------------------------- */

void
pg_report_head(FILE *f)
{
	fprintf(f, "%-6s %-24s %8s %8s %9s %6s %8s %8s %8s %9s %6s\n", "", "scenario", "Mpps",
		"Gb/s", "received", "lost", "p50 us", "p99 us", "p99.9 us", "max us", "s");
}

static void
print_verdicts(FILE *f, const struct pg_result *r)
{
	for (uint32_t i = 0; r->load && i < r->load->nwants; i++) {
		const struct pg_want *w = &r->load->want[i];
		const struct pg_verdict *v = &r->verdict[i];
		if (!v->failed)
			continue;
		fprintf(f, "         BAD %s%s is ",
			w->counters ? w->counter[0] : pg_measure_names[w->measure],
			w->ncounters > 1 ? " and others" : "");
		if (v->known)
			fprintf(f, "%g, wanted", v->value);
		else /* abort_ms, and nobody aborted */
			fputs("not known, wanted", f);
		if (w->has_min)
			fprintf(f, " at least %g", w->min);
		if (w->has_max)
			fprintf(f, "%s at most %g", w->has_min ? "," : "", w->max);
		fputc('\n', f);
	}
}

void
pg_report_row(FILE *f, const struct pg_result *r)
{
	const double *m = r->m;
	fprintf(f, "%-6s %-24s", r->passed ? "PASS" : "FAIL", r->name);
	if (r->load)
		fprintf(f, " %8.4f %8.3f %9.0f %6.0f %8.1f %8.1f %8.1f %9.1f", m[PG_M_mpps],
			m[PG_M_gbps], m[PG_M_received], m[PG_M_lost], m[PG_M_p50_us],
			m[PG_M_p99_us], m[PG_M_p999_us], m[PG_M_max_us]);
	else
		fprintf(f, " %8s %8s %9.0f %6s %8s %8s %8s %9s", "-", "-", m[PG_M_sent], "-", "-",
			"-", "-", "-");
	fprintf(f, " %6.1f\n", r->seconds);
	if (*r->error)
		fprintf(f, "         %s\n", r->error);
	if (!r->passed) {
		print_verdicts(f, r);
		fputs(r->detail, f);
	}
	if (r->trials)
		fprintf(f, "         NDR %.0f, PDR (%.4g %%) %.0f segments a second, %u trials\n",
			m[PG_M_ndr_pps], r->trials->conf.loss_ppm / 1e4, m[PG_M_pdr_pps],
			r->trials->n);
	if (*r->why_ended)
		fprintf(f, "         ended: %s\n", r->why_ended);
	if (m[PG_M_abandoned] > 0)
		fprintf(f, "         generator abandoned +%.0f\n", m[PG_M_abandoned]);
	for (uint32_t i = 0; i < r->nreasons && r->load; i++)
		fprintf(f, "         relayd %s +%.0f\n", r->reason[i].name, r->reason[i].count);
	fflush(f);
}

void
pg_report_sum(FILE *f, const struct pg_result *r, uint32_t n)
{
	uint32_t passed = 0;
	for (uint32_t i = 0; i < n; i++)
		passed += r[i].passed;
	fprintf(f, "%u passed, %u failed\n", passed, n - passed);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static json_t *
wants_json(const struct pg_result *r)
{
	json_t *list = json_array();
	for (uint32_t i = 0; r->load && i < r->load->nwants; i++) {
		const struct pg_want *w = &r->load->want[i];
		json_t *o = json_object();
		json_object_set_new(
			o, "what",
			json_string(w->counters ? w->counter[0] : pg_measure_names[w->measure]));
		if (w->has_min)
			json_object_set_new(o, "min", json_real(w->min));
		if (w->has_max)
			json_object_set_new(o, "max", json_real(w->max));
		json_object_set_new(o, "value",
				    r->verdict[i].known ? json_real(r->verdict[i].value)
							: json_null());
		json_object_set_new(o, "ok", json_boolean(r->verdict[i].ok));
		json_array_append_new(list, o);
	}
	return list;
}

const struct pg_percentile pg_percentiles[PG_PERCENTILES] = {
	{"p50_us", 500000}, {"p75_us", 750000},	  {"p90_us", 900000},	 {"p95_us", 950000},
	{"p99_us", 990000}, {"p99.9_us", 999000}, {"p99.99_us", 999900}, {"p99.999_us", 999990},
};

/* In microseconds; each bucket as [largest value, how many]. */
static json_t *
latency_json(const struct base_hist *h)
{
	json_t *o = json_object(), *list = json_array();
	json_object_set_new(o, "count", json_integer((json_int_t)h->count));
	json_object_set_new(o, "min_us", json_real((double)h->min / 1e3));
	json_object_set_new(o, "mean_us", json_real((double)h->sum / (double)h->count / 1e3));
	for (uint32_t i = 0; i < PG_PERCENTILES; i++)
		json_object_set_new(
			o, pg_percentiles[i].name,
			json_real((double)base_hist_quantile(h, pg_percentiles[i].ppm) / 1e3));
	json_object_set_new(o, "max_us", json_real((double)h->max / 1e3));
	for (uint32_t b = 0; b < BASE_HIST_BUCKETS; b++)
		if (h->bucket[b])
			json_array_append_new(list,
					      json_pack("[f, I]", (double)base_hist_upper(b) / 1e3,
							(json_int_t)h->bucket[b]));
	json_object_set_new(o, "buckets", list);
	return o;
}

static json_t *
search_json(const struct pg_result *r)
{
	const struct pg_trials *t = r->trials;
	json_t *list = json_array();
	for (uint32_t i = 0; i < t->n; i++) {
		const struct pg_trial *x = &t->trial[i];
		json_array_append_new(
			list,
			json_pack("{s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "pps", x->pps,
				  "offered", (json_int_t)x->offered, "sent", (json_int_t)x->sent,
				  "received", (json_int_t)x->received, "resent",
				  (json_int_t)x->resent, "missed", x->missed, "p50_us",
				  (double)x->p50_ns / 1e3, "p99_us", (double)x->p99_ns / 1e3,
				  "max_us", (double)x->max_ns / 1e3));
	}
	return json_pack("{s:f, s:f, s:i, s:i, s:i, s:o}", "ndr_pps", r->m[PG_M_ndr_pps], "pdr_pps",
			 r->m[PG_M_pdr_pps], "loss_ppm", (int)t->conf.loss_ppm, "precision_ppm",
			 (int)t->conf.precision_ppm, "trial_ms", (int)t->conf.trial_ms, "trials",
			 list);
}

static json_t *
result_json(const struct pg_result *r)
{
	json_t *o = json_object(), *m = json_object(), *reasons = json_object();
	json_object_set_new(o, "name", json_string(r->name));
	json_object_set_new(o, "kind", json_string(r->kind));
	json_object_set_new(o, "proves", json_string(r->proves));
	json_object_set_new(o, "passed", json_boolean(r->passed));
	json_object_set_new(o, "seconds", json_real(r->seconds));
	if (*r->error)
		json_object_set_new(o, "error", json_string(r->error));
	if (*r->why_ended)
		json_object_set_new(o, "ended", json_string(r->why_ended));
	if (r->rss_kb)
		json_object_set_new(o, "rss_kb", json_integer(r->rss_kb));
	for (int i = 0; i < PG_MEASURES_COUNT; i++)
		if (r->known[i])
			json_object_set_new(m, pg_measure_names[i], json_real(r->m[i]));
	json_object_set_new(o, "measures", m);
	if (r->load && r->latency.count)
		json_object_set_new(o, "latency", latency_json(&r->latency));
	if (r->trials)
		json_object_set_new(o, "search", search_json(r));
	for (uint32_t i = 0; i < r->nreasons; i++)
		json_object_set_new(reasons, r->reason[i].name, json_real(r->reason[i].count));
	json_object_set_new(o, "relay_losses", reasons);
	json_object_set_new(o, "expect", wants_json(r));
	return o;
}

int
pg_report_json(const char *path, const struct pg_result *r, uint32_t n)
{
	json_t *root = json_array();
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(root, result_json(&r[i]));
	int e = json_dump_file(root, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) ? -EIO : 0;
	json_decref(root);
	return e;
}

/* ---- JUnit --------------------------------------------------------------------------------- */

void
pg_report_text(FILE *f, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '<')
			fputs("&lt;", f);
		else if (c == '>')
			fputs("&gt;", f);
		else if (c == '&')
			fputs("&amp;", f);
		else if (c == '"')
			fputs("&quot;", f);
		else if (c >= 32 || c == '\n' || c == '\t')
			fputc(c, f);
	}
}

static void
junit_case(FILE *f, const struct pg_result *r)
{
	fputs("  <testcase classname=\"relay-pktgen\" name=\"", f);
	pg_report_text(f, r->name);
	fprintf(f, "\" time=\"%.3f\">\n", r->seconds);
	if (!r->passed) {
		char *text = NULL;
		size_t len = 0;
		FILE *t = open_memstream(&text, &len);
		if (t) {
			print_verdicts(t, r);
			fputs(r->detail, t);
			fclose(t);
		}
		fprintf(f, "    <%s message=\"", *r->error ? "error" : "failure");
		pg_report_text(f, *r->error ? r->error : "an expectation does not hold");
		fputs("\">", f);
		pg_report_text(f, text ? text : "");
		fprintf(f, "</%s>\n", *r->error ? "error" : "failure");
		free(text);
	}
	fputs("    <system-out>", f);
	pg_report_text(f, r->proves);
	for (int i = 0; i < PG_MEASURES_COUNT; i++)
		if (r->known[i])
			fprintf(f, "\n%s %.9g", pg_measure_names[i], r->m[i]);
	fputs("</system-out>\n  </testcase>\n", f);
}

int
pg_report_junit(const char *path, const struct pg_result *r, uint32_t n)
{
	uint32_t errors = 0, failures = 0;
	double seconds = 0;
	errno = 0;
	FILE *f = fopen(path, "we");
	if (!f)
		return -errno;
	for (uint32_t i = 0; i < n; i++) {
		errors += *r[i].error != 0;
		failures += !r[i].passed && !*r[i].error;
		seconds += r[i].seconds;
	}
	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"relay-pktgen\" "
		"tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n",
		n, failures, errors, seconds);
	for (uint32_t i = 0; i < n; i++)
		junit_case(f, &r[i]);
	fputs("</testsuite>\n", f);
	bool bad = ferror(f);
	return fclose(f) || bad ? -EIO : 0;
}
