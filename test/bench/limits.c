/* SPDX-License-Identifier: BSD-2-Clause */
/* limits - what this machine itself takes, beside which a bench puts its rows.
 *
 *   limits CPU CPU - - - - BYTES...                 UDP over loopback
 *   limits CPU CPU NETNS IPV4 NETNS IPV4 BYTES...   UDP from one namespace to the other
 *
 * Prints one JSON object: the caches that the two CPUs share, the hand-over of a cache line from
 * one to the other, a system call, all ns; and for each size memcpy and half a round trip of bare
 * UDP, both ends polling, us (null where no datagram is that long).  Medians of batches of a
 * millisecond. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCHES	 31
#define BATCH_NS 1000000.0
#define LONGEST	 (64u << 20)
#define DATAGRAM 65000u /* at most */
#define PORT	 7911
#define LOST_S	 2

struct end {
	int cpu;
	const char *netns, *ip; /* "-": where we are, loopback */
	int fd;
};
static struct end end[2];
static _Alignas(128) _Atomic uint64_t line;
static _Atomic bool over;
static unsigned char *from, *to;
static size_t bytes;

static _Noreturn void
die(const char *what, const char *which)
{
	fprintf(stderr, "limits: %s %s: ", what, which);
	perror(NULL);
	exit(1);
}

static double
now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("CPU", "that is not ours");
}

/* ---- what is measured: n times ---- */

/* The line is even: ours; odd: the other's. */
static void
bounce_line(int n)
{
	uint64_t v = atomic_load_explicit(&line, memory_order_relaxed);

	for (int i = 0; i < n; i++, v += 2) {
		atomic_store_explicit(&line, v + 1, memory_order_release);
		while (atomic_load_explicit(&line, memory_order_acquire) != v + 2)
			;
	}
}

static void
call_system(int n)
{
	for (int i = 0; i < n; i++)
		(void)syscall(SYS_getppid);
}

static void
copy(int n)
{
	for (int i = 0; i < n; i++) {
		memcpy(to, from, bytes);
		__asm__ volatile("" : : "r"(to) : "memory"); /* somebody reads it */
	}
}

static void
bounce_udp(int n)
{
	double until = now_ns() + LOST_S * 1e9;

	for (int i = 0; i < n; i++) {
		if (send(end[0].fd, from, bytes, 0) < 0)
			die("sending to", end[1].ip);
		while (recv(end[0].fd, to, DATAGRAM, MSG_DONTWAIT) < 0)
			if (now_ns() > until) {
				fprintf(stderr, "limits: no answer from %s in %d s\n", end[1].ip,
					LOST_S);
				exit(1);
			}
	}
}

static void *
answer_line(void *arg)
{
	uint64_t v;

	(void)arg;
	pin(end[1].cpu);
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		if ((v = atomic_load_explicit(&line, memory_order_acquire)) & 1)
			atomic_store_explicit(&line, v + 1, memory_order_release);
	return NULL;
}

static void *
answer_udp(void *arg)
{
	unsigned char *buf = arg;
	ssize_t n;

	pin(end[1].cpu);
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		if ((n = recv(end[1].fd, buf, DATAGRAM, MSG_DONTWAIT)) >= 0 &&
		    send(end[1].fd, buf, (size_t)n, 0) < 0)
			die("sending to", end[0].ip);
	return NULL;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* ns of one; the first batch finds out how many fill one, and does not count. */
static double
timed(void (*run)(int n))
{
	double t[BATCHES];
	int n = 1;

	for (double took = 0; took < BATCH_NS / 2 && n < 1 << 20; n *= 2) {
		took = now_ns();
		run(n);
		took = now_ns() - took;
	}
	for (int i = 0; i < BATCHES; i++) {
		t[i] = now_ns();
		run(n);
		t[i] = (now_ns() - t[i]) / n;
	}
	qsort(t, BATCHES, sizeof t[0], by_value);
	return t[BATCHES / 2];
}

/* The same with somebody who answers on the other CPU. */
static double
timed_with(void *(*other)(void *), void *arg, void (*run)(int n))
{
	pthread_t thread;

	over = false;
	if (pthread_create(&thread, NULL, other, arg))
		die("a thread", "cannot be started");
	double t = timed(run);
	over = true;
	pthread_join(thread, NULL);
	return t;
}

/* ---- the two sockets ---- */

static void
enter(const char *netns)
{
	char path[256];

	snprintf(path, sizeof path, "/run/netns/%s", netns);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("entering", path);
	close(fd);
}

static struct sockaddr_in
address(int i)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(PORT + i))};

	if (inet_pton(AF_INET, end[i].ip, &a.sin_addr) != 1)
		die("not an IPv4 address:", end[i].ip);
	return a;
}

