/* SPDX-License-Identifier: BSD-2-Clause */
/* Lives of lanes between doors: either end of two begins anew without the other one. */
#include "datagram_relay_kit.h"

/* Both write all the time, and read. */
static void
write_both(struct relays *w, const int64_t id[2], double seconds, uint32_t got[2])
{
	double end = kit_now() + seconds, next = 0;
	char text[64];
	got[0] = got[1] = 0;
	while (kit_now() < end) {
		bool more = kit_now() >= next;
		next = more ? kit_now() + 0.002 : next;
		for (uint32_t i = 0; i < 2; i++) {
			struct datagram_sock *s = w->k.s[i];
			(void)datagram_destination(s, (uint32_t)id[i]);
			if (more)
				(void)datagram_write0(s, "frame", 6);
			while (datagram_read0(s, text, sizeof text) >= 0)
				got[i]++;
		}
		kit_nap();
	}
}

/* One of two sleeps for longer than the other one waits, who gives up by himself and begins anew.
 * He is understood when the first one wakes up, though both are in the midst of writing. */
static void
who_slept_is_reached_again(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX];
	int64_t id[2];
	uint32_t got[2];
	w->impatient = true;
	open_both(w, 4, a);
	address_of(w, 1, b);
	id[0] = datagram_open_at(w->k.s[0], b);
	id[1] = datagram_open_at(w->k.s[1], a);
	write_both(w, id, 1, got);
	assert_true(got[0] > 100 && got[1] > 100);
	for (uint32_t turn = 0; turn < 2; turn++) {
		(void)datagram_destination(w->k.s[0], (uint32_t)id[0]);
		/* Who had no processor for long has given up before, which a write says once. */
		for (int64_t n; (n = datagram_queue_length(w->k.s[0], (uint32_t)id[0])) >= 0;) {
			if (n == 0)
				(void)datagram_write0(w->k.s[0], "late", 5);
			datagram_progress(w->k.s[0]); /* and not the other one's */
			kit_nap();
		}
		assert_int_equal(errno, ETIMEDOUT);
		write_both(w, id, 0.5, got);
		write_both(w, id, 0.5, got);
		print_message("  %u blocks came, and %u\n", got[0], got[1]);
		assert_true(got[0] > 50 && got[1] > 50);
	}
	free_relays(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_slept_is_reached_again),
	};
	return cmocka_run_group_tests_name("lives between doors", tests, NULL, NULL);
}
