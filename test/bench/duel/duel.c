/* SPDX-License-Identifier: BSD-2-Clause */
/* duel - ping-pong and one-way bulk over one transport, the same for each.
 *
 *   duel-TRANSPORT server ADDR PORT MTU MOST
 *   duel-TRANSPORT client ADDR PORT MTU MOST [ping|bulk BYTES BUDGET_MS ...]
 *
 * ping   messages of BYTES go to and fro; half a round trip, median and minimum.
 * bulk   as many messages of BYTES as fit BUDGET_MS go one way, back to back; the
 *        clock stops when the server's confirmation of the last is here.  They are taken
 *        from, and put into, successive places of MOST bytes of memory, so that one size
 *        finds the caches no warmer than another.
 * Both first run for a tenth of the budget to warm up and to find out how many fit.
 * CPU time is that of both processes, all threads, user and system, from announcement
 * to confirmation.  The last message of each run is compared with what was sent, of a long
 * one the first and the last 256 KB: the clock runs.
 *
 * Prints one JSON object.  A client that is told nothing to measure reads turns from standard
 * input, a line "ping|bulk BYTES BUDGET_MS" each, and prints an object for each of them. */
#include "duel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 200000u

enum { END, PING, BULK };

/* Both ends are on one machine: plain memory. */
struct announce {
	uint32_t what, rounds;
	uint64_t bytes;
};
struct confirm {
	uint64_t cpu_ns, ok;
};

uint32_t duel_mtu;
uint16_t duel_port;
static uint8_t *tx, *rx;
static size_t most;

void
duel_die(const char *what)
{
	fprintf(stderr, "duel-%s: %s: %s\n", duel_name, what, strerror(errno));
	exit(1);
}

uint64_t
duel_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
duel_ready(void)
{
	puts("ready");
	fflush(stdout);
}

void
duel_nap(int fd, short events, uint64_t *since_ns, int timeout_ms)
{
	uint64_t now = duel_now_ns();
	if (!*since_ns)
		*since_ns = now;
	if (now - *since_ns < DUEL_SPIN_NS)
		return;
	struct pollfd p = {.fd = fd, .events = events};
	(void)poll(&p, 1, timeout_ms);
}

size_t
duel_walk(size_t *at, size_t n)
{
	if (*at + n > most)
		*at = 0;
	size_t here = *at;
	*at += n;
	return here;
}

static uint64_t
cpu_ns(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000u;
}

static bool
same(const void *a, const void *b, size_t n)
{
	const size_t part = 256u << 10;
	if (n <= 2 * part)
		return memcmp(a, b, n) == 0;
	return memcmp(a, b, part) == 0 &&
	       memcmp((const uint8_t *)a + n - part, (const uint8_t *)b + n - part, part) == 0;
}

static int
by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

struct result {
	uint64_t ns, cpu_ns;
	double half_us[2]; /* median, least */
};

static struct result
run(uint32_t what, uint64_t bytes, uint32_t rounds)
{
	static double half[ROUNDS_MAX];
	static struct announce an; /* stays unchanged until it has left */
	an = (struct announce){what, rounds, bytes};
	uint64_t cpu = cpu_ns(), t0 = duel_now_ns();
	const void *in = tx;
	size_t at = 0;
	struct confirm c;

	duel_send(&an, sizeof an);
	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t t1 = what == PING ? duel_now_ns() : 0;
		duel_send(what == BULK ? tx + duel_walk(&at, bytes) : tx, bytes);
		if (what == BULK)
			continue;
		in = duel_recv(rx, bytes);
		half[i] = (double)(duel_now_ns() - t1) / 2e3;
	}
	memcpy(&c, duel_recv(rx + most, sizeof c), sizeof c);
	struct result r = {.ns = duel_now_ns() - t0, .cpu_ns = cpu_ns() - cpu + c.cpu_ns};
	/* What the transport lends is valid until the next message only. */
	if (!c.ok || (what == PING && in == rx && memcmp(in, tx, bytes) != 0)) {
		errno = EBADMSG;
		duel_die("bytes differ");
	}
	if (what == PING) {
		qsort(half, rounds, sizeof *half, by_value);
		r.half_us[0] = half[rounds / 2];
		r.half_us[1] = half[0];
	}
	return r;
}

