/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are operations on a timer wheel and its model: 1 tick shift, 8 start time,
 * then { 1 operation, 1 timer, 1 shift, 2 mantissa } repeated. */
#include "base/bytes.h"

#include "wheel_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wheel_model m;
	struct base_reader r = base_reader(data, size);
	uint32_t shift = base_read_u8(&r) % 20u;
	wheel_model_init(&m, shift, base_read_be64(&r) >> 2);
	while (base_reader_ok(&r) && base_reader_left(&r) >= 5 && m.now_ns < 1ull << 62) {
		enum wheel_model_op op = (enum wheel_model_op)(base_read_u8(&r) % WHEEL_OPS);
		uint32_t which = base_read_u8(&r);
		uint32_t exponent = base_read_u8(&r) % 48u;
		uint64_t ns = (uint64_t)base_read_be16(&r) << exponent >> 16;
		wheel_model_step(&m, op, which, ns);
	}
	return 0;
}
