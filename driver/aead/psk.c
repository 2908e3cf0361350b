/* Keys from a file. */
#include "driver/aead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 4096

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* One line without its end; NULL or what is wrong with it. */
static const char *
parse_line(const char *s, size_t len, struct suci_psk *k)
{
	size_t i = 0;
	uint64_t id = 0;
	while (i < len && s[i] >= '0' && s[i] <= '9' && id <= UINT32_MAX)
		id = id * 10 + (uint64_t)(s[i++] - '0');
	if (!id || id > UINT32_MAX || i == len || !blank(s[i]))
		return "must begin with the number of the key, from 1 to 4294967295";
	while (i < len && blank(s[i]))
		i++;
	size_t end = len;
	while (end > i && blank(s[end - 1]))
		end--;
	if (end - i != 2 * sizeof k->secret)
		return "the key must have 64 hexadecimal digits";
	for (size_t n = 0; n < sizeof k->secret; n++, i += 2) {
		int hi = digit(s[i]), lo = digit(s[i + 1]);
		if (hi < 0 || lo < 0)
			return "the key must have 64 hexadecimal digits";
		k->secret[n] = (uint8_t)(hi << 4 | lo);
	}
	k->id = (uint32_t)id;
	return NULL;
}

static int
parse_all(const char *text, size_t len, struct suci_psk key[SUCI_PSK_MAX], char why[SUCI_PSK_TEXT])
{
	int n = 0;
	for (unsigned line = 1; len; line++) {
		const char *nl = memchr(text, '\n', len);
		size_t here = nl ? (size_t)(nl - text) : len, skip = 0;
		while (skip < here && blank(text[skip]))
			skip++;
		if (skip < here && text[skip] != '#') {
			struct suci_psk k;
			const char *wrong = n == SUCI_PSK_MAX
						    ? "too many keys"
						    : parse_line(text + skip, here - skip, &k);
			for (int i = 0; !wrong && i < n; i++)
				if (key[i].id == k.id)
					wrong = "the number of this key was there before";
			if (wrong) {
				explicit_bzero(&k, sizeof k);
				snprintf(why, SUCI_PSK_TEXT, "line %u: %s", line, wrong);
				return -1;
			}
			key[n++] = k;
			explicit_bzero(&k, sizeof k);
		}
		here += nl != NULL;
		text += here;
		len -= here;
	}
	if (!n)
		snprintf(why, SUCI_PSK_TEXT, "no key in it");
	return n ? n : -1;
}

int
suci_psk_parse(const char *text, size_t len, struct suci_psk key[SUCI_PSK_MAX],
	       char why[SUCI_PSK_TEXT])
{
	int n = parse_all(text, len, key, why);
	if (n < 0)
		explicit_bzero(key, SUCI_PSK_MAX * sizeof *key);
	return n;
}

int
suci_psk_load(const char *path, struct suci_psk key[SUCI_PSK_MAX], char why[SUCI_PSK_TEXT])
{
	char text[FILE_MAX + 1];
	struct stat st;
	int n = -1, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		snprintf(why, SUCI_PSK_TEXT, "cannot be read: %s", strerror(errno));
		return -1;
	}
	ssize_t len = 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		snprintf(why, SUCI_PSK_TEXT, "is no regular file");
	} else if (st.st_uid != geteuid() && st.st_uid != 0) {
		snprintf(why, SUCI_PSK_TEXT, "belongs to somebody else (uid %u)",
			 (unsigned)st.st_uid);
	} else if (st.st_mode & 077) {
		snprintf(why, SUCI_PSK_TEXT,
			 "others may read or write it: mode %04o, chmod it to 0600",
			 (unsigned)st.st_mode & 07777);
	} else if ((len = read(fd, text, sizeof text)) < 0) {
		snprintf(why, SUCI_PSK_TEXT, "cannot be read: %s", strerror(errno));
	} else if (len > FILE_MAX) {
		snprintf(why, SUCI_PSK_TEXT, "is longer than %d bytes", FILE_MAX);
	} else {
		n = suci_psk_parse(text, (size_t)len, key, why);
	}
	explicit_bzero(text, sizeof text);
	close(fd);
	return n;
}
