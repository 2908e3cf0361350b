/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/ctl/client.h - the other end of relayd's control socket: connects, asks, waits.
 *
 * Purpose  what relayctl and relayd-web have in common.
 * Units    waits in ms, answers in bytes, 64 MiB at most.
 * Threads  a struct ctl belongs to one thread.
 * Errors   a call that fails gives false or NULL, and leaves in the struct: failed, what kind of
 *          failure it was; why, a line for a person; code, the relay's, if it refused.  After
 *          anything but CTL_REFUSED the connection is of no use any more: close it.
 * Source   doc/control.md. */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CTL_SOCKET_DIR "/run/relayd"

enum ctl_exit {
	CTL_OK = 0,
	CTL_REFUSED = 1, /* the relay answered with an error; or a file cannot be written */
	CTL_USAGE = 2,
	CTL_NO_RELAY = 3, /* nobody is there, or went away, or does not answer */
	CTL_NO_RIGHT = 4,
};

struct ctl {
	int fd;
	char path[108];
	unsigned id;
	unsigned wait_ms; /* for an answer, besides what the call itself takes */
	char *in;
	size_t in_len, in_max;
	/* of the last call that failed */
	enum ctl_exit failed;
	int code;
	char why[320];
};

/* name: of an instance, or a path; NULL: the only relay that runs here. */
bool ctl_open(struct ctl *c, const char *name);
/* Also after a ctl_open() that failed. */
void ctl_close(struct ctl *c);
/* Call method; params is taken over and may be NULL.  takes_ms: how long it may take by
 * itself.  fd >= 0 goes along.  The result is the caller's. */
json_t *ctl_call(struct ctl *c, const char *method, json_t *params, unsigned takes_ms, int fd);
/* All rows of a list in parts: "jobs", "paths", "channels".  params: borrowed, or NULL. */
json_t *ctl_rows(struct ctl *c, const char *method, json_t *params);

#endif
