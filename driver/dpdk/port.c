/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>

#include "driver/poller.h"
#include "driver/pool.h"
#include "driver/port.h"
#include "nap_internal.h"
#include "port_internal.h"
#include "pool_internal.h"
#include "sort_internal.h"

static uint16_t
adjust_queues(uint16_t want, uint16_t max, bool fewer)
{
	uint16_t q = want ? want : 1;
	if (max && q > max)
		return fewer ? max : 0;
	return q;
}

/* The longest packet in the frames that it claims to take, with the frame around it as
 * rte_eth_dev_configure() reckons it. */
static uint32_t
frame_limit(const struct rte_eth_dev_info *info)
{
	uint32_t around = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
	if (info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu)
		around = info->max_rx_pktlen - info->max_mtu;
	return info->max_rx_pktlen > around ? info->max_rx_pktlen - around : 0;
}

/* What a tagged frame has beyond what the driver counts around a packet. */
static uint32_t
tag_beyond(const struct rte_eth_dev_info *info)
{
	uint32_t around = info->max_rx_pktlen - frame_limit(info);
	uint32_t tagged = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + RTE_VLAN_HLEN;
	return around < tagged ? tagged - around : 0;
}

bool
rd_port_takes(const char *device, bool virtual, uint32_t mtu, const struct rte_eth_dev_info *info,
	      char *err, size_t err_max)
{
	uint32_t most = info->max_mtu;
	if (!virtual && frame_limit(info) < most)
		most = frame_limit(info);
	if (mtu >= info->min_mtu && mtu <= most)
		return true;
	snprintf(err, err_max,
		 "%s: MTU %u is asked, its driver %s takes %u to %u; fix: ask for one in between",
		 device, mtu, info->driver_name, info->min_mtu, most);
	return false;
}

/* Read what the driver offers and fill cfg; 0 or -ENOTSUP with the reason. */
static int
negotiate(struct rd_port *p, const struct rd_port_conf *c, const struct rte_eth_dev_info *info,
	  struct rte_eth_conf *cfg, char *err, size_t err_max)
{
	const uint64_t cksum = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	const uint64_t rx_cksum = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;

	p->n_rxq = adjust_queues(c->n_rxq, info->max_rx_queues, c->fewer_queues);
	p->n_txq = adjust_queues(c->n_txq, info->max_tx_queues, c->fewer_queues);
	if (!p->n_rxq || !p->n_txq) {
		snprintf(err, err_max, "%s: %u rx and %u tx queues asked, %s offers %u and %u",
			 p->device, c->n_rxq, c->n_txq, info->driver_name, info->max_rx_queues,
			 info->max_tx_queues);
		return -ENOTSUP;
	}
	memset(cfg, 0, sizeof *cfg);
	cfg->intr_conf.rxq = c->rx_intr;
	uint32_t events = info->dev_flags ? *info->dev_flags : 0;
	cfg->intr_conf.lsc = (events & RTE_ETH_DEV_INTR_LSC) != 0;
	cfg->intr_conf.rmv = (events & RTE_ETH_DEV_INTR_RMV) != 0;
	if (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) {
		cfg->txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
		p->tx_multi_seg = true;
	}
	if ((info->tx_offload_capa & cksum) == cksum) {
		cfg->txmode.offloads |= cksum;
		p->tx_cksum = true;
	}
	if (c->rx_cksum) {
		cfg->rxmode.offloads |= info->rx_offload_capa & rx_cksum;
		p->rx_ip_cksum = cfg->rxmode.offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
		p->rx_udp_cksum = cfg->rxmode.offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	}
	bool virtual = strncmp(p->name, "net_", 4) == 0 || strncmp(p->name, "eth_", 4) == 0;
	uint32_t mtu = c->mtu + (c->vlans ? tag_beyond(info) : 0);
	if (!rd_port_takes(p->device, virtual, mtu, info, err, err_max))
		return -ENOTSUP;
	if (c->vlans && (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP))
		cfg->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	/* What a packet socket takes is its interface's, which rd_dev_string has checked. */
	uint32_t claimed = frame_limit(info);
	cfg->rxmode.mtu = mtu <= claimed ? mtu : claimed;
	return 0;
}

