/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/server.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/lobby.h"
#include "impi/channel.h"
#include "rules.h"

#define NO_DEADLINE UINT64_MAX
#define NO_CONN	    (-1)
#define LOST_JUST_NOW \
	1 /* the grace, or the time to tell who is gone, begins when a call tells the time */

struct conn {
	bool open;
	bool tell_joined, tell_close; /* events not fetched yet */
	int32_t rank;		      /* -1 until joined */
	int seat;		      /* in the lobby, until joined or closed; else -1 */
	uint64_t opened_ns, deadline_ns;
	char name[IMPI_SERVER_NAME_MAX]; /* for texts; "" if not known */
	struct impi_error err;		 /* why it is to be closed */
	struct impi_channel ch;
	/* the reply being sent */
	struct job_label *reply;
	uint32_t part;	   /* client whose value is next */
	uint32_t part_off; /* bytes of it that were given */
};

struct job_label {
	uint32_t label;
	uint32_t submitted; /* mask of clients */
	uint32_t sent;	    /* mask of clients that have the whole reply in their queue */
	bool released;
};

struct impi_server {
	struct impi_server_config cfg;
	enum impi_server_state state;
	bool tell_sized, tell_started, tell_end;
	struct impi_error err; /* first cause, if FAILED */
	uint32_t all;	       /* mask of all clients */
	uint32_t joined, done, fini, lost;
	uint64_t gone_ns;	 /* the same: who is gone was said, and is the error */
	uint64_t loss_ns;	 /* 0: nobody was lost; LOST_JUST_NOW; else the end of the grace */
	uint64_t still_ns;	 /* deadline of a start-up that stands still */
	bool moved;		 /* something has become complete since it was set */
	struct base_lobby lobby; /* those that have not joined */
	int conn_of[IMPI_CLIENTS_MAX]; /* by rank; of a finished client NO_CONN */
	uint32_t nlabels;
	struct job_label label[IMPI_CHANNEL_LABELS_MAX];
	uint8_t *store; /* nclients * store_bytes */
	uint32_t nconns;
	struct conn conn[];
};

/* --- memory ------------------------------------------------------------- */

static uint32_t
conns_max(const struct impi_server_config *cfg)
{
	return cfg->nclients + IMPI_SERVER_STRANGERS_MAX;
}

/* What the connections send, one behind the other, and what is stored. */
static size_t
lay_out_server(const struct impi_server_config *cfg, void *mem, uint8_t **tx, uint8_t **store)
{
	struct base_arena a = base_arena(mem);
	base_arena_take(&a, 1, sizeof(struct impi_server) + conns_max(cfg) * sizeof(struct conn));
	*tx = base_arena_take(&a, conns_max(cfg), cfg->tx_bytes);
	*store = base_arena_take(&a, cfg->nclients, cfg->store_bytes);
	return base_arena_bytes(&a);
}

size_t
impi_server_footprint(const struct impi_server_config *cfg)
{
	if (cfg->nclients < 1 || cfg->nclients > IMPI_CLIENTS_MAX || cfg->auth.mask == 0 ||
	    cfg->join_timeout_ns == 0 || cfg->store_bytes < 64 ||
	    cfg->store_bytes > 4 * (size_t)IMPI_CMD_BYTES_MAX ||
	    cfg->tx_bytes < IMPI_CHANNEL_TX_BYTES_MIN || cfg->tx_bytes > IMPI_CMD_BYTES_MAX)
		return 0;
	uint8_t *tx, *store;
	return lay_out_server(cfg, NULL, &tx, &store);
}

struct impi_server *
impi_server_new(void *mem, const struct impi_server_config *cfg)
{
	if (!mem || !impi_server_footprint(cfg))
		return NULL;
	struct impi_server *s = mem;
	uint8_t *tx, *store;
	lay_out_server(cfg, mem, &tx, &store);
	*s = (struct impi_server){
		.cfg = *cfg,
		.state = IMPI_SVS_GATHERING,
		.still_ns = NO_DEADLINE,
		.all = cfg->nclients == 32 ? UINT32_MAX : (1u << cfg->nclients) - 1,
		.nconns = conns_max(cfg),
	};
	base_lobby_init(&s->lobby, IMPI_SERVER_STRANGERS_MAX, IMPI_SERVER_STRANGER_GRACE_NS);
	for (int i = 0; i < IMPI_CLIENTS_MAX; i++)
		s->conn_of[i] = NO_CONN;
	for (uint32_t i = 0; i < s->nconns; i++) {
		s->conn[i] = (struct conn){
			.rank = -1, .seat = -1, .ch = {.tx = {.buf = tx + i * cfg->tx_bytes}}};
	}
	s->store = store;
	return s;
}

