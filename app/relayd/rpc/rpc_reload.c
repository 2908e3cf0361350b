/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration file again: what is different, and taking it over. */
#include "rpc_internal.h"

#include "log.h"

static json_t *
fault_rows(const struct rd_faults *f)
{
	json_t *rows = json_array();
	uint32_t n = f->count < RD_FAULTS_MAX ? f->count : RD_FAULTS_MAX;
	for (uint32_t i = 0; i < n; i++) {
		json_t *row = json_pack("{s:s, s:s}", "pointer", f->fault[i].pointer, "text",
					f->fault[i].text);
		if (f->fault[i].line)
			json_object_set_new(row, "line", json_integer(f->fault[i].line));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *
change_rows(const struct rd_changes *d)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < d->count; i++) {
		const struct rd_change *c = &d->change[i];
		json_array_append_new(rows,
				      json_pack("{s:s, s:s, s:s, s:s, s:s}", "key", c->key->path,
						"from", c->from, "to", c->to, "by",
						c->now ? "reload" : "restart", "why", c->why));
	}
	return rows;
}

static json_t *
reload_result(const struct rd_reload *r, bool good, bool applied)
{
	return json_pack("{s:s, s:b, s:b, s:b, s:o, s:o}", "file", r->path, "good", (int)good,
			 "applied", (int)applied, "other_keys", (int)r->rekeys, "changes",
			 change_rows(&r->changes), "faults", fault_rows(&r->faults));
}

/* All workers have it: at once, while the call still runs, or later. */
static void
answer_reload(void *user)
{
	struct rd_rpc_client *c = user;
	bool later = c->reloads;
	c->reloads = false;
	rd_rpc_changed(c->server);
	rd_rpc_result(&c->conn, reload_result(c->server->env.reload, true, true));
	if (later)
		rd_rpc_settle(c);
}

void
rd_rpc_reload(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	struct rd_reload *r = c->server->env.reload;
	if (call->number[0]) { /* check */
		bool good = rd_reload_look(r);
		rd_rpc_result(&c->conn, reload_result(r, good, false));
		return;
	}
	bool good = rd_reload_apply(r, answer_reload, c);
	rd_reload_log(r, good);
	if (!good)
		rd_rpc_result(&c->conn, reload_result(r, false, false));
	else if (r->mails)
		c->reloads = true;
}

void
rd_rpc_reload_gone(struct rd_rpc_client *c)
{
	if (c->reloads)
		rd_reload_forget(c->server->env.reload, c);
	c->reloads = false;
}
