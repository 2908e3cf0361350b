/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective calls at the gate: what is announced, what waits for CLEAR_TO_SEND, and that a call
 * ends once when its messages are done the moment they go. */
#include "lmpi_fake_engine.h"

#include "coll/schedule.h"
#include "comm.h"

/* The analyzer does not know MPI's rules of requests.
 * NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

static struct light_note said[16];
static uint32_t nsaid;

static bool
tell(void *user, uint32_t relay, struct light_note *note)
{
	(void)user, (void)relay;
	assert_true(nsaid < 16);
	said[nsaid++] = *note;
	return true;
}

static void
hear(struct light_note note)
{
	light_client_heard(lmpi_light, 0, &note);
}

/* All that may go does; how many. */
static int
let_go(void)
{
	struct light_wait *w;
	int n = 0;

	for (; (w = light_client_next(lmpi_light, 0)) != NULL; n++)
		w->go(w);
	return n;
}

/* Five clusters of one process each; rank 0 is the root and sends to three of them (a tree). */
static void
waits_for_go(void **state)
{
	char data[100] = "light";
	MPI_Request r;
	int done, before = fake_sent.count;

	(void)state;
	nsaid = 0;
	MPI_Ibcast(data, 100, MPI_CHAR, 0, MPI_COMM_WORLD, &r);
	assert_int_equal(nsaid, 2);
	assert_int_equal(said[0].kind, LIGHT_NOTE_COMM);
	assert_int_equal(said[0].u.piece.n, FAKE_PROCS);
	assert_int_equal(said[1].kind, LIGHT_NOTE_CALL);
	assert_int_equal(said[1].u.call.op, COLL_BCAST);
	assert_int_equal(said[1].u.call.bytes, 100);
	assert_int_equal(let_go(), 0);
	assert_int_equal(fake_sent.count, before);
	struct light_call call = said[1].u.call;
	hear((struct light_note){.kind = LIGHT_NOTE_CLEAR_TO_SEND,
				 .counts = 1,
				 .u.count = {{call.comm, call.leader, call.seq, 0, 4, 1}}});
	assert_int_equal(let_go(), 1);
	assert_int_equal(fake_sent.dest, 4);
	assert_int_equal(fake_sent.mode, LMPI_ON_RECEIPT);
	MPI_Test(&r, &done, MPI_STATUS_IGNORE);
	assert_false(done);
	hear((struct light_note){
		.kind = LIGHT_NOTE_CLEAR_TO_SEND,
		.counts = 1,
		.u.count = {{call.comm, call.leader, call.seq, LIGHT_ANY, LIGHT_ANY, 0}}});
	assert_int_equal(let_go(), 2);
	assert_int_equal(fake_sent.count, before + 3);
	MPI_Test(&r, &done, MPI_STATUS_IGNORE);
	assert_true(done);
	assert_true(r == MPI_REQUEST_NULL);
}

/* Each start of a persistent operation is a call of its own, and was forecast. */
static void
persistent(void **state)
{
	char data[100] = "light";
	MPI_Request r;
	uint32_t seq[3];

	(void)state;
	nsaid = 0;
	MPI_Bcast_init(data, 100, MPI_CHAR, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	assert_int_equal(nsaid, 1);
	assert_int_equal(said[0].u.call.flags, LIGHT_CALL_FORECAST);
	seq[0] = said[0].u.call.seq;
	for (int i = 1; i < 3; i++) {
		MPI_Start(&r);
		assert_int_equal(nsaid, 1 + i);
		assert_int_equal(said[i].u.call.flags, 0);
		seq[i] = said[i].u.call.seq;
		hear((struct light_note){.kind = LIGHT_NOTE_CLEAR_TO_SEND,
					 .counts = 1,
					 .u.count = {{said[i].u.call.comm, said[i].u.call.leader,
						      seq[i], LIGHT_ANY, LIGHT_ANY, 0}}});
		assert_int_equal(let_go(), 3);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	assert_int_equal(seq[0], seq[1]);
	assert_int_not_equal(seq[1], seq[2]);
	MPI_Request_free(&r);
}

/* Nothing of that without data, with counts of their own, or inside one cluster. */
static void
goes_as_ever(void **state)
{
	int counts[FAKE_PROCS] = {1, 1, 1, 1, 1}, displs[FAKE_PROCS] = {0, 1, 2, 3, 4};
	char data[FAKE_PROCS] = "", one = 0;
	MPI_Request r[2];

	(void)state;
	nsaid = 0;
	MPI_Ibcast(data, 0, MPI_CHAR, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Iscatterv(data, counts, displs, MPI_CHAR, &one, 1, MPI_CHAR, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Bcast(data, 1, MPI_CHAR, 0, MPI_COMM_SELF);
	hear((struct light_note){.kind = LIGHT_NOTE_OFFER, .u.offer = {.on = false}});
	MPI_Ibcast(data, 1, MPI_CHAR, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	assert_int_equal(nsaid, 0);
	assert_int_equal(light_client_counters(lmpi_light)->without_go, 0);
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

static int
begin(void **state)
{
	static _Alignas(64) char mem[1 << 16];
	static const struct light_client_conf conf = {.mode = CIRC_MODE_PIPELINED,
						      .patience_ns = 1000,
						      .early_max = 16,
						      .relays = 1,
						      .tell = tell};

	(void)state;
	MPI_Init(NULL, NULL);
	assert_true(light_client_footprint(&conf) <= sizeof(mem));
	lmpi_light = light_client_new(mem, &conf);
	hear((struct light_note){.kind = LIGHT_NOTE_OFFER,
				 .u.offer = {.on = true, .ports = 2, .version = LIGHT_VERSION}});
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_go),
		cmocka_unit_test(persistent),
		cmocka_unit_test(goes_as_ever),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
