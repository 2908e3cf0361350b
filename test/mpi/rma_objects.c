/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows as objects: attributes, keys, names, hints, groups, error handlers, dynamic
 * memory; wrong calls come back as the right classes; large-count forms. */
#include "check.h"

static int copied, deleted, handled, handled_code;

static int
copy_fn(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
	(void)win;
	(void)key;
	(void)extra;
	*(void **)out = in;
	*flag = 1;
	copied++;
	return MPI_SUCCESS;
}

static int
delete_fn(MPI_Win win, int key, void *value, void *extra)
{
	int size;
	MPI_Group g;

	(void)key;
	/* the window is still one */
	MPI_Win_get_group(win, &g);
	MPI_Group_size(g, &size);
	MPI_Group_free(&g);
	CHECK(size == check_size && extra == &deleted);
	deleted += *(int *)value;
	return MPI_SUCCESS;
}

static void
handler_fn(MPI_Win *win, int *code, ...)
{
	CHECK(*win != MPI_WIN_NULL);
	handled++;
	handled_code = *code;
}

static void
attributes(void)
{
	int mem[16], key, flag, one = 1, ten = 10, *got, *unit, *flavor, *model;
	MPI_Aint *size;
	MPI_Win win;
	void *base;

	MPI_Win_create(mem, sizeof(mem), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
	CHECK(flag && base == mem);
	MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
	CHECK(flag && *size == sizeof(mem));
	MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
	CHECK(flag && *unit == 4);
	MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
	CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
	MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
	CHECK(flag && *model == MPI_WIN_UNIFIED);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	WANT(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, MPI_WIN_SIZE, &one));
	WANT(MPI_ERR_KEYVAL, MPI_Win_delete_attr(win, MPI_WIN_BASE));

	MPI_Win_create_keyval(copy_fn, delete_fn, &key, &deleted);
	MPI_Win_get_attr(win, key, &got, &flag);
	CHECK(!flag);
	MPI_Win_set_attr(win, key, &one);
	MPI_Win_get_attr(win, key, &got, &flag);
	CHECK(flag && got == &one);
	MPI_Win_set_attr(win, key, &ten); /* the old value goes */
	CHECK(deleted == 1);
	MPI_Win_delete_attr(win, key);
	CHECK(deleted == 11);
	WANT(MPI_ERR_KEYVAL, MPI_Win_delete_attr(win, key));
	MPI_Win_set_attr(win, key, &ten);
	MPI_Win_free_keyval(&key);
	CHECK(key == MPI_KEYVAL_INVALID);
	MPI_Win_free(&win);
	CHECK(deleted == 21 && copied == 0);
	MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
	MPI_Win_free_keyval(&key);
}

static void
names_and_hints(void)
{
	char name[MPI_MAX_OBJECT_NAME], value[64];
	int len, flag, result;
	MPI_Group mine, world;
	MPI_Info info;
	MPI_Win win;
	int *mem;

	MPI_Info_create(&info);
	MPI_Info_set(info, "no_locks", "true");
	MPI_Info_set(info, "strange", "1");
	MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &mem, &win);
	MPI_Info_free(&info);
	MPI_Win_get_info(win, &info);
	MPI_Info_get(info, "no_locks", 63, value, &flag);
	CHECK(flag && strcmp(value, "true") == 0);
	MPI_Info_get(info, "accumulate_ordering", 63, value, &flag);
	CHECK(flag && strcmp(value, "rar,raw,war,waw") == 0);
	MPI_Info_get(info, "strange", 63, value, &flag);
	CHECK(!flag);
	MPI_Info_set(info, "same_size", "true");
	CHECK(MPI_Win_set_info(win, info) == MPI_SUCCESS);
	MPI_Info_free(&info);
	MPI_Win_get_info(win, &info);
	MPI_Info_get(info, "same_size", 63, value, &flag);
	CHECK(flag && strcmp(value, "true") == 0);
	MPI_Info_free(&info);

	MPI_Win_get_name(win, name, &len);
	CHECK(len == 0 && name[0] == '\0');
	MPI_Win_set_name(win, "a view of the sea");
	MPI_Win_get_name(win, name, &len);
	CHECK(len == 17 && strcmp(name, "a view of the sea") == 0);
	MPI_Win_get_group(win, &mine);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_compare(mine, world, &result);
	CHECK(result == MPI_IDENT);
	MPI_Group_free(&mine);
	MPI_Group_free(&world);
	CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
	CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
	MPI_Win_free(&win);
}

