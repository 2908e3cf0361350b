/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of sealed paths: an idle path takes 4.5 KB at most, and however few keys can be ready at
 * a time, every path goes on. */
#include "test_suci_link.h"

#include "driver/aead.h"

#define PATHS 8u
#define SEGS  60u

struct side {
	uint32_t path[PATHS], seen[PATHS][SEGS], segments, acked, ups, downs;
};

struct world {
	struct link l;
	struct side s[2];
	uint8_t payload[600];
};

static struct world w;

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t hello_len,
      bool incoming)
{
	struct side *s = user;
	(void)hello, (void)hello_len, (void)incoming;
	s->path[peer->leg] = path;
	s->ups++;
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct side *s = user;
	(void)path, (void)why, (void)text;
	s->downs++;
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct side *s = user;
	(void)path, (void)now_ns;
	assert_true(seg->dst_label < PATHS && seg->seq < SEGS);
	assert_int_equal(seg->data_len, sizeof w.payload);
	assert_memory_equal(seg->data, w.payload, seg->data_len);
	s->seen[seg->dst_label][seg->seq]++;
	s->segments++;
	return SUCI_TAKEN;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct side *s = user;
	(void)path, (void)cookie, (void)now_ns;
	s->acked += fate == SUCI_FATE_ACKED;
}

static const struct suci_ops ops = {
	.accept = link_accept,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
};

static bool
all_up(void *arg)
{
	(void)arg;
	return w.s[0].ups == PATHS && w.s[1].ups == PATHS;
}

static bool
all_acked(void *arg)
{
	uint32_t want = *(uint32_t *)arg;
	return w.s[0].acked == want && w.s[1].acked == want;
}

/* In turns over all paths, both ways, each answered before the next: the order in which
 * CLOCK keeps the least. */
static void
talk(uint32_t keys_max, uint32_t epoch, uint64_t loss_ppb)
{
	memset(&w, 0, sizeof w);
	link_init(&w.l, 3 + keys_max, 50 * BASE_US_NS);
	for (size_t i = 0; i < sizeof w.payload; i++)
		w.payload[i] = (uint8_t)(i * 11 + 1);
	for (int side = 0; side < 2; side++) {
		struct suci_config c = link_config(side);
		c.ops = &ops;
		c.user = &w.s[side];
		c.limits.sealed_max = PATHS;
		c.limits.keys_max = keys_max;
		c.seal = (struct suci_seal_conf){.aead = seal_aes256gcm(),
						 .key = {{.id = 5, .secret = {9}}},
						 .nkeys = 1,
						 .legs = (1u << PATHS) - 1,
						 .seed = {3, (uint8_t)side},
						 .epoch = epoch};
		w.l.ep[side] = link_endpoint(&c, w.l.now_ns);
	}
	for (uint8_t leg = 0; leg < PATHS; leg++) {
		struct suci_addr to = w.l.addr[1];
		uint32_t path;
		to.leg = leg;
		assert_int_equal(suci_path_open(w.l.ep[0], &to, NULL, 0, &path, w.l.now_ns), 0);
	}
	w.l.loss_ppb = loss_ppb;
	assert_true(link_run(&w.l, w.l.now_ns + 5 * BASE_S_NS, all_up, NULL));
	uint32_t want = 0;
	for (uint32_t i = 0; i < SEGS; i++)
		for (uint32_t p = 0; p < PATHS; p++) {
			struct suci_segment seg = {.dst_label = p,
						   .seq = i,
						   .data = w.payload,
						   .data_len = sizeof w.payload};
			for (int side = 0; side < 2; side++)
				assert_int_equal(suci_path_send(w.l.ep[side], w.s[side].path[p],
								&seg, w.l.now_ns),
						 0);
			want++;
			assert_true(link_run(&w.l, w.l.now_ns + 10 * BASE_S_NS, all_acked, &want));
		}
	for (int side = 0; side < 2; side++) {
		const char *what;
		for (uint32_t p = 0; p < PATHS; p++)
			for (uint32_t i = 0; i < SEGS; i++)
				/* what was acknowledged late may come twice */
				assert_in_range(w.s[side].seen[p][i], 1, loss_ppb ? 9 : 1);
		assert_int_equal(w.s[side].downs, 0);
		assert_int_equal(suci_counters(w.l.ep[side])->drop_seal, 0);
		assert_true(suci_check(w.l.ep[side], &what));
	}
}

static void
end_talk(void)
{
	for (int side = 0; side < 2; side++)
		LINK_GIVE(suci_fini(w.l.ep[side], w.l.now_ns));
	link_drop_wire(&w.l);
	assert_int_equal(w.l.held, 0);
}

static void
enough_keys(void **state)
{
	(void)state;
	talk(2 * PATHS, 0, 0);
	for (int side = 0; side < 2; side++) /* each is made once and stays */
		assert_int_equal(suci_counters(w.l.ep[side])->keys_made, 2 * PATHS);
	end_talk();
}

static void
few_keys(void **state)
{
	static const uint32_t keys[] = {2, 3, 5, 2 * PATHS - 1};
	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		for (int change = 0; change < 2; change++) {
			talk(keys[i], change ? 7 : 0, change ? 30000000 : 0);
			const struct suci_counters *c = suci_counters(w.l.ep[1]);
			assert_true(c->keys_made > 2 * PATHS);
			assert_true(!change || c->tx_rekeys >= PATHS);
			end_talk();
		}
}

/* What one sealed path more takes, where there are more of them than keys that can be
 * ready; and what the ready keys take, once. */
static void
memory(void **state)
{
	struct suci_limits a = {.segments_max = 16, .queue_max = 16, .window_max = 16}, b = a;
	(void)state;
	size_t most = 0;
	for (uint32_t n = 256; n <= 1u << 18; n *= 2) {
		a.paths_max = a.sealed_max = n;
		b.paths_max = b.sealed_max = 2 * n;
		size_t each = (suci_footprint(&b) - suci_footprint(&a)) / n;
		most = each > most ? each : most;
		assert_true(each <= 4608);
		b.sealed_max = 2 * n + 1;
		assert_int_equal(suci_footprint(&b), 0);
	}
	a.sealed_max = 0;
	b.paths_max = b.sealed_max = a.paths_max;
	size_t seal = (suci_footprint(&b) - suci_footprint(&a)) / b.paths_max;
	print_message("a sealed idle path takes %zu bytes, %zu of them for its secrets\n", most,
		      seal);
	assert_true(seal <= 288);
	size_t few = suci_footprint(&b);
	b.keys_max = 512 + 100;
	assert_in_range(suci_footprint(&b) - few, 100 * SEAL_KEY_MAX, 100 * (SEAL_KEY_MAX + 76));
	b.keys_max = 1;
	assert_int_equal(suci_footprint(&b), 0);
	b.keys_max = SUCI_KEYS_MAX + 1;
	assert_int_equal(suci_footprint(&b), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enough_keys),
		cmocka_unit_test(few_keys),
		cmocka_unit_test(memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
