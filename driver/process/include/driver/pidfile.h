/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/pidfile.h - the file that holds a program's process id, locked while it lives.
 *
 * Threads  one owner. */
#ifndef DRIVER_PIDFILE_H
#define DRIVER_PIDFILE_H

#include <stddef.h>
#include <sys/types.h>

struct process_pidfile {
	char path[256];
	int fd; /* -1: there is none */
	dev_t dev;
	ino_t ino;
};

/* Make or take it, lock it, write the process id.  What is found must be a regular file of ours
 * with one name: a link that somebody planted is refused, never followed.  -1: err says why. */
int process_pidfile_open(struct process_pidfile *p, const char *path, char *err, size_t err_max);
/* Remove it if the name still means our file. */
void process_pidfile_remove(struct process_pidfile *p);

#endif
