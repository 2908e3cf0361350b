/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as choices: build a datatype of any predefined ones, receive the rest of the
 * input as a message of it in external32, cut anywhere, and send it back; compare with
 * the naive model. */
#include "choices.h"
#include "lmpi_external32_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct model m;
	static bool ready;
	enum lmpi_rep rep;

	if (!ready)
		lmpi_types_init();
	ready = true;
	model_all_basics = true;
	choices_from(data, size);
	rep = choices_below(2) ? LMPI_REP_EXTERNAL32_LONG8 : LMPI_REP_EXTERNAL32;
	model_make(&m, choices_below, 4);
	model_compare_external32(&m, rep, choices_below);
	lmpi_type_unref(m.t);
	MODEL_CHECK(lmpi_type_pool.live == 0);
	return 0;
}
