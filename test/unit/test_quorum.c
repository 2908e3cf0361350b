/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/quorum: voters in memory that send each other frames, with journals that are arrays. */
#include "cmocka_all.h"
#include "quorum/quorum.h"

#include "base/clock.h"
#include "base/prng.h"
#include "base/prng.h"

#include <stdlib.h>
#include <string.h>

enum { VOTERS = 5, QUEUE = 4096, LOG = 1024 };

struct parcel {
	uint32_t from, to;
	size_t len;
	uint8_t *bytes;
};

struct voter {
	uint32_t me;
	struct quorum *q;
	uint8_t *journal;
	size_t len;
	bool fails, leads, cut;
	uint8_t log[LOG];
	uint32_t n;
	size_t longest; /* of its journals */
};

static struct world {
	struct voter voter[VOTERS];
	struct parcel queue[QUEUE];
	uint32_t first, last, voters;
	uint64_t now_ns;
	bool apart[VOTERS][VOTERS]; /* from, to */
	uint64_t lease_ns;	    /* of all who led so far, the last one's end */
	uint64_t vacant_ns;	    /* all that was said */
	uint32_t elections;
} w;

static void
queue_vote(void *user, uint32_t to, const void *frame, size_t len)
{
	const struct voter *v = user;
	struct parcel *p = &w.queue[w.last++ % QUEUE];

	assert_in_range(w.last - w.first, 0, QUEUE);
	assert_true(quorum_frame_read(frame, len));
	*p = (struct parcel){v->me, to, len, malloc(len)};
	memcpy(p->bytes, frame, len);
}

static bool
write_array(void *user, const void *bytes, size_t len)
{
	struct voter *v = user;
	size_t kept = v->fails ? len / 2 : len;

	v->journal = realloc(v->journal, v->len + kept + 1);
	memcpy(v->journal + v->len, bytes, kept);
	v->len += kept;
	v->longest = v->len > v->longest ? v->len : v->longest;
	return !v->fails;
}

static bool
replace_array(void *user, const void *bytes, size_t len)
{
	struct voter *v = user;

	if (v->fails)
		return false;
	v->len = 0;
	return write_array(v, bytes, len);
}

static void
apply_command(void *user, const void *command, size_t len)
{
	struct voter *v = user;

	assert_int_equal(len, 1);
	assert_true(v->n < LOG);
	v->log[v->n++] = *(const uint8_t *)command;
}

static size_t
save_log(void *user, void *bytes, size_t room)
{
	const struct voter *v = user;

	if (bytes && room >= v->n)
		memcpy(bytes, v->log, v->n);
	return v->n;
}

static bool
restore_log(void *user, const void *bytes, size_t len)
{
	struct voter *v = user;

	memcpy(v->log, bytes, len);
	v->n = (uint32_t)len;
	return true;
}

static void
begin_lead(void *user, uint64_t term)
{
	struct voter *v = user;

	assert_true(term > 0);
	v->leads = true;
	w.elections++;
	/* Nobody before could lead as late as this voter says that nobody could. */
	uint64_t vacant = v->q ? quorum_vacant_ns(v->q) : 0; /* none: it is being made */
	assert_true(!vacant || w.now_ns - vacant >= w.lease_ns);
	w.vacant_ns += vacant;
}

static void
end_lead(void *user)
{
	((struct voter *)user)->leads = false;
}

static const struct quorum_ops ops = {queue_vote, write_array, replace_array, apply_command,
				      save_log,	  restore_log, begin_lead,    end_lead};

static bool
start_voter(struct voter *v, char why[QUORUM_WHY_MAX])
{
	struct quorum_conf c = {.me = v->me,
				.voters = w.voters,
				.election_ms = 30,
				.heartbeat_ms = 10,
				.snapshot_every = 16,
				.seed = v->me + 1};

	v->n = 0;
	v->leads = false;
	v->q = quorum_new(&c, &ops, v, v->journal, v->len, w.now_ns, why);
	return v->q != NULL;
}

static void
stop_voter(struct voter *v)
{
	quorum_free(v->q);
	v->q = NULL;
	v->leads = false;
}

static void
deliver_all(void)
{
	while (w.first != w.last) {
		struct parcel p = w.queue[w.first++ % QUEUE];
		struct voter *v = &w.voter[p.to];
		if (v->q && !v->cut && !w.voter[p.from].cut && !w.apart[p.from][p.to])
			assert_true(quorum_on_frame(v->q, p.from, p.bytes, p.len, w.now_ns));
		free(p.bytes);
	}
}

static void
run_voters(uint32_t ms)
{
	for (; ms; ms--) {
		w.now_ns += BASE_MS_NS;
		for (uint32_t i = 0; i < w.voters; i++)
			if (w.voter[i].q)
				quorum_turn(w.voter[i].q, w.now_ns);
		deliver_all();
		for (uint32_t i = 0; i < w.voters; i++)
			if (w.voter[i].q)
				w.lease_ns = base_max_ns(w.lease_ns, quorum_lease_ns(w.voter[i].q));
	}
}

