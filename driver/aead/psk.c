/* Keys from a file. */
#include "driver/aead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 4096

int
seal_psk_load(const char *path, struct seal_psk key[SEAL_PSK_MAX], char why[SEAL_TEXT])
{
	char text[FILE_MAX + 1];
	struct stat st;
	int n = -1, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		snprintf(why, SEAL_TEXT, "cannot be read: %s", strerror(errno));
		return -1;
	}
	ssize_t len = 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		snprintf(why, SEAL_TEXT, "is no regular file");
	} else if (st.st_uid != geteuid() && st.st_uid != 0) {
		snprintf(why, SEAL_TEXT, "belongs to somebody else (uid %u)", (unsigned)st.st_uid);
	} else if (st.st_mode & 077) {
		snprintf(why, SEAL_TEXT, "others may read or write it: mode %04o, chmod it to 0600",
			 (unsigned)st.st_mode & 07777);
	} else if ((len = read(fd, text, sizeof text)) < 0) {
		snprintf(why, SEAL_TEXT, "cannot be read: %s", strerror(errno));
	} else if (len > FILE_MAX) {
		snprintf(why, SEAL_TEXT, "is longer than %d bytes", FILE_MAX);
	} else {
		n = seal_psk_parse(text, (size_t)len, key, why);
	}
	explicit_bzero(text, sizeof text);
	close(fd);
	return n;
}
