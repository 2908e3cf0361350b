/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of the severity table, and what is said about wrong ones. */
#include "cmocka_all.h"
#include "sp/severity.h"

#include <string.h>

static void
words_are_measures(void **state)
{
	struct sp_severity s = {0};
	char why[200];

	(void)state;
	assert_true(sp_severity_add(&s, SP_FAULT_PROCESS, "takeover", why, sizeof why));
	assert_true(sp_severity_add(&s, SP_FAULT_PROCESS, "restart-as-spare", why, sizeof why));
	assert_true(sp_severity_add(&s, SP_FAULT_PROCESS, "stop-after 3/60s", why, sizeof why));
	assert_int_equal(s.of[SP_FAULT_PROCESS].set, SP_TAKEOVER | SP_RESTART);
	assert_int_equal(s.of[SP_FAULT_PROCESS].stop_n, 3);
	assert_int_equal(s.of[SP_FAULT_PROCESS].within_s, 60);
	assert_true(sp_severity_fits(&s, SP_FAULT_PROCESS, why, sizeof why));
	assert_true(sp_severity_add(&s, SP_FAULT_PROCESS, "stop-after 16/2h", why, sizeof why));
	assert_int_equal(s.of[SP_FAULT_PROCESS].within_s, 7200);
	assert_true(sp_severity_add(&s, SP_FAULT_CLUSTER, "bypass", why, sizeof why));
	assert_int_equal(s.of[SP_FAULT_CLUSTER].set, SP_BYPASS);
}

static void
wrong_words_are_told(void **state)
{
	static const struct {
		enum sp_fault fault;
		const char *word, *says;
	} bad[] = {
		{SP_FAULT_PROCESS, "take-over", "\"take-over\" is no measure; there are takeover"},
		{SP_FAULT_PROCESS, "", "no measure"},
		{SP_FAULT_PROCESS, "bypass", "cannot be done about a fault of a process"},
		{SP_FAULT_MASTER, "takeover", "cannot be done about a fault of a master"},
		{SP_FAULT_NODE, "stop-after 3/60s", "counts deaths of processes; here \"node\""},
		{SP_FAULT_PROCESS, "stop-after 0/60s", "N from 1 to 16"},
		{SP_FAULT_PROCESS, "stop-after 17/60s", "N from 1 to 16"},
		{SP_FAULT_PROCESS, "stop-after 3/60", "T as 60s, 5m or 1h"},
		{SP_FAULT_PROCESS, "stop-after 3/60sec", "T as"},
		{SP_FAULT_PROCESS, "stop-after 3", "T as"},
		{SP_FAULT_PROCESS, "stop-after 3/99999999999s", "T as"},
	};
	struct sp_severity s = sp_severity_default();
	char why[200];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_false(sp_severity_add(&s, bad[i].fault, bad[i].word, why, sizeof why));
		assert_non_null(strstr(why, bad[i].says));
	}
}

static void
contradictions_are_told(void **state)
{
	struct sp_severity s = {0};
	char why[200];

	(void)state;
	assert_true(sp_severity_add(&s, SP_FAULT_NODE, "takeover", why, sizeof why));
	assert_true(sp_severity_add(&s, SP_FAULT_NODE, "continue", why, sizeof why));
	assert_false(sp_severity_fits(&s, SP_FAULT_NODE, why, sizeof why));
	assert_non_null(strstr(why, "node: of takeover, continue"));
	s = sp_severity_default();
	for (unsigned f = 0; f < SP_FAULT_COUNT; f++)
		assert_true(sp_severity_fits(&s, (enum sp_fault)f, why, sizeof why));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_measures),
		cmocka_unit_test(wrong_words_are_told),
		cmocka_unit_test(contradictions_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
