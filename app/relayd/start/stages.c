/* SPDX-License-Identifier: BSD-2-Clause */
#include "stages.h"
#include "channel_keys.h"
#include "check.h"
#include "control.h"
#include "iface.h"
#include "keeper.h"
#include "log.h"
#include "privs.h"
#include "rpc_server.h"
#include "service.h"
#include "sorting.h"
#include "stats.h"
#include "telemetry.h"
#include "worker.h"

#include "base/assert.h"
#include "driver/eal.h"
#include "driver/pidfile.h"
#include "driver/pool.h"
#include "driver/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <bsd/stdlib.h>
#include <bsd/unistd.h>

#define ERR_MAX 256

struct relay {
	struct rd_conf *conf;
	const char *path; /* of its file */
	const struct rd_plan *plan;
	struct process_pidfile pidfile;
	struct rd_iface iface[RD_LEGS_MAX];
	struct rd_keeper keeper;
	uint32_t nworkers;
	struct rte_mempool *pool[RD_WORKERS_MAX];
	struct rd_port port[RD_LEGS_MAX];
	struct rd_port_conf port_conf[RD_LEGS_MAX];
	struct rd_mailbox *box[RD_WORKERS_MAX];
	struct rd_worker *worker[RD_WORKERS_MAX];
	struct rd_steer steer; /* more than one worker */
	struct rd_control *control;
	unsigned lcore[RD_WORKERS_MAX];
	int status;
	char err[ERR_MAX];
};

bool
rd_plan_memory(const struct rd_conf *conf, struct rd_plan *plan)
{
	uint32_t slots = 0, mtu = 0;
	for (uint32_t i = 0; i < conf->nlegs; i++) {
		slots += conf->port[i].rx_descriptors + conf->port[i].tx_descriptors;
		if (conf->port[i].mtu > mtu)
			mtu = conf->port[i].mtu;
	}
	/* Of each worker: custody, segments that come in parts, and what a dead trunk left while as
	 * much is in custody anew; packets waiting for neighbours (many at once only at the start);
	 * one transmit burst a leg; two full rings to others; of worker 0 both directions of both
	 * TAPs. */
	uint32_t n = conf->workers, waiting = conf->neighbours.pending * 64;
	uint32_t held = conf->limits.segments + RD_STRAYS(conf->limits.segments) + waiting +
			conf->nlegs * RD_BURST + RD_WHOLES + (n > 1 ? 2 * RD_STEER_RING : 0);
	uint32_t first = 2 * RD_LEGS * RD_TAP_RING;
	if (conf->gateway.enable) {
		first += RD_GATEWAY_BUFFERS(n);
		held += n > 1 ? RD_GATEWAY_BUFFERS_OTHER : 0;
	}
	/* Caches: control, the gateway, and every worker has some of what came from others. */
	uint32_t caches = n + 1 + conf->gateway.enable;
	struct rd_pool_plan zero = rd_pool_plan((uint16_t)mtu, slots, held + first, caches);
	struct rd_pool_plan other = rd_pool_plan((uint16_t)mtu, slots, held, caches);
	plan->buffers_first = zero.count;
	plan->buffers = other.count;
	plan->buffer_bytes = zero.room_bytes;
	plan->pool_bytes = zero.bytes + (n - 1) * other.bytes;
	plan->table_bytes = n * rd_worker_footprint(conf);
	plan->mem_mb = rd_pool_mem_mb(plan->pool_bytes + plan->table_bytes);
	plan->gateway_bytes = conf->gateway.enable ? rd_gateway_footprint(conf) : 0;
	return plan->table_bytes > 0 && (!conf->gateway.enable || plan->gateway_bytes > 0);
}

uint32_t
rd_plan_buffers(const struct rd_conf *conf, const struct rd_plan *plan)
{
	return plan->buffers_first + (conf->workers - 1) * plan->buffers;
}

/* ---- stages: 0, or -1 with r->err ----------------------------------------------- */

static int
do_pidfile(struct relay *r)
{
	r->pidfile.fd = -1;
	if (!*r->conf->pidfile)
		return 0;
	return process_pidfile_open(&r->pidfile, r->conf->pidfile, r->err, ERR_MAX);
}

static void
undo_pidfile(struct relay *r)
{
	process_pidfile_remove(&r->pidfile);
}

