/* SPDX-License-Identifier: BSD-2-Clause */
#include "keeper.h"

#include "log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#define RUN_DIR "/run/relayd"

/* ---- the record ------------------------------------------------------------------------ */

static void
record_path(const struct rd_conf *conf, char *out, size_t max)
{
	snprintf(out, max, RUN_DIR "/%s.left", conf->eal.file_prefix);
}

/* One line each: interface rp_filter arp_ignore disable_ipv6, "-" for what was not read. */
static void
restore_line(const char *line)
{
	struct rd_iface i = {0};
	char rp[8], arp[8], ipv6[8];
	if (sscanf(line, "%15s %7s %7s %7s", i.name, rp, arp, ipv6) != 4 || strchr(i.name, '/') ||
	    *i.name == '.')
		return;
	strlcpy(i.rp_filter, strcmp(rp, "-") ? rp : "", sizeof i.rp_filter);
	strlcpy(i.arp_ignore, strcmp(arp, "-") ? arp : "", sizeof i.arp_ignore);
	strlcpy(i.disable_ipv6, strcmp(ipv6, "-") ? ipv6 : "", sizeof i.disable_ipv6);
	rd_iface_restore(&i);
}

/* True if there was one. */
static bool
restore_recorded(const char *path)
{
	char line[128];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	FILE *f = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()
			  ? fdopen(fd, "r")
			  : NULL;
	if (!f) {
		close(fd);
		return false;
	}
	while (fgets(line, sizeof line, f))
		restore_line(line);
	fclose(f);
	(void)unlink(path);
	return true;
}

int
rd_keeper_record(const struct rd_conf *conf, const struct rd_iface *iface, uint32_t n, char *err,
		 size_t err_max)
{
	char path[128];
	record_path(conf, path, sizeof path);
	(void)mkdir(RUN_DIR, 0755);
	(void)unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		snprintf(err, err_max, "cannot write %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		if (*iface[i].name)
			fprintf(f, "%s %s %s %s\n", iface[i].name,
				*iface[i].rp_filter ? iface[i].rp_filter : "-",
				*iface[i].arp_ignore ? iface[i].arp_ignore : "-",
				*iface[i].disable_ipv6 ? iface[i].disable_ipv6 : "-");
	if (fclose(f) == 0)
		return 0;
	snprintf(err, err_max, "cannot write %s: %s", path, strerror(errno));
	(void)unlink(path);
	return -1;
}

/* ---- files ------------------------------------------------------------------------------- */

/* Somebody listens there? */
static bool
answers(const char *path, int type)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	if (strlcpy(sun.sun_path, path, sizeof sun.sun_path) >= sizeof sun.sun_path)
		return true;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return true;
	bool dead = connect(fd, (const struct sockaddr *)&sun, sizeof sun) != 0 &&
		    (errno == ECONNREFUSED || errno == ENOENT);
	close(fd);
	return !dead;
}

/* ours: nobody else can have taken the place yet. */
static void
remove_socket(const char *path, bool ours)
{
	struct stat st;
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (ours || !answers(path, SOCK_STREAM)))
		(void)unlink(path);
}

static void
remove_runtime(const struct rd_conf *conf, bool ours)
{
	char dir[96], path[128];
	snprintf(dir, sizeof dir, "/var/run/dpdk/%s", conf->eal.file_prefix);
	snprintf(path, sizeof path, "%s/dpdk_telemetry.v2", dir);
	DIR *d = !ours && answers(path, SOCK_SEQPACKET) ? NULL : opendir(dir);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	(void)rmdir(dir);
}

/* Only if it still names that process. */
static void
remove_pidfile(const char *path, pid_t pid)
{
	char text[24] = "";
	int fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n > 0 && strtol(text, NULL, 10) == (long)pid)
		(void)unlink(path);
}

void
rd_socket_path(const struct rd_conf *conf, char *out, size_t max)
{
	if (*conf->control.socket)
		strlcpy(out, conf->control.socket, max);
	else
		snprintf(out, max, RUN_DIR "/%s.sock", conf->eal.file_prefix);
}

void
rd_keeper_recover(const struct rd_conf *conf)
{
	char path[128];
	record_path(conf, path, sizeof path);
	if (restore_recorded(path))
		rd_log(RD_LOG_WARNING,
		       "an earlier relayd was killed together with its keeper: the interfaces' "
		       "settings of before are back");
	remove_runtime(conf, false);
}

/* ---- the child ----------------------------------------------------------------------------- */

static void
quiet_child(int *fd)
{
	static const int ignored[] = {SIGTERM, SIGINT,	SIGHUP,	 SIGQUIT, SIGUSR1, SIGUSR2,
				      SIGALRM, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	(void)setsid(); /* what is sent to relayd's group is not for us */
	(void)prctl(PR_SET_NAME, "relayd-keeper");
	int null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && null >= 0; i++)
		(void)dup2(null, i);
	if (*fd != 3)
		(void)dup2(*fd, 3);
	*fd = 3;
	/* Nothing of relayd's stays open here: no lock on its pidfile, no socket. */
	(void)close_range(4, ~0u, 0);
}

static void __attribute__((noreturn)) keep(const struct rd_conf *conf, int fd, pid_t parent)
{
	char path[128], byte;
	quiet_child(&fd);
	ssize_t n;
	while ((n = read(fd, &byte, 1)) < 0 && errno == EINTR)
		;
	/* A byte: relayd waits for us, and its telemetry thread may still answer. */
	bool waits = n == 1;
	record_path(conf, path, sizeof path);
	(void)restore_recorded(path);
	rd_socket_path(conf, path, sizeof path);
	if (conf->control.enable)
		remove_socket(path, waits);
	remove_runtime(conf, waits);
	remove_pidfile(conf->pidfile, parent);
	_exit(0);
}

int
rd_keeper_start(struct rd_keeper *k, const struct rd_conf *conf, char *err, size_t err_max)
{
	int fd[2];
	pid_t parent = getpid();
	*k = (struct rd_keeper){.pipe = -1};
	if (pipe2(fd, O_CLOEXEC)) {
		snprintf(err, err_max, "keeper: %s", strerror(errno));
		return -1;
	}
	k->child = fork();
	if (k->child == 0)
		keep(conf, fd[0], parent);
	close(fd[0]);
	if (k->child > 0) {
		k->pipe = fd[1];
		return 0;
	}
	snprintf(err, err_max, "keeper: %s", strerror(errno));
	k->child = 0;
	close(fd[1]);
	return -1;
}

void
rd_keeper_end(struct rd_keeper *k)
{
	if (k->child <= 0)
		return;
	if (write(k->pipe, "", 1) < 0)
		rd_log(RD_LOG_DEBUG, "keeper: %s", strerror(errno));
	close(k->pipe);
	while (waitpid(k->child, NULL, 0) < 0 && errno == EINTR)
		;
	k->child = 0;
}
