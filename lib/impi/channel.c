/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/channel.h"

#include "base/assert.h"
#include "rules.h"

static const char *
cmd_name(uint32_t cmd)
{
	switch (cmd) {
	case IMPI_CMD_AUTH:
		return "AUTH";
	case IMPI_CMD_IMPI:
		return "IMPI";
	case IMPI_CMD_COLL:
		return "COLL";
	case IMPI_CMD_DONE:
		return "DONE";
	case IMPI_CMD_FINI:
		return "FINI";
	case IMPI_CMD_GONE:
		return "GONE";
	default:
		return NULL;
	}
}

/* What a client is expected to do next, for messages. */
static const char *
state_words(enum impi_channel_state state)
{
	switch (state) {
	case IMPI_CHS_WAIT_AUTH:
		return "before AUTH";
	case IMPI_CHS_WAIT_KEY:
		return "before the key";
	case IMPI_CHS_WAIT_RANK:
	case IMPI_CHS_RANKED:
		return "before IMPI (its rank)";
	case IMPI_CHS_COLLECTING:
		return "while labels are collected";
	case IMPI_CHS_DONE_SEEN:
		return "after DONE, before the answer to it";
	case IMPI_CHS_RUNNING:
		return "before FINI, while the job was running";
	case IMPI_CHS_FINISHED:
		return "after FINI";
	case IMPI_CHS_FAILED:
		break;
	}
	return "after an error";
}

enum impi_err
impi_channel_init(struct impi_channel *ch, const struct impi_auth *auth, void *tx, size_t tx_cap)
{
	if (!tx || tx_cap < IMPI_CHANNEL_TX_BYTES_MIN || auth->mask == 0)
		return IMPI_ERR_INVAL;
	*ch = (struct impi_channel){
		.state = IMPI_CHS_WAIT_AUTH,
		.rank = -1,
		.auth = *auth,
		.head_want = IMPI_CMD_HDR_BYTES,
		.tx = {.buf = tx, .cap = tx_cap},
	};
	return IMPI_ERR_OK;
}

void
impi_channel_fini(struct impi_channel *ch)
{
	explicit_bzero(ch, sizeof *ch);
	ch->state = IMPI_CHS_FAILED;
}

void
impi_channel_fail(struct impi_channel *ch, enum impi_err code, const char *why)
{
	if (ch->state == IMPI_CHS_FAILED || ch->state == IMPI_CHS_FINISHED)
		return;
	impi_error_set(&ch->err, code, "%s", why);
	ch->state = IMPI_CHS_FAILED;
}

bool
impi_channel_eof(struct impi_channel *ch)
{
	if (ch->state == IMPI_CHS_FAILED || ch->state == IMPI_CHS_FINISHED)
		return false;
	impi_error_set(&ch->err, IMPI_ERR_EOF, "connection closed %s%s", state_words(ch->state),
		       ch->head_len || ch->in_data ? ", inside a command" : "");
	ch->state = IMPI_CHS_FAILED;
	return true;
}

bool
impi_channel_is_midway(const struct impi_channel *ch)
{
	return ch->state < IMPI_CHS_COLLECTING || ch->head_len > 0 || ch->in_data;
}

void
impi_channel_move_tx(struct impi_channel *ch, void *tx, size_t tx_cap)
{
	struct impi_queue to = {.buf = tx, .cap = tx_cap};
	uint8_t some[64];
	size_t n;

	BASE_ASSERT(tx_cap >= ch->tx.cap);
	while ((n = impi_queue_take(&ch->tx, some, sizeof some)) > 0)
		impi_queue_put(&to, some, n);
	ch->tx = to;
}

/* --- receiving ---------------------------------------------------------- */

static bool
in_order(const struct impi_channel *ch, uint32_t cmd)
{
	switch (cmd) {
	case IMPI_CMD_AUTH:
		return ch->state == IMPI_CHS_WAIT_AUTH;
	case IMPI_CMD_IMPI:
		return ch->state == IMPI_CHS_WAIT_RANK;
	case IMPI_CMD_GONE:
		return ch->state == IMPI_CHS_WAIT_RANK && !ch->gone.said;
	case IMPI_CMD_COLL:
	case IMPI_CMD_DONE:
		return ch->state == IMPI_CHS_COLLECTING;
	case IMPI_CMD_FINI:
		return ch->state == IMPI_CHS_RUNNING;
	default:
		return false;
	}
}

