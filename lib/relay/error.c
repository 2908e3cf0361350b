/* SPDX-License-Identifier: BSD-2-Clause */
#include "relay/error.h"

const char *
relay_strerror(int err)
{
	switch (err) {
#define X(n, v, t) \
	case v:    \
		return t;
		RELAY_ERRORS(X)
#undef X
	}
	return "unknown error";
}
