/* SPDX-License-Identifier: BSD-2-Clause */
/* Start-ups with clients of every kind, and then every pair of processes: a segment is
 * walked from its source through relay cores and gateways to where it ends, which must
 * be its destination, under the names its destination knows.
 *
 * Gateways are played here by the rules of doc/job-setup.md. */
#define FAKE_PATHS 192
#include "relay_core_kit.h"
#include "relay_startup_world.h"

#define GATEWAY_PORT 7200

struct site {
	struct relay *core[8][4]; /* by relay, shard */
};

struct walk {
	const struct world *w;
	struct site *site;
	uint32_t src, dst, cs, cd; /* world ranks, clients */
	uint32_t cores;		   /* passed through */
	uint32_t gateways;
	bool done;
	struct relay *touched[8];
};

static const struct impi_tables *
view(const struct walk *k, uint32_t client)
{
	return impi_client_tables(k->w->c[client].cl);
}

/* ---- set-up ---------------------------------------------------------------------------- */

static struct suci_addr
gateway_addr(const struct cluster *k, uint32_t m)
{
	return relay_addr_v4(k->member[m].ipv4_private, GATEWAY_PORT, RELAY_LEG_PRIVATE);
}

static struct suci_addr
shard_addr(const struct cluster *k, uint32_t m, uint32_t s)
{
	return relay_addr_v4(k->member[m].ipv4_global, k->member[m].port_global[s],
			     RELAY_LEG_GLOBAL);
}

/* Everybody it tries to reach is there. */
static void
accept_all(struct relay *r)
{
	struct relay_path_info info;
	for (uint32_t p = 0; p < FAKE_PATHS; p++) {
		if (!r->ep.path[p].used || r->ep.path[p].up)
			continue;
		assert_true(relay_core_path(r->c, p, &info));
		struct relay_hello h = {.kind = RELAY_HELLO_RELAY};
		if (info.kind == RELAY_PATH_GATEWAY)
			h.kind = RELAY_HELLO_GATEWAY;
		else if (info.kind == RELAY_PATH_PROC)
			h.kind = RELAY_HELLO_PROCESS;
		fake_accepted(&r->ep, p, &h);
	}
}

static void
site_open(struct site *x, const struct cluster *k)
{
	for (uint32_t m = 0; m < k->nrelays; m++) {
		for (uint32_t s = 0; s < k->nshards; s++) {
			struct relay_core_conf conf = {
				.limits = {.jobs_max = 1,
					   .procs_max = 256,
					   .hosts_max = 128,
					   .trunks_max = 128,
					   .primaries_max = 32},
				.self_global = shard_addr(k, m, s),
				.ngateways = k->nrelays,
			};
			for (uint32_t g = 0; g < k->nrelays; g++)
				conf.gateway[g] = gateway_addr(k, g);
			struct relay *r = x->core[m][s] = relay_new_conf(&conf);
			assert_int_equal(relay_job_add(r->c, k->copy, 0), 0);
			accept_all(r);
			check(r);
		}
	}
}

static void
site_close(struct site *x, const struct cluster *k)
{
	for (uint32_t m = 0; m < k->nrelays; m++)
		for (uint32_t s = 0; s < k->nshards; s++)
			relay_free(x->core[m][s]);
}

/* ---- the walk --------------------------------------------------------------------------- */

static _Noreturn void
fault(const struct walk *k, const char *what)
{
	fail_msg("%u (client %u) -> %u (client %u), after %u cores, %u gateways: %s", k->src, k->cs,
		 k->dst, k->cd, k->cores, k->gateways, what);
	abort();
}

/* On a TCP channel of this gateway: to dst's host, which must know us as src's. */
static void
to_tcp(struct walk *k, uint32_t client, uint32_t m)
{
	const struct relay_job *j = k->w->c[client].copy;
	const struct relay_foreign *f = relay_job_foreign_of(j, k->dst);
	if (!f || f->client != k->cd)
		fault(k, "not to be reached by TCP");
	enum relay_side_of_gate side = f->client == client ? RELAY_GATE_PRIVATE : RELAY_GATE_GLOBAL;
	const struct relay_gate *g = relay_job_gate_of(j, side, k->src);
	if (!g || g->relay != m)
		fault(k, "source has no gate here");
	const struct impi_tables *t = view(k, k->cd);
	assert_int_equal(t->proc_host[k->src], g->rank);
	assert_int_equal(t->proc_host[k->dst], f->rank);
	k->done = true;
}