static enum impi_err
check_coll_len(struct impi_channel *ch, uint32_t len)
{
	if (len < IMPI_COLL_HDR_BYTES)
		return impi_error_set(&ch->err, IMPI_ERR_LENGTH,
				      "COLL with len %u has no room for its label", len);
	if (ch->nentries == IMPI_CHANNEL_LABELS_MAX)
		return impi_error_set(&ch->err, IMPI_ERR_OVERSIZE, "more than %u labels",
				      (unsigned int)IMPI_CHANNEL_LABELS_MAX);
	if (len - IMPI_COLL_HDR_BYTES > ch->store_cap - ch->store_len)
		return impi_error_set(&ch->err, IMPI_ERR_OVERSIZE,
				      "COLL with %u bytes, but only %zu of %zu bytes for values "
				      "of this client are free",
				      len - IMPI_COLL_HDR_BYTES, ch->store_cap - ch->store_len,
				      ch->store_cap);
	return IMPI_ERR_OK;
}

/* The 8 bytes {cmd, len} are here: may they be, and how much more belongs to the head? */
static enum impi_err
check_header(struct impi_channel *ch)
{
	uint32_t cmd = be32_load(ch->head);
	uint32_t len = be32_load(ch->head + 4);
	uint32_t fixed = 0;

	if (!cmd_name(cmd))
		return impi_error_set(&ch->err, IMPI_ERR_COMMAND, "unknown command 0x%08x %s", cmd,
				      state_words(ch->state));
	if (!in_order(ch, cmd))
		return impi_error_set(&ch->err, IMPI_ERR_ORDER, "command %s %s", cmd_name(cmd),
				      state_words(ch->state));
	if (len > IMPI_CMD_BYTES_MAX)
		return impi_error_set(&ch->err, IMPI_ERR_LENGTH, "%s with len %u, limit is %u",
				      cmd_name(cmd), len, IMPI_CMD_BYTES_MAX);
	if (cmd == IMPI_CMD_COLL) {
		fixed = IMPI_COLL_HDR_BYTES;
		if (check_coll_len(ch, len) != IMPI_ERR_OK)
			return ch->err.code;
	} else if (cmd == IMPI_CMD_GONE) {
		fixed = len;
		if (len < 8 || len > IMPI_GONE_BYTES_MAX)
			return impi_error_set(&ch->err, IMPI_ERR_LENGTH,
					      "GONE with len %u, not 8 to %u", len,
					      (unsigned int)IMPI_GONE_BYTES_MAX);
	} else {
		fixed = cmd == IMPI_CMD_AUTH || cmd == IMPI_CMD_IMPI ? 4 : 0;
		if (len != fixed)
			return impi_error_set(&ch->err, IMPI_ERR_LENGTH, "%s with len %u, not %u",
					      cmd_name(cmd), len, fixed);
	}
	ch->head_want = IMPI_CMD_HDR_BYTES + fixed;
	return IMPI_ERR_OK;
}

static void
next_command(struct impi_channel *ch)
{
	ch->head_len = 0;
	ch->head_want = IMPI_CMD_HDR_BYTES;
}

static enum impi_err
take_auth(struct impi_channel *ch)
{
	uint32_t mask = be32_load(ch->head + IMPI_CMD_HDR_BYTES);
	int method = impi_rule_auth_choose(ch->auth.mask, mask);
	if (method < 0)
		return impi_error_set(&ch->err, IMPI_ERR_AUTH,
				      "no authentication method in common: client offers mask "
				      "0x%x, server allows 0x%x (1 none, 2 key)",
				      mask, ch->auth.mask);
	uint8_t reply[IMPI_AUTH_REPLY_BYTES];
	be32_store(reply, (uint32_t)method);
	be32_store(reply + 4, 0); /* LAM never reads bytes that len would announce */
	BASE_ASSERT(impi_queue_put(&ch->tx, reply, sizeof reply) == sizeof reply);
	ch->state = method == IMPI_AUTH_KEY ? IMPI_CHS_WAIT_KEY : IMPI_CHS_WAIT_RANK;
	return IMPI_ERR_OK;
}

