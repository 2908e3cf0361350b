/* SPDX-License-Identifier: BSD-2-Clause */
/* impirun - the front of an IMPI job, as the standard names it.
 *
 *     impirun -server N [-port P] [options of impi-server]
 *     impirun -client R HOST:PORT [--launcher L] [--peer C=WORDS] [--] launcher
 *             arguments, program
 *
 * The server becomes impi-server (exec).  The launcher is a child: signals go on to it, its exit
 * status is impirun's, and when it has ended the server is told that this client will not come
 * any more (impi/gone.h), so that the other clusters do not wait for ranks that died before they
 * joined.  A client's ranks find IMPI_CLIENT, IMPI_SERVER, IMPI_AUTH_*
 * and the library folder beside this program in their environment; values go
 * through the environment and never stand on a command line, where everybody
 * could read the key.
 *
 * Exit status 2: wrong arguments or no launcher. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/version.h"
#include "child.h"
#include "impi/auth.h"
#include "impi/switches.h"
#include "lmpi/knobs.h"
#include "impi/wire.h"
#include "place.h"

#define EXIT_USAGE 2

static const char usage_text[] =
	"usage: impirun [-n] -server N [-port P] [options of impi-server]\n"
	"       impirun [-n] -client R HOST:PORT [--launcher L] [--peer C=WORDS]... [--dry-run]\n"
	"               [--] LAUNCHER-ARGS...\n"
	"       impirun --version\n"
	"  -server N      be the rendezvous of N clients (1..32): becomes impi-server, which\n"
	"                 prints ADDRESS:PORT when clients may come.  What follows is "
	"impi-server's:\n"
	"                 -port P, -port-range N:M, -auth none|key, -host ADDR, --persist, ...;\n"
	"                 `impirun -server N --help` lists all of it\n"
	"  -client R      be client R (0..31) of the job whose server is at HOST:PORT and start\n"
	"                 the ranks: srun, prterun or mpirun with LAUNCHER-ARGS\n"
	"  --launcher L   srun, prterun or mpirun (or a path to one); default: srun in an\n"
	"                 allocation of Slurm (SLURM_JOB_ID), else the first of prterun, mpirun\n"
	"                 and srun that is installed\n"
	"  --peer C=WORDS how to speak with client C (0..31, or * for every other one) that is\n"
	"                 not libmpi; repeatable.  WORDS, with commas between:\n"
	"                   auto                     judge by what it offers (the default): "
	"LAM/MPI\n"
	"                                            is known by its values, all others get "
	"external32\n"
	"                   external32               data as IMPI says: big-endian, MPI_LONG 4 "
	"bytes\n"
	"                   long8                    the same, but MPI_LONG has 8 bytes\n"
	"                   native-payload           data as in memory (LAM/MPI, little-endian "
	"nodes)\n"
	"                   reduce-on-pt2pt-context  MPI_Reduce as LAM/MPI does it\n"
	"                 sets IMPI_PEERS=C:WORDS;... for the ranks, in place of an older value\n"
	"  -n, --dry-run  print the command instead (-n only before -server or -client: what\n"
	"                 follows them is the launcher's, e.g. -n 4)\n"
	"Environment of both sides: IMPI_AUTH_KEY=<decimal number>, or IMPI_AUTH_NONE=1.\n";

static _Noreturn void fail_impirun(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static _Noreturn void
fail_impirun(const char *fmt, ...)
{
	va_list ap;
	fputs("impirun: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

/* --- the command line ------------------------------------------------------ */

struct command {
	char *argv[4096];
	size_t n;
};

static void
add_impirun(struct command *c, const char *word)
{
	if (c->n + 1 >= sizeof c->argv / sizeof c->argv[0])
		fail_impirun("more than %zu arguments", sizeof c->argv / sizeof c->argv[0] - 1);
	c->argv[c->n] = strdup(word);
	if (!c->argv[c->n++])
		fail_impirun("out of memory");
	c->argv[c->n] = NULL;
}

static void
print_word(const char *word)
{
	if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-+=./:,@%") == strlen(word)) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stdout);
	putchar('\'');
}

static _Noreturn void
print_command(const struct command *c, const char *const *shown_env)
{
	for (; shown_env && *shown_env; shown_env++) {
		const char *value = getenv(*shown_env);
		if (!value)
			continue;
		printf("%s=", *shown_env);
		print_word(strcmp(*shown_env, "IMPI_AUTH_KEY") ? value : "(hidden)");
		putchar(' ');
	}
	for (size_t i = 0; i < c->n; i++) {
		if (i)
			putchar(' ');
		print_word(c->argv[i]);
	}
	putchar('\n');
	exit(0);
}

