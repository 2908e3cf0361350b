/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/client.h"

#include "base/arena.h"
#include "base/assert.h"
#include "impi/gone.h"
#include "impi/queue.h"

struct impi_client {
	enum impi_client_state state;
	struct impi_client_config cfg;
	struct impi_error err;
	struct impi_tables *tables;

	/* receiving */
	uint8_t head[16];
	uint32_t head_len, head_want;
	uint32_t data_left; /* of the label reply coming in */
	uint32_t skip_left; /* of a reply (or DONE) nobody wants */
	bool in_data;
	bool in_gone; /* data is the text of GONE */
	struct impi_gone missing;
	bool may_say_gone; /* authenticated, and the rank was not said */
	uint32_t label, mask;
	uint8_t *rx;
	uint32_t rx_cap, rx_len;
	/* sending */
	struct impi_queue tx;
	struct sent_label {
		uint32_t label;
		bool answered;
	} sent[IMPI_CLIENT_LABELS_MAX];
	uint32_t nsent;
};

/* --- memory ------------------------------------------------------------- */

/* The largest reply to a standard label; others get what extra_tx_bytes makes. */
static size_t
rx_bytes(const struct impi_limits *l, const struct impi_client_config *cfg)
{
	size_t max = (size_t)IMPI_CLIENTS_MAX * 64 * IMPI_VERSION_BYTES;
	size_t others = (size_t)IMPI_CLIENTS_MAX * cfg->extra_tx_bytes;
	if (max < (size_t)l->hosts_max * 16)
		max = (size_t)l->hosts_max * 16;
	if (max < (size_t)l->procs_max * 16)
		max = (size_t)l->procs_max * 16;
	if (others > IMPI_CMD_BYTES_MAX)
		others = IMPI_CMD_BYTES_MAX;
	return max > others ? max : others;
}

/* Everything a client can have waiting if it submits all at once. */
static size_t
tx_bytes(const struct impi_limits *l, const struct impi_client_config *cfg)
{
	size_t n = 6 * IMPI_CMD_HDR_BYTES + IMPI_AUTH_KEY_BYTES + 2 * 4 + IMPI_GONE_BYTES_MAX;
	n += IMPI_NLABELS * (IMPI_CMD_HDR_BYTES + IMPI_COLL_HDR_BYTES);
	n += (size_t)64 * IMPI_VERSION_BYTES + 6 * 4;
	n += (size_t)l->hosts_max * (16 + 4 * 4);
	n += (size_t)l->procs_max * (16 + 8);
	return n + cfg->extra_tx_bytes;
}

static size_t
lay_out_client(const struct impi_limits *l, const struct impi_client_config *cfg, void *mem,
	       struct impi_client *c, void **tables)
{
	struct base_arena a = base_arena(mem);
	base_arena_take(&a, 1, sizeof *c);
	*tables = base_arena_take(&a, 1, impi_tables_footprint(l));
	c->rx_cap = (uint32_t)rx_bytes(l, cfg);
	c->rx = base_arena_take(&a, 1, c->rx_cap);
	size_t cap = tx_bytes(l, cfg);
	c->tx = (struct impi_queue){.buf = base_arena_take(&a, 1, cap), .cap = cap};
	return base_arena_bytes(&a);
}

size_t
impi_client_footprint(const struct impi_limits *limits, const struct impi_client_config *cfg)
{
	struct impi_client counting;
	void *tables;
	if (!impi_tables_footprint(limits) || cfg->rank >= IMPI_CLIENTS_MAX ||
	    cfg->auth.mask == 0 || cfg->extra_tx_bytes > 2 * IMPI_CMD_BYTES_MAX)
		return 0;
	return lay_out_client(limits, cfg, NULL, &counting, &tables);
}

static void
queue_cmd(struct impi_client *c, uint32_t cmd, const void *payload, uint32_t len)
{
	uint8_t head[IMPI_CMD_HDR_BYTES];
	be32_store(head, cmd);
	be32_store(head + 4, len);
	BASE_ASSERT(impi_queue_room(&c->tx) >= sizeof head + len);
	impi_queue_put(&c->tx, head, sizeof head);
	impi_queue_put(&c->tx, payload, len);
}

