/* SPDX-License-Identifier: BSD-2-Clause */
/* How many bytes the arguments of a call are. */
#include "trace.h"

uint64_t
trace_bytes(MPI_Count count, MPI_Datatype type)
{
	MPI_Count size = 0;

	if (count <= 0 || type == MPI_DATATYPE_NULL ||
	    PMPI_Type_size_c(type, &size) != MPI_SUCCESS || size < 0)
		return 0;
	return (uint64_t)count * (uint64_t)size;
}

static int
width(MPI_Comm comm)
{
	int inter = 0, n = 0;

	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_size(comm, &n);
	else
		PMPI_Comm_size(comm, &n);
	return n;
}

uint64_t
trace_bytes_v(const int counts[], MPI_Datatype type, MPI_Comm comm)
{
	MPI_Count sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += counts[i];
	return trace_bytes(sum, type);
}

uint64_t
trace_bytes_vc(const MPI_Count counts[], MPI_Datatype type, MPI_Comm comm)
{
	MPI_Count sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += counts[i];
	return trace_bytes(sum, type);
}

uint64_t
trace_bytes_w(const int counts[], const MPI_Datatype types[], MPI_Comm comm)
{
	uint64_t sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += trace_bytes(counts[i], types[i]);
	return sum;
}

uint64_t
trace_bytes_wc(const MPI_Count counts[], const MPI_Datatype types[], MPI_Comm comm)
{
	uint64_t sum = 0;

	for (int i = width(comm) - 1; i >= 0; i--)
		sum += trace_bytes(counts[i], types[i]);
	return sum;
}

bool
trace_is_root(int root, MPI_Comm comm)
{
	int inter = 0, rank = -1;

	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		return root == MPI_ROOT;
	PMPI_Comm_rank(comm, &rank);
	return rank == root;
}
