/* SPDX-License-Identifier: BSD-2-Clause */
/* obsim - what collectives cost on an optical circuit network.
 *
 *   obsim [OPTIONS]                  the paper's four algorithms, 1 B to 1 MiB: the event log of
 *                                    schedules and planner, and the closed formula beside it
 *   obsim [OPTIONS] TRACE            a hand-written trace (tools/obsim/trace.h), every mode
 *   obsim [OPTIONS] RANK0 RANK1 ...  the files of libmpitrace
 *
 *   -p NODES     -k PORTS[,PORTS...] (a node each; the last one for the rest)
 *   --links N    of two nodes at once: what one sends the other is spread over them (1)
 *   -w CIRCUITS  lit at once in all of the network, as wavelengths allow; 0: no such limit
 *   -a ALPHA_S   -b BETA_S_PER_BYTE  -g GAMMA_S        light
 *   -A ALPHA_S   -B BETA_S_PER_BYTE                    packet network
 *   -m MODE      only this mode      --list: the modes
 *   -n BYTES     only this size (without a trace)
 *   --paper      one gamma more a call, as Table 4 of the paper counts
 *   --foresight  the next call is known when one ends: circuits move during computation
 *   --blocking   non-blocking collectives are waited for where they begin: what overlap is worth
 *   --eager BYTES  sends of at most so many do not wait for their receiver (65536)
 *   --calls      a line for every call
 *   --rules FILE selection rules (JSON)  --json
 *   --plan-time  how long planning takes, for -p nodes, by the clock of this machine
 *
 * Defaults are the paper's: p = 32, k = 2, alpha = 1e-4 s, beta = 8e-9 s/B, gamma = 0.01 s; packets
 * at twice the alpha and a tenth of the rate. */
#include "model.h"
#include "replay.h"
#include "rules.h"
#include "base/version.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	uint32_t p, ports_given, ports[OBS_RANKS_MAX];
	struct obs_setting s;
	int mode; /* -1: all */
	double n; /* -1: all */
	bool json, calls;
};

static _Noreturn void
die_obsim(const char *what, const char *why)
{
	fprintf(stderr, "obsim: %s: %s\n", what, why);
	exit(2);
}

static uint32_t
count_obsim(const char *text, long long min, long long max, const char *what)
{
	const char *why;
	long long v = strtonum(text, min, max, &why);
	if (why) {
		fprintf(stderr, "obsim: %s '%s' is %s (%lld to %lld)\n", what, text, why, min, max);
		exit(2);
	}
	return (uint32_t)v;
}

static double
obsim_seconds(const char *text, const char *what)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= 0) || isinf(v))
		die_obsim(what, "not a time in seconds");
	return v;
}

static void
obsim_ports(struct options *o, char *text)
{
	o->ports_given = 0;
	for (char *at; (at = strsep(&text, ",")) != NULL;) {
		if (o->ports_given == OBS_RANKS_MAX)
			die_obsim("-k", "too many");
		o->ports[o->ports_given++] = count_obsim(at, 0, CIRC_SLOTS_MAX, "-k");
	}
	o->s.k = 1;
	for (uint32_t i = 0; i < o->ports_given; i++)
		o->s.k = o->ports[i] > o->s.k ? o->ports[i] : o->s.k;
}

static void *
load_obsim(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *data = NULL;
	*len = 0;
	if (!f)
		die_obsim(path, strerror(errno));
	for (size_t room = 0, got = 1; got;) {
		if (*len + 65536 > room) {
			room = room ? 2 * room : 1 << 17;
			data = realloc(data, room);
			if (!data)
				die_obsim(path, "out of memory");
		}
		got = fread(data + *len, 1, 65536, f);
		*len += got;
	}
	if (ferror(f))
		die_obsim(path, strerror(errno));
	fclose(f);
	return data;
}

/* ---- without a trace: event log beside formula */

static const struct {
	enum coll_op op;
	const char *name;
	bool whole; /* the call's bytes are n, not n / p */
} paper[] = {
	[OBS_LINEAR] = {COLL_BCAST, "linear", true},
	[OBS_RING] = {COLL_ALLGATHER, "ring", false},
	[OBS_DOUBLING] = {COLL_ALLGATHER, "recursive_doubling", false},
	[OBS_BINOMIAL] = {COLL_BCAST, "binomial", true},
};

