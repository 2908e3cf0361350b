/* SPDX-License-Identifier: BSD-2-Clause */
/* test_suci_path.h - two endpoints with a path between them, for the suites of single
 * path mechanisms: segments with numbers, each to be seen exactly once. */
#ifndef TEST_SUCI_PATH_H
#define TEST_SUCI_PATH_H

#include "test_suci_link.h"

#define PAIR_SEGS 20000
#define PAIR_DATA 65000

struct pair_side {
	struct pair *t;
	uint32_t path, ups, downs, moves, acked, abandoned, segments;
	bool up, incoming;
	enum suci_down why;
	char text[SUCI_TEXT_MAX];
	uint64_t down_ns, last_seen_ns;
	struct suci_addr moved_from, moved_to;
	char hello[SUCI_HELLO_MAX];
	uint8_t seen[PAIR_SEGS], released[PAIR_SEGS];
	char note[1024];
	uint32_t notes, news, latest;
	/* ops->pull: so many more of that length */
	uint32_t to_pull, next;
	uint16_t pull_len;
	/* What a test wants it to say: why no path is accepted; of a segment what it likes.  NULL:
	 * yes, all of them. */
	const char *no_accept;
	enum suci_verdict (*verdict)(struct pair_side *s, const struct suci_segment *seg);
};

struct pair {
	struct link l;
	struct pair_side s[2];
	struct suci_config conf[2];
	uint8_t payload[PAIR_DATA];
	uint32_t want;
	/* for the filter of a test */
	size_t most; /* longer datagrams are lost; 0: none */
	uint64_t count;
};

static inline int
pair_on_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	       char why[SUCI_TEXT_MAX])
{
	struct pair_side *s = user;
	(void)from, (void)hello, (void)hello_len;
	if (s->no_accept)
		snprintf(why, SUCI_TEXT_MAX, "%s", s->no_accept);
	return s->no_accept != NULL;
}

static inline void
pair_on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	   size_t hello_len, bool incoming)
{
	struct pair_side *s = user;
	(void)peer;
	assert_false(s->up);
	s->path = path;
	s->up = true;
	s->ups++;
	s->incoming = incoming;
	memset(s->hello, 0, sizeof s->hello);
	memcpy(s->hello, hello, hello_len);
}

static inline void
pair_on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct pair_side *s = user;
	(void)path;
	s->up = false;
	s->downs++;
	s->why = why;
	s->down_ns = s->t->l.now_ns;
	snprintf(s->text, sizeof s->text, "%s", text);
}

static inline enum suci_verdict
pair_on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct pair_side *s = user;
	(void)path;
	assert_true(seg->seq < PAIR_SEGS);
	assert_memory_equal(seg->data, s->t->payload, seg->data_len);
	enum suci_verdict v = s->verdict ? s->verdict(s, seg) : SUCI_TAKEN;
	if (v != SUCI_TAKEN)
		return v;
	s->seen[seg->seq]++;
	s->segments++;
	s->last_seen_ns = now_ns;
	return SUCI_TAKEN;
}

static inline void
pair_on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	struct pair_side *s = user;
	(void)path, (void)now_ns;
	assert_true(cookie < PAIR_SEGS);
	assert_int_equal(s->released[cookie]++, 0);
	s->acked += fate == SUCI_FATE_ACKED;
	s->abandoned += fate != SUCI_FATE_ACKED;
	if (fate == SUCI_FATE_ACKED)
		assert_true(s->t->s[!(s - s->t->s)].seen[cookie] > 0);
}

static inline bool
pair_on_pull(void *user, uint32_t path, struct suci_segment *seg, uint64_t now_ns)
{
	struct pair_side *s = user;
	(void)path, (void)now_ns;
	if (!s->to_pull)
		return false;
	s->to_pull--;
	*seg = (struct suci_segment){
		.seq = s->next, .cookie = s->next, .data = s->t->payload, .data_len = s->pull_len};
	s->next++;
	return true;
}

static inline void
pair_on_moved(void *user, uint32_t path, const struct suci_addr *old, const struct suci_addr *now)
{
	struct pair_side *s = user;
	assert_int_equal(path, s->path);
	s->moves++;
	s->moved_from = *old;
	s->moved_to = *now;
}

static inline void
pair_on_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct pair_side *s = user;
	(void)path, (void)now_ns;
	memcpy(s->note, note, len);
	s->notes++;
	s->news += suci_note_is_news(s->t->l.ep[s - s->t->s], &s->latest);
}

static const struct suci_ops pair_ops = {
	.accept = pair_on_accept,
	.path_up = pair_on_up,
	.path_down = pair_on_down,
	.segment = pair_on_segment,
	.released = pair_on_released,
	.pull = pair_on_pull,
	.path_moved = pair_on_moved,
	.note = pair_on_note,
};

/* Endpoints are made by pair_start(), so that a test can change conf[] before.  t is zero. */
static inline void
pair_init(struct pair *t, uint64_t seed, uint64_t delay_ns)
{
	link_init(&t->l, seed, delay_ns);
	t->l.arg = t;
	for (int side = 0; side < 2; side++) {
		t->s[side].t = t;
		t->conf[side] = link_config(side);
		t->conf[side].ops = &pair_ops;
		t->conf[side].user = &t->s[side];
	}
	for (size_t i = 0; i < sizeof t->payload; i++)
		t->payload[i] = (uint8_t)(i * 7);
}

static inline struct pair *
pair_new(uint64_t seed, uint64_t delay_ns)
{
	struct pair *t = calloc(1, sizeof *t);
	assert_non_null(t);
	pair_init(t, seed, delay_ns);
	return t;
}

static inline bool
pair_both_up(void *arg)
{
	struct pair *t = arg;
	return t->s[0].up && t->s[1].up;
}

static inline void
pair_open(struct pair *t)
{
	assert_int_equal(
		suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &t->s[0].path, t->l.now_ns), 0);
	assert_true(link_run(&t->l, t->l.now_ns + 5 * BASE_S_NS, pair_both_up, t));
}

static inline void
pair_make(struct pair *t)
{
	for (int side = 0; side < 2; side++)
		t->l.ep[side] = link_endpoint(&t->conf[side], t->l.now_ns);
}

static inline void
pair_start(struct pair *t)
{
	pair_make(t);
	pair_open(t);
}

static inline void
pair_free(struct pair *t)
{
	for (int side = 0; side < 2; side++)
		LINK_GIVE(suci_fini(t->l.ep[side], t->l.now_ns));
	link_drop_wire(&t->l);
	free(t);
}

static inline void
pair_send(struct pair *t, int side, uint32_t n, uint16_t len)
{
	t->s[side].to_pull += n;
	t->s[side].pull_len = len;
	suci_path_wake(t->l.ep[side], t->s[side].path);
}

static inline void
pair_run(struct pair *t, uint64_t ns)
{
	link_run(&t->l, t->l.now_ns + ns, NULL, NULL);
}

static inline bool
pair_all_acked(void *arg)
{
	struct pair *t = arg;
	return t->s[0].acked == t->want;
}

static inline struct suci_path_info
pair_info(const struct pair *t, int side)
{
	struct suci_path_info i;
	assert_true(suci_path_info(t->l.ep[side], t->s[side].path, &i));
	return i;
}

static inline const struct suci_counters *
pair_count(const struct pair *t, int side)
{
	return suci_counters(t->l.ep[side]);
}

/* Datagrams above t->most are lost. */
static inline bool
pair_too_long(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct pair *t = l->arg;
	(void)from, (void)bytes;
	return t->most && len > t->most;
}

#endif
