/* SPDX-License-Identifier: BSD-2-Clause */
#include "startup_internal.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

/* ---- memory ------------------------------------------------------------------ */

static struct impi_limits
impi_limits_of(const struct relay_startup_limits *l)
{
	return (struct impi_limits){.hosts_max = l->nhosts_max, .procs_max = l->nworld_max};
}

struct relay_job_limits
relay_startup_job_limits(const struct relay_startup_limits *l)
{
	/* Foreign processes are a host entry each; and there may be more IMPI hosts
	 * than processes, in both mappings together twice the limit. */
	uint32_t n = 2 * l->nhosts_max > l->nworld_max ? 2 * l->nhosts_max : l->nworld_max;
	return (struct relay_job_limits){.nworld_max = l->nworld_max,
					 .nhosts_max = n < 1u << 16 ? n : 1u << 16};
}

static bool
limits_good(const struct relay_startup_limits *l)
{
	return l->nworld_max >= 1 && l->nworld_max <= 1u << 18 && l->nhosts_max >= 1 &&
	       l->nhosts_max <= 1u << 16;
}

static size_t
lay_out(const struct relay_startup_limits *l, void *mem, struct relay_startup *s, void **job)
{
	struct impi_limits il = impi_limits_of(l);
	struct relay_job_limits jl = relay_startup_job_limits(l);
	struct impi_client_config cc = {.auth = {.mask = IMPI_AUTH_MASK_NONE},
					.extra_tx_bytes = EXTRA_BYTES};
	/* Entries the client sees: its own hosts, and our relays once per client. */
	size_t hosts = (size_t)l->nhosts_max + RELAY_RELAYS_MAX * IMPI_CLIENTS_MAX;
	size_t labels = hosts * 32 + (size_t)l->nworld_max * 24 + EXTRA_BYTES;
	s->store_len = labels;
	s->tx_len = labels + 16 * LABELS_MAX;
	s->scratch_len = 16 * (hosts > l->nworld_max ? hosts : l->nworld_max);
	struct base_arena a = base_arena(mem);
	s->up_mem = base_arena_take(&a, 1, impi_client_footprint(&il, &cc));
	s->store = base_arena_take(&a, 1, s->store_len);
	s->tx = base_arena_take(&a, 1, s->tx_len);
	s->scratch = base_arena_take(&a, 1, s->scratch_len);
	*job = base_arena_take(&a, 1, relay_job_footprint(&jl));
	return base_arena_bytes(&a);
}

size_t
relay_startup_seat_bytes(void)
{
	return (sizeof(struct relay_startup) + 63) & ~(size_t)63;
}

size_t
relay_startup_room_bytes(const struct relay_startup_limits *limits)
{
	struct relay_startup counting;
	void *job;
	return limits_good(limits) ? lay_out(limits, NULL, &counting, &job) : 0;
}

size_t
relay_startup_footprint(const struct relay_startup_limits *limits)
{
	size_t room = relay_startup_room_bytes(limits);
	return room ? relay_startup_seat_bytes() + room : 0;
}

/* All but the seat. */
static bool
move_in(struct relay_startup *s, void *mem)
{
	struct relay_job_limits jl = relay_startup_job_limits(&s->conf.limits);
	void *job;
	lay_out(&s->conf.limits, mem, s, &job);
	s->job = relay_job_new(job, &jl);
	impi_channel_move_tx(&s->ch, s->tx, s->tx_len);
	return s->job;
}

static bool
port_ok(uint32_t first, uint32_t slot)
{
	return first && first + slot <= UINT16_MAX;
}

static bool
member_ok(const struct relay_member *r, uint32_t slot)
{
	if (r->nshards < 1 || r->nshards > RELAY_SHARDS_MAX ||
	    r->ngate_private > RELAY_CLIENTS_MAX || !port_ok(r->gateway_port_global, slot) ||
	    !port_ok(r->gateway_port_private, slot))
		return false;
	for (uint32_t i = 0; i < r->ngate_private; i++)
		for (uint32_t k = 0; k < i; k++)
			if (r->gate_private[i] == r->gate_private[k])
				return false;
	return true;
}

