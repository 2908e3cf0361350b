/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of this unit: found, named, signalled. */
#include "daemon.h"

#include <signal.h>
#include <stdio.h>

struct spd_proc *
spd_proc_of_slot(uint32_t slot)
{
	for (uint32_t i = 0; i < spd.nproc; i++)
		if (spd.proc[i].pid && spd.proc[i].slot == slot && slot != SP_NONE)
			return &spd.proc[i];
	return NULL;
}

static uint32_t
role_of(const struct spd_proc *p)
{
	const struct sp_view *v = spd_view();

	return v && p->slot < v->slots ? v->slot[p->slot].role : SP_NONE;
}

const char *
spd_role_name(uint32_t role)
{
	static char text[SPX_TEXT_MAX];

	spx_agreed_name(&spd.group.agreed, role, text);
	return text;
}

const char *
spd_proc_name(const struct spd_proc *p)
{
	static char text[SPX_TEXT_MAX + 48];
	uint32_t role = role_of(p);

	if (role != SP_NONE)
		snprintf(text, sizeof text, "%s (slot %u, pid %d)", spd_role_name(role), p->slot,
			 (int)p->pid);
	else
		snprintf(text, sizeof text, "spare of %s (pid %d)", spd.cluster->name, (int)p->pid);
	return text;
}

void
spd_proc_has_left(struct spd_proc *p)
{
	p->left = true;
	spd_net_cluster(&(struct spd_note){
		.type = SPD_NOTE_LEFT, .cluster = spd.conf->unit[spd.me].cluster, .slot = p->slot});
	spd_slot_left(p->slot);
}

void
spd_proc_kill(struct spd_proc *p)
{
	p->killed = true;
	kill(p->pid, SIGKILL);
}

void
spd_proc_signal(int sig)
{
	if (spd.ending && sig == SIGSTOP)
		return;
	for (uint32_t i = 0; i < spd.nproc; i++)
		if (spd.proc[i].pid)
			kill(spd.proc[i].pid, sig);
}

bool
spd_procs_left(void)
{
	for (uint32_t i = 0; i < spd.nproc; i++)
		if (spd.proc[i].pid)
			return true;
	return false;
}
