/* SPDX-License-Identifier: BSD-2-Clause */
#include "guesser.h"

#include "pieces.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_NS BASE_MS_NS

static uint64_t
draw_below(struct guesser *g, uint64_t n)
{
	return base_prng_below(&g->prng, n);
}

/* Whom would he be, and what does he say for that? */
static struct relay_hello
make_hello(struct guesser *g, uint32_t client)
{
	const struct world *w = g->w;
	uint32_t base = w->label_base[client], first = w->first_rank[client];
	uint32_t rank = first + (uint32_t)draw_below(g, w->conf.cluster[client].ranks);
	uint32_t other = (uint32_t)draw_below(g, w->nend);
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS, .label = base + rank, .rank = rank};

	if (draw_below(g, 3) == 0) /* what another one says for itself */
		h.token = relay_hello_token(w->token[client], base + other);
	else if (draw_below(g, 2))
		h.token = base_prng_next(&g->prng) >> 1;
	else
		h.token = w->token[client]; /* as announced: no process says that */
	if (other == rank && h.token == relay_hello_token(w->token[client], h.label))
		h.token ^= 1ull << draw_below(g, 63);
	if (draw_below(g, 4) == 0) {
		h.label = (uint32_t)base_prng_next(&g->prng) | 1u << 31;
		h.token = relay_hello_token(w->token[client], h.label);
	}
	return h;
}

static struct suci_addr
inside_addr(uint32_t ip)
{
	return relay_addr_v4(ip, UDP_PORT, RELAY_LEG_PRIVATE);
}

static sim_fn wake_host;

static void
drive_host(struct guesser_host *x)
{
	struct sim *s = x->g->w->s;
	static struct suci_out out;

	while (!s->failed && suci_tx(x->ep, &out, s->now_ns)) {
		struct sim_piece p[3];
		sim_pieces(x->ep, &out, p);
		sim_send(s, x->port,
			 (uint32_t)out.to.ip[12] << 24 | (uint32_t)out.to.ip[13] << 16 |
				 (uint32_t)out.to.ip[14] << 8 | out.to.ip[15],
			 p, 3);
	}
	uint64_t at = suci_expiry_ns(x->ep);
	if (at != BASE_NEVER_NS && at != x->wake_ns)
		sim_at(s, base_max_ns(at, s->now_ns), wake_host, x, at);
	x->wake_ns = at;
}

static void
wake_host(struct sim *s, void *who, uint64_t at)
{
	struct guesser_host *x = who;

	if (!x->ep || at != x->wake_ns)
		return;
	x->wake_ns = BASE_NEVER_NS;
	suci_tick(x->ep, s->now_ns);
	drive_host(x);
}

static void
hand_to_host(struct sim *s, void *who, uint64_t b)
{
	struct guesser_host *x = who;
	const struct sim_buf *buf = &s->buf[b];
	struct suci_addr from = inside_addr(s->port[buf->from].ipv4);

	if (!x->ep)
		return;
	suci_rx(x->ep, &from, buf->data, buf->len, b, s->now_ns);
	drive_host(x);
}

/* Somebody's next try. */
static void
try_next(struct sim *s, void *who, uint64_t arg)
{
	struct guesser *g = who;
	struct guesser_host *x = &g->host[draw_below(g, g->n)];
	const struct world *w = g->w;
	uint32_t r = w->first_relay[x->client] +
		     (uint32_t)draw_below(g, w->conf.cluster[x->client].relays);
	struct suci_addr to = inside_addr(w->relay[r].ipv4[RELAY_LEG_PRIVATE]);
	struct relay_hello h = make_hello(g, x->client);
	uint8_t hello[RELAY_HELLO_LEN];
	uint32_t path;

	if (!x->ep)
		return;
	relay_hello_encode(&h, hello);
	g->said += suci_path_open(x->ep, &to, hello, sizeof hello, &path, s->now_ns) == 0;
	drive_host(x);
	sim_at(s, s->now_ns + EVERY_NS, try_next, g, arg);
}

static void
fail_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	size_t hello_len, bool incoming)
{
	struct guesser_host *x = user;

	(void)path, (void)hello, (void)hello_len, (void)incoming;
	x->g->up++;
	invariant_broken(x->g->w->s, INV_STANDS,
			 "relay ..%u takes somebody who guesses for a process", peer->ip[15]);
}

