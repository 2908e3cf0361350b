/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of libraft as frames, big-endian:
 *
 *   u8 version, u8 type, u16 0, u64 term, u64 stamp, u64 echo, then by type
 *
 *   APPEND_ENTRIES	    u64 prev index, u64 prev term, u64 commit, u32 n, n of {u64 term,
 *			    u8 type, u32 length}, bytes of all
 *   APPEND_ENTRIES_RESULT  u64 rejected, u64 last index
 *   REQUEST_VOTE	    u64 candidate, u64 last index, u64 last term, u8 bits
 *   REQUEST_VOTE_RESULT    u8 granted, u8 pre-vote, u32 idle time of the voter in us
 *   INSTALL_SNAPSHOT	    u64 index, u64 term, u64 index of the configuration, state
 *   TIMEOUT_NOW	    is never sent */
#include "internal.h"

#include "base/bytes.h"
#include "base/clock.h"

#define VERSION	    0x71
#define HEAD	    28u
#define ENTRIES_MAX 65536u

#define BIT_DISRUPT 1u
#define BIT_PREVOTE 2u

uint64_t
quorum_frame_term(const struct raft_message *m)
{
	switch (m->type) {
	case RAFT_IO_APPEND_ENTRIES:
		return m->append_entries.term;
	case RAFT_IO_APPEND_ENTRIES_RESULT:
		return m->append_entries_result.term;
	case RAFT_IO_REQUEST_VOTE:
		return m->request_vote.term;
	case RAFT_IO_REQUEST_VOTE_RESULT:
		return m->request_vote_result.term;
	default:
		return m->install_snapshot.term;
	}
}

static size_t
body_bytes(const struct raft_message *m)
{
	size_t len = 28;

	switch (m->type) {
	case RAFT_IO_APPEND_ENTRIES:
		for (unsigned i = 0; i < m->append_entries.n_entries; i++)
			len += 13 + m->append_entries.entries[i].buf.len;
		return len;
	case RAFT_IO_APPEND_ENTRIES_RESULT:
		return 16;
	case RAFT_IO_REQUEST_VOTE:
		return 25;
	case RAFT_IO_REQUEST_VOTE_RESULT:
		return 6;
	case RAFT_IO_INSTALL_SNAPSHOT:
		return 24 + m->install_snapshot.data.len;
	default:
		return SIZE_MAX;
	}
}

static void
write_append(struct base_writer *w, const struct raft_append_entries *a)
{
	base_write_be64(w, a->prev_log_index);
	base_write_be64(w, a->prev_log_term);
	base_write_be64(w, a->leader_commit);
	base_write_be32(w, a->n_entries);
	for (unsigned i = 0; i < a->n_entries; i++) {
		base_write_be64(w, a->entries[i].term);
		base_write_u8(w, (uint8_t)a->entries[i].type);
		base_write_be32(w, (uint32_t)a->entries[i].buf.len);
	}
	for (unsigned i = 0; i < a->n_entries; i++) {
		const struct raft_buffer *buf = &a->entries[i].buf;
		uint8_t *p = base_write_room(w, buf->len);
		/* libraft does not say what is in a barrier: memory of whatever was there. */
		if (p && a->entries[i].type == RAFT_BARRIER)
			memset(p, 0, buf->len);
		else if (p && buf->len)
			memcpy(p, buf->base, buf->len);
	}
}

