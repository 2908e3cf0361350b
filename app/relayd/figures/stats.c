/* SPDX-License-Identifier: BSD-2-Clause */
#include "stats.h"

#include "base/clock.h"
#include "relay/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t
rd_busy_permille(const struct rd_shard *s, uint32_t nworkers)
{
	uint64_t all_ns = s->uptime_ns * nworkers;
	return all_ns ? s->worker.busy_ns * 1000 / all_ns : 0;
}

const char *
rd_path_kind_name(enum relay_path_kind kind)
{
	switch (kind) {
	case RELAY_PATH_PROC:
		return "process";
	case RELAY_PATH_TRUNK:
		return "trunk";
	case RELAY_PATH_GATEWAY:
		return "gateway";
	case RELAY_PATH_LIGHT:
		return "light";
	case RELAY_PATH_DOOR:
		return "door";
	case RELAY_PATH_NONE:
		break;
	}
	return "none";
}

const char *
rd_path_leg_name(const struct suci_path_info *p)
{
	return p->peer.leg < RD_LEGS_MAX ? rd_leg_names[p->peer.leg] : "none";
}

const char *
rd_channel_state_name(const struct gw_channel_info *c)
{
	if (c->fini_tx && c->fini_rx)
		return "finished";
	if (c->fini_tx || c->fini_rx)
		return c->fini_tx ? "fini sent" : "fini received";
	return c->up ? "up" : c->connects ? "connecting" : "listening";
}

/* A counter with one of these beginnings lost something. */
static bool
is_drop(const char *name)
{
	if (strncmp(name, "door_", 5) == 0)
		return strcmp(name, "door_asks") != 0 && strcmp(name, "door_answers") != 0;
	return strncmp(name, "drop_", 5) == 0 || strncmp(name, "refused_", 8) == 0 ||
	       strncmp(name, "accept_", 7) == 0 || strncmp(name, "notes_bad", 9) == 0 ||
	       strncmp(name, "notes_unsent", 12) == 0 || strncmp(name, "notes_stale", 11) == 0 ||
	       strncmp(name, "notes_forgotten", 15) == 0 || strcmp(name, "strangers") == 0;
}

typedef void (*drop_fn)(void *user, const char *name, uint64_t count, const char *help);

static void
emit(drop_fn fn, void *user, const char *group, const char *leg, const char *name, uint64_t count,
     const char *help)
{
	char full[96];
	snprintf(full, sizeof full, "%s%s%s/%s", group, *leg ? "/" : "", leg, name);
	fn(user, full, count, help);
}

