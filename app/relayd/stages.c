#include "stages.h"
#include "check.h"
#include "control.h"
#include "iface.h"
#include "log.h"
#include "rpc_server.h"
#include "stats.h"
#include "telemetry.h"
#include "worker.h"

#include "driver/eal.h"
#include "driver/pool.h"
#include "driver/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <bsd/libutil.h>
#include <bsd/stdlib.h>
#include <bsd/unistd.h>

#define ERR_MAX 256

struct relay {
	const struct rd_conf *conf;
	const struct rd_plan *plan;
	struct pidfh *pidfile;
	struct rd_iface iface[RD_LEGS];
	struct rte_mempool *pool;
	struct rd_port port[RD_LEGS];
	struct rd_mailbox *box;
	struct rd_worker *worker;
	struct rd_control *control;
	unsigned worker_lcore;
	bool launched;
	int status;
	char err[ERR_MAX];
};

bool
rd_plan_memory(const struct rd_conf *conf, struct rd_plan *plan)
{
	uint32_t slots = 0, mtu = 0;
	for (int i = 0; i < RD_LEGS; i++) {
		slots += conf->port[i].rx_descriptors + conf->port[i].tx_descriptors;
		if (conf->port[i].mtu > mtu)
			mtu = conf->port[i].mtu;
	}
	/* Custody; packets waiting for neighbours (many at once only at the start);
	 * both directions of both TAPs; one transmit burst a leg. */
	uint32_t waiting = conf->neighbours.pending * 64;
	uint32_t held =
		conf->limits.segments + waiting + 2 * RD_LEGS * RD_TAP_RING + RD_LEGS * RD_BURST;
	if (conf->gateway.enable)
		held += RD_GATEWAY_BUFFERS;
	struct rd_pool_plan pp =
		rd_pool_plan((uint16_t)mtu, slots, held, conf->gateway.enable ? 3 : 2);
	plan->buffers = pp.count;
	plan->buffer_bytes = pp.room_bytes;
	plan->pool_bytes = pp.bytes;
	plan->table_bytes = rd_worker_footprint(conf);
	plan->mem_mb = rd_pool_mem_mb(pp.bytes + plan->table_bytes);
	plan->gateway_bytes = conf->gateway.enable ? rd_gateway_footprint(conf) : 0;
	return plan->table_bytes > 0 && (!conf->gateway.enable || plan->gateway_bytes > 0);
}

/* ---- stages: 0, or -1 with r->err ----------------------------------------------- */

static int
do_pidfile(struct relay *r)
{
	pid_t other = 0;
	if (!*r->conf->pidfile)
		return 0;
	r->pidfile = pidfile_open(r->conf->pidfile, 0644, &other);
	if (!r->pidfile) {
		if (errno == EEXIST)
			snprintf(r->err, ERR_MAX,
				 "pidfile %.100s: relayd is running already, process %ld",
				 r->conf->pidfile, (long)other);
		else
			snprintf(r->err, ERR_MAX, "pidfile %.100s: %s", r->conf->pidfile,
				 strerror(errno));
		return -1;
	}
	if (pidfile_write(r->pidfile) == 0)
		return 0;
	snprintf(r->err, ERR_MAX, "pidfile %.100s: %s", r->conf->pidfile, strerror(errno));
	return -1;
}

static void
undo_pidfile(struct relay *r)
{
	if (r->pidfile)
		(void)pidfile_remove(r->pidfile);
	r->pidfile = NULL;
}

static int
do_server(struct relay *r)
{
	const struct rd_conf *conf = r->conf;
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *ai;
	if (conf->impi.auth == RD_AUTH_KEY) {
		r->control->auth.mask = IMPI_AUTH_MASK_KEY;
		if (!rd_read_key(conf->impi.key_file, &r->control->auth.key, r->err, ERR_MAX))
			return -1;
	} else {
		r->control->auth.mask = IMPI_AUTH_MASK_NONE;
	}
	if (rd_ipv4_parse(conf->impi.server_host, &r->control->server_ip))
		return 0;
	/* A name is looked up once, by the machine's own resolver, before the legs
	 * are ours. */
	int e = getaddrinfo(conf->impi.server_host, NULL, &hints, &ai);
	if (e) {
		snprintf(r->err, ERR_MAX, "impi.server: cannot find the address of %.100s: %s",
			 conf->impi.server_host, gai_strerror(e));
		return -1;
	}
	struct sockaddr_in sin;
	memcpy(&sin, ai->ai_addr, sizeof sin);
	r->control->server_ip = ntohl(sin.sin_addr.s_addr);
	freeaddrinfo(ai);
	return 0;
}

static int
do_ifaces(struct relay *r)
{
	for (int i = 0; i < RD_LEGS; i++)
		if (*r->conf->port[i].interface &&
		    rd_iface_quiet(&r->iface[i], r->conf->port[i].interface, r->err, ERR_MAX))
			return -1;
	return 0;
}

