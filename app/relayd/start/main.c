/* relayd - joins clusters with private addresses into one MPI job. */
#include "check.h"
#include "log.h"
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
	"       relayd --check --no-machine CONF.json   the first alone\n"
	"       relayd --make-identity FILE a new private key of this site; prints the public one\n"
	"       relayd --show-identity FILE the public key of that private one\n"
	"       relayd --print-defaults     a configuration with every key and its default\n"
	"       relayd --print-schema       JSON Schema of the configuration\n"
	"       relayd --print-table        the keys as a Markdown table\n"
	"       relayd --version\n"
	"SIGTERM, SIGINT, SIGQUIT  drain, then stop    SIGHUP  read CONF.json again\n"
	"SIGUSR1  write stats_file\n";

static void
print_faults(const char *path, const struct rd_faults *faults)
{
	uint32_t n = faults->count < RD_FAULTS_MAX ? faults->count : RD_FAULTS_MAX;
	for (uint32_t i = 0; i < n; i++) {
		const struct rd_fault *f = &faults->fault[i];
		fputs(path, stderr);
		if (f->line)
			fprintf(stderr, ":%u", f->line);
		fprintf(stderr, ": %s%s%s\n", f->pointer, *f->pointer ? ": " : "", f->text);
	}
	if (faults->count > n)
		fprintf(stderr, "%s: and %u more\n", path, faults->count - n);
}

/* Conf and, if that is wanted, machine; false after printing what is wrong. */
static bool
examine(const char *path, bool machine, struct rd_conf *conf, struct rd_plan *plan)
{
	static struct rd_faults faults, lacks;
	if (!rd_conf_load(path, conf, &faults)) {
		print_faults(path, &faults);
		fprintf(stderr, "relayd: %s has %u fault%s\n", path, faults.count,
			faults.count == 1 ? "" : "s");
		return false;
	}
	if (!rd_plan_memory(conf, plan)) {
		rd_fault_add(&faults, "/limits", 0, "the limits are out of range together");
		print_faults(path, &faults);
		return false;
	}
	if (machine)
		rd_check_machine(conf, plan->mem_mb, &lacks);
	if (lacks.count) {
		print_faults("machine", &lacks);
		fprintf(stderr, "relayd: this machine lacks %u thing%s for %s\n", lacks.count,
			lacks.count == 1 ? "" : "s", path);
		return false;
	}
	return true;
}

static int
check_only(const char *path, bool machine)
{
	static struct rd_conf conf;
	struct rd_plan plan;
	if (!examine(path, machine, &conf, &plan))
		return 1;
	printf("%s: good; %u packet buffers and tables need %u of %u MiB\n", path,
	       rd_plan_buffers(&conf, &plan), plan.mem_mb, conf.eal.memory_mb);
	bool sealed = false;
	for (uint32_t leg = 0; leg < conf.nlegs; leg++)
		sealed |= conf.port[leg].sealing == RD_SEALING_ON;
	if (!sealed && (conf.cluster.nrelays > 1 || *conf.optical.controller))
		printf("note: no leg is sealed, so the channels to the other relays and to the "
		       "circuit controller are not either\n");
	return 0;
}

static int
run_relayd(const char *path)
{
	static struct rd_conf conf;
	struct rd_plan plan;
	char name[48], whole[PATH_MAX];
	if (!examine(path, true, &conf, &plan))
		return 1;
	snprintf(name, sizeof name, "%s%u", conf.cluster.name, conf.cluster.self);
	rd_log_init(name, (enum rd_log_level)conf.log_level);
	return rd_run(realpath(path, whole) ? whole : path, &conf, &plan);
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
	bool checks = false, machine = true;
	for (int opt; (opt = getopt_long(argc, argv, "ch", options, NULL)) != -1;)
		switch (opt) {
		case 'c':
			checks = true;
			break;
		case 'n':
			machine = false;
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
			fputs(usage, stderr);
			return 2;
		}
	if (optind + 1 == argc && checks)
		return check_only(argv[optind], machine);
	if (optind + 1 == argc && machine)
		return run_relayd(argv[optind]);
	fputs(usage, stderr);
	return 2;
}
