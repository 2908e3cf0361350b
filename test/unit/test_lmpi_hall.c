/* SPDX-License-Identifier: BSD-2-Clause */
/* hall.h and hall.c: seats; two processes that use each other's halls; whom a hall is not, and who
 * may not enter. */
#include "hall.h"

#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define ME    0
#define OTHER 1
#define ROOM  (40u << 10)

static struct lmpi_proc proc[2];
static struct lmpi_route route[2];
static struct lmpi_peer peer[2];

/* ---- seats ---- */

static struct lmpi_hall *
new_hall(void)
{
	struct lmpi_hall *h = mmap(NULL, LMPI_HALL_BYTES, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(h != MAP_FAILED);
	lmpi_hall_lay(h, 5, 6);
	return h;
}

static void
seats_are_taken_once(void **state)
{
	struct lmpi_hall *h = new_hall();

	(void)state;
	assert_int_equal(lmpi_hall_find(h, 7, 0), LMPI_HALL_SEATS);
	for (uint32_t i = 0; i < LMPI_HALL_SEATS; i++)
		assert_int_equal(lmpi_hall_take(h, 100 + (int)i, 7, i), i);
	assert_int_equal(lmpi_hall_take(h, 99, 8, 0), LMPI_HALL_SEATS);
	for (uint32_t i = 0; i < LMPI_HALL_SEATS; i++)
		assert_int_equal(lmpi_hall_find(h, 7, i), i);
	assert_int_equal(lmpi_hall_find(h, 8, 3), LMPI_HALL_SEATS);
	lmpi_hall_clear(h, 40);
	assert_int_equal(lmpi_hall_find(h, 7, 40), LMPI_HALL_SEATS);
	assert_int_equal(lmpi_hall_take(h, 99, 8, 0), 40);
	munmap(h, LMPI_HALL_BYTES);
}

/* Processes at once: no seat has two of them. */
static void
seats_are_taken_at_once(void **state)
{
	enum { TAKERS = 4, EACH = LMPI_HALL_SEATS / TAKERS };
	struct lmpi_hall *h = new_hall();
	pid_t pid[TAKERS];

	(void)state;
	for (int t = 0; t < TAKERS; t++) {
		pid[t] = fork();
		if (pid[t] == 0) {
			for (uint32_t i = 0; i < EACH; i++)
				lmpi_hall_take(h, getpid(), (uint64_t)t + 1, i);
			_exit(0);
		}
	}
	for (int t = 0; t < TAKERS; t++)
		waitpid(pid[t], NULL, 0);
	for (int t = 0; t < TAKERS; t++) {
		for (uint32_t i = 0; i < EACH; i++) {
			uint32_t seat = lmpi_hall_find(h, (uint64_t)t + 1, i);
			assert_true(seat < LMPI_HALL_SEATS);
			assert_int_equal(h->seat[seat].pid, pid[t]);
		}
	}
	munmap(h, LMPI_HALL_BYTES);
}

static void
a_hall_is_told_from_others(void **state)
{
	struct lmpi_hall *h = new_hall();
	uint8_t *const wrong[] = {(uint8_t *)&h->head.magic, (uint8_t *)&h->head.nrings,
				  (uint8_t *)&h->head.ring_bytes, (uint8_t *)h->version,
				  (uint8_t *)&h->key};

	(void)state;
	assert_true(lmpi_hall_is_one(h, 5));
	assert_false(lmpi_hall_is_one(h, 4));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		*wrong[i] ^= 1;
		assert_false(lmpi_hall_is_one(h, 5));
		*wrong[i] ^= 1;
	}
	assert_true(lmpi_hall_is_one(h, 5));
	munmap(h, LMPI_HALL_BYTES);
}

/* ---- two processes ---- */

/* This process is the only one of that job, and knows that of the other one. */
static void
be_sole_rank(uint64_t job, uint64_t other)
{
	char bell[32];

	memset(peer, 0, sizeof peer);
	proc[ME].job = job;
	proc[OTHER].job = other;
	lmpi_world.proc = proc;
	lmpi_world.size = lmpi_world.node_size = 1;
	lmpi_world.slots = lmpi_eng.size = 2;
	lmpi_route = route;
	lmpi_eng.peer = peer;
	for (uint32_t r = 0; r < 2; r++) {
		peer[r].world = r;
		lmpi_reach_by(&peer[r], r == ME ? LMPI_REACH_SELF : LMPI_REACH_DIRECT);
	}
	assert_int_equal(lmpi_bell_make(bell), 0);
}

