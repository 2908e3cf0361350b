/* SPDX-License-Identifier: BSD-2-Clause */
/* 10^5 doors of other clusters in one relay: memory of each, steps and time of a look-up.  And many
 * who use one of them, or use many.  What is bounded is counted, not timed; the times are
 * printed. */
#include "door_internal.h"

#include "base/prng.h"

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DOORS	 (1u << 17)
#define MEMBERS	 100000u
#define CLUSTERS 1000u
#define EACH	 (MEMBERS / CLUSTERS)
#define LOOKS	 2000000u
#define STEPS	 16u /* of a chain that addresses share, at most */
#define HOLDS	 (1u << 14)

static uint8_t *
write_nothing(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	(void)user, (void)cookie, (void)data, (void)len;
	return NULL;
}

static void
keep_nothing(void *user, uint64_t cookie)
{
	(void)user, (void)cookie;
}

static void
end_nothing(void *user, uint32_t base, const char *why)
{
	(void)user, (void)base, (void)why;
}

static const struct relay_core_ops scale_ops = {.writable = write_nothing,
						.hold = keep_nothing,
						.release = keep_nothing,
						.job_ended = end_nothing};

static const struct relay_core_limits limits = {.jobs_max = 1,
						.procs_max = RELAY_LABEL_PAGE,
						.hosts_max = 1,
						.trunks_max = CLUSTERS,
						.paths_max = CLUSTERS + 8,
						.primaries_max = 1,
						.doors_max = DOORS,
						.holds_max = HOLDS};

static uint64_t
time_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Where the door stands in its own cluster: relays give out places from the first on. */
static uint32_t
label_of(uint32_t member)
{
	return RELAY_LABEL_PAGE + member / CLUSTERS;
}

static uint64_t
token_of(uint32_t member)
{
	return 0x9e3779b97f4a7c15u * (member + 1);
}

/* As take_offer() and take_answer() do, the first relay of each cluster being trunk k. */
static void
import_member(struct relay_core *c, uint32_t member)
{
	uint32_t k = member % CLUSTERS;
	struct door_address a = {.realm = 7,
				 .token = token_of(member),
				 .label = label_of(member),
				 .n = 1,
				 .nrelays = 1,
				 .relay = {{0xc0000000 + k, 7812}}};
	uint32_t i = relay_door_import_new(c, k, &a);
	assert_int_not_equal(i, NONE);
	assert_true(relay_door_map(c, &c->trunk[k].door_root, a.label, 1, i));
}

static uint32_t
longest_chain(const struct relay_core *c, double *mean)
{
	uint32_t longest = 0;
	uint64_t steps = 0;
	for (uint32_t b = 0; b < DOORS / 2 + 1; b++) {
		uint32_t n = 0;
		for (uint32_t i = c->doors.bucket[b]; i != NONE; i = c->doors.door[i].hash_next)
			steps += ++n;
		longest = n > longest ? n : longest;
	}
	*mean = (double)steps / MEMBERS;
	return longest;
}

/* What one more costs, beside what the tables take however many there are. */
static size_t
bytes_of_one_more(void)
{
	struct relay_core_limits half = limits;
	half.doors_max /= 2;
	size_t more = relay_core_footprint(&limits) - relay_core_footprint(&half);
	return (more + half.doors_max - 1) / half.doors_max;
}

/* With what is fixed; without holds. */
static size_t
bytes_of_each(void)
{
	struct base_arena a = base_arena(NULL);
	struct doors counting;
	return (relay_door_lay_out(&limits, &a, &counting) + DOORS - 1) / DOORS;
}

