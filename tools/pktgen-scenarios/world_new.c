/* SPDX-License-Identifier: BSD-2-Clause */
/* Building a world: addresses, tables, lanes. */
#include "world.h"
#include "world_internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "impi/hostid.h"
#include "relayproto/hello.h"

#include <stdlib.h>
#include <string.h>

#define RX_BITS_MIN 64u
#define RX_BITS_MAX 32768u

/* ---- memory ------------------------------------------------------------------------ */

static void *
take_new_world(struct pg_world *w, size_t n, size_t each)
{
	void *p = NULL;
	size_t bytes = (n * each + 63) & ~(size_t)63;
	if (w->nmem == sizeof w->mem / sizeof w->mem[0] ||
	    posix_memalign(&p, 64, bytes ? bytes : 64))
		return NULL;
	memset(p, 0, bytes);
	w->mem[w->nmem++] = p;
	return p;
}

/* ---- who is where ------------------------------------------------------------------- */

static uint32_t
nremote(const struct pg_load *l)
{
	return l->relays * l->procs_per_relay;
}

/* The host of a rank, or the relay in front of it. */
static struct pg_station *
station_of_rank(struct pg_world *w, uint32_t job, uint32_t rank)
{
	const struct pg_load *l = w->load;
	if (rank < l->hosts)
		return &w->station[0][(size_t)job * l->hosts + rank];
	rank -= l->hosts;
	if (l->series)
		return &w->station[1][(size_t)job * nremote(l) + rank];
	return &w->station[1][rank / l->procs_per_relay];
}

/* Which of relayd's workers owns a process of its cluster: contiguous blocks. */
static uint32_t
shard_first(uint32_t hosts, uint32_t nshards, uint32_t s)
{
	return (uint32_t)((uint64_t)hosts * s / nshards);
}

static uint32_t
shard_of(const struct pg_world *w, uint32_t rank)
{
	uint32_t n = w->net->side[0].conf->nshards, s = 0;
	while (s + 1 < n && rank >= shard_first(w->load->hosts, n, s + 1))
		s++;
	return s;
}

/* ---- job tables ----------------------------------------------------------------------- */

static void
put_id(uint8_t out[IMPI_HOSTID_BYTES], uint32_t token, enum impi_hostid_kind kind, uint32_t ip,
       uint16_t port)
{
	struct impi_hostid id = {.token = token, .kind = (uint8_t)kind, .port = port, .ipv4 = ip};
	impi_hostid_encode(&id, out);
}

static struct relay_host *
add_host(struct relay_job *t, uint32_t client, uint32_t first, uint32_t n, uint32_t base)
{
	struct relay_host *h = &t->host[t->nhosts++];
	h->client = client;
	h->first_rank = first;
	h->nprocs = n;
	h->label_base = base;
	return h;
}

/* The processes of relayd's own cluster, dealt to its workers. */
static void
add_own_hosts(struct pg_world *w, struct relay_job *t, const struct pg_job *j, uint32_t token)
{
	const struct pg_side_conf *c = w->net->side[0].conf;
	for (uint32_t s = 0; s < c->nshards; s++) {
		uint32_t first = shard_first(w->load->hosts, c->nshards, s);
		uint32_t n = shard_first(w->load->hosts, c->nshards, s + 1) - first;
		if (n)
			put_id(add_host(t, 0, first, n, j->base[0])->id, token, IMPI_HOSTID_RELAY,
			       c->relay_global, (uint16_t)(c->udp_port + s));
	}
}

