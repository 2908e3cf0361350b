/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/version.h"
#include "options.h"

static const char usage[] =
	"wanem - a WAN between two ports: delay, rate, queue, loss, duplication, reordering\n"
	"\n"
	"  wanem --a DEVICE --b DEVICE [options]\n"
	"\n"
	"DEVICE  interface (eth1), vdev string (net_memif0,...), or PCI address\n"
	"\n"
	"Both directions; prefix ab- or ba- (--ab-loss 0.01) sets one alone:\n"
	"  --delay-ms X       one-way delay, 0..500 (0)\n"
	"  --rate X           bit/s, as 1e9 or 1000000000; 0 = unlimited (0)\n"
	"  --queue-bytes N    drop-tail queue before the rate; 0 = unlimited\n"
	"                     (default: rate x the larger of 20 ms and 2 x delay)\n"
	"  --loss P           probability 0..1 that a frame is lost (0)\n"
	"  --dup P            ... is sent twice (0)\n"
	"  --reorder P        ... is held back by --reorder-ms (0)\n"
	"  --reorder-ms X     0..500 (1)\n"
	"  --frames N         most frames held (computed from delay, rate, queue)\n"
	"\n"
	"  --seed N           of all dice (1)\n"
	"  --mtu N            64..9600 (1500)\n"
	"  --pmd P            af_packet or af_xdp, for interfaces (af_packet)\n"
	"  --idle M           busy, pause or sleep (sleep)\n"
	"  --huge | --no-huge memory from hugepages or not (--no-huge)\n"
	"  --mem-mb N         memory of DPDK (computed)\n"
	"  --lcores L         EAL lcores (one, on the first CPU allowed)\n"
	"  --file-prefix S    EAL file prefix (rd + process id)\n"
	"  --stats-s N        print a line of counters every N seconds (0 = never)\n"
	"  --stats-file PATH  JSON of all counters, on exit and on SIGUSR1\n"
	"  --ready-file PATH  made when frames are being forwarded\n"
	"\n"
	"SIGINT or SIGTERM ends it; exit 0 if every buffer came back.\n";

enum kind { DELAY, RATE, QUEUE, LOSS, DUP, REORDER, REORDER_MS, FRAMES, N_PER_DIR };
enum other {
	OPT_A = N_PER_DIR,
	OPT_B,
	OPT_SEED,
	OPT_MTU,
	OPT_PMD,
	OPT_IDLE,
	OPT_HUGE,
	OPT_NO_HUGE,
	OPT_MEM,
	OPT_LCORES,
	OPT_PREFIX,
	OPT_STATS_S,
	OPT_STATS_FILE,
	OPT_READY_FILE,
	OPT_HELP,
	OPT_VERSION
};

#define BOTH 0
#define AB   100
#define BA   200

static const char *const per_dir[N_PER_DIR] = {"delay-ms", "rate",    "queue-bytes", "loss",
					       "dup",	   "reorder", "reorder-ms",  "frames"};
static const char *const others[] = {
	[OPT_A] = "a",
	[OPT_B] = "b",
	[OPT_SEED] = "seed",
	[OPT_MTU] = "mtu",
	[OPT_PMD] = "pmd",
	[OPT_IDLE] = "idle",
	[OPT_HUGE] = "huge",
	[OPT_NO_HUGE] = "no-huge",
	[OPT_MEM] = "mem-mb",
	[OPT_LCORES] = "lcores",
	[OPT_PREFIX] = "file-prefix",
	[OPT_STATS_S] = "stats-s",
	[OPT_STATS_FILE] = "stats-file",
	[OPT_READY_FILE] = "ready-file",
	[OPT_HELP] = "help",
	[OPT_VERSION] = "version",
};

/* A number in [0, max]; false after a message. */
static bool
options_number(const char *name, const char *text, double max, double *out)
{
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(v) || v < 0 || v > max) {
		fprintf(stderr, "wanem: --%s %s: a number from 0 to %g is wanted\n", name, text,
			max);
		return false;
	}
	*out = v;
	return true;
}

static bool
options_whole(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 0);
	if (end == text || *end || errno || text[0] == '-' || v < min || v > max) {
		fprintf(stderr, "wanem: --%s %s: a whole number from %llu to %llu is wanted\n",
			name, text, (unsigned long long)min, (unsigned long long)max);
		return false;
	}
	*out = v;
	return true;
}

static bool
set_dir(struct wan_conf *c, enum kind k, const char *text)
{
	/* cppcheck-suppress arrayIndexOutOfBoundsCond ; fill_options_table() makes no other k */
	const char *name = per_dir[k];
	uint64_t n = 0;
	double v = 0;

	switch (k) {
	case QUEUE:
		if (!options_whole(name, text, 0, UINT64_MAX / 16, &n))
			return false;
		c->queue_bytes = n;
		return true;
	case FRAMES:
		if (!options_whole(name, text, 1, WAN_FRAMES_MAX, &n))
			return false;
		c->frames_max = (uint32_t)n;
		return true;
	case RATE:
		if (!options_number(name, text, (double)WAN_RATE_BPS_MAX, &v))
			return false;
		c->rate_bps = (uint64_t)v;
		return true;
	case DELAY:
	case REORDER_MS:
		if (!options_number(name, text, (double)WAN_DELAY_NS_MAX / (double)BASE_MS_NS, &v))
			return false;
		*(k == DELAY ? &c->delay_ns : &c->reorder_extra_ns) =
			(uint64_t)(v * (double)BASE_MS_NS + 0.5);
		return true;
	case LOSS:
	case DUP:
	case REORDER:
		if (!options_number(name, text, 1, &v))
			return false;
		*(k == LOSS  ? &c->loss_ppb
		  : k == DUP ? &c->dup_ppb
			     : &c->reorder_ppb) = (uint32_t)(v * WAN_PPB + 0.5);
		return true;
	default:
		return false;
	}
}

