/* SPDX-License-Identifier: BSD-2-Clause */
/* suci-meet - two programs that know nothing of each other but an address, and go on when a relay
 * between them dies.
 *
 *      cc $(pkg-config --cflags suci) -o suci-meet suci-meet.c $(pkg-config --libs suci)
 *      suci-meet server 10.0.0.254:7812,10.0.0.253:7812             prints its address, answers
 *      suci-meet client 10.0.0.254:7812,10.0.0.253:7812 ADDRESS [S] asks for S seconds (10)
 *
 * Each names the relays of its own cluster.  The server has its door at both, so its address is
 * good while one of them is there.  What was under way over the other one is lost, and both are
 * told: the client asks again, the server answers whoever asks.  The client says how long it was
 * silent. */
#include <suci.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_US 200000 /* for an answer; then it is asked again */
#define PAUSE_US    2000

static double
now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
die(struct datagram_sock *s, const char *what)
{
	fprintf(stderr, "suci-meet: %s: %s\n", what, datagram_error(s));
	return 1;
}

static int
serve(struct datagram_sock *s)
{
	char address[DATAGRAM_ADDRESS_MAX];
	uint64_t question;
	if (datagram_address(s, address))
		return die(s, "no address");
	puts(address);
	fflush(stdout);
	for (;;) {
		int64_t n = datagram_read(s, &question, sizeof question);
		if (n < 0 && errno == EINTR)
			return 0;
		/* Who is gone meanwhile asks again. */
		if (n == sizeof question && !datagram_destination(s, (uint32_t)datagram_source(s)))
			(void)datagram_write0(s, &question, sizeof question);
	}
}

/* Once more; false: there is no answer yet. */
static int
ask(struct datagram_sock *s, uint32_t server, uint64_t question)
{
	uint64_t answer = 0;
	if (datagram_destination(s, server))
		return 0;
	/* An error tells of blocks before; the next one is on its way then. */
	if (datagram_write0(s, &question, sizeof question) < 0)
		(void)datagram_write0(s, &question, sizeof question);
	while (datagram_read_within(s, 0, PATIENCE_US, &answer, sizeof answer) ==
	       (int64_t)sizeof answer)
		if (answer == question)
			return 1;
	return 0;
}

static int
meet(struct datagram_sock *s, const char *address, double seconds)
{
	double end = now_s() + seconds, last = now_s(), told = 0, longest = 0;
	uint64_t answers = 0;
	int64_t server = datagram_open_at(s, address);
	if (server < 0)
		return die(s, "address");
	while (now_s() < end) {
		struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
		if (!ask(s, (uint32_t)server, answers + 1))
			continue;
		double silent = now_s() - last;
		if (answers++ && silent > PATIENCE_US / 1e6) {
			printf("goes on after %.0f ms\n", silent * 1e3);
			longest = silent > longest ? silent : longest;
		}
		(void)nanosleep(&pause, NULL);
		last = now_s();
		if (last < told + 1)
			continue;
		printf("%llu answers\n", (unsigned long long)answers);
		fflush(stdout);
		told = last;
	}
	printf("%llu answers, silent for %.0f ms at most\n", (unsigned long long)answers,
	       longest * 1e3);
	return answers == 0 || now_s() - last > seconds / 2 ? die(s, "no answer") : 0;
}

int
main(int argc, char **argv)
{
	int client = argc > 1 && !strcmp(argv[1], "client");
	struct datagram_conf conf;
	if (argc < 3 + client || (!client && strcmp(argv[1], "server") != 0)) {
		fprintf(stderr, "suci-meet server RELAYS | client RELAYS ADDRESS [SECONDS]\n");
		return 2;
	}
	datagram_conf_init(&conf);
	conf.doors = 64;
	conf.relay = argv[2];
	conf.liveness_ms = 1000; /* a relay that is silent so long is dead */
	struct datagram_sock *s = datagram_open_with(&conf);
	if (!s)
		return die(NULL, "open");
	int err = client ? meet(s, argv[3], argc > 4 ? strtod(argv[4], NULL) : 10) : serve(s);
	(void)datagram_close(s);
	return err;
}