static void
note_refusal(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct guesser_host *x = user;
	struct guesser *g = x->g;

	(void)path;
	if (why != SUCI_DOWN_REFUSED || !text)
		return;
	g->refused++;
	if (!g->told[0])
		snprintf(g->told, sizeof g->told, "%s", text);
	INVARIANT(g->w->s, STANDS, !strcmp(g->told, text),
		  "who guesses hears \"%s\" and \"%s\": one of them says what was right", g->told,
		  text);
}

/* Relays talk to processes that announced themselves, and to no other. */
static int
accept_nobody(void *user, const struct suci_addr *from, const void *hello, size_t len,
	      char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len;
	snprintf(why, SUCI_TEXT_MAX, "nobody");
	return -1;
}

static enum suci_verdict
drop_segment(void *user, uint32_t path, const struct suci_segment *s, uint64_t now_ns)
{
	(void)user, (void)path, (void)s, (void)now_ns;
	return SUCI_DROPPED;
}

static void
ignore_fate(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	(void)user, (void)path, (void)cookie, (void)fate, (void)now_ns;
}

static const struct suci_ops ops = {.accept = accept_nobody,
				    .path_up = fail_up,
				    .path_down = note_refusal,
				    .segment = drop_segment,
				    .released = ignore_fate};

static void
add_guesser(struct guesser *g, uint32_t client, uint32_t number)
{
	struct world *w = g->w;
	struct sim *s = w->s;
	struct sim_link_conf fast = {0};
	uint32_t nodes = s->nport, link = sim_add_link(s, &fast);
	struct guesser_host *x = &g->host[g->n++];
	struct suci_config c = w->conf.end;

	*x = (struct guesser_host){.g = g, .client = client, .wake_ns = BASE_NEVER_NS};
	c.incarnation = 1 + base_prng_next(&g->prng) / 2;
	c.seed = base_prng_next(&g->prng);
	c.mtu_max = w->conf.private_mtu;
	c.hello_len = RELAY_HELLO_LEN;
	for (size_t i = 0; i < sizeof c.cookie_secret; i++)
		c.cookie_secret[i] = (uint8_t)base_prng_next(&g->prng);
	c.ops = &ops;
	c.user = x;
	x->mem = aligned_alloc(64, (suci_footprint(&c.limits) + 63) & ~(size_t)63);
	BASE_ASSERT(x->mem);
	x->ep = suci_new(x->mem, &c, s->now_ns);
	BASE_ASSERT(x->ep);
	x->port = sim_add_port(s, x, hand_to_host, client, 0x0a000000 | (GUESSER_HOST + number));
	for (uint32_t o = 0; o < nodes; o++) {
		if (s->port[o].network != client)
			continue;
		sim_set_route(s, o, x->port, &link, 1);
		sim_set_route(s, x->port, o, &link, 1);
	}
}

void
guesser_attach(struct guesser *g, struct world *w, uint64_t seed)
{
	g->w = w;
	g->prng = base_prng_seed(seed ^ 0x60e5);
	g->since_ns = w->s->now_ns;
	if (w->conf.seal_private)
		return;
	for (uint32_t c = 0; c < w->conf.nclusters; c++)
		for (uint32_t i = 0; i < GUESSERS && w->conf.cluster[c].relays; i++)
			add_guesser(g, c, i);
	if (g->n)
		sim_at(w->s, w->s->now_ns, try_next, g, 0);
}

void
guesser_check(const struct guesser *g)
{
	const struct world *w = g->w;
	/* As doc/job-setup.md has it for one job, and a moment of slack. */
	uint64_t most = 64 + 1 + 16 * (w->s->now_ns - g->since_ns) / BASE_S_NS;
	for (uint32_t i = 0; i < w->nrelay; i++) {
		const struct relay_counters *n = relay_core_counters(w->relay[i].core);
		INVARIANT(w->s, STANDS, n->accept_token <= most,
			  "relay %u: %llu wrong tokens were looked at, %llu is the bound", i,
			  (unsigned long long)n->accept_token, (unsigned long long)most);
	}
}

void
guesser_end(struct guesser *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		suci_fini(g->host[i].ep, g->w->s->now_ns);
		g->host[i].ep = NULL;
		free(g->host[i].mem);
	}
}
