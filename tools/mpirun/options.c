/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line: what mpirun's of other MPIs take, as far as it means something here. */
#include "mpirun.h"

#include "base/version.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
	"usage: mpirun [options] PROGRAM [ARGS] [: [options] PROGRAM [ARGS]]...\n"
	"  -n N, -np N, -c N      how many ranks (default 1); -N N of each machine\n"
	"  -x NAME[=VALUE], -env NAME VALUE\n"
	"                         environment of the ranks; -genv NAME VALUE of all programs\n"
	"  -wdir DIR              the folder the ranks run in\n"
	"  --bind-to core|l3|numa|socket|none\n"
	"                         give every rank a core of its own; deal ranks to the caches,\n"
	"                         nodes or sockets; or leave it to the system;\n"
	"                         default: a share of the cores each, if there are as many as\n"
	"                         ranks and nothing else runs on them (MPIRUN_BIND)\n"
	"  --report-bindings      say which CPUs each rank has\n"
	"  -l, --label, --tag-output\n"
	"                         [rank] before every line they print\n"
	"  --keep-going           the death of a rank does not end the others; what has to do "
	"with\n"
	"                         it gives them an error; also --with-ft ulfm\n"
	"  --initial-errhandler H mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return\n"
	"  --usize N              at most N ranks at once, with those that ranks start "
	"(MPI_UNIVERSE_SIZE)\n"
	"  --timeout S            end the job after S seconds, status 124 (MPIEXEC_TIMEOUT=S)\n"
	"  --launcher L           local, or srun, prterun, mpirun.openmpi (or a path to one)\n"
	"  -show                  print what would be done\n"
	"  -v, -h                 say more; this text\n"
	"Where the ranks run: inside a Slurm allocation srun starts them; where -host, -hostfile\n"
	"and the like name other machines prterun or Open MPI's mpirun; else mpirun itself starts\n"
	"all of them on this machine.\n";

/* In one write: lines of several processes do not mix. */
__attribute__((format(printf, 1, 0))) static void
say_wrong(const char *fmt, va_list ap)
{
	char text[1024];
	int n = snprintf(text, sizeof text, "mpirun: ");
	vsnprintf(text + n, sizeof text - (size_t)n - 1, fmt, ap);
	size_t len = strlen(text);
	text[len] = '\n';
	text[len + 1] = '\0';
	fputs(text, stderr);
}

void
mpirun_say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say_wrong(fmt, ap);
	va_end(ap);
}

_Noreturn void
mpirun_fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say_wrong(fmt, ap);
	va_end(ap);
	exit(MPIRUN_EXIT_USAGE);
}

static void *
grown(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n, size);
	if (!p)
		mpirun_fail("out of memory");
	return p;
}

/* Options that mean nothing on one machine, and how many words follow. */
static const struct {
	const char *name;
	int words;
} ignored[] = {
	{"-oversubscribe", 0},
	{"-allow-run-as-root", 0},
	{"-map-by", 1},
	{"-rank-by", 1},
	{"-q", 0},
	{"-quiet", 0},
	{"-mca", 2},
	{"-prtemca", 2},
	{"-pmixmca", 2},
	{"-iface", 1},
	{"-stdin", 1},
	{"-nolocal", 0},
	{"-prefix", 1}, /* where other nodes have the library */
	{"-gmca", 2},
	{"-am", 1},
	{"-tune", 1},
	{"-use-hwthread-cpus", 0},
	{"-cpus-per-proc", 1},
	{"-cpus-per-rank", 1},
	{"-bynode", 0},
	{"-byslot", 0},
	{"-bycore", 0},
	{"-bysocket", 0},
	{"-ppn", 1},
	{"-perhost", 1},
	{"-genvall", 0}, /* all of the environment is what ranks get */
	{"-envall", 0},
	{"-genvlist", 1},
	{"-envlist", 1},
	{"-usize", 1},
	{"-rmk", 1},
	{"-bootstrap", 1},
	{"-nameserver", 1}, /* all jobs of a user find each other's names */
	{"-ompi-server", 1},
	{"-print-all-exitcodes", 0}, /* those of the ranks that failed are said */
};

