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

#include "light/agent.h"
#include "light/controller.h"

struct rd_control;
struct rd_light;
struct relay_job;

/* Nothing if no controller is configured.  0, or -1 and err. */
int rd_light_init(struct rd_control *c, char *err, size_t err_max);
/* After every turn of the loop; ticks: now and then. */
void rd_light_turn(struct rd_control *c);
void rd_light_tick(struct rd_control *c);
void rd_light_fini(struct rd_control *c);
/* The job has been given to the cores, and stays where it is until its end. */
void rd_light_job(struct rd_control *c, const struct relay_job *job);
void rd_light_job_end(struct rd_control *c, uint32_t label_base);

/* ---- for telemetry: in snapshots ---- */

struct rd_light_figures {
	bool configured, connected; /* an agent, its session */
	bool controller, online;    /* this relay's; the switch's session */
	uint64_t gamma_us;
	struct light_controller_counters count;
};
void rd_light_figures(const struct rd_control *c, struct rd_light_figures *out);

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
bool rd_light_view(const struct rd_control *c, struct rd_light_view *v);

#endif