static void to_core(struct walk *k, uint32_t client, uint32_t m, uint32_t s,
		    const struct suci_addr *from, uint32_t base, const uint8_t *data);

static void
from_tcp(struct walk *k, uint32_t client, uint32_t m)
{
	const struct relay_job *j = k->w->c[client].copy;
	struct suci_addr self = gateway_addr(&k->w->c[client], m);
	k->gateways++;
	if (relay_job_foreign_of(j, k->dst) && relay_job_gateway(j, k->src, k->dst) == m)
		to_tcp(k, client, m);
	else
		to_core(k, client, m, 0, &self, j->label_base, NULL);
}

/* It is there: under the names dst knows? */
static void
arrived(struct walk *k, const struct suci_segment *o)
{
	const struct impi_tables *t = view(k, k->cd);
	uint8_t id[24];
	assert_int_equal(o->dst_label, (uint32_t)t->proc[k->dst].pid);
	impi_proc_encode(&t->proc[k->src], id);
	assert_memory_equal(o->data + 8, id, 24);
	impi_proc_encode(&t->proc[k->dst], id);
	assert_memory_equal(o->data + 32, id, 24);
	k->done = true;
}

/* Out of core (client, m, s). */
static void
follow(struct walk *k, uint32_t client, uint32_t m, uint32_t s, const struct suci_addr *to,
       const struct suci_segment *o)
{
	const struct cluster *own = &k->w->c[client], *far = &k->w->c[k->cd];
	struct suci_addr self = shard_addr(own, m, s), a;
	struct impi_hostid id;
	uint32_t base = relay_gateway_base(own->copy->label_base);

	for (uint32_t g = 0; g < own->nrelays; g++) {
		a = gateway_addr(own, g);
		if (memcmp(&a, to, sizeof a) != 0)
			continue;
		assert_int_equal(o->dst_label, base + k->dst);
		assert_int_equal(o->src_label, base + k->src);
		assert_int_equal(relay_job_gateway(own->copy, k->src, k->dst), g);
		k->gateways++;
		to_tcp(k, client, g);
		return;
	}
	if (client != k->cd && !far->direct) {
		for (uint32_t r = 0; r < far->nrelays; r++) {
			for (uint32_t x = 0; x < far->nshards; x++) {
				a = shard_addr(far, r, x);
				if (memcmp(&a, to, sizeof a) != 0)
					continue;
				to_core(k, k->cd, r, x, &self, o->dst_label - k->dst, o->data);
				return;
			}
		}
		fault(k, "over no trunk to its cluster");
	}
	assert_int_equal(impi_hostid_decode(view(k, k->cd)->proc[k->dst].hostid, &id),
			 IMPI_HOSTID_SUCI);
	a = relay_addr_v4(id.ipv4, id.port, client == k->cd ? RELAY_LEG_PRIVATE : RELAY_LEG_GLOBAL);
	assert_memory_equal(&a, to, sizeof a);
	arrived(k, o);
}

