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
 * gateway's thread gets mails and gives events in the same way over rings of its own (gateway.h).
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

struct rd_snapshot;

enum rd_mail_type {
	RD_MAIL_JOB_ADD,    /* job; result: 0 or not, and text says why */
	RD_MAIL_JOB_END,    /* label_base, text (empty: finished normally; worker only) */
	RD_MAIL_JOB_FINISH, /* gateway: label_base; RD_EVENT_FINISHED follows */
	RD_MAIL_END_ALL,    /* worker: text */
	RD_MAIL_LEAVE,	    /* worker: text; relay_core_leave() */
	RD_MAIL_ELSEWHERE,  /* worker: label_base, ways: clients that others can reach */
	RD_MAIL_POLICY,	    /* worker: rule */
	RD_MAIL_WEIGHT,	    /* worker: number is the new weight; 0 drains this relay */
	RD_MAIL_SNAPSHOT,   /* snapshot is filled in: goes from worker to worker, then the
			     * gateway */
	RD_MAIL_LIGHT,	    /* worker: number is the slot, light: where its circuit leads */
	RD_MAIL_DARK,	    /* worker: number is the slot */
	RD_MAIL_NOTE,	    /* worker: label_base, number is the rank or RELAY_RANK_NONE, note */
	RD_MAIL_LANES,	    /* tool: struct rd_lanes to count in, or NULL */
	RD_MAIL_SNIFF,	    /* tool: struct rd_sniffer, or NULL */
	RD_MAIL_IDLE,	    /* number: enum rd_idle_mode */
	RD_MAIL_STOP,	    /* worker: leave the loop; not answered, the worker returns */
};

/* A note of type RELAY_NOTE_LIGHT. */
struct rd_note {
	uint16_t len;
	uint8_t bytes[RELAY_NOTE_LIGHT_MAX];
};

struct rd_mail {
	enum rd_mail_type type;
	int result;
	uint32_t label_base;
	uint32_t ways;
	struct relay_policy_rule rule;
	struct relay_light light;
	struct rd_note *note;	     /* goes back with the reply */
	const struct relay_job *job; /* control keeps it until the reply */
	struct rd_snapshot *snapshot;
	void *tool;
	uint32_t number;
	void (*done)(struct rd_mail *mail); /* control's: called with the reply */
	void *owner;
	uint32_t worker; /* whose mailbox it belongs to */
	uint32_t at;	 /* whose it is in: a snapshot's goes round */
	bool gateway;	 /* it is the gateway's reply */
	char text[RELAY_WHY_MAX];
};

enum rd_event_type {
	RD_EVENT_JOB_ENDED, /* aborted in the core: label_base, text */
	RD_EVENT_FAILED,    /* aborted in the gateway: label_base, text */
	RD_EVENT_FINISHED,  /* RD_MAIL_JOB_FINISH is complete: label_base, text (why not all of it)
			     */
	RD_EVENT_JOB_STATE, /* label_base, ways, left: relay_core_ops.job_state */
	RD_EVENT_CHANNEL,   /* what: text for the log */
	RD_EVENT_PATH_UP,   /* text: what, peer */
	RD_EVENT_PATH_DOWN,
	RD_EVENT_NEIGHBOUR, /* address: nobody answers */
	RD_EVENT_STRANGER,  /* peer, what, text: refused; its public key, whose that is */
	RD_EVENT_CONFLICT,  /* address: another station claims it */
	RD_EVENT_CONTESTED, /* address, what, text: a neighbour's, and who claims it */
	RD_EVENT_LIGHT,	    /* slot, state: relay_core_ops.light_state */
	RD_EVENT_PROC,	    /* label_base, rank: a process is connected; with light ports only */
	RD_EVENT_NOTE,	    /* label_base, rank, note: from a process; likewise */
};

struct rd_event {
	enum rd_event_type type;
	uint8_t leg;
	uint8_t worker; /* who says so, if it is not the gateway */
	uint32_t label_base;
	uint32_t address;
	uint32_t ways;
	bool left;
	uint32_t slot, rank;
	enum base_lightpath state;
	struct rd_note *note;
	struct suci_addr peer;
	char what[96];
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

#endif
