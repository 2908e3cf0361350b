/* SPDX-License-Identifier: BSD-2-Clause */
/* core.c - see ocsproto/core.h, ocsproto/ocsproto.h. */
#include "ocsproto/core.h"

#include "base/assert.h"

#include <string.h>

#define ANSWER_NS    (5 * BASE_S_NS)
#define KEEPALIVE_NS (30 * BASE_S_NS)
#define TX_PER_ITEM  192u
#define TX_LEAST     4096u
#define ALIGN	     _Alignof(max_align_t)

static const struct core_ops *const kinds[OCSPROTO_KINDS] = {
	[OCSPROTO_TL1_POLATIS] = &ocsproto_polatis,
	[OCSPROTO_TL1_CALIENT] = &ocsproto_calient,
	[OCSPROTO_TL1_GLIMMERGLASS] = &ocsproto_glimmerglass,
	[OCSPROTO_SCPI] = &ocsproto_scpi,
	[OCSPROTO_OPENFLOW] = &ocsproto_openflow,
};

static const struct ocs_switch_ops core_switch_ops;

const char *
ocsproto_name(enum ocsproto_kind kind)
{
	return (unsigned int)kind < OCSPROTO_KINDS ? kinds[kind]->name : NULL;
}

enum ocsproto_kind
ocsproto_by_name(const char *name)
{
	unsigned int k = 0;
	while (k < OCSPROTO_KINDS && strcmp(kinds[k]->name, name) != 0)
		k++;
	return (enum ocsproto_kind)k;
}

uint16_t
ocsproto_tcp_port(enum ocsproto_kind kind)
{
	return (unsigned int)kind < OCSPROTO_KINDS ? kinds[kind]->tcp_port : 0;
}