static bool
conf_ok(const struct relay_startup_conf *c)
{
	const uint32_t methods = IMPI_AUTH_MASK_NONE | IMPI_AUTH_MASK_KEY;
	if (!c->member || c->nmembers < 1 || c->nmembers > RELAY_RELAYS_MAX || !c->labels ||
	    !(c->client_auth.mask & methods) || !(c->server_auth.mask & methods))
		return false;
	for (uint32_t m = 0; m < c->nmembers; m++)
		if (!member_ok(&c->member[m], c->gateway_slot) ||
		    (c->member_index && c->member_index[m] >= RELAY_RELAYS_MAX))
			return false;
	return true;
}

struct relay_startup *
relay_startup_new(void *mem, const struct relay_startup_conf *conf)
{
	if (!mem || !limits_good(&conf->limits) || !conf_ok(conf))
		return NULL;
	struct relay_startup *s = mem;
	*s = (struct relay_startup){
		.conf = *conf,
		.rank = -1,
	};
	if (impi_channel_init(&s->ch, &conf->client_auth, s->first_tx, sizeof s->first_tx))
		return NULL;
	if (!conf->room && !move_in(s, (char *)mem + relay_startup_seat_bytes()))
		return NULL;
	return s;
}

void *
relay_startup_fini(struct relay_startup *s)
{
	if (!s)
		return NULL;
	if (s->base)
		relay_labels_free(s->conf.labels, s->base, s->base_n);
	impi_client_end(s->up);
	impi_channel_fini(&s->ch);
	s->base = 0;
	s->up = NULL;
	return s;
}

/* ---- ends ---------------------------------------------------------------------- */

static void
raise_event(struct relay_startup *s, enum relay_startup_event ev)
{
	s->events |= 1u << ev;
}

static void
fail(struct relay_startup *s, const char *why)
{
	if (s->finished)
		return;
	if (why != s->why)
		relay_text_set(s->why, "%s", why);
	s->finished = true;
	impi_channel_fail(&s->ch, IMPI_ERR_LOST, s->why);
	/* Nobody wants to hear of earlier stages any more. */
	s->events = 1u << RELAY_STARTUP_ENDED;
}

static void
fail_error(struct relay_startup *s, const char *who, const struct impi_error *err)
{
	relay_text_set(s->why, "%s: %s", who, err->text[0] ? err->text : impi_strerror(err->code));
	fail(s, s->why);
}

/* ---- upwards ------------------------------------------------------------------- */

static bool
submit_label(struct relay_startup *s, uint32_t i)
{
	uint32_t label = s->label[i].label, len = 0;
	const uint8_t *data = s->scratch;
	const char *what = NULL;

	if (!impi_client_wants(s->up, label))
		return false;
	switch (relay_map_up(s, label, &len, &what)) {
	case MAP_WAIT:
		return false;
	case MAP_BAD:
		fail(s, what);
		return false;
	case MAP_RAW:
		if (!impi_channel_label(&s->ch, label, &data, &len))
			return false;
		break;
	case MAP_OK:
		break;
	}
	enum impi_err err = impi_client_submit(s->up, label, data, len);
	if (err == IMPI_ERR_FULL)
		return false; /* again after the next tx */
	if (err) {
		relay_text_set(s->why, "%s cannot be passed to the server: %s",
			       impi_label_name(label), impi_strerror(err));
		fail(s, s->why);
		return false;
	}
	s->label[i].submitted = true;
	return true;
}

static bool
client_said(const struct relay_startup *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (s->label[i].label == label)
			return true;
	return false;
}

/* The first of the labels the job table is made of that has() says no to; else
 * IMPI_NO_LABEL. */
