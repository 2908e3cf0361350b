/* SPDX-License-Identifier: BSD-2-Clause */
/* Views and changes of lib/sp as bytes: first byte even: a view; odd: changes, one after the other,
 * each with its length in a byte, whose base is made the right one. */
#include "sp/view.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sp_limits limits = {.roles = 3, .slots_max = 6, .units = 2, .facts = 2};

static struct sp_view *
new_view(void)
{
	return sp_view_new(&limits, malloc(sp_view_footprint(&limits)));
}

static void
read_view(const uint8_t *data, size_t size)
{
	struct sp_view *v = new_view(), *scratch = new_view();
	uint8_t out[1024];
	const char *what;

	if (sp_view_read(v, scratch, data, size)) {
		BASE_ASSERT(sp_view_check(v, &what));
		BASE_ASSERT(sp_view_write(v, out, sizeof out) == size);
		BASE_ASSERT(!memcmp(out, data, size));
	}
	free(v);
	free(scratch);
}

static void
apply_changes(const uint8_t *data, size_t size)
{
	static const uint16_t unit_of[] = {0, 1, 0, 1};
	static const uint8_t pool_of[] = {0, 0, 1, 0};
	static const struct sp_fact fact[] = {{1, 2}, {0, 0}};
	struct sp_view *v = new_view(), *scratch = new_view();
	uint8_t change[256];
	const char *what;

	sp_view_begin(v, unit_of, 4);
	sp_view_begin_pools(v, pool_of, 2, fact);
	while (size > 1) {
		size_t len = data[0] < size - 1 ? data[0] : size - 1;
		uint64_t number = v->number, hash = sp_view_hash(v);
		memcpy(change, data + 1, len);
		if (len >= 12)
			be64_store(change + 4, number);
		bool applied = sp_view_apply(v, scratch, change, len) == SP_APPLIED;
		BASE_ASSERT(sp_view_check(v, &what));
		BASE_ASSERT(v->number == number + applied);
		BASE_ASSERT(applied || sp_view_hash(v) == hash);
		data += 1 + len;
		size -= 1 + len;
	}
	free(v);
	free(scratch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] & 1)
		apply_changes(data + 1, size - 1);
	else if (size)
		read_view(data + 1, size - 1);
	return 0;
}
