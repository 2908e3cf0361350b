/* SPDX-License-Identifier: BSD-2-Clause */
/* ncsession.c - see ncsession.h. */
#include "ncsession.h"

#include <libyang/libyang.h>
#include <nc_client.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE   "http://www.polatis.com/yang/optical-switch"
#define BASE_NS	    "urn:ietf:params:xml:ns:netconf:base:1.0"
#define PAIR_BYTES  112u
#define SEND_MS	    2000
#define CAP(c)	    "urn:ietf:params:netconf:capability:" c
#define READ_FILTER "<cross-connects xmlns=\"" NAMESPACE "\"/>"
#define INFO_FILTER "<product-information xmlns=\"" NAMESPACE "\"/>"

/* ---- trees: nodes of a known model, or of none, look alike from here ---- */

static const char *
find_name(const struct lyd_node *n)
{
	return n->schema ? n->schema->name
			 : ((const struct lyd_node_opaq *)(const void *)n)->name.name;
}

/* The text of the child, or of the child's children, with this name; NULL if there is none. */
static const char *
find_text(const struct lyd_node *parent, const char *name)
{
	for (const struct lyd_node *n = lyd_child(parent); n; n = n->next) {
		if (strcmp(find_name(n), name) == 0)
			return lyd_get_value(n);
		const char *deeper = find_text(n, name);
		if (deeper)
			return deeper;
	}
	return NULL;
}

/* The first of the trees in an answer's <data>. */
static const struct lyd_node *
find_data(const struct lyd_node *op)
{
	for (const struct lyd_node *n = op ? lyd_child(op) : NULL; n; n = n->next) {
		if (strcmp(find_name(n), "data") != 0)
			continue;
		if (n->schema && (n->schema->nodetype & LYD_NODE_ANY)) {
			const struct lyd_node_any *any =
				(const struct lyd_node_any *)(const void *)n;
			return any->value_type == LYD_ANYDATA_DATATREE ? any->value.tree : NULL;
		}
		return lyd_child(n);
	}
	return NULL;
}

/* ---- one request ---- */

