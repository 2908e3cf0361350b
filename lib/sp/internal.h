/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/sp/internal.h - what the parts of a daemon know of each other.
 *
 *   view.c      views and changes
 *   severity.c  words of the severity table
 *   wire.c      frames between daemons
 *   unit.c      unit master: beats, lease, own processes
 *   fill.c      spares in place of those that were used
 *   master.c    cluster master: silence, what changes next
 *   witness.c   silence by the clocks of the others
 *   hold.c      frames that wait for the disk
 *   node.c      the daemon as one object */
#ifndef SP_INTERNAL_H
#define SP_INTERNAL_H

#include "sp/node.h"

#include "base/bytes.h"
#include "base/clock.h"

#define SP_CHANGES_KEPT 16u
#define SP_CHANGE_KEPT	2048u /* bytes; longer ones go as whole views */
#define SP_FRAME_HEAD	8u
#define SP_BEAT_BYTES	36u
#define SP_ACK_BYTES	28u
#define SP_REPORT_BYTES 12u

/* --- wire.c ---------------------------------------------------------------- */

enum sp_frame_type { SP_FRAME_BEAT = 1, SP_FRAME_ACK, SP_FRAME_VIEW, SP_FRAME_HINT };
#define SP_FRAME_VERSION 0x5c

enum sp_report_kind {
	SP_REPORT_DEAD = 1, /* slot a, why */
	SP_REPORT_READY,    /* token a, pool b */
	SP_REPORT_PATH,	    /* slot a cannot reach slot b */
	SP_REPORT_DRAIN,    /* this unit is to be emptied */
	SP_REPORT_STOP,	    /* all is to stop: why */
	SP_REPORT_REACHED,  /* slot a */
	SP_REPORT_POOL,	    /* these as the operations of sp/view.h */
	SP_REPORT_FACT,
	SP_REPORT_CLAIM,
	SP_REPORT_ROLES,
	SP_REPORT_LAST = SP_REPORT_ROLES
};

struct sp_report {
	uint8_t kind, why;
	uint32_t a, b;
};

/* A frame as read; pointers go into it. */
struct sp_frame {
	enum sp_frame_type type;
	uint32_t cluster;
	uint64_t term, view; /* of the sender */
	/* BEAT */
	uint32_t incarnation, nreports;
	uint64_t sent_ns;
	const uint8_t *reports;
	/* ACK */
	uint64_t echo_ns; /* sent_ns of a beat; 0: it grants nothing */
	uint32_t nchanges;
	/* HINT */
	uint32_t master;
	/* ACK: changes, each with u32 length; VIEW: the rest */
	const uint8_t *body;
	size_t body_len;
};

bool sp_frame_parse(struct sp_frame *f, const void *frame, size_t len);
/* Head and fixed part; what follows is up to the caller. */
void sp_frame_begin(struct base_writer *w, const struct sp_frame *f);
struct sp_report sp_frame_report(const struct sp_frame *f, uint32_t i);
/* Operations that units ask for, as reports, and back; 0: it is none. */
uint8_t sp_report_of_op(unsigned op);
uint8_t sp_op_of_report(unsigned report);

/* --- a daemon -------------------------------------------------------------- */

struct sp_start {
	uint32_t token;
	uint8_t pool;
	bool ready;
};

struct sp_ask {
	struct sp_op op;
	uint64_t until_ns;
};

struct sp_path {
	uint32_t slot, other;
	uint64_t until_ns;
};

/* Unit master. */
struct sp_unit {
	struct sp_view *view;
	bool *alive;	   /* [slots_max] own slots that have a process */
	uint8_t *why;	   /* [slots_max] of own slots whose process ended */
	uint64_t *sign_ns; /* [slots_max] last sign of life */
	bool *reached;	   /* [slots_max] own slots */
	bool told, joined, fenced, drain;
	uint32_t want[SP_POOLS_MAX];  /* processes */
	uint32_t fresh[SP_POOLS_MAX]; /* of them, to be started the first time */
	uint32_t fill[SP_POOLS_MAX];  /* as many are to live here, by this view: refill */
	struct sp_ask ask[SP_ASKS_MAX];
	uint32_t nask;
	uint64_t given_up;
	uint32_t master;
	uint64_t term, master_ns;	 /* master_ns: when it was last heard, or heard of */
	uint64_t answered_ns;		 /* when any has answered last */
	uint64_t beat_ns;		 /* the next one is due */
	uint64_t lease_ns;		 /* until then */
	uint64_t start_ns[SP_POOLS_MAX]; /* no process of it is started before */
	uint32_t falls[SP_POOLS_MAX];	 /* that ended soon, in a row */
	uint64_t *since_ns; /* [slots_max] own: it is what it is, a spare or in a role */
	uint8_t *was;	    /* [slots_max] its state then, + 1 */
	uint32_t tokens;
	struct sp_start start[SP_STARTS_MAX];
	uint32_t nstart;
	struct sp_path path[SP_PATHS_MAX];
	uint32_t npath;
	uint8_t stop; /* why; SP_WHY_NONE: nobody asked */
};

/* What a master knows of a unit. */
struct sp_heard {
	uint64_t listen_ns; /* when it was heard last, in the master's time of listening */
	uint64_t sent_ns;   /* of its latest beat */
	uint64_t view;
	uint32_t incarnation; /* 0: not heard yet */
	bool drain, clock;    /* clock: it is off */
	bool condemned;	      /* its end is proposed: no lease any more */
	struct sp_report ready[SP_STARTS_MAX];
	uint32_t nready;
	/* Rate of its clock: where a window began, how many bad ones in a row, and whether it was
	 * too fast in the last one, else too slow. */
	uint64_t rate_sent_ns, rate_now_ns;
	uint64_t before_ns; /* its silence before this master's time */
	uint32_t rate_bad;
	bool rate_fast;
};