static uint32_t
missing(const struct relay_startup *s, bool (*has)(const struct relay_startup *, uint32_t))
{
	static const uint32_t needed[] = {
		IMPI_C_NHOSTS, IMPI_C_NPROCS,  IMPI_C_DATALEN, IMPI_H_IPV6, IMPI_H_PORT,
		IMPI_H_NPROCS, IMPI_H_ACKMARK, IMPI_H_HIWATER, IMPI_P_IPV6, IMPI_P_PID};
	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		if (!has(s, needed[i]))
			return needed[i];
	return IMPI_NO_LABEL;
}

/* DONE goes up when the job table is installed everywhere in this cluster: so
 * after the server's DONE every relay of every cluster has it. */
static void
pump_done(struct relay_startup *s)
{
	if (!s->client_done || s->done_sent || s->finished)
		return;
	uint32_t label = missing(s, client_said);
	if (label != IMPI_NO_LABEL) {
		relay_text_set(s->why, "the client said DONE without having submitted %s",
			       impi_label_name(label));
		fail(s, s->why);
		return;
	}
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!s->label[i].submitted)
			return;
	if (s->table == TABLE_DONE && impi_client_done(s->up) == IMPI_ERR_OK)
		s->done_sent = true;
}

/* ---- downwards ------------------------------------------------------------------ */

static void
answer(struct relay_startup *s, uint32_t i, const void *data, uint32_t len)
{
	enum impi_err err =
		impi_channel_reply(&s->ch, s->label[i].label, s->label[i].mask, data, len);
	if (err) {
		relay_text_set(s->why, "the reply to %s cannot be passed to the client: %s",
			       impi_label_name(s->label[i].label), impi_strerror(err));
		fail(s, s->why);
		return;
	}
	s->label[i].answered = true;
}

static void
answer_composed(struct relay_startup *s, uint32_t i)
{
	const char *what = NULL;
	uint32_t len = 0;
	switch (relay_map_down(s, s->label[i].label, s->label[i].mask, &len, &what)) {
	case MAP_OK:
		answer(s, i, s->scratch, len);
		break;
	case MAP_BAD:
		fail(s, what);
		break;
	default:
		break;
	}
}

static bool
server_replied(const struct relay_startup *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (s->label[i].label == label)
			return s->label[i].replied;
	return false;
}

/* All hosts and processes are known: the table is due. */
static void
pump_table(struct relay_startup *s)
{
	if (s->table != TABLE_NONE || missing(s, server_replied) != IMPI_NO_LABEL)
		return;
	if (!relay_map_table(s)) {
		fail(s, s->why);
		return;
	}
	s->table = TABLE_OFFERED;
	raise_event(s, RELAY_STARTUP_TABLE);
}

static void
pump_answers(struct relay_startup *s)
{
	/* The client must not learn the last of the ids before the table is installed. */
	bool last_id = server_replied(s, IMPI_P_IPV6) && server_replied(s, IMPI_P_PID);
	for (uint32_t i = 0; i < s->nlabels && !s->finished; i++) {
		if (!s->label[i].replied || s->label[i].answered)
			continue;
		if ((s->label[i].label == IMPI_P_IPV6 || s->label[i].label == IMPI_P_PID) &&
		    last_id && s->table != TABLE_DONE)
			continue;
		answer_composed(s, i);
	}
}

static void
pump(struct relay_startup *s)
{
	if (s->finished || !s->up || !s->nclients)
		return;
	for (uint32_t i = 0; i < s->nlabels && !s->finished; i++)
		if (!s->label[i].submitted)
			submit_label(s, i);
	if (!s->finished)
		pump_table(s);
	pump_answers(s);
	pump_done(s);
}

/* ---- the client ------------------------------------------------------------------ */

