/* watch.h - a file descriptor in the epoll set of the control thread. */
#ifndef RD_WATCH_H
#define RD_WATCH_H

#include <stdint.h>
#include <sys/epoll.h>

struct rd_control;

struct rd_watch {
	int fd; /* -1: none */
	uint32_t events;
	void (*fn)(struct rd_watch *w, uint32_t events);
	void *owner;
};

/* Begin watching fd (owner and fn are set in w); 0 or -errno. */
int rd_watch_add(struct rd_control *c, struct rd_watch *w, int fd, uint32_t events);
void rd_watch_events(struct rd_control *c, struct rd_watch *w, uint32_t events);
/* Stop watching and close. */
void rd_watch_close(struct rd_control *c, struct rd_watch *w);

#endif
