/* Lanes over two endpoints: blocks exactly once, in order, byte for byte. */
#include "test_suci_link.h"

#include "lane_private.h"

#include "base/serial.h"

#include <sys/mman.h>

#define BLOCKS_MAX 4096

struct block {
	uint64_t bytes, got;
	uint8_t *data; /* what the lane sends from; freed when done */
	uint8_t *ref;
	uint8_t *seen;
	bool begun, ended;
};

struct host {
	struct world *w;
	struct suci_lanes *ls;
	uint32_t path, lane;
	bool up, lane_up;
	/* sent by this host */
	uint32_t sent, done_ok, done_bad;
	struct block tx[BLOCKS_MAX];
	/* received by this host, compared with the other's tx */
	uint32_t begun, ended;
	bool downed;
	char text[SUCI_TEXT_MAX];
	enum suci_down why;
	uint64_t got;
	uint32_t crc_to_break;
	uint32_t room; /* blocks that may begin */
};

struct world {
	struct link l;
	bool fake; /* one huge block of zeros: only counted */
	uint32_t mtu;
	bool late; /* who accepts opens no lane by itself: on_unknown() says when */
	enum suci_verdict unknown;
	struct host h[2];
	struct suci_lane_conf conf;
	struct suci_lane_limits limits;
	uint32_t paths_up;
};

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	  char why[SUCI_TEXT_MAX])
{
	(void)user;
	(void)from;
	(void)why;
	assert_int_equal(hello_len, 7);
	assert_memory_equal(hello, "hello-a", 7);
	return 0;
}

static int
side_of(const struct host *h)
{
	return (int)(h - h->w->h);
}

static void
open_lane(struct host *h)
{
	int side = side_of(h);
	struct suci_lane_conf c = h->w->conf;
	c.path = h->path;
	c.tx_dst_label = c.rx_src_label = 16u + !side;
	c.tx_src_label = c.rx_dst_label = 16u + (unsigned)side;
	c.tx_salt = (uint64_t)side << 32 | !side;
	c.rx_salt = (uint64_t)!side << 32 | (unsigned)side;
	assert_int_equal(suci_lane_open(h->ls, &c, &h->lane, h->w->l.now_ns), 0);
	h->lane_up = true;
}

static void
on_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	   size_t hello_len, bool incoming)
{
	struct host *h = user;
	(void)peer;
	(void)hello;
	(void)hello_len;
	h->path = path;
	h->up = true;
	if (incoming && !h->w->late)
		open_lane(h);
}

static enum suci_verdict
on_unknown(void *user, uint32_t path, uint32_t dst_label, uint32_t src_label)
{
	struct host *h = user;
	(void)path;
	assert_int_equal(dst_label, 16 + side_of(h));
	assert_int_equal(src_label, 16 + !side_of(h));
	if (h->w->unknown == SUCI_TAKEN)
		open_lane(h);
	return h->w->unknown;
}

static void
on_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct host *h = user;
	(void)path;
	(void)why;
	(void)text;
	h->up = false;
}

static void *
on_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	 uint64_t now_ns)
{
	struct host *h = user;
	(void)lane;
	(void)first;
	(void)now_ns;
	if (h->w->fake) {
		assert_true(bytes > UINT32_MAX);
		h->begun++;
		return h;
	}
	struct block *b = &h->w->h[!side_of(h)].tx[h->begun++];
	assert_false(b->begun);
	assert_int_equal(b->bytes, bytes);
	assert_true(first_len <= bytes);
	b->begun = true;
	return b;
}

static void
on_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	struct block *b = block;
	struct host *h = user;
	(void)lane;
	h->got += len;
	if (h->w->fake)
		return;
	assert_true(b->begun && !b->ended && len > 0);
	assert_true(offset + len <= b->bytes);
	assert_memory_equal(b->ref + offset, data, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(b->seen[offset + i]++, 0);
	b->got += len;
}

static void
on_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct host *h = user;
	struct block *b = block;
	(void)lane;
	(void)now_ns;
	if (h->w->fake) {
		h->ended++;
		return;
	}
	assert_false(b->ended);
	assert_int_equal(b->got, b->bytes);
	b->ended = true;
	h->ended++;
}

