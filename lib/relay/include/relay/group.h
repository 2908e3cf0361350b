/* relay/group.h - path groups: over which trunk a segment for a remote process
 * goes.  A group is what one job uses towards one remote host entry; the policy
 * picks one member per segment.
 *
 *     DEST   the host that carries the destination: one member (IMPI-conforming)
 *
 * A member is a trunk (index into the core's trunk table) and the label base
 * the relay behind it announced for the job. */
#ifndef RELAY_GROUP_H
#define RELAY_GROUP_H

#include <stddef.h>

#include <stdint.h>

#define RELAY_GROUP_MEMBERS_MAX 8

enum relay_policy { RELAY_POLICY_DEST = 0 };

struct relay_member_path {
	uint32_t trunk;
	uint32_t label_base;
};

struct relay_group {
	uint8_t policy; /* enum relay_policy */
	uint8_t nmembers;
	struct relay_member_path member[RELAY_GROUP_MEMBERS_MAX];
};

/* The member for a segment from src to dst (world ranks); NULL if the group is
 * empty. */
static inline const struct relay_member_path *
relay_group_pick(const struct relay_group *g, uint32_t src_rank, uint32_t dst_rank)
{
	(void)src_rank;
	(void)dst_rank;
	switch ((enum relay_policy)g->policy) {
	case RELAY_POLICY_DEST:
		return g->nmembers ? &g->member[0] : NULL;
	}
	return NULL;
}

#endif
