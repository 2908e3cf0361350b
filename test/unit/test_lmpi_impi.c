/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi among foreign MPIs: which messages its collectives, communicator constructors
 * and its end send and take - to whom, on which context, with which tag, in which
 * bytes.  One process of the library; the engine below and all other processes are the
 * test's: what they say is scripted, what the library sends is noted. */
#include <mpi.h>

#include "comm.h"
#include "engine.h"
#include "lmpi_no_light.h"
#include "lmpi_no_others.h"
#include "lmpi_no_survivors.h"
#include "lmpi_no_windows.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The job:	client	rank	what it is
 *		0	0	foreign, as LAM/MPI: native data, Reduce on the pt2pt context
 *		1	1, 2	ours, rank 1 is this process
 *		2	3, 4	foreign, external32
 *		3	5	foreign, external32 with 8-byte long
 *		4	6	ours, another cluster */
enum { ME = 1, P = 7, CLIENTS = 5 };
static const struct lmpi_client clients[CLIENTS] = {
	{.foreign = true, .reduce_on_pt2pt = true, .rep = LMPI_REP_NATIVE, .nprocs = 1},
	{.nprocs = 2, .first_rank = 1},
	{.foreign = true, .rep = LMPI_REP_EXTERNAL32, .nprocs = 2, .first_rank = 3},
	{.foreign = true, .rep = LMPI_REP_EXTERNAL32_LONG8, .nprocs = 1, .first_rank = 5},
	{.nprocs = 1, .first_rank = 6},
};
static const struct lmpi_proc procs[P] = {
	{.client = 0, .host = 0, .reach = LMPI_REACH_TCP},
	{.client = 1, .host = 1, .reach = LMPI_REACH_SELF},
	{.client = 1, .host = 1, .reach = LMPI_REACH_SHM},
	{.client = 2, .host = 2, .reach = LMPI_REACH_TCP},
	{.client = 2, .host = 3, .reach = LMPI_REACH_TCP},
	{.client = 3, .host = 4, .reach = LMPI_REACH_TCP},
	{.client = 4, .host = 5, .reach = LMPI_REACH_DIRECT},
};

/* ---- the engine */

#define PRIVATE (-1) /* any tag the library may choose for itself */
struct note {
	uint32_t peer; /* world rank */
	int tag;
	uint64_t cid, bytes;
	uint8_t data[256];
	int source; /* inbox: rank of the sender in the communicator */
};
static struct note inbox[64], outbox[64];
static unsigned in_n, out_n;
static bool quiet, ended;

struct lmpi_world lmpi_world;
struct lmpi_stats lmpi_stats;

int
lmpi_engine_init(void)
{
	lmpi_world = (struct lmpi_world){.rank = ME,
					 .size = P,
					 .client = 1,
					 .nclients = CLIENTS,
					 .nhosts = 6,
					 .client_first = 1,
					 .client_size = 2,
					 .tag_ub = 32767,
					 .coll_xsize = 1024,
					 .coll_maxlinear = 4,
					 .any_foreign = true,
					 .clients = clients,
					 .proc = procs,
					 .node_name = "here"};
	return 0;
}

void
lmpi_engine_quiesce(void)
{
	quiet = true;
}

int
lmpi_engine_fini(void)
{
	ended = true;
	return 0;
}

_Noreturn void
lmpi_engine_abort(int code, const char *why)
{
	fprintf(stderr, "abort %d: %s\n", code, why);
	abort();
}

static void
done(struct lmpi_req *r)
{
	r->done = true;
	if (r->on_done != NULL)
		r->on_done(r);
}

void
lmpi_isend(struct lmpi_req *r, const void *data, uint64_t len, uint32_t dest, int lsrank, int tag,
	   uint64_t cid, enum lmpi_mode mode)
{
	struct note *n = &outbox[out_n++];

	(void)mode;
	assert_true(out_n <= 64 && len <= sizeof n->data);
	*n = (struct note){.peer = dest, .tag = tag, .cid = cid, .bytes = len, .source = lsrank};
	if (len > 0)
		memcpy(n->data, data, len);
	r->error = MPI_SUCCESS;
	done(r);
}

