/* The surface's lock (libmpi/api/lock.h) for suites of the engine alone: one thread, no surface. */
#ifndef TEST_LMPI_LOCK_NONE_H
#define TEST_LMPI_LOCK_NONE_H

#include <stdbool.h>

bool lmpi_lock_shared;
unsigned lmpi_lock_drop(void);
void lmpi_lock_retake(unsigned depth);

unsigned
lmpi_lock_drop(void)
{
	return 0;
}

void
lmpi_lock_retake(unsigned depth)
{
	(void)depth;
}

#endif
