/* SPDX-License-Identifier: BSD-2-Clause */
/* Point-to-point calls with foreign MPIs: what they put on the wire, what they make of
 * what comes from there, and how statuses count it. */
#include "lmpi_fake_engine.h"

#include "call.h"
#include "comm.h"
#include "object.h"
#include "type.h"

/* The analyzer does not know persistent requests and MPI_Imrecv, nor that a call may
 * fail.  NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

#define NATIVE LMPI_REP_NATIVE
#define EXT32  LMPI_REP_EXTERNAL32
#define LONG8  LMPI_REP_EXTERNAL32_LONG8

enum { TAG = 5 };

static void
world(bool foreign, enum lmpi_rep two, enum lmpi_rep three, enum lmpi_rep four)
{
	fake_world(foreign, two, three, four);
	lmpi_comm_world->group->reps = 0; /* it remembers */
}

static void
the_usual_world(void)
{
	world(true, EXT32, LONG8, NATIVE);
}

/* The last message is these bytes. */
#define SENT(dest_, hex)                                                    \
	do {                                                                \
		assert_int_equal(fake_sent.dest, dest_);                    \
		assert_int_equal(fake_sent.tag, TAG);                       \
		assert_int_equal(fake_sent.len, sizeof(hex) - 1);           \
		assert_memory_equal(fake_sent.bytes, hex, sizeof(hex) - 1); \
	} while (0)

#define ARRIVE(source, hex) fake_arrive(source, TAG, hex, sizeof(hex) - 1)

/* ---- sending */

static void
packs_for_the_destination(void **unused)
{
	const long v[2] = {-2, 3};
	int pushed = fake_sent.pushed;

	(void)unused;
	the_usual_world();
	MPI_Send(v, 2, MPI_LONG, 1, TAG, MPI_COMM_WORLD);
	assert_int_equal(fake_sent.len, 16);
	assert_memory_equal(fake_sent.bytes, v, 16);
	assert_ptr_equal(fake_sent.at, v);
	MPI_Send(v, 2, MPI_LONG, 2, TAG, MPI_COMM_WORLD);
	SENT(2, "\xff\xff\xff\xfe\0\0\0\3");
	MPI_Send(v, 2, MPI_LONG, 3, TAG, MPI_COMM_WORLD);
	SENT(3, "\xff\xff\xff\xff\xff\xff\xff\xfe\0\0\0\0\0\0\0\3");
	MPI_Send(v, 2, MPI_LONG, 4, TAG, MPI_COMM_WORLD); /* native-payload */
	assert_int_equal(fake_sent.len, 16);
	assert_memory_equal(fake_sent.bytes, v, 16);
	assert_ptr_equal(fake_sent.at, v);
	MPI_Send(v, 16, MPI_BYTE, 2, TAG, MPI_COMM_WORLD);
	assert_memory_equal(fake_sent.bytes, v, 16);
	assert_ptr_equal(fake_sent.at, v); /* bytes need no copy */
	MPI_Send(NULL, 0, MPI_LONG, 2, TAG, MPI_COMM_WORLD);
	SENT(2, "");
	assert_int_equal(v[0], -2);
	/* Complete at once, so each gives the engine a moment to get it out. */
	assert_int_equal(fake_sent.pushed, pushed + 6);
}

