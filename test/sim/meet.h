/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/meet.h - jobs that connect, in virtual time: roots with real lib/meet, on lanes of real
 * lib/suci and doors of real lib/door/client and lib/relay; in one cluster over streams.
 *
 *     root --+-- relay ===== wide area ===== relay --+-- root
 *       |    |                                       |
 *     root --+                                       +-- root
 *
 * A cluster has one relay or two, as doors_conf.relays says.  A root stands for its job: what its
 * processes do among themselves is time that passes.  Relays and the wide area are those of
 * sim/doors.h. */
#ifndef SIM_MEET_H
#define SIM_MEET_H

#include "doors.h"

#include "meet/lines.h"
#include "meet/port.h"
#include "meet/talk.h"

#define MT_NODES   10u
#define MT_OWNS	   160u
#define MT_IMPORTS 512u
#define MT_LANES   96u
#define MT_TRIES   4096u
#define MT_PIPES   1024u
#define MT_BACKLOG 128u
#define MT_CARDS   24000u
#define MT_NONE	   UINT32_MAX
#define MT_REALM   0x1111222233334444u
#define MT_WAIT_NS (24 * BASE_S_NS) /* twice what ways wait (sim/ways.h) */
/* 300 s in libmpi, and decisions have half of that; on top what lines and ways wait, as there. */
#define MT_TALK_NS  (20 * BASE_S_NS)
#define MT_SWAP_NS  (MT_TALK_NS + MT_WAIT_NS + MT_WAIT_NS / 2)
#define MT_CARD_MIN (DOOR_ADDRESS_MAX + 1u)

enum mt_end { MT_OPEN, MT_FAILED, MT_CONNECTED };

/* One connect, and what either side thinks of it. */
struct mt_try {
	uint32_t from, from_life, to, to_life;
	bool far;
	enum mt_end connector, acceptor;
	bool connector_told, acceptor_told; /* that the other one is out of reach */
	uint64_t cid_connector, cid_acceptor;
};

/* A stream between two roots of a cluster; what one end says is in dir[that end]. */
struct mt_pipe {
	bool used;
	struct mt_node *end[2];
	bool closed[2]; /* by that end */
	struct {
		uint8_t *data;
		size_t len, come, heard; /* said; there; heard */
		bool fin;		 /* the end of it is there */
	} dir[2];
};

enum mt_act { MT_REST, MT_DOOR, MT_IMPORT, MT_DIAL, MT_ACCEPT, MT_TALK };
enum mt_stage { MT_GREET, MT_SWAP, MT_COLLECT, MT_DECIDE };

struct mt_root {
	enum mt_act act;
	enum mt_stage stage;
	bool accepts;
	uint64_t due_ns, after_ns;
	uint32_t try; /* MT_NONE: not known yet */
	uint32_t line, pipe, door, import;
	struct meet_talk talk;
	uint64_t mine[3], theirs[3]; /* greetings: try or cid, bytes of cards, a mark */
	uint8_t knock[MEET_KNOCK_BYTES], cards[MT_CARDS], their_cards[MT_CARDS];
	uint64_t verdict;
	uint32_t accepts_made, accepts_failed;
};

struct mt_node {
	struct door_guest g;
	struct mt *w;
	uint32_t index, life;
	bool alive, evil;
	uint64_t seek_ns;
	struct door_client client;
	struct door_client_own own[MT_OWNS];
	struct door_client_import import[MT_IMPORTS];
	struct meet_lines lines;
	uint32_t line_of[MT_LANES];
	uint64_t taken; /* pieces of memory */
	uint32_t mine;	/* its own door */
	/* its port */
	bool open;
	uint64_t token;
	uint32_t port_door;
	struct meet_port guests;
	uint32_t guest[MEET_GUESTS_MAX]; /* pipes */
	uint32_t backlog[MT_BACKLOG], nbacklog;
	struct mt_root root;
};

/* Who has processes behind its roots; without it they take time, and that is all. */
struct mt_ops {
	/* They take the cards, until mt_collected(). */
	void (*collect)(struct mt_node *n);
	/* It is known that nobody comes to that port. */
	bool (*nobody_comes)(struct mt_node *n);
	void (*ended)(struct mt_node *n, bool connected);
};

struct mt {
	struct doors *d; /* relays, wide area */
	const struct mt_ops *ops;
	void *user;
	struct sim *s;
	struct base_prng prng;
	uint32_t nnodes;
	struct mt_node *node;
	struct mt_try try[MT_TRIES];
	uint32_t ntries;
	struct mt_pipe pipe[MT_PIPES];
	uint64_t cids;
	uint32_t slow_percent, fail_percent; /* of jobs, when they have met */
};

struct mt *mt_new(uint64_t seed, bool verbose, const struct doors_conf *c, uint32_t nodes);
void mt_finish(struct mt *w, struct outcome *o);
void mt_start(struct mt_node *n);
void mt_kill(struct mt_node *n);
void mt_drive(struct mt_node *n);
void mt_pass(struct mt *w, uint64_t ns);

/* --- meet.c: who believes that he is connected is so with one who believes it, or was told. */
void mt_check_together(struct mt *w);

/* --- meet_pipe.c */
uint32_t mt_pipe_dial(struct mt_node *from, struct mt_node *to);
int64_t mt_pipe_say(struct mt *w, uint32_t pipe, const struct mt_node *who, const void *data,
		    size_t len);
int64_t mt_pipe_hear(struct mt *w, uint32_t pipe, const struct mt_node *who, void *data,
		     size_t len);
void mt_pipe_close(struct mt *w, uint32_t pipe, const struct mt_node *who);
void mt_pipes_free(struct mt *w);

/* --- meet_root.c */
void mt_open_port(struct mt_node *n);
void mt_close_port(struct mt_node *n);
void mt_accept(struct mt_node *n, uint64_t limit_ns);
void mt_connect(struct mt_node *n, struct mt_node *to, uint64_t limit_ns);
/* With the token of a port that it may have had before; in one cluster. */
void mt_connect_by(struct mt_node *n, struct mt_node *to, uint64_t token, uint64_t limit_ns);
void mt_collected(struct mt_node *n, uint64_t verdict);
void mt_root_turn(struct mt_node *n);
uint64_t mt_root_due(const struct mt_node *n);
/* It dies: what it was about. */
void mt_root_end(struct mt_node *n);
/* The door of who is connected is out of reach. */
void mt_root_told(struct mt_node *n, uint32_t try);

#endif
