/* SPDX-License-Identifier: BSD-2-Clause */
/* mpispd - the daemon of a node of clusters that go on: doc/sp.md, mpispd(8). */
#include "daemon.h"

#include "place.h"

#include "base/clock.h"
#include "base/version.h"
#include "driver/aead.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE    2
#define CTL_FDS	      33u
#define SOCKET_FOLDER "/run/mpispd"

/* ---- news of lib/sp ---- */

static void
follow_view(uint64_t now_ns)
{
	while (spd.view_is_new && !spd.ending) {
		const struct sp_view *v = spd_view();
		spd.view_is_new = false;
		if (v->over) {
			spd_log("%s is over: %s%s",
				spd.group.pipeline ? "the pipeline" : "the cluster",
				sp_why_text(v->over),
				spd.cluster->pmix ? "; ranks of a program of PMIx are not taken "
						    "over (clusters..pmix)"
						  : "");
			spd_end(v->over == SP_WHY_OPERATOR ? 0 : 1, v->over, sp_why_text(v->over));
			return;
		}
		spd_procs_follow(v, now_ns);
		if (spd.group.pipeline) {
			spd_feed_follow(v, now_ns);
			continue;
		}
		if (spd.cluster->pmix) {
			spd_foreign_follow();
			spd_end_if_done();
			continue;
		}
		if (spd_left_too_early(v))
			return;
		spd_talk_follow(v, now_ns);
	}
}

/* ---- the loop ---- */

#define OWN_FDS	 5u /* signals, net, journal, PMIx, doors */
#define PARTS_NS (20 * BASE_MS_NS)

static int signals = -1;

