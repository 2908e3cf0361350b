/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of one node: each has a segment with one ring per sender.
 *
 * The segment is anonymous memory behind a file descriptor (memfd) that peers
 * open through /proc/PID/fd while everybody is in MPI_Init: there is never a
 * name in /dev/shm that a killed job could leave behind.
 *
 * Messages above lmpi_shm_eager_max() are read by the receiver straight out of
 * the sender's memory (process_vm_readv), long ones by both at once (shm_share.h);
 * where the system forbids that they go through the ring in pieces.
 *
 * Guests are processes of other jobs of this machine: their rings are in halls (hall.h), their
 * places in the table behind those of the node. */
#include "transport.h"
#include "cycles.h"
#include "distance.h"
#include "hall.h"
#include "shm_ring.h"
#include "shm_share.h"

#include "base/clock.h"
#include "base/copy.h"
#include "driver/suci_udp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
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
/* Who copies for us for so long is asked whether it lives: a hundredth of that is the question. */
#define ALIVE_NS (10 * BASE_MS_NS)

/* A ring is gone round in, so all of it is touched: with a ring for every ordered pair, wide ones
 * are more than the caches hold, and the first time round is a page fault every 4 KiB. */
#define RING_BYTES	(64u << 10)
#define RING_WIDE_BYTES (256u << 10)
#define RING_WIDE_RANKS 2

/* struct lmpi_shm_head, then nrings x (struct lmpi_share, struct lmpi_ring, ring_bytes) */
static struct shm_peer { /* another process of my node, by node index; then guests */
	struct lmpi_shm_head *seg;
	uint64_t seg_bytes;
	struct lmpi_ring_tx tx;		    /* my ring in its segment */
	struct lmpi_ring_rx rx;		    /* its ring in mine */
	struct lmpi_share *from_me, *to_me; /* long messages, beside the rings */
	uint32_t world;
	pid_t pid;
	bool no_copy; /* reading its memory is forbidden */
	bool barrier; /* it makes my barriers, see wake_shm() */
	bool shunned;
	char bell[32];
	int bell_fd;	      /* kept for lmpi_bell_ring() */
	uint64_t key, key_at; /* a guest: what is to be found at key_at in its memory */
} * shm_peer;
static uint32_t nnode, nshm_peers, attached; /* of the node; all; those with memory */
static struct lmpi_shm_head *mine;
static uint64_t mine_bytes, ring_bytes;
static struct lmpi_shm_head *hall; /* of mine; NULL: none */
static int mine_fd = -1;
static uint32_t dozers; /* threads of mine */

/* Two processes with wide rings: is the other one near?  Then up to eager_max goes through its
 * ring, else up to lmpi_tuned.eager_node and every so many of the longer ones, as only what goes
 * through a ring shows that it is near again. */
#define FAR_EVERY  256u
#define NEAR_EVERY 8u /* is measured: readings of the counter are 1 % of 16 KiB */
static struct {
	bool on;
	struct lmpi_distance of_other; /* as what is copied into its ring shows */
	uint64_t eager_max;	       /* of messages to it, near; 0: it was never far */
	uint32_t asked, seen;
} near;

static size_t
channel_bytes(uint64_t bytes)
{
	return sizeof(struct lmpi_share) + sizeof(struct lmpi_ring) + bytes;
}

static struct lmpi_share *
share_at(struct lmpi_shm_head *s, uint64_t bytes, uint32_t i)
{
	uint8_t *p = (uint8_t *)s + sizeof *s + i * channel_bytes(bytes);
	return (struct lmpi_share *)(void *)p;
}

static struct lmpi_ring *
ring_at(struct lmpi_shm_head *s, uint64_t bytes, uint32_t i)
{
	return (struct lmpi_ring *)(void *)(share_at(s, bytes, i) + 1);
}

static uint64_t
segment_bytes(uint32_t n, uint64_t bytes)
{
	return sizeof(struct lmpi_shm_head) + n * channel_bytes(bytes);
}

