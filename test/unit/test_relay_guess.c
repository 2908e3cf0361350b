/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes say to be let in: tokens, guesses at them, and how many are looked at. */
#include "core_internal.h"
#include "relay_core_kit.h"

/* A path from there with that token for process rank?  What is heard is always the same. */
static bool
says(struct relay *r, const struct suci_addr *from, uint64_t token, uint32_t rank)
{
	static const char text[] = "no current job here has that label and token";
	struct relay_hello h = {1, token, spec2.label_base[0] + rank, rank, false, 0};
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];

	relay_hello_encode(&h, hello);
	if (fake_incoming(&r->ep, from, hello, sizeof hello, why) != UINT32_MAX)
		return true;
	assert_string_equal(why, text);
	return false;
}

/* What a host hears does not tell a right label from a wrong one.  From wherever the guesses at a
 * job come, they are few, and nobody else is the worse for it: not a rank of the same node. */
static void
guesses_are_bounded(void **state)
{
	(void)state;
	const uint32_t token = 0xabcd;
	struct suci_addr proc0 = maker_proc_addr(0), proc1 = maker_proc_addr(1), bad = proc0;
	struct relay *r = relay_new(0);
	add_job(r, spec2);
	const struct relay_counters *n = relay_core_counters(r->c);
	relay_core_tick(r->c, 10 * BASE_S_NS);
	for (uint32_t i = 0; i < 10000; i++) {
		bad.port = (uint16_t)(proc0.port + 1 + i);
		bad.ip[15] = (uint8_t)(proc0.ip[15] + i % 7);
		assert_false(says(r, &bad, i, i % 2 ? 0 : 0x01000000));
	}
	/* Seven addresses: the job's 64 are used up before their 16 each. */
	assert_int_equal(n->accept_token, 64);
	assert_true(n->accept_guesses > 4900);
	/* Not even with the right one, or it would have been found. */
	assert_false(says(r, &bad, token, 0));
	assert_true(says(r, &proc0, token, 0));
	/* Some are forgiven with time: 16 in a second. */
	relay_core_tick(r->c, 11 * BASE_S_NS);
	for (uint32_t i = 0; i < 100; i++) {
		bad.ip[15] = (uint8_t)(proc0.ip[15] + 1 + i % 7);
		assert_false(says(r, &bad, i, 1));
	}
	assert_int_equal(n->accept_token, 64 + 16);
	/* In the place of a process, which has not come yet: 16, and one in a second. */
	for (uint32_t i = 0; i < 100; i++)
		assert_false(says(r, &proc1, i, 1));
	assert_int_equal(n->accept_token, 64 + 16 + 16);
	assert_false(says(r, &proc1, token, 1));
	relay_core_tick(r->c, 12 * BASE_S_NS);
	assert_true(says(r, &proc1, token, 1));
	relay_free(r);
}

/* The upper halves stand above the labels: ours in what we announce, a process's in what it does.
 */
static void
tokens_of_64_bits(void **state)
{
	(void)state;
	const uint64_t ours = 0x7234567800000000u | spec2.token;
	const uint32_t theirs = 0x0badcafe;
	struct suci_addr a[2] = {maker_proc_addr(0), maker_proc_addr(1)};
	struct relay *r = relay_new(0);
	struct relay_job *j = make_job(&spec2);
	for (uint32_t i = 0; i < j->nlocal; i++) {
		j->local[i].pid |= (uint64_t)theirs << 32;
		be32_store(j->private_id[j->first_local + i] + 16, theirs);
		be32_store(j->global_id[j->first_local + i] + 16, (uint32_t)(ours >> 32));
	}
	assert_int_equal(relay_job_add(r->c, j, r->ep.now), 0);
	free(j);
	relay_core_tick(r->c, r->ep.now);
	uint32_t p = fake_find(&r->ep, &a[1]);
	struct relay_hello h;
	assert_int_equal(relay_hello_decode(r->ep.path[p].hello, 24, &h), 0);
	assert_int_equal(h.token,
			 relay_hello_token((uint64_t)theirs << 32 | maker_proc_token(1), h.label));
	assert_int_equal(h.label, MAKER_PROC_BASE + 1);
	const uint32_t base = spec2.label_base[0];
	const uint64_t own = relay_hello_token(ours, base);
	assert_false(says(r, &a[0], spec2.token, 0));
	assert_false(says(r, &a[0], own ^ 1ull << 32, 0));
	assert_false(says(r, &a[0], own ^ 1, 0));
	/* Neither what was announced, nor what another process of the job says. */
	assert_false(says(r, &a[0], ours, 0));
	assert_false(says(r, &a[0], relay_hello_token(ours, base + 1), 0));
	assert_false(says(r, &a[1], own, 1));
	assert_true(says(r, &a[0], own, 0));
	assert_int_equal(relay_core_counters(r->c)->accept_token, 6);
	relay_free(r);
}

