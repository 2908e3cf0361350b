/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is in the job: the launcher's word, or a file with a line for each process. */
#include "private.h"

#include "boot.h"

#include "base/bytes.h"
#include "base/siphash.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CONTACT	      "libmmp.contact"
#define CONTACT_BYTES 14

/* A number of the environment, with an optional K, M or G; -1: said why. */
static int
env_number(const char *name, uint64_t least, uint64_t most, uint64_t *out)
{
	const char *text = getenv(name);
	char *end;
	if (!text || !*text)
		return 0;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);
	unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	end += shift != 0;
	if (errno || end == text || *end || *text == '-' || v > UINT64_MAX >> shift ||
	    v << shift < least || v << shift > most)
		return mmp_fail(EINVAL, "%s=%.40s is not a number from %llu to %llu", name, text,
				(unsigned long long)least, (unsigned long long)most);
	*out = v << shift;
	return 0;
}

static int
env_words(const char *name, const char *no, const char *yes, int *out)
{
	const char *text = getenv(name);
	if (!text || !*text)
		return 0;
	if (strcmp(text, no) && strcmp(text, yes))
		return mmp_fail(EINVAL, "%s=%.40s is neither %s nor %s", name, text, no, yes);
	*out = strcmp(text, yes) == 0;
	return 0;
}

int
mmp_env_read(struct mmp_env *e)
{
	int share = 1, huge = 0;
	uint64_t spin_us = 50, mtu = 0;
	*e = (struct mmp_env){.area_bytes = 32u << 20,
			      .fragment = 64u << 10,
			      .fragment_near = 64u << 10,
			      .start_s = MMP_START_S,
			      .silence_s = 600,
			      .thread = -1};
	if (env_number("LIBMMP_AREA", 64u << 10, UINT64_C(1) << 36, &e->area_bytes) ||
	    env_number("LIBMMP_FRAGMENT", MMP_FRAGMENT_LEAST, MMP_FRAGMENT_MAX, &e->fragment) ||
	    env_number("LIBMMP_START_S", 1, 1000000, &e->start_s) ||
	    env_number("LIBMMP_SILENCE_S", 1, 1000000, &e->silence_s) ||
	    env_number("LIBMMP_SPIN_US", 0, 1000000, &spin_us) ||
	    env_number("LIBMMP_MTU", 0, 65000, &mtu) ||
	    env_words("LIBMMP_PROGRESS", "inline", "thread", &e->thread) ||
	    env_words("LIBMMP_SHM", "0", "1", &share) ||
	    env_words("LIBMMP_HUGE_PAGES", "0", "1", &huge))
		return -1;
	if (mtu && mtu < 1200)
		return mmp_fail(EINVAL, "LIBMMP_MTU=%u is less than 1200", (unsigned)mtu);
	e->by_hand = getenv("LIBMMP_FRAGMENT") != NULL;
	e->key_file = getenv("LIBMMP_KEY_FILE");
	if (e->key_file && !*e->key_file)
		e->key_file = NULL;
	if (e->by_hand)
		e->fragment_near = e->fragment;
	e->share = share;
	e->huge = huge;
	e->spin_ns = spin_us * BASE_US_NS;
	e->mtu = (uint32_t)mtu;
	return 0;
}

/* ---- a hosts file ---- */

static int
read_line(struct mmp_job *j, const char *file, unsigned number, const char *line)
{
	char ip[64], more[8];
	unsigned port;
	struct mmp_place *p = &j->place[j->size];
	int n = sscanf(line, "%63s %u %7s", ip, &port, more);
	if (n <= 0 || ip[0] == '#')
		return 0;
	if (n != 2 || inet_pton(AF_INET, ip, p->ip) != 1 || port < 1 || port > 65535)
		return mmp_fail(EINVAL,
				"%.100s:%u: \"%.60s\" is not an IPv4 address and a port from 1 to "
				"65535",
				file, number, line);
	if (j->size == RANKS_MAX)
		return mmp_fail(EINVAL, "%.100s: more than %u processes", file, RANKS_MAX);
	p->port = (uint16_t)port;
	for (uint32_t i = 0; i < j->size; i++)
		if (!memcmp(j->place[i].ip, p->ip, 4) && j->place[i].port == p->port)
			return mmp_fail(EINVAL, "%.100s:%u: %s %u is there twice", file, number, ip,
					port);
	j->size++;
	return 0;
}