static int
do_server(struct relay *r)
{
	const struct rd_conf *conf = r->conf;
	if (conf->impi.auth == RD_AUTH_KEY) {
		r->control->jobs.auth.mask = IMPI_AUTH_MASK_KEY;
		if (!rd_read_key(conf->impi.key_file, &r->control->jobs.auth.key, r->err, ERR_MAX))
			return -1;
	} else {
		r->control->jobs.auth.mask = IMPI_AUTH_MASK_NONE;
	}
	if (rd_channel_keys(conf, &r->control->jobs.peer_keys, &r->control->light_keys, r->err,
			    ERR_MAX) ||
	    rd_server_keys(conf, &r->control->jobs.server_keys, r->err, ERR_MAX))
		return -1;
	r->control->keys = rd_keys_load(conf, r->err, ERR_MAX);
	if (!r->control->keys)
		return -1;
	if (rd_conf_server(conf, &r->control->jobs.server))
		return 0;
	/* A name is looked up once, by the machine's own resolver, before the legs
	 * are ours. */
	int e = rd_server_look_up(conf, &r->control->jobs.server);
	if (e)
		snprintf(r->err, ERR_MAX, "impi.server: cannot find the address of %.100s: %s",
			 conf->impi.server_host, gai_strerror(e));
	return e ? -1 : 0;
}

static void
undo_server(struct relay *r)
{
	rd_keys_free(r->control->keys);
	r->control->keys = NULL;
}

/* The global leg at the private one's port. */
static bool
is_shared(const struct rd_conf *conf, uint32_t leg)
{
	return leg == RD_LEG_GLOBAL && rd_conf_one_port(conf);
}

static void
undo_ifaces(struct relay *r)
{
	for (uint32_t i = 0; i < r->conf->nlegs; i++)
		rd_iface_restore(&r->iface[i]);
}

static int
do_ifaces(struct relay *r)
{
	rd_keeper_recover(r->conf);
	for (uint32_t i = 0; i < r->conf->nlegs; i++)
		if (*r->conf->port[i].interface && !is_shared(r->conf, i) &&
		    rd_iface_quiet(&r->iface[i], r->conf->port[i].interface, r->err, ERR_MAX))
			goto err_undo;
	if (rd_keeper_record(r->conf, r->iface, r->conf->nlegs, r->err, ERR_MAX) == 0)
		return 0;
err_undo:
	undo_ifaces(r);
	return -1;
}

static int
do_keeper(struct relay *r)
{
	return rd_keeper_start(&r->keeper, r->conf, r->err, ERR_MAX);
}

static void
undo_keeper(struct relay *r)
{
	rd_keeper_end(&r->keeper);
}

static int
do_privileges(struct relay *r)
{
	return rd_privs_drop(r->conf, r->err, ERR_MAX);
}

/* What is there stays there, and what comes later stays once it was touched: all at once would take
 * the whole stack of each thread. */
static void
lock_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		rd_log(RD_LOG_INFO,
		       "memory is not locked and may be swapped out (%s); fix: "
		       "LimitMEMLOCK=infinity in the unit, ulimit -l unlimited",
		       strerror(errno));
}

static int
do_eal(struct relay *r)
{
	const struct rd_conf *conf = r->conf;
	struct rd_eal_opts o = {
		.prog = "relayd",
		.file_prefix = conf->eal.file_prefix,
		.lcores = conf->eal.lcores,
		.main_lcore = -1,
		.huge = conf->eal.hugepages,
		.mem_mb = conf->eal.memory_mb,
		.resident = true,
		.telemetry = conf->telemetry,
		.n_extra = conf->eal.nextra,
	};
	for (uint32_t i = 0; i < conf->eal.nextra; i++)
		o.extra[i] = conf->eal.extra[i];
	for (uint32_t i = 0; i < conf->nlegs; i++)
		if (rd_dev_is_pci(conf->port[i].device) && !is_shared(conf, i))
			o.pci_allow[o.n_pci_allow++] = conf->port[i].device;
	if (rd_eal_start(&o, r->err, ERR_MAX))
		return -1;
	lock_memory();
	unsigned lcore = -1u;
	for (uint32_t i = 0; i < r->nworkers; i++) {
		lcore = rte_get_next_lcore(lcore, 1, 0);
		if (lcore >= RTE_MAX_LCORE) {
			snprintf(r->err, ERR_MAX,
				 "eal.lcores \"%.60s\" gives %u lcores, %u are needed (control and "
				 "workers)",
				 conf->eal.lcores, rte_lcore_count(), r->nworkers + 1);
			rd_eal_stop();
			return -1;
		}
		r->lcore[i] = lcore;
	}
	return 0;
}

