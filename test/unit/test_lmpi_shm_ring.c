/* SPDX-License-Identifier: BSD-2-Clause */
/* shm_ring.h and shm_share.h: alone, between threads (run it under tsan), between processes. */
#include "shm_ring.h"
#include "shm_share.h"

#include "base/prng.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SIZE	4096u
#define RECORDS 60000u

/* What a consumer does that tells of each record. */
static bool
pop_record(struct lmpi_ring_rx *r)
{
	lmpi_ring_skip(r);
	return lmpi_ring_give(r);
}

static struct lmpi_ring *
new_ring(void)
{
	struct lmpi_ring *r = mmap(NULL, sizeof *r + SIZE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(r != MAP_FAILED);
	return r;
}

static size_t
length_of(uint32_t i)
{
	return (i * 2654435761u >> 7) % (lmpi_ring_payload_max(SIZE) + 1);
}

static void
produce(struct lmpi_ring *ring)
{
	struct lmpi_ring_tx tx = {.ring = ring, .size = SIZE};
	for (uint32_t i = 0; i < RECORDS; i++) {
		size_t len = length_of(i);
		uint8_t *p;
		while (!(p = lmpi_ring_reserve(&tx, LMPI_RING_FULL, len)))
			sched_yield();
		memset(p, (int)(i & 0xff), len);
		lmpi_ring_commit(&tx);
	}
}

/* True if every record came whole and in order. */
static bool
consume(struct lmpi_ring *ring)
{
	struct lmpi_ring_rx rx = {.ring = ring, .size = SIZE};
	for (uint32_t i = 0; i < RECORDS; i++) {
		const uint8_t *p;
		bool broken = false;
		unsigned kind;
		size_t len;
		while (!(p = lmpi_ring_peek(&rx, &kind, &len, &broken))) {
			if (broken)
				return false;
			sched_yield();
		}
		if (len != length_of(i))
			return false;
		for (size_t k = 0; k < len; k++) {
			if (p[k] != (uint8_t)i)
				return false;
		}
		pop_record(&rx);
	}
	return lmpi_ring_is_empty(&rx);
}

static void *
producer_thread(void *arg)
{
	produce(arg);
	return NULL;
}

static void
two_threads(void **state)
{
	struct lmpi_ring *r = new_ring();
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, producer_thread, r), 0);
	assert_true(consume(r));
	pthread_join(t, NULL);
	munmap(r, sizeof *r + SIZE);
}

static void
two_processes(void **state)
{
	struct lmpi_ring *r = new_ring();
	int status;

	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		produce(r);
		_exit(0);
	}
	assert_true(consume(r));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	munmap(r, sizeof *r + SIZE);
}

static void
full_and_want(void **state)
{
	struct lmpi_ring *r = new_ring();
	struct lmpi_ring_tx tx = {.ring = r, .size = SIZE};
	struct lmpi_ring_rx rx = {.ring = r, .size = SIZE};
	size_t most = lmpi_ring_payload_max(SIZE), len;
	bool broken = false;
	unsigned kind;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_non_null(lmpi_ring_reserve(&tx, LMPI_RING_BRIEF, most));
		lmpi_ring_commit(&tx);
	}
	assert_null(lmpi_ring_reserve(&tx, LMPI_RING_FULL, most));
	assert_non_null(lmpi_ring_peek(&rx, &kind, &len, &broken));
	assert_int_equal(len, most);
	assert_int_equal(kind, LMPI_RING_BRIEF);
	assert_true(pop_record(&rx)); /* the producer wants to know */
	assert_non_null(lmpi_ring_peek(&rx, &kind, &len, &broken));
	assert_false(pop_record(&rx)); /* told already */
	assert_non_null(lmpi_ring_reserve(&tx, LMPI_RING_BRIEF, most));
	munmap(r, sizeof *r + SIZE);
}

/* Another process may write anything: no read past the ring, no endless loop. */
static void
garbage(void **state)
{
	struct lmpi_ring *r = new_ring();

	(void)state;
	for (uint64_t seed = 1; seed < 3000; seed++) {
		struct base_prng p = base_prng_seed(seed);
		struct lmpi_ring_rx rx = {.ring = r, .size = SIZE};
		bool broken = false;
		unsigned kind;
		size_t len;
		for (uint32_t i = 0; i < SIZE; i += 8) {
			uint64_t v =
				base_prng_next(&p) & (i & 32 ? 0x3000003ffull : 0x3000000ffull);
			memcpy(r->data + i, &v, 8);
		}
		for (int i = 0; i < 1000; i++) {
			const uint8_t *q = lmpi_ring_peek(&rx, &kind, &len, &broken);
			if (!q)
				break;
			assert_true(q >= r->data && q + len <= r->data + SIZE);
			pop_record(&rx);
		}
		assert_true(broken || lmpi_ring_is_empty(&rx));
	}
	munmap(r, sizeof *r + SIZE);
}

/* ---- long messages */

#define MESSAGES 3000u

static struct shared {
	struct lmpi_share share;
	_Atomic uint32_t number; /* of the message to help with, 0: none yet */
	_Atomic bool over;
	_Atomic uint32_t bad; /* pieces the helper could not copy */
	uint8_t to[256];
} shared;

/* Comes with the number of a message that may long be over. */
static void *
helper_thread(void *arg)
{
	struct lmpi_share *s = &shared.share;
	uint32_t i;

	(void)arg;
	while (!atomic_load(&shared.over)) {
		uint32_t number = atomic_load(&shared.number);
		while (number && lmpi_share_take(s, number, false, &i)) {
			shared.to[i]++;
			shared.bad += i == 1;
			lmpi_share_took(s, i != 1);
		}
		sched_yield();
	}
	return NULL;
}

/* Every piece of every message is copied once, whoever does it. */
static void
test_share(void **state)
{
	struct lmpi_share *s = &shared.share;
	uint32_t helped = 0, failed = 0;
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, helper_thread, NULL), 0);
	for (uint32_t k = 0; k < MESSAGES || (!helped && k < 100 * MESSAGES); k++) {
		uint32_t number, n, ours = 0, theirs, i;

		memset(shared.to, 0, sizeof shared.to);
		n = 1 + k * 7 % 200;
		number = lmpi_share_begin(s, n);
		atomic_store(&shared.number, number);
		while (lmpi_share_take(s, number, true, &i)) {
			shared.to[i]++;
			if (++ours % 16 == 0)
				sched_yield();
		}
		theirs = lmpi_share_end(s, n);
		assert_int_equal(ours + theirs, n);
		while (lmpi_share_left(s, theirs))
			sched_yield();
		for (i = 0; i < sizeof shared.to; i++)
			assert_int_equal(shared.to[i], i < n);
		assert_false(lmpi_share_take(s, number, true, &i));
		helped += theirs;
		failed += atomic_load(&s->failed);
	}
	atomic_store(&shared.over, true);
	pthread_join(t, NULL);
	assert_true(helped > 0);
	assert_int_equal(failed, shared.bad);
}

/* Pieces cover a message and are not too many. */
static void
test_pieces(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < UINT64_C(1) << 40; n = n * 5 / 3 + 1) {
		uint64_t piece = lmpi_share_piece(n), count = lmpi_share_pieces(n);
		assert_true(piece % 4096 == 0 && piece >= LMPI_SHARE_PIECE);
		assert_true(count * piece >= n && (count - 1) * piece < n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),	 cmocka_unit_test(test_pieces),
		cmocka_unit_test(full_and_want), cmocka_unit_test(two_threads),
		cmocka_unit_test(two_processes), cmocka_unit_test(garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