int
lmpi_shm_make(uint32_t node_size, struct lmpi_shm_place *place)
{
	ring_bytes = node_size <= RING_WIDE_RANKS ? RING_WIDE_BYTES : RING_BYTES;
	mine_bytes = segment_bytes(node_size, ring_bytes);
	shm_peer = calloc(node_size, sizeof *shm_peer);
	mine_fd = memfd_create("libmpi", MFD_CLOEXEC);
	if (!shm_peer || mine_fd < 0 || ftruncate(mine_fd, (off_t)mine_bytes) < 0)
		goto fail;
	mine = mmap(NULL, mine_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mine_fd, 0);
	if (mine == MAP_FAILED)
		goto fail;
	nnode = nshm_peers = node_size;
	mine->magic = MAGIC;
	mine->nrings = node_size;
	mine->ring_bytes = ring_bytes;
	mine->eager_node = lmpi_tuned.eager_node;
	mine->eager_wide = lmpi_tuned.eager_wide;
	mine->share = lmpi_tuned.share;
	mine->piece = lmpi_tuned.piece;
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

/* The least cycles that the system call takes for n bytes from here to there: the first one finds
 * cold pages, others an interrupt.  10 us in all. */
#define OWN_COPIES 8
static uint64_t
time_own_copy(const uint8_t *from, uint8_t *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)(uintptr_t)from, n};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < OWN_COPIES; i++) {
		uint64_t begun = lmpi_cycles();
		if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)n)
			return 0;
		uint64_t took = lmpi_cycles() - begun;
		least = took < least ? took : least;
	}
	return least;
}

static void
measure_near(void)
{
	enum { FEW = 4096, MANY = 16384 };
	uint8_t from[MANY] = {0}, to[MANY];

	uint64_t few = time_own_copy(from, to, FEW), many = time_own_copy(from, to, MANY);
	lmpi_distance_init(&near.of_other, FEW, few, MANY, few ? many : 0);
	near.on = near.of_other.bound != 0;
}

void
lmpi_shm_by_hand(void)
{
	near.on = false;
}

int
lmpi_shm_attach(uint32_t i, uint32_t rank, const struct lmpi_shm_place *place)
{
	struct shm_peer *m = &shm_peer[i];
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
	if (m->seg->magic != MAGIC || m->seg->nrings != nnode || m->seg->ring_bytes != ring_bytes) {
		errno = EPROTO;
		goto fail;
	}
	m->tx = (struct lmpi_ring_tx){.ring = ring_at(m->seg, ring_bytes, lmpi_world.node_rank),
				      .size = ring_bytes};
	m->rx = (struct lmpi_ring_rx){.ring = ring_at(mine, ring_bytes, i), .size = ring_bytes};
	m->from_me = share_at(m->seg, ring_bytes, lmpi_world.node_rank);
	m->to_me = share_at(mine, ring_bytes, i);
	m->barrier = mine->barrier && m->seg->barrier;
	m->no_copy = lmpi_knob_number(LMPI_KNOB_CMA) == 0;
	attached++;
	if (i == 0)
		lmpi_tune_adopt(&(struct lmpi_tuned){.eager_node = m->seg->eager_node,
						     .eager_wide = m->seg->eager_wide,
						     .share = m->seg->share,
						     .piece = m->seg->piece});
	if (ring_bytes == RING_WIDE_BYTES && !m->no_copy && !lmpi_knob_text(LMPI_KNOB_EAGER_NODE))
		measure_near();
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
	shm_peer[i].world = world;
}

void
lmpi_shm_set_bell(uint32_t i, const char *name)
{
	memcpy(shm_peer[i].bell, name, sizeof shm_peer[i].bell - 1);
	shm_peer[i].bell_fd = -1;
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
	for (uint32_t i = 0; i < nshm_peers; i++) {
		if (shm_peer[i].seg)
			munmap(shm_peer[i].seg, shm_peer[i].seg_bytes);
		if (shm_peer[i].bell[0])
			lmpi_bell_drop(&shm_peer[i].bell_fd);
	}
	if (mine)
		munmap(mine, mine_bytes);
	mine = hall = NULL;
	free(shm_peer);
	shm_peer = NULL;
	nnode = nshm_peers = attached = 0;
}

bool
lmpi_shm_in_use(void)
{
	return attached > 0;
}

int
lmpi_shm_cores(void)
{
	cpu_set_t all, one;

	CPU_ZERO(&all);
	for (uint32_t i = 0; i < nshm_peers; i++)
		if (sched_getaffinity(shm_peer[i].seg ? shm_peer[i].pid : 0, sizeof one, &one) == 0)
			CPU_OR(&all, &all, &one);
	return CPU_COUNT(&all);
}

