/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/quorum/internal.h - what the parts know of each other.
 *
 *   quorum.c   the object: time, frames, proposals, the lease
 *   io.c       the table of callbacks that libraft calls
 *   image.c    what is durable, as it is in memory; journals
 *   frame.c    messages of libraft as frames */
#ifndef QUORUM_INTERNAL_H
#define QUORUM_INTERNAL_H

#include "quorum/quorum.h"

#include "base/prng.h"

#include <raft.h>

#ifdef RAFT_VERSION_NUMBER /* since 0.22 (Debian 13): other names, and a bool of two values */
#define RAFT_IO_APPEND_ENTRIES	      RAFT_APPEND_ENTRIES
#define RAFT_IO_APPEND_ENTRIES_RESULT RAFT_APPEND_ENTRIES_RESULT
#define RAFT_IO_REQUEST_VOTE	      RAFT_REQUEST_VOTE
#define RAFT_IO_REQUEST_VOTE_RESULT   RAFT_REQUEST_VOTE_RESULT
#define RAFT_IO_INSTALL_SNAPSHOT      RAFT_INSTALL_SNAPSHOT
#define raft_tribool_true	      true
#define TO_RAFT_TRIBOOL(b)	      ((b) != 0)
#endif

/* An entry of the log, by its own memory. */
struct quorum_entry {
	uint64_t term;
	uint32_t len;
	uint8_t type;
	uint8_t *bytes;
};

/* All that is durable. */
struct quorum_image {
	uint64_t term, vote;
	uint64_t snap_index, snap_term, snap_conf_index;
	uint8_t *snap;
	size_t snap_len;
	uint64_t first; /* index of entry[0] */
	struct quorum_entry *entry;
	size_t n, room;
};

/* Bytes that are being made. */
struct quorum_bytes {
	uint8_t *p;
	size_t len, room;
};

/* What libraft wants to be called back with, when it is not on the stack. */
struct quorum_done {
	enum { QUORUM_DONE_SEND, QUORUM_DONE_APPEND, QUORUM_DONE_PUT, QUORUM_DONE_GET } kind;
	void *req;
	int status;
	union {
		raft_io_send_cb send;
		raft_io_append_cb append;
		raft_io_snapshot_put_cb put;
		raft_io_snapshot_get_cb get;
	};
};

struct quorum {
	struct quorum_conf conf;
	struct quorum_ops ops;
	void *user;
	struct raft raft;
	struct raft_io io;
	struct raft_fsm fsm;
	raft_io_tick_cb tick;
	raft_io_recv_cb recv;
	struct base_prng prng;
	uint64_t now_ns, tick_ns; /* tick_ns: the next one */
	struct quorum_image image;
	bool unknown_end; /* of the journal: something was cut off, all of it is to be replaced */
	bool down;	  /* a write failed */
	struct quorum_bytes out;
	struct quorum_done *done;
	size_t ndone, done_room;
	bool running, leads, settling,
		barred; /* barred: waiting for the barrier at the begin of a term */
	uint64_t led_term;
	struct raft_barrier barrier;
	uint64_t promised_ns; /* votes for nobody else before */
	uint64_t idle_ns; /* time in which this voter looked, had promised nothing, and not led */
	struct quorum_grant {
		uint64_t term, idle_ns, at_ns; /* at_ns: own idle_ns then */
	} grant[QUORUM_VOTERS_MAX];	       /* the last vote of each for this one */
	uint64_t vacant_ns;
	uint32_t followed;		       /* the leader that was heard last, or nobody */
	uint64_t heard[QUORUM_VOTERS_MAX];     /* stamp of the last frame of each */
	uint64_t supported[QUORUM_VOTERS_MAX]; /* own time that each echoed in this term */
	char address[QUORUM_VOTERS_MAX][4];
	struct quorum_counts count;
};

static inline raft_id
quorum_id_of(uint32_t voter)
{
	return (raft_id)voter + 1;
}

/* --- quorum.c */
uint64_t quorum_idle_ns(const struct quorum *q);

/* --- io.c */
void quorum_io_init(struct quorum *q);
void quorum_defer(struct quorum *q, const struct quorum_done *d);
/* Calls back until nothing is left. */
void quorum_flush(struct quorum *q);
int quorum_configure(const struct quorum *q, struct raft_configuration *c);

/* --- image.c */
void quorum_image_free(struct quorum_image *m);
void quorum_image_truncate(struct quorum_image *m, uint64_t index);
bool quorum_image_append(struct quorum_image *m, uint64_t term, unsigned type, const void *bytes,
			 size_t len);
bool quorum_image_snapshot(struct quorum_image *m, uint64_t index, uint64_t term,
			   uint64_t conf_index, const void *bytes, size_t len);
/* Entries before index go. */
void quorum_image_drop(struct quorum_image *m, uint64_t index);
static inline uint64_t
quorum_image_end(const struct quorum_image *m)
{
	return m->first + m->n;
}
/* Records, appended to b; false: no memory. */
bool quorum_record_number(struct quorum_bytes *b, bool vote, uint64_t value);
bool quorum_record_truncate(struct quorum_bytes *b, uint64_t index);
bool quorum_record_entries(struct quorum_bytes *b, const struct quorum_image *m, uint64_t from);
bool quorum_record_all(struct quorum_bytes *b, const struct quorum_image *m);
/* All records of a journal.  used: of its bytes; why: what is wrong with it. */
bool quorum_image_read(struct quorum_image *m, const uint8_t *p, size_t len, size_t *used,
		       char why[QUORUM_WHY_MAX]);
uint8_t *quorum_room(struct quorum_bytes *b, size_t len);

/* --- frame.c */
struct quorum_stamps {
	uint64_t stamp, echo; /* of the sender; of the receiver, as the sender has heard it last */
	uint64_t idle_ns;     /* of the sender, with REQUEST_VOTE_RESULT */
};
/* 0: no memory. */
size_t quorum_frame_write(struct quorum_bytes *b, const struct raft_message *m,
			  const struct quorum_stamps *s);
/* What m points to is raft_malloc()'s and the caller's, but the configuration of a snapshot. */
bool quorum_frame_parse(const uint8_t *p, size_t len, struct raft_message *m,
			struct quorum_stamps *s);
void quorum_frame_drop(struct raft_message *m);
uint64_t quorum_frame_term(const struct raft_message *m);

#endif
