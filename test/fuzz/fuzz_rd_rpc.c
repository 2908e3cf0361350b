/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are what a client of the control socket sends; the first one says how he reads and
 * when calls are answered.  Every answer is a line of JSON, memory stays bounded, and as
 * long as the connection is not closing a good request is served in the end. */
#include "base/assert.h"
#include "rd/rpc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rd_rpc_param params[] = {
	{.name = "n", .type = RD_RPC_UINT, .min = 1, .max = 1000, .help = ""},
	{.name = "s", .type = RD_RPC_STRING, .max = 20, .help = ""},
	{.name = "w", .type = RD_RPC_WORD, .words = "a|bc|d", .help = ""},
	{.name = "b", .type = RD_RPC_BOOL, .help = ""},
};
static const struct rd_rpc_param must[] = {
	{.name = "n", .type = RD_RPC_UINT, .required = true, .max = UINT32_MAX, .help = ""},
};
static const struct rd_rpc_method methods[] = {
	{.name = "now", .param = params, .nparams = 4, .id = 0, .help = ""},
	{.name = "later", .param = must, .nparams = 1, .id = 1, .help = ""},
};

static bool pending;
static void
on_call(void *user, struct rd_rpc_conn *c, const struct rd_rpc_call *call)
{
	(void)user;
	BASE_ASSERT(!pending);
	if (call->method->id == 1) {
		BASE_ASSERT(call->given[0]);
		pending = true;
		return;
	}
	BASE_ASSERT(!call->given[0] || (call->number[0] >= 1 && call->number[0] <= 1000));
	BASE_ASSERT(!call->given[1] || strlen(call->text[1]) <= 20);
	BASE_ASSERT(!call->given[2] || call->number[2] <= 2);
	rd_rpc_result(c, json_pack("[s?,s?]", call->text[1], call->text[2]));
}
static const struct rd_rpc_api api = {methods, 2, on_call};

static void
take_output(struct rd_rpc_conn *c, size_t step)
{
	size_t len;
	const char *out;
	while ((out = rd_rpc_output(c, &len))) {
		BASE_ASSERT(len > 0 && len < (RD_RPC_BATCH_MAX + 1) * 1500u);
		const char *end = memchr(out, '\n', len);
		BASE_ASSERT(end == out + len - 1);
		if (len > step && step) {
			rd_rpc_sent(c, step);
			continue;
		}
		rd_rpc_sent(c, len);
	}
}

static void
answer(struct rd_rpc_conn *c)
{
	if (!pending)
		return;
	pending = false;
	rd_rpc_error(c, RD_RPC_LATE, "late");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_rpc_conn *c = malloc(sizeof *c);
	uint8_t how = size ? data[0] : 0;
	size_t at = 1, room, step = how & 15;
	rd_rpc_init(c, &api, NULL);
	pending = false;
	while (at < size && !rd_rpc_closing(c)) {
		char *to = rd_rpc_room(c, &room);
		size_t n = size - at < room ? size - at : room;
		if (how & 16 && n > 7)
			n = 7;
		if (n) {
			memcpy(to, data + at, n);
			rd_rpc_input(c, n);
			at += n;
		}
		take_output(c, step);
		if (!n || how & 32)
			answer(c);
	}
	for (int i = 0; i < 70000 && (pending || rd_rpc_output(c, &room)); i++) {
		take_output(c, 0);
		if (how & 64)
			break; /* gone in the middle */
		answer(c);
	}
	rd_rpc_fini(c);
	free(c);
	return 0;
}
