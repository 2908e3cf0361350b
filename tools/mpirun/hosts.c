/* Who is meant by -host and -hostfile: scripts that only ever name this machine need no other
 * launcher. */
#include "mpirun.h"

#include <errno.h>
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

void
mpirun_hosts_known(const char *list)
{
	while (*list) {
		size_t word = strcspn(list, ","), len = strcspn(list, ",:");
		char name[256];
		struct addrinfo *found = NULL;
		snprintf(name, sizeof name, "%.*s", (int)len, list);
		int e = len ? getaddrinfo(name, NULL, NULL, &found) : 0;
		if (e == 0 && found)
			freeaddrinfo(found);
		else if (e)
			fprintf(stderr,
				"mpirun: -host %s: %s; unless the launcher knows it (an alias of "
				"ssh), correct the name\n",
				name, gai_strerror(e));
		list += word + (list[word] == ',');
	}
}

bool
mpirun_hostfile_here(const char *path)
{
	static const char blank[] = " \t\r\n";
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	unsigned named = 0;
	bool here = true;

	if (!f)
		mpirun_fail("%s: %s", path, strerror(errno));
	while (here && getline(&line, &cap, f) >= 0) {
		const char *at = line + strspn(line, blank);
		size_t name = strcspn(at, " \t\r\n:#");
		if (name == 0)
			continue; /* nothing, or a remark */
		named++;
		here = is_here(at, name);
	}
	free(line);
	fclose(f);
	return here && named > 0;
}
