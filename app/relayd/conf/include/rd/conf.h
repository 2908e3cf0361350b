/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/conf.h - relayd's configuration: from JSON text to a checked struct.
 *
 * One table (rd_conf_keys) says of each key its path, type, unit, bounds,
 * default and help; the parser, --print-defaults, --print-schema, the key list of
 * doc/configuration.md and all messages come from it.  JSON stops here: the
 * rest of relayd sees struct rd_conf only.
 *
 * Everything wrong with a file is reported at once, each fault with its JSON
 * pointer and line.  Unknown keys are faults.  A struct rd_conf that came back
 * without faults satisfies every bound of the table and the rules between keys
 * (rd_conf_parse), but nothing about the machine: that is rd/check.h.
 *
 * Threads  no state of its own; any thread with its own structs.
 * Errors   in struct rd_faults, never printed here. */
#ifndef RD_CONF_H
#define RD_CONF_H

#include "base/prefix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RD_RELAYS_MAX	  8   /* relays of one cluster */
#define RD_DOORS_MIN	  64u /* fewer, but not 0, the core does not take */
#define RD_EAL_EXTRA_MAX  32
#define RD_FAULTS_MAX	  64 /* further ones are counted, not kept */
#define RD_WORKERS_MAX	  16 /* = RELAY_SHARDS_MAX of relay/startup.h */
#define RD_GATES_MAX	  32 /* gate addresses of one relay towards its own cluster */
#define RD_MACS_MAX	  16
#define RD_CONF_OPEN_MAX  16
#define RD_PAIRS_MAX	  31 /* trunks.pairs */
#define RD_PLACES_MAX	  64 /* trunks.ipv6 = RELAY_PLACES_MAX of relay/core.h */
#define RD_IMPI_PORTS_MAX 64 /* = the largest impi.ports */

enum rd_auth { RD_AUTH_NONE, RD_AUTH_KEY };
enum rd_log_level { RD_LOG_ERROR, RD_LOG_WARNING, RD_LOG_INFO, RD_LOG_DEBUG };
enum rd_cc { RD_CC_FIXED, RD_CC_CUBIC, RD_CC_BBR };		       /* as enum suci_cc_kind */
enum rd_policy { RD_POLICY_DEST, RD_POLICY_SOURCE, RD_POLICY_STRIPE }; /* relayproto/policy.h */
enum rd_sealing { RD_SEALING_OFF, RD_SEALING_ON };
/* How a gateway's TCP travels: over the leg's TAP, or over the machine's own interfaces. */
enum rd_via { RD_VIA_LEG, RD_VIA_HOST };

/* The two legs every relay has, and behind them its light ports, one leg each; numbered as in
 * suci_addr.leg. */
enum { RD_LEG_PRIVATE = 0, RD_LEG_GLOBAL = 1, RD_LEGS = 2, RD_LEG_LIGHT = RD_LEGS };
#define RD_LIGHTS_MAX 8 /* = RELAY_LIGHTS_MAX of relay/light.h */
#define RD_LEGS_MAX   (RD_LEG_LIGHT + RD_LIGHTS_MAX)
#define RD_LINKS_MAX  16 /* of two clusters at once */
extern const char *const rd_leg_names[RD_LEGS_MAX];
/* Sealing of light: as the global leg, or as said. */
enum rd_light_sealing { RD_LIGHT_AS_GLOBAL, RD_LIGHT_OFF, RD_LIGHT_ON };
#define RD_NO_SWITCH_PORT UINT32_MAX

struct rd_conf_port {
	char device[256];   /* PCI address or vdev string; or empty and */
	char interface[16]; /* kernel interface for a vdev of kind pmd */
	uint32_t pmd;	    /* enum rd_pmd of driver/port.h */
	uint32_t address;   /* IPv4 addresses are in host order */
	uint32_t prefix_len;
	uint32_t gateway;  /* 0 = none */
	uint32_t mtu;	   /* largest IP packet */
	uint32_t vlan;	   /* 0: untagged */
	uint32_t udp_port; /* of worker 0; the others at the next ones */
	uint32_t sealing;  /* enum rd_sealing */
	uint32_t rx_descriptors, tx_descriptors;
	char ipv6[64], gateway6[48]; /* of the two legs, as written; and as read: */
	uint8_t address6[16], next6[16];
	uint32_t prefix6_len; /* 0: no IPv6 */
};

