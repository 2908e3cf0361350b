/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

static char log_name[40] = "";
static enum rd_log_level log_level = RD_LOG_INFO;
static const char *const level_names[] = {"error", "warning", "info", "debug"};

/* Of syslog, as the journal reads them at the beginning of a line. */
static const char *const priorities[] = {"<3>", "<4>", "<6>", "<7>"};
static bool to_journal;

/* JOURNAL_STREAM is "DEVICE:INODE" of what stderr was connected to; it may be redirected since. */
static bool
is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;
	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void
rd_log_init(const char *name, enum rd_log_level level)
{
	strlcpy(log_name, name, sizeof log_name);
	log_level = level;
	to_journal = is_journal();
}

void
rd_log_set_level(enum rd_log_level level)
{
	log_level = level;
}

enum rd_log_level
rd_log_get_level(void)
{
	return log_level;
}

static void __attribute__((format(printf, 2, 0)))
write_line(enum rd_log_level level, const char *fmt, va_list ap)
{
	char line[1024];
	int n = snprintf(line, sizeof line,
			 "%srelayd%s%s %s: ", to_journal ? priorities[level] : "",
			 *log_name ? " " : "", log_name, level_names[level]);
	size_t at = (size_t)n;
	n = vsnprintf(line + at, sizeof line - at - 1, fmt, ap);
	at += n < 0 ? 0 : (size_t)n < sizeof line - at - 1 ? (size_t)n : sizeof line - at - 2;
	for (size_t i = 0; i < at; i++) /* texts from peers must not forge lines */
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = '?';
	line[at++] = '\n';
	for (size_t off = 0; off < at;) {
		ssize_t w = write(STDERR_FILENO, line + off, at - off);
		if (w > 0)
			off += (size_t)w;
		else if (w < 0 && errno != EINTR)
			return; /* nowhere to complain */
	}
}

void
rd_log(enum rd_log_level level, const char *fmt, ...)
{
	if (level > log_level)
		return;
	va_list ap;
	va_start(ap, fmt);
	write_line(level, fmt, ap);
	va_end(ap);
}

void
rd_log_limit_tick(struct rd_log_limit *l, uint64_t now_ns)
{
	if (now_ns - l->window_ns < l->interval_ns)
		return;
	if (l->suppressed)
		rd_log(l->level, "%llu lines like this one were left out: %s",
		       (unsigned long long)l->suppressed, l->left_out);
	l->window_ns = now_ns;
	l->used = 0;
	l->suppressed = 0;
}

void
rd_log_limited(struct rd_log_limit *l, uint64_t now_ns, enum rd_log_level level, const char *fmt,
	       ...)
{
	if (level > log_level)
		return;
	rd_log_limit_tick(l, now_ns);
	l->level = level;
	if (l->used >= l->burst) {
		if (!l->suppressed++) {
			va_list ap;
			va_start(ap, fmt);
			vsnprintf(l->left_out, sizeof l->left_out, fmt, ap);
			va_end(ap);
		}
		return;
	}
	l->used++;
	va_list ap;
	va_start(ap, fmt);
	write_line(level, fmt, ap);
	va_end(ap);
}
