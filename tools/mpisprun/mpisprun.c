/* SPDX-License-Identifier: BSD-2-Clause */
/* mpisprun - runs a pipeline of clusters on one machine, without daemons.
 *
 * A plan says what clusters, chains and I/O processes there are; lines on stdin change it while it
 * runs.  Processes that die are replaced: a spare takes the rank over, as lib/sp decides. */
#include "mpisprun.h"

#include "base/clock.h"
#include "base/version.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
	"usage: mpisprun [OPTIONS] PLAN\n"
	"Run a pipeline of clusters on this machine.  Lines of PLAN, and of stdin while it runs:\n"
	"  unit NAME ADDRESS [COMMAND]      where processes run; COMMAND leads there\n"
	"  cluster NAME [ranks=N] [spares=N] [units=A,B] program WORDS\n"
	"  chain add FROM TO [ordered] [window=N] [policy=rr|least|weight|sticky|user]\n"
	"            [on_lost=wait|bypass|stop|restart]\n"
	"  chain drain FROM TO; remove FROM TO; move FROM TO NEW\n"
	"  io FROM TO [N]                   N I/O processes for that chain\n"
	"  kill CLUSTER RANK, kill io FROM TO, lost UNIT, status\n"
	"Options:\n"
	"  --frame-max BYTES   of a frame (1048576)\n"
	"  --room N            frames that an I/O process holds (16)\n"
	"  --ahead N           frames that wait at each rank (2)\n"
	"  --stall MS          a frame that does not go on is told after that (5000)\n"
	"  --start MS          who is missing is told after that (5000)\n"
	"  --deaths N          all is stopped when more processes died (32)\n"
	"  --io PROGRAM        the I/O process (mpisp-io beside this program)\n"
	"  -h, --help          this text\n"
	"  --version           print the version\n"
	"Exit status: 0 if all frames were committed and all programs ended well.\n";

uint64_t
run_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BASE_S_NS + (uint64_t)t.tv_nsec;
}

void
tell_line(const struct run *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	printf("%9.3f %s\n", (double)(run_now_ns() - r->start_ns) / 1e9, text);
	fflush(stdout);
}

/* ---- options ---- */

static uint32_t
number_arg(const char *name, const char *text, uint32_t least, uint32_t most)
{
	char *end;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (!text || *end || end == text || v < least || v > most) {
		fprintf(stderr, "mpisprun: %s needs a number from %u to %u, not %s\n", name, least,
			most, text ? text : "nothing");
		exit(2);
	}
	return (uint32_t)v;
}

static const char *
read_options(struct run *r, int argc, char **argv)
{
	const char *plan = NULL;

	for (int i = 1; i < argc; i++) {
		const char *o = argv[i], *v = argv[i + 1];
		if (!strcmp(o, "-h") || !strcmp(o, "--help")) {
			fputs(help, stdout);
			exit(0);
		}
		if (!strcmp(o, "--version")) {
			puts("mpisprun " BASE_VERSION);
			exit(0);
		}
		if (o[0] != '-') {
			plan = o;
			continue;
		}
		i++;
		if (!strcmp(o, "--frame-max"))
			r->conf.frame_max = number_arg(o, v, 64, 1u << 30);
		else if (!strcmp(o, "--room"))
			r->conf.room = number_arg(o, v, 1, 1024);
		else if (!strcmp(o, "--ahead"))
			r->conf.ahead = number_arg(o, v, 1, SPX_AHEAD_MAX);
		else if (!strcmp(o, "--stall"))
			r->conf.stall_ns = number_arg(o, v, 0, 1u << 30) * BASE_MS_NS;
		else if (!strcmp(o, "--start"))
			r->conf.start_ns = number_arg(o, v, 0, 1u << 30) * BASE_MS_NS;
		else if (!strcmp(o, "--deaths"))
			r->deaths_max = number_arg(o, v, 0, MEMBERS_MAX);
		else if (!strcmp(o, "--io") && v)
			r->io_program = v;
		else {
			fprintf(stderr, "mpisprun: unknown option %s; see mpisprun --help\n", o);
			exit(2);
		}
	}
	if (!plan) {
		fprintf(stderr, "mpisprun: which plan?  See mpisprun --help\n");
		exit(2);
	}
	return plan;
}

