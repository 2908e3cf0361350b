/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp-perf - latency, throughput and overlap of MMP between two ranks.  See mmp-perf(1). */
#include "perf.h"
#include "base/version.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <mmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
	"mmp-perf MODE [OPTION]...      two ranks, of mpirun or --hosts; or --local\n"
	"\n"
	"  MODE            pingpong, burst (one way, 4 bytes back at the end), sweep (burst with\n"
	"                  every fragment length), overlap (the receiver computes meanwhile),\n"
	"                  bare (burst beside one without copying into the area), busy (to a\n"
	"                  receiver that computes a second without a call), tune (MP_tune)\n"
	"  --local         start both ranks here\n"
	"  --hosts FILE    a line \"ADDRESS PORT\" for each rank; LIBMMP_RANK says which is ours\n"
	"  --size LIST     bytes of a message: 4,1K,64K,1M              [depends on the mode]\n"
	"  --seconds S     about so long a row; tune: at most           [0.3; tune: 20]\n"
	"  --json FILE     results for programs; - is standard output\n"
	"  --quiet         no table\n";

static _Noreturn void
mmp_perf_bad(const char *what, const char *value)
{
	errx(2, "%s \"%s\"; mmp-perf --help", what, value);
}

static void
read_sizes(struct perf *p, const char *list)
{
	const char *at = list;
	for (p->sizes = 0; *at && p->sizes < SIZES_MAX;) {
		char *end;
		errno = 0;
		unsigned long long v = strtoull(at, &end, 10);
		unsigned shift = *end == 'K' || *end == 'k' ? 10
				 : *end == 'M'		    ? 20
				 : *end == 'G'		    ? 30
							    : 0;
		end += shift != 0;
		if (errno || end == at || (*end && *end != ',') || *at == '-' || v > 1u << 30 ||
		    v << shift > UINT64_C(1) << 33)
			mmp_perf_bad("not a list of sizes up to 8G:", list);
		p->size[p->sizes++] = v << shift;
		at = *end ? end + 1 : end;
	}
	if (!p->sizes || *at)
		mmp_perf_bad("not a list of 1 to 64 sizes:", list);
}

void
perf_row(struct perf *p, const struct cell *cell, unsigned n)
{
	if (MP_rank() != 0)
		return;
	for (unsigned i = 0; !p->quiet && i < n; i++)
		printf("%s%s %.*f", i ? "  " : "", cell[i].name, cell[i].digits, cell[i].value);
	if (!p->quiet) {
		printf("\n");
		fflush(stdout);
	}
	if (!p->json)
		return;
	fprintf(p->json, "%s\n  {", p->first ? "" : ",");
	for (unsigned i = 0; i < n; i++)
		fprintf(p->json, "%s\"%s\": %.*f", i ? ", " : "", cell[i].name, cell[i].digits,
			cell[i].value);
	fprintf(p->json, "}");
	p->first = false;
}

/* A port that is free now. */
static unsigned
free_port(int *fd)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&a, len) < 0 ||
	    getsockname(*fd, (struct sockaddr *)&a, &len) < 0)
		err(1, "no port");
	return ntohs(a.sin_port);
}

/* Both ranks here: the child goes on as rank 1, we as rank 0.  The child. */
static pid_t
fork_local(char hosts[32])
{
	int fd[2], file;
	memcpy(hosts, "/tmp/mmp-perf.XXXXXX", sizeof "/tmp/mmp-perf.XXXXXX");
	file = mkstemp(hosts);
	unsigned a = free_port(&fd[0]), b = free_port(&fd[1]);
	if (file < 0 || dprintf(file, "127.0.0.1 %u\n127.0.0.1 %u\n", a, b) < 0)
		err(1, "%s", hosts);
	close(file);
	close(fd[0]);
	close(fd[1]);
	pid_t child = fork();
	if (child < 0)
		err(1, "fork");
	setenv("LIBMMP_RANK", child ? "0" : "1", 1);
	return child;
}

