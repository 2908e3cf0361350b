/* SPDX-License-Identifier: BSD-2-Clause */
/* The methods of the control socket; doc/control.md is their manual. */
#include "rpc_internal.h"

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
	 .words = "all|process|trunk|gateway|light|door", /* as enum relay_path_kind */
	 .help = "only paths of that kind"},
};
_Static_assert(RELAY_PATH_NONE == 0 && RELAY_PATH_PROC == 1 && RELAY_PATH_TRUNK == 2 &&
		       RELAY_PATH_GATEWAY == 3 && RELAY_PATH_LIGHT == 4 && RELAY_PATH_DOOR == 5,
	       "words of kind");
/* Of methods that answer out of a snapshot. */
static const struct rd_rpc_param check_params[] = {
	{.name = "check",
	 .type = RD_RPC_BOOL,
	 .help = "and whether the books balance, which holds up each worker for a moment"},
};
static const struct rd_rpc_param drops_params[] = {
	{.name = "all", .type = RD_RPC_BOOL, .help = "those that are zero, too"},
};

#define JOB_HELP "label base of a job"
static const struct rd_rpc_param measure_params[] = {
	[RD_P_MS] = {.name = "ms",
		     .type = RD_RPC_UINT,
		     .min = 100,
		     .max = 600000,
		     .help = "how long to measure, 1000 if not given"},
	[RD_P_MAX] = {.name = "max",
		      .type = RD_RPC_UINT,
		      .min = 1,
		      .max = RD_RPC_ROWS_MAX,
		      .help = "most lanes to answer with, 256 if not given"},
	[RD_P_JOB] = {.name = "job", .type = RD_RPC_UINT, .max = UINT32_MAX - 1, .help = JOB_HELP},
};
static const struct rd_rpc_param set_params[] = {
	[RD_P_LOG_LEVEL] = {.name = "log_level",
			    .type = RD_RPC_WORD,
			    .words = "error|warning|info|debug",
			    .help = "as log_level of the configuration"},
	[RD_P_IDLE] = {.name = "idle",
		       .type = RD_RPC_WORD,
		       .words = "busy|pause|sleep",
		       .help = "as idle of the configuration"},
	[RD_P_DRAIN_MS] = {.name = "drain_ms",
			   .type = RD_RPC_UINT,
			   .max = 600000,
			   .help = "as drain_ms of the configuration"},
};
static const struct rd_rpc_param leg_params[] = {
	{.name = "leg",
	 .type = RD_RPC_WORD,
	 .words = "private|global",
	 .required = true,
	 .help = "of that leg"},
};
static const struct rd_rpc_param capture_params[] = {
	[RD_P_LEG] = {.name = "leg",
		      .type = RD_RPC_WORD,
		      .words = "both|private|global",
		      .help = "frames of that leg"},
	[RD_P_DIR] = {.name = "dir",
		      .type = RD_RPC_WORD,
		      .words = "both|in|out",
		      .help = "received or sent ones"},
	[RD_P_PEER] = {.name = "peer",
		       .type = RD_RPC_STRING,
		       .max = 55, /* SUCI_ADDR_TEXT_MAX, without its end */
		       .help = "from or to that IP address, or address:port"},
	[RD_P_CJOB] = {.name = "job", .type = RD_RPC_UINT, .max = UINT32_MAX - 1, .help = JOB_HELP},
	[RD_P_SRC] = {.name = "src",
		      .type = RD_RPC_UINT,
		      .max = UINT32_MAX - 1,
		      .help = "segments sent by that world rank"},
	[RD_P_DST] = {.name = "dst",
		      .type = RD_RPC_UINT,
		      .max = UINT32_MAX - 1,
		      .help = "segments sent to that world rank"},
	[RD_P_SNAPLEN] = {.name = "snaplen",
			  .type = RD_RPC_UINT,
			  .min = 64,
			  .max = RD_CAPTURE_SNAP_MAX,
			  .help = "bytes of a frame, 1600 if not given"},
	[RD_P_FRAMES] = {.name = "frames",
			 .type = RD_RPC_UINT,
			 .min = 1,
			 .max = UINT32_MAX,
			 .help = "end after so many"},
	[RD_P_MBYTES] = {.name = "mbytes",
			 .type = RD_RPC_UINT,
			 .min = 1,
			 .max = 1048576,
			 .help = "end when the file has about so many MB, 1000 if not given"},
	[RD_P_CMS] = {.name = "ms",
		      .type = RD_RPC_UINT,
		      .min = 1,
		      .max = 86400000,
		      .help = "end after that time"},
};

