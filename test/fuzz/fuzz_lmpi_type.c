/* Bytes as choices: build a datatype in the engine and in the naive model, compare. */
#include "lmpi_type_model.h"

static const uint8_t *input;
static size_t input_left;

static uint32_t
next_below(uint32_t n)
{
	uint32_t v = 0;

	if (n == 0)
		return 0;
	for (uint32_t seen = 1; seen < n && input_left > 0; seen <<= 8) {
		v = v << 8 | *input++;
		input_left--;
	}
	return v % n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct model m;
	static bool ready;

	if (!ready)
		lmpi_types_init();
	ready = true;
	input = data;
	input_left = size;
	model_make(&m, next_below, 5);
	model_compare_shape(&m);
	model_compare_bytes(&m, next_below);
	lmpi_type_unref(m.t);
	MODEL_CHECK(lmpi_type_pool.live == 0);
	return 0;
}
