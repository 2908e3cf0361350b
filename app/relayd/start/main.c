/* SPDX-License-Identifier: BSD-2-Clause */
/* relayd - joins clusters with private addresses into one MPI job. */
#include "advice.h"
#include "check.h"
#include "log.h"
#include "report.h"
#include "stages.h"

#include "base/version.h"
#include "driver/aead.h"
#include "driver/idle.h"
#include "driver/port.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/unistd.h>

/* The words of the table are in the order of the driver's enums. */
_Static_assert(RD_PMD_AF_PACKET == 0 && RD_PMD_AF_XDP == 1, "ports.*.pmd");
_Static_assert(RD_IDLE_BUSY == 0 && RD_IDLE_PAUSE == 1 && RD_IDLE_SLEEP == 2, "idle");

static const char usage[] =
	"usage: relayd CONF.json            run\n"
	"       relayd --check CONF.json    is the configuration good, and what does this machine\n"
	"                                   lack for it?  changes nothing; exit 0 or 1\n"
	"       relayd --check --no-machine CONF.json...   the first alone, also of several "
	"relays:\n"
	"                                   do they go together?  --json: for programs\n"
	"       relayd --make-identity FILE a new private key of this site; prints the public one\n"
	"       relayd --show-identity FILE the public key of that private one\n"
	"       relayd --print-defaults     a configuration with every key and its default\n"
	"       relayd --print-schema       JSON Schema of the configuration\n"
	"       relayd --print-table        the keys as a Markdown table\n"
	"       relayd --version\n"
	"SIGTERM, SIGINT, SIGQUIT  drain, then stop    SIGHUP  read CONF.json again\n"
	"SIGUSR1  write stats_file\n";

/* What is to be said of a file. */
struct examined {
	struct rd_faults faults, lacks, warnings;
	struct rd_plan plan;
};

/* Conf and, if that is wanted, machine. */
static bool
examine(const char *path, bool machine, struct rd_conf *conf, struct examined *x)
{
	if (!rd_conf_load(path, conf, &x->faults))
		return false;
	if (!rd_plan_memory(conf, &x->plan)) {
		rd_fault_add(&x->faults, "/limits", 0, "the limits are out of range together");
		return false;
	}
	if (!machine)
		return true;
	rd_check_machine(conf, x->plan.mem_mb, &x->lacks);
	rd_check_advice("/sys", conf, &x->warnings);
	return !x->lacks.count;
}

static void
say_bad(const char *path, const struct examined *x)
{
	if (x->faults.count)
		fprintf(stderr, "relayd: %s has %u fault%s\n", path, x->faults.count,
			x->faults.count == 1 ? "" : "s");
	else
		fprintf(stderr, "relayd: this machine lacks %u thing%s for %s\n", x->lacks.count,
			x->lacks.count == 1 ? "" : "s", path);
}

static void
say_good(const char *path, const struct rd_conf *conf, const struct examined *x)
{
	printf("%s: good; %u packet buffers and tables need %u of %u MiB\n", path,
	       rd_plan_buffers(conf, &x->plan), x->plan.mem_mb, conf->eal.memory_mb);
	bool sealed = false;
	for (uint32_t leg = 0; leg < conf->nlegs; leg++)
		sealed |= conf->port[leg].sealing == RD_SEALING_ON;
	if (!sealed && (conf->cluster.nrelays > 1 || *conf->optical.controller))
		printf("note: no leg is sealed, so the channels to the other relays and to the "
		       "circuit controller are not either\n");
}

/* One file; or several, which are of relays on other machines, and of which each is held against
 * those before it. */
static int
check_files(char *const *path, uint32_t n, bool machine, bool json)
{
	struct rd_conf *conf = calloc(n, sizeof *conf);
	bool *good = calloc(n, sizeof *good);
	struct rd_report r;
	if (!conf || !good) {
		free(conf);
		free(good);
		fputs("relayd: no memory\n", stderr);
		return 1;
	}
	rd_report_begin(&r, json);
	for (uint32_t i = 0; i < n; i++) {
		static struct examined x;
		x = (struct examined){0};
		good[i] = examine(path[i], machine, &conf[i], &x);
		for (uint32_t k = 0; k < i; k++)
			if (good[i] && good[k])
				rd_conf_agree(&conf[k], path[k], &conf[i], &x.faults);
		rd_report_file(&r, path[i], &x.faults, &x.lacks, &x.warnings);
		if (!json && good[i] && !x.faults.count)
			say_good(path[i], &conf[i], &x);
		else if (!json)
			say_bad(path[i], &x);
	}
	rd_report_end(&r);
	free(conf);
	free(good);
	return !r.good;
}

static int
run_relayd(const char *path)
{
	static struct rd_conf conf;
	static struct examined x;
	char name[48], whole[PATH_MAX];
	bool good = examine(path, true, &conf, &x);
	rd_report_lines(path, "", &x.faults);
	rd_report_lines("machine", "", &x.lacks);
	rd_report_lines("machine", "warning: ", &x.warnings);
	if (!good) {
		say_bad(path, &x);
		return 1;
	}
	snprintf(name, sizeof name, "%s%u", conf.cluster.name, conf.cluster.self);
	rd_log_init(name, (enum rd_log_level)conf.log_level);
	return rd_run(realpath(path, whole) ? whole : path, &conf, &x.plan);
}

/* The public key goes to standard output, alone on its line. */
static int
identity(const char *path, int (*get)(const char *, struct seal_identity *, char *))
{
	struct seal_identity id;
	char why[SEAL_TEXT], text[2 * SEAL_DH + 1];
	if (get(path, &id, why)) {
		fprintf(stderr, "relayd: %s: %s\n", path, why);
		return 1;
	}
	seal_hex(id.public_key, text);
	puts(text);
	explicit_bzero(&id, sizeof id);
	return 0;
}

int
main(int argc, char **argv, char **envp)
{
	static const struct option options[] = {
		{"check", no_argument, NULL, 'c'},
		{"no-machine", no_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'j'},
		{"make-identity", required_argument, NULL, 'm'},
		{"show-identity", required_argument, NULL, 'i'},
		{"print-defaults", no_argument, NULL, 'd'},
		{"print-schema", no_argument, NULL, 's'},
		{"print-table", no_argument, NULL, 't'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	setproctitle_init(argc, argv, envp);
	bool checks = false, machine = true, json = false;
	for (int opt; (opt = getopt_long(argc, argv, "ch", options, NULL)) != -1;)
		switch (opt) {
		case 'c':
			checks = true;
			break;
		case 'n':
			machine = false;
			break;
		case 'j':
			json = true;
			break;
		case 'm':
			return identity(optarg, seal_identity_make);
		case 'i':
			return identity(optarg, seal_identity_load);
		case 'd':
			rd_conf_print_defaults(stdout);
			return 0;
		case 's':
			rd_conf_print_schema(stdout);
			return 0;
		case 't':
			rd_conf_print_table(stdout);
			return 0;
		case 'V':
			puts("relayd " BASE_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs("relayd --help lists the options\n", stderr);
			return 2;
		}
	if (optind < argc && checks)
		return check_files(argv + optind, (uint32_t)(argc - optind),
				   machine && optind + 1 == argc, json);
	if (optind + 1 == argc && machine && !json)
		return run_relayd(argv[optind]);
	fputs(usage, stderr);
	return 2;
}
