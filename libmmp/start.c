/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is in the job: the launcher's word, or a file with a line for each process. */
#include "mmp_internal.h"

#include "boot.h"

#include "base/bytes.h"
#include "base/siphash.h"
#include "driver/udp_name.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONTACT	      "libmmp.contact"
#define CONTACT_BYTES 26

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

/* NULL: not set, or empty. */
static const char *
env_text(const char *name)
{
	const char *text = getenv(name);
	return text && *text ? text : NULL;
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
			      .relay_s = 30,
			      .thread = -1};
	if (env_number("LIBMMP_AREA", 64u << 10, UINT64_C(1) << 36, &e->area_bytes) ||
	    env_number("LIBMMP_FRAGMENT", MMP_FRAGMENT_LEAST, MMP_FRAGMENT_MAX, &e->fragment) ||
	    env_number("LIBMMP_START_S", 1, 1000000, &e->start_s) ||
	    env_number("LIBMMP_SILENCE_S", 1, 1000000, &e->silence_s) ||
	    env_number("LIBMMP_RELAY_S", 0, 1000000, &e->relay_s) ||
	    env_number("LIBMMP_SPIN_US", 0, 1000000, &spin_us) ||
	    env_number("LIBMMP_MTU", 0, 65000, &mtu) ||
	    env_words("LIBMMP_PROGRESS", "inline", "thread", &e->thread) ||
	    env_words("LIBMMP_SHM", "0", "1", &share) ||
	    env_words("LIBMMP_HUGE_PAGES", "0", "1", &huge))
		return -1;
	if (mtu && mtu < 1200)
		return mmp_fail(EINVAL, "LIBMMP_MTU=%u is less than 1200", (unsigned)mtu);
	e->by_hand = getenv("LIBMMP_FRAGMENT") != NULL;
	e->key_file = env_text("LIBMMP_KEY_FILE");
	e->relay = env_text("LIBMMP_RELAY");
	e->meet = env_text("LIBMMP_MEET");
	e->realm = env_text("LIBMMP_REALM");
	if (e->by_hand)
		e->fragment_near = e->fragment;
	e->share = share;
	e->huge = huge;
	e->spin_ns = spin_us * BASE_US_NS;
	e->mtu = (uint32_t)mtu;
	return 0;
}

/* ---- a hosts file ---- */

/* Sites have numbers in the order of their first lines. */
#define SITE_NAME 32
struct site_names {
	char name[RANKS_MAX][SITE_NAME];
};

static uint16_t
number_site(struct mmp_job *j, struct site_names *s, const char *name)
{
	uint32_t i = 0;
	while (i < j->sites && strcmp(s->name[i], name))
		i++;
	if (i == j->sites)
		snprintf(s->name[j->sites++], SITE_NAME, "%s", name);
	return (uint16_t)i;
}

/* A socket has one family. */
static int
check_family(const struct mmp_job *j, const char *file, unsigned number)
{
	const struct mmp_place *p = &j->place[j->size];
	char here[SUCI_ADDR_TEXT_MAX], there[SUCI_ADDR_TEXT_MAX];
	for (uint32_t i = 0; i < j->size; i++) {
		const struct mmp_place *q = &j->place[i];
		if (q->site == p->site && q->at.family != p->at.family)
			return mmp_fail(EINVAL,
					"%.100s:%u: %s and %s cannot talk: give all processes of a "
					"site addresses of one kind",
					file, number, suci_addr_ip_text(&p->at, here),
					suci_addr_ip_text(&q->at, there));
	}
	return 0;
}