static int
setup_queues(struct rd_port *p, const struct rd_port_conf *c, char *err, size_t err_max)
{
	int r;

	p->n_rxd = c->n_rxd ? c->n_rxd : 512;
	p->n_txd = c->n_txd ? c->n_txd : 512;
	r = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &p->n_rxd, &p->n_txd);
	if (r < 0) {
		snprintf(err, err_max, "%s: descriptors: %s", p->device, rte_strerror(-r));
		return r;
	}
	for (uint16_t q = 0; q < p->n_rxq; q++) {
		r = rte_eth_rx_queue_setup(p->id, q, p->n_rxd, (unsigned)p->socket, NULL,
					   c->pools ? c->pools[q] : c->pool);
		if (r < 0) {
			snprintf(err, err_max,
				 "%s: rx queue %u of %u descriptors: %s (are the pool's buffers "
				 "large "
				 "enough for MTU %u?)",
				 p->device, q, p->n_rxd, rte_strerror(-r), c->mtu);
			return r;
		}
	}
	for (uint16_t q = 0; q < p->n_txq; q++) {
		r = rte_eth_tx_queue_setup(p->id, q, p->n_txd, (unsigned)p->socket, NULL);
		if (r < 0) {
			snprintf(err, err_max, "%s: tx queue %u of %u descriptors: %s", p->device,
				 q, p->n_txd, rte_strerror(-r));
			return r;
		}
	}
	return 0;
}

/* *r: the result; the kinds of datagrams that are hashed by port, 0: none. */
static uint64_t
configure_port(const struct rd_port *p, const struct rd_port_conf *c,
	       const struct rte_eth_dev_info *info, struct rte_eth_conf *cfg, int *r)
{
	uint8_t key[RD_SORT_KEY_MAX];
	uint64_t offered = rd_sort_rss_offered(info), four = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	if (c->sort_ports && c->nsort && p->n_rxq > 1 && offered) {
		rd_sort_key(key);
		cfg->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		cfg->rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
			.rss_key = key,
			.rss_key_len = info->hash_key_size ? info->hash_key_size : 40,
		};
		/* Drivers offer more than they do. */
		for (uint64_t kinds = offered; kinds; kinds = kinds == four ? 0 : four) {
			cfg->rx_adv_conf.rss_conf.rss_hf = kinds;
			*r = rte_eth_dev_configure(p->id, p->n_rxq, p->n_txq, cfg);
			if (*r == 0)
				return kinds;
		}
		cfg->rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
		memset(&cfg->rx_adv_conf, 0, sizeof cfg->rx_adv_conf);
	}
	*r = rte_eth_dev_configure(p->id, p->n_rxq, p->n_txq, cfg);
	return 0;
}

/* Configure, set up, start. */
static int
launch_port(struct rd_port *p, const struct rd_port_conf *c, const struct rte_eth_dev_info *info,
	    struct rte_eth_conf *cfg, char *err, size_t err_max)
{
	int r;
	uint64_t rss = configure_port(p, c, info, cfg, &r);
	if (r < 0) {
		snprintf(err, err_max, "%s: configuring %u rx and %u tx queues: %s", p->device,
			 p->n_rxq, p->n_txq, rte_strerror(-r));
		return r;
	}
	r = setup_queues(p, c, err, err_max);
	if (r < 0)
		return r;
	r = rte_eth_dev_start(p->id);
	if (r < 0) {
		snprintf(err, err_max, "%s: start: %s", p->device, rte_strerror(-r));
		return r;
	}
	rd_sort_start(p, c, rss, info->reta_size);
	return 0;
}

