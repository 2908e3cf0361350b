/* SPDX-License-Identifier: BSD-2-Clause */
/* Engines of lib/mpi back to back: random programs (mpi_program.h) over a transport that is
 * memory.  Packets are taken or not, begin in order, and their bytes come in pieces of any
 * order; what is sent stays the sender's until it has arrived, as on a lane.  Processes die at any
 * time, others hear of it when they do, and epochs end.  Data of long messages of some pairs goes
 * over streams, where there are any yet.  Who takes nothing may say that it will not for a while.
 */
#include "cmocka_all.h"
#include "mpi_program.h"
#include "stream_net.h"

#include "mpi/impi_packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCS_MAX = 5, WIRE_MAX = 24, OPEN_MAX = 3, SHORT_MAX = 80, SEEDS = 400 };

/* Kinds of pairs. */
enum kind { NATIVE, IMPI, MEMORY, STREAM, KINDS };

struct packet {
	uint8_t head[LMPI_PKT_BYTES];
	struct lmpi_out *out; /* or NULL: what it says is in own[] */
	uint8_t own[SHORT_MAX];
	const uint8_t *data;
	uint64_t len;
	/* Being delivered: the pieces that have come. */
	struct lmpi_sink *sink;
	uint64_t left, at;
	bool begun;
};

struct wire { /* from one process to another */
	struct packet packet[WIRE_MAX];
	uint32_t first, n, begun;
};

static struct world {
	struct base_prng rnd;
	uint32_t procs;
	struct lmpi_engine engine[PROCS_MAX];
	struct lmpi_peer peer[PROCS_MAX][PROCS_MAX];
	struct wire wire[PROCS_MAX][PROCS_MAX];
	enum kind kind[PROCS_MAX][PROCS_MAX];
	uint64_t room; /* packets of a wire */
	bool failed;
	uint64_t took[KINDS], memory_refused, parked;
	size_t held;	  /* pieces of memory */
	uint64_t trouble; /* more of it comes: 0, or one in so many turns */
	uint32_t dead, epochs;
	uint32_t knows[PROCS_MAX], epoch[PROCS_MAX]; /* bits of ranks */
	uint32_t died, learned, went_over;
	struct stream_net *streams;
} w;

static uint64_t
draw(uint64_t n)
{
	return base_prng_below(&w.rnd, n);
}

/* ---- the engines' surroundings ---- */

static void *
get(void *user, size_t bytes)
{
	(void)user;
	w.held++;
	void *p = malloc(bytes);
	assert_non_null(p);
	memset(p, 0x5a, bytes);
	return p;
}

static void
put(void *user, void *p)
{
	(void)user;
	w.held -= p != NULL;
	free(p);
}

static void
failed(struct lmpi_engine *e, const char *text)
{
	printf("rank %u: %s\n", e->rank, text);
	w.failed = true;
}

static struct packet *
new_packet(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h, uint64_t len)
{
	struct wire *x = &w.wire[e->rank][peer->world];

	if (x->n == w.room || draw(10) == 0) {
		if (draw(4) == 0) {
			lmpi_park(peer);
			w.parked++;
		}
		return NULL;
	}
	struct packet *p = &x->packet[(x->first + x->n++) % WIRE_MAX];
	*p = (struct packet){.len = len, .left = len};
	if (lmpi_speaks_impi(peer)) {
		lmpi_pkt_encode(e, peer, h, len, p->head);
		lmpi_pkt_gone(peer, h);
	} else {
		memcpy(p->head, h, sizeof *h);
	}
	if (w.kind[e->rank][peer->world] != STREAM)
		w.took[w.kind[e->rank][peer->world]]++;
	return p;
}

static bool
send_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	struct packet *p = new_packet(e, peer, &out->hdr, out->len);

	if (!p)
		return false;
	p->out = out;
	p->data = out->data;
	return true;
}

