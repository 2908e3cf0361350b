/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_T: control and performance variables, categories, what there is none of, errors. */
#include "check.h"

static unsigned long long
value(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
	unsigned long long v = ~0ull;

	CHECK(MPI_T_pvar_read(s, h, &v) == MPI_SUCCESS);
	return v;
}

static MPI_T_pvar_handle
open_pvar(MPI_T_pvar_session s, const char *name, int class)
{
	MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
	int i = -1, n = 0;

	CHECK(MPI_T_pvar_get_index(name, class, &i) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &n) == MPI_SUCCESS && n == 1);
	return h;
}

/* Before MPI_Init: what is set now holds from the start. */
static void
control(void)
{
	char name[64], desc[8];
	int n = 0, i = -1, name_len = sizeof(name), desc_len = sizeof(desc), scope, bind, verb;
	unsigned long long was = 0, now = 0, set = 12345, wild = ~0ull;
	MPI_T_cvar_handle h;
	MPI_Datatype type;
	MPI_T_enum e;

	CHECK(MPI_T_cvar_get_num(&n) == MPI_SUCCESS && n >= 4);
	CHECK(MPI_T_cvar_get_index("LIBMPI_EAGER", &i) == MPI_SUCCESS && i >= 0 && i < n);
	CHECK(MPI_T_cvar_get_index("nothing", &i) == MPI_T_ERR_INVALID_NAME);
	CHECK(MPI_T_cvar_get_info(i, name, &name_len, &verb, &type, &e, desc, &desc_len, &bind,
				  &scope) == MPI_SUCCESS);
	CHECK(strcmp(name, "LIBMPI_EAGER") == 0 && name_len == (int)strlen(name) + 1);
	CHECK(strlen(desc) == 7 && desc_len > 8); /* cut; what all of it needs */
	CHECK(type == MPI_UNSIGNED_LONG_LONG && bind == MPI_T_BIND_NO_OBJECT);
	CHECK(scope == MPI_T_SCOPE_LOCAL && e == MPI_T_ENUM_NULL);
	CHECK(MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
	      MPI_T_ERR_INVALID_INDEX);
	CHECK(MPI_T_cvar_handle_alloc(i, NULL, &h, &n) == MPI_SUCCESS && n == 1);
	CHECK(MPI_T_cvar_read(h, &was) == MPI_SUCCESS && was > 0);
	CHECK(MPI_T_cvar_write(h, &set) == MPI_SUCCESS);
	CHECK(MPI_T_cvar_read(h, &now) == MPI_SUCCESS && now == set);
	CHECK(MPI_T_cvar_write(h, &wild) == MPI_T_ERR_INVALID);
	CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS && h == MPI_T_CVAR_HANDLE_NULL);
	CHECK(MPI_T_cvar_handle_free(&h) == MPI_T_ERR_INVALID_HANDLE);
	CHECK(MPI_T_cvar_read(h, &now) == MPI_T_ERR_INVALID_HANDLE);
}

/* What holds from MPI_Init on as the environment had it: numbers, words, texts. */
static void
constants(void)
{
	char text[1024] = "";
	unsigned long long v = 0;
	MPI_T_cvar_handle h;
	MPI_Datatype type;
	int i, n, scope;

	CHECK(MPI_T_cvar_get_index("LIBMPI_LIVENESS_MS", &i) == MPI_SUCCESS);
	CHECK(MPI_T_cvar_get_info(i, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, &scope) ==
		      MPI_SUCCESS &&
	      type == MPI_UNSIGNED_LONG_LONG && scope == MPI_T_SCOPE_CONSTANT);
	CHECK(MPI_T_cvar_handle_alloc(i, NULL, &h, &n) == MPI_SUCCESS && n == 1);
	CHECK(MPI_T_cvar_read(h, &v) == MPI_SUCCESS && v == 4000);
	CHECK(MPI_T_cvar_write(h, &v) == MPI_T_ERR_CVAR_SET_NEVER);
	CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
	CHECK(MPI_T_cvar_get_index("LIBMPI_CC", &i) == MPI_SUCCESS);
	CHECK(MPI_T_cvar_get_info(i, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, NULL) ==
		      MPI_SUCCESS &&
	      type == MPI_CHAR);
	CHECK(MPI_T_cvar_handle_alloc(i, NULL, &h, &n) == MPI_SUCCESS && n == (int)sizeof(text));
	CHECK(MPI_T_cvar_read(h, text) == MPI_SUCCESS && strcmp(text, "cubic") == 0);
	CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
}

static void
still_set(void)
{
	unsigned long long now = 0;
	MPI_T_cvar_handle h;
	int i, n;

	CHECK(MPI_T_cvar_get_index("LIBMPI_EAGER", &i) == MPI_SUCCESS);
	CHECK(MPI_T_cvar_handle_alloc(i, NULL, &h, &n) == MPI_SUCCESS);
	CHECK(MPI_T_cvar_read(h, &now) == MPI_SUCCESS && now == 12345);
	CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
}

