/* SPDX-License-Identifier: BSD-2-Clause */
/* Label replies in any order: nclients, then {label index, mask byte, len, bytes}. */
#include "base/assert.h"
#include "impi/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t mem[1 << 15];

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct impi_limits limits = {16, 32};
	struct impi_error err = {0};

	if (size < 1)
		return 0;
	BASE_ASSERT(impi_tables_footprint(&limits) <= sizeof mem);
	struct impi_tables *t = impi_tables_new(mem, &limits);
	if (impi_tables_begin(t, data[0], &err) != IMPI_ERR_OK)
		return 0;
	enum impi_err e = IMPI_ERR_OK;
	for (size_t at = 1; at + 3 <= size && e == IMPI_ERR_OK;) {
		uint32_t label = impi_label_at(data[at] % (IMPI_NLABELS + 1));
		uint32_t mask = data[at + 1];
		size_t len = data[at + 2];
		at += 3;
		if (len > size - at)
			len = size - at;
		e = impi_tables_label(t, label, mask, data + at, len, &err);
		BASE_ASSERT(e == err.code);
		at += len;
	}
	if (e != IMPI_ERR_OK || impi_tables_finish(t, &err) != IMPI_ERR_OK) {
		BASE_ASSERT(err.text[0]);
		return 0;
	}
	uint32_t sum = 0;
	for (uint32_t h = 0; h < t->nhosts; h++) {
		BASE_ASSERT(t->host[h].first_rank == sum);
		sum += t->host[h].nprocs;
	}
	BASE_ASSERT(sum == t->nprocs);
	for (uint32_t r = 1; r < t->nprocs; r++)
		BASE_ASSERT(impi_proc_cmp(&t->proc[t->proc_order[r - 1]],
					  &t->proc[t->proc_order[r]]) < 0);
	return 0;
}
