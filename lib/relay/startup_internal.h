/* SPDX-License-Identifier: BSD-2-Clause */
/* Start-up of one job; shared by startup*.c only. */
#ifndef RELAY_STARTUP_INTERNAL_H
#define RELAY_STARTUP_INTERNAL_H

#include "relay/deal.h"
#include "relay/startup.h"

#include "impi/channel.h"
#include "impi/client.h"

#define LABELS_MAX  IMPI_CHANNEL_LABELS_MAX
#define EXTRA_BYTES 65536u /* room for labels that are not of IMPI 0.0 */

enum table_state { TABLE_NONE, TABLE_OFFERED, TABLE_DONE };

struct relay_startup {
	struct relay_startup_conf conf;
	struct impi_channel ch; /* towards our client */
	struct impi_client *up; /* towards the server; NULL before CONNECT */
	void *up_mem;
	uint8_t first_tx[IMPI_CHANNEL_TX_BYTES_MIN]; /* until there is room */
	uint8_t *store, *tx, *scratch;
	size_t store_len, tx_len, scratch_len;
	struct relay_job *job; /* NULL until there is room */
	uint32_t base;	       /* of our labels, 0 before it is known */
	uint32_t base_n;
	uint32_t nclients;
	int32_t rank;
	bool client_done, done_sent;
	bool gone_told;	  /* to the server: the client is its launcher, see impi/gone.h */
	bool stepped;	  /* since turn_ns was set */
	uint64_t turn_ns; /* since when it is the client's turn; 0: it is not */
	bool finished, ok;
	enum table_state table;
	uint32_t events; /* bits of enum relay_startup_event, not yet polled */
	char why[RELAY_WHY_MAX];
	/* What the client has submitted, in its order. */
	struct {
		uint32_t label;
		bool submitted; /* upwards */
		bool replied;	/* by the server */
		bool answered;	/* downwards */
		uint32_t mask;	/* of the reply */
	} label[LABELS_MAX];
	uint32_t nlabels;
};

struct relay_job_limits relay_startup_job_limits(const struct relay_startup_limits *l);

/* startup_map.c.  Results of the mappings: MAP_WAIT: something it needs has not
 * come yet; MAP_BAD: what the client said makes no sense (*what says why). */
enum map_result { MAP_OK, MAP_RAW, MAP_WAIT, MAP_BAD };

/* The value of a label for the server (global mapping) in s->scratch, or MAP_RAW:
 * pass the client's own. */
enum map_result relay_map_up(struct relay_startup *s, uint32_t label, uint32_t *len,
			     const char **what);
/* The reply to a label for the client (private mapping) in s->scratch. */
enum map_result relay_map_down(struct relay_startup *s, uint32_t label, uint32_t mask,
			       uint32_t *len, const char **what);
/* Is it a label whose reply relay_map_down() composes? */
bool relay_map_is_composed(uint32_t label);

/* What the server has said (NULL before there is a connection to it), and has it said
 * one element of an H or P label per host or process? */
const struct impi_tables *relay_map_tables(const struct relay_startup *s);
bool relay_map_is_whole(const struct relay_startup *s, uint32_t label);
/* The client's own value of an H or P label: *n elements. */
enum map_result relay_map_own(const struct relay_startup *s, uint32_t label, const uint8_t **data,
			      uint32_t *n, const char **what);
/* Suci host id of the relay shard that stands for process i of the n of a client;
 * id_of_proc is what the process itself announced. */
void relay_map_shard_id(const struct relay_startup *s, const uint8_t id_of_proc[IMPI_HOSTID_BYTES],
			uint32_t nown, uint32_t n, uint32_t i, bool global,
			uint8_t out[IMPI_HOSTID_BYTES]);
/* IMPI_P_PID that we announce for the process of that world rank. */
uint64_t relay_map_pid(const struct relay_startup *s, uint32_t rank);
/* The place of member m in the cluster's list. */
uint32_t relay_map_index(const struct relay_startup *s, uint32_t m);
/* Side, address and port of relay m where it stands for client: the own one is
 * what other clusters see. */
struct relay_gate relay_map_gate(const struct relay_startup *s, uint32_t m, uint32_t client);

/* Can processes with IPv6 alone find it? */
bool relay_map_has_six(const struct relay_member *m);

/* startup_table.c: fill s->job from what both sides said.  False: s->why says what
 * is wrong. */
bool relay_map_table(struct relay_startup *s);

#endif