uint64_t
lmpi_shm_eager_max(void)
{
	if (ring_bytes == RING_WIDE_BYTES && lmpi_shm_cores() >= (int)nnode)
		return lmpi_tuned.eager_wide;
	return lmpi_tuned.eager_node;
}

/* After a record was published, or room was made, for m.  What was written must be seen before
 * dozing is read.  A fence for each message is dear; who dozes does it rarely and can have the
 * kernel make everybody's (membarrier), if both are registered for that. */
static inline __attribute__((always_inline)) void
wake_shm(struct shm_peer *m)
{
	if (m->barrier)
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&m->seg->dozing, memory_order_relaxed) &&
	    atomic_exchange(&m->seg->dozing, 0))
		lmpi_bell_ring(m->bell, &m->bell_fd);
}

/* What a whole message without questions needs of struct lmpi_hdr: with the ring's word it
 * leaves half of a cache line to the message. */
struct lmpi_brief {
	uint64_t cid;
	int32_t lsrank, tag;
};
_Static_assert(sizeof(struct lmpi_brief) == 16, "laid out the same in all processes");

/* Is this one of those long records whose copying is measured? */
static bool
is_sample(size_t len)
{
	return len >= LMPI_DISTANCE_BYTES && near.on &&
	       (near.of_other.far || ++near.seen % NEAR_EVERY == 0);
}

/* It was copied into its ring: see how far it is. */
static __attribute__((noinline)) void
note_distance(const struct shm_peer *m, size_t len, uint64_t cycles)
{
	struct lmpi_peer *peer = &eng.peer[m->world];

	if (m->key != 0)
		return; /* it is about the other one of a node of two */
	(void)lmpi_distance_copied(&near.of_other, len, cycles);
	if (near.of_other.far && peer->eager_max > lmpi_tuned.eager_node) {
		near.eager_max = peer->eager_max;
		peer->eager_max = lmpi_tuned.eager_node;
	}
}

static inline __attribute__((always_inline)) bool
put_shm(struct shm_peer *m, unsigned kind, const void *head, size_t head_len, const void *data,
	size_t len)
{
	uint8_t *p = lmpi_ring_reserve(&m->tx, kind, head_len + len);
	if (!p)
		return false;
	memcpy(p, head, head_len);
	uint64_t begun = is_sample(len) ? lmpi_cycles() : 0;
	base_copy_few(p + head_len, data, len);
	if (begun)
		note_distance(m, len, lmpi_cycles() - begun);
	lmpi_ring_commit(&m->tx);
	wake_shm(m);
	return true;
}

/* See struct lmpi_transport: a message that is too long for the ring, perhaps as it was far. */
static uint64_t
eager_shm(struct lmpi_engine *e, const struct lmpi_peer *peer)
{
	(void)e;
	if (!near.on || near.eager_max <= peer->eager_max || shm_peer[peer->at].key != 0)
		return peer->eager_max;
	return near.of_other.far && ++near.asked % FAR_EVERY != 0 ? peer->eager_max
								  : near.eager_max;
}

bool
lmpi_shm_send_brief(const struct lmpi_peer *peer, uint64_t cid, int lsrank, int tag,
		    const void *data, uint64_t len)
{
	struct lmpi_brief b = {cid, lsrank, tag};

	return put_shm(&shm_peer[peer->at], LMPI_RING_BRIEF, &b, sizeof b, data, (size_t)len);
}

static bool
send_record(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	    const void *data, uint64_t len)
{
	(void)e;
	if (h->type == LMPI_T_EAGER && h->flags == 0)
		return lmpi_shm_send_brief(peer, h->cid, h->lsrank, h->tag, data, len);
	return put_shm(&shm_peer[peer->at], LMPI_RING_FULL, h, sizeof *h, data, (size_t)len);
}

static bool
send_pieces(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	size_t most = lmpi_ring_payload_max(shm_peer[peer->at].tx.size) - sizeof out->hdr;

	do {
		size_t n = out->len - out->sent < most ? (size_t)(out->len - out->sent) : most;
		if (out->hdr.type == LMPI_T_DATA)
			out->hdr.offset = out->sent;
		if (!send_record(e, peer, &out->hdr, out->data + out->sent, n))
			return false;
		out->sent += n;
	} while (out->sent < out->len);
	lmpi_out_done(e, out, true);
	return true;
}

