/* SPDX-License-Identifier: BSD-2-Clause */
/* Two endpoints: handshake, exactly one release per segment, loss, restart,
 * refusal, silence, close, hostile datagrams. */
#include "test_suci_path.h"

struct world {
	struct pair p;	 /* first: it is the link's argument */
	uint32_t refuse; /* side 1 refuses so many segments */
	uint8_t kept[8][2048];
	size_t kept_len[8];
	uint32_t kept_n, dropped;
	int drop_type; /* the filter drops the first of that type */
};

static enum suci_verdict
refuse_some(struct pair_side *s, const struct suci_segment *seg)
{
	struct world *w = (struct world *)s->t;
	(void)seg;
	if (!w->refuse)
		return SUCI_TAKEN;
	w->refuse--;
	return SUCI_REFUSED;
}

static enum suci_verdict
take_and_close(struct pair_side *s, const struct suci_segment *seg)
{
	struct link *l = &s->t->l;
	(void)seg;
	suci_path_close(l->ep[s - s->t->s], s->path, "enough", l->now_ns);
	return SUCI_TAKEN;
}

static void
start(struct world *w, int side)
{
	w->p.l.ep[side] = link_endpoint(&w->p.conf[side], w->p.l.now_ns);
}

static void
stop(struct world *w, int side)
{
	LINK_GIVE(suci_fini(w->p.l.ep[side], w->p.l.now_ns));
	w->p.l.ep[side] = NULL;
}

static struct world *
world_new(uint64_t seed, uint64_t delay_ns)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	pair_init(&w->p, seed, delay_ns);
	w->drop_type = -1;
	return w;
}

static void
world_free(struct world *w)
{
	stop(w, 0);
	stop(w, 1);
	link_drop_wire(&w->p.l);
	free(w);
}

static void
open_path(struct world *w, int side)
{
	assert_int_equal(suci_path_open(w->p.l.ep[side], &w->p.l.addr[!side], NULL, 0,
					&w->p.s[side].path, w->p.l.now_ns),
			 0);
}

static struct world *
world_up(uint64_t seed, uint64_t delay_ns)
{
	struct world *w = world_new(seed, delay_ns);
	start(w, 0);
	start(w, 1);
	open_path(w, 0);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
	return w;
}

static void
send_n(struct world *w, int side, uint32_t from, uint32_t n, uint16_t len)
{
	for (uint32_t i = from; i < from + n; i++) {
		struct suci_segment seg = {
			.seq = i, .cookie = i, .data = w->p.payload, .data_len = len};
		assert_int_equal(
			suci_path_send(w->p.l.ep[side], w->p.s[side].path, &seg, w->p.l.now_ns), 0);
	}
}

static bool
delivered(void *arg)
{
	struct world *w = arg;
	return !suci_held(w->p.l.ep[0]) && !suci_held(w->p.l.ep[1]);
}

static bool
drop_first_of_type(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	(void)from;
	(void)len;
	if ((bytes[0] & 15) != w->drop_type || w->dropped)
		return false;
	w->dropped++;
	return true;
}

static void
test_handshake(void **state)
{
	(void)state;
	for (int type = -1; type <= SUCI_T_ACCEPT; type++) {
		struct world *w = world_new(1, 50000);
		w->drop_type = type;
		if (type != SUCI_T_DATA)
			w->p.l.filter = drop_first_of_type;
		start(w, 0);
		start(w, 1);
		open_path(w, 0);
		uint32_t again;
		assert_int_equal(suci_path_open(w->p.l.ep[0], &w->p.l.addr[1], NULL, 0, &again,
						w->p.l.now_ns),
				 SUCI_ERR_EXISTS);
		assert_int_equal(again, w->p.s[0].path);
		uint64_t t0 = w->p.l.now_ns;
		assert_true(link_run(&w->p.l, t0 + BASE_S_NS, pair_both_up, w));
		assert_true(w->p.l.now_ns - t0 < 50 * BASE_MS_NS);
		assert_string_equal(w->p.s[0].hello, "hello-b");
		assert_string_equal(w->p.s[1].hello, "hello-a");
		assert_false(w->p.s[0].incoming);
		assert_true(w->p.s[1].incoming);
		struct suci_path_info in;
		assert_true(suci_path_info(w->p.l.ep[1], w->p.s[1].path, &in));
		assert_true(in.up && in.mtu == 1432 && in.peer_incarnation == 100);
		assert_int_equal(suci_path_find(w->p.l.ep[1], &w->p.l.addr[0]), w->p.s[1].path);
		/* Then silence: nothing to send, nothing to wait for. */
		link_run(&w->p.l, w->p.l.now_ns + 5 * BASE_S_NS, NULL, NULL);
		assert_true(suci_expiry_ns(w->p.l.ep[0]) == BASE_NEVER_NS);
		assert_true(suci_expiry_ns(w->p.l.ep[1]) == BASE_NEVER_NS);
		assert_int_equal(w->p.s[0].ups + w->p.s[1].ups, 2);
		world_free(w);
	}
}

