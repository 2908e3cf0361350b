/* SPDX-License-Identifier: BSD-2-Clause */
/* How the processes of several sites learn each other's doors: lanes to rank 0 on which each says
 * one block, and gets one (mmp/meet.h; doc/mmp.md, Sites). */
#include "mmp_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On a direct path, where labels are ranks. */
#define DIRECT_LABEL (1u << 24)
#define WINDOW	     64u
#define LOOK_NS	     (100 * BASE_MS_NS)
#define WORD_COOKIE  MMP_FAR_WORD

/* A lane of the meeting. */
struct mmp_talk {
	uint8_t *in; /* NULL: it is none */
	uint64_t bytes, room;
	uint32_t rank;	      /* rank 0: who is there; NONE: not known */
	uint32_t site, label; /* rank 0: of his door there; NONE */
};

/* ---- LIBMMP_MEET ---- */

static bool
is_address(const char *text)
{
	return strncmp(text, DOOR_TEXT_PREFIX, strlen(DOOR_TEXT_PREFIX)) == 0;
}

/* Whole or not at all; the address is a secret. */
static int
write_file(const char *file, const char *text)
{
	char part[512];
	int n = snprintf(part, sizeof part, "%s.part", file);
	if (n < 0 || (size_t)n >= sizeof part) {
		errno = ENAMETOOLONG;
		return -1;
	}
	(void)unlink(part);
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	bool good = dprintf(fd, "%s\n", text) > 0;
	int err = errno;
	good = close(fd) == 0 && good;
	if (good && rename(part, file) == 0)
		return 0;
	err = good ? errno : err;
	(void)unlink(part);
	errno = err;
	return -1;
}

static bool
read_meet_file(struct mmp *m, char out[DOOR_TEXT_MAX + 2])
{
	FILE *f = fopen(m->env.meet, "re");
	bool good = f && fgets(out, DOOR_TEXT_MAX + 2, f);
	if (!good)
		snprintf(m->sites->why, WHY_MAX, "LIBMMP_MEET=%.60s: %s", m->env.meet,
			 f ? "is empty" : strerror(errno));
	else
		out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
	return good;
}

void
mmp_meeting_opened(struct mmp *m)
{
	char text[DOOR_TEXT_MAX];
	const char *file = m->env.meet;
	struct mmp_sites *s = m->sites;
	struct mmp_card *me = &s->card[m->job.rank];
	/* Rank 0 knows others by what they said first; that they moved since they say to all. */
	if (m->job.rank && me->ndoor) {
		if (m->peer[0].up)
			mmp_meeting_at_path(m, m->peer[0].path);
		return;
	}
	*me = (struct mmp_card){.share = mmp_engine_share(m->engine), .threaded = m->threaded};
	_Static_assert(DOOR_ADDRESS_MAX <= MMP_MEET_DOOR, "an address fits");
	me->ndoor = (uint8_t)door_address_encode(&s->away->own[0].at, me->door);
	if (m->job.rank) {
		snprintf(s->why, WHY_MAX, "rank 0 has not answered");
		if (m->peer[0].up)
			mmp_meeting_at_path(m, m->peer[0].path);
		return;
	}
	s->meet->card[0] = *me;
	(void)door_address_print(&s->away->own[0].at, text);
	if (!strcmp(file, "-"))
		fprintf(stderr, "libmmp: LIBMMP_MEET=%s\n", text);
	else if (write_file(file, text))
		mmp_sites_fail(m, "LIBMMP_MEET=%.60s cannot be written: %s", file, strerror(errno));
	s->told = true;
}

uint64_t
mmp_meeting_look(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	char text[DOOR_TEXT_MAX + 2];
	struct door_address at;
	if (!m->job.rank || s->known || s->failed || !m->peer[0].elsewhere ||
	    s->away->rank[0].import != NONE)
		return BASE_NEVER_NS;
	if (m->now_ns < s->read_ns)
		return s->read_ns;
	s->read_ns = m->now_ns + LOOK_NS;
	if (is_address(m->env.meet))
		snprintf(text, sizeof text, "%s", m->env.meet);
	else if (!read_meet_file(m, text))
		return s->read_ns;
	int err = door_address_parse(text, &at);
	if (!err && at.realm != s->away->conf.realm)
		mmp_sites_fail(m, "LIBMMP_MEET: rank 0 has another LIBMMP_REALM");
	else if (!err)
		(void)mmp_away_import(s->away, 0, &at);
	else
		snprintf(s->why, WHY_MAX, "LIBMMP_MEET=%.20s: %.80s", m->env.meet,
			 door_strerror(err));
	return s->read_ns;
}