void
lmpi_irecv(struct lmpi_req *r, void *buf, uint64_t cap, int source, int tag, uint64_t cid)
{
	for (unsigned i = 0; i < in_n; i++) {
		struct note *n = &inbox[i];

		if (n->source != source || n->cid != cid ||
		    (n->tag == PRIVATE ? tag < 1000 : n->tag != tag))
			continue;
		r->source = source;
		r->tag = tag;
		r->bytes = n->bytes < cap ? n->bytes : cap;
		r->error = n->bytes > cap ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
		if (r->bytes > 0)
			memcpy(buf, n->data, r->bytes);
		memmove(n, n + 1, (--in_n - i) * sizeof *n);
		done(r);
		return;
	}
	fail_msg("waits for rank %d, tag %d, context %llu", source, tag, (unsigned long long)cid);
}

void
lmpi_wait(const volatile bool *flag)
{
	assert_true(*flag);
}

static int pushed; /* how often lmpi_push() was called */

void
lmpi_push(void)
{
	pushed++;
}

void
lmpi_wait_done(bool (*ready)(void *arg), void *arg)
{
	assert_true(ready(arg));
}

void
lmpi_wait_for(bool (*ready)(void *arg), void *arg)
{
	assert_true(ready(arg));
}

bool
lmpi_progress(void)
{
	return false;
}

bool
lmpi_poke(void)
{
	return false;
}

bool
lmpi_cancel_recv(struct lmpi_req *r)
{
	(void)r;
	return false;
}

void
lmpi_cancel_send(struct lmpi_req *r)
{
	(void)r;
}

bool
lmpi_iprobe(int source, int tag, uint64_t cid, bool take, struct lmpi_probed *out)
{
	(void)source, (void)tag, (void)cid, (void)take, (void)out;
	return false;
}

void
lmpi_mrecv(struct lmpi_req *r, void *buf, uint64_t cap, void *message)
{
	(void)r, (void)buf, (void)cap, (void)message;
}

double
lmpi_wtime(void)
{
	return 0;
}

uint64_t
lmpi_job_token(void)
{
	return 0;
}

double
lmpi_wtick(void)
{
	return 1;
}

/* No variables for tools. */
size_t
lmpi_gauges(const struct lmpi_gauge **gauges)
{
	*gauges = NULL;
	return 0;
}

const struct lmpi_live_knob *
lmpi_live_knob(enum lmpi_knob k)
{
	(void)k;
	return NULL;
}

/* ---- scripts */

/* Rank `source` of the communicator will send this. */
static void
hears(int source, int tag, uint64_t cid, const void *data, uint64_t bytes)
{
	struct note *n = &inbox[in_n++];

	assert_true(in_n <= 64);
	*n = (struct note){.source = source, .tag = tag, .cid = cid, .bytes = bytes};
	memcpy(n->data, data, bytes);
}

/* The next message that was sent to world rank `dest`; among those to one process the
 * order counts, between different ones it does not. */
static void
said(uint32_t dest, int tag, uint64_t cid, const void *data, uint64_t bytes)
{
	for (unsigned i = 0; i < out_n; i++) {
		struct note *n = &outbox[i];

		if (n->peer != dest)
			continue;
		if (tag == PRIVATE)
			assert_true(n->tag >= 1000);
		else
			assert_int_equal(n->tag, tag);
		assert_int_equal(n->cid, cid);
		assert_int_equal(n->bytes, bytes);
		assert_memory_equal(n->data, data, bytes);
		memmove(n, n + 1, (--out_n - i) * sizeof *n);
		return;
	}
	fail_msg("nothing was sent to %u", dest);
}

static void
all_said(void)
{
	assert_int_equal(in_n, 0);
	assert_int_equal(out_n, 0);
}

