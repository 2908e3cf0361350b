/* SPDX-License-Identifier: BSD-2-Clause */
#include "http.h"

#include "metrics.h"
#include "page.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

struct web {
	const struct web_conf *conf;
	struct MHD_Daemon *daemon;
};

/* ---- who may ask ---------------------------------------------------------------------------- */

/* The Host header without its port; false: too long, or none. */
static bool
host_of(struct MHD_Connection *c, char *to, size_t max)
{
	const char *h = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	if (!h || strlen(h) >= max)
		return false;
	strlcpy(to, h[0] == '[' ? h + 1 : h, max);
	char *end = h[0] == '[' ? strchr(to, ']') : strrchr(to, ':');
	if (end)
		*end = '\0';
	return true;
}

static bool
may_ask(const struct web *w, struct MHD_Connection *c)
{
	char host[256];
	unsigned char address[16];
	if (!host_of(c, host, sizeof host))
		return false;
	if (!strcmp(host, "localhost") || inet_pton(AF_INET, host, address) == 1 ||
	    inet_pton(AF_INET6, host, address) == 1)
		return true;
	for (unsigned i = 0; i < w->conf->nhosts; i++)
		if (!strcasecmp(host, w->conf->host[i]))
			return true;
	return false;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* body: of mode's; taken over if it is to be freed. */
static enum MHD_Result
answer_request(struct MHD_Connection *c, unsigned status, const char *type, const char *body,
	       size_t len, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(len, (void *)(uintptr_t)body, mode);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "Content-Security-Policy",
				"default-src 'none'; script-src 'self'; style-src 'self'; "
				"connect-src 'self'; img-src 'self'; frame-ancestors 'none'");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	enum MHD_Result sent = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return sent;
}

static enum MHD_Result
answer_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	return answer_request(c, status, "text/plain; charset=utf-8", text, strlen(text),
			      MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result
answer_made(struct MHD_Connection *c, const char *type, char *text, size_t len)
{
	if (!text)
		return answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return answer_request(c, MHD_HTTP_OK, type, text, len, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result
answer_relays(const struct web *w, struct MHD_Connection *c, bool metrics)
{
	json_t *relays = web_gather(w->conf->relay, w->conf->nrelays);
	size_t len = 0;
	char *text = metrics ? web_metrics(relays, &len) : json_dumps(relays, JSON_COMPACT);
	json_decref(relays);
	if (!metrics && text)
		len = strlen(text);
	return answer_made(c, metrics ? WEB_METRICS_TYPE : "application/json", text, len);
}

static enum MHD_Result
handle_request(void *user, struct MHD_Connection *c, const char *url, const char *method,
	       const char *version, const char *upload, size_t *upload_len, void **state)
{
	const struct web *w = user;
	(void)version;
	(void)upload;
	(void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		*upload_len = 0;
		return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
	}
	if (!may_ask(w, c))
		return answer_text(c, MHD_HTTP_FORBIDDEN,
				   "this name is not known here; fix: relayd-web -H NAME\n");
	if (!strcmp(url, "/metrics"))
		return answer_relays(w, c, true);
	if (!strcmp(url, "/api/relays"))
		return answer_relays(w, c, false);
	for (unsigned i = 0; i < web_npages; i++)
		if (!strcmp(url, web_page[i].url))
			return answer_request(c, MHD_HTTP_OK, web_page[i].type, web_page[i].bytes,
					      web_page[i].len, MHD_RESPMEM_PERSISTENT);
	return answer_text(c, MHD_HTTP_NOT_FOUND, "not here: /metrics, /api/relays, /\n");
}

/* ---- listening ------------------------------------------------------------------------------ */

static bool
split_listen(const char *listen, char *host, size_t host_max, char *port, size_t port_max)
{
	const char *colon = strrchr(listen, ':');
	size_t n = colon ? (size_t)(colon - listen) : 0;
	bool v6 = n >= 2 && listen[0] == '[' && colon[-1] == ']';
	if (v6) {
		listen++;
		n -= 2;
	}
	if (!n || n >= host_max || strlen(colon + 1) >= port_max || !colon[1])
		return false;
	memcpy(host, listen, n);
	host[n] = '\0';
	strlcpy(port, colon + 1, port_max);
	return true;
}

struct web *
web_start(const struct web_conf *conf, char *why, size_t why_max)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE},
			*ai = NULL;
	char host[64], port[8];
	if (!split_listen(conf->listen, host, sizeof host, port, sizeof port) ||
	    getaddrinfo(host, port, &hints, &ai) != 0) {
		snprintf(why, why_max, "-l %s: ADDRESS:PORT is wanted, like 127.0.0.1:7814",
			 conf->listen);
		return NULL;
	}
	struct web *w = calloc(1, sizeof *w);
	if (w) {
		w->conf = conf;
		errno = 0;
		w->daemon = MHD_start_daemon(
			MHD_USE_EPOLL_INTERNAL_THREAD |
				(ai->ai_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0),
			0, NULL, NULL, handle_request, w, MHD_OPTION_SOCK_ADDR, ai->ai_addr,
			MHD_OPTION_CONNECTION_LIMIT, (unsigned)WEB_CONNECTIONS,
			MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)WEB_IDLE_S,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
	}
	freeaddrinfo(ai);
	if (!w || !w->daemon) {
		snprintf(why, why_max, "cannot listen on %s: %s", conf->listen,
			 errno ? strerror(errno) : "out of memory");
		free(w);
		return NULL;
	}
	return w;
}

void
web_stop(struct web *w)
{
	MHD_stop_daemon(w->daemon);
	free(w);
}
