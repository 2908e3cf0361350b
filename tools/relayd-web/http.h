/* SPDX-License-Identifier: BSD-2-Clause */
/* http.h - the HTTP side of relayd-web, on libmicrohttpd.
 *
 * Paths    /metrics, /api/relays, / and what the page consists of; GET and HEAD only.
 * Guard    a request must name an address of a host, localhost or a name of conf.host: a page from
 *          elsewhere that lets its own name lead here (DNS rebinding) gets 403.
 * Threads  one of libmicrohttpd's; web_start() and web_stop() by the main thread.
 * Limits   WEB_CONNECTIONS at a time, WEB_IDLE_S of silence, 16 KiB a connection. */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

#include "relays.h"

#include <stddef.h>

#define WEB_CONNECTIONS 32
#define WEB_IDLE_S	10

struct web_conf {
	const char *listen; /* ADDRESS:PORT, [ADDRESS]:PORT for IPv6 */
	const char *relay[WEB_RELAYS_MAX], *host[WEB_RELAYS_MAX];
	unsigned nrelays, nhosts;
};

struct web;
/* NULL: why says what, and what to do.  conf stays the caller's and must last. */
struct web *web_start(const struct web_conf *conf, char *why, size_t why_max);
void web_stop(struct web *w);

#endif
