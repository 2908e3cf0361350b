/* SPDX-License-Identifier: BSD-2-Clause */
/* Table and JSON. */
#include "perf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static double
report_seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* Bytes that were moved: a ping-pong moves each block twice, a tree to all. */
static double
report_bytes_of(const struct run *r, const struct result *x)
{
	double b = (double)x->size * (double)x->count;
	return r->o->mode == MODE_PINGPONG ? 2 * b : b * x->senders;
}

/* What a user gets: of a tree the rate at which one node has it. */
static double
mb_per_s(const struct run *r, const struct result *x)
{
	double b = report_bytes_of(r, x);
	if (r->o->mode == MODE_TREE)
		b /= x->senders;
	return x->ns ? b / 1e6 / report_seconds(x->ns) : 0;
}

static double
cpu_per_gb(const struct run *r, const struct result *x)
{
	double gb = report_bytes_of(r, x) / 1e9;
	return gb > 0 ? report_seconds(x->cpu_ns_here + x->cpu_ns_there) / gb : 0;
}

static double
quantile_us(const struct result *x, uint32_t ppm)
{
	return (double)base_hist_quantile(&x->latency, ppm) / 1e3;
}

void
report_head(const struct run *r)
{
	if (r->o->door)
		printf("# door: the first block and its answer took %.3f ms\n",
		       (double)r->opened_ns / 1e6);
	printf("# %s", mode_name[r->o->mode]);
	if (r->o->mode == MODE_GATHER || r->o->mode == MODE_TREE)
		printf(", %u processes, root %u", r->n, r->root);
	printf("; latency: one way; cpu: of all processes\n");
	printf("%12s %9s %9s %10s", "bytes", "blocks", "s", "MB/s");
	if (r->o->mode == MODE_PINGPONG)
		printf(" %9s %9s %9s", "us p50", "us p99", "us mean");
	if (r->o->mode == MODE_GATHER)
		printf(" %9s", "first/last");
	printf(" %9s %7s\n", "cpu s/GB", "again");
}

void
report_row(const struct run *r, const struct result *x)
{
	printf("%12llu %9llu %9.3f %10.2f", (unsigned long long)x->size,
	       (unsigned long long)x->count, report_seconds(x->ns), mb_per_s(r, x));
	if (r->o->mode == MODE_PINGPONG)
		printf(" %9.2f %9.2f %9.2f", quantile_us(x, 500000), quantile_us(x, 990000),
		       x->latency.count ? (double)x->latency.sum / 1e3 / (double)x->latency.count
					: 0);
	if (r->o->mode == MODE_GATHER)
		printf(" %9.2f", x->last_ns ? (double)x->first_ns / (double)x->last_ns : 0);
	printf(" %9.3f %7llu\n", cpu_per_gb(r, x), (unsigned long long)x->retransmissions);
	fflush(stdout);
}

static void
json_row(FILE *f, const struct run *r, const struct result *x)
{
	fprintf(f, "    { \"size\": %llu, \"count\": %llu, \"senders\": %u, \"seconds\": %.9f,\n",
		(unsigned long long)x->size, (unsigned long long)x->count, x->senders,
		report_seconds(x->ns));
	fprintf(f,
		"      \"mb_per_s\": %.3f, \"cpu_s\": %.6f, \"cpu_s_here\": %.6f, "
		"\"cpu_s_per_gb\": %.6f,\n      \"retransmissions\": %llu",
		mb_per_s(r, x), report_seconds(x->cpu_ns_here + x->cpu_ns_there),
		report_seconds(x->cpu_ns_here), cpu_per_gb(r, x),
		(unsigned long long)x->retransmissions);
	if (r->o->mode == MODE_PINGPONG && x->latency.count)
		fprintf(f,
			",\n      \"latency_us\": { \"min\": %.3f, \"p50\": %.3f, \"p99\": %.3f, "
			"\"max\": %.3f, \"mean\": %.3f }",
			(double)x->latency.min / 1e3, quantile_us(x, 500000),
			quantile_us(x, 990000), (double)x->latency.max / 1e3,
			(double)x->latency.sum / 1e3 / (double)x->latency.count);
	if (r->o->mode == MODE_GATHER)
		fprintf(f, ",\n      \"first_s\": %.9f, \"last_s\": %.9f",
			report_seconds(x->first_ns), report_seconds(x->last_ns));
	fprintf(f, " }");
}

int
report_json(const struct run *r, const struct result *x, unsigned n)
{
	bool console = !strcmp(r->o->json, "-");
	FILE *f = console ? stdout : fopen(r->o->json, "we");
	if (!f) {
		fprintf(stderr, "suci-perf: %s: %s\n", r->o->json, strerror(errno));
		return -1;
	}
	fprintf(f,
		"{ \"tool\": \"suci-perf\", \"version\": \"%s\", \"mode\": \"%s\", "
		"\"processes\": %u,\n",
		datagram_version(), mode_name[r->o->mode], r->o->role == ROLE_CLIENT ? 2 : r->n);
	if (r->o->door)
		fprintf(f, "  \"opened_ms\": %.3f,\n", (double)r->opened_ns / 1e6);
	fprintf(f, "  \"results\": [\n");
	for (unsigned i = 0; i < n; i++) {
		json_row(f, r, &x[i]);
		fprintf(f, "%s\n", i + 1 < n ? "," : "");
	}
	fprintf(f, "  ] }\n");
	int bad = ferror(f);
	if (!console && (fclose(f) || bad)) {
		fprintf(stderr, "suci-perf: %s: cannot be written\n", r->o->json);
		return -1;
	}
	return 0;
}
