/* SPDX-License-Identifier: BSD-2-Clause */
/* libsuci: calls that wait, each socket in a thread of its own; placement straight into the
 * reader's buffer; leaving; priorities; a thousand ids. */
#include "datagram_kit.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

#define MIB (1u << 20)

/* A process of the test. */
struct actor {
	pthread_t thread;
	struct datagram_sock *s;
	uint32_t to, count, seed;
	size_t len;
	double pause_s;
	int64_t result;
	int error;
};

static void
pause_for(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s,
			      .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};
	nanosleep(&ts, NULL);
}

static void *
writer(void *arg)
{
	struct actor *a = arg;
	uint8_t *b = malloc(a->len ? a->len : 1);
	pause_for(a->pause_s);
	a->result = datagram_destination(a->s, a->to);
	for (uint32_t i = 0; i < a->count && a->result >= 0; i++) {
		kit_fill(b, a->len, a->seed + i);
		a->result = datagram_write(a->s, b, a->len);
		a->error = errno;
		memset(b, 0, a->len); /* it is ours again */
	}
	free(b);
	if (a->result >= 0 && datagram_flush(a->s, LIMIT_S, 0) != 1)
		a->result = -1;
	return NULL;
}

static void
start(struct actor *a, void *(*what)(void *))
{
	assert_int_equal(pthread_create(&a->thread, NULL, what, a), 0);
}

/* Until the other has ended, who may wait for our acknowledgements. */
static void
join(struct actor *a, struct datagram_sock *with)
{
	double end = kit_now() + LIMIT_S;
	while (pthread_tryjoin_np(a->thread, NULL)) {
		datagram_progress(with);
		assert_true(kit_now() < end);
	}
	if (a->result < 0)
		fail_msg("the other: %s", strerror(a->error));
}

static void
read_wait(struct datagram_sock *s, uint8_t *b, size_t room, size_t len, uint32_t from,
	  uint32_t seed)
{
	int64_t n = datagram_read_within(s, LIMIT_S, 0, b, room);
	if (n < 0)
		fail_msg("read: %s", datagram_error(s));
	assert_int_equal(n, len);
	assert_int_equal(datagram_source(s), from);
	kit_check(b, len, seed);
}

/* Long blocks, copied and not, into a waiting reader: order and bytes, and hardly any
 * memory, for they go straight into the buffer. */
static void
test_straight(void **state)
{
	(void)state;
	static const size_t len[] = {1, 3000, 100000, MIB, 3 * MIB + 7, 20 * MIB + 1};
	struct kit k;
	struct datagram_memory m;
	uint8_t *b = malloc(20 * MIB + 1);
	kit_init(&k, 2);
	kit_open_all(&k);
	for (uint32_t i = 0; i < sizeof len / sizeof *len; i++) {
		struct actor a = {.s = k.s[0], .to = 1, .count = 4, .len = len[i], .seed = i};
		start(&a, writer);
		for (uint32_t n = 0; n < 4; n++)
			read_wait(k.s[1], b, 20 * MIB + 1, len[i], 0, i + n);
		join(&a, k.s[1]);
	}
	datagram_memory(k.s[1], &m);
	assert_true(m.read_bytes <= 4096);
	kit_fini(&k);
	free(b);
}

/* Blocks that can never be kept: announced, refused to small buffers, read whole. */
static void
test_larger_than_memory(void **state)
{
	(void)state;
	const size_t len = 3 * MIB;
	struct kit k;
	struct datagram_memory m;
	uint8_t *b = malloc(len);
	kit_init(&k, 2);
	kit_open(&k, 0);
	k.conf.read_bytes = 100000;
	k.conf.early_packets = 64;
	kit_open(&k, 1);
	struct actor a = {.s = k.s[0], .to = 1, .count = 3, .len = len, .seed = 9};
	start(&a, writer);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t from = 77;
		uint64_t size = 0;
		assert_int_equal(datagram_ready(k.s[1], LIMIT_S, 0), len);
		assert_int_equal(datagram_peek(k.s[1], &from, &size), 1);
		assert_int_equal(from, 0);
		assert_int_equal(size, len);
		errno = 0;
		assert_int_equal(datagram_read(k.s[1], b, len - 1), -1);
		assert_int_equal(errno, EMSGSIZE);
		errno = 0;
		assert_int_equal(datagram_read0(k.s[1], b, len), -1);
		assert_int_equal(errno, EAGAIN);
		read_wait(k.s[1], b, len, len, 0, 9 + i);
	}
	join(&a, k.s[1]);
	datagram_memory(k.s[1], &m);
	assert_true(m.read_bytes_max <= 100000);
	kit_fini(&k);
	free(b);
}

/* A sender stops in the middle of a block that is on its way into the reader's buffer:
 * the reader gets the block of another; then the rest of the first. */
