/* SPDX-License-Identifier: BSD-2-Clause */
/* libsuci takes its numbers from the store of this machine, and the defaults from no other. */
/* First: cmocka has a fail() of its own. */
#include "datagram_internal.h"

#include "datagram_kit.h"

#include "driver/tune_file.h"

static char base[64], path[TUNE_FILE_PATH], why[TUNE_FILE_WHY];

static void
row(const char *cpu, uint64_t copy_factor)
{
	static const uint8_t lo[4] = {127, 0, 0, 1};
	static struct tune_store s;
	static char text[TUNE_STORE_BYTES];
	struct tune_key k;
	struct tune_values v = {0}, own = {0};
	struct tune_caches c;

	tune_file_caches(&c);
	tune_derive(&c, &own);
	(void)unlink(path);
	assert_true(tune_file_key_ip(&k, "udp", "suci", lo, 4));
	k.rtt = 4;
	if (cpu)
		tune_word(k.cpu, sizeof k.cpu, cpu);
	assert_true(tune_value_set(&v, TUNE_RUN, 44) && tune_value_set(&v, TUNE_ACK, 16) &&
		    tune_value_set(&v, TUNE_NEAR_COPY, 65536) &&
		    tune_value_set(&v, TUNE_NEAR_QUEUE, own.v[TUNE_NEAR_QUEUE] / 2));
	assert_int_equal(tune_file_keep(&k, &v, why), 0);
	assert_true(tune_file_read(path, &s, why) == TUNE_FILE_FOUND);
	s.entry[0].values.v[TUNE_COPY_NS] *= copy_factor;
	assert_true(tune_store_print(&s, text, sizeof text) > 0);
	FILE *f = fopen(path, "w");
	assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* What a socket that is opened now uses: the row's numbers or the defaults. */
static void
opens(bool tuned, const char *says)
{
	struct kit k;
	kit_init(&k, 2);
	struct datagram_sock *s = kit_open(&k, 0);
	struct tune_caches c;
	struct tune_values own = {0};
	tune_file_caches(&c);
	tune_derive(&c, &own);
	assert_true(s->near_copy == (tuned ? 65536 : own.v[TUNE_NEAR_COPY]));
	assert_true(s->near_queue == (tuned ? own.v[TUNE_NEAR_QUEUE] / 2 : own.v[TUNE_NEAR_QUEUE]));
	assert_true(s->ack_every == (tuned ? 16 : 32));
	assert_true(suci_udp_get_run(s->udp) == (tuned ? 44 : 30));
	assert_true(tuned == !datagram_tuned(s));
	if (!tuned && !strstr(datagram_tuned(s), says))
		fail_msg("says: %s", datagram_tuned(s));
	kit_fini(&k);
}

static void
store(void **state)
{
	(void)state;
	snprintf(base, sizeof base, "/tmp/test_datagram_tuned.XXXXXX");
	assert_non_null(mkdtemp(base));
	assert_int_equal(setenv("XDG_CACHE_HOME", base, 1), 0);
	assert_true(tune_file_path(path));
	opens(false, "nothing was measured");
	row(NULL, 1);
	opens(true, NULL);
	row("another", 1);
	opens(false, "nothing was measured");
	row(NULL, 20);
	opens(false, "stale");
	FILE *f = fopen(path, "a");
	assert_true(f && fputs("nonsense\n", f) >= 0 && fclose(f) == 0);
	opens(false, "line 3: does not begin with \"entry\"");
	(void)unlink(path);
	*strrchr(path, '/') = 0;
	(void)rmdir(path);
	assert_int_equal(rmdir(base), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(store)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