static bool
send_stream(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	if (out->hdr.type == LMPI_T_DATA && stream_net_send(w.streams, e, peer, out)) {
		w.took[STREAM]++;
		return true;
	}
	return send_packet(e, peer, out);
}

static bool
try_short(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h, const void *data,
	  uint64_t len)
{
	if (len > SHORT_MAX || (lmpi_speaks_impi(peer) && !lmpi_pkt_may_go(e, peer, h)))
		return false;
	struct packet *p = new_packet(e, peer, h, len);
	if (!p)
		return false;
	if (len)
		memcpy(p->own, data, (size_t)len);
	p->data = p->own;
	return true;
}

static int
read_remote(struct lmpi_engine *e, const struct lmpi_peer *peer, uint64_t srq, uint64_t address,
	    void *to, uint64_t n)
{
	(void)e, (void)srq;
	if (w.dead >> peer->world & 1)
		return -1;
	if (draw(3) == 0) {
		w.memory_refused++;
		return 0;
	}
	memcpy(to, (const void *)(uintptr_t)address, (size_t)n);
	return 1;
}

static const struct lmpi_transport table[KINDS] = {
	[NATIVE] = {.caps = LMPI_CAP_ASKS_OFF | LMPI_CAP_RECALLS,
		    .send = send_packet,
		    .try_short = try_short},
	[STREAM] = {.caps = LMPI_CAP_ASKS_OFF | LMPI_CAP_RECALLS,
		    .send = send_stream,
		    .try_short = try_short},
	[IMPI] = {.caps = LMPI_CAP_IMPI | LMPI_CAP_RECALLS,
		  .send = send_packet,
		  .try_short = try_short},
	[MEMORY] = {.caps = LMPI_CAP_MEMORY | LMPI_CAP_NESTS | LMPI_CAP_ASKS_OFF,
		    .send = send_packet,
		    .try_short = try_short,
		    .read_remote = read_remote},
};

/* ---- delivering ---- */

static void
begin_packet(struct lmpi_engine *to, struct lmpi_peer *from, struct packet *p)
{
	struct lmpi_hdr h;
	const char *wrong = NULL;

	p->begun = true;
	if (lmpi_speaks_impi(from))
		wrong = lmpi_pkt_decode(to, from, p->head, p->len, &h);
	else
		memcpy(&h, p->head, sizeof h);
	if (wrong)
		fail_msg("%s", wrong);
	p->sink = lmpi_arrive(to, from, &h, p->len);
	/* Packets of a message come in order over IMPI, of their bytes in front of them all. */
}

/* Some of its bytes; the last ones first or the first ones first. */
static void
give_piece(struct packet *p)
{
	uint64_t n = p->left < 2 ? p->left : 1 + draw(p->left);

	if (p->sink) {
		if (draw(2)) {
			lmpi_sink_data(p->sink, p->at, p->data + p->at, (size_t)n);
			p->at += n;
		} else {
			uint64_t at = p->at + p->left - n;
			lmpi_sink_data(p->sink, at, p->data + at, (size_t)n);
		}
	}
	p->left -= n;
}

static void
end_packet(struct lmpi_engine *from, struct lmpi_engine *to, struct packet *p)
{
	if (p->sink)
		lmpi_sink_end(to, p->sink);
	p->sink = NULL;
	if (p->out) {
		from->in_transport = true;
		lmpi_out_done(from, p->out, true);
		from->in_transport = false;
	}
}

static void
turn(struct lmpi_engine *e)
{
	for (uint32_t i = 0; i < w.procs; i++)
		if (e->peer[i].parked && draw(8) == 0)
			lmpi_unpark(e, &e->peer[i]);
	if (e->pending)
		lmpi_pump(e);
	lmpi_run_done(e);
}

