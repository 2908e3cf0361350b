/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions (MPI 5.0, 11.3), and communicators made of groups alone. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bsend.h"
#include "call.h"
#include "comm.h"
#include "comm_create.h"
#include "errhandler.h"
#include "impl.h"
#include "info.h"

static const struct {
	const char *name;
	int level;
} levels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
	      {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
	      {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
	      {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))

static const char *const psets[] = {"mpi://WORLD", "mpi://SELF"};
#define PSETS ((int)(sizeof(psets) / sizeof(psets[0])))

static int
session_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

static int
get_calls_session(MPI_Session handle, struct lmpi_session **s)
{
	*s = lmpi_session_find(handle);
	return *s ? MPI_SUCCESS
		  : lmpi_error(MPI_ERR_SESSION, "the session is %s",
			       handle == MPI_SESSION_NULL ? "MPI_SESSION_NULL" : "not a valid one");
}

/* What the key thread_level says; an unknown value is as good as none: then the session has what
 * the process has. */
static int
wanted_level(const struct lmpi_info *info)
{
	const char *value = info ? lmpi_info_value(info, "thread_level") : NULL;

	for (size_t i = 0; value != NULL && i < LEVELS; i++)
		if (strcmp(value, levels[i].name) == 0)
			return levels[i].level;
	return lmpi_lock_shared ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

static struct lmpi_session *sessions;
static uint64_t serials;

struct lmpi_session *
lmpi_session_of(const struct lmpi_comm *comm)
{
	struct lmpi_session *s = comm->group->session ? sessions : NULL;

	while (s != NULL && s->serial != comm->group->session)
		s = s->next;
	return s;
}

int
impl_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
	struct lmpi_session *s;
	int rc, level = wanted_level(lmpi_info_find(info));

	*session = MPI_SESSION_NULL;
	if (!lmpi_errhandler_valid(errhandler))
		return lmpi_error(MPI_ERR_ERRHANDLER, "the error handler is not a valid one");
	rc = lmpi_runtime_use(level);
	if (rc)
		return rc;
	s = lmpi_object_new(&lmpi_session_pool);
	if (s == NULL) {
		(void)lmpi_runtime_drop();
		return session_no_memory();
	}
	s->errhandler = errhandler;
	lmpi_errhandler_ref(errhandler);
	s->thread_level = level;
	s->serial = ++serials;
	s->next = sessions;
	sessions = s;
	*session = (MPI_Session)s;
	return MPI_SUCCESS;
}

int
impl_Session_finalize(MPI_Session *session)
{
	struct lmpi_session *s, **at;
	int rc = get_calls_session(*session, &s);

	if (rc)
		return rc;
	lmpi_bsend_end(&s->bsend);
	for (at = &sessions; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	lmpi_errhandler_unref(s->errhandler);
	lmpi_object_delete(&lmpi_session_pool, s);
	*session = MPI_SESSION_NULL;
	return lmpi_runtime_drop();
}

int
impl_Session_get_info(MPI_Session session, MPI_Info *info_used)
{
	struct lmpi_session *s;
	struct lmpi_info *info;
	int rc = get_calls_session(session, &s);

	if (rc)
		return rc;
	info = lmpi_info_new();
	for (size_t i = 0; info != NULL && i < LEVELS; i++)
		if (levels[i].level == s->thread_level &&
		    !lmpi_info_put(info, "thread_level", levels[i].name)) {
			lmpi_info_delete(info);
			info = NULL;
		}
	if (info == NULL)
		return session_no_memory();
	*info_used = (MPI_Info)info;
	return MPI_SUCCESS;
}

int
impl_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
	struct lmpi_session *s;
	int rc = get_calls_session(session, &s);

	return rc ? rc : lmpi_errhandler_set(&s->errhandler, LMPI_ON_SESSION, errhandler);
}

int
impl_Session_get_errhandler(MPI_Session session, MPI_Errhandler *errhandler)
{
	struct lmpi_session *s;
	int rc = get_calls_session(session, &s);

	return rc ? rc : lmpi_errhandler_get(s->errhandler, errhandler);
}

int
impl_Session_call_errhandler(MPI_Session session, int errorcode)
{
	struct lmpi_session *s;
	int rc = get_calls_session(session, &s);

	if (rc == MPI_SUCCESS)
		lmpi_errhandler_call(s->errhandler, LMPI_ON_SESSION, session, errorcode,
				     "MPI_Session_call_errhandler");
	return rc;
}

/* ---- process sets */

/* The index of a name; URIs are compared without regard to case. */
static int
pset(const char *name, int *at)
{
	for (*at = 0; name != NULL && *at < PSETS; ++*at)
		if (strcasecmp(name, psets[*at]) == 0)
			return MPI_SUCCESS;
	return lmpi_error(MPI_ERR_ARG, "there is no process set \"%s\"", name ? name : "(null)");
}

static struct lmpi_group *
pset_group(int at)
{
	return (at == 0 ? lmpi_comm_world : lmpi_comm_self)->group;
}

int
impl_Session_get_num_psets(MPI_Session session, MPI_Info info, int *npset_names)
{
	struct lmpi_session *s;
	int rc = get_calls_session(session, &s);

	(void)info;
	if (rc == MPI_SUCCESS)
		*npset_names = PSETS;
	return rc;
}

int
impl_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int *pset_len, char *pset_name)
{
	struct lmpi_session *s;
	int rc = get_calls_session(session, &s);

	(void)info;
	if (rc)
		return rc;
	if (n < 0 || n >= PSETS)
		return lmpi_error(MPI_ERR_ARG, "there are %d process sets, n is %d", PSETS, n);
	if (pset_len == NULL || (*pset_len > 0 && pset_name == NULL))
		return lmpi_error(MPI_ERR_ARG, "%s is a null pointer",
				  pset_len == NULL ? "pset_len" : "pset_name");
	if (*pset_len > 0)
		snprintf(pset_name, (size_t)*pset_len, "%s", psets[n]);
	*pset_len = (int)strlen(psets[n]) + 1;
	return MPI_SUCCESS;
}