static void
test_crossing_opens(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct world *w = world_new(seed, 50000);
		w->p.l.jitter_ns = 100000;
		w->p.l.loss_ppb = seed % 3 * 100000000;
		start(w, 0);
		start(w, 1);
		open_path(w, 0);
		open_path(w, 1);
		assert_true(link_run(&w->p.l, w->p.l.now_ns + 8 * BASE_S_NS, pair_both_up, w));
		send_n(w, 0, 0, 50, 500);
		send_n(w, 1, 0, 50, 500);
		assert_true(link_run(&w->p.l, w->p.l.now_ns + 20 * BASE_S_NS, delivered, w));
		assert_int_equal(w->p.s[0].ups, 1);
		assert_int_equal(w->p.s[1].ups, 1);
		world_free(w);
	}
}

static void
test_exactly_once(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint64_t jitter_ns, loss_ppb, dup_ppb;
		bool fixed;
	} cases[] = {
		{"clean", 0, 0, 0, false},
		{"reorder", 200000, 0, 0, false},
		{"loss 5%", 0, 50000000, 0, false},
		{"loss 5%, fixed", 0, 50000000, 0, true},
		{"all, 20%", 200000, 200000000, 100000000, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("  %s\n", cases[i].name);
		struct world *w = world_new(i + 1, 100000);
		w->p.conf[0].cc = cases[i].fixed ? SUCI_CC_FIXED : SUCI_CC_CUBIC;
		w->p.conf[0].fixed_window = 64;
		start(w, 0);
		start(w, 1);
		open_path(w, 0);
		assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
		w->p.l.jitter_ns = cases[i].jitter_ns;
		w->p.l.loss_ppb = cases[i].loss_ppb;
		w->p.l.dup_ppb = cases[i].dup_ppb;
		send_n(w, 0, 0, 2000, 1000);
		send_n(w, 1, 0, 1000, 10);
		assert_int_equal(suci_held(w->p.l.ep[0]), 2000);
		assert_true(link_run(&w->p.l, w->p.l.now_ns + 30 * BASE_S_NS, delivered, w));
		assert_int_equal(w->p.s[0].acked, 2000);
		assert_int_equal(w->p.s[1].acked, 1000);
		const struct suci_counters *c = suci_counters(w->p.l.ep[0]);
		assert_int_equal(c->tx_segments, 2000);
		if (!cases[i].loss_ppb && !cases[i].jitter_ns)
			assert_int_equal(c->tx_retransmits, 0);
		if (cases[i].dup_ppb)
			assert_true(c->drop_duplicate_pn > 0);
		/* Every retransmit is either needed or known to be spurious. */
		assert_true(c->tx_retransmits <= w->p.l.lost[0] + w->p.l.lost[1] + c->tx_spurious +
							 (cases[i].jitter_ns ? 2000 : 60));
		world_free(w);
	}
}

static bool
drop_one(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	if (from || len < 300 || (bytes[0] & 15) != SUCI_T_DATA || w->dropped)
		return false;
	w->dropped++;
	return true;
}

static void
test_tail_loss(void **state)
{
	(void)state;
	struct world *w = world_up(3, 50000);
	send_n(w, 0, 0, 20, 100); /* learn the round trip */
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, delivered, w));
	w->p.l.filter = drop_one;
	uint64_t t0 = w->p.l.now_ns;
	send_n(w, 0, 20, 1, 400);
	assert_true(link_run(&w->p.l, t0 + BASE_S_NS, delivered, w));
	assert_int_equal(w->dropped, 1);
	/* A probe timeout, 100 us + 4 var + 1 ms of ack delay, not 200 ms. */
	assert_true(w->p.s[1].last_seen_ns - t0 < 3 * BASE_MS_NS);
	assert_int_equal(suci_counters(w->p.l.ep[0])->tx_retransmits, 1);
	/* In the middle of a stream the packet threshold finds it faster. */
	w->dropped = 0;
	t0 = w->p.l.now_ns;
	send_n(w, 0, 21, 9, 400);
	assert_true(link_run(&w->p.l, t0 + BASE_S_NS, delivered, w));
	assert_true(w->p.s[1].last_seen_ns - t0 < 400000);
	world_free(w);
}

