/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <bsd/string.h>

#define ANSWER_MAX  (64u << 20)
#define ANSWER_STEP 65536u

static void __attribute__((format(printf, 3, 4)))
set_failed(struct ctl *c, enum ctl_exit failed, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof c->why, fmt, ap);
	va_end(ap);
	c->failed = failed;
	c->code = 0;
}

/* ---- connecting -------------------------------------------------------------------- */

static int
connect_once(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	if (strlcpy(sun.sun_path, path, sizeof sun.sun_path) >= sizeof sun.sun_path)
		return -ENAMETOOLONG;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&sun, sizeof sun) == 0)
		return fd;
	int e = -errno;
	close(fd);
	return e;
}

static void
set_unconnected(struct ctl *c, const char *path, int e)
{
	if (e == -EACCES || e == -EPERM)
		set_failed(c, CTL_NO_RIGHT,
			   "%s: no permission; be root, or a member of the group of control.group",
			   path);
	else
		set_failed(
			c, CTL_NO_RELAY, "%s: %s%s", path, strerror(-e),
			e == -ENOENT
				? "; does relayd run with that eal.file_prefix or control.socket?"
			: e == -ECONNREFUSED ? "; its relayd is gone"
					     : "");
}

/* The only socket in CTL_SOCKET_DIR that somebody serves. */
static int
find_only(struct ctl *c)
{
	DIR *d = opendir(CTL_SOCKET_DIR);
	char found[64] = "";
	int fd = -1, e = -ENOENT;
	bool several = false;
	struct dirent *ent;
	while (d && !several && (ent = readdir(d))) {
		char path[sizeof c->path];
		size_t len = strlen(ent->d_name);
		if (len < 6 || strcmp(ent->d_name + len - 5, ".sock") != 0)
			continue;
		if ((size_t)snprintf(path, sizeof path, CTL_SOCKET_DIR "/%s", ent->d_name) >=
		    sizeof path)
			continue;
		int f = connect_once(path);
		if (f < 0) {
			e = f == -EACCES ? f : e;
			continue;
		}
		several = fd >= 0;
		if (several) {
			set_failed(c, CTL_USAGE,
				   "several relays run here (%s, %.*s); choose with -s", found,
				   (int)(len - 5), ent->d_name);
			close(f);
			break;
		}
		fd = f;
		strlcpy(c->path, path, sizeof c->path);
		snprintf(found, sizeof found, "%.*s", (int)(len - 5), ent->d_name);
	}
	if (d)
		closedir(d);
	if (several) {
		close(fd);
		return -1;
	}
	if (fd < 0 && e == -EACCES)
		set_unconnected(c, CTL_SOCKET_DIR, e);
	else if (fd < 0)
		set_failed(c, CTL_NO_RELAY, "no relay runs here (none found in %s)",
			   CTL_SOCKET_DIR);
	return fd;
}

bool
ctl_open(struct ctl *c, const char *name)
{
	memset(c, 0, sizeof *c);
	c->wait_ms = 5000;
	if (!name) {
		c->fd = find_only(c);
		return c->fd >= 0;
	}
	int n = snprintf(c->path, sizeof c->path,
			 strchr(name, '/') ? "%s" : CTL_SOCKET_DIR "/%s.sock", name);
	c->fd = n < 0 || (size_t)n >= sizeof c->path ? -ENAMETOOLONG : connect_once(c->path);
	if (c->fd < 0)
		set_unconnected(c, c->path, c->fd);
	return c->fd >= 0;
}

void
ctl_close(struct ctl *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	free(c->in);
	c->in = NULL;
	c->in_max = 0;
}

/* ---- calls ------------------------------------------------------------------------------ */

static bool
send_request(struct ctl *c, const char *text, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	memset(&control, 0, sizeof control);
	while (len) {
		struct iovec iov = {.iov_base = (void *)(uintptr_t)text, .iov_len = len};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
		if (fd >= 0) {
			msg.msg_control = control.bytes;
			msg.msg_controllen = sizeof control.bytes;
			struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
			h->cmsg_level = SOL_SOCKET;
			h->cmsg_type = SCM_RIGHTS;
			h->cmsg_len = CMSG_LEN(sizeof fd);
			memcpy(CMSG_DATA(h), &fd, sizeof fd);
		}
		ssize_t n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			set_failed(c, CTL_NO_RELAY, "%s: %s", c->path, strerror(errno));
			return false;
		}
		text += n;
		len -= (size_t)n;
		fd = -1;
	}
	return true;
}

