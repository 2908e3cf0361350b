/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is meant by -host and -hostfile: scripts that only ever name this machine need no other
 * launcher. */
#include "mpirun.h"

#include "base/prefix.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_MAX 256

/* Of NAME[:SLOTS], ADDRESS[:SLOTS], IPV6 or [IPV6][:SLOTS] what is in front of SLOTS, without
 * brackets. */
static void
copy_host(const char *word, size_t len, char host[HOST_MAX])
{
	const char *colon = memchr(word, ':', len), *end = memchr(word, ']', len);

	if (end && *word == '[')
		len = (size_t)(end - ++word);
	else if (colon && !memchr(colon + 1, ':', len - (size_t)(colon + 1 - word)))
		len = (size_t)(colon - word);
	snprintf(host, HOST_MAX, "%.*s", (int)len, word);
}

static bool
read_literal(const char *host, struct base_prefix *at)
{
	return !strchr(host, '/') && base_prefix_parse(host, strlen(host), at);
}

/* Does an interface of this machine have it? */
static bool
address_is_here(const struct base_prefix *at)
{
	struct ifaddrs *all;
	bool here = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *i = all; i && !here; i = i->ifa_next) {
		const struct sockaddr_in *v4 = (const void *)i->ifa_addr;
		const struct sockaddr_in6 *v6 = (const void *)i->ifa_addr;
		uint8_t own[16];
		if (!v4 || (v4->sin_family != AF_INET && v4->sin_family != AF_INET6))
			continue;
		if (v4->sin_family == AF_INET)
			base_prefix_v4(ntohl(v4->sin_addr.s_addr), own);
		else
			memcpy(own, &v6->sin6_addr, sizeof own);
		here = memcmp(at->addr, own, sizeof own) == 0;
	}
	freeifaddrs(all);
	return here;
}

/* Is it this machine's?  Names with and without a domain. */
static bool
is_here(const char *name)
{
	static const char *const always[] = {"localhost", "127.0.0.1", "::1"};
	char own[256] = "";
	size_t len = strlen(name);
	struct base_prefix at;

	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		if (strcmp(always[i], name) == 0)
			return true;
	if (read_literal(name, &at))
		return address_is_here(&at);
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
		size_t word = strcspn(list, ",");
		char host[HOST_MAX];
		copy_host(list, word, host);
		if (!is_here(host))
			return false;
		list += word + (list[word] == ',');
	}
	return true;
}

/* Else the program ends: another launcher would say it in a page of its own. */
static void
check_host(const char *where, const char *word, size_t len, const char *launcher)
{
	char name[HOST_MAX];
	struct addrinfo *found = NULL;
	struct base_prefix at;

	copy_host(word, len, name);
	if (strchr(name, ':') && read_literal(name, &at))
		mpirun_fail("%s: %s is an IPv6 address, and other launchers take those by name "
			    "alone; fix: give it a name (/etc/hosts) and say that, or --launcher "
			    "%s if that takes it",
			    where, name, launcher);
	int e = *name ? getaddrinfo(name, NULL, NULL, &found) : 0;
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
		check_host("-host", list, word, launcher);
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

/* The first word of the next line that has one, of len bytes; NULL: that was all, and it is
 * closed. */
static const char *
next_host(struct hostfile *h, size_t *len)
{
	while (getline(&h->text, &h->cap, h->file) >= 0) {
		const char *at = h->text + strspn(h->text, " \t\r\n");
		h->line++;
		*len = strcspn(at, " \t\r\n#");
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

	for (const char *at; (at = next_host(&h, &len)); named++) {
		char host[HOST_MAX];
		copy_host(at, len, host);
		here = here && is_here(host);
	}
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
