/* SPDX-License-Identifier: BSD-2-Clause */
/* What is durable, as it is in memory, and journals: records with a head of 16 bytes each,
 * big-endian:
 *
 *   u8 'Q', u8 type, u16 0, u32 length, u32 CRC32C of the 8 bytes before and of what follows,
 *   u32 0, then length bytes:
 *
 *   TERM, VOTE	 u64		     a new term has no vote
 *   TRUNCATE	 u64 index	     entries from there on are gone
 *   ENTRIES	 u64 index, u32 n, n of {u64 term, u8 type, u32 length, bytes}
 *   SNAPSHOT	 u64 index, u64 term, u64 index of the configuration, state; no entries are left */
#include "internal.h"

#include "base/bytes.h"
#include "base/crc32c.h"

#include <stdio.h>

#define MAGIC	   0x51
#define HEAD	   16u
#define ENTRY_HEAD 13u
#define RECORD_MAX (QUORUM_STATE_MAX + 64u)

enum { TERM = 1, VOTE, TRUNCATE, ENTRIES, SNAPSHOT };

/* --- memory ---------------------------------------------------------------- */

uint8_t *
quorum_room(struct quorum_bytes *b, size_t len)
{
	if (b->room - b->len < len) {
		size_t room = 2 * b->room + len + 256;
		uint8_t *p = raft_realloc(b->p, room);
		if (!p)
			return NULL;
		b->p = p;
		b->room = room;
	}
	b->len += len;
	return b->p + b->len - len;
}

void
quorum_image_free(struct quorum_image *m)
{
	quorum_image_truncate(m, m->first);
	raft_free(m->entry);
	raft_free(m->snap);
	*m = (struct quorum_image){.first = 1};
}

void
quorum_image_truncate(struct quorum_image *m, uint64_t index)
{
	while (m->n > 0 && quorum_image_end(m) > index)
		raft_free(m->entry[--m->n].bytes);
}

void
quorum_image_drop(struct quorum_image *m, uint64_t index)
{
	size_t gone = 0;

	while (gone < m->n && m->first + gone < index)
		raft_free(m->entry[gone++].bytes);
	m->n -= gone;
	m->first += gone;
	if (gone && m->n)
		memmove(m->entry, m->entry + gone, m->n * sizeof *m->entry);
}

static void *
copy_bytes(const void *bytes, size_t len)
{
	void *p = raft_malloc(len ? len : 1);

	if (p && len)
		memcpy(p, bytes, len);
	return p;
}

bool
quorum_image_append(struct quorum_image *m, uint64_t term, unsigned type, const void *bytes,
		    size_t len)
{
	if (m->n == m->room) {
		size_t room = 2 * m->room + 16;
		struct quorum_entry *e = raft_realloc(m->entry, room * sizeof *e);
		if (!e)
			return false;
		m->entry = e;
		m->room = room;
	}
	uint8_t *own = copy_bytes(bytes, len);
	if (!own)
		return false;
	if (type == RAFT_BARRIER) /* libraft does not say what is in it */
		memset(own, 0, len);
	m->entry[m->n++] = (struct quorum_entry){term, (uint32_t)len, (uint8_t)type, own};
	return true;
}

bool
quorum_image_snapshot(struct quorum_image *m, uint64_t index, uint64_t term, uint64_t conf_index,
		      const void *bytes, size_t len)
{
	uint8_t *own = copy_bytes(bytes, len);

	if (!own)
		return false;
	raft_free(m->snap);
	m->snap = own;
	m->snap_len = len;
	m->snap_index = index;
	m->snap_term = term;
	m->snap_conf_index = conf_index;
	return true;
}

/* --- writing --------------------------------------------------------------- */

/* Closes the record that begins at head. */
static void
close_record(struct quorum_bytes *b, size_t head, uint8_t type)
{
	uint8_t *p = b->p + head;

	p[0] = MAGIC;
	p[1] = type;
	be16_store(p + 2, 0);
	be32_store(p + 4, (uint32_t)(b->len - head - HEAD));
	be32_store(p + 12, 0);
	be32_store(p + 8, base_crc32c(base_crc32c(0, p, 8), p + 12, b->len - head - 12));
}

static bool
write_numbers(struct quorum_bytes *b, uint8_t type, const uint64_t *number, size_t n,
	      const void *bytes, size_t len)
{
	size_t head = b->len;
	uint8_t *p = quorum_room(b, HEAD + 8 * n + len);

	if (!p)
		return false;
	for (size_t i = 0; i < n; i++)
		be64_store(p + HEAD + 8 * i, number[i]);
	if (len)
		memcpy(p + HEAD + 8 * n, bytes, len);
	close_record(b, head, type);
	return true;
}

bool
quorum_record_number(struct quorum_bytes *b, bool vote, uint64_t value)
{
	return write_numbers(b, vote ? VOTE : TERM, &value, 1, NULL, 0);
}

bool
quorum_record_truncate(struct quorum_bytes *b, uint64_t index)
{
	return write_numbers(b, TRUNCATE, &index, 1, NULL, 0);
}

bool
quorum_record_entries(struct quorum_bytes *b, const struct quorum_image *m, uint64_t from)
{
	size_t head = b->len, at = (size_t)(from - m->first);
	uint8_t *p = quorum_room(b, HEAD + 12);

	if (!p)
		return false;
	be64_store(p + HEAD, from);
	be32_store(p + HEAD + 8, (uint32_t)(m->n - at));
	for (size_t i = at; i < m->n; i++) {
		const struct quorum_entry *e = &m->entry[i];
		p = quorum_room(b, ENTRY_HEAD + e->len);
		if (!p)
			return false;
		be64_store(p, e->term);
		p[8] = e->type;
		be32_store(p + 9, e->len);
		if (e->len)
			memcpy(p + ENTRY_HEAD, e->bytes, e->len);
	}
	close_record(b, head, ENTRIES);
	return true;
}