static void
watch_daemon_signals(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void
hear_hangup(void)
{
	char why[SPD_WHY];

	if (!spd_reload(why))
		spd_log("SIGHUP: %s; the keys stay as they are", why);
}

static void
hear_signals(void)
{
	struct signalfd_siginfo s;

	while (read(signals, &s, sizeof s) == (ssize_t)sizeof s) {
		/* The kernel's own is of a terminal that closes. */
		if (s.ssi_signo == SIGHUP && s.ssi_code != SI_KERNEL) {
			hear_hangup();
			continue;
		}
		spd_log("%s", strsignal((int)s.ssi_signo));
		if (spd.ending)
			spd_proc_signal(SIGKILL);
		spd_end(0, SP_WHY_DRAIN, "its daemon is stopped");
	}
}

static uint64_t
net_expiry_ns(struct datagram_sock *net, uint64_t now_ns)
{
	int ms = net ? datagram_timeout(net) : -1;

	return ms < 0 ? BASE_NEVER_NS : now_ns + (unsigned)ms * BASE_MS_NS;
}

/* The kernel refuses to look at more descriptors than the process may open, and a limit may be
 * lowered while they are open.  They are looked at in parts then, a few times in a second. */
static void
poll_parts(struct pollfd *fd, nfds_t n, uint64_t left_ns)
{
	struct rlimit may;
	nfds_t part = getrlimit(RLIMIT_NOFILE, &may) == 0 ? may.rlim_cur : 0;
	int ms = (int)((base_min_ns(left_ns, PARTS_NS) + BASE_MS_NS - 1) / BASE_MS_NS);

	for (nfds_t i = 0, some; i < n; i += some, ms = 0) {
		some = part && part < n - i ? part : n - i;
		if (poll(fd + i, some, ms) < 0)
			for (nfds_t k = i; k < i + some; k++)
				fd[k].revents = 0;
	}
}

static void
sleep_daemon(struct pollfd *fd, nfds_t n, uint64_t until_ns)
{
	uint64_t now = spd_now_ns(), left = until_ns > now ? until_ns - now : 0;
	struct timespec ts = {.tv_sec = (time_t)(left / BASE_S_NS),
			      .tv_nsec = (long)(left % BASE_S_NS)};

	if (ppoll(fd, n, until_ns == BASE_NEVER_NS ? NULL : &ts, NULL) >= 0)
		return;
	for (nfds_t i = 0; i < n; i++)
		fd[i].revents = 0;
	if (errno == EINVAL)
		poll_parts(fd, n, left);
}

static void
turn_daemon(struct pollfd *fd)
{
	uint64_t now = spd_now_ns(), until = spd_begin_turn(now);
	struct datagram_sock *doors = spd_sites_net();

	spd_node_turn(now);
	follow_view(now);
	until = base_min_ns(until, spd.group.pipeline  ? spd_feed_turn(now)
				   : spd.cluster->pmix ? spd_foreign_turn(now)
						       : spd_card_turn(now));
	until = base_min_ns(until, spd_node_expiry_ns());
	(void)datagram_progress(spd.net);
	until = base_min_ns(until, net_expiry_ns(spd.net, now));
	if (doors)
		(void)datagram_progress(doors);
	until = base_min_ns(until, spd_sites_turn(now));
	until = base_min_ns(until, net_expiry_ns(doors, now));
	if (spd.ending)
		until = base_min_ns(until, spd.end_ns);
	spd_procs_end();
	fd[0] = (struct pollfd){.fd = signals, .events = POLLIN};
	fd[1] = (struct pollfd){.fd = datagram_fd(spd.net), .events = datagram_events(spd.net)};
	fd[2] = (struct pollfd){.fd = spd_journal_fd(), .events = POLLIN};
	fd[3] = (struct pollfd){.fd = spd_foreign_fd(), .events = POLLIN};
	fd[4] = (struct pollfd){.fd = doors ? datagram_fd(doors) : -1,
				.events = doors ? datagram_events(doors) : 0};
	nfds_t ctl = spd_ctl_fds(fd + OWN_FDS, now, &until),
	       procs = spd_procs_fds(fd + OWN_FDS + ctl);
	sleep_daemon(fd, OWN_FDS + ctl + procs, until);
	now = spd_now_ns();
	hear_signals();
	spd_journal_turn(now);
	spd_foreign_poll(now); /* before ends of processes: what they said comes first */
	spd_procs_poll(fd + OWN_FDS + ctl, procs, now);
	spd_net_read(spd_hear, now);
	spd_ctl_poll(fd + OWN_FDS, ctl, now);
	follow_view(now);
	if (spd.ending && now >= spd.end_ns && spd.status)
		spd_proc_signal(SIGKILL);
	else if (spd.ending && now >= spd.end_ns)
		spd.end_ns = now + BASE_S_NS / 10; /* those that have left end by themselves */
}

/* A beat that is late is a node that is dead for the others, so processes that compute must not
 * hold it up.  They are started without this. */
static void
claim_processor(void)
{
	struct sched_param p = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &p) != 0)
		spd_log("no real-time priority (%s): beats may be late where processors are busy, "
			"and detect.beat_ms x missed has to allow for that; CAP_SYS_NICE or "
			"RLIMIT_RTPRIO of 1 gives it",
			strerror(errno));
}

static int
run_daemon(void)
{
	struct pollfd *fd = calloc(OWN_FDS + CTL_FDS + 2 * SPD_PROCS_MAX, sizeof *fd);
	char why[SPD_WHY];

	if (!fd || !spd_net_open(why) || !spd_ctl_open(why)) {
		fprintf(stderr, "mpispd: %s\n", fd ? why : "out of memory");
		return 1;
	}
	claim_processor();
	/* What the others are told of the end may wait for the disk. */
	while (!spd.ending || spd_procs_left() ||
	       (spd.node && !spd.disk_failed && !sp_node_is_durable(spd.node)))
		turn_daemon(fd);
	bool over = spd.node != NULL, whole = spd_foreign_end();
	spd_ctl_close();
	spd_net_close();
	spd_node_end(over);
	free(fd);
	if (!whole) {
		fflush(NULL);
		_exit(spd.status);
	}
	return spd.status;
}

/* ---- options ---- */

