/* SPDX-License-Identifier: BSD-2-Clause */
/* All send 64 KB to rank 0 at once, round after round; rank 0 looks at every byte.  How the
 * transport fares is for the caller: LIBMPI_STATS. */
#include "check.h"

#define BYTES  65536
#define ROUNDS 24

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	unsigned char *b = malloc((size_t)BYTES * (size_t)(check_rank ? 1 : check_size));
	MPI_Request *q = malloc((size_t)check_size * sizeof *q);
	if (!b || !q)
		MPI_Abort(MPI_COMM_WORLD, 3);
	for (int round = 0; round < ROUNDS; round++) {
		if (check_rank) {
			fill(b, BYTES, (uint32_t)(check_rank * ROUNDS + round) << 8);
			MPI_Send(b, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD);
			continue;
		}
		for (int r = 1; r < check_size; r++)
			MPI_Irecv(b + (size_t)r * BYTES, BYTES, MPI_BYTE, r, round, MPI_COMM_WORLD,
				  &q[r - 1]);
		MPI_Waitall(check_size - 1, q, MPI_STATUSES_IGNORE);
		for (int r = 1; r < check_size; r++) {
			long at = wrong(b + (size_t)r * BYTES, BYTES,
					(uint32_t)(r * ROUNDS + round) << 8);
			CHECKF(at < 0, "round %d: byte %ld of rank %d is wrong", round, at, r);
		}
	}
	free(b);
	free(q);
	return finish();
}
