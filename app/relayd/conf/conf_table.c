/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of keys and the defaults that follow from it. */
#include "rd/conf.h"

#include "base/nearest.h"
#include "conf_internal.h"

#include <string.h>

const char *const rd_leg_names[RD_LEGS_MAX] = {"private", "global", "light0", "light1", "light2",
					       "light3",  "light4", "light5", "light6", "light7"};

#define AT(member) offsetof(struct rd_conf, member), sizeof(((struct rd_conf *)0)->member)
#define STRING(path, field, req, dflt, help)                                    \
	{                                                                       \
		path, RD_KEY_STRING, req, "", 0, 0, dflt, NULL, help, AT(field) \
	}
#define UINT(path, field, req, unit, min, max, dflt, help)                          \
	{                                                                           \
		path, RD_KEY_UINT, req, unit, min, max, dflt, NULL, help, AT(field) \
	}
#define ENUM(path, field, words, dflt, help)                                     \
	{                                                                        \
		path, RD_KEY_ENUM, false, "", 0, 0, dflt, words, help, AT(field) \
	}
#define BOOL(path, field, dflt, help)                                           \
	{                                                                       \
		path, RD_KEY_BOOL, false, "", 0, 0, dflt, NULL, help, AT(field) \
	}
#define IPV4(path, field, req, help)                                        \
	{                                                                   \
		path, RD_KEY_IPV4, req, "", 0, 0, "", NULL, help, AT(field) \
	}

#define PORT(leg, i, dflt, seal)                                                                   \
	STRING("ports." leg ".device", port[i].device, false, "",                                  \
	       "DPDK device: a PCI address (0000:03:00.0) or a vdev string "                       \
	       "(net_af_xdp0,iface=eth1); or leave empty and give interface"),                     \
		STRING("ports." leg ".interface", port[i].interface, false, "",                    \
		       "kernel interface to drive through a vdev that relayd makes; "              \
		       "its kernel IP address must be removed"),                                   \
		ENUM("ports." leg ".pmd", port[i].pmd, "af_packet|af_xdp", "af_packet",            \
		     "kind of vdev made for interface"),                                           \
		IPV4("ports." leg ".address", port[i].address, true, "IPv4 address of this leg"),  \
		UINT("ports." leg ".prefix_len", port[i].prefix_len, true, "bits", 1, 31, "24",    \
		     "length of the leg's subnet prefix"),                                         \
		IPV4("ports." leg ".gateway", port[i].gateway, false,                              \
		     "next hop for addresses outside the subnet; empty: none"),                    \
		UINT("ports." leg ".mtu", port[i].mtu, false, "bytes", 1280, 9600, dflt,           \
		     "largest IP packet on this leg"),                                             \
		UINT("ports." leg ".vlan", port[i].vlan, false, "", 0, 4094, "0",                  \
		     "VLAN that this leg is in, whose tag relayd sends and expects; 0: untagged"), \
		UINT("ports." leg ".udp_port", port[i].udp_port, false, "", 1, 65535, "7812",      \
		     "UDP port of the first worker on this leg, the others at the next ones; the " \
		     "same on all relays of the cluster"),                                         \
		ENUM("ports." leg ".sealing", port[i].sealing, "off|on", seal,                     \
		     "on: every datagram of this leg is encrypted and authenticated with a key "   \
		     "of sealing.key_file; all peers on it must do the same (see Sealing)"),       \
		UINT("ports." leg ".rx_descriptors", port[i].rx_descriptors, false, "", 64, 4096,  \
		     "512", "receive ring of the port"),                                           \
		UINT("ports." leg ".tx_descriptors", port[i].tx_descriptors, false, "", 64, 4096,  \
		     "512", "transmit ring of the port")

#define SIX(leg, i, example, section)                                                         \
	STRING("ports." leg ".ipv6", port[i].ipv6, false, "",                                 \
	       "IPv6 address of this leg with the length of its prefix, as " example          \
	       "; empty: none (see IPv6 " section ")"),                                       \
		STRING("ports." leg ".gateway6", port[i].gateway6, false, "",                 \
		       "IPv6 next hop for addresses outside that prefix, may be link-local; " \
		       "empty: none")