/* The launcher, and what its end means for the others. */
static _Noreturn void
run_launcher(struct command *c, const char *server, uint32_t rank, const struct impi_auth *auth)
{
	struct timespec ts;
	char why[96];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	uint64_t began_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	int status = child_run(c->argv);
	if (status < 0)
		fail_impirun("%s: %s", c->argv[0], strerror(errno));
	child_say(status, c->argv[0], why, sizeof why);
	gone_tell(server, auth, rank, began_ns, why);
	child_end_alike(status);
}

/* --- -server ---------------------------------------------------------------- */

static _Noreturn void
be_server(int argc, char **argv, bool dry_run)
{
	static struct command c;
	char path[PATH_MAX], folder[PATH_MAX];

	launch_own_folder(folder, sizeof folder);
	int len = snprintf(path, sizeof path, "%s/impi-server", folder);
	if ((len < 0 || (size_t)len >= sizeof path || !launch_is_program(path)) &&
	    !launch_find("impi-server", path, sizeof path))
		fail_impirun("impi-server is neither in %s nor in PATH", folder);
	add_impirun(&c, path);
	for (int i = 0; i < argc; i++)
		add_impirun(&c, argv[i]);
	if (dry_run)
		print_command(&c, NULL);
	execv(c.argv[0], c.argv);
	fail_impirun("%s: %s", c.argv[0], strerror(errno));
}

/* --- -client ---------------------------------------------------------------- */

enum launcher { SRUN, PRTERUN, MPIRUN, LAUNCHERS };
static const char *const launcher_name[LAUNCHERS] = {"srun", "prterun", "mpirun"};

/* Other names of theirs, as Debian and Open MPI install them. */
static const struct {
	const char *name;
	enum launcher is;
} launcher_alias[] = {
	{"mpiexec", MPIRUN},
	{"orterun", MPIRUN},
	{"mpirun.openmpi", MPIRUN},
	{"mpiexec.openmpi", MPIRUN},
};

static enum launcher
find_launcher(const char *wanted, enum launcher is, char *path, size_t cap)
{
	if (!launch_find(wanted, path, cap))
		fail_impirun("launcher %s: not found%s", wanted,
			     strchr(wanted, '/') ? "" : " in PATH");
	return is;
}

static enum launcher
choose_launcher(const char *wanted, char *path, size_t cap)
{
	const char *base = wanted && strrchr(wanted, '/') ? strrchr(wanted, '/') + 1 : wanted;

	for (int i = 0; base && i < LAUNCHERS; i++)
		if (strcmp(base, launcher_name[i]) == 0)
			return find_launcher(wanted, (enum launcher)i, path, cap);
	for (size_t i = 0; base && i < sizeof launcher_alias / sizeof *launcher_alias; i++)
		if (strcmp(base, launcher_alias[i].name) == 0)
			return find_launcher(wanted, launcher_alias[i].is, path, cap);
	if (wanted)
		fail_impirun("--launcher %s: use srun, prterun or mpirun", wanted);
	/* Outside of an allocation srun would ask for one, which may take hours or go elsewhere. */
	int first = getenv("SLURM_JOB_ID") ? SRUN : SRUN + 1;
	for (int i = 0; i < LAUNCHERS; i++) {
		enum launcher is = (enum launcher)((first + i) % LAUNCHERS);
		if (launch_find(launcher_name[is], path, cap))
			return is;
	}
	fail_impirun("no launcher: none of srun, prterun, mpirun is in PATH; install one "
		     "(Debian: slurm-client or openmpi-bin) or give its path by --launcher");
}

static void
check_server(const char *text)
{
	const char *colon = strrchr(text, ':'), *why = NULL;
	if (!colon || colon == text)
		fail_impirun("'%s' is not HOST:PORT (the line that impirun -server printed)", text);
	(void)strtonum(colon + 1, 1, 65535, &why);
	if (why)
		fail_impirun("'%s': port '%s' is %s", text, colon + 1, why);
	bool bracketed = text[0] == '[' && colon[-1] == ']';
	if (!bracketed && memchr(text, ':', (size_t)(colon - text)))
		fail_impirun("'%s': write an IPv6 address in brackets, [ADDRESS]:PORT", text);
}

static void
set_env(const char *name, const char *value)
{
	if (setenv(name, value, 1) != 0)
		fail_impirun("setenv %s: %s", name, strerror(errno));
}

/* Variables the ranks need, in the form the launcher wants them named. */
static void
export_to_ranks(struct command *c, enum launcher launcher, const char *const *names)
{
	char list[256] = "--export=ALL";
	for (; *names; names++) {
		if (!getenv(*names))
			continue;
		if (launcher == SRUN) {
			strlcat(list, ",", sizeof list);
			strlcat(list, *names, sizeof list);
		} else {
			add_impirun(c, "-x");
			add_impirun(c, *names);
		}
	}
	if (launcher == SRUN) {
		add_impirun(c, "--mpi=pmix"); /* a later --mpi of the user goes before */
		add_impirun(c, list);
	}
}

