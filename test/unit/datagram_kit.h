/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of libsuci on the loopback interface, for its suites. */
#ifndef TEST_DATAGRAM_KIT_H
#define TEST_DATAGRAM_KIT_H

#include "suci.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <cmocka.h>

#define SOCKS_MAX 8
#define LIMIT_S	  120 /* a test that needs longer hangs, on a loaded machine, too */

/* Sockets of one test; ids are their indices. */
struct kit {
	struct datagram_db *db;
	struct datagram_conf conf; /* for the next kit_open() */
	struct datagram_sock *s[SOCKS_MAX];
	uint16_t port[SOCKS_MAX];
	uint32_t n;
};

static inline double
kit_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* n ids, each with a port of its own that is free. */
static inline void
kit_init(struct kit *k, uint32_t n)
{
	int fd[SOCKS_MAX];
	memset(k, 0, sizeof *k);
	k->db = datagram_db_new();
	k->n = n;
	for (uint32_t i = 0; i < n; i++) {
		struct sockaddr_in sa = {.sin_family = AF_INET};
		socklen_t len = sizeof sa;
		sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(fd[i], (struct sockaddr *)&sa, sizeof sa), 0);
		assert_int_equal(getsockname(fd[i], (struct sockaddr *)&sa, &len), 0);
		k->port[i] = ntohs(sa.sin_port);
		assert_int_equal(datagram_db_add(k->db, i, "127.0.0.1", k->port[i]), 0);
	}
	for (uint32_t i = 0; i < n; i++)
		close(fd[i]);
	datagram_conf_init(&k->conf);
	k->conf.db = k->db;
	k->conf.close_ms = 100;
	k->conf.sockbuf_bytes = 1u << 20;
}

static inline struct datagram_sock *
kit_open(struct kit *k, uint32_t id)
{
	k->conf.id = id;
	k->s[id] = datagram_open_with(&k->conf);
	if (!k->s[id])
		print_error("%s\n", datagram_error(NULL));
	assert_non_null(k->s[id]);
	return k->s[id];
}

static inline void
kit_open_all(struct kit *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		kit_open(k, i);
}

static inline void
kit_progress(struct kit *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (k->s[i])
			assert_true(datagram_progress(k->s[i]) >= 0);
}

/* Who waits for a time leaves the processor to others between two turns. */
static inline void
kit_nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* Turns of everybody until cond; naps between them when it takes long. */
#define KIT_UNTIL(k, cond)                                         \
	do {                                                       \
		double kit_end = kit_now() + LIMIT_S;              \
		for (uint32_t kit_n = 0; !(cond); kit_n++) {       \
			kit_progress(k);                           \
			if (kit_n > 100)                           \
				kit_nap();                         \
			if (kit_now() > kit_end)                   \
				fail_msg("never true: %s", #cond); \
		}                                                  \
	} while (0)

static inline void
kit_fini(struct kit *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		datagram_close(k->s[i]);
	datagram_db_free(k->db);
}

/* Bytes that tell which block and which place in it they are of. */
static inline void
kit_fill(uint8_t *b, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		b[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + seed * 101 + 1);
}

static inline void
kit_check(const uint8_t *b, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		if (b[i] != (uint8_t)(i * 7 + (i >> 8) * 13 + seed * 101 + 1))
			fail_msg("byte %zu of block %u is wrong", i, seed);
}

#endif
