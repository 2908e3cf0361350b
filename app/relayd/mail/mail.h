/* SPDX-License-Identifier: BSD-2-Clause */
/* mail.h - what control and a worker say to each other; one mailbox for each worker.
 *
 *            to_worker (struct rd_mail)
 *   control  --------------------------->  worker
 *            <---------------------------
 *            replies (the same rd_mail, done), events (struct rd_event),
 *            to_tap / from_tap (mbufs of the exception path, worker 0 alone; with the
 *            gateway's thread instead of control if there is one, tap.h)
 *
 * Rings are bounded and single-producer single-consumer; all messages are
 * preallocated.  Mails belong to control, which never has more of them than the
 * rings take; those for the gateway come from the box of worker 0.  Events belong to the worker:
 * event_free brings them back; the last RD_EVENTS_RESERVED are kept for ends of jobs, which must
 * not get lost.  Notes are buffers of the same kind: those to processes belong to control
 * (rd_mailbox_note), those from processes to the worker, and note_free brings them back.
 *
 * The worker polls; whoever pushes for it ends its nap.  Control sleeps in epoll (wake.h).  The
 * gateway's thread gets mails and gives events in the same way over rings of its own (struct
 * rd_gateway_box).  Control writes and reads through post.h.
 */
#ifndef RD_MAIL_H
#define RD_MAIL_H

#include "base/ring.h"
#include "rd/conf.h"
#include "relay/core.h"
#include "wake.h"

#define RD_MAILS	   8192 /* > four for each of limits.jobs, own and foreign */
#define RD_EVENTS	   2048
#define RD_EVENTS_RESERVED 1024 /* = the largest limits.jobs */
#define RD_TAP_RING	   512
#define RD_NOTES	   1024 /* of processes about light, each way */

struct rd_shard;
struct rd_gateway_snapshot;

/* Behind each: the part of struct rd_mail that it fills in, who gets it. */
enum rd_mail_type {
	RD_MAIL_JOB_ADD,    /* job.table: worker, gateway; result: 0 or not, and text says why */
	RD_MAIL_JOB_END,    /* job, text (empty: finished normally; worker only): worker, gateway */
	RD_MAIL_JOB_FINISH, /* job: gateway; RD_EVENT_FINISHED follows */
	RD_MAIL_ELSEWHERE,  /* job.ways, clients that others can reach: worker */
	RD_MAIL_END_ALL,    /* text: worker */
	RD_MAIL_LEAVE,	    /* text: worker; relay_core_leave() */
	RD_MAIL_POLICY,	    /* trunks.rule: worker */
	RD_MAIL_POLICIES,   /* rules: all of them, in place of those that are: worker */
	RD_MAIL_WEIGHT,	    /* trunks.weight, 0 drains this relay: worker */
	RD_MAIL_LIGHT,	    /* light: worker */
	RD_MAIL_DARK,	    /* light.slot: worker */
	RD_MAIL_NOTE,	    /* note: worker */
	RD_MAIL_SNAPSHOT,   /* look: goes from worker to worker, then to the gateway */
	RD_MAIL_LANES,	    /* tool, struct rd_lanes to count in, or NULL: worker */
	RD_MAIL_SNIFF,	    /* tool, struct rd_sniffer, or NULL: worker */
	RD_MAIL_IDLE,	    /* idle, enum rd_idle_mode: worker */
	RD_MAIL_KEYS,	    /* tool, const struct rd_keys, until the next one: worker */
	RD_MAIL_SUCI,	    /* tool, const struct rd_conf_suci, copied: worker */
	RD_MAIL_LEG,	    /* port: worker; off: its port is not touched until the next one */
	RD_MAIL_TURN,	    /* worker: its loop turns, says the answer */
	RD_MAIL_STOP,	    /* worker: leave the loop; not answered, the worker returns */
};

/* A note of type RELAY_NOTE_LIGHT. */
struct rd_note {
	uint16_t len;
	uint8_t bytes[RELAY_NOTE_LIGHT_MAX];
};

struct rd_mail {
	enum rd_mail_type type; /* says which of these it is */
	union {
		struct {
			uint32_t id; /* the coordinator's number of it */
			uint32_t label_base, ways;
			const struct relay_job *table; /* control keeps it until the reply */
		} job;
		struct {
			uint32_t weight;
			struct relay_policy_rule rule;
		} trunks;
		struct {
			const struct relay_policy_rule *rule; /* control's, until the reply */
			uint32_t n;
		} rules;
		struct {
			uint32_t slot;
			struct relay_light to; /* where its circuit leads */
		} light;
		struct {
			uint32_t label_base, rank; /* rank: or RELAY_RANK_NONE */
			struct rd_note *bytes;	   /* goes back with the reply */
		} note;
		struct {
			struct rd_shard *const *shard; /* [workers] datapath's worker.h */
			struct rd_gateway_snapshot *gateway;
			bool check; /* the books of the cores, too: it takes its time */
		} look;
		struct {
			uint32_t leg;
			bool off;
		} port;
		void *tool;
		uint32_t idle;
	};
	char text[RELAY_WHY_MAX]; /* and, of the answer, why not */
	int result;
	void (*done)(struct rd_mail *mail); /* control's: called with the reply */
	void *owner;
	uint32_t worker; /* whose mailbox it belongs to */
	uint32_t at;	 /* whose it is in: a snapshot's goes round */
	bool gateway;	 /* it is the gateway's reply */
};