static void
corrupt(const struct shm_peer *m)
{
	lmpi_fail("shared memory of rank %u is corrupt", m->world);
}

static void
take_full(const struct shm_peer *m, const uint8_t *p, size_t len)
{
	struct lmpi_hdr h;

	if (len < sizeof h) {
		corrupt(m);
		return;
	}
	memcpy(&h, p, sizeof h);
	len -= sizeof h;
	struct lmpi_sink *s = lmpi_arrive(&eng, &eng.peer[m->world], &h, len);
	if (s) {
		lmpi_sink_data(s, 0, p + sizeof h, len);
		lmpi_sink_end(&eng, s);
	}
}

static void
take_brief(const struct shm_peer *m, const uint8_t *p, size_t len)
{
	struct lmpi_brief b;

	if (len < sizeof b) {
		corrupt(m);
		return;
	}
	memcpy(&b, p, sizeof b);
	lmpi_arrive_whole(&eng, &eng.peer[m->world], b.cid, b.lsrank, b.tag, p + sizeof b,
			  len - sizeof b);
}

int
lmpi_shm_recv_brief(const struct lmpi_peer *peer, uint64_t cid, int source, int tag, void *buf,
		    uint64_t cap, struct lmpi_probed *got)
{
	struct shm_peer *m = &shm_peer[peer->at];
	struct lmpi_brief b;
	bool broken = false;
	unsigned kind;
	size_t len;
	const uint8_t *p = lmpi_ring_peek(&m->rx, &kind, &len, &broken);

	if (!p)
		return broken ? -1 : 0;
	if (kind != LMPI_RING_BRIEF || len < sizeof b)
		return -1;
	memcpy(&b, p, sizeof b);
	len -= sizeof b;
	if (b.cid != cid || b.lsrank != source || b.tag < 0 ||
	    (tag != LMPI_ANY_TAG && b.tag != tag) || len > cap)
		return -1;
	base_copy_few(buf, p + sizeof b, len);
	*got = (struct lmpi_probed){.source = b.lsrank, .tag = b.tag, .bytes = len};
	lmpi_ring_skip(&m->rx);
	if (lmpi_ring_owes(&m->rx) && lmpi_ring_give(&m->rx))
		wake_shm(m);
	return 1;
}

/* Take what one has sent; false: nothing. */
static bool
poll_mate(struct shm_peer *m)
{
	bool broken = false, woke = false;
	const uint8_t *p;
	unsigned kind;
	size_t len;
	int n = 0;

	for (; n < BURST && (p = lmpi_ring_peek(&m->rx, &kind, &len, &broken)); n++) {
		(kind == LMPI_RING_BRIEF ? take_brief : take_full)(m, p, len);
		lmpi_ring_skip(&m->rx);
		if (lmpi_ring_owes(&m->rx))
			woke |= lmpi_ring_give(&m->rx);
	}
	if (lmpi_ring_is_wanted(&m->rx))
		woke |= lmpi_ring_give(&m->rx);
	if (woke)
		wake_shm(m);
	if (broken)
		corrupt(m);
	return n > 0;
}

bool
lmpi_shm_poll(void)
{
	bool moved = false;

	for (uint32_t i = 0; i < nshm_peers; i++)
		if (shm_peer[i].seg && !shm_peer[i].shunned)
			moved |= poll_mate(&shm_peer[i]);
	return moved;
}

void
lmpi_shm_shun(const struct lmpi_peer *peer)
{
	shm_peer[peer->at].shunned = true;
}

