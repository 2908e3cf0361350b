/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine to which nobody offers light and that has no thread, for tests of the surface; a test
 * that offers some sets lmpi_light. */
#ifndef LMPI_NO_LIGHT_H
#define LMPI_NO_LIGHT_H

#include <stdlib.h>

#include "light.h"

struct light_client *lmpi_light;

void
lmpi_light_wait(struct light_wait *w)
{
	if (lmpi_light == NULL) /* no call was announced */
		abort();
	light_client_wait(lmpi_light, w, 0);
}

void
lmpi_light_flush(void)
{
}

bool
lmpi_light_cached(void)
{
	return false;
}

/* Nor a thread of its own. */
bool
lmpi_background_wanted(void)
{
	return false;
}

void
lmpi_background_start(void)
{
}

void
lmpi_background_stop(void)
{
}

#endif
