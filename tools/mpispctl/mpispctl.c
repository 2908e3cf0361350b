/* SPDX-License-Identifier: BSD-2-Clause */
/* mpispctl - asks and steers the mpispd of this node over its control socket (doc/sp.md). */
#include "metrics.h"
#include "tree.h"

#include "../ctl/client.h"

#include "base/version.h"

#include <dirent.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKET_FOLDER "/run/mpispd"

struct options {
	const char *socket;
	bool json;
	double every_s;
};

static struct ctl ctl;

static const char usage[] =
	"usage: mpispctl [-s NAME-OR-PATH] [--json] COMMAND\n"
	"  status               units, processes and ranks of the cluster, as a tree\n"
	"  top [SECONDS]        the same, again and again (1)\n"
	"  chains               which cluster gives frames to which\n"
	"  chain FROM TO [ordered] [window=N] [policy=rr|least|weight|sticky|user]\n"
	"                [on_lost=wait|bypass|stop|restart]\n"
	"                       from now on; answers when all units agree, as those below\n"
	"  unchain FROM TO      drain it: no new frames; once more: remove it\n"
	"  rechain FROM TO NEW  to another cluster instead\n"
	"  counters [all]       what the daemon has counted, what was dropped by its reason\n"
	"  metrics              these and the state of the cluster, for Prometheus\n"
	"  log                  what the daemon said lately\n"
	"  events               what it says from now on\n"
	"  reload               it reads its keys again\n"
	"  cluster add NAME     start a stage that starts later, or was stopped\n"
	"  cluster drain NAME   no new frames come to it\n"
	"  cluster stop NAME    end its processes\n"
	"  cluster drain        empty this unit: its roles go to spares\n"
	"  cluster undrain      take roles again\n"
	"  cluster stop         end the cluster, or the whole pipeline\n"
	"-s   name of the unit, or path of the socket; may be left out if one mpispd runs here\n"
	"exit status: 0 done, 1 refused, 2 usage, 3 no mpispd there, 4 no permission\n";

static _Noreturn void
stop_asking(int status, const char *what, const char *why)
{
	fprintf(stderr, "mpispctl: %s%s%s\n", what, why[0] ? ": " : "", why);
	exit(status);
}

/* ---- the socket ---- */

/* The only one of the folder. */
static void
find_ctl_socket(char *path, size_t room)
{
	DIR *d = opendir(SOCKET_FOLDER);
	const struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);
		if (len < 6 || strcmp(e->d_name + len - 5, ".sock") != 0)
			continue;
		snprintf(path, room, SOCKET_FOLDER "/%.80s", e->d_name);
		n++;
	}
	if (d)
		closedir(d);
	if (n == 0)
		stop_asking(CTL_NO_RELAY, "no mpispd runs here", "none found in " SOCKET_FOLDER);
	if (n > 1)
		stop_asking(CTL_USAGE, "several mpispd run here", "choose one with -s");
}

static void
open_daemon(const struct options *o)
{
	char path[108];

	if (!o->socket)
		find_ctl_socket(path, sizeof path);
	else
		snprintf(path, sizeof path,
			 strchr(o->socket, '/') ? "%s" : SOCKET_FOLDER "/%s.sock", o->socket);
	if (ctl_open(&ctl, path))
		return;
	if (ctl.failed == CTL_NO_RIGHT)
		stop_asking(CTL_NO_RIGHT, path, "no permission; only its user may ask");
	stop_asking(CTL_NO_RELAY, path, "nobody serves it; does mpispd run?");
}

static json_t *
ask_daemon(const char *method, json_t *params)
{
	json_t *r = ctl_call(&ctl, method, params, 0, -1);

	if (!r)
		stop_asking((int)ctl.failed, method, ctl.why);
	return r;
}

/* ---- commands ---- */

static void
dump(json_t *v)
{
	char *text = json_dumps(v, JSON_INDENT(2));

	puts(text ? text : "");
	free(text);
}

static void
show_tree(const struct options *o)
{
	json_t *v = ask_daemon("status", NULL);

	if (o->json)
		dump(v);
	else
		tree_print(v);
	json_decref(v);
	fflush(stdout);
}

