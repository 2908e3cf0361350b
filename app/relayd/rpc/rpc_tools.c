/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that measure, capture and set. */
#include "rpc_internal.h"

#include "log.h"

#include "base/clock.h"
#include "driver/idle.h"
#include "relay/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#define MEASURE_MS 1000
#define SNAPLEN	   1600
#define MBYTES	   1000

static json_t *
number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* ---- lanes, advise ------------------------------------------------------------------- */

static uint64_t
per_s(uint64_t n, uint64_t duration_ns)
{
	return duration_ns ? (uint64_t)((double)n * 1e9 / (double)duration_ns) : 0;
}

static bool
job_of(const struct rd_snapshot *s, uint32_t label_base, const struct relay_job_info **job)
{
	for (uint32_t i = 0; i < s->sum.njobs; i++)
		if (s->sum.job[i].label_base == label_base) {
			*job = &s->sum.job[i];
			return true;
		}
	return false;
}

static json_t *
lane_row(const struct rd_measured *r, const struct rd_lane *l)
{
	const struct relay_job_info *j = NULL;
	bool known = job_of(r->snapshot, l->job, &j);
	bool out = known && l->src >= j->first_local && l->src - j->first_local < j->nlocal;
	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "job", number(l->job), "src",
			 number(l->src), "dst", number(l->dst), "direction",
			 !known ? "?"
			 : out	? "out"
				: "in",
			 "segments", number(l->segments), "bytes", number(l->bytes),
			 "segments_per_s", number(per_s(l->segments, r->duration_ns)), "bps",
			 number(per_s(l->bytes * 8, r->duration_ns)));
}

static json_t *
lane_rows(const struct rd_measured *r, const struct rd_rpc_call *call, uint32_t max)
{
	bool one_job = call->method->id == RD_M_LANES && call->given[RD_P_JOB];
	json_t *rows = json_array();
	for (uint32_t i = 0; i < r->nlanes && json_array_size(rows) < max; i++)
		if (!one_job || r->lanes->lane[i].job == call->number[RD_P_JOB])
			json_array_append_new(rows, lane_row(r, &r->lanes->lane[i]));
	return rows;
}

static json_t *
lanes_result(const struct rd_measured *r, const struct rd_rpc_call *call)
{
	uint32_t max = call->given[RD_P_MAX] ? call->number[RD_P_MAX] : RD_RPC_ROWS;
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "duration_ms",
			 number(r->duration_ns / 1000000), "count", number(r->nlanes),
			 "other_segments", number(r->lanes->other_segments), "other_bytes",
			 number(r->lanes->other_bytes), "lanes", lane_rows(r, call, max));
}

static json_t *
trunk_row(const struct rd_measured *r, const struct rd_advice *a, uint32_t i)
{
	const struct rd_advise_trunk *t = &r->input.trunk[i];
	const struct rd_advice_trunk *o = &a->trunk[i];
	return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "path",
			 number(r->path[i]), "worker", number(t->worker), "peer", r->peer[i],
			 "rate_bps", number(o->rate_bps), "loss_ppm", number(o->loss_ppm), "rtt_us",
			 number(t->rtt_ns / 1000), "queue_us", number(o->queue_ns / 1000),
			 "waiting", number(t->samples ? t->queued_sum / t->samples : 0),
			 "full_permille", number(t->samples ? t->full * 1000ull / t->samples : 0),
			 "busy_permille", number(o->busy_permille), "limit",
			 o->idle ? "idle" : rd_limit_name(o->limit), "could_bps",
			 number(o->could_bps));
}

static json_t *
reasons_of(const struct rd_reasons *r)
{
	json_t *reasons = json_array();
	for (uint32_t i = 0; i < r->n; i++)
		json_array_append_new(reasons, json_string(r->text[i]));
	return reasons;
}

static json_t *
received_row(const struct rd_measured *r, const struct rd_advice_rx *a, uint32_t i)
{
	const struct rd_advise_trunk *t = &r->input.trunk[i];
	const struct rd_advice_rx_trunk *o = &a->trunk[i];
	return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "path",
			 number(r->path[i]), "worker", number(t->worker), "peer", r->peer[i],
			 "rate_bps", number(o->rate_bps), "loss_ppm", number(o->loss_ppm),
			 "refused", number(t->rx_refused), "under_way", number(o->under_way),
			 "credit", number(t->rx_credit), "waits_permille",
			 number(t->samples ? t->rx_waits * 1000ull / t->samples : 0),
			 "busy_permille", number(o->busy_permille), "limit",
			 o->idle ? "idle" : rd_rx_limit_name(o->limit));
}

