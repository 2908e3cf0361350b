/* SPDX-License-Identifier: BSD-2-Clause */
/* What sealing costs: two endpoints in memory, one sends full segments to the other, as
 * fast as they can; nanoseconds of CPU per segment, both ends together, sealed and not.
 * Rounds of the two alternate and the best of each counts, so that other load on the
 * machine hits both.
 *
 *	sealpp [payload bytes [rounds]] */
#include "driver/aead.h"
#include "suci/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEGMENTS 40000u

struct end {
	struct suci *ep;
	struct suci_addr addr;
	uint32_t path, acked;
	bool up;
};

static struct end end[2];
static uint8_t payload[9000];

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	  char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	struct end *e = user;
	(void)peer, (void)hello, (void)len, (void)incoming;
	e->path = path;
	e->up = true;
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why;
	if (why != SUCI_DOWN_LOCAL)
		fprintf(stderr, "sealpp: path down: %s\n", text);
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	(void)user, (void)path, (void)seg, (void)now_ns;
	return SUCI_TAKEN;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct end *e = user;
	(void)path, (void)cookie, (void)now_ns;
	e->acked += fate == SUCI_FATE_ACKED;
}

/* All that one end has to say, to the other; the copy is what a kernel would do. */
static bool
carry(int from, uint64_t now)
{
	static struct suci_out o;
	static uint8_t d[10000];
	bool any = false;
	while (suci_tx(end[from].ep, &o, now)) {
		size_t n = 0;
		if (o.sealed) {
			n = suci_seal(end[from].ep, &o, d, sizeof d);
		} else {
			memcpy(d, o.head, o.head_len);
			n = o.head_len;
			if (o.seg_head_len)
				memcpy(d + n, o.seg_head, o.seg_head_len);
			n += o.seg_head_len;
			if (o.data_len)
				memcpy(d + n, o.data, o.data_len);
			n += o.data_len;
		}
		suci_rx(end[!from].ep, &end[from].addr, d, n, 0, now);
		any = true;
	}
	return any;
}

static double
cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
make_end(int i, bool sealed)
{
	static const struct suci_ops ops = {.accept = on_accept,
					    .path_up = on_up,
					    .path_down = on_down,
					    .segment = on_segment,
					    .released = on_released};
	struct suci_config c = {.limits = {.paths_max = 2,
					   .segments_max = 4096,
					   .queue_max = 2048,
					   .window_max = 2048,
					   .sealed_max = sealed ? 2 : 0},
				.incarnation = 1 + (uint64_t)i,
				.cookie_secret = {(uint8_t)i},
				.seed = (uint64_t)i,
				.mtu_max = 9200,
				.cc = SUCI_CC_FIXED,
				.fixed_window = 256,
				.ops = &ops,
				.user = &end[i]};
	if (sealed)
		c.seal = (struct suci_seal_conf){.aead = seal_aes256gcm(),
						 .key = {{.id = 1}},
						 .nkeys = 1,
						 .legs = 1,
						 .seed = {1, (uint8_t)i}};
	end[i] = (struct end){.addr = {.port = (uint16_t)(1 + i), .family = 4}};
	void *mem = aligned_alloc(64, suci_footprint(&c.limits));
	end[i].ep = mem ? suci_new(mem, &c, 1000000000) : NULL;
	if (!end[i].ep) {
		fputs("sealpp: no endpoint\n", stderr);
		exit(1);
	}
}

static double
round_ns(bool sealed, uint16_t bytes)
{
	uint64_t now = 1000000000;
	uint32_t sent = 0;
	make_end(0, sealed);
	make_end(1, sealed);
	(void)suci_path_open(end[0].ep, &end[1].addr, NULL, 0, &end[0].path, now);
	while (!end[0].up || !end[1].up)
		for (int i = 0; i < 2; i++)
			carry(i, now += 1000);
	double start = cpu_ns();
	while (end[0].acked < SEGMENTS) {
		struct suci_segment s = {.data = payload, .data_len = bytes};
		for (int k = 0; k < 64 && sent < SEGMENTS; k++, sent++)
			if (suci_path_send(end[0].ep, end[0].path, &s, now))
				break;
		now += 10000;
		bool any = carry(0, now);
		any |= carry(1, now);
		if (!any) {
			suci_tick(end[0].ep, now);
			suci_tick(end[1].ep, now);
		}
	}
	double ns = (cpu_ns() - start) / SEGMENTS;
	for (int i = 0; i < 2; i++)
		free(suci_fini(end[i].ep, now));
	return ns;
}

int
main(int argc, char **argv)
{
	int bytes = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1024;
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 9;
	double best[2] = {1e18, 1e18};
	if (bytes < 1 || bytes > 9000)
		return 2;
	for (int r = 0; r < 2 * rounds; r++) {
		double ns = round_ns(r & 1, (uint16_t)bytes);
		best[r & 1] = ns < best[r & 1] ? ns : best[r & 1];
	}
	printf("%d bytes: %.0f ns per segment, sealed %.0f, %.0f more\n", bytes, best[0], best[1],
	       best[1] - best[0]);
	return 0;
}
