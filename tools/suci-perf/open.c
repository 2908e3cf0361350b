/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of the four roles. */
#include "perf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int
say_open(const char *what, const char *why)
{
	fprintf(stderr, "suci-perf: %s: %s\n", what, why);
	return -1;
}

static int
list_ids(struct run *r, const struct datagram_db *db)
{
	r->n = (uint32_t)datagram_db_count(db);
	r->ids = calloc(r->n ? r->n : 1, sizeof *r->ids);
	for (uint32_t i = 0; r->ids && i < r->n; i++) {
		char ip[DATAGRAM_IP_TEXT];
		uint16_t port;
		(void)datagram_db_get(db, i, &r->ids[i], ip, &port);
	}
	return r->ids ? 0 : say_open("ids", "out of memory");
}

static int
open_as(struct run *r, const struct options *o, struct datagram_db *db, uint32_t id)
{
	struct datagram_conf conf = o->conf;
	conf.id = id;
	conf.db = db;
	r->o = o;
	r->me = id;
	r->s = datagram_open_with(&conf);
	if (r->s && (conf.flags & DATAGRAM_XDP)) {
		const char *why = datagram_xdp(r->s);
		fprintf(stderr, "suci-perf: %s%s\n", why ? "no AF_XDP: " : "AF_XDP receives",
			why ? why : "");
	}
	int err = r->s ? list_ids(r, db) : say_open("open", datagram_error(NULL));
	datagram_db_free(db);
	return err;
}

int
open_server(struct run *r, const struct options *o)
{
	struct datagram_db *db = datagram_db_new();
	if (!db || datagram_db_add(db, 0, o->bind ? o->bind : "0.0.0.0", o->port)) {
		datagram_db_free(db);
		return say_open(o->bind ? o->bind : "server", strerror(errno));
	}
	for (uint32_t i = 1; i <= o->clients; i++)
		(void)datagram_db_add(db, i, NULL, 0);
	r->root = 0;
	return open_as(r, o, db, 0);
}

/* The host's address and ours towards it: the interface says what MTU there is.  IPv4 if the host
 * has both. */
static int
resolve(const struct options *o, char ip[DATAGRAM_IP_TEXT], char own[DATAGRAM_IP_TEXT])
{
	struct addrinfo hint = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *list;
	struct sockaddr_storage me;
	socklen_t len = sizeof me;
	char port[8];
	snprintf(port, sizeof port, "%u", o->port);
	int err = getaddrinfo(o->host, port, &hint, &list);
	if (err) {
		hint.ai_family = AF_INET6;
		err = getaddrinfo(o->host, port, &hint, &list);
	}
	if (err)
		return say_open(o->host, gai_strerror(err));
	int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	err = fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) ||
	      getsockname(fd, (struct sockaddr *)&me, &len);
	int e = errno;
	if (fd >= 0)
		close(fd);
	bool named = getnameinfo(list->ai_addr, list->ai_addrlen, ip, DATAGRAM_IP_TEXT, NULL, 0,
				 NI_NUMERICHOST) == 0;
	freeaddrinfo(list);
	if (err)
		return say_open("no way to the server", strerror(e));
	named &= getnameinfo((const struct sockaddr *)&me, len, own, DATAGRAM_IP_TEXT, NULL, 0,
			     NI_NUMERICHOST) == 0;
	return named ? 0 : say_open(o->host, "an address that cannot be written");
}

int
open_client(struct run *r, const struct options *o)
{
	static struct options with;
	static char here[DATAGRAM_IP_TEXT];
	char ip[DATAGRAM_IP_TEXT];
	with = *o;
	if (resolve(o, ip, here))
		return -1;
	uint32_t id = o->id_set ? o->id : 1 + (uint32_t)getpid() % o->clients;
	struct datagram_db *db = datagram_db_new();
	if (!db || datagram_db_add(db, 0, ip, o->port) || datagram_db_add(db, id, NULL, 0)) {
		datagram_db_free(db);
		return say_open("address database", strerror(errno));
	}
	with.conf.ip = o->bind ? o->bind : here;
	r->root = 0; /* whom we talk to */
	int err = open_as(r, &with, db, id);
	r->o = o;
	return err;
}

/* The server says where it is to be found; the client opens that. */
static int
meet_at_door(struct run *r, const struct options *o)
{
	char at[DATAGRAM_ADDRESS_MAX];
	int64_t id = 0;
	if (o->role == ROLE_SERVER) {
		if (datagram_address(r->s, at))
			return complain(r, "no address");
		puts(at);
		fflush(stdout);
		return 0;
	}
	id = datagram_open_at(r->s, o->host);
	r->ids = calloc(1, sizeof *r->ids);
	if (id < 0 || !r->ids)
		return complain(r, "the server's address");
	r->n = 1;
	r->ids[0] = r->root = (uint32_t)id;
	return 0;
}

int
open_door(struct run *r, const struct options *o)
{
	struct datagram_conf conf = o->conf;
	conf.doors = o->role == ROLE_SERVER ? o->clients : 1;
	r->o = o;
	r->s = datagram_open_with(&conf);
	return r->s ? meet_at_door(r, o) : say_open("open", datagram_error(NULL));
}

int
open_node(struct run *r, const struct options *o)
{
	char text[300];
	struct datagram_db *db = datagram_db_read(o->db, text, sizeof text);
	if (!db)
		return say_open("address database", text);
	char ip[DATAGRAM_IP_TEXT];
	uint16_t port;
	uint32_t least = 0;
	if (!datagram_db_count(db) || datagram_db_get(db, 0, &least, ip, &port))
		least = o->id;
	r->root = o->root_set ? o->root : least;
	return open_as(r, o, db, o->id);
}

/* Ports that are free now, in fd order; kept until all are known. */
static int
free_ports(uint16_t *port, uint32_t n)
{
	int *fd = calloc(n, sizeof *fd), err = fd ? 0 : -1;
	uint32_t i = 0;
	for (; i < n && !err; i++) {
		struct sockaddr_in sa = {.sin_family = AF_INET};
		socklen_t len = sizeof sa;
		sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd[i] < 0 || bind(fd[i], (struct sockaddr *)&sa, sizeof sa) ||
		    getsockname(fd[i], (struct sockaddr *)&sa, &len))
			err = say_open("port", strerror(errno));
		port[i] = ntohs(sa.sin_port);
	}
	while (fd && i-- > 0)
		if (fd[i] >= 0)
			close(fd[i]);
	free(fd);
	return err;
}

int
open_local(struct run *r, const struct options *o, uint32_t *children)
{
	uint32_t n = o->processes, id = 0;
	uint16_t *port = calloc(n, sizeof *port);
	struct datagram_db *db = datagram_db_new();
	int err = port && db ? free_ports(port, n) : say_open("local", "out of memory");
	for (uint32_t i = 0; i < n && !err; i++)
		if (datagram_db_add(db, i, "127.0.0.1", port[i]))
			err = say_open("address database", strerror(errno));
	free(port);
	for (uint32_t i = 1; i < n && !err; i++) {
		pid_t pid = fork();
		if (pid < 0)
			err = say_open("fork", strerror(errno));
		if (pid > 0)
			++*children;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			id = i;
			*children = 0;
			break;
		}
	}
	if (err) {
		datagram_db_free(db);
		return err;
	}
	r->root = 0;
	return open_as(r, o, db, id);
}