void
impi_server_end(struct impi_server *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nconns; i++)
		impi_channel_fini(&s->conn[i].ch);
	explicit_bzero(&s->cfg, sizeof s->cfg);
}

static bool
is_over(const struct impi_server *s)
{
	return s->state == IMPI_SVS_COMPLETE || s->state == IMPI_SVS_FAILED;
}

/* --- ends --------------------------------------------------------------- */

static void
leave_server_lobby(struct impi_server *s, struct conn *c)
{
	base_lobby_leave(&s->lobby, c->seat);
	c->seat = -1;
}

static void
close_conn(struct impi_server *s, struct conn *c, enum impi_err code, const char *why)
{
	if (!c->open || c->tell_close)
		return;
	leave_server_lobby(s, c);
	c->tell_close = true;
	c->deadline_ns = NO_DEADLINE;
	c->err = (struct impi_error){0};
	if (code != IMPI_ERR_OK)
		impi_error_set(&c->err, code, "%s", why);
	impi_channel_fail(&c->ch, code, why);
}

static void
end_job(struct impi_server *s, enum impi_server_state state)
{
	const char *why = state == IMPI_SVS_COMPLETE ? "the job is complete" : s->err.text;
	s->state = state;
	s->tell_end = true;
	s->still_ns = NO_DEADLINE;
	s->loss_ns = 0;
	for (uint32_t i = 0; i < s->nconns; i++)
		close_conn(s, &s->conn[i], IMPI_ERR_LOST, why);
}

static void
fail_job(struct impi_server *s, enum impi_err code, const char *why)
{
	if (is_over(s))
		return;
	impi_error_set(&s->err, code, "%s", why);
	end_job(s, IMPI_SVS_FAILED);
}

/* Every reply has left the stores, so that nobody's values are needed any more. */
static bool
all_released(const struct impi_server *s)
{
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!s->label[i].released)
			return false;
	return true;
}

/* All that is left for the server to say is DONE. */
static bool
has_started(const struct impi_server *s)
{
	return s->joined == s->all && s->done == s->all && all_released(s);
}

static void
end_if_all_gone(struct impi_server *s)
{
	if ((s->fini | s->lost) == s->all)
		end_job(s, s->lost ? IMPI_SVS_FAILED : IMPI_SVS_COMPLETE);
}

/* The connection is over, by a violation, a time limit or its end. */
static void
lose_conn(struct impi_server *s, struct conn *c)
{
	struct impi_error cause = c->ch.err;
	char why[IMPI_ERROR_TEXT_MAX];
	int32_t rank = c->rank;
	close_conn(s, c, cause.code, cause.text);
	if (rank < 0)
		return;
	snprintf(why, sizeof why, "client %d was lost: %.150s", rank, cause.text);
	if (impi_rule_loss_ends_job(has_started(s))) {
		fail_job(s, IMPI_ERR_LOST, why);
		return;
	}
	s->lost |= 1u << rank;
	if (s->loss_ns == 0)
		s->loss_ns = LOST_JUST_NOW;
	impi_error_set(&s->err, IMPI_ERR_LOST, "%s", why);
	end_if_all_gone(s);
}

/* --- labels ------------------------------------------------------------- */

static struct conn *
conn_of_client(struct impi_server *s, uint32_t client)
{
	BASE_ASSERT(s->conn_of[client] != NO_CONN);
	return &s->conn[s->conn_of[client]];
}

static struct job_label *
find_label(struct impi_server *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (s->label[i].label == label)
			return &s->label[i];
	return NULL;
}

static void
take_label(struct impi_server *s, struct conn *c, uint32_t label)
{
	struct job_label *l = find_label(s, label);
	if (!l) {
		if (s->nlabels == IMPI_CHANNEL_LABELS_MAX) {
			impi_channel_fail(&c->ch, IMPI_ERR_OVERSIZE,
					  "too many different labels in the job");
			lose_conn(s, c);
			return;
		}
		l = &s->label[s->nlabels++];
		*l = (struct job_label){.label = label};
	}
	l->submitted |= 1u << c->rank;
}