struct impi_client *
impi_client_new(void *mem, const struct impi_limits *limits, const struct impi_client_config *cfg)
{
	void *tables;
	if (!mem || !impi_client_footprint(limits, cfg))
		return NULL;
	struct impi_client *c = mem;
	*c = (struct impi_client){
		.state = IMPI_CLS_AUTH_SENT,
		.cfg = *cfg,
		.head_want = IMPI_AUTH_REPLY_BYTES,
	};
	lay_out_client(limits, cfg, mem, c, &tables);
	c->tables = impi_tables_new(tables, limits);

	uint8_t mask[IMPI_AUTH_MASK_BYTES];
	be32_store(mask, cfg->auth.mask);
	queue_cmd(c, IMPI_CMD_AUTH, mask, sizeof mask);
	return c;
}

void
impi_client_end(struct impi_client *c)
{
	if (!c)
		return;
	explicit_bzero(c->tx.buf, c->tx.cap < 64 ? c->tx.cap : 64); /* where the key stood */
	explicit_bzero(c, sizeof *c);
	c->state = IMPI_CLS_FAILED;
}

/* --- receiving ---------------------------------------------------------- */

static const char *
client_state_words(const struct impi_client *c)
{
	switch (c->state) {
	case IMPI_CLS_AUTH_SENT:
		return "before it chose an authentication method (none in common?)";
	case IMPI_CLS_RANK_SENT:
		return "before all clients had come (wrong key, client rank taken or too high, or "
		       "a relay that does not reach its server?)";
	case IMPI_CLS_COLLECTING:
	case IMPI_CLS_DONE_SENT:
		return "during start-up (was another client lost?)";
	case IMPI_CLS_RUNNING:
		return "while the job was running (was another client lost?)";
	default:
		return "";
	}
}

bool
impi_client_eof(struct impi_client *c)
{
	if (c->state == IMPI_CLS_FINISHED || c->state == IMPI_CLS_FAILED)
		return false;
	impi_error_set(&c->err, IMPI_ERR_EOF, "the IMPI server closed the connection %s",
		       client_state_words(c));
	c->state = IMPI_CLS_FAILED;
	return true;
}

static struct sent_label *
find_sent(struct impi_client *c, uint32_t label)
{
	for (uint32_t i = 0; i < c->nsent; i++)
		if (c->sent[i].label == label)
			return &c->sent[i];
	return NULL;
}

static void
client_next_command(struct impi_client *c)
{
	c->head_len = 0;
	c->head_want = IMPI_CMD_HDR_BYTES;
}

static void
queue_rank(struct impi_client *c)
{
	uint8_t rank[4];
	be32_store(rank, c->cfg.rank);
	queue_cmd(c, IMPI_CMD_IMPI, rank, sizeof rank);
}

static enum impi_err
take_auth_reply(struct impi_client *c)
{
	uint32_t which = be32_load(c->head); /* the len behind it means nothing certain */
	if (which > IMPI_AUTH_KEY || !(c->cfg.auth.mask & (1u << which)))
		return impi_error_set(&c->err, IMPI_ERR_AUTH,
				      "the server chose authentication method %d, which this "
				      "client did not offer (mask 0x%x)",
				      (int)which, c->cfg.auth.mask);
	if (which == IMPI_AUTH_KEY) {
		uint8_t key[IMPI_AUTH_KEY_BYTES];
		be64_store(key, c->cfg.auth.key);
		impi_queue_put(&c->tx, key, sizeof key);
		explicit_bzero(key, sizeof key);
	}
	if (c->cfg.gone)
		c->may_say_gone = true;
	else
		queue_rank(c);
	c->state = IMPI_CLS_RANK_SENT;
	client_next_command(c);
	return IMPI_ERR_OK;
}

