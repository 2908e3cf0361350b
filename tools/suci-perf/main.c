/* SPDX-License-Identifier: BSD-2-Clause */
/* suci-perf - latency and throughput of Suci between processes: ping-pong, one-way bursts,
 * gather, broadcast over a tree.  See suci-perf(1). */
#include "perf.h"
#include "base/version.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT 7700

const char *const mode_name[4] = {"pingpong", "burst", "gather", "tree"};

static const char usage[] =
	"suci-perf server [--bind IP] [--port N] [--clients N] [--once]\n"
	"suci-perf client HOST [--port N] [--id N]  --mode pingpong|burst  ROUND...\n"
	"suci-perf server --door [--relay IP:PORT[,IP:PORT] | --bind IP] [--realm N] [--once]\n"
	"suci-perf client door:ADDRESS [--relay IP:PORT[,IP:PORT]] [--realm N] --mode ... "
	"ROUND...\n"
	"suci-perf node --db FILE --id N [--root N] --mode MODE  ROUND...\n"
	"suci-perf local N                          --mode MODE  ROUND...\n"
	"\n"
	"  --mode MODE       pingpong, burst (one way), gather (all to the root), tree\n"
	"                    (broadcast from the root over a binomial tree)\n"
	"  --size LIST       bytes of a block: 8,1k,64k,1M..16M (.. doubles)   [8,1k,64k,1M]\n"
	"  --count N         blocks a round; or\n"
	"  --duration S      about so many seconds a round                     [1]\n"
	"  --warmup N        blocks before it that do not count                [about 1 MB]\n"
	"  --json FILE       results for programs; - is standard output\n"
	"  --quiet           no table\n"
	"\n"
	"  --bind IP --mtu BYTES --window PACKETS --sockbuf BYTES --read-bytes BYTES\n"
	"  --write-bytes BYTES --rate BYTES/S (slow write) --prio 0..3 --spin-us N\n"
	"  --cc cubic|fixed|bbr --crc --no-offload --huge --xdp\n"
	"  --psk FILE (sealed) --identity FILE --peers FILE (both: sites by public key)\n"
	"  --busy-poll-us N --connect-ms N --liveness-ms N\n"
	"All processes of one run take the same --mode; server and node follow the leader,\n"
	"who is the client or the root.\n";

static _Noreturn void
suci_perf_bad(const char *what, const char *value)
{
	fprintf(stderr, "suci-perf: %s \"%s\"; suci-perf --help\n", what, value);
	exit(2);
}

/* A number with k, M or G; *end behind it. */
static uint64_t
suci_perf_number(const char *s, char **end)
{
	errno = 0;
	uint64_t v = strtoull(s, end, 10);
	unsigned shift = **end == 'k' || **end == 'K' ? 10
			 : **end == 'M'		      ? 20
			 : **end == 'G'		      ? 30
						      : 0;
	if (errno || *end == s || *s == '-' || v > UINT64_MAX >> 30)
		suci_perf_bad("not a number:", s);
	*end += shift != 0;
	return v << shift;
}

static uint64_t
one_number(const char *s, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t v = suci_perf_number(s, &end);
	if (*end || v < min || v > max)
		suci_perf_bad("out of range:", s);
	return v;
}

static void
add_size(struct options *o, uint64_t size)
{
	if (o->nsizes == SIZES_MAX || size > DATAGRAM_BLOCK_MAX)
		suci_perf_bad("too many sizes, or too large a one", "");
	o->size[o->nsizes++] = size;
}

static void
sizes(struct options *o, const char *s)
{
	char *end;
	o->nsizes = 0;
	for (;; s = end + 1) {
		uint64_t v = suci_perf_number(s, &end);
		add_size(o, v);
		if (end[0] == '.' && end[1] == '.') {
			uint64_t last = suci_perf_number(end + 2, &end);
			while (v && v <= last / 2)
				add_size(o, v *= 2);
		}
		if (!*end)
			return;
		if (*end != ',')
			suci_perf_bad("not a list of sizes:", s);
	}
}

