/* SPDX-License-Identifier: BSD-2-Clause */
/* nobody.h - there is nobody at the peer's address, says somebody: nobody.c. */
#ifndef SUCI_NOBODY_H
#define SUCI_NOBODY_H

#include <stdbool.h>
#include <stdint.h>

struct suci_nobody {
	uint64_t told_ns; /* 0: nobody has said so */
};

struct suci;
struct suci_path;

/* A timeout of a probe or of the handshake has passed: true if that was the last, and the path is
 * down. */
bool suci_nobody_timeout(struct suci *ep, struct suci_path *p, uint64_t now_ns);

#endif
