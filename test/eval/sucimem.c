/* SPDX-License-Identifier: BSD-2-Clause */
/* sucimem N - what N peers cost a process, over Suci and over TCP, as JSON of bytes.
 *
 * A child has the N other ends: N Suci sockets, then N ends of TCP connections.  Each peer is
 * written one block of 1 KB.  Process: resident memory beyond before.  Kernel: its objects for the
 * sockets, of the sizes that /proc/slabinfo tells.  Buffers: what the kernel may keep of data for
 * them, as the sockets say. */
#include "suci.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT 21000
#define WORD 1024

static uint32_t peers;

static _Noreturn void
die_here(const char *what)
{
	fprintf(stderr, "sucimem: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t
resident(void)
{
	unsigned long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu", &size, &pages) != 2)
		die_here("/proc/self/statm");
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Size of an object of the kernel; 0: it does not tell. */
static uint64_t
object_bytes(const char *name)
{
	char line[400], this[64];
	unsigned long a, b, size;
	uint64_t found = 0;
	FILE *f = fopen("/proc/slabinfo", "r");

	while (f && !found && fgets(line, sizeof line, f))
		if (sscanf(line, "%63s %lu %lu %lu", this, &a, &b, &size) == 4 &&
		    !strcmp(this, name))
			found = size;
	if (f)
		fclose(f);
	return found;
}

static uint64_t
socket_objects(const char *protocol)
{
	static const char *const each[] = {"sock_inode_cache", "dentry", "filp"};
	uint64_t n = object_bytes(protocol);

	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		n += object_bytes(each[i]);
	return n;
}

static uint64_t
buffers_of(int fd)
{
	int in = 0, out = 0;
	socklen_t n = sizeof in;

	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &in, &n) ||
	    getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out, &n))
		die_here("getsockopt");
	return (uint64_t)in + (uint64_t)out;
}

/* ---- Suci ---- */

static void
small(struct datagram_conf *c, uint32_t id, const struct datagram_db *db)
{
	datagram_conf_init(c);
	c->id = id;
	c->db = db;
	c->flags = DATAGRAM_NO_OFFLOAD;
	c->read_bytes = c->write_bytes = 65536;
	c->blocks = 16;
	c->packets = 64;
	c->window = 16;
	c->early_packets = 64;
	c->sockbuf_bytes = 65536;
}

/* The other ends; begin: a word when they are there. */
static _Noreturn void
serve_suci(int begin)
{
	struct datagram_sock **s = calloc(peers, sizeof *s);
	char block[WORD];

	for (uint32_t i = 0; s && i < peers; i++) {
		/* Itself, and who writes to it. */
		struct datagram_db *db = datagram_db_new();
		struct datagram_conf c;
		if (!db || datagram_db_add(db, 0, "127.0.0.1", PORT) ||
		    datagram_db_add(db, i + 1, "127.0.0.1", (uint16_t)(PORT + 1 + i)))
			die_here("a database");
		small(&c, i + 1, db);
		s[i] = datagram_open_with(&c);
		if (!s[i])
			die_here(datagram_error(NULL));
		datagram_db_free(db);
	}
	if (!s || write(begin, "", 1) != 1)
		die_here("serving");
	for (;;)
		for (uint32_t i = 0; i < peers; i++)
			(void)datagram_read0(s[i], block, sizeof block);
}

static uint64_t
cost_of_suci(uint64_t *kernel, uint64_t *buffers)
{
	struct datagram_db *db = datagram_db_new();
	struct datagram_conf c;
	char block[WORD] = {0};
	int begin[2];

	if (!db || pipe(begin))
		die_here("a database");
	for (uint32_t i = 0; i <= peers; i++)
		if (datagram_db_add(db, i, "127.0.0.1", (uint16_t)(PORT + i)))
			die_here("a database");
	pid_t child = fork();
	if (!child)
		serve_suci(begin[1]);
	close(begin[1]);
	if (child < 0 || read(begin[0], block, 1) != 1)
		die_here("the other ends");
	uint64_t before = resident();
	datagram_conf_init(&c);
	c.db = db;
	struct datagram_sock *s = datagram_open_with(&c);
	if (!s)
		die_here(datagram_error(NULL));
	for (uint32_t i = 1; i <= peers; i++)
		if (datagram_destination(s, i) || datagram_write(s, block, WORD) != WORD)
			die_here(datagram_error(s));
	if (datagram_flush(s, 60, 0) != 1)
		die_here("not all of them have their block");
	uint64_t cost = resident() - before;
	*kernel = socket_objects("UDP");
	*buffers = buffers_of(datagram_fd(s));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	datagram_close(s);
	return cost;
}

/* ---- TCP ---- */

static _Noreturn void
serve_tcp(const struct sockaddr_in *to)
{
	char block[WORD];
	int *fd = calloc(peers, sizeof *fd);

	for (uint32_t i = 0; fd && i < peers; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (fd[i] < 0 || connect(fd[i], (const struct sockaddr *)to, sizeof *to))
			die_here("connect");
	}
	for (uint32_t i = 0; fd && i < peers; i++)
		for (size_t got = 0; got < WORD;) {
			ssize_t n = read(fd[i], block, WORD - got);
			if (n <= 0)
				die_here("read");
			got += (size_t)n;
		}
	pause();
	exit(0);
}

static uint64_t
cost_of_tcp(uint64_t *kernel, uint64_t *buffers)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof a;
	char block[WORD] = {0};
	int at = socket(AF_INET, SOCK_STREAM, 0);

	if (at < 0 || bind(at, (struct sockaddr *)&a, sizeof a) || listen(at, 1024) ||
	    getsockname(at, (struct sockaddr *)&a, &n))
		die_here("listen");
	uint64_t before = resident();
	pid_t child = fork();
	if (!child)
		serve_tcp(&a);
	*buffers = 0;
	for (uint32_t i = 0; i < peers; i++) {
		int fd = accept(at, NULL, NULL);
		if (fd < 0 || write(fd, block, WORD) != WORD)
			die_here("accept");
		*buffers += buffers_of(fd);
	}
	*kernel = peers * socket_objects("TCP");
	uint64_t cost = resident() - before;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return cost;
}

int
main(int argc, char **argv)
{
	struct rlimit most;
	uint64_t kernel[2], buffers[2];

	peers = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	if (peers < 1 || peers > 10000) {
		fprintf(stderr, "usage: sucimem N; 1 .. 10000 peers\n");
		return 2;
	}
	if (!getrlimit(RLIMIT_NOFILE, &most) && most.rlim_cur < peers + 64) {
		most.rlim_cur = most.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &most);
	}
	uint64_t tcp = cost_of_tcp(&kernel[1], &buffers[1]);
	uint64_t suci = cost_of_suci(&kernel[0], &buffers[0]);
	printf("{\"peers\": %u, \"suci_fds\": 1, \"tcp_fds\": %u, \"suci_process\": %llu, "
	       "\"tcp_process\": %llu, \"suci_kernel\": %llu, \"tcp_kernel\": %llu, "
	       "\"suci_buffers\": %llu, \"tcp_buffers\": %llu}\n",
	       peers, peers, (unsigned long long)suci, (unsigned long long)tcp,
	       (unsigned long long)kernel[0], (unsigned long long)kernel[1],
	       (unsigned long long)buffers[0], (unsigned long long)buffers[1]);
	return 0;
}
