/* SPDX-License-Identifier: BSD-2-Clause */
/* relay-pktgen - plays scenarios against a relayd: many, of either kind, in a lab; or one
 * stateless one as a pcap file or through a DPDK port, judged by relayd's stats files. */
#include "pktgen/frames.h"
#include "blast.h"
#include "lab_main.h"
#include "pcap.h"
#include "play.h"
#include "pktgen/scenario.h"
#include "scripts.h"
#include "base/version.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>

static const char usage[] =
	"relay-pktgen - play scenarios against a relayd\n"
	"\n"
	"  relay-pktgen --lab LAB.json SCENARIO.json...      play all in that lab and judge\n"
	"     [--json FILE] [--junit FILE] [--html FILE]     results; a page with plots\n"
	"     [--progress]                                   a line a second, also to a file\n"
	"     [--soak SECONDS]                               again and again for so long\n"
	"     [--turns]                                      measure in turns of MS that lines on\n"
	"                                                    standard input deal\n"
	"\n"
	"  relay-pktgen --lab LAB.json --blast BYTES         plain UDP from side to side, through\n"
	"     [--rate-pps N] [--ms N | --turns] [--router]   a wire, macswap, or a router\n"
	"\n"
	"One scenario of bad frames:\n"
	"  relay-pktgen SCENARIO.json --pcap FILE            write the frames to FILE\n"
	"  relay-pktgen SCENARIO.json --pktgen BASE          and Pktgen-DPDK's scripts: "
	"BASE.pcap,\n"
	"     [--link-mbps N]                                BASE.pkt, BASE.lua, for a link of N "
	"(10000)\n"
	"  relay-pktgen SCENARIO.json --port DEVICE          send them\n"
	"  relay-pktgen SCENARIO.json --before F --after F   judge: relayd's stats files from\n"
	"                                                    before and after the frames\n"
	"  relay-pktgen SCENARIO.json                        say what it proves\n"
	"\n"
	"DEVICE  interface (eth1), vdev string (net_memif0,...), or PCI address\n"
	"  --pmd P            af_packet or af_xdp, for interfaces (af_packet)\n"
	"  --lcores L         EAL lcores (one, on the first CPU allowed)\n"
	"  --file-prefix S    EAL file prefix (rd + process id)\n"
	"  --leg L            leg of relayd that is played against: private or global (private)\n"
	"\n"
	"Instead of what the scenario says:\n"
	"  --dst-mac M --dst-ip A --dst-port N --src-mac M --src-ip A\n"
	"  --mtu N            MTU of relayd's leg (1500): some frames are made too large for it\n"
	"  --seed N --count N --rate-pps N\n"
	"\n"
	"Judge with the same --seed, --count and --mtu as were played.\n"
	"Exit: 0 done, every expectation held; 1 not; 2 wrong arguments or scenario.\n";

struct args {
	const char *scenario, *pcap, *pktgen, *before, *after, *leg;
	const char *lab, *json, *junit, *html;
	uint64_t soak_s, blast, blast_ms, blast_pps, link_mbps;
	bool router, turns, progress;
	struct pg_play play;
};

static struct pg_scenario scenario;
static volatile sig_atomic_t stop_asked;

static void
on_pktgen_scenarios_signal(int sig)
{
	(void)sig;
	stop_asked = 1;
}

static void
catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_pktgen_scenarios_signal};
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

enum opt {
	DST_MAC = 1000,
	DST_IP,
	DST_PORT,
	MTU,
	SRC_MAC,
	SRC_IP,
	SEED,
	COUNT,
	RATE,
	PCAP,
	PKTGEN,
	LINK_MBPS,
	PORT,
	PMD,
	LCORES,
	PREFIX,
	LEG,
	BEFORE,
	AFTER,
	LAB,
	JSON_FILE,
	JUNIT,
	HTML,
	PROGRESS,
	SOAK,
	BLAST,
	BLAST_MS,
	ROUTER,
	TURNS,
};

