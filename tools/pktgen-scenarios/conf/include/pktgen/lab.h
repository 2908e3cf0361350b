/* SPDX-License-Identifier: BSD-2-Clause */
/* lab.h - where a scenario is played: the ports of the generator, and how the relay
 * on the other side of them is called.  One JSON file per lab, lab.schema.json says
 * every key; scenarios name no address and run in any lab.
 *
 *     generator                          relayd
 *     side 0  hosts of its cluster ----- private leg
 *     side 1  remote relays ------------ global leg
 *
 * In a lab of two relays in series side 1 is the private leg of the second one (it has
 * "primary"), whose global leg is connected to the first one's.
 *
 * Threads  plain data.
 * Errors   0 or -1 and one line in err: what, where. */
#ifndef PKTGEN_LAB_H
#define PKTGEN_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PG_SIDES      2
#define PG_DEVICE_MAX 256
#define PG_SHARDS_MAX 16
#define PG_TEXT_MAX   512

struct pg_side_conf {
	char port[PG_DEVICE_MAX]; /* as in driver/port.h */
	bool af_xdp;		  /* how an interface is driven; else af_packet */
	uint16_t descriptors;
	uint16_t mtu;		/* IP bytes, that of relayd's leg */
	uint32_t prefix_len;	/* of the subnet all addresses of this side are in */
	uint32_t relay;		/* relayd's address on this leg */
	uint32_t relay_global;	/* side 0, series also side 1: how other clusters know it */
	uint16_t udp_port;	/* relayd's Suci port here */
	uint16_t nshards;	/* relayd's workers, at udp_port, udp_port + 1 ... */
	bool queues;		/* the port has a queue for each of them; else one for all */
	uint32_t primary;	/* the relay before relayd in its cluster.relays: us; 0: none */
	uint16_t peer_port;	/* TCP, of the cluster's relays */
	uint32_t primary_index; /* our place in cluster.relays */
	uint32_t first;		/* emulated stations have addresses from here on */
	/* Suci is spoken by IPv6 here.  Whoever has an IPv4 address has also one of IPv6: these
	 * bytes, and the IPv4 address behind them. */
	bool six;
	uint8_t six_prefix[12];
};

struct pg_lab {
	struct pg_side_conf side[PG_SIDES];
	bool series;
	char stats[PG_TEXT_MAX];    /* command that prints relayd's stats file; "" none */
	char restart[PG_TEXT_MAX];  /* command that restarts relayd, "" none */
	char key_file[PG_TEXT_MAX]; /* of a sealed global leg; "": it is not sealed */
	char lcores[64];	    /* "": one on the first CPU allowed */
	char file_prefix[64];	    /* "": by process id */
	uint32_t memory_mb;	    /* 0: what the pools need */
	bool hugepages;
	bool sleep; /* give the core away when idle; costs latency */
};

int pg_lab_load(struct pg_lab *lab, const char *path, char *err, size_t err_max);
int pg_lab_parse(struct pg_lab *lab, const char *text, char *err, size_t err_max);

#endif