static int
start_port(struct rd_port *p, const struct rd_port_conf *c, char *err, size_t err_max)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	struct rte_eth_conf cfg;
	int r = rte_eth_dev_info_get(p->id, &info);
	if (r < 0) {
		snprintf(err, err_max, "%s: device info: %s", p->device, rte_strerror(-r));
		return r;
	}
	snprintf(p->driver, sizeof p->driver, "%s", info.driver_name);
	int socket = rte_eth_dev_socket_id(p->id);
	p->socket = socket < 0 ? 0 : socket;
	r = negotiate(p, c, &info, &cfg, err, err_max);
	if (r < 0)
		return r;
	r = launch_port(p, c, &info, &cfg, err, err_max);
	if (r < 0 && cfg.intr_conf.rxq) { /* uio has no vectors for them */
		cfg.intr_conf.rxq = 0;
		r = launch_port(p, c, &info, &cfg, err, err_max);
	}
	if (r < 0 && (cfg.intr_conf.lsc || cfg.intr_conf.rmv)) { /* nor for events */
		cfg.intr_conf.lsc = cfg.intr_conf.rmv = 0;
		r = launch_port(p, c, &info, &cfg, err, err_max);
	}
	if (r < 0)
		return r;
	p->link_intr = cfg.intr_conf.lsc;
	p->rx_intr = false;
	if (cfg.intr_conf.rxq)
		rd_port_find_interrupts(p);
	rd_port_find_wakes(p);
	p->mtu = c->mtu;
	if (rte_eth_macaddr_get(p->id, &mac) == 0)
		memcpy(p->mac, mac.addr_bytes, sizeof p->mac);
	/* Drivers without the switch see every frame anyway. */
	if (c->promisc)
		(void)rte_eth_promiscuous_enable(p->id);
	if (c->allmulti)
		(void)rte_eth_allmulticast_enable(p->id);
	return 0;
}

int
rd_port_open(struct rd_port *p, const struct rd_port_conf *c, char *err, size_t err_max)
{
	memset(p, 0, sizeof *p);
	int r = rd_dev_string(c, p->device, sizeof p->device, err, err_max);
	if (r < 0)
		return r;
	size_t len = strcspn(p->device, ",");
	if (len >= sizeof p->name) {
		snprintf(err, err_max, "%s: driver name too long", p->device);
		return -ENAMETOOLONG;
	}
	memcpy(p->name, p->device, len);
	if (strncmp(p->name, "net_memif", 9) == 0)
		rd_poller_guard();
	if (rte_eth_dev_get_port_by_name(p->name, &p->id) != 0) {
		r = rte_dev_probe(p->device);
		if (r < 0 || rte_eth_dev_get_port_by_name(p->name, &p->id) != 0) {
			snprintf(err, err_max, "%s: the driver does not take it: %s%s", p->device,
				 rte_strerror(r < 0 ? -r : ENODEV),
				 rd_dev_is_pci(p->device)
					 ? "; bind it with: dpdk-devbind.py -b vfio-pci ADDRESS"
					 : "");
			return r < 0 ? r : -ENODEV;
		}
	}
	p->open = true;
	r = start_port(p, c, err, err_max);
	if (strcmp(p->driver, "net_af_xdp") == 0)
		for (uint16_t q = 0; q < p->n_rxq; q++)
			rd_pool_forgive(c->pools ? c->pools[q] : c->pool, RD_AF_XDP_SLOTS);
	if (r < 0)
		rd_port_close(p);
	return r;
}

void
rd_port_close(struct rd_port *p)
{
	if (!p || !p->open)
		return;
	struct rte_eth_dev_info info;
	struct rte_device *dev = NULL;
	if (rte_eth_dev_info_get(p->id, &info) == 0)
		dev = info.device;
	struct rte_flow_error error;
	if (p->sort == RD_SORT_FLOW)
		(void)rte_flow_flush(p->id, &error);
	(void)rte_eth_dev_stop(p->id);
	(void)rte_eth_dev_close(p->id);
	if (dev)
		(void)rte_dev_remove(dev);
	p->open = false;
}

void
rd_ports_end(void)
{
	for (uint16_t id = 0; id < RTE_MAX_ETHPORTS; id++) {
		if (!rte_eth_dev_is_valid_port(id))
			continue;
		(void)rte_eth_dev_stop(id);
		(void)rte_eth_dev_close(id);
	}
}

int
rd_port_reset(struct rd_port *p, const struct rd_port_conf *c, char *err, size_t err_max)
{
	if (p->open && rd_dev_is_pci(p->device)) {
		int r = rte_eth_dev_reset(p->id);
		if (r == -ENOTSUP)
			r = rte_eth_dev_stop(p->id);
		if (r == 0 && start_port(p, c, err, err_max) == 0)
			return 0;
	}
	/* Packet sockets are gone once the driver has stopped. */
	rd_port_close(p);
	return rd_port_open(p, c, err, err_max);
}

bool
rd_port_link_up(const struct rd_port *p)
{
	struct rte_eth_link link = {0};
	return p->open && rte_eth_link_get_nowait(p->id, &link) == 0 &&
	       link.link_status == RTE_ETH_LINK_UP;
}