/* One thing that a wire does; false: it has nothing to do. */
static bool
deliver(uint32_t src, uint32_t dst)
{
	struct wire *x = &w.wire[src][dst];
	struct lmpi_engine *to = &w.engine[dst];

	if (w.dead >> dst & 1)
		return false;
	if (!(w.dead >> src & 1) && draw(2) && stream_net_step(w.streams, src, dst))
		return true;
	if (x->n == 0)
		return false;
	to->in_transport = true;
	if (x->begun < x->n && (x->begun == 0 || (x->begun < OPEN_MAX && draw(2)))) {
		begin_packet(to, &w.peer[dst][src], &x->packet[(x->first + x->begun++) % WIRE_MAX]);
	} else {
		struct packet *p = &x->packet[(x->first + draw(x->begun)) % WIRE_MAX];
		if (p->left)
			give_piece(p);
	}
	/* A packet that is complete ends, whichever began first. */
	for (uint32_t i = 0; i < x->begun; i++) {
		struct packet *p = &x->packet[(x->first + i) % WIRE_MAX];
		if (p->left == 0 && p->begun) {
			p->begun = false;
			end_packet(&w.engine[src], to, p);
		}
	}
	while (x->begun && !x->packet[x->first].begun) {
		x->first = (x->first + 1) % WIRE_MAX;
		x->n--;
		x->begun--;
	}
	to->in_transport = false;
	return true;
}

/* ---- runs ---- */

static void
make_world(uint64_t seed)
{
	memset(&w, 0, sizeof w);
	w.rnd = base_prng_seed(seed);
	w.procs = 2 + (uint32_t)draw(PROCS_MAX - 1);
	w.room = 1 + draw(WIRE_MAX);
	uint32_t datalen = 16u << draw(9), ackmark = 1 + (uint32_t)draw(6);
	for (uint32_t a = 0; a < w.procs; a++) {
		struct lmpi_engine *e = &w.engine[a];
		*e = (struct lmpi_engine){.rank = a,
					  .size = w.procs,
					  .peer = w.peer[a],
					  .memory = {.get = get, .put = put},
					  .fail = failed,
					  .tolerant = &program_contexts,
					  .copied_bytes_max = draw(3) ? 1u << 20 : draw(5000),
					  .unexpected_bytes_max = draw(3) ? 1u << 20 : draw(5000),
					  .datalen = datalen,
					  .ackmark = ackmark,
					  .hiwater = ackmark + (uint32_t)(seed % 7)};
		lmpi_engine_reset(e);
		for (uint32_t b = 0; b < w.procs; b++) {
			enum kind k = b < a ? w.kind[b][a] : (enum kind)draw(KINDS);
			w.kind[a][b] = k;
			w.peer[a][b] =
				(struct lmpi_peer){.world = b,
						   .caps = a == b ? LMPI_CAP_SELF : table[k].caps,
						   .tp = a == b ? NULL : &table[k],
						   .eager_max = k == IMPI ? datalen : draw(9000)};
			memset(w.peer[a][b].id, (int)(0x10 + b), sizeof w.peer[a][b].id);
		}
	}
}

static void
check_world(uint64_t seed)
{
	const char *what;

	for (uint32_t i = 0; i < w.procs; i++)
		if (!(w.dead >> i & 1) && !lmpi_engine_check(&w.engine[i], &what))
			fail_msg("seed %llu: rank %u: %s", (unsigned long long)seed, i, what);
}

/* ---- trouble ---- */

/* What is on its way to or from the dead comes back, or is gone. */
static void
clear_wire(uint32_t src, uint32_t dst)
{
	struct wire *x = &w.wire[src][dst];
	struct lmpi_engine *from = &w.engine[src];

	from->in_transport = true;
	for (uint32_t i = 0; i < x->n; i++) {
		struct packet *p = &x->packet[(x->first + i) % WIRE_MAX];
		/* Those between packets that have begun may have ended already. */
		if (p->out && (p->begun || i >= x->begun))
			lmpi_out_done(from, p->out, false);
	}
	from->in_transport = false;
	x->n = x->begun = 0;
}