static const struct {
	const char *name, *sizes;
	double seconds;
	void (*run)(struct perf *p);
} mode[] = {{"pingpong", "0,8,1K,64K,1M", 0.3, run_pingpong},
	    {"burst", "4,1K,64K,1M,16M", 0.3, run_burst},
	    {"sweep", "1M", 0.3, run_sweep},
	    {"overlap", "1M,16M", 0.3, run_overlap},
	    {"bare", "4,1K,64K,1M,4M", 0.3, run_bare},
	    {"busy", "64K,1M,4M", 1, run_busy},
	    {"tune", "0", 20, run_tune}};
#define MODES (sizeof mode / sizeof *mode)

/* MODES: there is none of that name. */
static size_t
mode_of(const char *name)
{
	size_t i = 0;
	while (i < MODES && strcmp(mode[i].name, name))
		i++;
	return i;
}

static void
run_mmp_perf(struct perf *p)
{
	size_t i = mode_of(p->mode);
	if (MP_size() < 2)
		errx(2, "two ranks are needed; mmp-perf --help");
	if (!p->sizes)
		read_sizes(p, mode[i].sizes);
	p->seconds = p->seconds > 0 ? p->seconds : mode[i].seconds;
	if (p->json && MP_rank() == 0)
		fprintf(p->json, "{\"mode\": \"%s\", \"results\": [", p->mode);
	p->first = true;
	if (MP_barrier() < 0)
		perf_die();
	if (MP_rank() < 2)
		mode[i].run(p);
	if (p->json && MP_rank() == 0)
		fprintf(p->json, "\n]}\n");
}

static void
read_arguments(int argc, char **argv, struct perf *p, const char **hosts, const char **json,
	       bool *local)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'},
						{"local", no_argument, NULL, 'l'},
						{"hosts", required_argument, NULL, 'H'},
						{"size", required_argument, NULL, 's'},
						{"seconds", required_argument, NULL, 't'},
						{"json", required_argument, NULL, 'j'},
						{"quiet", no_argument, NULL, 'q'},
						{"version", no_argument, NULL, 'V'},
						{NULL, 0, NULL, 0}};
	int c;
	char *end;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			exit(0);
		} else if (c == 'V') {
			puts("mmp-perf " BASE_VERSION);
			exit(0);
		} else if (c == 'l') {
			*local = true;
		} else if (c == 'H') {
			*hosts = optarg;
		} else if (c == 's') {
			read_sizes(p, optarg);
		} else if (c == 't') {
			p->seconds = strtod(optarg, &end);
			if (end == optarg || *end || !(p->seconds > 0 && p->seconds < 1e6))
				mmp_perf_bad("not a number of seconds:", optarg);
		} else if (c == 'j') {
			*json = optarg;
		} else if (c == 'q') {
			p->quiet = true;
		} else {
			fputs("mmp-perf --help lists modes and options\n", stderr);
			exit(2);
		}
	}
	if (optind + 1 != argc)
		errx(2, "one MODE is needed; mmp-perf --help");
	p->mode = argv[optind];
	if (mode_of(p->mode) == MODES)
		mmp_perf_bad("no such mode:", p->mode);
	if (*local && *hosts)
		errx(2, "--local or --hosts, not both; mmp-perf --help");
}

int
main(int argc, char **argv)
{
	struct perf p = {0};
	const char *hosts = NULL, *json = NULL;
	bool local = false;
	char file[32];
	pid_t child = 0;
	read_arguments(argc, argv, &p, &hosts, &json, &local);
	if (local) {
		child = fork_local(file);
		hosts = file;
	}
	int up = MP_init(hosts), status = 0;
	if (child)
		unlink(file);
	if (up < 0)
		errx(1, "%s", MP_error());
	if (json && MP_rank() == 0) {
		p.json = strcmp(json, "-") ? fopen(json, "we") : stdout;
		if (!p.json)
			err(1, "%s", json);
	}
	run_mmp_perf(&p);
	if (MP_finalize() < 0)
		errx(1, "%s", MP_error());
	if (p.json && fflush(p.json))
		err(1, "%s", json);
	if (child && (waitpid(child, &status, 0) < 0 || status))
		errx(1, "rank 1 failed");
	return 0;
}
