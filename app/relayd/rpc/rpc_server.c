/* SPDX-License-Identifier: BSD-2-Clause */
#include "keeper.h"
#include "rpc_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bsd/string.h>

/* ---- clients ----------------------------------------------------------------------- */

static void
keep_passed(struct rd_rpc_client *c, int fd)
{
	if (c->passed >= 0)
		close(c->passed);
	c->passed = fd;
}

static void
drop_client(struct rd_rpc_client *c)
{
	if (c->watch.fd < 0)
		return;
	rd_watch_close(c->server->env.loop, &c->watch);
	rd_rpc_fini(&c->conn);
	keep_passed(c, -1);
	c->need = 0;
	rd_rpc_tools_gone(c);
	rd_rpc_trunks_gone(c);
	rd_rpc_reload_gone(c);
}

/* A call waits for something. */
static bool
is_waiting(const struct rd_rpc_client *c)
{
	return c->conn.active;
}

static void
write_out(struct rd_rpc_client *c)
{
	size_t len;
	const char *out;
	while ((out = rd_rpc_output(&c->conn, &len))) {
		ssize_t n = send(c->watch.fd, out, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0) {
			if (errno != EAGAIN && errno != EINTR)
				drop_client(c);
			return;
		}
		c->moved_ns = c->server->env.loop->now_ns;
		rd_rpc_sent(&c->conn, (size_t)n);
	}
}

/* What can be done now has been: what to wait for next. */
void
rd_rpc_settle(struct rd_rpc_client *c)
{
	size_t room, len;
	write_out(c);
	if (c->watch.fd < 0)
		return;
	bool more = rd_rpc_output(&c->conn, &len);
	(void)rd_rpc_room(&c->conn, &room);
	if (rd_rpc_closing(&c->conn) || (c->eof && !more && !is_waiting(c))) {
		drop_client(c);
		return;
	}
	rd_watch_events(c->server->env.loop, &c->watch,
			(room && !c->eof ? (uint32_t)EPOLLIN : 0) |
				(more ? (uint32_t)EPOLLOUT : 0));
}

/* Bytes, and perhaps a file descriptor; further ones are closed. */
static ssize_t
receive_request(struct rd_rpc_client *c, char *at, size_t room)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = at, .iov_len = room};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof control.bytes};
	ssize_t n = recvmsg(c->watch.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return n;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
			keep_passed(c, fd);
		}
	}
	return n;
}

static void
on_client(struct rd_watch *w, uint32_t events)
{
	struct rd_rpc_client *c = w->owner;
	size_t room;
	char *at = rd_rpc_room(&c->conn, &room);
	if (room && !c->eof && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		ssize_t n = receive_request(c, at, room);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			drop_client(c);
			return;
		}
		if (n == 0)
			c->eof = true;
		if (n > 0) {
			c->moved_ns = c->server->env.loop->now_ns;
			rd_rpc_input(&c->conn, (size_t)n);
		}
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		drop_client(c); /* nobody is there for the answer */
		return;
	}
	rd_rpc_settle(c);
}

/* A free place, if need be that of the one who has been silent longest. */
static struct rd_rpc_client *
find_place(struct rd_rpc_server *s)
{
	struct rd_rpc_client *oldest = NULL;
	for (int i = 0; i < RD_RPC_CLIENTS; i++) {
		struct rd_rpc_client *c = s->client[i];
		if (!c) {
			c = s->client[i] = calloc(1, sizeof *c);
			if (!c) {
				s->env.loop->count.refused_memory++;
				return NULL;
			}
			c->watch.fd = -1;
			c->passed = -1;
			c->server = s;
		}
		if (c->watch.fd < 0)
			return c;
		if (!is_waiting(c) && (!oldest || c->moved_ns < oldest->moved_ns))
			oldest = c;
	}
	if (!oldest || s->env.loop->now_ns - oldest->moved_ns < RD_RPC_IDLE_NS)
		return NULL;
	drop_client(oldest);
	return oldest;
}

