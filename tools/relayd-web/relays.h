/* SPDX-License-Identifier: BSD-2-Clause */
/* relays.h - what the relays of this machine say of themselves, gathered over their control
 * sockets.
 *
 * Shape    an array, one object a relay, in the order of names:
 *          {"name", "up": true, "status": {..}, "drops": [..], "trunks": [..], "jobs": [..],
 *           "starts": [..], "gateway": {..}}, or {"name", "up": false, "why": TEXT}
 *          as doc/control.md has them; of jobs and starts the first WEB_JOBS_MAX.
 * Threads  the caller's; each call connects anew, so a relay that was restarted is found.
 * Limits   WEB_RELAYS_MAX relays, WEB_WAIT_MS for an answer of each. */
#ifndef WEB_RELAYS_H
#define WEB_RELAYS_H

#include <jansson.h>

#define WEB_RELAYS_MAX 16
#define WEB_JOBS_MAX   256
#define WEB_WAIT_MS    1000

/* names: instances or paths, n of them; n = 0: every socket in /run/relayd. */
json_t *web_gather(const char *const *names, unsigned n);

#endif