static double
played_s(const struct options *o, enum obs_algorithm a, enum obs_strategy mode, double n)
{
	struct obs_trace_call call = {.op = paper[a].op,
				      .bytes = (uint64_t)(paper[a].whole ? n : n / o->p),
				      .next = OBS_NO_CALL};
	struct obs_step step[] = {{.kind = OBS_COME, .rank = OBS_EVERY},
				  {.kind = OBS_WAIT, .rank = OBS_EVERY}};
	snprintf(call.algorithm, sizeof call.algorithm, "%s", paper[a].name);
	struct obs_trace t = {.ranks = o->p, .step = step, .steps = 2, .call = &call, .calls = 1};
	struct obs_setting s = o->s;
	struct obs_report r;
	s.strategy = mode;
	if (!obs_replay(&t, &s, &r))
		die_obsim(paper[a].name, r.why);
	obs_report_free(&r);
	return r.total_s;
}

/* The paper's, for a node that has w links to each of k / w others, each link a w-th of a message.
 */
static struct obs_model
obsim_model_of(const struct options *o, uint32_t w)
{
	w = w < o->s.k ? w : o->s.k;
	w = w ? w : 1;
	return (struct obs_model){o->p, o->s.k / w, o->s.costs.alpha_s,
				  o->s.costs.beta_s_per_byte / w, o->s.costs.gamma_s};
}

static double
obsim_pipelined_s(const struct options *o, uint32_t w, double n)
{
	struct obs_model m = obsim_model_of(o, w);
	return obs_model_pipelined_s(&m, o->p - 1, m.alpha_s + n * m.beta_s_per_byte);
}

/* -1: there is none. */
static double
formula_s(const struct options *o, enum obs_algorithm a, enum obs_strategy mode, double n)
{
	uint32_t links = o->s.links ? o->s.links : 1;
	struct obs_model m = obsim_model_of(o, mode == OBS_NAIVE ? 1 : links);
	double whole = paper[a].whole ? n : floor(n / o->p) * o->p, least = -1;
	if (mode == OBS_PIPELINED && a == OBS_LINEAR) {
		for (uint32_t w = 1; w <= links; w = w < 2 || w == links ? w + 1 : links) {
			double s = obsim_pipelined_s(o, w, n);
			least = least < 0 || s < least ? s : least;
		}
		return least;
	}
	if (mode > OBS_BATCHED)
		return -1;
	/* without set-ups, but not without ports: a ring has two neighbours at a time */
	if (mode == OBS_IDEAL && a == OBS_RING && links > 1 && m.k < 2)
		return -1;
	return obs_model_s(&m, a, (enum obs_strategy)mode, whole);
}

static void
model(const struct options *o)
{
	bool first = true;
	if (o->json)
		printf("{\"p\": %u, \"k\": %u, \"links\": %u, \"points\": [\n", o->p, o->s.k,
		       o->s.links);
	else
		printf("p = %u, k = %u, links = %u; seconds: event log (closed formula)\n", o->p,
		       o->s.k, o->s.links);
	for (int a = OBS_LINEAR; a <= OBS_BINOMIAL; a++)
		for (int m = OBS_IDEAL; m <= OBS_PIPELINED; m++) {
			if (o->mode >= 0 && o->mode != m)
				continue;
			if (!o->json)
				printf("%-20s %-10s", obs_algorithm_name((enum obs_algorithm)a),
				       obs_strategy_name((enum obs_strategy)m));
			uint64_t from = o->n >= 0 ? (uint64_t)o->n : 1;
			uint64_t to = o->n >= 0 ? from : 1 << 20;
			for (uint64_t bytes = from; bytes <= to; bytes = 4 * bytes + !bytes) {
				double n = (double)bytes;
				double log =
					played_s(o, (enum obs_algorithm)a, (enum obs_strategy)m, n);
				double form = formula_s(o, (enum obs_algorithm)a,
							(enum obs_strategy)m, n);
				bool shown = o->n >= 0 || bytes == 1 || bytes == 1024 ||
					     bytes == 65536 || bytes == 1 << 20;
				if (o->json) {
					printf("%s  {\"algorithm\": \"%s\", \"mode\": \"%s\", "
					       "\"bytes\": %.0f, \"log_s\": %.9f, "
					       "\"formula_s\": %.9f}",
					       first ? "" : ",\n",
					       obs_algorithm_name((enum obs_algorithm)a),
					       obs_strategy_name((enum obs_strategy)m), n, log,
					       form);
					first = false;
				} else if (shown && form >= 0) {
					printf("  %.6f (%.6f)", log, form);
				} else if (shown) {
					printf("  %.6f           ", log);
				}
			}
			if (!o->json)
				putchar('\n');
		}
	if (o->json)
		printf("\n]}\n");
}

