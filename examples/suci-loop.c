/* SPDX-License-Identifier: BSD-2-Clause */
/* suci-loop - a program in the style of the Suci paper: one loop that computes, takes what
 * has come, and gives on what may be given, without ever standing still for the network.
 *
 *      cc $(pkg-config --cflags suci) -o suci-loop suci-loop.c $(pkg-config --libs suci)
 *      suci-loop HOSTS ID [ITEMS]        one process per id in the file HOSTS
 *
 * A ring: every process makes ITEMS items of work for its neighbour, which "computes"
 * on them and hands the sum back.  Who has made all of its items and has got all sums is
 * through; it goes on serving until all are. */
#include <suci.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS	 2000
#define QUEUE_HI 32 /* blocks not acknowledged: the neighbour or the way to it is slow */
#define QUEUE_LO 8
#define SLOW	 20000000 /* bytes/s then */

struct item {
	uint64_t kind; /* WORK, SUM, THROUGH */
	uint64_t number;
	uint64_t word[WORDS];
};
enum { WORK, SUM, THROUGH };
#define SHORT offsetof(struct item, word[1])

struct state {
	struct datagram_sock *s;
	uint32_t me, n, next, prev;
	uint64_t items, made, summed, through;
	struct item sum[64]; /* of work done, to be handed back */
	unsigned nsum;
	int slow;
};

static int
die(struct state *st, const char *what)
{
	fprintf(stderr, "suci-loop: id %u: %s: %s\n", st->me, what, datagram_error(st->s));
	return -1;
}

static uint64_t
add_up(const struct item *it)
{
	uint64_t sum = 0;
	for (int i = 0; i < WORDS; i++)
		sum += it->word[i];
	return sum;
}

/* What the answer to item number has to be. */
static uint64_t
expected(uint64_t number)
{
	return number * WORDS + (uint64_t)WORDS * (WORDS - 1) / 2;
}

static int
take(struct state *st)
{
	struct item it;
	int64_t n = datagram_read(st->s, &it, sizeof it);
	if (n < 0)
		return die(st, "read");
	if (it.kind == WORK) { /* the paper's compute() */
		struct item *sum = &st->sum[st->nsum++];
		sum->kind = SUM;
		sum->number = it.number;
		sum->word[0] = add_up(&it);
	} else if (it.kind == SUM) {
		if (it.word[0] != expected(it.number)) {
			fprintf(stderr, "suci-loop: a wrong sum\n");
			return -1;
		}
		st->summed++;
	} else {
		st->through++;
	}
	return 0;
}

static int
give(struct state *st, uint32_t to, const void *block, size_t len)
{
	if (datagram_destination(st->s, to) || datagram_write(st->s, block, len) < 0)
		return die(st, "write");
	return 0;
}

/* One more item for the neighbour, if that does not make us wait. */
static int
make(struct state *st)
{
	struct item it = {.kind = WORK, .number = st->made};
	for (uint64_t i = 0; i < WORDS; i++)
		it.word[i] = st->made + i;
	st->made++;
	return give(st, st->next, &it, sizeof it);
}

/* The queue to the neighbour is the measure of congestion: while it is long send again what
 * is due, make nothing new and write slowly.  -1, or whether there may be more. */
static int
may_make(struct state *st)
{
	int64_t queue = datagram_queue_length(st->s, st->next);
	if (queue > QUEUE_HI)
		queue = datagram_retransmission(st->s, st->next);
	if (queue < 0)
		return die(st, "queue");
	int slow = queue > QUEUE_HI || (st->slow && queue > QUEUE_LO);
	if (slow != st->slow && datagram_slow_write(st->s, st->next, slow ? SLOW : 0))
		return die(st, "slow write");
	st->slow = slow;
	return queue <= QUEUE_HI;
}

static int
tell_all(struct state *st)
{
	struct item it = {.kind = THROUGH};
	for (uint32_t id = 0; id < st->n; id++)
		if (id != st->me && give(st, id, &it, SHORT))
			return -1;
	st->through++;
	return 0;
}

static int
loop(struct state *st)
{
	int told = 0;
	while (st->through < st->n) {
		int64_t size;
		int idle = 1;
		/* Poll, unless there are many answers to give first. */
		while (st->nsum < 64 && (size = datagram_ready(st->s, 0, 0)) > 0) {
			if (take(st))
				return -1;
			idle = 0;
		}
		while (st->nsum && datagram_wait(st->s, 0, 0, SHORT, st->prev) > 0) {
			if (give(st, st->prev, &st->sum[--st->nsum], SHORT))
				return -1;
			idle = 0;
		}
		int more = st->made < st->items ? may_make(st) : 0;
		if (more < 0)
			return -1;
		if (more && datagram_wait(st->s, 0, 0, sizeof(struct item), st->next) > 0) {
			if (make(st))
				return -1;
			idle = 0;
		}
		if (!told && st->summed == st->items) {
			told = 1;
			if (tell_all(st))
				return -1;
		}
		/* Nothing to compute: sleep until something comes. */
		if (idle && datagram_ready(st->s, 0, 10000) < 0 && errno != EINTR)
			return die(st, "ready");
	}
	return 0;
}

int
main(int argc, char **argv)
{
	static struct state st;
	char error[300];
	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: suci-loop HOSTS ID [ITEMS]; ids of HOSTS are 0, 1, ...\n");
		return 2;
	}
	struct datagram_db *db = datagram_db_read(argv[1], error, sizeof error);
	if (!db) {
		fprintf(stderr, "suci-loop: %s\n", error);
		return 1;
	}
	st.n = (uint32_t)datagram_db_count(db);
	datagram_db_free(db);
	st.me = (uint32_t)strtoul(argv[2], NULL, 10);
	st.items = argc == 4 ? strtoull(argv[3], NULL, 10) : 1000;
	st.next = (st.me + 1) % st.n;
	st.prev = (st.me + st.n - 1) % st.n;
	st.s = datagram(argv[1], NULL, 0, st.me);
	if (!st.s) {
		fprintf(stderr, "suci-loop: %s\n", datagram_error(NULL));
		return 1;
	}
	int err = loop(&st);
	if (datagram_close(st.s) && !err) {
		perror("suci-loop: closing");
		err = -1;
	}
	if (!err)
		printf("id %u: %llu items, all sums right\n", st.me, (unsigned long long)st.items);
	return err ? 1 : 0;
}