static void
measure(const char *what, uint64_t bytes, double budget_ms)
{
	uint32_t kind = !strcmp(what, "ping") ? PING : BULK;
	uint32_t rounds = kind == PING ? 8 : 2;
	double ns = 0;

	for (;;) { /* warm up */
		ns = (double)run(kind, bytes, rounds).ns;
		if (ns >= budget_ms * 1e5 || rounds >= ROUNDS_MAX / 2)
			break;
		rounds *= 2;
	}
	double fit = budget_ms * 1e6 / (ns / rounds);
	rounds = fit > ROUNDS_MAX ? ROUNDS_MAX : fit < 1 ? 1 : (uint32_t)fit;
	struct result r = run(kind, bytes, rounds);
	double total = (double)bytes * rounds * (kind == PING ? 2 : 1);
	printf("{\"what\": \"%s\", \"bytes\": %llu, \"rounds\": %u, \"mb_per_s\": %.3f, "
	       "\"cpu_s_per_gb\": %.4f",
	       what, (unsigned long long)bytes, rounds, total * 1e3 / (double)r.ns,
	       (double)r.cpu_ns / total);
	if (kind == PING)
		printf(", \"half_us_median\": %.3f, \"half_us_min\": %.3f", r.half_us[0],
		       r.half_us[1]);
	printf("}");
	fflush(stdout);
}

static void
serve(void)
{
	for (;;) {
		struct announce an;
		static struct confirm c;
		memcpy(&an, duel_recv(rx, sizeof an), sizeof an);
		uint64_t cpu = cpu_ns();
		if (an.what == END)
			return;
		bool ok = true;
		size_t at = 0;
		for (uint32_t i = 0; i < an.rounds; i++) {
			size_t off = an.what == BULK ? duel_walk(&at, an.bytes) : 0;
			const void *in = duel_recv(rx + off, an.bytes);
			if (an.what == PING)
				duel_send(tx, an.bytes);
			if (i + 1 == an.rounds)
				ok = same(in, tx + off, an.bytes);
		}
		c = (struct confirm){cpu_ns() - cpu, ok};
		duel_send(&c, sizeof c);
	}
}

static void
listed(int n, char **what)
{
	printf("{\"peer\": \"%s\", \"mtu\": %u, \"rows\": [", duel_name, duel_mtu);
	for (int i = 0; i + 2 < n; i += 3) {
		if (i)
			printf(", ");
		measure(what[i], strtoull(what[i + 1], NULL, 10), strtod(what[i + 2], NULL));
	}
	printf("]}\n");
}

static void
told(void)
{
	char what[8];
	unsigned long long bytes;
	double budget_ms;

	for (;;) {
		duel_idle(STDIN_FILENO);
		if (scanf("%7s %llu %lf", what, &bytes, &budget_ms) != 3)
			return;
		measure(what, bytes, budget_ms);
		puts("");
		fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	if (argc < 6) {
		fprintf(stderr,
			"usage: duel-%s server|client ADDR PORT MTU MOST [ping|bulk BYTES "
			"BUDGET_MS]...\n",
			duel_name);
		return 2;
	}
	int server = !strcmp(argv[1], "server");
	duel_port = (uint16_t)strtoul(argv[3], NULL, 10);
	duel_mtu = (uint32_t)strtoul(argv[4], NULL, 10);
	most = strtoull(argv[5], NULL, 10);
	setvbuf(stdin, NULL, _IONBF, 0); /* what is there to read is seen by poll() */
	tx = malloc(most + 64);
	rx = malloc(most + 64);
	if (!tx || !rx)
		duel_die("malloc");
	for (size_t i = 0; i < most; i++)
		tx[i] = (uint8_t)(i * 2654435761u >> 13);
	memset(rx, 0, most + 64);
	duel_open(server, argv[2], most);
	if (server) {
		serve();
	} else {
		if (argc > 6)
			listed(argc - 6, argv + 6);
		else
			told();
		static const struct announce end;
		duel_send(&end, sizeof end);
	}
	duel_close();
	return 0;
}