const struct rd_key rd_conf_keys[] = {
	STRING("cluster.name", cluster.name, true, "a", "name of this cluster in messages"),
	{"cluster.relays", RD_KEY_RELAYS, true, "", 1, RD_RELAYS_MAX, "", NULL,
	 "all relays of this cluster, the same list in the same order on each: "
	 "objects {private, global} of IPv4 addresses; ours is found by address. Optional: gates, "
	 "further private addresses, one for each remote client after the first (see The "
	 "gateway), gate_global, and workers, if that relay has not as many as this one. private6 "
	 "is "
	 "its IPv6 address on the private leg (see IPv6 inside a cluster)",
	 AT(cluster.relay)},
	UINT("cluster.peer_port", cluster.peer_port, false, "", 1, 65535, "7813",
	     "TCP port on which the cluster's relays talk to each other (private leg)"),
	PORT("private", RD_LEG_PRIVATE, "1500", "off"),
	SIX("private", RD_LEG_PRIVATE, "fd00::fe/64", "inside a cluster"),
	PORT("global", RD_LEG_GLOBAL, "1500", "on"),
	SIX("global", RD_LEG_GLOBAL, "2001:db8::7/64", "between clusters"),
	UINT("impi.listen_port", impi.listen_port, false, "", 1, 65535, "7811",
	     "TCP port on the private leg on which we are the cluster's IMPI server"),
	UINT("impi.ports", impi.ports, false, "", 1, RD_IMPI_PORTS_MAX, "1",
	     "ports from listen_port on, one for each server of jobs side by side: a client at "
	     "listen_port + i is relayed to the port of server + i"),
	STRING("impi.server", impi.server, true, "198.51.100.9:7810",
	       "address (or name) and port of the real IMPI server, reached from the global leg; "
	       "an "
	       "IPv6 address in brackets, as [2001:db8::9]:7810"),
	ENUM("impi.auth", impi.auth, "none|key", "none",
	     "IMPI authentication towards the server and from the client"),
	STRING("impi.key_file", impi.key_file, false, "",
	       "file with the 64-bit decimal key of impi.auth key"),
	STRING("impi.allow", impi.allow, false, "",
	       "who may connect to the IMPI ports, prefixes like 10.1.0.0/16,10.2.0.7; empty: "
	       "the private leg's subnet (see Who may begin a job)"),
	UINT("impi.step_timeout_s", impi.step_timeout_s, false, "s", 1, 86400, "60",
	     "a client that has said its rank and whose turn it is in start-up must get on by a "
	     "step within that time, or loses the rank"),
	ENUM("impi.server_sealing", impi.server_sealing, "off|on", "off",
	     "on: what is said to the server is encrypted and authenticated with a key of "
	     "sealing.key_file, or no job begins; impi-server --key-file (see Sealing)"),
	STRING("sealing.key_file", sealing.key_file, false, "/etc/relayd/psk",
	       "file with the pre-shared keys of sealed legs, mode 0600; the same keys at all "
	       "relays (see Sealing); empty: none, with an identity"),
	STRING("sealing.identity_file", sealing.identity_file, false, "",
	       "file with the private key of this site, mode 0600, made by relayd "
	       "--make-identity; empty: sites are told apart by nothing (see Sealing)"),
	STRING("sealing.peers_file", sealing.peers_file, false, "",
	       "file with names, public keys and addresses of the other sites, with an identity "
	       "(see Sealing)"),
	STRING("eal.lcores", eal.lcores, false, "0@0,1@1",
	       "EAL --lcores: the first is control, the next are the workers"),
	STRING("eal.file_prefix", eal.file_prefix, false, "relayd",
	       "EAL --file-prefix: tells relays on one machine apart"),
	BOOL("eal.hugepages", eal.hugepages, "true",
	     "use hugepages; false runs with ordinary pages (virtual devices only)"),
	UINT("eal.memory_mb", eal.memory_mb, false, "MiB", 32, 1048576, "256",
	     "memory for packets and tables"),
	{"eal.extra", RD_KEY_STRINGS, false, "", 0, RD_EAL_EXTRA_MAX, "", NULL,
	 "further EAL arguments, one string each", AT(eal.extra)},
	UINT("workers", workers, false, "", 1, RD_WORKERS_MAX, "1",
	     "worker lcores, each with queues, UDP ports, paths, packet buffers and tables of its "
	     "own: the next ones of eal.lcores after control (see Workers)"),
	ENUM("idle", idle, "busy|pause|sleep", "busy",
	     "what an idle worker does: busy polls, pause polls gently, sleep gives the core away"),
	UINT("limits.jobs", limits.jobs, false, "", 1, 1024, "16", "jobs at a time"),
	UINT("limits.procs", limits.procs, false, "", 64, 262144, "4096",
	     "processes over all jobs, each job rounded up to 64"),
	UINT("limits.hosts", limits.hosts, false, "", 2, 65535, "1024", "IMPI hosts of one job"),
	UINT("limits.trunks", limits.trunks, false, "", 1, 4096, "256",
	     "trunks: relays of other clusters"),
	UINT("limits.paths", limits.paths, false, "", 2, 65536, "1024",
	     "Suci paths: local processes and remote relays"),
	UINT("limits.segments", limits.segments, false, "", 64, 1048576, "8192",
	     "segments in custody, over all paths; each holds a packet buffer"),
	UINT("limits.queue", limits.queue, false, "segments", 1, 1048576, "2048",
	     "segments waiting on one path before more are refused"),
	UINT("limits.window", limits.window, false, "segments", 1, 65535, "2048",
	     "segments in flight on one path"),
	UINT("doors.max", doors.max, false, "", 0, 262144, "0",
	     "doors, and doors of other clusters, that a worker carries; 0: none, else 64 or more "
	     "(see Doors)"),
	UINT("doors.per_process", doors.per_process, false, "", 1, 65535, "1024",
	     "doors of one process, and as many that it may use"),
	UINT("doors.importers", doors.importers, false, "", 1, 65535, "1024",
	     "relays of other clusters that may have one door at a time"),
	UINT("doors.imports", doors.imports, false, "", 0, 262144, "0",
	     "doors that one relay of another cluster may have; 0: a quarter of doors.max"),
	UINT("doors.asks_per_s", doors.asks_per_s, false, "", 1, 1000000, "1000",
	     "and ask for in a second"),
	UINT("doors.lost_s", doors.lost_s, false, "s", 1, 86400, "10",
	     "no relay of its cluster answers so long: a door counts as gone"),
	UINT("suci.liveness_ms", suci.liveness_ms, false, "ms", 100, 600000, "4000",
	     "silence that declares a peer dead"),
	UINT("suci.keepalive_ms", suci.keepalive_ms, false, "ms", 50, 600000, "1000",
	     "probe an idle path that often"),
	UINT("suci.handshake_ms", suci.handshake_ms, false, "ms", 100, 600000, "8000",
	     "give up opening a path after"),
	UINT("suci.ack_delay_us", suci.ack_delay_us, false, "us", 1, 100000, "1000",
	     "longest wait before an acknowledgement"),
	UINT("suci.credit", suci.credit, false, "packets", 0, 32767, "0",
	     "packets all peers of one leg within 1 ms may have on their way to a worker: less "
	     "than what a "
	     "switch before it can queue; 0: three quarters of rx_descriptors"),
	ENUM("suci.private_cc", suci.private_cc, "fixed|cubic|bbr", "cubic",
	     "congestion control towards local processes"),
	ENUM("suci.global_cc", suci.global_cc, "fixed|cubic|bbr", "cubic",
	     "congestion control of trunks; fixed for a reserved path, bbr for one with long "
	     "queues"),
	UINT("suci.initial_window", suci.initial_window, false, "packets", 2, 1024, "32",
	     "packets a path under cc cubic or bbr begins with"),
	UINT("suci.private_window", suci.private_window, false, "packets", 1, 65535, "256",
	     "packets in flight under cc fixed, private leg"),
	UINT("suci.global_window", suci.global_window, false, "packets", 1, 65535, "2048",
	     "packets in flight under cc fixed, global leg"),
	UINT("suci.global_rate_mbps", suci.global_rate_mbps, false, "Mbit/s", 0, 400000, "0",
	     "pacing rate of a trunk under cc fixed; 0: unpaced"),
	UINT("suci.global_mtu_start", suci.global_mtu_start, false, "bytes", 1280, 9600, "1500",
	     "largest IP packet sure to pass between clusters; trunks probe from there up to "
	     "ports.global.mtu"),
	BOOL("suci.global_ecn", suci.global_ecn, "true",
	     "mark packets of trunks ECT(0) and heed congestion marks, where the network leaves "
	     "them alone"),
	BOOL("suci.global_migrate", suci.global_migrate, "false",
	     "let a relay of another cluster change its address (behind a NAT) without a new "
	     "trunk"),
	ENUM("trunks.policy", trunks.policy, "dest|source|stripe", "dest",
	     "which of several relays and trunks carries a segment (see Several relays)"),
	STRING("trunks.pairs", trunks.pairs, false, "",
	       "other policies for clusters whose relays have addresses in a prefix, like "
	       "198.51.100.0/24=stripe,203.0.113.7/32=dest"),
	STRING("trunks.ipv6", trunks.ipv6, false, "",
	       "relays of other clusters that are reached by IPv6, each by its global IPv4 "
	       "address, "
	       "as 198.51.100.21=2001:db8::21,198.51.100.22=2001:db8::22 (see IPv6 between "
	       "clusters)"),
	UINT("trunks.partition_timeout_s", trunks.partition_timeout_s, false, "s", 0, 86400, "10",
	     "how long no relay of this cluster may reach another cluster before their jobs end"),
	UINT("trunks.weight", trunks.weight, false, "", 1, 100, "100",
	     "this relay's share, beside the others of its cluster"),
	{"optical.ports", RD_KEY_LIGHTS, false, "", 0, RD_LIGHTS_MAX, "", NULL,
	 "ports to an optical switch, a leg each: objects of device or interface, address "
	 "(10.50.0.1/24, one that no other relay's port has), and where the port is on the switch: "
	 "switch_port, or ingress and egress (see Light)",
	 AT(optical.at)},
	ENUM("optical.pmd", optical.pmd, "af_packet|af_xdp", "af_packet",
	     "kind of vdev made for an interface of optical.ports"),
	UINT("optical.mtu", optical.mtu, false, "bytes", 0, 9600, "0",
	     "largest IP packet on light, not less than ports.global.mtu; 0: as that"),
	UINT("optical.udp_port", optical.udp_port, false, "", 1, 65535, "7812",
	     "UDP port on light, the same at all relays"),
	ENUM("optical.sealing", optical.sealing, "global|off|on", "global",
	     "are light paths sealed: as ports.global.sealing says, or not, or always"),
	UINT("optical.rx_descriptors", optical.rx_descriptors, false, "", 64, 4096, "512",
	     "receive ring of each light port"),
	UINT("optical.tx_descriptors", optical.tx_descriptors, false, "", 64, 4096, "512",
	     "transmit ring of each light port"),
	ENUM("optical.cc", optical.cc, "fixed|cubic|bbr", "fixed",
	     "congestion control of light paths, on which nobody else is"),
	UINT("optical.rate_mbps", optical.rate_mbps, false, "Mbit/s", 0, 400000, "0",
	     "what a light path carries: its pacing rate under cc fixed; 0: unpaced"),
	UINT("optical.window", optical.window, false, "packets", 1, 65535, "2048",
	     "packets in flight on a light path under cc fixed"),
	UINT("optical.open_ms", optical.open_ms, false, "ms", 10, 60000, "300",
	     "no light after so long: the circuit counts as failed"),
	UINT("optical.liveness_ms", optical.liveness_ms, false, "ms", 20, 60000, "200",
	     "silence that ends a light path while something is unanswered"),
	UINT("optical.drain_ms", optical.drain_ms, false, "ms", 1, 10000, "40",
	     "time for what is under way on a light path that is to be dark; the rest goes over "
	     "trunks"),
	STRING("optical.controller", optical.controller, false, "",
	       "IP:PORT of the relayd that drives the switch (the circuit controller); empty: "
	       "circuits are "
	       "set by hand, or optical.listen here"),
	STRING("optical.listen", optical.listen, false, "",
	       "circuit controller: IP:PORT where the other relays report"),
	ENUM("optical.mode", optical.mode, "auto|naive|batched|pipelined|cached|hybrid", "auto",
	     "circuit controller: how circuits are planned for calls that leave it open"),
	UINT("optical.alpha_us", optical.alpha_us, false, "us", 0, 10000000, "100",
	     "circuit controller: time of a short message by light"),
	UINT("optical.packet_alpha_us", optical.packet_alpha_us, false, "us", 0, 10000000, "1000",
	     "circuit controller: time of a short message by the packet network"),
	UINT("optical.packet_rate_mbps", optical.packet_rate_mbps, false, "Mbit/s", 1, 400000,
	     "1000", "circuit controller: what the packet network carries between two clusters"),
	UINT("optical.gamma_ms", optical.gamma_ms, false, "ms", 0, 10000, "10",
	     "circuit controller: time to set up a circuit, until it is learnt"),
	UINT("optical.links_max", optical.links_max, false, "", 1, RD_LINKS_MAX, "1",
	     "circuit controller: light links between two clusters at once; what one sends the "
	     "other is spread over them"),
	UINT("optical.lit_max", optical.lit_max, false, "", 0, 4096, "0",
	     "circuit controller: links lit at once, where wavelengths are fewer than ports; 0: no "
	     "limit"),
	STRING("optical.lit_groups", optical.lit_groups, false, "",
	       "circuit controller: ports that share wavelengths, and how many links may end there "
	       "at once, as 0-7=4;8-15,20=2; a cluster's ports are in one group"),
	ENUM("optical.switch.protocol", optical.sw.protocol, RD_SWITCH_WORDS, "none",
	     "circuit controller: how the switch is spoken to (doc/optical.md); none: this relay "
	     "is no "
	     "circuit controller"),
	STRING("optical.switch.address", optical.sw.address, false, "",
	       "circuit controller: where, as ocsctl -a"),
	STRING("optical.switch.credentials", optical.sw.credentials, false, "",
	       "circuit controller: file with user and password, one a line, that nobody else may "
	       "read"),
	UINT("optical.switch.ports", optical.sw.ports, false, "", 1, 4096, "64",
	     "circuit controller: ports of the switch (the true number for NETCONF)"),
	UINT("optical.switch.batch", optical.sw.batch, false, "", 1, 4096, "64",
	     "circuit controller: circuits changed at a time, at most"),
	UINT("optical.switch.extra_ms", optical.sw.extra_ms, false, "ms", 0, 10000, "0",
	     "circuit controller: hold every set-up back for so long: makes Open vSwitch as slow "
	     "as "
	     "mirrors"),
	STRING("optical.switch.own", optical.sw.own, false, "",
	       "circuit controller: ports that are ours to change, as 0-7,12; empty: all"),
	STRING("optical.switch.models", optical.sw.models, false, "",
	       "circuit controller: folder that keeps the models of a NETCONF server; empty: "
	       "fetched each "
	       "run"),
	STRING("optical.switch.names", optical.sw.names, false, "",
	       "circuit controller: file with the names of a Calient switch's ports, one a line "
	       "from port 0 "
	       "on"),
	STRING("optical.switch.group", optical.sw.group, false, "",
	       "circuit controller: Calient group of the circuits"),
	UINT("neighbours.entries", neighbours.entries, false, "", 4, 65536, "1024",
	     "neighbour (ARP) table of each leg"),
	UINT("neighbours.pending", neighbours.pending, false, "packets", 1, 64, "8",
	     "packets that wait for one unresolved neighbour"),
	UINT("neighbours.retry_ms", neighbours.retry_ms, false, "ms", 10, 60000, "250",
	     "time between ARP requests"),
	UINT("neighbours.tries", neighbours.tries, false, "", 1, 100, "8",
	     "ARP requests before a neighbour counts as unreachable"),
	UINT("neighbours.expiry_s", neighbours.expiry_s, false, "s", 1, 86400, "60",
	     "confirm a neighbour again after"),
	STRING("neighbours.mac", neighbours.mac, false, "",
	       "fixed neighbours of either leg, never asked for and never replaced, as "
	       "10.0.0.10=02:00:00:00:00:0a,2001:db8::fe=02:00:00:00:00:fe"),
	BOOL("gateway.enable", gateway.enable, "true",
	     "serve foreign hosts: MPI processes that speak IMPI over TCP and no Suci"),
	UINT("gateway.private_port", gateway.private_port, false, "", 1, 65535, "7820",
	     "TCP port where the own cluster's foreign hosts find the gateway; first of a range "
	     "of limits.jobs ports for each relay of the cluster"),
	UINT("gateway.global_port", gateway.global_port, false, "", 1, 65535, "7820",
	     "the same for foreign hosts of other clusters"),
	UINT("gateway.udp_port", gateway.udp_port, false, "", 1, 65535, "7828",
	     "UDP port of the gateway's Suci endpoint (private leg; the cluster's relays use it)"),
	ENUM("gateway.private_via", gateway.private_via, "leg|host", "leg",
	     "how the own cluster's foreign hosts are reached: leg, over the TAP of the private "
	     "leg; host, over the machine's own interfaces, and gates are its addresses there"),
	ENUM("gateway.global_via", gateway.global_via, "leg|host", "leg",
	     "the same for foreign hosts of other clusters; with host, gate_global is needed"),
	UINT("gateway.channels", gateway.channels, false, "", 1, 65536, "1024",
	     "TCP channels to foreign hosts, over all jobs"),
	UINT("gateway.lanes", gateway.lanes, false, "", 16, 1048576, "8192",
	     "pairs of processes that talk through the gateway and Suci, over all jobs"),
	UINT("gateway.memory_mb", gateway.memory_mb, false, "MiB", 1, 65536, "64",
	     "memory for packets on their way through the gateway; hosts are not read while it "
	     "is used up"),
	UINT("gateway.poll_us", gateway.poll_us, false, "us", 0, 1000000, "50",
	     "the gateway polls that long after it had work, then sleeps until something comes"),
	STRING("gateway.cpus", gateway.cpus, false, "",
	       "CPUs of the gateway's thread, like 2 or 2-3; empty: those of control"),
	BOOL("control.enable", control.enable, "true",
	     "serve the control socket (relayctl, doc/control.md)"),
	STRING("control.socket", control.socket, false, "",
	       "its path; empty: /run/relayd/NAME.sock, where NAME is eal.file_prefix"),
	STRING("control.group", control.group, false, "",
	       "group whose members may use it (mode 0660), and so stop, drain and capture; empty: "
	       "root alone (0600)"),
	STRING("tap_prefix", tap_prefix, false, "relay",
	       "kernel interfaces for TCP are called PREFIX-priv and PREFIX-glob"),
	STRING("tap_allow", tap_allow, false, "",
	       "further ports of the machine that may be reached over its TAPs, as "
	       "private:tcp/22,udp/5000-5010 (both legs); see Ports over the TAPs"),
	UINT("drain_ms", drain_ms, false, "ms", 0, 600000, "5000",
	     "SIGTERM: time for segments in custody to be delivered"),
	ENUM("log_level", log_level, "error|warning|info|debug", "info",
	     "least important messages to print"),
	STRING("user", user, false, "",
	       "user to become once everything is open, without any capability; empty: none but "
	       "NET_ADMIN, NET_RAW and IPC_LOCK are kept (see Privileges)"),
	STRING("pidfile", pidfile, false, "", "file with our process id; empty: none"),
	STRING("stats_file", stats_file, false, "",
	       "SIGUSR1 and the end write counters there as JSON; empty: nowhere"),
	BOOL("telemetry", telemetry, "true",
	     "serve /relayd/... on the DPDK telemetry socket, for DPDK's own tools"),
};
const uint32_t rd_conf_keys_count = sizeof rd_conf_keys / sizeof rd_conf_keys[0];
_Static_assert(sizeof rd_conf_keys / sizeof rd_conf_keys[0] <= RD_KEYS_MAX,
	       "whoever reads keeps in mind which were seen");

