/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said goes to stderr, and its last lines are kept for mpispctl. */
#include "daemon.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static struct spd_line line[SPD_LOG_LINES];
static uint64_t last;

const char *
spd_log_va(const char *fmt, va_list ap)
{
	struct spd_line *l = &line[++last % SPD_LOG_LINES];
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	l->number = last;
	l->at_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	vsnprintf(l->text, sizeof l->text, fmt, ap);
	fprintf(stderr, "mpispd %s: %s\n", spd.conf ? spd.conf->unit[spd.me].name : "", l->text);
	return l->text;
}

void
spd_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)spd_log_va(fmt, ap);
	va_end(ap);
}

const struct spd_line *
spd_log_line(uint64_t number)
{
	const struct spd_line *l = &line[number % SPD_LOG_LINES];

	return number && l->number == number ? l : NULL;
}

uint64_t
spd_log_last(void)
{
	return last;
}
