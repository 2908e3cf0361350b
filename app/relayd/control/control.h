/* SPDX-License-Identifier: BSD-2-Clause */
/* control.h - the main lcore: sockets, TAPs, signals, jobs coming and going.
 *
 * One epoll loop; nothing in it blocks.  Each room has an object of its own here, and this one
 * composes them: it turns the loop, passes on what workers and the gateway's thread say, ticks all
 * of them, and knows how the relay stops.
 *
 * Stopping is a state machine:
 *
 *   RUN --SIGHUP--> reload.h, and it goes on
 *       --SIGTERM--> DRAIN (no new jobs; until all ended or drain_ms; if other relays of the
 *                           cluster are there their jobs are left to them: until nothing
 *                           comes here any more)
 *       --> END (abort what is left, wait until custody is empty, 1 s)
 *       --> CLOSE (connections to the other relays; a tick for their FIN)
 *       --> STOP (the workers leave their loops) --> rd_control_run returns
 *
 * Threads  all of it on the main lcore. */
#ifndef RD_CONTROL_H
#define RD_CONTROL_H

#include "events.h"
#include "gateway.h"
#include "jobs.h"
#include "light.h"
#include "lights.h"
#include "loop.h"
#include "nics.h"
#include "post.h"
#include "reload.h"
#include "rpc_server.h"
#include "service.h"
#include "snapshot.h"
#include "taps.h"

#include "env.h"

enum rd_phase { RD_PHASE_RUN, RD_PHASE_DRAIN, RD_PHASE_END, RD_PHASE_CLOSE, RD_PHASE_STOP };

struct rd_control {
	const struct rd_conf *conf;
	struct rd_loop loop;
	struct rd_post post; /* its boxes and waker are set by the caller */
	struct rd_kernel kernel;
	struct rd_jobs jobs; /* its keys, auth and server_ip are set by the caller */
	struct rd_lights lights;
	struct rd_keys *keys;	 /* of the workers; set by the caller */
	struct rd_reload reload; /* its conf and path are set by the caller */
	struct rd_watchdog watchdog;
	uint32_t turns;			  /* workers that have not said that they turn */
	struct seal_link_conf light_keys; /* set by the caller; nkeys 0: nothing is sealed */
	struct rd_light *light;		  /* NULL: no controller is configured */
	struct rd_event_log log;
	struct rd_figures figures;
	struct rd_nics nics; /* begun and ended by the caller, who has the ports */
	struct rd_settings settings;
	struct rd_gateway *gateway; /* NULL: none; set before the loop runs */
	struct rd_rpc_server *rpc;  /* the control socket; NULL: none; likewise */
	struct rd_watch wake, signals;
	enum rd_phase phase;
	uint64_t phase_end_ns;
	bool leaving;		      /* DRAIN and later: jobs go on over the other relays */
	bool snapshot_out;	      /* control's snapshot is with the workers */
	bool write_stats;	      /* SIGUSR1 came */
	struct rd_snapshot *snapshot; /* control's own */
};

/* Before any thread is there: signals that end or are for us are read by control alone, the others
 * that would end a process are ignored. */
void rd_control_block_signals(void);
/* Everything but the loop.  first: worker 0, whose legs the TAPs are of.  0, or -1 and err with
 * everything undone. */
int rd_control_init(struct rd_control *c, const struct rd_worker *first, char *err, size_t err_max);
/* What the control socket works on. */
struct rd_rpc_env rd_control_env(struct rd_control *c, uint16_t global_port);
/* The loop; returns when the workers have been told to stop. */
void rd_control_run(struct rd_control *c);
/* After the workers have ended.  Accepts a half-built one. */
void rd_control_fini(struct rd_control *c);

#endif