static void
test_slow_sender(void **state)
{
	(void)state;
	struct kit k;
	uint8_t *b = malloc(8 * MIB), *big = malloc(4 * MIB);
	kit_init(&k, 3);
	kit_open_all(&k);
	/* Both paths are up, then nobody but we move 0's block. */
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(datagram_destination(k.s[i], 2), 0);
		assert_int_equal(datagram_write0(k.s[i], "x", 1), 1);
		KIT_UNTIL(&k, datagram_ready(k.s[2], 0, 0) == 1);
		assert_int_equal(datagram_read(k.s[2], b, 1), 1);
		KIT_UNTIL(&k, datagram_queue_length(k.s[i], 2) == 0);
	}
	kit_fill(big, 4 * MIB, 1);
	assert_int_equal(datagram_write0(k.s[0], big, 4 * MIB), 4 * MIB);
	struct actor a = {
		.s = k.s[1], .to = 2, .count = 1, .len = 5000, .seed = 2, .pause_s = 0.05};
	start(&a, writer);
	read_wait(k.s[2], b, 8 * MIB, 5000, 1, 2);
	join(&a, k.s[2]);
	/* With a time limit, too; the block goes on in memory. */
	errno = 0;
	assert_int_equal(datagram_read_within(k.s[2], 0, 1000, b, 8 * MIB), -1);
	assert_int_equal(errno, EAGAIN);
	KIT_UNTIL(&k, datagram_ready(k.s[2], 0, 0) == 4 * MIB);
	read_wait(k.s[2], b, 8 * MIB, 4 * MIB, 0, 1);
	kit_fini(&k);
	free(b);
	free(big);
}

/* ---- leaving ---- */

static void *
write_and_close(void *arg)
{
	struct actor *a = arg;
	uint8_t *b = malloc(a->len);
	a->result = datagram_destination(a->s, a->to);
	for (uint32_t i = 0; i < a->count && a->result >= 0; i++) {
		kit_fill(b, a->len, a->seed + i);
		a->result = datagram_write(a->s, b, a->len);
	}
	free(b);
	if (datagram_close(a->s) < 0)
		a->result = -1;
	return NULL;
}

/* Who closes has delivered everything, also to one who is short of memory and late. */
static void
test_close_delivers(void **state)
{
	(void)state;
	struct kit k;
	uint8_t b[10000];
	kit_init(&k, 2);
	k.conf.close_ms = LIMIT_S * 1000;
	kit_open(&k, 0);
	k.conf.read_bytes = 65536;
	k.conf.early_packets = 64;
	k.conf.close_ms = 100;
	kit_open(&k, 1);
	struct actor a = {.s = k.s[0], .to = 1, .count = 300, .len = sizeof b};
	k.s[0] = NULL;
	start(&a, write_and_close);
	for (uint32_t i = 0; i < 300; i++) {
		if (i == 20)
			pause_for(0.05);
		read_wait(k.s[1], b, sizeof b, sizeof b, 0, i);
	}
	join(&a, k.s[1]);
	assert_int_equal(a.result, sizeof b);
	errno = 0;
	assert_int_equal(datagram_read0(k.s[1], b, sizeof b), -1);
	assert_int_equal(errno, EAGAIN);
	kit_fini(&k);
}

/* Nobody there: closing says so, in time. */
static void
test_close_gives_up(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 2);
	k.conf.close_ms = 50;
	struct datagram_sock *s = kit_open(&k, 0);
	k.s[0] = NULL;
	datagram_destination(s, 1);
	assert_int_equal(datagram_write0(s, "x", 1), 1);
	assert_int_equal(datagram_flush(s, 0, 1000), 0);
	errno = 0;
	assert_int_equal(datagram_close(s), -1);
	assert_int_equal(errno, ETIMEDOUT);
	kit_fini(&k);
}

/* ---- waiting, signals, event loops ---- */

static void
on_alarm(int sig)
{
	(void)sig;
}

static void
test_signal(void **state)
{
	(void)state;
	struct kit k;
	uint8_t b[10];
	struct sigaction sa = {.sa_handler = on_alarm}, old;
	kit_init(&k, 2);
	struct datagram_sock *s = kit_open(&k, 0);
	assert_int_equal(sigaction(SIGALRM, &sa, &old), 0);
	for (int way = 0; way < 2; way++) {
		ualarm(30000, 30000); /* again and again: one may come before we sleep */
		errno = 0;
		int64_t r = way ? datagram_read(s, b, sizeof b) : datagram_ready(s, -1, 0);
		int err = errno;
		ualarm(0, 0);
		assert_int_equal(r, -1);
		assert_int_equal(err, EINTR);
	}
	sigaction(SIGALRM, &old, NULL);
	kit_fini(&k);
}

/* poll(2) with what the socket says is enough to get everything. */
static void
test_event_loop(void **state)
{
	(void)state;
	struct kit k;
	uint8_t b[70000];
	kit_init(&k, 2);
	kit_open_all(&k);
	struct actor a = {.s = k.s[0], .to = 1, .count = 50, .len = sizeof b};
	start(&a, writer);
	double end = kit_now() + LIMIT_S;
	for (uint32_t got = 0; got < 50 && kit_now() < end;) {
		struct pollfd p = {.fd = datagram_fd(k.s[1]), .events = datagram_events(k.s[1])};
		int ms = datagram_timeout(k.s[1]);
		poll(&p, 1, ms < 0 || ms > 1000 ? 1000 : ms);
		datagram_progress(k.s[1]);
		while (datagram_peek(k.s[1], NULL, NULL) == 1)
			read_wait(k.s[1], b, sizeof b, sizeof b, 0, got++);
	}
	join(&a, k.s[1]);
	kit_fini(&k);
}