enum rd_switch {
	RD_SWITCH_NONE,
	RD_SWITCH_NETCONF,
	RD_SWITCH_OPENFLOW,
	RD_SWITCH_TL1_POLATIS,
	RD_SWITCH_TL1_CALIENT,
	RD_SWITCH_TL1_GLIMMERGLASS,
	RD_SWITCH_SCPI,
};
#define RD_SWITCH_WORDS "none|netconf|openflow|tl1-polatis|tl1-calient|tl1-glimmerglass|scpi"

struct suci_addr; /* suci/addr.h */

struct rd_conf_relay {
	uint32_t private_address, global_address;
	/* Where foreign hosts find its gateway.  As written: private_via leg has
	 * private_address in front of gate[] (rd_conf_gates). */
	uint32_t gate[RD_GATES_MAX], ngates;
	uint32_t gate_global; /* 0: global_address */
	uint32_t workers;     /* as written 0: as many as ours */
	uint8_t private6[16]; /* all zero: it has none inside; ours is ports.private.ipv6 */
};

/* How paths are; a worker has its own, which a reload replaces. */
struct rd_conf_suci {
	uint32_t liveness_ms, keepalive_ms, handshake_ms, ack_delay_us;
	uint32_t credit;
	uint32_t private_cc, global_cc; /* enum rd_cc */
	uint32_t initial_window, private_window, global_window;
	uint32_t global_rate_mbps;
	uint32_t global_mtu_start;
	bool global_ecn, global_migrate;
};

struct rd_conf {
	struct {
		char name[32];
		struct rd_conf_relay relay[RD_RELAYS_MAX];
		uint32_t nrelays;
		uint32_t self; /* index of the relay with our private address */
		uint32_t peer_port;
	} cluster;
	struct rd_conf_port port[RD_LEGS_MAX]; /* [nlegs] */
	uint32_t nlegs;
	struct {
		uint32_t nports; /* port[RD_LEG_LIGHT + i] */
		/* Where they are on the switch, or RD_NO_SWITCH_PORT; in: what comes from us. */
		struct {
			uint32_t in, out;
		} at[RD_LIGHTS_MAX];
		uint32_t pmd, mtu, udp_port, sealing, rx_descriptors, tx_descriptors;
		uint32_t cc; /* enum rd_cc */
		uint32_t rate_mbps, window;
		uint32_t open_ms, liveness_ms, drain_ms;
		/* The controller, as written "IP:PORT", and taken apart; 0: none. */
		char controller[32], listen[32];
		uint32_t controller_ip, controller_port, listen_ip, listen_port;
		uint32_t mode; /* as enum circ_mode */
		uint32_t alpha_us, packet_alpha_us, packet_rate_mbps, gamma_ms;
		uint32_t links_max;   /* of a pair of clusters */
		uint32_t lit_max;     /* 0: as many as there are ports */
		char lit_groups[400]; /* as rd_conf_lit_groups() reads it */
		struct {
			uint32_t protocol; /* enum rd_switch */
			char address[200], credentials[200], models[200], names[200], group[32];
			char own[200];
			uint32_t ports, batch, extra_ms;
		} sw;
	} optical;
	struct {
		/* A client at listen_port + i is relayed to server_port + i, i < ports. */
		uint32_t listen_port, ports;
		char server[256]; /* as written; also in the next two */
		char server_host[248];
		uint32_t server_port;
		uint32_t auth; /* enum rd_auth */
		char key_file[256];
		char allow[512];	      /* as written */
		struct base_prefixes allowed; /* as read; "": the private leg's subnet */
		uint32_t step_timeout_s;
		uint32_t server_sealing; /* enum rd_sealing */
	} impi;
	struct {
		char key_file[256], identity_file[256], peers_file[256];
	} sealing;
	struct {
		char lcores[128];
		char file_prefix[32];
		bool hugepages;
		uint32_t memory_mb;
		char extra[RD_EAL_EXTRA_MAX][128];
		uint32_t nextra;
	} eal;
	uint32_t workers;
	uint32_t idle; /* enum rd_idle_mode of driver/idle.h */
	struct {
		uint32_t jobs, procs, hosts, trunks, paths, segments, queue, window;
	} limits;
	struct {
		uint32_t max, per_process, importers, imports, asks_per_s, lost_s;
	} doors;
	struct rd_conf_suci suci;
	struct {
		uint32_t entries, pending, retry_ms, tries, expiry_s;
		char mac[512]; /* "10.0.0.10=02:00:00:00:00:0a,..." */
		struct rd_conf_mac {
			uint32_t address; /* 0: it is IPv6 */
			uint8_t address6[16];
			uint8_t mac[6];
		} known[RD_MACS_MAX]; /* as read from mac */
		uint32_t nknown;
	} neighbours;
	struct {
		bool enable;
		uint32_t private_port, global_port; /* first of nrelays * limits.jobs */
		uint32_t udp_port;
		uint32_t private_via, global_via; /* enum rd_via */
		uint32_t channels, lanes, memory_mb;
		uint32_t poll_us;
		char cpus[64]; /* "" = as control */
	} gateway;
	struct {
		bool enable;
		char socket[104]; /* "" = /run/relayd/FILE_PREFIX.sock */
		char group[33];	  /* "" = root alone */
	} control;
	struct {
		uint32_t policy; /* enum rd_policy */
		char pairs[512]; /* "198.51.100.0/24=stripe,203.0.113.7/32=dest" */
		struct rd_conf_pair {
			uint32_t address, prefix_len, policy;
		} pair[RD_PAIRS_MAX]; /* as read from pairs */
		uint32_t npairs;
		char ipv6[2048]; /* "198.51.100.21=2001:db8::21,..." */
		struct rd_conf_place {
			uint32_t name; /* its global IPv4 address */
			uint8_t address[16];
		} place[RD_PLACES_MAX]; /* as read from ipv6 */
		uint32_t nplaces;
		uint32_t partition_timeout_s, weight;
	} trunks;
	char tap_allow[256]; /* "global:tcp/22,udp/5000-5010" */
	struct rd_conf_open {
		uint8_t legs; /* bit 0 private, bit 1 global */
		bool tcp;     /* or UDP */
		uint16_t first, last;
	} tap_open[RD_CONF_OPEN_MAX]; /* as read from tap_allow */
	uint32_t ntap_open;
	char tap_prefix[11]; /* taps are called PREFIX-priv and PREFIX-glob */
	uint32_t drain_ms;
	uint32_t log_level; /* enum rd_log_level */
	char user[33];	    /* "" = stay who we are, with few capabilities */
	char pidfile[256];
	char stats_file[256];
	bool telemetry;
};

