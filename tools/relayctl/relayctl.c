/* relayctl - asks and steers a running relayd over its control socket (doc/control.md). */
#include "commands.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

volatile int interrupted;

static const struct command {
	const char *name, *args, *help;
	int (*run)(struct ctl *c, const struct options *o);
	const char *options; /* letters it takes besides -s, -j */
	int min_args, max_args;
} commands[] = {
	{"status", "", "who the relay is, load, buffers, custody, workers", cmd_status, "", 0, 0},
	{"jobs", "", "jobs now running", cmd_jobs, "", 0, 0},
	{"paths", "[--kind process|trunk|gateway]",
	 "paths to local processes, remote relays, gateways", cmd_paths, "k", 0, 0},
	{"drops", "[-d S] [--all]", "what was lost, by reason; -d: and how many per second",
	 cmd_drops, "da", 0, 0},
	{"gateway", "", "the gateway to foreign hosts: counters, memory, then its channels",
	 cmd_gateway, "", 0, 0},
	{"methods", "", "the calls of the control socket, for other programs", cmd_methods, "", 0,
	 0},
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

enum { OPT_KIND = 'k', OPT_ALL = 'a', OPT_HELP = 'h' };
static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"socket", required_argument, NULL, 's'},
	{"help", no_argument, NULL, OPT_HELP},
	{"kind", required_argument, NULL, OPT_KIND},
	{"all", no_argument, NULL, OPT_ALL},
	{"delay", required_argument, NULL, 'd'},
	{NULL, 0, NULL, 0},
};

static void
usage(FILE *f)
{
	fputs("usage: relayctl [-s NAME-OR-PATH] [--json] COMMAND\n", f);
	for (size_t i = 0; i < NCOMMANDS; i++) {
		int n = fprintf(f, "  %s%s%s", commands[i].name, *commands[i].args ? " " : "",
				commands[i].args);
		fprintf(f, n < 30 ? "%*s%s\n" : "\n%*s%s\n", n < 30 ? 30 - n : 30, "",
			commands[i].help);
	}
	fputs("-s   eal.file_prefix of the relay, or the path of its socket; may be left out if "
	      "one\n"
	      "     relay runs on this machine\n"
	      "exit status: 0 done, 1 the relay refused, 2 usage, 3 no relay there, 4 no "
	      "permission\n",
	      f);
}

static void
on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void
wait_s(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s};
	ts.tv_nsec = (long)((s - (double)ts.tv_sec) * 1e9);
	while (!interrupted && nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* A number of seconds, 0.05 .. 86400. */
static double
seconds(const char *text, const char *name)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= 0.05 && v <= 86400))
		ctl_die(CTL_USAGE, "%s: \"%s\" is not a number of seconds from 0.05 to 86400", name,
			text);
	return v;
}

static const struct command *
find_command(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* False: print the usage. */
static bool
take_option(int opt, struct options *o, const char **socket)
{
	switch (opt) {
	case 's':
		*socket = optarg;
		return true;
	case 'j':
		o->json = true;
		return true;
	case 'd':
		o->given_d = true;
		o->interval = seconds(optarg, "-d");
		return true;
	case OPT_KIND:
		o->kind = optarg;
		return true;
	case OPT_ALL:
		o->all = true;
		return true;
	default:
		return false;
	}
}

int
main(int argc, char **argv)
{
	struct options o = {.interval = 1};
	struct sigaction sa = {.sa_handler = on_signal};
	const char *socket = NULL;
	char seen[64] = "";
	struct ctl c;
	int opt;
	while ((opt = getopt_long(argc, argv, "s:d:h", long_options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			usage(stdout);
			return CTL_OK;
		}
		if (!take_option(opt, &o, &socket)) {
			usage(stderr);
			return CTL_USAGE;
		}
		size_t at = strlen(seen);
		if (opt != 's' && opt != 'j' && at + 1 < sizeof seen)
			seen[at] = (char)opt;
	}
	const struct command *cmd = optind < argc ? find_command(argv[optind]) : NULL;
	if (!cmd) {
		if (optind < argc)
			fprintf(stderr, "relayctl: no command %s\n", argv[optind]);
		usage(stderr);
		return CTL_USAGE;
	}
	o.nargs = argc - optind - 1;
	o.arg = argv + optind + 1;
	if (o.nargs < cmd->min_args || o.nargs > cmd->max_args ||
	    strspn(seen, cmd->options) != strlen(seen)) {
		fprintf(stderr, "usage: relayctl [-s NAME-OR-PATH] [--json] %s %s\n", cmd->name,
			cmd->args);
		return CTL_USAGE;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	ctl_open(&c, socket);
	int status = cmd->run(&c, &o);
	ctl_close(&c);
	if (fflush(stdout) || ferror(stdout))
		return CTL_REFUSED;
	return status;
}