/* ---- with one */

static void
calls(const struct obs_report *r, bool json)
{
	for (uint64_t i = 0; i < r->calls + r->messages; i++) {
		const struct obs_call_line *l = &r->line[i];
		char ends[32];
		snprintf(ends, sizeof ends, "%u to %u", l->from, l->to);
		printf(json ? "%s\n    {\"op\": \"%s\", \"algorithm\": \"%s\", \"reversed\": %s, "
			      "\"blocking\": %s, \"bytes\": %" PRIu64
			      ", \"start_s\": %.9f, \"took_s\": %.9f, "
			      "\"set_ups\": %u, \"hits\": %u, \"packets\": %u}"
			    : "%s  %-14s %-20s %-9s%-12s %10" PRIu64
			      " B  at %.6f  took %.6f  set up %u"
			      "  hits %u  packets %u\n",
		       json && i ? "," : "", l->message ? "message" : coll_op_name(l->op),
		       l->message ? ends : l->algorithm,
		       json	     ? l->reversed ? "true" : "false"
		       : l->reversed ? "reversed"
				     : "",
		       json	  ? l->start ? "false" : "true"
		       : l->start ? "non-blocking"
				  : "",
		       l->bytes, l->start_s, l->took_s, l->r.orders, l->r.hits, l->r.packets);
	}
}

static void
report_obsim(const struct options *o, const struct obs_report *r, bool first)
{
	double light = (double)r->by_light, all = light + (double)r->packets;
	double ratio = light > 0 ? (double)r->hits / light : 0;
	const char *name = obs_strategy_name(o->s.strategy);
	if (!o->json) {
		printf("%-10s total %.6f s  computing %.6f  calls %" PRIu64, name, r->total_s,
		       r->compute_s, r->calls);
		if (r->messages)
			printf("  messages %" PRIu64, r->messages);
		printf("  set-ups %" PRIu64 "  hit ratio %.3f  by packets %.3f\n", r->orders, ratio,
		       all > 0 ? (double)r->packets / all : 0);
		if (o->calls)
			calls(r, false);
		return;
	}
	printf("%s  {\"mode\": \"%s\", \"total_s\": %.9f, \"compute_s\": %.9f, \"calls\": %" PRIu64
	       ", \"messages\": %" PRIu64 ", \"set_ups\": %" PRIu64
	       ", \"hit_ratio\": %.6f, \"messages_by_light\": %.0f, "
	       "\"messages_by_packets\": %" PRIu64 ", \"events\": %" PRIu64,
	       first ? "" : ",\n", name, r->total_s, r->compute_s, r->calls, r->messages, r->orders,
	       ratio, light, r->packets, r->events);
	if (o->calls) {
		printf(", \"each\": [");
		calls(r, true);
		printf("]");
	}
	printf("}");
}

