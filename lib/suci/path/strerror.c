/* SPDX-License-Identifier: BSD-2-Clause */
#include "suci/endpoint.h"

const char *
suci_strerror(int err)
{
	switch (err) {
#define X(n, v, t)         \
	case SUCI_ERR_##n: \
		return t;
		SUCI_ERRORS(X)
#undef X
	default:
		return "unknown Suci error";
	}
}
