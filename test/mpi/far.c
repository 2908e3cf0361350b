/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes wrong between jobs in two clusters, whose ports are behind relays (smoke mpi-connect).
 *
 *	far server		prints three ports: one it accepts at, one it does not, a closed one
 *	far survivor		the same, and outlives the other job
 *	far client PORT PORT PORT
 *	far stranger PORT	of another realm
 *	far aborter PORT	connects and calls MPI_Abort
 *
 * The client dies while the two are connected; the server ends with an error that says so. */
#include "check.h"

#include <mpi-ext.h>

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static void
serve(bool outlives)
{
	char open[MPI_MAX_PORT_NAME], deaf[MPI_MAX_PORT_NAME], closed[MPI_MAX_PORT_NAME];
	MPI_Comm inter;
	int v = 7;

	MPI_Open_port(MPI_INFO_NULL, open);
	MPI_Open_port(MPI_INFO_NULL, deaf);
	MPI_Open_port(MPI_INFO_NULL, closed);
	MPI_Close_port(closed);
	printf("ports %s %s %s\n", open, deaf, closed);
	fflush(stdout);
	MPI_Comm_accept(open, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
	MPI_Send(&v, 1, MPI_INT, 0, 0, inter);
	printf("connected\n");
	fflush(stdout);
	if (outlives) {
		MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
		CHECK(check_class(MPI_Recv(&v, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE)) ==
		      MPIX_ERR_PROC_FAILED);
		MPI_Comm_free(&inter);
		return;
	}
	MPI_Recv(&v, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
	printf("goes on after the death of the other job\n");
}

static void
be_client(char **port)
{
	char cut[MPI_MAX_PORT_NAME], bent[MPI_MAX_PORT_NAME];
	MPI_Comm inter;
	MPI_Info info;
	int v = 0;

	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Info_create(&info);
	MPI_Info_set(info, "timeout", "1");
	CHECK(check_says(MPI_Comm_connect(port[1], info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
			 "nobody accepted"));
	/* It knocks, and has gone before it can hear that it was let in: the server goes on
	 * waiting. */
	MPI_Info_set(info, "timeout", "0.015");
	CHECK(check_says(MPI_Comm_connect(port[0], info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT,
			 "nobody accepted"));
	CHECK(check_says(MPI_Comm_connect(port[2], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
			 MPI_ERR_PORT, "behind the relay"));
	snprintf(cut, sizeof(cut), "%.*s", (int)strlen(port[0]) - 3, port[0]);
	CHECK(check_says(MPI_Comm_connect(cut, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
			 MPI_ERR_PORT, "port name"));
	snprintf(bent, sizeof(bent), "%s", port[0]);
	bent[strlen(bent) - 20] ^= 1;
	CHECK(check_says(MPI_Comm_connect(bent, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
			 MPI_ERR_PORT, "port name"));
	MPI_Info_free(&info);
	CHECK(MPI_Comm_connect(port[0], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
	MPI_Recv(&v, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
	CHECK(v == 7);
	if (check_failed)
		return;
	printf("ok so far\n");
	fflush(stdout);
	raise(SIGKILL);
}

static void
be_stranger(const char *port)
{
	MPI_Comm inter;

	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	CHECK(check_says(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
			 MPI_ERR_PORT, "another realm"));
}

static void
be_aborter(const char *port)
{
	MPI_Comm inter;
	int v;

	MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
	MPI_Recv(&v, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
	MPI_Abort(MPI_COMM_WORLD, 42);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	if (argc == 2 && strcmp(argv[1], "server") == 0)
		serve(false);
	else if (argc == 2 && strcmp(argv[1], "survivor") == 0)
		serve(true);
	else if (argc == 5 && strcmp(argv[1], "client") == 0)
		be_client(argv + 2);
	else if (argc == 3 && strcmp(argv[1], "stranger") == 0)
		be_stranger(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "aborter") == 0)
		be_aborter(argv[2]);
	return finish();
}
