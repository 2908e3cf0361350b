/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is meant by -host and -hostfile: scripts that only ever name this machine need no other
 * launcher. */
#include "mpirun.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is the name, of so many bytes, this machine's?  With and without a domain. */
static bool
is_here(const char *name, size_t len)
{
	static const char *const always[] = {"localhost", "127.0.0.1"};
	char own[256] = "";

	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		if (strlen(always[i]) == len && memcmp(always[i], name, len) == 0)
			return true;
	if (gethostname(own, sizeof own - 1) != 0)
		return false;
	size_t n = strlen(own), host = strcspn(own, ".");
	if (n == len && memcmp(own, name, len) == 0)
		return true;
	/* One of the two has a domain, the other has not. */
	const char *dot = memchr(name, '.', len);
	size_t host_len = dot ? (size_t)(dot - name) : len;
	return (dot != NULL) != (host < n) && host_len == host && memcmp(own, name, host) == 0;
}

bool
mpirun_hosts_here(const char *list)
{
	while (*list) {
		size_t word = strcspn(list, ","), name = strcspn(list, ",:");
		if (!is_here(list, name))
			return false;
		list += word + (list[word] == ',');
	}
	return true;
}

/* Else the program ends: another launcher would say it in a page of its own. */
static void
check_host(const char *where, const char *at, size_t len, const char *launcher)
{
	char name[256];
	struct addrinfo *found = NULL;

	snprintf(name, sizeof name, "%.*s", (int)len, at);
	int e = len ? getaddrinfo(name, NULL, NULL, &found) : 0;
	if (e)
		mpirun_fail("%s: no machine is called %s (%s); fix: correct the name, or say "
			    "--launcher %s if that knows it (an alias of ssh)",
			    where, name, gai_strerror(e), launcher);
	if (found)
		freeaddrinfo(found);
}

void
mpirun_hosts_check(const char *list, const char *launcher)
{
	while (*list) {
		size_t word = strcspn(list, ",");
		check_host("-host", list, strcspn(list, ",:"), launcher);
		list += word + (list[word] == ',');
	}
}

struct hostfile {
	FILE *file;
	char *text;
	size_t cap;
	unsigned line;
};

static struct hostfile
open_hostfile(const char *path)
{
	struct hostfile h = {.file = fopen(path, "re")};
	if (!h.file)
		mpirun_fail("%s: %s", path, strerror(errno));
	return h;
}

/* The name in the next line that has one, of len bytes; NULL: that was all, and it is closed. */
static const char *
next_host(struct hostfile *h, size_t *len)
{
	while (getline(&h->text, &h->cap, h->file) >= 0) {
		const char *at = h->text + strspn(h->text, " \t\r\n");
		h->line++;
		*len = strcspn(at, " \t\r\n:#");
		if (*len)
			return at;
	}
	free(h->text);
	fclose(h->file);
	return NULL;
}

bool
mpirun_hostfile_here(const char *path)
{
	struct hostfile h = open_hostfile(path);
	unsigned named = 0;
	bool here = true;
	size_t len;

	for (const char *at; (at = next_host(&h, &len)); named++)
		here = here && is_here(at, len);
	return here && named > 0;
}

void
mpirun_hostfile_check(const char *path, const char *launcher)
{
	struct hostfile h = open_hostfile(path);
	char where[PATH_MAX + 16];
	size_t len;

	for (const char *at; (at = next_host(&h, &len));) {
		snprintf(where, sizeof where, "%s:%u", path, h.line);
		check_host(where, at, len, launcher);
	}
}