static void
write_message_body(struct base_writer *w, const struct raft_message *m, uint64_t idle_ns)
{
	switch (m->type) {
	case RAFT_IO_APPEND_ENTRIES:
		write_append(w, &m->append_entries);
		break;
	case RAFT_IO_APPEND_ENTRIES_RESULT:
		base_write_be64(w, m->append_entries_result.rejected);
		base_write_be64(w, m->append_entries_result.last_log_index);
		break;
	case RAFT_IO_REQUEST_VOTE:
		base_write_be64(w, m->request_vote.candidate_id);
		base_write_be64(w, m->request_vote.last_log_index);
		base_write_be64(w, m->request_vote.last_log_term);
		base_write_u8(w, (uint8_t)((m->request_vote.disrupt_leader ? BIT_DISRUPT : 0) |
					   (m->request_vote.pre_vote ? BIT_PREVOTE : 0)));
		break;
	case RAFT_IO_REQUEST_VOTE_RESULT:
		base_write_u8(w, m->request_vote_result.vote_granted);
		base_write_u8(w, m->request_vote_result.pre_vote == raft_tribool_true);
		base_write_be32(w, (uint32_t)base_min_ns(idle_ns / BASE_US_NS, UINT32_MAX));
		break;
	default:
		base_write_be64(w, m->install_snapshot.last_index);
		base_write_be64(w, m->install_snapshot.last_term);
		base_write_be64(w, m->install_snapshot.conf_index);
		base_write_bytes(w, m->install_snapshot.data.base, m->install_snapshot.data.len);
	}
}

size_t
quorum_frame_write(struct quorum_bytes *b, const struct raft_message *m,
		   const struct quorum_stamps *s)
{
	size_t body = body_bytes(m);
	uint8_t *p = body == SIZE_MAX ? NULL : quorum_room(b, HEAD + body);

	if (!p)
		return 0;
	struct base_writer w = base_writer(p, HEAD + body);
	base_write_u8(&w, VERSION);
	base_write_u8(&w, (uint8_t)m->type);
	base_write_be16(&w, 0);
	base_write_be64(&w, quorum_frame_term(m));
	base_write_be64(&w, s->stamp);
	base_write_be64(&w, s->echo);
	write_message_body(&w, m, s->idle_ns);
	return HEAD + body;
}

/* --- reading --------------------------------------------------------------- */

/* Entries and their bytes; libraft frees the one piece of all bytes when none of them is in use. */
static bool
parse_entries(struct base_reader *r, struct raft_append_entries *a)
{
	struct base_reader head = *r;
	size_t all = 0;

	if (a->n_entries > ENTRIES_MAX || !base_read_bytes(r, 13 * (size_t)a->n_entries))
		return false;
	for (unsigned i = 0; i < a->n_entries; i++) {
		base_read_bytes(&head, 9);
		all += base_read_be32(&head);
	}
	if (all != base_reader_left(r))
		return false;
	if (a->n_entries == 0)
		return true;
	a->entries = raft_calloc(a->n_entries, sizeof *a->entries);
	uint8_t *batch = raft_malloc(all ? all : 1);
	if (!a->entries || !batch) {
		raft_free(a->entries);
		raft_free(batch);
		a->entries = NULL;
		return false;
	}
	head.at -= 13 * (size_t)a->n_entries;
	if (all)
		memcpy(batch, base_read_bytes(r, all), all);
	bool good = true;
	for (size_t i = 0, at = 0; i < a->n_entries; i++) {
		struct raft_entry *e = &a->entries[i];
		e->term = base_read_be64(&head);
		e->type = base_read_u8(&head);
		e->buf.len = base_read_be32(&head);
		e->buf.base = batch + at;
		e->batch = batch;
		at += e->buf.len;
		good &= e->term > 0 && e->type >= RAFT_COMMAND && e->type <= RAFT_CHANGE;
	}
	return good;
}

static bool
parse_snapshot(struct base_reader *r, struct raft_install_snapshot *s)
{
	s->last_index = base_read_be64(r);
	s->last_term = base_read_be64(r);
	s->conf_index = base_read_be64(r);
	size_t len = base_reader_left(r);
	if (!base_reader_ok(r) || s->last_index == 0 || s->last_term == 0 || s->conf_index == 0 ||
	    s->conf_index > s->last_index)
		return false;
	s->data = (struct raft_buffer){raft_malloc(len ? len : 1), len};
	if (s->data.base && len)
		memcpy(s->data.base, base_read_bytes(r, len), len);
	return s->data.base != NULL;
}

