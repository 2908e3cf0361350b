/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/rpc.h"

#include "base/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void work_off(struct rd_rpc_conn *c);

void
rd_rpc_init(struct rd_rpc_conn *c, const struct rd_rpc_api *api, void *user)
{
	memset(c, 0, offsetof(struct rd_rpc_conn, in));
	c->api = api;
	c->user = user;
}

void
rd_rpc_fini(struct rd_rpc_conn *c)
{
	json_decref(c->line);
	json_decref(c->answers);
	free(c->out);
	c->line = c->answers = NULL;
	c->out = NULL;
	c->active = false;
}

/* ---- answers ------------------------------------------------------------------- */

/* One line of output; whoever cannot be answered for want of memory is cut off. */
static void
put_request(struct rd_rpc_conn *c, json_t *v)
{
	char *text = v ? json_dumps(v, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	size_t len = text ? strlen(text) : 0;
	char *out = text ? realloc(text, len + 1) : NULL;
	json_decref(v);
	free(c->out);
	c->out = out;
	c->out_off = 0;
	c->out_len = 0;
	if (!out) {
		free(text);
		c->closing = true;
		return;
	}
	out[len] = '\n'; /* where the NUL was */
	c->out_len = len + 1;
}

static json_t *
error_object(json_t *id, enum rd_rpc_code code, const char *text)
{
	return json_pack("{s:s, s:{s:i, s:s}, s:O?}", "jsonrpc", "2.0", "error", "code", (int)code,
			 "message", text, "id", id);
}

/* An answer to one call; v is ours. */
static void
answered(struct rd_rpc_conn *c, json_t *v)
{
	c->active = false;
	c->id = NULL;
	if (c->notification)
		json_decref(v);
	else if (c->batch)
		json_array_append_new(c->answers, v);
	else
		put_request(c, v);
	c->notification = false;
	if (!c->running)
		work_off(c);
}

void
rd_rpc_result(struct rd_rpc_conn *c, json_t *result)
{
	if (!c->active) {
		json_decref(result);
		return;
	}
	if (!result) {
		rd_rpc_error(c, RD_RPC_INTERNAL, "out of memory");
		return;
	}
	answered(c, json_pack("{s:s, s:o, s:O?}", "jsonrpc", "2.0", "result", result, "id", c->id));
}

void
rd_rpc_error(struct rd_rpc_conn *c, enum rd_rpc_code code, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	if (!c->active)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	/* Texts that quote a client's bytes may be cut inside of a character. */
	for (char *t = text; *t; t++)
		if ((unsigned char)*t < ' ' || (unsigned char)*t > '~')
			*t = '?';
	answered(c, error_object(c->id, code, text));
}

/* ---- parameters -------------------------------------------------------------------- */

/* False: why says what is wrong. */
static bool
take_param(struct rd_rpc_call *call, uint32_t i, const json_t *v, char *why, size_t why_max)
{
	const struct rd_rpc_param *p = &call->method->param[i];
	json_int_t n = json_integer_value(v);
	int word;
	call->given[i] = true;
	switch (p->type) {
	case RD_RPC_UINT:
		if (json_is_integer(v) && n >= p->min && n <= p->max) {
			call->number[i] = (uint32_t)n;
			return true;
		}
		snprintf(why, why_max, "%s must be an integer from %u to %u", p->name, p->min,
			 p->max);
		return false;
	case RD_RPC_STRING:
		call->text[i] = json_string_value(v);
		if (call->text[i] && json_string_length(v) <= p->max &&
		    strlen(call->text[i]) == json_string_length(v))
			return true;
		snprintf(why, why_max, "%s must be a string of at most %u bytes", p->name, p->max);
		return false;
	case RD_RPC_WORD:
		call->text[i] = json_string_value(v);
		word = call->text[i] ? base_word_index(p->words, call->text[i]) : -1;
		call->number[i] = word < 0 ? 0 : (uint32_t)word;
		if (word < 0)
			snprintf(why, why_max, "%s must be one of %s", p->name, p->words);
		return word >= 0;
	case RD_RPC_BOOL:
		call->number[i] = json_is_true(v);
		if (!json_is_boolean(v))
			snprintf(why, why_max, "%s must be true or false", p->name);
		return json_is_boolean(v);
	}
	return false;
}

static bool
take_params(struct rd_rpc_call *call, json_t *params, char *why, size_t why_max)
{
	const struct rd_rpc_method *m = call->method;
	const char *key;
	json_t *v;
	if (params && !json_is_object(params)) {
		snprintf(why, why_max, "params must be an object, parameters by name");
		return false;
	}
	json_object_foreach(params, key, v)
	{
		uint32_t i = 0;
		while (i < m->nparams && strcmp(m->param[i].name, key) != 0)
			i++;
		if (i == m->nparams) {
			snprintf(why, why_max, "%s has no parameter %.40s", m->name, key);
			return false;
		}
		if (!take_param(call, i, v, why, why_max))
			return false;
	}
	for (uint32_t i = 0; i < m->nparams; i++)
		if (m->param[i].required && !call->given[i]) {
			snprintf(why, why_max, "%s needs the parameter %s", m->name,
				 m->param[i].name);
			return false;
		}
	return true;
}

/* ---- calls ------------------------------------------------------------------------- */

static void
begin_request(struct rd_rpc_conn *c, json_t *request)
{
	const char *version = json_string_value(json_object_get(request, "jsonrpc"));
	const char *name = json_string_value(json_object_get(request, "method"));
	json_t *id = json_object_get(request, "id");
	bool id_ok = !id || json_is_string(id) || json_is_number(id) || json_is_null(id);
	bool valid = json_is_object(request) && version && strcmp(version, "2.0") == 0 && name;
	char why[256];

	memset(&c->call, 0, sizeof c->call);
	c->active = true;
	c->id = id_ok ? id : NULL;
	c->notification = valid && id_ok && !id;
	if (!valid || !id_ok) {
		rd_rpc_error(c, RD_RPC_INVALID,
			     "a request is an object with \"jsonrpc\": \"2.0\", a \"method\" and "
			     "an \"id\"");
		return;
	}
	for (uint32_t i = 0; i < c->api->nmethods; i++)
		if (strcmp(c->api->method[i].name, name) == 0)
			c->call.method = &c->api->method[i];
	if (!c->call.method)
		rd_rpc_error(c, RD_RPC_METHOD, "no method %.60s; \"methods\" lists them", name);
	else if (!take_params(&c->call, json_object_get(request, "params"), why, sizeof why))
		rd_rpc_error(c, RD_RPC_PARAMS, "%s", why);
	else
		c->api->call(c->user, c, &c->call);
}

static void
finish_line(struct rd_rpc_conn *c)
{
	if (c->batch && json_array_size(c->answers))
		put_request(c, json_incref(c->answers));
	json_decref(c->line);
	json_decref(c->answers);
	c->line = c->answers = NULL;
}

/* A line without its newline. */
static void
take_line(struct rd_rpc_conn *c, const char *text, size_t len)
{
	json_error_t err;
	if (strspn(text, " \t\r") >= len) /* text goes on behind len with a newline */
		return;
	json_t *v = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &err);
	if (!v) {
		char why[200];
		snprintf(why, sizeof why, "not JSON, at byte %d", err.position);
		put_request(c, error_object(NULL, RD_RPC_PARSE, why));
		return;
	}
	if (json_is_array(v) &&
	    (json_array_size(v) == 0 || json_array_size(v) > RD_RPC_BATCH_MAX)) {
		char why[80];
		snprintf(why, sizeof why, "a batch has 1 to %d requests", RD_RPC_BATCH_MAX);
		put_request(c, error_object(NULL, RD_RPC_INVALID, why));
		json_decref(v);
		return;
	}
	c->line = v;
	c->batch = json_is_array(v);
	c->answers = c->batch ? json_array() : NULL;
	c->next = 0;
}

