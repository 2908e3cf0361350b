/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of other jobs of this machine: halls (hall.h) are made, entered and used.
 *
 * Messages go through shared memory from the first one on.  A path of Suci is opened beside it when
 * the first is sent: it tells of deaths and says why a job ends, as it does to other nodes. */
#include "hall.h"

#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define eng lmpi_eng

#define NAME  "libmpi-hall"
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* A hall in which this process has a seat, before it is known whether that one has one here. */
struct entered {
	struct lmpi_hall *hall;
	uint32_t world, seat;
	int32_t pid;
};

static struct lmpi_hall *mine;
static int mine_fd = -1;
static uint64_t mine_key; /* others look here whether a pid is still this process */
static struct entered entered[LMPI_HALL_SEATS];
static uint32_t nentered;

/* ---- the own one ---- */

static bool
wants_hall(void)
{
	/* A bound on paths is kept by paths that rest, and who rests hears of no death. */
	return lmpi_knob_word_or_fail(LMPI_KNOB_TRANSPORT) == 0 &&
	       lmpi_knob_number(LMPI_KNOB_PATHS_MAX) == 0;
}

/* False: this job talks to others by UDP, which is no error. */
static bool
make_hall(void)
{
	mine_fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (mine_fd < 0 || fchmod(mine_fd, 0600) < 0 ||
	    ftruncate(mine_fd, (off_t)LMPI_HALL_BYTES) < 0 ||
	    fcntl(mine_fd, F_ADD_SEALS, SEALS) < 0)
		return false;
	mine = mmap(NULL, LMPI_HALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, mine_fd, 0);
	if (mine == MAP_FAILED) {
		mine = NULL;
		return false;
	}
	while (mine_key == 0)
		if (getrandom(&mine_key, sizeof mine_key, 0) != (ssize_t)sizeof mine_key)
			mine_key = 0;
	lmpi_hall_lay(mine, mine_key, (uint64_t)(uintptr_t)&mine_key);
	mine->head.barrier =
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
	return lmpi_bell_tell(&mine->bell_fd, &mine->bell_node) &&
	       lmpi_shm_open_hall(&mine->head, LMPI_HALL_SEATS);
}

/* Whoever has sat there is dead, and nobody needs what it has sent: the seat is free again. */
static void
free_seats(void)
{
	for (uint32_t i = 0; i < LMPI_HALL_SEATS; i++) {
		int32_t pid = atomic_load(&mine->seat[i].pid);
		off_t at = (uint8_t *)lmpi_hall_share(mine, i) - (uint8_t *)mine;

		if (pid == 0 || kill(pid, 0) == 0 || errno != ESRCH || !lmpi_shm_drop(i))
			continue;
		if (fallocate(mine_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
			      (off_t)LMPI_HALL_CHANNEL) == 0)
			lmpi_hall_clear(mine, i);
	}
}

void
lmpi_hall_open(void)
{
	if (mine)
		free_seats();
	else if (mine_fd < 0 && wants_hall() && !make_hall())
		lmpi_hall_close();
}

void
lmpi_hall_where(struct lmpi_hall_place *p)
{
	*p = (struct lmpi_hall_place){0};
	if (mine)
		*p = (struct lmpi_hall_place){.pid = getpid(), .fd = mine_fd, .key = mine_key};
}

void
lmpi_hall_close(void)
{
	while (nentered > 0)
		munmap(entered[--nentered].hall, LMPI_HALL_BYTES);
	if (mine)
		munmap(mine, LMPI_HALL_BYTES);
	mine = NULL;
	if (mine_fd >= 0)
		close(mine_fd);
	mine_fd = -1;
	mine_key = 0;
}

/* ---- others ---- */

/* Do we mean the same by a pid and by an address?  A container or a network of its own is another
 * machine. */
static bool
has_our_view(int32_t pid)
{
	static const char *const of[] = {"pid", "ipc", "mnt", "net", "user"};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		char path[64];
		struct stat a, b;

		snprintf(path, sizeof path, "/proc/self/ns/%s", of[i]);
		if (stat(path, &a) < 0)
			return false;
		snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, of[i]);
		if (stat(path, &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
			return false;
	}
	return true;
}