static int
read_line(struct mmp_job *j, struct site_names *s, const char *file, unsigned number,
	  const char *line)
{
	char ip[64], site[SITE_NAME] = "", more[8];
	unsigned port;
	struct mmp_place *p = &j->place[j->size];
	int n = sscanf(line, "%63s %u %31s %7s", ip, &port, site, more);
	if (n <= 0 || ip[0] == '#')
		return 0;
	if (n < 2 || n > 3 || !suci_addr_parse_ip(ip, strlen(ip), &p->at) || port < 1 ||
	    port > 65535)
		return mmp_fail(EINVAL,
				"%.100s:%u: \"%.60s\" is not an IP address, a port from 1 to "
				"65535, and the name of a site, if there are several",
				file, number, line);
	if (j->size == RANKS_MAX)
		return mmp_fail(EINVAL, "%.100s: more than %u processes", file, RANKS_MAX);
	p->at.port = (uint16_t)port;
	p->site = number_site(j, s, site);
	if (check_family(j, file, number))
		return -1;
	for (uint32_t i = 0; i < j->size; i++)
		if (mmp_job_same_node(j, i, j->size) && j->place[i].at.port == p->at.port)
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
	struct site_names *names = calloc(1, sizeof *names);
	if (!j->place || !names) {
		free(names);
		fclose(f);
		return mmp_fail(ENOMEM, "out of memory");
	}
	while (!err && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		err = read_line(j, names, file, ++number, line);
	}
	fclose(f);
	free(names);
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
	j->id = j->meet_id = base_siphash(key, j->place, j->size * sizeof *j->place);
	return 0;
}

/* ---- sites with a launcher each ---- */

/* LIBMMP_SITES: how many ranks each has; without it ours are all. */
static int
read_sites(struct mmp_job *j, uint32_t ours)
{
	const char *text = env_text("LIBMMP_SITES"), *at = text;
	uint64_t mine = UINT64_MAX;
	uint32_t of_mine = ours;
	char *end;
	j->ours = j->size = ours;
	j->sites = 1;
	if (!text)
		return 0;
	if (env_number("LIBMMP_SITE", 0, RANKS_MAX - 1, &mine))
		return -1;
	if (mine == UINT64_MAX)
		return mmp_fail(EINVAL,
				"LIBMMP_SITE is not set: which of LIBMMP_SITES=%.60s is this site, "
				"from 0?",
				text);
	j->size = j->sites = 0;
	do {
		unsigned long n = strtoul(at, &end, 10);
		if (end == at || *at == '-' || (*end && *end != ',') || !n || n > RANKS_MAX ||
		    j->size + n > RANKS_MAX)
			return mmp_fail(EINVAL,
					"LIBMMP_SITES=%.60s is not the ranks of each site, like "
					"4,4; %u together at most",
					text, RANKS_MAX);
		if (j->sites == mine) {
			j->first = j->size;
			of_mine = (uint32_t)n;
		}
		j->size += (uint32_t)n;
		j->sites++;
		at = end + 1;
	} while (*end);
	if (mine >= j->sites)
		return mmp_fail(EINVAL, "LIBMMP_SITE=%u: LIBMMP_SITES=%.60s are %u, from 0",
				(unsigned)mine, text, j->sites);
	if (of_mine != ours)
		return mmp_fail(EINVAL,
				"LIBMMP_SITES=%.60s says that site %u has %u ranks, and %u were "
				"started",
				text, (unsigned)mine, of_mine, ours);
	return 0;
}

static void
place_sites(struct mmp_job *j)
{
	const char *at = env_text("LIBMMP_SITES");
	uint32_t i = 0;
	char *end;
	for (uint16_t site = 0; j->sites > 1 && i < j->size; site++, at = end + 1)
		for (unsigned long n = strtoul(at, &end, 10); n && i < j->size; n--)
			j->place[i++].site = site;
}