static void
test_refused_segments_come_again(void **state)
{
	(void)state;
	struct world *w = world_up(4, 50000);
	w->p.s[1].verdict = refuse_some;
	w->refuse = 10;
	send_n(w, 0, 0, 10, 100);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + 60 * BASE_S_NS, delivered, w));
	w->refuse = 60;
	send_n(w, 0, 10, 90, 100);
	uint64_t t0 = w->p.l.now_ns;
	assert_true(link_run(&w->p.l, t0 + BASE_S_NS, delivered, w)); /* back-off stays short */
	assert_int_equal(w->p.s[0].acked, 100);
	assert_int_equal(suci_counters(w->p.l.ep[1])->drop_refused, 70);
	world_free(w);
}

static void
test_limits(void **state)
{
	(void)state;
	struct world *w = world_up(5, 50000);
	struct suci_segment seg = {.data = w->p.payload, .data_len = 1400};
	assert_int_equal(suci_path_send(w->p.l.ep[0], w->p.s[0].path, &seg, 0), SUCI_ERR_TOOBIG);
	seg.data_len = 1432 - SUCI_PATH_HDR - SUCI_LANE_HDR;
	for (uint32_t i = 0; i < w->p.conf[0].limits.queue_max; i++) {
		seg.seq = (uint32_t)(seg.cookie = i);
		assert_int_equal(suci_path_send(w->p.l.ep[0], w->p.s[0].path, &seg, 0), 0);
	}
	seg.cookie = PAIR_SEGS - 1;
	assert_int_equal(suci_path_send(w->p.l.ep[0], w->p.s[0].path, &seg, 0), SUCI_ERR_FULL);
	assert_int_equal(suci_path_send(w->p.l.ep[0], 7, &seg, 0), SUCI_ERR_DOWN);
	assert_int_equal(suci_path_send(w->p.l.ep[0], 8, &seg, 0), SUCI_ERR_DOWN);
	assert_int_equal(suci_path_note(w->p.l.ep[0], w->p.s[0].path, "bye", 4, 0), 0);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + 5 * BASE_S_NS, delivered, w));
	assert_string_equal(w->p.s[1].note, "bye");
	assert_int_equal(w->p.s[1].notes, 1);
	/* Bad configurations are refused. */
	struct suci_limits l = w->p.conf[0].limits;
	l.paths_max = 0;
	assert_int_equal(suci_footprint(&l), 0);
	l.paths_max = (1 << 20) + 1;
	assert_int_equal(suci_footprint(&l), 0);
	world_free(w);
}

static uint32_t notes_sent;

static bool
drop_first_note(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l, (void)bytes;
	return from == 0 && len > 100 && !notes_sent++;
}

/* One that is lost comes again, behind those queued after it: it is no news then. */
static void
test_notes_overtake(void **state)
{
	(void)state;
	struct world *w = world_up(5, 50000);
	char text[3][200] = {"first", "second", "third"};
	notes_sent = 0;
	w->p.l.filter = drop_first_note;
	for (int i = 0; i < 3; i++)
		assert_int_equal(suci_path_note(w->p.l.ep[0], w->p.s[0].path, text[i],
						sizeof text[i], w->p.l.now_ns),
				 0);
	link_run(&w->p.l, w->p.l.now_ns + 2 * BASE_S_NS, NULL, NULL);
	assert_true(notes_sent > 1);
	assert_int_equal(w->p.s[1].notes, 3);
	assert_int_equal(w->p.s[1].news, 2);
	assert_string_equal(w->p.s[1].note, "first"); /* came last */
	world_free(w);
}

/* One that found no room when it was true is as old as that. */
static void
test_note_is_of_its_time(void **state)
{
	(void)state;
	struct world *w = world_up(5, 50000);
	struct suci *ep = w->p.l.ep[0];
	uint32_t path = w->p.s[0].path, number = suci_note_number(ep);
	assert_int_equal(suci_path_note(ep, path, "later", 6, w->p.l.now_ns), 0);
	link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
	assert_int_equal(suci_path_note_as(ep, path, number, "before", 7, w->p.l.now_ns), 0);
	link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[1].notes, 2);
	assert_int_equal(w->p.s[1].news, 1);
	world_free(w);
}

