/* SPDX-License-Identifier: BSD-2-Clause */
/* A siege: datagrams that nobody with the key made are thrown at two ends with a sealed path that
 * is in use.  Each is made from what the two have sent: again, back, from elsewhere, with another
 * head, body or seal, with changed bits, made up, or as an answer that an end gave to one of these.
 * None may have an effect but to be counted as dropped, or to draw an answer that is not longer.
 *
 *	SIEGE=100000000 build/gcc/test/unit/test_suci_siege	so many (200000) */
#include "test_suci_path.h"

#include "driver/aead.h"

#define KEPT	 64
#define BYTES	 400
#define ROUND	 500 /* between two of which the ends talk */
#define FEW	 200000
#define DELAY_NS (100 * BASE_US_NS)

struct kept {
	int from;
	size_t len;
	uint8_t bytes[BYTES];
};

static struct siege {
	struct pair *t;
	struct base_prng prng;
	/* pending: still on its way; as it is it would be no forgery but early, so only its tag and
	 * its seal are used.  opening: all of the handshake. */
	struct kept kept[KEPT], answer[KEPT], pending[KEPT], opening[KEPT];
	uint64_t nkept, nanswers, npending, nopening;
	bool on_its_way;
	uint64_t thrown, effects, by_type[16];
} siege;

static bool
keep(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct siege *s = &siege;
	(void)l;
	if (len > BYTES)
		return false;
	struct kept *k = &s->kept[s->nkept % KEPT];
	if ((bytes[0] & 15) != SUCI_T_DATA && s->nopening < KEPT)
		k = &s->opening[s->nopening++];
	else if (s->on_its_way)
		k = &s->pending[s->npending++ % KEPT];
	else
		s->nkept++;
	k->from = from;
	k->len = len;
	memcpy(k->bytes, bytes, len);
	return false;
}

/* What the ends answer goes to the attacker, who uses it. */
static void
take_answers(struct siege *s, int side, size_t question)
{
	static struct suci_out o;
	struct suci *ep = s->t->l.ep[side];
	while (suci_tx(ep, &o, s->t->l.now_ns)) {
		uint8_t bytes[2048];
		size_t len =
			o.sealed ? suci_seal(ep, &o, bytes, sizeof bytes) : link_flatten(&o, bytes);
		int type = bytes[0] & 15;
		if (type == SUCI_T_DATA) { /* the path's own, at its time */
			link_put(&s->t->l, side, bytes, len);
			continue;
		}
		assert_true(len <= question || type == SUCI_T_CHALLENGE || type == SUCI_T_RESPONSE);
		struct kept *k = &s->answer[s->nanswers++ % KEPT];
		k->from = side;
		k->len = len < BYTES ? len : BYTES;
		memcpy(k->bytes, bytes, k->len);
	}
}

static const struct kept *
some(struct siege *s)
{
	uint64_t n = s->nanswers < KEPT ? s->nanswers : KEPT;
	if (n && base_prng_below(&s->prng, 6) == 0)
		return &s->answer[base_prng_below(&s->prng, n)];
	if (base_prng_below(&s->prng, 16) == 0)
		return &s->opening[base_prng_below(&s->prng, s->nopening)];
	n = s->nkept < KEPT ? s->nkept : KEPT;
	return &s->kept[base_prng_below(&s->prng, n)];
}

static void
change(struct siege *s, struct kept *d)
{
	uint64_t r = base_prng_next(&s->prng);
	bool latest = s->npending && (r % 9 == 2 || r % 9 == 5) && r >> 60;
	const struct kept *o =
		latest ? &s->pending[(s->npending - 1 - (r >> 50) % 4 % s->npending) % KEPT]
		       : some(s);
	if (d->len < SUCI_PATH_HDR + SUCI_SEAL_TAG || o->len < SUCI_PATH_HDR + SUCI_SEAL_TAG)
		return;
	switch (r % 9) {
	case 0:
		d->bytes[0] = (uint8_t)(SUCI_VERSION << 4 | (r >> 8) % 9);
		break;
	case 1:
		d->bytes[1] ^= (uint8_t)(1u << (r >> 8) % 8);
		break;
	case 2:
		memcpy(d->bytes + 4, o->bytes + 4, 4);
		break;
	case 3:
		be32_store(d->bytes + 8, be32_load(d->bytes + 8) + (uint32_t)(r >> 8) % 5000);
		break;
	case 4:
		d->len = o->len;
		memcpy(d->bytes + SUCI_PATH_HDR, o->bytes + SUCI_PATH_HDR, o->len - SUCI_PATH_HDR);
		break;
	case 5:
		memcpy(d->bytes + d->len - SUCI_SEAL_TAG, o->bytes + o->len - SUCI_SEAL_TAG,
		       SUCI_SEAL_TAG);
		break;
	case 6:
		d->len -= (r >> 8) % (d->len - SUCI_PATH_HDR);
		break;
	default:
		d->bytes[(r >> 8) % d->len] ^= (uint8_t)(1 + (r >> 40) % 255);
		break;
	}
}