static enum impi_err
take_key(struct impi_channel *ch)
{
	/* one comparison of words: its time does not tell how much was right */
	if (be64_load(ch->head) != ch->auth.key)
		return impi_error_set(&ch->err, IMPI_ERR_KEY,
				      "wrong key: IMPI_AUTH_KEY of client and server differ");
	explicit_bzero(ch->head, IMPI_AUTH_KEY_BYTES);
	ch->state = IMPI_CHS_WAIT_RANK;
	return IMPI_ERR_OK;
}

static enum impi_err
take_coll_head(struct impi_channel *ch)
{
	uint32_t label = be32_load(ch->head + IMPI_CMD_HDR_BYTES);
	uint32_t len = be32_load(ch->head + 4) - IMPI_COLL_HDR_BYTES;

	if (label == IMPI_NO_LABEL)
		return impi_error_set(&ch->err, IMPI_ERR_LABEL, "label 0 is reserved");
	for (uint32_t i = 0; i < ch->nentries; i++)
		if (ch->entry[i].label == label)
			return impi_error_set(&ch->err, IMPI_ERR_LABEL,
					      "label 0x%x (%s) submitted twice", label,
					      impi_label_name(label));
	ch->entry[ch->nentries] = (struct impi_channel_entry){
		.label = label,
		.off = (uint32_t)ch->store_len,
		.len = len,
	};
	ch->data_want = len;
	ch->in_data = true;
	return IMPI_ERR_OK;
}

static void
take_gone_word(struct impi_channel *ch)
{
	const uint8_t *p = ch->head + IMPI_CMD_HDR_BYTES;
	ch->gone.said = true;
	ch->gone.age_ns = be64_load(p);
	impi_gone_text(ch->gone.text, p + 8, be32_load(ch->head + 4) - 8);
}

/* The head of the command (or the key) is complete.  Sets ev if that is an event. */
static enum impi_err
take_head(struct impi_channel *ch, struct impi_channel_event *ev)
{
	enum impi_err e = IMPI_ERR_OK;

	if (ch->state == IMPI_CHS_WAIT_KEY) {
		e = take_key(ch);
		next_command(ch);
		return e;
	}
	switch (be32_load(ch->head)) {
	case IMPI_CMD_AUTH:
		e = take_auth(ch);
		break;
	case IMPI_CMD_IMPI:
		ch->rank = (int32_t)be32_load(ch->head + IMPI_CMD_HDR_BYTES);
		ch->state = IMPI_CHS_RANKED;
		ev->type = IMPI_CH_RANK;
		ev->rank = ch->rank;
		break;
	case IMPI_CMD_COLL:
		e = take_coll_head(ch);
		break;
	case IMPI_CMD_DONE:
		ch->state = IMPI_CHS_DONE_SEEN;
		ev->type = IMPI_CH_DONE;
		break;
	case IMPI_CMD_GONE:
		take_gone_word(ch);
		break;
	default: /* FINI: check_header let nothing else pass */
		ch->state = IMPI_CHS_FINISHED;
		ev->type = IMPI_CH_FINI;
		break;
	}
	next_command(ch);
	if (ch->state == IMPI_CHS_WAIT_KEY)
		ch->head_want = IMPI_AUTH_KEY_BYTES;
	return e;
}

static void
end_of_data(struct impi_channel *ch, struct impi_channel_event *ev)
{
	struct impi_channel_entry *entry = &ch->entry[ch->nentries++];
	ch->in_data = false;
	ev->type = IMPI_CH_LABEL;
	ev->label = entry->label;
	ev->data = ch->store + entry->off;
	ev->len = entry->len;
}

