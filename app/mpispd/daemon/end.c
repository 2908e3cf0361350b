/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether all is over here.  Processes are told by who watches them (watch.c). */
#include "daemon.h"

#include "base/clock.h"

#include <stdio.h>

#define GRACE_NS BASE_S_NS /* to end by themselves */

void
spd_end(int status, uint32_t why, const char *text)
{
	if (spd.ending)
		return;
	spd.ending = true;
	spd.status = status;
	spd.end_ns = spd_now_ns() + GRACE_NS;
	spd.end_why = why;
	snprintf(spd.end_text, sizeof spd.end_text, "%s", text);
}

static bool
all_have_left(const struct sp_view *v)
{
	/* Of a program of PMIx nobody takes a rank over that is dead. */
	for (uint32_t r = 0; r < v->l.roles; r++)
		if (!v->gone[r] && !(spd.cluster->pmix && v->role[r] == SP_NONE) &&
		    (v->role[r] == SP_NONE || !spd.left[v->role[r]]))
			return false;
	return true;
}

bool
spd_left_too_early(const struct sp_view *v)
{
	static const char why[] = "a process died while others had left MPI already; its rank is "
				  "not taken over any more";

	for (uint32_t r = 0; r < spd.cluster->compute && v->epoch && !spd.cluster->pmix; r++) {
		if (v->role[r] == SP_NONE || !spd.left[v->role[r]] ||
		    spd.card[r].epoch == v->epoch + UINT64_C(1))
			continue;
		spd_log("%s", why);
		spd_end(1, SP_WHY_EXIT, why);
		return true;
	}
	return false;
}

static void
end_if_done(const struct sp_view *v)
{
	if (spd.group.pipeline) {
		if (!spd.told || !spx_agreed_done(&spd.group.agreed, v, spd.told, spd.left))
			return;
		spd_log("all frames are committed");
		spd_end(0, SP_WHY_NONE, "all frames are committed");
		return;
	}
	if (spd_left_too_early(v) || !all_have_left(v))
		return;
	spd_log("cluster %s has finished", spd.cluster->name);
	spd_end(0, SP_WHY_NONE, "the cluster has finished");
}

void
spd_end_if_done(void)
{
	const struct sp_view *v = spd_view();

	if (v && !spd.ending)
		end_if_done(v);
}

void
spd_slot_left(uint32_t slot)
{
	const struct sp_view *v = spd_view();

	if (!v || slot >= v->l.slots_max)
		return;
	spd.left[slot] = true;
	spd_end_if_done();
}
