/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/message.h - a message taken by a matched probe. */
#ifndef LMPI_MESSAGE_H
#define LMPI_MESSAGE_H

#include "comm.h"
#include "object.h"

struct lmpi_message {
	struct lmpi_obj obj;
	void *message; /* the engine's */
	struct lmpi_comm *comm;
	int source, tag;
};

#endif
