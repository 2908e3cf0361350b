/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that knows PMIx alone, of no MPI: for scenarios.
 *
 *	pmix_client meet	all put and fence, twice: what is collected, and what is fetched
 *	pmix_client bulk BYTES	each puts so much before a fence
 *	pmix_client abort	rank 1 ends the job with status 7
 *	pmix_client die		rank 1 dies; the others hear of it
 *	pmix_client late	rank 1 dies at once; the others wait */
#include <pmix.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;
static uint32_t size;
static _Atomic int gone = -1;

static _Noreturn void
give_up(const char *what, pmix_status_t rc)
{
	printf("client: rank %u: %s: %s\n", self.rank, what, PMIx_Error_string(rc));
	fflush(stdout);
	_exit(4);
}

static void
expect_done(const char *what, pmix_status_t rc)
{
	if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
		give_up(what, rc);
}

static void
put_word(const char *key, char *bytes, size_t len)
{
	pmix_value_t v = {.type = PMIX_BYTE_OBJECT};

	v.data.bo.bytes = bytes;
	v.data.bo.size = len;
	expect_done("PMIx_Put", PMIx_Put(PMIX_GLOBAL, key, &v));
	expect_done("PMIx_Commit", PMIx_Commit());
}

static void
fence_all(bool collect)
{
	pmix_info_t info;

	PMIX_INFO_CONSTRUCT(&info);
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	expect_done("PMIx_Fence", PMIx_Fence(NULL, 0, &info, 1));
	PMIX_INFO_DESTRUCT(&info);
}

/* The word that each rank has put under a key. */
static void
expect_words(const char *key)
{
	for (uint32_t r = 0; r < size; r++) {
		pmix_value_t *v = NULL;
		pmix_proc_t p;
		char want[64];
		PMIX_LOAD_PROCID(&p, self.nspace, r);
		expect_done(key, PMIx_Get(&p, key, NULL, 0, &v));
		snprintf(want, sizeof want, "%s of %u", key, r);
		if (v->type != PMIX_BYTE_OBJECT || v->data.bo.size != strlen(want) ||
		    memcmp(v->data.bo.bytes, want, strlen(want)) != 0)
			give_up("another word than was put", PMIX_ERR_NOT_FOUND);
		PMIX_VALUE_RELEASE(v);
	}
}

static void
play_meeting(void)
{
	pmix_proc_t pair[2];
	char word[64];

	snprintf(word, sizeof word, "first of %u", self.rank);
	put_word("first", word, strlen(word));
	fence_all(true);
	expect_words("first");
	snprintf(word, sizeof word, "second of %u", self.rank);
	put_word("second", word, strlen(word));
	fence_all(false); /* nothing is collected: it is fetched */
	expect_words("second");
	/* The first and the last one alone: they are on two nodes. */
	PMIX_LOAD_PROCID(&pair[0], self.nspace, 0);
	PMIX_LOAD_PROCID(&pair[1], self.nspace, size - 1);
	if (size > 1 && (self.rank == 0 || self.rank == size - 1))
		for (int i = 0; i < 20; i++)
			expect_done("a fence of two", PMIx_Fence(pair, 2, NULL, 0));
}

static void
note_end(size_t handler, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
	 size_t ninfo, pmix_info_t *results, size_t nresults,
	 pmix_event_notification_cbfunc_fn_t done, void *arg)
{
	(void)handler, (void)status, (void)info, (void)ninfo, (void)results, (void)nresults;
	atomic_store(&gone, (int)source->rank);
	if (done)
		done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static void
play_death(void)
{
	pmix_status_t code = PMIX_ERR_PROC_ABORTED;

	PMIx_Register_event_handler(&code, 1, NULL, 0, note_end, NULL, NULL);
	fence_all(false);
	if (self.rank == 1)
		raise(SIGKILL);
	for (int i = 0; i < 6000 && atomic_load(&gone) < 0; i++)
		usleep(10000);
	if (atomic_load(&gone) != 1)
		give_up("nobody says that rank 1 is dead", PMIX_ERR_TIMEOUT);
	printf("client: rank %u hears that rank 1 is dead\n", self.rank);
}

static void
bulk(size_t len)
{
	char *bytes = calloc(1, len);

	if (!bytes)
		give_up("memory", PMIX_ERR_NOMEM);
	put_word("bulk", bytes, len);
	fence_all(true);
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "meet";
	pmix_value_t *v = NULL;
	pmix_proc_t job;

	expect_done("PMIx_Init", PMIx_Init(&self, NULL, 0));
	PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
	expect_done("the size", PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &v));
	size = v->data.uint32;
	PMIX_VALUE_RELEASE(v);
	expect_done("the peers", PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &v));
	printf("client: rank %u of %u, beside %s\n", self.rank, size, v->data.string);
	fflush(stdout);
	PMIX_VALUE_RELEASE(v);
	if (strcmp(mode, "meet") == 0)
		play_meeting();
	else if (strcmp(mode, "bulk") == 0 && argc > 2)
		bulk(strtoul(argv[2], NULL, 10));
	else if (strcmp(mode, "die") == 0)
		play_death();
	else if (strcmp(mode, "abort") == 0 && self.rank == 1)
		PMIx_Abort(7, "it was asked to", NULL, 0);
	else if (strcmp(mode, "late") == 0 && self.rank == 1)
		raise(SIGKILL);
	else
		fence_all(false);
	printf("client: rank %u has met all\n", self.rank);
	expect_done("PMIx_Finalize", PMIx_Finalize(NULL, 0));
	return 0;
}
