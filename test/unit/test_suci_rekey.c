/* SPDX-License-Identifier: BSD-2-Clause */
/* Other keys for endpoints that run: a rotation loses nothing, who is shut out is out, and what
 * cannot be changes nothing. */
#include "suci_seal_kit.h"

static const struct seal_psk old_key = {.id = 11, .secret = {1, 2, 3}};
static const struct seal_psk new_key = {.id = 12, .secret = {9, 8, 7}};

static void
rekey(struct world *w, int side, const struct seal_psk *a, const struct seal_psk *b)
{
	struct suci_seal_conf c = w->conf[side].seal;
	c.nkeys = 0;
	c.key[c.nkeys++] = *a;
	if (b)
		c.key[c.nkeys++] = *b;
	assert_int_equal(suci_rekey(w->l.ep[side], &c, w->l.now_ns), 0);
}

/* The three steps of doc/configuration.md, side by side in time, with segments both ways
 * throughout; then a path anew, which has the new key. */
static void
rotation(void **state)
{
	static const struct {
		const struct seal_psk *first, *second;
	} step[] = {{&old_key, &new_key}, {&new_key, &old_key}, {&new_key, NULL}};
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct world *w = world_up(seed);
		struct suci_path_info info;
		uint32_t sent = 0;
		w->l.loss_ppb = seed % 2 ? 50000000 : 0;
		for (size_t i = 0; i < sizeof step / sizeof step[0]; i++)
			for (int side = 0; side < 2; side++) {
				send_n(w, 0, sent, 20, 900);
				send_n(w, 1, sent, 20, 900);
				sent += 20;
				run_ms(w, seed % 3);
				rekey(w, side, step[i].first, step[i].second);
				run_ms(w, 1);
			}
		assert_true(link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS, all_acked, w));
		assert_int_equal(w->s[0].abandoned + w->s[1].abandoned, 0);
		assert_int_equal(w->s[0].downs + w->s[1].downs, 0);
		for (uint32_t i = 0; i < sent; i++) {
			/* Twice: an ack was lost; lanes see to that. */
			assert_true(w->s[0].seen[i] && w->s[1].seen[i]);
		}
		assert_true(suci_path_info(w->l.ep[0], w->s[0].path, &info));
		assert_int_equal(info.key_id, old_key.id);
		w->l.loss_ppb = 0;
		suci_path_close(w->l.ep[0], w->s[0].path, "anew", w->l.now_ns);
		run_ms(w, 50);
		open_from(w, 1);
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
		assert_true(suci_path_info(w->l.ep[0], w->s[0].path, &info));
		assert_int_equal(info.key_id, new_key.id);
		world_free(w);
	}
}

/* Keys that change between HELLO and ACCEPT: the path comes up all the same. */
static void
while_opening(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world *w = world_new(seed);
		if (seed % 2)
			identities(w, true);
		world_start(w);
		open_from(w, 0);
		link_run(&w->l, w->l.now_ns + seed * 10 * BASE_US_NS, NULL, NULL);
		rekey(w, 1, &new_key, &old_key);
		rekey(w, 0, &new_key, NULL);
		assert_true(link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS, both_up, w));
		send_n(w, 0, 0, 10, 500);
		send_n(w, 1, 0, 10, 500);
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
		world_free(w);
	}
}

/* Other settings: of a path that is up only what needs no new begin; one with a liveness of its
 * own keeps it; the next path has all.  What is out of range changes nothing. */