static void
set_trouble(struct ocsdrv_ncs *n, const char *what, const char *more)
{
	snprintf(n->trouble, sizeof n->trouble, "%.40s%s%.50s", what, *more ? ": " : "", more);
	for (char *p = n->trouble; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = ' ';
}

static int
map_error(const char *tag)
{
	static const struct {
		const char *tag;
		int err;
	} map[] = {
		{"in-use", OCS_ERR_RETRY},
		{"lock-denied", OCS_ERR_RETRY},
		{"resource-denied", OCS_ERR_RETRY},
		{"access-denied", OCS_ERR_AUTH},
		{"operation-not-supported", OCS_ERR_UNSUPPORTED},
		{"unknown-element", OCS_ERR_UNSUPPORTED},
		{"unknown-namespace", OCS_ERR_UNSUPPORTED},
		{"invalid-value", OCS_ERR_INVAL},
	};
	for (size_t i = 0; tag && i < sizeof map / sizeof *map; i++)
		if (strcmp(tag, map[i].tag) == 0)
			return map[i].err;
	return OCS_ERR_REFUSED;
}

/* <rpc-error>s of an answer: the first one's tag and message. */
static int
take_errors(struct ocsdrv_ncs *n, const struct lyd_node *envelope)
{
	for (const struct lyd_node *e = envelope ? lyd_child(envelope) : NULL; e; e = e->next) {
		if (strcmp(find_name(e), "rpc-error") != 0)
			continue;
		const char *tag = find_text(e, "error-tag"), *text = find_text(e, "error-message"),
			   *app = find_text(e, "error-app-tag"),
			   *severity = find_text(e, "error-severity");
		if (severity && strcmp(severity, "warning") == 0)
			continue;
		set_trouble(n, app ? app : tag ? tag : "refused", text ? text : "");
		return map_error(tag);
	}
	return OCS_ERR_OK;
}

/* Sends and frees rpc; the answer's trees, if there are any, go to *op and *envelope. */
static int
send_rpc(struct ocsdrv_ncs *n, struct nc_rpc *rpc, struct lyd_node **envelope, struct lyd_node **op)
{
	uint64_t id;
	int err = OCS_ERR_OFFLINE;
	*envelope = *op = NULL;
	n->trouble[0] = 0;
	if (!rpc)
		return OCS_ERR_INVAL;
	if (nc_send_rpc(n->session, rpc, SEND_MS, &id) != NC_MSG_RPC) {
		set_trouble(n, "the request could not be sent", "");
		nc_rpc_free(rpc);
		return err;
	}
	NC_MSG_TYPE type;
	do {
		type = nc_recv_reply(n->session, rpc, id, n->answer_ms, envelope, op);
	} while (type == NC_MSG_NOTIF);
	if (type == NC_MSG_REPLY)
		err = take_errors(n, *envelope);
	else if (type == NC_MSG_WOULDBLOCK)
		err = OCS_ERR_TIMEOUT;
	else
		set_trouble(n, "no answer that can be read", "");
	nc_rpc_free(rpc);
	return err;
}

static int
run_rpc(struct ocsdrv_ncs *n, struct nc_rpc *rpc)
{
	struct lyd_node *envelope, *op;
	int err = send_rpc(n, rpc, &envelope, &op);
	lyd_free_tree(envelope);
	lyd_free_tree(op);
	return err;
}

/* ---- the session ---- */

bool
ocsdrv_ncs_open(struct ocsdrv_ncs *n, int fd_in, int fd_out, const char *schemas)
{
	nc_client_set_schema_searchpath(schemas);
	n->session = nc_connect_inout(fd_in, fd_out, NULL);
	if (!n->session) {
		set_trouble(n, "no NETCONF session", "");
		return false;
	}
	n->candidate = nc_session_cpblt(n->session, CAP("candidate:1.0"));
	n->deadman = n->candidate && (nc_session_cpblt(n->session, CAP("confirmed-commit:1.1")) ||
				      nc_session_cpblt(n->session, CAP("confirmed-commit:1.0")));
	n->rollback = nc_session_cpblt(n->session, CAP("rollback-on-error:1.0"));
	n->locked = false;
	if (!nc_session_cpblt(n->session, NAMESPACE)) {
		set_trouble(n, "the server has no optical-switch model", "");
		ocsdrv_ncs_close(n);
		return false;
	}
	/* Not every server has notifications; without them nothing is told, that is all. */
	if (nc_session_cpblt(n->session, CAP("notification:1.0")))
		run_rpc(n, nc_rpc_subscribe(NULL, NULL, NULL, NULL, NC_PARAMTYPE_CONST));
	return ocsdrv_ncs_is_alive(n);
}

void
ocsdrv_ncs_close(struct ocsdrv_ncs *n)
{
	if (n->session)
		nc_session_free(n->session, NULL);
	n->session = NULL;
}

bool
ocsdrv_ncs_is_alive(const struct ocsdrv_ncs *n)
{
	return n->session && nc_session_get_status(n->session) == NC_STATUS_RUNNING;
}

void
ocsdrv_ncs_identify(struct ocsdrv_ncs *n, struct ocs_identity *id)
{
	struct lyd_node *envelope, *op;
	int err = send_rpc(n, nc_rpc_get(INFO_FILTER, NC_WD_UNKNOWN, NC_PARAMTYPE_CONST), &envelope,
			   &op);
	const struct lyd_node *info = err ? NULL : find_data(op);
	static const char *const names[] = {"manufacturer", "model-name", "software-version"};
	char *const to[] = {id->vendor, id->model, id->version};
	for (unsigned int i = 0; info && i < 3; i++) {
		const char *text = find_text(info, names[i]);
		if (text)
			snprintf(to[i], sizeof id->vendor, "%s", text);
	}
	lyd_free_tree(envelope);
	lyd_free_tree(op);
}

static uint32_t
read_ncsession_number(const char *text)
{
	unsigned long v = text ? strtoul(text, NULL, 10) : 0;
	return v > 0 && v <= 65535 ? (uint32_t)v : 0;
}

int
ocsdrv_ncs_read(struct ocsdrv_ncs *n, void (*have)(void *user, uint32_t in, uint32_t out),
		void *user)
{
	struct lyd_node *envelope, *op;
	int err = send_rpc(n,
			   nc_rpc_getconfig(NC_DATASTORE_RUNNING, READ_FILTER, NC_WD_UNKNOWN,
					    NC_PARAMTYPE_CONST),
			   &envelope, &op);
	for (const struct lyd_node *t = err ? NULL : find_data(op); t; t = t->next) {
		if (strcmp(find_name(t), "cross-connects") != 0)
			continue;
		for (const struct lyd_node *p = lyd_child(t); p; p = p->next) {
			uint32_t in = read_ncsession_number(find_text(p, "ingress")),
				 out = read_ncsession_number(find_text(p, "egress"));
			if (in > 0 && out > n->ports)
				have(user, in - 1, out - n->ports - 1);
		}
	}
	lyd_free_tree(envelope);
	lyd_free_tree(op);
	return err;
}

/* ---- changes ---- */

static char *
write_config(const struct ocsdrv_ncs *n, const struct ocsdrv_ncs_pair *pairs, uint32_t count)
{
	size_t room = 256 + (size_t)count * PAIR_BYTES, at = 0;
	char *xml = malloc(room);
	if (!xml)
		return NULL;
	at = (size_t)snprintf(xml, room, "<cross-connects xmlns=\"%s\" xmlns:nc=\"%s\">", NAMESPACE,
			      BASE_NS);
	for (uint32_t i = 0; i < count; i++) {
		const struct ocsdrv_ncs_pair *p = &pairs[i];
		if (p->removal)
			at += (size_t)snprintf(
				xml + at, room - at,
				"<pair nc:operation=\"remove\"><ingress>%u</ingress></pair>",
				p->in + 1);
		else
			at += (size_t)snprintf(
				xml + at, room - at,
				"<pair><ingress>%u</ingress><egress>%u</egress></pair>", p->in + 1,
				n->ports + p->out + 1);
	}
	snprintf(xml + at, room - at, "</cross-connects>");
	return xml;
}

static struct nc_rpc *
make_edit(const struct ocsdrv_ncs *n, NC_DATASTORE target, const char *xml)
{
	return nc_rpc_edit(target, NC_RPC_EDIT_DFLTOP_MERGE, NC_RPC_EDIT_TESTOPT_UNKNOWN,
			   n->rollback ? NC_RPC_EDIT_ERROPT_ROLLBACK : NC_RPC_EDIT_ERROPT_STOP, xml,
			   NC_PARAMTYPE_CONST);
}

static struct nc_rpc *
make_commit(uint32_t revert_s)
{
	return nc_rpc_commit(revert_s > 0, revert_s, NULL, NULL, NC_PARAMTYPE_CONST);
}

/* Somebody else's unfinished changes must not be committed with ours: they hold the lock,
 * or they are thrown away once we do. */
static int
edit_candidate(struct ocsdrv_ncs *n, const char *xml, uint32_t revert_s)
{
	char why[sizeof n->trouble];
	int err = run_rpc(n, nc_rpc_lock(NC_DATASTORE_CANDIDATE));
	if (err)
		return err;
	run_rpc(n, nc_rpc_discard());
	err = run_rpc(n, make_edit(n, NC_DATASTORE_CANDIDATE, xml));
	if (!err)
		err = run_rpc(n, make_commit(revert_s));
	memcpy(why, n->trouble, sizeof why);
	if (err)
		run_rpc(n, nc_rpc_discard());
	run_rpc(n, nc_rpc_unlock(NC_DATASTORE_CANDIDATE));
	memcpy(n->trouble, why, sizeof why);
	return err;
}

int
ocsdrv_ncs_edit(struct ocsdrv_ncs *n, const struct ocsdrv_ncs_pair *pairs, uint32_t count,
		uint32_t revert_s)
{
	char *xml = write_config(n, pairs, count);
	if (!xml)
		return OCS_ERR_RETRY;
	int err = n->candidate ? edit_candidate(n, xml, revert_s)
			       : run_rpc(n, make_edit(n, NC_DATASTORE_RUNNING, xml));
	free(xml);
	return err;
}

int
ocsdrv_ncs_confirm(struct ocsdrv_ncs *n)
{
	return run_rpc(n, make_commit(0));
}

int
ocsdrv_ncs_lock(struct ocsdrv_ncs *n, bool on)
{
	int err = run_rpc(n, on ? nc_rpc_lock(NC_DATASTORE_RUNNING)
				: nc_rpc_unlock(NC_DATASTORE_RUNNING));
	if (!err)
		n->locked = on;
	return err;
}

bool
ocsdrv_ncs_changed(struct ocsdrv_ncs *n)
{
	struct lyd_node *envelope, *op;
	bool changed = false;
	while (nc_recv_notif(n->session, 0, &envelope, &op) == NC_MSG_NOTIF) {
		const char *who = op && strcmp(find_name(op), "netconf-config-change") == 0
					  ? find_text(op, "session-id")
					  : NULL;
		changed = changed ||
			  (who && read_ncsession_number(who) != nc_session_get_id(n->session));
		lyd_free_tree(envelope);
		lyd_free_tree(op);
	}
	return changed;
}
