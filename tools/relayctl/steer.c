/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that change something: set, capture. */
#include "commands.h"
#include "print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#define POLL_S 0.2

uint32_t
number_of(const char *text, const char *name, uint32_t min, uint32_t max)
{
	const char *bad = NULL;
	long long v = strtonum(text, min, max, &bad);
	if (bad)
		ctl_die(CTL_USAGE, "%s: \"%s\" is not a number from %u to %u", name, text, min,
			max);
	return (uint32_t)v;
}

uint32_t
job_of(struct ctl *c, const char *text)
{
	uint32_t n = number_of(text, "--job", 0, UINT32_MAX), found = 0, hits = 0;
	json_t *rows = ask_rows(c, "jobs", NULL), *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		uint32_t base = (uint32_t)int_of(row, "label_base");
		if (base == n) {
			found = base;
			hits = 1;
			break;
		}
		if ((uint32_t)int_of(row, "job") == n) {
			found = base;
			hits++;
		}
	}
	json_decref(rows);
	if (hits != 1)
		ctl_die(CTL_REFUSED,
			hits ? "several jobs have the number %s; give a label_base"
			     : "there is no job %s",
			text);
	return found;
}

/* ---- set ------------------------------------------------------------------------------- */

static void
show_settings(json_t *v, const struct options *o)
{
	if (o->json)
		print_json(v);
	else
		print_pairs(v);
	json_decref(v);
}

static const struct setting {
	const char *name;
	bool of_policy; /* the call that it is a word of; else it is "set" */
} settings[] = {
	{"log_level", false}, {"idle", false},	   {"drain_ms", false},
	{"policy", true},     {"addresses", true},
};
#define SETTINGS (sizeof settings / sizeof settings[0])

void
check_setting(const char *name)
{
	char all[128] = "";
	for (size_t i = 0; i < SETTINGS; i++) {
		if (strcmp(settings[i].name, name) == 0)
			return;
		strlcat(all, i ? ", " : "", sizeof all);
		strlcat(all, settings[i].name, sizeof all);
	}
	ctl_die(CTL_USAGE, "set: there is no setting %s; there are %s", name, all);
}

static bool
is_of_policy(const char *name)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (strcmp(settings[i].name, name) == 0)
			return settings[i].of_policy;
	return false;
}

/* NAME=VALUE..., as check_words() saw them; a value that is a number goes as one.  What the policy
 * is said with goes first, so what is wrong with it leaves all as it was. */
int
cmd_set(struct ctl *c, const struct options *o)
{
	json_t *params = json_object(), *policy = json_object();
	for (int i = 0; i < o->nargs; i++) {
		char *eq = strchr(o->arg[i], '='), *end = NULL;
		*eq = '\0';
		long long n = strtoll(eq + 1, &end, 10);
		bool number = end != eq + 1 && !*end;
		json_object_set_new(is_of_policy(o->arg[i]) ? policy : params, o->arg[i],
				    number ? json_integer(n) : json_string(eq + 1));
	}
	bool sets = json_object_size(params), steers = json_object_size(policy);
	json_t *now = steers ? ask(c, "policy", policy) : NULL, *all = NULL;
	if (sets)
		all = ask(c, "set", params);
	else if (!steers)
		all = ask(c, "get", NULL);
	if (!steers)
		json_decref(policy);
	if (!sets)
		json_decref(params);
	if (now && all) {
		json_object_update(all, now);
		json_decref(now);
	}
	show_settings(all ? all : now, o);
	return CTL_OK;
}

/* ---- drain ----------------------------------------------------------------------------- */

#define QUIET_ROUNDS 10 /* of POLL_S without a segment, and nothing in custody: it is empty */

/* True once nothing is in custody and nothing comes any more. */
static bool
wait_empty(struct ctl *c, double limit_s)
{
	json_int_t before = -1;
	int quiet = 0;
	for (double s = 0; !interrupted && (limit_s <= 0 || s < limit_s); s += POLL_S) {
		json_t *v = ask(c, "status", NULL);
		json_int_t now = int_of(v, "segments");
		quiet = now == before && int_of(v, "custody") == 0 ? quiet + 1 : 0;
		before = now;
		json_decref(v);
		if (quiet == QUIET_ROUNDS)
			return true;
		wait_s(POLL_S);
	}
	return false;
}

static json_t *
relay_params(const struct options *o)
{
	return o->nargs ? json_pack("{s:s}", "relay", o->arg[0]) : NULL;
}

int
cmd_drain(struct ctl *c, const struct options *o)
{
	json_t *v = ask(c, "drain", relay_params(o));
	int status = CTL_OK;
	if (o->wait) {
		bool empty = wait_empty(c, o->given_d ? o->interval : 0);
		json_object_set_new(v, "empty", json_boolean(empty));
		status = empty ? CTL_OK : CTL_REFUSED;
	}
	if (o->json)
		print_json(v);
	else if (!o->wait)
		puts("drains: new segments go over the other relays of the cluster");
	else
		puts(status == CTL_OK ? "empty: it may be stopped" : "not empty yet");
	json_decref(v);
	return status;
}

int
cmd_undrain(struct ctl *c, const struct options *o)
{
	json_t *v = ask(c, "undrain", relay_params(o));
	if (o->json)
		print_json(v);
	else
		puts("takes its share again");
	json_decref(v);
	return CTL_OK;
}

int
cmd_reset(struct ctl *c, const struct options *o)
{
	json_t *v = ask(c, "port_reset", json_pack("{s:s}", "leg", o->arg[0]));
	if (o->json)
		print_json(v);
	else
		printf("the %s leg is being reset: relayctl ports\n", o->arg[0]);
	json_decref(v);
	return CTL_OK;
}

