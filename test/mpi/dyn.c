/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that come and go: ports, names, joining, spawning (MPI-4, chapter 11).
 *
 * Other jobs are copies of this program without a launcher's marks ("client"), or spawned ones. */
#include "other.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONG = 300000, AGAIN = 5 };

static const char *self;

/* ---- what both sides of an inter-communicator do ---- */

static void
exercise(MPI_Comm inter, bool high)
{
	int rank, size, others, sum = 0, flag;
	static int out[LONG], in[LONG];
	MPI_Comm both, again, half;
	MPI_Request r[2];

	MPI_Comm_rank(inter, &rank);
	MPI_Comm_size(inter, &size);
	MPI_Comm_remote_size(inter, &others);
	CHECK(MPI_Comm_test_inter(inter, &flag) == MPI_SUCCESS && flag);
	if (rank == 0) {
		for (int n = 1; n <= LONG; n = n == 1 ? 1000 : n == 1000 ? LONG : LONG + 1) {
			for (int i = 0; i < n; i++)
				out[i] = i + high;
			MPI_Irecv(in, n, MPI_INT, 0, 7, inter, &r[0]);
			MPI_Isend(out, n, MPI_INT, 0, 7, inter, &r[1]);
			MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
			CHECK(in[0] == !high && in[n - 1] == n - 1 + !high);
		}
	}
	MPI_Intercomm_merge(inter, high, &both);
	int one = 1, me, all;
	MPI_Comm_rank(both, &me);
	MPI_Comm_size(both, &all);
	CHECK(all == size + others);
	CHECK(me == (high ? others + rank : rank));
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
	CHECK(sum == all);
	/* Everybody with everybody. */
	for (int i = 0; i < all; i++)
		out[i] = me * 100 + i;
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, both);
	for (int i = 0; i < all; i++)
		CHECK(in[i] == i * 100 + me);
	MPI_Comm_dup(both, &again);
	MPI_Comm_split(again, me % 2, -me, &half);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
	CHECK(sum == (all + (me % 2 == 0)) / 2);
	MPI_Comm_free(&half);
	MPI_Barrier(again);
	MPI_Comm_free(&again);
	/* The two jobs again, through leaders in the merged communicator. */
	MPI_Comm other;
	MPI_Intercomm_create(MPI_COMM_WORLD, 0, both, high ? 0 : size, 3, &other);
	MPI_Comm_compare(inter, other, &flag);
	CHECK(flag == MPI_CONGRUENT);
	MPI_Comm_free(&other);
	MPI_Comm_free(&both);
}

/* Bytes of a window of the merged communicator, by everybody to everybody. */
static void
windows(MPI_Comm inter, bool high)
{
	MPI_Comm both;
	MPI_Win win;
	int *mem, me, all;

	MPI_Intercomm_merge(inter, high, &both);
	MPI_Comm_rank(both, &me);
	MPI_Comm_size(both, &all);
	MPI_Win_allocate((MPI_Aint)((size_t)all * sizeof(int)), sizeof(int), MPI_INFO_NULL, both,
			 &mem, &win);
	memset(mem, 0, (size_t)all * sizeof(int));
	MPI_Win_fence(0, win);
	for (int i = 0; i < all; i++) {
		int v = me + 1;
		MPI_Put(&v, 1, MPI_INT, i, me, 1, MPI_INT, win);
	}
	MPI_Win_fence(0, win);
	for (int i = 0; i < all; i++)
		CHECK(mem[i] == i + 1);
	MPI_Win_free(&win);
	MPI_Comm_free(&both);
}

/* ---- other jobs ---- */

static void
be_client(const char *port)
{
	MPI_Comm inter;

	for (int i = 0; i < AGAIN; i++) {
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
		exercise(inter, true);
		windows(inter, true);
		MPI_Comm_disconnect(&inter);
		CHECK(inter == MPI_COMM_NULL);
	}
	MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
	/* Left connected: MPI_Finalize meets the others. */
}

