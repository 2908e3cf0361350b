/* SPDX-License-Identifier: BSD-2-Clause */
/* What libmpi/rma asks of the engine, for engines of tests that have no windows: nothing
 * is served, nothing shared. */
#ifndef LMPI_NO_WINDOWS_H
#define LMPI_NO_WINDOWS_H

#include "engine.h"
#include "mpi.h"

void
lmpi_serve(lmpi_service_fn *fn, uint64_t more)
{
	(void)fn;
	(void)more;
}

int
lmpi_segment_make(struct lmpi_segment *s, uint64_t bytes)
{
	*s = (struct lmpi_segment){.bytes = bytes, .fd = -1};
	return MPI_ERR_NO_MEM;
}

int
lmpi_segment_map(struct lmpi_segment *s, int pid, int fd, uint64_t bytes)
{
	(void)pid;
	(void)fd;
	return lmpi_segment_make(s, bytes);
}

void
lmpi_segment_seal(struct lmpi_segment *s)
{
	(void)s;
}

void
lmpi_segment_unmap(struct lmpi_segment *s)
{
	(void)s;
}

bool
lmpi_node_reads(uint32_t world)
{
	(void)world;
	return false;
}

bool
lmpi_node_copy(uint32_t world, uint64_t address, void *mine, uint64_t n, bool write)
{
	(void)world;
	(void)address;
	(void)mine;
	(void)n;
	(void)write;
	return false;
}

/* Nor does anything go without a request. */
bool
lmpi_send_whole(const void *data, uint64_t len, uint32_t dest_world, int lsrank, int tag,
		uint64_t cid)
{
	(void)data, (void)len, (void)dest_world, (void)lsrank, (void)tag, (void)cid;
	return false;
}

bool
lmpi_recv_whole(void *buf, uint64_t cap, uint32_t source_world, int source, int tag, uint64_t cid,
		bool wait, struct lmpi_probed *out)
{
	(void)buf, (void)cap, (void)source_world, (void)source, (void)tag, (void)cid;
	(void)wait, (void)out;
	return false;
}

#endif
