/* pidfile.h - the file that holds relayd's process id, locked while it lives. */
#ifndef RD_PIDFILE_H
#define RD_PIDFILE_H

#include <stddef.h>
#include <sys/types.h>

struct rd_pidfile {
	char path[256];
	int fd; /* -1: there is none */
	dev_t dev;
	ino_t ino;
};

/* Make or take it, lock it, write the process id.  What is found must be a regular file of ours
 * with one name: a link that somebody planted is refused, never followed.  -1: err says why. */
int rd_pidfile_open(struct rd_pidfile *p, const char *path, char *err, size_t err_max);
/* Remove it if the name still means our file. */
void rd_pidfile_remove(struct rd_pidfile *p);

#endif