static void
serve_client(int rank)
{
	char port[MPI_MAX_PORT_NAME] = "";
	pid_t pid = 0;
	MPI_Comm inter;

	if (rank == 0) {
		CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
		pid = start_other(self, "client", port);
	}
	for (int i = 0; i < AGAIN; i++) {
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
		exercise(inter, false);
		windows(inter, false);
		MPI_Comm_disconnect(&inter);
	}
	MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
	if (rank == 0)
		CHECK(MPI_Close_port(port) == MPI_SUCCESS);
	(void)pid; /* it ends when we do */
}

/* ---- one job, two halves ---- */

static void
halves(int rank, int size)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm half, inter;

	if (size < 2)
		return;
	if (rank == 0)
		MPI_Open_port(MPI_INFO_NULL, port);
	MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	if (rank % 2 == 0)
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
	else
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
	int n, one = 1, sum = 0;
	MPI_Comm_remote_size(inter, &n);
	CHECK(n == (size + (rank % 2 == 1)) / 2);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
	CHECK(sum == n);
	MPI_Comm_disconnect(&inter);
	MPI_Comm_free(&half);
	if (rank == 0)
		MPI_Close_port(port);
}

/* ---- joining over a socket ---- */

static void
join_by(int fd, bool high)
{
	MPI_Comm inter;

	CHECK(MPI_Comm_join(fd, &inter) == MPI_SUCCESS);
	int n = 0, mine = high, theirs = -1;
	MPI_Comm_remote_size(inter, &n);
	CHECK(n == 1);
	MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
	CHECK(theirs == !high);
	MPI_Comm_disconnect(&inter);
}

static void
join(int rank)
{
	char number[16];
	int ends[2];

	if (rank != 0)
		return;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	snprintf(number, sizeof(number), "%d", ends[1]);
	pid_t pid = start_other(self, "join", number);
	join_by(ends[0], false);
	close(ends[0]);
	close(ends[1]);
	await_other(pid);
}

/* ---- what goes wrong ---- */