static long long
now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

static bool
grow_answer(struct ctl *c)
{
	char *more = c->in_max >= ANSWER_MAX ? NULL : realloc(c->in, c->in_max * 2 + ANSWER_STEP);
	if (!more) {
		set_failed(c, CTL_NO_RELAY, "%s: its answer is too long", c->path);
		return false;
	}
	c->in = more;
	c->in_max = c->in_max * 2 + ANSWER_STEP;
	return true;
}

/* One line, without its newline, in c->in; SIZE_MAX: none. */
static size_t
receive_line(struct ctl *c, unsigned wait_ms)
{
	long long until = now_ms() + wait_ms;
	c->in_len = 0;
	for (;;) {
		char *end = c->in_len ? memchr(c->in, '\n', c->in_len) : NULL;
		if (end)
			return (size_t)(end - c->in);
		if (c->in_len == c->in_max && !grow_answer(c))
			return SIZE_MAX;
		struct pollfd p = {.fd = c->fd, .events = POLLIN};
		long long left = until - now_ms();
		int r = left > 0 ? poll(&p, 1, (int)left) : 0;
		if (r == 0) {
			set_failed(c, CTL_NO_RELAY, "%s: no answer within %u ms", c->path, wait_ms);
			return SIZE_MAX;
		}
		if (r < 0 && errno == EINTR)
			continue;
		ssize_t n = recv(c->fd, c->in + c->in_len, c->in_max - c->in_len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			set_failed(c, CTL_NO_RELAY, "%s: %s", c->path,
				   n == 0 ? "the relay closed the connection; is it gone?"
					  : strerror(errno));
			return SIZE_MAX;
		}
		c->in_len += (size_t)n;
	}
}

static json_t *
take_answer(struct ctl *c, size_t len)
{
	json_error_t err;
	json_t *v = json_loadb(c->in, len, 0, &err);
	json_t *result = json_incref(json_object_get(v, "result"));
	json_t *error = json_object_get(v, "error");
	if (!result) {
		const char *why = json_string_value(json_object_get(error, "message"));
		if (why)
			set_failed(c, CTL_REFUSED, "%s", why);
		else
			set_failed(c, CTL_NO_RELAY, "%s: its answer is no JSON-RPC", c->path);
		c->code = (int)json_integer_value(json_object_get(error, "code"));
	}
	json_decref(v);
	return result;
}

json_t *
ctl_call(struct ctl *c, const char *method, json_t *params, unsigned takes_ms, int fd)
{
	json_t *request = json_pack("{s:s, s:s, s:i, s:o*}", "jsonrpc", "2.0", "method", method,
				    "id", (int)++c->id, "params", params);
	char *text = request ? json_dumps(request, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(request);
	if (!text) {
		set_failed(c, CTL_REFUSED, "out of memory");
		return NULL;
	}
	size_t len = strlen(text);
	text[len] = '\n'; /* where the NUL was */
	bool sent = send_request(c, text, len + 1, fd);
	free(text);
	size_t n = sent ? receive_line(c, c->wait_ms + takes_ms) : SIZE_MAX;
	return n == SIZE_MAX ? NULL : take_answer(c, n);
}

json_t *
ctl_rows(struct ctl *c, const char *method, json_t *params)
{
	json_t *all = json_array();
	json_int_t first = 0;
	for (;;) {
		json_t *p = params ? json_copy(params) : json_object();
		json_object_set_new(p, "first", json_integer(first));
		json_object_set_new(p, "max", json_integer(1024));
		json_t *part = ctl_call(c, method, p, 0, -1);
		if (!part) {
			json_decref(all);
			return NULL;
		}
		json_array_extend(all, json_object_get(part, method));
		json_int_t next = json_integer_value(json_object_get(part, "next"));
		json_decref(part);
		if (next <= first)
			return all;
		first = next;
	}
}