static void
every_kind_of_send(void **unused)
{
	int v = 1, w = 0;
	static char buffer[4096];
	void *detached;
	int size;
	MPI_Request r, r2;

	(void)unused;
	the_usual_world();
	MPI_Buffer_attach(buffer, sizeof(buffer));
	MPI_Ssend(&v, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD);
	SENT(2, "\0\0\0\1");
	assert_int_equal(fake_sent.mode, LMPI_SYNC);
	v++;
	MPI_Rsend(&v, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD);
	SENT(2, "\0\0\0\2");
	v++;
	MPI_Bsend(&v, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD);
	SENT(2, "\0\0\0\3");
	v++;
	MPI_Isend(&v, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &r);
	SENT(2, "\0\0\0\4");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	v++;
	MPI_Ibsend(&v, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &r);
	SENT(2, "\0\0\0\5");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	v++;
	MPI_Issend(&v, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &r);
	SENT(2, "\0\0\0\6");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Send_init(&v, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &r);
	MPI_Bsend_init(&v, 1, MPI_INT, 3, TAG, MPI_COMM_WORLD, &r2);
	for (v = 7; v < 10; v++) { /* packed anew with every start */
		const char want[4] = {0, 0, 0, (char)v};

		MPI_Start(&r);
		assert_memory_equal(fake_sent.bytes, want, 4);
		assert_int_equal(fake_sent.dest, 2);
		MPI_Start(&r2);
		assert_memory_equal(fake_sent.bytes, want, 4);
		assert_int_equal(fake_sent.dest, 3);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		MPI_Wait(&r2, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&r);
	MPI_Request_free(&r2);
	ARRIVE(3, "\0\0\0\x21");
	MPI_Sendrecv(&v, 1, MPI_INT, 2, TAG, &w, 1, MPI_INT, 3, TAG, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	SENT(2, "\0\0\0\xa");
	assert_int_equal(w, 0x21);
	ARRIVE(3, "\0\0\0\x22");
	MPI_Sendrecv_replace(&v, 1, MPI_INT, 2, TAG, 3, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	SENT(2, "\0\0\0\xa");
	assert_int_equal(v, 0x22);
	MPI_Isendrecv(&v, 1, MPI_INT, 2, TAG, &w, 1, MPI_INT, 3, TAG, MPI_COMM_WORLD, &r);
	SENT(2, "\0\0\0\x22");
	ARRIVE(3, "\0\0\0\x23");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	assert_int_equal(w, 0x23);
	MPI_Isendrecv_replace(&w, 1, MPI_INT, 2, TAG, 3, TAG, MPI_COMM_WORLD, &r);
	SENT(2, "\0\0\0\x23");
	ARRIVE(3, "\0\0\0\x24");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	assert_int_equal(w, 0x24);
	MPI_Buffer_detach(&detached, &size);
	assert_ptr_equal(detached, buffer);
}

static void
refuses_values_without_an_external_form(void **unused)
{
	const long v[2] = {1, 1L << 40};
	static char buffer[4096];
	void *detached;
	char text[MPI_MAX_ERROR_STRING];
	int size, before, n;
	MPI_Request r;

	(void)unused;
	the_usual_world();
	before = fake_sent.count;
	/* The receiver gets an empty message each time, so that it does not wait without end. */
	assert_int_equal(MPI_Send(v, 2, MPI_LONG, 2, TAG, MPI_COMM_WORLD), MPI_ERR_CONVERSION);
	assert_non_null(
		strstr(lmpi_error_text(MPI_ERR_CONVERSION), "MPI_LONG value 1099511627776"));
	assert_non_null(strstr(lmpi_error_text(MPI_ERR_CONVERSION), "long8"));
	assert_int_equal(MPI_Error_string(MPI_ERR_CONVERSION, text, &n), MPI_SUCCESS);
	assert_int_equal(MPI_Isend(v, 2, MPI_LONG, 2, TAG, MPI_COMM_WORLD, &r), MPI_ERR_CONVERSION);
	MPI_Buffer_attach(buffer, sizeof(buffer));
	assert_int_equal(MPI_Bsend(v, 2, MPI_LONG, 2, TAG, MPI_COMM_WORLD), MPI_ERR_CONVERSION);
	MPI_Buffer_detach(&detached, &size); /* the room was given back */
	assert_int_equal(MPI_Send_init(v, 2, MPI_LONG, 2, TAG, MPI_COMM_WORLD, &r), MPI_SUCCESS);
	assert_int_equal(MPI_Start(&r), MPI_ERR_CONVERSION);
	assert_int_equal(MPI_Start(&r), MPI_ERR_CONVERSION);
	MPI_Request_free(&r);
	assert_int_equal(fake_sent.count, before + 5);
	assert_int_equal(fake_sent.len, 0);
	assert_int_equal(fake_sent.dest, 2);
	assert_int_equal(fake_sent.tag, TAG);
	/* What stays here is not helped by how another MPI is spoken to. */
	assert_int_equal(MPI_Pack_external("external32", v, 2, MPI_LONG, buffer, sizeof(buffer),
					   &(MPI_Aint){0}),
			 MPI_ERR_CONVERSION);
	assert_non_null(strstr(lmpi_error_text(MPI_ERR_CONVERSION), "MPI_LONG_LONG"));
	assert_null(strstr(lmpi_error_text(MPI_ERR_CONVERSION), "long8"));
	assert_int_equal(MPI_Send(v, 2, MPI_LONG, 3, TAG, MPI_COMM_WORLD), MPI_SUCCESS);
	assert_int_equal(MPI_Send(v, 2, MPI_LONG, 1, TAG, MPI_COMM_WORLD), MPI_SUCCESS);
}

/* ---- receiving */

struct part { /* with holes */
	double d;
	short s;
	long l;
};

static MPI_Datatype
part_type(void)
{
	int len[3] = {1, 1, 1};
	MPI_Aint disp[3] = {offsetof(struct part, d), offsetof(struct part, s),
			    offsetof(struct part, l)};
	MPI_Datatype types[3] = {MPI_DOUBLE, MPI_SHORT, MPI_LONG}, t;

	MPI_Type_create_struct(3, len, disp, types, &t);
	MPI_Type_commit(&t);
	return t;
}

#define PART_EXT32 "\x3f\xf8\0\0\0\0\0\0\x01\x02\xff\xff\xff\xfe" /* 1.5, 0x102, -2 */
#define PART_LONG8 "\x3f\xf8\0\0\0\0\0\0\x01\x02\xff\xff\xff\xff\xff\xff\xff\xfe"

static void
check_part(const struct part *p)
{
	assert_true(p->d == 1.5 && p->s == 0x102 && p->l == -2);
}

static void
converts_by_the_actual_source(void **unused)
{
	MPI_Datatype t = part_type();
	struct part p[3];
	long v[4];
	MPI_Status st;
	int n;

	(void)unused;
	the_usual_world();
	for (int any = 0; any < 2; any++) { /* source given; any source */
		ARRIVE(2, PART_EXT32 PART_EXT32);
		memset(p, 0, sizeof(p));
		MPI_Recv(p, 3, t, any ? MPI_ANY_SOURCE : 2, TAG, MPI_COMM_WORLD, &st);
		check_part(&p[0]);
		check_part(&p[1]);
		assert_true(p[2].d == 0 && p[2].l == 0);
		assert_int_equal(st.MPI_SOURCE, 2);
		MPI_Get_count(&st, t, &n);
		assert_int_equal(n, 2);
		MPI_Get_elements(&st, t, &n);
		assert_int_equal(n, 6);
		MPI_Get_count(&st, MPI_BYTE, &n);
		assert_int_equal(n, 28); /* as on the wire */

		ARRIVE(3, PART_LONG8);
		memset(p, 0, sizeof(p));
		MPI_Recv(p, 3, t, any ? MPI_ANY_SOURCE : 3, TAG, MPI_COMM_WORLD, &st);
		check_part(&p[0]);
		MPI_Get_elements(&st, t, &n);
		assert_int_equal(n, 3);

		fake_arrive(1, TAG, (const long[]){7, 8}, 16);
		v[2] = 99;
		MPI_Recv(v, 4, MPI_LONG, any ? MPI_ANY_SOURCE : 1, TAG, MPI_COMM_WORLD, &st);
		assert_true(v[0] == 7 && v[1] == 8 && v[2] == 99);
		MPI_Get_count(&st, MPI_LONG, &n);
		assert_int_equal(n, 2);
		fake_arrive(4, TAG, (const long[]){9}, 8); /* native-payload */
		MPI_Recv(v, 4, MPI_LONG, any ? MPI_ANY_SOURCE : 4, TAG, MPI_COMM_WORLD, &st);
		assert_true(v[0] == 9);
		ARRIVE(2, "\0\0\0\1\xff\xff\xff\xff\0\0\0\3\0\0\0\4");
		MPI_Recv(v, 4, MPI_LONG, any ? MPI_ANY_SOURCE : 2, TAG, MPI_COMM_WORLD, &st);
		assert_true(v[0] == 1 && v[1] == -1 && v[2] == 3 && v[3] == 4);
		MPI_Get_count(&st, MPI_LONG, &n);
		assert_int_equal(n, 4);
	}
	MPI_Type_free(&t);
}

/* A receive from any source has room for the longest form a message can have. */
static void
any_source_has_room_for_all_forms(void **unused)
{
	const enum lmpi_rep reps[] = {EXT32, LONG8, NATIVE};
	long v[2];

	(void)unused;
	for (int i = 0; i < 3; i++) {
		world(true, reps[i], reps[i], reps[i]);
		v[0] = v[1] = 0;
		fake_arrive(1, TAG, (const long[]){1L << 40, 6}, 16);
		assert_int_equal(MPI_Recv(v, 2, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
					  MPI_STATUS_IGNORE),
				 MPI_SUCCESS);
		assert_true(v[0] == 1L << 40 && v[1] == 6);
	}
}

/* Elements of one size on both sides are received where they belong. */
static void
converts_in_place(void **unused)
{
	double d[3] = {0, 0, 5};
	int v[2];
	struct part p;
	MPI_Datatype t = part_type();

	(void)unused;
	the_usual_world();
	ARRIVE(2, "\x3f\xf8\0\0\0\0\0\0\xbf\xf8\0\0\0\0\0\0");
	MPI_Recv(d, 3, MPI_DOUBLE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	assert_ptr_equal(fake_posted.at, d);
	assert_int_equal(fake_posted.cap, 24);
	assert_true(d[0] == 1.5 && d[1] == -1.5 && d[2] == 5);
	ARRIVE(3, "\0\0\0\1\0\0\0\2");
	MPI_Recv(v, 2, MPI_INT, 3, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	assert_ptr_equal(fake_posted.at, v);
	assert_true(v[0] == 1 && v[1] == 2);
	ARRIVE(2, PART_EXT32); /* these are not */
	MPI_Recv(&p, 1, t, 2, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	assert_ptr_not_equal(fake_posted.at, &p);
	assert_int_equal(fake_posted.cap, 14);
	check_part(&p);
	MPI_Type_free(&t);
}

static void
requests_convert_on_completion(void **unused)
{
	int v[2] = {0, 0};
	long l = 0;
	MPI_Request r[2];
	MPI_Status st[2];
	int n, flag;

	(void)unused;
	the_usual_world();
	MPI_Irecv(v, 2, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(&l, 1, MPI_LONG, 2, TAG + 1, MPI_COMM_WORLD, &r[1]);
	fake_arrive(2, TAG + 1, "\xff\xff\xff\xfd", 4);
	ARRIVE(2, "\0\0\0\7");
	MPI_Waitall(2, r, st);
	assert_true(v[0] == 7 && v[1] == 0 && l == -3);
	MPI_Get_count(&st[0], MPI_INT, &n);
	assert_int_equal(n, 1);
	MPI_Get_count(&st[1], MPI_LONG, &n);
	assert_int_equal(n, 1);
	/* persistent: the staging copy stays, the conversion is done each time */
	MPI_Recv_init(&l, 1, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[0]);
	for (int i = 1; i < 4; i++) {
		char wire[8] = {0, 0, 0, (char)i, 0, 0, 0, 0};

		MPI_Start(&r[0]);
		if (i == 3) /* this time from where longs have 8 bytes */
			fake_arrive(3, TAG, "\0\0\0\0\0\0\0\3", 8);
		else
			fake_arrive(2, TAG, wire, 4);
		MPI_Test(&r[0], &flag, &st[0]);
		assert_true(flag && l == i);
		MPI_Get_count(&st[0], MPI_LONG, &n);
		assert_int_equal(n, 1);
	}
	MPI_Request_free(&r[0]);
	/* cancelled: nothing came, nothing is touched */
	l = 77;
	MPI_Irecv(&l, 1, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r[0]);
	MPI_Cancel(&r[0]);
	MPI_Wait(&r[0], &st[0]);
	MPI_Test_cancelled(&st[0], &flag);
	assert_true(flag && l == 77);
}

static void
truncates_by_elements(void **unused)
{
	long v[3] = {0, 0, 42};
	int w[2] = {0, 42};
	MPI_Request r;
	MPI_Status st;

	(void)unused;
	the_usual_world();
	/* three elements, which as bytes would fit */
	ARRIVE(2, "\0\0\0\1\0\0\0\2\0\0\0\3");
	assert_int_equal(MPI_Recv(v, 2, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st),
			 MPI_ERR_TRUNCATE);
	assert_true(v[0] == 1 && v[1] == 2 && v[2] == 42);
	assert_non_null(strstr(lmpi_error_text(MPI_ERR_TRUNCATE), "buffer of 8 bytes"));
	ARRIVE(2, "\0\0\0\1\0\0\0\2\0\0\0\3");
	MPI_Irecv(v, 2, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &r);
	assert_int_equal(MPI_Wait(&r, &st), MPI_ERR_TRUNCATE);
	assert_int_equal(v[2], 42);
	/* in place */
	ARRIVE(2, "\0\0\0\1\0\0\0\2");
	assert_int_equal(MPI_Recv(w, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, &st), MPI_ERR_TRUNCATE);
	assert_true(w[0] == 1 && w[1] == 42);
	/* no room at all */
	ARRIVE(2, "\0\0\0\1");
	assert_int_equal(MPI_Recv(NULL, 0, MPI_LONG, 2, TAG, MPI_COMM_WORLD, &st),
			 MPI_ERR_TRUNCATE);
	/* and empty messages into no room */
	ARRIVE(2, "");
	assert_int_equal(MPI_Recv(NULL, 0, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st),
			 MPI_SUCCESS);
}

static void
cut_off_elements_are_left_out(void **unused)
{
	long v[3] = {7, 7, 7};
	MPI_Status st;
	int n;

	(void)unused;
	the_usual_world();
	ARRIVE(2, "\0\0\0\1\0\0");
	assert_int_equal(MPI_Recv(v, 3, MPI_LONG, 2, TAG, MPI_COMM_WORLD, &st), MPI_SUCCESS);
	assert_true(v[0] == 1 && v[1] == 7 && v[2] == 7);
	MPI_Get_count(&st, MPI_LONG, &n);
	assert_int_equal(n, MPI_UNDEFINED);
	MPI_Get_elements(&st, MPI_LONG, &n);
	assert_int_equal(n, MPI_UNDEFINED);
	MPI_Get_count(&st, MPI_BYTE, &n);
	assert_int_equal(n, 6);
}

static void
probes_count_as_the_sender_does(void **unused)
{
	MPI_Message m;
	MPI_Request r;
	MPI_Status st;
	long v[4] = {0};
	int n, flag;

	(void)unused;
	the_usual_world();
	ARRIVE(2, "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4");
	MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, MPI_LONG, &n);
	assert_int_equal(n, 4);
	MPI_Get_count(&st, MPI_LONG_LONG, &n);
	assert_int_equal(n, 2);
	MPI_Get_count(&st, MPI_LONG_INT, &n);
	assert_int_equal(n, 2);
	MPI_Get_elements(&st, MPI_LONG_INT, &n);
	assert_int_equal(n, 4);
	MPI_Iprobe(2, TAG, MPI_COMM_WORLD, &flag, &st);
	assert_true(flag);
	MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &m, &st);
	assert_true(flag);
	MPI_Get_count(&st, MPI_LONG, &n);
	assert_int_equal(n, 4);
	MPI_Mrecv(v, n, MPI_LONG, &m, &st);
	assert_true(v[0] == 1 && v[3] == 4);
	MPI_Get_count(&st, MPI_LONG, &n);
	assert_int_equal(n, 4);
	ARRIVE(3, "\0\0\0\0\0\0\0\5");
	MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &m, &st);
	MPI_Get_count(&st, MPI_LONG, &n);
	assert_int_equal(n, 1);
	MPI_Imrecv(v, 4, MPI_LONG, &m, &r);
	MPI_Wait(&r, &st);
	assert_int_equal(v[0], 5);
	/* what a program sets by itself is native */
	MPI_Status_set_elements(&st, MPI_LONG, 3);
	MPI_Get_count(&st, MPI_LONG, &n);
	assert_int_equal(n, 3);
	MPI_Get_count(&st, MPI_BYTE, &n);
	assert_int_equal(n, 24);
	memset(&st, 0x5a, sizeof(st)); /* garbage is counted, somehow */
	MPI_Get_count(&st, MPI_LONG, &n);
}

/* ---- MPI_Pack */

static void
packs_what_foreign_members_understand(void **unused)
{
	const long v[2] = {-2, 3};
	long back[2] = {0};
	char out[32];
	int position = 0, size;

	(void)unused;
	world(true, EXT32, EXT32, EXT32);
	MPI_Pack(v, 2, MPI_LONG, out, sizeof(out), &position, MPI_COMM_WORLD);
	assert_int_equal(position, 8);
	assert_memory_equal(out, "\xff\xff\xff\xfe\0\0\0\3", 8);
	MPI_Pack_size(2, MPI_LONG, MPI_COMM_WORLD, &size);
	assert_int_equal(size, 16); /* what a buffered send to rank 1 takes */
	position = 0;
	MPI_Unpack(out, 8, &position, back, 2, MPI_LONG, MPI_COMM_WORLD);
	assert_true(position == 8 && back[0] == -2 && back[1] == 3);
	position = 0; /* a communicator without them */
	MPI_Pack(v, 2, MPI_LONG, out, sizeof(out), &position, MPI_COMM_SELF);
	assert_int_equal(position, 16);
	assert_memory_equal(out, v, 16);
	position = 30;
	assert_int_equal(MPI_Pack(v, 1, MPI_LONG, out, sizeof(out), &position, MPI_COMM_WORLD),
			 MPI_ERR_TRUNCATE);
	assert_int_equal(position, 30);
	position = 0;
	world(true, LONG8, LONG8, LONG8);
	MPI_Pack(v, 2, MPI_LONG, out, sizeof(out), &position, MPI_COMM_WORLD);
	assert_int_equal(position, 16);
	assert_memory_equal(out + 8, "\0\0\0\0\0\0\0\3", 8);
	world(true, NATIVE, NATIVE, NATIVE);
	position = 0;
	MPI_Pack(v, 2, MPI_LONG, out, sizeof(out), &position, MPI_COMM_WORLD);
	assert_memory_equal(out, v, 16);
	/* no bytes suit all */
	world(true, EXT32, EXT32, LONG8);
	assert_int_equal(MPI_Pack(v, 2, MPI_LONG, out, sizeof(out), &position, MPI_COMM_WORLD),
			 MPI_ERR_UNSUPPORTED_DATAREP);
	position = 0;
	assert_int_equal(MPI_Pack(v, 2, MPI_INT, out, sizeof(out), &position, MPI_COMM_WORLD),
			 MPI_SUCCESS);
	assert_memory_equal(out, "\xff\xff\xff\xfe\xff\xff\xff\xff", 8);
	world(true, EXT32, EXT32, NATIVE);
	assert_int_equal(MPI_Pack(v, 2, MPI_INT, out, sizeof(out), &position, MPI_COMM_WORLD),
			 MPI_ERR_UNSUPPORTED_DATAREP);
	assert_int_equal(MPI_Pack(v, 2, MPI_CHAR, out, sizeof(out), &position, MPI_COMM_WORLD),
			 MPI_SUCCESS);
}

/* An inter-communicator names processes of the remote group. */
static void
inter_communicators(void **unused)
{
	struct lmpi_group *here = lmpi_group_new(1), *there = lmpi_group_new(2);
	struct lmpi_comm *c;
	char out[16];
	int v = 9, position = 0;

	(void)unused;
	world(true, NATIVE, EXT32, NATIVE);
	here->world[0] = 0;
	there->world[0] = 1;
	there->world[1] = 3;
	lmpi_group_ready(here);
	lmpi_group_ready(there);
	c = lmpi_comm_new(here, 100, lmpi_comm_world);
	assert_non_null(c);
	c->remote = there;
	MPI_Send(&v, 1, MPI_INT, 0, TAG, c->handle);
	assert_memory_equal(fake_sent.bytes, &v, 4);
	assert_int_equal(fake_sent.dest, 1);
	MPI_Send(&v, 1, MPI_INT, 1, TAG, c->handle);
	SENT(3, "\0\0\0\x9");
	MPI_Pack(&v, 1, MPI_INT, out, sizeof(out), &position, c->handle);
	assert_memory_equal(out, "\0\0\0\x9", 4);
	c->remote = NULL;
	lmpi_group_unref(there);
	lmpi_comm_unref(c);
}

static void
without_foreigners_nothing_changes(void **unused)
{
	const long v[2] = {-2, 1L << 40};
	long w[2];
	MPI_Status st;
	int n;

	(void)unused;
	world(false, 0, 0, 0);
	MPI_Send(v, 2, MPI_LONG, 2, TAG, MPI_COMM_WORLD);
	assert_ptr_equal(fake_sent.at, v);
	fake_arrive(2, TAG, v, 16);
	MPI_Recv(w, 2, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &st);
	assert_ptr_equal(fake_posted.at, w);
	assert_true(w[0] == v[0] && w[1] == v[1]);
	MPI_Get_count(&st, MPI_LONG, &n);
	assert_int_equal(n, 2);
}

static int
begin(void **unused)
{
	(void)unused;
	MPI_Init(NULL, NULL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_for_the_destination),
		cmocka_unit_test(every_kind_of_send),
		cmocka_unit_test(refuses_values_without_an_external_form),
		cmocka_unit_test(converts_by_the_actual_source),
		cmocka_unit_test(any_source_has_room_for_all_forms),
		cmocka_unit_test(converts_in_place),
		cmocka_unit_test(requests_convert_on_completion),
		cmocka_unit_test(truncates_by_elements),
		cmocka_unit_test(cut_off_elements_are_left_out),
		cmocka_unit_test(probes_count_as_the_sender_does),
		cmocka_unit_test(packs_what_foreign_members_understand),
		cmocka_unit_test(inter_communicators),
		cmocka_unit_test(without_foreigners_nothing_changes),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
