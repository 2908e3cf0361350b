/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a server against the client machine: first byte splits the stream. */
#include "base/assert.h"
#include "impi/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t mem[1 << 17];

static void
react(struct impi_client *c, const struct impi_client_event *ev, const struct impi_offer *offer)
{
	uint32_t label;
	if (ev->type == IMPI_CL_LABEL)
		for (uint32_t i = 0; i < ev->len; i++) {
			volatile uint8_t touch = ev->data[i];
			(void)touch;
		}
	if (ev->type != IMPI_CL_SIZE)
		return;
	while ((label = impi_client_next_label(c)) != IMPI_NO_LABEL)
		BASE_ASSERT(impi_client_submit_offer(c, label, offer) == IMPI_ERR_OK);
	BASE_ASSERT(impi_client_done(c) == IMPI_ERR_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct impi_limits limits = {16, 32};
	static const struct impi_client_config cfg = {.auth = {3, 5678}};
	struct impi_host host = {.port = 1, .nprocs = 1, .ackmark = 1, .hiwater = 1};
	struct impi_proc proc = {.pid = 1};
	struct impi_offer offer = {.nhosts = 1,
				   .nprocs = 1,
				   .datalen = 1,
				   .tagub = 40000,
				   .host = &host,
				   .proc = &proc};
	struct impi_client_event ev;
	uint8_t out[64];

	if (size < 1)
		return 0;
	BASE_ASSERT(impi_client_footprint(&limits, &cfg) <= sizeof mem);
	struct impi_client *c = impi_client_new(mem, &limits, &cfg);
	size_t chunk = data[0] ? data[0] : size;
	for (size_t at = 1; at < size;) {
		size_t n = size - at < chunk ? size - at : chunk;
		size_t took = impi_client_rx(c, data + at, n, &ev);
		BASE_ASSERT(took > 0 && took <= n);
		at += took;
		react(c, &ev, &offer);
		impi_client_tx(c, out, sizeof out);
	}
	const struct impi_tables *t = impi_client_tables(c);
	if (impi_client_state(c) == IMPI_CLS_RUNNING) {
		BASE_ASSERT(t->finished && t->nprocs > 0 && t->ackmark <= t->hiwater);
		for (uint32_t r = 0; r < t->nprocs; r++) {
			BASE_ASSERT(!r || impi_proc_cmp(&t->proc[t->proc_order[r - 1]],
							&t->proc[t->proc_order[r]]) < 0);
			BASE_ASSERT(t->host[t->proc_host[r]].client ==
				    impi_tables_client_of_rank(t, r));
		}
	}
	BASE_ASSERT((impi_client_state(c) == IMPI_CLS_FAILED) == (impi_client_error(c)->code != 0));
	impi_client_eof(c);
	impi_client_end(c);
	return 0;
}