static void
performance(int rank, int size)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size, got = 0;
	MPI_T_pvar_session s, other = MPI_T_PVAR_SESSION_NULL;
	MPI_T_pvar_handle self, posted, queue, most;
	unsigned long long v = 100, before;
	MPI_Request r[2];

	CHECK(MPI_T_pvar_session_create(&s) == MPI_SUCCESS);
	self = open_pvar(s, "sends_self", MPI_T_PVAR_CLASS_COUNTER);
	posted = open_pvar(s, "posted_queue_length", MPI_T_PVAR_CLASS_LEVEL);
	queue = open_pvar(s, "unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL);
	most = open_pvar(s, "unexpected_queue_bytes_max", MPI_T_PVAR_CLASS_HIGHWATERMARK);

	before = value(s, self);
	MPI_Isend(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r[0]);
	CHECK(value(s, self) == before + 1);
	CHECK(value(s, queue) >= 1);
	MPI_Recv(&got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	CHECK(MPI_T_pvar_reset(s, self) == MPI_SUCCESS && value(s, self) == 0);
	CHECK(MPI_T_pvar_write(s, self, &v) == MPI_SUCCESS && value(s, self) == 100);
	CHECK(MPI_T_pvar_readreset(s, self, &v) == MPI_SUCCESS && v == 100);
	CHECK(value(s, self) == 0);

	before = value(s, posted);
	MPI_Irecv(&got, 1, MPI_INT, prev, 77, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &r[1]);
	CHECK(value(s, posted) == before + 2);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(&rank, 1, MPI_INT, next, 77, MPI_COMM_WORLD);
	MPI_Send(&rank, 1, MPI_INT, next, 78, MPI_COMM_WORLD);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);

	CHECK(MPI_T_pvar_start(s, self) == MPI_T_ERR_PVAR_NO_STARTSTOP);
	CHECK(MPI_T_pvar_stop(s, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_reset(s, most) == MPI_T_ERR_PVAR_NO_WRITE);
	CHECK(MPI_T_pvar_reset(s, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_read(other, self, &v) == MPI_T_ERR_INVALID_SESSION);
	CHECK(MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_read(other, self, &v) == MPI_T_ERR_INVALID_HANDLE);
	CHECK(MPI_T_pvar_session_free(&other) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_handle_free(s, &self) == MPI_SUCCESS && self == MPI_T_PVAR_HANDLE_NULL);
	CHECK(MPI_T_pvar_session_free(&s) == MPI_SUCCESS && s == MPI_T_PVAR_SESSION_NULL);
}

/* Every variable is of one category and can be read. */
static void
categories(void)
{
	int n = 0, pvars = 0, cvars = 0, all_p, all_c, i, class;
	int indices[512];
	char name[128], text[128];
	MPI_T_pvar_session s;

	CHECK(MPI_T_category_get_num(&n) == MPI_SUCCESS && n >= 5);
	CHECK(MPI_T_pvar_get_num(&all_p) == MPI_SUCCESS &&
	      MPI_T_cvar_get_num(&all_c) == MPI_SUCCESS);
	CHECK(MPI_T_pvar_session_create(&s) == MPI_SUCCESS);
	for (int c = 0; c < n; c++) {
		int len = sizeof(name), text_len = sizeof(text), np = 0, nc = 0, sub = 1, back = -1;

		CHECK(MPI_T_category_get_info(c, name, &len, text, &text_len, &nc, &np, &sub) ==
			      MPI_SUCCESS &&
		      sub == 0 && text[0] != '\0');
		CHECK(MPI_T_category_get_index(name, &back) == MPI_SUCCESS && back == c);
		CHECK(np <= 512 && MPI_T_category_get_pvars(c, 512, indices) == MPI_SUCCESS);
		for (i = 0; i < np; i++) {
			int verb, bind, ro, cont, atomic, count;
			unsigned long long v;
			MPI_Datatype type;
			MPI_T_pvar_handle h;

			len = sizeof(name);
			CHECK(MPI_T_pvar_get_info(indices[i], name, &len, &verb, &class, &type,
						  NULL, NULL, NULL, &bind, &ro, &cont,
						  &atomic) == MPI_SUCCESS);
			CHECK(MPI_T_pvar_handle_alloc(s, indices[i], NULL, &h, &count) ==
			      MPI_SUCCESS);
			CHECK(MPI_T_pvar_read(s, h, &v) == MPI_SUCCESS && cont == 1);
		}
		pvars += np;
		cvars += nc;
	}
	CHECK(pvars == all_p && cvars == all_c);
	CHECK(MPI_T_category_get_cvars(0, 1, indices) == MPI_SUCCESS && indices[0] == 0);
	CHECK(MPI_T_category_get_index("nothing", &i) == MPI_T_ERR_INVALID_NAME);
	CHECK(MPI_T_pvar_get_index("sends_self", MPI_T_PVAR_CLASS_LEVEL, &i) ==
	      MPI_T_ERR_INVALID_NAME);
	CHECK(MPI_T_category_changed(&i) == MPI_SUCCESS);
	CHECK(MPI_T_event_get_num(&i) == MPI_SUCCESS && i == 0);
	CHECK(MPI_T_source_get_num(&i) == MPI_SUCCESS && i == 0);
	CHECK(MPI_T_category_get_num_events(0, &i) == MPI_SUCCESS && i == 0);
	CHECK(MPI_T_event_get_index("nothing", &i) == MPI_T_ERR_INVALID_NAME);
	CHECK(MPI_T_pvar_session_free(&s) == MPI_SUCCESS);
}

int
main(int argc, char **argv)
{
	int provided, n, good;

	CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
	for (int i = 0; i < 2; i++) /* the last MPI_T_finalize ends it */
		CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
	control();
	constants();
	start(&argc, &argv);
	still_set();
	performance(check_rank, check_size);
	categories();
	CHECK(MPI_T_finalize() == MPI_SUCCESS && MPI_T_cvar_get_num(&n) == MPI_SUCCESS);
	good = finish();
	if (MPI_T_cvar_get_num(&n) != MPI_SUCCESS || MPI_T_finalize() != MPI_SUCCESS)
		return 1; /* it outlives MPI_Finalize */
	return MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED ? good : 1;
}