static const struct option options[] = {
	{"dst-mac", required_argument, NULL, DST_MAC},
	{"dst-ip", required_argument, NULL, DST_IP},
	{"dst-port", required_argument, NULL, DST_PORT},
	{"mtu", required_argument, NULL, MTU},
	{"src-mac", required_argument, NULL, SRC_MAC},
	{"src-ip", required_argument, NULL, SRC_IP},
	{"seed", required_argument, NULL, SEED},
	{"count", required_argument, NULL, COUNT},
	{"rate-pps", required_argument, NULL, RATE},
	{"pcap", required_argument, NULL, PCAP},
	{"pktgen", required_argument, NULL, PKTGEN},
	{"link-mbps", required_argument, NULL, LINK_MBPS},
	{"port", required_argument, NULL, PORT},
	{"pmd", required_argument, NULL, PMD},
	{"lcores", required_argument, NULL, LCORES},
	{"file-prefix", required_argument, NULL, PREFIX},
	{"leg", required_argument, NULL, LEG},
	{"before", required_argument, NULL, BEFORE},
	{"after", required_argument, NULL, AFTER},
	{"lab", required_argument, NULL, LAB},
	{"json", required_argument, NULL, JSON_FILE},
	{"junit", required_argument, NULL, JUNIT},
	{"html", required_argument, NULL, HTML},
	{"progress", no_argument, NULL, PROGRESS},
	{"soak", required_argument, NULL, SOAK},
	{"blast", required_argument, NULL, BLAST},
	{"ms", required_argument, NULL, BLAST_MS},
	{"router", no_argument, NULL, ROUTER},
	{"turns", no_argument, NULL, TURNS},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

static bool
pktgen_scenarios_whole(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *wrong = NULL;
	long long v = strtonum(text, (long long)min, (long long)max, &wrong);
	if (wrong)
		return false;
	*out = (uint64_t)v;
	return true;
}

/* What changes the scenario; false: not understood. */
static bool
override(int o, const char *text)
{
	struct pg_conf *c = &scenario.conf;
	uint64_t n = 0;
	bool ok;
	switch ((enum opt)o) {
	case DST_MAC:
		return pg_mac_parse(text, c->dst_mac);
	case SRC_MAC:
		return pg_mac_parse(text, c->src_mac);
	case DST_IP:
		return pg_ip_parse(text, &c->dst_ip);
	case SRC_IP:
		return pg_ip_parse(text, &c->src_ip);
	case DST_PORT:
		ok = pktgen_scenarios_whole(text, 1, 65535, &n);
		c->dst_port = ok ? (uint16_t)n : 0;
		return ok;
	case MTU:
		ok = pktgen_scenarios_whole(text, PG_MTU_MIN, PG_MTU_MAX, &n);
		c->mtu = ok ? (uint16_t)n : 0;
		return ok;
	case SEED:
		return pktgen_scenarios_whole(text, 0, INT64_MAX, &c->seed);
	case COUNT:
		return pktgen_scenarios_whole(text, 1, PG_COUNT_MAX, &scenario.count);
	case RATE:
		return pktgen_scenarios_whole(text, 1, PG_RATE_PPS_MAX, &scenario.rate_pps);
	default:
		return true;
	}
}

static bool
set_pktgen_scenarios(struct args *a, int o, const char *text)
{
	switch ((enum opt)o) {
	case PCAP:
		a->pcap = text;
		return true;
	case PKTGEN:
		a->pktgen = text;
		return true;
	case LINK_MBPS:
		return pktgen_scenarios_whole(text, 1, 1000000, &a->link_mbps);
	case PORT:
		a->play.device = text;
		return true;
	case PMD:
		return rd_pmd_parse(text, &a->play.pmd) == 0;
	case LCORES:
		a->play.lcores = text;
		return true;
	case PREFIX:
		a->play.file_prefix = text;
		return true;
	case LEG:
		a->leg = text;
		return strcmp(text, "private") == 0 || strcmp(text, "global") == 0;
	case BEFORE:
		a->before = text;
		return true;
	case AFTER:
		a->after = text;
		return true;
	case LAB:
		a->lab = text;
		return true;
	case JSON_FILE:
		a->json = text;
		return true;
	case JUNIT:
		a->junit = text;
		return true;
	case HTML:
		a->html = text;
		return true;
	case PROGRESS:
		a->progress = true;
		return true;
	case BLAST:
		return pktgen_scenarios_whole(text, 64, 9000, &a->blast);
	case BLAST_MS:
		return pktgen_scenarios_whole(text, 1, 86400000, &a->blast_ms);
	case RATE:
		return pktgen_scenarios_whole(text, 1, PG_RATE_PPS_MAX, &a->blast_pps);
	case ROUTER:
		a->router = true;
		return true;
	case TURNS:
		a->turns = true;
		return true;
	case SOAK:
		return pktgen_scenarios_whole(text, 1, 10000000, &a->soak_s);
	default:
		return true;
	}
}

/* One pass over the arguments: fn is set (before the scenario is read) or override. */
static int
pass_pktgen_scenarios(int argc, char **argv, struct args *a)
{
	int o, i;
	optind = 0; /* glibc: start over */
	while ((o = getopt_long(argc, argv, "h", options, &i)) != -1) {
		if (o == '?') {
			fputs("relay-pktgen --help lists the options\n", stderr);
			return 2;
		}
		if (o == 'V') {
			puts("relay-pktgen " BASE_VERSION);
			exit(0);
		}
		if (o == 'h') {
			fputs(usage, stdout);
			return -1;
		}
		if (!(a ? set_pktgen_scenarios(a, o, optarg) : override(o, optarg))) {
			fprintf(stderr, "relay-pktgen: --%s %s: not understood; see --help\n",
				options[i].name, optarg);
			return 2;
		}
	}
	return 0;
}

/* 0; 2: wrong; -1: help was printed. */
static int
read_args(struct args *a, int argc, char **argv)
{
	char err[256];
	int r = pass_pktgen_scenarios(argc, argv, a);
	if (r)
		return r;
	if (a->lab && (a->blast || optind < argc))
		return 0;
	if (optind + 1 != argc) {
		fprintf(stderr, "relay-pktgen: one scenario file is wanted; see --help\n");
		return 2;
	}
	a->scenario = argv[optind];
	if (!a->before != !a->after || (a->pcap != NULL) + (a->pktgen != NULL) +
						       (a->play.device != NULL) +
						       (a->before != NULL) >
					       1) {
		fprintf(stderr, "relay-pktgen: one of --pcap, --pktgen, --port, or --before with "
				"--after is wanted\n");
		return 2;
	}
	if (pg_scenario_load(&scenario, a->scenario, err, sizeof err)) {
		fprintf(stderr, "relay-pktgen: %s: %s\n", a->scenario, err);
		return 2;
	}
	return pass_pktgen_scenarios(argc, argv, NULL);
}

static void
print_made(const struct pg_gen *g)
{
	for (int k = 0; k < PG_KINDS_COUNT; k++)
		if (g->made[k])
			printf("  %-16s %8" PRIu64 "  %s\n", pg_kind_names[k], g->made[k],
			       pg_kind_help[k]);
}

static json_t *
load_stats(const char *path)
{
	json_error_t e;
	json_t *j = json_load_file(path, 0, &e);
	if (!j)
		fprintf(stderr,
			e.line > 0 ? "relay-pktgen: %s: %s (line %d)\n" : "relay-pktgen: %s: %s\n",
			path, e.text, e.line);
	return j;
}

static int
judge_pktgen_scenarios(const struct args *a, const struct pg_gen *g)
{
	char err[256];
	json_t *before = load_stats(a->before), *after = load_stats(a->after);
	int r = -1;
	if (before && after) {
		r = pg_judge(&scenario, g->made, before, after, a->leg, stdout, err, sizeof err);
		if (r < 0)
			fprintf(stderr, "relay-pktgen: %s: %s\n", a->scenario, err);
	}
	json_decref(before);
	json_decref(after);
	return r < 0 ? 2 : r;
}

/* How many frames of each kind there are, without keeping them. */
static void
count_frames(struct pg_gen *g)
{
	uint8_t frame[PG_FRAME_MAX];
	enum pg_kind kind;
	for (uint64_t i = 0; i < scenario.count; i++)
		(void)pg_next(g, frame, &kind);
}

int
main(int argc, char **argv)
{
	struct args a = {.leg = "private",
			 .link_mbps = 10000,
			 .play = {.prog = argv[0], .stop = &stop_asked}};
	struct pg_gen g;
	int r = read_args(&a, argc, argv);
	if (r)
		return r < 0 ? 0 : r;
	if (a.lab && a.blast) {
		catch_signals();
		struct pg_blast_args ba = {.prog = argv[0],
					   .lab = a.lab,
					   .bytes = (uint32_t)a.blast,
					   .rate_pps = a.blast_pps,
					   .seconds_ms = a.blast_ms ? (uint32_t)a.blast_ms : 1000,
					   .router = a.router,
					   .turns = a.turns,
					   .stop = &stop_asked};
		return pg_blast_main(&ba);
	}
	if (a.lab) {
		catch_signals();
		struct pg_lab_args la = {.prog = argv[0],
					 .lab = a.lab,
					 .json = a.json,
					 .junit = a.junit,
					 .html = a.html,
					 .progress = a.progress,
					 .leg = a.leg,
					 .soak_s = (uint32_t)a.soak_s,
					 .turns = a.turns,
					 .scenario = argv + optind,
					 .nscenarios = argc - optind,
					 .stop = &stop_asked};
		return pg_lab_main(&la);
	}
	if (!pg_init(&g, &scenario.conf)) {
		fprintf(stderr, "relay-pktgen: source and target have the same address\n");
		return 2;
	}
	if (a.pcap) {
		r = pg_pcap_write(a.pcap, &g, scenario.count, scenario.rate_pps);
		if (r)
			fprintf(stderr, "relay-pktgen: %s: %s\n", a.pcap, strerror(-r));
	} else if (a.pktgen) {
		struct pg_scripts s = {scenario.name, scenario.proves, scenario.count,
				       scenario.rate_pps, a.link_mbps};
		r = pg_scripts_write(a.pktgen, &g, &s);
		if (r)
			fprintf(stderr, "relay-pktgen: %s: %s\n", a.pktgen, strerror(-r));
	} else if (a.play.device) {
		catch_signals();
		a.play.count = scenario.count;
		a.play.rate_pps = scenario.rate_pps;
		a.play.mtu = scenario.conf.mtu;
		r = pg_play(&a.play, &g);
	} else {
		count_frames(&g);
		if (a.before)
			return judge_pktgen_scenarios(&a, &g);
		printf("%s: %s\n", scenario.name, scenario.proves);
	}
	if (r)
		return 1;
	printf("%s: %" PRIu64 " frames, seed %" PRIu64 ", %" PRIu64 " a second\n", scenario.name,
	       scenario.count, scenario.conf.seed, scenario.rate_pps);
	print_made(&g);
	return 0;
}
