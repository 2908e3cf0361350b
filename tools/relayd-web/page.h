/* SPDX-License-Identifier: BSD-2-Clause */
/* page.h - the files of page/, made into arrays by page.py. */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stddef.h>

extern const struct web_file {
	const char *url, *type, *bytes;
	size_t len;
} web_page[];
extern const unsigned web_npages;

#endif
