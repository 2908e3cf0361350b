/* SPDX-License-Identifier: BSD-2-Clause */
#include "reload.h"

#include "jobs.h"
#include "log.h"

#include <string.h>

#define FAULT(r, pointer, ...) rd_fault_add(&(r)->faults, pointer, 0, __VA_ARGS__)

static void
forget_next(struct rd_reload *r)
{
	rd_keys_free(r->next.keys);
	explicit_bzero(&r->next, sizeof r->next);
}

/* ---- look ---------------------------------------------------------------------------------- */

static bool
same_link_keys(const struct seal_link_conf *a, const struct seal_link_conf *b)
{
	return a->nkeys == b->nkeys && memcmp(a->key, b->key, sizeof a->key) == 0;
}

/* The keys that the merged configuration names, and whether they are others than those in use. */
static bool
read_next_keys(struct rd_reload *r)
{
	const struct rd_conf *conf = &r->merged;
	char err[256];
	r->next.keys = rd_keys_load(conf, err, sizeof err);
	if (!r->next.keys ||
	    rd_channel_keys(conf, &r->next.peer, &r->next.light, err, sizeof err) ||
	    rd_server_keys(conf, &r->next.server, err, sizeof err)) {
		FAULT(r, "/sealing", "%s", err);
		return false;
	}
	if (conf->impi.auth == RD_AUTH_KEY &&
	    !rd_read_key(conf->impi.key_file, &r->next.impi_key, err, sizeof err)) {
		FAULT(r, "/impi/key_file", "%s", err);
		return false;
	}
	r->rekeys = !rd_keys_same(*r->keys, r->next.keys) ||
		    !same_link_keys(&r->jobs->peer_keys, &r->next.peer) ||
		    !same_link_keys(&r->jobs->server_keys, &r->next.server) ||
		    !same_link_keys(r->light_keys, &r->next.light) ||
		    (conf->impi.auth == RD_AUTH_KEY && r->jobs->auth.key != r->next.impi_key);
	return true;
}

static bool
prepare_reload(struct rd_reload *r)
{
	r->faults.count = 0;
	r->changes.count = r->changes.restart = 0;
	r->rekeys = false;
	if (r->mails) {
		FAULT(r, "", "the reload before this one has not ended");
		return false;
	}
	if (!rd_conf_load(r->path, &r->file, &r->faults))
		return false;
	rd_conf_changes(r->conf, &r->file, &r->changes);
	if (!rd_conf_merge(r->conf, &r->file, &r->merged, &r->faults)) {
		FAULT(r, "", "so it is with what only a restart changes; nothing is taken over");
		return false;
	}
	return read_next_keys(r);
}

bool
rd_reload_look(struct rd_reload *r)
{
	bool good = prepare_reload(r);
	forget_next(r);
	return good;
}

/* ---- apply --------------------------------------------------------------------------------- */

static bool
file_changes(const struct rd_reload *r, const char *path)
{
	for (uint32_t i = 0; i < r->changes.count; i++)
		if (r->changes.change[i].now && strcmp(r->changes.change[i].key->path, path) == 0)
			return true;
	return false;
}

static void
finish_reload(struct rd_reload *r)
{
	void (*done)(void *) = r->done;
	if (r->failed)
		rd_log(RD_LOG_ERROR, "reload: a worker could not take everything over; restart");
	else
		rd_keys_free(r->old);
	r->old = NULL;
	r->done = NULL;
	if (done)
		done(r->user);
}

static void
reload_answered(struct rd_mail *mail)
{
	struct rd_reload *r = mail->owner;
	r->failed |= mail->result != 0;
	if (--r->mails == 0)
		finish_reload(r);
}

/* One to each worker; of the two, what the type needs. */
static void
tell_workers(struct rd_reload *r, enum rd_mail_type type, void *tool, uint32_t number)
{
	for (uint32_t i = 0; i < r->post->nworkers; i++) {
		struct rd_mail *mail = rd_post_mail(r->post, i, type);
		if (type == RD_MAIL_POLICIES) {
			mail->rules.rule = tool;
			mail->rules.n = number;
		} else if (type == RD_MAIL_WEIGHT) {
			mail->trunks.weight = number;
		} else if (type == RD_MAIL_IDLE) {
			mail->idle = number;
		} else {
			mail->tool = tool;
		}
		mail->owner = r;
		mail->done = reload_answered;
		r->mails++;
		rd_post_send(r->post, mail);
	}
}

static void
apply_keys(struct rd_reload *r)
{
	struct rd_jobs *j = r->jobs;
	j->peer_keys = r->next.peer;
	j->server_keys = r->next.server;
	*r->light_keys = r->next.light;
	if (rd_keys_same(*r->keys, r->next.keys))
		return;
	r->old = *r->keys;
	*r->keys = r->next.keys;
	r->next.keys = NULL;
	if (r->old->sealed)
		tell_workers(r, RD_MAIL_KEYS, *r->keys, 0);
}