static int
read_hosts(struct mmp_job *j, const char *file)
{
	char line[256];
	unsigned number = 0;
	FILE *f = fopen(file, "re");
	int err = 0;
	if (!f)
		return mmp_fail(errno, "%.200s: %s", file, strerror(errno));
	j->place = calloc(RANKS_MAX + 1, sizeof *j->place);
	if (!j->place) {
		fclose(f);
		return mmp_fail(ENOMEM, "out of memory");
	}
	while (!err && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		err = read_line(j, file, ++number, line);
	}
	fclose(f);
	if (err)
		return -1;
	uint64_t rank = UINT64_MAX;
	if (!j->size)
		return mmp_fail(EINVAL, "%.200s names no process", file);
	if (env_number("LIBMMP_RANK", 0, j->size - 1, &rank))
		return -1;
	if (rank == UINT64_MAX)
		return mmp_fail(EINVAL,
				"LIBMMP_RANK is not set: which line of %.100s is this "
				"process, from 0?",
				file);
	j->rank = (uint32_t)rank;
	/* Who has the same list is of the job. */
	static const uint8_t key[16] = "libmmp hosts 01";
	j->id = base_siphash(key, j->place, j->size * sizeof *j->place);
	return 0;
}

int
mmp_job_begin(struct mmp_job *j, const char *hosts)
{
	struct lmpi_boot b;
	*j = (struct mmp_job){0};
	if (hosts)
		return read_hosts(j, hosts);
	lmpi_boot_as("libmmp");
	if (lmpi_boot_init(&b))
		return mmp_fail(EIO, "the launcher (PMIx) does not tell who is in the job");
	j->launched = b.launched;
	j->rank = b.rank;
	j->size = b.size;
	free(b.node_peer);
	if (j->size > RANKS_MAX)
		return mmp_fail(EINVAL, "%u processes are more than %u", j->size, RANKS_MAX);
	j->place = calloc(j->size, sizeof *j->place);
	if (!j->place)
		return mmp_fail(ENOMEM, "out of memory");
	char other[64];
	/* Any process of another node will do. */
	lmpi_boot_node_of(j->rank ? 0 : j->size - 1, other);
	if (lmpi_choose_address(NULL, other, j->place[j->rank].ip))
		return mmp_fail(EADDRNOTAVAIL, "no address that the other nodes reach; see above");
	return 0;
}

int
mmp_job_meet(struct mmp_job *j, uint16_t port)
{
	uint8_t mine[CONTACT_BYTES], *got;
	size_t len;
	if (!j->launched)
		return 0;
	j->place[j->rank].port = port;
	memcpy(mine, j->place[j->rank].ip, 4);
	be16_store(mine + 4, port);
	if (getrandom(mine + 6, 8, 0) != 8)
		return mmp_fail(EIO, "no random numbers");
	if (lmpi_boot_put(CONTACT, mine, sizeof mine) || lmpi_boot_fence(true, NULL))
		return mmp_fail(EIO, "the launcher (PMIx) does not pass on contacts");
	for (uint32_t i = 0; i < j->size; i++) {
		if (lmpi_boot_get(i, CONTACT, (void **)&got, &len) || len != CONTACT_BYTES)
			return mmp_fail(EIO, "the launcher (PMIx) has no contact of rank %u", i);
		memcpy(j->place[i].ip, got, 4);
		j->place[i].port = be16_load(got + 4);
		j->id = i ? j->id : be64_load(got + 6);
		free(got);
	}
	return 0;
}

void
mmp_job_end(struct mmp_job *j)
{
	if (j->launched)
		lmpi_boot_fini();
	free(j->place);
	j->place = NULL;
}