/* One agreement on a context id on MPI_COMM_WORLD, where rank 0 finds the maximum
 * `agreed`.  Reduce to 0, then Bcast, in the tree of five masters: this process, master
 * 1, speaks for rank 2, and hands on to master 3, which is rank 5. */
static void
agreement(uint64_t agreed)
{
	uint64_t none = 0, big = htobe64(agreed);

	hears(2, PRIVATE, 1, &none, 8);
	hears(0, 120, 1, &big, 8);
}

static void
agreement_said(uint64_t agreed, uint64_t offered)
{
	uint64_t big = htobe64(agreed), offer = htobe64(offered);

	said(0, 190, 0, &offer, 8); /* its Reduce is on the pt2pt context */
	said(5, 120, 1, &big, 8);
	said(2, PRIVATE, 1, &agreed, 8);
}

/* A communicator of these world ranks with the context ids max + 1 and max + 2. */
static uint64_t max = 1;
static MPI_Comm
of_ranks(int n, const int *ranks, uint64_t *cid)
{
	uint64_t before = max;
	MPI_Group all, group;
	MPI_Comm c;

	max += 8; /* others are ahead of us */
	agreement(max);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, n, ranks, &group);
	assert_int_equal(MPI_Comm_create(MPI_COMM_WORLD, group, &c), MPI_SUCCESS);
	agreement_said(max, before);
	all_said();
	*cid = max + 1;
	max += 2;
	MPI_Group_free(&group);
	MPI_Group_free(&all);
	MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
	return c;
}

static int
set_up(void **state)
{
	(void)state;
	in_n = out_n = 0;
	lmpi_world.coll_maxlinear = 4;
	lmpi_world.coll_xsize = 1024;
	return 0;
}

/* ---- tests */

/* Context ids: the maximum over all plus one, then plus two for the next: reference 6. */
static void
test_context_ids(void **state)
{
	uint64_t big = htobe64(41);
	MPI_Comm a, b;
	int x = 7;

	(void)state;
	hears(2, PRIVATE, 1, &(uint64_t){max + 2}, 8); /* in our own client: native */
	hears(0, 120, 1, &big, 8);
	assert_int_equal(MPI_Comm_dup(MPI_COMM_WORLD, &a), MPI_SUCCESS);
	agreement_said(41, max + 2);
	all_said();
	MPI_Send(&x, 1, MPI_INT, 2, 5, a);
	said(2, 5, 42, &x, 4);
	/* the next offer counts both ids of that communicator: 42, 43 */
	max = 43;
	agreement(43);
	MPI_Comm_dup(MPI_COMM_WORLD, &b);
	agreement_said(43, 43);
	MPI_Send(&x, 1, MPI_INT, 2, 5, b);
	said(2, 5, 44, &x, 4);
	max = 45;
	/* running out of them is an error, not an id of somebody else's */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	agreement(UINT64_C(18446744073709551600));
	MPI_Comm c;
	assert_int_not_equal(MPI_Comm_dup(MPI_COMM_WORLD, &c), MPI_SUCCESS);
	assert_ptr_equal(c, MPI_COMM_NULL);
	agreement_said(UINT64_C(18446744073709551600), 45);
	all_said();
	max = 47;
	MPI_Comm_free(&a);
	MPI_Comm_free(&b);
}