static void
handlers(void)
{
	MPI_Errhandler h, got;
	int mem[4], v = 0;
	MPI_Win win;

	MPI_Win_create(mem, sizeof(mem), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_get_errhandler(win, &got);
	CHECK(got == MPI_ERRORS_ARE_FATAL);
	MPI_Win_create_errhandler(handler_fn, &h);
	MPI_Win_set_errhandler(win, h);
	MPI_Win_get_errhandler(win, &got);
	CHECK(got == h);
	MPI_Errhandler_free(&got);
	MPI_Errhandler_free(&h);
	MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win); /* outside an epoch */
	CHECK(handled == 1 && check_class(handled_code) == MPI_ERR_RMA_SYNC);
	MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
	CHECK(handled == 2 && handled_code == MPI_ERR_OTHER);
	MPI_Win_free(&win);
}

static void
creation(void)
{
	int mem[4];
	MPI_Win win;
	void *p;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	WANT(MPI_ERR_SIZE, MPI_Win_create(mem, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	CHECK(win == MPI_WIN_NULL);
	WANT(MPI_ERR_DISP, MPI_Win_create(mem, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	WANT(MPI_ERR_BASE, MPI_Win_create(NULL, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	WANT(MPI_ERR_COMM, MPI_Win_create(mem, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
	WANT(MPI_ERR_SIZE, MPI_Win_allocate(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p, &win));
	WANT(MPI_ERR_SIZE, MPI_Win_allocate_shared(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p, &win));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void
user_op(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)in;
	(void)inout;
	(void)len;
	(void)type;
}

/* What needs an epoch, outside of any; what is wrong everywhere. */
static void
outside_epochs(MPI_Win win, int peer)
{
	int mem[1], v = 3, flag;

	WANT(MPI_ERR_RMA_SYNC, MPI_Put(&v, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_unlock(peer, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_flush(peer, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(peer, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
	WANT(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, mem, 4));
	WANT(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(win, mem));
	WANT(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, check_size, 0, win));
	WANT(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, -1, 0, win));
	WANT(MPI_ERR_LOCKTYPE, MPI_Win_lock(77, peer, 0, win));
	WANT(MPI_ERR_ASSERT, MPI_Win_fence(1 << 28, win));
	WANT(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, peer, 1, win));
	WANT(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win));
}

/* Arguments of operations, inside a lock of peer. */
static void
wrong_arguments(MPI_Win win, int peer)
{
	int mem[8] = {0}, v = 3;
	MPI_Datatype mixed;
	MPI_Op op;

	WANT(MPI_ERR_RMA_RANGE, MPI_Put(&v, 1, MPI_INT, peer, 8, 1, MPI_INT, win));
	WANT(MPI_ERR_RMA_RANGE, MPI_Get(&v, 1, MPI_INT, peer, INT64_MAX / 8, 1, MPI_INT, win));
	WANT(MPI_ERR_DISP, MPI_Get(&v, 1, MPI_INT, peer, -1, 1, MPI_INT, win));
	WANT(MPI_ERR_COUNT, MPI_Put(&v, -1, MPI_INT, peer, 0, 1, MPI_INT, win));
	WANT(MPI_ERR_COUNT, MPI_Put(&v, 1, MPI_INT, peer, 0, -1, MPI_INT, win));
	WANT(MPI_ERR_TYPE, MPI_Put(&v, 1, MPI_DATATYPE_NULL, peer, 0, 1, MPI_INT, win));
	WANT(MPI_ERR_RANK, MPI_Put(&v, 1, MPI_INT, check_size, 0, 1, MPI_INT, win));
	WANT(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
	WANT(MPI_ERR_TRUNCATE, MPI_Put(mem, 2, MPI_INT, peer, 0, 1, MPI_INT, win));
	MPI_Op_create(user_op, 1, &op);
	WANT(MPI_ERR_OP, MPI_Accumulate(&v, 1, MPI_INT, peer, 0, 1, MPI_INT, op, win));
	MPI_Op_free(&op);
	WANT(MPI_ERR_OP, MPI_Accumulate(&v, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_OP_NULL, win));
	WANT(MPI_ERR_OP, MPI_Accumulate(&v, 1, MPI_FLOAT, peer, 0, 1, MPI_FLOAT, MPI_BAND, win));
	WANT(MPI_ERR_TYPE, MPI_Compare_and_swap(&v, &v, &v, MPI_FLOAT, peer, 0, win));
	MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4},
			       (MPI_Datatype[]){MPI_INT, MPI_FLOAT}, &mixed);
	MPI_Type_commit(&mixed);
	WANT(MPI_ERR_TYPE, MPI_Fetch_and_op(mem, mem, mixed, peer, 0, MPI_SUM, win));
	WANT(MPI_ERR_TYPE, MPI_Accumulate(mem, 1, mixed, peer, 0, 1, mixed, MPI_SUM, win));
	MPI_Type_free(&mixed);
}

/* Epochs and arguments. */
static void
misuse(void)
{
	int mem[8] = {0}, v = 3, peer = (check_rank + 1) % check_size;
	MPI_Request r;
	MPI_Group g;
	MPI_Win win;

	MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	MPI_Win_get_group(win, &g);
	outside_epochs(win, peer);

	MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_start(g, 0, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
	if (check_size > 1)
		WANT(MPI_ERR_RMA_SYNC, MPI_Put(&v, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
	wrong_arguments(win, peer);
	MPI_Win_unlock(peer, win);

	MPI_Win_lock_all(0, win);
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_unlock(peer, win));
	MPI_Win_unlock_all(win);
	MPI_Win_fence(0, win);
	WANT(MPI_ERR_RMA_SYNC, MPI_Rput(&v, 1, MPI_INT, peer, 0, 1, MPI_INT, win, &r));
	CHECK(MPI_Put(&v, 1, MPI_INT, peer, 0, 1, MPI_INT, win) == MPI_SUCCESS);
	WANT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
	MPI_Win_fence(0, win); /* and what begins here never had an operation */
	CHECK(mem[0] == 3);
	CHECK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win) == MPI_SUCCESS);
	MPI_Win_unlock(peer, win);

	/* nothing comes of nothing */
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win);
	CHECK(MPI_Put(&v, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
	CHECK(MPI_Get(&v, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, win) == MPI_SUCCESS);
	CHECK(MPI_Win_flush(MPI_PROC_NULL, win) == MPI_SUCCESS);
	CHECK(MPI_Win_flush_local(MPI_PROC_NULL, win) == MPI_SUCCESS);
	MPI_Win_unlock(MPI_PROC_NULL, win);
	MPI_Group_free(&g);
	MPI_Win_free(&win);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	WANT(MPI_ERR_WIN, MPI_Win_free(&win));
	WANT(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Elements may overlap in the window, but not so many that they fill the target's memory: a result
 * is as long as they are, however little there is. */
static void
overlapping(MPI_Win win, int peer, MPI_Aint at)
{
	enum { FEW = 10, MANY = (64 << 20) / sizeof(int) + 1 };
	int v[FEW] = {0}, *many = calloc(MANY, sizeof(*many));
	MPI_Datatype same;

	MPI_Type_create_resized(MPI_INT, 0, 0, &same);
	MPI_Type_commit(&same);
	MPI_Get(v, FEW, MPI_INT, peer, at, FEW, same, win);
	CHECK(MPI_Win_flush(peer, win) == MPI_SUCCESS);
	for (int i = 0; i < FEW; i++)
		CHECK(v[i] == peer * 1000);
	MPI_Get(many, MANY, MPI_INT, peer, at, MANY, same, win);
	WANT(MPI_ERR_RMA_RANGE, MPI_Win_flush(peer, win));
	MPI_Type_free(&same);
	free(many);
}

/* An epoch of MPI_Win_start that strays, and one that does not; the caller's peer exposes likewise.
 */
static void
dynamic_active(MPI_Win win, int peer, MPI_Aint outside, MPI_Aint inside)
{
	int before = (check_rank + check_size - 1) % check_size, v = 0,
	    *big = calloc(4096, sizeof v);
	MPI_Group all, to, from;

	MPI_Win_get_group(win, &all);
	MPI_Group_incl(all, 1, &peer, &to);
	MPI_Group_incl(all, 1, &before, &from);
	for (int round = 0; round < 4; round++) {
		MPI_Win_post(from, 0, win);
		MPI_Win_start(to, 0, win);
		if (round == 0)
			MPI_Put(&v, 1, MPI_INT, peer, outside, 1, MPI_INT, win);
		if (round == 1)
			MPI_Put(big, 4096, MPI_INT, peer, outside, 4096, MPI_INT, win);
		if (round == 2)
			MPI_Get(&v, 1, MPI_INT, peer, outside, 1, MPI_INT, win);
		if (round == 3)
			MPI_Get(&v, 1, MPI_INT, peer, inside, 1, MPI_INT, win);
		if (round < 3)
			WANT(MPI_ERR_RMA_RANGE, MPI_Win_complete(win));
		else
			CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
		CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
	}
	CHECK(v == peer * 1000);
	MPI_Group_free(&all);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	free(big);
}

/* Memory that comes and goes; who strays from it is told when it synchronises. */
static void
dynamic(void)
{
	int a[100], b[4096], v[100], big[4096], peer = (check_rank + 1) % check_size;
	MPI_Aint mine[2], theirs[2];
	MPI_Request r;
	MPI_Win win;
	void *mem;

	for (int i = 0; i < 100; i++)
		a[i] = check_rank * 1000 + i;
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	WANT(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(win, 0, &(MPI_Aint){0}, &(int){0}, &mem));
	CHECK(MPI_Win_attach(win, a, 50 * sizeof(int)) == MPI_SUCCESS);
	CHECK(MPI_Win_attach(win, a + 50, 50 * sizeof(int)) == MPI_SUCCESS);
	WANT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, a + 10, 4));
	WANT(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, a + 1));
	MPI_Get_address(a, &mine[0]);
	MPI_Get_address(b, &mine[1]);
	MPI_Sendrecv(mine, 2, MPI_AINT, (check_rank + check_size - 1) % check_size, 0, theirs, 2,
		     MPI_AINT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
	CHECK(MPI_Get(v, 100, MPI_INT, peer, theirs[0], 100, MPI_INT, win) == MPI_SUCCESS);
	CHECK(MPI_Win_flush(peer, win) == MPI_SUCCESS);
	CHECK(v[0] == peer * 1000 && v[99] == peer * 1000 + 99);
	/* b is not attached */
	MPI_Put(v, 1, MPI_INT, peer, theirs[1], 1, MPI_INT, win);
	WANT(MPI_ERR_RMA_RANGE, MPI_Win_flush(peer, win));
	MPI_Get(v, 1, MPI_INT, peer, theirs[1], 1, MPI_INT, win);
	WANT(MPI_ERR_RMA_RANGE, MPI_Win_flush(peer, win));
	MPI_Put(big, 4096, MPI_INT, peer, theirs[1], 4096, MPI_INT, win);
	WANT(MPI_ERR_RMA_RANGE, MPI_Win_flush(peer, win));
	MPI_Accumulate(v, 1, MPI_INT, peer, theirs[1], 1, MPI_INT, MPI_SUM, win);
	WANT(MPI_ERR_RMA_RANGE, MPI_Win_flush(peer, win));
	MPI_Accumulate(big, 4096, MPI_INT, peer, theirs[1], 4096, MPI_INT, MPI_SUM, win);
	WANT(MPI_ERR_RMA_RANGE, MPI_Win_flush(peer, win));
	MPI_Get_accumulate(b, 4096, MPI_INT, big, 4096, MPI_INT, peer, theirs[1], 4096, MPI_INT,
			   MPI_SUM, win);
	WANT(MPI_ERR_RMA_RANGE, MPI_Win_flush(peer, win));
	overlapping(win, peer, theirs[0]);
	MPI_Rget(big, 4096, MPI_INT, peer, theirs[1], 4096, MPI_INT, win, &r);
	WANT(MPI_ERR_RMA_RANGE, MPI_Wait(&r, MPI_STATUS_IGNORE));
	CHECK(MPI_Win_flush(peer, win) == MPI_SUCCESS);
	CHECK(MPI_Win_unlock(peer, win) == MPI_SUCCESS);
	dynamic_active(win, peer, theirs[1], theirs[0]);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(MPI_Win_attach(win, b, sizeof(b)) == MPI_SUCCESS);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 4096; i++)
		big[i] = i + check_rank;
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win);
	MPI_Put(big, 4096, MPI_INT, peer, theirs[1], 4096, MPI_INT, win);
	CHECK(MPI_Win_unlock(peer, win) == MPI_SUCCESS);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(b[0] == (check_rank + check_size - 1) % check_size && b[4095] == b[0] + 4095);
	CHECK(MPI_Win_detach(win, a) == MPI_SUCCESS);
	CHECK(MPI_Win_detach(win, a + 50) == MPI_SUCCESS);
	CHECK(MPI_Win_detach(win, b) == MPI_SUCCESS);
	MPI_Win_free(&win);
}

/* Every large-count form, with what an int would hold, too. */
static void
large_forms(void)
{
	int peer = (check_rank + 1) % check_size, v[4] = {1, 2, 3, 4}, w[4], old[4], *mem;
	MPI_Aint size, unit;
	MPI_Request r[4];
	MPI_Comm node;
	MPI_Win win;

	MPI_Win_allocate_c(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	memset(mem, 0, 8 * sizeof(int));
	MPI_Win_fence(0, win);
	MPI_Put_c(v, 4, MPI_INT, peer, 0, 4, MPI_INT, win);
	MPI_Win_fence(0, win);
	MPI_Accumulate_c(v, 4, MPI_INT, peer, 0, 4, MPI_INT, MPI_PROD, win);
	MPI_Win_fence(0, win);
	MPI_Get_c(w, 4, MPI_INT, peer, 0, 4, MPI_INT, win);
	MPI_Get_accumulate_c(v, 4, MPI_INT, old, 4, MPI_INT, peer, 4, 4, MPI_INT, MPI_SUM, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	for (int i = 0; i < 4; i++)
		CHECK(w[i] == v[i] * v[i] && old[i] == 0 && mem[4 + i] == v[i]);
	MPI_Win_lock_all(0, win);
	MPI_Rput_c(v, 4, MPI_INT, peer, 0, 4, MPI_INT, win, &r[0]);
	MPI_Win_flush(peer, win);
	MPI_Rget_c(w, 4, MPI_INT, peer, 4, 4, MPI_INT, win, &r[1]);
	MPI_Raccumulate_c(v, 4, MPI_INT, peer, 0, 4, MPI_INT, MPI_SUM, win, &r[2]);
	MPI_Rget_accumulate_c(v, 4, MPI_INT, old, 4, MPI_INT, peer, 0, 4, MPI_INT, MPI_SUM, win,
			      &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 4; i++)
		CHECK(w[i] == v[i] && old[i] == 2 * v[i]);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 4; i++)
		CHECK(mem[i] == 3 * v[i]);
	MPI_Win_free(&win);

	/* memory of the program: its own part can be reached, others' are there or empty */
	MPI_Win_create_c(v, sizeof(v), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_shared_query_c(win, check_rank, &size, &unit, &mem);
	CHECK(size == (MPI_Aint)sizeof(v) && unit == 1 && mem == v);
	MPI_Win_shared_query_c(win, peer, &size, &unit, &mem);
	CHECK(size == (mem ? (MPI_Aint)sizeof(v) : 0));
	MPI_Win_shared_query_c(win, MPI_PROC_NULL, &size, &unit, &mem);
	CHECK(check_rank == 0 ? mem == v : mem == NULL && size == 0); /* the first one's part */
	MPI_Win_free(&win);
	/* and where the first one has none, the next one's */
	MPI_Win_create_c(v, check_rank > 0 || check_size == 1 ? sizeof(v) : 0, 1, MPI_INFO_NULL,
			 MPI_COMM_WORLD, &win);
	MPI_Win_shared_query_c(win, MPI_PROC_NULL, &size, &unit, &mem);
	CHECK(check_rank == (check_size > 1) ? mem == v : mem == NULL && size == 0);
	MPI_Win_free(&win);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Win_allocate_shared_c(16, 2, MPI_INFO_NULL, node, &mem, &win);
	MPI_Win_shared_query_c(win, MPI_PROC_NULL, &size, &unit, &mem);
	CHECK(size == 16 && unit == 2 && mem != NULL);
	MPI_Win_free(&win);
	MPI_Comm_free(&node);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	attributes();
	names_and_hints();
	handlers();
	creation();
	misuse();
	dynamic();
	large_forms();
	return finish();
}