/* One --peer C=WORDS behind those given before. */
static void
add_peer(char **all, const char *text)
{
	struct impi_switch_table table;
	struct impi_error err = {0};
	const char *equals = strchr(text, '=');
	char *more = NULL;

	if (!equals)
		fail_impirun("--peer %s: write CLIENT=word,word, e.g. 1=native-payload", text);
	if (strpbrk(text, ";:"))
		fail_impirun("--peer %s: one client at a time", text);
	if (asprintf(&more, "%s%s%.*s:%s", *all ? *all : "", *all ? ";" : "", (int)(equals - text),
		     text, equals + 1) < 0)
		fail_impirun("out of memory");
	if (impi_switches_parse(more, &table, &err) != IMPI_ERR_OK)
		fail_impirun("--peer: %s", err.text);
	free(*all);
	*all = more;
}

/* Words of mpirun's that srun has other words for: up to the program, and only those that
 * mean nothing to srun itself.  -x with a value sets it; without one it is srun's. */
static const struct {
	const char *ours, *theirs; /* theirs ends in "=": one word with its value */
} srun_words[] = {
	{"-np", "-n"},
	{"-wdir", "--chdir="},
	{"-wd", "--chdir="},
	{"-host", "--nodelist="},
	{"-hosts", "--nodelist="},
	{"-hostfile", "--nodefile="},
	{"-machinefile", "--nodefile="},
	{"-npernode", "--ntasks-per-node="},
	{"-ppn", "--ntasks-per-node="},
};

/* srun's options of one letter whose value is the next word. */
#define SRUN_SHORT "AbBcCdDeFGiJLmMnNopqrStTwWx"

/* The same option with one dash or two. */
static bool
impirun_is(const char *word, const char *name)
{
	return strcmp(word, name) == 0 || (word[0] == '-' && strcmp(word + 1, name) == 0);
}

/* One word of the user's for srun, at argv[0]; how many were taken. */
static int
add_srun_word(struct command *c, int argc, char **argv)
{
	const char *w = argv[0];
	char *word = NULL;

	for (size_t k = 0; k < sizeof srun_words / sizeof *srun_words; k++) {
		const char *theirs = srun_words[k].theirs;
		if (!impirun_is(w, srun_words[k].ours))
			continue;
		if (argc < 2)
			fail_impirun("%s needs a value", w);
		if (theirs[strlen(theirs) - 1] != '=') {
			add_impirun(c, theirs);
			add_impirun(c, argv[1]);
			return 2;
		}
		if (asprintf(&word, "%s%s", theirs, argv[1]) < 0)
			fail_impirun("out of memory");
		add_impirun(c, word);
		free(word);
		return 2;
	}
	if (impirun_is(w, "-tag-output")) {
		add_impirun(c, "--label");
		return 1;
	}
	if (impirun_is(w, "-keep-going")) { /* as mpirun says it; srun passes the environment on */
		set_env("LIBMPI_KEEP_GOING", "1");
		add_impirun(c, "--kill-on-bad-exit=0");
		add_impirun(c, "--no-kill");
		return 1;
	}
	if (!strcmp(w, "-x") && argc > 1 && strchr(argv[1], '=')) {
		word = strdup(argv[1]);
		if (!word || putenv(word) != 0) /* srun passes all of the environment on */
			fail_impirun("out of memory");
		return 2;
	}
	add_impirun(c, w);
	if (w[1] && !w[2] && strchr(SRUN_SHORT, w[1]) && argc > 1) {
		add_impirun(c, argv[1]);
		return 2;
	}
	return 1;
}

static void
add_for_srun(struct command *c, int argc, char **argv)
{
	int i = 0;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0)
		i += add_srun_word(c, argc - i, argv + i);
	for (; i < argc; i++)
		add_impirun(c, argv[i]);
}

/* Inside a job step its tasks hold the step's processors: a step within it would wait for
 * them for ever.  Batch, extern and interactive steps (from 0xfffffff0) are none. */
static void
refuse_in_step(int argc, char **argv)
{
	const char *step = getenv("SLURM_STEP_ID"), *why = NULL;
	bool is_step = step && (strtonum(step, 0, 0xffffffefll, &why), !why);

	for (int i = 0; i < argc && argv[i][0] == '-'; i++)
		is_step &= strcmp(argv[i], "--overlap") != 0;
	if (is_step && !getenv("SLURM_OVERLAP"))
		fail_impirun(
			"this is job step %s.%s already, and srun would wait in it for ever: start "
			"impirun in the batch script or by salloc, without srun before it, or give "
			"srun --overlap",
			getenv("SLURM_JOB_ID") ? getenv("SLURM_JOB_ID") : "?", step);
}