static void
retuned(void **state)
{
	(void)state;
	struct world *w = world_up(3);
	struct suci_config c = w->conf[0];
	struct suci_path_info info;
	c.cc = SUCI_CC_BBR;
	c.initial_window = 77;
	c.liveness_ns = 200 * BASE_MS_NS;
	c.keepalive_ns = 20 * BASE_MS_NS;
	c.fixed_rate_bps = UINT64_MAX;
	assert_int_equal(suci_retune(w->l.ep[0], &c, w->l.now_ns), SUCI_ERR_INVAL);
	c.fixed_rate_bps = 0;
	assert_int_equal(suci_retune(w->l.ep[0], &c, w->l.now_ns), 0);
	assert_true(suci_path_info(w->l.ep[0], w->s[0].path, &info));
	assert_int_not_equal(info.cc, SUCI_CC_BBR);
	/* Its keepalives come more often now, and end it sooner. */
	uint64_t before = w->l.sent[0];
	run_ms(w, 1000);
	assert_true(w->l.sent[0] - before >= 40);
	w->l.cut = true;
	run_ms(w, 1500);
	assert_int_equal(w->s[0].downs, 1);
	assert_int_equal(w->s[0].why, SUCI_DOWN_SILENT);
	w->l.cut = false;
	run_ms(w, 20000);
	open_from(w, 0);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
	assert_true(suci_path_info(w->l.ep[0], w->s[0].path, &info));
	assert_int_equal(info.cc, SUCI_CC_BBR);
	assert_int_equal(info.cwnd, 77);
	/* Its own, and it stays that. */
	assert_int_equal(suci_path_set_liveness(w->l.ep[0], w->s[0].path, 0, 0), 0);
	c.keepalive_ns = 10 * BASE_MS_NS;
	assert_int_equal(suci_retune(w->l.ep[0], &c, w->l.now_ns), 0);
	run_ms(w, 100);
	before = w->l.sent[0];
	w->l.cut = true;
	run_ms(w, 1500);
	assert_int_equal(w->l.sent[0], before);
	assert_int_equal(w->s[0].downs, 1);
	world_free(w);
}

/* A site whose line is taken away loses its path, whoever opened it, and gets none anew. */
static void
shut_out(void **state)
{
	(void)state;
	for (int opener = 0; opener < 2; opener++) {
		static const struct seal_peer other = {.name = "other", .public_key = {1}};
		struct world *w = world_new(7);
		identities(w, true);
		world_start(w);
		open_from(w, opener);
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, both_up, w));
		struct suci_seal_conf c = w->conf[1].seal;
		assert_int_equal(suci_rekey(w->l.ep[1], &c, w->l.now_ns), 0);
		run_ms(w, 20);
		assert_true(w->s[0].up && w->s[1].up); /* nobody was taken away */
		c.peer = &other;
		assert_int_equal(suci_rekey(w->l.ep[1], &c, w->l.now_ns), 0);
		run_ms(w, 20);
		assert_false(w->s[1].up);
		assert_int_equal(w->s[1].why, SUCI_DOWN_REFUSED);
		assert_non_null(strstr(w->s[1].text, "not among our peers"));
		assert_false(w->s[0].up);
		open_from(w, 0);
		assert_false(link_run(&w->l, w->l.now_ns + 4 * BASE_S_NS, both_up, w));
		assert_true(suci_counters(w->l.ep[1])->drop_identity > 0);
		world_free(w);
	}
}

static void
refusals(void **state)
{
	(void)state;
	struct world *w = world_up(3);
	struct suci_seal_conf c = w->conf[0].seal;
	c.nkeys = 0;
	assert_int_equal(suci_rekey(w->l.ep[0], &c, w->l.now_ns), SUCI_ERR_INVAL);
	c.nkeys = 2;
	c.key[1] = c.key[0];
	assert_int_equal(suci_rekey(w->l.ep[0], &c, w->l.now_ns), SUCI_ERR_INVAL);
	c.nkeys = 1;
	c.me = &w->id[0];
	c.peer = w->peer[0];
	c.npeers = 1;
	assert_int_equal(suci_rekey(w->l.ep[0], &c, w->l.now_ns), SUCI_ERR_INVAL);
	send_n(w, 0, 0, 10, 500);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_acked, w));
	world_free(w);
	w = world_new(4);
	w->conf[0].seal = w->conf[1].seal = (struct suci_seal_conf){0};
	world_start(w);
	c = (struct suci_seal_conf){.key = {old_key}, .nkeys = 1};
	assert_int_equal(suci_rekey(w->l.ep[0], &c, w->l.now_ns), SUCI_ERR_INVAL);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rotation), cmocka_unit_test(while_opening),
		cmocka_unit_test(retuned),  cmocka_unit_test(shut_out),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
