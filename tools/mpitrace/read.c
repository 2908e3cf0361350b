/* SPDX-License-Identifier: BSD-2-Clause */
#include "read.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "LMPITRC" /* and the version */

static bool
mpitrace_read_number(struct mpitrace *t, uint64_t *v)
{
	unsigned shift = 0;

	for (*v = 0; t->at < t->end && shift < 64; shift += 7) {
		uint8_t b = *t->at++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

static bool
signed_number(struct mpitrace *t, int64_t *v)
{
	uint64_t u;

	if (!mpitrace_read_number(t, &u))
		return false;
	*v = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
	return true;
}

static const char *
mpitrace_read_names(struct mpitrace *t)
{
	uint64_t n, len;

	/* each takes a byte of the file at least */
	if (!mpitrace_read_number(t, &n) || n > MPITRACE_NAMES_MAX ||
	    n > (uint64_t)(t->end - t->at))
		return "the table of names is too long";
	t->name = calloc(n + 1, sizeof *t->name);
	if (!t->name)
		return "out of memory";
	for (t->nnames = 0; t->nnames < n; t->nnames++) {
		if (!mpitrace_read_number(t, &len) || len >= MPITRACE_NAME_MAX ||
		    len > (uint64_t)(t->end - t->at))
			return "a name is too long";
		memcpy(t->name[t->nnames], t->at, len);
		t->at += len;
		for (uint64_t i = 0; i < len; i++)
			if (t->name[t->nnames][i] <= ' ' || t->name[t->nnames][i] > '~')
				return "a name is not one";
	}
	return NULL;
}

const char *
mpitrace_open(struct mpitrace *t, const void *data, size_t len)
{
	uint64_t rank, size;

	*t = (struct mpitrace){.begin = data, .at = data, .end = (const uint8_t *)data + len};
	if (len < 8 || memcmp(data, MAGIC, 7) != 0)
		return "not a trace of libmpitrace";
	if (t->begin[7] < '1' || t->begin[7] > '3')
		return "a trace of a libmpitrace that is newer than this program";
	t->version = (uint32_t)(t->begin[7] - '0');
	t->at += 8;
	if (!mpitrace_read_number(t, &rank) || !mpitrace_read_number(t, &size) ||
	    !mpitrace_read_number(t, &t->start_ns))
		return "the head is cut";
	if (size == 0 || size > MPITRACE_RANKS_MAX || rank >= size)
		return "rank and size do not go together";
	t->rank = (uint32_t)rank;
	t->size = (uint32_t)size;
	return mpitrace_read_names(t);
}

static const char *
call_read(struct mpitrace *t, struct mpitrace_record *r)
{
	uint64_t name;

	if (!mpitrace_read_number(t, &name) || !mpitrace_read_number(t, &r->compute_ns) ||
	    !mpitrace_read_number(t, &r->inside_ns) || !mpitrace_read_number(t, &r->comm) ||
	    !signed_number(t, &r->peer) || !signed_number(t, &r->tag) ||
	    !mpitrace_read_number(t, &r->out) || !mpitrace_read_number(t, &r->in))
		return "a call is cut";
	if (t->version > 2 && (!mpitrace_read_number(t, &r->compute_waited_ns) ||
			       !mpitrace_read_number(t, &r->inside_waited_ns)))
		return "a call is cut";
	if (r->compute_waited_ns > r->compute_ns || r->inside_waited_ns > r->inside_ns)
		return "a call waited for a processor for longer than it took";
	if (name >= t->nnames)
		return "a call has no name";
	if (r->comm > t->ncomms)
		return "a call on a communicator that is not there yet";
	r->name = t->name[name];
	return NULL;
}

static const char *
read_group(struct mpitrace *t, uint64_t *n, const uint8_t **first)
{
	uint64_t rank;

	if (!mpitrace_read_number(t, n) || *n > t->size)
		return "a group is larger than the job";
	*first = t->at;
	for (uint64_t i = 0; i < *n; i++)
		if (!mpitrace_read_number(t, &rank) || rank >= t->size)
			return "a group has a process that is not there";
	return NULL;
}

static const char *
read_communicator(struct mpitrace *t, struct mpitrace_record *r)
{
	const char *why;

	if (!mpitrace_read_number(t, &r->comm) || r->comm != t->ncomms + 1)
		return "communicators are not numbered one after another";
	t->ncomms++;
	why = read_group(t, &r->nlocal, &r->local);
	return why ? why : read_group(t, &r->nremote, &r->remote);
}

static void
read_ranks(const struct mpitrace *t, const uint8_t *at, uint64_t n, uint32_t *rank)
{
	struct mpitrace in = {.at = at, .end = t->end};
	uint64_t v = 0;

	for (uint64_t i = 0; i < n; i++) {
		(void)mpitrace_read_number(&in, &v); /* it was read before */
		rank[i] = (uint32_t)v;
	}
}

void
mpitrace_local(const struct mpitrace *t, const struct mpitrace_record *r, uint32_t *rank)
{
	read_ranks(t, r->local, r->nlocal, rank);
}

void
mpitrace_remote(const struct mpitrace *t, const struct mpitrace_record *r, uint32_t *rank)
{
	read_ranks(t, r->remote, r->nremote, rank);
}

/* Begun or completed by the call before. */
static const char *
read_request(struct mpitrace *t, struct mpitrace_record *r, bool start)
{
	if (!mpitrace_read_number(t, &r->request))
		return "a request is cut";
	if (!t->called)
		return "a request behind no call";
	if (start ? r->request != t->nrequests + 1 : r->request < 1 || r->request > t->nrequests)
		return start ? "requests are not numbered one after another"
			     : "a request ends that has not begun";
	t->nrequests += start;
	return NULL;
}

static const char *
read_message(struct mpitrace *t, struct mpitrace_record *r, bool sends)
{
	uint64_t to = 0;

	if (!mpitrace_read_number(t, &r->request) || !mpitrace_read_number(t, &r->comm) ||
	    !(sends ? mpitrace_read_number(t, &to) : signed_number(t, &r->peer)) ||
	    !signed_number(t, &r->tag) || !mpitrace_read_number(t, sends ? &r->out : &r->in) ||
	    (sends && !mpitrace_read_number(t, &r->how)))
		return "a message is cut";
	if (!t->called || (r->request && r->request != t->nrequests))
		return "a message of no call";
	if (!r->comm || r->comm > t->ncomms)
		return "a message on a communicator that is not there yet";
	if (sends)
		r->peer = to < MPITRACE_RANKS_MAX ? (int64_t)to : -1;
	if (r->peer < (sends ? 0 : -1) || r->peer >= MPITRACE_RANKS_MAX)
		return "a message with a process that is not there";
	return NULL;
}

static const char *
read_had(struct mpitrace *t, struct mpitrace_record *r)
{
	if (!mpitrace_read_number(t, &r->request) || !signed_number(t, &r->peer) ||
	    !signed_number(t, &r->tag) || !signed_number(t, &r->had))
		return "a message is cut";
	if (!t->called || r->request > t->nrequests)
		return "a message of no call";
	if (r->peer < -1 || r->peer >= MPITRACE_RANKS_MAX || r->had < -1)
		return "a message with a process that is not there";
	return NULL;
}

int
mpitrace_next(struct mpitrace *t, struct mpitrace_record *r, const char **why, size_t *at)
{
	uint64_t type;

	*why = NULL;
	*at = (size_t)(t->at - t->begin);
	if (t->ended || t->at == t->end)
		return 0;
	*r = (struct mpitrace_record){0};
	if (!mpitrace_read_number(t, &type))
		*why = "a record is cut";
	else if (type == MPITRACE_CALL)
		*why = call_read(t, r);
	else if (type == MPITRACE_COMM)
		*why = read_communicator(t, r);
	else if (type == MPITRACE_START || type == MPITRACE_DONE)
		*why = read_request(t, r, type == MPITRACE_START);
	else if (t->version > 1 && (type == MPITRACE_SEND || type == MPITRACE_RECV))
		*why = read_message(t, r, type == MPITRACE_SEND);
	else if (t->version > 1 && type == MPITRACE_HAD)
		*why = read_had(t, r);
	else if (type != MPITRACE_END)
		*why = "no such record";
	else if (!mpitrace_read_number(t, &r->compute_ns) ||
		 (t->version > 2 && !mpitrace_read_number(t, &r->compute_waited_ns)))
		*why = "the end is cut";
	else if (r->compute_waited_ns > r->compute_ns)
		*why = "the end waited for a processor for longer than it took";
	else
		t->ended = true;
	r->type = (enum mpitrace_type)type;
	t->called = type != MPITRACE_COMM && type != MPITRACE_END;
	return *why ? -1 : 1;
}

bool
mpitrace_whole(const struct mpitrace *t)
{
	return t->ended && t->at == t->end;
}

void
mpitrace_done(struct mpitrace *t)
{
	free(t->name);
	t->name = NULL;
}
