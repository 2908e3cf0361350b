/* SPDX-License-Identifier: BSD-2-Clause */
/* The part that is told what to do, and what both parts need. */
#include "perf.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define FOLD	  (64ull << 20)
#define FOLD_FROM (256ull << 20)	/* larger blocks lie in folded memory */
#define MAGIC	  0x5375636970657266ull /* "Suciperf" */

uint64_t
now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t
cpu_ns(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	uint64_t us = (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u + us * 1000u;
}

int
complain(struct run *r, const char *what)
{
	fprintf(stderr, "suci-perf: id %u: %s: %s\n", r->me, what, datagram_error(r->s));
	return -1;
}

/* A buffer of any size from FOLD bytes of memory, mapped again and again one behind the
 * other: what is written to one place is read in all. */
static uint8_t *
map_folded(uint64_t len)
{
	int fd = memfd_create("suci-perf", MFD_CLOEXEC);
	uint8_t *at = MAP_FAILED;
	if (fd >= 0 && ftruncate(fd, FOLD) == 0)
		at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (uint64_t off = 0; at != MAP_FAILED && off < len; off += FOLD)
		if (mmap(at + off, FOLD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED) {
			munmap(at, len);
			at = MAP_FAILED;
		}
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

void
free_buffer(struct run *r)
{
	if (r->folded)
		munmap(r->buf, r->buf_len);
	else
		free(r->buf);
	r->buf = NULL;
	r->buf_len = 0;
	r->folded = false;
}

bool
need_buffer(struct run *r, uint64_t len)
{
	len = len < CONTROL_BYTES ? CONTROL_BYTES : len;
	if (r->buf_len >= len)
		return true;
	free_buffer(r);
	r->folded = len > FOLD_FROM;
	if (r->folded)
		len = (len + FOLD - 1) / FOLD * FOLD;
	r->buf = r->folded ? map_folded(len) : malloc(len);
	r->buf_len = r->buf ? len : 0;
	if (!r->buf) {
		fprintf(stderr, "suci-perf: no memory for blocks of %llu bytes\n",
			(unsigned long long)len);
		return false;
	}
	memset(r->buf, 0x5a, r->folded ? FOLD : len); /* no page faults while measuring */
	return true;
}

/* Of those we wait for one is not there any more, or never came. */
static bool
gone(struct run *r, uint32_t id)
{
	struct datagram_info i;
	if (datagram_queue_length(r->s, id) < 0) {
		complain(r, "waiting");
		return true;
	}
	if (datagram_info(r->s, id, &i) || i.state != DATAGRAM_IDLE)
		return false;
	fprintf(stderr, "suci-perf: id %u: id %u is gone\n", r->me, id);
	errno = ECONNRESET;
	return true;
}

static bool
somebody_gone(struct run *r)
{
	if (r->o->role == ROLE_SERVER)
		return false; /* another client comes */
	if (r->o->role == ROLE_CLIENT)
		return gone(r, r->root);
	if (r->me != r->root)
		return r->met && gone(r, r->root);
	bool pair = r->o->mode == MODE_PINGPONG || r->o->mode == MODE_BURST;
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->ids[i] == r->me)
			continue;
		if (gone(r, r->ids[i]))
			return true;
		if (pair)
			return false;
	}
	return false;
}

/* A signal that comes while nobody sleeps interrupts nothing. */
volatile sig_atomic_t perf_told_to_end;

int64_t
read_any(struct run *r)
{
	int64_t n;
	do {
		n = datagram_read_within(r->s, 1, 0, r->buf, r->buf_len);
		if (n < 0 && errno == EAGAIN && somebody_gone(r))
			return -1;
		if (n < 0 && errno == EAGAIN && perf_told_to_end)
			errno = EINTR;
	} while (n < 0 && errno == EAGAIN);
	if (n < 0 && errno != EINTR)
		complain(r, "read");
	return n;
}

int
send_control(struct run *r, uint32_t to, const struct control *c)
{
	uint8_t b[CONTROL_BYTES];
	const uint64_t word[CONTROL_BYTES / 8] = {MAGIC,    c->op, c->mode,   c->size,
						  c->count, c->ns, c->cpu_ns, c->bad};
	for (unsigned i = 0; i < CONTROL_BYTES / 8; i++)
		be64_store(b + (size_t)8 * i, word[i]);
	if (datagram_destination(r->s, to) || datagram_write(r->s, b, sizeof b) < 0)
		return complain(r, "control");
	return 0;
}

bool
get_control(const void *buf, int64_t len, struct control *c)
{
	const uint8_t *b = buf;
	if (len != CONTROL_BYTES || be64_load(b) != MAGIC)
		return false;
	*c = (struct control){
		.op = be64_load(b + 8),
		.mode = be64_load(b + 16),
		.size = be64_load(b + 24),
		.count = be64_load(b + 32),
		.ns = be64_load(b + 40),
		.cpu_ns = be64_load(b + 48),
		.bad = be64_load(b + 56),
	};
	return true;
}

/* The first 8 bytes of a block say which one it is. */
void
stamp(uint8_t *buf, uint64_t size, uint64_t number)
{
	if (size >= 8)
		be64_store(buf, number);
}

bool
stamped(const uint8_t *buf, uint64_t size, uint64_t number)
{
	return size < 8 || be64_load(buf) == number;
}

/* ---- the binomial tree ---- */

/* Position of an id counted from the root. */
static uint32_t
position(const struct run *r, uint32_t id)
{
	uint32_t at = 0, root = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		at = r->ids[i] == id ? i : at;
		root = r->ids[i] == r->root ? i : root;
	}
	return at >= root ? at - root : at + r->n - root;
}

