/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/optical.h - a circuit switch with faults, and jobs whose collectives run over it. */
#ifndef SIM_OPTICAL_H
#define SIM_OPTICAL_H

#include "base/clock.h"
#include "base/prng.h"
#include "call.h"
#include "ocs/switch.h"

#define OSW_PORTS  40
#define OSW_EVENTS 512

/* How likely each fault is, in parts per billion of its occasion. */
struct osw_faults {
	uint64_t refuse, busy;		 /* of a circuit */
	uint64_t session_ms, foreign_ms; /* of a millisecond */
	uint64_t dark_port;		 /* of a port, for good */
};

struct osw {
	struct ocs_switch base; /* first */
	struct base_prng rng;
	struct osw_faults faults;
	uint32_t caps, max_batch, foreign_from; /* ports from here on are somebody else's */
	uint64_t gamma_ns, each_ns;		/* of a batch, and more of every circuit */
	/* the mirrors */
	uint32_t out_of[OSW_PORTS], in_of[OSW_PORTS];
	bool mine[OSW_PORTS], dark[OSW_PORTS];
	bool out[OSW_PORTS];				/* of service: somebody works at it */
	uint64_t changed[OSW_PORTS], lit_ns[OSW_PORTS]; /* by ingress */
	/* the session */
	bool up;
	uint64_t up_ns;
	uint32_t id; /* of the open request, 0: none */
	int what;
	uint64_t due_ns;
	struct ocs_circuit remove[OSW_PORTS], add[OSW_PORTS];
	uint32_t removals, additions;
	struct ocs_event event[OSW_EVENTS];
	uint32_t head, tail;
	struct ocs_identity who;
	const char *broken; /* something happened that must not */
	uint64_t sessions_lost, foreign_changes, stolen, refused;
};

void osw_init(struct osw *w, uint64_t seed);
/* A millisecond goes by: faults, unless the world is to heal. */
void osw_step(struct osw *w, uint64_t now_ns, bool heal);
/* Somebody takes a port out of service, with what is lit over it, or puts it back. */
void osw_out(struct osw *w, uint32_t port, bool out);
/* Does light from ingress x come out at y now? */
bool osw_passes(const struct osw *w, uint32_t x, uint32_t y, uint64_t now_ns);

/* What the processes of a call have in their buffers, and what they ought to have. */
#define OPT_RANKS 16
struct opt_data {
	struct obs_args *args;
	uint32_t p;
	uint8_t *buf[OPT_RANKS][3];
};
/* One of the operations at random, small, of p processes; played into d. */
void opt_data_draw(struct opt_data *d, struct base_prng *r, struct obs_args *args, uint32_t p);
void opt_data_begin(struct opt_data *d, const struct coll_schedule *s);
void opt_data_move(struct opt_data *d, uint32_t from, const struct coll_step *send, uint32_t to,
		   const struct coll_step *recv);
bool opt_data_right(const struct opt_data *d);
void opt_data_free(struct opt_data *d);

#endif
