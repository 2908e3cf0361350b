/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs of processes of a job connect by a port, which is closed at once, and part before the end:
 * what was said last may still be on its way when the port is gone. */
#include "check.h"

int
main(int argc, char **argv)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm inter = MPI_COMM_NULL;

	start(&argc, &argv);
	int half = check_size / 2;
	if (check_rank < half) {
		CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
		MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, check_rank + half, 0, MPI_COMM_WORLD);
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
		CHECK(MPI_Close_port(port) == MPI_SUCCESS);
	} else if (check_rank < 2 * half) {
		MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, check_rank - half, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
	}
	if (inter != MPI_COMM_NULL)
		MPI_Comm_disconnect(&inter);
	CHECK(inter == MPI_COMM_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	return finish();
}