/* ---- capture ----------------------------------------------------------------------------- */

/* Address and port of the path that the paths command shows under this number. */
static json_t *
peer_of(struct ctl *c, const struct options *o)
{
	uint32_t path = number_of(o->path, "--path", 0, UINT32_MAX);
	uint32_t worker = o->worker ? number_of(o->worker, "--worker", 0, 63) : 0;
	json_t *rows = ask_rows(c, "paths", NULL), *row, *peer = NULL;
	size_t i;
	json_array_foreach(rows, i,
			   row) if (int_of(row, "path") == path && int_of(row, "worker") == worker)
		peer = json_incref(json_object_get(row, "peer"));
	json_decref(rows);
	if (!peer)
		ctl_die(CTL_REFUSED, "there is no path %u of worker %u", path, worker);
	return peer;
}

static json_t *
capture_params(struct ctl *c, const struct options *o)
{
	json_t *p = json_object();
	if (o->leg)
		json_object_set_new(p, "leg", json_string(o->leg));
	if (o->dir)
		json_object_set_new(p, "dir", json_string(o->dir));
	if (o->peer)
		json_object_set_new(p, "peer", json_string(o->peer));
	if (o->path)
		json_object_set_new(p, "peer", peer_of(c, o));
	if (o->job)
		json_object_set_new(p, "job", json_integer(job_of(c, o->job)));
	if (o->src)
		json_object_set_new(p, "src",
				    json_integer(number_of(o->src, "--src", 0, UINT32_MAX - 1)));
	if (o->dst)
		json_object_set_new(p, "dst",
				    json_integer(number_of(o->dst, "--dst", 0, UINT32_MAX - 1)));
	if (o->snaplen)
		json_object_set_new(
			p, "snaplen",
			json_integer(number_of(o->snaplen, "--snaplen", 1, UINT32_MAX)));
	if (o->mbytes)
		json_object_set_new(p, "mbytes",
				    json_integer(number_of(o->mbytes, "--mbytes", 1, UINT32_MAX)));
	if (o->given_n)
		json_object_set_new(p, "frames", json_integer(o->n));
	if (o->given_d)
		json_object_set_new(p, "ms", json_integer((json_int_t)(o->interval * 1000)));
	return p;
}

static bool
over(json_t *v)
{
	bool running = json_is_true(json_object_get(v, "running"));
	json_decref(v);
	return !running;
}

int
cmd_capture(struct ctl *c, const struct options *o)
{
	if (!o->file)
		ctl_die(CTL_USAGE, "capture: -w FILE is missing");
	json_t *params = capture_params(c, o);
	int fd = open(o->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		ctl_die(CTL_REFUSED, "%s: %s", o->file, strerror(errno));
	json_t *v = ask_try(c, "capture_start", params, 0, fd);
	close(fd);
	if (!v)
		ctl_die(CTL_REFUSED, "%s", c->why);
	json_decref(v);
	if (!o->json)
		fprintf(stderr, "relayctl: capturing to %s; interrupt ends it\n", o->file);
	while (!interrupted && !over(ask(c, "capture_status", NULL)))
		wait_s(POLL_S);
	v = ask(c, "capture_stop", NULL);
	const char *ended = json_string_value(json_object_get(v, "ended"));
	bool failed = strncmp(ended, "cannot write", 12) == 0;
	if (o->json)
		print_json(v);
	else
		printf("%lld frames, %lld bytes, %lld lost to the capture; %s\n",
		       (long long)int_of(v, "written"), (long long)int_of(v, "bytes"),
		       (long long)int_of(v, "lost"), ended);
	json_decref(v);
	return failed ? CTL_REFUSED : CTL_OK;
}

/* ---- light ------------------------------------------------------------------------------ */

#define LIGHT_POLL_S 0.01
#define LIGHT_POLLS  300

static void
light_state(struct ctl *c, uint32_t slot, char out[16])
{
	json_t *v = ask(c, "lights", NULL);
	json_t *row = json_array_get(json_object_get(v, "lights"), slot);
	const char *s = json_string_value(json_object_get(row, "state"));
	snprintf(out, 16, "%s", s ? s : "?");
	json_decref(v);
}

/* Until it is lit, or drained; else 1. */
int
cmd_light(struct ctl *c, const struct options *o)
{
	uint32_t slot = number_of(o->arg[0], "SLOT", 0, 7);
	bool up = strcmp(o->arg[1], "up") == 0;
	char state[16];
	if ((!up && strcmp(o->arg[1], "down")) || o->nargs != (up ? 4 : 2))
		ctl_die(CTL_USAGE, "light SLOT up PEER ADDRESS, or light SLOT down");
	json_t *params = up ? json_pack("{s:i, s:s, s:s}", "slot", (int)slot, "peer", o->arg[2],
					"address", o->arg[3])
			    : json_pack("{s:i}", "slot", (int)slot);
	json_decref(ask(c, up ? "light_up" : "light_down", params));
	int polls = 0;
	for (light_state(c, slot, state); polls < LIGHT_POLLS && !interrupted; polls++) {
		if (strcmp(state, "opening") && strcmp(state, "draining"))
			break;
		wait_s(LIGHT_POLL_S);
		light_state(c, slot, state);
	}
	bool done = up == (strcmp(state, "lit") == 0);
	if (o->json)
		printf("{ \"slot\": %u, \"state\": \"%s\" }\n", slot, state);
	else if (up && !done)
		fprintf(stderr, "relayctl: no light in port %u: nobody answers at %s\n", slot,
			o->arg[3]);
	else
		printf("light port %u: %s\n", slot, state);
	return done ? CTL_OK : CTL_REFUSED;
}