static void
on_accept(struct rd_listener *l)
{
	struct rd_rpc_server *s = l->owner;
	int fd = rd_listener_accept(l, NULL);
	if (fd < 0)
		return;
	struct rd_rpc_client *c = find_place(s);
	if (!c) {
		static const char full[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,"
					   "\"message\":\"too many clients\"},\"id\":null}\n";
		(void)send(fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
		return;
	}
	c->watch.owner = c;
	c->watch.fn = on_client;
	c->eof = false;
	c->moved_ns = s->env.loop->now_ns;
	rd_rpc_init(&c->conn, &rd_rpc_api, c);
	if (rd_watch_add(s->env.loop, &c->watch, fd, EPOLLIN)) {
		rd_rpc_fini(&c->conn);
		close(fd);
	}
}

/* ---- snapshots ------------------------------------------------------------------------ */

static void answer_snapshot(struct rd_snapshot *made, void *owner);

static void
begin_snapshot(struct rd_rpc_server *s)
{
	s->out = true;
	s->changed = false;
	s->snapshot->check = false;
	for (int i = 0; i < RD_RPC_CLIENTS; i++)
		s->snapshot->check |= s->client[i] && s->client[i]->need && s->client[i]->check;
	rd_snapshot_take(s->env.figures, s->snapshot, answer_snapshot, s);
}

static void
answer_snapshot(struct rd_snapshot *made, void *owner)
{
	struct rd_rpc_server *s = owner;
	(void)made;
	bool wanted = false;
	s->out = false;
	s->made++;
	s->made_ns = s->env.loop->now_ns;
	for (int i = 0; i < RD_RPC_CLIENTS; i++) {
		struct rd_rpc_client *c = s->client[i];
		if (!c || c->watch.fd < 0 || !c->need)
			continue;
		if (c->need > s->made) {
			wanted = true;
			continue;
		}
		c->need = 0;
		rd_rpc_answer(c, s->snapshot);
		rd_rpc_settle(c);
	}
	if (wanted && !s->out)
		begin_snapshot(s);
}

void
rd_rpc_changed(struct rd_rpc_server *s)
{
	s->changed = true;
}

/* The last one does for it, too. */
static bool
is_fresh(const struct rd_rpc_server *s, bool check)
{
	return !s->out && s->made && !s->changed &&
	       s->env.loop->now_ns - s->made_ns < RD_RPC_FRESH_NS && (!check || s->snapshot->check);
}

void
rd_rpc_want_snapshot(struct rd_rpc_client *c, bool check)
{
	struct rd_rpc_server *s = c->server;
	c->check = check;
	if (is_fresh(s, check)) {
		rd_rpc_answer(c, s->snapshot);
		return;
	}
	/* One that is under way may be of a moment before the call. */
	c->need = s->made + (s->out ? 2 : 1);
	c->until_ns = s->env.loop->now_ns + RD_RPC_ANSWER_NS;
	if (!s->out)
		begin_snapshot(s);
}

void
rd_rpc_server_tick(struct rd_rpc_server *s)
{
	uint64_t now = s->env.loop->now_ns;
	rd_listener_tick(&s->listen);
	rd_rpc_tools_tick(s);
	for (int i = 0; i < RD_RPC_CLIENTS; i++) {
		struct rd_rpc_client *c = s->client[i];
		size_t len;
		if (!c || c->watch.fd < 0)
			continue;
		if (c->need && now >= c->until_ns) {
			c->need = 0;
			rd_rpc_error(&c->conn, RD_RPC_LATE, "the workers do not answer");
			rd_rpc_settle(c);
		} else if (rd_rpc_output(&c->conn, &len) && now - c->moved_ns >= RD_RPC_STALL_NS) {
			drop_client(c);
		}
	}
}

/* ---- the socket ------------------------------------------------------------------------- */

/* A socket that nobody serves any more may be in the way. */
static int
clear_place(const struct sockaddr_un *sun)
{
	struct stat st;
	if (lstat(sun->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int e = connect(fd, (const struct sockaddr *)sun, sizeof *sun) ? errno : 0;
	close(fd);
	if (e != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(sun->sun_path) && errno != ENOENT ? -errno : 0;
}

/* 0600, or 0660 and the group's. */
static int
set_owner(const char *path, const char *group)
{
	if (!*group)
		return 0;
	errno = 0;
	const struct group *g = getgrnam(group);
	if (!g)
		return errno ? -errno : -ESRCH;
	return chown(path, (uid_t)-1, g->gr_gid) || chmod(path, 0660) ? -errno : 0;
}

static int
listen_for_rpc(struct rd_rpc_server *s, const char **step)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct stat st;
	int e;
	strlcpy(sun.sun_path, s->path, sizeof sun.sun_path);
	*step = "the place is taken";
	if ((e = clear_place(&sun)))
		return e;
	*step = "cannot listen";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	mode_t old = umask(0177);
	e = bind(fd, (struct sockaddr *)&sun, sizeof sun) ? -errno : 0;
	umask(old);
	if (e)
		goto err_close;
	if (stat(s->path, &st) == 0) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
	*step = "its group (control.group)";
	e = set_owner(s->path, s->env.conf->control.group);
	if (e)
		goto err_unlink;
	*step = "cannot listen";
	e = listen(fd, RD_RPC_CLIENTS) ? -errno
				       : rd_listener_add(&s->listen, s->env.loop, fd, on_accept, s);
	if (e == 0)
		return 0;
err_unlink:
	(void)unlink(s->path);
err_close:
	close(fd);
	return e;
}

struct rd_rpc_server *
rd_rpc_server_new(const struct rd_rpc_env *env, char *err, size_t err_max)
{
	const struct rd_conf *conf = env->conf;
	const char *step = "its path (control.socket) is too long";
	int e = -ENAMETOOLONG;
	struct rd_rpc_server *s = calloc(1, sizeof *s);
	if (!s) {
		snprintf(err, err_max, "control socket: no memory");
		return NULL;
	}
	s->env = *env;
	s->listen.watch.fd = -1;
	if (!*conf->control.socket)
		(void)mkdir(RD_RPC_SOCKET_DIR, 0755); /* bind says what is wrong with it */
	rd_socket_path(conf, s->path, sizeof s->path);
	if (strlen(s->path) + 1 < sizeof s->path)
		e = listen_for_rpc(s, &step);
	if (e) {
		snprintf(err, err_max, "control socket %.100s: %s: %s", s->path, step,
			 e == -ESRCH ? "no such group" : strerror(-e));
		free(s);
		return NULL;
	}
	s->snapshot = rd_snapshot_new(conf);
	s->measure = rd_measure_new(&s->env);
	s->capture = rd_capture_new(env->loop, env->post);
	if (s->snapshot && s->measure && s->capture)
		return s;
	snprintf(err, err_max, "control socket: no memory");
	rd_rpc_server_free(s);
	return NULL;
}

void
rd_rpc_server_free(struct rd_rpc_server *s)
{
	struct stat st;
	if (!s)
		return;
	for (int i = 0; i < RD_RPC_CLIENTS; i++) {
		if (s->client[i])
			drop_client(s->client[i]);
		free(s->client[i]);
	}
	rd_listener_close(&s->listen);
	/* Not that of one who took the place. */
	if (lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		(void)unlink(s->path);
	rd_capture_free(s->capture);
	rd_measure_free(s->measure);
	rd_snapshot_free(s->snapshot);
	free(s);
}
