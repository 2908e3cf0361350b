/* SPDX-License-Identifier: BSD-2-Clause */
#include "suci/endpoint.h"

#include <string.h>

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

const char *
suci_down_text(enum suci_down why)
{
	switch (why) {
#define X(n, v, t)          \
	case SUCI_DOWN_##n: \
		return "it " t;
		SUCI_DOWNS(X)
#undef X
	}
	return "it was lost";
}

const char *
suci_down_does(enum suci_down why)
{
	return suci_down_text(why) + strlen("it ");
}
