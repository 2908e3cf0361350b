/* SPDX-License-Identifier: BSD-2-Clause */
/* reload.h - the configuration file again, while relayd runs: SIGHUP, relayctl reload.
 *
 *     read, check, merge, read keys   anything wrong: faults, and nothing is changed
 *     apply                           what control reads is written, the workers get mail
 *     done                            all workers have it; old keys are wiped
 *
 * Files of keys are read each time, whether or not a key of the file names another: so keys are
 * rotated.  What needs a restart is listed and left as it is.  What the control socket has set
 * stays, unless the file has another value than before.
 *
 * Nothing blocks but the reading of these files: no name is looked up (rd/reload.h).
 *
 * Threads  control. */
#ifndef RD_RELOAD_ROOM_H
#define RD_RELOAD_ROOM_H

#include "channel_keys.h"
#include "keys.h"
#include "settings.h"

#include "post.h"

#include "rd/reload.h"

#include "relay/core.h"

struct rd_jobs;

struct rd_reload {
	/* Set by the owner. */
	struct rd_conf *conf; /* all rooms read it */
	const char *path;     /* of the file */
	struct rd_post *post;
	struct rd_jobs *jobs;
	struct rd_keys **keys; /* the workers'; another one after a rotation */
	struct seal_link_conf *light_keys;
	struct rd_settings *settings;

	/* Of the last look or reload. */
	struct rd_faults faults;
	struct rd_changes changes;
	bool rekeys; /* some file of keys has others than before */
	uint64_t times, refused;

	/* private */
	struct rd_conf file, merged;
	struct {
		struct rd_keys *keys;
		struct seal_link_conf peer, light, server;
		uint64_t impi_key;
	} next;
	uint32_t mails; /* workers that have not answered */
	bool failed;	/* one of them could not */
	struct rd_keys *old;
	struct relay_policy_rule rule[1 + RD_PAIRS_MAX];
	void (*done)(void *user);
	void *user;
};

/* Read and compare; nothing is changed.  False: faults says why. */
bool rd_reload_look(struct rd_reload *r);
/* And take it over.  done, which may be NULL, is called when all threads have it, perhaps in here.
 * False: faults says why, nothing is changed, done is not called. */
bool rd_reload_apply(struct rd_reload *r, void (*done)(void *user), void *user);
/* That user is not to be told any more. */
void rd_reload_forget(struct rd_reload *r, const void *user);
/* The workers have ended. */
void rd_reload_fini(struct rd_reload *r);

/* Faults or changes as lines of the log. */
void rd_reload_log(const struct rd_reload *r, bool good);

#endif
