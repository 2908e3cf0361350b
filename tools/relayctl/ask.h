/* SPDX-License-Identifier: BSD-2-Clause */
/* ask.h - the control socket for a command line: what fails ends the program.
 *
 * Errors   one line on stderr and an exit status of enum ctl_exit, unless the call says otherwise.
 */
#ifndef RELAYCTL_ASK_H
#define RELAYCTL_ASK_H

#include "../ctl/client.h"

void ctl_die(enum ctl_exit status, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
void ask_open(struct ctl *c, const char *name);
json_t *ask(struct ctl *c, const char *method, json_t *params);
json_t *ask_rows(struct ctl *c, const char *method, json_t *params);
/* The same, but NULL where the relay refuses: c->code, c->why. */
json_t *ask_try(struct ctl *c, const char *method, json_t *params, unsigned takes_ms, int fd);

#endif