static void
client_rank(struct relay_startup *s, int32_t rank)
{
	if (rank < 0 || rank >= IMPI_CLIENTS_MAX) {
		relay_text_set(s->why, "client rank %d is out of range (0 .. %d)", rank,
			       IMPI_CLIENTS_MAX - 1);
		fail(s, s->why);
		return;
	}
	s->rank = rank;
	if (s->conf.room) {
		const char *why = "there is no memory for it";
		void *room =
			s->conf.room(s->conf.user, relay_startup_room_bytes(&s->conf.limits), &why);
		if (!room || !move_in(s, room)) {
			fail(s, why);
			return;
		}
	}
	if (impi_channel_join(&s->ch, s->store, s->store_len)) {
		fail(s, "the client's channel cannot be joined");
		return;
	}
	raise_event(s, RELAY_STARTUP_CONNECT);
}

static void
finish_job(struct relay_startup *s)
{
	if (impi_client_fini(s->up)) {
		fail(s, "the client said FINI before the job ran");
		return;
	}
	s->finished = s->ok = true;
	raise_event(s, RELAY_STARTUP_ENDED);
}

static void
client_event(struct relay_startup *s, const struct impi_channel_event *ev)
{
	s->stepped |= ev->type != IMPI_CH_NONE;
	switch (ev->type) {
	case IMPI_CH_NONE:
		break;
	case IMPI_CH_RANK:
		client_rank(s, ev->rank);
		break;
	case IMPI_CH_LABEL:
		if (s->nlabels == LABELS_MAX) {
			fail(s, "the client submits too many labels");
			break;
		}
		s->label[s->nlabels].label = ev->label;
		s->nlabels++;
		break;
	case IMPI_CH_DONE:
		s->client_done = true;
		break;
	case IMPI_CH_FINI:
		finish_job(s);
		break;
	case IMPI_CH_FAILED:
		fail_error(s, "client", &s->ch.err);
		break;
	}
}

static void
client_rx(struct relay_startup *s, const uint8_t *p, size_t len)
{
	while (len > 0 && !s->finished) {
		struct impi_channel_event ev = {.type = IMPI_CH_NONE};
		size_t n = impi_channel_rx(&s->ch, p, len, &ev);
		BASE_ASSERT(n <= len && (n > 0 || ev.type != IMPI_CH_NONE));
		p += n;
		len -= n;
		client_event(s, &ev);
	}
}

/* ---- the server ------------------------------------------------------------------- */

static void
server_label(struct relay_startup *s, const struct impi_client_event *ev)
{
	for (uint32_t i = 0; i < s->nlabels; i++) {
		if (s->label[i].label != ev->label || s->label[i].replied)
			continue;
		s->label[i].replied = true;
		s->label[i].mask = ev->mask;
		if (!relay_map_is_composed(ev->label))
			answer(s, i, ev->data, ev->len);
		return;
	}
}

/* What the server says of another client is our client's to know. */
static void
missing_client(struct relay_startup *s)
{
	uint32_t rank;
	const char *text = impi_client_missing(s->up, &rank);
	if (text)
		impi_channel_tell_gone(&s->ch, rank, text);
}

static void
server_event(struct relay_startup *s, const struct impi_client_event *ev)
{
	switch (ev->type) {
	case IMPI_CL_NONE:
		break;
	case IMPI_CL_SIZE:
		s->nclients = ev->nclients;
		if (impi_channel_size(&s->ch, ev->nclients))
			fail(s, "the number of clients cannot be passed to the client");
		break;
	case IMPI_CL_LABEL:
		server_label(s, ev);
		break;
	case IMPI_CL_STARTED:
		if (impi_channel_done(&s->ch))
			fail(s, "DONE cannot be passed to the client");
		else
			raise_event(s, RELAY_STARTUP_RUNNING);
		break;
	case IMPI_CL_FAILED:
		missing_client(s);
		fail_error(s, "server", impi_client_error(s->up));
		break;
	}
}