static void
open_end(int i)
{
	struct sockaddr_in mine = address(i), other = address(!i);

	if (end[i].netns)
		enter(end[i].netns);
	end[i].fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (end[i].fd < 0 || bind(end[i].fd, (void *)&mine, sizeof mine) ||
	    connect(end[i].fd, (void *)&other, sizeof other))
		die("a socket of", end[i].ip);
}

/* ---- what the CPUs share ---- */

static bool
read_line(int cpu, int index, const char *name, char *text, int size)
{
	char path[128];

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index,
		 name);
	FILE *f = fopen(path, "r");
	bool ok = f && fgets(text, size, f);
	if (f)
		fclose(f);
	return ok;
}

/* "0-3,8" */
static bool
lists(const char *text, long cpu)
{
	while (*text) {
		char *rest;
		long low = strtol(text, &rest, 10), high = low;

		if (rest == text)
			return false;
		if (*rest == '-')
			high = strtol(rest + 1, &rest, 10);
		if (cpu >= low && cpu <= high)
			return true;
		text = *rest ? rest + 1 : rest;
	}
	return false;
}

/* The nearest cache of both, as the kernel says (what the hypervisor says). */
static int
shared_level(int a, int b)
{
	char text[256], type[32];
	int least = 0;

	for (int i = 0; i < 16 && read_line(a, i, "type", type, sizeof type); i++) {
		if (strncmp(type, "Instruction", 11) == 0 ||
		    !read_line(a, i, "shared_cpu_list", text, sizeof text) || !lists(text, b) ||
		    !read_line(a, i, "level", text, sizeof text))
			continue;
		int level = (int)strtoul(text, NULL, 10);
		if (least == 0 || level < least)
			least = level;
	}
	return least;
}

/* One size, which is in bytes already. */
static void
print_size(unsigned char *buf)
{
	/* Page aligned, written to, and never 0 bytes nor less than a datagram. */
	size_t room = ((bytes < DATAGRAM ? DATAGRAM : bytes) / 4096 + 1) * 4096;

	from = aligned_alloc(4096, room);
	to = aligned_alloc(4096, room);
	if (!from || !to)
		die("memory", "for a size");
	memset(from, 1, room);
	memset(to, 2, room);
	printf("\"%zu\": {\"memcpy_us\": %.4f, \"udp_us\": ", bytes, timed(copy) / 1e3);
	if (bytes <= DATAGRAM)
		printf("%.3f}", timed_with(answer_udp, buf, bounce_udp) / 2e3);
	else
		printf("null}");
	free(from);
	free(to);
}

int
main(int argc, char **argv)
{
	unsigned char *buf = malloc(DATAGRAM);

	if (argc < 7 || !buf) {
		fprintf(stderr, "limits CPU CPU NETNS|- IPV4|- NETNS|- IPV4|- BYTES...\n");
		return 2;
	}
	for (int i = 0; i < 2; i++) {
		const char *ns = argv[3 + 2 * i], *ip = argv[4 + 2 * i];
		end[i].cpu = (int)strtoul(argv[1 + i], NULL, 10);
		end[i].netns = strcmp(ns, "-") ? ns : NULL;
		end[i].ip = strcmp(ip, "-") ? ip : "127.0.0.1";
	}
	open_end(1);
	open_end(0);
	pin(end[0].cpu);
	int level = shared_level(end[0].cpu, end[1].cpu);
	if (level)
		printf("{\"shared\": \"L%d\"", level);
	else
		printf("{\"shared\": \"nothing\"");
	printf(", \"cpus\": [%d, %d], \"line_ns\": %.1f", end[0].cpu, end[1].cpu,
	       timed_with(answer_line, NULL, bounce_line) / 2);
	printf(", \"syscall_ns\": %.1f, \"sizes\": {", timed(call_system));
	for (int i = 7; i < argc; i++) {
		bytes = strtoull(argv[i], NULL, 10);
		if (bytes > LONGEST) {
			fprintf(stderr, "limits: %s bytes are more than %u\n", argv[i], LONGEST);
			return 2;
		}
		printf("%s", i > 7 ? ", " : "");
		print_size(buf);
	}
	printf("}}\n");
	free(buf);
	return 0;
}