size_t
impi_channel_rx(struct impi_channel *ch, const void *bytes, size_t len,
		struct impi_channel_event *ev)
{
	const uint8_t *p = bytes;
	size_t taken = 0;
	enum impi_err e = IMPI_ERR_OK;

	*ev = (struct impi_channel_event){.type = IMPI_CH_NONE};
	while (taken < len && ev->type == IMPI_CH_NONE) {
		size_t n = len - taken;
		if (ch->state == IMPI_CHS_RANKED)
			break;
		if (ch->state == IMPI_CHS_FAILED || ch->state == IMPI_CHS_FINISHED)
			return len;
		if (ch->in_data) {
			if (n > ch->data_want)
				n = ch->data_want;
			memcpy(ch->store + ch->store_len, p + taken, n);
			ch->store_len += n;
			ch->data_want -= (uint32_t)n;
			taken += n;
		} else {
			if (n > ch->head_want - ch->head_len)
				n = ch->head_want - ch->head_len;
			memcpy(ch->head + ch->head_len, p + taken, n);
			ch->head_len += (uint32_t)n;
			taken += n;
			if (ch->head_len == IMPI_CMD_HDR_BYTES && ch->head_want == ch->head_len &&
			    ch->state != IMPI_CHS_WAIT_KEY)
				e = check_header(ch);
			if (e == IMPI_ERR_OK && ch->head_len == ch->head_want)
				e = take_head(ch, ev);
		}
		if (e == IMPI_ERR_OK && ch->in_data && ch->data_want == 0)
			end_of_data(ch, ev);
		if (e != IMPI_ERR_OK) {
			ch->state = IMPI_CHS_FAILED;
			ev->type = IMPI_CH_FAILED;
		}
	}
	return taken;
}

/* --- label values ------------------------------------------------------- */

enum impi_err
impi_channel_join(struct impi_channel *ch, void *store, size_t store_cap)
{
	if (ch->state != IMPI_CHS_RANKED)
		return IMPI_ERR_STATE;
	if (!store)
		return IMPI_ERR_INVAL;
	ch->store = store;
	ch->store_cap = store_cap < UINT32_MAX ? store_cap : UINT32_MAX;
	ch->store_len = 0;
	ch->state = IMPI_CHS_COLLECTING;
	return IMPI_ERR_OK;
}

static struct impi_channel_entry *
find_entry(struct impi_channel *ch, uint32_t label)
{
	for (uint32_t i = 0; i < ch->nentries; i++)
		if (ch->entry[i].label == label)
			return &ch->entry[i];
	return NULL;
}

bool
impi_channel_label(const struct impi_channel *ch, uint32_t label, const uint8_t **data,
		   uint32_t *len)
{
	for (uint32_t i = 0; i < ch->nentries; i++) {
		if (ch->entry[i].label != label || ch->entry[i].released)
			continue;
		*data = ch->store + ch->entry[i].off;
		*len = ch->entry[i].len;
		return true;
	}
	return false;
}

void
impi_channel_release(struct impi_channel *ch, uint32_t label)
{
	struct impi_channel_entry *gone = find_entry(ch, label);
	if (!gone || gone->released)
		return;
	gone->released = true;
	if (gone->len == 0)
		return;
	uint32_t end = gone->off + gone->len;
	memmove(ch->store + gone->off, ch->store + end, ch->store_len - end);
	ch->store_len -= gone->len;
	/* the one that is growing stands behind the complete ones */
	uint32_t n = ch->nentries + (ch->in_data ? 1 : 0);
	for (uint32_t i = 0; i < n; i++)
		if (ch->entry[i].off >= end)
			ch->entry[i].off -= gone->len;
}

/* --- sending ------------------------------------------------------------ */

static bool
may_tell(const struct impi_channel *ch)
{
	return (ch->state == IMPI_CHS_COLLECTING || ch->state == IMPI_CHS_DONE_SEEN) &&
	       ch->reply_left == 0;
}