static void
server_rx(struct relay_startup *s, const uint8_t *p, size_t len)
{
	while (len > 0 && !s->finished) {
		struct impi_client_event ev = {.type = IMPI_CL_NONE};
		size_t n = impi_client_rx(s->up, p, len, &ev);
		BASE_ASSERT(n <= len && (n > 0 || ev.type != IMPI_CL_NONE));
		p += n;
		len -= n;
		server_event(s, &ev);
		pump(s);
	}
}

/* ---- entry points ------------------------------------------------------------------ */

void
relay_startup_rx(struct relay_startup *s, enum relay_side side, const void *data, size_t len)
{
	if (s->finished || (side == RELAY_SIDE_SERVER && !s->up))
		return;
	if (side == RELAY_SIDE_CLIENT)
		client_rx(s, data, len);
	else
		server_rx(s, data, len);
	pump(s);
}

void
relay_startup_eof(struct relay_startup *s, enum relay_side side, const char *text)
{
	if (s->finished)
		return;
	if (side == RELAY_SIDE_CLIENT && s->rank < 0)
		relay_text_set(s->why, "the connection ended before it said its rank%s%s",
			       text ? ": " : "", text ? text : "");
	else if (side == RELAY_SIDE_CLIENT)
		relay_text_set(s->why, "client %d: its connection ended before FINI%s%s", s->rank,
			       text ? ": " : "", text ? text : "");
	else if (s->gone_told)
		relay_text_set(s->why, "the server was told that client %d is gone: %s", s->rank,
			       s->ch.gone.text);
	else if (!s->up)
		relay_text_set(s->why, "cannot connect to the server%s%s", text ? ": " : "",
			       text ? text : "");
	else
		relay_text_set(s->why,
			       "the server closed the connection before the job finished%s%s",
			       text ? ": " : "", text ? text : "");
	fail(s, s->why);
}

size_t
relay_startup_tx(struct relay_startup *s, enum relay_side side, void *buf, size_t cap)
{
	if (side == RELAY_SIDE_CLIENT)
		return impi_channel_tx(&s->ch, buf, cap);
	if (!s->up || (s->finished && !s->ok))
		return 0;
	size_t n = impi_client_tx(s->up, buf, cap);
	if (n)
		pump(s); /* a label may have waited for room */
	return n;
}

bool
relay_startup_tx_pending(const struct relay_startup *s, enum relay_side side)
{
	if (side == RELAY_SIDE_CLIENT)
		return impi_channel_tx_pending(&s->ch);
	return s->up && !(s->finished && !s->ok) && impi_client_tx_pending(s->up);
}

enum relay_startup_event
relay_startup_poll(struct relay_startup *s)
{
	for (unsigned int ev = RELAY_STARTUP_CONNECT; ev <= RELAY_STARTUP_ENDED; ev++) {
		if (s->events >> ev & 1) {
			s->events &= ~(1u << ev);
			return (enum relay_startup_event)ev;
		}
	}
	return RELAY_STARTUP_NONE;
}

bool
relay_startup_admit(struct relay_startup *s, uint32_t job_id, uint16_t gateway_slot)
{
	for (uint32_t m = 0; m < s->conf.nmembers; m++)
		if (!member_ok(&s->conf.member[m], gateway_slot))
			return false;
	s->conf.job_id = job_id;
	s->conf.gateway_slot = gateway_slot;
	return true;
}

/* Is start-up waiting for the client and for nobody else? */
static bool
clients_turn(const struct relay_startup *s)
{
	if (s->rank < 0 || s->ch.state == IMPI_CHS_RUNNING)
		return false;
	if (impi_channel_is_midway(&s->ch))
		return true;
	if (!s->nclients || s->client_done)
		return false;
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!s->label[i].answered)
			return false;
	return true;
}

/* The launcher's word, as soon as the server's answer to AUTH is here: the age of the launcher is
 * counted then. */