static size_t
core_room(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t
tx_room(const struct ocsproto_config *cfg)
{
	return core_room(TX_LEAST + (size_t)cfg->batch * TX_PER_ITEM + (size_t)cfg->ports * 8);
}

size_t
ocsproto_core_footprint(const struct ocsproto_config *cfg, const struct core_ops *proto)
{
	if (cfg->ports < 1 || cfg->ports > OCS_PORTS_MAX || cfg->batch < 1 ||
	    cfg->batch > OCSPROTO_BATCH_MAX)
		return 0;
	return core_room(sizeof(struct core)) + core_room(cfg->batch * sizeof(struct core_item)) +
	       core_room(2 * cfg->ports * sizeof(struct core_power)) +
	       2 * core_room(cfg->ports * sizeof(uint32_t)) + core_room(cfg->ports) + tx_room(cfg) +
	       core_room(proto->footprint(cfg));
}

size_t
ocsproto_footprint(const struct ocsproto_config *cfg)
{
	if ((unsigned int)cfg->kind >= OCSPROTO_KINDS ||
	    (cfg->kind == OCSPROTO_TL1_CALIENT && !cfg->names))
		return 0;
	return ocsproto_core_footprint(cfg, kinds[cfg->kind]);
}

static void *
carve_core(uint8_t **at, size_t bytes)
{
	void *p = *at;
	*at += core_room(bytes);
	return p;
}

struct ocs_switch *
ocsproto_core_new(void *mem, const struct ocsproto_config *cfg, const struct core_ops *proto)
{
	size_t bytes = ocsproto_core_footprint(cfg, proto);
	BASE_ASSERT(bytes > 0);
	memset(mem, 0, bytes);
	uint8_t *at = mem;
	struct core *c = carve_core(&at, sizeof *c);
	c->ops = core_switch_ops;
	c->ops.name = proto->name;
	c->sw.ops = &c->ops;
	c->proto = proto;
	c->cfg = *cfg;
	if (c->cfg.answer_ns == 0)
		c->cfg.answer_ns = ANSWER_NS;
	if (c->cfg.keepalive_ns == 0)
		c->cfg.keepalive_ns = KEEPALIVE_NS;
	c->items = carve_core(&at, cfg->batch * sizeof *c->items);
	c->powers = carve_core(&at, 2 * cfg->ports * sizeof *c->powers);
	c->out_of = carve_core(&at, cfg->ports * sizeof *c->out_of);
	c->in_of = carve_core(&at, cfg->ports * sizeof *c->in_of);
	c->shown = carve_core(&at, cfg->ports);
	c->tx_room = tx_room(cfg);
	c->tx = carve_core(&at, c->tx_room);
	c->engine = carve_core(&at, c->proto->footprint(cfg));
	c->answer_by = c->keep_at = c->again_at = BASE_NEVER_NS;
	BASE_ASSERT(at == (uint8_t *)mem + bytes);
	return &c->sw;
}

struct ocs_switch *
ocsproto_new(void *mem, const struct ocsproto_config *cfg)
{
	return ocsproto_footprint(cfg) ? ocsproto_core_new(mem, cfg, kinds[cfg->kind]) : NULL;
}

bool
ocsproto_is_broken(const struct ocs_switch *sw)
{
	return ((const struct core *)(const void *)sw)->session == CORE_BROKEN;
}

bool
ocsproto_is_up(const struct ocs_switch *sw)
{
	return ((const struct core *)(const void *)sw)->session == CORE_UP;
}

/* ---- small things for engines ---- */

static void
text_set(char to[OCS_TEXT_MAX], const char *from)
{
	ocsproto_core_text(to, OCS_TEXT_MAX, from ? from : "", OCS_TEXT_MAX);
}

size_t
ocsproto_core_tx_left(const struct core *c)
{
	return c->tx_room - c->tx_len;
}

bool
ocsproto_core_send(struct core *c, const void *p, size_t len)
{
	if (c->tx_at > 0 && len > ocsproto_core_tx_left(c)) {
		memmove(c->tx, c->tx + c->tx_at, c->tx_len - c->tx_at);
		c->tx_len -= c->tx_at;
		c->tx_at = 0;
	}
	if (len > ocsproto_core_tx_left(c)) {
		ocsproto_core_fail(c, OCS_ERR_TIMEOUT, "the switch does not take what it is sent");
		return false;
	}
	memcpy(c->tx + c->tx_len, p, len);
	c->tx_len += len;
	return true;
}

void
ocsproto_core_expect(struct core *c)
{
	c->answer_by = base_add_ns(c->now, c->cfg.answer_ns);
}

void
ocsproto_core_settled(struct core *c)
{
	c->answer_by = BASE_NEVER_NS;
}

/* ---- events that belong to no request ---- */

/* The last place is kept for DOWN, which must not be lost. */
static struct ocs_event *
ring_put(struct core *c, enum ocs_event_kind kind)
{
	uint32_t used = c->ring_tail - c->ring_head;
	if (used >= CORE_RING - (kind == OCS_EVENT_DOWN ? 0 : 2))
		return NULL;
	struct ocs_event *e = &c->ring[c->ring_tail++ % CORE_RING];
	*e = (struct ocs_event){.kind = kind, .done_ns = c->now};
	return e;
}

void
ocsproto_core_changed(struct core *c)
{
	for (uint32_t i = c->ring_head; i != c->ring_tail; i++)
		if (c->ring[i % CORE_RING].kind == OCS_EVENT_CHANGED)
			return;
	if (c->session == CORE_UP)
		ring_put(c, OCS_EVENT_CHANGED);
}

void
ocsproto_core_alarm(struct core *c, bool ingress, uint32_t port, int err, const char *text)
{
	struct ocs_event *e = c->session == CORE_UP ? ring_put(c, OCS_EVENT_ALARM) : NULL;
	if (!e)
		return;
	e->ingress = ingress;
	e->port = port;
	e->err = err;
	text_set(e->text, text);
}

void
ocsproto_core_up(struct core *c)
{
	BASE_ASSERT(c->session == CORE_OPENING);
	ocsproto_core_settled(c);
	c->id.caps = c->proto->caps;
	c->id.max_batch = c->cfg.batch;
	c->session = CORE_UP;
	c->keep_at = base_add_ns(c->now, c->cfg.keepalive_ns);
	ring_put(c, OCS_EVENT_UP);
}

void
ocsproto_core_fail(struct core *c, int err, const char *text)
{
	if (c->session != CORE_OPENING && c->session != CORE_UP)
		return;
	c->session = CORE_BROKEN;
	c->down_err = err;
	text_set(c->down_text, text);
}

/* ---- the matrix as read ---- */

void
ocsproto_core_have_none(struct core *c)
{
	for (uint32_t i = 0; i < c->cfg.ports; i++)
		c->out_of[i] = c->in_of[i] = CORE_NONE;
}

void
ocsproto_core_have(struct core *c, uint32_t in, uint32_t out, enum ocs_shown shown)
{
	if (in < c->id.ingress) {
		c->out_of[in] = c->out_of[in] == CORE_NONE ? out : CORE_OTHER;
		c->shown[in] = (uint8_t)shown;
	}
	if (out < c->id.egress)
		c->in_of[out] = c->in_of[out] == CORE_NONE ? in : CORE_OTHER;
}

void
ocsproto_core_power_is(struct core *c, bool ingress, uint32_t port, int32_t dbm_hundredths)
{
	for (uint32_t i = 0; i < c->npowers; i++)
		if (c->powers[i].port.port == port && c->powers[i].port.ingress == ingress)
			c->powers[i].dbm_hundredths = dbm_hundredths;
}

/* ---- requests ---- */

static void
request_over(struct core *c, int err, const char *text)
{
	c->over = true;
	c->err = err;
	c->done_ns = c->now;
	c->told = 0;
	c->stage = CORE_NO_STAGE;
	c->keep_at = base_add_ns(c->now, c->cfg.keepalive_ns);
	text_set(c->text, text);
}

struct core_item *
ocsproto_core_item(struct core *c, bool removal, uint32_t *i)
{
	for (; *i < c->nitems; ++*i)
		if (!c->items[*i].decided && c->items[*i].removal == removal)
			return &c->items[(*i)++];
	return NULL;
}

void
ocsproto_core_decide(struct core *c, struct core_item *it, int err, const char *text)
{
	it->decided = true;
	it->err = err;
	it->done_ns = c->now;
	text_set(it->text, text);
	if (err == OCS_ERR_OK && it->removal && it->in < c->cfg.ports && it->out < c->cfg.ports &&
	    c->out_of[it->in] == it->out) {
		c->out_of[it->in] = CORE_NONE;
		c->in_of[it->out] = CORE_NONE;
	}
}

void
ocsproto_core_verify(struct core *c)
{
	c->verify = true;
}

/* What the look at the matrix says about an item. */
static void
judge_core(struct core *c, struct core_item *it)
{
	bool there = c->out_of[it->in] == it->out;
	if (it->removal) {
		if (!there)
			ocsproto_core_decide(c, it, OCS_ERR_OK, "");
	} else if (there) {
		ocsproto_core_decide(c, it, OCS_ERR_OK, "");
	} else if (c->out_of[it->in] != CORE_NONE || c->in_of[it->out] != CORE_NONE) {
		ocsproto_core_decide(c, it, OCS_ERR_BUSY, "port in use on the switch");
	}
}

/* The ports of an atomic batch count as free once its removals free them. */
static void
judge_all(struct core *c, bool removal)
{
	for (uint32_t i = 0; i < c->nitems; i++)
		if (c->items[i].removal == removal && !c->items[i].decided)
			judge_core(c, &c->items[i]);
}

static void
judge_atomic(struct core *c)
{
	bool refused = false;
	judge_all(c, true);
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		if (it->removal && !it->decided)
			c->out_of[it->in] = c->in_of[it->out] = CORE_NONE;
	}
	judge_all(c, false);
	for (uint32_t i = 0; i < c->nitems; i++)
		refused = refused || (c->items[i].decided && c->items[i].err);
	for (uint32_t i = 0; refused && i < c->nitems; i++)
		if (!c->items[i].decided || !c->items[i].err)
			ocsproto_core_decide(c, &c->items[i], OCS_ERR_REFUSED,
					     "another one of the batch is");
}