static void
learn(struct program *p, uint32_t rank, uint32_t dead)
{
	clear_wire(rank, dead);
	clear_wire(dead, rank);
	stream_net_cut(w.streams, rank, dead);
	program_lost(p, rank, dead);
	w.knows[rank] |= 1u << dead;
	w.learned++;
}

static bool
all_know(void)
{
	for (uint32_t r = 0; r < w.procs; r++)
		if (!(w.dead >> r & 1) && (w.knows[r] != w.dead || w.epoch[r] != w.epochs))
			return false;
	return true;
}

static void
make_trouble(struct program *p)
{
	uint32_t r = (uint32_t)draw(w.procs), d = (uint32_t)draw(w.procs);

	if (w.trouble && draw(w.trouble) == 0) {
		if (draw(3) == 0) {
			w.epochs++;
		} else if (!(w.dead & (w.dead - 1)) || draw(2)) {
			program_kill(p, d);
			w.dead |= 1u << d;
			w.died++;
		}
		if (draw(4) == 0)
			w.trouble = 0;
	}
	if (w.dead >> r & 1)
		return;
	if (program_gone(p, r) & ~w.knows[r])
		learn(p, r, (uint32_t)__builtin_ctz(program_gone(p, r) & ~w.knows[r]));
	if ((w.dead & ~w.knows[r]) >> d & 1 && draw(50) == 0)
		learn(p, r, d);
	if (w.epoch[r] < w.epochs && draw(50) == 0) {
		w.epoch[r]++;
		w.went_over++;
		program_epoch(p, r);
	}
}

/* What the dead have left. */
static void
bury(struct program *p)
{
	for (uint32_t d = 0; d < w.procs; d++) {
		if (!program_is_dead(p, d))
			continue;
		for (uint32_t r = 0; r < w.procs; r++) {
			clear_wire(r, d);
			clear_wire(d, r);
			stream_net_cut(w.streams, r, d);
			if (r != d)
				lmpi_engine_lost(&w.engine[d], &w.peer[d][r]);
		}
		lmpi_run_done(&w.engine[d]);
	}
}

/* Nothing is on its way: who has held messages back takes more, as a program that waits does. */
static void
run_on(struct program *p, uint64_t seed)
{
	for (uint64_t turns = 1; !(program_complete(p) && all_know()) && !program_broken(p, false);
	     turns++) {
		uint32_t a = (uint32_t)draw(w.procs), b = (uint32_t)draw(w.procs);
		make_trouble(p);
		if (draw(4) == 0)
			program_step(p, a);
		deliver(a, b);
		if (!(w.dead >> a & 1))
			turn(&w.engine[a]);
		if (!(w.dead >> b & 1))
			turn(&w.engine[b]);
		if (turns % 512 == 0 && w.engine[a].over)
			lmpi_take_more(&w.engine[a]);
		if (turns % 1024 == 0)
			check_world(seed);
		if (turns > 10000000 || w.failed) {
			char rest[200];
			program_rest(p, rest, sizeof rest);
			fail_msg("seed %llu: not complete: %s", (unsigned long long)seed, rest);
		}
	}
}

static uint64_t
seed_from_environment(void)
{
	const char *s = getenv("SEED");

	return s ? strtoull(s, NULL, 0) : 0;
}

