/* SPDX-License-Identifier: BSD-2-Clause */
/* What one process of a large job takes: MPI_Init with a launcher that knows 1000 processes,
 * all on nodes of their own, and a message to each of them, which nobody answers.  In a child
 * for each case, as the resident set of a process has a past. */
#include "boot.h"
#include "cmocka_all.h"
#include "mpi.h"
#include "sanitized.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEERS	   1000u
#define BASE_KB	   (20u << 10)
#define PER_PEER_B 1024u
#define GROWTH_B   4096u

/* ---- a launcher */

static uint32_t job_size;
static uint16_t sink_port;

const struct lmpi_launcher *lmpi_launcher;

int
lmpi_boot_init(struct lmpi_boot *b)
{
	*b = (struct lmpi_boot){
		.size = job_size, .node_size = 1, .universe_size = -1, .appnum = -1};
	b->node_peer = calloc(1, sizeof *b->node_peer);
	snprintf(b->node_name, sizeof b->node_name, "n0");
	return 0;
}

int
lmpi_boot_put(const char *key, const void *data, size_t len)
{
	(void)key, (void)data, (void)len;
	return 0;
}

int
lmpi_boot_fence(bool collect, void (*progress)(void))
{
	(void)collect, (void)progress;
	return 0;
}

int
lmpi_boot_get(uint32_t rank, const char *key, void **data, size_t *len)
{
	struct lmpi_contact c = {
		.shm_fd = -1,
		.at = suci_addr_v4((const uint8_t[]){127, 1, (uint8_t)(rank >> 8), (uint8_t)rank},
				   sink_port)};
	(void)key;
	*len = LMPI_CONTACT_BYTES;
	*data = malloc(*len);
	lmpi_contact_encode(&c, *data);
	return 0;
}

void
lmpi_boot_node_of(uint32_t rank, char name[64])
{
	snprintf(name, 64, "n%u", rank);
}

void
lmpi_boot_watch(void (*report)(const char *text, uint32_t rank))
{
	(void)report;
}

void
lmpi_boot_abort(int code, const char *why)
{
	(void)code, (void)why;
}

void
lmpi_boot_fini(void)
{
}

void
lmpi_boot_tell_met(void)
{
}

bool
lmpi_boot_launched(void)
{
	return false;
}

pthread_t
lmpi_boot_main_thread(void)
{
	return pthread_self();
}

/* ---- what a process has */

struct taken {
	uint32_t rss_kb, sockets;
};

static uint32_t
rss_kb(void)
{
	char line[128];
	unsigned kb = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %u", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static uint32_t
sockets(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint32_t n = 0;

	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		char path[300], to[64] = "";
		snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
		if (readlink(path, to, sizeof to - 1) > 0)
			n += strncmp(to, "socket:", 7) == 0;
	}
	if (d)
		closedir(d);
	return n;
}

/* Rank 0 of so many processes; talk: it has sent something to all of them. */
static struct taken
rank_zero(uint32_t size, bool talk)
{
	uint32_t before = sockets();
	char word[8] = "hello";

	job_size = size;
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return (struct taken){0};
	for (uint32_t r = 1; talk && r < size; r++) {
		MPI_Request request;
		MPI_Isend(word, sizeof word, MPI_CHAR, (int)r, 0, MPI_COMM_WORLD, &request);
		MPI_Request_free(&request);
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &(int){0},
			   MPI_STATUS_IGNORE);
	}
	return (struct taken){rss_kb(), sockets() - before};
}

static struct taken
in_a_child(uint32_t size, bool talk)
{
	struct taken t = {0};
	int fds[2], status;

	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		t = rank_zero(size, talk);
		_exit(write(fds[1], &t, sizeof t) != (ssize_t)sizeof t);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], &t, sizeof t), sizeof t);
	close(fds[0]);
	close(fds[1]);
	return t;
}

/* A port that takes what is sent to any of the addresses and says nothing. */
static int
open_sink(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	sink_port = ntohs(a.sin_port);
	return fd;
}

static void
test_a_large_job(void **state)
{
	(void)state;
	int sink = open_sink();

	setenv("LIBMPI_IFACE", "lo", 1);
	struct taken two = in_a_child(2, false), idle = in_a_child(PEERS, false),
		     talked = in_a_child(PEERS, true);
	close(sink);
	print_message("2 processes: %u KB; %u: %u KB, after a message to each %u KB; %u socket\n",
		      two.rss_kb, PEERS, idle.rss_kb, talked.rss_kb, talked.sockets);
	/* Suci's, and the one that listens for streams, whatever the number of processes. */
	assert_int_equal(idle.sockets, 2);
	assert_int_equal(talked.sockets, 2);
	if (SANITIZED)
		return; /* its shadow is resident too */
	assert_true(two.rss_kb > 0);
	/* Of the 20 MB most are not used at 2 processes; what each more may take, so that
	 * creep shows: the process tables, and what an endpoint touches of a path at start. */
	assert_true(idle.rss_kb - two.rss_kb <= PEERS * GROWTH_B / 1024);
	assert_true(idle.rss_kb <= BASE_KB + PEERS * PER_PEER_B / 1024);
	assert_true(talked.rss_kb <= BASE_KB + PEERS * PER_PEER_B / 1024);
}

int
main(int argc, char **argv)
{
	/* Huge pages of glibc's heap, as a check asks for them, would be what is measured. */
	if (argc == 1 && getenv("GLIBC_TUNABLES")) {
		unsetenv("GLIBC_TUNABLES");
		execv("/proc/self/exe", argv);
	}
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_large_job)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
