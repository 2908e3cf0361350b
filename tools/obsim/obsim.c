/* obsim - what a collective costs on an optical circuit network.
 *
 *   obsim [-p NODES] [-k PORTS] [-a ALPHA_S] [-b BETA_S_PER_BYTE] [-g GAMMA_S] [--json]
 *
 * Prints the time of the four algorithms of [OC] for message sizes 1 B to 1 MiB:
 * ideal (light is free), naive (a circuit per message), batched (k circuits at
 * a time, known beforehand).  Defaults are the paper's: p = 32, k = 2,
 * alpha = 1e-4 s, beta = 8e-9 s/B, gamma = 0.01 s. */
#include "ocs/model.h"

#include <bsd/stdlib.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void
usage(const char *why)
{
	fprintf(stderr,
		"obsim: %s\nusage: obsim [-p NODES] [-k PORTS] [-a ALPHA_S] [-b BETA_S_PER_BYTE] "
		"[-g GAMMA_S] [--json]\n",
		why);
	exit(2);
}

static uint32_t
count(const char *text, long long max, const char *what)
{
	const char *why;
	long long v = strtonum(text, 1, max, &why);
	if (why) {
		fprintf(stderr, "obsim: %s '%s' is %s (1 to %lld)\n", what, text, why, max);
		exit(2);
	}
	return (uint32_t)v;
}

static double
seconds(const char *text, const char *what)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= 0) || isinf(v)) {
		fprintf(stderr, "obsim: %s '%s' is not a time in seconds\n", what, text);
		exit(2);
	}
	return v;
}

static void
row(const struct ocs_model *m, enum ocs_algorithm a, enum ocs_mode mode, bool json, bool last)
{
	static const char *const mode_name[] = {"ideal", "naive", "batched"};
	static const double n[] = {1, 1024, 65536, 1048576};
	if (json)
		printf("  {\"algorithm\": \"%s\", \"mode\": \"%s\", \"gammas\": %u, \"seconds\": [",
		       ocs_algorithm_name(a), mode_name[mode], ocs_model_gammas(m, a, mode));
	else
		printf("%-20s %-8s %6u", ocs_algorithm_name(a), mode_name[mode],
		       ocs_model_gammas(m, a, mode));
	for (int i = 0; i < 4; i++)
		printf(json ? "%s%.9g" : "%s%11.6f", json && i ? ", " : " ",
		       ocs_model_s(m, a, mode, n[i]));
	printf(json ? "]}%s\n" : "%s\n", json && !last ? "," : "");
}

int
main(int argc, char **argv)
{
	struct ocs_model m = {32, 2, 1e-4, 8e-9, 0.01};
	bool json = false;
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
	for (int c; (c = getopt_long(argc, argv, "p:k:a:b:g:", longs, NULL)) != -1;) {
		switch (c) {
		case 'p':
			m.p = count(optarg, 1 << 20, "-p");
			break;
		case 'k':
			m.k = count(optarg, 4096, "-k");
			break;
		case 'a':
			m.alpha_s = seconds(optarg, "-a");
			break;
		case 'b':
			m.beta_s_per_byte = seconds(optarg, "-b");
			break;
		case 'g':
			m.gamma_s = seconds(optarg, "-g");
			break;
		case 'j':
			json = true;
			break;
		default:
			usage("unknown option");
		}
	}
	if (optind < argc)
		usage("takes options only");
	if (json)
		printf("{\"p\": %u, \"k\": %u, \"bytes\": [1, 1024, 65536, 1048576], \"rows\": [\n",
		       m.p, m.k);
	else
		printf("%-20s %-8s %6s %11s %11s %11s %11s  (seconds; p = %u, k = %u)\n",
		       "algorithm", "mode", "gammas", "1 B", "1 KiB", "64 KiB", "1 MiB", m.p, m.k);
	for (int a = OCS_LINEAR; a <= OCS_BINOMIAL; a++)
		for (int mode = OCS_IDEAL; mode <= OCS_BATCHED; mode++)
			row(&m, (enum ocs_algorithm)a, (enum ocs_mode)mode, json,
			    a == OCS_BINOMIAL && mode == OCS_BATCHED);
	if (json)
		printf("]}\n");
	return 0;
}
