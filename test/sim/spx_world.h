/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/spx_world.h - a pipeline of clusters whose processes are objects of lib/spx: a network of
 * links with faults, programs that make, filter and take frames, and a master that everybody
 * believes.
 *
 *     input (origins) --chain 0--> filter  --chain 1--> output
 *		       \-chain 2--> filter2 -chain 3--/
 *
 * The master stands for what agrees on views: it hears of deaths after detect_ns, gives a dead
 * rank to a new process, and publishes views, which reach processes one by one, late where they
 * are cut off.  Who is cut off longer than lease_ns stops by itself before the master says so. */
#ifndef SIM_SPX_WORLD_H
#define SIM_SPX_WORLD_H

#include "scenario.h"

#include "spx/spx.h"

#define SPXW_NODES_MAX	 400
#define SPXW_ORIGINS_MAX 4
#define SPXW_FRAMES_MAX	 4096
#define SPXW_FRAME_BYTES 96

enum spxw_cluster { SPXW_INPUT, SPXW_FILTER, SPXW_FILTER2, SPXW_OUTPUT, SPXW_CLUSTERS };
enum spxw_side { SPXW_BEFORE, SPXW_BEHIND, SPXW_SIDES }; /* of the filters */

struct spxw;

struct spxw_node {
	struct spxw *w;
	uint32_t index; /* its id in views is index + 1 */
	uint32_t port, out_link, in_link;
	enum spx_kind kind;
	uint16_t cluster, rank, takeovers;
	enum spxw_side side; /* I/O */
	bool alive, isolated, known_dead, working;
	struct spx *x;
	void *mem;
	uint64_t wake_ns, pace_ns;
	uint32_t pieces; /* of memory that lib/spx has */
	uint32_t checks;
	uint64_t dropped;     /* when it died */
	struct spx_frame now; /* the program is in it */
};

/* What has happened to a frame. */
struct spxw_truth {
	uint32_t begun;	   /* times, by the last stage */
	uint32_t by;	   /* the node that is or was in it last, + 1 */
	uint32_t finished; /* by the last stage */
	uint32_t root;	   /* the node of its origin that has forgotten it, + 1 */
	bool aside;
	uint32_t killed; /* filters that died in it, as it is poison */
};

struct spxw_conf {
	uint32_t ranks[SPXW_CLUSTERS], io[SPXW_SIDES];
	uint32_t frames;		 /* of each origin */
	uint64_t work_ns[SPXW_CLUSTERS]; /* of a frame; of the input: pace */
	bool ordered, second;		 /* filter2 is chained from the start */
	enum spx_policy policy;
	enum spx_on_lost on_lost;
	enum spx_in_flight in_flight;
	uint32_t aside; /* spx.h; one frame in POISONED ends whoever filters it then */
	bool fatal;	/* nothing else ends anybody */
	uint16_t window;
	uint32_t room, ahead;
	uint64_t delay_ns, detect_ns, lease_ns, takeover_ns, view_ns;
	uint32_t loss_ppb, reorder_ppb, dup_ppb;
};

struct spxw {
	struct sim *s;
	struct spxw_conf conf;
	struct base_prng prng;
	uint32_t nnode;
	struct spxw_node node[SPXW_NODES_MAX];
	struct spx_view view; /* the truth */
	struct spx_proc proc[SPXW_NODES_MAX];
	struct spx_cluster cluster[SPXW_CLUSTERS];
	struct spx_chain chain[8];
	struct spxw_truth truth[SPXW_ORIGINS_MAX][SPXW_FRAMES_MAX];
	uint64_t aside;	  /* frames */
	uint32_t lost_io; /* I/O processes that died: they forget what they have counted */
	uint64_t committed, finished, repeats, bypassed;
	uint64_t first_of[SPXW_CLUSTERS]; /* the first frame begun there; 0: none */
	uint64_t done_by[SPXW_CLUSTERS];  /* frames ended there */
	uint64_t begun_again;
	bool over;
};

struct spxw *spxw_new(uint64_t seed, bool verbose, const struct spxw_conf *c);
void spxw_free(struct spxw *w, struct outcome *o);
/* A process that is not there yet. */
struct spxw_node *spxw_add(struct spxw *w, enum spx_kind kind, uint16_t cluster, uint16_t rank,
			   uint16_t takeovers, enum spxw_side side);
void spxw_publish(struct spxw *w);
void spxw_ops(struct spxw *w, const char *ops);
/* It dies; later the master knows, and somebody takes its place. */
void spxw_kill(struct spxw *w, struct spxw_node *n);
/* All computing processes of a cluster die at once; it is back after so long. */
void spxw_kill_cluster(struct spxw *w, uint16_t cluster, uint64_t back_ns);
/* It hears nobody and nobody hears it. */
void spxw_isolate(struct spxw *w, struct spxw_node *n, uint64_t ns);
/* A second filter is started and chained. */
void spxw_start_second(struct spxw *w);
bool spxw_complete(void *who);
void spxw_check_end(struct spxw *w);

#endif