bool
quorum_record_all(struct quorum_bytes *b, const struct quorum_image *m)
{
	uint64_t snap[3] = {m->snap_index, m->snap_term, m->snap_conf_index};

	return quorum_record_number(b, false, m->term) &&
	       (!m->vote || quorum_record_number(b, true, m->vote)) &&
	       (!m->snap || write_numbers(b, SNAPSHOT, snap, 3, m->snap, m->snap_len)) &&
	       (!m->n || quorum_record_entries(b, m, m->first));
}

/* --- reading --------------------------------------------------------------- */

static bool
read_entries(struct quorum_image *m, struct base_reader *r)
{
	uint64_t index = base_read_be64(r);
	uint32_t n = base_read_be32(r);

	/* Behind a snapshot entries of before it may follow. */
	if (m->n == 0 && m->snap && index >= 1 && index <= m->snap_index + 1)
		m->first = index;
	if (!base_reader_ok(r) || index != quorum_image_end(m))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t term = base_read_be64(r);
		uint8_t type = base_read_u8(r);
		uint32_t len = base_read_be32(r);
		const uint8_t *bytes = base_read_bytes(r, len);
		if (!bytes || type < RAFT_COMMAND || type > RAFT_CHANGE || term == 0 ||
		    !quorum_image_append(m, term, type, bytes, len))
			return false;
	}
	return true;
}

static bool
read_snapshot(struct quorum_image *m, struct base_reader *r)
{
	uint64_t index = base_read_be64(r), term = base_read_be64(r), conf = base_read_be64(r);
	size_t len = base_reader_left(r);

	if (!base_reader_ok(r) || index == 0 || term == 0 || conf == 0 || conf > index ||
	    !quorum_image_snapshot(m, index, term, conf, base_read_bytes(r, len), len))
		return false;
	quorum_image_truncate(m, m->first);
	m->first = index + 1;
	return true;
}

/* One record that has the right CRC; false: it does not follow from those before. */
static bool
read_record(struct quorum_image *m, uint8_t type, const uint8_t *p, size_t len)
{
	struct base_reader r = base_reader(p, len);
	uint64_t v;

	switch (type) {
	case TERM:
		v = base_read_be64(&r);
		if (v < m->term)
			return false;
		m->term = v;
		m->vote = 0;
		break;
	case VOTE:
		m->vote = base_read_be64(&r);
		if (m->vote > QUORUM_VOTERS_MAX)
			return false;
		break;
	case TRUNCATE:
		v = base_read_be64(&r);
		if (v < m->first || (m->snap && v <= m->snap_index))
			return false;
		quorum_image_truncate(m, v);
		break;
	case ENTRIES:
		if (!read_entries(m, &r))
			return false;
		break;
	case SNAPSHOT:
		if (!read_snapshot(m, &r))
			return false;
		break;
	default:
		return false;
	}
	return base_reader_ok(&r) && base_reader_left(&r) == 0;
}

/* Bytes of the record at p with its head; 0: there is no whole record. */
static size_t
whole_record(const uint8_t *p, size_t len)
{
	if (len < HEAD || p[0] != MAGIC || p[1] < TERM || p[1] > SNAPSHOT || be16_load(p + 2) ||
	    be32_load(p + 12))
		return 0;
	size_t body = be32_load(p + 4);
	if (body > RECORD_MAX || body > len - HEAD)
		return 0;
	if (be32_load(p + 8) != base_crc32c(base_crc32c(0, p, 8), p + 12, body + 4))
		return 0;
	return HEAD + body;
}

bool
quorum_image_read(struct quorum_image *m, const uint8_t *p, size_t len, size_t *used,
		  char why[QUORUM_WHY_MAX])
{
	size_t at = 0, n;

	*m = (struct quorum_image){.first = 1};
	while ((n = whole_record(p + at, len - at)) != 0) {
		if (!read_record(m, p[at + 1], p + at + HEAD, n - HEAD)) {
			snprintf(why, QUORUM_WHY_MAX,
				 "journal: the record of kind %u at byte %zu does not follow from "
				 "those before",
				 p[at + 1], at);
			quorum_image_free(m);
			return false;
		}
		at += n;
	}
	*used = at;
	/* A write is begun when the one before is durable, so only the last can be cut off. */
	for (size_t i = at + 1; i + HEAD <= len; i++)
		if (p[i] == MAGIC && whole_record(p + i, len - i)) {
			snprintf(why, QUORUM_WHY_MAX,
				 "journal: damaged at byte %zu, a good record follows at byte %zu; "
				 "what this voter has promised is not known",
				 at, i);
			quorum_image_free(m);
			return false;
		}
	return true;
}

bool
quorum_journal_read(const void *journal, size_t len, struct quorum_journal_info *info,
		    char why[QUORUM_WHY_MAX])
{
	struct quorum_image m;
	size_t used;

	if (!quorum_image_read(&m, journal, len, &used, why))
		return false;
	*info = (struct quorum_journal_info){.term = m.term,
					     .vote = m.vote,
					     .first = m.first,
					     .last = quorum_image_end(&m),
					     .snapshot = m.snap ? m.snap_index : 0,
					     .used = used};
	quorum_image_free(&m);
	return true;
}
