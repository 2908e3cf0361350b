/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as choices: build a datatype in the engine and in the naive model, compare. */
#include "choices.h"
#include "lmpi_type_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct model m;
	static bool ready;

	if (!ready)
		lmpi_types_init();
	ready = true;
	choices_from(data, size);
	model_make(&m, choices_below, 5);
	model_compare_shape(&m);
	model_compare_bytes(&m, choices_below);
	lmpi_type_unref(m.t);
	MODEL_CHECK(lmpi_type_pool.live == 0);
	return 0;
}
