/* SPDX-License-Identifier: BSD-2-Clause */
/* test_impi_captured.h - files of test/data/impi: sessions of other programs. */
#ifndef TEST_IMPI_CAPTURED_H
#define TEST_IMPI_CAPTURED_H

#include <stdint.h>
#include <stdio.h>

#include "cmocka_all.h"

/* The file's bytes, at most cap; how many. */
static inline size_t
captured_read(const char *name, uint8_t *buf, size_t cap)
{
	char path[256];
	snprintf(path, sizeof path, "test/data/impi/%s", name);
	FILE *f = fopen(path, "rb");
	if (!f)
		fail_msg("%s is missing; run from the top folder", path);
	size_t n = fread(buf, 1, cap, f);
	fclose(f);
	return n;
}

#endif