static void
run_programs(bool trouble)
{
	uint64_t one = seed_from_environment(), took[KINDS] = {0}, cancelled = 0, died = 0,
		 learned = 0, over = 0, crossed = 0, parked = 0;

	for (uint64_t seed = one ? one : 1; seed <= (one ? one : SEEDS); seed++) {
		struct lmpi_engine *engine[PROCS_MAX];
		make_world(seed);
		w.trouble = trouble ? 1 + draw(20000) : 0;
		for (uint32_t i = 0; i < w.procs; i++)
			engine[i] = &w.engine[i];
		w.streams = stream_net_new(w.procs, engine, seed, draw(2));
		struct program_conf c = {.seed = seed,
					 .procs = w.procs,
					 .messages = 20 + (uint32_t)draw(200),
					 .len_max = 20000,
					 .idle = (uint32_t)draw(2000),
					 .revokes = draw(2)};
		struct program *p = program_new(&c, engine);
		run_on(p, seed);
		check_world(seed);
		const char *wrong = program_broken(p, true);
		if (wrong)
			fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
		cancelled += program_cancelled(p);
		bury(p);
		crossed += stream_net_counts(w.streams).crossed;
		stream_net_free(w.streams);
		program_free(p);
		died += w.died;
		learned += w.learned;
		over += w.went_over;
		parked += w.parked;
		for (uint32_t i = 0; i < w.procs; i++)
			lmpi_engine_drop(&w.engine[i]);
		assert_int_equal(w.held, 0);
		for (int k = 0; k < KINDS; k++)
			took[k] += w.took[k];
	}
	printf("  packets: %llu native, %llu IMPI, %llu of a node; %llu sends taken back\n",
	       (unsigned long long)took[NATIVE], (unsigned long long)took[IMPI],
	       (unsigned long long)took[MEMORY], (unsigned long long)cancelled);
	printf("  %llu packets over streams, of which both had begun one %llu times\n",
	       (unsigned long long)took[STREAM], (unsigned long long)crossed);
	printf("  parked %llu times\n", (unsigned long long)parked);
	printf("  %llu deaths, noticed %llu times, %llu changes of epoch\n",
	       (unsigned long long)died, (unsigned long long)learned, (unsigned long long)over);
	if (!one)
		assert_true(took[NATIVE] && took[IMPI] && took[MEMORY] && cancelled > SEEDS &&
			    took[STREAM] > SEEDS && crossed > 0 && parked > SEEDS);
	if (!one && trouble)
		assert_true(died > SEEDS / 2 && over > SEEDS / 2);
}

static void
random_programs(void **state)
{
	(void)state;
	run_programs(false);
}

static void
random_trouble(void **state)
{
	(void)state;
	run_programs(true);
}

/* ---- messages to the library itself ---- */

static struct {
	char text[160];
	uint64_t heard;
	size_t held;
} service;

/* Untouched, so lengths cost nothing here. */
static void *
get_untouched(void *user, size_t bytes)
{
	void *p = malloc(bytes);

	(void)user;
	assert_non_null(p);
	service.held++;
	return p;
}

static void
put_untouched(void *user, void *p)
{
	(void)user;
	service.held -= p != NULL;
	free(p);
}

static void
note_text(struct lmpi_engine *e, const char *text)
{
	(void)e;
	snprintf(service.text, sizeof service.text, "%s", text);
}

static void
count_message(uint32_t from_world, const void *data, uint64_t len)
{
	(void)data;
	assert_int_equal(from_world, 1);
	service.heard += len;
}

static struct lmpi_engine *
begin_service(void)
{
	static const struct lmpi_contexts nobody;
	struct lmpi_engine *e = &w.engine[0];

	memset(&w, 0, sizeof w);
	memset(&service, 0, sizeof service);
	*e = (struct lmpi_engine){.size = 2,
				  .peer = w.peer[0],
				  .memory = {.get = get_untouched, .put = put_untouched},
				  .fail = note_text,
				  .tolerant = &nobody,
				  .handler = count_message};
	w.peer[0][1] = (struct lmpi_peer){.world = 1, .tp = &table[NATIVE]};
	w.room = WIRE_MAX;
	lmpi_engine_reset(e);
	return e;
}

static void
end_service(struct lmpi_engine *e)
{
	lmpi_engine_lost(e, &e->peer[1]);
	lmpi_run_done(e);
	lmpi_engine_drop(e);
	assert_int_equal(service.held, 0);
}

