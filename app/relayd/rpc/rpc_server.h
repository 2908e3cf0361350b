/* SPDX-License-Identifier: BSD-2-Clause */
/* rpc_server.h - relayd's control socket: JSON-RPC (rd/rpc.h) over a UNIX stream socket, for
 * relayctl and any other program.  doc/control.md lists the methods.
 *
 *     clients == /run/relayd/NAME.sock == control's epoll loop -- mail --> workers, gateway
 *
 * A call that needs to know about the workers waits for a snapshot; all that wait share
 * one, and one younger than RD_RPC_FRESH_NS does again, so however fast clients ask, the
 * workers make at most so many.  What a call has changed is in every answer after its own.
 *
 * What a client can cost is bounded: RD_RPC_CLIENTS connections, one line each, one call
 * at a time, RD_RPC_ROWS_MAX rows in an answer.  Writing never waits; who does not read an
 * answer for RD_RPC_STALL_NS is cut off.
 *
 * Threads  control's. */
#ifndef RD_RPC_SERVER_H
#define RD_RPC_SERVER_H

#include "rd/rpc.h"

#include <stddef.h>
#include <stdint.h>

struct rd_rpc_env;
struct rd_rpc_server;

#define RD_RPC_CLIENTS	  32
#define RD_RPC_ROWS_MAX	  1024
#define RD_RPC_ROWS	  256
#define RD_RPC_FRESH_NS	  (10 * 1000000ull)
#define RD_RPC_ANSWER_NS  (3 * 1000000000ull)  /* longest wait for the workers */
#define RD_RPC_STALL_NS	  (10 * 1000000000ull) /* a client that does not read */
#define RD_RPC_IDLE_NS	  (60 * 1000000000ull) /* may lose his place to a new one */
#define RD_RPC_SOCKET_DIR "/run/relayd"

/* Listen at conf->control.socket; env is copied.  NULL and err if that cannot be. */
struct rd_rpc_server *rd_rpc_server_new(const struct rd_rpc_env *env, char *err, size_t err_max);
/* Late answers, slow clients, what is measured: every RD_LOOP_TICK_MS. */
void rd_rpc_server_tick(struct rd_rpc_server *s);
/* The workers have ended, or never ran.  Accepts NULL. */
void rd_rpc_server_free(struct rd_rpc_server *s);

#endif