const char *
mmp_meeting_waits(const struct mmp *m, char out[WHY_MAX])
{
	const struct mmp_sites *s = m->sites;
	uint32_t first = s->meet ? mmp_meet_missing(s->meet) : m->job.size;
	if (s->told && first < m->job.size)
		snprintf(out, WHY_MAX,
			 "%u of %u processes have not said that they are there; the "
			 "first is rank %u",
			 m->job.size - s->meet->there, m->job.size, first);
	else
		snprintf(out, WHY_MAX, "%s", s->why);
	return out;
}

/* ---- lanes ---- */

static bool
open_talk(struct mmp *m, struct suci_lane_conf *c, uint32_t *lane)
{
	struct mmp_sites *s = m->sites;
	uint64_t room = m->job.rank ? MMP_TABLE_BYTES(m->job.size) : MMP_HERE_BYTES;
	uint8_t *in = malloc(room);
	c->window = WINDOW;
	if (!in || suci_lane_open(m->lanes.lanes, c, lane, m->now_ns)) {
		free(in);
		return false;
	}
	s->talk[*lane] = (struct mmp_talk){
		.in = in, .room = room, .rank = NONE, .site = NONE, .label = NONE};
	return true;
}

static void
close_talk(struct mmp *m, uint32_t lane)
{
	free(m->sites->talk[lane].in);
	m->sites->talk[lane] = (struct mmp_talk){.rank = NONE};
}

static bool
open_door_talk(struct mmp *m, uint32_t path, uint32_t own, uint32_t label, uint32_t *lane)
{
	const struct mmp_away *a = m->sites->away;
	uint32_t site = mmp_away_at(a, path);
	struct suci_lane_conf c = {.path = path,
				   .tx_dst_label = label,
				   .tx_src_label = own,
				   .rx_dst_label = own,
				   .rx_src_label = label,
				   .direct = true};
	if (site != NONE)
		c = door_sites_lane(&a->sites, site, own, label);
	return open_talk(m, &c, lane);
}

static void
say_here(struct mmp *m, uint32_t path, uint32_t own, uint32_t label)
{
	struct mmp_sites *s = m->sites;
	uint8_t b[MMP_HERE_BYTES];
	struct mmp_here h = {.rank = m->job.rank,
			     .size = m->job.size,
			     .job = m->job.meet_id,
			     .card = s->card[m->job.rank]};
	if (s->lane != NONE || s->known || !open_door_talk(m, path, own, label, &s->lane))
		return;
	mmp_here_put(b, &h);
	(void)suci_lane_send(m->lanes.lanes, s->lane, b, sizeof b, NULL, 0, false, WORD_COOKIE,
			     m->now_ns);
	m->dirty = true;
	snprintf(s->why, WHY_MAX, "rank 0 is there, and not all others are");
}

void
mmp_meeting_at_door(struct mmp *m, uint32_t label)
{
	const struct mmp_away *a = m->sites->away;
	say_here(m, a->sites.site[a->own[0].home].path, a->own[0].at.label + MMP_AWAY_MEETING,
		 label + MMP_AWAY_MEETING);
}

void
mmp_meeting_at_path(struct mmp *m, uint32_t path)
{
	if (m->sites->away->own[0].state == DOOR_CLIENT_HAVE)
		say_here(m, path, DIRECT_LABEL + m->job.rank, DIRECT_LABEL);
}

void
mmp_meeting_lost(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	uint32_t lane = s->lane;
	if (lane == NONE || !m->peer[0].elsewhere)
		return;
	s->lane = NONE;
	close_talk(m, lane);
	suci_lane_close(m->lanes.lanes, lane, m->now_ns);
}

enum suci_verdict
mmp_meeting_came(struct mmp *m, uint32_t path, uint32_t dst, uint32_t src)
{
	struct mmp_sites *s = m->sites;
	uint32_t site = mmp_away_at(s->away, path), lane;
	uint32_t peer = site != NONE ? NONE : m->lanes.path_peer[path];
	if (m->job.rank || s->failed)
		return SUCI_DROPPED;
	if (site == NONE) {
		if (peer == NONE || dst != DIRECT_LABEL || src != DIRECT_LABEL + peer)
			return SUCI_DROPPED;
		if (!s->told)
			return SUCI_REFUSED;
	} else if (!door_client_hold(&s->away->client, site, src - MMP_AWAY_MEETING)) {
		return SUCI_DROPPED; /* it sends again, and there may be room then */
	}
	if (!open_door_talk(m, path, dst, src, &lane))
		return SUCI_DROPPED;
	s->talk[lane].site = site;
	s->talk[lane].label = site == NONE ? NONE : src - MMP_AWAY_MEETING;
	return SUCI_TAKEN;
}

void
mmp_meeting_left(struct mmp *m, uint32_t site, uint32_t label)
{
	for (uint32_t i = 0; i < m->lanes_max; i++) {
		const struct mmp_talk *t = &m->sites->talk[i];
		if (!t->in || t->site != site || t->label != label)
			continue;
		close_talk(m, i);
		suci_lane_close(m->lanes.lanes, i, m->now_ns);
	}
}

