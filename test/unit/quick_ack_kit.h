/* SPDX-License-Identifier: BSD-2-Clause */
/* Are bytes acknowledged at once?  Two ends of a TCP connection, and what the sender's kernel
 * knows. A receiver that only reads, and answers, gets the kernel's delay after some rounds. */
#ifndef TEST_QUICK_ACK_KIT_H
#define TEST_QUICK_ACK_KIT_H

#include "cmocka_all.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define QUICK_ROUNDS 40
#define QUICK_ENOUGH (QUICK_ROUNDS * 3 / 4) /* of a busy machine some are late */

static inline void
quick_tcp_pair(int pair[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int l = socket(AF_INET, SOCK_STREAM, 0);

	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(l, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(pair[0], (struct sockaddr *)&at, sizeof at), 0);
	pair[1] = accept(l, NULL, NULL);
	assert_true(pair[1] >= 0);
	close(l);
}

/* Is all acknowledged that the foreign host has sent, within half of the kernel's delay? */
static inline bool
quick_acknowledged(int fd)
{
	struct timespec ms = {.tv_nsec = 1000000};

	for (int i = 0; i < 20; i++) {
		struct tcp_info info = {0};
		socklen_t len = sizeof info;
		assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
		if (info.tcpi_unacked == 0)
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

#endif