struct rd_fault {
	char pointer[128]; /* RFC 6901; "" = the whole document */
	uint32_t line;	   /* 1.., 0 = no place in the text */
	char text[232];	   /* cause and way out */
};
struct rd_faults {
	uint32_t count; /* may exceed RD_FAULTS_MAX */
	struct rd_fault fault[RD_FAULTS_MAX];
};

enum rd_key_type {
	RD_KEY_STRING,	/* char array */
	RD_KEY_ENUM,	/* uint32_t, one of words */
	RD_KEY_UINT,	/* uint32_t, min..max */
	RD_KEY_BOOL,	/* bool */
	RD_KEY_IPV4,	/* uint32_t in host order; "" = 0 where not required */
	RD_KEY_STRINGS, /* eal.extra */
	RD_KEY_RELAYS,	/* cluster.relays */
	RD_KEY_LIGHTS,	/* optical.ports */
};

/* A row of the table. */
struct rd_key {
	const char *path; /* dotted */
	enum rd_key_type type;
	bool required;
	const char *unit;     /* "" if none */
	uint32_t min, max;    /* UINT */
	const char *fallback; /* default as written in JSON without quotes */
	const char *words;    /* ENUM: "busy|pause|sleep" in enum order */
	const char *help;
	size_t offset, size; /* of the field in struct rd_conf */
};
extern const struct rd_key rd_conf_keys[];
extern const uint32_t rd_conf_keys_count;

/* All defaults; required keys are left zero. */
void rd_conf_defaults(struct rd_conf *conf);
/* Read text into conf (defaults first).  True if faults is empty afterwards;
 * conf is only meaningful then. */
bool rd_conf_parse(const char *text, size_t len, struct rd_conf *conf, struct rd_faults *faults);
/* The same for a file; an unreadable file is a fault with pointer "". */
bool rd_conf_load(const char *path, struct rd_conf *conf, struct rd_faults *faults);
void rd_fault_add(struct rd_faults *faults, const char *pointer, uint32_t line, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));

/* Line (from 1) on which the value named by an RFC 6901 pointer has its key, or
 * its first byte if it is an array element; 0 if there is none.  text must be
 * valid JSON (else the result is 0 or any line of the text). */
uint32_t rd_conf_locate(const char *text, size_t len, const char *pointer);

#define RD_VALUE_TEXT 96
bool rd_conf_same_value(const struct rd_conf *a, const struct rd_conf *b, const struct rd_key *key);
/* As it would be in the file, cut off if it is longer; of a list, how many it has. */
void rd_conf_put_value(const struct rd_conf *c, const struct rd_key *key, char out[RD_VALUE_TEXT]);