static enum mode
suci_perf_mode_of(const char *s)
{
	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(s, mode_name[i]))
			return (enum mode)i;
	if (!strcmp(s, "bcast"))
		return MODE_TREE;
	suci_perf_bad("unknown mode", s);
}

enum {
	OPT_BIND = 256,
	OPT_PORT,
	OPT_CLIENTS,
	OPT_ONCE,
	OPT_DOOR,
	OPT_RELAY,
	OPT_REALM,
	OPT_ID,
	OPT_DB,
	OPT_ROOT,
	OPT_MODE,
	OPT_SIZE,
	OPT_COUNT,
	OPT_DURATION,
	OPT_WARMUP,
	OPT_JSON,
	OPT_QUIET,
	OPT_MTU,
	OPT_WINDOW,
	OPT_SOCKBUF,
	OPT_READ,
	OPT_WRITE,
	OPT_RATE,
	OPT_PRIO,
	OPT_SPIN,
	OPT_CC,
	OPT_CRC,
	OPT_NO_OFFLOAD,
	OPT_PSK,
	OPT_IDENTITY,
	OPT_PEERS,
	OPT_BUSY,
	OPT_HUGE,
	OPT_XDP,
	OPT_CONNECT,
	OPT_LIVENESS,
	OPT_HELP,
	OPT_VERSION
};
static const struct option longs[] = {
	{"bind", 1, NULL, OPT_BIND},
	{"port", 1, NULL, OPT_PORT},
	{"clients", 1, NULL, OPT_CLIENTS},
	{"once", 0, NULL, OPT_ONCE},
	{"door", 0, NULL, OPT_DOOR},
	{"relay", 1, NULL, OPT_RELAY},
	{"realm", 1, NULL, OPT_REALM},
	{"id", 1, NULL, OPT_ID},
	{"db", 1, NULL, OPT_DB},
	{"root", 1, NULL, OPT_ROOT},
	{"mode", 1, NULL, OPT_MODE},
	{"size", 1, NULL, OPT_SIZE},
	{"sizes", 1, NULL, OPT_SIZE},
	{"count", 1, NULL, OPT_COUNT},
	{"duration", 1, NULL, OPT_DURATION},
	{"warmup", 1, NULL, OPT_WARMUP},
	{"json", 1, NULL, OPT_JSON},
	{"quiet", 0, NULL, OPT_QUIET},
	{"mtu", 1, NULL, OPT_MTU},
	{"window", 1, NULL, OPT_WINDOW},
	{"sockbuf", 1, NULL, OPT_SOCKBUF},
	{"read-bytes", 1, NULL, OPT_READ},
	{"write-bytes", 1, NULL, OPT_WRITE},
	{"rate", 1, NULL, OPT_RATE},
	{"prio", 1, NULL, OPT_PRIO},
	{"spin-us", 1, NULL, OPT_SPIN},
	{"cc", 1, NULL, OPT_CC},
	{"crc", 0, NULL, OPT_CRC},
	{"no-offload", 0, NULL, OPT_NO_OFFLOAD},
	{"connect-ms", 1, NULL, OPT_CONNECT},
	{"liveness-ms", 1, NULL, OPT_LIVENESS},
	{"psk", 1, NULL, OPT_PSK},
	{"identity", 1, NULL, OPT_IDENTITY},
	{"peers", 1, NULL, OPT_PEERS},
	{"busy-poll-us", 1, NULL, OPT_BUSY},
	{"huge", 0, NULL, OPT_HUGE},
	{"xdp", 0, NULL, OPT_XDP},
	{"help", 0, NULL, OPT_HELP},
	{"version", 0, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

/* Options of the socket. */
static void
socket_option(struct datagram_conf *c, int opt, const char *v)
{
	switch (opt) {
	case OPT_MTU:
		c->mtu = (uint32_t)one_number(v, 0, 65000);
		break;
	case OPT_WINDOW:
		c->window = (uint32_t)one_number(v, 4, 65535);
		break;
	case OPT_SOCKBUF:
		c->sockbuf_bytes = (uint32_t)one_number(v, 0, 1u << 30);
		break;
	case OPT_READ:
		c->read_bytes = one_number(v, 65536, UINT64_MAX);
		break;
	case OPT_WRITE:
		c->write_bytes = one_number(v, 65536, UINT64_MAX);
		break;
	case OPT_RATE:
		c->slow_write = one_number(v, 0, UINT64_MAX);
		break;
	case OPT_PRIO:
		c->priority = (int)one_number(v, 0, 3);
		break;
	case OPT_SPIN:
		c->spin_us = (uint32_t)one_number(v, 0, 10000000);
		break;
	case OPT_CC:
		c->cc = !strcmp(v, "cubic")   ? DATAGRAM_CC_CUBIC
			: !strcmp(v, "fixed") ? DATAGRAM_CC_FIXED
					      : DATAGRAM_CC_BBR;
		if (c->cc == DATAGRAM_CC_BBR && strcmp(v, "bbr"))
			suci_perf_bad("unknown congestion control", v);
		break;
	case OPT_CRC:
		c->flags |= DATAGRAM_CRC;
		break;
	case OPT_NO_OFFLOAD:
		c->flags |= DATAGRAM_NO_OFFLOAD;
		break;
	case OPT_PSK:
		c->psk_file = v;
		break;
	case OPT_IDENTITY:
		c->identity_file = v;
		break;
	case OPT_PEERS:
		c->peers_file = v;
		break;
	case OPT_BUSY:
		c->busy_poll_us = (uint32_t)one_number(v, 0, 1000000);
		break;
	case OPT_HUGE:
		c->flags |= DATAGRAM_HUGE_PAGES;
		break;
	case OPT_XDP:
		c->flags |= DATAGRAM_XDP;
		break;
	case OPT_CONNECT:
		c->connect_ms = (uint32_t)one_number(v, 0, UINT32_MAX);
		break;
	case OPT_LIVENESS:
		c->liveness_ms = (uint32_t)one_number(v, 0, UINT32_MAX);
		break;
	default:
		exit(2);
	}
}

static void
round_option(struct options *o, int opt, const char *v)
{
	char *end;
	switch (opt) {
	case OPT_MODE:
		o->mode = suci_perf_mode_of(v);
		break;
	case OPT_SIZE:
		sizes(o, v);
		break;
	case OPT_COUNT:
		o->count = one_number(v, 1, UINT64_MAX);
		break;
	case OPT_DURATION:
		o->duration = strtod(v, &end);
		if (*end || !(o->duration > 0 && o->duration < 1e6))
			suci_perf_bad("not a duration in seconds:", v);
		break;
	case OPT_WARMUP:
		o->warmup = one_number(v, 0, UINT64_MAX - 1);
		break;
	case OPT_JSON:
		o->json = v;
		break;
	case OPT_QUIET:
		o->quiet = true;
		break;
	default:
		socket_option(&o->conf, opt, v);
	}
}

static void
suci_perf_option(struct options *o, int opt, const char *v)
{
	switch (opt) {
	case OPT_BIND:
		o->bind = v;
		o->conf.ip = v;
		break;
	case OPT_PORT:
		o->port = (uint16_t)one_number(v, 1, 65535);
		break;
	case OPT_CLIENTS:
		o->clients = (uint32_t)one_number(v, 1, 60000);
		break;
	case OPT_ONCE:
		o->once = true;
		break;
	case OPT_DOOR:
		o->door = true;
		break;
	case OPT_RELAY:
		o->conf.relay = v;
		break;
	case OPT_REALM:
		o->conf.realm = one_number(v, 0, UINT64_MAX);
		break;
	case OPT_ID:
		o->id = (uint32_t)one_number(v, 0, DATAGRAM_ID_MAX);
		o->id_set = true;
		break;
	case OPT_DB:
		o->db = v;
		break;
	case OPT_ROOT:
		o->root = (uint32_t)one_number(v, 0, DATAGRAM_ID_MAX);
		o->root_set = true;
		break;
	case OPT_VERSION:
		puts("suci-perf " BASE_VERSION);
		exit(0);
	case OPT_HELP:
		fputs(usage, stdout);
		exit(0);
	default:
		round_option(o, opt, v);
	}
}

static void
parse_suci_perf(struct options *o, int argc, char **argv)
{
	static const char *const role[] = {"server", "client", "node", "local"};
	int opt;
	*o = (struct options){.duration = 1, .warmup = UINT64_MAX, .port = PORT, .clients = 64};
	datagram_conf_init(&o->conf);
	sizes(o, "8,1k,64k,1M");
	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == '?') {
			fputs("suci-perf --help lists the options\n", stderr);
			exit(2);
		}
		suci_perf_option(o, opt, optarg);
	}
	const char *what = optind < argc ? argv[optind++] : "";
	unsigned i = 0;
	while (i < 4 && strcmp(what, role[i]))
		i++;
	if (i == 4)
		suci_perf_bad("server, client, node or local, not", what);
	o->role = i;
	bool more = o->role == ROLE_CLIENT || o->role == ROLE_LOCAL;
	if (argc - optind != more)
		suci_perf_bad(more ? "one more word is needed after" : "nothing is expected after",
			      what);
	if (o->role == ROLE_CLIENT)
		o->host = argv[optind];
	o->door |= o->host && !strncmp(o->host, "door:", 5);
	if (o->door && (o->role > ROLE_CLIENT || (o->host && strncmp(o->host, "door:", 5) != 0)))
		suci_perf_bad("--door is for a server, and for a client of a door:, not", what);
	if (!o->door && o->conf.relay)
		suci_perf_bad("a relay carries doors: --door, or client door:ADDRESS, for", what);
	if (o->role == ROLE_LOCAL)
		o->processes = (uint32_t)one_number(argv[optind], 2, 1000);
	if (o->role == ROLE_NODE && (!o->db || !o->id_set))
		suci_perf_bad("--db and --id are needed for", what);
	if (o->role == ROLE_CLIENT && o->mode > MODE_BURST)
		suci_perf_bad("a client has one server: node or local for mode",
			      mode_name[o->mode]);
}