static bool
parse_vote(struct base_reader *r, struct raft_message *m, uint64_t term)
{
	struct raft_request_vote *v = &m->request_vote;

	v->term = term;
	v->candidate_id = base_read_be64(r);
	v->last_log_index = base_read_be64(r);
	v->last_log_term = base_read_be64(r);
	uint8_t bits = base_read_u8(r);
	v->disrupt_leader = bits & BIT_DISRUPT;
	v->pre_vote = bits & BIT_PREVOTE;
	return v->candidate_id > 0 && v->candidate_id <= QUORUM_VOTERS_MAX &&
	       bits <= (BIT_DISRUPT | BIT_PREVOTE);
}

static bool
parse_body(struct base_reader *r, struct raft_message *m, uint64_t term, uint64_t *idle_ns)
{
	switch (m->type) {
	case RAFT_IO_APPEND_ENTRIES:
		m->append_entries.term = term;
		m->append_entries.prev_log_index = base_read_be64(r);
		m->append_entries.prev_log_term = base_read_be64(r);
		m->append_entries.leader_commit = base_read_be64(r);
		m->append_entries.n_entries = base_read_be32(r);
		return base_reader_ok(r) && parse_entries(r, &m->append_entries);
	case RAFT_IO_APPEND_ENTRIES_RESULT:
		m->append_entries_result.term = term;
		m->append_entries_result.rejected = base_read_be64(r);
		m->append_entries_result.last_log_index = base_read_be64(r);
		return true;
	case RAFT_IO_REQUEST_VOTE:
		return parse_vote(r, m, term);
	case RAFT_IO_REQUEST_VOTE_RESULT: {
		uint8_t granted = base_read_u8(r), pre = base_read_u8(r);
		*idle_ns = base_read_be32(r) * BASE_US_NS;
#ifdef RAFT_VERSION_NUMBER
		/* libraft 0.22 counts a vote of version 1, which does not tell the two apart, as
		 * one for this term even if it was a pre-vote. */
		m->request_vote_result.version = 2;
#endif
		m->request_vote_result.term = term;
		m->request_vote_result.vote_granted = granted;
		m->request_vote_result.pre_vote = TO_RAFT_TRIBOOL(pre);
		return granted <= 1 && pre <= 1;
	}
	case RAFT_IO_INSTALL_SNAPSHOT:
		m->install_snapshot.term = term;
		return parse_snapshot(r, &m->install_snapshot);
	default:
		return false;
	}
}

void
quorum_frame_drop(struct raft_message *m)
{
	if (m->type == RAFT_IO_APPEND_ENTRIES && m->append_entries.entries) {
		raft_free(m->append_entries.entries[0].batch);
		raft_free(m->append_entries.entries);
	} else if (m->type == RAFT_IO_INSTALL_SNAPSHOT) {
		raft_free(m->install_snapshot.data.base);
	}
}

bool
quorum_frame_parse(const uint8_t *p, size_t len, struct raft_message *m, struct quorum_stamps *s)
{
	struct base_reader r = base_reader(p, len);

	memset(m, 0, sizeof *m);
	uint8_t version = base_read_u8(&r);
	m->type = base_read_u8(&r);
	uint16_t zero = base_read_be16(&r);
	uint64_t term = base_read_be64(&r);
	s->stamp = base_read_be64(&r);
	s->echo = base_read_be64(&r);
	s->idle_ns = 0;
	if (!base_reader_ok(&r) || version != VERSION || zero || term == 0)
		return false;
	if (parse_body(&r, m, term, &s->idle_ns) && base_reader_ok(&r) && base_reader_left(&r) == 0)
		return true;
	quorum_frame_drop(m);
	return false;
}

bool
quorum_frame_read(const void *frame, size_t len)
{
	struct raft_message m;
	struct quorum_stamps s;

	if (!quorum_frame_parse(frame, len, &m, &s))
		return false;
	quorum_frame_drop(&m);
	return true;
}