static void
leave_halls(void)
{
	lmpi_shm_close();
	lmpi_hall_close();
	lmpi_bell_close();
}

struct mate {
	pid_t pid;
	int fd;
};

static void
swap_words(int fd, const void *mine, void *theirs, size_t n)
{
	assert_int_equal(write(fd, mine, n), n);
	assert_int_equal(read(fd, theirs, n), n);
}

/* Both sides: tell where the halls are, enter if that is wanted, look how the other is reached. */
static enum lmpi_reach
meet_other(int fd, bool enters)
{
	struct lmpi_hall_place mine, theirs;
	char done = 0;

	lmpi_hall_open();
	lmpi_hall_where(&mine);
	swap_words(fd, &mine, &theirs, sizeof mine);
	if (enters)
		lmpi_hall_enter(OTHER, &theirs);
	swap_words(fd, &done, &done, 1);
	lmpi_hall_met(OTHER);
	lmpi_hall_met(OTHER);
	return route[OTHER].reach;
}

/* The other process, as in do_it(fd); its status is how it reaches this one. */
static struct mate start_mate(enum lmpi_reach (*do_it)(int fd))
{
	struct mate m;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	m.pid = fork();
	if (m.pid == 0) {
		close(pair[0]);
		be_sole_rank(2, 1);
		enum lmpi_reach reach = do_it(pair[1]);
		_exit((int)reach);
	}
	close(pair[1]);
	m.fd = pair[0];
	be_sole_rank(1, 2);
	return m;
}

