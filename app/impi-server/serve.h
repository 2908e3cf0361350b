/* SPDX-License-Identifier: BSD-2-Clause */
/* app/impi-server/serve.h - the rendezvous of one job over kernel sockets.
 *
 * One thread, one epoll; all decisions are lib/impi's.  Logs to stderr: who
 * joined, who was closed and why, how the job ended. */
#ifndef IMPI_SERVER_SERVE_H
#define IMPI_SERVER_SERVE_H

#include <stdbool.h>

#include "base/prefix.h"
#include "door.h"
#include "impi/server.h"

struct serve_options {
	struct impi_server_config server;
	/* More jobs will be served on the same socket: when all clients of this one
	 * have come, those that still connect are left waiting for the next. */
	bool one_after_another;
	struct base_prefixes allow; /* who may connect; none: everybody */
	struct door_conf door;
	/* SIGHUP: read files again; may change what door has. */
	void (*again)(void *user);
	void *user;
	bool verbose; /* also every connection that comes and goes */
};

enum serve_result {
	SERVE_COMPLETE,	 /* every client said FINI */
	SERVE_FAILED,	 /* a joined client was lost, or start-up stood still */
	SERVE_STOPPED,	 /* signal while clients had joined */
	SERVE_IDLE_STOP, /* signal with nobody joined */
	SERVE_BROKEN,	 /* this machine gave out: memory, epoll */
};

/* Serve one job on listening socket listen_fd (non-blocking); stop when
 * signal_fd (a signalfd) is readable. */
enum serve_result serve_job(const struct serve_options *opt, int listen_fd, int signal_fd);

void serve_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