static bool
next_line(struct rd_rpc_conn *c)
{
	char *end = memchr(c->in, '\n', c->in_len);
	if (end) {
		size_t len = (size_t)(end - c->in);
		take_line(c, c->in, len);
		c->in_len -= len + 1;
		memmove(c->in, end + 1, c->in_len);
		return true;
	}
	if (c->in_len > RD_RPC_LINE_MAX && !c->closing) {
		char why[80];
		snprintf(why, sizeof why, "a request is one line of at most %d bytes",
			 RD_RPC_LINE_MAX);
		put_request(c, error_object(NULL, RD_RPC_INVALID, why));
		c->closing = true;
	}
	return false;
}

/* Until a call runs, an answer waits to be sent, or there is no whole line. */
static void
work_off(struct rd_rpc_conn *c)
{
	c->running = true;
	while (!c->active && !c->out && !c->closing) {
		size_t n = c->batch ? json_array_size(c->line) : 1;
		if (c->line && c->next < n) {
			size_t i = c->next++;
			begin_request(c, c->batch ? json_array_get(c->line, i) : c->line);
		} else if (c->line) {
			finish_line(c);
		} else if (!next_line(c)) {
			break;
		}
	}
	/* The last call of a line that has been answered. */
	if (!c->active && c->line && !c->batch && c->next > 0)
		finish_line(c);
	c->running = false;
}

/* ---- bytes --------------------------------------------------------------------------- */

char *
rd_rpc_room(struct rd_rpc_conn *c, size_t *room)
{
	*room = c->active || c->out || c->closing ? 0 : sizeof c->in - c->in_len;
	return c->in + c->in_len;
}

void
rd_rpc_input(struct rd_rpc_conn *c, size_t n)
{
	c->in_len += n;
	work_off(c);
}

const char *
rd_rpc_output(const struct rd_rpc_conn *c, size_t *len)
{
	*len = c->out ? c->out_len - c->out_off : 0;
	return c->out ? c->out + c->out_off : NULL;
}

void
rd_rpc_sent(struct rd_rpc_conn *c, size_t n)
{
	c->out_off += n;
	if (c->out_off < c->out_len)
		return;
	free(c->out);
	c->out = NULL;
	work_off(c);
}

bool
rd_rpc_closing(const struct rd_rpc_conn *c)
{
	return c->closing && !c->out;
}

/* ---- description ------------------------------------------------------------------- */

static json_t *
describe_param(const struct rd_rpc_param *p)
{
	static const char *const types[] = {"integer", "string", "word", "boolean"};
	json_t *v = json_pack("{s:s, s:s, s:b, s:s}", "name", p->name, "type", types[p->type],
			      "required", (int)p->required, "help", p->help);
	if (v && p->type == RD_RPC_UINT) {
		json_object_set_new(v, "min", json_integer(p->min));
		json_object_set_new(v, "max", json_integer(p->max));
	} else if (v && p->type == RD_RPC_WORD) {
		json_object_set_new(v, "words", json_string(p->words));
	}
	return v;
}

json_t *
rd_rpc_describe(const struct rd_rpc_api *api)
{
	json_t *all = json_array();
	for (uint32_t i = 0; i < api->nmethods; i++) {
		const struct rd_rpc_method *m = &api->method[i];
		json_t *params = json_array();
		for (uint32_t k = 0; k < m->nparams; k++)
			json_array_append_new(params, describe_param(&m->param[k]));
		json_array_append_new(all, json_pack("{s:s, s:s, s:o}", "name", m->name, "help",
						     m->help, "params", params));
	}
	return all;
}
