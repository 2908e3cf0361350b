/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of an OpenFlow switch, see fuzz_ocsproto.h; the parts of flow entries by
 * themselves too. */
#include "fuzz_ocsproto.h"

#include "openflow.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct base_reader r = base_reader(data, size);
	struct of_flow f;
	while (ocsproto_of_flow_next(&r, &f))
		BASE_ASSERT(base_reader_left(&r) < size);
	ocsproto_of_hello_version(4, data, size);
	return fuzz_session((struct ocsproto_config){.kind = OCSPROTO_OPENFLOW, .cookie = 7}, data,
			    size);
}