static void
undo_eal(struct relay *r)
{
	(void)r;
	rd_eal_stop();
}

static void
undo_pools(struct relay *r)
{
	uint32_t size = 0, left = 0;
	rd_ports_end();
	for (uint32_t i = 0; i < r->nworkers && r->pool[i]; i++) {
		size += r->pool[i]->size;
		/* A file of hugepages may outlive us, so there zeros are wanted. */
		left += r->conf->eal.hugepages ? rd_pool_free(r->pool[i]) : rd_pool_end(r->pool[i]);
		r->pool[i] = NULL;
	}
	if (left) {
		rd_log(RD_LOG_ERROR, "%u of %u packet buffers did not come back", left, size);
		r->status = 1;
	} else {
		rd_log(RD_LOG_INFO, "all %u packet buffers are back", size);
	}
}

/* Where the worker is: its lcore's NUMA node. */
static int
do_pools(struct relay *r)
{
	for (uint32_t i = 0; i < r->nworkers; i++) {
		struct rd_pool_plan pp = {
			.count = i ? r->plan->buffers : r->plan->buffers_first,
			.room_bytes = (uint16_t)r->plan->buffer_bytes,
			.bytes = r->plan->pool_bytes / r->nworkers,
		};
		char name[24];
		snprintf(name, sizeof name, "packets%u", i);
		if (rd_pool_create(&r->pool[i], name, &pp, (int)rte_lcore_to_socket_id(r->lcore[i]),
				   r->err, ERR_MAX) == 0)
			continue;
		undo_pools(r);
		return -1;
	}
	return 0;
}

static const char *
woken_text(const struct rd_port *p)
{
	if (p->rx_intr)
		return "sleeps until the port's receive interrupt";
	if (p->n_wakes)
		return "sleeps until its packet socket has a frame";
	return "looks every 100 us, for this driver has no receive interrupts (see Workers)";
}

/* Whose work checksums are. */
static void
log_checksums(const char *leg, const struct rd_port *p)
{
	static const char *const whose[] = {"the worker", "the port"};
	rd_log(RD_LOG_INFO,
	       "%s leg: checksums received are looked at by %s (UDP) and %s (IPv4), those sent "
	       "are made by %s",
	       leg, whose[p->rx_udp_cksum], whose[p->rx_ip_cksum], whose[p->tx_cksum]);
}

static void
log_refusal(const char *leg, const struct rd_port *p)
{
	char text[RD_SORTING_TEXT];
	enum rd_log_level level = rd_sorting_refusal(leg, p, text);
	if (*text)
		rd_log(level, "%s", text);
}

static int
do_port(struct relay *r, uint32_t i)
{
	const struct rd_conf_port *p = &r->conf->port[i], *g = &r->conf->port[RD_LEG_GLOBAL];
	bool both = i == RD_LEG_PRIVATE && rd_conf_one_port(r->conf);
	struct rd_port_conf pc = {
		.device = *p->device ? p->device : p->interface,
		.pmd = (enum rd_pmd)p->pmd,
		.index = i,
		.mtu = (uint16_t)(both && g->mtu > p->mtu ? g->mtu : p->mtu),
		.vlans = p->vlan || (both && g->vlan),
		.n_rxq = (uint16_t)r->nworkers,
		.n_txq = (uint16_t)r->nworkers,
		.fewer_queues = true,
		.allmulti = p->prefix6_len ||
			    (both && g->prefix6_len), /* neighbour discovery asks groups */
		.rx_intr = r->conf->idle == RD_IDLE_SLEEP,
		.rx_cksum = true,
		.n_rxd = (uint16_t)p->rx_descriptors,
		.n_txd = (uint16_t)p->tx_descriptors,
		.pools = r->pool,
	};
	rd_sorting_ask(r->conf, i, r->nworkers, &pc);
	r->port_conf[i] = pc;
	char why[ERR_MAX];
	if (rd_port_open(&r->port[i], &pc, why, sizeof why)) {
		snprintf(r->err, ERR_MAX, "%s leg: %.*s", rd_leg_names[i], ERR_MAX - 24, why);
		return -1;
	}
	const struct rd_port *o = &r->port[i];
	rd_log(RD_LOG_INFO, "%s leg: %s (%s), MAC %02x:%02x:%02x:%02x:%02x:%02x, MTU %u",
	       rd_leg_names[i], o->device, o->driver, o->mac[0], o->mac[1], o->mac[2], o->mac[3],
	       o->mac[4], o->mac[5], o->mtu);
	log_checksums(rd_leg_names[i], o);
	if (r->conf->idle == RD_IDLE_SLEEP)
		rd_log(RD_LOG_INFO, "%s leg: an idle worker %s", rd_leg_names[i], woken_text(o));
	log_refusal(rd_leg_names[i], o);
	if (r->nworkers > 1)
		rd_log(RD_LOG_INFO,
		       "%s leg: %u workers, %u receive and %u transmit queues, datagrams sorted by "
		       "%s%s",
		       rd_leg_names[i], r->nworkers, o->n_rxq, o->n_txq, rd_sorting_by(o),
		       o->n_rxq < r->nworkers || o->n_txq < r->nworkers
			       ? "; workers without one use another's"
			       : "");
	return 0;
}