/* The address from which we reach the first relay. */
static int
find_address_towards(const struct mmp_env *e, struct suci_addr *at)
{
	struct suci_addr a[DOOR_CLIENT_SITES];
	union udp_name to, me;
	if (!mmp_env_relays(e, a))
		return mmp_fail(EINVAL,
				"LIBMMP_RELAY=%.60s is not " MMP_RELAY_WANTED
				"; a job of several sites needs it",
				e->relay ? e->relay : "");
	sa_family_t family = a[0].family == 6 ? AF_INET6 : AF_INET;
	socklen_t len = suci_udp_name(&a[0], family, &to);
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && !connect(fd, &to.any, len) && !getsockname(fd, &me.any, &len);
	int err = errno;
	if (fd >= 0)
		close(fd);
	if (!good)
		return mmp_fail(err, "LIBMMP_RELAY=%.60s cannot be reached from here: %s", e->relay,
				strerror(err));
	*at = suci_udp_from(&me);
	at->port = 0;
	return 0;
}

const char *
mmp_job_place(const struct mmp_job *j, uint32_t rank, char out[MMP_PLACE_TEXT])
{
	const struct mmp_place *p = &j->place[rank];
	if (p->site != j->place[j->rank].site)
		snprintf(out, MMP_PLACE_TEXT, "of site %u", p->site);
	else
		suci_addr_text(&p->at, out);
	return out;
}

int
mmp_job_begin(struct mmp_job *j, const struct mmp_env *e, const char *hosts)
{
	static const uint8_t key[16] = "libmmp sites 01";
	struct lmpi_boot b;
	*j = (struct mmp_job){0};
	if (hosts)
		return read_hosts(j, hosts);
	lmpi_boot_as("libmmp");
	if (lmpi_boot_init(&b))
		return mmp_fail(EIO, "the launcher (PMIx) does not tell who is in the job");
	j->launched = b.launched;
	free(b.node_peer);
	if (b.size > RANKS_MAX)
		return mmp_fail(EINVAL, "%u processes are more than %u", b.size, RANKS_MAX);
	if (read_sites(j, b.size))
		return -1;
	j->rank = j->first + b.rank;
	j->place = calloc(j->size, sizeof *j->place);
	if (!j->place)
		return mmp_fail(ENOMEM, "out of memory");
	place_sites(j);
	if (j->sites > 1) {
		/* What a launcher passes on stays in its site. */
		const char *sites = env_text("LIBMMP_SITES");
		j->meet_id = base_siphash(key, sites, strlen(sites));
		return find_address_towards(e, &j->place[j->rank].at);
	}
	char other[64];
	/* Any process of another node will do. */
	lmpi_boot_node_of(b.rank ? 0 : b.size - 1, other);
	if (lmpi_choose_address(NULL, other, true, &j->place[j->rank].at))
		return mmp_fail(EADDRNOTAVAIL, "no address that the other nodes reach; see above");
	return 0;
}

int
mmp_job_meet(struct mmp_job *j, uint16_t port)
{
	uint8_t mine[CONTACT_BYTES], *got;
	char who[24], why[LMPI_WHY];
	size_t len;
	struct suci_addr me = j->place[j->rank].at;
	j->place[j->rank].at.port = me.port = port;
	if (!j->launched)
		return 0;
	suci_addr_16(&me, mine);
	be16_store(mine + 16, port);
	if (getrandom(mine + 18, 8, 0) != 8)
		return mmp_fail(EIO, "no random numbers");
	if (lmpi_boot_put(CONTACT, mine, sizeof mine) || lmpi_boot_fence(true, NULL))
		return mmp_fail(EIO, "the launcher (PMIx) does not pass on contacts");
	for (uint32_t i = 0; i < j->ours; i++) {
		struct mmp_place *p = &j->place[j->first + i];
		if (lmpi_boot_get(i, CONTACT, (void **)&got, &len) || len != CONTACT_BYTES)
			return mmp_fail(EIO, "the launcher (PMIx) has no contact of rank %u",
					j->first + i);
		p->at = suci_addr_of(got, be16_load(got + 16));
		j->id = i ? j->id : be64_load(got + 18);
		free(got);
		snprintf(who, sizeof who, "rank %u", j->first + i);
		if (!lmpi_addr_meets(&me, who, &p->at, why))
			return mmp_fail(EAFNOSUPPORT, "%s", why);
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
