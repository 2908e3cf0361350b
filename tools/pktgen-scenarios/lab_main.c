/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_main.h"

#include "base/clock.h"
#include "pktgen/scenario.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#define SETTLE_NS   (150 * BASE_MS_NS) /* for relayd to take the last frames */
#define LATE_MAX_NS (5 * BASE_MS_NS)
#define RESULTS_MAX 4096

/* One scenario file, of either kind. */
struct item {
	bool stateful;
	struct pg_load *load;
	struct pg_scenario *frames;
};

static int
read_items(const struct pg_lab_args *a, struct item *item)
{
	char err[256] = "not enough memory";
	for (int i = 0; i < a->nscenarios; i++) {
		struct item *t = &item[i];
		const char *path = a->scenario[i];
		int e = -1;
		t->stateful = pg_load_is(path);
		if (t->stateful && (t->load = calloc(1, sizeof *t->load)))
			e = pg_load_load(t->load, path, err, sizeof err);
		else if (!t->stateful && (t->frames = calloc(1, sizeof *t->frames)))
			e = pg_scenario_load(t->frames, path, err, sizeof err);
		if (e) {
			fprintf(stderr, "relay-pktgen: %s: %s\n", path, err);
			return -1;
		}
	}
	return 0;
}

static void
free_items(struct item *item, int n)
{
	for (int i = 0; i < n; i++) {
		free(item[i].load);
		free(item[i].frames);
	}
	free(item);
}

/* ---- stateless, over the lab's ports ------------------------------------------------- */

static void
idle_for(struct pg_ctx *c, uint64_t ns)
{
	uint64_t end = rd_clock_ns(&c->net.clock) + ns;
	while ((c->net.now_ns = rd_clock_ns(&c->net.clock)) < end && !*c->stop) {
		(void)pg_net_poll(&c->net);
		pg_net_poll_taps(&c->net);
		for (uint32_t i = 0; i < c->nchans; i++)
			pg_chan_poll(&c->chan[i], c->net.now_ns);
		pg_net_flush(&c->net);
		usleep(100);
	}
}

static uint64_t
play_frames(struct pg_ctx *c, struct pg_gen *g, const struct pg_scenario *s, uint8_t side)
{
	uint8_t frame[PG_FRAME_MAX];
	enum pg_kind kind;
	double gap_ns = 1e9 / (double)s->rate_pps;
	uint64_t start = rd_clock_ns(&c->net.clock), base = 0, sent = 0;
	while (sent < s->count && !*c->stop) {
		uint64_t now = c->net.now_ns = rd_clock_ns(&c->net.clock);
		uint64_t next = start + (uint64_t)((double)(sent - base) * gap_ns);
		(void)pg_net_poll(&c->net);
		if (now > next + LATE_MAX_NS) { /* held up: goes on, does not catch up */
			start = next = now;
			base = sent;
		}
		for (int i = 0; i < PG_RX_BURST && sent < s->count && now >= next &&
				pg_net_room(&c->net, side);
		     i++) {
			size_t len = pg_next(g, frame, &kind);
			if (!pg_net_raw(&c->net, side, frame, len))
				return sent;
			sent++;
			next = start + (uint64_t)((double)(sent - base) * gap_ns);
		}
		pg_net_flush(&c->net);
		if (now - c->chores_ns > BASE_MS_NS) {
			c->chores_ns = now;
			pg_net_poll_taps(&c->net);
			for (uint32_t i = 0; i < c->nchans; i++)
				pg_chan_poll(&c->chan[i], now);
		}
	}
	return sent;
}

static void
judge_frames(struct pg_ctx *c, const struct pg_scenario *s, const struct pg_gen *g,
	     const json_t *before, const char *leg, struct pg_result *out)
{
	char *text = NULL;
	size_t len = 0;
	json_t *after = pg_stats_read(c->lab);
	FILE *f = after ? open_memstream(&text, &len) : NULL;
	if (!f) {
		strlcpy(out->error, "no counters after the frames", sizeof out->error);
		json_decref(after);
		return;
	}
	int r = pg_judge(s, g->made, before, after, leg, f, out->error, sizeof out->error);
	out->m[PG_M_relay_drops] = pg_stats_reasons(before, after, out);
	fclose(f);
	out->passed = r == 0;
	for (const char *at = text; r == 1 && at && *at;) {
		const char *end = strchr(at, '\n');
		size_t n = strlen(out->detail);
		if (strncmp(at, "BAD", 3) == 0)
			snprintf(out->detail + n, sizeof out->detail - n, "         %.*s\n",
				 end ? (int)(end - at) : (int)strlen(at), at);
		at = end ? end + 1 : NULL;
	}
	free(text);
	json_decref(after);
}