/* Items that still wait are decided by what the matrix shows; so are refusals of what
 * is as it was wanted. */
static void
core_verdict(struct core *c)
{
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		bool right = (c->out_of[it->in] == it->out) != it->removal;
		if (right && it->decided && it->err)
			ocsproto_core_decide(c, it, OCS_ERR_OK, "");
		else if (!it->decided)
			ocsproto_core_decide(c, it, right ? OCS_ERR_OK : OCS_ERR_REFUSED,
					     right	   ? ""
					     : it->text[0] ? it->text
							   : "not done");
	}
}

static void stage_next(struct core *c);

static bool
any_undecided(const struct core *c, bool removal)
{
	for (uint32_t i = 0; i < c->nitems; i++)
		if (!c->items[i].decided && c->items[i].removal == removal)
			return true;
	return false;
}

static void
apply_over(struct core *c)
{
	int err = OCS_ERR_OK;
	for (uint32_t i = 0; i < c->nitems; i++) {
		BASE_ASSERT(c->items[i].decided);
		if (c->items[i].err && !err)
			err = c->items[i].err;
	}
	request_over(c, err, "");
}

static void
enter_core(struct core *c, enum core_stage stage)
{
	c->stage = stage;
	switch (stage) {
	case CORE_LOOK:
	case CORE_VERIFY:
		c->proto->read(c);
		return;
	case CORE_REMOVE:
	case CORE_ADD:
		if (any_undecided(c, stage == CORE_REMOVE))
			c->proto->change(c, stage == CORE_REMOVE);
		else
			stage_next(c);
		return;
	case CORE_SWAP:
		if (any_undecided(c, true) || any_undecided(c, false))
			c->proto->swap(c);
		else
			apply_over(c);
		return;
	case CORE_NO_STAGE:
		return;
	}
}

