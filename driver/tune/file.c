/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing the store's file. */
#include "driver/tune_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "mpitune"
#define NAME   "store"

bool
tune_file_path(char path[TUNE_FILE_PATH])
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int n = -1;
	if (cache && cache[0] == '/')
		n = snprintf(path, TUNE_FILE_PATH, "%s/" FOLDER "/" NAME, cache);
	else if (home && home[0] == '/')
		n = snprintf(path, TUNE_FILE_PATH, "%s/.cache/" FOLDER "/" NAME, home);
	return n > 0 && n < TUNE_FILE_PATH;
}

static int
refuse_file(char *why, const char *path, const char *what, const char *fix)
{
	snprintf(why, TUNE_FILE_WHY, "%s: %s%s", path, what, fix);
	return -1;
}

/* Of a folder or file that is open: is it ours alone? */
static int
file_ours(int fd, bool folder, const char *path, char *why)
{
	struct stat st;
	char what[80];

	if (fstat(fd, &st))
		return refuse_file(why, path, strerror(errno), "");
	if (folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		return refuse_file(why, path, folder ? "its folder is none" : "is no regular file",
				   "; delete it");
	if (st.st_uid != geteuid()) {
		snprintf(what, sizeof what, "%sbelongs to somebody else (uid %u)",
			 folder ? "its folder " : "", (unsigned)st.st_uid);
		return refuse_file(why, path, what, "; delete it or set XDG_CACHE_HOME");
	}
	if (st.st_mode & 022) {
		snprintf(what, sizeof what, "others may write %s (mode %04o)",
			 folder ? "its folder" : "it", (unsigned)st.st_mode & 07777);
		return refuse_file(why, path, what,
				   folder ? "; chmod it to 0700" : "; chmod it to 0600");
	}
	return 0;
}

/* The folder of the file: its descriptor; -1 and errno ENOENT: there is none. */
static int
open_folder(const char *path, bool make, char *why)
{
	char dir[TUNE_FILE_PATH];
	size_t n = (size_t)(strrchr(path, '/') - path);
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	memcpy(dir, path, n);
	dir[n] = 0;
	int fd = open(dir, flags);
	if (fd < 0 && errno == ENOENT && make) {
		/* ~/.cache may be missing, too. */
		char *up = strrchr(dir, '/');
		*up = 0;
		(void)mkdir(dir, 0700);
		*up = '/';
		(void)mkdir(dir, 0700);
		fd = open(dir, flags);
	}
	if (fd < 0) {
		int err = errno;
		(void)refuse_file(why, path,
				  err == ELOOP || err == ENOTDIR
					  ? "its folder is a symbolic link, or none"
					  : strerror(err),
				  err == ELOOP || err == ENOTDIR ? "; delete it" : "");
		errno = err;
		return -1;
	}
	if (file_ours(fd, true, path, why)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

static ssize_t
read_all(int fd, char *text, size_t most)
{
	size_t n = 0;
	while (n < most) {
		ssize_t got = read(fd, text + n, most - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static enum tune_file
read_in(int dir, const char *path, struct tune_store *s, char *why)
{
	char row[TUNE_WHY];
	int fd = openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return TUNE_FILE_NONE;
	if (fd < 0) {
		bool link = errno == ELOOP;
		(void)refuse_file(why, path, link ? "is a symbolic link" : strerror(errno),
				  link ? "; delete it" : "");
		return TUNE_FILE_REFUSED;
	}
	char *text = file_ours(fd, false, path, why) ? NULL : malloc(TUNE_STORE_BYTES + 1);
	ssize_t n = text ? read_all(fd, text, TUNE_STORE_BYTES + 1) : -1;
	bool ok = n >= 0 && tune_store_parse(text, (size_t)n, s, row);
	if (n >= 0 && !ok)
		(void)refuse_file(why, path, row, "");
	else if (!ok && !*why)
		(void)refuse_file(why, path, "cannot be read", "");
	free(text);
	close(fd);
	return ok ? TUNE_FILE_FOUND : TUNE_FILE_REFUSED;
}

enum tune_file
tune_file_read(const char *path, struct tune_store *s, char why[TUNE_FILE_WHY])
{
	memset(s, 0, sizeof *s);
	why[0] = 0;
	int dir = open_folder(path, false, why);
	if (dir < 0) {
		/* No home, or one that cannot be seen, is no reason to complain. */
		bool none = errno == ENOENT || errno == EACCES;
		if (none)
			why[0] = 0;
		return none ? TUNE_FILE_NONE : TUNE_FILE_REFUSED;
	}
	enum tune_file r = read_in(dir, path, s, why);
	close(dir);
	return r;
}

static bool
drifted(const struct tune_values *v, enum tune_value i, uint64_t now)
{
	uint64_t was = tune_value_or(v, i, now);
	return now > TUNE_FILE_DRIFT * was || was > TUNE_FILE_DRIFT * now;
}

/* Is the row of this machine, as it is now?  Else why. */
static bool
check_row(const struct tune_values *v, const char *path, char *why)
{
	struct tune_caches c;
	uint64_t copy_ns, call_ns, least, most;
	enum tune_value which;

	tune_file_caches(&c);
	if (tune_unbelievable(&c, v, &which, &least, &most)) {
		snprintf(why, TUNE_FILE_WHY,
			 "%s: stale: %s=%llu cannot be the best of a machine with these caches, "
			 "which has %llu to %llu; run mpitune again",
			 path, tune_value_name(which), (unsigned long long)v->v[which],
			 (unsigned long long)least, (unsigned long long)most);
		return false;
	}
	tune_file_figures(&copy_ns, &call_ns);
	if (!drifted(v, TUNE_COPY_NS, copy_ns) && !drifted(v, TUNE_CALL_NS, call_ns))
		return true;
	snprintf(why, TUNE_FILE_WHY,
		 "%s: stale: copying 64 KiB takes %llu ns and a system call %llu, "
		 "%llu and %llu when it was measured; run mpitune again",
		 path, (unsigned long long)copy_ns, (unsigned long long)call_ns,
		 (unsigned long long)tune_value_or(v, TUNE_COPY_NS, 0),
		 (unsigned long long)tune_value_or(v, TUNE_CALL_NS, 0));
	return false;
}

enum tune_file
tune_file_find(const struct tune_key *k, struct tune_values *v, char why[TUNE_FILE_WHY])
{
	char path[TUNE_FILE_PATH];

	memset(v, 0, sizeof *v);
	why[0] = 0;
	if (!tune_file_path(path))
		return TUNE_FILE_NONE;
	struct tune_store *s = malloc(sizeof *s);
	if (!s)
		return TUNE_FILE_NONE;
	enum tune_file r = tune_file_read(path, s, why);
	const struct tune_values *found = r == TUNE_FILE_FOUND ? tune_store_find(s, k) : NULL;
	if (r == TUNE_FILE_FOUND && !found)
		r = TUNE_FILE_NONE;
	if (found && !check_row(found, path, why))
		r = TUNE_FILE_STALE;
	else if (found)
		*v = *found;
	free(s);
	return r;
}

/* ---- writing ---- */

static int
replace_file(int dir, const char *path, const char *text, size_t len, char *why)
{
	char name[40];
	uint64_t salt = 0;
	size_t n = 0;

	(void)getrandom(&salt, sizeof salt, GRND_NONBLOCK);
	snprintf(name, sizeof name, "." NAME ".%016llx", (unsigned long long)salt);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse_file(why, path, "cannot be made: ", strerror(errno));
	while (n < len) {
		ssize_t put = write(fd, text + n, len - n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			break;
		n += (size_t)put;
	}
	bool ok = n == len && !fsync(fd);
	if (close(fd) || !ok || renameat(dir, name, dir, NAME)) {
		int err = errno;
		(void)unlinkat(dir, name, 0);
		return refuse_file(why, path, "cannot be written: ", strerror(err));
	}
	return 0;
}

static int
keep_in(int dir, const char *path, const struct tune_key *k, const struct tune_values *v, char *why)
{
	struct tune_store *s = malloc(sizeof *s);
	char *text = malloc(TUNE_STORE_BYTES);
	int err = -1;

	if (!s || !text) {
		(void)refuse_file(why, path, "out of memory", "");
	} else if (read_in(dir, path, memset(s, 0, sizeof *s), why) == TUNE_FILE_REFUSED) {
		err = -1;
	} else if (!tune_store_put(s, k, v)) {
		(void)refuse_file(why, path, "no such row can be kept", "");
	} else {
		size_t n = tune_store_print(s, text, TUNE_STORE_BYTES);
		err = n ? replace_file(dir, path, text, n, why) : -1;
	}
	free(text);
	free(s);
	return err;
}

int
tune_file_keep(const struct tune_key *k, const struct tune_values *v, char why[TUNE_FILE_WHY])
{
	char path[TUNE_FILE_PATH];
	struct tune_values all = *v;
	uint64_t copy_ns, call_ns;

	why[0] = 0;
	if (!tune_file_path(path)) {
		snprintf(why, TUNE_FILE_WHY,
			 "there is no place for the store: set XDG_CACHE_HOME or HOME");
		return -1;
	}
	tune_file_figures(&copy_ns, &call_ns);
	(void)tune_value_set(&all, TUNE_COPY_NS, copy_ns);
	(void)tune_value_set(&all, TUNE_CALL_NS, call_ns);
	int dir = open_folder(path, true, why);
	if (dir < 0)
		return -1;
	/* Two that write at once: one after the other. */
	int err = flock(dir, LOCK_EX)
			  ? refuse_file(why, path, "cannot be locked: ", strerror(errno))
			  : keep_in(dir, path, k, &all, why);
	close(dir);
	return err;
}