static void
on_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct host *h = user;
	(void)lane;
	(void)now_ns;
	struct block *b = &h->tx[cookie];
	if (h->w->fake) {
		h->done_ok += ok;
		return;
	}
	if (ok) {
		/* Nothing acked end to end that was not placed; on a direct lane the
		 * receiver may still hold a segment that came early. */
		assert_true(b->ended || h->w->conf.direct);
		h->done_ok++;
	} else {
		h->done_bad++;
	}
	free(b->data); /* the memory is ours again: use after this is caught by asan */
	b->data = NULL;
}

static void
on_hold(void *user, uint64_t cookie)
{
	link_hold(&((struct host *)user)->w->l, cookie);
}

static void
on_release(void *user, uint64_t cookie)
{
	link_release(&((struct host *)user)->w->l, cookie);
}

static void
on_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	struct host *h = user;
	(void)lane;
	h->downed = true;
	h->lane_up = false;
	h->why = why;
	snprintf(h->text, sizeof h->text, "%s", text);
}

static bool
on_room(void *user, uint32_t lane, uint64_t bytes)
{
	struct host *h = user;
	(void)lane;
	if (!h->w->fake)
		assert_int_equal(bytes, h->w->h[!side_of(h)].tx[h->begun].bytes);
	if (h->room == 0)
		return false;
	h->room--;
	return true;
}

static const struct suci_lane_ops lane_ops = {
	.block_begin = on_begin,
	.block_data = on_data,
	.block_end = on_end,
	.block_done = on_done,
	.hold = on_hold,
	.release = on_release,
	.lane_down = on_lane_down,
	.lane_unknown = on_unknown,
	.accept = on_accept,
	.path_up = on_path_up,
	.path_down = on_path_down,
	.block_room = on_room,
};

static void
world_endpoint(struct world *w, int side)
{
	struct host *h = &w->h[side];
	h->w = w;
	h->room = UINT32_MAX;
	struct suci_lanes_config lc = {.limits = w->limits, .ops = &lane_ops, .user = h};
	size_t n = suci_lanes_footprint(&lc.limits);
	assert_true(n > 0);
	void *mem = aligned_alloc(64, n);
	assert_non_null(mem);
	memset(mem, 0x5a, n);
	h->ls = suci_lanes_new(mem, &lc);
	assert_non_null(h->ls);
	struct suci_config c = link_config(side);
	if (w->mtu)
		c.mtu_max = w->mtu;
	c.ops = suci_lanes_ops();
	c.user = h->ls;
	w->l.ep[side] = link_endpoint(&c, w->l.now_ns);
	suci_lanes_bind(h->ls, w->l.ep[side]);
}

static struct world *
world_new(uint64_t seed, uint64_t delay_ns)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	link_init(&w->l, seed, delay_ns);
	w->limits = (struct suci_lane_limits){.lanes_max = 4,
					      .blocks_max = BLOCKS_MAX,
					      .rx_blocks_max = 64,
					      .held_max = 512,
					      .ranges_max = 1024,
					      .labels_max = 32};
	w->conf = (struct suci_lane_conf){
		.direct = true, .crc = true, .window = 1024, .skip_off = 8, .skip_len = 48};
	return w;
}

static void
world_open(struct world *w)
{
	world_endpoint(w, 0);
	world_endpoint(w, 1);
	assert_int_equal(
		suci_path_open(w->l.ep[0], &w->l.addr[1], NULL, 0, &w->h[0].path, w->l.now_ns), 0);
	open_lane(&w->h[0]); /* while connecting: sending waits */
}

static void
world_free(struct world *w)
{
	for (int side = 0; side < 2; side++) {
		free(suci_fini(w->l.ep[side], w->l.now_ns));
		assert_int_equal(suci_lanes_pending(w->h[side].ls), 0);
		free(suci_lanes_fini(w->h[side].ls));
		for (uint32_t i = 0; i < w->h[side].sent; i++) {
			free(w->h[side].tx[i].data);
			free(w->h[side].tx[i].ref);
			free(w->h[side].tx[i].seen);
		}
	}
	link_drop_wire(&w->l);
	assert_int_equal(w->l.held, 0);
	free(w);
}