static void
on_suci_perf_signal(int sig)
{
	(void)sig;
	perf_told_to_end = 1; /* and the read that a server sleeps in ends */
}

int
main(int argc, char **argv)
{
	static struct options o;
	struct run r = {0};
	uint32_t children = 0;
	int err, status = 0;

	parse_suci_perf(&o, argc, argv);
	struct sigaction sa = {.sa_handler = on_suci_perf_signal};
	if (o.role == ROLE_SERVER) {
		sigaction(SIGTERM, &sa, NULL);
		sigaction(SIGINT, &sa, NULL);
	}
	switch (o.role) {
	case ROLE_SERVER:
		err = o.door ? open_door(&r, &o) : open_server(&r, &o);
		break;
	case ROLE_CLIENT:
		err = o.door ? open_door(&r, &o) : open_client(&r, &o);
		break;
	case ROLE_NODE:
		err = open_node(&r, &o);
		break;
	default:
		err = open_local(&r, &o, &children);
	}
	bool leads = o.role == ROLE_CLIENT || (o.role != ROLE_SERVER && r.me == r.root);
	if (!err)
		err = leads ? lead(&r) : serve(&r);
	if (r.s && datagram_close(r.s) && !err) {
		perror("suci-perf: closing");
		err = -1;
	}
	for (; children; children--)
		if (wait(&status) > 0 && status)
			err = -1;
	free_buffer(&r);
	free(r.ids);
	return err ? 1 : 0;
}