/* Cluster master: only what a leader needs; another begins anew. */
struct sp_master {
	bool leads, dirty, waiting; /* dirty: plan anew; waiting: a proposal is under way */
	uint64_t term, listen_ns, turned_ns, changed_ns;
	uint64_t proposed_ns, retry_ns;
	uint32_t pending;    /* own proposals of this term of which nothing was heard */
	uint64_t silence_ns; /* listen_ns at which the next unit may be found silent */
	struct sp_view *plan;
	struct sp_heard *heard; /* [units] */
	uint8_t *reported;	/* [slots_max] why */
	bool *waits;		/* [roles] told of */
	bool *reached;		/* [slots_max] */
	struct sp_op ask[SP_ASKS_MAX];
	uint32_t nask;
	struct sp_path path[SP_PATHS_MAX];
	uint32_t npath;
	uint8_t stop;
	uint64_t *called_ns; /* [units] last beat to this voter while it did not lead; it stays */
	uint64_t *mark;	     /* [units][units] clocks of others: witness.c */
	bool watches;	     /* something waits for one of them to go on */
	bool full_told, own_clock; /* own_clock: it is off, not those of the others */
	struct sp_op *op;
	uint32_t nop, op_max;
	uint8_t *change; /* sp_change_bytes(op_max) */
};

struct sp_kept {
	uint64_t base;
	uint32_t len; /* 0: too long */
	uint8_t bytes[SP_CHANGE_KEPT];
};

/* Frames that promise what is not durable yet, each behind a head. */
struct sp_held {
	uint32_t to, len;
	uint64_t after; /* the writes that it waits for */
};

struct sp_hold {
	uint64_t begun, done; /* writes */
	uint8_t *bytes;
	size_t len, room;
};

struct sp_node {
	struct sp_node_conf conf;
	struct sp_node_ops ops;
	void *user;
	uint64_t now_ns, detect_ns;
	struct quorum *quorum;
	struct sp_view *agreed, *scratch; /* agreed: what the voters have applied; voters only */
	struct sp_kept *kept;		  /* [SP_CHANGES_KEPT] by base */
	struct sp_unit unit;
	struct sp_master master;
	uint8_t *frame;
	size_t frame_room;
	struct sp_hold hold;
	bool disk_told;
	/* What lib/quorum said while it was on the stack. */
	uint32_t applied, refused, resolved;
	uint64_t lead_term;
	struct sp_node_counts count;
};

/* hold.c: a frame leaves, at once or when the disk has what it promises. */
void sp_post(struct sp_node *n, uint32_t to, const void *frame, size_t len);
/* The oldest write is durable. */
void sp_hold_release(struct sp_node *n);
void sp_hold_forget(struct sp_node *n);

/* node.c: n->frame, as sp_post(); a beat leaves at once. */
void sp_send(struct sp_node *n, uint32_t to, size_t len);
void sp_send_beat(struct sp_node *n, uint32_t to, size_t len);
void sp_tell(struct sp_node *n, enum sp_event_kind kind, uint32_t a, uint32_t b);
bool sp_is_voter(const struct sp_node *n);

/* unit.c */
void sp_unit_new(struct sp_node *n);
void sp_unit_turn(struct sp_node *n);
uint64_t sp_unit_expiry_ns(const struct sp_node *n);
void sp_unit_ack(struct sp_node *n, uint32_t from, const struct sp_frame *f);
void sp_unit_whole_view(struct sp_node *n, uint32_t from, const struct sp_frame *f);
void sp_unit_hint(struct sp_node *n, const struct sp_frame *f);
/* again.c: a process died; one that was started has ended before it had a slot; a view came. */
void sp_again_died(struct sp_node *n, uint32_t slot);
void sp_again_fell(struct sp_node *n, uint8_t pool);
void sp_again_view(struct sp_node *n);
/* fill.c: unit.fill, from the view. */
void sp_unit_fill(struct sp_node *n);
/* Voters have agreed on more than this unit has. */
void sp_unit_follow(struct sp_node *n);

/* witness.c */
void sp_witness_beat(struct sp_node *n, uint32_t from, bool fresh);
/* Others agree that it is silent; that a lease of before has run out.  If not, they are watched. */
bool sp_witness_silence(struct sp_node *n, uint32_t unit);
bool sp_witness_lease_over(struct sp_node *n, uint32_t unit);
/* For how long that unit has been silent when this one comes to lead. */
uint64_t sp_witness_before(const struct sp_node *n, uint32_t unit);

/* master.c */
void sp_master_lead(struct sp_node *n, uint64_t term);
void sp_master_follow(struct sp_node *n);
void sp_master_beat(struct sp_node *n, uint32_t from, const struct sp_frame *f);
/* The voters have agreed on changes; applied: some followed from the view. */
void sp_master_applied(struct sp_node *n, bool applied);
void sp_master_turn(struct sp_node *n);
uint64_t sp_master_expiry_ns(const struct sp_node *n);

/* view.c: one operation of a change. */
bool sp_view_op(struct sp_view *v, const struct sp_op *o, bool *epoch);

#endif
