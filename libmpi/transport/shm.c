/* Processes of one node: each has a segment with one ring per sender.
 *
 * The segment is anonymous memory behind a file descriptor (memfd) that peers
 * open through /proc/PID/fd while everybody is in MPI_Init: there is never a
 * name in /dev/shm that a killed job could leave behind.
 *
 * Messages above LMPI_SHM_EAGER_MAX are read by the receiver straight out of
 * the sender's memory (process_vm_readv); where the system forbids that they
 * go through the ring in pieces. */
#include "transport.h"
#include "shm_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define eng   lmpi_eng
#define MAGIC 0x534c4d50u
#define BURST 64 /* records taken from one ring in one turn */

struct segment {
	_Atomic uint32_t dozing; /* owner sets; who clears it rings the bell */
	uint32_t magic;
	uint32_t nrings;
	uint32_t barrier; /* owner makes the barriers of all when it dozes */
	uint64_t ring_bytes;
	uint8_t fill[40];
	/* nrings x (struct lmpi_ring, ring_bytes) */
};
_Static_assert(sizeof(struct segment) == 64, "laid out the same in all processes");

static struct mate { /* another process of my node, by node index */
	struct segment *seg;
	uint64_t seg_bytes;
	struct lmpi_ring_tx tx; /* my ring in its segment */
	struct lmpi_ring_rx rx; /* its ring in mine */
	uint32_t world;
	pid_t pid;
	bool no_copy; /* reading its memory is forbidden */
	bool barrier; /* it makes my barriers, see wake() */
	char bell[32];
} * mate;
static uint32_t nmates, attached;
static struct segment *mine;
static uint64_t mine_bytes, ring_bytes;
static int mine_fd = -1;

static struct lmpi_ring *
ring_at(struct segment *s, uint64_t bytes, uint32_t i)
{
	uint8_t *p = (uint8_t *)s + sizeof *s + (size_t)i * (sizeof(struct lmpi_ring) + bytes);
	return (struct lmpi_ring *)(void *)p;
}

static uint64_t
segment_bytes(uint32_t n, uint64_t bytes)
{
	return sizeof(struct segment) + n * (sizeof(struct lmpi_ring) + bytes);
}

int
lmpi_shm_make(uint32_t node_size, struct lmpi_shm_place *place)
{
	ring_bytes = node_size <= 16 ? 256u << 10 : 64u << 10;
	mine_bytes = segment_bytes(node_size, ring_bytes);
	mate = calloc(node_size, sizeof *mate);
	mine_fd = memfd_create("libmpi", MFD_CLOEXEC);
	if (!mate || mine_fd < 0 || ftruncate(mine_fd, (off_t)mine_bytes) < 0)
		goto fail;
	mine = mmap(NULL, mine_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mine_fd, 0);
	if (mine == MAP_FAILED)
		goto fail;
	nmates = node_size;
	mine->magic = MAGIC;
	mine->nrings = node_size;
	mine->ring_bytes = ring_bytes;
	mine->barrier =
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
	*place = (struct lmpi_shm_place){.pid = getpid(), .fd = mine_fd, .bytes = mine_bytes};
	return LMPI_OK;
fail:
	fprintf(stderr,
		"libmpi: cannot make %llu bytes of shared memory for the node: %s; "
		"LIBMPI_TRANSPORT=udp does without\n",
		(unsigned long long)mine_bytes, strerror(errno));
	mine = NULL;
	lmpi_shm_close();
	return LMPI_ERR_NO_MEM;
}

int
lmpi_shm_attach(uint32_t i, uint32_t rank, const struct lmpi_shm_place *place)
{
	struct mate *m = &mate[i];
	char path[64];
	struct stat st;
	int fd;

	m->world = rank;
	m->pid = place->pid;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", place->pid, place->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		goto fail;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != place->bytes ||
	    place->bytes != mine_bytes) {
		errno = EPROTO;
		goto fail_fd;
	}
	m->seg = mmap(NULL, place->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m->seg == MAP_FAILED) {
		m->seg = NULL;
		goto fail_fd;
	}
	close(fd);
	m->seg_bytes = place->bytes;
	if (m->seg->magic != MAGIC || m->seg->nrings != nmates ||
	    m->seg->ring_bytes != ring_bytes) {
		errno = EPROTO;
		goto fail;
	}
	m->tx = (struct lmpi_ring_tx){.ring = ring_at(m->seg, ring_bytes, lmpi_world.node_rank),
				      .size = ring_bytes};
	m->rx = (struct lmpi_ring_rx){.ring = ring_at(mine, ring_bytes, i), .size = ring_bytes};
	m->barrier = mine->barrier && m->seg->barrier;
	m->no_copy = lmpi_env_u64("LIBMPI_CMA", 1, 1) == 0;
	attached++;
	return LMPI_OK;
fail_fd:
	close(fd);
fail:
	fprintf(stderr,
		"libmpi: cannot attach the shared memory of rank %u (%s): %s; "
		"LIBMPI_TRANSPORT=udp does without\n",
		rank, path, strerror(errno));
	return LMPI_ERR_OTHER;
}

void
lmpi_shm_set_world(uint32_t i, uint32_t world)
{
	mate[i].world = world;
}

void
lmpi_shm_set_bell(uint32_t i, const char *name)
{
	memcpy(mate[i].bell, name, sizeof mate[i].bell - 1);
}

void
lmpi_shm_seal(void)
{
	if (mine_fd >= 0)
		close(mine_fd);
	mine_fd = -1;
}

void
lmpi_shm_close(void)
{
	lmpi_shm_seal();
	for (uint32_t i = 0; i < nmates; i++) {
		if (mate[i].seg)
			munmap(mate[i].seg, mate[i].seg_bytes);
	}
	if (mine)
		munmap(mine, mine_bytes);
	mine = NULL;
	free(mate);
	mate = NULL;
	nmates = attached = 0;
}