/* The file behind it is looked at by name first: opening another one may do something. */
static int
open_hall_file(const struct lmpi_hall_place *p)
{
	static const char is[] = "/memfd:" NAME " (deleted)";
	char path[64], name[sizeof is + 1];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", p->pid, p->fd);
	ssize_t n = readlink(path, name, sizeof name);
	if (n != (ssize_t)sizeof is - 1 || memcmp(name, is, sizeof is - 1) != 0)
		return -1;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
			(uint64_t)st.st_size != LMPI_HALL_BYTES ||
			(fcntl(fd, F_GET_SEALS) & SEALS) != SEALS)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct lmpi_hall *
map_place(const struct lmpi_hall_place *p)
{
	int fd = has_our_view(p->pid) ? open_hall_file(p) : -1;

	if (fd < 0)
		return NULL;
	struct lmpi_hall *h =
		mmap(NULL, LMPI_HALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return NULL;
	if (lmpi_hall_is_one(h, p->key))
		return h;
	munmap(h, LMPI_HALL_BYTES);
	return NULL;
}

void
lmpi_hall_enter(uint32_t world, const struct lmpi_hall_place *p)
{
	const struct lmpi_proc *me = &lmpi_world.proc[lmpi_world.rank];
	struct lmpi_hall *h;

	if (!mine || p->pid <= 0 || p->pid == getpid() || nentered == LMPI_HALL_SEATS ||
	    (h = map_place(p)) == NULL)
		return;
	uint32_t seat = lmpi_hall_take(h, getpid(), me->job, me->number);
	if (seat == LMPI_HALL_SEATS) {
		munmap(h, LMPI_HALL_BYTES);
		return;
	}
	entered[nentered++] = (struct entered){h, world, seat, p->pid};
}

/* ---- using them ---- */

/* The first packet to that process opens the path. */
static bool
greet_guest(struct lmpi_peer *peer)
{
	if (!lmpi_net_reach(peer->world))
		return false;
	lmpi_reach_by(peer, LMPI_REACH_SHM);
	return true;
}

static bool
open_and_send(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	return greet_guest(peer) && peer->tp->send(e, peer, out);
}

static bool
open_and_try(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	     const void *data, uint64_t len)
{
	return greet_guest(peer) && peer->tp->try_short(e, peer, h, data, len);
}

static const struct lmpi_transport first = {
	.caps = LMPI_CAP_ASKS_OFF,
	.send = open_and_send,
	.try_short = open_and_try,
};

static void
use_seats(const struct entered *e, uint32_t theirs)
{
	struct lmpi_peer *peer = &eng.peer[e->world];
	struct lmpi_shm_guest g = {
		.head = &e->hall->head,
		.bytes = LMPI_HALL_BYTES,
		.ring_bytes = LMPI_HALL_RING,
		.ring_to = lmpi_hall_ring(e->hall, e->seat),
		.ring_from = lmpi_hall_ring(mine, theirs),
		.from_me = lmpi_hall_share(e->hall, e->seat),
		.to_me = lmpi_hall_share(mine, theirs),
		.world = e->world,
		.pid = e->pid,
		.key = e->hall->key,
		.key_at = e->hall->key_at,
	};

	snprintf(g.bell, sizeof g.bell, "%d/fd/%d %08x", e->pid, e->hall->bell_fd,
		 e->hall->bell_node);
	peer->at = lmpi_shm_guest(theirs, &g);
	peer->eager_max = lmpi_tuned.eager_node;
	lmpi_reach_by(peer, LMPI_REACH_SHM);
	peer->tp = &first;
	peer->caps = first.caps;
}

void
lmpi_hall_met(uint32_t world)
{
	uint32_t i = 0;

	while (i < nentered && entered[i].world != world)
		i++;
	if (i == nentered)
		return;
	const struct lmpi_proc *p = &lmpi_world.proc[world];
	uint32_t theirs =
		eng.peer[world].lost ? LMPI_HALL_SEATS : lmpi_hall_find(mine, p->job, p->number);
	if (theirs == LMPI_HALL_SEATS)
		munmap(entered[i].hall, LMPI_HALL_BYTES);
	else
		use_seats(&entered[i], theirs);
	entered[i] = entered[--nentered];
}