/* What other relays send here. */
static json_t *
received_result(const struct rd_measured *r)
{
	static struct rd_advice_rx a;
	json_t *trunks = json_array();
	rd_advise_rx(&r->input, &a);
	for (uint32_t i = 0; i < r->input.ntrunks; i++)
		json_array_append_new(trunks, received_row(r, &a, i));
	return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "rate_bps", number(a.rate_bps),
			 "active", number(a.active), "frames", number(r->input.rx_frames), "lost",
			 number(r->input.rx_lost), "limit", rd_rx_limit_name(a.limit), "reasons",
			 reasons_of(&a.reasons), "trunk", trunks);
}

static json_t *
advise_result(const struct rd_measured *r, const struct rd_rpc_call *call)
{
	static const char *const policies[] = {"dest", "source", "stripe"};
	static struct rd_advice a;
	uint32_t max = call->given[RD_P_MAX] ? call->number[RD_P_MAX] : RD_RPC_ROWS;
	json_t *trunks = json_array();
	rd_advise(&r->input, &a);
	for (uint32_t i = 0; i < r->input.ntrunks; i++)
		json_array_append_new(trunks, trunk_row(r, &a, i));
	return json_pack(
		"{s:o, s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:s, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o}",
		"duration_ms", number(r->duration_ns / 1000000), "policy",
		policies[r->input.policy], "rate_bps", number(a.rate_bps), "trunks",
		number(a.trunks), "active", number(a.active), "useful", number(a.useful),
		"at_least", (int)a.at_least, "shared", (int)a.shared, "by_pairs", (int)a.by_pairs,
		"limit", rd_limit_name(a.limit), "pairs", number(r->input.pairs), "senders",
		number(r->input.senders), "receivers", number(r->input.receivers), "reasons",
		reasons_of(&a.reasons), "trunk", trunks, "received", received_result(r), "matrix",
		lane_rows(r, call, max));
}

static void
measured(void *user, const struct rd_measured *r)
{
	struct rd_rpc_client *c = user;
	const struct rd_rpc_call *call = &c->conn.call;
	c->measures = false;
	if (!r)
		rd_rpc_error(&c->conn, RD_RPC_SYSTEM, "no memory for the tables");
	else
		rd_rpc_result(&c->conn, call->method->id == RD_M_LANES ? lanes_result(r, call)
								       : advise_result(r, call));
}

static void
measured_later(void *user, const struct rd_measured *r)
{
	measured(user, r);
	rd_rpc_settle(user);
}

void
rd_rpc_measure(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	uint64_t ms = call->given[RD_P_MS] ? call->number[RD_P_MS] : MEASURE_MS;
	c->measures = true;
	if (rd_measure_start(c->server->measure, ms * BASE_MS_NS, measured_later, c))
		return;
	c->measures = false;
	rd_rpc_error(&c->conn, RD_RPC_BUSY, "somebody else measures now");
}

/* ---- settings -------------------------------------------------------------------------- */

void
rd_rpc_get(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	const struct rd_settings *set = c->server->env.settings;
	(void)call;
	rd_rpc_result(&c->conn,
		      json_pack("{s:s, s:s, s:o}", "log_level", levels[rd_log_get_level()], "idle",
				rd_idle_name((enum rd_idle_mode)set->idle), "drain_ms",
				number(set->drain_ms)));
}

static void
set_idle(struct rd_rpc_env *env, uint32_t mode)
{
	env->settings->idle = mode;
	for (uint32_t i = 0; i < env->post->nworkers; i++) {
		struct rd_mail *mail = rd_post_mail(env->post, i, RD_MAIL_IDLE);
		mail->idle = mode;
		rd_post_send(env->post, mail);
	}
}

void
rd_rpc_set(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	struct rd_rpc_env *env = &c->server->env;
	if (call->given[RD_P_LOG_LEVEL])
		rd_log_set_level((enum rd_log_level)call->number[RD_P_LOG_LEVEL]);
	if (call->given[RD_P_IDLE])
		set_idle(env, call->number[RD_P_IDLE]);
	rd_rpc_changed(c->server);
	if (call->given[RD_P_DRAIN_MS])
		env->settings->drain_ms = call->number[RD_P_DRAIN_MS];
	rd_rpc_get(c, call);
}

/* ---- capture ----------------------------------------------------------------------------- */

