/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_version.h>

#include "driver/eal.h"

#define MIB	 (1024ull * 1024)
#define ARGS_MAX (32 + 4 * RD_EAL_DEVS_MAX)
#define ARG_MAX	 512
#define PAGE	 4096u
#define HUGE_DIR "/sys/kernel/mm/hugepages"

/* EAL keeps pointers into argv, so the strings live as long as the process. */
static struct {
	char text[ARGS_MAX][ARG_MAX];
	char *argv[ARGS_MAX + 1];
	int argc;
	bool overflow, started;
	char runtime_dir[256];
} eal;

static void
arg(const char *s)
{
	if (eal.argc == ARGS_MAX || strlen(s) >= ARG_MAX) {
		eal.overflow = true;
		return;
	}
	snprintf(eal.text[eal.argc], ARG_MAX, "%s", s);
	eal.argv[eal.argc] = eal.text[eal.argc];
	eal.argc++;
}

static void
arg2(const char *name, const char *value)
{
	arg(name);
	arg(value);
}

static unsigned
first_cpu(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		for (unsigned i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				return i;
	return 0;
}

static void
build_args(const struct rd_eal_opts *o)
{
	char buf[64];

	arg(o->prog ? o->prog : "rd");
	if (o->huge) {
		arg("--in-memory");
	} else {
		arg("--no-huge");
		arg("--no-shconf");
	}
	snprintf(buf, sizeof buf, "%u", o->mem_mb ? o->mem_mb : 64);
	arg2("-m", buf);
	snprintf(buf, sizeof buf, "rd%ld", (long)getpid());
	arg2("--file-prefix", o->file_prefix ? o->file_prefix : buf);
	snprintf(eal.runtime_dir, sizeof eal.runtime_dir, "/var/run/dpdk/%s",
		 o->file_prefix ? o->file_prefix : buf);
	snprintf(buf, sizeof buf, "0@%u", first_cpu());
	arg2("--lcores", o->lcores ? o->lcores : buf);
	if (o->main_lcore >= 0 && o->lcores) {
		snprintf(buf, sizeof buf, "%d", o->main_lcore);
		arg2("--main-lcore", buf);
	}
	if (o->n_pci_allow == 0)
		arg("--no-pci");
	for (uint32_t i = 0; i < o->n_pci_allow && i < RD_EAL_DEVS_MAX; i++)
		arg2("-a", o->pci_allow[i]);
	for (uint32_t i = 0; i < o->n_vdevs && i < RD_EAL_DEVS_MAX; i++)
		arg2("--vdev", o->vdevs[i]);
	if (!o->telemetry)
		arg("--no-telemetry");
	arg2("--log-level", o->log_level ? o->log_level : "*:4");
	for (uint32_t i = 0; i < o->n_extra && i < RD_EAL_DEVS_MAX; i++)
		arg(o->extra[i]);
}

static int
populate(const struct rte_memseg_list *list, const struct rte_memseg *seg, size_t len, void *user)
{
	int *failed = user;
	(void)list;
	if (madvise(seg->addr, len, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL) {
		*failed = errno;
		return 1;
	}
	/* Kernels before 5.14 do not know it. */
	for (size_t at = 0; at < len; at += PAGE)
		atomic_fetch_or((atomic_uchar *)seg->addr + at, 0);
	return 0;
}

/* EAL itself does this for hugepages. */
static int
make_resident(const struct rd_eal_opts *o, char *err, size_t err_max)
{
	int failed = 0;
	if (rte_memseg_contig_walk(populate, &failed) == 0)
		return 0;
	snprintf(err, err_max, "%u MB of memory are asked, the machine does not have them: %s",
		 o->mem_mb ? o->mem_mb : 64, strerror(failed ? failed : ENOMEM));
	return -ENOMEM;
}

int
rd_eal_start(const struct rd_eal_opts *o, char *err, size_t err_max)
{
	if (o->huge) {
		int r = rd_huge_check((o->mem_mb ? o->mem_mb : 64) * MIB, err, err_max);
		if (r < 0)
			return r;
	}
	build_args(o);
	if (eal.overflow) {
		snprintf(err, err_max, "EAL: more than %d options, or one of %d bytes and more",
			 ARGS_MAX, ARG_MAX);
		return -E2BIG;
	}
	/* EAL takes systemd's list of the service's folders for one folder. */
	(void)unsetenv("RUNTIME_DIRECTORY");
	/* EAL permutes the vector it is given (getopt). */
	static char *argv[ARGS_MAX + 1];
	memcpy(argv, eal.argv, sizeof argv);
	if (rte_eal_init(eal.argc, argv) < 0) {
		int e = rte_errno ? rte_errno : EIO;
		snprintf(err, err_max,
			 "DPDK EAL did not start: %s (lcores %s, %u MB %s); its own words are "
			 "above%s",
			 rte_strerror(e), o->lcores ? o->lcores : "first CPU",
			 o->mem_mb ? o->mem_mb : 64, o->huge ? "of hugepages" : "without hugepages",
			 geteuid() ? "; it must run as root" : "");
		return -e;
	}
	eal.started = true;
	if (o->huge || !o->resident)
		return 0;
	int r = make_resident(o, err, err_max);
	if (r < 0)
		rd_eal_stop();
	return r;
}

/* EAL leaves its runtime folder behind. */
static void
remove_runtime_dir(void)
{
	DIR *d = opendir(eal.runtime_dir);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	(void)rmdir(eal.runtime_dir);
}

void
rd_eal_stop(void)
{
	if (!eal.started)
		return;
	eal.started = false;
	(void)rte_eal_cleanup();
	remove_runtime_dir();
}

static uint64_t
read_eal_number(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v = 0;
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

int
rd_huge_check(uint64_t need_bytes, char *err, size_t err_max)
{
	uint64_t free_bytes = 0, nr_2m = read_eal_number(HUGE_DIR "/hugepages-2048kB/nr_hugepages");
	DIR *d = opendir(HUGE_DIR);
	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		unsigned long kb;
		char path[sizeof HUGE_DIR + sizeof e->d_name + 32];
		if (sscanf(e->d_name, "hugepages-%lukB", &kb) != 1)
			continue;
		snprintf(path, sizeof path, HUGE_DIR "/%s/free_hugepages", e->d_name);
		free_bytes += read_eal_number(path) * kb * 1024;
	}
	if (d)
		closedir(d);
	if (free_bytes >= need_bytes)
		return 0;
	uint64_t more = (need_bytes - free_bytes + 2 * MIB - 1) / (2 * MIB);
	snprintf(err, err_max,
		 "hugepages: %llu MB needed, %llu MB free; fix: sysctl -w "
		 "vm.nr_hugepages=%llu (or run without hugepages)",
		 (unsigned long long)((need_bytes + MIB - 1) / MIB),
		 (unsigned long long)(free_bytes / MIB), (unsigned long long)nr_2m + more);
	return -ENOMEM;
}
