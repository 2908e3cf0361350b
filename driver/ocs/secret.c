/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.c - files with credentials: user on the first line, password on the second. */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
ocsdrv_secret_wipe(struct ocsdrv_secret *s)
{
	explicit_bzero(s, sizeof *s);
}

/* One line of text into to; what is behind it, or NULL if it does not fit. */
static const char *
copy_line(const char *text, char to[OCSDRV_SECRET_MAX])
{
	size_t n = strcspn(text, "\r\n");
	if (n >= OCSDRV_SECRET_MAX)
		return NULL;
	memcpy(to, text, n);
	to[n] = 0;
	text += n;
	text += *text == '\r';
	return text + (*text == '\n');
}

bool
ocsdrv_secret_read(struct ocsdrv_secret *s, const char *path, char why[OCS_DRIVER_WHY])
{
	char text[2 * OCSDRV_SECRET_MAX + 8];
	struct stat st;
	memset(s, 0, sizeof *s);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(why, OCS_DRIVER_WHY, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (!S_ISREG(st.st_mode) || (st.st_mode & 077)) {
		snprintf(why, OCS_DRIVER_WHY, "%s: others may read it; chmod 600 it", path);
		close(fd);
		return false;
	}
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *second = copy_line(text, s->user);
	bool ok = second && s->user[0] && copy_line(second, s->password);
	explicit_bzero(text, sizeof text);
	if (!ok) {
		ocsdrv_secret_wipe(s);
		snprintf(why, OCS_DRIVER_WHY,
			 "%s: wants a user on the first line, a password on the second", path);
	}
	return ok;
}