/* {cmd, len} is here: may it be, and what follows? */
static enum impi_err
check_client_header(struct impi_client *c)
{
	uint32_t cmd = be32_load(c->head);
	uint32_t len = be32_load(c->head + 4);
	bool collecting = c->state == IMPI_CLS_COLLECTING || c->state == IMPI_CLS_DONE_SENT;

	if (len > IMPI_CMD_BYTES_MAX)
		return impi_error_set(&c->err, IMPI_ERR_LENGTH,
				      "server sent command 0x%08x with len %u, limit is %u", cmd,
				      len, IMPI_CMD_BYTES_MAX);
	if (cmd == IMPI_CMD_IMPI && c->state == IMPI_CLS_RANK_SENT) {
		if (len != 4)
			return impi_error_set(&c->err, IMPI_ERR_LENGTH,
					      "server sent IMPI with len %u, not 4", len);
		c->head_want = IMPI_CMD_HDR_BYTES + 4;
		return IMPI_ERR_OK;
	}
	if (cmd == IMPI_CMD_GONE && c->state == IMPI_CLS_RANK_SENT) {
		if (len < 4 || len > IMPI_GONE_BYTES_MAX)
			return impi_error_set(&c->err, IMPI_ERR_LENGTH,
					      "server sent GONE with len %u, not 4 to %u", len,
					      (unsigned int)IMPI_GONE_BYTES_MAX);
		c->head_want = IMPI_CMD_HDR_BYTES + 4;
		return IMPI_ERR_OK;
	}
	if (cmd == IMPI_CMD_COLL && collecting) {
		if (len < IMPI_COLL_REPLY_BYTES)
			return impi_error_set(&c->err, IMPI_ERR_LENGTH,
					      "server sent COLL with len %u, not 8 or more", len);
		c->head_want = IMPI_CMD_HDR_BYTES + IMPI_COLL_REPLY_BYTES;
		return IMPI_ERR_OK;
	}
	if (cmd == IMPI_CMD_DONE && c->state == IMPI_CLS_DONE_SENT)
		return IMPI_ERR_OK;
	if (cmd != IMPI_CMD_IMPI && cmd != IMPI_CMD_COLL && cmd != IMPI_CMD_DONE)
		return impi_error_set(&c->err, IMPI_ERR_COMMAND,
				      "server sent unknown command 0x%08x", cmd);
	return impi_error_set(&c->err, IMPI_ERR_ORDER, "server sent %s out of order",
			      cmd == IMPI_CMD_IMPI   ? "IMPI"
			      : cmd == IMPI_CMD_COLL ? "COLL"
						     : "DONE");
}

static enum impi_err
take_size(struct impi_client *c, struct impi_client_event *ev)
{
	uint32_t n = be32_load(c->head + IMPI_CMD_HDR_BYTES);
	if (impi_tables_begin(c->tables, n, &c->err) != IMPI_ERR_OK)
		return c->err.code;
	if (c->cfg.rank >= n)
		return impi_error_set(&c->err, IMPI_ERR_RANK,
				      "client rank %u does not exist in a job of %u clients",
				      c->cfg.rank, n);
	c->state = IMPI_CLS_COLLECTING;
	ev->type = IMPI_CL_SIZE;
	ev->nclients = n;
	return IMPI_ERR_OK;
}

static enum impi_err
take_client_coll_head(struct impi_client *c)
{
	uint32_t len = be32_load(c->head + 4) - IMPI_COLL_REPLY_BYTES;
	c->label = be32_load(c->head + 8);
	c->mask = be32_load(c->head + 12);
	struct sent_label *sent = find_sent(c, c->label);
	if (!sent) {
		c->skip_left = len;
		return IMPI_ERR_OK;
	}
	if (sent->answered)
		return impi_error_set(&c->err, IMPI_ERR_LABEL,
				      "server answered label 0x%x (%s) twice", c->label,
				      impi_label_name(c->label));
	if (len > c->rx_cap)
		return impi_error_set(&c->err, IMPI_ERR_LIMIT,
				      "%s (0x%x) is %u bytes for the whole job, this process was "
				      "set up for %u",
				      impi_label_name(c->label), c->label, len, c->rx_cap);
	c->rx_len = 0;
	c->data_left = len;
	c->in_data = true;
	return IMPI_ERR_OK;
}

static enum impi_err
take_done(struct impi_client *c, struct impi_client_event *ev)
{
	for (uint32_t i = 0; i < c->nsent; i++)
		if (!c->sent[i].answered)
			return impi_error_set(&c->err, IMPI_ERR_ORDER,
					      "server sent DONE without an answer to %s (0x%x)",
					      impi_label_name(c->sent[i].label), c->sent[i].label);
	if (impi_tables_finish(c->tables, &c->err) != IMPI_ERR_OK)
		return c->err.code;
	c->skip_left = be32_load(c->head + 4); /* 0, but LAM forgives others, so do we */
	c->state = IMPI_CLS_RUNNING;
	ev->type = IMPI_CL_STARTED;
	ev->nclients = c->tables->nclients;
	return IMPI_ERR_OK;
}

static enum impi_err
take_client_head(struct impi_client *c, struct impi_client_event *ev)
{
	enum impi_err e;
	if (c->state == IMPI_CLS_AUTH_SENT)
		return take_auth_reply(c);
	switch (be32_load(c->head)) {
	case IMPI_CMD_IMPI:
		e = take_size(c, ev);
		break;
	case IMPI_CMD_COLL:
		e = take_client_coll_head(c);
		break;
	case IMPI_CMD_GONE:
		c->rx_len = 0;
		c->data_left = be32_load(c->head + 4) - 4;
		c->in_data = c->in_gone = true;
		e = IMPI_ERR_OK;
		break;
	default: /* DONE: check_header let nothing else pass */
		e = take_done(c, ev);
		break;
	}
	client_next_command(c);
	return e;
}

