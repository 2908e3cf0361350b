/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (3 * NAMES_MAX + 1)

/* The folder, open; -1 and why. */
static int
open_names(char why[NAMES_WHY])
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char path[4096];
	struct stat st;

	if (run && *run == '/')
		snprintf(path, sizeof path, "%.4000s/mpi-names", run);
	else
		snprintf(path, sizeof path, "/tmp/mpi-names-%u", (unsigned)getuid());
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		snprintf(why, NAMES_WHY, "the folder of names, %.100s: %s", path, strerror(errno));
		return -1;
	}
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == getuid() && (st.st_mode & 077) == 0)
		return dir;
	snprintf(why, NAMES_WHY, "the folder of names, %.100s, is not this user's alone: remove it",
		 path);
	if (dir >= 0)
		close(dir);
	return -1;
}

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static bool
encode_name(const char *name, char file[FILE_MAX], char why[NAMES_WHY])
{
	size_t n = 0, len = strlen(name);

	if (len == 0 || len > NAMES_MAX) {
		snprintf(why, NAMES_WHY, "a name has 1 to %u bytes, this one %zu", NAMES_MAX, len);
		return false;
	}
	for (const char *p = name; *p; p++) {
		if (is_plain(*p))
			file[n++] = *p;
		else
			n += (size_t)snprintf(file + n, 4, "%%%02X", (unsigned char)*p);
	}
	file[n] = '\0';
	return true;
}

/* The keeper of a file, if it lives, and its port; 0: there is none. */
static pid_t
read_name(int dir, const char *file, char port[NAMES_PORT_MAX])
{
	char text[NAMES_PORT_MAX + 32], *end;
	int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	long keeper = strtol(text, &end, 10);
	if (keeper <= 0 || *end != '\n' || text[n - 1] != '\n')
		return 0;
	text[n - 1] = '\0';
	if (port)
		snprintf(port, NAMES_PORT_MAX, "%s", end + 1);
	return kill((pid_t)keeper, 0) == 0 || errno == EPERM ? (pid_t)keeper : 0;
}

/* A file of ours, whole before anybody sees it; 0 or errno. */
static int
write_name(int dir, const char *file, const char *port, pid_t keeper)
{
	char text[NAMES_PORT_MAX + 32], temp[64];
	int n = snprintf(text, sizeof text, "%d\n%s\n", (int)keeper, port), err = 0;

	snprintf(temp, sizeof temp, ".%d.%lx", (int)keeper, (unsigned long)(uintptr_t)&temp);
	int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		err = errno ? errno : EIO;
	if (fd >= 0)
		close(fd);
	if (!err && linkat(dir, temp, dir, file, 0) < 0)
		err = errno;
	unlinkat(dir, temp, 0);
	return err;
}

enum names_result
names_publish(const char *name, const char *port, pid_t keeper, char why[NAMES_WHY])
{
	char file[FILE_MAX];
	int dir, err;

	if (!encode_name(name, file, why))
		return NAMES_BROKEN;
	if (strlen(port) >= NAMES_PORT_MAX || strchr(port, '\n')) {
		snprintf(why, NAMES_WHY, "a port has less than %u bytes in one line",
			 NAMES_PORT_MAX);
		return NAMES_BROKEN;
	}
	if ((dir = open_names(why)) < 0)
		return NAMES_BROKEN;
	err = write_name(dir, file, port, keeper);
	/* Left behind by who is gone? */
	if (err == EEXIST && read_name(dir, file, NULL) == 0 && unlinkat(dir, file, 0) == 0)
		err = write_name(dir, file, port, keeper);
	close(dir);
	if (!err)
		return NAMES_OK;
	if (err == EEXIST)
		snprintf(why, NAMES_WHY, "the name \"%s\" is published already", name);
	else
		snprintf(why, NAMES_WHY, "the name \"%s\": %s", name, strerror(err));
	return err == EEXIST ? NAMES_TAKEN : NAMES_BROKEN;
}

static enum names_result
unknown_name(const char *name, char why[NAMES_WHY])
{
	snprintf(why, NAMES_WHY, "nobody has published the name \"%.80s\"", name);
	return NAMES_UNKNOWN;
}

enum names_result
names_unpublish(const char *name, pid_t keeper, char why[NAMES_WHY])
{
	char file[FILE_MAX];
	int dir;

	if (!encode_name(name, file, why) || (dir = open_names(why)) < 0)
		return NAMES_BROKEN;
	bool ours = read_name(dir, file, NULL) == keeper && unlinkat(dir, file, 0) == 0;
	close(dir);
	return ours ? NAMES_OK : unknown_name(name, why);
}

enum names_result
names_lookup(const char *name, char port[NAMES_PORT_MAX], char why[NAMES_WHY])
{
	char file[FILE_MAX];
	int dir;

	if (!encode_name(name, file, why) || (dir = open_names(why)) < 0)
		return NAMES_BROKEN;
	bool there = read_name(dir, file, port) != 0;
	close(dir);
	return there ? NAMES_OK : unknown_name(name, why);
}

void
names_drop(pid_t keeper)
{
	char why[NAMES_WHY];
	int dir = open_names(why);
	DIR *d = dir >= 0 ? fdopendir(dir) : NULL;
	struct dirent *e;

	if (!d && dir >= 0)
		close(dir);
	while (d && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && read_name(dir, e->d_name, NULL) == keeper)
			unlinkat(dir, e->d_name, 0);
	if (d)
		closedir(d);
}
