/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are a configuration file.  Good or bad, nothing breaks, every fault names a
 * line that exists, and a good one satisfies what the table says. */
#include "base/assert.h"
#include "rd/conf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_good(const struct rd_conf *c)
{
	for (uint32_t i = 0; i < rd_conf_keys_count; i++) {
		const struct rd_key *k = &rd_conf_keys[i];
		const uint8_t *field = (const uint8_t *)c + k->offset;
		uint32_t v;
		if (k->type == RD_KEY_UINT) {
			memcpy(&v, field, 4);
			BASE_ASSERT(v >= k->min && v <= k->max);
		} else if (k->type == RD_KEY_STRING) {
			BASE_ASSERT(memchr(field, 0, k->size));
		}
	}
	BASE_ASSERT(c->cluster.nrelays >= 1 && c->cluster.self < c->cluster.nrelays);
	BASE_ASSERT(c->impi.server_port >= 1 && c->impi.server_port <= 65535);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rd_conf conf;
	static struct rd_faults faults;
	uint32_t lines = 1;
	char *text = malloc(size ? size : 1); /* exact: no NUL behind it */
	memcpy(text, data, size);
	memset(&faults, 0, sizeof faults);
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	if (rd_conf_parse(text, size, &conf, &faults)) {
		BASE_ASSERT(faults.count == 0);
		check_good(&conf);
	} else {
		BASE_ASSERT(faults.count > 0);
	}
	for (uint32_t i = 0; i < faults.count && i < RD_FAULTS_MAX; i++) {
		BASE_ASSERT(faults.fault[i].line <= lines);
		BASE_ASSERT(*faults.fault[i].text);
	}
	/* The locator alone, on text that need not be JSON. */
	BASE_ASSERT(rd_conf_locate(text, size, "/ports/private/mtu") <= lines);
	BASE_ASSERT(rd_conf_locate(text, size, "/cluster/relays/1/global") <= lines);
	free(text);
	return 0;
}
