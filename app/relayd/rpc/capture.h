/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.h - one capture at a time: frames that the workers choose, into a pcapng file.
 *
 *     workers (sniff.h) == rings of copies == writer's thread == file
 *            ^-- mail --------- control ------------^
 *
 * The file is the caller's: an open descriptor of a regular file.  A thread of its own
 * writes, so a slow disk holds up nobody but the capture.  Memory: one pool of
 * RD_CAPTURE_BUFFERS copies of snaplen bytes from DPDK's heap, while it lasts.
 *
 *     IDLE --start--> RUN --stop, time, frames, error--> OFF (mails to take it from the
 *     workers) --> FLUSH (writer writes what is left and closes) --> IDLE
 *
 * Threads  control's, but for the writer inside. */
#ifndef RD_CAPTURE_H
#define RD_CAPTURE_H

#include "rd/filter.h"

#include <stddef.h>
#include <stdint.h>

#define RD_CAPTURE_BUFFERS  2047
#define RD_CAPTURE_SNAP_MAX 9728

struct rd_loop;
struct rd_post;
struct rd_capture;

struct rd_capture_conf {
	struct rd_filter filter;
	uint32_t snaplen;
	uint64_t frames;      /* at most; 0: any number */
	uint64_t bytes;	      /* of the file, about; 0: any */
	uint64_t duration_ns; /* 0: until it is stopped */
};
struct rd_capture_info {
	bool running;
	uint64_t seen, written, lost, bytes;
	char ended[128]; /* why; "" while it runs */
};

struct rd_capture *rd_capture_new(struct rd_loop *loop, struct rd_post *post);
/* After the workers have ended.  Accepts NULL. */
void rd_capture_free(struct rd_capture *c);
/* 0 and fd is ours; or -1 and err, and fd is still the caller's: -1 also if one runs. */
int rd_capture_start(struct rd_capture *c, const struct rd_capture_conf *conf, int fd, char *err,
		     size_t err_max);
/* Begin to end it; it has ended once rd_capture_info().running is false. */
void rd_capture_stop(struct rd_capture *c);
void rd_capture_tick(struct rd_capture *c);
void rd_capture_info(const struct rd_capture *c, struct rd_capture_info *out);

#endif