static enum impi_err
end_client_of_data(struct impi_client *c, struct impi_client_event *ev)
{
	c->in_data = false;
	if (c->in_gone) {
		c->missing.said = true;
		impi_gone_text(c->missing.text, c->rx, c->rx_len);
		return impi_error_set(&c->err, IMPI_ERR_LOST,
				      "client %u is gone before it joined: %s",
				      be32_load(c->head + IMPI_CMD_HDR_BYTES), c->missing.text);
	}
	find_sent(c, c->label)->answered = true;
	if (impi_tables_label(c->tables, c->label, c->mask, c->rx, c->rx_len, &c->err) !=
	    IMPI_ERR_OK)
		return c->err.code;
	ev->type = IMPI_CL_LABEL;
	ev->label = c->label;
	ev->mask = c->mask;
	ev->data = c->rx;
	ev->len = c->rx_len;
	return IMPI_ERR_OK;
}

static size_t
rx_head(struct impi_client *c, const uint8_t *p, size_t n, struct impi_client_event *ev,
	enum impi_err *e)
{
	if (n > c->head_want - c->head_len)
		n = c->head_want - c->head_len;
	memcpy(c->head + c->head_len, p, n);
	c->head_len += (uint32_t)n;
	if (c->head_len == c->head_want && c->head_len == IMPI_CMD_HDR_BYTES &&
	    c->state != IMPI_CLS_AUTH_SENT)
		*e = check_client_header(c);
	if (*e == IMPI_ERR_OK && c->head_len == c->head_want)
		*e = take_client_head(c, ev);
	return n;
}

size_t
impi_client_rx(struct impi_client *c, const void *bytes, size_t len, struct impi_client_event *ev)
{
	const uint8_t *p = bytes;
	size_t taken = 0;
	enum impi_err e = IMPI_ERR_OK;

	*ev = (struct impi_client_event){.type = IMPI_CL_NONE};
	while (taken < len && ev->type == IMPI_CL_NONE) {
		size_t n = len - taken;
		if (c->state == IMPI_CLS_FAILED || c->state == IMPI_CLS_FINISHED)
			return len;
		if (c->skip_left) {
			n = n < c->skip_left ? n : c->skip_left;
			c->skip_left -= (uint32_t)n;
		} else if (c->in_data) {
			n = n < c->data_left ? n : c->data_left;
			memcpy(c->rx + c->rx_len, p + taken, n);
			c->rx_len += (uint32_t)n;
			c->data_left -= (uint32_t)n;
		} else {
			n = rx_head(c, p + taken, n, ev, &e);
		}
		taken += n;
		if (e == IMPI_ERR_OK && c->in_data && c->data_left == 0)
			e = end_client_of_data(c, ev);
		if (e != IMPI_ERR_OK) {
			c->state = IMPI_CLS_FAILED;
			ev->type = IMPI_CL_FAILED;
		}
	}
	return taken;
}

/* --- sending ------------------------------------------------------------ */

size_t
impi_client_tx(struct impi_client *c, void *buf, size_t cap)
{
	return impi_queue_take(&c->tx, buf, cap);
}

bool
impi_client_tx_pending(const struct impi_client *c)
{
	return c->tx.len > 0;
}

bool
impi_client_wants(const struct impi_client *c, uint32_t label)
{
	if (c->state != IMPI_CLS_COLLECTING || label == IMPI_NO_LABEL ||
	    c->nsent == IMPI_CLIENT_LABELS_MAX)
		return false;
	for (uint32_t i = 0; i < c->nsent; i++)
		if (c->sent[i].label == label)
			return false;
	return true;
}

uint32_t
impi_client_next_label(const struct impi_client *c)
{
	for (unsigned int i = 0; i < IMPI_NLABELS; i++)
		if (impi_client_wants(c, impi_label_at(i)))
			return impi_label_at(i);
	return IMPI_NO_LABEL;
}

/* FINI and DONE must always find room, so values may not take the last bytes. */
static enum impi_err
may_submit(const struct impi_client *c, uint32_t label, size_t len)
{
	if (!impi_client_wants(c, label))
		return IMPI_ERR_STATE;
	if (len > IMPI_CMD_BYTES_MAX - IMPI_COLL_HDR_BYTES)
		return IMPI_ERR_OVERSIZE;
	if (impi_queue_room(&c->tx) < (size_t)3 * IMPI_CMD_HDR_BYTES + IMPI_COLL_HDR_BYTES + len)
		return IMPI_ERR_FULL;
	return IMPI_ERR_OK;
}

