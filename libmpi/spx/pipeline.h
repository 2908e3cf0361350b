/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/spx/pipeline.h - what calls.c and frames.c share.
 *
 * Threads  the lock is held; it is given up while a call waits. */
#ifndef LMPI_PIPELINE_H
#define LMPI_PIPELINE_H

#include "driver/spxrun.h"

#include "mpisp.h"

struct lmpi_pipeline {
	struct spxrun *run; /* NULL: there is no pipeline */
	struct spxrun_self self;
	bool in_frame;
	struct spx_frame frame;
	int64_t name; /* of the frame, for programs */
	MPISP_event_fn *on_event;
	void *event_arg;
	MPISP_pick_fn *pick;
	void *pick_arg;
};
extern struct lmpi_pipeline lmpi_pipeline;

/* An error code if there is none. */
int lmpi_pipeline_get(void);
/* Tells the program what has happened. */
void lmpi_pipeline_events(void);
int lmpi_frame_begin(int64_t *frame, int *again);
int lmpi_frame_end(int64_t frame);
/* It is given back, to be begun again. */
void lmpi_frame_abandon(void);

#endif
