/* SPDX-License-Identifier: BSD-2-Clause */
/* Building and taking down what a worker owns. */
#include "worker.h"
#include "worker_internal.h"

#include "base/clock.h"
#include "custody.h"
#include "driver/aead.h"
#include "driver/pool.h"
#include "keys.h"
#include "rd/packet6.h"
#include "relay/addr.h"

#include <rte_malloc.h>
#include <rte_mempool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define LIGHT_NEIGHBOURS 64
#define LIGHT_ARP_MS	 5
#define LIGHT_ARP_TRIES	 100 /* then what waits is dropped, and who says it again asks again */
#define LIGHT_EXPIRY_S	 86400

_Static_assert(RD_LEG_PRIVATE == (int)RELAY_LEG_PRIVATE && RD_LEG_GLOBAL == (int)RELAY_LEG_GLOBAL &&
		       RD_LEG_LIGHT == RELAY_LEG_LIGHT && RD_LIGHTS_MAX == RELAY_LIGHTS_MAX &&
		       RD_PLACES_MAX == RELAY_PLACES_MAX,
	       "the configuration's legs are the core's");

static struct suci_limits
suci_limits_of(const struct rd_conf *conf)
{
	return (struct suci_limits){
		.paths_max = conf->limits.paths,
		.segments_max = conf->limits.segments,
		.queue_max = conf->limits.queue,
		.window_max = conf->limits.window,
		.sealed_max = rd_sealed_legs(conf) ? conf->limits.paths : 0,
		.parts_max = RD_PARTS,
		.wholes_max = RD_WHOLES,
	};
}

/* What IP and UDP take of a packet of that leg. */
static uint32_t
headers_on(const struct rd_conf *conf, uint32_t leg)
{
	return (conf->port[leg].prefix6_len ? RD_IPV6_HDR : RD_IPV4_HDR) + RD_UDP_HDR;
}

/* UDP payload with which trunks begin; 0: all that the leg takes is known to pass. */
static uint32_t
trunk_mtu_start(const struct rd_conf *conf)
{
	if (conf->suci.global_mtu_start >= conf->port[RD_LEG_GLOBAL].mtu)
		return 0;
	return conf->suci.global_mtu_start - headers_on(conf, RD_LEG_GLOBAL);
}

static struct relay_core_limits
core_limits_of(const struct rd_conf *conf)
{
	return (struct relay_core_limits){
		.jobs_max = conf->limits.jobs,
		.procs_max = conf->limits.procs,
		.hosts_max = conf->limits.hosts,
		.trunks_max = conf->limits.trunks,
		.paths_max = conf->limits.paths,
		.primaries_max = conf->cluster.nrelays,
		.strays_max = RD_STRAYS(conf->limits.segments),
		.doors_max = conf->doors.max,
		.holds_max = 2 * conf->doors.max, /* some to say what found no room */
	};
}

/* At the end of a light path is one neighbour, and only while it is lit; who asks is told at once,
 * and asks again until the circuit counts as failed. */
static struct rd_neigh_conf
neigh_conf_of(const struct rd_conf *conf, uint32_t leg)
{
	if (leg >= RD_LEG_LIGHT)
		return (struct rd_neigh_conf){
			.entries = LIGHT_NEIGHBOURS,
			.pending = conf->neighbours.pending,
			.tries = LIGHT_ARP_TRIES,
			.retry_ns = LIGHT_ARP_MS * BASE_MS_NS,
			.expiry_ns = LIGHT_EXPIRY_S * BASE_S_NS,
			.trusting = true,
		};
	return (struct rd_neigh_conf){
		.entries = conf->neighbours.entries,
		.pending = conf->neighbours.pending,
		.tries = conf->neighbours.tries,
		.retry_ns = conf->neighbours.retry_ms * BASE_MS_NS,
		.expiry_ns = conf->neighbours.expiry_s * BASE_S_NS,
	};
}