/* Where to run: a matter for another launcher, unless it is here. */
static const struct {
	const char *name;
	bool file;
} placing[] = {{"-host", false},	   {"-hosts", false},	   {"-H", false},
	       {"-hostfile", true},	   {"-machinefile", true}, {"-f", true},
	       {"-default-hostfile", true}};

/* The same option with one dash or two. */
static bool
options_is(const char *word, const char *name)
{
	return strcmp(word, name) == 0 || (word[0] == '-' && strcmp(word + 1, name) == 0);
}

struct parser {
	struct mpirun_options *o;
	struct mpirun_app app;
	size_t nenv;
	char **common; /* -genv */
	size_t ncommon;
	int argc, i;
	char **argv;
};

static const char *
value(struct parser *p)
{
	const char *option = p->argv[p->i];
	if (p->i + 1 >= p->argc)
		mpirun_fail("%s needs a value", option);
	return p->argv[++p->i];
}

static void
add_env(char ***list, size_t *n, const char *name, const char *val)
{
	char *text = NULL;
	if (!val) {
		const char *equals = strchr(name, '=');
		if (!equals && !getenv(name))
			return; /* nothing to pass on */
		if (asprintf(&text, "%s%s%s", name, equals ? "" : "=", equals ? "" : getenv(name)) <
		    0)
			mpirun_fail("out of memory");
	} else if (asprintf(&text, "%s=%s", name, val) < 0) {
		mpirun_fail("out of memory");
	}
	*list = grown(*list, *n + 2, sizeof **list);
	(*list)[(*n)++] = text;
	(*list)[*n] = NULL;
}

static double
options_seconds(const char *what, const char *text)
{
	char *end;
	errno = 0;
	double s = strtod(text, &end);
	if (errno || end == text || *end || !(s > 0) || s > 1e9)
		mpirun_fail("%s '%s' is not a number of seconds", what, text);
	return s;
}

static bool
skip_ignored(struct parser *p, const char *w)
{
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
		if (!options_is(w, ignored[i].name))
			continue;
		for (int k = 0; k < ignored[i].words; k++)
			(void)value(p);
		return true;
	}
	for (size_t i = 0; i < sizeof placing / sizeof *placing; i++) {
		if (options_is(w, placing[i].name)) {
			p->o->who = value(p);
			p->o->who_is_file = placing[i].file;
			if (!(placing[i].file ? mpirun_hostfile_here(p->o->who)
					      : mpirun_hosts_here(p->o->who)))
				p->o->hosts = true;
			return true;
		}
	}
	return false;
}

static void
bind_to(struct mpirun_options *o, const char *what)
{
	/* The system keeps to a board by itself; the small caches are a core's. */
	static const struct {
		const char *word;
		int bind;
	} parts[] = {
		{"none", MPIRUN_BIND_NONE},	 {"board", MPIRUN_BIND_NONE},
		{"l1cache", MPIRUN_BIND_NONE},	 {"l2cache", MPIRUN_BIND_NONE},
		{"l3", MPIRUN_BIND_L3},		 {"l3cache", MPIRUN_BIND_L3},
		{"numa", MPIRUN_BIND_NUMA},	 {"socket", MPIRUN_BIND_SOCKET},
		{"package", MPIRUN_BIND_SOCKET},
	};
	static const char overload[] = ":overload-allowed";
	size_t len = strcspn(what, ":");
	const char *more = what + len;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (strlen(parts[i].word) == len && memcmp(parts[i].word, what, len) == 0 &&
		    (!*more || strcmp(more, overload) == 0)) {
			o->bind = parts[i].bind;
			return;
		}
	}
	if ((len != 4 || memcmp(what, "core", 4) != 0) &&
	    (len != 8 || memcmp(what, "hwthread", 8) != 0))
		len = 0;
	if (len && !*more)
		o->bind = MPIRUN_BIND_CORE;
	else if (len && strcmp(more, overload) == 0)
		o->bind = MPIRUN_BIND_AUTO; /* if there are as many */
	else
		mpirun_fail("--bind-to '%s' is not core, l3, numa, socket or none", what);
}

