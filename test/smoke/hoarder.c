/* SPDX-License-Identifier: BSD-2-Clause */
/* hoarder - mpisp-io, but while the file that HOARD names is there it gives frames to nobody: it
 * takes what is put, and does not hear who wants some.  Linked with --wrap=spx_on_message. */
#include "lib/spx/internal.h"

#include <stdlib.h>
#include <unistd.h>

/* The names are the linker's. */
bool __real_spx_on_message(struct spx *s, uint32_t from, const void *bytes, size_t len,
			   uint64_t now_ns);
bool __wrap_spx_on_message(struct spx *s, uint32_t from, const void *bytes, size_t len,
			   uint64_t now_ns);

bool
__wrap_spx_on_message(struct spx *s, uint32_t from, const void *bytes, size_t len, uint64_t now_ns)
{
	const char *file = getenv("HOARD");
	struct spx_msg m;

	if (file && access(file, F_OK) == 0 && spx_read(bytes, len, s->conf.window_max, &m) &&
	    m.type == SPX_MSG_WANT)
		return true;
	return __real_spx_on_message(s, from, bytes, len, now_ns);
}