size_t
rd_worker_footprint(const struct rd_conf *conf)
{
	struct suci_limits sl = suci_limits_of(conf);
	struct relay_core_limits cl = core_limits_of(conf);
	size_t s = suci_footprint(&sl), c = relay_core_footprint(&cl), n = 0;
	for (uint32_t leg = 0; leg < conf->nlegs; leg++) {
		struct rd_neigh_conf nc = neigh_conf_of(conf, leg);
		size_t one = rd_neigh_footprint(&nc);
		if (!one)
			return 0;
		n += one;
	}
	return s && c ? s + c + n + RD_LEGS * sizeof(struct rd_flows) : 0;
}

/* The relays of the cluster, one entry for each worker: the first ones of all, the second
 * ones ... so that what does not fit is the last ones. */
static void
cluster_of(const struct rd_worker *w, struct relay_core_conf *cc)
{
	const struct rd_conf *conf = w->conf;
	for (uint32_t k = 0; k < RD_WORKERS_MAX; k++)
		for (uint32_t i = 0; i < conf->cluster.nrelays; i++) {
			const struct rd_conf_relay *r = &conf->cluster.relay[i];
			bool self = i == conf->cluster.self && k == w->index;
			uint32_t at = cc->ncluster;
			if (k >= r->workers)
				continue;
			if (at == RELAY_GROUP_MAX) {
				if (!self)
					continue;
				at--; /* one knows itself */
			}
			cc->cluster[at] = (struct relay_sibling){
				.global = relay_addr_v4(
					r->global_address,
					(uint16_t)(conf->port[RD_LEG_GLOBAL].udp_port + k),
					RELAY_LEG_GLOBAL),
				.private = relay_addr_v4(
					r->private_address,
					(uint16_t)(conf->port[RD_LEG_PRIVATE].udp_port + k),
					RELAY_LEG_PRIVATE),
				.weight = self ? (uint8_t)conf->trunks.weight : RELAY_WEIGHT_MAX,
			};
			memcpy(cc->cluster[at].private6, r->private6, sizeof r->private6);
			cc->ncluster = at + 1;
			cc->self = self ? at : cc->self;
		}
	cc->rule[cc->nrules++].policy = (uint8_t)conf->trunks.policy;
	for (uint32_t i = 0; i < conf->trunks.npairs; i++) {
		const struct rd_conf_pair *p = &conf->trunks.pair[i];
		cc->rule[cc->nrules++] = (struct relay_policy_rule){
			p->address, (uint8_t)p->prefix_len, (uint8_t)p->policy};
	}
	for (; cc->nplaces < conf->trunks.nplaces; cc->nplaces++) {
		const struct rd_conf_place *p = &conf->trunks.place[cc->nplaces];
		cc->place[cc->nplaces].ipv4 = p->name;
		memcpy(cc->place[cc->nplaces].ipv6, p->address, sizeof p->address);
	}
	cc->partition_ns = conf->trunks.partition_timeout_s * BASE_S_NS;
}

static int
init_core(struct rd_worker *w, char *err, size_t err_max)
{
	const struct rd_conf *conf = w->conf;
	const struct rd_station *global = &w->leg[RD_LEG_GLOBAL].self;
	struct relay_core_conf cc = {
		.limits = core_limits_of(conf),
		.self_global = relay_addr_v4(global->address, global->udp_port, RELAY_LEG_GLOBAL),
		.trunk_mtu =
			(uint16_t)(conf->port[RD_LEG_GLOBAL].mtu - headers_on(conf, RD_LEG_GLOBAL)),
		.trunk_mtu_start = (uint16_t)trunk_mtu_start(conf),
		.workers = w->nworkers,
		.connect_ns = conf->suci.handshake_ms * BASE_MS_NS,
		.doors = {.cluster = conf->cluster.self,
			  .importers_max = (uint16_t)conf->doors.importers,
			  .imports_max = conf->doors.imports,
			  .asks_per_s = conf->doors.asks_per_s,
			  .per_proc_max = conf->doors.per_process,
			  .lost_ns = conf->doors.lost_s * BASE_S_NS},
		.nlights = conf->optical.nports,
		.light_open_ns = conf->optical.open_ms * BASE_MS_NS,
		.light_liveness_ns = conf->optical.liveness_ms * BASE_MS_NS,
		.dark_drain_ns = conf->optical.drain_ms * BASE_MS_NS,
		.ops = rd_worker_core_ops(),
		.user = w,
	};
	cluster_of(w, &cc);
	(void)getrandom(&cc.doors.begin, sizeof cc.doors.begin, 0); /* without it as ever */
	if (conf->gateway.enable)
		for (; cc.ngateways < conf->cluster.nrelays; cc.ngateways++)
			cc.gateway[cc.ngateways] =
				relay_addr_v4(conf->cluster.relay[cc.ngateways].private_address,
					      (uint16_t)conf->gateway.udp_port, RELAY_LEG_PRIVATE);
	w->mem_core = rte_zmalloc_socket("core", relay_core_footprint(&cc.limits), 64, w->socket);
	w->core = w->mem_core ? relay_core_new(w->mem_core, &cc) : NULL;
	if (w->core)
		return 0;
	snprintf(err, err_max,
		 w->mem_core ? "the relay core refused its configuration"
			     : "no memory for the relay core; raise eal.memory_mb");
	return -1;
}