static void
stage_next(struct core *c)
{
	switch (c->stage) {
	case CORE_LOOK:
		if (c->atomic) {
			judge_atomic(c);
			enter_core(c, CORE_SWAP);
			return;
		}
		judge_all(c, true);
		enter_core(c, CORE_REMOVE);
		return;
	case CORE_REMOVE:
		judge_all(c, false);
		enter_core(c, CORE_ADD);
		return;
	case CORE_ADD:
		if (c->verify) {
			enter_core(c, CORE_VERIFY);
			return;
		}
		apply_over(c);
		return;
	case CORE_VERIFY:
		core_verdict(c);
		apply_over(c);
		return;
	case CORE_SWAP:
		apply_over(c);
		return;
	case CORE_NO_STAGE:
		return;
	}
}

void
ocsproto_core_stage_done(struct core *c, int err, const char *text)
{
	ocsproto_core_settled(c);
	if (c->session != CORE_UP || c->over)
		return;
	if (c->request != CORE_APPLY) {
		if (c->request != CORE_IDLE)
			request_over(c, err, text);
		return;
	}
	if (err == OCS_ERR_OK) {
		stage_next(c);
		return;
	}
	for (uint32_t i = 0; i < c->nitems; i++)
		if (!c->items[i].decided)
			ocsproto_core_decide(c, &c->items[i], err, text);
	request_over(c, err, text);
}

/* ---- the operations of the contract ---- */

static struct core *
core_of(struct ocs_switch *sw)
{
	return (struct core *)(void *)sw;
}

static void
op_connected(struct ocs_switch *sw, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	BASE_ASSERT(c->session == CORE_CLOSED);
	c->now = now_ns;
	c->session = CORE_OPENING;
	c->tx_at = c->tx_len = 0;
	c->id = (struct ocs_identity){0};
	c->down_err = OCS_ERR_OFFLINE;
	c->down_text[0] = 0;
	ocsproto_core_have_none(c);
	ocsproto_core_expect(c);
	c->proto->start(c);
}

static void
op_disconnected(struct ocs_switch *sw, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	c->now = now_ns;
	if (c->session == CORE_CLOSED)
		return;
	if (c->request != CORE_IDLE && !c->over) {
		for (uint32_t i = 0; i < c->nitems; i++)
			if (!c->items[i].decided)
				ocsproto_core_decide(c, &c->items[i], OCS_ERR_OFFLINE, "");
		request_over(c, OCS_ERR_OFFLINE, c->down_text);
	}
	c->session = CORE_CLOSED;
	c->answer_by = c->keep_at = c->again_at = BASE_NEVER_NS;
	struct ocs_event *e = ring_put(c, OCS_EVENT_DOWN);
	if (e) {
		e->err = c->down_err;
		text_set(e->text, c->down_text);
	}
}

static bool
op_rx(struct ocs_switch *sw, const uint8_t *data, size_t len, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	c->now = now_ns;
	if (c->session == CORE_OPENING || c->session == CORE_UP)
		c->proto->rx(c, data, len);
	return c->session != CORE_BROKEN;
}

static size_t
op_tx(struct ocs_switch *sw, uint8_t *buf, size_t space, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	size_t n = c->tx_len - c->tx_at;
	c->now = now_ns;
	n = n < space ? n : space;
	if (n > 0)
		memcpy(buf, c->tx + c->tx_at, n);
	c->tx_at += n;
	if (c->tx_at == c->tx_len)
		c->tx_at = c->tx_len = 0;
	return n;
}