static uint32_t flight_max;

static bool
watch_flight(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct suci_path_info in;
	(void)bytes;
	(void)len;
	if (!from && suci_path_info(l->ep[0], 0, &in) && in.in_flight > flight_max)
		flight_max = in.in_flight;
	return false;
}

static void
test_credit_and_pace(void **state)
{
	(void)state;
	struct world *w = world_new(6, 500000);
	w->p.conf[0].cc = SUCI_CC_FIXED;
	w->p.conf[0].fixed_window = 1000;
	w->p.conf[1].credit = 5;
	start(w, 0);
	start(w, 1);
	open_path(w, 0);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
	send_n(w, 0, 0, 1, 10); /* its ack brings the credit */
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, delivered, w));
	flight_max = 0;
	w->p.l.filter = watch_flight;
	send_n(w, 0, 1, 200, 100);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + 5 * BASE_S_NS, delivered, w));
	assert_int_equal(flight_max, 5);
	world_free(w);

	w = world_new(6, 500000);
	w->p.conf[0].cc = SUCI_CC_FIXED;
	w->p.conf[0].fixed_window = 1000;
	w->p.conf[0].fixed_rate_bps = 10000000; /* 1 MB in 100 ms */
	start(w, 0);
	start(w, 1);
	open_path(w, 0);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
	uint64_t t0 = w->p.l.now_ns;
	send_n(w, 0, 0, 1000, 952); /* 1000 bytes each with its headers */
	assert_true(link_run(&w->p.l, t0 + BASE_S_NS, delivered, w));
	uint64_t took = w->p.s[1].last_seen_ns - t0;
	assert_true(took > 96 * BASE_MS_NS && took < 102 * BASE_MS_NS);
	world_free(w);
}

static bool
keep_open(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	if (from == 1 && (bytes[0] & 15) == SUCI_T_OPEN && w->kept_n < 8) {
		memcpy(w->kept[w->kept_n], bytes, len);
		w->kept_len[w->kept_n++] = len;
	}
	return false;
}

static void
test_restart(void **state)
{
	(void)state;
	struct world *w = world_new(7, 50000);
	w->p.l.filter = keep_open;
	start(w, 0);
	start(w, 1);
	open_path(w, 1);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
	stop(w, 1);
	w->p.s[1].up = false;
	w->p.conf[1].incarnation++;
	start(w, 1);
	send_n(w, 0, 0, 10, 100);
	open_path(w, 1);
	w->p.s[0].up = true;
	link_run(&w->p.l, w->p.l.now_ns + 500000, NULL, NULL);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
	assert_int_equal(w->p.s[0].ups, 2);
	assert_int_equal(w->p.s[0].downs, 1);
	assert_true(w->p.s[0].why == SUCI_DOWN_RESTARTED || w->p.s[0].why == SUCI_DOWN_RESET);
	assert_int_equal(w->p.s[0].abandoned, 10);
	/* The OPEN of the first run, delayed: its cookie is still good. */
	uint64_t before = suci_counters(w->p.l.ep[0])->drop_incarnation;
	suci_rx(w->p.l.ep[0], &w->p.l.addr[1], w->kept[0], w->kept_len[0], 0, w->p.l.now_ns);
	assert_int_equal(suci_counters(w->p.l.ep[0])->drop_incarnation, before + 1);
	assert_int_equal(w->p.s[0].ups, 2);
	world_free(w);
}

static void
test_restarted_while_idle(void **state)
{
	(void)state;
	struct world *w = world_new(8, 50000);
	w->p.l.filter = keep_open;
	start(w, 0);
	start(w, 1);
	open_path(w, 1);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
	stop(w, 1);
	w->p.conf[1].incarnation++;
	start(w, 1);
	open_path(w, 1);
	w->p.s[1].up = false;
	link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].ups, 2);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_RESTARTED);
	suci_rx(w->p.l.ep[0], &w->p.l.addr[1], w->kept[0], w->kept_len[0], 0, w->p.l.now_ns);
	assert_int_equal(suci_counters(w->p.l.ep[0])->drop_incarnation, 1);
	assert_int_equal(w->p.s[0].downs, 1);
	send_n(w, 0, 0, 10, 100);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, delivered, w));
	world_free(w);
}

/* The host of side 1 says that nobody has that port. */
static bool
unreachable(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	suci_path_unreachable(l->ep[from], &l->addr[!from], bytes, len, l->now_ns);
	return true;
}