/* Make the barriers of all who look whether this process dozes; false: do not sleep on a guess. */
static bool
tell_dozing(void)
{
	bool all = (mine && mine->barrier) || (hall && hall->barrier);

	if (mine)
		atomic_store(&mine->dozing, 1);
	if (hall)
		atomic_store(&hall->dozing, 1);
	atomic_thread_fence(memory_order_seq_cst);
	/* It was there when we began. */
	return !all || syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

bool
lmpi_shm_doze(void)
{
	dozers++;
	if (!mine && !hall)
		return true;
	if (!tell_dozing()) {
		lmpi_shm_awake();
		return false;
	}
	for (uint32_t i = 0; i < nshm_peers; i++) {
		struct shm_peer *m = &shm_peer[i];
		if (!m->seg || m->shunned)
			continue;
		if (m->rx.head != m->rx.given && lmpi_ring_give(&m->rx))
			wake_shm(m); /* it waits for room that it did not know of */
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
	if (--dozers > 0)
		return;
	if (mine)
		atomic_store_explicit(&mine->dozing, 0, memory_order_relaxed);
	if (hall)
		atomic_store_explicit(&hall->dozing, 0, memory_order_relaxed);
}

/* One system call's worth.  A guest's pid may have become another process's: what is at key_at in
 * its memory says so, in the same call where that is possible. */
static ssize_t
copy_some(const struct shm_peer *m, uint64_t address, void *mem, size_t n, bool write)
{
	uint64_t key = m->key;
	struct iovec local[] = {{&key, sizeof key}, {mem, n}};
	struct iovec remote[] = {{(void *)(uintptr_t)m->key_at, sizeof key},
				 {(void *)(uintptr_t)address, n}};
	ssize_t r;

	if (m->key != 0) {
		key = 0;
		r = process_vm_readv(m->pid, local, write ? 1 : 2, remote, write ? 1 : 2, 0);
		if (r < (ssize_t)sizeof key)
			return r < 0 ? r : 0;
		if (key != m->key) {
			errno = ESRCH;
			return -1;
		}
		if (!write)
			return r - (ssize_t)sizeof key;
	}
	return write ? process_vm_writev(m->pid, local + 1, 1, remote + 1, 1, 0)
		     : process_vm_readv(m->pid, local + 1, 1, remote + 1, 1, 0);
}

/* 1: done, 0: not allowed, -1: the process is gone. */
static int
copy_shm(struct shm_peer *m, uint64_t address, void *mem, uint64_t n, bool write)
{
	uint64_t at = 0;

	if (m->no_copy)
		return 0;
	while (at < n) {
		ssize_t r =
			copy_some(m, address + at, (uint8_t *)mem + at, (size_t)(n - at), write);
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

/* Take pieces of a message and copy them, as long as there are any: out of its memory the first
 * ones, into it the last. */
static int
copy_pieces(struct shm_peer *m, struct lmpi_share *s, uint32_t number, uint64_t address,
	    uint8_t *mem, uint64_t len, bool write)
{
	uint64_t size = lmpi_share_piece(len);
	uint32_t i;
	int r = 1;

	while (r == 1 && lmpi_share_take(s, number, !write, &i)) {
		uint64_t at = i * size;
		r = copy_shm(m, address + at, mem + at, len - at < size ? len - at : size, write);
		if (write)
			lmpi_share_took(s, r == 1);
	}
	return r;
}

/* The sender copies the last of what it took; false: it is gone.  Twice as long as a piece took us
 * (in cycles) it has the processor, most likely; then it may need this one. */
static bool
await_pieces(const struct shm_peer *m, struct lmpi_share *s, uint32_t theirs, uint64_t piece)
{
	uint64_t from = lmpi_cycles(), asked_ns = suci_udp_now_ns();

	while (lmpi_share_left(s, theirs) != 0) {
		__builtin_ia32_pause();
		if (lmpi_cycles() - from < 2 * piece)
			continue;
		sched_yield();
		from = lmpi_cycles();
		uint64_t now = suci_udp_now_ns();
		if (now - asked_ns < ALIVE_NS)
			continue;
		asked_ns = now;
		if (kill(m->pid, 0) < 0 && errno == ESRCH)
			return false;
	}
	return true;
}

static int
read_remote(struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t srq, uint64_t address,
	    void *to, uint64_t n)
{
	struct shm_peer *m = &shm_peer[peer->at];
	struct lmpi_share *s = m->to_me;
	uint32_t pieces = lmpi_share_pieces(n), number;

	/* Who sends, too, has to do with processes that are reading. */
	if (n < lmpi_tuned.share || n > LMPI_SHARE_LONGEST || m->no_copy || e->sends > 0 ||
	    lmpi_crowded())
		return copy_shm(m, address, to, n, false);
	struct lmpi_hdr h = lmpi_hdr_make(e, LMPI_T_HELP);
	number = lmpi_share_begin(s, pieces);
	h.srq = srq;
	h.drq = number;
	h.msglen = n;
	h.offset = (uint64_t)(uintptr_t)to;
	put_shm(m, LMPI_RING_FULL, &h, sizeof h, NULL, 0); /* without room it does without help */
	uint64_t from = lmpi_cycles();
	int r = copy_pieces(m, s, number, address, to, n, false);
	uint32_t theirs = lmpi_share_end(s, pieces), ours = pieces - theirs;
	uint64_t took = lmpi_cycles() - from;
	if (theirs && !await_pieces(m, s, theirs, took / (ours ? ours : 1)))
		return -1;
	if (r == 1 && atomic_load_explicit(&s->failed, memory_order_relaxed))
		return copy_shm(m, address, to, n, false);
	return r;
}

static void
help(struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t number, const void *data,
     uint64_t n, uint64_t address)
{
	(void)e;
	struct shm_peer *m = &shm_peer[peer->at];

	if (n <= LMPI_SHARE_LONGEST)
		copy_pieces(m, m->from_me, (uint32_t)number, address, (uint8_t *)(uintptr_t)data, n,
			    true);
}

bool
lmpi_node_reads(uint32_t world)
{
	return lmpi_route[world].reach == LMPI_REACH_SHM;
}

bool
lmpi_node_copy(uint32_t world, uint64_t address, void *mem, uint64_t n, bool write)
{
	const struct lmpi_peer *peer = &eng.peer[world];

	return (peer->caps & LMPI_CAP_MEMORY) &&
	       copy_shm(&shm_peer[peer->at], address, mem, n, write) == 1;
}

/* --- guests */

bool
lmpi_shm_open_hall(struct lmpi_shm_head *head, uint32_t seats)
{
	struct shm_peer *all = realloc(shm_peer, (nnode + seats) * sizeof *all);

	if (!all)
		return false;
	shm_peer = all;
	memset(all + nnode, 0, seats * sizeof *all);
	hall = head;
	/* Other threads may be asleep. */
	atomic_store(&hall->dozing, dozers > 0);
	return true;
}

uint32_t
lmpi_shm_guest(uint32_t seat, const struct lmpi_shm_guest *g)
{
	uint32_t at = nnode + seat;
	struct shm_peer *m = &shm_peer[at];
	uint64_t key;

	*m = (struct shm_peer){
		.seg = g->head,
		.seg_bytes = g->bytes,
		.tx = {.ring = g->ring_to, .size = g->ring_bytes},
		.rx = {.ring = g->ring_from, .size = g->ring_bytes},
		.from_me = g->from_me,
		.to_me = g->to_me,
		.world = g->world,
		.pid = g->pid,
		.barrier = hall->barrier && g->head->barrier,
		.no_copy = lmpi_knob_number(LMPI_KNOB_CMA) == 0,
		.bell_fd = -1,
		.key = g->key,
		.key_at = g->key_at,
	};
	memcpy(m->bell, g->bell, sizeof m->bell);
	nshm_peers = at < nshm_peers ? nshm_peers : at + 1;
	attached++;
	/* Does this system allow it at all? */
	m->no_copy |= copy_shm(m, m->key_at, &key, sizeof key, false) != 1;
	lmpi_set_spin(attached + 1);
	return at;
}

bool
lmpi_shm_drop(uint32_t seat)
{
	struct shm_peer *m = &shm_peer[nnode + seat];

	if (!m->seg)
		return true;
	struct lmpi_peer *peer = &eng.peer[m->world];
	if (!peer->lost && lmpi_net_wanted && lmpi_net_wanted(m->world))
		return false;
	munmap(m->seg, m->seg_bytes);
	lmpi_bell_drop(&m->bell_fd);
	if (!peer->lost)
		lmpi_reach_by(peer, LMPI_REACH_DIRECT);
	*m = (struct shm_peer){0};
	attached--;
	return true;
}

const struct lmpi_transport lmpi_shm_transport = {
	.caps = LMPI_CAP_MEMORY | LMPI_CAP_NESTS | LMPI_CAP_ASKS_OFF,
	.send = send_pieces,
	.try_short = send_record,
	.eager = eager_shm,
	.read_remote = read_remote,
	.help = help,
};