static void
hundred_thousand_addresses(void **state)
{
	(void)state;
	struct relay_core_conf conf = {.limits = limits, .ops = &scale_ops};
	void *mem = aligned_alloc(64, (relay_core_footprint(&limits) + 63) & ~(size_t)63);
	assert_non_null(mem);
	struct relay_core *c = relay_core_new(mem, &conf);
	assert_non_null(c);
	for (uint32_t k = 0; k < CLUSTERS; k++) {
		c->doors.cluster[k] =
			(struct door_cluster){.used = true, .n = 1, .imports = BASE_ICHAIN_EMPTY};
		c->trunk[k].door_root = NONE;
	}
	uint64_t began = time_ns();
	for (uint32_t m = 0; m < MEMBERS; m++)
		import_member(c, m);
	uint64_t made = time_ns();
	size_t bytes = bytes_of_one_more(), all = bytes_of_each();
	double mean;
	uint32_t longest = longest_chain(c, &mean), found = 0;
	struct base_prng g = base_prng_seed(1);
	for (uint32_t l = 0; l < LOOKS; l++) {
		uint32_t m = (uint32_t)base_prng_below(&g, MEMBERS);
		uint32_t i =
			relay_door_find(&c->doors, c->trunk[m % CLUSTERS].door_root, label_of(m));
		found += c->doors.door[i].token == token_of(m);
	}
	uint64_t looked = time_ns();
	for (uint32_t l = 0; l < LOOKS; l++) {
		uint32_t m = (uint32_t)base_prng_below(&g, MEMBERS);
		found += relay_door_imported(c, m % CLUSTERS, label_of(m), 7, token_of(m)) != NONE;
	}
	uint64_t asked = time_ns();
	print_message("  %u doors of %u clusters: %zu bytes each, %zu with what is fixed; an entry "
		      "is made in %.0f ns, found by a segment in %.0f ns (4 steps), by an address "
		      "in %.0f ns (%.1f steps, at most %u)\n",
		      MEMBERS, CLUSTERS, bytes, all, (double)(made - began) / MEMBERS,
		      (double)(looked - made) / LOOKS, (double)(asked - looked) / LOOKS, mean,
		      longest);
	assert_int_equal(found, 2 * LOOKS);
	print_message("  %u of %u nodes of trees are free\n", c->doors.nodes_free,
		      c->doors.nodes_max);
	assert_true(bytes <= 64);
	assert_true(longest <= STEPS);
	assert_int_equal(c->doors.nimports, MEMBERS);
	assert_true(c->doors.nodes_free > 0);
	free(mem);
}

/* ---- who uses which ---- */

/* Steps to the hold of that import by that process. */
static uint32_t
count_steps(const struct relay_core *c, uint32_t hold)
{
	const struct door_hold *x = c->doors.hold;
	uint32_t first = hold, n = 1;
	while (x[first].of_pair.prev != BASE_INONE)
		first = x[first].of_pair.prev;
	for (uint32_t h = first; h != hold; h = x[h].of_pair.next)
		n++;
	return n;
}

/* All processes use import 0, one process uses all imports: the two lists that a segment's look-up
 * does not walk. */
static void
many_users_of_one(void **state)
{
	(void)state;
	struct relay_core_conf conf = {.limits = limits, .ops = &scale_ops};
	void *mem = aligned_alloc(64, (relay_core_footprint(&limits) + 63) & ~(size_t)63);
	struct relay_core *c = relay_core_new(mem, &conf);
	static uint32_t made[HOLDS];
	uint32_t n = 0, most = 0, steps = 0, users = limits.paths_max;
	for (uint32_t i = 0; i < DOORS; i++)
		c->doors.door[i].of = NONE;
	for (uint32_t p = 0; p < users; p++)
		made[n++] = relay_door_hold(c, 0, p);
	for (uint32_t i = 1; n < HOLDS; i++)
		made[n++] = relay_door_hold(c, i, 0);
	assert_int_equal(relay_door_hold(c, 1, 1), NONE);
	for (uint32_t k = 0; k < n; k++) {
		const struct door_hold *x = &c->doors.hold[made[k]];
		uint32_t s = count_steps(c, made[k]);
		most = s > most ? s : most;
		steps += s;
		assert_int_equal(relay_door_held(c, x->import, x->path, NONE), made[k]);
		assert_int_equal(relay_door_held(c, x->import, x->path, made[k]), NONE);
	}
	print_message("  %u users of one door, %u doors of one user: found in %.1f steps, at most "
		      "%u\n",
		      users, HOLDS - users + 1, (double)steps / n, most);
	assert_true(most <= STEPS);
	assert_int_equal(relay_door_held(c, 1, 1, NONE), NONE);
	for (uint32_t k = 0; k < n; k++)
		relay_door_unhold(c, made[k]);
	assert_int_equal(relay_door_held(c, 0, 0, NONE), NONE);
	assert_int_equal(c->doors.nholds, 0);
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(hundred_thousand_addresses),
					   cmocka_unit_test(many_users_of_one)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