static void
send_block(struct world *w, int side, size_t head_len, uint64_t data_len, bool wait)
{
	struct host *h = &w->h[side];
	struct block *b = &h->tx[h->sent];
	b->bytes = head_len + data_len;
	b->data = malloc(b->bytes + 1);
	b->seen = calloc(1, b->bytes + 1);
	b->ref = malloc(b->bytes + 1);
	assert_true(b->data && b->seen && b->ref);
	for (uint64_t i = 0; i < b->bytes; i++)
		b->data[i] = (uint8_t)(i * 7 + h->sent * 13 + (i >> 8));
	memcpy(b->ref, b->data, b->bytes);
	assert_int_equal(suci_lane_send(h->ls, h->lane, b->data, head_len, b->data + head_len,
					data_len, wait, h->sent, w->l.now_ns),
			 0);
	h->sent++;
}

static bool
all_done(void *arg)
{
	struct world *w = arg;
	return suci_lanes_pending(w->h[0].ls) == 0 && suci_lanes_pending(w->h[1].ls) == 0;
}

static void
expect_all(struct world *w, int from)
{
	struct host *tx = &w->h[from], *rx = &w->h[!from];
	assert_int_equal(tx->done_ok, tx->sent);
	assert_int_equal(tx->done_bad, 0);
	assert_int_equal(rx->begun, tx->sent);
	assert_int_equal(rx->ended, tx->sent);
}

static const struct {
	const char *name;
	bool direct;
	uint64_t delay_ns, jitter_ns, loss_ppb, dup_ppb;
	uint32_t blocks;
	uint64_t bytes_max;
	uint64_t within_ns;
} stream_cases[] = {
	{"clean, direct", true, 20000, 0, 0, 0, 300, 20000, BASE_S_NS},
	{"clean, relayed", false, 20000, 0, 0, 0, 300, 20000, BASE_S_NS},
	{"reorder", true, 50000, 100000, 0, 0, 200, 30000, 5 * BASE_S_NS},
	{"duplicates", false, 50000, 0, 0, 100000000, 200, 30000, 5 * BASE_S_NS},
	{"1% loss", true, 1000000, 0, 10000000, 0, 100, 100000, 20 * BASE_S_NS},
	{"10% loss, reorder, dup, relayed", false, 1000000, 500000, 100000000, 50000000, 60, 60000,
	 60 * BASE_S_NS},
	{"30% loss", true, 100000, 50000, 300000000, 0, 40, 40000, 60 * BASE_S_NS},
};

static void
test_streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof stream_cases / sizeof *stream_cases; i++) {
		print_message("  %s\n", stream_cases[i].name);
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct world *w = world_new(seed, stream_cases[i].delay_ns);
			w->l.jitter_ns = stream_cases[i].jitter_ns;
			w->l.loss_ppb = stream_cases[i].loss_ppb;
			w->l.dup_ppb = stream_cases[i].dup_ppb;
			w->conf.direct = stream_cases[i].direct;
			world_open(w);
			struct base_prng r = base_prng_seed(seed * 77);
			link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
			assert_true(w->h[1].lane_up);
			for (uint32_t k = 0; k < stream_cases[i].blocks; k++) {
				uint64_t n =
					base_prng_below(&r, 4)
						? base_prng_below(&r, 300)
						: base_prng_below(&r, stream_cases[i].bytes_max);
				size_t head = base_prng_below(&r, SUCI_BLOCK_HEAD_MAX + 1);
				send_block(w, (int)(k & 1), head, n, base_prng_below(&r, 2));
			}
			bool ok = link_run(&w->l, w->l.now_ns + stream_cases[i].within_ns, all_done,
					   w);
			assert_true(ok);
			expect_all(w, 0);
			expect_all(w, 1);
			world_free(w);
		}
	}
}

static struct world *
world_up(uint64_t seed, bool direct, struct suci_lane_limits *limits)
{
	struct world *w = world_new(seed, 20000);
	w->conf.direct = direct;
	if (limits)
		w->limits = *limits;
	world_open(w);
	link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
	assert_true(w->h[1].lane_up);
	return w;
}