static void
undo_ifaces(struct relay *r)
{
	for (int i = 0; i < RD_LEGS; i++)
		rd_iface_restore(&r->iface[i]);
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
		.telemetry = conf->telemetry,
		.n_extra = conf->eal.nextra,
	};
	for (uint32_t i = 0; i < conf->eal.nextra; i++)
		o.extra[i] = conf->eal.extra[i];
	for (int i = 0; i < RD_LEGS; i++)
		if (rd_dev_is_pci(conf->port[i].device))
			o.pci_allow[o.n_pci_allow++] = conf->port[i].device;
	if (rd_eal_start(&o, r->err, ERR_MAX))
		return -1;
	r->worker_lcore = rte_get_next_lcore(-1u, 1, 0);
	if (r->worker_lcore < RTE_MAX_LCORE)
		return 0;
	snprintf(r->err, ERR_MAX,
		 "eal.lcores \"%.60s\" gives one lcore, two are needed (control and worker)",
		 conf->eal.lcores);
	rd_eal_stop();
	return -1;
}

static void
undo_eal(struct relay *r)
{
	(void)r;
	rd_eal_stop();
}

static int
do_pool(struct relay *r)
{
	struct rd_pool_plan pp = {
		.count = r->plan->buffers,
		.room_bytes = (uint16_t)r->plan->buffer_bytes,
		.bytes = r->plan->pool_bytes,
	};
	return rd_pool_create(&r->pool, "packets", &pp, (int)rte_socket_id(), r->err, ERR_MAX);
}

static void
undo_pool(struct relay *r)
{
	uint32_t size = r->pool->size, left = rd_pool_free(r->pool);
	r->pool = NULL;
	if (left) {
		rd_log(RD_LOG_ERROR, "%u of %u packet buffers did not come back", left, size);
		r->status = 1;
	} else {
		rd_log(RD_LOG_INFO, "all %u packet buffers are back", size);
	}
}

static int
do_port(struct relay *r, int i)
{
	const struct rd_conf_port *p = &r->conf->port[i];
	struct rd_port_conf pc = {
		.device = *p->device ? p->device : p->interface,
		.pmd = (enum rd_pmd)p->pmd,
		.index = (uint32_t)i,
		.mtu = (uint16_t)p->mtu,
		.n_rxq = 1,
		.n_txq = 1,
		.n_rxd = (uint16_t)p->rx_descriptors,
		.n_txd = (uint16_t)p->tx_descriptors,
		.pool = r->pool,
	};
	if (rd_port_open(&r->port[i], &pc, r->err, ERR_MAX))
		return -1;
	const struct rd_port *o = &r->port[i];
	rd_log(RD_LOG_INFO, "%s leg: %s (%s), MAC %02x:%02x:%02x:%02x:%02x:%02x, MTU %u",
	       rd_leg_names[i], o->device, o->driver, o->mac[0], o->mac[1], o->mac[2], o->mac[3],
	       o->mac[4], o->mac[5], o->mtu);
	return 0;
}

static int
do_ports(struct relay *r)
{
	for (int i = 0; i < RD_LEGS; i++)
		if (do_port(r, i)) {
			rd_port_close(&r->port[0]);
			return -1;
		}
	return 0;
}

static void
undo_ports(struct relay *r)
{
	for (int i = RD_LEGS; i-- > 0;)
		rd_port_close(&r->port[i]);
}

static int
do_worker(struct relay *r)
{
	for (int i = 0; i < RD_LEGS; i++) {
		const struct rd_conf_port *p = &r->conf->port[i];
		struct rd_leg *leg = &r->worker->leg[i];
		leg->name = rd_leg_names[i];
		leg->index = (uint8_t)i;
		leg->self = (struct rd_station){
			.address = p->address,
			.prefix_len = p->prefix_len,
			.gateway = p->gateway,
			.udp_port = (uint16_t)p->udp_port,
			.gateway_port = i == RD_LEG_PRIVATE && r->conf->gateway.enable
						? (uint16_t)r->conf->gateway.udp_port
						: 0,
		};
		leg->self.nmore = rd_conf_leg_more(r->conf, i, leg->self.more);
		memcpy(leg->self.mac, r->port[i].mac, 6);
		leg->mtu = p->mtu;
		leg->port = &r->port[i];
		leg->pool = r->pool;
	}
	int e = rd_mailbox_init(r->box);
	if (e) {
		snprintf(r->err, ERR_MAX, "mailbox: %s", strerror(-e));
		return -1;
	}
	if (rd_worker_init(r->worker, r->conf, r->box, r->err, ERR_MAX) == 0)
		return 0;
	rd_mailbox_fini(r->box);
	return -1;
}

static void
undo_worker(struct relay *r)
{
	rd_worker_fini(r->worker);
	rd_mailbox_fini(r->box);
}