static struct voter *
leader(void)
{
	struct voter *found = NULL;

	for (uint32_t i = 0; i < w.voters; i++)
		if (w.voter[i].q && w.voter[i].leads && !w.voter[i].cut) {
			assert_null(found);
			found = &w.voter[i];
		}
	return found;
}

/* Of several the newest: one that is cut off finds out later, and has no lease meanwhile. */
static struct voter *
newest_leader(void)
{
	struct voter *found = NULL;

	for (uint32_t i = 0; i < w.voters; i++) {
		struct voter *v = &w.voter[i];
		if (v->q && v->leads && (!found || quorum_term(v->q) > quorum_term(found->q)))
			found = v;
	}
	return found;
}

static void
begin_voters(uint32_t voters)
{
	char why[QUORUM_WHY_MAX];

	memset(&w, 0, sizeof w);
	w.now_ns = BASE_S_NS;
	w.voters = voters;
	for (uint32_t i = 0; i < voters; i++) {
		w.voter[i].me = i;
		assert_true(start_voter(&w.voter[i], why));
	}
	run_voters(300);
	assert_non_null(leader());
}

static void
end_voters(void)
{
	for (uint32_t i = 0; i < w.voters; i++) {
		stop_voter(&w.voter[i]);
		free(w.voter[i].journal);
	}
	for (; w.first != w.last; w.first++)
		free(w.queue[w.first % QUEUE].bytes);
}

static void
propose_all(const char *commands)
{
	for (; *commands; commands++) {
		assert_true(quorum_propose(leader()->q, commands, 1));
		deliver_all();
	}
	run_voters(40);
}

static void
check_log(const struct voter *v, const char *commands)
{
	assert_int_equal(v->n, strlen(commands));
	assert_memory_equal(v->log, commands, v->n);
}

/* ---- tests ---- */

static void
one_alone_leads_at_once(void **state)
{
	(void)state;
	begin_voters(1);
	assert_true(quorum_lease_ns(w.voter[0].q) > w.now_ns);
	propose_all("ab");
	check_log(&w.voter[0], "ab");
	end_voters();
}

static void
commands_come_in_one_order(void **state)
{
	(void)state;
	begin_voters(3);
	propose_all("abcdef");
	for (uint32_t i = 0; i < 3; i++) {
		check_log(&w.voter[i], "abcdef");
		assert_int_equal(quorum_leader(w.voter[i].q), leader()->me);
	}
	assert_int_equal(quorum_counters(leader()->q)->malformed, 0);
	end_voters();
}

static void
another_leads_when_one_goes(void **state)
{
	char why[QUORUM_WHY_MAX];

	(void)state;
	begin_voters(3);
	propose_all("abc");
	struct voter *old = leader();
	stop_voter(old);
	run_voters(200);
	assert_non_null(leader());
	propose_all("de");
	assert_true(start_voter(old, why));
	run_voters(100);
	check_log(old, "abcde");
	end_voters();
}

static void
a_minority_has_no_lease(void **state)
{
	(void)state;
	begin_voters(3);
	struct voter *old = leader();
	assert_true(quorum_lease_ns(old->q) > w.now_ns);
	old->cut = true;
	run_voters(30); /* of election_ms; nobody else leads before */
	assert_true(quorum_lease_ns(old->q) <= w.now_ns);
	assert_false(quorum_lease_ns(old->q) > w.now_ns && leader());
	run_voters(200);
	assert_non_null(leader());
	assert_ptr_not_equal(leader(), old);
	assert_int_equal(quorum_lease_ns(old->q), 0);
	assert_false(quorum_propose(old->q, "x", 1));
	old->cut = false;
	run_voters(100);
	propose_all("a");
	check_log(old, "a");
	end_voters();
}

/* Who leads is cut off from one, then from the others, or ends; then all is well for a while.  See
 * begin_lead(). */
static void
vacancy_is_not_overstated(void **state)
{
	struct base_prng p = base_prng_seed(3);
	char why[QUORUM_WHY_MAX];

	(void)state;
	for (uint32_t voters = 3; voters <= 5; voters += 2) {
		begin_voters(voters);
		for (int round = 0; round < 400; round++) {
			struct voter *old = newest_leader();
			uint32_t from = old ? old->me : 0;
			for (uint32_t k = 0; k < voters; k++) {
				uint32_t to = (from + 1 + k) % voters;
				w.apart[from][to] = base_prng_below(&p, 4) > 0;
				w.apart[to][from] = base_prng_below(&p, 3) == 0;
				run_voters((uint32_t)base_prng_below(&p, 15));
			}
			bool ends = base_prng_below(&p, 3) == 0 && w.voter[from].q;
			if (ends)
				stop_voter(&w.voter[from]);
			run_voters((uint32_t)base_prng_below(&p, 150));
			assert_true(!ends || start_voter(&w.voter[from], why));
			memset(w.apart, 0, sizeof w.apart);
			run_voters((uint32_t)base_prng_below(&p, 200));
		}
		end_voters();
		assert_true(w.elections > 100 && w.vacant_ns > BASE_S_NS);
	}
}