/* While rank 0 waits for the other clusters, ranks of other nodes are in a fence, which Slurm ends
 * after PMIxTimeout of mpi.conf, 300 s: the waiting site would die of it.  The user may know
 * better. */
#define FENCE_MORE_S 60
static void
lengthen_fence(void)
{
	char text[24];

	snprintf(text, sizeof text, "%llu",
		 (unsigned long long)lmpi_knob_number(LMPI_KNOB_JOIN_TIMEOUT) + FENCE_MORE_S);
	if (setenv("SLURM_PMIX_TIMEOUT", text, 0) != 0)
		fail_impirun("setenv SLURM_PMIX_TIMEOUT: %s", strerror(errno));
}

static _Noreturn void
be_client(int argc, char **argv, bool dry_run)
{
	static const char *const names[] = {"IMPI_CLIENT",	 "IMPI_SERVER", "IMPI_AUTH_NONE",
					    "IMPI_AUTH_KEY",	 "IMPI_PEERS",	"LD_LIBRARY_PATH",
					    "LIBMPI_KEEP_GOING", NULL};
	static struct command c;
	struct impi_auth auth;
	struct impi_error err = {0};
	const char *wanted = NULL, *why = NULL;
	char *peers = NULL;
	char path[PATH_MAX], rank_text[12];

	if (argc < 2)
		fail_impirun("-client needs a client rank and HOST:PORT; see impirun --help");
	long long rank = strtonum(argv[0], 0, IMPI_CLIENTS_MAX - 1, &why);
	if (why)
		fail_impirun("client rank '%s' is %s, not 0 to %d", argv[0], why,
			     IMPI_CLIENTS_MAX - 1);
	check_server(argv[1]);
	int i = 2;
	for (; i < argc; i++) {
		if (!strcmp(argv[i], "--dry-run")) {
			dry_run = true;
		} else if (!strcmp(argv[i], "--launcher")) {
			if (++i == argc)
				fail_impirun("--launcher needs a name: srun, prterun or mpirun");
			wanted = argv[i];
		} else if (!strncmp(argv[i], "--launcher=", 11)) {
			wanted = argv[i] + 11;
		} else if (!strcmp(argv[i], "--peer")) {
			if (++i == argc)
				fail_impirun(
					"--peer needs CLIENT=word,word, e.g. 1=native-payload");
			add_peer(&peers, argv[i]);
		} else if (!strncmp(argv[i], "--peer=", 7)) {
			add_peer(&peers, argv[i] + 7);
		} else {
			if (!strcmp(argv[i], "--"))
				i++;
			break;
		}
	}
	if (i >= argc)
		fail_impirun("nothing to launch: give the launcher's arguments and a program, "
			     "e.g. -np 4 ./app");
	if (impi_auth_from_env(&auth, getenv("IMPI_AUTH_NONE"), getenv("IMPI_AUTH_KEY"), &err) !=
	    IMPI_ERR_OK)
		fail_impirun("%s", err.text);

	enum launcher launcher = choose_launcher(wanted, path, sizeof path);
	snprintf(rank_text, sizeof rank_text, "%lld", rank);
	set_env("IMPI_CLIENT", rank_text);
	set_env("IMPI_SERVER", argv[1]);
	if (peers)
		set_env("IMPI_PEERS", peers);
	free(peers);
	if (!launch_add_libraries())
		fail_impirun("out of memory");
	add_impirun(&c, path);
	export_to_ranks(&c, launcher, names);
	if (launcher == SRUN) {
		refuse_in_step(argc - i, argv + i);
		add_for_srun(&c, argc - i, argv + i);
		lengthen_fence();
	} else {
		for (; i < argc; i++)
			add_impirun(&c, argv[i]);
	}
	if (dry_run)
		print_command(&c, names);
	run_launcher(&c, argv[1], (uint32_t)rank, &auth);
}

int
main(int argc, char **argv)
{
	bool dry_run = false;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-n") || !strcmp(argv[i], "--dry-run"))
			dry_run = true;
		else if (!strcmp(argv[i], "-server"))
			be_server(argc - i, argv + i, dry_run);
		else if (!strcmp(argv[i], "-client"))
			be_client(argc - i - 1, argv + i + 1, dry_run);
		else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(usage_text, stdout);
			return 0;
		} else if (!strcmp(argv[i], "--version")) {
			puts("impirun " BASE_VERSION);
			return 0;
		} else
			fail_impirun("unexpected argument '%s'; see impirun --help", argv[i]);
	}
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}