static int
do_control(struct relay *r)
{
	r->control->conf = r->conf;
	r->control->worker = r->worker;
	r->control->box = r->box;
	return rd_control_init(r->control, r->err, ERR_MAX);
}

static void
undo_control(struct relay *r)
{
	rd_control_fini(r->control);
}

static int
do_gateway(struct relay *r)
{
	if (!r->conf->gateway.enable)
		return 0;
	struct rd_control *c = r->control;
	c->gateway =
		rd_gateway_start(r->conf, &r->worker->leg[RD_LEG_PRIVATE],
				 (const char(*)[16])c->tap_name, &c->taps, r->box, r->err, ERR_MAX);
	if (!c->gateway)
		return -1;
	r->worker->gateway = c->gateway->box;
	return 0;
}

static void
undo_gateway(struct relay *r)
{
	rd_gateway_fini(r->control->gateway);
	r->control->gateway = NULL;
	r->worker->gateway = NULL;
}

static int
do_telemetry(struct relay *r)
{
	if (!r->conf->telemetry || rd_telemetry_init(r->control) == 0)
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
	r->control->rpc = rd_rpc_server_new(r->control, r->err, ERR_MAX);
	return r->control->rpc ? 0 : -1;
}

static void
undo_socket(struct relay *r)
{
	rd_rpc_server_free(r->control->rpc);
	r->control->rpc = NULL;
}

static int
do_launch(struct relay *r)
{
	int e = rte_eal_remote_launch(rd_worker_run, r->worker, r->worker_lcore);
	if (e == 0) {
		r->launched = true;
		return 0;
	}
	snprintf(r->err, ERR_MAX, "cannot start the worker on lcore %u: %s", r->worker_lcore,
		 strerror(-e));
	return -1;
}

/* ---- the order ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct relay *r);
	void (*undo)(struct relay *r);
} stages[] = {
	{"pidfile", do_pidfile, undo_pidfile},
	{"server", do_server, NULL},
	{"interfaces", do_ifaces, undo_ifaces},
	{"eal", do_eal, undo_eal},
	{"pool", do_pool, undo_pool},
	{"ports", do_ports, undo_ports},
	{"worker", do_worker, undo_worker},
	{"control", do_control, undo_control},
	{"gateway", do_gateway, undo_gateway},
	{"telemetry", do_telemetry, undo_telemetry},
	{"control socket", do_socket, undo_socket},
	{"launch", do_launch, NULL},
};
#define NSTAGES (sizeof stages / sizeof stages[0])

static void
work(struct relay *r)
{
	char a[RD_IPV4_TEXT], b[RD_IPV4_TEXT], more[32] = "";
	if (r->conf->impi.ports > 1)
		snprintf(more, sizeof more, " and the next %u", r->conf->impi.ports - 1);
	rd_log(RD_LOG_INFO,
	       "ready: cluster %s relay %u, private %s (IMPI port %u%s), global %s, server %s",
	       r->conf->cluster.name, r->conf->cluster.self,
	       rd_ipv4_text(r->conf->port[RD_LEG_PRIVATE].address, a), r->conf->impi.listen_port,
	       more, rd_ipv4_text(r->conf->port[RD_LEG_GLOBAL].address, b), r->conf->impi.server);
	fputs("relayd: ready\n", stderr);
	fflush(stderr);
	rd_notify("READY=1");
	setproctitle("%s relay %u: running", r->conf->cluster.name, r->conf->cluster.self);
	rd_control_run(r->control);
	(void)rte_eal_wait_lcore(r->worker_lcore);
	/* The worker's loop has ended: its state is ours. */
	rd_gateway_stop(r->control->gateway);
	rd_worker_snapshot(r->worker, r->control->snapshot);
	if (r->control->gateway)
		rd_gateway_snapshot(r->control->gateway, &r->control->snapshot->gateway);
	rd_stats_log(r->control->snapshot);
	rd_stats_write(r->control, r->control->snapshot);
}

int
rd_run(const struct rd_conf *conf, const struct rd_plan *plan)
{
	struct relay r = {.conf = conf, .plan = plan};
	r.box = calloc(1, sizeof *r.box);
	r.worker = calloc(1, sizeof *r.worker);
	r.control = calloc(1, sizeof *r.control);
	if (!r.box || !r.worker || !r.control) {
		rd_log(RD_LOG_ERROR, "out of memory");
		free(r.box);
		free(r.worker);
		free(r.control);
		return 1;
	}
	/* Before any thread exists: control reads them from a signalfd. */
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);

	rd_log(RD_LOG_INFO,
	       "%u buffers of %u bytes: %llu MiB, tables %llu MiB; needs %u MiB of %u; gateway up "
	       "to "
	       "%llu MiB more",
	       plan->buffers, plan->buffer_bytes, (unsigned long long)(plan->pool_bytes >> 20),
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
	free(r.box);
	free(r.worker);
	free(r.control);
	rd_log(RD_LOG_INFO, "stopped, status %d", r.status);
	return r.status;
}