static uint32_t
id_at(const struct run *r, uint32_t pos)
{
	uint32_t root = 0;
	while (r->ids[root] != r->root)
		root++;
	return r->ids[(pos + root) % r->n];
}

bool
tree_parent(const struct run *r, uint32_t id, uint32_t *parent)
{
	uint32_t pos = position(r, id);
	if (!pos)
		return false;
	*parent = id_at(r, pos & (pos - 1));
	return true;
}

uint32_t
tree_children(const struct run *r, uint32_t id, uint32_t child[32])
{
	uint32_t pos = position(r, id), n = 0, bit = 1;
	/* The largest subtree first: it has the longest way to go. */
	while (bit < r->n && !(pos & bit))
		bit <<= 1;
	for (bit >>= 1; bit; bit >>= 1)
		if (pos + bit < r->n)
			child[n++] = id_at(r, pos + bit);
	return n;
}

/* ---- rounds ---- */

/* Read one block of the round; 0, or -1. */
static int
read_block(struct run *r, const struct control *c, uint64_t number, uint32_t from, uint64_t *bad)
{
	int64_t n = read_any(r);
	if (n < 0)
		return -1;
	if ((uint64_t)n != c->size || datagram_source(r->s) != from ||
	    !stamped(r->buf, c->size, number))
		++*bad;
	return 0;
}

static int
echo(struct run *r, const struct control *c, uint32_t from, uint64_t *bad)
{
	for (uint64_t i = 0; i < c->count; i++) {
		if (read_block(r, c, i, from, bad))
			return -1;
		if (datagram_write(r->s, r->buf, c->size) < 0)
			return complain(r, "echo");
	}
	return 0;
}

static int
forward_serve(struct run *r, const struct control *c, uint64_t *bad)
{
	uint32_t child[32], n = tree_children(r, r->me, child), parent = r->root;
	(void)tree_parent(r, r->me, &parent);
	for (uint32_t k = 0; k < n; k++)
		if (send_control(r, child[k], c))
			return -1;
	for (uint64_t i = 0; i < c->count; i++) {
		if (read_block(r, c, i, parent, bad))
			return -1;
		for (uint32_t k = 0; k < n; k++)
			if (datagram_destination(r->s, child[k]) ||
			    datagram_write(r->s, r->buf, c->size) < 0)
				return complain(r, "broadcast");
	}
	return 0;
}

static int
round_of(struct run *r, const struct control *c, uint32_t from)
{
	struct control res = {.op = OP_RESULT, .mode = c->mode, .size = c->size};
	uint64_t t0 = now_ns(), cpu0 = cpu_ns();
	int err = 0;
	if (!need_buffer(r, c->size) || datagram_destination(r->s, from))
		return -1;
	switch (c->mode) {
	case MODE_PINGPONG:
		err = echo(r, c, from, &res.bad);
		break;
	case MODE_BURST:
		for (uint64_t i = 0; i < c->count && !err; i++)
			err = read_block(r, c, i, from, &res.bad);
		break;
	case MODE_GATHER:
		for (uint64_t i = 0; i < c->count && !err; i++) {
			stamp(r->buf, c->size, i);
			if (datagram_write(r->s, r->buf, c->size) < 0)
				err = complain(r, "gather");
		}
		break;
	case MODE_TREE:
		err = forward_serve(r, c, &res.bad);
		break;
	default:
		fprintf(stderr, "suci-perf: unknown mode %llu\n", (unsigned long long)c->mode);
		return -1;
	}
	if (err)
		return -1;
	res.count = c->count;
	res.ns = now_ns() - t0;
	res.cpu_ns = cpu_ns() - cpu0;
	return send_control(r, c->mode == MODE_TREE ? r->root : from, &res);
}

/* Rounds for whoever leads, until it says the end (server: for ever, unless --once). */
int
serve(struct run *r)
{
	bool server = r->o->role == ROLE_SERVER;
	struct control c;
	while (!perf_told_to_end) {
		if (!need_buffer(r, CONTROL_BYTES))
			return -1;
		int64_t n = read_any(r);
		if (n < 0)
			return errno == EINTR ? 0 : -1;
		uint32_t from = (uint32_t)datagram_source(r->s);
		if (!get_control(r->buf, n, &c))
			continue; /* of a leader that went in the middle of a round */
		r->met = true;
		if (c.op == OP_END && (!server || r->o->once))
			return 0;
		if (c.op == OP_ROUND && round_of(r, &c, from) && !server)
			return -1;
	}
	return 0;
}