void
rd_stats_drops(const struct rd_snapshot *s, drop_fn fn, void *user)
{
	for (uint32_t i = 0; i < s->sum.nlegs; i++) {
		const char *leg = rd_leg_names[i];
		for (int d = 0; d < RD_RX_DROPS_COUNT; d++)
			emit(fn, user, "rx", leg, rd_rx_drop_names[d], s->sum.leg[i].rx_drop[d],
			     rd_rx_drop_help[d]);
#define X(n, h)          \
	if (is_drop(#n)) \
		emit(fn, user, "leg", leg, #n, s->sum.leg[i].n, h);
		RD_LEG_COUNTERS(X)
#undef X
#define X(n, h)          \
	if (is_drop(#n)) \
		emit(fn, user, "neighbours", leg, #n, s->sum.neigh[i].n, h);
		RD_NEIGH_COUNTERS(X)
#undef X
	}
#define X(n, h)          \
	if (is_drop(#n)) \
		emit(fn, user, "suci", "", #n, s->sum.suci.n, h);
	SUCI_COUNTERS(X)
#undef X
#define X(n, h)          \
	if (is_drop(#n)) \
		emit(fn, user, "relay", "", #n, s->sum.relay.n, h);
	RELAY_COUNTERS(X)
#undef X
#define X(n, h) emit(fn, user, "control", "", #n, s->control.n, h);
	RD_CONTROL_DROPS(X)
#undef X
	if (!s->gateway.on)
		return;
#define X(n, h)          \
	if (is_drop(#n)) \
		emit(fn, user, "gateway", "", #n, s->gateway.gw.n, h);
	GW_COUNTERS(X)
#undef X
#define X(n, h)          \
	if (is_drop(#n)) \
		emit(fn, user, "gateway", "", #n, s->gateway.io.n, h);
	RD_GATEWAY_COUNTERS(X)
#undef X
#define X(n, h)          \
	if (is_drop(#n)) \
		emit(fn, user, "gateway", "suci", #n, s->gateway.suci.n, h);
	SUCI_COUNTERS(X)
#undef X
}

#define U(v) ((unsigned long long)(v))

static void
print_legs(FILE *f, const struct rd_snapshot *s)
{
	fputs("\t\"legs\": {\n", f);
	for (uint32_t i = 0; i < s->sum.nlegs; i++) {
		fprintf(f, "\t\t\"%s\": {\n", rd_leg_names[i]);
#define X(n, h) fprintf(f, "\t\t\t\"" #n "\": %llu,\n", U(s->sum.leg[i].n));
		RD_LEG_COUNTERS(X)
#undef X
		fputs("\t\t\t\"rx_drops\": {", f);
		for (int d = 0; d < RD_RX_DROPS_COUNT; d++)
			fprintf(f, "%s \"%s\": %llu", d ? "," : "", rd_rx_drop_names[d],
				U(s->sum.leg[i].rx_drop[d]));
		fputs(" },\n\t\t\t\"neighbours\": {", f);
		fprintf(f, " \"used\": %u, \"waiting\": %u", s->sum.neigh_used[i],
			s->sum.neigh_waiting[i]);
#define X(n, h) fprintf(f, ", \"" #n "\": %llu", U(s->sum.neigh[i].n));
		RD_NEIGH_COUNTERS(X)
#undef X
		fprintf(f, " }\n\t\t}%s\n", i + 1 < s->sum.nlegs ? "," : "");
	}
	fputs("\t},\n", f);
}

static void
print_paths(FILE *f, const struct rd_snapshot *s)
{
	fputs("\t\"paths\": [", f);
	for (uint32_t i = 0; i < s->sum.npaths; i++) {
		const struct rd_path_row *r = &s->sum.path[i];
		char peer[SUCI_ADDR_TEXT_MAX];
		fprintf(f,
			"%s\n\t\t{ \"path\": %u, \"kind\": \"%s\", \"peer\": \"%s\", \"leg\": "
			"\"%s\", "
			"\"up\": %s, \"rtt_us\": %.1f, \"cwnd\": %u, \"in_flight\": %u, "
			"\"queued\": %u, \"tx_segments\": %llu, \"tx_retransmits\": %llu, "
			"\"rx_segments\": %llu, \"tx_bytes\": %llu, \"rx_bytes\": %llu",
			i ? "," : "", r->path, r->known ? rd_path_kind_name(r->relay.kind) : "none",
			suci_addr_text(&r->suci.peer, peer), rd_path_leg_name(&r->suci),
			r->suci.up ? "true" : "false", (double)r->suci.rtt_ns / 1e3, r->suci.cwnd,
			r->suci.in_flight, r->suci.queued, U(r->suci.tx_segments),
			U(r->suci.tx_retransmits), U(r->suci.rx_segments), U(r->suci.tx_bytes),
			U(r->suci.rx_bytes));
		if (r->known)
			fprintf(f,
				", \"job\": %u, \"rank\": %u, \"dropped\": %llu, "
				"\"refused\": %llu, \"held\": %llu",
				r->relay.job, r->relay.rank, U(r->relay.dropped),
				U(r->relay.refused), U(r->relay.held));
		fputs(" }", f);
	}
	fputs("\n\t],\n", f);
}

static void
print_channels(FILE *f, const struct rd_gateway_snapshot *g)
{
	for (uint32_t i = 0; i < g->nchannels; i++) {
		const struct gw_channel_info *c = &g->channel[i].info;
		char a[RD_IPV4_TEXT], b[RD_IPV4_TEXT];
		fprintf(f,
			"%s\n\t\t\t{ \"channel\": %u, \"label_base\": %u, \"state\": \"%s\", "
			"\"local\": \"%s:%u\", \"remote\": \"%s:%u\", \"connects\": %s, "
			"\"rx_packets\": %llu, \"rx_bytes\": %llu, \"tx_packets\": %llu, "
			"\"tx_bytes\": %llu, \"queued_bytes\": %llu, \"held_bytes\": %llu, "
			"\"paused\": %s }",
			i ? "," : "", g->channel[i].channel, c->job, rd_channel_state_name(c),
			rd_ipv4_text(c->local_ip, a), c->local_port, rd_ipv4_text(c->remote_ip, b),
			c->remote_port, c->connects ? "true" : "false", U(c->rx_packets),
			U(c->rx_bytes), U(c->tx_packets), U(c->tx_bytes), U(c->queued_bytes),
			U(c->held_bytes), c->paused ? "true" : "false");
	}
}

static void
print_gateway(FILE *f, const struct rd_gateway_snapshot *g)
{
	if (!g->on)
		return;
	fprintf(f,
		"\t\"gateway\": { \"held_bytes\": %llu, \"packet_bytes\": %llu, \"guests\": %u, "
		"\"consistent\": %s, \"suci_held\": %u",
		U(g->held_bytes), U(g->packet_bytes), g->guests, g->consistent ? "true" : "false",
		g->suci_held);
#define X(n, h) fprintf(f, ", \"" #n "\": %llu", U(g->gw.n));
	GW_COUNTERS(X)
#undef X
	fputs(",\n\t\t\"io\": {", f);
	const char *comma = "";
#define X(n, h)                                               \
	fprintf(f, "%s \"" #n "\": %llu", comma, U(g->io.n)); \
	comma = ",";
	RD_GATEWAY_COUNTERS(X)
#undef X
	fputs(" },\n\t\t\"suci\": {", f);
	comma = "";
#define X(n, h)                                                 \
	fprintf(f, "%s \"" #n "\": %llu", comma, U(g->suci.n)); \
	comma = ",";
	SUCI_COUNTERS(X)
#undef X
	fputs(" },\n\t\t\"channels\": [", f);
	print_channels(f, g);
	fputs("\n\t\t]\n\t},\n", f);
}

static void
print_workers(FILE *f, const struct rd_snapshot *s)
{
	fputs("\t\"workers\": [", f);
	for (uint32_t i = 0; i < s->nshards; i++) {
		const struct rd_shard *w = s->shard[i];
		fprintf(f,
			"%s\n\t\t{ \"worker\": %u, \"lcore\": %u, \"node\": %d, \"turns\": %llu, "
			"\"busy_turns\": %llu, \"busy_s\": %.6f, \"slept_s\": %.3f, "
			"\"segments\": %llu, \"bytes\": %llu, \"retransmits\": %llu, "
			"\"held\": %llu, \"paths\": %u, \"pool_size\": %u, \"pool_in_use\": %u",
			i ? "," : "", w->index, w->lcore, w->socket, U(w->worker.turns),
			U(w->worker.busy_turns), (double)w->worker.busy_ns / 1e9,
			(double)w->slept_ns / 1e9, U(w->relay.tx_segments), U(w->relay.tx_bytes),
			U(w->suci.tx_retransmits), U(w->relay_held), w->npaths, w->pool_size,
			w->pool_in_use);
		for (uint32_t k = 0; k < w->nlegs; k++)
			fprintf(f,
				", \"%s\": { \"rx_frames\": %llu, \"tx_frames\": %llu, "
				"\"steered\": %llu, \"rx_steered\": %llu, \"tx_steered\": %llu, "
				"\"drop_steer_full\": %llu }",
				rd_leg_names[k], U(w->leg[k].rx_frames), U(w->leg[k].tx_frames),
				U(w->leg[k].steered), U(w->leg[k].rx_steered),
				U(w->leg[k].tx_steered), U(w->leg[k].drop_steer_full));
		fputs(" }", f);
	}
	fputs("\n\t],\n", f);
}

static void
print_json(FILE *f, const struct rd_figures *of, const struct rd_snapshot *s)
{
	const struct rd_tap_counters *t = s->gateway.on ? &s->gateway.tap : of->taps;
	fprintf(f, "{\n\t\"cluster\": \"%s\",\n\t\"relay\": %u,\n\t\"uptime_s\": %.3f,\n",
		of->conf->cluster.name, of->conf->cluster.self, (double)s->sum.uptime_ns / 1e9);
	fprintf(f,
		"\t\"worker\": { \"turns\": %llu, \"busy_turns\": %llu, \"sleeps\": %llu, "
		"\"slept_s\": %.3f, \"events_lost\": %llu, \"notes_lost\": %llu, \"tx_budget\": "
		"%llu },\n",
		U(s->sum.worker.turns), U(s->sum.worker.busy_turns), U(s->sum.sleeps),
		(double)s->sum.slept_ns / 1e9, U(s->sum.worker.events_lost),
		U(s->sum.worker.notes_lost), U(s->sum.worker.tx_budget));
	fprintf(f, "\t\"control\": { \"sessions\": %llu", U(s->control.sessions));
#define X(n, h) fprintf(f, ", \"" #n "\": %llu", U(s->control.n));
	RD_CONTROL_DROPS(X)
#undef X
	fprintf(f,
		", \"tap_to_kernel\": %llu, \"tap_from_kernel\": %llu, \"drop_tap_write\": %llu, "
		"\"drop_tap_full\": %llu, \"drop_tap_no_buffer\": %llu },\n",
		U(t->to_kernel), U(t->from_kernel), U(t->drop_write), U(t->drop_full),
		U(t->drop_no_buffer));
	fprintf(f, "\t\"pool\": { \"size\": %u, \"in_use\": %u },\n", s->sum.pool_size,
		s->sum.pool_in_use);
	fprintf(f, "\t\"consistent\": %s,\n", s->sum.consistent ? "true" : "false");
	fprintf(f, "\t\"suci\": { \"held\": %u", s->sum.suci_held);
#define X(n, h) fprintf(f, ", \"" #n "\": %llu", U(s->sum.suci.n));
	SUCI_COUNTERS(X)
#undef X
	fprintf(f, " },\n\t\"forwarding\": { \"held\": %llu", U(s->sum.relay_held));
#define X(n, h) fprintf(f, ", \"" #n "\": %llu", U(s->sum.relay.n));
	RELAY_COUNTERS(X)
#undef X
	fputs(" },\n", f);
	print_workers(f, s);
	print_legs(f, s);
	print_gateway(f, &s->gateway);
	print_paths(f, s);
	fputs("\t\"jobs\": [", f);
	for (uint32_t i = 0; i < s->sum.njobs; i++) {
		const struct relay_job_info *j = &s->sum.job[i];
		fprintf(f,
			"%s\n\t\t{ \"id\": %u, \"label_base\": %u, \"client\": %u, \"clients\": "
			"%u, "
			"\"processes\": %u, \"local\": %u, \"local_up\": %u, \"trunks\": %u, "
			"\"trunks_up\": %u, \"rx_segments\": %llu, \"rx_bytes\": %llu, "
			"\"age_s\": %.3f }",
			i ? "," : "", j->id, j->label_base, j->my_client, j->nclients, j->nworld,
			j->nlocal, j->local_up, j->trunks, j->trunks_up, U(j->rx_segments),
			U(j->rx_bytes), (double)(s->sum.now_ns - j->since_ns) / 1e9);
	}
	fputs("\n\t]\n}\n", f);
}

void
rd_stats_write(const struct rd_figures *of, const struct rd_snapshot *s)
{
	char tmp[sizeof of->conf->stats_file + 8];
	if (!*of->conf->stats_file)
		return;
	snprintf(tmp, sizeof tmp, "%s.tmp", of->conf->stats_file);
	/* A name of ours alone: what lies there is an earlier run's, or a trap. */
	(void)unlink(tmp);
	int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		if (fd >= 0)
			close(fd);
		rd_log(RD_LOG_ERROR, "stats_file: cannot write %s: %s", tmp, strerror(errno));
		return;
	}
	print_json(f, of, s);
	bool good = !ferror(f);
	good = fclose(f) == 0 && good;
	if (!good || rename(tmp, of->conf->stats_file)) {
		rd_log(RD_LOG_ERROR, "stats_file: cannot write %s: %s", of->conf->stats_file,
		       strerror(errno));
		(void)unlink(tmp);
	}
}

static void
add_drop(void *user, const char *name, uint64_t count, const char *help)
{
	uint64_t *sum = user;
	(void)name;
	(void)help;
	*sum += count;
}

void
rd_stats_log(const struct rd_snapshot *s)
{
	uint64_t drops = 0;
	rd_stats_drops(s, add_drop, &drops);
	rd_log(RD_LOG_INFO,
	       "forwarded %llu segments (%llu bytes), %llu retransmits, %llu jobs finished, %llu "
	       "aborted, %llu drops and refusals",
	       U(s->sum.relay.tx_segments), U(s->sum.relay.tx_bytes), U(s->sum.suci.tx_retransmits),
	       U(s->sum.relay.jobs_finished), U(s->sum.relay.jobs_aborted), U(drops));
	if (s->gateway.on && (s->gateway.gw.rx_tcp || s->gateway.gw.tx_tcp))
		rd_log(RD_LOG_INFO,
		       "gateway: %llu packets from foreign hosts, %llu to them, %llu of these "
		       "without "
		       "a lane",
		       U(s->gateway.gw.rx_tcp), U(s->gateway.gw.tx_tcp), U(s->gateway.gw.direct));
	if (s->gateway.on && !s->gateway.consistent)
		rd_log(RD_LOG_ERROR, "the gateway's counters do not add up: %s",
		       s->gateway.inconsistent ? s->gateway.inconsistent : "?");
	if (!s->sum.consistent)
		rd_log(RD_LOG_ERROR, "the forwarding counters do not add up: %s",
		       s->sum.inconsistent ? s->sum.inconsistent : "?");
}