static void
apply_impi(struct rd_reload *r)
{
	struct rd_jobs *j = r->jobs;
	bool key = r->conf->impi.auth == RD_AUTH_KEY;
	j->auth.mask = key ? IMPI_AUTH_MASK_KEY : IMPI_AUTH_MASK_NONE;
	j->auth.key = key ? r->next.impi_key : 0;
	if (file_changes(r, "impi.server"))
		(void)rd_conf_server(r->conf, &j->server);
}

static void
apply_trunks(struct rd_reload *r)
{
	const struct rd_conf *conf = r->conf;
	if (file_changes(r, "trunks.policy") || file_changes(r, "trunks.pairs")) {
		uint32_t n = 0;
		r->rule[n++] = (struct relay_policy_rule){.policy = (uint8_t)conf->trunks.policy};
		for (uint32_t i = 0; i < conf->trunks.npairs; i++) {
			const struct rd_conf_pair *p = &conf->trunks.pair[i];
			r->rule[n++] = (struct relay_policy_rule){
				p->address, (uint8_t)p->prefix_len, (uint8_t)p->policy};
		}
		r->settings->policy = conf->trunks.policy;
		tell_workers(r, RD_MAIL_POLICIES, r->rule, n);
	}
	/* One that drains goes on with that; undrain gives the new weight. */
	if (file_changes(r, "trunks.weight") && r->settings->weight) {
		r->settings->weight = conf->trunks.weight;
		tell_workers(r, RD_MAIL_WEIGHT, NULL, conf->trunks.weight);
	}
}

static void
apply_suci(struct rd_reload *r)
{
	for (uint32_t i = 0; i < r->changes.count; i++) {
		const struct rd_change *c = &r->changes.change[i];
		if (!c->now || strncmp(c->key->path, "suci.", 5) != 0)
			continue;
		tell_workers(r, RD_MAIL_SUCI, &r->conf->suci, 0);
		return;
	}
}

static void
apply_settings(struct rd_reload *r)
{
	const struct rd_conf *conf = r->conf;
	if (file_changes(r, "log_level"))
		rd_log_set_level((enum rd_log_level)conf->log_level);
	if (file_changes(r, "drain_ms"))
		r->settings->drain_ms = conf->drain_ms;
	if (!file_changes(r, "idle"))
		return;
	r->settings->idle = conf->idle;
	tell_workers(r, RD_MAIL_IDLE, NULL, conf->idle);
}

bool
rd_reload_apply(struct rd_reload *r, void (*done)(void *user), void *user)
{
	if (!prepare_reload(r)) {
		forget_next(r);
		r->refused++;
		return false;
	}
	rd_conf_take(r->conf, &r->merged);
	r->done = done;
	r->user = user;
	r->failed = false;
	r->times++;
	apply_settings(r);
	apply_impi(r);
	apply_trunks(r);
	apply_suci(r);
	apply_keys(r);
	forget_next(r);
	if (!r->mails)
		finish_reload(r);
	return true;
}

void
rd_reload_forget(struct rd_reload *r, const void *user)
{
	if (r->user == user)
		r->done = NULL;
}

void
rd_reload_fini(struct rd_reload *r)
{
	rd_keys_free(r->old);
	r->old = NULL;
	r->done = NULL;
}

/* ---- the log ------------------------------------------------------------------------------- */

static void
log_faults(const struct rd_reload *r)
{
	uint32_t n = r->faults.count < RD_FAULTS_MAX ? r->faults.count : RD_FAULTS_MAX;
	for (uint32_t i = 0; i < n; i++) {
		const struct rd_fault *f = &r->faults.fault[i];
		char line[16] = "";
		if (f->line)
			snprintf(line, sizeof line, ":%u", f->line);
		rd_log(RD_LOG_ERROR, "reload: %s%s: %s%s%s", r->path, line, f->pointer,
		       *f->pointer ? ": " : "", f->text);
	}
	rd_log(RD_LOG_ERROR, "reload: %s has %u fault%s; nothing was changed", r->path,
	       r->faults.count, r->faults.count == 1 ? "" : "s");
}

void
rd_reload_log(const struct rd_reload *r, bool good)
{
	if (!good) {
		log_faults(r);
		return;
	}
	for (uint32_t i = 0; i < r->changes.count; i++) {
		const struct rd_change *c = &r->changes.change[i];
		rd_log(c->now ? RD_LOG_INFO : RD_LOG_WARNING, "reload: %s: %s -> %s%s%s%s",
		       c->key->path, c->from, c->to, c->now ? "" : " needs a restart, and stays",
		       *c->why ? ": " : "", c->why);
	}
	rd_log(RD_LOG_INFO, "reload: %s: %u of %u changes taken over%s", r->path,
	       r->changes.count - r->changes.restart, r->changes.count,
	       r->rekeys ? ", and other keys" : "");
}
