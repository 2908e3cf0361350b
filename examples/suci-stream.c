/* SPDX-License-Identifier: BSD-2-Clause */
/* suci-stream - a stream of pictures with deadlines that knows the flow, beside one that does not.
 *
 *      cc $(pkg-config --cflags suci) -o suci-stream suci-stream.c $(pkg-config --libs suci)
 *      suci-stream HOSTS 1                       shows, until the maker says it was all
 *      suci-stream HOSTS 0 [know|blind] [S]      makes pictures for S seconds (10)
 *
 * Id 0 makes RATE pictures a second, each of a small base, which can be shown, and of detail, four
 * times as large.  Id 1 can use what comes within DEADLINE_MS of its making.  A line that is too
 * slow for all of it makes a queue; then everything is late, and stays so.
 *
 * Who knows the flow asks datagram_info() before each block: what waits, how much of it is
 * acknowledged in a second, how far the peer is.  If the block would be late it is not written:
 * detail first, for bases have priority.  datagram_window() keeps what is already under way, and
 * cannot be taken back, to what the line carries in HALF of a deadline.  Both ends are to be on one
 * machine, in namespaces: they compare times. */
#include <suci.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RATE	    50
#define BASE	    20000
#define DETAIL	    80000
#define DEADLINE_MS 100
#define HALF	    (DEADLINE_MS / 2)

enum kind { BASE_BLOCK, DETAIL_BLOCK, END };

struct head {
	uint64_t kind, picture, made_us;
	uint64_t dropped[2]; /* END: of the maker */
};

struct maker {
	struct datagram_sock *s;
	int knows;
	uint64_t acked, at_us; /* bytes, when that was looked up */
	int waits;	       /* something was on its way then */
	double per_us;	       /* acknowledged */
	uint64_t made, dropped[2];
};

static uint64_t
now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int
die(struct datagram_sock *s, const char *what)
{
	fprintf(stderr, "suci-stream: %s: %s\n", what, datagram_error(s));
	return 1;
}

/* How fast the line is: what was acknowledged since the last time, if something waited at both
 * ends of that.  Else it was we who were slow, and the line may carry more. */
static void
look(struct maker *m, const struct datagram_info *i, uint64_t now)
{
	uint64_t acked = i->written_bytes - i->queue_bytes;
	if (now - m->at_us < HALF * 1000)
		return;
	double per_us = (double)(acked - m->acked) / (double)(now - m->at_us);
	if (m->per_us <= 0)
		m->per_us = per_us;
	else if (m->waits && i->queue_bytes)
		m->per_us = 0.8 * m->per_us + 0.2 * per_us;
	else
		m->per_us *= 1.01;
	m->waits = i->queue_bytes > 0;
	m->acked = acked;
	m->at_us = now;
}

/* Would so many bytes more arrive in time?  1, 0, or -1. */
static int
in_time(struct maker *m, size_t len, uint64_t made_us)
{
	struct datagram_info i;
	uint64_t now = now_us();
	if (datagram_info(m->s, 1, &i))
		return -1;
	look(m, &i, now);
	if (m->per_us <= 0 || i.mtu == 0)
		return 1;
	double window = m->per_us * (HALF * 1000 + (double)i.delay_us_min) / i.mtu;
	if (datagram_window(m->s, 1, window < 4 ? 4 : window > 4096 ? 4096 : (uint32_t)window))
		return -1;
	double wait = (double)(i.queue_bytes + len) / m->per_us + (double)i.delay_us_min / 2;
	return (double)(now - made_us) + wait < DEADLINE_MS * 1000;
}

static int
give(struct maker *m, enum kind kind, size_t len)
{
	static uint8_t block[DETAIL];
	struct head h = {.kind = kind, .picture = m->made, .made_us = now_us()};
	int yes = m->knows ? in_time(m, len, h.made_us) : 1;
	if (yes < 0)
		return die(m->s, "info");
	memcpy(block, &h, sizeof h);
	if (datagram_priority(m->s, 1, m->knows && kind == BASE_BLOCK))
		return die(m->s, "priority");
	/* Full memory is what the blind one learns of the line. */
	if (!yes || (datagram_write0(m->s, block, len) < 0 && errno == EAGAIN))
		m->dropped[kind]++;
	return 0;
}

static int
make_pictures(struct maker *m, double seconds)
{
	uint64_t begin = now_us(), n = (uint64_t)(seconds * RATE);
	if (datagram_destination(m->s, 1))
		return die(m->s, "destination");
	for (; m->made < n; m->made++) {
		uint64_t at = begin + m->made * 1000000 / RATE, now;
		while ((now = now_us()) < at)
			if (datagram_ready(m->s, 0, (long)(at - now)) < 0 && errno != EINTR)
				return die(m->s, "ready");
		if (give(m, BASE_BLOCK, BASE) || give(m, DETAIL_BLOCK, DETAIL))
			return 1;
	}
	struct head h = {.kind = END,
			 .picture = m->made,
			 .dropped = {m->dropped[BASE_BLOCK], m->dropped[DETAIL_BLOCK]}};
	if (datagram_priority(m->s, 1, 0) || datagram_write(m->s, &h, sizeof h) < 0)
		return die(m->s, "write");
	return 0;
}

static int
show(struct datagram_sock *s)
{
	static uint8_t block[DETAIL];
	uint64_t good[2] = {0}, late[2] = {0}, worst = 0;
	struct head h;
	for (;;) {
		int64_t n = datagram_read(s, block, sizeof block);
		if (n < (int64_t)sizeof h)
			return die(s, "read");
		memcpy(&h, block, sizeof h);
		if (h.kind == END)
			break;
		if (h.kind > DETAIL_BLOCK)
			return die(s, "a block that is none of a stream");
		uint64_t took = now_us() - h.made_us;
		*(took <= DEADLINE_MS * 1000 ? &good[h.kind] : &late[h.kind]) += 1;
		worst = took > worst ? took : worst;
	}
	printf("{\"pictures\": %llu, \"base\": %llu, \"detail\": %llu, \"late\": [%llu, %llu], "
	       "\"dropped\": [%llu, %llu], \"worst_ms\": %.1f}\n",
	       (unsigned long long)h.picture, (unsigned long long)good[0],
	       (unsigned long long)good[1], (unsigned long long)late[0],
	       (unsigned long long)late[1], (unsigned long long)h.dropped[0],
	       (unsigned long long)h.dropped[1], (double)worst / 1000);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc < 3 || argc > 5) {
		fprintf(stderr, "usage: suci-stream HOSTS 1 | HOSTS 0 [know|blind] [SECONDS]\n");
		return 2;
	}
	uint32_t id = (uint32_t)strtoul(argv[2], NULL, 10);
	struct datagram_sock *s = datagram(argv[1], NULL, 0, id);
	if (!s)
		return die(NULL, "opening");
	struct maker m = {.s = s, .knows = argc < 4 || strcmp(argv[3], "blind") != 0};
	int rc = id ? show(s) : make_pictures(&m, argc > 4 ? strtod(argv[4], NULL) : 10);
	if (datagram_close(s) && !rc) {
		perror("suci-stream: closing");
		rc = 1;
	}
	return rc;
}
