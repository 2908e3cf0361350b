/* SPDX-License-Identifier: BSD-2-Clause */
#include "relays.h"

#include "../ctl/client.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* {KEY: [..]} of a paged method: its first rows. */
static json_t *
take_rows(struct ctl *c, const char *method, const char *kind, int max)
{
	json_t *params = json_pack("{s:i}", "max", max);
	if (kind)
		json_object_set_new(params, "kind", json_string(kind));
	json_t *page = ctl_call(c, method, params, 0, -1);
	json_t *rows = json_incref(json_object_get(page, method));
	json_decref(page);
	return rows;
}

static json_t *
ask_relay(const char *name)
{
	struct ctl c;
	json_t *o = json_pack("{s:s}", "name", name);
	bool open = ctl_open(&c, name);
	c.wait_ms = WEB_WAIT_MS;
	json_t *status = open ? ctl_call(&c, "status", NULL, 0, -1) : NULL;
	json_t *drops = status ? ctl_call(&c, "drops", json_pack("{s:b}", "all", 1), 0, -1) : NULL;
	json_t *trunks = drops ? take_rows(&c, "paths", "trunk", 1024) : NULL;
	json_t *jobs = trunks ? take_rows(&c, "jobs", NULL, WEB_JOBS_MAX) : NULL;
	json_t *ports = jobs ? ctl_call(&c, "ports", NULL, 0, -1) : NULL;
	json_t *gateway = ports ? ctl_call(&c, "gateway", NULL, 0, -1) : NULL;
	json_object_set_new(o, "up", json_boolean(gateway != NULL));
	if (gateway) {
		json_t *starts = take_rows(&c, "starts", NULL, WEB_JOBS_MAX);
		/* A relay that is older than relayd-web has no such method. */
		json_object_set_new(o, "starts", starts ? starts : json_array());
		json_object_set(o, "status", status);
		json_object_set(o, "drops", json_object_get(drops, "drops"));
		json_object_set(o, "trunks", trunks);
		json_object_set(o, "jobs", jobs);
		json_object_set(o, "ports", json_object_get(ports, "ports"));
		json_object_set(o, "gateway", gateway);
	} else {
		json_object_set_new(o, "why", json_string(c.why));
	}
	json_decref(status);
	json_decref(drops);
	json_decref(trunks);
	json_decref(jobs);
	json_decref(ports);
	json_decref(gateway);
	ctl_close(&c);
	return o;
}

static int
is_socket(const struct dirent *e)
{
	size_t len = strlen(e->d_name);
	return len > 5 && strcmp(e->d_name + len - 5, ".sock") == 0;
}

static void
ask_all(json_t *to)
{
	struct dirent **at = NULL;
	int n = scandir(CTL_SOCKET_DIR, &at, is_socket, alphasort);
	for (int i = 0; i < n; i++) {
		at[i]->d_name[strlen(at[i]->d_name) - 5] = '\0';
		if (i < WEB_RELAYS_MAX)
			json_array_append_new(to, ask_relay(at[i]->d_name));
		free(at[i]);
	}
	free(at);
}

json_t *
web_gather(const char *const *names, unsigned n)
{
	json_t *a = json_array();
	if (!n)
		ask_all(a);
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, ask_relay(names[i]));
	return a;
}
