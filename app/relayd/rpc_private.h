/* Between the files of the control socket. */
#ifndef RD_RPC_PRIVATE_H
#define RD_RPC_PRIVATE_H

#include "control.h"
#include "rpc_server.h"
#include "stats.h"

enum rd_rpc_id {
	RD_M_METHODS,
	RD_M_STATUS,
	RD_M_JOBS,
	RD_M_PATHS,
	RD_M_GATEWAY,
	RD_M_CHANNELS,
	RD_M_DROPS,
};

struct rd_rpc_client {
	struct rd_watch watch; /* fd -1: free */
	struct rd_rpc_conn conn;
	struct rd_rpc_server *server;
	uint64_t moved_ns; /* bytes went either way */
	bool eof;
	int passed;    /* descriptor that came with what was last read; -1: none */
	uint64_t need; /* waits for this snapshot; 0: for none */
	uint64_t until_ns;
};

struct rd_rpc_server {
	struct rd_control *ctl;
	struct rd_watch listen;
	struct rd_rpc_client *client[RD_RPC_CLIENTS]; /* NULL: never used */
	struct rd_snapshot *snapshot;
	bool out;	  /* the workers have it */
	uint64_t made;	  /* how many came back */
	uint64_t made_ns; /* when the last one did */
	char path[108];
	uint64_t dev, ino; /* of the socket we made there */
	struct rd_log_limit limit;
};

extern const struct rd_rpc_api rd_rpc_api;

/* The active call needs a snapshot: rd_rpc_answer() follows, now or later. */
void rd_rpc_want_snapshot(struct rd_rpc_client *c);
/* Answer a call that needs a snapshot of the workers. */
void rd_rpc_answer(struct rd_rpc_client *c, const struct rd_snapshot *s);

/* rpc_rows.c */
json_t *rd_rpc_status(const struct rd_control *c, const struct rd_snapshot *s);
json_t *rd_rpc_gateway(const struct rd_snapshot *s);
json_t *rd_rpc_drops(const struct rd_snapshot *s, bool all);
json_t *rd_rpc_jobs(const struct rd_snapshot *s, uint32_t first, uint32_t max);
/* kind: enum relay_path_kind, RELAY_PATH_NONE: all. */
json_t *rd_rpc_paths(const struct rd_snapshot *s, uint32_t first, uint32_t max, uint32_t kind);
json_t *rd_rpc_channels(const struct rd_snapshot *s, uint32_t first, uint32_t max);

#endif
