/* spd/conf.h - the configuration of a universe: clusters, their nodes, programs, spares, chains.
 *
 * One JSON file, the same on all nodes (conf/mpispd-example.json, conf/mpispd.schema.json;
 * doc/sp.md says what each key means).  It is read once.
 *
 * Layout   Units are numbered over all clusters, in the order of "units" of each; so is a cluster's
 *	    part of them.  Ranks go to a cluster's units in blocks; I/O processes and spares one to
 *	    each unit in turn, spares from the last unit on backwards.
 * Errors   false, and why[SPD_WHY]: "clusters.filter.compute: 0, but ..."; the first thing that is
 *	    wrong.
 * Memory   malloc; spd_conf_free().  Threads: one owner. */
#ifndef SPD_CONF_H
#define SPD_CONF_H

#include "sp/client.h"
#include "sp/severity.h"
#include "sp/view.h"
#include "spx/view.h"

#define SPD_WHY		 512u
#define SPD_PORT	 7820u
#define SPD_CLUSTERS_MAX 32u
#define SPD_UNITS_MAX	 256u /* of all clusters */
#define SPD_WORDS_MAX	 64u

enum spd_no_spare { SPD_NO_SPARE_WAIT, SPD_NO_SPARE_STOP };

struct spd_unit {
	char name[SP_NAME_MAX];
	char host[SP_NAME_MAX]; /* IPv4 or a name */
	uint16_t port;
	uint16_t cluster, index; /* which of its cluster's units */
};

struct spd_cluster {
	char name[SPX_NAME_MAX];
	uint32_t first, units; /* of struct spd_conf.unit */
	char *program[SPD_WORDS_MAX + 1];
	char *wdir; /* NULL: that of the daemon */
	uint32_t compute, in, out, spares;
	uint16_t *unit_of; /* [roles + spares]: index of the unit of each */
	enum sp_in_flight in_flight;
	char relay[SP_NAME_MAX]; /* "" or IPv4:port */
};

struct spd_conf {
	char name[SP_NAME_MAX];
	uint32_t slots_max, start_timeout_s;
	char *psk_file, *state; /* psk_file NULL: not sealed; state: folder of journals */
	uint32_t voters;	/* of each cluster, at most */
	uint32_t beat_ms, missed, hang_s, restart_ms;
	struct sp_severity severity;
	enum spd_no_spare no_spare;
	uint32_t nunits, nclusters, nchains;
	struct spd_unit unit[SPD_UNITS_MAX];
	struct spd_cluster cluster[SPD_CLUSTERS_MAX];
	struct spx_chain chain[SPX_CHAINS_MAX];
	uint64_t hash; /* of the file's bytes */
};

static inline uint32_t
spd_roles(const struct spd_cluster *c)
{
	return c->compute + c->in + c->out;
}

/* NULL: why.  name stands for the file in why. */
struct spd_conf *spd_conf_parse(const char *name, const char *text, size_t len, char why[SPD_WHY]);
struct spd_conf *spd_conf_read(const char *file, char why[SPD_WHY]);
void spd_conf_free(struct spd_conf *c);
/* Number of the unit of that name, or nunits. */
uint32_t spd_conf_unit(const struct spd_conf *c, const char *name);
/* What looks right and may not be meant: each a line of text; their number.  n: the next one to
 * ask for, from 0; false: there are no more. */
bool spd_conf_warning(const struct spd_conf *c, uint32_t n, char text[SPD_WHY]);

#endif
