/* SPDX-License-Identifier: BSD-2-Clause */
/* Contiguous copies of sections, until a call that works on them is complete. */
#include "staged.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct f_stage {
	struct f_stage *next; /* of the same call */
	struct f_section section;
	char *copy;
	char *before; /* what was copied in; NULL: the call only reads */
	int *newcomm; /* or a handle that is there when the call is complete */
	MPI_Comm made;
	/* In the first of a call with a request. */
	struct f_stage *next_later;
	int request;
	bool active; /* between start and completion */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct f_stage *laters;
atomic_int f_laters_n;

/* ---- copies ------------------------------------------------------------------------- */

static void
copy_in(struct f_stage *s)
{
	size_t n = s->section.element;

	for (MPI_Count i = 0; i < s->section.elements; i++)
		memcpy(s->copy + (size_t)i * n, s->section.base + f_offset_of(&s->section, i), n);
	if (s->before)
		memcpy(s->before, s->copy, (size_t)s->section.elements * n);
}

/* Only what changed: the program may use the rest while the call is under way. */
static void
copy_out_staged(const struct f_stage *s)
{
	size_t n = s->section.element;

	if (s->newcomm)
		*s->newcomm = MPI_Comm_toint(s->made);
	for (MPI_Count i = 0; s->before && i < s->section.elements; i++) {
		const char *now = s->copy + (size_t)i * n, *was = s->before + (size_t)i * n;
		char *to = s->section.base + f_offset_of(&s->section, i);

		for (size_t j = 0; j < n; j++)
			if (now[j] != was[j])
				to[j] = now[j];
	}
}

static void
free_stages(struct f_stage *s)
{
	struct f_stage *next;

	for (; s; s = next) {
		next = s->next;
		free(s->copy);
		free(s->before);
		free(s);
	}
}

void *
f_staged(struct f_call *call, const CFI_cdesc_t *d, bool only_read)
{
	struct f_section section;
	struct f_stage *s;
	size_t bytes;

	if (call->rc || !f_has_gaps(d))
		return d->base_addr;
	section = f_section_of(d);
	bytes = (size_t)section.elements * section.element;
	s = calloc(1, sizeof(*s));
	if (s) {
		s->section = section;
		s->copy = malloc(bytes);
		s->before = only_read ? NULL : malloc(bytes);
	}
	if (s == NULL || s->copy == NULL || (!only_read && s->before == NULL)) {
		free_stages(s);
		call->rc = MPI_ERR_NO_MEM;
		return d->base_addr;
	}
	copy_in(s);
	s->next = call->stages;
	call->stages = s;
	return s->copy;
}

MPI_Comm *
f_made_later(struct f_call *call, int *newcomm)
{
	struct f_stage *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->newcomm = newcomm;
	s->made = MPI_COMM_NULL;
	s->next = call->stages;
	call->stages = s;
	return &s->made;
}

/* ---- calls -------------------------------------------------------------------------- */

void
f_call_done(struct f_call *call)
{
	for (int i = 0; i < call->made_n; i++)
		PMPI_Type_free(&call->made[i]);
	for (struct f_stage *s = call->stages; s; s = s->next)
		copy_out_staged(s);
	free_stages(call->stages);
}

void
f_call_later(struct f_call *call, int rc, int request, bool persistent)
{
	struct f_stage *s = call->stages;

	if (!rc && s) {
		s->request = request;
		s->active = !persistent;
		pthread_mutex_lock(&lock);
		s->next_later = laters;
		laters = s;
		f_laters_n++;
		pthread_mutex_unlock(&lock);
		call->stages = NULL;
	}
	f_call_done(call);
}

/* ---- requests ------------------------------------------------------------------------- */

static struct f_stage *
find_staged(int request, bool and_remove)
{
	struct f_stage **at, *s;

	pthread_mutex_lock(&lock);
	for (at = &laters; (s = *at) != NULL && s->request != request; at = &s->next_later)
		;
	if (s && and_remove) {
		*at = s->next_later;
		f_laters_n--;
	}
	pthread_mutex_unlock(&lock);
	return s;
}

static void
complete_staged(struct f_stage *stages)
{
	if (stages->active)
		for (struct f_stage *s = stages; s; s = s->next)
			copy_out_staged(s);
	stages->active = false;
}

void
f_request_seen(int was, MPI_Request now)
{
	struct f_stage *stages = find_staged(was, now == MPI_REQUEST_NULL);
	int flag = 0;

	if (stages == NULL)
		return;
	if (now == MPI_REQUEST_NULL) {
		complete_staged(stages);
		free_stages(stages);
	} else if (stages->active && !PMPI_Request_get_status(now, &flag, MPI_STATUS_IGNORE) &&
		   flag) {
		complete_staged(stages);
	}
}

void
f_requests_start(MPI_Count n, const int requests[])
{
	for (MPI_Count i = 0; i < n; i++) {
		struct f_stage *stages = find_staged(requests[i], false);

		for (struct f_stage *s = stages; s; s = s->next)
			copy_in(s);
		if (stages)
			stages->active = true;
	}
}
