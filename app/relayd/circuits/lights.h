/* SPDX-License-Identifier: BSD-2-Clause */
/* lights.h - the light ports as control sees them: what circuits lead where is told to the worker
 * here, and what becomes of them, and what processes say about light, comes from there.
 *
 * Who decides about circuits is the user: a controller's agent, or nobody; then a person does, with
 * `relayctl light`.
 *
 * Threads  control. */
#ifndef RD_LIGHTS_H
#define RD_LIGHTS_H

#include "loop.h"
#include "post.h"

#include "relay/light.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_mail;

/* Calls may lead to further orders, and to nothing else of this header. */
struct rd_light_user {
	/* relay_core_ops.light_state */
	void (*state)(void *user, uint32_t slot, enum base_lightpath state);
	/* A local process of the job is connected and can be told something. */
	void (*proc)(void *user, uint32_t label_base, uint32_t rank);
	/* A note of type RELAY_NOTE_LIGHT from it; valid during the call. */
	void (*note)(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note,
		     size_t len);
	void *user;
};

struct rd_lights {
	const struct rd_conf *conf;
	struct rd_loop *loop;
	struct rd_post *post;
	struct rd_light_user user;
	struct rd_log_limit limit;
};

void rd_lights_init(struct rd_lights *l, const struct rd_conf *conf, struct rd_loop *loop,
		    struct rd_post *post);
/* user (copied) decides from now on; NULL: nobody. */
void rd_lights_user(struct rd_lights *l, const struct rd_light_user *user);
bool rd_lights_used(const struct rd_lights *l);
/* relay_core_light() and relay_core_dark() in the worker.  False: no such slot, or light.addr is
 * not on its leg; if the core refuses, FAILED is told. */
bool rd_lights_up(struct rd_lights *l, uint32_t slot, const struct relay_light *light);
bool rd_lights_dark(struct rd_lights *l, uint32_t slot);
/* The same, and done is told what the core says. */
bool rd_lights_order(struct rd_lights *l, uint32_t slot, const struct relay_light *light,
		     void (*done)(struct rd_mail *mail), void *owner);
/* relay_core_note() in the worker.  False: too many are on their way; say it again later. */
bool rd_lights_note(struct rd_lights *l, uint32_t label_base, uint32_t rank, const void *note,
		    size_t len);

/* RD_EVENT_LIGHT, _PROC, _NOTE. */
void rd_lights_event(struct rd_lights *l, const struct rd_event *e);

void rd_lights_tick(struct rd_lights *l);

/* The word of logs and of the control socket (control.md) for the state of a slot. */
const char *rd_lights_word(enum base_lightpath state);

#endif
