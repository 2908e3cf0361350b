/* SPDX-License-Identifier: BSD-2-Clause */
/* light.h - circuits of jobs, on the control thread: this relay's agent, and the controller if this
 * relay drives the switch (lib/light has both; lights.h is the light ports themselves).
 *
 *     light_agent.c      agent, its session with the controller; jobs, notes, ports
 *     light_controller.c  listens for agents; the switch's driver; the log of what happened
 *     light_link.c       frames over TCP, for both
 *
 * The controller's own agent calls it over TCP as the others do.  Without a session there is no
 * light, and nothing else changes; it is tried again for ever.  Nothing here blocks: drivers of
 * switches do not (NETCONF has a thread of its own, driver/ocs.h), sockets do not.
 *
 * Threads  control. */
#ifndef RD_LIGHT_H
#define RD_LIGHT_H

#include "lights.h"
#include "loop.h"

#include "light/agent.h"
#include "light/controller.h"
#include "seal/link.h"

struct rd_light;
struct relay_job;

struct rd_light_env {
	const struct rd_conf *conf;
	struct rd_loop *loop;
	struct rd_lights *lights;	   /* whose user it becomes */
	const struct seal_link_conf *keys; /* of both ends; nkeys 0: nothing is sealed */
};

/* False: the driver of the switch that conf names is not installed; err says what brings it. */
bool rd_light_has_driver(const struct rd_conf *conf, char *err, size_t err_max);

/* *out is NULL if no controller is configured; every call accepts that.  0, or -1 and err. */
int rd_light_new(struct rd_light **out, const struct rd_light_env *env, char *err, size_t err_max);
/* Accepts NULL. */
void rd_light_free(struct rd_light *l);
/* After every turn of the loop; ticks: now and then.  dials: look for the controller, too. */
void rd_light_turn(struct rd_light *l);
void rd_light_tick(struct rd_light *l, bool dials);
/* The job has been given to the cores, and stays where it is until its end. */
void rd_light_job(struct rd_light *l, const struct relay_job *job);
void rd_light_job_end(struct rd_light *l, uint32_t label_base);

/* ---- for telemetry: in snapshots ---- */

struct rd_light_figures {
	bool configured, connected; /* an agent, its session */
	bool controller, online;    /* this relay's; the switch's session */
	uint64_t gamma_us;
	struct light_controller_counters count;
};
void rd_light_figures(const struct rd_light *l, struct rd_light_figures *out);

/* ---- for the control socket ---- */

#define RD_LIGHT_LOG 8192 /* events kept */
struct rd_light_entry {
	struct light_event e;
	char text[64]; /* of e.text */
};
struct rd_light_view {
	struct light_agent *agent;
	const char *address; /* of the circuit controller, as configured */
	bool connected;
	/* Of the controller: NULL if another relay is. */
	struct light_controller *controller;
	struct ocs_control *control;
	const char *trouble;		  /* with the switch, or "" */
	const struct rd_light_entry *log; /* [RD_LIGHT_LOG] entry n is at n % RD_LIGHT_LOG */
	uint64_t logged;
};
/* False: no controller is configured. */
bool rd_light_view(const struct rd_light *l, struct rd_light_view *v);

#endif
