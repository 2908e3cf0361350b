/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes, and messages taken by them. */
#include "call.h"
#include "impl.h"
#include "message.h"
#include "p2p.h"

struct lmpi_pool lmpi_message_pool = {.what = "message",
				      .magic = 0x4d455353,
				      .size = sizeof(struct lmpi_message),
				      .offset = offsetof(struct lmpi_message, obj)};

struct search {
	const struct lmpi_p2p *a;
	bool take;
	int error; /* it would look in vain */
	struct lmpi_probed found;
};

static bool
look_probe(void *arg)
{
	struct search *s = arg;

	if (lmpi_iprobe(s->a->peer, s->a->tag, s->a->comm->cid, s->take, &s->found))
		return true;
	s->error = lmpi_probe_error(s->a->peer, s->a->comm->cid);
	return s->error != MPI_SUCCESS;
}

static int
report_search(const struct search *s)
{
	return lmpi_error(s->error, "a probe for source %d, tag %d", s->a->peer, s->a->tag);
}

/* One turn, or until there is something. */
static bool
search_probe(struct search *s, bool wait)
{
	if (look_probe(s))
		return true;
	if (wait) {
		lmpi_wait_for(look_probe, s);
		return true;
	}
	lmpi_poke();
	return look_probe(s);
}

/* lmpi_wait_for() may ask again after a yes: with `take` the first yes counts. */
static bool
look_once(void *arg)
{
	struct search *s = arg;

	return s->found.message != NULL || s->error != MPI_SUCCESS || look_probe(s);
}

static bool
search_take(struct search *s, bool wait)
{
	if (look_once(s))
		return true;
	if (wait) {
		lmpi_wait_for(look_once, s);
		return true;
	}
	lmpi_poke();
	return look_once(s);
}

static int
probe(int source, int tag, MPI_Comm comm, bool wait, int *flag, MPI_Status *status)
{
	struct lmpi_p2p a;
	struct search s = {.a = &a};
	int rc = lmpi_p2p_probe_args(&a, source, tag, comm);

	if (rc)
		return rc == LMPI_P2P_SPECIAL ? lmpi_p2p_probe_special(&a, wait, flag, status) : rc;
	*flag = 1;
	if (source == MPI_PROC_NULL)
		s.found = (struct lmpi_probed){.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
	else
		*flag = search_probe(&s, wait);
	if (s.error != MPI_SUCCESS)
		return report_search(&s);
	if (*flag && status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, a.comm, s.found.source, s.found.tag, (int64_t)s.found.bytes,
				false);
	return MPI_SUCCESS;
}

int
impl_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	int flag;

	return probe(source, tag, comm, true, &flag, status);
}

int
impl_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	return probe(source, tag, comm, false, flag, status);
}

/* ---- matched */

static int
mprobe(int source, int tag, MPI_Comm comm, bool wait, int *flag, MPI_Message *message,
       MPI_Status *status)
{
	struct lmpi_p2p a;
	struct search s = {.a = &a, .take = true};
	struct lmpi_message *m;
	int rc = lmpi_p2p_probe_args(&a, source, tag, comm);

	if (rc)
		return lmpi_p2p_refuse_special(rc, source);
	*flag = 1;
	if (source == MPI_PROC_NULL) {
		*message = MPI_MESSAGE_NO_PROC;
		if (status != MPI_STATUS_IGNORE)
			lmpi_status_set(status, NULL, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
		return MPI_SUCCESS;
	}
	m = lmpi_object_new(&lmpi_message_pool);
	if (m == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	*flag = search_take(&s, wait);
	if (s.error != MPI_SUCCESS) {
		lmpi_object_delete(&lmpi_message_pool, m);
		*message = MPI_MESSAGE_NULL;
		return report_search(&s);
	}
	if (!*flag) {
		lmpi_object_delete(&lmpi_message_pool, m);
		*message = MPI_MESSAGE_NULL;
		return MPI_SUCCESS;
	}
	m->message = s.found.message;
	m->comm = a.comm;
	m->source = s.found.source;
	m->tag = s.found.tag;
	lmpi_comm_ref(m->comm);
	*message = (MPI_Message)m;
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, m->comm, m->source, m->tag, (int64_t)s.found.bytes, false);
	return MPI_SUCCESS;
}

int
impl_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	int flag;

	return mprobe(source, tag, comm, true, &flag, message, status);
}

int
impl_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
	     MPI_Status *status)
{
	return mprobe(source, tag, comm, false, flag, message, status);
}

/* Arguments of a matched receive; *m is NULL for MPI_MESSAGE_NO_PROC. */
static int
mrecv_args(struct lmpi_p2p *a, void *buf, MPI_Count count, MPI_Datatype datatype,
	   MPI_Message handle, struct lmpi_message **m)
{
	int rc = lmpi_check_count(count);

	*m = NULL;
	if (handle != MPI_MESSAGE_NO_PROC) {
		if (!lmpi_object_valid(&lmpi_message_pool, handle))
			return lmpi_error(MPI_ERR_REQUEST, "%s",
					  handle == MPI_MESSAGE_NULL
						  ? "the message is MPI_MESSAGE_NULL"
						  : "the message is not a valid one");
		*m = (struct lmpi_message *)(void *)handle;
		lmpi_blame_comm((*m)->comm->handle);
	}
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &a->type);
	if (rc == MPI_SUCCESS && *m != NULL)
		rc = lmpi_check_buffer(buf, count, a->type);
	a->comm = *m ? (*m)->comm : lmpi_comm_self;
	a->buf = buf;
	a->count = count;
	a->peer = *m ? (*m)->source : MPI_PROC_NULL;
	a->tag = *m ? (*m)->tag : MPI_ANY_TAG;
	return rc;
}

static void
used_up(struct lmpi_message *m, MPI_Message *handle)
{
	if (m != NULL) {
		lmpi_comm_unref(m->comm);
		lmpi_object_delete(&lmpi_message_pool, m);
	}
	*handle = MPI_MESSAGE_NULL;
}

int
impl_Mrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
	   MPI_Status *status)
{
	struct lmpi_p2p a;
	struct lmpi_message *m;
	int rc = mrecv_args(&a, buf, count, datatype, *message, &m);

	if (rc)
		return rc;
	rc = lmpi_p2p_recv(&a, m ? m->message : NULL, status);
	used_up(m, message);
	return rc;
}

int
impl_Imrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
	    MPI_Request *request)
{
	struct lmpi_p2p a;
	struct lmpi_message *m;
	struct lmpi_request *r;
	int rc = mrecv_args(&a, buf, count, datatype, *message, &m);

	if (rc)
		return rc;
	r = lmpi_p2p_request(LMPI_RQ_RECV, &a, LMPI_SEND_STANDARD, false);
	if (r == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	rc = lmpi_p2p_start_matched(r, m ? m->message : NULL);
	if (rc) {
		lmpi_request_free(r);
		return rc;
	}
	*request = lmpi_request_handle(r);
	used_up(m, message);
	return MPI_SUCCESS;
}
