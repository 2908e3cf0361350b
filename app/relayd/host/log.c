#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bsd/string.h>

static char log_name[40] = "";
static enum rd_log_level log_level = RD_LOG_INFO;
static const char *const level_names[] = {"error", "warning", "info", "debug"};

void
rd_log_init(const char *name, enum rd_log_level level)
{
	strlcpy(log_name, name, sizeof log_name);
	log_level = level;
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
	int n = snprintf(line, sizeof line, "relayd%s%s %s: ", *log_name ? " " : "", log_name,
			 level_names[level]);
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

void
rd_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	if (!path || (*path != '/' && *path != '@'))
		return;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t len = strlcpy(sun.sun_path, path, sizeof sun.sun_path);
	if (len >= sizeof sun.sun_path)
		return;
	if (*path == '@')
		sun.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t sl = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sun, sl) < 0)
		rd_log(RD_LOG_WARNING, "cannot notify the service manager at %s: %s", path,
		       strerror(errno));
	close(fd);
}