static void
run_frames(struct pg_ctx *c, const struct pg_scenario *s, const char *leg, struct pg_result *out)
{
	uint8_t side = strcmp(leg, "global") == 0;
	const struct pg_side *p = &c->net.side[side];
	struct pg_conf conf = s->conf;
	struct rd_station self;
	struct pg_gen g;
	uint64_t t0 = rd_clock_ns(&c->net.clock);
	*out = (struct pg_result){.name = s->name, .proves = s->proves, .kind = "stateless"};
	pg_station(&c->net, side, 0, &self);
	memcpy(conf.dst_mac, p->relay_mac, 6);
	memcpy(conf.src_mac, self.mac, 6);
	conf.dst_ip = p->conf->relay;
	/* Far from the hosts: some frames claim addresses beside their source's. */
	conf.src_ip = (p->conf->relay | ~0u >> p->conf->prefix_len) - 54;
	conf.dst_port = p->conf->udp_port;
	conf.mtu = p->conf->mtu;
	json_t *before = pg_stats_read(c->lab);
	if (!before || !pg_init(&g, &conf)) {
		strlcpy(out->error, "stateless scenarios need the lab's stats command",
			sizeof out->error);
		json_decref(before);
		return;
	}
	out->m[PG_M_sent] = (double)play_frames(c, &g, s, side);
	out->known[PG_M_sent] = true;
	idle_for(c, SETTLE_NS);
	if (out->m[PG_M_sent] < (double)s->count)
		strlcpy(out->error, "not all frames were sent", sizeof out->error);
	else
		judge_frames(c, s, &g, before, leg, out);
	json_decref(before);
	out->seconds = (double)(rd_clock_ns(&c->net.clock) - t0) / 1e9;
}

/* ---- all of them ------------------------------------------------------------------------- */

static uint32_t
rss_kb(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (uint32_t)(pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

static uint32_t
play_all(struct pg_ctx *c, const struct pg_lab_args *a, const struct item *item,
	 struct pg_result *result)
{
	uint64_t end = rd_clock_system_ns() + a->soak_s * BASE_S_NS;
	uint32_t n = 0;
	do {
		for (int i = 0; i < a->nscenarios && !*a->stop && n < RESULTS_MAX; i++) {
			struct pg_result *r = &result[n++];
			if (item[i].stateful)
				pg_run(c, item[i].load, r);
			else
				run_frames(c, item[i].frames, a->leg, r);
			/* Without the results, of which there is one more each time. */
			r->rss_kb = rss_kb() - n * (uint32_t)(sizeof *r / 1024);
			pg_report_row(stdout, r);
		}
	} while (a->soak_s && rd_clock_system_ns() < end && !*a->stop && n < RESULTS_MAX);
	return n;
}

static int
write_reports(const struct pg_lab_args *a, const struct pg_result *r, uint32_t n)
{
	static int (*const write[])(const char *path, const struct pg_result *r,
				    uint32_t n) = {pg_report_json, pg_report_junit, pg_report_html};
	const char *path[] = {a->json, a->junit, a->html};
	int bad = 0;
	for (int i = 0; i < 3; i++) {
		int e = path[i] ? write[i](path[i], r, n) : 0;
		if (e)
			fprintf(stderr, "relay-pktgen: %s: %s\n", path[i], strerror(-e));
		bad = bad ? bad : e;
	}
	return bad;
}

int
pg_lab_main(const struct pg_lab_args *a)
{
	static struct pg_ctx ctx;
	static struct pg_lab lab;
	char err[512] = "";
	int status = 2;
	struct item *item = calloc((size_t)a->nscenarios, sizeof *item);
	struct pg_result *result = calloc(RESULTS_MAX, sizeof *result);
	if (!item || !result || read_items(a, item))
		goto out;
	if (pg_lab_load(&lab, a->lab, err, sizeof err)) {
		fprintf(stderr, "relay-pktgen: %s: %s\n", a->lab, err);
		goto out;
	}
	ctx.stop = a->stop;
	ctx.turns = a->turns;
	pg_progress_init(&ctx.progress, a->progress);
	status = 1;
	if (pg_ctx_open(&ctx, &lab, a->prog, err, sizeof err)) {
		fprintf(stderr, "relay-pktgen: %s\n", err);
		(void)pg_ctx_close(&ctx);
		goto out;
	}
	pg_report_head(stdout);
	uint32_t n = play_all(&ctx, a, item, result);
	bool good = n > 0 && !*a->stop;
	for (uint32_t i = 0; i < n; i++)
		good = good && result[i].passed;
	pg_report_sum(stdout, result, n);
	if (write_reports(a, result, n) || pg_ctx_close(&ctx))
		good = false;
	status = !good;
out:
	for (uint32_t i = 0; result && i < RESULTS_MAX; i++)
		free(result[i].trials);
	free_items(item, item ? a->nscenarios : 0);
	free(result);
	return status;
}
