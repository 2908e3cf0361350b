/* SPDX-License-Identifier: BSD-2-Clause */
/* The area as a memfd, and what processes of one node map of each other, opened through
 * /proc/PID/fd as libmpi does: no name that could stay behind. */
#include "mmp_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define HUGE ((uint64_t)2 << 20)

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* A memfd of that length that nobody can shorten under us, mapped; NULL. */
static void *
make(const char *name, uint64_t bytes, unsigned flags, int *fd)
{
	void *mem = MAP_FAILED;
	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	if (*fd >= 0 && ftruncate(*fd, (off_t)bytes) == 0 &&
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (mem != MAP_FAILED)
		return mem;
	int err = errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = err;
	return NULL;
}

static void
make_area(struct mmp_share *s, const struct mmp_env *env)
{
	if (env->huge) {
		s->half = round_up(env->area_bytes / 2, HUGE);
		s->area = make("libmmp area", 2 * s->half, MFD_HUGETLB, &s->area_fd);
		s->huge = s->area != NULL;
	}
	if (s->area)
		return;
	s->half = round_up(env->area_bytes / 2, PAGE);
	s->area = make("libmmp area", 2 * s->half, 0, &s->area_fd);
	if (s->area && s->half >= HUGE)
		(void)madvise(s->area, 2 * s->half, MADV_HUGEPAGE);
}

int
mmp_share_make(struct mmp_share *s, const struct mmp_env *env, uint32_t nears)
{
	*s = (struct mmp_share){.page_fd = -1, .area_fd = -1, .bell = {-1, -1}};
	make_area(s, env);
	s->page_bytes = round_up(PAGE + nears * mmp_ring_bytes(MMP_RING_SLOTS), PAGE);
	if (s->area)
		s->page = make("libmmp page", s->page_bytes, 0, &s->page_fd);
	if (!s->page)
		return mmp_fail(errno, "no memory for an area of %llu bytes (LIBMMP_AREA): %s",
				(unsigned long long)env->area_bytes, strerror(errno));
	if (pipe2(s->bell, O_NONBLOCK | O_CLOEXEC) < 0 ||
	    getrandom(&s->token, sizeof s->token, 0) != (ssize_t)sizeof s->token)
		return mmp_fail(errno, "no pipe: %s", strerror(errno));
	s->page->token = s->token;
	return 0;
}

void
mmp_share_free(struct mmp_share *s)
{
	int fd[] = {s->page_fd, s->area_fd, s->bell[0], s->bell[1]};
	if (s->area)
		munmap(s->area, 2 * s->half);
	if (s->page)
		munmap(s->page, s->page_bytes);
	for (int i = 0; i < 4; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	*s = (struct mmp_share){.page_fd = -1, .area_fd = -1, .bell = {-1, -1}};
}

void
mmp_share_contact(const struct mmp_share *s, struct mmp_contact *c)
{
	*c = (struct mmp_contact){.pid = getpid(),
				  .page_fd = s->page_fd,
				  .area_fd = s->area_fd,
				  .bell_fd = s->bell[1],
				  .token = s->token,
				  .page_bytes = s->page_bytes,
				  .half = s->half};
}

/* ---- those of others ---- */

static int
open_of(const struct mmp_contact *c, int fd, int how)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", c->pid, fd);
	return open(path, how | O_CLOEXEC | O_NONBLOCK);
}

/* Map what is a sealed memfd of at least that length. */
static void *
map_of(const struct mmp_contact *c, int fd, uint64_t bytes, bool write)
{
	struct stat st;
	void *mem = MAP_FAILED;
	int got = open_of(c, fd, write ? O_RDWR : O_RDONLY), seals;
	if (got < 0)
		return NULL;
	seals = fcntl(got, F_GET_SEALS);
	if (fstat(got, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= bytes &&
	    seals >= 0 && (seals & F_SEAL_SHRINK))
		mem = mmap(NULL, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, got,
			   0);
	else
		errno = EINVAL;
	int err = errno;
	close(got);
	errno = err;
	return mem == MAP_FAILED ? NULL : mem;
}

static uint8_t *
ring_of(struct mmp_page *page, uint32_t i)
{
	return (uint8_t *)page + PAGE + i * mmp_ring_bytes(MMP_RING_SLOTS);
}

struct mmp_near *
mmp_near_attach(const struct mmp_share *s, const struct mmp_contact *c, uint32_t in, uint32_t out,
		char why[WHY_MAX])
{
	struct mmp_near *n = calloc(1, sizeof *n);
	uint64_t least = PAGE + (out + 1) * mmp_ring_bytes(MMP_RING_SLOTS);
	struct stat st;
	snprintf(why, WHY_MAX, "its memory cannot be mapped");
	if (!n)
		return NULL;
	n->bell = -1;
	n->page_bytes = c->page_bytes;
	n->half_bytes = c->half;
	if (c->pid > 0 && c->page_bytes >= least && c->page_bytes < UINT64_C(1) << 32 && c->half &&
	    c->half < UINT64_C(1) << 40) {
		n->page = map_of(c, c->page_fd, c->page_bytes, true);
		n->half = map_of(c, c->area_fd, c->half, false);
		n->bell = open_of(c, c->bell_fd, O_RDWR);
	}
	if (!n->page || !n->half || n->bell < 0 || fstat(n->bell, &st) < 0 ||
	    !S_ISFIFO(st.st_mode) || n->page->token != c->token) {
		snprintf(why, WHY_MAX,
			 "its memory cannot be mapped (%s); LIBMMP_SHM=0 on all goes without",
			 strerror(errno));
		mmp_near_free(n);
		return NULL;
	}
	mmp_pair_init(&n->pair, ring_of(n->page, out), ring_of(s->page, in), s->area, n->half,
		      n->half_bytes);
	return n;
}

void
mmp_near_free(struct mmp_near *n)
{
	if (!n)
		return;
	if (n->page)
		munmap(n->page, n->page_bytes);
	if (n->half)
		munmap((void *)(uintptr_t)n->half, n->half_bytes);
	if (n->bell >= 0)
		close(n->bell);
	free(n);
}

void
mmp_near_wake(struct mmp_near *n)
{
	if (atomic_fetch_or(&n->page->asleep, 0) && atomic_exchange(&n->page->asleep, 0) &&
	    write(n->bell, "", 1) < 0)
		return; /* full: it is awake soon */
}
