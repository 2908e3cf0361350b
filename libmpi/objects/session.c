/* SPDX-License-Identifier: BSD-2-Clause */
/* Session objects: lookup; their life is calls/session.c. */
#include "session.h"

#include <stddef.h>

struct lmpi_pool lmpi_session_pool = {.what = "session",
				      .magic = 0x53455353,
				      .size = sizeof(struct lmpi_session),
				      .offset = offsetof(struct lmpi_session, obj)};

struct lmpi_session *
lmpi_session_find(MPI_Session handle)
{
	return lmpi_object_valid(&lmpi_session_pool, handle) ? (void *)handle : NULL;
}
