/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_ocsproto.h - any bytes to a live session of lib/ocs/protocols, among requests.
 *
 * Input: op, len, bytes...   op % 8:
 *   0 1 2  bytes come      3 read_all    4 apply    5 power    6 time passes   7 the line is cut
 * Kept: one DONE for every request that was taken, after its other events; DOWN after that;
 * one CIRCUIT for every circuit of a batch; a deadline while an answer is due. */
#ifndef TEST_FUZZ_OCSPROTO_H
#define TEST_FUZZ_OCSPROTO_H

#include "base/assert.h"
#include "base/clock.h"
#include "ocsproto/ocsproto.h"

#include <stdlib.h>
#include <string.h>

#define FUZZ_PORTS 8u
#define FUZZ_BATCH 6u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_session {
	struct ocs_switch *sw;
	uint64_t now;
	bool up, open, asked;
	uint32_t id, circuits, want;
};

static inline void
fuzz_drain(struct fuzz_session *f)
{
	uint8_t buf[512];
	struct ocs_event ev;
	size_t n, all = 0;
	while ((n = f->sw->ops->tx(f->sw, buf, sizeof buf, f->now)) > 0)
		BASE_ASSERT((all += n) < 1u << 20);
	while (f->sw->ops->next(f->sw, &ev)) {
		BASE_ASSERT(memchr(ev.text, 0, sizeof ev.text));
		if (ev.kind == OCS_EVENT_UP) {
			f->up = true;
		} else if (ev.kind == OCS_EVENT_DOWN) {
			BASE_ASSERT(!f->asked && ev.err);
			f->up = false;
		} else if (ev.kind == OCS_EVENT_CIRCUIT) {
			BASE_ASSERT(f->asked && ev.id == f->id);
			BASE_ASSERT(ev.in < FUZZ_PORTS && ev.out < FUZZ_PORTS);
			f->circuits++;
		} else if (ev.kind == OCS_EVENT_DONE) {
			BASE_ASSERT(f->asked && ev.id == f->id);
			BASE_ASSERT(!f->want || f->circuits == f->want);
			f->asked = false;
		}
	}
	BASE_ASSERT(!f->asked || ocsproto_is_broken(f->sw) ||
		    f->sw->ops->expiry_ns(f->sw) != BASE_NEVER_NS);
}

static inline void
fuzz_hang_up(struct fuzz_session *f)
{
	f->sw->ops->disconnected(f->sw, f->now);
	fuzz_drain(f);
	BASE_ASSERT(!f->asked && !f->up);
	f->sw->ops->connected(f->sw, f->now);
	fuzz_drain(f);
}

static inline void
fuzz_ask(struct fuzz_session *f, uint8_t op, uint8_t seed)
{
	struct ocs_circuit c[FUZZ_BATCH] = {0};
	struct ocs_port_name ports[2] = {{seed % FUZZ_PORTS, true}, {seed / 8 % FUZZ_PORTS, false}};
	struct ocs_change ch = {.remove = c, .add = c + 2, .removals = seed & 1 ? 2 : 0};
	int err;
	for (uint32_t i = 0; i < FUZZ_BATCH; i++) {
		c[i].in = (seed + i) % (FUZZ_PORTS + 1); /* out of range at times */
		c[i].out = (seed / 4 + 3 * i) % FUZZ_PORTS;
	}
	ch.additions = seed & 2 ? 4 : 1;
	ch.atomic = (seed & 12) == 12;
	uint32_t id = f->id + 1;
	if (op == 3)
		err = f->sw->ops->read_all(f->sw, id, f->now);
	else if (op == 4)
		err = f->sw->ops->apply(f->sw, id, &ch, f->now);
	else
		err = f->sw->ops->power(f->sw, id, ports, 2, f->now);
	BASE_ASSERT(!f->asked || err);
	if (err)
		return;
	f->id = id;
	f->asked = true;
	f->circuits = 0;
	f->want = op == 4 ? ch.removals + ch.additions : 0;
}

static inline int
fuzz_session(struct ocsproto_config cfg, const uint8_t *data, size_t size)
{
	static void *mem;
	cfg.ports = FUZZ_PORTS;
	cfg.batch = FUZZ_BATCH;
	if (!mem)
		mem = malloc(ocsproto_footprint(&cfg) + 65536);
	struct fuzz_session f = {.sw = ocsproto_new(mem, &cfg), .now = 1};
	f.sw->ops->connected(f.sw, f.now);
	for (size_t at = 0; at + 2 <= size;) {
		uint8_t op = data[at] % 8, len = data[at + 1];
		at += 2;
		if (op <= 2) {
			size_t n = len < size - at ? len : size - at;
			f.sw->ops->rx(f.sw, data + at, n, f.now);
			at += n;
		} else if (op <= 5) {
			fuzz_ask(&f, op, len);
		} else if (op == 6) {
			f.now += (uint64_t)len * 100 * BASE_MS_NS;
			f.sw->ops->tick(f.sw, f.now);
		}
		fuzz_drain(&f);
		if (op == 7 || ocsproto_is_broken(f.sw))
			fuzz_hang_up(&f);
	}
	f.sw->ops->disconnected(f.sw, f.now);
	fuzz_drain(&f);
	return 0;
}

#endif