static void
op_tick(struct ocs_switch *sw, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	c->now = now_ns;
	if (c->session != CORE_UP && c->session != CORE_OPENING)
		return;
	if (now_ns >= c->answer_by) {
		ocsproto_core_fail(c, OCS_ERR_TIMEOUT, "no answer");
		return;
	}
	if (now_ns >= c->again_at) {
		c->again_at = BASE_NEVER_NS;
		c->again(c);
	}
	if (c->session == CORE_UP && now_ns >= c->keep_at) {
		c->keep_at = base_add_ns(now_ns, c->cfg.keepalive_ns);
		if (c->request == CORE_IDLE && c->answer_by == BASE_NEVER_NS) {
			ocsproto_core_expect(c);
			c->proto->keepalive(c);
		}
	}
}

static uint64_t
op_expiry(const struct ocs_switch *sw)
{
	const struct core *c = (const struct core *)(const void *)sw;
	if (c->session != CORE_UP && c->session != CORE_OPENING)
		return BASE_NEVER_NS;
	return base_min_ns(base_min_ns(c->answer_by, c->keep_at), c->again_at);
}

static int
begin_core(struct core *c, enum core_request request, uint32_t id, uint64_t now_ns)
{
	c->now = now_ns;
	if (c->session != CORE_UP)
		return OCS_ERR_OFFLINE;
	if (c->request != CORE_IDLE)
		return OCS_ERR_BUSY;
	c->request = request;
	c->request_id = id;
	c->over = c->atomic = c->verify = false;
	c->nitems = 0;
	c->told = 0;
	return OCS_ERR_OK;
}

static int
op_identify(struct ocs_switch *sw, uint32_t id, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	int err = begin_core(c, CORE_IDENTIFY, id, now_ns);
	if (!err)
		request_over(c, OCS_ERR_OK, "");
	return err;
}

static int
op_read_all(struct ocs_switch *sw, uint32_t id, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	int err = begin_core(c, CORE_READ, id, now_ns);
	if (err)
		return err;
	ocsproto_core_expect(c);
	c->proto->read(c);
	return OCS_ERR_OK;
}

static bool
change_is_sound(const struct core *c, const struct ocs_change *ch)
{
	uint64_t n = (uint64_t)ch->removals + ch->additions;
	if (n == 0 || n > c->cfg.batch)
		return false;
	for (uint32_t i = 0; i < ch->removals; i++)
		if (ch->remove[i].in >= c->id.ingress || ch->remove[i].out >= c->id.egress)
			return false;
	for (uint32_t i = 0; i < ch->additions; i++)
		if (ch->add[i].in >= c->id.ingress || ch->add[i].out >= c->id.egress)
			return false;
	return true;
}

static int
op_apply(struct ocs_switch *sw, uint32_t id, const struct ocs_change *ch, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	if (c->session == CORE_UP && !change_is_sound(c, ch))
		return OCS_ERR_INVAL;
	uint32_t need = (ch->atomic ? OCS_CAP_ATOMIC_BATCH : 0) |
			(ch->revert_after_ns ? OCS_CAP_DEADMAN_ROLLBACK : 0);
	if (c->session == CORE_UP && (c->id.caps & need) != need)
		return OCS_ERR_UNSUPPORTED;
	int err = begin_core(c, CORE_APPLY, id, now_ns);
	if (err)
		return err;
	for (uint32_t i = 0; i < ch->removals + ch->additions; i++) {
		bool removal = i < ch->removals;
		const struct ocs_circuit *k = removal ? &ch->remove[i] : &ch->add[i - ch->removals];
		c->items[c->nitems++] =
			(struct core_item){.in = k->in, .out = k->out, .removal = removal};
	}
	c->atomic = ch->atomic;
	c->revert_after_ns = ch->revert_after_ns;
	ocsproto_core_expect(c);
	enter_core(c, CORE_LOOK);
	return OCS_ERR_OK;
}

