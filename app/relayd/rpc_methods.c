/* The methods of the control socket; doc/control.md is their manual. */
#include "rpc_private.h"

#define FIRST                                                               \
	{                                                                   \
		.name = "first", .type = RD_RPC_UINT, .max = UINT32_MAX,    \
		.help = "row to begin with: the last answer's next, else 0" \
	}
#define MAX                                                                           \
	{                                                                             \
		.name = "max", .type = RD_RPC_UINT, .min = 1, .max = RD_RPC_ROWS_MAX, \
		.help = "most rows to answer with, "                                  \
			"256 if not given"                                            \
	}
static const struct rd_rpc_param rows_params[] = {FIRST, MAX};
static const struct rd_rpc_param path_params[] = {
	FIRST,
	MAX,
	{.name = "kind",
	 .type = RD_RPC_WORD,
	 .words = "all|process|trunk|gateway", /* as enum relay_path_kind */
	 .help = "only paths of that kind"},
};
_Static_assert(RELAY_PATH_NONE == 0 && RELAY_PATH_PROC == 1 && RELAY_PATH_TRUNK == 2 &&
		       RELAY_PATH_GATEWAY == 3,
	       "words of kind");
static const struct rd_rpc_param drops_params[] = {
	{.name = "all", .type = RD_RPC_BOOL, .help = "those that are zero, too"},
};

#define PARAMS(p) .param = (p), .nparams = sizeof(p) / sizeof((p)[0])
static const struct rd_rpc_method methods[] = {
	{.name = "methods", .id = RD_M_METHODS, .help = "this list"},
	{.name = "status",
	 .id = RD_M_STATUS,
	 .help = "who the relay is, load, buffers, custody, legs, workers"},
	{.name = "jobs", PARAMS(rows_params), .id = RD_M_JOBS, .help = "jobs now running"},
	{.name = "paths",
	 PARAMS(path_params),
	 .id = RD_M_PATHS,
	 .help = "paths to local processes, remote relays and gateways"},
	{.name = "gateway",
	 .id = RD_M_GATEWAY,
	 .help = "the gateway to foreign hosts: counters, memory"},
	{.name = "channels",
	 PARAMS(rows_params),
	 .id = RD_M_CHANNELS,
	 .help = "the gateway's TCP channels"},
	{.name = "drops",
	 PARAMS(drops_params),
	 .id = RD_M_DROPS,
	 .help = "what was lost or refused, by reason"},
};

static void
on_call(void *user, struct rd_rpc_conn *conn, const struct rd_rpc_call *call)
{
	struct rd_rpc_client *c = user;
	switch ((enum rd_rpc_id)call->method->id) {
	case RD_M_METHODS:
		rd_rpc_result(conn, rd_rpc_describe(&rd_rpc_api));
		return;
	case RD_M_STATUS:
	case RD_M_JOBS:
	case RD_M_PATHS:
	case RD_M_GATEWAY:
	case RD_M_CHANNELS:
	case RD_M_DROPS:
		rd_rpc_want_snapshot(c);
		return;
	}
}

void
rd_rpc_answer(struct rd_rpc_client *c, const struct rd_snapshot *s)
{
	const struct rd_rpc_call *call = &c->conn.call;
	uint32_t first = call->number[0], max = call->given[1] ? call->number[1] : RD_RPC_ROWS;
	json_t *v = NULL;
	switch ((enum rd_rpc_id)call->method->id) {
	case RD_M_STATUS:
		v = rd_rpc_status(c->server->ctl, s);
		break;
	case RD_M_JOBS:
		v = rd_rpc_jobs(s, first, max);
		break;
	case RD_M_PATHS:
		v = rd_rpc_paths(s, first, max, call->number[2]);
		break;
	case RD_M_GATEWAY:
		v = rd_rpc_gateway(s);
		break;
	case RD_M_CHANNELS:
		v = rd_rpc_channels(s, first, max);
		break;
	case RD_M_DROPS:
		v = rd_rpc_drops(s, call->number[0]);
		break;
	case RD_M_METHODS:
		break;
	}
	rd_rpc_result(&c->conn, v);
}

const struct rd_rpc_api rd_rpc_api = {methods, sizeof methods / sizeof methods[0], on_call};