static bool
make_run(struct run *r)
{
	static char io[4096];
	ssize_t n = readlink("/proc/self/exe", io, sizeof io - sizeof "mpisp-io");

	if (n > 0) {
		io[n] = '\0';
		char *slash = strrchr(io, '/');
		memcpy(slash + 1, "mpisp-io", sizeof "mpisp-io");
		r->io_program = io;
	}
	r->conf = (struct spx_conf){.procs_max = SPX_PROCS_MAX,
				    .origins_max = 32,
				    .window_max = SPX_WINDOW_MAX,
				    .room = 16,
				    .ahead = 2,
				    .frame_max = 1u << 20,
				    .retry_ns = 20 * BASE_MS_NS,
				    .retry_max_ns = 500 * BASE_MS_NS,
				    .poll_ns = 5 * BASE_MS_NS,
				    .stall_ns = 5 * BASE_S_NS,
				    .start_ns = 5 * BASE_S_NS};
	r->deaths_max = 32;
	r->start_ns = run_now_ns();
	r->cluster = calloc(SPX_POOLED_MAX, sizeof *r->cluster);
	r->planned = calloc(SPX_POOLED_MAX, sizeof *r->planned);
	r->member = calloc(MEMBERS_MAX, sizeof *r->member);
	r->view.proc = calloc(SPX_PROCS_MAX, sizeof *r->view.proc);
	r->view.cluster = calloc(SPX_CLUSTERS_MAX, sizeof *r->view.cluster);
	r->view.chain = calloc(SPX_CHAINS_MAX, sizeof *r->view.chain);
	snprintf(r->unit[0].name, sizeof r->unit[0].name, "here");
	snprintf(r->unit[0].ip, sizeof r->unit[0].ip, "127.0.0.1");
	r->nunit = 1;
	return r->cluster && r->planned && r->member && r->view.proc && r->view.cluster &&
	       r->view.chain && getrandom(&r->realm, sizeof r->realm, 0) == sizeof r->realm;
}

/* ---- the loop ---- */

/* Lines that have come on stdin; false: it is closed. */
static bool
hear_operator(struct run *r)
{
	static char text[4096];
	static size_t len;
	char why[SPX_TEXT_MAX], *end;
	ssize_t n = read(0, text + len, sizeof text - 1 - len);

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	len += (size_t)n;
	text[len] = '\0';
	while ((end = strchr(text, '\n'))) {
		*end = '\0';
		if (!plan_line(r, text, why))
			tell_line(r, "\"%s\": %s", text, why);
		else if (text[0])
			tell_line(r, "\"%s\": done", text);
		agree_wants(r);
		len -= (size_t)(end + 1 - text);
		memmove(text, end + 1, len + 1);
	}
	if (len == sizeof text - 1)
		len = 0;
	return true;
}

static void
run_loop(struct run *r, int signals)
{
	static struct pollfd p[MEMBERS_MAX + 2];
	static uint32_t who[MEMBERS_MAX + 2];
	bool operator_there = true;

	while (procs_alive(r) > 0) {
		struct signalfd_siginfo s;
		nfds_t n = 2;
		p[0] = (struct pollfd){.fd = signals, .events = POLLIN};
		p[1] = (struct pollfd){.fd = operator_there ? 0 : -1, .events = POLLIN};
		for (uint32_t i = 0; i < r->nmember; i++)
			if (r->member[i].feed >= 0) {
				who[n] = i;
				p[n++] = (struct pollfd){.fd = r->member[i].feed, .events = POLLIN};
			}
		(void)poll(p, n, agree_wait_ms(r));
		while (p[0].revents && read(signals, &s, sizeof s) == sizeof s)
			if (s.ssi_signo != SIGCHLD) {
				tell_line(r, "signal %u: all is stopped", s.ssi_signo);
				r->over = r->failed = true;
				procs_kill_all(r);
			}
		for (nfds_t i = 2; i < n; i++)
			if (p[i].revents)
				procs_hear(r, &r->member[who[i]]);
		procs_reap(r);
		if (p[1].revents)
			operator_there = hear_operator(r);
		agree_turn(r);
		if (!r->over)
			views_show(r);
	}
}

int
main(int argc, char **argv)
{
	static struct run r;
	char why[SPX_TEXT_MAX];
	sigset_t set;

	if (!make_run(&r)) {
		fprintf(stderr, "mpisprun: no memory\n");
		return 1;
	}
	const char *plan = read_options(&r, argc, argv);
	if (!agree_begin(&r, why) || !plan_read(&r, plan, why)) {
		fprintf(stderr, "mpisprun: %s\n", why);
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) {
		fprintf(stderr, "mpisprun: signals: %s\n", strerror(errno));
		return 1;
	}
	tell_line(&r, "monotonic clock %.3f", (double)r.start_ns / 1e9);
	agree_wants(&r);
	agree_turn(&r);
	views_show(&r);
	run_loop(&r, signals);
	agree_end(&r);
	return r.failed ? 1 : 0;
}