static void
to_core(struct walk *k, uint32_t client, uint32_t m, uint32_t s, const struct suci_addr *from,
	uint32_t base, const uint8_t *data)
{
	struct relay *r = k->site[client].core[m][s];
	uint32_t in = fake_find(&r->ep, from), out = UINT32_MAX;
	if (++k->cores > 2)
		fault(k, "too many cores");
	k->touched[k->cores - 1] = r;
	if (in == UINT32_MAX)
		fault(k, "no path there");
	struct suci_segment seg = make_segment(r, 1, base + k->dst, base + k->src, SUCI_SF_FIRST);
	if (data)
		memcpy(r->buf[1], data, 200);
	enum suci_verdict v = feed(r, in, &seg);
	if (v == SUCI_REFUSED && k->gateways && k->w->c[client].nshards > 1 &&
	    relay_core_counters(r->c)->refused_proc) {
		/* The gateway's shard is another than the process's: it connects now. */
		relay_core_tick(r->c, r->ep.now);
		accept_all(r);
		v = feed(r, in, &seg);
	}
	if (v != SUCI_TAKEN) {
		const struct relay_counters *n = relay_core_counters(r->c);
#define X(name, help)                                                                         \
	if (n->name && (strncmp(#name, "drop", 4) == 0 || strncmp(#name, "refused", 7) == 0)) \
		print_message("%s: %s\n", #name, help);
		RELAY_COUNTERS(X)
#undef X
		fault(k, "not taken");
	}
	for (uint32_t p = 0; p < FAKE_PATHS; p++)
		if (r->ep.path[p].used && r->ep.path[p].nsent)
			out = p;
	if (out >= FAKE_PATHS)
		fault(k, "taken and not sent");
	struct suci_segment o = r->ep.path[out].sent[0];
	follow(k, client, m, s, &r->ep.path[out].to, &o);
}

/* Which relay and shard has this Suci host id? */
static void
relay_of(const struct cluster *k, const uint8_t hostid[16], bool global, uint32_t *m, uint32_t *s)
{
	struct impi_hostid id;
	assert_int_equal(impi_hostid_decode(hostid, &id), IMPI_HOSTID_SUCI);
	for (*m = 0; *m < k->nrelays; ++*m) {
		const struct relay_member *r = &k->member[*m];
		for (*s = 0; *s < k->nshards; ++*s)
			if (id.ipv4 == (global ? r->ipv4_global : r->ipv4_private) &&
			    id.port == (global ? r->port_global[*s] : r->port_private[*s]))
				return;
	}
	fail_msg("id of no relay");
}

static void
start(struct walk *k)
{
	const struct cluster *c = &k->w->c[k->cs];
	const struct impi_tables *t = view(k, k->cs);
	uint32_t client = c->direct ? k->cd : k->cs, m = 0, s = 0;
	const struct relay_job *j = k->w->c[client].copy;

	if (c->foreign) {
		/* To the host that carries dst, as its own table says. */
		const struct relay_gate *g = relay_job_gate_of(
			j, c->direct ? RELAY_GATE_GLOBAL : RELAY_GATE_PRIVATE, k->dst);
		if (!g)
			fault(k, "destination has no gate");
		assert_int_equal(g->rank, t->proc_host[k->dst]);
		from_tcp(k, client, g->relay);
		return;
	}
	relay_of(&k->w->c[client], t->proc[k->dst].hostid, c->direct, &m, &s);
	struct impi_hostid id;
	assert_int_equal(impi_hostid_decode(t->proc[k->src].hostid, &id), IMPI_HOSTID_SUCI);
	struct suci_addr from =
		relay_addr_v4(id.ipv4, id.port, c->direct ? RELAY_LEG_GLOBAL : RELAY_LEG_PRIVATE);
	struct relay *r = k->site[client].core[m][s];
	if (!c->direct && fake_find(&r->ep, &from) == UINT32_MAX) {
		uint64_t announced =
			impi_token_of(j->token, be64_load(j->global_id[j->first_local] + 16));
		struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
					.label = j->label_base + k->src,
					.rank = k->src};
		h.token = relay_hello_token(announced, h.label);
		uint8_t hello[RELAY_HELLO_LEN];
		char why[SUCI_TEXT_MAX];
		relay_hello_encode(&h, hello);
		assert_int_not_equal(fake_incoming(&r->ep, &from, hello, sizeof hello, why),
				     UINT32_MAX);
	}
	to_core(k, client, m, s, &from, (uint32_t)(t->proc[k->dst].pid - k->dst), NULL);
}

static uint32_t
walk_all(struct world *w)
{
	static struct site site[CLUSTERS_MAX];
	uint32_t nworld = 0, walked = 0;
	memset(site, 0, sizeof site);
	for (uint32_t c = 0; c < w->n; c++) {
		nworld += w->c[c].nprocs;
		if (!w->c[c].direct)
			site_open(&site[c], &w->c[c]);
	}
	const struct impi_tables *t = impi_client_tables(w->c[0].cl);
	for (uint32_t src = 0; src < nworld; src++) {
		for (uint32_t dst = 0; dst < nworld; dst++) {
			struct walk k = {.w = w,
					 .site = site,
					 .src = src,
					 .dst = dst,
					 .cs = impi_tables_client_of_rank(t, src),
					 .cd = impi_tables_client_of_rank(t, dst)};
			if (k.cs == k.cd || (w->c[k.cs].direct && w->c[k.cd].direct))
				continue; /* not by relays */
			start(&k);
			assert_true(k.done);
			walked++;
			for (int i = 0; i < 8; i++)
				for (uint32_t p = 0; k.touched[i] && p < FAKE_PATHS; p++)
					fake_give_back(&k.touched[i]->ep, p, SUCI_FATE_ACKED);
		}
	}
	for (uint32_t c = 0; c < w->n; c++)
		if (!w->c[c].direct)
			site_close(&site[c], &w->c[c]);
	return walked;
}

/* ---- worlds -------------------------------------------------------------------------------- */

enum kind { OURS, OURS_DIRECT, FOREIGN, FOREIGN_DIRECT };

static uint32_t
run_world(struct world *w)
{
	w->gateway = true;
	w->chunk = 4096;
	world_start(w);
	expect_all_well(w);
	uint32_t walked = walk_all(w);
	world_free(w);
	return walked;
}

/* Every kind of source, every kind of destination, by the number of relays of both. */
static void
two_clients(void **state)
{
	(void)state;
	for (uint32_t kinds = 0; kinds < 16; kinds++) {
		const enum kind a = (enum kind)(kinds / 4), b = (enum kind)(kinds % 4);
		if ((a == OURS_DIRECT || a == FOREIGN_DIRECT) &&
		    (b == OURS_DIRECT || b == FOREIGN_DIRECT))
			continue;
		for (uint32_t relays = 0; relays < 16; relays++) {
			static struct world w;
			w = (struct world){.n = 2};
			for (uint32_t c = 0; c < 2; c++) {
				enum kind kind = c ? b : a;
				uint32_t nr = 1 + (c ? relays / 4 : relays % 4);
				w.c[c] = (struct cluster){
					.nprocs = 3 + 2 * c,
					.nhosts = kind == OURS ? 1 : 2,
					.nrelays = nr,
					.nshards = 1 + relays % 2,
					.foreign = kind == FOREIGN || kind == FOREIGN_DIRECT,
					.direct = kind == OURS_DIRECT || kind == FOREIGN_DIRECT,
				};
			}
			assert_int_equal(run_world(&w), 2 * 3 * 5);
		}
	}
}

static void
many_clients(void **state)
{
	(void)state;
	struct base_prng prng = base_prng_seed(20);
	uint32_t walked = 0;
	for (int turn = 0; turn < 80; turn++) {
		static struct world w;
		w = (struct world){.n = 3 + (uint32_t)base_prng_below(&prng, 3)};
		for (uint32_t c = 0; c < w.n; c++) {
			enum kind kind = (enum kind)base_prng_below(&prng, 4);
			w.c[c] = (struct cluster){
				.nprocs = 1 + (uint32_t)base_prng_below(&prng, 7),
				.nhosts = 1 + (uint32_t)base_prng_below(&prng, 4),
				.nrelays = 1 + (uint32_t)base_prng_below(&prng, 4),
				.nshards = 1 + (uint32_t)base_prng_below(&prng, 3),
				.order = (enum order)base_prng_below(&prng, 3),
				.foreign = kind == FOREIGN || kind == FOREIGN_DIRECT,
				.own_ids = base_prng_below(&prng, 2),
				.direct = kind == OURS_DIRECT || kind == FOREIGN_DIRECT,
			};
		}
		walked += run_world(&w);
	}
	print_message("%u ways\n", walked);
	assert_true(walked > 10000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_clients),
		cmocka_unit_test(many_clients),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