static bool
set_other(struct wan_opts *o, int k, const char *text)
{
	uint64_t n = 0;

	switch (k) {
	case OPT_A:
		o->dev_a = text;
		return true;
	case OPT_B:
		o->dev_b = text;
		return true;
	case OPT_SEED:
		if (!options_whole(others[k], text, 0, UINT64_MAX, &n))
			return false;
		o->ab.seed = n;
		o->ba.seed = ~n;
		return true;
	case OPT_MTU:
		if (!options_whole(others[k], text, 64, 9600, &n))
			return false;
		o->mtu = (uint16_t)n;
		return true;
	case OPT_MEM:
		if (!options_whole(others[k], text, 16, 1u << 20, &n))
			return false;
		o->mem_mb = (uint32_t)n;
		return true;
	case OPT_STATS_S:
		if (!options_whole(others[k], text, 0, 86400, &n))
			return false;
		o->stats_s = (uint32_t)n;
		return true;
	case OPT_PMD:
		if (rd_pmd_parse(text, &o->pmd) == 0)
			return true;
		fprintf(stderr, "wanem: --pmd %s: af_packet or af_xdp is wanted\n", text);
		return false;
	case OPT_IDLE:
		if (rd_idle_parse(text, &o->idle) == 0)
			return true;
		fprintf(stderr, "wanem: --idle %s: busy, pause or sleep is wanted\n", text);
		return false;
	case OPT_HUGE:
	case OPT_NO_HUGE:
		o->huge = k == OPT_HUGE;
		return true;
	case OPT_LCORES:
		o->lcores = text;
		return true;
	case OPT_PREFIX:
		o->file_prefix = text;
		return true;
	case OPT_STATS_FILE:
		o->stats_file = text;
		return true;
	case OPT_READY_FILE:
		o->ready_file = text;
		return true;
	default:
		return false;
	}
}

/* getopt's table: every per-direction option three times. */
static void
fill_options_table(struct option *t, char names[][24])
{
	static const struct {
		const char *prefix;
		int base;
	} forms[] = {{"", BOTH}, {"ab-", AB}, {"ba-", BA}};
	int n = 0;

	for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
		for (int k = 0; k < N_PER_DIR; k++, n++) {
			snprintf(names[n], 24, "%s%s", forms[f].prefix, per_dir[k]);
			t[n] = (struct option){names[n], required_argument, NULL,
					       1000 + forms[f].base + k};
		}
	for (int k = OPT_A; k <= OPT_VERSION; k++, n++) {
		bool flag = k == OPT_HUGE || k == OPT_NO_HUGE || k >= OPT_HELP;
		t[n] = (struct option){others[k], flag ? no_argument : required_argument, NULL,
				       1000 + k};
	}
	t[n] = (struct option){0};
}

#define QUEUE_UNSET UINT64_MAX

static void
default_queue(struct wan_conf *c)
{
	if (c->queue_bytes != QUEUE_UNSET)
		return;
	uint64_t ns = base_max_ns(20 * BASE_MS_NS, 2 * c->delay_ns);
	c->queue_bytes = c->rate_bps / 8 * (ns / BASE_MS_NS) / 1000;
}

int
wan_opts_parse(struct wan_opts *o, int argc, char **argv)
{
	struct option table[3 * N_PER_DIR + OPT_VERSION - OPT_A + 2];
	char names[3 * N_PER_DIR][24];
	int k;

	*o = (struct wan_opts){.mtu = 1500, .idle = RD_IDLE_SLEEP};
	o->ab = (struct wan_conf){
		.queue_bytes = QUEUE_UNSET, .reorder_extra_ns = BASE_MS_NS, .seed = 1};
	o->ba = o->ab;
	o->ba.seed = ~1ull;
	fill_options_table(table, names);
	while ((k = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		bool ok;
		if (k == '?') {
			fputs("wanem --help lists the options\n", stderr);
			return -EINVAL;
		}
		if (k == 1000 + OPT_VERSION) {
			puts("wanem " BASE_VERSION);
			exit(0);
		}
		if (k == 'h' || k == 1000 + OPT_HELP) {
			fputs(usage, stdout);
			return 1;
		}
		k -= 1000;
		enum kind dir = (enum kind)(k % 100);
		if (k >= BA)
			ok = set_dir(&o->ba, dir, optarg);
		else if (k >= AB)
			ok = set_dir(&o->ab, dir, optarg);
		else if (k < N_PER_DIR)
			ok = set_dir(&o->ab, dir, optarg) && set_dir(&o->ba, dir, optarg);
		else
			ok = set_other(o, k, optarg);
		if (!ok)
			return -EINVAL;
	}
	if (optind < argc) {
		fprintf(stderr, "wanem: %s: not an option; see --help\n", argv[optind]);
		return -EINVAL;
	}
	if (!o->dev_a || !o->dev_b) {
		fprintf(stderr, "wanem: --a DEVICE and --b DEVICE are needed; see --help\n");
		return -EINVAL;
	}
	default_queue(&o->ab);
	default_queue(&o->ba);
	return 0;
}
