/* SPDX-License-Identifier: BSD-2-Clause */
/* plugin.c - drivers that are shared objects; see driver/ocs_plugin.h. */
#include "driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SELF "/proc/self/exe"
#define FIX  "fix: install the package relayd-optics, or make all in the tree"

bool
ocsdrv_plugin_folder(char folder[256], char why[OCS_DRIVER_WHY])
{
	char self[PATH_MAX];
	ssize_t n = readlink(SELF, self, sizeof self - 1);
	if (n < 0) {
		snprintf(why, OCS_DRIVER_WHY, SELF ": %s; fix: mount /proc", strerror(errno));
		return false;
	}
	self[n] = 0;
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
	}
	bool fits = snprintf(folder, 256, "%s/lib/relayd", self) < 256;
	if (!fits)
		snprintf(why, OCS_DRIVER_WHY, "the path of this program is too long");
	return fits;
}

/* Whoever may change it may change this program, too. */
static bool
is_as_safe(const struct stat *st, const struct stat *program)
{
	bool group = (st->st_mode & S_IWGRP) == 0 ||
		     ((program->st_mode & S_IWGRP) && program->st_gid == st->st_gid);
	bool others = (st->st_mode & S_IWOTH) == 0 || (program->st_mode & S_IWOTH);
	return (st->st_uid == 0 || st->st_uid == program->st_uid) && group && others;
}

static bool
may_load(const char *folder, const char *path, char why[OCS_DRIVER_WHY])
{
	struct stat program, st;
	const char *const both[] = {path, folder};
	if (stat(SELF, &program) != 0) {
		snprintf(why, OCS_DRIVER_WHY, SELF ": %s; fix: mount /proc", strerror(errno));
		return false;
	}
	for (int i = 0; i < 2; i++) {
		if (stat(both[i], &st) != 0) {
			snprintf(why, OCS_DRIVER_WHY, "%.110s: %s; " FIX, both[i], strerror(errno));
			return false;
		}
		if (is_as_safe(&st, &program))
			continue;
		snprintf(why, OCS_DRIVER_WHY,
			 "%.100s: some may write it who may not write this program; fix: owner "
			 "root, and chmod go-w",
			 both[i]);
		return false;
	}
	return true;
}

/* What another release left there is not taken for ours. */
static bool
fits_table(const struct ocs_plugin *p, const char *path, const char *protocol,
	   char why[OCS_DRIVER_WHY])
{
	static const uint32_t sizes[] = OCS_PLUGIN_SIZES;
	if (p->version != OCS_PLUGIN_VERSION)
		snprintf(why, OCS_DRIVER_WHY,
			 "%.100s: its version is %u, this program takes %u; fix: one release of "
			 "both",
			 path, p->version, OCS_PLUGIN_VERSION);
	else if (memcmp(p->sizes, sizes, sizeof sizes) != 0)
		snprintf(why, OCS_DRIVER_WHY,
			 "%.100s: built with other structures; fix: one release of both", path);
	else if (strcmp(p->protocol, protocol) != 0)
		snprintf(why, OCS_DRIVER_WHY, "%.100s: a driver of %.40s; " FIX, path, p->protocol);
	return !why[0];
}

const struct ocs_plugin *
ocsdrv_plugin_load(const char *folder, const char *protocol, char why[OCS_DRIVER_WHY])
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/ocs-%s.so", folder, protocol);
	if (!may_load(folder, path, why))
		return NULL;
	why[0] = 0;
	/* It stays: its threads, and those of its libraries, may outlive a driver that is closed.
	 */
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct ocs_plugin *p = so ? dlsym(so, "ocs_plugin") : NULL;
	if (!p) {
		/* Its own words begin with the path, or with the library that is missing. */
		const char *said = dlerror();
		snprintf(why, OCS_DRIVER_WHY, "%.140s; " FIX, said ? said : path);
		return NULL;
	}
	return fits_table(p, path, protocol, why) ? p : NULL;
}
