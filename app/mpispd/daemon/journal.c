/* SPDX-License-Identifier: BSD-2-Clause */
/* What a voter must not forget, on the disk of its node: STATE/UNIVERSE.UNIT.journal, .life.
 *
 * A thread writes, so a disk that takes its time holds nothing up but what it has to: lib/sp holds
 * frames until sp_node_written() says that what they promise is durable.
 *
 *     loop   --append, replace: a copy, in a queue-->	thread: write, fdatasync
 *     loop   <--eventfd: so many are durable, or one failed--	thread
 *
 * After one that failed the thread writes no more: the journal has a part of it, and what came
 * behind would be read as damage.  spd_journal_read() begins anew. */
#include "daemon.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_MAX (64u << 20)

struct record {
	struct record *next;
	bool replaces;
	size_t len;
	uint8_t bytes[];
};

static int journal_fd = -1; /* the thread's while it has work */
static int news = -1;	    /* eventfd */
static bool running;	    /* the thread is there */
static pthread_t writer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, idle = PTHREAD_COND_INITIALIZER;
/* Under lock. */
static struct record *first, **last = &first;
static bool busy, failed, over;
static int why_failed; /* errno */
static uint32_t ndone; /* since spd_journal_turn() */

/* ---- files ---- */

static void
path_of(char *path, size_t room, const char *what)
{
	snprintf(path, room, "%s/%s.%s.%s", spd.conf->state, spd.conf->name,
		 spd.conf->unit[spd.me].name, what);
}

/* Only a regular file of this user's, and no link: others may write into the folder, too.  -1 and
 * errno. */
static int
open_own(const char *path, int flags)
{
	struct stat st;
	int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static bool
write_durably(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* The name itself is durable, too. */
static bool
sync_folder(void)
{
	int fd = open(spd.conf->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool
replace_durably(const char *path, const void *bytes, size_t len)
{
	char fresh[512];

	snprintf(fresh, sizeof fresh, "%s.new", path);
	(void)unlink(fresh);
	int fd = open_own(fresh, O_WRONLY | O_CREAT | O_EXCL);
	bool ok = fd >= 0 && write_durably(fd, bytes, len) && fdatasync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return ok && rename(fresh, path) == 0 && sync_folder();
}

static int
open_journal(void)
{
	char path[400];

	path_of(path, sizeof path, "journal");
	return open_own(path, O_RDWR | O_CREAT | O_APPEND);
}

static bool
replace_journal_file(const struct record *r)
{
	char path[400];

	path_of(path, sizeof path, "journal");
	if (!replace_durably(path, r->bytes, r->len))
		return false;
	close(journal_fd);
	journal_fd = open_journal();
	return journal_fd >= 0;
}

/* ---- the thread ---- */

static void
drop_journal_records(void)
{
	while (first) {
		struct record *r = first;
		first = r->next;
		free(r);
	}
	last = &first;
}

static void
write_journal_record(struct record *r)
{
	uint64_t one = 1;
	bool ok = r->replaces ? replace_journal_file(r)
			      : write_durably(journal_fd, r->bytes, r->len) &&
					fdatasync(journal_fd) == 0;
	int err = errno;

	free(r);
	pthread_mutex_lock(&lock);
	ndone += ok;
	if (!ok) {
		failed = true;
		why_failed = err;
		drop_journal_records();
	}
	(void)!write(news, &one, sizeof one);
}

static void *
run_journal_writer(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!first && !over)
			pthread_cond_wait(&work, &lock);
		if (!first)
			break;
		struct record *r = first;
		first = r->next;
		if (!first)
			last = &first;
		busy = true;
		pthread_mutex_unlock(&lock);
		write_journal_record(r); /* and takes the lock */
		busy = false;
		pthread_cond_broadcast(&idle);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* What waits for the disk must not wait for a processor as well: the loop's priority, if it has
 * got one, is not handed on by itself. */
static void
hand_on_priority(void)
{
	struct sched_param p = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	if (sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK))
		(void)pthread_setschedparam(writer, SCHED_RR, &p);
}

static bool
start_journal_writer(void)
{
	if (running)
		return true;
	news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	running = news >= 0 && pthread_create(&writer, NULL, run_journal_writer, NULL) == 0;
	if (running)
		hand_on_priority();
	return running;
}

/* ---- what the loop asks for ---- */

static bool
queue_journal_record(const void *bytes, size_t len, bool replaces)
{
	struct record *r = malloc(sizeof *r + len);

	if (!r)
		return false;
	*r = (struct record){.replaces = replaces, .len = len};
	memcpy(r->bytes, bytes, len);
	pthread_mutex_lock(&lock);
	bool ok = !failed;
	if (ok) {
		*last = r;
		last = &r->next;
		pthread_cond_signal(&work);
	}
	pthread_mutex_unlock(&lock);
	if (!ok)
		free(r);
	return ok;
}

bool
spd_journal_append(void *user, const void *bytes, size_t len)
{
	(void)user;
	return queue_journal_record(bytes, len, false);
}

bool
spd_journal_replace(void *user, const void *bytes, size_t len)
{
	(void)user;
	return queue_journal_record(bytes, len, true);
}

int
spd_journal_fd(void)
{
	return news;
}

void
spd_journal_turn(uint64_t now_ns)
{
	uint64_t count;

	if (!running || read(news, &count, sizeof count) != sizeof count)
		return;
	pthread_mutex_lock(&lock);
	uint32_t n = ndone;
	bool bad = failed;
	int err = why_failed;
	ndone = 0;
	pthread_mutex_unlock(&lock);
	while (n-- > 0 && !spd.disk_failed)
		sp_node_written(spd.node, true, now_ns);
	errno = err;
	if (bad && !spd.disk_failed)
		sp_node_written(spd.node, false, now_ns);
}

void *
spd_journal_read(size_t *len)
{
	struct stat st;

	pthread_mutex_lock(&lock);
	while (busy || first)
		pthread_cond_wait(&idle, &lock);
	failed = false;
	ndone = 0;
	pthread_mutex_unlock(&lock);
	if (journal_fd >= 0)
		close(journal_fd);
	journal_fd = open_journal();
	if (journal_fd < 0 || !start_journal_writer() || fstat(journal_fd, &st) != 0 ||
	    st.st_size > JOURNAL_MAX)
		return NULL;
	*len = (size_t)st.st_size;
	void *bytes = malloc(*len + 1);
	if (bytes && pread(journal_fd, bytes, *len, 0) != (ssize_t)*len) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* Which life of this daemon it is: one more each time. */
uint32_t
spd_journal_life(void)
{
	char path[400], text[16] = "";

	path_of(path, sizeof path, "life");
	int fd = open_own(path, O_RDONLY);
	if (fd < 0 && errno != ENOENT)
		return 0;
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	uint32_t life = n > 0 ? (uint32_t)strtoul(text, NULL, 10) + 1 : 1;
	int len = snprintf(text, sizeof text, "%u\n", life);
	return replace_durably(path, text, (size_t)len) ? life : 0;
}

void
spd_journal_forget(void)
{
	static const char *const what[] = {"journal", "life"};
	char path[400];

	for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
		path_of(path, sizeof path, what[i]);
		(void)unlink(path);
	}
}

void
spd_journal_close(void)
{
	if (running) {
		pthread_mutex_lock(&lock);
		over = true;
		pthread_cond_signal(&work);
		pthread_mutex_unlock(&lock);
		pthread_join(writer, NULL);
		running = false;
		close(news);
		news = -1;
	}
	if (journal_fd >= 0)
		close(journal_fd);
	journal_fd = -1;
}