bool
lmpi_shm_in_use(void)
{
	return attached > 0;
}

/* After a record was published, or room was made, for m.  What was written must be seen before
 * dozing is read.  A fence for each message is dear; who dozes does it rarely and can have the
 * kernel make everybody's (membarrier), if both are registered for that. */
static void
wake(struct mate *m)
{
	if (m->barrier)
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&m->seg->dozing, memory_order_relaxed) &&
	    atomic_exchange(&m->seg->dozing, 0))
		lmpi_bell_ring(m->bell);
}

static bool
put(struct mate *m, const struct lmpi_hdr *h, const void *data, size_t len)
{
	uint8_t *p = lmpi_ring_reserve(&m->tx, sizeof *h + len);
	if (!p)
		return false;
	memcpy(p, h, sizeof *h);
	if (len)
		memcpy(p + sizeof *h, data, len);
	lmpi_ring_commit(&m->tx);
	wake(m);
	return true;
}

bool
lmpi_shm_send_now(struct lmpi_peer *peer, const struct lmpi_hdr *h, const void *data, uint64_t len)
{
	return put(&mate[peer->node_index], h, data, (size_t)len);
}

bool
lmpi_shm_send(struct lmpi_peer *peer, struct lmpi_out *out)
{
	struct mate *m = &mate[peer->node_index];
	size_t most = lmpi_ring_payload_max(ring_bytes) - sizeof out->hdr;

	do {
		size_t n = out->len - out->sent < most ? (size_t)(out->len - out->sent) : most;
		if (out->hdr.type == LMPI_T_DATA)
			out->hdr.offset = out->sent;
		if (!put(m, &out->hdr, out->data + out->sent, n))
			return false;
		out->sent += n;
	} while (out->sent < out->len);
	lmpi_out_done(out, true);
	return true;
}

static void
take(struct mate *m, const uint8_t *p, size_t len)
{
	struct lmpi_hdr h;

	if (len < sizeof h) {
		lmpi_fail("shared memory of rank %u is corrupt", m->world);
		return;
	}
	memcpy(&h, p, sizeof h);
	len -= sizeof h;
	struct lmpi_sink *s = lmpi_arrive(&eng.peer[m->world], &h, len);
	if (s) {
		lmpi_sink_data(s, 0, p + sizeof h, len);
		lmpi_sink_end(s);
	}
}

bool
lmpi_shm_poll(void)
{
	bool moved = false;

	for (uint32_t i = 0; i < nmates; i++) {
		struct mate *m = &mate[i];
		bool broken = false, woke = false, took = false;
		const uint8_t *p;
		size_t len;

		if (!m->seg)
			continue;
		for (int n = 0; n < BURST && (p = lmpi_ring_peek(&m->rx, &len, &broken)); n++) {
			take(m, p, len);
			lmpi_ring_skip(&m->rx);
			took = true;
			if (lmpi_ring_owes(&m->rx))
				woke |= lmpi_ring_give(&m->rx);
		}
		if (took)
			woke |= lmpi_ring_give(&m->rx);
		moved |= took;
		if (woke)
			wake(m);
		if (broken)
			lmpi_fail("shared memory of rank %u is corrupt", m->world);
	}
	return moved;
}

bool
lmpi_shm_doze(void)
{
	if (!mine)
		return true;
	atomic_store(&mine->dozing, 1);
	atomic_thread_fence(memory_order_seq_cst);
	if (mine->barrier && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
		lmpi_shm_awake(); /* it was there when we began: do not sleep on a guess */
		return false;
	}
	for (uint32_t i = 0; i < nmates; i++) {
		struct mate *m = &mate[i];
		if (!m->seg)
			continue;
		/* want was ours and is cleared: room was made. */
		bool waits = eng.peer[m->world].out_first != NULL;
		if (!lmpi_ring_is_empty(&m->rx) || (waits && atomic_load(&m->tx.ring->want) == 0)) {
			lmpi_shm_awake();
			return false;
		}
	}
	return true;
}

void
lmpi_shm_awake(void)
{
	if (mine)
		atomic_store_explicit(&mine->dozing, 0, memory_order_relaxed);
}

/* 1: done, 0: not allowed, -1: the process is gone. */
static int
copy(struct mate *m, uint64_t address, void *mem, uint64_t n, bool write)
{
	uint64_t at = 0;

	if (m->no_copy)
		return 0;
	while (at < n) {
		struct iovec local = {(uint8_t *)mem + at, (size_t)(n - at)};
		struct iovec remote = {(void *)(uintptr_t)(address + at), (size_t)(n - at)};
		ssize_t r = write ? process_vm_writev(m->pid, &local, 1, &remote, 1, 0)
				  : process_vm_readv(m->pid, &local, 1, &remote, 1, 0);
		if (r > 0) {
			at += (uint64_t)r;
		} else if (r < 0 && errno == EINTR) {
			continue;
		} else if (r < 0 && errno == ESRCH) {
			return -1;
		} else {
			/* Forbidden, or memory that cannot be read this way: from
			 * now on through the ring. */
			m->no_copy = true;
			return 0;
		}
	}
	return 1;
}

int
lmpi_tp_read(const struct lmpi_peer *peer, uint64_t address, void *to, uint64_t n)
{
	return copy(&mate[peer->node_index], address, to, n, false);
}

bool
lmpi_node_copy(uint32_t world, uint64_t address, void *mem, uint64_t n, bool write)
{
	const struct lmpi_peer *peer = &eng.peer[world];

	return peer->reach == LMPI_REACH_SHM &&
	       copy(&mate[peer->node_index], address, mem, n, write) == 1;
}