/* Comm_split: the id, then (color, key) of all as two MPI_INT. */
static void
test_split(void **state)
{
	/* what everybody chose: all but 0 and 6 take my color */
	const int32_t chosen[2 * P] = {-1, 0, 4, 9, 4, 8, 4, 7, 4, 6, 4, 5, 1, 1};
	int32_t big[2 * P], ours[4] = {4, 9, 4, 8};
	int n, r;
	MPI_Comm c;

	(void)state;
	for (int i = 0; i < 2 * P; i++)
		big[i] = (int32_t)htobe32((uint32_t)chosen[i]);
	agreement(max + 4);
	hears(2, PRIVATE, 1, &chosen[4], 8);	 /* Gather, short: rank 2 to its master */
	hears(0, 120, 1, chosen, sizeof chosen); /* Bcast of all, native from client 0 */
	assert_int_equal(MPI_Comm_split(MPI_COMM_WORLD, 4, 9, &c), MPI_SUCCESS);
	agreement_said(max + 4, max);
	said(0, 130, 1, ours, sizeof ours); /* one message for my client, to native client 0 */
	said(5, 120, 1, big, sizeof big);
	said(2, PRIVATE, 1, chosen, sizeof chosen);
	all_said();
	max += 6;
	MPI_Comm_size(c, &n);
	MPI_Comm_rank(c, &r);
	assert_int_equal(n, 5);
	assert_int_equal(r, 4); /* by key: 5, 4, 3, 2, 1 */
	MPI_Comm_free(&c);
}