static void
journals_stay_short(void **state)
{
	char why[QUORUM_WHY_MAX];
	struct quorum_journal_info info;

	(void)state;
	begin_voters(3);
	for (int i = 0; i < 60; i++)
		propose_all("abcdefghij");
	for (uint32_t i = 0; i < 3; i++) {
		struct voter *v = &w.voter[i];
		assert_int_equal(v->n, 600);
		assert_true(quorum_journal_read(v->journal, v->len, &info, why));
		assert_int_equal(info.used, v->len);
		assert_true(info.snapshot > 500 && info.last - info.first < 60);
		assert_in_range(v->longest, 1, 8000);
		stop_voter(v);
	}
	/* All of it comes back from the disks. */
	for (uint32_t i = 0; i < 3; i++)
		assert_true(start_voter(&w.voter[i], why));
	run_voters(300);
	propose_all("z");
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(w.voter[i].n, 601);
	end_voters();
}

static void
who_was_away_gets_a_snapshot(void **state)
{
	char why[QUORUM_WHY_MAX];

	(void)state;
	begin_voters(3);
	struct voter *away = &w.voter[(leader()->me + 1) % 3];
	stop_voter(away);
	for (int i = 0; i < 20; i++)
		propose_all("abcdefghij");
	assert_true(start_voter(away, why));
	run_voters(500);
	assert_int_equal(away->n, 200);
	assert_memory_equal(away->log, leader()->log, 200);
	end_voters();
}

static void
a_disk_that_fails_puts_the_voter_down(void **state)
{
	char why[QUORUM_WHY_MAX];

	(void)state;
	begin_voters(3);
	propose_all("ab");
	struct voter *v = &w.voter[(leader()->me + 1) % 3];
	v->fails = true;
	propose_all("cd");
	assert_true(quorum_is_down(v->q));
	assert_true(quorum_counters(v->q)->write_failures > 0);
	assert_int_equal(quorum_expiry_ns(v->q), BASE_NEVER_NS);
	stop_voter(v);
	v->fails = false;
	assert_true(start_voter(v, why)); /* what was cut off is left out */
	run_voters(200);
	propose_all("e");
	check_log(v, "abcde");
	end_voters();
}

/* Bytes of a journal of five records or more. */
static void
make_journal(void)
{
	begin_voters(1);
	propose_all("abc");
}

static void
a_cut_journal_is_its_beginning(void **state)
{
	char why[QUORUM_WHY_MAX];
	struct quorum_journal_info info;
	uint64_t last = 0;

	(void)state;
	make_journal();
	struct voter *v = &w.voter[0];
	for (size_t len = 0; len <= v->len; len++) {
		assert_true(quorum_journal_read(v->journal, len, &info, why));
		assert_true(info.used <= len && info.last >= last);
		last = info.last;
	}
	assert_int_equal(info.used, v->len);
	end_voters();
}

static void
a_damaged_journal_is_refused(void **state)
{
	char why[QUORUM_WHY_MAX];
	struct quorum_journal_info info;

	(void)state;
	make_journal();
	struct voter *v = &w.voter[0];
	assert_true(quorum_journal_read(v->journal, v->len, &info, why));
	stop_voter(v);
	v->journal[20] ^= 1; /* in the first record; good ones follow */
	assert_false(start_voter(v, why));
	assert_non_null(strstr(why, "damaged at byte 0"));
	v->journal[20] ^= 1;
	assert_true(start_voter(v, why));
	end_voters();
}

static void
bad_frames_are_refused(void **state)
{
	static const uint8_t bad[] = {0x71, 1, 0, 0, 1, 2, 3};

	(void)state;
	begin_voters(3);
	assert_false(quorum_on_frame(w.voter[0].q, 1, bad, sizeof bad, w.now_ns));
	assert_false(quorum_on_frame(w.voter[0].q, 1, bad, 0, w.now_ns));
	assert_false(quorum_on_frame(w.voter[0].q, 0, bad, sizeof bad, w.now_ns));
	assert_false(quorum_on_frame(w.voter[0].q, 3, bad, sizeof bad, w.now_ns));
	assert_int_equal(quorum_counters(w.voter[0].q)->malformed, 4);
	end_voters();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_alone_leads_at_once),
		cmocka_unit_test(commands_come_in_one_order),
		cmocka_unit_test(another_leads_when_one_goes),
		cmocka_unit_test(a_minority_has_no_lease),
		cmocka_unit_test(vacancy_is_not_overstated),
		cmocka_unit_test(journals_stay_short),
		cmocka_unit_test(who_was_away_gets_a_snapshot),
		cmocka_unit_test(a_disk_that_fails_puts_the_voter_down),
		cmocka_unit_test(a_cut_journal_is_its_beginning),
		cmocka_unit_test(a_damaged_journal_is_refused),
		cmocka_unit_test(bad_frames_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