static void
add_remote_hosts(struct pg_world *w, struct relay_job *t, const struct pg_job *j, uint32_t token)
{
	const struct pg_load *l = w->load;
	const struct pg_side_conf *c = w->net->side[1].conf;
	if (l->series) {
		put_id(add_host(t, 1, l->hosts, nremote(l), j->base[1])->id, token,
		       IMPI_HOSTID_RELAY, c->relay_global, c->udp_port);
		return;
	}
	/* At most 31 other clusters: neighbours in the list share one. */
	uint32_t clients = l->relays < RELAY_CLIENTS_MAX - 1 ? l->relays : RELAY_CLIENTS_MAX - 1;
	for (uint32_t r = 0; r < l->relays; r++)
		put_id(add_host(t, 1 + r * clients / l->relays, l->hosts + r * l->procs_per_relay,
				l->procs_per_relay, j->base[0])
			       ->id,
		       token, IMPI_HOSTID_RELAY, w->station[1][r].self.address,
		       w->station[1][r].self.udp_port);
}

/* side: whose relay reads the table. */
static bool
fill_table(struct pg_world *w, uint32_t job, uint8_t side, uint32_t token)
{
	const struct pg_load *l = w->load;
	struct pg_job *j = &w->job[job];
	struct relay_job *t = j->table[side];
	t->id = job + 1;
	t->token = token;
	t->label_base = j->base[side];
	t->my_client = side;
	t->nworld = l->hosts + nremote(l);
	t->first_local = side ? l->hosts : 0;
	t->nlocal = side ? nremote(l) : l->hosts;
	t->nhosts_private = t->nhosts_global = t->nworld;
	t->datalen = 65536;
	t->ackmark = 10;
	t->hiwater = 20;
	t->nhosts = 0;
	add_own_hosts(w, t, j, token);
	add_remote_hosts(w, t, j, token);
	for (uint32_t i = 0; i < t->nlocal; i++) {
		const struct pg_station *s = station_of_rank(w, job, t->first_local + i);
		put_id(t->local[i].id, s->token, IMPI_HOSTID_LIBMPI, s->self.address,
		       s->self.udp_port);
		t->local[i].pid = (uint64_t)j->base[side] + t->first_local + i;
		t->local[i].relay = w->net->side[side].conf->primary_index + 1;
	}
	for (uint32_t r = 0; r < t->nworld; r++) {
		/* Two names of each, so that a missing rewrite shows. */
		put_id(t->global_id[r], token ^ 0x5a5a5a5au, IMPI_HOSTID_RELAY, 0x0a000001u + r, 1);
		put_id(t->private_id[r], token ^ 0xa5a5a5a5u, IMPI_HOSTID_LIBMPI, 0x0a000001u + r,
		       2);
		be64_store(t->global_id[r] + 16, r);
		be64_store(t->private_id[r] + 16, (uint64_t)r << 32);
	}
	return relay_job_validate(t, NULL) == 0;
}

static bool
make_jobs(struct pg_world *w, struct relay_labels labels[PG_SIDES], char *err, size_t err_max)
{
	const struct pg_load *l = w->load;
	uint32_t nworld = l->hosts + nremote(l), sides = l->series ? 2 : 1;
	struct relay_job_limits lim = {.nworld_max = nworld,
				       .nhosts_max = PG_SHARDS_MAX + l->relays};
	size_t each = (relay_job_footprint(&lim) + 63) & ~(size_t)63;
	w->job = take_new_world(w, l->jobs, sizeof *w->job);
	uint8_t *mem = take_new_world(w, (size_t)l->jobs * sides, each);
	if (!w->job || !mem)
		return false;
	for (uint32_t j = 0; j < l->jobs; j++) {
		for (uint32_t s = 0; s < sides; s++) {
			w->job[j].base[s] = relay_labels_alloc(&labels[s], nworld);
			w->job[j].table[s] =
				relay_job_new(mem + ((size_t)j * sides + s) * each, &lim);
			if (!w->job[j].base[s] || !w->job[j].table[s]) {
				snprintf(err, err_max, "no labels left for job %u", j);
				return false;
			}
		}
		uint32_t token = (uint32_t)base_prng_next(&w->prng);
		for (uint8_t s = 0; s < sides; s++)
			if (!fill_table(w, j, s, token)) {
				snprintf(err, err_max, "the table of job %u is inconsistent", j);
				return false;
			}
	}
	return true;
}

/* ---- lanes ------------------------------------------------------------------------------ */