static int
op_power(struct ocs_switch *sw, uint32_t id, const struct ocs_port_name *ports, uint32_t count,
	 uint64_t now_ns)
{
	struct core *c = core_of(sw);
	if (!c->proto->power || (c->session == CORE_UP && !(c->id.caps & OCS_CAP_POWER)))
		return OCS_ERR_UNSUPPORTED;
	if (count == 0 || count > 2 * c->cfg.ports)
		return OCS_ERR_INVAL;
	for (uint32_t i = 0; i < count && c->session == CORE_UP; i++)
		if (ports[i].port >= (ports[i].ingress ? c->id.ingress : c->id.egress))
			return OCS_ERR_INVAL;
	int err = begin_core(c, CORE_POWER, id, now_ns);
	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
		c->powers[i] = (struct core_power){ports[i], OCS_NO_POWER};
	c->npowers = count;
	ocsproto_core_expect(c);
	c->proto->power(c);
	return OCS_ERR_OK;
}

static int
op_lock(struct ocs_switch *sw, uint32_t id, bool on, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	if (!c->proto->lock)
		return OCS_ERR_UNSUPPORTED;
	int err = begin_core(c, CORE_LOCK, id, now_ns);
	if (err)
		return err;
	ocsproto_core_expect(c);
	c->proto->lock(c, on);
	return OCS_ERR_OK;
}

static int
op_confirm(struct ocs_switch *sw, uint32_t id, uint64_t now_ns)
{
	struct core *c = core_of(sw);
	if (!c->proto->confirm ||
	    (c->session == CORE_UP && !(c->id.caps & OCS_CAP_DEADMAN_ROLLBACK)))
		return OCS_ERR_UNSUPPORTED;
	int err = begin_core(c, CORE_CONFIRM, id, now_ns);
	if (err)
		return err;
	ocsproto_core_expect(c);
	c->proto->confirm(c);
	return OCS_ERR_OK;
}

/* ---- telling ---- */

/* The next event of the request that is over, but for DONE. */
static bool
tell_part(struct core *c, struct ocs_event *ev)
{
	uint32_t i = c->told++;
	switch (c->request) {
	case CORE_IDENTIFY:
		ev->kind = OCS_EVENT_IDENTITY;
		ev->identity = &c->id;
		return i == 0;
	case CORE_APPLY:
		if (i >= c->nitems)
			return false;
		ev->kind = OCS_EVENT_CIRCUIT;
		ev->in = c->items[i].in;
		ev->out = c->items[i].out;
		ev->removal = c->items[i].removal;
		ev->err = c->items[i].err;
		ev->done_ns = c->items[i].done_ns;
		text_set(ev->text, c->items[i].text);
		return true;
	case CORE_READ:
		while (!c->err && i < c->id.ingress && c->out_of[i] >= c->id.egress)
			i++;
		c->told = i + 1;
		if (c->err || i >= c->id.ingress)
			return false;
		ev->kind = OCS_EVENT_CIRCUIT;
		ev->in = i;
		ev->out = c->out_of[i];
		ev->shown = (enum ocs_shown)c->shown[i];
		return true;
	case CORE_POWER:
		if (c->err || i >= c->npowers)
			return false;
		ev->kind = OCS_EVENT_POWER;
		ev->port = c->powers[i].port.port;
		ev->ingress = c->powers[i].port.ingress;
		ev->dbm_hundredths = c->powers[i].dbm_hundredths;
		return true;
	case CORE_LOCK:
	case CORE_CONFIRM:
	case CORE_IDLE:
		break;
	}
	return false;
}

static bool
op_next(struct ocs_switch *sw, struct ocs_event *ev)
{
	struct core *c = core_of(sw);
	if (c->request != CORE_IDLE && c->over) {
		*ev = (struct ocs_event){.id = c->request_id, .done_ns = c->done_ns};
		if (tell_part(c, ev))
			return true;
		*ev = (struct ocs_event){.kind = OCS_EVENT_DONE,
					 .id = c->request_id,
					 .err = c->err,
					 .done_ns = c->done_ns};
		text_set(ev->text, c->text);
		c->request = CORE_IDLE;
		return true;
	}
	if (c->ring_head == c->ring_tail)
		return false;
	*ev = c->ring[c->ring_head++ % CORE_RING];
	return true;
}

static const struct ocs_switch_ops core_switch_ops = {
	.connected = op_connected,
	.disconnected = op_disconnected,
	.rx = op_rx,
	.tx = op_tx,
	.tick = op_tick,
	.expiry_ns = op_expiry,
	.identify = op_identify,
	.apply = op_apply,
	.read_all = op_read_all,
	.power = op_power,
	.lock = op_lock,
	.confirm = op_confirm,
	.next = op_next,
};