/* The defaults as a JSON document, required keys with an example value. */
void rd_conf_print_defaults(FILE *out);
/* JSON Schema (2020-12). */
void rd_conf_print_schema(FILE *out);
/* Markdown table of all keys, for doc/configuration.md. */
void rd_conf_print_table(FILE *out);

/* The gate addresses of relay i towards its own cluster's foreign hosts; returns how
 * many, 1 .. RD_GATES_MAX in a checked configuration with gateway.enable. */
uint32_t rd_conf_gates(const struct rd_conf *conf, uint32_t i, uint32_t out[RD_GATES_MAX]);
/* And towards the foreign hosts of other clusters. */
uint32_t rd_conf_gate_global(const struct rd_conf *conf, uint32_t i);
/* The addresses that this relay has on a leg (its TAP) besides the leg's own. */
uint32_t rd_conf_leg_more(const struct rd_conf *conf, int leg, uint32_t out[RD_GATES_MAX]);
/* Another address of the leg's subnet? */
bool rd_conf_on_leg(const struct rd_conf *conf, uint32_t leg, uint32_t address);
/* Another address of the leg's IPv6 prefix? */
bool rd_conf_on_leg6(const struct rd_conf_port *port, const uint8_t address[16]);
/* Is an IPv6 neighbour of neighbours.mac on that leg: in its prefix, or its gateway? */
bool rd_conf_knows_six(const struct rd_conf_port *port, const uint8_t address[16]);
/* The address in impi.server, of either kind, without its port; false: it is a name. */
bool rd_conf_server(const struct rd_conf *conf, struct suci_addr *out);
/* Are both legs at one port, the private one's? */
bool rd_conf_one_port(const struct rd_conf *conf);
/* "198.51.100.21=2001:db8::21,..." into place[], at most max: their number, or -1. */
int rd_conf_places(const char *text, struct rd_conf_place *place, uint32_t max);
/* "198.51.100.0/24=stripe,..." into pair[], at most max: their number, or -1. */
int rd_conf_pairs(const char *text, struct rd_conf_pair *pair, uint32_t max);
/* "global:tcp/22,udp/5000-5010" into open[], at most max: their number, or -1. */
int rd_conf_open_ports(const char *text, struct rd_conf_open *open, uint32_t max);
/* "10.0.0.10=02:00:00:00:00:0a,..." into mac[], at most max: their number, or -1. */
int rd_conf_macs(const char *text, struct rd_conf_mac *mac, uint32_t max);
/* "0,2-3" -> a bit per CPU in set[0..max); false if it is not such a list. */
bool rd_cpus_parse(const char *text, bool *set, uint32_t max);
/* EAL's --lcores, "0@0,1@1", "(0-2)@0", "0,2-4": the lcores and the CPUs that it names, all
 * below max; false if it is not such a text. */
bool rd_lcores_parse(const char *text, bool *lcore, bool *cpu, uint32_t max);

#define RD_CPUS_MAX 1024
/* The CPUs of one lcore of such a text, good by rd_lcores_parse(); max at most RD_CPUS_MAX.  Their
 * number, 0: no such lcore. */
uint32_t rd_lcore_cpus(const char *text, uint32_t lcore, bool *cpu, uint32_t max);
/* Of relays of one cluster, or of two: must they say the same of something, and do not?  Faults are
 * b's; a_name is the file of a, for the text. */
void rd_conf_agree(const struct rd_conf *a, const char *a_name, const struct rd_conf *b,
		   struct rd_faults *faults);

/* "10.0.0.1" to host order; false if it is not four decimal numbers. */
bool rd_ipv4_parse(const char *text, uint32_t *out);
/* "IP:PORT" */
bool rd_conf_endpoint(const char *text, uint32_t *ip, uint32_t *port);
/* "0-7,12" below n; "" is all of them. */
bool rd_conf_own_ports(const char *text, bool *own, uint32_t n);

#define RD_SWITCH_PORTS_MAX 4096
#define RD_GROUPS_MAX	    32
#define RD_GROUPS_WHY	    160
/* Groups of ports of the switch that share wavelengths. */
struct rd_lit_groups {
	uint32_t n, waves[RD_GROUPS_MAX]; /* links lit at once that end in it */
	uint32_t of[RD_SWITCH_PORTS_MAX]; /* by port: its group, or n */
};
/* "0-7=4;8-15,20=2", ports below `ports`; false: why not. */
bool rd_conf_lit_groups(const char *text, uint32_t ports, struct rd_lit_groups *g,
			char why[RD_GROUPS_WHY]);
#define RD_IPV4_TEXT 16
const char *rd_ipv4_text(uint32_t address, char buf[RD_IPV4_TEXT]);

#endif