static void
show_top(const struct options *o)
{
	bool screen = isatty(STDOUT_FILENO);

	for (;;) {
		if (screen)
			fputs("\033[H\033[2J", stdout);
		show_tree(o);
		usleep((useconds_t)(o->every_s * 1e6));
	}
}

static void
show_chains(const struct options *o)
{
	json_t *v = ask_daemon("chains", NULL), *row;
	size_t i;

	if (o->json)
		dump(v);
	else
		json_array_foreach(json_object_get(v, "chains"), i, row) chain_print(row);
	json_decref(v);
}

/* GROUP/NAME and its value; those that are 0 only with `all`. */
static void
show_counters(bool all, const struct options *o)
{
	json_t *v = ask_daemon("counters", NULL), *of, *n;
	const char *group, *name;

	if (o->json)
		dump(v);
	json_object_foreach(json_object_get(v, "counters"), group, of)
	{
		if (o->json)
			break;
		json_object_foreach(of, name, n) if (all || json_integer_value(n) != 0)
			printf("%-10s %-28s %20" JSON_INTEGER_FORMAT "\n", group, name,
			       json_integer_value(n));
	}
	json_decref(v);
}

static void
show_metrics(void)
{
	json_t *status = ask_daemon("status", NULL), *counters = ask_daemon("counters", NULL);

	metrics_print(status, counters);
	json_decref(status);
	json_decref(counters);
}

/* Lines from number `first` on; which comes next. */
static json_int_t
show_lines(json_int_t first, const struct options *o)
{
	for (;;) {
		json_t *v = ask_daemon("log", json_pack("{s:I}", "first", first)), *row;
		json_int_t next = json_integer_value(json_object_get(v, "next"));
		json_int_t last = json_integer_value(json_object_get(v, "last"));
		size_t i;
		json_array_foreach(json_object_get(v, "log"), i, row) if (o->json) dump(row);
		else line_print(row);
		json_decref(v);
		fflush(stdout);
		first = next;
		if (next > last)
			return next;
	}
}

static void
follow_events(const struct options *o)
{
	json_t *v = ask_daemon("log", json_pack("{s:I}", "first", (json_int_t)UINT32_MAX));
	json_int_t next = json_integer_value(json_object_get(v, "last")) + 1;

	json_decref(v);
	for (;;) {
		next = show_lines(next, o);
		usleep(100000);
	}
}

/* Words behind a verb of spx_chain_ops(). */
static void
change_chain(const char *verb, int argc, char **argv)
{
	char ops[1024];
	size_t at = (size_t)snprintf(ops, sizeof ops, "%s", verb);

	for (int i = 0; i < argc && at < sizeof ops; i++)
		at += (size_t)snprintf(ops + at, sizeof ops - at, " %s", argv[i]);
	if (at >= sizeof ops || strpbrk(ops, ";\n"))
		stop_asking(CTL_USAGE, "chain", "too long, or more than one change");
	json_decref(ask_daemon("chain", json_pack("{s:s}", "ops", ops)));
}

/* Of the chain between two clusters, in `state`. */
static json_t *
find_row(json_t *rows, const char *from, const char *to, const char *state)
{
	json_t *row;
	size_t i;

	json_array_foreach(
		rows, i, row) if ((!from || !strcmp(json_string_value(json_object_get(row, "from")),
						    from)) &&
				  !strcmp(json_string_value(json_object_get(row, "to")), to) &&
				  !strcmp(json_string_value(json_object_get(row, "state")),
					  state)) return row;
	return NULL;
}

static void
drain_or_remove(char **argv)
{
	json_t *v = ask_daemon("chains", NULL);
	bool drains = find_row(json_object_get(v, "chains"), argv[0], argv[1], "draining");

	json_decref(v);
	change_chain(drains ? "remove" : "drain", 2, argv);
}

static void
drain_cluster(char *name)
{
	json_t *v = ask_daemon("chains", NULL), *rows = json_object_get(v, "chains"), *row;
	unsigned n = 0;

	while ((row = find_row(rows, NULL, name, "active"))) {
		char *words[] = {(char *)(uintptr_t)json_string_value(json_object_get(row, "from")),
				 name};
		change_chain("drain", 2, words);
		json_object_set_new(row, "state", json_string("draining"));
		n++;
	}
	json_decref(v);
	if (n == 0)
		stop_asking(1, name, "no chain leads there that is active; see mpispctl chains");
}

