/* SPDX-License-Identifier: BSD-2-Clause */
#include "privs.h"

#include "log.h"

#include "driver/secrets.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TELL_SIGNAL (SIGRTMAX - 1)
#define TELL_MS	    5000
/* ThreadSanitizer holds signals back from threads that wait in a system call, and has a thread that
 * takes none: in such a build only control gives up its capabilities. */
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define OTHERS_HEAR false
#endif
#endif
#ifndef OTHERS_HEAR
#define OTHERS_HEAR true
#endif

void
rd_privs_harden(void)
{
	/* Keys are in our memory. */
	if (!process_hide())
		rd_log(RD_LOG_WARNING, "core files cannot be forbidden: %s", strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rd_log(RD_LOG_WARNING, "no_new_privs: %s", strerror(errno));
	/* What we might start has nothing. */
	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

/* ---- one set of capabilities in all threads ----------------------------------------------- */

static struct {
	uint64_t keep;
	atomic_uint done, failed;
} tell;

static int
drop_own(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2], have[2];
	if (syscall(SYS_capget, &head, have))
		return -1;
	for (int i = 0; i < 2; i++) {
		uint32_t set = (uint32_t)(tell.keep >> 32 * i) & have[i].permitted;
		data[i] = (struct __user_cap_data_struct){set, set, 0};
	}
	return (int)syscall(SYS_capset, &head, data);
}

static void
on_tell(int number)
{
	int old = errno;
	(void)number;
	if (drop_own())
		atomic_fetch_add(&tell.failed, 1);
	atomic_fetch_add(&tell.done, 1);
	errno = old;
}

/* How many other threads were told; -1: they cannot be listed. */
static int
tell_others(void)
{
	DIR *d = opendir("/proc/self/task");
	long self = syscall(SYS_gettid);
	int n = 0;
	if (!d)
		return -1;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		long tid = strtol(e->d_name, NULL, 10);
		if (tid > 0 && tid != self &&
		    syscall(SYS_tgkill, (long)getpid(), tid, (long)TELL_SIGNAL) == 0)
			n++;
	}
	closedir(d);
	return n;
}

static int
drop_all(uint64_t keep)
{
	struct sigaction act = {.sa_handler = on_tell, .sa_flags = SA_RESTART}, old;
	static const struct timespec ms = {0, 1000000};
	tell.keep = keep;
	atomic_store(&tell.done, 0);
	sigemptyset(&act.sa_mask);
	if (sigaction(TELL_SIGNAL, &act, &old))
		return -1;
	int n = OTHERS_HEAR ? tell_others() : 0;
	for (int i = 0; n > 0 && i < TELL_MS && atomic_load(&tell.done) < (unsigned)n; i++)
		(void)nanosleep(&ms, NULL);
	bool all = n >= 0 && atomic_load(&tell.done) == (unsigned)n && !atomic_load(&tell.failed);
	(void)sigaction(TELL_SIGNAL, &old, NULL);
	if (!all)
		errno = ETIMEDOUT;
	return all && drop_own() == 0 ? 0 : -1;
}

/* What stays: interface settings back and vdevs down at the end (NET_ADMIN), sockets bound to
 * TAPs on older kernels (NET_RAW), memory that threads still ask for locked (IPC_LOCK). */
static uint64_t
count_needed(const struct rd_conf *conf)
{
	uint64_t set = 1ull << CAP_NET_ADMIN | 1ull << CAP_NET_RAW | 1ull << CAP_IPC_LOCK;
	if (conf->gateway.enable &&
	    (conf->gateway.private_port < 1024 || conf->gateway.global_port < 1024))
		set |= 1ull << CAP_NET_BIND_SERVICE;
	return set;
}

/* ---- another user ------------------------------------------------------------------------- */

/* Without CAP_IPC_LOCK what is mapped later must not have to be locked. */
static void
unlock_future(void)
{
	static const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	if (setrlimit(RLIMIT_MEMLOCK, &all))
		(void)mlockall(MCL_CURRENT | MCL_ONFAULT); /* takes MCL_FUTURE back */
}

/* glibc does it in all threads; with the last root id go the capabilities. */
static int
become(const char *name)
{
	errno = 0;
	const struct passwd *p = getpwnam(name);
	if (!p) {
		errno = errno ? errno : ENOENT;
		return -1;
	}
	if (p->pw_uid == 0) {
		errno = EINVAL;
		return -1;
	}
	unlock_future();
	if (setgroups(0, NULL) || setresgid(p->pw_gid, p->pw_gid, p->pw_gid) ||
	    setresuid(p->pw_uid, p->pw_uid, p->pw_uid))
		return -1;
	/* The change of user made it what /proc/sys/fs/suid_dumpable says. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (seteuid(0) == 0) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

int
rd_privs_drop(const struct rd_conf *conf, char *err, size_t err_max)
{
	if (*conf->user) {
		if (become(conf->user) == 0)
			return 0;
		snprintf(err, err_max, "user %.32s: %s", conf->user,
			 errno == ENOENT   ? "there is none"
			 : errno == EINVAL ? "is root"
					   : strerror(errno));
		return -1;
	}
	if (drop_all(count_needed(conf)) == 0)
		return 0;
	snprintf(err, err_max, "capabilities cannot be given up: %s", strerror(errno));
	return -1;
}