static bool
has_lane(const struct pg_load *l, uint32_t from, uint32_t nfrom, uint32_t to, uint32_t nto)
{
	switch (l->pattern) {
	case PG_INCAST:
		return to == 0;
	case PG_ALL:
		return true;
	case PG_PAIRS:
		break;
	}
	return nfrom >= nto ? from % nto == to : to % nfrom == from;
}

/* Lanes of one sender over one path (shard), in the order of their receivers; the sum over
 * the senders is at most what the scenario says. */
static void
add_flow(struct pg_world *w, struct pg_station *s, uint32_t shard, uint32_t job, bool out,
	 uint32_t from0, uint32_t nfrom, uint32_t quota[2])
{
	const struct pg_load *l = w->load;
	uint32_t here = l->hosts, there = nremote(l), nto = out ? there : here;
	struct pg_flow *f = &s->flow[shard];
	for (uint32_t from = from0; from < from0 + nfrom; from++)
		for (uint32_t to = 0; to < nto; to++) {
			uint32_t rank = out ? to + here : to;
			if (!has_lane(l, from, out ? here : there, to, nto) ||
			    (!out && !l->series && shard_of(w, rank) != shard))
				continue;
			if (quota[out] == 0)
				return;
			quota[out]--;
			if (!f->n)
				f->first = w->nlanes;
			f->n++;
			w->lane[w->nlanes++] = (struct pg_lane){
				.job = job, .src = out ? from : from + here, .dst = rank};
		}
}

/* Lanes of a flow lie side by side, so all of a station's come at once. */
static void
add_lanes(struct pg_world *w, struct pg_station *s, uint32_t i, uint32_t *quota)
{
	const struct pg_load *l = w->load;
	bool out = s->side == 0;
	uint32_t first_job = s->relay ? 0 : s->job, njobs = s->relay ? l->jobs : 1;
	if (!(l->direction & (out ? PG_OUT : PG_IN)))
		return;
	for (uint32_t shard = 0; shard < s->nflows; shard++)
		for (uint32_t j = first_job; j < first_job + njobs; j++) {
			uint32_t from = s->relay ? i * l->procs_per_relay
						 : i % (out ? l->hosts : nremote(l));
			add_flow(w, s, shard, j, out, from, s->relay ? l->procs_per_relay : 1,
				 &quota[2 * (size_t)j]);
		}
}

static bool
make_new_world_lanes(struct pg_world *w)
{
	const struct pg_load *l = w->load;
	uint32_t *quota = take_new_world(w, l->jobs, 2 * sizeof *quota);
	/* With few lanes over many flows the sum of a flow's roundings is less, never more. */
	w->lane = take_new_world(w, pg_load_lanes(l) * l->jobs, sizeof *w->lane);
	if (!quota || !w->lane)
		return false;
	for (uint32_t j = 0; j < l->jobs; j++)
		quota[2 * (size_t)j] = quota[2 * (size_t)j + 1] = l->lanes ? l->lanes : UINT32_MAX;
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			struct pg_station *s = &w->station[side][i];
			add_lanes(w, s, i, quota);
			bool sends = false;
			for (uint32_t f = 0; f < s->nflows; f++)
				sends = sends || s->flow[f].n;
			w->nsenders += sends;
		}
	/* The fewer lanes share a sender's window the further apart in one of them may be
	 * what is under way, in our windows and in relayd's. */
	w->rx_bits = RX_BITS_MIN;
	while (w->nsenders && w->rx_bits < RX_BITS_MAX / (w->nlanes / w->nsenders + 1))
		w->rx_bits *= 2;
	w->seen = take_new_world(w, w->nlanes, w->rx_bits / 8);
	return w->nlanes > 0 && w->seen;
}

/* ---- stations ---------------------------------------------------------------------------- */

