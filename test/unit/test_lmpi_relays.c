/* Which relays carry the lanes to a client, and with what weight. */
#include "net_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

bool lmpi_lock_shared; /* the surface's, see libmpi/api/lock.h */
unsigned lmpi_lock_drop(void);
void lmpi_lock_retake(unsigned depth);

unsigned
lmpi_lock_drop(void)
{
	return 0;
}

void
lmpi_lock_retake(unsigned depth)
{
	(void)depth;
}

#define OUT LMPI_NOT_A_MEMBER
enum { RELAYS = 3, CLIENT = 1 };

/* Three relays of weight 10, 20, 30, the group's is relay 1; what differs from "all up, all
 * with a way" is named by a bit per relay. */
static const struct {
	const char *name;
	enum lmpi_policy policy;
	uint32_t own; /* USE_NONE: not told */
	unsigned down, no_way, drains, small;
	int want[RELAYS];
} cases[] = {
	{"dest: the one named, the others in reserve", LMPI_POLICY_DEST, 0, 0, 0, 0, 0, {0, 20, 0}},
	{"dest: it is down, the others share", LMPI_POLICY_DEST, 0, 2, 0, 0, 0, {10, OUT, 30}},
	{"dest: it has no way", LMPI_POLICY_DEST, 0, 0, 2, 0, 0, {10, OUT, 30}},
	{"dest: it drains, and keeps what it has", LMPI_POLICY_DEST, 0, 0, 0, 2, 0, {10, 0, 30}},
	{"dest: another one drains", LMPI_POLICY_DEST, 0, 0, 0, 1, 0, {0, 20, 0}},
	{"dest: all drain", LMPI_POLICY_DEST, 0, 0, 0, 7, 0, {0, 0, 0}},
	{"dest: no way at all, lanes wait", LMPI_POLICY_DEST, 0, 0, 7, 0, 0, {0, 0, 0}},
	{"dest: only a reserve has a way", LMPI_POLICY_DEST, 0, 0, 6, 0, 0, {10, OUT, OUT}},
	{"dest: datagrams too small", LMPI_POLICY_DEST, 0, 0, 0, 0, 2, {10, OUT, 30}},
	{"source: the one that owns me", LMPI_POLICY_SOURCE, 2, 0, 0, 0, 0, {0, 0, 30}},
	{"source: it is down", LMPI_POLICY_SOURCE, 2, 4, 0, 0, 0, {10, 20, OUT}},
	{"source: not told, the one named", LMPI_POLICY_SOURCE, USE_NONE, 0, 0, 0, 0, {0, 20, 0}},
	{"stripe: all", LMPI_POLICY_STRIPE, 0, 0, 0, 0, 0, {10, 20, 30}},
	{"stripe: one down", LMPI_POLICY_STRIPE, 0, 1, 0, 0, 0, {OUT, 20, 30}},
	{"stripe: one drains", LMPI_POLICY_STRIPE, 0, 0, 0, 4, 0, {10, 20, 0}},
	{"stripe: one drains, two have no way", LMPI_POLICY_STRIPE, 0, 0, 3, 4, 0, {OUT, OUT, 0}},
	{"all down", LMPI_POLICY_STRIPE, 0, 7, 0, 0, 0, {OUT, OUT, OUT}},
};

static void
weights(void **state)
{
	struct relay_state relay[RELAYS];
	struct relay_group g = {.client = CLIENT, .relay = 1};

	(void)state;
	lmpi_net.relay = relay;
	lmpi_net.nrelays = RELAYS;
	lmpi_net.mss_given = 1400;
	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		printf("  %s\n", cases[k].name);
		lmpi_net.policy[CLIENT] = (uint8_t)cases[k].policy;
		lmpi_net.own = cases[k].own;
		for (uint32_t i = 0; i < RELAYS; i++)
			relay[i] = (struct relay_state){
				.up = !(cases[k].down >> i & 1),
				.ways = cases[k].no_way >> i & 1 ? ~(1u << CLIENT) : UINT32_MAX,
				.weight = cases[k].drains >> i & 1 ? 0 : 10 * (i + 1),
				.mtu = cases[k].small >> i & 1 ? 1400 : 9000,
			};
		for (uint32_t i = 0; i < RELAYS; i++)
			assert_int_equal(lmpi_relays_weight(&g, i), cases[k].want[i]);
	}
	lmpi_net = (struct lmpi_net_state){0};
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(weights)};

	return cmocka_run_group_tests_name("lmpi_relays", tests, NULL, NULL);
}