bool
mmp_meeting_has(const struct mmp *m, uint32_t lane)
{
	return m->sites->talk[lane].in != NULL;
}

void
mmp_meeting_lane_down(struct mmp *m, uint32_t lane)
{
	if (m->sites->lane == lane)
		m->sites->lane = NONE;
	close_talk(m, lane);
}

/* ---- blocks ---- */

void *
mmp_meeting_block(struct mmp *m, uint32_t lane, uint64_t bytes)
{
	struct mmp_talk *t = &m->sites->talk[lane];
	t->bytes = bytes;
	return t;
}

void
mmp_meeting_data(struct mmp *m, uint32_t lane, uint64_t off, const uint8_t *data, size_t len)
{
	const struct mmp_talk *t = &m->sites->talk[lane];
	if (off <= t->room && len <= t->room - off)
		memcpy(t->in + off, data, len);
}

static void
say_table(struct mmp *m, uint32_t lane)
{
	const uint8_t *t = m->sites->table;
	size_t n = MMP_TABLE_BYTES(m->job.size),
	       head = SUCI_BLOCK_HEAD_MAX < n ? SUCI_BLOCK_HEAD_MAX : n;
	(void)suci_lane_send(m->lanes.lanes, lane, t, head, t + head, n - head, false, WORD_COOKIE,
			     m->now_ns);
	m->dirty = true;
}

bool
mmp_meeting_again(struct mmp *m, uint32_t lane, const uint8_t *in, size_t len)
{
	struct mmp_sites *s = m->sites;
	uint32_t rank;
	if (!s->table || mmp_meet_take(s->meet, in, len, &rank))
		return false;
	say_table(m, lane);
	return true;
}

/* To all. */
static void
send_doors(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	s->table = malloc(MMP_TABLE_BYTES(m->job.size));
	if (!s->table) {
		mmp_sites_fail(m, "out of memory");
		return;
	}
	mmp_meet_table(s->meet, s->table);
	memcpy(s->card, s->meet->card, m->job.size * sizeof *s->card);
	for (uint32_t lane = 0; lane < m->lanes_max; lane++)
		if (s->talk[lane].in && s->talk[lane].rank != NONE)
			say_table(m, lane);
	mmp_sites_know(m);
}

static void
meet_caller(struct mmp *m, uint32_t lane)
{
	struct mmp_sites *s = m->sites;
	struct mmp_talk *t = &s->talk[lane];
	uint8_t no[MMP_NO_MAX];
	uint32_t rank;
	const char *why = mmp_meet_take(s->meet, t->in, t->bytes, &rank);
	if (why) {
		size_t n = mmp_meet_no(no, why);
		(void)suci_lane_send(m->lanes.lanes, lane, no, n, NULL, 0, false, WORD_COOKIE,
				     m->now_ns);
		m->dirty = true;
		return;
	}
	t->rank = rank;
	if (mmp_meet_missing(s->meet) == m->job.size)
		send_doors(m);
}

void
mmp_meeting_block_end(struct mmp *m, uint32_t lane)
{
	struct mmp_sites *s = m->sites;
	struct mmp_talk *t = &s->talk[lane];
	char why[MMP_MEET_WHY];
	if (t->bytes > t->room)
		t->bytes = 0;
	if (s->failed || s->known)
		return;
	if (!m->job.rank)
		meet_caller(m, lane);
	else if (mmp_answer_get(t->in, t->bytes, m->job.size, s->card, why))
		mmp_sites_know(m);
	else
		mmp_sites_fail(m, "rank 0 does not let us in: %s", why);
}

/* ---- beginning and end ---- */

int
mmp_meeting_begin(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	struct mmp_card nothing = {.share = 1, .ndoor = 1};
	void *mem;
	s->talk = calloc(m->lanes_max, sizeof *s->talk);
	if (!s->talk)
		return mmp_fail(ENOMEM, "out of memory");
	if (m->job.rank)
		return 0;
	if (is_address(m->env.meet))
		return mmp_fail(EINVAL,
				"this is rank 0: LIBMMP_MEET has to be a file for its door's "
				"address, or - to print it");
	mem = calloc(1, mmp_meet_footprint(m->job.size));
	if (!mem)
		return mmp_fail(ENOMEM, "out of memory");
	s->meet_mem = mem;
	s->meet = mmp_meet_new(mem, m->job.size, m->job.meet_id, &nothing);
	return 0;
}

void
mmp_meeting_end(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	for (uint32_t i = 0; s->talk && i < m->lanes_max; i++)
		free(s->talk[i].in);
	free(s->talk);
	free(s->table);
	free(s->meet_mem);
}
