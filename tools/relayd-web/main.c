/* SPDX-License-Identifier: BSD-2-Clause */
/* relayd-web: what relayd says, over HTTP: OpenMetrics, JSON, a page.  Read-only. */
#include "http.h"

#include "base/version.h"

#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN "127.0.0.1:7814"

static void
print_usage(void)
{
	puts("usage: relayd-web [-l ADDRESS:PORT] [-s NAME-OR-PATH]... [-H HOST]... | --version "
	     "| --help\n"
	     "Serves what the relays of this machine say of themselves, read-only.\n"
	     "  -l   where to listen (" LISTEN ")\n"
	     "  -s   a relay: its eal.file_prefix, or the path of its control socket;\n"
	     "       without -s: all in /run/relayd, looked for anew at each request\n"
	     "  -H   a name by which browsers may ask for this server, besides its addresses\n"
	     "  /metrics  OpenMetrics     /api/relays  JSON     /  a page\n"
	     "exit status: 0 ended by a signal, 1 cannot listen, 2 usage");
}

static int
say_help(void)
{
	fputs("relayd-web --help lists the options\n", stderr);
	return 2;
}

static bool
append_name(const char **to, unsigned *n, const char *name, const char *what)
{
	if (*n == WEB_RELAYS_MAX) {
		fprintf(stderr, "relayd-web: more than %d %s\n", WEB_RELAYS_MAX, what);
		return false;
	}
	to[(*n)++] = name;
	return true;
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"version", no_argument, NULL, 'V'}, {"help", no_argument, NULL, 'h'}, {0}};
	struct web_conf conf = {.listen = LISTEN};
	char why[256] = "";
	int o;
	while ((o = getopt_long(argc, argv, "l:s:H:h", longs, NULL)) != -1) {
		bool ok = true;
		switch (o) {
		case 'l':
			conf.listen = optarg;
			break;
		case 's':
			ok = append_name(conf.relay, &conf.nrelays, optarg, "relays");
			break;
		case 'H':
			ok = append_name(conf.host, &conf.nhosts, optarg, "hosts");
			break;
		case 'V':
			puts("relayd-web " BASE_VERSION);
			return 0;
		case 'h':
			print_usage();
			return 0;
		default:
			ok = false;
		}
		if (!ok)
			return say_help();
	}
	if (optind != argc) {
		fprintf(stderr, "relayd-web: %s: not an option\n", argv[optind]);
		return say_help();
	}
	sigset_t end;
	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	struct web *w = web_start(&conf, why, sizeof why);
	if (!w) {
		fprintf(stderr, "relayd-web: %s\n", why);
		return 1;
	}
	fprintf(stderr, "relayd-web: http://%s/\n", conf.listen);
	int sig;
	sigwait(&end, &sig);
	web_stop(w);
	return 0;
}