static struct lane *
lane_of(struct world *w, int side)
{
	return &w->h[side].ls->lane[w->h[side].lane];
}

/* Segment numbers and packet numbers just before they wrap. */
static void
test_wrap(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_up(3, direct, NULL);
		for (int side = 0; side < 2; side++) {
			struct lane *tx = lane_of(w, side), *rx = lane_of(w, !side);
			uint32_t s = UINT32_MAX - 100;
			tx->next_seq = tx->acked_seq = rx->rx_next = rx->next_begin = rx->told = s;
			struct suci_path *p = &w->l.ep[side]->path[w->h[side].path];
			struct suci_path *q = &w->l.ep[!side]->path[w->h[!side].path];
			p->next_pn = UINT32_MAX - 150ull;
			suci_acks_init(&q->acks, UINT32_MAX - 150u);
		}
		w->l.jitter_ns = 30000;
		w->l.loss_ppb = 20000000;
		for (int i = 0; i < 200; i++)
			send_block(w, i & 1, 50, (uint64_t)(i % 40) * 100, true);
		assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		expect_all(w, 1);
		assert_true(lane_of(w, 1)->rx_next < 1000);
		assert_true(w->l.ep[0]->path[w->h[0].path].next_pn > UINT32_MAX);
		world_free(w);
	}
}

static void
test_beyond_4_gib(void **state)
{
	(void)state;
	uint64_t bytes = (1ull << 32) + 123457;
	void *zeros =
		mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(zeros != MAP_FAILED);
	struct world *w = world_new(1, 20000);
	w->fake = true;
	w->mtu = 65000;
	w->conf.crc = false;
	w->conf.window = 1 << 18;
	world_open(w);
	assert_int_equal(suci_lane_send(w->h[0].ls, w->h[0].lane, zeros, 3, zeros, bytes, true, 0,
					w->l.now_ns),
			 0);
	assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
	assert_true(w->h[1].got == bytes + 3);
	assert_int_equal(w->h[1].ended, 1);
	assert_int_equal(w->h[0].done_ok, 1);
	assert_int_equal(
		suci_lane_send(w->h[0].ls, w->h[0].lane, NULL, 0, zeros, 1ull << 43, true, 0, 0),
		SUCI_ERR_INVAL);
	world_free(w);
	munmap(zeros, bytes);
}

static void
test_zero_bytes_and_limits(void **state)
{
	(void)state;
	struct suci_lane_limits few = {.lanes_max = 1,
				       .blocks_max = 3,
				       .rx_blocks_max = 2,
				       .held_max = 2,
				       .ranges_max = 4,
				       .labels_max = 20};
	struct world *w = world_up(1, true, &few);
	send_block(w, 0, 0, 0, true);
	send_block(w, 0, 8, 0, false);
	send_block(w, 0, 0, 1, false);
	uint8_t x[SUCI_BLOCK_HEAD_MAX + 1] = {0};
	struct suci_lanes *ls = w->h[0].ls;
	assert_int_equal(suci_lane_send(ls, w->h[0].lane, x, 1, NULL, 0, false, 9, 0),
			 SUCI_ERR_NOMEM);
	assert_int_equal(suci_lane_send(ls, w->h[0].lane, x, sizeof x, NULL, 0, false, 9, 0),
			 SUCI_ERR_INVAL);
	assert_int_equal(suci_lane_send(ls, 1, x, 1, NULL, 0, false, 9, 0), SUCI_ERR_DOWN);
	struct suci_lane_conf c = w->conf;
	uint32_t lane;
	c.path = w->h[0].path;
	c.rx_dst_label = 20;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_INVAL);
	c.rx_dst_label = 1;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_NOMEM);
	c.rx_dst_label = 16;
	c.rx_src_label = 17;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_EXISTS);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
	expect_all(w, 0);
	world_free(w);
}

/* Very little room at the receiver, and everything out of order: refused
 * segments come again, nothing is stuck. */