static const struct rd_rpc_param reload_params[] = {
	{.name = "check", .type = RD_RPC_BOOL, .help = "only say what it would change"},
};
static const struct rd_rpc_param drain_params[] = {
	[RD_P_RELAY] = {.name = "relay",
			.type = RD_RPC_STRING,
			.max = 15,
			.help = "index or private address of the relay that is meant: it must be "
				"the one that is asked"},
};
static const struct rd_rpc_param policy_params[] = {
	[RD_P_POLICY] = {.name = "policy",
			 .type = RD_RPC_WORD,
			 .required = true,
			 .words = "dest|source|stripe", /* as enum relay_policy */
			 .help = "how segments are divided among trunks"},
	[RD_P_ADDRESSES] = {.name = "addresses",
			    .type = RD_RPC_STRING,
			    .max = 18,
			    .help = "towards clusters whose relays have global addresses in "
				    "IP/LENGTH; all others if not given"},
};

static const struct rd_rpc_param light_params[] = {
	[RD_P_SLOT] = {.name = "slot",
		       .type = RD_RPC_UINT,
		       .max = RELAY_LIGHTS_MAX - 1,
		       .required = true,
		       .help = "light port, in the order of optical.ports"},
	[RD_P_LPEER] = {.name = "peer",
			.type = RD_RPC_STRING,
			.max = 21,
			.required = true,
			.help = "global address of the relay at the other end, or address:port"},
	[RD_P_LADDRESS] = {.name = "address",
			   .type = RD_RPC_STRING,
			   .max = 21,
			   .required = true,
			   .help = "address of its light port, or address:port"},
};

static const struct rd_rpc_param switch_port_params[] = {
	{.name = "port",
	 .type = RD_RPC_UINT,
	 .max = RD_SWITCH_PORTS_MAX - 1,
	 .required = true,
	 .help = "port of the switch, as switch_port of optical.ports"},
};

static const struct rd_rpc_param log_params[] = {
	[RD_P_AFTER] = {.name = "after",
			.type = RD_RPC_UINT,
			.max = UINT32_MAX,
			.help = "from this one on: next of the answer before"},
	[RD_P_EVENTS] = {.name = "max",
			 .type = RD_RPC_UINT,
			 .min = 1,
			 .max = RD_P_EVENTS_MAX,
			 .help = "so many at most, 1000 if not given"},
};

/* ---- who answers ------------------------------------------------------------------- */

struct rd_rpc_handler {
	/* Answers, now or later; or */
	void (*call)(struct rd_rpc_client *c, const struct rd_rpc_call *call);
	/* the answer, out of a snapshot of the workers. */
	json_t *(*answer)(const struct rd_rpc_env *env, const struct rd_rpc_call *call,
			  const struct rd_snapshot *s);
};

static void
describe_method(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	(void)call;
	rd_rpc_result(&c->conn, rd_rpc_describe(&rd_rpc_api));
}

static uint32_t
rows_max(const struct rd_rpc_call *call)
{
	return call->given[1] ? call->number[1] : RD_RPC_ROWS;
}

static json_t *
status(const struct rd_rpc_env *env, const struct rd_rpc_call *call, const struct rd_snapshot *s)
{
	(void)call;
	return rd_rpc_status(env, s);
}