static void
undo_ports(struct relay *r)
{
	for (uint32_t i = r->conf->nlegs; i-- > 0;)
		rd_port_close(&r->port[i]);
}

static int
do_ports(struct relay *r)
{
	for (uint32_t i = 0; i < r->conf->nlegs; i++)
		if (is_shared(r->conf, i))
			rd_log(RD_LOG_INFO, "%s leg: at the port of the %s leg, VLAN %u beside %u",
			       rd_leg_names[i], rd_leg_names[RD_LEG_PRIVATE], r->conf->port[i].vlan,
			       r->conf->port[RD_LEG_PRIVATE].vlan);
		else if (do_port(r, i)) {
			undo_ports(r);
			return -1;
		}
	return 0;
}

static void
open_ports(struct rd_station *s, bool tcp, uint32_t first, uint32_t n)
{
	if (!n || s->nopen == RD_OPEN_MAX)
		return;
	s->open[s->nopen++] = (struct rd_open){
		.protocol = tcp ? 6 : 17,
		.first = (uint16_t)first,
		.last = (uint16_t)(first + n - 1),
	};
}

_Static_assert(RD_CONF_OPEN_MAX + 4 <= RD_OPEN_MAX, "room for our own ports");

/* What the kernel may be asked over this leg's TAP. */
static void
set_open(const struct rd_conf *conf, uint32_t leg, struct rd_station *s)
{
	bool private = leg == RD_LEG_PRIVATE;
	const struct rd_conf_port *other = &conf->port[private ? RD_LEG_GLOBAL : RD_LEG_PRIVATE];
	uint32_t gates = conf->cluster.nrelays * conf->limits.jobs;
	uint32_t via = private ? conf->gateway.private_via : conf->gateway.global_via;
	s->other = other->address;
	s->other_mask = ~0u << (32 - other->prefix_len);
	if (private) {
		open_ports(s, true, conf->impi.listen_port, conf->impi.ports);
		open_ports(s, true, conf->cluster.peer_port, conf->cluster.nrelays > 1);
	}
	if (conf->gateway.enable && via == RD_VIA_LEG)
		open_ports(s, true,
			   private ? conf->gateway.private_port : conf->gateway.global_port, gates);
	if (conf->optical.listen_port && conf->optical.listen_ip == s->address)
		open_ports(s, true, conf->optical.listen_port, 1);
	for (uint32_t i = 0; i < conf->ntap_open; i++) {
		const struct rd_conf_open *o = &conf->tap_open[i];
		if (o->legs & 1u << leg)
			open_ports(s, o->tcp, o->first, o->last - o->first + 1u);
	}
}