/* The barrier between master 1 and its tree: first those below, then up, then back. */
static void
test_barrier(void **state)
{
	(void)state;
	hears(2, PRIVATE, 1, "", 0);
	hears(5, 110, 1, "", 0); /* master 3 = 1 | 2 */
	hears(0, 110, 1, "", 0);
	assert_int_equal(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
	assert_int_equal(outbox[0].peer, 0);
	said(0, 110, 1, "", 0);
	said(5, 110, 1, "", 0);
	said(2, PRIVATE, 1, "", 0);
	all_said();
}

/* Each pair has the representation of its foreign end; ours among themselves native. */
static void
test_representations(void **state)
{
	const int ranks[] = {1, 0, 3, 5, 6, 2};
	const long value[2] = {-2, 3};
	const uint64_t big8[2] = {htobe64((uint64_t)-2), htobe64(3)};
	const uint32_t big4[2] = {htobe32((uint32_t)-2), htobe32(3)};
	uint64_t cid;
	MPI_Comm c = of_ranks(6, ranks, &cid);
	long buf[4] = {-2, 99, 3, 99};
	MPI_Datatype every_other;

	(void)state;
	lmpi_world.coll_maxlinear = 5;
	MPI_Type_vector(2, 1, 2, MPI_LONG, &every_other);
	MPI_Type_commit(&every_other);
	pushed = 0;
	assert_int_equal(MPI_Bcast(buf, 1, every_other, 0, c), MPI_SUCCESS);
	assert_int_equal(pushed, 1); /* what was copied and waits for credit gets its chance */
	said(0, 120, cid + 1, value, 16);
	said(3, 120, cid + 1, big4, 8);
	said(5, 120, cid + 1, big8, 16);
	said(6, 120, cid + 1, value, 16);
	said(2, PRIVATE, cid + 1, value, 16);
	all_said();
	/* and back: a vector from the process with 4-byte longs */
	memset(buf, 0, sizeof buf);
	hears(2, 120, cid + 1, big4, 8);
	assert_int_equal(MPI_Bcast(buf, 1, every_other, 2, c), MPI_SUCCESS);
	assert_true(buf[0] == -2 && buf[1] == 0 && buf[2] == 3);
	said(2, PRIVATE, cid + 1, value, 16);
	all_said();
	MPI_Type_free(&every_other);
	MPI_Comm_free(&c);
}

/* A reduction to us: LAM's message on the pt2pt context, everything in its form. */
static void
test_reduce(void **state)
{
	const int ranks[] = {0, 1, 3, 5, 6};
	struct {
		double value;
		int index;
	} mine = {1.5, 1}, out;
	struct __attribute__((packed)) {
		double value;
		int index;
	} lam = {2.5, 0}, own = {2.5, 6};
	uint8_t external[12] = {0x40, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}; /* 3.0, 3 */
	uint8_t less[12] = {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};	   /* 1.0, 5 */
	uint64_t cid;
	MPI_Comm c = of_ranks(5, ranks, &cid);

	(void)state;
	lmpi_world.coll_maxlinear = 9;
	hears(0, 190, cid, &lam, 12);
	hears(2, 190, cid + 1, external, 12);
	hears(3, 190, cid + 1, less, 12);
	hears(4, 190, cid + 1, &own, 12);
	assert_int_equal(MPI_Reduce(&mine, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 1, c), MPI_SUCCESS);
	assert_true(out.value == 3.0 && out.index == 3);
	all_said();
	/* zero elements are messages, too */
	hears(0, 190, cid, "", 0);
	for (int r = 2; r < 5; r++)
		hears(r, 190, cid + 1, "", 0);
	assert_int_equal(MPI_Reduce(NULL, NULL, 0, MPI_DOUBLE, MPI_SUM, 1, c), MPI_SUCCESS);
	all_said();
	MPI_Comm_free(&c);
}

/* An inner node of a Gather's tree takes in one representation and hands on in another. */
static void
test_forwarding(void **state)
{
	static const struct {
		int ranks[4];
		uint32_t from;
	} rows[] = {{{0, 3, 1, 5}, 5}, {{0, 5, 1, 3}, 3}};
	long mine = 11;
	const long both[2] = {11, -12};
	uint64_t cid, big8 = htobe64((uint64_t)-12);
	uint32_t big4 = htobe32((uint32_t)-12);

	(void)state;
	for (int i = 0; i < 2; i++) {
		MPI_Comm c = of_ranks(4, rows[i].ranks, &cid);

		lmpi_world.coll_maxlinear = 1; /* a tree: virtual 2 has the child 3 */
		if (rows[i].from == 5)
			hears(3, 130, cid + 1, &big8, 8);
		else
			hears(3, 130, cid + 1, &big4, 4);
		assert_int_equal(MPI_Gather(&mine, 1, MPI_LONG, NULL, 0, MPI_BYTE, 0, c),
				 MPI_SUCCESS);
		said(0, 130, cid + 1, both, 16);
		all_said();
		lmpi_world.coll_maxlinear = 4;
		MPI_Comm_free(&c);
	}
}

/* Short or long goes by the block in strict external32: 2 longs are 8 bytes. */
static void
test_xsize(void **state)
{
	const int ranks[] = {0, 1, 2};
	long mine[2] = {1, 2}, both[4] = {1, 2, 3, 4};
	uint64_t cid;
	MPI_Comm c = of_ranks(3, ranks, &cid);

	(void)state;
	lmpi_world.coll_xsize = 9; /* short: master 1 speaks for 2 */
	hears(2, PRIVATE, cid + 1, &both[2], 16);
	assert_int_equal(MPI_Gather(mine, 2, MPI_LONG, NULL, 0, MPI_BYTE, 0, c), MPI_SUCCESS);
	said(0, 130, cid + 1, both, 32);
	lmpi_world.coll_xsize = 8; /* long: everyone for itself */
	assert_int_equal(MPI_Gather(mine, 2, MPI_LONG, NULL, 0, MPI_BYTE, 0, c), MPI_SUCCESS);
	said(0, 130, cid + 1, mine, 16);
	all_said();
	MPI_Comm_free(&c);
}

static void
text_of(int rc, char *text)
{
	int n;

	MPI_Error_string(rc, text, &n);
}

/* What does not fit or is of the wrong length is an error that says so. */
static void
test_errors(void **state)
{
	const int ranks[] = {3, 1};
	char text[MPI_MAX_ERROR_STRING];
	long big = 1l << 40, sum;
	int class, rc;
	uint64_t cid;
	MPI_Comm c = of_ranks(2, ranks, &cid);

	(void)state;
	rc = MPI_Reduce(&big, NULL, 1, MPI_LONG, MPI_SUM, 0, c);
	MPI_Error_class(rc, &class);
	assert_int_equal(class, MPI_ERR_CONVERSION);
	text_of(rc, text);
	assert_non_null(strstr(text, "MPI_LONG"));
	said(3, 190, cid + 1, "", 0); /* or the root would wait for ever */
	all_said();
	rc = MPI_Bcast(&big, 1, MPI_LONG, 1, c);
	MPI_Error_class(rc, &class);
	assert_int_equal(class, MPI_ERR_CONVERSION);
	said(3, 120, cid + 1, "", 0);
	all_said();
	hears(0, 190, cid + 1, "12345678", 8); /* 8 bytes, where external32 has 4 */
	rc = MPI_Reduce(&(long){1}, &sum, 1, MPI_LONG, MPI_SUM, 1, c);
	MPI_Error_class(rc, &class);
	assert_int_equal(class, MPI_ERR_TRUNCATE);
	hears(0, 190, cid + 1, "12", 2);
	rc = MPI_Reduce(&(long){1}, &sum, 1, MPI_LONG, MPI_SUM, 1, c);
	assert_int_not_equal(rc, MPI_SUCCESS);
	text_of(rc, text);
	assert_non_null(strstr(text, "client 2"));
	assert_non_null(strstr(text, "2 bytes"));
	all_said();
	MPI_Comm_free(&c);
}

static void
refused(int rc, const char *fn)
{
	char text[MPI_MAX_ERROR_STRING];
	int class;

	MPI_Error_class(rc, &class);
	assert_int_equal(class, MPI_ERR_UNSUPPORTED_OPERATION);
	text_of(rc, text);
	if (strstr(text, fn) == NULL || strstr(text, "client 2") == NULL)
		fail_msg("%s: %s", fn, text);
}

static void
test_refusals(void **state)
{
	const int ranks[] = {1, 3, 5, 2}, mine[] = {0}, ours[] = {0, 3}, mixed[] = {0, 1};
	int in[4] = {0}, out[4], ones[4] = {1, 1, 1, 1}, displs[4] = {0};
	MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
	MPI_Group all, g;
	MPI_Request r = MPI_REQUEST_NULL;
	MPI_Comm d, self;
	uint64_t cid;
	MPI_Comm c = of_ranks(4, ranks, &cid);

	(void)state;
	refused(MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, c), "MPI_Exscan");
	refused(MPI_Alltoallw(in, ones, displs, types, out, ones, displs, types, c),
		"MPI_Alltoallw");
	refused(MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, c),
		"MPI_Reduce_scatter_block");
	refused(MPI_Ibarrier(c, &r), "MPI_Ibarrier");
	MPI_Wait(&r, MPI_STATUS_IGNORE); /* there is none */
	refused(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, c, &r), "MPI_Iallreduce");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	refused(MPI_Bcast_init(in, 1, MPI_INT, 0, c, MPI_INFO_NULL, &r), "MPI_Bcast_init");
	refused(MPI_Comm_idup(c, &d, &r), "MPI_Comm_idup");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Comm_group(c, &all);
	MPI_Group_incl(all, 2, mixed, &g);
	refused(MPI_Comm_create_group(c, g, 3, &d), "MPI_Comm_create_group");
	MPI_Group_free(&g);
	all_said();
	/* with our own processes only it is built */
	MPI_Group_incl(all, 1, mine, &g);
	assert_int_equal(MPI_Comm_create_group(c, g, 3, &self), MPI_SUCCESS);
	MPI_Group_free(&g);
	assert_int_equal(MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, self), MPI_SUCCESS);
	MPI_Group_incl(all, 2, ours, &g);
	hears(3, LMPI_GROUP_TAG_FIRST + 3, cid + 1, &(uint64_t){0}, 8);
	assert_int_equal(MPI_Comm_create_group(c, g, 3, &d), MPI_SUCCESS);
	out_n--; /* the outcome, to rank 2: native */
	assert_int_equal(outbox[out_n].peer, 2);
	all_said();
	max += 4;
	MPI_Group_free(&g);
	MPI_Group_free(&all);
	MPI_Comm_free(&d);
	MPI_Comm_free(&self);
	MPI_Comm_free(&c);
}