/* "10.0.0.1", "10.0.0.1:7812", "2001:db8::1", "[2001:db8::1]:7812". */
static bool
take_peer(const char *text, struct rd_filter *f)
{
	struct suci_addr a;
	size_t len = strlen(text);
	if (!suci_addr_parse_ip(text, len, &a) && (!suci_addr_parse(text, len, &a) || !a.port))
		return false;
	f->peer_family = a.family;
	f->peer_port = a.port;
	memcpy(f->peer_ip, a.ip, sizeof f->peer_ip);
	return !suci_addr_is_any(&a);
}

/* A descriptor of a regular file, open for writing; NULL or what is wrong. */
static const char *
check_file(int fd)
{
	struct stat st;
	if (fd < 0)
		return "capture_start needs the descriptor of a file along with the request";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return "the descriptor that came along is not one of a regular file";
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return "the file is not open for writing";
	return NULL;
}

static uint32_t
given_or(const struct rd_rpc_call *call, uint32_t i, uint32_t otherwise)
{
	return call->given[i] ? call->number[i] : otherwise;
}

static void
capture_start(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	uint32_t leg = call->number[RD_P_LEG], dir = call->number[RD_P_DIR];
	struct rd_capture_conf conf = {
		.filter = {.legs = leg ? 1u << (leg - 1) : 3,
			   .directions = dir ? 1u << (dir - 1) : 3,
			   .job = given_or(call, RD_P_CJOB, RD_FILTER_ANY),
			   .src = given_or(call, RD_P_SRC, RD_FILTER_ANY),
			   .dst = given_or(call, RD_P_DST, RD_FILTER_ANY)},
		.snaplen = given_or(call, RD_P_SNAPLEN, SNAPLEN),
		.frames = given_or(call, RD_P_FRAMES, 0),
		.bytes = given_or(call, RD_P_MBYTES, MBYTES) * 1000000ull,
		.duration_ns = given_or(call, RD_P_CMS, 0) * BASE_MS_NS,
	};
	const char *wrong = check_file(c->passed);
	struct rd_capture_info info;
	char err[160];
	rd_capture_info(c->server->capture, &info);
	if (info.running)
		rd_rpc_error(&c->conn, RD_RPC_BUSY, "a capture runs already");
	else if (wrong)
		rd_rpc_error(&c->conn, RD_RPC_NOT_FOUND, "%s", wrong);
	else if (call->given[RD_P_PEER] && !take_peer(call->text[RD_P_PEER], &conf.filter))
		rd_rpc_error(
			&c->conn, RD_RPC_PARAMS,
			"peer must be an IP address, or address:port (of IPv6: [address]:port)");
	else if (rd_capture_start(c->server->capture, &conf, c->passed, err, sizeof err))
		rd_rpc_error(&c->conn, RD_RPC_SYSTEM, "capture: %s", err);
	else {
		c->passed = -1;
		c->server->captures = c;
		rd_rpc_result(&c->conn, json_pack("{s:b}", "running", 1));
	}
}

static json_t *
capture_status(const struct rd_rpc_server *s)
{
	struct rd_capture_info i;
	rd_capture_info(s->capture, &i);
	return json_pack("{s:b, s:o, s:o, s:o, s:o, s:s}", "running", (int)i.running, "seen",
			 number(i.seen), "written", number(i.written), "lost", number(i.lost),
			 "bytes", number(i.bytes), "ended", i.ended);
}

void
rd_rpc_capture(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	struct rd_capture_info info;
	if (call->method->id == RD_M_CAPTURE_START) {
		capture_start(c, call);
		return;
	}
	rd_capture_info(c->server->capture, &info);
	if (call->method->id == RD_M_CAPTURE_STATUS || !info.running) {
		rd_rpc_result(&c->conn, capture_status(c->server));
		return;
	}
	c->stops = true;
	rd_capture_stop(c->server->capture);
}

/* ---- time, and clients that go ------------------------------------------------------------ */

void
rd_rpc_tools_gone(struct rd_rpc_client *c)
{
	struct rd_rpc_server *s = c->server;
	if (c->measures)
		rd_measure_forget(s->measure, c);
	c->measures = c->stops = false;
	if (s->captures == c) {
		s->captures = NULL;
		rd_capture_stop(s->capture);
	}
}

void
rd_rpc_tools_tick(struct rd_rpc_server *s)
{
	struct rd_capture_info info;
	rd_measure_tick(s->measure);
	rd_capture_tick(s->capture);
	rd_capture_info(s->capture, &info);
	for (int i = 0; i < RD_RPC_CLIENTS && !info.running; i++) {
		struct rd_rpc_client *c = s->client[i];
		if (!c || c->watch.fd < 0 || !c->stops)
			continue;
		c->stops = false;
		rd_rpc_result(&c->conn, capture_status(s));
		rd_rpc_settle(c);
	}
}