/* ---- priorities, slow write ---- */

static void
test_priority(void **state)
{
	(void)state;
	struct kit k;
	uint8_t b[20000];
	struct datagram_info i;
	kit_init(&k, 2);
	kit_open_all(&k);
	struct datagram_sock *s = k.s[0];
	datagram_destination(s, 1);
	for (uint32_t n = 0; n < 100; n++) {
		kit_fill(b, sizeof b, n);
		assert_int_equal(datagram_write0(s, b, sizeof b), sizeof b);
	}
	assert_int_equal(datagram_priority(s, 1, 3), 0);
	for (uint32_t n = 0; n < 3; n++)
		assert_int_equal(datagram_write0(s, "urgent", 6), 6);
	assert_int_equal(datagram_priority(s, 1, 0), 0);
	KIT_UNTIL(&k, datagram_info(k.s[1], 0, &i) == 0 && i.unread_blocks == 103);
	for (uint32_t n = 0; n < 3; n++) {
		assert_int_equal(datagram_read(k.s[1], b, sizeof b), 6);
		assert_memory_equal(b, "urgent", 6);
	}
	for (uint32_t n = 0; n < 100; n++)
		read_wait(k.s[1], b, sizeof b, sizeof b, 0, n);
	/* Slow write shows as the pace, also of one that was set before there was a path. */
	assert_int_equal(datagram_slow_write(s, 1, 123456), 0);
	assert_int_equal(datagram_info(s, 1, &i), 0);
	assert_int_equal(i.rate, 123456);
	assert_int_equal(i.slow_write, 123456);
	assert_int_equal(datagram_slow_write(s, 1, 0), 0);
	assert_int_equal(datagram_info(s, 1, &i), 0);
	assert_int_not_equal(i.rate, 123456);
	/* So does a window, and never more than the configured one. */
	uint32_t window = i.window;
	assert_int_equal(datagram_window(s, 1, 3), 0);
	assert_int_equal(datagram_info(s, 1, &i), 0);
	assert_int_equal(i.window, 3);
	assert_int_equal(datagram_window(s, 1, 0), 0);
	assert_int_equal(datagram_info(s, 1, &i), 0);
	assert_int_equal(i.window, window);
	assert_int_equal(datagram_slow_write(k.s[1], 0, 777777), 0);
	assert_int_equal(datagram_info(k.s[1], 0, &i), 0);
	assert_int_equal(i.rate, 777777);
	kit_fini(&k);
}

/* A database of a thousand ids costs kilobytes for each, and writing to all works. */
static void
test_thousand_ids(void **state)
{
	(void)state;
	struct kit k;
	struct datagram_memory few, many;
	kit_init(&k, 2);
	k.conf.connect_ms = 1500;
	k.conf.flags = DATAGRAM_NO_OFFLOAD;
	kit_open(&k, 0);
	datagram_memory(k.s[0], &few);
	datagram_close(k.s[0]);
	for (uint32_t id = 2; id < 1002; id++)
		assert_int_equal(datagram_db_add(k.db, id, "127.0.0.1",
						 (uint16_t)(id < 1000 ? id : 5000 + id)),
				 0);
	kit_open(&k, 0);
	datagram_memory(k.s[0], &many);
	print_message("%llu bytes an id\n",
		      (unsigned long long)(many.fixed_bytes - few.fixed_bytes) / 1000);
	assert_true(many.fixed_bytes - few.fixed_bytes <= 1000 * 8192u);
	/* Nobody is at all of these but one. */
	kit_open(&k, 1);
	for (uint32_t id = 1; id < 1002; id++) {
		assert_int_equal(datagram_destination(k.s[0], id), 0);
		assert_int_equal(datagram_write0(k.s[0], &id, sizeof id), sizeof id);
		datagram_progress(k.s[1]);
	}
	KIT_UNTIL(&k, datagram_ready(k.s[1], 0, 0) == 4);
	uint32_t lost = 0;
	for (uint32_t id = 2; id < 1002; id++) {
		struct datagram_info i;
		KIT_UNTIL(&k, datagram_info(k.s[0], id, &i) == 0 && i.queue_blocks == 0);
		lost += (uint32_t)i.lost_blocks;
	}
	assert_int_equal(lost, 1000);
	kit_fini(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_straight),       cmocka_unit_test(test_larger_than_memory),
		cmocka_unit_test(test_slow_sender),    cmocka_unit_test(test_close_delivers),
		cmocka_unit_test(test_close_gives_up), cmocka_unit_test(test_signal),
		cmocka_unit_test(test_event_loop),     cmocka_unit_test(test_priority),
		cmocka_unit_test(test_thousand_ids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