/* Bytes of the whole reply's data. */
static uint64_t
reply_bytes(struct impi_server *s, const struct job_label *l)
{
	uint64_t sum = 0;
	for (uint32_t r = 0; r < s->cfg.nclients; r++) {
		const uint8_t *data;
		uint32_t len;
		if (l->submitted & (1u << r) &&
		    impi_channel_label(&conn_of_client(s, r)->ch, l->label, &data, &len))
			sum += len;
	}
	return sum;
}

static void
release_label(struct impi_server *s, struct job_label *l)
{
	uint32_t to = impi_rule_reply_to(l->submitted, s->all);
	if (l->released || (l->sent & to) != to)
		return;
	l->released = true;
	for (uint32_t r = 0; r < s->cfg.nclients; r++)
		if (l->submitted & (1u << r))
			impi_channel_release(&conn_of_client(s, r)->ch, l->label);
}

/* Give c more of the reply it is getting; true when it has it all. */
static bool
go_on_with_reply(struct impi_server *s, struct conn *c)
{
	struct job_label *l = c->reply;
	while (c->part < s->cfg.nclients) {
		const uint8_t *data;
		uint32_t len;
		if (!(l->submitted & (1u << c->part))) {
			c->part++;
			continue;
		}
		bool there =
			impi_channel_label(&conn_of_client(s, c->part)->ch, l->label, &data, &len);
		BASE_ASSERT(there);
		c->part_off += (uint32_t)impi_channel_reply_give(&c->ch, data + c->part_off,
								 len - c->part_off);
		if (c->part_off < len)
			return false;
		c->part++;
		c->part_off = 0;
	}
	c->reply = NULL;
	s->moved = true;
	l->sent |= 1u << c->rank;
	release_label(s, l);
	return true;
}

/* The next label c waits for that is complete, in the order c submitted them. */
static struct job_label *
next_reply(struct impi_server *s, struct conn *c)
{
	for (uint32_t i = 0; i < c->ch.nentries; i++) {
		struct job_label *l = find_label(s, c->ch.entry[i].label);
		if (c->ch.entry[i].answered || !l)
			continue;
		if (impi_rule_label_complete(l->submitted, s->done, s->all) &&
		    impi_rule_reply_to(l->submitted, s->all) & (1u << c->rank))
			return l;
	}
	return NULL;
}

/* Queue for c whatever is due and has room. */
static void
pump_server(struct impi_server *s, struct conn *c)
{
	if (!c->open || c->tell_close || c->rank < 0 || s->joined != s->all)
		return;
	if (!c->ch.size_sent) {
		enum impi_err e = impi_channel_size(&c->ch, s->cfg.nclients);
		BASE_ASSERT(e == IMPI_ERR_OK);
	}
	for (;;) {
		if (c->reply && !go_on_with_reply(s, c))
			return;
		struct job_label *l = next_reply(s, c);
		if (!l)
			break;
		uint64_t len = reply_bytes(s, l);
		if (len > IMPI_CMD_BYTES_MAX - IMPI_COLL_REPLY_BYTES) {
			char why[IMPI_ERROR_TEXT_MAX];
			snprintf(why, sizeof why,
				 "label 0x%x (%s): the values of all clients are %llu bytes, "
				 "limit is %u",
				 l->label, impi_label_name(l->label), (unsigned long long)len,
				 IMPI_CMD_BYTES_MAX - IMPI_COLL_REPLY_BYTES);
			fail_job(s, IMPI_ERR_LIMIT, why);
			return;
		}
		if (impi_channel_reply_begin(&c->ch, l->label, l->submitted, (uint32_t)len) !=
		    IMPI_ERR_OK)
			return; /* no room now; called again when some was taken */
		c->reply = l;
		c->part = 0;
		c->part_off = 0;
	}
	/* Not before: who has DONE may say FINI and go, and its values with it. */
	if (has_started(s) && c->ch.state == IMPI_CHS_DONE_SEEN &&
	    impi_channel_done(&c->ch) == IMPI_ERR_OK) /* FULL: called again */
		s->moved = true;
}

static void
pump_all(struct impi_server *s)
{
	for (uint32_t i = 0; i < s->nconns; i++)
		pump_server(s, &s->conn[i]);
}

/* --- events of a channel ------------------------------------------------- */

/* c is the launcher of that rank and says that it will not come.  Believed from a launcher of this
 * job only, and where jobs follow each other only while others wait: those that are to come may
 * have been started since. */
