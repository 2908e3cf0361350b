/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are an address database.  Good or bad, nothing breaks: a fault names a line that
 * exists, and a good one is sorted, has no id and no address twice, and says the same
 * again when it is written out and read. */
#include "suci.h"

#include "base/assert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINE_MOST 72 /* of a written line */

static void
check_fault(const char *text, size_t size, const char *error)
{
	unsigned line = 0, lines = 1;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	BASE_ASSERT(!strncmp(error, "name:", 5));
	BASE_ASSERT(sscanf(error + 5, "%u:", &line) == 1);
	BASE_ASSERT(line >= 1 && line <= lines);
}

static void
check_good(const struct datagram_db *db)
{
	size_t n = datagram_db_count(db), len = 0;
	char *out = malloc(n * LINE_MOST + 1);
	uint32_t id, before = 0;
	uint16_t port;
	char ip[DATAGRAM_IP_TEXT];
	struct datagram_db *again = datagram_db_new();
	for (size_t i = 0; i < n; i++) {
		BASE_ASSERT(datagram_db_get(db, i, &id, ip, &port) == 0);
		BASE_ASSERT(i == 0 || id > before);
		BASE_ASSERT((ip[0] != 0) == (port != 0));
		before = id;
		/* The builder refuses what is there twice. */
		BASE_ASSERT(datagram_db_add(again, id, ip[0] ? ip : NULL, port) == 0);
		len += (size_t)snprintf(out + len, LINE_MOST, ip[0] ? "%u %s %u\n" : "%u * *\n", id,
					ip, port);
	}
	datagram_db_free(again);
	again = datagram_db_parse("again", out, len, NULL, 0);
	BASE_ASSERT(again && datagram_db_count(again) == n);
	for (size_t i = 0; i < n; i++) {
		uint32_t id2;
		uint16_t port2;
		char ip2[DATAGRAM_IP_TEXT];
		datagram_db_get(db, i, &id, ip, &port);
		datagram_db_get(again, i, &id2, ip2, &port2);
		BASE_ASSERT(id == id2 && port == port2 && !strcmp(ip, ip2));
	}
	datagram_db_free(again);
	free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[400] = "", *text = malloc(size ? size : 1); /* exact: no NUL behind it */
	memcpy(text, data, size);
	struct datagram_db *db = datagram_db_parse("name", text, size, error, sizeof error);
	if (db) {
		BASE_ASSERT(!error[0]);
		check_good(db);
	} else {
		BASE_ASSERT(errno == EINVAL);
		check_fault(text, size, error);
	}
	datagram_db_free(db);
	free(text);
	return 0;
}