static int
status_of(struct mate *m)
{
	int status = -1;

	close(m->fd);
	waitpid(m->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint8_t bytes[ROOM];

/* A whole message, sent back with each byte one more; then a copy out of its memory. */
static enum lmpi_reach
answer_messages(int fd)
{
	enum lmpi_reach reach = meet_other(fd, true);
	struct lmpi_probed got;
	uint64_t at = (uint64_t)(uintptr_t)bytes;

	while (lmpi_shm_recv_brief(&peer[OTHER], 9, 3, 4, bytes, sizeof bytes, &got) == 0)
		sched_yield();
	for (uint64_t i = 0; i < got.bytes; i++)
		bytes[i]++;
	if (write(fd, &at, sizeof at) != (ssize_t)sizeof at ||
	    !lmpi_shm_send_brief(&peer[OTHER], 9, 3, 4, bytes, got.bytes) || read(fd, &at, 1) != 1)
		return LMPI_REACHES;
	return reach;
}

static void
two_processes_talk(void **state)
{
	struct mate m = start_mate(answer_messages);
	struct lmpi_probed got;
	uint8_t back[1000];
	uint64_t at;

	(void)state;
	assert_int_equal(meet_other(m.fd, true), LMPI_REACH_SHM);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	assert_true(lmpi_shm_in_use());
	assert_true(lmpi_shm_send_brief(&peer[OTHER], 9, 3, 4, bytes, sizeof back));
	while (lmpi_shm_recv_brief(&peer[OTHER], 9, 3, 4, back, sizeof back, &got) == 0)
		sched_yield();
	assert_int_equal(got.bytes, sizeof back);
	for (size_t i = 0; i < sizeof back; i++)
		assert_int_equal(back[i], (uint8_t)(i + 1));
	assert_int_equal(read(m.fd, &at, sizeof at), sizeof at);
	lmpi_reach_by(&peer[OTHER], LMPI_REACH_SHM); /* as after the first packet */
	if (lmpi_node_copy(OTHER, at, back, 10, false)) {
		for (size_t i = 0; i < 10; i++)
			assert_int_equal(back[i], (uint8_t)(i + 1));
		assert_true(lmpi_node_copy(OTHER, at, back, 10, true));
	}
	assert_int_equal(write(m.fd, "", 1), 1);
	assert_int_equal(status_of(&m), LMPI_REACH_SHM);

	/* Its seat is free again, and messages to whoever is there go by UDP. */
	lmpi_hall_open();
	assert_int_equal(route[OTHER].reach, LMPI_REACH_DIRECT);
	assert_false(lmpi_shm_in_use());
	leave_halls();
}

static enum lmpi_reach
stay_outside(int fd)
{
	return meet_other(fd, false);
}

static enum lmpi_reach
go_inside(int fd)
{
	return meet_other(fd, true);
}

static enum lmpi_reach
use_udp(int fd)
{
	setenv("LIBMPI_TRANSPORT", "udp", 1);
	return meet_other(fd, true);
}

static enum lmpi_reach
be_nobody(int fd)
{
	return setgid(65534) == 0 && setuid(65534) == 0 ? meet_other(fd, true) : LMPI_REACHES;
}

/* Both come to the same answer, whoever of them could not. */
static void
one_side_is_not_enough(void **state)
{
	enum lmpi_reach (*const how[])(int) = {stay_outside, use_udp, be_nobody};

	(void)state;
	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		if (how[i] == be_nobody && geteuid() != 0)
			continue;
		struct mate m = start_mate(how[i]);
		assert_int_equal(meet_other(m.fd, true), LMPI_REACH_DIRECT);
		assert_false(lmpi_shm_in_use());
		assert_int_equal(status_of(&m), LMPI_REACH_DIRECT);
		leave_halls();
	}
	struct mate m = start_mate(go_inside);
	assert_int_equal(meet_other(m.fd, false), LMPI_REACH_DIRECT);
	assert_int_equal(status_of(&m), LMPI_REACH_DIRECT);
	leave_halls();
}

/* ---- what is no hall ---- */

static enum lmpi_reach
hold_files(int fd)
{
	char c;

	return read(fd, &c, 1) >= 0 ? LMPI_REACH_SELF : LMPI_REACHES;
}

static int
make_look_alike(const char *name, size_t size, bool sealed, mode_t mode)
{
	int fd = memfd_create(name, MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	if (sealed)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
				 0);
	struct lmpi_hall *h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(h != MAP_FAILED);
	lmpi_hall_lay(h, 77, 0);
	munmap(h, size);
	return fd;
}

/* Does a seat get taken in what is there? */
static bool
is_entered(int fd, pid_t pid, uint64_t key)
{
	struct lmpi_hall_place p = {.pid = pid, .fd = fd, .key = key};
	struct lmpi_hall *h;

	lmpi_hall_enter(OTHER, &p);
	h = mmap(NULL, LMPI_HALL_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return false;
	bool taken = lmpi_hall_find(h, 1, 0) < LMPI_HALL_SEATS;
	munmap(h, LMPI_HALL_BYTES);
	return taken;
}

static void
what_is_no_hall_is_left_alone(void **state)
{
	static const char name[] = "libmpi-hall";
	int good = make_look_alike(name, LMPI_HALL_BYTES, true, 0600);
	int bad[] = {make_look_alike("libmpi-hal", LMPI_HALL_BYTES, true, 0600),
		     make_look_alike("libmpi-hall2", LMPI_HALL_BYTES, true, 0600),
		     make_look_alike(name, LMPI_HALL_BYTES - 4096, true, 0600),
		     make_look_alike(name, LMPI_HALL_BYTES + 4096, true, 0600),
		     make_look_alike(name, LMPI_HALL_BYTES, false, 0600),
		     open("/dev/null", O_RDWR),
		     999};
	struct mate m = start_mate(hold_files); /* has all of them open */

	(void)state;
	lmpi_hall_open();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(is_entered(bad[i], m.pid, 77));
	assert_false(is_entered(good, m.pid, 78));
	assert_false(is_entered(good, getpid(), 77)); /* this process itself */
	assert_false(is_entered(good, 1, 77));
	assert_false(is_entered(good, 0, 77));
	assert_false(is_entered(good, -1, 77));
	assert_true(is_entered(good, m.pid, 77)); /* all of this could have been */
	lmpi_hall_met(OTHER);
	assert_int_equal(route[OTHER].reach, LMPI_REACH_DIRECT); /* nobody has come here */
	assert_int_equal(status_of(&m), LMPI_REACH_SELF);
	assert_false(is_entered(good, m.pid, 77) && lmpi_shm_in_use()); /* it is dead */
	leave_halls();
	for (size_t i = 0; i + 1 < sizeof bad / sizeof *bad; i++)
		close(bad[i]);
	close(good);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seats_are_taken_once),
		cmocka_unit_test(seats_are_taken_at_once),
		cmocka_unit_test(a_hall_is_told_from_others),
		cmocka_unit_test(two_processes_talk),
		cmocka_unit_test(one_side_is_not_enough),
		cmocka_unit_test(what_is_no_hall_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