int
impl_Session_get_pset_info(MPI_Session session, const char *pset_name, MPI_Info *info)
{
	struct lmpi_session *s;
	struct lmpi_info *i;
	char size[16];
	int at, rc = get_calls_session(session, &s);

	if (rc == MPI_SUCCESS)
		rc = pset(pset_name, &at);
	if (rc)
		return rc;
	snprintf(size, sizeof(size), "%d", pset_group(at)->size);
	i = lmpi_info_new();
	if (i == NULL || !lmpi_info_put(i, "mpi_size", size)) {
		if (i != NULL)
			lmpi_info_delete(i);
		return session_no_memory();
	}
	*info = (MPI_Info)i;
	return MPI_SUCCESS;
}

int
impl_Group_from_session_pset(MPI_Session session, const char *pset_name, MPI_Group *newgroup)
{
	struct lmpi_session *s;
	struct lmpi_group *g;
	int at, rc = get_calls_session(session, &s);

	*newgroup = MPI_GROUP_NULL;
	if (rc == MPI_SUCCESS)
		rc = pset(pset_name, &at);
	if (rc)
		return rc;
	g = lmpi_group_copy(pset_group(at));
	if (g == NULL)
		return session_no_memory();
	g->session = s->serial;
	*newgroup = lmpi_group_handle(g);
	return MPI_SUCCESS;
}

/* ---- communicators of groups */

/* The string tag as a number that tells concurrent calls apart. */
static int
tag_of(const char *stringtag)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *stringtag != '\0'; stringtag++)
		h = (h ^ (unsigned char)*stringtag) * 16777619u;
	return (int)(h & 0x7fffffff);
}

static int
comm_of_group(MPI_Group group, const char *stringtag, MPI_Info info, struct lmpi_comm **comm)
{
	struct lmpi_group *g;
	uint64_t cid;
	int rc = lmpi_group_get(group, &g);

	*comm = NULL;
	if (rc)
		return rc;
	if (stringtag == NULL || strlen(stringtag) >= MPI_MAX_STRINGTAG_LEN)
		return lmpi_error(MPI_ERR_ARG, "stringtag is %s",
				  stringtag ? "too long" : "a null pointer");
	if (g->rank == MPI_UNDEFINED) {
		if (g->size == 0)
			return MPI_SUCCESS;
		return lmpi_error(MPI_ERR_GROUP, "this process is not in the group");
	}
	rc = lmpi_cid_agree_group(lmpi_comm_world, g,
				  LMPI_NAME_TAG_FIRST + tag_of(stringtag) % LMPI_USER_TAGS, &cid);
	if (rc)
		return rc;
	lmpi_group_ref(g);
	*comm = lmpi_comm_new(g, cid, NULL);
	if (*comm == NULL) {
		lmpi_group_unref(g);
		return session_no_memory();
	}
	if (lmpi_info_find(info) != NULL) {
		(*comm)->info = lmpi_info_copy(lmpi_info_find(info));
		if ((*comm)->info == NULL) {
			lmpi_comm_unref(*comm);
			return session_no_memory();
		}
	}
	return MPI_SUCCESS;
}

int
impl_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info,
			    MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
	struct lmpi_comm *c;
	int rc;

	*newcomm = MPI_COMM_NULL;
	if (!lmpi_errhandler_valid(errhandler))
		return lmpi_error(MPI_ERR_ERRHANDLER, "the error handler is not a valid one");
	rc = comm_of_group(group, stringtag, info, &c);
	if (rc || c == NULL)
		return rc;
	rc = lmpi_errhandler_set(&c->errhandler, LMPI_ON_COMM, errhandler);
	*newcomm = c->handle;
	return rc;
}

int
impl_Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group,
				  int remote_leader, const char *stringtag, MPI_Info info,
				  MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
	struct lmpi_group *remote;
	struct lmpi_comm *c, *made;
	int rc, leader = 0;

	*newintercomm = MPI_COMM_NULL;
	if (!lmpi_errhandler_valid(errhandler))
		return lmpi_error(MPI_ERR_ERRHANDLER, "the error handler is not a valid one");
	rc = comm_of_group(local_group, stringtag, info, &c);
	if (rc || c == NULL)
		return rc;
	/* remote_group counts at the leader only */
	if (c->rank == local_leader) {
		rc = lmpi_group_get(remote_group, &remote);
		if (rc == MPI_SUCCESS && (remote_leader < 0 || remote_leader >= remote->size))
			rc = lmpi_error(MPI_ERR_RANK, "remote_leader is %d", remote_leader);
		leader = rc ? -1 : (int)remote->world[remote_leader];
	}
	rc = lmpi_inter_make(c, local_leader, MPI_COMM_WORLD, leader,
			     (int)(tag_of(stringtag) % ((int64_t)lmpi_world.tag_ub + 1)), &made);
	if (rc == MPI_SUCCESS)
		rc = lmpi_errhandler_set(&made->errhandler, LMPI_ON_COMM, errhandler);
	lmpi_comm_unref(c);
	if (rc == MPI_SUCCESS)
		*newintercomm = made->handle;
	return rc;
}
