/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/auth.h - which authentication methods a side may use, and its key.
 *
 * By custom the user enables methods with IMPI_AUTH_NONE (its presence) and
 * IMPI_AUTH_KEY (a decimal 64-bit number), for clients and servers alike.  The
 * caller reads the environment; this only judges the words. */
#ifndef IMPI_AUTH_H
#define IMPI_AUTH_H

#include <stdint.h>

#include "impi/error.h"
#include "impi/wire.h"

struct impi_auth {
	uint32_t mask; /* IMPI_AUTH_MASK_*; 0 = nothing usable */
	uint64_t key;  /* valid if mask has IMPI_AUTH_MASK_KEY */
};

/* env_none, env_key: values of IMPI_AUTH_NONE and IMPI_AUTH_KEY, NULL if unset.
 * IMPI_ERR_INVAL (and *auth zeroed) if no method is enabled or the key is not
 * a decimal number below 2^64; err says so in words fit for the user. */
enum impi_err impi_auth_from_env(struct impi_auth *auth, const char *env_none, const char *env_key,
				 struct impi_error *err);

#endif