static void
pump_gone(struct relay_startup *s, uint64_t now_ns)
{
	uint64_t age_ns = s->ch.gone.age_ns + (now_ns - s->conf.begun_ns);
	if (s->ch.gone.said && s->up && !s->finished && age_ns >= s->ch.gone.age_ns &&
	    impi_client_say_gone(s->up, age_ns) == IMPI_ERR_OK)
		s->gone_told = true;
}

uint64_t
relay_startup_gone_ns(const struct relay_startup *s)
{
	if (!s->ch.gone.said)
		return 0;
	return s->ch.gone.age_ns < s->conf.begun_ns ? s->conf.begun_ns - s->ch.gone.age_ns : 1;
}

void
relay_startup_tick(struct relay_startup *s, uint64_t now_ns)
{
	pump_gone(s, now_ns);
	if (s->finished || !s->conf.step_timeout_ns || !clients_turn(s)) {
		s->turn_ns = 0;
		return;
	}
	if (!s->turn_ns || s->stepped) {
		s->stepped = false;
		s->turn_ns = now_ns;
		return;
	}
	if (now_ns - s->turn_ns < s->conf.step_timeout_ns)
		return;
	relay_text_set(s->why,
		       "client %d: no step of start-up for %.3f s although it is its turn (next "
		       "label or DONE)",
		       s->rank, (double)s->conf.step_timeout_ns / 1e9);
	fail(s, s->why);
}

void
relay_startup_connected(struct relay_startup *s)
{
	if (s->finished || s->up || s->rank < 0)
		return;
	struct impi_limits il = impi_limits_of(&s->conf.limits);
	struct impi_client_config cc = {.auth = s->conf.server_auth,
					.rank = (uint32_t)s->rank,
					.extra_tx_bytes = EXTRA_BYTES,
					.gone = s->ch.gone.said ? s->ch.gone.text : NULL};
	s->up = impi_client_new(s->up_mem, &il, &cc);
	if (!s->up)
		fail(s, "the server's channel cannot be set up");
}

void
relay_startup_table_done(struct relay_startup *s, const char *refusal)
{
	if (s->finished || s->table != TABLE_OFFERED)
		return;
	if (refusal) {
		relay_text_set(s->why, "the job cannot be set up in this cluster: %s", refusal);
		fail(s, s->why);
		return;
	}
	s->table = TABLE_DONE;
	pump(s);
}

void
relay_startup_abort(struct relay_startup *s, const char *why)
{
	fail(s, why);
}

void
relay_startup_finish(struct relay_startup *s)
{
	if (!s->finished && s->up)
		finish_job(s);
}

const struct relay_job *
relay_startup_job(const struct relay_startup *s)
{
	return s->table == TABLE_NONE ? NULL : s->job;
}

bool
relay_startup_ok(const struct relay_startup *s)
{
	return s->ok;
}

const char *
relay_startup_why(const struct relay_startup *s)
{
	return s->why;
}

int32_t
relay_startup_rank(const struct relay_startup *s)
{
	return s->rank;
}

uint32_t
relay_startup_nclients(const struct relay_startup *s)
{
	return s->nclients;
}

const char *
relay_startup_waiting(const struct relay_startup *s)
{
	if (s->finished)
		return "nothing, it has ended";
	if (s->rank < 0)
		return "the client's authentication and rank";
	if (!s->up)
		return "the connection to the server";
	if (!s->nclients)
		return "the other clients to join at the server";
	if (s->table == TABLE_OFFERED)
		return "the job table to be installed on the cluster's relays";
	if (impi_client_state(s->up) == IMPI_CLS_RUNNING)
		return "the end of the job";
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (s->label[i].submitted && !s->label[i].replied)
			return impi_label_name(s->label[i].label);
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!s->label[i].submitted)
			return "IMPI_C_NPROCS, which other labels need";
	return s->done_sent ? "the other clients to say DONE" : "the client's next label or DONE";
}