static json_t *
answer_jobs(const struct rd_rpc_env *env, const struct rd_rpc_call *call,
	    const struct rd_snapshot *s)
{
	(void)env;
	return rd_rpc_jobs(s, call->number[0], rows_max(call));
}

static void
answer_starts(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	rd_rpc_result(&c->conn, rd_rpc_starts(&c->server->env, call->number[0], rows_max(call)));
}

static json_t *
paths(const struct rd_rpc_env *env, const struct rd_rpc_call *call, const struct rd_snapshot *s)
{
	(void)env;
	return rd_rpc_paths(s, call->number[0], rows_max(call), call->number[2]);
}

static json_t *
answer_doors(const struct rd_rpc_env *env, const struct rd_rpc_call *call,
	     const struct rd_snapshot *s)
{
	(void)env;
	return rd_rpc_doors(s, call->number[0], rows_max(call));
}

static json_t *
gateway(const struct rd_rpc_env *env, const struct rd_rpc_call *call, const struct rd_snapshot *s)
{
	(void)env;
	(void)call;
	return rd_rpc_gateway(s);
}

static json_t *
channels(const struct rd_rpc_env *env, const struct rd_rpc_call *call, const struct rd_snapshot *s)
{
	(void)env;
	return rd_rpc_channels(s, call->number[0], rows_max(call));
}

static json_t *
drops(const struct rd_rpc_env *env, const struct rd_rpc_call *call, const struct rd_snapshot *s)
{
	(void)env;
	return rd_rpc_drops(s, call->number[0]);
}

static json_t *
lights(const struct rd_rpc_env *env, const struct rd_rpc_call *call, const struct rd_snapshot *s)
{
	(void)call;
	return rd_rpc_lights(env, s);
}

/* ---- the table ----------------------------------------------------------------------- */

#define PARAMS(p) .param = (p), .nparams = sizeof(p) / sizeof((p)[0])
#define CALLS(fn)                                 \
	.handler = &(const struct rd_rpc_handler) \
	{                                         \
		.call = fn                        \
	}
#define ANSWERS(fn)                               \
	.handler = &(const struct rd_rpc_handler) \
	{                                         \
		.answer = fn                      \
	}