static void
set_leg(struct relay *r, struct rd_worker *w, uint32_t i)
{
	const struct rd_conf_port *p = &r->conf->port[i];
	const struct rd_port *port = &r->port[is_shared(r->conf, i) ? RD_LEG_PRIVATE : i];
	struct rd_leg *leg = &w->leg[i];
	leg->vlan = (uint16_t)p->vlan;
	leg->shares = is_shared(r->conf, i);
	leg->shared = i == RD_LEG_PRIVATE && rd_conf_one_port(r->conf);
	leg->name = rd_leg_names[i];
	leg->index = (uint8_t)i;
	leg->self = (struct rd_station){
		.address = p->address,
		.prefix_len = p->prefix_len,
		.gateway = p->gateway,
		.udp_port = (uint16_t)(p->udp_port + w->index),
		.udp_first = (uint16_t)p->udp_port,
		.nshards = (uint16_t)r->nworkers,
		.gateway_port = i == RD_LEG_PRIVATE && r->conf->gateway.enable
					? (uint16_t)r->conf->gateway.udp_port
					: 0,
	};
	leg->self.nmore = i < RD_LEGS ? rd_conf_leg_more(r->conf, (int)i, leg->self.more) : 0;
	leg->self.sum_required = i != RD_LEG_PRIVATE;
	leg->self.ports_sum = true;
	for (uint32_t k = 0; k < r->conf->nlegs; k++)
		leg->self.ports_sum &= is_shared(r->conf, k) || r->port[k].tx_cksum;
	if (p->prefix6_len) {
		memcpy(leg->six.address, p->address6, sizeof leg->six.address);
		memcpy(leg->six.gateway, p->next6, sizeof leg->six.gateway);
		leg->six.prefix_len = p->prefix6_len;
		leg->self.six = &leg->six;
	}
	if (i < RD_LEGS && r->conf->port[RD_LEG_GLOBAL - i].prefix6_len)
		leg->self.other_six = &w->leg[RD_LEG_GLOBAL - i].six;
	if (i < RD_LEGS)
		set_open(r->conf, i, &leg->self);
	memcpy(leg->self.mac, port->mac, 6);
	leg->mtu = p->mtu;
	leg->port = port;
	leg->rxq = w->index < port->n_rxq ? (uint16_t)w->index : RD_NO_QUEUE;
	leg->txq = w->index < port->n_txq ? (uint16_t)w->index : RD_NO_QUEUE;
	leg->via = w->index % port->n_txq;
	leg->pool = w->pool;
}

static void
undo_workers(struct relay *r)
{
	for (uint32_t i = 0; i < r->nworkers; i++) {
		if (r->worker[i])
			rd_worker_fini(r->worker[i]);
		if (r->box[i])
			rd_mailbox_fini(r->box[i]);
		rte_free(r->worker[i]);
		free(r->box[i]);
		r->worker[i] = NULL;
		r->box[i] = NULL;
	}
	rd_steer_fini(&r->steer);
	rd_wake_fini(&r->control->post.waker);
}

static int
do_boxes(struct relay *r)
{
	int e = rd_wake_init(&r->control->post.waker);
	for (uint32_t i = 0; i < r->nworkers && e == 0; i++) {
		r->box[i] = aligned_alloc(64, (sizeof *r->box[i] + 63) & ~(size_t)63);
		e = r->box[i] ? rd_mailbox_init(r->box[i], &r->control->post.waker) : -ENOMEM;
	}
	if (e == 0 && r->nworkers > 1)
		e = rd_steer_init(&r->steer, r->nworkers);
	if (e)
		snprintf(r->err, ERR_MAX, "mailboxes: %s", strerror(-e));
	return e ? -1 : 0;
}

static int
do_worker(struct relay *r, uint32_t i)
{
	int socket = (int)rte_lcore_to_socket_id(r->lcore[i]);
	struct rd_worker *w = rte_zmalloc_socket("worker", sizeof *w, 64, socket);
	if (!w) {
		snprintf(r->err, ERR_MAX, "no memory for worker %u; raise eal.memory_mb", i);
		return -1;
	}
	r->worker[i] = w;
	w->index = i;
	w->nworkers = r->nworkers;
	w->lcore = r->lcore[i];
	w->socket = socket;
	w->pool = r->pool[i];
	w->keys = r->control->keys;
	w->steer = r->nworkers > 1 ? &r->steer : NULL;
	for (uint32_t k = 0; k < r->nworkers; k++)
		w->wake_of[k] = &r->box[k]->wake_worker;
	w->nlegs = r->conf->nlegs;
	for (uint32_t leg = 0; leg < w->nlegs; leg++) {
		set_leg(r, w, leg);
		if (rte_socket_count() > 1 && r->port[leg].socket != socket)
			rd_log(RD_LOG_WARNING,
			       "worker %u: lcore %u is on NUMA node %d, the %s leg on %d; choose "
			       "eal.lcores there",
			       i, w->lcore, socket, rd_leg_names[leg], r->port[leg].socket);
	}
	return rd_worker_init(w, r->conf, r->box[i], r->err, ERR_MAX);
}

