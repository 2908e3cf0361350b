/* SPDX-License-Identifier: BSD-2-Clause */
/* spd/conf.h - the configuration of a universe: clusters, their nodes, programs, spares, chains.
 *
 * One JSON file, the same on all nodes (conf/mpispd-example.json, conf/mpispd.schema.json;
 * doc/sp.md says what each key means).  It is read once.
 *
 * Layout   Units are numbered over all clusters, in the order of "units" of each; so is a cluster's
 *	    part of them.  Ranks go to a cluster's units in blocks; I/O processes and spares one to
 *	    each unit in turn, spares from the last unit on backwards.
 * Groups   Clusters that agree on one view together: all stages of the pipeline, or one cluster
 *	    that is none.  A stage is what a chain names, or what has I/O processes.
 * Sites    Nodes of one reach each other by their addresses, which may be those of another site's
 *	    nodes as well; daemons and processes of two sites reach each other by doors of the
 *	    sites' relays.  Without "sites" daemons have a net of their own.
 * Own	    of a cluster that starts later: program, io, wdir, relay, and where its units are. Files
 *	    of other clusters' units may have something else there, or nothing.
 * Errors   false, and why[SPD_WHY]: "clusters.filter.compute: 0, but ..."; the first thing that is
 *	    wrong.
 * Memory   malloc; spd_conf_free().  Threads: one owner. */
#ifndef SPD_CONF_H
#define SPD_CONF_H

#include "sp/client.h"
#include "sp/severity.h"
#include "sp/view.h"
#include "spx/agreed.h"

#define SPD_WHY		 512u
#define SPD_PORT	 7820u
#define SPD_CLUSTERS_MAX SPX_POOLED_MAX
#define SPD_UNITS_MAX	 256u /* of all clusters */
#define SPD_WORDS_MAX	 64u
#define SPD_SITES_MAX	 64u
#define SPD_NO_SITE	 0xffffu
#define SPD_ANYWHERE	 "*" /* of a cluster that starts later: known when it has come */

struct spd_unit {
	char name[SP_NAME_MAX];
	char host[SP_NAME_MAX]; /* IPv4 or a name; SPD_ANYWHERE */
	uint16_t port;
	uint16_t cluster, index; /* which of its cluster's units */
	uint16_t site;		 /* SPD_NO_SITE: there are none */
};

struct spd_site {
	char name[SP_NAME_MAX];
	char relay[SP_NAME_MAX],
		wan[SP_NAME_MAX]; /* IPv4:port, or two: for its nodes, for others */
};

struct spd_cluster {
	char name[SPX_NAME_MAX];
	uint32_t first, units; /* of struct spd_conf.unit */
	char *program[SPD_WORDS_MAX + 1];
	char *wdir;		     /* NULL: that of the daemon */
	char *io[SPD_WORDS_MAX + 1]; /* its I/O processes; io[0] NULL: mpisp-io */
	uint32_t compute, in, out, spares, io_spares;
	bool stage, later; /* later: an operator starts it; program[0] may be NULL */
	bool pmix;	   /* its program is a client of PMIx: spd/pmix.h */
	uint16_t *unit_of; /* [spd_slots()]: index of the unit of each: roles, spares, io_spares */
	enum sp_in_flight in_flight;
	char relay[SP_NAME_MAX]; /* "" or IPv4:port, or two with a comma between */
	uint64_t own;		 /* later: hash of what its own units have to agree on */
};

struct spd_conf {
	char name[SP_NAME_MAX];
	uint32_t slots_max, start_timeout_s;
	char *psk_file, *state; /* psk_file NULL: not sealed; state: folder of journals */
	uint32_t voters;	/* of each cluster, at most */
	uint32_t beat_ms, missed, hang_s, restart_ms;
	struct sp_severity severity;
	enum sp_none_left none_left;
	bool refill;
	/* Of a pipeline: spx/spx.h. */
	uint32_t frame_max, room, ahead, stall_ms, missing_ms, set_aside;
	uint32_t nunits, nclusters, nchains, nsites;
	struct spd_site site[SPD_SITES_MAX];
	struct spd_unit unit[SPD_UNITS_MAX];
	struct spd_cluster cluster[SPD_CLUSTERS_MAX];
	struct spx_chain chain[SPX_CHAINS_MAX];
	uint64_t hash; /* of all that is not a cluster's own */
};

static inline uint32_t
spd_roles(const struct spd_cluster *c)
{
	return c->compute + c->in + c->out;
}

static inline uint32_t
spd_slots(const struct spd_cluster *c)
{
	return spd_roles(c) + c->spares + c->io_spares;
}

/* Units, clusters: by number in here, with the number in the configuration.  Roles: of each
 * cluster its ranks, I/O processes before it, behind it; then those of the next one.  Pools:
 * SPX_POOL(). */
struct spd_group {
	bool pipeline;
	uint32_t clusters, units, roles, slots, voters;
	uint16_t cluster[SPD_CLUSTERS_MAX], unit[SPD_UNITS_MAX];
	uint32_t role0[SPD_CLUSTERS_MAX]; /* by number in the configuration: its first role */
	uint64_t off, cold; /* sp/node.h: pools of clusters that start later; of I/O */
	uint16_t *unit_of;  /* [slots] of view 1 */
	uint8_t *pool_of;
	/* What roles are; clusters as numbered in the configuration. */
	struct spx_agreed agreed;
	struct spx_role *role; /* what agreed points to */
	struct spx_cluster *names;
};

/* Of so many units, which are the first ones. */
uint32_t spd_voters(const struct spd_conf *c, uint32_t units);
/* That of a cluster.  false: out of memory.  Then spd_group_free(). */
bool spd_group_make(const struct spd_conf *c, uint32_t cluster, struct spd_group *g);
void spd_group_free(struct spd_group *g);
/* Number in the group, or SP_NONE. */
uint32_t spd_group_unit(const struct spd_group *g, uint32_t unit);

/* NULL: why.  name stands for the file in why. */
struct spd_conf *spd_conf_parse(const char *name, const char *text, size_t len, char why[SPD_WHY]);
struct spd_conf *spd_conf_read(const char *file, char why[SPD_WHY]);
void spd_conf_free(struct spd_conf *c);
/* Number of the unit of that name, or nunits. */
uint32_t spd_conf_unit(const struct spd_conf *c, const char *name);
/* Do they reach each other by their addresses? */
bool spd_unit_is_near(const struct spd_conf *c, uint32_t a, uint32_t b);
/* That carries doors of the unit's processes; "": none. */
const char *spd_relay_of_unit(const struct spd_conf *c, uint32_t unit);
/* What the address is made of by which a unit's daemon is known to those of other sites.  numbers:
 * how many there are behind one relay. */
struct spd_claim {
	uint64_t realm, token;
	uint32_t number;
};
struct spd_claim spd_claim_of_unit(const struct spd_conf *c, uint32_t unit, uint32_t numbers);
/* What looks right and may not be meant: each a line of text; their number.  n: the next one to
 * ask for, from 0; false: there are no more. */
bool spd_conf_warning(const struct spd_conf *c, uint32_t n, char text[SPD_WHY]);

#endif