static void
take_gone_client(struct impi_server *s, struct conn *c, int32_t rank)
{
	uint64_t began = s->cfg.began_ns;
	bool ours = began == 0 || (s->joined != 0 && c->opened_ns > began &&
				   c->ch.gone.age_ns < c->opened_ns - began);
	if (ours && s->state == IMPI_SVS_GATHERING && !(s->joined & (1u << rank)) &&
	    s->gone_ns == 0) {
		s->gone_ns = LOST_JUST_NOW;
		impi_error_set(&s->err, IMPI_ERR_LOST, "client %d is gone before it joined: %s",
			       rank, c->ch.gone.text);
		for (uint32_t i = 0; i < s->nconns; i++)
			if (s->conn[i].open && s->conn[i].rank >= 0)
				impi_channel_tell_gone(&s->conn[i].ch, (uint32_t)rank,
						       c->ch.gone.text);
	}
	impi_channel_fail(&c->ch, IMPI_ERR_LOST, "said that its client is gone");
	lose_conn(s, c);
}

static void
take_rank(struct impi_server *s, struct conn *c, int32_t rank)
{
	char why[IMPI_ERROR_TEXT_MAX];
	if (rank < 0 || (uint32_t)rank >= s->cfg.nclients) {
		snprintf(why, sizeof why, "client rank %d is not in 0..%u", rank,
			 s->cfg.nclients - 1);
		impi_channel_fail(&c->ch, IMPI_ERR_RANK, why);
		lose_conn(s, c);
		return;
	}
	if (c->ch.gone.said) {
		take_gone_client(s, c, rank);
		return;
	}
	if (s->joined & (1u << rank)) {
		const struct conn *holder =
			s->conn_of[rank] == NO_CONN ? NULL : &s->conn[s->conn_of[rank]];
		snprintf(why, sizeof why, "client rank %d is already taken%s%s", rank,
			 holder && holder->name[0] ? " by " : "", holder ? holder->name : "");
		impi_channel_fail(&c->ch, IMPI_ERR_DUPLICATE, why);
		lose_conn(s, c);
		return;
	}
	enum impi_err e = impi_channel_join(&c->ch, s->store + (size_t)rank * s->cfg.store_bytes,
					    s->cfg.store_bytes);
	BASE_ASSERT(e == IMPI_ERR_OK);
	c->rank = rank;
	c->tell_joined = true;
	leave_server_lobby(s, c);
	s->joined |= 1u << rank;
	s->conn_of[rank] = (int)(c - s->conn);
	if (s->joined == s->all) {
		s->state = IMPI_SVS_COLLECTING;
		s->tell_sized = true;
		s->moved = true;
	}
}

static void
take_event(struct impi_server *s, struct conn *c, const struct impi_channel_event *ev)
{
	switch (ev->type) {
	case IMPI_CH_NONE:
		return;
	case IMPI_CH_RANK:
		take_rank(s, c, ev->rank);
		break;
	case IMPI_CH_LABEL:
		s->moved = true;
		take_label(s, c, ev->label);
		break;
	case IMPI_CH_DONE:
		s->moved = true;
		s->done |= 1u << c->rank;
		if (s->done == s->all) {
			s->state = IMPI_SVS_RUNNING;
			s->tell_started = true;
		}
		break;
	case IMPI_CH_FINI:
		s->fini |= 1u << c->rank;
		close_conn(s, c, IMPI_ERR_OK, "");
		end_if_all_gone(s);
		return;
	case IMPI_CH_FAILED:
		lose_conn(s, c);
		return;
	}
	pump_all(s);
}

/* --- the owner's side ----------------------------------------------------- */

static bool
is_usable(const struct impi_server *s, int conn)
{
	return conn >= 0 && (uint32_t)conn < s->nconns && s->conn[conn].open &&
	       !s->conn[conn].tell_close;
}

static uint64_t
deadline_after(uint64_t now_ns, uint64_t limit_ns)
{
	return now_ns > NO_DEADLINE - 1 - limit_ns ? NO_DEADLINE - 1 : now_ns + limit_ns;
}

/* Every client has DONE in its queue: start-up needs no watching any more. */
static bool
all_told(const struct impi_server *s)
{
	if (!has_started(s))
		return false;
	for (uint32_t i = 0; i < s->nconns; i++)
		if (is_usable(s, (int)i) && s->conn[i].ch.state == IMPI_CHS_DONE_SEEN)
			return false;
	return true;
}