static void
replay_obsim(struct options *o, char **files, int n)
{
	struct obs_trace t;
	void **data = calloc((size_t)n, sizeof *data);
	size_t *len = calloc((size_t)n, sizeof *len);
	if (!data || !len)
		die_obsim("traces", "out of memory");
	for (int i = 0; i < n; i++)
		data[i] = load_obsim(files[i], &len[i]);
	bool binary = n > 1 || (len[0] >= 8 && !memcmp(data[0], "LMPITRC", 7));
	bool ok = binary ? obs_trace_mpi(&t, (const void *const *)data, len, (uint32_t)n)
			 : obs_trace_text(&t, data[0], len[0]);
	if (!ok)
		die_obsim(files[0], t.why);
	for (uint32_t r = o->ports_given; r < t.ranks; r++)
		o->ports[r] = o->ports[o->ports_given - 1];
	o->s.ports = o->ports;
	if (o->json)
		printf("{\"ranks\": %u, \"k\": %u, \"links\": %u, \"measured_s\": %.9f, "
		       "\"waited_s\": %.9f, \"modes\": [\n",
		       t.ranks, o->s.k, o->s.links, t.measured_s, t.waited_s);
	else if (t.measured_s > 0)
		printf("the run that was traced took %.6f s; a rank waited for a processor for up "
		       "to "
		       "%.6f s of its computing, which is left out\n",
		       t.measured_s, t.waited_s);
	bool first = true;
	for (int m = 0; m < OBS_STRATEGY_COUNT; m++) {
		struct obs_report r;
		if (o->mode >= 0 && o->mode != m)
			continue;
		o->s.strategy = (enum obs_strategy)m;
		if (!obs_replay(&t, &o->s, &r))
			die_obsim(obs_strategy_name(o->s.strategy), r.why);
		report_obsim(o, &r, first);
		first = false;
		obs_report_free(&r);
	}
	if (o->json)
		printf("\n]}\n");
	for (int i = 0; i < n; i++)
		free(data[i]);
	free(data);
	free(len);
	obs_trace_free(&t);
}

/* ---- the planner's own time */

static double
planning_s(const struct obs_call *c, uint32_t k, enum circ_mode mode)
{
	struct circ_slots s = {.nodes = c->p, .stride = k};
	uint32_t *budget = calloc(c->p, sizeof *budget);
	s.slot = calloc((size_t)c->p * k, sizeof *s.slot);
	void *mem = malloc(circ_plan_footprint(&s, c->messages));
	if (!budget || !s.slot || !mem)
		die_obsim("--plan-time", "out of memory");
	for (uint32_t n = 0; n < c->p; n++)
		budget[n] = k;
	s.ports = budget;
	circ_slots_clear(&s);
	struct circ_plan_wish w = {.mode = mode, .demand = c->demand, .demands = c->messages};
	struct circ_plan plan;
	double best = INFINITY;
	for (int i = 0; i < 5; i++) {
		struct timespec t0, t1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
		circ_plan_make(&plan, &w, &s, mem);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
		double took =
			(double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) * 1e-9;
		best = took < best ? took : best;
	}
	free(budget);
	free(s.slot);
	free(mem);
	return best;
}

static void
plan_time(const struct options *o)
{
	static const struct {
		enum coll_op op;
		const char *name;
	} rows[] = {{COLL_BCAST, "linear"},	      {COLL_BCAST, "binomial"},
		    {COLL_ALLGATHER, "ring"},	      {COLL_ALLGATHER, "recursive_doubling"},
		    {COLL_ALLREDUCE, "rabenseifner"}, {COLL_ALLTOALL, "pairs"}};
	printf("%u nodes, %u ports on the switch; processor time, best of 5\n", o->p,
	       o->p * o->s.k);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct obs_args a = {
			.op = rows[i].op, .algorithm = rows[i].name, .bytes = 1 << 16, .p = o->p};
		struct obs_call c;
		if (obs_call_make(&c, &a, NULL) != 0)
			continue;
		for (int m = CIRC_MODE_BATCHED; m <= CIRC_MODE_CACHED; m++) {
			double s = planning_s(&c, o->s.k, (enum circ_mode)m);
			printf("%-10s %-20s %-10s %7u messages %5u steps  %9.1f us, %7.2f us a "
			       "step\n",
			       coll_op_name(a.op), a.algorithm, circ_mode_name((enum circ_mode)m),
			       c.messages, c.rounds, s * 1e6, s * 1e6 / c.rounds);
		}
		obs_call_free(&c);
	}
}

static int
obsim_mode_of(const char *name)
{
	for (int m = 0; m < OBS_STRATEGY_COUNT; m++)
		if (!strcmp(name, obs_strategy_name((enum obs_strategy)m)))
			return m;
	die_obsim(name, "no such mode; --list");
}

static _Noreturn void
list(void)
{
#define X(n, mode, name, t) printf("%-10s %s\n", name, t);
	OBS_STRATEGIES(X)
#undef X
	exit(0);
}