static void
wrong_ports(void)
{
	static const char *const bad[] = {
		"",
		"x",
		"door:",
		"door:AAAA",
		"tag#0$description#host$",
		"door:////////////////////////////////////////////////////"};
	char port[MPI_MAX_PORT_NAME], cut[MPI_MAX_PORT_NAME];
	MPI_Info info;
	MPI_Comm inter;
	double t;

	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK(check_says(MPI_Comm_connect(bad[i], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
				 MPI_ERR_PORT, "port name"));
		CHECK(inter == MPI_COMM_NULL);
		CHECK(check_says(MPI_Comm_accept(bad[i], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
				 MPI_ERR_PORT, "port"));
		CHECK(check_says(MPI_Close_port(bad[i]), MPI_ERR_PORT, "port"));
	}
	CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
	snprintf(cut, sizeof(cut), "%.*s", (int)strlen(port) - 1, port);
	CHECK(check_says(MPI_Comm_connect(cut, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
			 MPI_ERR_PORT, "port name"));
	/* Nobody accepts, nobody connects. */
	MPI_Info_create(&info);
	MPI_Info_set(info, "timeout", "0.2");
	t = MPI_Wtime();
	CHECK(check_says(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
			 "nobody accepted"));
	CHECK(MPI_Wtime() - t >= 0.2);
	CHECK(check_says(MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
			 "nobody connected"));
	MPI_Info_set(info, "timeout", "soon");
	CHECK(check_says(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_INFO_VALUE,
			 "soon"));
	MPI_Info_free(&info);
	CHECK(check_says(MPI_Comm_connect(port, MPI_INFO_NULL, 1, MPI_COMM_SELF, &inter),
			 MPI_ERR_ROOT, "root"));
	CHECK(MPI_Close_port(port) == MPI_SUCCESS);
	CHECK(check_says(MPI_Close_port(port), MPI_ERR_PORT, "closed"));
	CHECK(check_says(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
			 MPI_ERR_PORT, "nobody has that port open"));
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* ---- names ---- */

static void
names(void)
{
	char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME], name[64];

	if (check_rank != 0)
		return;
	/* Other runs of this program do the same at the same time. */
	snprintf(name, sizeof(name), "test of dyn.c/%d", (int)getpid());
	CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	CHECK(check_says(MPI_Lookup_name(name, MPI_INFO_NULL, found), MPI_ERR_NAME, name));
	CHECK(MPI_Publish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
	CHECK(MPI_Lookup_name(name, MPI_INFO_NULL, found) == MPI_SUCCESS);
	CHECK(strcmp(port, found) == 0);
	CHECK(check_says(MPI_Publish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE, name));
	CHECK(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
	CHECK(check_says(MPI_Lookup_name(name, MPI_INFO_NULL, found), MPI_ERR_NAME, name));
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
	MPI_Close_port(port);
}

/* ---- spawning ---- */

static void
be_child(MPI_Comm parent, int argc, char **argv)
{
	char name[MPI_MAX_OBJECT_NAME];
	int len, *app, flag, codes[2] = {argc, argc > 2 ? (int)strtol(argv[2], NULL, 10) : -1};
	MPI_Comm again;

	MPI_Comm_get_name(parent, name, &len);
	CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, (void *)&app, &flag);
	CHECK(flag && *app == codes[1]);
	MPI_Gather(codes, 2, MPI_INT, NULL, 0, MPI_INT, 0, parent);
	exercise(parent, true);
	windows(parent, true);
	MPI_Comm_disconnect(&parent);
	MPI_Comm_get_parent(&again);
	CHECK(again == MPI_COMM_NULL);
}

static void
check_children(MPI_Comm inter, int n, int of_first)
{
	int args[16] = {0}, size = 0;

	MPI_Comm_remote_size(inter, &size);
	CHECK(size == n);
	MPI_Gather(NULL, 0, MPI_INT, args, 2, MPI_INT, check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
		   inter);
	for (int i = 0; check_rank == 0 && i < n; i++)
		CHECK(args[2 * i] == 3 && args[2 * i + 1] == (i >= of_first));
	exercise(inter, false);
	windows(inter, false);
	MPI_Comm_disconnect(&inter);
}

static char child[] = "child", nought[] = "0", unit[] = "1";

static void
spawn(void)
{
	char *first[] = {child, nought, NULL}, *second[] = {child, unit, NULL};
	char **argvs[] = {first, second}, *commands[2];
	int codes[4] = {-1, -1, -1, -1}, numbers[] = {1, 2};
	MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
	MPI_Comm inter;

	MPI_Comm_spawn(self, first, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
	CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == -1);
	check_children(inter, 2, 2);
	commands[0] = commands[1] = (char *)(uintptr_t)self;
	MPI_Comm_spawn_multiple(2, commands, argvs, numbers, infos, 0, MPI_COMM_WORLD, &inter,
				codes);
	CHECK(codes[2] == MPI_SUCCESS && codes[3] == -1);
	check_children(inter, 3, 1);
}

/* A name without a slash, of a program that is in the folder where it is to run, not in PATH. */
static void
spawn_by_name(void)
{
	char *args[] = {child, nought, NULL}, folder[4096];
	char *slash = realpath(self, folder) != NULL ? strrchr(folder, '/') : NULL;
	MPI_Comm inter;
	MPI_Info info;

	CHECK(slash != NULL);
	if (slash == NULL)
		return;
	*slash = '\0';
	MPI_Info_create(&info);
	MPI_Info_set(info, "wdir", folder);
	MPI_Comm_spawn(slash + 1, args, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
	MPI_Info_free(&info);
	check_children(inter, 1, 1);
}

/* What is there is no program, or is to run in a folder that is not there. */
static void
spawns_of_no_program(void)
{
	static const struct {
		const char *command, *wdir, *says;
	} wrong[] = {{"/", ".", "not a file"},
		     {"/etc/os-release", ".", "may not be executed"},
		     {"os-release", "/etc", "may not be executed"},
		     {"./os-release", "/etc", "may not be executed"},
		     {"./no-such-program", "/etc", "there is no program /etc/./no-such-program"},
		     {"true", "/no/such/folder", "\"wdir\" is \"/no/such/folder\""}};
	MPI_Comm inter;
	MPI_Info info;

	MPI_Info_create(&info);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int code = 0;

		MPI_Info_set(info, "wdir", wrong[i].wdir);
		CHECK(check_says(MPI_Comm_spawn(wrong[i].command, MPI_ARGV_NULL, 1, info, 0,
						MPI_COMM_WORLD, &inter, &code),
				 MPI_ERR_SPAWN, check_rank == 0 ? wrong[i].says : "rank 0"));
		CHECK(inter == MPI_COMM_NULL && code == MPI_ERR_SPAWN);
	}
	MPI_Info_free(&info);
}

/* Nothing is left behind, and the job goes on. */
static void
wrong_spawns(void)
{
	int codes[3] = {0}, wanted = check_rank == 0 ? -1 : 1, *universe, flag;
	MPI_Comm inter;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	CHECK(check_says(MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0,
					MPI_COMM_WORLD, &inter, codes),
			 MPI_ERR_SPAWN, check_rank == 0 ? "/no/such/program" : "rank 0"));
	CHECK(inter == MPI_COMM_NULL);
	for (int i = 0; i < 3; i++)
		CHECK(codes[i] == MPI_ERR_SPAWN);
	CHECK(check_says(MPI_Comm_spawn("no-such-program-anywhere", MPI_ARGV_NULL, 1, MPI_INFO_NULL,
					0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
			 MPI_ERR_SPAWN, check_rank == 0 ? "PATH" : "rank 0"));
	spawns_of_no_program();
	CHECK(check_says(MPI_Comm_spawn(self, MPI_ARGV_NULL, wanted, MPI_INFO_NULL, 0,
					MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
			 MPI_ERR_ARG, check_rank == 0 ? "-1" : "rank 0"));
	CHECK(check_says(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, check_size,
					MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
			 MPI_ERR_ROOT, "root"));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, (void *)&universe, &flag);
	CHECK(!flag || *universe > 0);
}

/* It runs, and does not call MPI. */
static void
spawn_that_sleeps(void)
{
	static char seconds[] = "3";
	char *args[] = {seconds, NULL};
	int code = 0;
	MPI_Comm inter;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "timeout", "soon");
	CHECK(check_says(MPI_Comm_spawn("sleep", args, 1, info, 0, MPI_COMM_WORLD, &inter, &code),
			 MPI_ERR_INFO_VALUE, check_rank == 0 ? "soon" : "rank 0"));
	MPI_Info_set(info, "timeout", "0.5");
	CHECK(check_says(MPI_Comm_spawn("sleep", args, 1, info, 0, MPI_COMM_WORLD, &inter, &code),
			 MPI_ERR_SPAWN, check_rank == 0 ? "does sleep call it" : "rank 0"));
	CHECK(inter == MPI_COMM_NULL && code == MPI_ERR_SPAWN);
	MPI_Info_free(&info);
}

/* They are started, but end before they have met this job: without MPI, by a signal, by an error of
 * MPI_Init.  The row's time is less than what MPI_Comm_spawn waits for those that do not come. */
static void
spawns_that_end(void)
{
	static char early[] = "early", how[][8] = {"exit", "signal", "init"};
	char *args[] = {early, NULL, NULL};

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (size_t i = 0; i < 4; i++) {
		const char *program = i < 3 ? self : "true";
		int codes[2] = {0, MPI_ERR_SPAWN}, n = i < 3 ? 1 : 2;
		MPI_Comm inter;

		args[1] = i < 3 ? how[i] : NULL;
		CHECK(check_says(MPI_Comm_spawn(program, args, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
						&inter, codes),
				 MPI_ERR_SPAWN, check_rank == 0 ? program : "rank 0"));
		CHECK(inter == MPI_COMM_NULL);
		CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN);
	}
	spawn_that_sleeps();
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void
end_early(const char *how)
{
	if (strcmp(how, "exit") == 0)
		_exit(0);
	if (strcmp(how, "signal") == 0)
		raise(SIGKILL);
	setenv("LIBMPI_TRANSPORT", "no-such-transport", 1);
}

/* Room for one of each command: the codes of a command are beside each other. */
static void
full_of_two(int room)
{
	char *first[] = {child, nought, NULL}, *second[] = {child, unit, NULL};
	char **argvs[] = {first, second}, *commands[2];
	int codes[4] = {-1, -1, -1, -1}, numbers[] = {3, 1};
	MPI_Comm inter;
	MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};

	if (room < 2)
		return;
	MPI_Info_create(&infos[0]);
	MPI_Info_set(infos[0], "soft", "1");
	commands[0] = commands[1] = (char *)(uintptr_t)self;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	/* Those of the call before may not have ended yet. */
	while (MPI_Comm_spawn_multiple(2, commands, argvs, numbers, infos, 0, MPI_COMM_WORLD,
				       &inter, codes) != MPI_SUCCESS)
		CHECK(codes[0] == MPI_ERR_SPAWN && codes[3] == MPI_ERR_SPAWN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Info_free(&infos[0]);
	CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_ERR_SPAWN);
	CHECK(codes[2] == MPI_ERR_SPAWN && codes[3] == MPI_SUCCESS);
	check_children(inter, 2, 1);
}

/* Under mpirun --usize 4, which says so by this variable. */
static void
full_universe(void)
{
	char *args[] = {child, nought, NULL};
	int codes[4] = {0}, *universe, flag, room = 4 - check_size;
	MPI_Comm inter;
	MPI_Info info;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, (void *)&universe, &flag);
	CHECK(flag && *universe == 4);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	CHECK(check_says(
		MPI_Comm_spawn(self, args, 4, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
		MPI_ERR_SPAWN, check_rank == 0 ? "--usize" : "rank 0"));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Info_create(&info);
	MPI_Info_set(info, "soft", "1:4,17");
	MPI_Comm_spawn(self, args, 4, info, 0, MPI_COMM_WORLD, &inter, codes);
	MPI_Info_free(&info);
	CHECK(codes[room - 1] == MPI_SUCCESS && codes[room] == MPI_ERR_SPAWN);
	check_children(inter, room, room);
	full_of_two(room);
}

int
main(int argc, char **argv)
{
	MPI_Comm parent;

	self = argv[0];
	if (argc > 2 && strcmp(argv[1], "early") == 0)
		end_early(argv[2]);
	start(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (argc > 2 && strcmp(argv[1], "client") == 0) {
		be_client(argv[2]);
		MPI_Finalize();
		return check_failed != 0;
	}
	if (argc > 2 && strcmp(argv[1], "join") == 0) {
		join_by((int)strtol(argv[2], NULL, 10), true);
		MPI_Finalize();
		return check_failed != 0;
	}
	if (argc > 2 && strcmp(argv[1], "child") == 0) {
		be_child(parent, argc, argv);
		MPI_Finalize();
		return check_failed != 0;
	}
	CHECK(parent == MPI_COMM_NULL);
	halves(check_rank, check_size);
	wrong_ports();
	join(check_rank);
	names();
	/* Of a bounded universe those that have disconnected still take their part. */
	if (getenv("DYN_UNIVERSE") != NULL) {
		full_universe();
	} else {
		spawn();
		spawn_by_name();
		spawns_that_end();
	}
	wrong_spawns();
	serve_client(check_rank);
	return finish();
}