static void
set_default(struct rd_conf *conf, const struct rd_key *key)
{
	uint8_t *field = (uint8_t *)conf + key->offset;
	uint32_t number = 0;
	switch (key->type) {
	case RD_KEY_STRING:
		memcpy(field, key->fallback, strlen(key->fallback) + 1);
		return;
	case RD_KEY_BOOL:
		*(bool *)field = strcmp(key->fallback, "true") == 0;
		return;
	case RD_KEY_ENUM:
		number = (uint32_t)base_word_index(key->words, key->fallback);
		break;
	case RD_KEY_UINT:
		for (const char *c = key->fallback; *c; c++)
			number = number * 10 + (uint32_t)(*c - '0');
		break;
	case RD_KEY_IPV4:
		break;
	case RD_KEY_STRINGS:
	case RD_KEY_RELAYS:
	case RD_KEY_LIGHTS:
		return;
	}
	memcpy(field, &number, sizeof number);
}

void
rd_conf_defaults(struct rd_conf *conf)
{
	memset(conf, 0, sizeof *conf);
	for (uint32_t i = 0; i < rd_conf_keys_count; i++)
		if (!rd_conf_keys[i].required)
			set_default(conf, &rd_conf_keys[i]);
	conf->nlegs = RD_LEGS;
}