static void
test_ends(void **state)
{
	(void)state;
	/* Orderly. */
	struct world *w = world_up(9, 50000);
	send_n(w, 0, 0, 10, 100);
	suci_path_close(w->p.l.ep[0], w->p.s[0].path, "finished", w->p.l.now_ns);
	assert_int_equal(w->p.s[0].abandoned, 10);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_LOCAL);
	assert_int_equal(suci_held(w->p.l.ep[0]), 0);
	link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[1].why, SUCI_DOWN_CLOSED);
	assert_string_equal(w->p.s[1].text, "finished");
	assert_true(suci_expiry_ns(w->p.l.ep[0]) == BASE_NEVER_NS);
	world_free(w);
	/* From inside a callback: what was taken is acknowledged first. */
	w = world_up(9, 50000);
	w->p.s[1].verdict = take_and_close;
	send_n(w, 0, 0, 1, 100);
	link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].acked, 1);
	assert_string_equal(w->p.s[0].text, "enough");
	world_free(w);
	/* Refused. */
	w = world_new(9, 50000);
	w->p.s[1].no_accept = "job 7 is unknown";
	start(w, 0);
	start(w, 1);
	open_path(w, 0);
	link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_REFUSED);
	assert_string_equal(w->p.s[0].text, "job 7 is unknown");
	assert_int_equal(w->p.s[1].ups + w->p.s[1].downs, 0);
	assert_int_equal(suci_path_find(w->p.l.ep[1], &w->p.l.addr[0]), UINT32_MAX);
	/* Nobody there. */
	w->p.l.cut = true;
	open_path(w, 0);
	link_run(&w->p.l, w->p.l.now_ns + 9 * BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].downs, 1);
	link_run(&w->p.l, w->p.l.now_ns + 2 * BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_TIMEOUT);
	open_path(w, 0);
	w->p.l.cut = false;
	w->p.l.filter = unreachable;
	link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_UNREACHABLE);
	world_free(w);
}

static void
test_silence_and_reset(void **state)
{
	(void)state;
	struct world *w = world_new(10, 50000);
	w->p.conf[0].liveness_ns = 3 * BASE_S_NS;
	w->p.conf[0].keepalive_ns = BASE_S_NS;
	start(w, 0);
	start(w, 1);
	open_path(w, 0);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, pair_both_up, w));
	link_run(&w->p.l, w->p.l.now_ns + 30 * BASE_S_NS, NULL, NULL);
	assert_true(w->p.s[0].up); /* idle, but alive */
	w->p.l.cut = true;
	link_run(&w->p.l, w->p.l.now_ns + 2 * BASE_S_NS, NULL, NULL);
	assert_true(w->p.s[0].up);
	link_run(&w->p.l, w->p.l.now_ns + 3 * BASE_S_NS, NULL, NULL);
	assert_false(w->p.s[0].up);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_SILENT);
	world_free(w);

	w = world_up(10, 50000);
	stop(w, 1);
	w->p.conf[1].incarnation++;
	start(w, 1);
	/* A forged RESET while nothing is outstanding is not believed. */
	send_n(w, 0, 0, 3, 100);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, NULL, NULL) == false);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_RESET);
	assert_int_equal(w->p.s[0].abandoned, 3);
	assert_true(suci_counters(w->p.l.ep[1])->drop_unknown_tag > 0);
	world_free(w);
}