static void
steer_stage(const char *what, char *name)
{
	if (strcmp(what, "drain") == 0)
		drain_cluster(name);
	else if (strcmp(what, "add") == 0 || strcmp(what, "stop") == 0)
		json_decref(ask_daemon("cluster", json_pack("{s:s, s:b}", "name", name, "on",
							    strcmp(what, "add") == 0)));
	else
		stop_asking(CTL_USAGE, what, "there are cluster add, drain, stop NAME");
}

static void
steer_cluster(const char *what)
{
	json_t *v;

	if (strcmp(what, "drain") == 0)
		v = ask_daemon("drain", json_pack("{s:b}", "on", 1));
	else if (strcmp(what, "undrain") == 0)
		v = ask_daemon("drain", json_pack("{s:b}", "on", 0));
	else if (strcmp(what, "stop") == 0)
		v = ask_daemon("stop", NULL);
	else
		stop_asking(CTL_USAGE, what,
			    "there are cluster drain, undrain, stop, and with the name "
			    "of a stage cluster add, drain, stop");
	json_decref(v);
}

static bool
has_its_words(const char *name, int argc, char **argv)
{
	if (strcmp(name, "cluster") == 0)
		return argc == 2 || argc == 3;
	if (strcmp(name, "chain") == 0)
		return argc >= 3;
	if (strcmp(name, "counters") == 0)
		return argc == 1 || (argc == 2 && strcmp(argv[1], "all") == 0);
	if (strcmp(name, "unchain") == 0)
		return argc == 3;
	return argc == (strcmp(name, "rechain") == 0 ? 4 : 1);
}

static void
run_ctl_command(struct options *o, int argc, char **argv)
{
	const char *name = argv[0];

	if (strcmp(name, "top") == 0 && argc == 2)
		o->every_s = strtod(argv[1], NULL);
	else if (!has_its_words(name, argc, argv))
		stop_asking(CTL_USAGE, name, "wrong number of arguments; see --help");
	if (!(o->every_s >= 0.01 && o->every_s <= 3600))
		stop_asking(CTL_USAGE, argv[1], "0.01 to 3600 seconds");
	open_daemon(o);
	if (strcmp(name, "status") == 0)
		show_tree(o);
	else if (strcmp(name, "top") == 0)
		show_top(o);
	else if (strcmp(name, "chains") == 0)
		show_chains(o);
	else if (strcmp(name, "counters") == 0)
		show_counters(argc == 2, o);
	else if (strcmp(name, "metrics") == 0)
		show_metrics();
	else if (strcmp(name, "log") == 0)
		(void)show_lines(0, o);
	else if (strcmp(name, "events") == 0)
		follow_events(o);
	else if (strcmp(name, "reload") == 0)
		json_decref(ask_daemon("reload", NULL));
	else if (strcmp(name, "cluster") == 0 && argc == 3)
		steer_stage(argv[1], argv[2]);
	else if (strcmp(name, "cluster") == 0)
		steer_cluster(argv[1]);
	else if (strcmp(name, "chain") == 0)
		change_chain("add", argc - 1, argv + 1);
	else if (strcmp(name, "unchain") == 0)
		drain_or_remove(argv + 1);
	else if (strcmp(name, "rechain") == 0)
		change_chain("move", argc - 1, argv + 1);
	else
		stop_asking(CTL_USAGE, name, "no such command; see --help");
	ctl_close(&ctl);
}

int
main(int argc, char **argv)
{
	static const struct option long_options[] = {{"socket", required_argument, NULL, 's'},
						     {"json", no_argument, NULL, 'j'},
						     {"version", no_argument, NULL, 'V'},
						     {"help", no_argument, NULL, 'h'},
						     {0}};
	struct options o = {.every_s = 1};
	int c;

	while ((c = getopt_long(argc, argv, "s:jVh", long_options, NULL)) != -1) {
		switch (c) {
		case 's':
			o.socket = optarg;
			break;
		case 'j':
			o.json = true;
			break;
		case 'V':
			puts("mpispctl " BASE_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs("mpispctl --help lists commands and options\n", stderr);
			return CTL_USAGE;
		}
	}
	if (optind >= argc) {
		fputs(usage, stderr);
		return CTL_USAGE;
	}
	run_ctl_command(&o, argc - optind, argv + optind);
	return 0;
}
