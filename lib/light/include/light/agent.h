/* SPDX-License-Identifier: BSD-2-Clause */
/* light/agent.h - a relay's part of the light paths: carries the words of its processes to the
 * controller and back, and opens and closes the ends of links.
 *
 *     processes == notes ==> agent == frames ==> controller
 *               <== notes ==       <== frames ==
 *                              | light(), dark() ^ UP, FAILED, DRAINED
 *                            relay core
 *
 * Without a session there is no light: processes are told so, links go dark, calls go on by
 * packets.  With the next session everything is said anew; processes tell their communicators
 * again when they hear of light again.
 *
 * Bounds   no allocation but the memory given.
 * Threads  one owner. */
#ifndef LIGHT_AGENT_H
#define LIGHT_AGENT_H

#include "light/frame.h"

struct light_agent_ops {
	/* To the controller; false: the session is at its end, light_agent_lost() follows. */
	bool (*send)(void *user, const struct light_frame *f);
	/* To local process rank of the job, or all of it (LIGHT_ANY); without a label base. */
	void (*note)(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note,
		     size_t len);
	/* Open the light path of the slot; light_agent_state() follows. */
	void (*light)(void *user, uint32_t slot, struct light_addr relay, struct light_addr light);
	/* Close it; light_agent_state() with DRAINED follows. */
	void (*dark)(void *user, uint32_t slot);
	/* Of a world rank of the job; LIGHT_CLIENTS or more: there is no such. */
	uint32_t (*client_of)(void *user, uint32_t label_base, uint32_t rank);
	/* A call of the process is not planned, and why; it goes by packets.  Or NULL. */
	void (*refused)(void *user, uint32_t label_base, uint32_t rank, const char *why);
};

struct light_agent_config {
	struct light_hello hello;
	uint32_t jobs;
	const struct light_agent_ops *ops;
	void *user;
};

struct light_agent_counters {
	uint64_t notes_up, notes_down, bad_notes; /* bad: of processes, thrown away */
	uint64_t calls_refused;			  /* announced as older versions do */
	uint64_t links, links_up, links_failed, sessions;
};

struct light_agent; /* opaque */

size_t light_agent_footprint(const struct light_agent_config *cfg);
struct light_agent *light_agent_new(void *mem, const struct light_agent_config *cfg);

void light_agent_connected(struct light_agent *a);
void light_agent_lost(struct light_agent *a);
/* False: the controller talks nonsense, hang up. */
bool light_agent_heard(struct light_agent *a, const struct light_frame *f);

/* The job has processes here, which are all of its client.  key: the same at all its relays. */
void light_agent_job(struct light_agent *a, uint64_t key, uint32_t label_base, uint32_t client);
void light_agent_job_end(struct light_agent *a, uint32_t label_base);
/* A process can be told something from now on. */
void light_agent_proc(struct light_agent *a, uint32_t label_base, uint32_t rank);
/* A note of type LIGHT_NOTE_TYPE from a process. */
void light_agent_note(struct light_agent *a, uint32_t label_base, uint32_t rank,
		      const uint8_t *note, size_t len);
/* What became of a slot. */
void light_agent_state(struct light_agent *a, uint32_t slot, enum base_lightpath state);

const struct light_agent_counters *light_agent_counters(const struct light_agent *a);
bool light_agent_is_connected(const struct light_agent *a);

struct light_slot_row {
	enum base_lightpath state; /* DARK, OPENING, OPEN or CLOSING */
	uint32_t link;
	struct light_addr relay, light;
};
struct light_slot_row light_agent_slot(const struct light_agent *a, uint32_t slot);

#endif