static int
do_workers(struct relay *r)
{
	int e = do_boxes(r);
	for (uint32_t i = 0; i < r->nworkers && e == 0; i++)
		e = do_worker(r, i);
	if (e)
		undo_workers(r);
	return e;
}

static int
do_control(struct relay *r)
{
	struct rd_control *c = r->control;
	c->conf = r->conf;
	c->reload.conf = r->conf;
	c->reload.path = r->path;
	rd_nics_init(&c->nics, r->port, r->port_conf, r->conf->nlegs, &c->post);
	c->post.nworkers = r->nworkers;
	memcpy(c->post.box, r->box, sizeof c->post.box);
	if (rd_control_init(c, r->worker[0], r->err, ERR_MAX) == 0)
		return 0;
	rd_nics_fini(&c->nics);
	return -1;
}

static void
undo_control(struct relay *r)
{
	rd_nics_fini(&r->control->nics);
	rd_control_fini(r->control);
}

static int
do_gateway(struct relay *r)
{
	if (!r->conf->gateway.enable)
		return 0;
	struct rd_control *c = r->control;
	c->gateway = rd_gateway_start(r->conf, &r->worker[0]->leg[RD_LEG_PRIVATE],
				      (const char(*)[16])c->kernel.name, &c->kernel.taps, r->box,
				      r->err, ERR_MAX);
	if (!c->gateway)
		return -1;
	c->post.gateway = c->gateway->box;
	for (uint32_t i = 0; i < r->nworkers; i++)
		r->worker[i]->gateway = c->gateway->box;
	return 0;
}

static void
undo_gateway(struct relay *r)
{
	rd_gateway_fini(r->control->gateway);
	r->control->gateway = NULL;
	r->control->post.gateway = NULL;
	for (uint32_t i = 0; i < r->nworkers; i++)
		r->worker[i]->gateway = NULL;
}

static int
do_telemetry(struct relay *r)
{
	if (!r->conf->telemetry || rd_telemetry_init(&r->control->figures) == 0)
		return 0;
	snprintf(r->err, ERR_MAX, "telemetry: no memory");
	rd_telemetry_fini();
	return -1;
}

static void
undo_telemetry(struct relay *r)
{
	if (r->conf->telemetry)
		rd_telemetry_fini();
}

static int
do_socket(struct relay *r)
{
	if (!r->conf->control.enable)
		return 0;
	struct rd_rpc_env env = rd_control_env(r->control, r->port[RD_LEG_GLOBAL].id);
	r->control->rpc = rd_rpc_server_new(&env, r->err, ERR_MAX);
	return r->control->rpc ? 0 : -1;
}

static void
undo_socket(struct relay *r)
{
	rd_rpc_server_free(r->control->rpc);
	r->control->rpc = NULL;
}

/* Wait for the end of its loop: what it left is then ours. */
static void
join_worker(const struct relay *r, uint32_t i)
{
	(void)rte_eal_wait_lcore(r->lcore[i]);
	BASE_ASSERT(atomic_load(&r->worker[i]->ended));
}

static int
do_launch(struct relay *r)
{
	for (uint32_t i = 0; i < r->nworkers; i++) {
		int e = rte_eal_remote_launch(rd_worker_run, r->worker[i], r->lcore[i]);
		if (e == 0)
			continue;
		snprintf(r->err, ERR_MAX, "cannot start worker %u on lcore %u: %s", i, r->lcore[i],
			 strerror(-e));
		while (i-- > 0) {
			rd_post_send(&r->control->post,
				     rd_post_mail(&r->control->post, i, RD_MAIL_STOP));
			join_worker(r, i);
		}
		return -1;
	}
	return 0;
}