static void
test_tight_receiver(void **state)
{
	(void)state;
	struct suci_lane_limits few = {.lanes_max = 1,
				       .blocks_max = 300,
				       .rx_blocks_max = 2,
				       .held_max = 2,
				       .ranges_max = 3,
				       .labels_max = 20};
	uint64_t refused = 0;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world *w = world_up(seed, seed & 1, &few);
		w->l.jitter_ns = 60000;
		w->l.loss_ppb = 50000000;
		for (int i = 0; i < 120; i++)
			send_block(w, i & 1, 20, (uint64_t)(i * 811 % 6000), true);
		assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		expect_all(w, 1);
		const struct suci_lane_counters *n = suci_lane_counters(w->h[1].ls);
		refused += n->refused_held + n->refused_blocks + n->refused_ranges;
		world_free(w);
	}
	assert_true(refused > 0);
}

static uint32_t in_flight_max;

static bool
watch_lane(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	struct suci_lane_info in;
	(void)bytes;
	(void)len;
	if (!from && suci_lane_info(w->h[0].ls, w->h[0].lane, &in)) {
		uint32_t out = in.tx_next_seq - in.tx_acked_seq;
		in_flight_max = out > in_flight_max ? out : in_flight_max;
	}
	return false;
}

/* A relayed lane stops at the receiver's window and goes on by its acks. */
static void
test_lane_credit(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_new(2, 20000);
		w->conf.direct = direct;
		w->conf.window = 64;
		w->l.arg = w;
		w->l.filter = watch_lane;
		in_flight_max = 0;
		world_open(w);
		send_block(w, 0, 0, 2000000, false);
		assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		assert_true(in_flight_max > 32 && in_flight_max <= 64);
		assert_int_equal(suci_lane_counters(w->h[1].ls)->drop_window, 0);
		world_free(w);
	}
}

static bool
break_payload(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	if (!from && len > 900 && w->h[0].crc_to_break) {
		w->h[0].crc_to_break--;
		((uint8_t *)(uintptr_t)bytes)[len - 1] ^= 4;
	}
	return false;
}