/* Other MPIs' words for it: Open MPI's --with-ft ulfm, MPICH's -disable-auto-cleanup. */
static bool
wants_to_go_on(struct parser *p)
{
	static const char *const no[] = {"no", "none", "false", "off", "0"};
	const char *w = p->argv[p->i];

	if (options_is(w, "-keep-going") || options_is(w, "-disable-auto-cleanup") ||
	    options_is(w, "-enable-recovery"))
		return true;
	const char *what = strchr(w, '=') ? strchr(w, '=') + 1 : value(p);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (strcmp(what, no[i]) == 0)
			return false;
	return true;
}

static void
keep_going(struct parser *p)
{
	if (!wants_to_go_on(p))
		return;
	p->o->keep_going = true;
	setenv("LIBMPI_KEEP_GOING", "1", 1);
}

/* What libmpi hears by the environment, whoever starts the ranks. */
static bool
options_for_library(struct parser *p)
{
	const char *w = p->argv[p->i];

	if (options_is(w, "-keep-going") || options_is(w, "-disable-auto-cleanup") ||
	    options_is(w, "-enable-recovery") || options_is(w, "-with-ft") ||
	    strncmp(w, "--with-ft=", 10) == 0)
		keep_going(p);
	else if (options_is(w, "-initial-errhandler"))
		setenv("LIBMPI_ERRHANDLER", value(p), 1);
	else
		return false;
	return true;
}

static uint32_t
number_of_ranks(struct parser *p)
{
	const char *why = NULL, *text = value(p);
	uint32_t n = (uint32_t)strtonum(text, 1, MPIRUN_RANKS_MAX, &why);
	if (why)
		mpirun_fail("number of ranks '%s' is %s (1 to %d)", text, why, MPIRUN_RANKS_MAX);
	return n;
}

/* One option; false: this is the program. */
static bool
options_option(struct parser *p)
{
	const char *w = p->argv[p->i], *name;

	if (w[0] != '-' || !w[1])
		return false;
	if (options_is(w, "-n") || options_is(w, "-np") || options_is(w, "-c")) {
		p->app.n = number_of_ranks(p);
	} else if (options_is(w, "-N") || options_is(w, "-npernode")) {
		p->app.per_node = number_of_ranks(p);
	} else if (options_is(w, "-pernode")) {
		p->app.per_node = 1;
	} else if (options_is(w, "-x")) {
		add_env(&p->app.env, &p->nenv, value(p), NULL);
	} else if (options_is(w, "-env")) {
		name = value(p);
		add_env(&p->app.env, &p->nenv, name, value(p));
	} else if (options_is(w, "-genv")) {
		name = value(p);
		add_env(&p->common, &p->ncommon, name, value(p));
	} else if (options_is(w, "-wdir") || options_is(w, "-wd") || options_is(w, "-chdir")) {
		p->app.wdir = value(p);
	} else if (options_is(w, "-l") || options_is(w, "-label") ||
		   options_is(w, "-prepend-rank") || options_is(w, "-tag-output")) {
		p->o->label = true;
	} else if (options_is(w, "-bind-to")) {
		bind_to(p->o, value(p));
	} else if (options_is(w, "-bind-to-none")) {
		p->o->bind = MPIRUN_BIND_NONE;
	} else if (options_is(w, "-usize")) {
		p->o->usize = number_of_ranks(p);
	} else if (options_is(w, "-timeout")) {
		p->o->timeout_s = options_seconds("--timeout", value(p));
	} else if (options_is(w, "-launcher")) {
		p->o->launcher = value(p);
	} else if (strncmp(w, "--launcher=", 11) == 0) {
		p->o->launcher = w + 11;
	} else if (options_is(w, "-show") || options_is(w, "-dry-run")) {
		p->o->show = true;
	} else if (options_is(w, "-v") || options_is(w, "-verbose") ||
		   options_is(w, "-display-map") || options_is(w, "-display-allocation")) {
		p->o->verbose = true;
	} else if (options_is(w, "-report-bindings")) {
		p->o->report = true;
	} else if (options_is(w, "-h") || options_is(w, "-help")) {
		fputs(usage_text, stdout);
		exit(0);
	} else if (options_is(w, "-V") || options_is(w, "-version")) {
		puts("mpirun (libmpi) " BASE_VERSION);
		exit(0);
	} else if (!options_for_library(p) && !skip_ignored(p, w)) {
		mpirun_fail("unknown option %s; mpirun -h lists them", w);
	}
	return true;
}