static const struct rd_rpc_method methods[] = {
	{.name = "methods", CALLS(describe_method), .help = "this list"},
	{.name = "status",
	 PARAMS(check_params),
	 ANSWERS(status),
	 .help = "who the relay is, load, buffers, custody, legs, workers"},
	{.name = "jobs", PARAMS(rows_params), ANSWERS(answer_jobs), .help = "jobs now running"},
	{.name = "starts",
	 PARAMS(rows_params),
	 CALLS(answer_starts),
	 .help = "jobs that do not run yet, and what each waits for"},
	{.name = "paths",
	 PARAMS(path_params),
	 ANSWERS(paths),
	 .help = "paths to local processes, remote relays and gateways"},
	{.name = "doors",
	 PARAMS(rows_params),
	 ANSWERS(answer_doors),
	 .help = "doors that each worker carries, of processes here and of other clusters"},
	{.name = "gateway",
	 PARAMS(check_params),
	 ANSWERS(gateway),
	 .help = "the gateway to foreign hosts: counters, memory"},
	{.name = "channels",
	 PARAMS(rows_params),
	 ANSWERS(channels),
	 .help = "the gateway's TCP channels"},
	{.name = "drops",
	 PARAMS(drops_params),
	 ANSWERS(drops),
	 .help = "what was lost or refused, by reason"},
	{.name = "ports",
	 CALLS(rd_rpc_ports),
	 .help = "ports of the legs: driver, NUMA node, link, all counters of their drivers"},
	{.name = "port_reset",
	 PARAMS(leg_params),
	 CALLS(rd_rpc_port_reset),
	 .help = "reset a port that hangs, while the relay runs"},
	{.name = "lanes",
	 PARAMS(measure_params),
	 .id = RD_M_LANES,
	 CALLS(rd_rpc_measure),
	 .help = "who talks to whom: measures for a while"},
	{.name = "advise",
	 .param = measure_params,
	 .nparams = 2,
	 .id = RD_M_ADVISE,
	 CALLS(rd_rpc_measure),
	 .help = "how many trunks this traffic can use, and why; what others send here: "
		 "measures for a while"},
	{.name = "get", CALLS(rd_rpc_get), .help = "what set changes"},
	{.name = "set",
	 PARAMS(set_params),
	 CALLS(rd_rpc_set),
	 .help = "change settings until the end"},
	{.name = "reload",
	 PARAMS(reload_params),
	 CALLS(rd_rpc_reload),
	 .help = "read the configuration file again, and take over what needs no restart"},
	{.name = "drain",
	 PARAMS(drain_params),
	 .id = RD_M_DRAIN,
	 CALLS(rd_rpc_trunks),
	 .help = "give this relay's traffic to the others of its cluster"},
	{.name = "undrain",
	 PARAMS(drain_params),
	 .id = RD_M_UNDRAIN,
	 CALLS(rd_rpc_trunks),
	 .help = "take its share again"},
	{.name = "policy",
	 PARAMS(policy_params),
	 .id = RD_M_POLICY,
	 CALLS(rd_rpc_trunks),
	 .help = "change how segments are divided among trunks"},
	{.name = "lights",
	 ANSWERS(lights),
	 .help = "light ports: where they lead, what they carry"},
	{.name = "light_up",
	 PARAMS(light_params),
	 .id = RD_M_LIGHT_UP,
	 CALLS(rd_rpc_light),
	 .help = "a circuit of a light port has been set: open a light path over it"},
	{.name = "light_down",
	 .param = light_params,
	 .nparams = 1,
	 .id = RD_M_LIGHT_DOWN,
	 CALLS(rd_rpc_light),
	 .help = "it is to go: drain the light path and close it"},
	{.name = "circuits",
	 CALLS(rd_rpc_circuits),
	 .help = "who is lit for whom, calls that are planned, hits, misses, set-up times"},
	{.name = "port_withdraw",
	 PARAMS(switch_port_params),
	 .id = RD_M_PORT_WITHDRAW,
	 CALLS(rd_rpc_circuit_port),
	 .help = "somebody is to work at a port of the switch: drain it and plan without it"},
	{.name = "port_restore",
	 PARAMS(switch_port_params),
	 .id = RD_M_PORT_RESTORE,
	 CALLS(rd_rpc_circuit_port),
	 .help = "it is back: use it again, from the next call on"},
	{.name = "circuit_log",
	 PARAMS(log_params),
	 CALLS(rd_rpc_circuit_log),
	 .help = "what happened to circuits and calls, as the circuit controller remembers it"},
	{.name = "capture_start",
	 PARAMS(capture_params),
	 .id = RD_M_CAPTURE_START,
	 CALLS(rd_rpc_capture),
	 .help = "frames into the pcapng file whose descriptor comes along"},
	{.name = "capture_status",
	 .id = RD_M_CAPTURE_STATUS,
	 CALLS(rd_rpc_capture),
	 .help = "how it stands with it"},
	{.name = "capture_stop",
	 .id = RD_M_CAPTURE_STOP,
	 CALLS(rd_rpc_capture),
	 .help = "end it; answers when it has ended"},
};

static void
on_call(void *user, struct rd_rpc_conn *conn, const struct rd_rpc_call *call)
{
	struct rd_rpc_client *c = user;
	(void)conn;
	if (call->method->handler->call)
		call->method->handler->call(c, call);
	else
		rd_rpc_want_snapshot(c, call->method->param == check_params && call->number[0]);
}

void
rd_rpc_answer(struct rd_rpc_client *c, const struct rd_snapshot *s)
{
	const struct rd_rpc_call *call = &c->conn.call;
	rd_rpc_result(&c->conn, call->method->handler->answer(&c->server->env, call, s));
}

const struct rd_rpc_api rd_rpc_api = {methods, sizeof methods / sizeof methods[0], on_call};