static void
test_crc(void **state)
{
	(void)state;
	/* Broken on the wire now and then: sent again. */
	struct world *w = world_up(1, false, NULL);
	w->l.arg = w;
	w->l.filter = break_payload;
	w->h[0].crc_to_break = 5;
	send_block(w, 0, 100, 50000, true);
	assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
	expect_all(w, 0);
	assert_int_equal(suci_lane_counters(w->h[1].ls)->drop_crc, 5);
	world_free(w);
	/* Always broken: the lane says so and ends. */
	w = world_up(1, false, NULL);
	w->l.arg = w;
	w->l.filter = break_payload;
	w->h[0].crc_to_break = 1000000;
	send_block(w, 0, 100, 50000, true);
	assert_false(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
	assert_true(w->h[1].downed);
	assert_non_null(strstr(w->h[1].text, "CRC"));
	assert_int_equal(w->h[1].begun, 0);
	world_free(w);
	/* The bytes a relay rewrites are not covered; everything else is. */
	uint8_t a[200] = {0}, b[200] = {0};
	memset(b + 8, 0xff, 48);
	struct suci_segment s = {.flags = SUCI_SF_FIRST, .data = a, .data_len = 200};
	uint32_t crc = lane_crc(5, &s, 8, 48);
	s.data = b;
	assert_int_equal(lane_crc(5, &s, 8, 48), crc);
	assert_int_not_equal(lane_crc(6, &s, 8, 48), crc);
	assert_int_not_equal(lane_crc(5, &s, 8, 47), crc);
	for (uint16_t cut = 0; cut <= 200; cut++) { /* in two pieces the same */
		s.head = b;
		s.head_len = cut;
		s.data = b + cut;
		s.data_len = (uint16_t)(200 - cut);
		assert_int_equal(lane_crc(5, &s, 8, 48), crc);
	}
	s.flags = 0;
	uint32_t rest = lane_crc(5, &s, 8, 48);
	s.head_len = 0;
	s.data = a;
	s.data_len = 200;
	assert_int_not_equal(lane_crc(5, &s, 8, 48), rest);
}

/* A receiver that lets one block begin now and then: what is refused comes again, what
 * was taken before its turn waits for suci_lane_resume(), nothing is lost or late. */
static void
test_no_room(void **state)
{
	(void)state;
	for (uint64_t jitter = 0; jitter <= 200000; jitter += 200000) {
		struct world *w = world_new(5, 20000);
		w->conf.direct = false;
		w->conf.window = 64;
		w->l.jitter_ns = jitter;
		world_open(w);
		w->h[1].room = 0;
		for (uint32_t i = 0; i < 40; i++)
			send_block(w, 0, 0, i % 3 * 2000, false);
		link_run(&w->l, w->l.now_ns + 5 * BASE_MS_NS, NULL, NULL);
		assert_int_equal(w->h[1].begun, 0);
		const struct suci_lane_counters *n = suci_lane_counters(w->h[1].ls);
		assert_true(n->refused_room > 0);
		assert_true(n->held > 0);
		uint32_t given = 0;
		while (given < 40) {
			given += w->h[1].room = 1 + given % 3;
			suci_lane_resume(w->h[1].ls, w->h[1].lane, w->l.now_ns);
			link_run(&w->l, w->l.now_ns + 12 * BASE_MS_NS, NULL, NULL);
			assert_int_equal(w->h[1].begun, given < 40 ? given : 40);
		}
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		expect_all(w, 0);
		world_free(w);
	}
}

/* Segments before their lane: "not yet" loses nothing, the others are a lane opened at
 * once and one that never will be. */
static void
test_lane_not_yet(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_new(11, 20000);
		const struct suci_lane_counters *n;
		w->conf.direct = direct;
		w->late = true;
		w->unknown = SUCI_REFUSED;
		w->l.jitter_ns = 200000;
		w->l.loss_ppb = 50000000;
		world_open(w);
		n = suci_lane_counters(w->h[1].ls);
		for (uint32_t i = 0; i < 20; i++)
			send_block(w, 0, 0, i * 700, true);
		link_run(&w->l, w->l.now_ns + 50 * BASE_MS_NS, NULL, NULL);
		assert_true(n->refused_label > 0);
		assert_int_equal(n->drop_label, 0);
		assert_int_equal(w->h[1].begun, 0);
		w->unknown = SUCI_TAKEN;
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		expect_all(w, 0);
		world_free(w);
	}
	struct world *w = world_new(12, 20000);
	w->late = true;
	w->unknown = SUCI_DROPPED;
	world_open(w);
	send_block(w, 0, 0, 100, false);
	link_run(&w->l, w->l.now_ns + 50 * BASE_MS_NS, NULL, NULL);
	assert_int_equal(suci_lane_counters(w->h[1].ls)->drop_label, 1);
	assert_int_equal(suci_lane_counters(w->h[1].ls)->refused_label, 0);
	assert_int_equal(suci_held(w->l.ep[0]), 0);
	suci_lane_close(w->h[0].ls, w->h[0].lane, w->l.now_ns);
	world_free(w);
}

/* A relayed receiver that can hold very little: what it throws away comes again, and
 * nothing is refused on the path. */