/* Something may have become complete: start-up has its whole time again. */
static void
watch_startup(struct impi_server *s, uint64_t now_ns)
{
	if (!s->moved || s->cfg.startup_timeout_ns == 0)
		return;
	s->moved = false;
	s->still_ns = s->joined != s->all || is_over(s) || all_told(s)
			      ? NO_DEADLINE
			      : deadline_after(now_ns, s->cfg.startup_timeout_ns);
}

/* What everybody waits for, as far as it fits. */
static void
say_what_is_missing(const struct impi_server *s, char *out, size_t cap)
{
	size_t at = (size_t)snprintf(out, cap, "start-up stood still for %.3f s:",
				     (double)s->cfg.startup_timeout_ns / 1e9);
	size_t begin = at;
	for (uint32_t i = 0; i < s->nlabels && at < cap; i++) {
		const struct job_label *l = &s->label[i];
		uint32_t missing = s->all & ~(l->submitted | s->done);
		if (!impi_rule_label_complete(l->submitted, s->done, s->all))
			at += (size_t)snprintf(out + at, cap - at, "%s %s (0x%x) lacks client %d%s",
					       at > begin ? ";" : "", impi_label_name(l->label),
					       l->label, __builtin_ctz(missing),
					       missing & (missing - 1) ? " and others" : "");
	}
	if (at > begin)
		return;
	if (s->done != s->all)
		snprintf(out + at, cap - at, " client %d submits nothing and does not say DONE",
			 __builtin_ctz(s->all & ~s->done));
	else
		snprintf(out + at, cap - at, " a client does not take the answers sent to it");
}

uint64_t
impi_server_room_ns(const struct impi_server *s)
{
	return is_over(s) ? NO_DEADLINE : base_lobby_room_ns(&s->lobby);
}

static void
make_server_room(struct impi_server *s, uint64_t source, uint64_t now_ns)
{
	int seat = base_lobby_victim(&s->lobby, source, now_ns);
	for (uint32_t i = 0; seat >= 0 && i < s->nconns; i++) {
		struct conn *c = &s->conn[i];
		if (!c->open || c->seat != seat)
			continue;
		impi_channel_fail(&c->ch, IMPI_ERR_TIMEOUT,
				  "did not name itself (AUTH, IMPI) before others came");
		lose_conn(s, c);
		return;
	}
}

int
impi_server_open_from(struct impi_server *s, uint64_t source, const char *name, uint64_t now_ns)
{
	if (is_over(s))
		return -1;
	for (uint32_t i = 0; i < s->nconns; i++) {
		struct conn *c = &s->conn[i];
		if (c->open)
			continue;
		int seat = base_lobby_enter(&s->lobby, source, now_ns);
		if (seat < 0)
			break;
		void *tx = c->ch.tx.buf;
		*c = (struct conn){.open = true, .rank = -1, .seat = seat, .opened_ns = now_ns};
		snprintf(c->name, sizeof c->name, "%s", name);
		enum impi_err e = impi_channel_init(&c->ch, &s->cfg.auth, tx, s->cfg.tx_bytes);
		BASE_ASSERT(e == IMPI_ERR_OK);
		c->deadline_ns = deadline_after(now_ns, s->cfg.join_timeout_ns);
		return (int)i;
	}
	make_server_room(s, source, now_ns);
	return -1;
}

void
impi_server_rx(struct impi_server *s, int conn, const void *bytes, size_t len, uint64_t now_ns)
{
	const uint8_t *p = bytes;
	struct impi_channel_event ev;

	while (len > 0 && is_usable(s, conn)) {
		size_t n = impi_channel_rx(&s->conn[conn].ch, p, len, &ev);
		p += n;
		len -= n;
		take_event(s, &s->conn[conn], &ev);
	}
	watch_startup(s, now_ns);
	if (!is_usable(s, conn))
		return;
	/* a stranger has one time limit in all, a member one between its bytes */
	struct conn *c = &s->conn[conn];
	if (c->rank >= 0)
		c->deadline_ns = impi_channel_is_midway(&c->ch)
					 ? deadline_after(now_ns, s->cfg.join_timeout_ns)
					 : NO_DEADLINE;
}

void
impi_server_eof(struct impi_server *s, int conn)
{
	if (is_usable(s, conn) && impi_channel_eof(&s->conn[conn].ch))
		lose_conn(s, &s->conn[conn]);
}

