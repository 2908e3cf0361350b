/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/auth.h"

#include <stdbool.h>

/* Decimal only, as LAM reads it; strtoull would take signs, spaces and hex. */
static bool
parse_u64(const char *s, uint64_t *out)
{
	uint64_t v = 0;
	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		uint64_t digit = (uint64_t)(*s - '0');
		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

enum impi_err
impi_auth_from_env(struct impi_auth *auth, const char *env_none, const char *env_key,
		   struct impi_error *err)
{
	*auth = (struct impi_auth){0};
	if (env_key) {
		uint64_t key;
		if (!parse_u64(env_key, &key))
			return impi_error_set(err, IMPI_ERR_INVAL,
					      "IMPI_AUTH_KEY is not a decimal number below 2^64");
		auth->mask |= IMPI_AUTH_MASK_KEY;
		auth->key = key;
	}
	if (env_none)
		auth->mask |= IMPI_AUTH_MASK_NONE;
	if (!auth->mask)
		return impi_error_set(err, IMPI_ERR_INVAL,
				      "no authentication method is enabled: set IMPI_AUTH_KEY to "
				      "the key of the job, or IMPI_AUTH_NONE=1 to go without");
	return IMPI_ERR_OK;
}