/* Of what the receive queues hold a quarter is left to acks and asks.  Fewer queues than
 * workers are shared. */
static uint32_t
credit_total(const struct rd_worker *w)
{
	const struct rd_conf *conf = w->conf;
	uint32_t total = UINT32_MAX;
	for (uint32_t i = 0; i < w->nlegs; i++) {
		uint32_t queues = w->leg[i].port->n_rxq;
		uint32_t room = conf->port[i].rx_descriptors;
		if (queues < w->nworkers)
			room = room * queues / w->nworkers;
		total = room < total ? room : total;
	}
	total = total / 4 * 3;
	if (conf->suci.credit)
		total = conf->suci.credit;
	return total < INT16_MAX ? total : INT16_MAX;
}

static int
init_endpoint(struct rd_worker *w, char *err, size_t err_max)
{
	const struct rd_conf *conf = w->conf;
	uint32_t mtu = 0, start = trunk_mtu_start(conf);
	uint32_t global = conf->port[RD_LEG_GLOBAL].mtu - headers_on(conf, RD_LEG_GLOBAL);
	for (uint32_t i = 0; i < conf->nlegs; i++)
		mtu = conf->port[i].mtu > mtu ? conf->port[i].mtu : mtu;
	struct suci_config sc = {
		.limits = suci_limits_of(conf),
		.mtu_max = mtu - RD_IPV4_HDR - RD_UDP_HDR,
		.mtu_min_leg =
			{
				/* All of it: known to pass, until it does not. */
				[RELAY_LEG_GLOBAL] = start ? start : global,
			},
		.burst_packets = RD_PACED_BURST,
		.credit = conf->limits.window,
		.credit_total = credit_total(w),
		.ops = relay_ops(),
		.user = w->core,
	};
	rd_worker_tuning(&w->suci, &sc);
	if (getrandom(sc.cookie_secret, sizeof sc.cookie_secret, 0) < 0 ||
	    getrandom(sc.seal.seed, sizeof sc.seal.seed, 0) < 0 ||
	    getrandom(&sc.seed, sizeof sc.seed, 0) < 0 ||
	    getrandom(&sc.incarnation, sizeof sc.incarnation, 0) < 0) {
		snprintf(err, err_max, "no random numbers from the kernel");
		return -1;
	}
	sc.incarnation |= 1; /* not 0 */
	for (uint32_t i = 0; i < conf->nlegs; i++) {
		sc.mtu_leg[i] = conf->port[i].mtu - headers_on(conf, i);
		sc.ecn_off_leg[i] = i != RD_LEG_GLOBAL;
	}
	if (w->keys->sealed) {
		sc.seal.legs = rd_sealed_legs(conf);
		sc.seal.aead = seal_aes256gcm();
		rd_keys_give(w->keys, &sc.seal);
	}
	relay_core_hello(w->core, sc.hello);
	sc.hello_len = RELAY_HELLO_LEN;
	w->mem_suci = rte_zmalloc_socket("suci", suci_footprint(&sc.limits), 64, w->socket);
	w->ep = w->mem_suci ? suci_new(w->mem_suci, &sc, w->now_ns) : NULL;
	explicit_bzero(&sc.seal, sizeof sc.seal);
	if (!w->ep) {
		snprintf(err, err_max,
			 w->mem_suci ? "the Suci endpoint refused its configuration"
				     : "no memory for the Suci endpoint; raise eal.memory_mb");
		return -1;
	}
	relay_bind(w->core, w->ep);
	return 0;
}

