/* SPDX-License-Identifier: BSD-2-Clause */
/* light_internal.h - what the files about circuits share; see light.h. */
#ifndef RD_LIGHT_INTERNAL_H
#define RD_LIGHT_INTERNAL_H

#include "light.h"
#include "link.h"
#include "listen.h"
#include "sock.h"

#include "base/clock.h"

#define RD_LIGHT_AGENTS	   32
#define RD_LIGHT_STRANGERS 16 /* that have not said who they are */
#define RD_LIGHT_LINKS	   (RD_LIGHT_AGENTS + RD_LIGHT_STRANGERS)

#define RD_LIGHT_OUT	 (1u << 20) /* bytes that may wait to be sent */
#define RD_LIGHT_PING_NS (500 * BASE_MS_NS)
#define RD_LIGHT_DEAD_NS (3 * BASE_S_NS)

/* light_link.c: as rd_link_send(); the ping and take of both ends' struct rd_link_kind, heard()
 * false: nonsense. */
bool rd_light_send(struct rd_link *l, const struct light_frame *f);
void rd_light_ping(struct rd_link *l);
long rd_light_take(struct rd_link *l, const uint8_t *in, size_t len, size_t *need,
		   bool (*heard)(struct rd_link *l, const struct light_frame *f));
/* The keys of both ends, NULL: nothing is sealed. */
static inline const struct seal_link_conf *
rd_light_keys(const struct rd_light_env *env)
{
	return env->keys->nkeys ? env->keys : NULL;
}

struct rd_controller;
int rd_controller_open(struct rd_controller **out, const struct rd_light_env *env, char *err,
		       size_t err_max);
void rd_controller_turn(struct rd_controller *k);
void rd_controller_tick(struct rd_controller *k);
void rd_controller_close(struct rd_controller *k);
void rd_controller_view(const struct rd_controller *k, struct rd_light_view *v);

#endif
