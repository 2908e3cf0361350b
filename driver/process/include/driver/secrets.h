/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/secrets.h - what others may see of a process that holds keys.
 *
 * Threads  process_hide() and process_take_env() before there are others. */
#ifndef DRIVER_SECRETS_H
#define DRIVER_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* From now on no core file, and nobody but root reads our memory or environment or traces us.
 * False: errno says why not. */
bool process_hide(void);

/* Keep these bytes out of swap and out of any image of the process, as far as RLIMIT_MEMLOCK goes:
 * whole pages, so what shares a page with them is kept, too.  They stay so until they are unmapped.
 * False: the limit is too low (errno); nothing else depends on it. */
bool process_keep(const void *at, size_t len);

/* The value of this environment variable, copied to text, "" if there is none; it is wiped where
 * it was and no longer set.  False: there is none, or it does not fit. */
bool process_take_env(const char *name, char *text, size_t cap);

#endif