/* By whom it is for; behind each, the part of struct rd_event that it fills in. */
enum rd_event_type {
	/* jobs */
	RD_EVENT_JOB_ENDED, /* aborted in the core: job.label_base, text */
	RD_EVENT_FAILED,    /* aborted in the gateway: likewise */
	RD_EVENT_FINISHED,  /* RD_MAIL_JOB_FINISH is complete: likewise (why not all of it) */
	RD_EVENT_JOB_STATE, /* job: relay_core_ops.job_state */
	/* circuits */
	RD_EVENT_LIGHT, /* light.slot, state: relay_core_ops.light_state */
	RD_EVENT_PROC,	/* light.label_base, rank: a process is connected; with light ports only */
	RD_EVENT_NOTE,	/* light.label_base, rank, note: from a process; likewise */
	/* the log */
	RD_EVENT_CHANNEL, /* text */
	RD_EVENT_PATH_UP, /* text; log.what, peer */
	RD_EVENT_PATH_DOWN,
	RD_EVENT_NEIGHBOUR, /* log.address: nobody answers */
	RD_EVENT_STRANGER,  /* log.peer, what, text: refused; its public key, whose that is */
	RD_EVENT_CONFLICT,  /* log.address: another station claims it */
	RD_EVENT_CONTESTED, /* log.address, what, text: a neighbour's, and who claims it */
};

struct rd_event {
	enum rd_event_type type;
	uint8_t worker; /* who says so, if it is not the gateway */
	union {
		struct {
			uint32_t label_base, ways;
			bool left;
			bool tolerant; /* it survives deaths */
		} job;
		struct {
			uint32_t slot, label_base, rank;
			enum base_lightpath state;
			struct rd_note *note;
		} light;
		struct {
			uint8_t leg;
			uint32_t address; /* 0: it is IPv6, in peer */
			struct suci_addr peer;
			char what[96];
		} log;
	};
	char text[RELAY_WHY_MAX];
};

struct rd_mailbox {
	struct base_ring to_worker, replies;
	struct base_ring events, event_free, note_free;
	struct base_ring to_tap[RD_LEGS], from_tap[RD_LEGS];
	struct rd_wake *wake;	    /* control's, the same in all boxes */
	struct rd_wake wake_worker; /* the worker's, while it naps (idle: sleep) */
	/* Control's list of the mails that are not under way. */
	struct rd_mail *free_mail[RD_MAILS];
	uint32_t nfree_mail;
	struct rd_note *free_note[RD_NOTES]; /* of those to processes */
	uint32_t nfree_note;
	/* slots and messages */
	void *slot_to_worker[RD_MAILS], *slot_replies[RD_MAILS];
	void *slot_events[RD_EVENTS], *slot_event_free[RD_EVENTS];
	void *slot_to_tap[RD_LEGS][RD_TAP_RING], *slot_from_tap[RD_LEGS][RD_TAP_RING];
	struct rd_mail mail[RD_MAILS];
	struct rd_event event[RD_EVENTS];
	void *slot_note_free[RD_NOTES];
	struct rd_note note_in[RD_NOTES], note_out[RD_NOTES];
};

/* Rings, eventfd, all events and mails free.  wake: control's, which outlives the box.
 * 0 or -errno. */
int rd_mailbox_init(struct rd_mailbox *b, struct rd_wake *wake);
void rd_mailbox_fini(struct rd_mailbox *b);
/* Control: a buffer for RD_MAIL_NOTE, or NULL, and back if it is not posted. */
struct rd_note *rd_mailbox_note(struct rd_mailbox *b);
void rd_mailbox_note_back(struct rd_mailbox *b, struct rd_note *note);

/* ---- the gateway's thread ------------------------------------------------------------ */

#define RD_GW_RING	   512
#define RD_GW_EVENTS	   1024
#define RD_GW_EVENTS_SPARE 512 /* kept for ends of jobs */

/* Everything that it exchanges: frames with the workers, mails and events with control. */
struct rd_gateway_box {
	/* struct rte_mbuf: frames, of and for each worker */
	struct base_ring to_gateway[RD_WORKERS_MAX], to_worker[RD_WORKERS_MAX];
	struct base_ring mails, replies;     /* struct rd_mail */
	struct base_ring events, event_free; /* struct rd_event */
	struct rd_wake wake;		     /* the gateway's */
	_Atomic uint32_t stop;
	void *slot_to_gateway[RD_WORKERS_MAX][RD_GW_RING];
	void *slot_to_worker[RD_WORKERS_MAX][RD_GW_RING];
	void *slot_mails[RD_MAILS], *slot_replies[RD_MAILS];
	void *slot_events[RD_GW_EVENTS], *slot_event_free[RD_GW_EVENTS];
	struct rd_event event[RD_GW_EVENTS];
};

/* 0 or -errno. */
int rd_gateway_box_init(struct rd_gateway_box *b);
void rd_gateway_box_fini(struct rd_gateway_box *b);

#endif
