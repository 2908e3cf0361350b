/* SPDX-License-Identifier: BSD-2-Clause */
/* relayctl - asks and steers a running relayd over its control socket (doc/control.md). */
#include "commands.h"

#include "base/nearest.h"
#include "base/version.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
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
	{"status", "[--check]",
	 "who the relay is, load, buffers, custody, workers; --check: do the books balance, too",
	 cmd_status, "Cyb", 0, 0},
	{"jobs", "", "jobs now running", cmd_jobs, "yb", 0, 0},
	{"starts", "", "jobs that do not run yet, and what each waits for", cmd_starts, "yb", 0, 0},
	{"paths", "[--kind process|trunk|gateway|light|door]",
	 "paths to local processes, remote relays, gateways", cmd_paths, "kyb", 0, 0},
	{"doors", "", "doors that each worker carries, of here and of other clusters", cmd_doors,
	 "yb", 0, 0},
	{"ports", "[--all]", "ports of the legs: driver, link, counters; --all: zeros, too",
	 cmd_ports, "ayb", 0, 0},
	{"reset", "private|global", "reset the port of a leg that hangs; the relay goes on",
	 cmd_reset, "", 1, 1},
	{"drops", "[-d S] [--all]", "what was lost, by reason; -d: and how many per second",
	 cmd_drops, "dayb", 0, 0},
	{"gateway", "[--check]",
	 "the gateway to foreign hosts: counters, memory, then its channels", cmd_gateway, "Cyb", 0,
	 0},
	{"top", "[-d S] [-n N | --once] [--no-lanes]",
	 "lcores, trunks, lanes, drops: rates, again and again", cmd_top, "dn1Lyb", 0, 0},
	{"lanes", "[-d S] [-n N] [--job JOB]", "who talks to whom: measures S seconds (1)",
	 cmd_lanes, "dnJyb", 0, 0},
	{"advise", "[-d S] [-n N]",
	 "how many trunks this traffic can use, and why; what others send here: measures S "
	 "seconds (5)",
	 cmd_advise, "dnyb", 0, 0},
	{"set", "[NAME=VALUE...]", "show or change settings until the relay ends", cmd_set, "", 0,
	 32},
	{"reload", "[--check]",
	 "read the configuration file again; --check: only say what it would change", cmd_reload,
	 "C", 0, 0},
	{"drain", "[R] [--wait] [-d S]",
	 "give this relay's traffic to the others; --wait: until it is empty", cmd_drain, "Ed", 0,
	 1},
	{"undrain", "[R]", "take its share again", cmd_undrain, "", 0, 1},
	{"lights", "", "light ports: where they lead, what they carry", cmd_lights, "yb", 0, 0},
	{"light", "SLOT up PEER ADDRESS | SLOT down",
	 "a circuit of a light port was set, or is to go: open or drain its light path", cmd_light,
	 "", 2, 4},
	{"circuits", "[--log] | withdraw PORT | restore PORT",
	 "who is lit for whom, calls, hits, misses; --log: what happened, of the circuit "
	 "controller; withdraw: until it is dark",
	 cmd_circuits, "Gyb", 0, 2},
	{"capture",
	 "-w FILE [-n FRAMES] [-d S] [--leg private|global] [--dir in|out] [--peer IP[:PORT]] "
	 "[--path N [--worker N]] [--job JOB] [--src RANK] [--dst RANK] [--snaplen BYTES] "
	 "[--mbytes MB]",
	 "chosen frames to a pcapng file", cmd_capture, "wndlDpPWJSTNM", 0, 0},
	{"methods", "", "the calls of the control socket, for other programs", cmd_methods, "yb", 0,
	 0},
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