/* One address tries 16 times, and once a second, whatever the job; two workers of a relay let it
 * try as often as one. */
static void
guesses_over_workers(void **state)
{
	(void)state;
	for (uint32_t workers = 1; workers <= 2; workers++) {
		struct suci_addr bad = maker_proc_addr(0);
		uint64_t wrong = 0, of_one = 0;
		bad.ip[15] ^= 0x40;
		for (uint32_t k = 0; k < workers; k++) {
			struct relay_core_conf conf =
				relay_conf_of_two(RELAY_POLICY_DEST, 4, BASE_S_NS);
			conf.workers = workers;
			struct relay *r = relay_new_conf(&conf);
			add_job(r, spec2);
			relay_core_tick(r->c, 10 * BASE_S_NS);
			for (uint32_t i = 0; i < 100; i++, bad.port++)
				assert_false(says(r, &bad, i, i % 2));
			of_one = relay_core_counters(r->c)->accept_token;
			relay_core_tick(r->c, 14 * BASE_S_NS);
			for (uint32_t i = 0; i < 100; i++, bad.port++)
				assert_false(says(r, &bad, i, i % 2));
			wrong += relay_core_counters(r->c)->accept_token;
			relay_free(r);
		}
		assert_int_equal(of_one, 16 / workers);
		assert_int_equal(wrong, 16 + 4);
	}
}

/* Who asks for doors with wrong tokens is not heard at his own relay when 16 answers have said so,
 * whatever else he asks for there: before they are here he may ask for more.  After that he pays
 * when he asks, and gets back what was no wrong guess.  Nobody else pays. */
static void
askers_pay_at_home(void **state)
{
	(void)state;
	struct suci_addr a = maker_proc_addr(0), b = maker_proc_addr(1);
	struct relay *r = relay_new(0);
	uint32_t who = relay_guess_asker(&a, 0), other = relay_guess_asker(&b, 0);
	bool paid = false;
	relay_core_tick(r->c, 10 * BASE_S_NS);
	assert_int_not_equal(who, other);
	assert_int_not_equal(who, relay_guess_asker(&a, 1)); /* of another cluster */
	b = a;
	b.port++; /* another process of the node */
	assert_int_equal(who, relay_guess_asker(&b, 0));
	for (uint32_t i = 0; i < 100; i++) {
		assert_true(relay_guess_asks(r->c, who, &paid));
		assert_false(paid);
	}
	relay_guess_answered(r->c, who, &paid, false);
	for (uint32_t i = 0; i < 14; i++)
		relay_guess_answered(r->c, who, &paid, true);
	/* In advance: the last but one comes back, the last ones do not. */
	assert_true(relay_guess_asks(r->c, who, &paid) && paid);
	relay_guess_answered(r->c, who, &paid, false);
	assert_false(paid);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(relay_guess_asks(r->c, who, &paid) && paid);
	assert_false(relay_guess_asks(r->c, who, &paid));
	relay_guess_answered(r->c, who, &paid, true);
	assert_false(relay_guess_asks(r->c, who, &paid));
	paid = false;
	assert_true(relay_guess_asks(r->c, other, &paid) && !paid);
	relay_core_tick(r->c, 11 * BASE_S_NS); /* one is forgiven each second */
	assert_true(relay_guess_asks(r->c, who, &paid) && paid);
	assert_false(relay_guess_asks(r->c, who, &paid));
	/* Everything, in time: it does not go below nothing. */
	relay_core_tick(r->c, 60 * BASE_S_NS);
	relay_guess_answered(r->c, who, &paid, false);
	assert_true(relay_guess_asks(r->c, who, &paid) && !paid);
	relay_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guesses_are_bounded),
		cmocka_unit_test(tokens_of_64_bits),
		cmocka_unit_test(guesses_over_workers),
		cmocka_unit_test(askers_pay_at_home),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