static void
queue_coll_head(struct impi_client *c, uint32_t label, uint32_t len)
{
	uint8_t head[IMPI_CMD_HDR_BYTES + IMPI_COLL_HDR_BYTES];
	be32_store(head, IMPI_CMD_COLL);
	be32_store(head + 4, IMPI_COLL_HDR_BYTES + len);
	be32_store(head + 8, label);
	impi_queue_put(&c->tx, head, sizeof head);
	c->sent[c->nsent++] = (struct sent_label){.label = label};
}

enum impi_err
impi_client_submit(struct impi_client *c, uint32_t label, const void *data, uint32_t len)
{
	enum impi_err e = may_submit(c, label, len);
	if (e != IMPI_ERR_OK)
		return e;
	queue_coll_head(c, label, len);
	impi_queue_put(&c->tx, data, len);
	return IMPI_ERR_OK;
}

enum impi_err
impi_client_submit_offer(struct impi_client *c, uint32_t label, const struct impi_offer *offer)
{
	size_t len = impi_offer_bytes(offer, label);
	if (impi_label_index(label) < 0)
		return IMPI_ERR_INVAL;
	enum impi_err e = may_submit(c, label, len);
	if (e != IMPI_ERR_OK)
		return e;
	/* written straight into the queue, in slices of whole hosts or procs */
	queue_coll_head(c, label, (uint32_t)len);
	struct impi_offer slice = *offer;
	uint8_t buf[16 * 64];
	size_t written;
	if (label < IMPI_H_IPV6) {
		written = impi_offer_encode(offer, label, buf, sizeof buf);
		impi_queue_put(&c->tx, buf, written);
		return IMPI_ERR_OK;
	}
	uint32_t n = label < IMPI_P_IPV6 ? offer->nhosts : offer->nprocs;
	for (uint32_t i = 0; i < n; i += 64) {
		uint32_t k = n - i < 64 ? n - i : 64;
		slice.nhosts = slice.nprocs = k;
		if (label < IMPI_P_IPV6)
			slice.host = offer->host + i;
		else
			slice.proc = offer->proc + i;
		written = impi_offer_encode(&slice, label, buf, sizeof buf);
		impi_queue_put(&c->tx, buf, written);
	}
	return IMPI_ERR_OK;
}

enum impi_err
impi_client_done(struct impi_client *c)
{
	if (c->state != IMPI_CLS_COLLECTING)
		return IMPI_ERR_STATE;
	queue_cmd(c, IMPI_CMD_DONE, NULL, 0);
	c->state = IMPI_CLS_DONE_SENT;
	return IMPI_ERR_OK;
}

enum impi_err
impi_client_say_gone(struct impi_client *c, uint64_t age_ns)
{
	uint8_t cmd[IMPI_CMD_HDR_BYTES + IMPI_GONE_BYTES_MAX];
	if (!c->may_say_gone || c->state != IMPI_CLS_RANK_SENT)
		return IMPI_ERR_STATE;
	c->may_say_gone = false;
	uint32_t n = impi_gone_encode(cmd, age_ns, 8, c->cfg.gone);
	BASE_ASSERT(impi_queue_room(&c->tx) >= n + IMPI_CMD_HDR_BYTES + 4);
	impi_queue_put(&c->tx, cmd, n);
	queue_rank(c);
	return IMPI_ERR_OK;
}

enum impi_err
impi_client_fini(struct impi_client *c)
{
	if (c->state != IMPI_CLS_RUNNING)
		return IMPI_ERR_STATE;
	queue_cmd(c, IMPI_CMD_FINI, NULL, 0);
	c->state = IMPI_CLS_FINISHED;
	return IMPI_ERR_OK;
}

enum impi_client_state
impi_client_state(const struct impi_client *c)
{
	return c->state;
}

const char *
impi_client_missing(const struct impi_client *c, uint32_t *rank)
{
	*rank = be32_load(c->head + IMPI_CMD_HDR_BYTES);
	return c->missing.said ? c->missing.text : NULL;
}

const struct impi_error *
impi_client_error(const struct impi_client *c)
{
	return &c->err;
}

const struct impi_tables *
impi_client_tables(const struct impi_client *c)
{
	return c->tables;
}

uint32_t
impi_client_unanswered(const struct impi_client *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->nsent; i++)
		n += !c->sent[i].answered;
	return n;
}