enum { OPT_KIND = 'k', OPT_ALL = 'a', OPT_HELP = 'h', OPT_WIDE = 'y' };
static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"socket", required_argument, NULL, 's'},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, 'V'},
	{"kind", required_argument, NULL, OPT_KIND},
	{"all", no_argument, NULL, OPT_ALL},
	{"delay", required_argument, NULL, 'd'},
	{"count", required_argument, NULL, 'n'},
	{"wait", no_argument, NULL, 'E'},
	{"check", no_argument, NULL, 'C'},
	{"once", no_argument, NULL, '1'},
	{"log", no_argument, NULL, 'G'},
	{"no-lanes", no_argument, NULL, 'L'},
	{"write", required_argument, NULL, 'w'},
	{"wide", no_argument, NULL, OPT_WIDE},
	{"bytes", no_argument, NULL, 'b'},
	{"leg", required_argument, NULL, 'l'},
	{"dir", required_argument, NULL, 'D'},
	{"peer", required_argument, NULL, 'p'},
	{"path", required_argument, NULL, 'P'},
	{"worker", required_argument, NULL, 'W'},
	{"job", required_argument, NULL, 'J'},
	{"src", required_argument, NULL, 'S'},
	{"dst", required_argument, NULL, 'T'},
	{"snaplen", required_argument, NULL, 'N'},
	{"mbytes", required_argument, NULL, 'M'},
	{NULL, 0, NULL, 0},
};

static void
usage(FILE *f)
{
	fputs("usage: relayctl [-s NAME-OR-PATH] [--json] [-w] [--bytes] COMMAND | --version | "
	      "--help\n",
	      f);
	for (size_t i = 0; i < NCOMMANDS; i++) {
		int n = fprintf(f, "  %s%s%s", commands[i].name, *commands[i].args ? " " : "",
				commands[i].args);
		fprintf(f, n < 30 ? "%*s%s\n" : "\n%*s%s\n", n < 30 ? 30 - n : 30, "",
			commands[i].help);
	}
	fputs("-s   eal.file_prefix of the relay, or the path of its socket; may be left out if "
	      "one\n"
	      "     relay runs on this machine\n"
	      "-w   tables with all columns; else a terminal gets those that fit, the most "
	      "important\n"
	      "--bytes  bytes and rates in tables with all digits, not as 12.3M\n"
	      "exit status: 0 done, 1 the relay refused, 2 usage, 3 no relay there, 4 no "
	      "permission\n",
	      f);
}

static void
on_relayctl_signal(int sig)
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
relayctl_seconds(const char *text, const char *name)
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

/* argv[0] is no command; wide: a -w stood before it. */
static void
unknown_command(int argc, char **argv, bool wide)
{
	const char *name = argv[0];
	const char *best = NULL;
	unsigned least = UINT_MAX;

	for (size_t i = 0; i < NCOMMANDS; i++) {
		const char *known = commands[i].name;
		unsigned d = base_edit_distance(name, strlen(name), known, strlen(known));
		if (d < least && base_edit_is_near(d, strlen(known))) {
			least = d;
			best = known;
		}
	}
	for (int i = 1; wide && !best && i < argc; i++)
		if (strcmp(argv[i], "capture") == 0) {
			fprintf(stderr,
				"relayctl: -w before a command means all columns; fix: relayctl "
				"capture -w %s\n",
				name);
			return;
		}
	fprintf(stderr, "relayctl: there is no command %s; %s%s%s\n", name,
		best ? "did you mean " : "relayctl --help lists them", best ? best : "",
		best ? "?" : "");
}

/* Options whose text goes on as it is. */
static bool
take_relayctl_text(int opt, struct options *o)
{
	const struct {
		int opt;
		const char **to;
	} row[] = {
		{OPT_KIND, &o->kind}, {'w', &o->file}, {'l', &o->leg},	   {'D', &o->dir},
		{'p', &o->peer},      {'P', &o->path}, {'W', &o->worker},  {'J', &o->job},
		{'S', &o->src},	      {'T', &o->dst},  {'N', &o->snaplen}, {'M', &o->mbytes},
	};
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		if (row[i].opt == opt) {
			*row[i].to = optarg;
			return true;
		}
	return false;
}

/* False: it is none, and getopt has said so. */
static bool
take_relayctl_option(int opt, struct options *o, const char **socket)
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
		o->interval = relayctl_seconds(optarg, "-d");
		return true;
	case 'n':
		o->given_n = true;
		o->n = number_of(optarg, "-n", 1, UINT32_MAX);
		return true;
	case OPT_ALL:
		o->all = true;
		return true;
	case 'E':
		o->wait = true;
		return true;
	case 'C':
		o->check = true;
		return true;
	case '1':
		o->once = true;
		return true;
	case 'L':
		o->no_lanes = true;
		return true;
	case 'G':
		o->log = true;
		return true;
	case OPT_WIDE:
		o->wide = true;
		return true;
	case 'b':
		o->full = true;
		return true;
	default:
		return take_relayctl_text(opt, o);
	}
}

