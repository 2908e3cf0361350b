/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/rpc.h - JSON-RPC 2.0 (jsonrpc.org/specification) as relayd's control socket speaks it:
 * from bytes to calls, from results to bytes.  doc/control.md is the manual of the methods.
 *
 * A request is one line of JSON, or an array of at most RD_RPC_BATCH_MAX requests; so is
 * the answer.  Parameters are always by name.  They are checked here against the method's
 * table, so that a method sees numbers in range and words that it knows.
 *
 *     bytes -- rd_rpc_input --> line --> api->call --> rd_rpc_result | rd_rpc_error
 *     bytes <-- rd_rpc_output <-- line <-------------------------------+ (now or later)
 *
 * One call at a time: while it runs, or while there is output that the client has not
 * taken, nothing more is taken from him (rd_rpc_room() is 0).  So what a client can make
 * us keep is one line, one batch and the answers to it.
 *
 * Threads  one owner at a time.
 * Errors   go to the client.  A line that is too long is answered, then the connection ends
 *          (rd_rpc_closing()), for nobody knows where the next one begins. */
#ifndef RD_RPC_H
#define RD_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RD_RPC_LINE_MAX	  65536 /* bytes of a request without its newline */
#define RD_RPC_BATCH_MAX  16
#define RD_RPC_PARAMS_MAX 16 /* of one method */

enum rd_rpc_code {
	RD_RPC_PARSE = -32700,	 /* not JSON */
	RD_RPC_INVALID = -32600, /* JSON, but no request */
	RD_RPC_METHOD = -32601,	 /* no such method */
	RD_RPC_PARAMS = -32602,	 /* a parameter is missing, unknown or out of range */
	RD_RPC_INTERNAL = -32603,
	RD_RPC_BUSY = -32000,	   /* somebody else measures or captures; too many clients */
	RD_RPC_NOT_FOUND = -32001, /* no such relay, job, path, file descriptor */
	RD_RPC_LATE = -32002,	   /* the workers did not answer in time */
	RD_RPC_STATE = -32003,	   /* cannot be done as things are */
	RD_RPC_SYSTEM = -32004,	   /* the system refused: file, memory */
};

enum rd_rpc_type {
	RD_RPC_UINT,   /* integer min..max */
	RD_RPC_STRING, /* at most max bytes, no NUL */
	RD_RPC_WORD,   /* one of words; number is its index */
	RD_RPC_BOOL,
};
struct rd_rpc_param {
	const char *name;
	enum rd_rpc_type type;
	bool required;
	uint32_t min, max;
	const char *words; /* "busy|pause|sleep" */
	const char *help;
};
struct rd_rpc_handler;
struct rd_rpc_method {
	const char *name;
	const struct rd_rpc_param *param;
	uint32_t nparams;
	/* The caller's: who answers it, and which of his methods it is. */
	const struct rd_rpc_handler *handler;
	uint32_t id;
	const char *help;
};

/* The i-th of a method's parameters is the i-th here. */
struct rd_rpc_call {
	const struct rd_rpc_method *method;
	bool given[RD_RPC_PARAMS_MAX];
	uint32_t number[RD_RPC_PARAMS_MAX];  /* UINT, WORD, BOOL */
	const char *text[RD_RPC_PARAMS_MAX]; /* STRING, WORD; valid until the call is answered */
};

struct rd_rpc_conn;
struct rd_rpc_api {
	const struct rd_rpc_method *method;
	uint32_t nmethods;
	/* Answer it in here or later, once, by rd_rpc_result() or rd_rpc_error(). */
	void (*call)(void *user, struct rd_rpc_conn *c, const struct rd_rpc_call *call);
};

struct rd_rpc_conn {
	const struct rd_rpc_api *api;
	void *user;
	json_t *line; /* being worked off: a request or an array */
	json_t *answers;
	size_t next; /* of line */
	bool batch, active, running, closing, notification;
	json_t *id; /* of the active call, borrowed from line */
	struct rd_rpc_call call;
	char *out;
	size_t out_len, out_off, in_len;
	char in[RD_RPC_LINE_MAX + 1];
};

void rd_rpc_init(struct rd_rpc_conn *c, const struct rd_rpc_api *api, void *user);
void rd_rpc_fini(struct rd_rpc_conn *c);

/* Where the next bytes of the client go, and how many: 0 while it is not his turn. */
char *rd_rpc_room(struct rd_rpc_conn *c, size_t *room);
/* n bytes have been put there. */
void rd_rpc_input(struct rd_rpc_conn *c, size_t n);
/* What is to be sent, NULL if nothing is; and how much of it went. */
const char *rd_rpc_output(const struct rd_rpc_conn *c, size_t *len);
void rd_rpc_sent(struct rd_rpc_conn *c, size_t n);
/* To be closed once there is no output. */
bool rd_rpc_closing(const struct rd_rpc_conn *c);

/* The answer of the active call.  result is ours from now on; NULL: out of memory. */
void rd_rpc_result(struct rd_rpc_conn *c, json_t *result);
void rd_rpc_error(struct rd_rpc_conn *c, enum rd_rpc_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* All methods with their parameters, for the method "methods". */
json_t *rd_rpc_describe(const struct rd_rpc_api *api);

#endif
