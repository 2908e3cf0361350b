/* client.h - the other end of relayd's control socket: connects, asks, waits.
 *
 * Errors   what fails ends the program with one line on stderr and an exit status of
 *          enum ctl_exit, unless the call says otherwise. */
#ifndef RELAYCTL_CLIENT_H
#define RELAYCTL_CLIENT_H

#include <jansson.h>
#include <stddef.h>

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
	/* of the last ctl_try() that gave NULL */
	int code;
	char why[256];
};

void ctl_die(enum ctl_exit status, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
/* name: of an instance, or a path; NULL: the only relay that runs here. */
void ctl_open(struct ctl *c, const char *name);
void ctl_close(struct ctl *c);
/* Call method; params is taken over and may be NULL.  takes_ms: how long it may take by
 * itself.  fd >= 0 goes along.  The result, or NULL and code, why: an error of the relay. */
json_t *ctl_try(struct ctl *c, const char *method, json_t *params, unsigned takes_ms, int fd);
/* The same, and an error ends the program. */
json_t *ctl_call(struct ctl *c, const char *method, json_t *params);
/* All rows of a list in parts: "jobs", "paths", "channels".  params: borrowed, or NULL. */
json_t *ctl_rows(struct ctl *c, const char *method, json_t *params);

#endif