/* ---- the order ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct relay *r);
	void (*undo)(struct relay *r);
} stages[] = {
	{"pidfile", do_pidfile, undo_pidfile},
	{"server", do_server, undo_server},
	{"interfaces", do_ifaces, undo_ifaces},
	{"keeper", do_keeper, undo_keeper},
	{"eal", do_eal, undo_eal},
	{"pools", do_pools, undo_pools},
	{"ports", do_ports, undo_ports},
	{"workers", do_workers, undo_workers},
	{"control", do_control, undo_control},
	{"gateway", do_gateway, undo_gateway},
	{"telemetry", do_telemetry, undo_telemetry},
	{"control socket", do_socket, undo_socket},
	{"privileges", do_privileges, NULL},
	{"launch", do_launch, NULL},
};
#define NSTAGES (sizeof stages / sizeof stages[0])

static void
work(struct relay *r)
{
	char a[RD_IPV4_TEXT], b[RD_IPV4_TEXT], more[32] = "";
	const char *six = r->conf->port[RD_LEG_GLOBAL].ipv6;
	const char *inside = r->conf->port[RD_LEG_PRIVATE].ipv6;
	if (r->conf->impi.ports > 1)
		snprintf(more, sizeof more, " and the next %u", r->conf->impi.ports - 1);
	rd_log(RD_LOG_INFO,
	       "ready: cluster %s relay %u, private %s%s%s (IMPI port %u%s), global %s%s%s, server "
	       "%s",
	       r->conf->cluster.name, r->conf->cluster.self,
	       rd_ipv4_text(r->conf->port[RD_LEG_PRIVATE].address, a), *inside ? " and " : "",
	       inside, r->conf->impi.listen_port, more,
	       rd_ipv4_text(r->conf->port[RD_LEG_GLOBAL].address, b), *six ? " and " : "", six,
	       r->conf->impi.server);
	rd_log(RD_LOG_INFO,
	       "who has proved nothing takes at most %zu KB, at the IMPI ports (%u connections); "
	       "what "
	       "else it may take is there from the start",
	       (rd_jobs_strangers_bytes() + 1023) / 1024, BASE_LOBBY_SEATS_MAX);
	fputs("relayd: ready\n", stderr);
	fflush(stderr);
	rd_notify("READY=1");
	setproctitle("%s relay %u: running", r->conf->cluster.name, r->conf->cluster.self);
	rd_control_run(r->control);
	for (uint32_t i = 0; i < r->nworkers; i++)
		join_worker(r, i);
	rd_gateway_stop(r->control->gateway);
	for (uint32_t i = 0; i < r->nworkers; i++)
		rd_worker_snapshot(r->worker[i], r->control->snapshot->shard[i]);
	rd_snapshot_sum(&r->control->figures, r->control->snapshot);
	if (r->control->gateway)
		rd_gateway_snapshot(r->control->gateway, &r->control->snapshot->gateway, true);
	rd_stats_log(r->control->snapshot);
	rd_stats_write(&r->control->figures, r->control->snapshot);
}

int
rd_run(const char *path, struct rd_conf *conf, const struct rd_plan *plan)
{
	struct relay r = {.path = path, .conf = conf, .plan = plan, .nworkers = conf->workers};
	r.control = calloc(1, sizeof *r.control);
	if (!r.control) {
		rd_log(RD_LOG_ERROR, "out of memory");
		return 1;
	}
	r.control->post.waker.fd = -1;
	rd_control_block_signals();
	rd_privs_harden();

	rd_log(RD_LOG_INFO,
	       "%u buffers of %u bytes: %llu MiB, tables %llu MiB; needs %u MiB of %u; gateway up "
	       "to "
	       "%llu MiB more",
	       rd_plan_buffers(conf, plan), plan->buffer_bytes,
	       (unsigned long long)(plan->pool_bytes >> 20),
	       (unsigned long long)(plan->table_bytes >> 20), plan->mem_mb, conf->eal.memory_mb,
	       (unsigned long long)(plan->gateway_bytes >> 20));
	size_t done = 0;
	for (; done < NSTAGES; done++)
		if (stages[done].run(&r)) {
			rd_log(RD_LOG_ERROR, "start failed at %s: %s", stages[done].name, r.err);
			r.status = 1;
			break;
		}
	if (done == NSTAGES)
		work(&r);
	while (done-- > 0)
		if (stages[done].undo)
			stages[done].undo(&r);
	explicit_bzero(&r.control->jobs.auth, sizeof r.control->jobs.auth);
	free(r.control);
	rd_log(RD_LOG_INFO, "stopped, status %d", r.status);
	return r.status;
}