static void
hello_of(const struct pg_world *w, const struct pg_station *s, uint8_t out[RELAY_HELLO_LEN])
{
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY,
				.rank = RELAY_RANK_NONE,
				.mtu = pg_room(w->net->side[s->side].conf)};
	if (!s->relay)
		h = (struct relay_hello){.kind = RELAY_HELLO_PROCESS,
					 .token = s->token,
					 .label = w->job[s->job].base[s->side] + s->rank,
					 .rank = s->rank};
	relay_hello_encode(&h, out);
}

bool
pg_station_start(struct pg_world *w, struct pg_station *s, void *mem)
{
	const struct pg_side_conf *c = w->net->side[s->side].conf;
	struct suci_config sc = {
		.limits = w->limits[s->side],
		.incarnation = base_prng_next(&w->prng) | 1,
		.seed = base_prng_next(&w->prng),
		.mtu_max = pg_room(c),
		.ecn = s->relay,
		.cc = w->load->fixed ? SUCI_CC_FIXED : SUCI_CC_CUBIC,
		.fixed_window = w->load->window,
		.initial_window = 32,
		.credit = w->credit[s->side],
		.burst_packets = PG_RX_BURST,
		.liveness_ns = 4 * BASE_S_NS,
		.keepalive_ns = BASE_S_NS,
		.handshake_ns = 8 * BASE_S_NS,
		.hello_len = RELAY_HELLO_LEN,
		.ops = pg_world_ops(),
		.user = s,
	};
	for (size_t i = 0; i < sizeof sc.cookie_secret; i++)
		sc.cookie_secret[i] = (uint8_t)base_prng_next(&w->prng);
	if (s->relay)
		sc.seal = w->seal;
	for (size_t i = 0; i < sizeof sc.seal.seed; i++)
		sc.seal.seed[i] = (uint8_t)base_prng_next(&w->prng);
	hello_of(w, s, sc.hello);
	memset(s->flow_of, 255, sizeof s->flow_of);
	s->up = 0;
	for (uint32_t i = 0; i < s->nflows; i++)
		s->flow[i].path = UINT32_MAX;
	s->nfree = w->limits[s->side].segments_max;
	for (uint32_t i = 0; i < s->nfree; i++)
		s->free_slot[i] = (uint16_t)i;
	s->ep = suci_new(mem, &sc, w->net->now_ns);
	return s->ep != NULL;
}

static bool
start_side(struct pg_world *w, uint8_t side)
{
	uint32_t n = w->nstations[side];
	const struct suci_limits *lim = &w->limits[side];
	size_t each = suci_footprint(lim);
	uint8_t *mem = each ? take_new_world(w, n, each) : NULL;
	uint8_t(*slot)[PG_HEAD_MAX] = take_new_world(w, (size_t)n * lim->segments_max, PG_HEAD_MAX);
	uint16_t *free_slot = take_new_world(w, (size_t)n * lim->segments_max, sizeof *free_slot);
	uint32_t flows = w->station[side]->nflows;
	struct pg_play *play = NULL;
	uint8_t *players = NULL;
	if (w->load->from_template) {
		play = take_new_world(w, (size_t)n * flows, sizeof *play);
		players = take_new_world(w, (size_t)n * flows, pg_player_size());
	}
	if (!mem || !slot || !free_slot || (w->load->from_template && (!play || !players)))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct pg_station *s = &w->station[side][i];
		for (uint32_t f = 0; play && f < flows; f++) {
			size_t k = (size_t)i * flows + f;
			pg_play_new(w, &s->flow[f], &play[k], side, players + k * pg_player_size());
		}
		s->slot = slot + (size_t)i * lim->segments_max;
		s->free_slot = free_slot + (size_t)i * lim->segments_max;
		if (!pg_station_start(w, s, mem + i * each))
			return false;
	}
	return true;
}