struct picture {
	uint64_t segments, acks, opened, closed, moved, rekeys, rx_bytes, last_rx_ns, acked;
};

static struct picture
look(const struct siege *s, int side)
{
	const struct suci_counters *c = pair_count(s->t, side);
	struct suci_path_info i = pair_info(s->t, side);
	return (struct picture){c->rx_segments,	 c->rx_acks,	 c->paths_opened,
				c->paths_closed, c->paths_moved, c->tx_rekeys,
				i.rx_bytes,	 i.last_rx_ns,	 s->t->s[side].acked};
}

static void
throw_one(struct siege *s)
{
	struct pair *t = s->t;
	struct kept d = *some(s);
	uint64_t r = base_prng_next(&s->prng);
	int to = r >> 8 & 1;
	struct suci_addr from = r >> 16 & 3 ? t->l.addr[!to] : link_addr(20 + (int)(r >> 20 & 3));
	for (uint64_t n = r >> 32 & 3; n > 0; n--)
		change(s, &d);
	struct picture before = look(s, to);
	s->thrown++;
	s->by_type[d.len ? d.bytes[0] & 15 : 15]++;
	suci_rx(t->l.ep[to], &from, d.bytes, d.len, 0, t->l.now_ns);
	struct picture after = look(s, to);
	s->effects += memcmp(&before, &after, sizeof before) != 0;
	take_answers(s, to, d.len);
}

static bool
quiet(void *arg)
{
	struct pair *t = arg;
	return t->s[0].acked == t->s[1].segments && t->s[1].acked == t->s[0].segments &&
	       !suci_held(t->l.ep[0]) && !suci_held(t->l.ep[1]);
}

static void
nothing_has_an_effect(void **state)
{
	(void)state;
	struct siege *s = &siege;
	const char *env = getenv("SIEGE");
	uint64_t want = env ? strtoull(env, NULL, 0) : FEW;
	struct pair *t = s->t = pair_new(9, DELAY_NS);
	s->prng = base_prng_seed(0x51e9e);
	for (int side = 0; side < 2; side++) {
		t->conf[side].limits.sealed_max = t->conf[side].limits.paths_max;
		t->conf[side].seal = (struct suci_seal_conf){
			.aead = seal_aes256gcm(),
			.key = {{.id = 11, .secret = {1, 2, 3}}},
			.nkeys = 1,
			.legs = 1,
			.seed = {7, (uint8_t)side},
		};
		t->conf[side].migrate = true;
	}
	t->l.filter = keep;
	pair_start(t);
	pair_run(t, BASE_S_NS);
	uint64_t sent = 0;
	while (s->thrown < want) {
		/* They talk, and all of it arrives first: who replays is not merely early. */
		for (int side = 0; side < 2; side++) {
			t->s[side].next = (uint32_t)(sent % (PAIR_SEGS - 8));
			memset(t->s[side].seen, 0, sizeof t->s[side].seen);
			/* Numbers come again after some 16000. */
			memset(t->s[side].released, 0, sizeof t->s[side].released);
			pair_send(t, side, 4, 100);
		}
		sent += 5;
		link_run(&t->l, t->l.now_ns + BASE_S_NS, quiet, t);
		link_run(&t->l, t->l.now_ns + 5 * BASE_MS_NS, NULL, NULL);
		assert_true(quiet(t));
		s->on_its_way = true;
		s->npending = 0;
		for (int side = 0; side < 2; side++)
			pair_send(t, side, 1, 100);
		link_run(&t->l, t->l.now_ns, NULL, NULL);
		for (uint32_t i = 0; i < ROUND; i++)
			throw_one(s);
		s->on_its_way = false;
		link_run(&t->l, t->l.now_ns + 2 * BASE_MS_NS, NULL, NULL);
	}
	assert_int_equal(s->effects, 0);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(t->s[side].downs, 0);
		assert_int_equal(t->s[side].moves, 0);
		assert_int_equal(t->s[side].acked, sent);
		assert_int_equal(t->s[side].abandoned, 0);
	}
	print_message("%llu thrown, %llu answers, %llu with an effect;",
		      (unsigned long long)s->thrown, (unsigned long long)s->nanswers,
		      (unsigned long long)s->effects);
	for (int type = 0; type <= SUCI_T_RESPONSE; type++) {
		assert_true(s->by_type[type] > 0);
		print_message(" type %d: %llu", type, (unsigned long long)s->by_type[type]);
	}
	print_message("\n");
	pair_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_has_an_effect)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
