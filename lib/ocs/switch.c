/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocs/switch.h"

const char *
ocs_cap_name(uint32_t cap)
{
	switch (cap) {
#define X(n, bit, name, t) \
	case OCS_CAP_##n:  \
		return name;
		OCS_CAPS(X)
#undef X
	}
	return NULL;
}
