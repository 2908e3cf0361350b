/* SPDX-License-Identifier: BSD-2-Clause */
/* A driver of switches that is loaded, and whose table is what the environment says. */
#include "driver/ocs_plugin.h"

#include <stdio.h>
#include <stdlib.h>

static struct ocs_driver *
refuse(const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY])
{
	snprintf(why, OCS_DRIVER_WHY, "fake at %.60s", cfg->address);
	return NULL;
}

struct ocs_plugin fake __asm__("ocs_plugin") = {
	.version = OCS_PLUGIN_VERSION,
	.sizes = OCS_PLUGIN_SIZES,
	.protocol = "fake",
	.open = refuse,
};

__attribute__((constructor)) static void
change_table(void)
{
	const char *version = getenv("FAKE_VERSION"), *more = getenv("FAKE_MORE");
	if (version)
		fake.version = (uint32_t)strtoul(version, NULL, 10);
	if (more)
		fake.sizes[5] += (uint32_t)strtoul(more, NULL, 10);
	if (getenv("FAKE_PROTOCOL"))
		fake.protocol = getenv("FAKE_PROTOCOL");
}
