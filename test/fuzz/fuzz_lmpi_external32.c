/* Bytes as choices: build a datatype of any predefined ones, receive the rest of the
 * input as a message of it in external32, cut anywhere, and send it back; compare with
 * the naive model. */
#include "lmpi_external32_model.h"

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
	enum lmpi_rep rep;

	if (!ready)
		lmpi_types_init();
	ready = true;
	model_all_basics = true;
	input = data;
	input_left = size;
	rep = next_below(2) ? LMPI_REP_EXTERNAL32_LONG8 : LMPI_REP_EXTERNAL32;
	model_make(&m, next_below, 4);
	model_compare_external32(&m, rep, next_below);
	lmpi_type_unref(m.t);
	MODEL_CHECK(lmpi_type_pool.live == 0);
	return 0;
}