/* Non-commutative: everybody to the root, which goes from the last to the first. */
static void
subtract(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

static void
test_order(void **state)
{
	const int ranks[] = {3, 1, 2, 0};
	const uint32_t big = htobe32(100);
	int mine = 20, sum = 0;
	uint64_t cid;
	MPI_Comm c = of_ranks(4, ranks, &cid);
	MPI_Op op;

	(void)state;
	MPI_Op_create(subtract, 0, &op);
	hears(0, 190, cid + 1, &big, 4);
	hears(2, PRIVATE, cid + 1, &(int){3}, 4);
	hears(3, 190, cid, &(int){1}, 4);
	assert_int_equal(MPI_Reduce(&mine, &sum, 1, MPI_INT, op, 1, c), MPI_SUCCESS);
	assert_int_equal(sum, 100 - (20 - (3 - 1)));
	all_said();
	MPI_Op_free(&op);
	MPI_Comm_free(&c);
}

static int
attr(MPI_Comm c, int key)
{
	int *v = NULL, *old = NULL, flag = 0;

	MPI_Comm_get_attr(c, key, &v, &flag);
	assert_true(flag);
	MPI_Attr_get(c, key, &old, &flag);
	assert_true(flag && old == v);
	return *v;
}

/* Relative to the communicator; my client is 1, my host one for both our processes. */
static void
test_attributes(void **state)
{
	const int ranks[] = {6, 4, 1, 3, 2};
	uint64_t cid;
	MPI_Comm c = of_ranks(5, ranks, &cid);

	(void)state;
	assert_int_equal(attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE), 5);
	assert_int_equal(attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR), 1);
	assert_int_equal(attr(MPI_COMM_WORLD, IMPI_HOST_SIZE), 6);
	assert_int_equal(attr(MPI_COMM_WORLD, IMPI_HOST_COLOR), 1);
	assert_int_equal(attr(c, IMPI_CLIENT_SIZE), 3);
	assert_int_equal(attr(c, IMPI_CLIENT_COLOR), 0);
	assert_int_equal(attr(c, IMPI_HOST_SIZE), 4);
	assert_int_equal(attr(c, IMPI_HOST_COLOR), 0);
	assert_int_equal(attr(MPI_COMM_SELF, IMPI_CLIENT_SIZE), 1);
	assert_int_equal(attr(MPI_COMM_SELF, IMPI_HOST_COLOR), 0);
	assert_int_not_equal(MPI_Comm_set_attr(c, IMPI_HOST_SIZE, NULL), MPI_SUCCESS);
	MPI_Comm_free(&c);
}

