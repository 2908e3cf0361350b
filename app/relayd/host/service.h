/* SPDX-License-Identifier: BSD-2-Clause */
/* service.h - what relayd and its service manager say to each other (sd_notify(3), without its
 * library).
 *
 *     READY=1                           it serves
 *     RELOADING=1, MONOTONIC_USEC=..    a reload began; READY=1 ends it
 *     STATUS=..                         a line for systemctl status
 *     STOPPING=1                        it ends
 *     WATCHDOG=1                        control and all workers turn, see rd_watchdog_due()
 *
 * Nothing is said where NOTIFY_SOCKET is not set.
 *
 * Threads  control. */
#ifndef RD_SERVICE_H
#define RD_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

void rd_notify(const char *state);
/* RELOADING=1 with the time that belongs to it. */
void rd_notify_reloading(void);
/* STATUS, if it is another one than the last. */
void rd_notify_status(const char *text);

struct rd_watchdog {
	uint64_t every_ns; /* 0: nobody watches */
	uint64_t due_ns;
};

/* From WATCHDOG_USEC, WATCHDOG_PID: half of that time. */
void rd_watchdog_init(struct rd_watchdog *w);
/* Time to ask all threads whether they turn, and to say WATCHDOG=1 when they have answered. */
bool rd_watchdog_due(struct rd_watchdog *w, uint64_t now_ns);

#endif