/* What is wrong in any case is said whether or not a relay runs. */
static void
check_words(const struct command *cmd, const struct options *o)
{
	static const char *const kinds[] = {"process", "trunk", "gateway", "light", "door"};
	bool known = !o->kind;

	for (int i = 0; cmd->run == cmd_set && i < o->nargs; i++) {
		char *eq = strchr(o->arg[i], '=');
		if (!eq || eq == o->arg[i])
			ctl_die(CTL_USAGE, "set: \"%s\" is not NAME=VALUE", o->arg[i]);
		*eq = '\0';
		check_setting(o->arg[i]);
		*eq = '=';
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !known; i++)
		known = strcmp(o->kind, kinds[i]) == 0;
	if (!known)
		ctl_die(CTL_USAGE, "--kind: \"%s\" is not process, trunk, gateway, light or door",
			o->kind);
}

/* Options of argv up to its end, or with "+" first in letters up to the first word that is none;
 * optind is behind them.  The exit status, or -1: go on. */
static int
take_relayctl_options(int argc, char **argv, const char *letters, struct options *o,
		      const char **socket)
{
	int opt;
	optind = 0; /* from the beginning */
	while ((opt = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			usage(stdout);
			return CTL_OK;
		}
		if (opt == 'V') {
			puts("relayctl " BASE_VERSION);
			return CTL_OK;
		}
		if (opt == 'w' && !optarg) /* of a capture it has a file */
			opt = OPT_WIDE;
		if (!take_relayctl_option(opt, o, socket)) {
			fputs("relayctl --help lists commands and options\n", stderr);
			return CTL_USAGE;
		}
		size_t at = strlen(o->seen);
		if (opt != 's' && opt != 'j' && at + 1 < sizeof o->seen)
			o->seen[at] = (char)opt;
	}
	return -1;
}

static const struct command *
take_command(int argc, char **argv, struct options *o, const char **socket, int *status)
{
	*status = take_relayctl_options(argc, argv, "+s:d:n:wh", o, socket);
	if (*status >= 0)
		return NULL;
	const struct command *cmd = optind < argc ? find_command(argv[optind]) : NULL;
	*status = CTL_USAGE;
	if (!cmd && optind < argc)
		unknown_command(argc - optind, argv + optind, o->wide);
	else if (!cmd)
		usage(stderr);
	if (!cmd)
		return NULL;
	argc -= optind;
	argv += optind;
	argv[0] = program_invocation_name; /* getopt's complaints begin with it */
	*status = take_relayctl_options(
		argc, argv, cmd->run == cmd_capture ? "s:d:n:w:h" : "s:d:n:wh", o, socket);
	if (*status >= 0)
		return NULL;
	o->nargs = argc - optind;
	o->arg = argv + optind;
	if (o->nargs < cmd->min_args || o->nargs > cmd->max_args ||
	    strspn(o->seen, cmd->options) != strlen(o->seen)) {
		fprintf(stderr, "usage: relayctl [-s NAME-OR-PATH] [--json]%s %s %s\n",
			strchr(cmd->options, OPT_WIDE) ? " [-w] [--bytes]" : "", cmd->name,
			cmd->args);
		*status = CTL_USAGE;
		return NULL;
	}
	return cmd;
}

int
main(int argc, char **argv)
{
	struct options o = {.interval = 1};
	struct sigaction sa = {.sa_handler = on_relayctl_signal};
	const char *socket = NULL;
	struct ctl c;
	int status;
	setlocale(LC_CTYPE, ""); /* what is no ASCII takes the place that it takes there */
	const struct command *cmd = take_command(argc, argv, &o, &socket, &status);
	if (!cmd)
		return status;
	check_words(cmd, &o);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	ask_open(&c, socket);
	status = cmd->run(&c, &o);
	ctl_close(&c);
	if (fflush(stdout) || ferror(stdout))
		return CTL_REFUSED;
	return status;
}
