/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of the control socket. */
#ifndef RD_RPC_INTERNAL_H
#define RD_RPC_INTERNAL_H

#include "capture.h"
#include "env.h"
#include "listen.h"
#include "measure.h"
#include "rpc_server.h"
#include "stats.h"

/* Methods that share a handler, which tells them apart. */
enum rd_rpc_id {
	RD_M_OTHER,
	RD_M_LANES,
	RD_M_ADVISE,
	RD_M_CAPTURE_START,
	RD_M_CAPTURE_STATUS,
	RD_M_CAPTURE_STOP,
	RD_M_DRAIN,
	RD_M_UNDRAIN,
	RD_M_POLICY,
	RD_M_LIGHT_UP,
	RD_M_LIGHT_DOWN,
	RD_M_PORT_WITHDRAW,
	RD_M_PORT_RESTORE,
};

struct rd_rpc_client {
	struct rd_watch watch; /* fd -1: free */
	struct rd_rpc_conn conn;
	struct rd_rpc_server *server;
	uint64_t moved_ns; /* bytes went either way */
	bool eof;
	int passed;    /* descriptor that came with what was last read; -1: none */
	uint64_t need; /* waits for this snapshot; 0: for none */
	bool check;    /* one that is checked */
	uint64_t until_ns;
	bool measures;		   /* its call waits for the measurement */
	struct rd_core_call *asks; /* its call waits for the workers' cores */
	bool reloads;		   /* its call waits for the workers to take a file over */
	bool stops;		   /* its call waits for the end of the capture */
};

struct rd_rpc_server {
	struct rd_rpc_env env;
	struct rd_listener listen;
	struct rd_rpc_client *client[RD_RPC_CLIENTS]; /* NULL: never used */
	struct rd_snapshot *snapshot;
	bool out;	  /* the workers have it */
	uint64_t made;	  /* how many came back */
	uint64_t made_ns; /* when the last one did */
	bool changed;	  /* since then: it is no answer any more */
	char path[108];
	uint64_t dev, ino; /* of the socket we made there */
	struct rd_measure *measure;
	struct rd_capture *capture;
	struct rd_rpc_client *captures; /* whose it is; NULL: nobody's, or he is gone */
};

extern const struct rd_rpc_api rd_rpc_api;

/* The active call needs a snapshot, perhaps a checked one: rd_rpc_answer() follows, now or later.
 */
void rd_rpc_want_snapshot(struct rd_rpc_client *c, bool check);
/* Answer a call that needs a snapshot of the workers. */
void rd_rpc_answer(struct rd_rpc_client *c, const struct rd_snapshot *s);

/* The workers are other than they were: no snapshot of before answers whoever asks from now on. */
void rd_rpc_changed(struct rd_rpc_server *s);

/* After an answer that was not given inside of a call: send it, serve the next one. */
void rd_rpc_settle(struct rd_rpc_client *c);

/* rpc_tools.c */
void rd_rpc_measure(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_get(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_set(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_capture(struct rd_rpc_client *c, const struct rd_rpc_call *call);
/* The client is gone; what he had under way ends. */
void rd_rpc_tools_gone(struct rd_rpc_client *c);
void rd_rpc_tools_tick(struct rd_rpc_server *s);
/* rpc_trunks.c */
/* A call that waits for the workers' cores; NULL: there is no memory, and that has been answered.
 * With a word it waits for one mail, whose owner it becomes, and the answer is {"until": word}. */
struct rd_core_call *rd_rpc_core_call(struct rd_rpc_client *c, const char *word);
/* rd_mail.done of such mails. */
void rd_rpc_core_done(struct rd_mail *mail);
void rd_rpc_trunks(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_trunks_gone(struct rd_rpc_client *c);
/* rpc_ports.c.  xstats: with all that the drivers count. */
json_t *rd_rpc_port_rows(const struct rd_nics *s, bool xstats);
void rd_rpc_port_reset(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_ports(struct rd_rpc_client *c, const struct rd_rpc_call *call);
/* rpc_reload.c */
void rd_rpc_reload(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_reload_gone(struct rd_rpc_client *c);
/* rpc_lights.c */
void rd_rpc_light(struct rd_rpc_client *c, const struct rd_rpc_call *call);
json_t *rd_rpc_lights(const struct rd_rpc_env *env, const struct rd_snapshot *s);
/* rpc_circuits.c */
void rd_rpc_circuits(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_circuit_port(struct rd_rpc_client *c, const struct rd_rpc_call *call);
void rd_rpc_circuit_log(struct rd_rpc_client *c, const struct rd_rpc_call *call);
/* Order of the parameters in their calls. */
enum { RD_P_SLOT, RD_P_LPEER, RD_P_LADDRESS };
enum { RD_P_AFTER, RD_P_EVENTS };
#define RD_P_EVENTS_MAX 1000 /* events in one answer */
enum { RD_P_RELAY };
enum { RD_P_POLICY, RD_P_ADDRESSES };
enum { RD_P_MS, RD_P_MAX, RD_P_JOB };
enum { RD_P_LOG_LEVEL, RD_P_IDLE, RD_P_DRAIN_MS };
enum {
	RD_P_LEG,
	RD_P_DIR,
	RD_P_PEER,
	RD_P_CJOB,
	RD_P_SRC,
	RD_P_DST,
	RD_P_SNAPLEN,
	RD_P_FRAMES,
	RD_P_MBYTES,
	RD_P_CMS,
};

/* rpc_rows.c */
json_t *rd_rpc_status(const struct rd_rpc_env *env, const struct rd_snapshot *s);
json_t *rd_rpc_gateway(const struct rd_snapshot *s);
json_t *rd_rpc_drops(const struct rd_snapshot *s, bool all);
json_t *rd_rpc_jobs(const struct rd_snapshot *s, uint32_t first, uint32_t max);
json_t *rd_rpc_starts(const struct rd_rpc_env *env, uint32_t first, uint32_t max);
json_t *rd_rpc_doors(const struct rd_snapshot *s, uint32_t first, uint32_t max);
/* kind: enum relay_path_kind, RELAY_PATH_NONE: all. */
json_t *rd_rpc_paths(const struct rd_snapshot *s, uint32_t first, uint32_t max, uint32_t kind);
json_t *rd_rpc_channels(const struct rd_snapshot *s, uint32_t first, uint32_t max);

#endif