static void
test_refused_end_to_end(void **state)
{
	(void)state;
	struct suci_lane_limits lim = {.lanes_max = 2,
				       .blocks_max = BLOCKS_MAX,
				       .rx_blocks_max = 4,
				       .held_max = 8,
				       .ranges_max = 8,
				       .labels_max = 32};
	uint64_t thrown = 0;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct world *w = world_up(seed, false, &lim);
		w->l.jitter_ns = 200000;
		w->l.loss_ppb = 50000000;
		for (int i = 0; i < 100; i++)
			send_block(w, 0, 50, (uint64_t)(i % 20) * 1000, true);
		assert_true(link_run(&w->l, w->l.now_ns + 20 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		const struct suci_lane_counters *rx = suci_lane_counters(w->h[1].ls);
		const struct suci_lane_counters *tx = suci_lane_counters(w->h[0].ls);
		uint64_t n = rx->refused_held + rx->refused_blocks + rx->refused_ranges;
		thrown += n;
		assert_int_equal(suci_counters(w->l.ep[1])->drop_refused, 0);
		/* Four ranges are told apart; beyond that some come once too often. */
		assert_true(tx->tx_again <= 3 * n + 8);
		assert_int_equal(lane_of(w, 0)->nagain, 0);
		assert_int_equal(w->h[0].ls->again_more, 0);
		for (int prio = 0; prio < PRIOS; prio++)
			assert_int_equal(w->h[1].ls->askers[prio], 0);
		world_free(w);
	}
	assert_true(thrown > 100);
}

static void
check_again(const struct suci_lanes *ls, const struct lane *l)
{
	uint32_t n = 0;
	for (uint32_t k = l->again.head; k != NONE; k = ls->again[k].next, n++) {
		const struct rx_range *g = &ls->again[k];
		assert_true(serial_lt(g->lo, g->end));
		assert_true(serial_ge(g->lo, l->acked_seq));
		assert_true(serial_le(g->end, l->next_seq));
		if (g->next != NONE)
			assert_true(serial_lt(g->end, ls->again[g->next].lo));
	}
	assert_int_equal(n, l->nagain);
	assert_true(n <= AGAIN_MAX);
}

/* A peer that refuses at random what we sent, placed or not, gets a bounded number of
 * records out of us, and the lane goes on. */
static void
test_flood_of_refusals(void **state)
{
	(void)state;
	struct world *w = world_up(1, false, NULL);
	struct base_prng r = base_prng_seed(9);
	for (int i = 0; i < 20; i++)
		send_block(w, 0, 10, 50000, true);
	for (int turn = 0; turn < 200; turn++) {
		struct lane *l = lane_of(w, 0);
		for (int i = 0; i < 500; i++) {
			uint32_t few = (uint32_t)base_prng_below(&r, 4);
			uint32_t any = (uint32_t)base_prng_next(&r);
			struct suci_segment s = {.dst_label = l->conf.rx_dst_label,
						 .src_label = l->conf.rx_src_label,
						 .flags = SUCI_SF_ACK | SUCI_SF_REFUSED,
						 .ack = l->acked_seq,
						 .window = 1000,
						 .seq = l->acked_seq - 20 +
							(uint32_t)base_prng_below(&r, 400),
						 .block = base_prng_below(&r, 8) ? few : any};
			assert_int_equal(lane_segment(w->h[0].ls, w->h[0].path, &s, w->l.now_ns),
					 SUCI_TAKEN);
			check_again(w->h[0].ls, l);
		}
		link_run(&w->l, w->l.now_ns + 20000, NULL, NULL);
	}
	assert_true(link_run(&w->l, w->l.now_ns + 20 * BASE_S_NS, all_done, w));
	expect_all(w, 0);
	assert_true(suci_lane_counters(w->h[0].ls)->tx_again > 0);
	world_free(w);
}

static void
test_close_in_flight(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_up(1, direct, NULL);
		for (int i = 0; i < 5; i++)
			send_block(w, 0, 10, 100000, false);
		link_run(&w->l, w->l.now_ns + 30000, NULL, NULL);
		suci_lane_close(w->h[0].ls, w->h[0].lane, w->l.now_ns); /* frees their memory */
		assert_int_equal(w->h[0].done_bad + w->h[0].done_ok, 5);
		assert_true(w->h[0].done_bad > 0);
		assert_false(w->h[0].downed);
		link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
		assert_int_equal(suci_held(w->l.ep[0]), 0);
		/* The path going down ends the other lane. */
		suci_path_close(w->l.ep[0], w->h[0].path, "over", w->l.now_ns);
		link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
		assert_true(w->h[1].downed);
		assert_string_equal(w->h[1].text, "over");
		world_free(w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_beyond_4_gib),
		cmocka_unit_test(test_zero_bytes_and_limits),
		cmocka_unit_test(test_tight_receiver),
		cmocka_unit_test(test_lane_credit),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_refused_end_to_end),
		cmocka_unit_test(test_flood_of_refusals),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_lane_not_yet),
		cmocka_unit_test(test_close_in_flight),
	};
	return cmocka_run_group_tests_name("suci lane", tests, NULL, NULL);
}