static int
init_legs(struct rd_worker *w, char *err, size_t err_max)
{
	for (uint32_t i = 0; i < w->nlegs; i++) {
		struct rd_neigh_conf nc = neigh_conf_of(w->conf, i);
		w->mem_neigh[i] =
			rte_zmalloc_socket("neigh", rd_neigh_footprint(&nc), 64, w->socket);
		w->leg[i].unreachable = rd_worker_neighbour_gone;
		w->leg[i].contested = rd_worker_contested;
		w->leg[i].to_kernel = i < RD_LEGS && w->index == 0 ? rd_worker_to_kernel : NULL;
		w->leg[i].hand_over = rd_steer_out;
		w->leg[i].user = w;
		w->leg[i].now_ns = w->now_ns;
		if (w->leg[i].to_kernel) {
			w->leg[i].flows =
				rte_zmalloc_socket("flows", sizeof *w->leg[i].flows, 64, w->socket);
			if (!w->leg[i].flows) {
				snprintf(err, err_max, "no memory; raise eal.memory_mb");
				return -1;
			}
		}
		if (!w->mem_neigh[i] || rd_leg_init(&w->leg[i], w->mem_neigh[i], &nc)) {
			snprintf(err, err_max,
				 "no memory for the neighbour table; raise eal.memory_mb");
			return -1;
		}
		for (uint32_t k = 0; i < RD_LEGS && k < w->conf->neighbours.nknown; k++) {
			const struct rd_conf_mac *known = &w->conf->neighbours.known[k];
			if (known->address ? rd_conf_on_leg(w->conf, i, known->address)
					   : rd_conf_knows_six(&w->conf->port[i], known->address6))
				(void)rd_neigh_fix(w->leg[i].neigh,
						   known->address ? known->address
								  : rd_hops_fix(&w->leg[i].hops,
										known->address6),
						   known->mac);
		}
	}
	return 0;
}

static void
chunk_range(struct rte_mempool *pool, void *user, struct rte_mempool_memhdr *chunk, unsigned idx)
{
	struct rd_worker *w = user;
	uint64_t low = (uint64_t)(uintptr_t)chunk->addr, high = low + chunk->len;
	(void)pool;
	if (idx == 0 || low < w->pool_low)
		w->pool_low = low;
	if (idx == 0 || high > w->pool_high)
		w->pool_high = high;
}

int
rd_worker_init(struct rd_worker *w, const struct rd_conf *conf, struct rd_mailbox *box, char *err,
	       size_t err_max)
{
	w->conf = conf;
	w->suci = conf->suci;
	w->box = box;
	w->idle.mode = (enum rd_idle_mode)conf->idle;
	rte_mempool_mem_iter(w->pool, chunk_range, w);
	rd_clock_init(&w->clock);
	w->now_ns = w->started_ns = rd_clock_ns(&w->clock);
	if (init_legs(w, err, err_max) || init_core(w, err, err_max) ||
	    init_endpoint(w, err, err_max)) {
		rd_worker_fini(w);
		return -1;
	}
	return 0;
}

void
rd_worker_fini(struct rd_worker *w)
{
	if (w->ep)
		suci_fini(w->ep, w->now_ns);
	w->ep = NULL;
	if (w->core)
		relay_core_fini(w->core);
	w->core = NULL;
	rd_custody_flush(w);
	for (uint32_t i = 0; i < w->nlegs; i++) {
		if (w->leg[i].neigh)
			rd_leg_fini(&w->leg[i]);
		rte_free(w->leg[i].flows);
		w->leg[i].flows = NULL;
		rte_free(w->mem_neigh[i]);
		w->mem_neigh[i] = NULL;
	}
	if (w->mem_suci) { /* its keys */
		struct suci_limits limits = suci_limits_of(w->conf);
		explicit_bzero(w->mem_suci, suci_footprint(&limits));
	}
	rte_free(w->mem_suci);
	rte_free(w->mem_core);
	w->mem_suci = w->mem_core = NULL;
}
