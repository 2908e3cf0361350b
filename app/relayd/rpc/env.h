/* SPDX-License-Identifier: BSD-2-Clause */
/* env.h - what the control socket works on: the objects of the other rooms, and the settings that
 * it changes and that control obeys.
 *
 * Threads  control. */
#ifndef RD_RPC_ENV_H
#define RD_RPC_ENV_H

#include "jobs.h"
#include "light.h"
#include "lights.h"
#include "loop.h"
#include "nics.h"
#include "post.h"
#include "reload.h"
#include "snapshot.h"

struct rd_rpc_env {
	const struct rd_conf *conf;
	struct rd_loop *loop;
	struct rd_post *post;
	const struct rd_figures *figures;
	struct rd_lights *lights;
	const struct rd_light *light; /* NULL: no circuits */
	struct rd_settings *settings;
	struct rd_reload *reload;
	struct rd_nics *nics;
	const struct rd_jobs *jobs;
	uint16_t global_port; /* DPDK's number of the global leg's port */
};

#endif
