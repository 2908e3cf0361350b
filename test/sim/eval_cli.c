/* SPDX-License-Identifier: BSD-2-Clause */
/* simulator --eval COSTS key=value ...: one point of the evaluation, as JSON on stdout. */
#include "eval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
number(const char *arg, const char *key, uint64_t *v)
{
	size_t n = strlen(key);
	if (strncmp(arg, key, n) != 0 || arg[n] != '=')
		return false;
	*v = strtoull(arg + n + 1, NULL, 0);
	return true;
}

static bool
word(const char *arg, const char *key, const char **v)
{
	size_t n = strlen(key);
	if (strncmp(arg, key, n) != 0 || arg[n] != '=')
		return false;
	*v = arg + n + 1;
	return true;
}

struct numbers {
	uint64_t clusters, ranks, ranks_others, relays, relays_others;
	uint64_t delay_us, loss_ppm, warm, iterations;
	bool pingpong;
};

static bool
set(struct eval_conf *c, struct numbers *n, const char *arg)
{
	const char *v;
	uint64_t x;
	if (number(arg, "clusters", &n->clusters) || number(arg, "ranks", &n->ranks) ||
	    number(arg, "ranks_others", &n->ranks_others) || number(arg, "relays", &n->relays) ||
	    number(arg, "relays_others", &n->relays_others) ||
	    number(arg, "delay_us", &n->delay_us) || number(arg, "loss_ppm", &n->loss_ppm) ||
	    number(arg, "warm", &n->warm) || number(arg, "iterations", &n->iterations) ||
	    number(arg, "bytes", &c->bytes) || number(arg, "datalen", &c->datalen) ||
	    number(arg, "seed", &c->seed) || number(arg, "eager", &c->eager) ||
	    number(arg, "eager_relayed", &c->eager_relayed) ||
	    word(arg, "algorithm", &c->algorithm) || word(arg, "pattern", &c->pattern) ||
	    word(arg, "kernel", &c->kernel))
		return true;
	if (number(arg, "vary_pc", &x))
		c->vary_pc = (uint32_t)x;
	else if (number(arg, "credit", &x))
		c->credit = (uint32_t)x;
	else if (number(arg, "pause_us", &x))
		c->pause_ns = x * BASE_US_NS;
	else if (number(arg, "compute_us", &x))
		c->compute_ns = x * BASE_US_NS;
	else if (number(arg, "verbose", &x))
		c->verbose = x != 0;
	else if (number(arg, "fixed_map", &x))
		c->fixed_map = x != 0;
	else if (number(arg, "one_side", &x))
		c->one_side = x != 0;
	else if (number(arg, "pingpong", &x))
		n->pingpong = x != 0;
	else if (word(arg, "transport", &v))
		c->transport = strcmp(v, "tcp") ? EVAL_SUCI : EVAL_TCP;
	else if (word(arg, "policy", &v))
		c->policy = !strcmp(v, "stripe")   ? RELAY_POLICY_STRIPE
			    : !strcmp(v, "source") ? RELAY_POLICY_SOURCE
						   : RELAY_POLICY_DEST;
	else if (word(arg, "cc", &v))
		c->cc = strcmp(v, "bbr") ? SUCI_CC_CUBIC : SUCI_CC_BBR;
	else
		return false;
	return true;
}

static void
print(const struct eval_conf *c, const struct eval_result *r)
{
	printf("{\"relays\": %u, \"bytes\": %llu, \"delay_us\": %llu, \"call_ns\": %llu, "
	       "\"worst_ns\": %llu, \"bound_ns\": %llu, \"rtt_ns\": %llu, \"idle_ns\": %llu, "
	       "\"timeouts\": %llu, \"lost\": %llu, \"retransmits\": %llu, \"events\": %llu, "
	       "\"hash\": \"%016llx\"}\n",
	       c->relays, (unsigned long long)c->bytes, (unsigned long long)c->wan_delay_ns / 1000,
	       (unsigned long long)r->call_ns, (unsigned long long)r->worst_ns,
	       (unsigned long long)r->bound_ns, (unsigned long long)r->rtt_ns,
	       (unsigned long long)r->idle_ns, (unsigned long long)r->timeouts,
	       (unsigned long long)r->lost, (unsigned long long)r->retransmits,
	       (unsigned long long)r->events, (unsigned long long)r->hash);
}

int
eval_main(int argc, char **argv)
{
	struct eval_conf c;
	struct eval_result r;
	const char *why;
	eval_conf_default(&c);
	struct numbers n = {.clusters = c.clusters,
			    .ranks = c.ranks,
			    .warm = c.warm,
			    .iterations = c.iterations};
	if (argc < 1 || !eval_costs_read(argv[0], &c.costs, &why)) {
		fprintf(stderr, "sim: %s: %s\n", argc < 1 ? "--eval" : argv[0],
			argc < 1 ? "file of costs?" : why);
		return 2;
	}
	for (int i = 1; i < argc; i++)
		if (!set(&c, &n, argv[i])) {
			fprintf(stderr, "sim: --eval: %s?\n", argv[i]);
			return 2;
		}
	c.clusters = (uint32_t)n.clusters;
	c.ranks = (uint32_t)n.ranks;
	c.ranks_others = (uint32_t)n.ranks_others;
	c.relays = (uint32_t)n.relays;
	c.relays_others = (uint32_t)n.relays_others;
	c.wan_delay_ns = n.delay_us * BASE_US_NS;
	c.wan_loss_ppb = (uint32_t)n.loss_ppm * 1000;
	c.warm = (uint32_t)n.warm;
	c.iterations = (uint32_t)n.iterations;
	if (n.pingpong)
		eval_pingpong(&c, &r);
	else
		eval_alltoall(&c, &r);
	if (!r.ok) {
		fprintf(stderr, "sim: %s\n", r.why);
		return 1;
	}
	print(&c, &r);
	return 0;
}