static void
rules(struct options *o, const char *path)
{
	static struct coll_rule rule[LMPI_RULES_MAX];
	static struct coll_rules all = {rule, 0};
	char why[160];
	size_t len;
	char *text = load_obsim(path, &len);
	if (!lmpi_rules_parse(text, len, rule, &all.count, why))
		die_obsim(path, why);
	free(text);
	o->s.rules = &all;
}

static const char usage_text[] =
	"usage: obsim [-p NODES] [-k PORTS[,PORTS...]] [--links N] [-w CIRCUITS] [-a S] [-b S]\n"
	"             [-g S] [-A S] [-B S] [-m MODE] [-n BYTES] [--paper] [--foresight]\n"
	"             [--blocking] [--eager BYTES] [--calls] [--rules FILE] [--plan-time] "
	"[--json]\n"
	"             [--list] [TRACE | RANK0 RANK1 ...]\n";

static void
obsim_option(struct options *o, int c)
{
	switch (c) {
	case 'p':
		o->p = count_obsim(optarg, 2, OBS_RANKS_MAX, "-p");
		break;
	case 'k':
		obsim_ports(o, optarg);
		break;
	case 'a':
		o->s.costs.alpha_s = obsim_seconds(optarg, "-a");
		break;
	case 'b':
		o->s.costs.beta_s_per_byte = obsim_seconds(optarg, "-b");
		break;
	case 'g':
		o->s.costs.gamma_s = obsim_seconds(optarg, "-g");
		break;
	case 'A':
		o->s.costs.packet_alpha_s = obsim_seconds(optarg, "-A");
		break;
	case 'B':
		o->s.costs.packet_beta_s_per_byte = obsim_seconds(optarg, "-B");
		break;
	case 'w':
		o->s.lit_max = count_obsim(optarg, 0, UINT32_MAX, "-w");
		break;
	case 'L':
		o->s.links = count_obsim(optarg, 1, CIRC_LINKS_MAX, "--links");
		break;
	case 'm':
		o->mode = obsim_mode_of(optarg);
		break;
	case 'n':
		o->n = count_obsim(optarg, 0, 1 << 30, "-n");
		break;
	case 'e':
		o->s.eager = count_obsim(optarg, 0, UINT32_MAX, "--eager");
		break;
	case 'r':
		rules(o, optarg);
		break;
	case 'l':
		list();
	case 'h':
		fputs(usage_text, stdout);
		exit(0);
	case 'V':
		puts("obsim " BASE_VERSION);
		exit(0);
	default:
		fputs("obsim --help lists the options\n", stderr);
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	static struct options o = {.p = 32, .ports_given = 1, .ports = {2}, .mode = -1, .n = -1};
	int paper_too = 0, foresight = 0, blocking = 0, each = 0, json = 0, timing = 0;
	const struct option longs[] = {{"json", no_argument, &json, 1},
				       {"paper", no_argument, &paper_too, 1},
				       {"foresight", no_argument, &foresight, 1},
				       {"blocking", no_argument, &blocking, 1},
				       {"calls", no_argument, &each, 1},
				       {"plan-time", no_argument, &timing, 1},
				       {"rules", required_argument, NULL, 'r'},
				       {"eager", required_argument, NULL, 'e'},
				       {"links", required_argument, NULL, 'L'},
				       {"list", no_argument, NULL, 'l'},
				       {"help", no_argument, NULL, 'h'},
				       {"version", no_argument, NULL, 'V'},
				       {0}};
	o.s.k = 2;
	o.s.links = 1;
	o.s.eager = 65536; /* as libmpi's */
	o.s.costs = (struct circ_costs){1e-4, 8e-9, 0.01, 2e-4, 8e-8, 0, 0};
	for (int c; (c = getopt_long(argc, argv, "p:k:w:a:b:g:A:B:m:n:h", longs, NULL)) != -1;)
		if (c)
			obsim_option(&o, c);
	o.s.paper = paper_too;
	o.s.foresight = foresight;
	o.s.blocking = blocking;
	o.calls = each;
	o.json = json;
	if (timing)
		plan_time(&o);
	else if (optind < argc)
		replay_obsim(&o, argv + optind, argc - optind);
	else
		model(&o);
	return 0;
}