/* Addresses, ranks, tokens: before there are tables. */
static bool
place_new_world(struct pg_world *w, uint8_t side)
{
	const struct pg_load *l = w->load;
	bool relay = side == 1 && !l->series;
	uint32_t per_job = side ? nremote(l) : l->hosts;
	uint32_t n = relay ? l->relays : per_job * l->jobs;
	w->station[side] = take_new_world(w, n, sizeof *w->station[side]);
	if (!w->station[side])
		return false;
	w->nstations[side] = n;
	w->net->side[side].stations = n;
	for (uint32_t i = 0; i < n; i++) {
		struct pg_station *s = &w->station[side][i];
		s->w = w;
		s->side = side;
		s->relay = relay;
		s->job = relay ? 0 : i / per_job;
		s->rank = relay ? RELAY_RANK_NONE : i % per_job + (side ? l->hosts : 0);
		s->token = (uint32_t)base_prng_next(&w->prng);
		s->nflows = relay ? w->net->side[0].conf->nshards : 1;
		s->shard = relay || side ? 0 : shard_of(w, s->rank);
		pg_station(w->net, side, i, &s->self);
	}
	uint32_t window = l->window, paths = relay ? PG_PATHS_MAX : 4;
	/* Room for the window and as much that was refused or lost. */
	w->limits[side] = (struct suci_limits){
		.paths_max = paths,
		.segments_max = 2 * window + 16,
		.queue_max = window + 16,
		.window_max = window,
		.sealed_max = relay && w->seal.aead ? paths : 0,
	};
	/* Of what our ring holds a quarter is left to acks; at least what keeps a lane going. */
	uint32_t credit = w->net->side[side].conf->descriptors * 3u / 4 / n;
	w->credit[side] = credit < 8 ? 8 : credit > 4096 ? 4096 : credit;
	return true;
}

struct pg_world *
pg_world_new(const struct pg_load *load, struct pg_net *net, const struct suci_seal_conf *seal,
	     struct relay_labels labels[PG_SIDES], uint64_t incarnation, char *err, size_t err_max)
{
	struct pg_world *w = calloc(1, sizeof *w);
	snprintf(err, err_max, "not enough memory for the scenario's hosts and lanes");
	if (!w)
		return NULL;
	w->load = load;
	w->net = net;
	w->seal = *seal;
	w->prng = base_prng_seed(load->seed ^ incarnation * 0x9e3779b97f4a7c15ull);
	base_hist_init(&w->latency);
	uint8_t *pattern = take_new_world(w, 1, PG_PAYLOAD_MAX);
	if (!pattern || !place_new_world(w, 0) || !place_new_world(w, 1) ||
	    !make_jobs(w, labels, err, err_max) || !make_new_world_lanes(w) || !start_side(w, 0) ||
	    !start_side(w, 1))
		goto err_free;
	for (uint32_t i = 0; i < PG_PAYLOAD_MAX; i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
	w->pattern = pattern;
	w->hot = take_new_world(w, w->nstations[0] + w->nstations[1], sizeof(void *));
	if (!w->hot)
		goto err_free;
	for (uint32_t i = 0; i < load->nsizes; i++)
		w->weights += load->size[i].weight;
	w->behind = PG_BEHIND;
	if (load->rate_pps)
		w->gap_ns = BASE_S_NS * w->nsenders / load->rate_pps;
	if (load->receiver_pps)
		w->take_gap_ns = BASE_S_NS / load->receiver_pps;
	return w;
err_free:
	pg_world_free(w, labels);
	return NULL;
}

void
pg_world_free(struct pg_world *w, struct relay_labels labels[PG_SIDES])
{
	if (!w)
		return;
	pg_play_free(w);
	for (int side = 0; side < PG_SIDES; side++) {
		for (uint32_t i = 0; i < w->nstations[side]; i++)
			if (w->station[side][i].ep)
				suci_fini(w->station[side][i].ep, w->net->now_ns);
		w->net->side[side].stations = 1; /* it goes on answering ARP */
	}
	for (uint32_t j = 0; w->job && j < w->load->jobs; j++)
		for (int s = 0; s < PG_SIDES; s++)
			if (w->job[j].base[s])
				relay_labels_free(&labels[s], w->job[j].base[s],
						  w->load->hosts + nremote(w->load));
	while (w->nmem)
		free(w->mem[--w->nmem]);
	free(w);
}
