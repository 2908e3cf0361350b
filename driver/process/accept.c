/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/accept.h"

#include <errno.h>

int
process_accept(int listener, struct sockaddr *from, socklen_t *len, bool *pause)
{
	int fd = accept4(listener, from, len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	*pause = fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
	return fd;
}