enum impi_err
impi_channel_size(struct impi_channel *ch, uint32_t nclients)
{
	uint8_t cmd[IMPI_CMD_HDR_BYTES + 4];
	if (!may_tell(ch) || ch->size_sent)
		return IMPI_ERR_STATE;
	if (impi_queue_room(&ch->tx) < sizeof cmd)
		return IMPI_ERR_FULL;
	be32_store(cmd, IMPI_CMD_IMPI);
	be32_store(cmd + 4, 4);
	be32_store(cmd + 8, nclients);
	impi_queue_put(&ch->tx, cmd, sizeof cmd);
	ch->size_sent = true;
	return IMPI_ERR_OK;
}

enum impi_err
impi_channel_reply_begin(struct impi_channel *ch, uint32_t label, uint32_t mask, uint32_t len)
{
	uint8_t cmd[IMPI_CMD_HDR_BYTES + IMPI_COLL_REPLY_BYTES];
	struct impi_channel_entry *entry = find_entry(ch, label);

	if (!may_tell(ch) || !ch->size_sent || !entry || entry->answered)
		return IMPI_ERR_STATE;
	if (len > IMPI_CMD_BYTES_MAX - IMPI_COLL_REPLY_BYTES)
		return IMPI_ERR_OVERSIZE;
	if (impi_queue_room(&ch->tx) < sizeof cmd)
		return IMPI_ERR_FULL;
	be32_store(cmd, IMPI_CMD_COLL);
	be32_store(cmd + 4, IMPI_COLL_REPLY_BYTES + len);
	be32_store(cmd + 8, label);
	be32_store(cmd + 12, mask);
	impi_queue_put(&ch->tx, cmd, sizeof cmd);
	entry->answered = true;
	ch->reply_left = len;
	return IMPI_ERR_OK;
}

size_t
impi_channel_reply_give(struct impi_channel *ch, const void *data, size_t len)
{
	BASE_ASSERT(len <= ch->reply_left);
	size_t n = impi_queue_put(&ch->tx, data, len);
	ch->reply_left -= (uint32_t)n;
	return n;
}

enum impi_err
impi_channel_reply(struct impi_channel *ch, uint32_t label, uint32_t mask, const void *data,
		   uint32_t len)
{
	if (impi_queue_room(&ch->tx) < (size_t)IMPI_CMD_HDR_BYTES + IMPI_COLL_REPLY_BYTES + len) {
		struct impi_channel_entry *entry = find_entry(ch, label);
		bool possible = may_tell(ch) && ch->size_sent && entry && !entry->answered;
		return possible ? IMPI_ERR_FULL : IMPI_ERR_STATE;
	}
	enum impi_err e = impi_channel_reply_begin(ch, label, mask, len);
	if (e == IMPI_ERR_OK)
		BASE_ASSERT(impi_channel_reply_give(ch, data, len) == len);
	return e;
}

enum impi_err
impi_channel_done(struct impi_channel *ch)
{
	uint8_t cmd[IMPI_CMD_HDR_BYTES];
	if (ch->state != IMPI_CHS_DONE_SEEN || !may_tell(ch) || !ch->size_sent)
		return IMPI_ERR_STATE;
	for (uint32_t i = 0; i < ch->nentries; i++)
		if (!ch->entry[i].answered)
			return IMPI_ERR_STATE;
	if (impi_queue_room(&ch->tx) < sizeof cmd)
		return IMPI_ERR_FULL;
	be32_store(cmd, IMPI_CMD_DONE);
	be32_store(cmd + 4, 0);
	impi_queue_put(&ch->tx, cmd, sizeof cmd);
	ch->state = IMPI_CHS_RUNNING;
	return IMPI_ERR_OK;
}

void
impi_channel_tell_gone(struct impi_channel *ch, uint32_t rank, const char *text)
{
	uint8_t cmd[IMPI_CMD_HDR_BYTES + IMPI_GONE_BYTES_MAX];
	uint32_t n = impi_gone_encode(cmd, rank, 4, text);
	if (may_tell(ch) && !ch->size_sent && impi_queue_room(&ch->tx) >= n)
		impi_queue_put(&ch->tx, cmd, n);
}

size_t
impi_channel_tx(struct impi_channel *ch, void *buf, size_t cap)
{
	return impi_queue_take(&ch->tx, buf, cap);
}
