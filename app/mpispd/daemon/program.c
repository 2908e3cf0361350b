/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a process runs the program that others of its kind run: a spare with another one would
 * take a rank over and do something else. */
#include "daemon.h"

#include "base/siphash.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the file's bytes; 0: cannot be read, so nothing is said against it. */
static uint64_t
hash_program(pid_t pid, char *name, size_t room)
{
	static const uint8_t key[16] = "program of a job";
	static struct stat known;
	static uint64_t hash;
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, name, room - 1);
	name[n > 0 ? n : 0] = '\0';
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	bool same = st.st_ino == known.st_ino && st.st_dev == known.st_dev &&
		    st.st_size == known.st_size && st.st_mtim.tv_sec == known.st_mtim.tv_sec &&
		    st.st_mtim.tv_nsec == known.st_mtim.tv_nsec;
	void *at =
		same ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at != MAP_FAILED) {
		hash = base_siphash(key, at, (size_t)st.st_size);
		hash += hash == 0;
		known = st;
		munmap(at, (size_t)st.st_size);
		same = true;
	}
	return same ? hash : 0;
}

static bool
refuse_program(struct spd_proc *p, const char *name, uint64_t want)
{
	spd_say("%s of unit %s runs %s (%016llx), which is another program than the one that "
		"cluster %s began with (%016llx): it is refused; install the same one there",
		spd_proc_name(p), spd.conf->unit[spd.me].name, name, (unsigned long long)p->program,
		spd.cluster->name, (unsigned long long)want);
	sp_node_forgo(spd.node, p->pool);
	spd_proc_kill(p);
	return false;
}

bool
spd_program_fits(struct spd_proc *p, uint64_t now_ns)
{
	const struct sp_view *v = spd_view();
	char name[256];
	uint32_t i = SPD_FACT_PROGRAM + p->pool;

	if (!p->program)
		p->program = hash_program(p->pid, name, sizeof name);
	else
		snprintf(name, sizeof name, "%s", spd.cluster->program[0]);
	if (!v || !p->program)
		return true;
	const struct sp_fact *f = &v->fact[i];
	uint64_t want = (uint64_t)f->a << 32 | f->b;
	if (want && want != p->program)
		return refuse_program(p, name, want);
	if (!want)
		(void)sp_node_ask(spd.node, SP_OP_CLAIM, (uint8_t)i, (uint32_t)(p->program >> 32),
				  (uint32_t)p->program, now_ns);
	return true;
}