static void
app_done(struct parser *p, int first)
{
	struct mpirun_options *o = p->o;
	size_t n = (size_t)(p->i - first);

	if (n == 0)
		mpirun_fail("no program given; mpirun -h says how");
	p->app.argv = grown(NULL, n + 1, sizeof *p->app.argv);
	memcpy(p->app.argv, p->argv + first, n * sizeof *p->app.argv);
	p->app.argv[n] = NULL;
	p->app.n_default = p->app.n == 0;
	if (p->app.n_default)
		p->app.n = p->app.per_node ? p->app.per_node : 1;
	o->app = grown(o->app, o->napps + 1, sizeof *o->app);
	o->app[o->napps++] = p->app;
	o->nranks += p->app.n;
	if (o->nranks > MPIRUN_RANKS_MAX)
		mpirun_fail("more than %d ranks", MPIRUN_RANKS_MAX);
	p->app = (struct mpirun_app){0};
	p->nenv = 0;
}

/* -genv goes to all, and behind what an app says of its own. */
static void
share_env(struct parser *p)
{
	for (uint32_t a = 0; a < p->o->napps; a++) {
		struct mpirun_app *app = &p->o->app[a];
		size_t n = 0;
		while (app->env && app->env[n])
			n++;
		app->env = grown(app->env, n + p->ncommon + 1, sizeof *app->env);
		memmove(app->env + p->ncommon, app->env, n * sizeof *app->env);
		if (p->ncommon)
			memcpy(app->env, p->common, p->ncommon * sizeof *app->env);
		app->env[n + p->ncommon] = NULL;
	}
	free(p->common);
}

static bool
is_only_ours(const char *w)
{
	static const char *const ours[] = {
		"-launcher",	    "-show",	   "-dry-run",
		"-timeout",	    "-keep-going", "-disable-auto-cleanup",
		"-enable-recovery", "-with-ft",	   "-initial-errhandler"};

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (options_is(w, ours[i]))
			return true;
	return strncmp(w, "--launcher=", 11) == 0 || strncmp(w, "--with-ft=", 10) == 0;
}

/* What another launcher gets: every word but those only we know. */
static void
keep_word(struct mpirun_options *o, char *word)
{
	o->words = grown(o->words, (size_t)o->nwords + 2, sizeof *o->words);
	o->words[o->nwords++] = word;
	o->words[o->nwords] = NULL;
}

void
mpirun_parse(struct mpirun_options *o, int argc, char **argv)
{
	struct parser p = {.o = o, .argc = argc, .argv = argv, .i = 1};
	const char *limit = getenv("MPIEXEC_TIMEOUT"), *bind = getenv("MPIRUN_BIND");

	*o = (struct mpirun_options){0};
	if (limit && *limit)
		o->timeout_s = options_seconds("MPIEXEC_TIMEOUT", limit);
	if (bind && *bind)
		bind_to(o, bind);
	while (p.i < argc) {
		for (; p.i < argc; p.i++) {
			int at = p.i;
			const char *w = argv[at];
			if (strcmp(w, "--") == 0) { /* nothing behind it is an option */
				p.i++;
				break;
			}
			if (!options_option(&p))
				break;
			if (is_only_ours(w))
				continue;
			for (int k = at; k <= p.i; k++)
				keep_word(o, argv[k]);
		}
		int first = p.i;
		while (p.i < argc && strcmp(argv[p.i], ":") != 0)
			keep_word(o, argv[p.i++]);
		app_done(&p, first);
		if (p.i < argc)
			keep_word(o, argv[p.i++]);
	}
	if (!o->napps) {
		fputs(usage_text, stderr);
		exit(MPIRUN_EXIT_USAGE);
	}
	share_env(&p);
}