static void
test_strangers(void **state)
{
	(void)state;
	struct world *w = world_up(11, 50000);
	const struct suci_counters *c = suci_counters(w->p.l.ep[1]);
	uint8_t d[SUCI_PATH_HDR + SUCI_BODY_HDR] = {SUCI_VERSION << 4 | SUCI_T_HELLO};
	struct suci_addr a = link_addr(0);
	be32_store(d + SUCI_PATH_HDR, 77);
	be16_store(d + SUCI_PATH_HDR + 4, 1400);
	be64_store(d + SUCI_PATH_HDR + 8, 5);
	for (uint32_t i = 1; i < 5000; i++) { /* a flood makes no state */
		be32_store(a.ip, i);
		suci_rx(w->p.l.ep[1], &a, d, sizeof d, 0, w->p.l.now_ns);
		assert_int_equal(suci_path_find(w->p.l.ep[1], &a), UINT32_MAX);
	}
	struct suci_out out;
	uint32_t answers = 0;
	while (suci_tx(w->p.l.ep[1], &out, w->p.l.now_ns))
		answers += (out.head[0] & 15) == SUCI_T_COOKIE && out.head_len <= sizeof d;
	assert_true(answers > 0 && answers < 100);
	d[0] = SUCI_VERSION << 4 | SUCI_T_OPEN;
	suci_rx(w->p.l.ep[1], &a, d, sizeof d, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_cookie, 1);
	d[0] = 2 << 4;
	suci_rx(w->p.l.ep[1], &a, d, sizeof d, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_version, 1);
	d[0] = SUCI_VERSION << 4 | 9;
	suci_rx(w->p.l.ep[1], &a, d, sizeof d, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_type, 1);
	d[0] = SUCI_VERSION << 4;
	suci_rx(w->p.l.ep[1], &a, d, 15, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_short, 1);
	suci_rx(w->p.l.ep[1], &a, d, sizeof d, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_unknown_tag, 1);
	while (suci_tx(w->p.l.ep[1], &out, w->p.l.now_ns))
		;
	/* A datagram of the live path: from elsewhere, twice, acking the future. */
	uint8_t bytes[2048];
	send_n(w, 0, 0, 1, 100);
	assert_true(suci_tx(w->p.l.ep[0], &out, w->p.l.now_ns));
	size_t len = link_flatten(&out, bytes);
	suci_rx(w->p.l.ep[1], &a, bytes, len, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_address, 1);
	bytes[1] |= SUCI_PF_SEALED;
	suci_rx(w->p.l.ep[1], &w->p.l.addr[0], bytes, len, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_sealed, 1);
	bytes[1] &= (uint8_t)~SUCI_PF_SEALED;
	suci_rx(w->p.l.ep[1], &w->p.l.addr[0], bytes, len, 0, w->p.l.now_ns);
	assert_int_equal(w->p.s[1].segments, 1);
	suci_rx(w->p.l.ep[1], &w->p.l.addr[0], bytes, len, 0, w->p.l.now_ns);
	assert_int_equal(w->p.s[1].segments, 1);
	assert_int_equal(c->drop_duplicate_pn, 1);
	uint8_t bare[SUCI_PATH_HDR + SUCI_ACK_HDR] = {SUCI_VERSION << 4, SUCI_PF_BARE, 0, 16};
	memcpy(bare + 4, bytes + 4, 4);
	be32_store(bare + 16, 99);
	be16_store(bare + 30, 1);
	suci_rx(w->p.l.ep[1], &w->p.l.addr[0], bare, sizeof bare, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_bad_ack, 1);
	be16_store(bare + 30, 0);
	suci_rx(w->p.l.ep[1], &w->p.l.addr[0], bare, sizeof bare, 0, w->p.l.now_ns);
	assert_int_equal(c->drop_malformed, 1);
	assert_true(link_run(&w->p.l, w->p.l.now_ns + BASE_S_NS, delivered, w));
	world_free(w);
}

static void
test_all_paths_in_use(void **state)
{
	(void)state;
	struct world *w = world_new(12, 50000);
	w->p.conf[1].limits.paths_max = 1;
	start(w, 0);
	start(w, 1);
	struct suci_addr other = link_addr(5);
	uint32_t p;
	assert_int_equal(suci_path_open(w->p.l.ep[1], &other, NULL, 0, &p, w->p.l.now_ns), 0);
	assert_int_equal(suci_path_open(w->p.l.ep[1], &w->p.l.addr[0], NULL, 0, &p, w->p.l.now_ns),
			 SUCI_ERR_NOMEM);
	struct suci_out out;
	while (suci_tx(w->p.l.ep[1], &out, w->p.l.now_ns))
		;
	open_path(w, 0);
	link_run(&w->p.l, w->p.l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	assert_int_equal(w->p.s[0].why, SUCI_DOWN_REFUSED);
	assert_int_equal(suci_counters(w->p.l.ep[1])->drop_paths, 1);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handshake),
		cmocka_unit_test(test_crossing_opens),
		cmocka_unit_test(test_exactly_once),
		cmocka_unit_test(test_tail_loss),
		cmocka_unit_test(test_refused_segments_come_again),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_credit_and_pace),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_restarted_while_idle),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_notes_overtake),
		cmocka_unit_test(test_note_is_of_its_time),
		cmocka_unit_test(test_silence_and_reset),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_all_paths_in_use),
	};
	return cmocka_run_group_tests_name("suci endpoint", tests, NULL, NULL);
}
