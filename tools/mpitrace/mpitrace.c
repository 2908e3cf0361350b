/* SPDX-License-Identifier: BSD-2-Clause */
/* mpitrace - what libmpitrace has noted, for people and for simulators.
 *
 *     mpitrace [-s] FILE...
 *
 * Prints a line for every call; -s: a table of calls with their times and bytes, over all files.
 * Exit status 1: a file is damaged (what is before the damage is printed), 2: wrong arguments. */
#include "read.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage_text[] =
	"usage: mpitrace [-s] FILE...\n"
	"  FILE  trace of a rank: LIBMPI_TRACE/RANK, mpitrace/RANK by default\n"
	"  -s    calls, times and bytes over all files, not every call\n";

struct sum {
	char name[MPITRACE_NAME_MAX];
	uint64_t calls, inside_ns, out, in;
};
static struct sum sums[MPITRACE_NAMES_MAX];
static size_t nsums;
static uint64_t compute_ns, inside_ns;

static struct sum *
sum_of(const char *name)
{
	for (size_t i = 0; i < nsums; i++)
		if (strcmp(sums[i].name, name) == 0)
			return &sums[i];
	if (nsums == MPITRACE_NAMES_MAX)
		return &sums[nsums - 1];
	strlcpy(sums[nsums].name, name, sizeof sums[nsums].name);
	return &sums[nsums++];
}

static void
add_mpitrace(const struct mpitrace_record *r)
{
	compute_ns += r->compute_ns;
	if (r->type != MPITRACE_CALL)
		return;
	struct sum *s = sum_of(r->name);
	s->calls++;
	s->inside_ns += r->inside_ns;
	s->out += r->out;
	s->in += r->in;
	inside_ns += r->inside_ns;
}

static int
by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct sum *)a)->inside_ns, y = ((const struct sum *)b)->inside_ns;
	return (x < y) - (x > y);
}

static void
print_sums(void)
{
	qsort(sums, nsums, sizeof *sums, by_time);
	printf("%-28s %10s %12s %16s %16s\n", "call", "calls", "ms inside", "bytes given",
	       "bytes wanted");
	for (size_t i = 0; i < nsums; i++)
		printf("%-28s %10" PRIu64 " %12.3f %16" PRIu64 " %16" PRIu64 "\n", sums[i].name,
		       sums[i].calls, (double)sums[i].inside_ns / 1e6, sums[i].out, sums[i].in);
	printf("%-28s %10s %12.3f\n", "all calls", "", (double)inside_ns / 1e6);
	printf("%-28s %10s %12.3f\n", "computing", "", (double)compute_ns / 1e6);
}

static void
print_mpitrace(const struct mpitrace *t, const struct mpitrace_record *r, uint64_t *now_ns)
{
	*now_ns += r->compute_ns;
	if (r->type == MPITRACE_COMM) {
		printf("%u %.3f communicator %" PRIu64 " size %" PRIu64, t->rank,
		       (double)*now_ns / 1e3, r->comm, r->nlocal);
		printf(r->nremote ? " remote %" PRIu64 "\n" : "\n", r->nremote);
	} else if (r->type == MPITRACE_SEND || r->type == MPITRACE_RECV) {
		bool sends = r->type == MPITRACE_SEND;
		printf("%u %.3f %s comm %" PRIu64 " peer %" PRId64 " tag %" PRId64 " bytes %" PRIu64
		       "\n",
		       t->rank, (double)*now_ns / 1e3, sends ? "sends" : "receives", r->comm,
		       r->peer, r->tag, sends ? r->out : r->in);
	} else if (r->type == MPITRACE_HAD) {
		printf("%u %.3f had peer %" PRId64 " tag %" PRId64 " bytes %" PRId64 "\n", t->rank,
		       (double)*now_ns / 1e3, r->peer, r->tag, r->had);
	} else if (r->type == MPITRACE_START || r->type == MPITRACE_DONE) {
		printf("%u %.3f request %" PRIu64 " %s\n", t->rank, (double)*now_ns / 1e3,
		       r->request, r->type == MPITRACE_START ? "begun" : "completed");
	} else if (r->type == MPITRACE_CALL) {
		printf("%u %.3f %s %.3f comm %" PRIu64 " peer %" PRId64 " tag %" PRId64
		       " out %" PRIu64 " in %" PRIu64 "\n",
		       t->rank, (double)*now_ns / 1e3, r->name, (double)r->inside_ns / 1e3, r->comm,
		       r->peer, r->tag, r->out, r->in);
		*now_ns += r->inside_ns;
	}
}

static bool
read_trace(const char *path, const void *data, size_t len, bool sum)
{
	struct mpitrace t;
	struct mpitrace_record r;
	const char *why = mpitrace_open(&t, data, len);
	uint64_t now_ns = 0;
	size_t at = (size_t)(t.at - t.begin);
	int more = why ? -1 : 1;

	while (more > 0 && (more = mpitrace_next(&t, &r, &why, &at)) > 0) {
		if (sum)
			add_mpitrace(&r);
		else
			print_mpitrace(&t, &r, &now_ns);
	}
	if (more < 0)
		fprintf(stderr, "mpitrace: %s: byte %zu: %s\n", path, at, why);
	else if (!mpitrace_whole(&t))
		fprintf(stderr, "mpitrace: %s: the rank did not come to MPI_Finalize\n", path);
	mpitrace_done(&t);
	return more == 0;
}

static bool
read_mpitrace_file(const char *path, bool sum)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *data = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		fprintf(stderr, "mpitrace: %s: %s\n", path,
			fd < 0 || errno ? strerror(errno) : "empty");
		if (fd >= 0)
			close(fd);
		return false;
	}
	bool ok = read_trace(path, data, (size_t)st.st_size, sum);
	munmap(data, (size_t)st.st_size);
	close(fd);
	return ok;
}

int
main(int argc, char **argv)
{
	bool sum = false, ok = true;
	int c;

	static const struct option longs[] = {
		{"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, {0}};
	while ((c = getopt_long(argc, argv, "sh", longs, NULL)) != -1) {
		if (c == 'V') {
			puts("mpitrace " BASE_VERSION);
			return 0;
		}
		if (c != 's' && c != 'h') {
			fputs("mpitrace --help lists the options\n", stderr);
			return 2;
		}
		if (c == 'h') {
			fputs(usage_text, stdout);
			return 0;
		}
		sum = true;
	}
	if (optind == argc) {
		fputs("mpitrace: no FILE is given\nmpitrace --help says which files there are\n",
		      stderr);
		return 2;
	}
	for (int i = optind; i < argc; i++)
		ok = read_mpitrace_file(argv[i], sum) && ok;
	if (sum)
		print_sums();
	return ok ? 0 : 1;
}
