/* The handshake with a peer that is started again in the middle of it. */
#include "test_suci_path.h"

static uint8_t kept[4][2048];
static size_t kept_len[4];
static uint32_t kept_n;

static void
start_both(struct pair *t)
{
	for (int side = 0; side < 2; side++)
		t->l.ep[side] = link_endpoint(&t->conf[side], t->l.now_ns);
}

/* How long it takes until both are up. */
static uint64_t
open_within(struct pair *t, int side, uint64_t ns)
{
	uint64_t from = t->l.now_ns;
	uint32_t path;
	assert_int_equal(suci_path_open(t->l.ep[side], &t->l.addr[!side], NULL, 0, &path, from), 0);
	assert_true(link_run(&t->l, from + ns, pair_both_up, t));
	return t->l.now_ns - from;
}

/* The first life of side 1 takes the OPEN and sends something; neither its ACCEPT nor that
 * arrives, yet. */
static bool
keep_data_lose_accept(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l;
	int type = bytes[0] & 15;
	if (from != 1 || (type != SUCI_T_DATA && type != SUCI_T_ACCEPT))
		return false;
	if (type == SUCI_T_DATA && !(bytes[1] & SUCI_PF_BARE) && kept_n < 4) {
		assert_true(len <= sizeof *kept);
		memcpy(kept[kept_n], bytes, len);
		kept_len[kept_n++] = len;
	}
	return true;
}

static bool
side_1_is_up(void *arg)
{
	struct pair *t = arg;
	return t->s[1].up;
}

/* The opener sent its tag to one life of the peer, and another answers: what the former one
 * sent to that tag may still be on its way and is no data of the path that comes up. */
static void
test_other_life(void **state)
{
	static const char *const names[] = {"it answers HELLO", "it opens itself"};
	(void)state;
	for (int opens = 0; opens < 2; opens++) {
		struct pair *t = pair_new(5, BASE_MS_NS);
		uint32_t path;
		print_message("  %s\n", names[opens]);
		kept_n = 0;
		start_both(t);
		t->l.filter = keep_data_lose_accept;
		assert_int_equal(
			suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &path, t->l.now_ns), 0);
		assert_true(link_run(&t->l, t->l.now_ns + BASE_S_NS, side_1_is_up, t));
		pair_send(t, 1, 2, 500);
		pair_run(t, BASE_MS_NS);
		assert_int_equal(kept_n, 2);
		assert_false(t->s[0].up);

		free(suci_fini(t->l.ep[1], t->l.now_ns));
		link_drop_wire(&t->l);
		t->s[1].up = false;
		t->conf[1].incarnation++;
		t->conf[1].cookie_secret[0]++;
		t->l.ep[1] = link_endpoint(&t->conf[1], t->l.now_ns);
		t->l.filter = NULL;
		if (opens)
			open_within(t, 1, 100 * BASE_MS_NS);
		else
			assert_true(link_run(&t->l, t->l.now_ns + 5 * BASE_S_NS, pair_both_up, t));

		uint64_t unknown = pair_count(t, 0)->drop_unknown_tag;
		for (uint32_t k = 0; k < kept_n; k++)
			suci_rx(t->l.ep[0], &t->l.addr[1], kept[k], kept_len[k], 0, t->l.now_ns);
		assert_int_equal(t->s[0].segments, 0);
		assert_int_equal(pair_count(t, 0)->drop_unknown_tag, unknown + 2);
		/* Nor are its packet numbers those of the new path. */
		t->s[1].acked = 0;
		t->s[1].next = 10;
		pair_send(t, 1, 2, 500);
		pair_run(t, BASE_S_NS);
		assert_int_equal(t->s[1].acked, 2);
		assert_int_equal(t->s[0].segments, 2);
		assert_int_equal(t->s[0].seen[10] + t->s[0].seen[11], 2);
		assert_int_equal(pair_count(t, 0)->drop_duplicate_pn, 0);
		pair_free(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_life),
	};
	return cmocka_run_group_tests_name("suci handshake", tests, NULL, NULL);
}