size_t
impi_server_tx(struct impi_server *s, int conn, void *buf, size_t cap)
{
	uint8_t *out = buf;
	size_t total = 0;

	while (total < cap && is_usable(s, conn)) {
		size_t n = impi_channel_tx(&s->conn[conn].ch, out + total, cap - total);
		if (n == 0)
			break;
		total += n;
		pump_all(s); /* c has room now; what it took may have been all that DONE waited for
			      */
	}
	return total;
}

bool
impi_server_tx_pending(const struct impi_server *s, int conn)
{
	return is_usable(s, conn) && impi_channel_tx_pending(&s->conn[conn].ch);
}

void
impi_server_tick(struct impi_server *s, uint64_t now_ns)
{
	char why[IMPI_ERROR_TEXT_MAX];
	for (uint32_t i = 0; i < s->nconns; i++) {
		struct conn *c = &s->conn[i];
		if (!is_usable(s, (int)i) || now_ns < c->deadline_ns)
			continue;
		snprintf(why, sizeof why, "%s within %.3f s",
			 c->rank < 0 ? "did not name itself (AUTH, IMPI)"
				     : "did not finish a command",
			 (double)s->cfg.join_timeout_ns / 1e9);
		impi_channel_fail(&c->ch, IMPI_ERR_TIMEOUT, why);
		lose_conn(s, c);
	}
	watch_startup(s, now_ns);
	if (now_ns >= s->still_ns) {
		say_what_is_missing(s, why, sizeof why);
		fail_job(s, IMPI_ERR_TIMEOUT, why);
	}
	if (s->gone_ns == LOST_JUST_NOW)
		s->gone_ns = deadline_after(now_ns, IMPI_SERVER_GONE_NS);
	if (s->gone_ns != 0 && now_ns >= s->gone_ns && !is_over(s))
		end_job(s, IMPI_SVS_FAILED);
	if (s->loss_ns == LOST_JUST_NOW)
		s->loss_ns = deadline_after(now_ns, s->cfg.loss_grace_ns);
	if (s->loss_ns != 0 && now_ns >= s->loss_ns)
		end_job(s, IMPI_SVS_FAILED);
}

uint64_t
impi_server_expiry_ns(const struct impi_server *s)
{
	uint64_t least = s->still_ns;
	if (s->gone_ns != 0 && !is_over(s) && s->gone_ns < least)
		least = s->gone_ns;
	if (s->loss_ns != 0 && s->loss_ns < least)
		least = s->loss_ns;
	for (uint32_t i = 0; i < s->nconns; i++)
		if (is_usable(s, (int)i) && s->conn[i].deadline_ns < least)
			least = s->conn[i].deadline_ns;
	return least;
}

static bool
next_conn_event(struct impi_server *s, bool joins, struct impi_server_event *ev)
{
	for (uint32_t i = 0; i < s->nconns; i++) {
		struct conn *c = &s->conn[i];
		bool *flag = joins ? &c->tell_joined : &c->tell_close;
		if (!*flag)
			continue;
		*flag = false;
		ev->type = joins ? IMPI_SV_JOINED : IMPI_SV_CLOSE;
		ev->conn = (int)i;
		ev->rank = c->rank;
		ev->err = c->err;
		if (joins)
			return true;
		void *tx = c->ch.tx.buf;
		if (c->rank >= 0)
			s->conn_of[c->rank] = NO_CONN;
		impi_channel_fini(&c->ch);
		c->ch.tx.buf = tx;
		c->open = false;
		return true;
	}
	return false;
}

bool
impi_server_next(struct impi_server *s, struct impi_server_event *ev)
{
	*ev = (struct impi_server_event){.conn = -1, .rank = -1};
	if (next_conn_event(s, true, ev))
		return true;
	if (s->tell_sized) {
		s->tell_sized = false;
		ev->type = IMPI_SV_SIZED;
		return true;
	}
	if (s->tell_started) {
		s->tell_started = false;
		ev->type = IMPI_SV_STARTED;
		return true;
	}
	if (next_conn_event(s, false, ev))
		return true;
	if (s->tell_end) {
		s->tell_end = false;
		ev->type = s->state == IMPI_SVS_COMPLETE ? IMPI_SV_COMPLETE : IMPI_SV_FAILED;
		ev->err = s->err;
		return true;
	}
	return false;
}

enum impi_server_state
impi_server_state(const struct impi_server *s)
{
	return s->state;
}

uint32_t
impi_server_joined(const struct impi_server *s)
{
	return s->joined;
}

uint32_t
impi_server_lost(const struct impi_server *s)
{
	return s->lost;
}