/* A message to the library, announced or whole.  False: it was refused. */
static bool
service_packet(struct lmpi_engine *e, enum lmpi_type type, uint64_t len)
{
	static const uint8_t zero[64];
	uint64_t payload = type == LMPI_T_EAGER ? len : 0;
	struct lmpi_hdr h = lmpi_hdr_make(e, type);

	h.src = 1;
	h.cid = LMPI_CID_SERVICE;
	h.msglen = len;
	h.srq = 7;
	struct lmpi_sink *s = lmpi_arrive(e, &e->peer[1], &h, payload);
	if (s) {
		lmpi_sink_data(s, 0, zero, (size_t)payload);
		lmpi_sink_end(e, s);
		lmpi_run_done(e);
	}
	return !service.text[0];
}

/* Memory for a message is taken when its length is said, before a byte of it has come. */
static void
announced_lengths_are_bounded(void **state)
{
	static const uint64_t len[] = {LMPI_SERVICE_MAX + 1, UINT64_C(1) << 40, UINT64_MAX - 100,
				       UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof len / sizeof *len; i++) {
		struct lmpi_engine *e = begin_service();
		assert_false(service_packet(e, LMPI_T_RTS, len[i]));
		assert_non_null(strstr(service.text, "longer than any such message"));
		assert_int_equal(service.held, 0);
		end_service(e);
	}
	struct lmpi_engine *e = begin_service();
	assert_true(service_packet(e, LMPI_T_RTS, LMPI_SERVICE_MAX));
	end_service(e);
}

static void
begun_messages_are_bounded(void **state)
{
	(void)state;
	for (uint64_t more = 0; more < 2; more++) {
		struct lmpi_engine *e = begin_service();
		uint64_t most = (LMPI_SERVICE_ROOM + more * LMPI_SERVICE_ROOM) /
				(LMPI_SERVICE_ENTRY + LMPI_SERVICE_ENTRY_MAX);
		e->service_more = more * LMPI_SERVICE_ROOM;
		/* What is handled at once counts no more. */
		for (int i = 0; i < 1000; i++)
			assert_true(service_packet(e, LMPI_T_EAGER, 64));
		assert_int_equal(service.heard, 64000);
		for (uint64_t i = 0; i < most; i++)
			assert_true(service_packet(e, LMPI_T_RTS, UINT64_C(64) << 20));
		assert_false(service_packet(e, LMPI_T_RTS, UINT64_C(64) << 20));
		assert_non_null(strstr(service.text, "more of that process than it may send"));
		/* What is whole waits behind them. */
		service.text[0] = '\0';
		for (int i = 0; i < 100; i++)
			assert_true(service_packet(e, LMPI_T_EAGER, 64));
		assert_int_equal(service.heard, 64000);
		end_service(e);
	}
}

/* ---- names ---- */

static void
names_that_come_back(void **state)
{
	struct lmpi_memory memory = {.get = get, .put = put};
	struct lmpi_idtab t = {0};
	uint64_t id[1000];
	int object[1000];

	(void)state;
	memset(&w, 0, sizeof w);
	assert_null(lmpi_id_find(&t, 0));
	assert_null(lmpi_id_find(&t, 1));
	for (int i = 0; i < 1000; i++) {
		id[i] = lmpi_id_new(&t, &memory, &object[i]);
		assert_true(id[i] != 0);
	}
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(lmpi_id_find(&t, id[i]), &object[i]);
	lmpi_id_drop(&t, id[5]);
	lmpi_id_drop(&t, id[5]);
	assert_null(lmpi_id_find(&t, id[5]));
	uint64_t again = lmpi_id_new(&t, &memory, &object[7]);
	assert_true(again != id[5]); /* the same place, another generation */
	assert_null(lmpi_id_find(&t, id[5]));
	assert_int_equal(t.used, 1000);
	assert_null(lmpi_id_find(&t, UINT64_MAX));
	lmpi_id_clear(&t, &memory);
	assert_int_equal(w.held, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_come_back),
		cmocka_unit_test(announced_lengths_are_bounded),
		cmocka_unit_test(begun_messages_are_bounded),
		cmocka_unit_test(random_programs),
		cmocka_unit_test(random_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
