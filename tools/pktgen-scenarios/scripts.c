/* SPDX-License-Identifier: BSD-2-Clause */
#include "scripts.h"

#include "pcap.h"
#include "pktgen/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { FRAME_MIN = 60, AROUND = 24 }; /* FCS, preamble, gap between frames */

/* In percent of the link: bits of count frames on the wire, at rate_pps. */
static double
rate_percent(const struct pg_gen *g, const struct pg_scripts *s)
{
	struct pg_gen copy = *g;
	uint8_t frame[PG_FRAME_MAX];
	enum pg_kind kind;
	double bytes = 0;
	for (uint64_t i = 0; i < s->count; i++) {
		size_t len = pg_next(&copy, frame, &kind);
		bytes += (double)(len > FRAME_MIN ? len : FRAME_MIN) + AROUND;
	}
	double bps = bytes / (double)s->count * 8 * (double)s->rate_pps;
	double percent = bps / ((double)s->link_mbps * 1e6) * 100;
	return percent < 100 ? percent : 100;
}

/* mark: what begins a comment. */
static void
put_scripts_head(FILE *f, const char *base, const struct pg_scripts *s, const char *mark,
		 const char *suffix)
{
	const char *slash = strrchr(base, '/'), *file = slash ? slash + 1 : base;
	fprintf(f,
		"%s %s: %s\n%s\n"
		"%s pktgen -l 0-1 -n 4 -- -P -m \"1.0\" -s 0:%s.pcap -f %s.%s\n"
		"%s %" PRIu64 " frames, %" PRIu64 " a second on a link of %" PRIu64 " Mb/s\n",
		mark, s->name, s->proves, mark, mark, file, file, suffix, mark, s->count,
		s->rate_pps, s->link_mbps);
}

static void
put_pkt(FILE *f, const char *base, const struct pg_scripts *s, double percent)
{
	put_scripts_head(f, base, s, "#", "pkt");
	fprintf(f,
		"stop 0\nclear 0 stats\nset 0 burst 1\nset 0 rate %.6f\nset 0 count %" PRIu64 "\n"
		"enable 0 pcap\nstart 0\n",
		percent, s->count);
}

static void
put_lua(FILE *f, const char *base, const struct pg_scripts *s, double percent)
{
	put_scripts_head(f, base, s, "--", "lua");
	fprintf(f,
		"package.path = package.path .. \";?.lua\"\nrequire \"Pktgen\"\n"
		"local port = \"0\"\n"
		"pktgen.stop(port)\npktgen.clr()\n"
		"pktgen.set(port, \"burst\", 1)\npktgen.set(port, \"rate\", %.6f)\n"
		"pktgen.set(port, \"count\", %" PRIu64 ")\n"
		"pktgen.pcap(port, \"enable\")\npktgen.start(port)\n"
		"pktgen.delay(%" PRIu64 ")\npktgen.stop(port)\n",
		percent, s->count, s->count * 1000 / s->rate_pps + 1000);
}

static int
write_one(const char *base, const char *suffix, const struct pg_scripts *s, double percent,
	  void (*put)(FILE *f, const char *base, const struct pg_scripts *s, double percent))
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s.%s", base, suffix) >= (int)sizeof path)
		return -ENAMETOOLONG;
	FILE *f = fopen(path, "we");
	if (!f)
		return -errno;
	put(f, base, s, percent);
	int r = ferror(f) ? -EIO : 0;
	if (fclose(f) != 0 && r == 0)
		r = -errno;
	return r;
}

int
pg_scripts_write(const char *base, struct pg_gen *g, const struct pg_scripts *s)
{
	char path[PATH_MAX];
	double percent = rate_percent(g, s);
	if (snprintf(path, sizeof path, "%s.pcap", base) >= (int)sizeof path)
		return -ENAMETOOLONG;
	int r = pg_pcap_write(path, g, s->count, s->rate_pps);
	if (r == 0)
		r = write_one(base, "pkt", s, percent, put_pkt);
	return r ? r : write_one(base, "lua", s, percent, put_lua);
}