static const char usage[] =
	"usage: mpispd [--unit NAME] [--socket PATH] [--new] FILE\n"
	"       mpispd --check FILE\n"
	"\n"
	"Runs the daemon of one node of the clusters that FILE describes.\n"
	"  --unit NAME    which unit of FILE this node is; otherwise the host's name\n"
	"  --socket PATH  of mpispctl; otherwise " SOCKET_FOLDER "/UNIT.sock\n"
	"  --new          begin anew: forget the journal of a run before\n"
	"  --check FILE   only say whether FILE can work\n"
	"  --version, --help\n"
	"SIGHUP, or mpispctl reload: keys are read again.\n";

/* It may be asked elsewhere than on a node, so a key that is not here is no fault of the file. */
static void
note_key(const char *file)
{
	struct seal_psk psk[SEAL_PSK_MAX];
	char why[SEAL_TEXT];

	if (file && seal_psk_load(file, psk, why) < 0)
		printf("note: universe.psk_file: %s: %s; no daemon begins here\n", file, why);
	explicit_bzero(psk, sizeof psk);
}

static int
check_conf_file(const char *file)
{
	char why[SPD_WHY];
	struct spd_conf *c = spd_conf_read(file, why);

	if (!c) {
		fprintf(stderr, "mpispd: %s\n", why);
		return 1;
	}
	for (uint32_t n = 0; spd_conf_warning(c, n, why); n++)
		printf("note: %s\n", why);
	note_key(c->psk_file);
	for (uint32_t i = 0; i < c->nclusters; i++) {
		const struct spd_cluster *k = &c->cluster[i];
		printf("cluster %s: %u ranks, %u + %u I/O processes, %u spares on %u units%s\n",
		       k->name, k->compute, k->in, k->out, k->spares, k->units,
		       k->later ? "; starts later" : "");
	}
	printf("%s can work\n", file);
	spd_conf_free(c);
	return 0;
}

static bool
find_me(const char *name)
{
	char host[SP_NAME_MAX] = "";

	if (!name) {
		(void)gethostname(host, sizeof host - 1);
		host[strcspn(host, ".")] = '\0';
		name = host;
	}
	spd.me = spd_conf_unit(spd.conf, name);
	if (spd.me == spd.conf->nunits) {
		fprintf(stderr, "mpispd: %s has no unit %s; say which one this is by --unit\n",
			spd.file, name);
		return false;
	}
	spd.cluster = &spd.conf->cluster[spd.conf->unit[spd.me].cluster];
	if (!spd.cluster->program[0]) {
		fprintf(stderr,
			"mpispd: clusters.%s.program: it is missing; only files of nodes of other "
			"clusters may go without it\n",
			spd.cluster->name);
		return false;
	}
	if (!spd_group_make(spd.conf, spd.conf->unit[spd.me].cluster, &spd.group)) {
		fprintf(stderr, "mpispd: out of memory\n");
		return false;
	}
	spd.unit = spd_group_unit(&spd.group, spd.me);
	return true;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {{"unit", required_argument, NULL, 'u'},
						{"socket", required_argument, NULL, 's'},
						{"new", no_argument, NULL, 'n'},
						{"check", required_argument, NULL, 'c'},
						{"version", no_argument, NULL, 'v'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	const char *unit = NULL, *path = NULL;
	char why[SPD_WHY];
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'u':
			unit = optarg;
			break;
		case 's':
			path = optarg;
			break;
		case 'n':
			spd.anew = true;
			break;
		case 'c':
			return check_conf_file(optarg);
		case 'v':
			printf("mpispd " BASE_VERSION "\n");
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs("mpispd --help lists the options\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind + 1 != argc) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	spd.file = argv[optind];
	spd.conf = spd_conf_read(spd.file, why);
	if (!spd.conf) {
		fprintf(stderr, "mpispd: %s\n", why);
		return 1;
	}
	if (!find_me(unit) || !launch_add_libraries())
		return 1;
	if (path)
		snprintf(spd.socket, sizeof spd.socket, "%s", path);
	else
		snprintf(spd.socket, sizeof spd.socket, SOCKET_FOLDER "/%s.sock",
			 spd.conf->unit[spd.me].name);
	watch_daemon_signals();
	int status = run_daemon();
	spd_group_free(&spd.group);
	spd_conf_free(spd.conf);
	return status;
}