/* The end: nothing is under way any more, the barrier of IMPI, then the engine's end. */
static void
test_finalize(void **state)
{
	(void)state;
	hears(2, PRIVATE, 1, "", 0);
	hears(5, 110, 1, "", 0);
	hears(0, 110, 1, "", 0);
	assert_false(quiet);
	assert_int_equal(MPI_Finalize(), MPI_SUCCESS);
	assert_true(quiet && ended);
	said(0, 110, 1, "", 0);
	said(5, 110, 1, "", 0);
	said(2, PRIVATE, 1, "", 0);
	all_said();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_context_ids, set_up),
		cmocka_unit_test_setup(test_split, set_up),
		cmocka_unit_test_setup(test_barrier, set_up),
		cmocka_unit_test_setup(test_representations, set_up),
		cmocka_unit_test_setup(test_reduce, set_up),
		cmocka_unit_test_setup(test_forwarding, set_up),
		cmocka_unit_test_setup(test_xsize, set_up),
		cmocka_unit_test_setup(test_errors, set_up),
		cmocka_unit_test_setup(test_refusals, set_up),
		cmocka_unit_test_setup(test_order, set_up),
		cmocka_unit_test_setup(test_attributes, set_up),
		cmocka_unit_test_setup(test_finalize, set_up),
	};

	MPI_Init(NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
