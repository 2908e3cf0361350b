/* SPDX-License-Identifier: BSD-2-Clause */
#include "place.h"

#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
launch_is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool
launch_is_self(const char *path)
{
	struct stat a, b;
	return stat(path, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

void
launch_own_folder(char *out, size_t cap)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0) {
		strlcpy(out, "", cap);
		return;
	}
	self[n] = '\0';
	strlcpy(out, dirname(self), cap);
}

bool
launch_find(const char *name, char *out, size_t cap)
{
	const char *path = getenv("PATH");
	if (strchr(name, '/'))
		return strlcpy(out, name, cap) < cap && launch_is_program(out);
	while (path && *path) {
		size_t n = strcspn(path, ":");
		int len = snprintf(out, cap, "%.*s%s%s", (int)n, path, n ? "/" : "", name);
		if (len > 0 && (size_t)len < cap && launch_is_program(out) && !launch_is_self(out))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

bool
launch_add_libraries(void)
{
	char folder[PATH_MAX], lib[PATH_MAX + 8];
	struct stat st;
	const char *old = getenv("LD_LIBRARY_PATH");
	char *all = NULL;
	bool ok = true;

	launch_own_folder(folder, sizeof folder);
	snprintf(lib, sizeof lib, "%s/../lib", folder);
	char *real = realpath(lib, NULL);
	if (real && stat(real, &st) == 0 && S_ISDIR(st.st_mode)) {
		ok = asprintf(&all, "%s%s%s", real, old && *old ? ":" : "", old ? old : "") >= 0 &&
		     setenv("LD_LIBRARY_PATH", all, 1) == 0;
		free(all);
	}
	free(real);
	return ok;
}

bool
launch_make_folder(const char *name, char *out, size_t cap)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || strlen(tmp) > 40)
		tmp = "/tmp";
	snprintf(out, cap, "%s/%s.XXXXXX", tmp, name);
	return mkdtemp(out) != NULL;
}

static int
unlink_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	(void)remove(path); /* or somebody else has */
	return 0;
}

/* Threads of a PMIx server that was not stopped put files in there, and take them away: the walk
 * may end over one that is gone. */
void
launch_remove_folder(const char *folder)
{
	for (int tries = 0; tries < 10 && access(folder, F_OK) == 0; tries++)
		(void)nftw(folder, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
}
