/* SPDX-License-Identifier: BSD-2-Clause */
#include "ask.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
ctl_die(enum ctl_exit status, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("relayctl: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit((int)status);
}

static json_t *
checked(const struct ctl *c, json_t *v)
{
	if (!v)
		ctl_die(c->failed, "%s", c->why);
	return v;
}

void
ask_open(struct ctl *c, const char *name)
{
	if (!ctl_open(c, name))
		ctl_die(c->failed, "%s", c->why);
}

json_t *
ask(struct ctl *c, const char *method, json_t *params)
{
	return checked(c, ctl_call(c, method, params, 0, -1));
}

json_t *
ask_rows(struct ctl *c, const char *method, json_t *params)
{
	return checked(c, ctl_rows(c, method, params));
}

json_t *
ask_try(struct ctl *c, const char *method, json_t *params, unsigned takes_ms, int fd)
{
	json_t *v = ctl_call(c, method, params, takes_ms, fd);
	return v || c->failed == CTL_REFUSED ? v : checked(c, v);
}
