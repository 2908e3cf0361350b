/* SPDX-License-Identifier: BSD-2-Clause */
/* tl1.c - the TL1 engine: commands, their answers, what is outstanding; see core.h, tl1.h. */
#include "tl1.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WINDOW	    8u /* commands outstanding at a time */
#define COMMAND_MAX 2048u
#define TAG_MAX	    999999u
#define STEP_CLEAN  TL1_STEPS /* what a failed second step left is taken away */

enum what { NOTHING, LOGIN, IDENTITY, SIZE, KEEPALIVE, READ, CHANGE, POWER };

struct pending {
	enum what what; /* NOTHING: free */
	uint32_t ctag;
	uint64_t sent_ns;
};

struct tl1 {
	struct tl1_stream stream;
	struct pending pending[WINDOW];
	uint32_t outstanding;
	uint32_t ctag;
	bool removal;	  /* of what change() is at */
	uint32_t asked;	  /* power: ports asked so far */
	uint32_t true_in; /* ports the switch has, more than we have room for perhaps */
	bool sized;
};

const struct tl1_dialect *
ocsproto_tl1_dialect_of(const struct core *c)
{
	switch (c->cfg.kind) {
	case OCSPROTO_TL1_CALIENT:
		return &ocsproto_tl1_calient;
	case OCSPROTO_TL1_GLIMMERGLASS:
		return &ocsproto_tl1_glimmerglass;
	default:
		return &ocsproto_tl1_polatis;
	}
}

/* ---- ports ---- */

static uint32_t
at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

void
ocsproto_tl1_size(struct core *c, const char *n_by_m)
{
	struct tl1 *t = c->engine;
	unsigned int n, m;
	if (sscanf(n_by_m, "%5u%*1[xX]%5u", &n, &m) != 2 || n == 0 || m == 0)
		return;
	t->true_in = n;
	t->sized = true;
	c->id.ingress = at_most(n, c->cfg.ports);
	c->id.egress = at_most(m, c->cfg.ports);
}

static uint32_t
out_base(const struct core *c)
{
	const struct tl1_dialect *d = ocsproto_tl1_dialect_of(c);
	const struct tl1 *t = c->engine;
	return d->out_after_in ? d->in_base + t->true_in : d->out_base;
}

bool
ocsproto_tl1_port(const struct core *c, const char *name, size_t len, bool ingress, uint32_t *port)
{
	const struct tl1_dialect *d = ocsproto_tl1_dialect_of(c);
	uint32_t n = ingress ? c->id.ingress : c->id.egress, v = 0;
	for (uint32_t i = 0; c->cfg.names && i < n; i++)
		if (strlen(c->cfg.names[i]) == len &&
		    strncasecmp(c->cfg.names[i], name, len) == 0) {
			*port = i;
			return true;
		}
	if (c->cfg.names || len == 0 || len > 6)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		v = v * 10 + (uint32_t)(name[i] - '0');
	}
	uint32_t base = ingress ? d->in_base : out_base(c);
	if (v < base || v - base >= n)
		return false;
	*port = v - base;
	return true;
}

bool
ocsproto_tl1_any_port(const struct core *c, const char *name, size_t len, bool *ingress,
		      uint32_t *port)
{
	*ingress = ocsproto_tl1_port(c, name, len, true, port);
	return *ingress || ocsproto_tl1_port(c, name, len, false, port);
}

/* ---- commands ---- */

struct command {
	char buf[COMMAND_MAX];
	size_t len;
	bool overrun;
};

static void
put_tl1(struct command *k, const char *s)
{
	size_t n = strlen(s);
	if (n > sizeof k->buf - k->len) {
		k->overrun = true;
		return;
	}
	memcpy(k->buf + k->len, s, n);
	k->len += n;
}

static void
put_number(struct command *k, uint32_t v)
{
	char s[12];
	snprintf(s, sizeof s, "%u", v);
	put_tl1(k, s);
}

static void
put_port(const struct core *c, struct command *k, bool ingress, uint32_t port)
{
	if (c->cfg.names)
		put_tl1(k, c->cfg.names[port]);
	else
		put_number(k, (ingress ? ocsproto_tl1_dialect_of(c)->in_base : out_base(c)) + port);
}

/* A word as it is, anything else as a quoted string. */
static void
put_tl1_text(struct command *k, const char *s)
{
	bool plain = *s;
	for (const char *p = s; *p; p++)
		plain = plain && ((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') ||
				  (*p >= 'a' && *p <= 'z') || *p == '-' || *p == '_');
	if (!plain)
		put_tl1(k, "\"");
	for (const char *p = s; *p; p++) {
		char one[3] = {*p, 0, 0};
		if (*p == '"' || *p == '\\') {
			one[0] = '\\';
			one[1] = *p;
		}
		put_tl1(k, one);
	}
	if (!plain)
		put_tl1(k, "\"");
}

static void
put_group(const struct core *c, struct command *k, bool ingress, uint32_t tag)
{
	bool first = true;
	for (uint32_t i = 0; i < c->nitems; i++) {
		const struct core_item *it = &c->items[i];
		if (it->decided || it->tag != tag)
			continue;
		if (!first)
			put_tl1(k, "&");
		put_port(c, k, ingress, ingress ? it->in : it->out);
		first = false;
	}
}

static void
put_power_ports(const struct core *c, struct command *k)
{
	const struct tl1 *t = c->engine;
	uint32_t max = ocsproto_tl1_dialect_of(c)->power_max, end = c->npowers;
	if (end - t->asked > max)
		end = t->asked + max;
	for (uint32_t i = t->asked; i < end; i++) {
		if (i > t->asked)
			put_tl1(k, "&");
		put_port(c, k, c->powers[i].port.ingress, c->powers[i].port.port);
	}
}

static void
expand_tl1(const struct core *c, struct command *k, const char *format, uint32_t ctag,
	   const struct core_item *it)
{
	for (const char *p = format; *p; p++) {
		char one[2] = {*p, 0};
		if (*p != '%') {
			put_tl1(k, one);
			continue;
		}
		switch (*++p) {
		case 'c':
			put_number(k, ctag);
			break;
		case 'u':
			put_tl1_text(k, c->cfg.user);
			break;
		case 'p':
			put_tl1_text(k, c->cfg.password ? c->cfg.password : "");
			break;
		case 'g':
			put_tl1(k, c->cfg.group ? c->cfg.group : "MPI");
			break;
		case 'P':
			put_power_ports(c, k);
			break;
		case 'I':
		case 'O':
			put_group(c, k, *p == 'I', ctag);
			break;
		case 'i':
		case 'o':
			put_port(c, k, *p == 'i', *p == 'i' ? it->in : it->out);
			break;
		default: /* n: the name the switch gives a 1WAY circuit */
			put_port(c, k, true, it->in);
			put_tl1(k, ">");
			put_port(c, k, false, it->out);
		}
	}
}

static bool
send_command(struct core *c, enum what what, const char *format, const struct core_item *it)
{
	struct tl1 *t = c->engine;
	struct command k = {.len = 0};
	uint32_t i = 0;
	while (i < WINDOW && t->pending[i].what)
		i++;
	BASE_ASSERT(i < WINDOW);
	expand_tl1(c, &k, format, t->ctag, it);
	if (k.overrun) {
		ocsproto_core_fail(c, OCS_ERR_INVAL, "a name of the configuration is too long");
		return false;
	}
	t->pending[i] = (struct pending){what, t->ctag, c->now};
	t->ctag = t->ctag % TAG_MAX + 1;
	t->outstanding++;
	ocsproto_core_expect(c);
	return ocsproto_core_send(c, k.buf, k.len);
}

/* ---- changes ---- */

static const char *
change_format(const struct core *c, const struct core_item *it)
{
	const struct tl1_dialect *d = ocsproto_tl1_dialect_of(c);
	if (it->step == STEP_CLEAN)
		return d->del[TL1_STEPS - 1] ? d->del[TL1_STEPS - 1] : d->del[0];
	return it->removal ? d->del[it->step] : d->add[it->step];
}

/* The next command for items that wait for one. */
static bool
send_change(struct core *c)
{
	struct tl1 *t = c->engine;
	uint32_t max = ocsproto_tl1_dialect_of(c)->group, n = 0;
	struct core_item *first = NULL, *it;
	for (uint32_t i = 0; n < max && (it = ocsproto_core_item(c, t->removal, &i));) {
		if (it->tag || (first && (it->single || it->step != first->step)))
			continue;
		it->tag = t->ctag;
		n++;
		first = first ? first : it;
		if (first->single)
			break;
	}
	return first && send_command(c, CHANGE, change_format(c, first), first);
}

static void
pump_tl1(struct core *c)
{
	struct tl1 *t = c->engine;
	while (t->outstanding < WINDOW && send_change(c))
		;
	if (t->outstanding == 0 && c->session == CORE_UP)
		ocsproto_core_stage_done(c, OCS_ERR_OK, "");
}

static void
tl1_change(struct core *c, bool removal)
{
	((struct tl1 *)c->engine)->removal = removal;
	pump_tl1(c);
}

static int
error_of(const char *code)
{
	static const struct {
		const char code[5];
		int err;
	} map[] = {
		{"IICM", OCS_ERR_UNSUPPORTED}, {"ICNV", OCS_ERR_UNSUPPORTED},
		{"IIAC", OCS_ERR_INVAL},       {"IITA", OCS_ERR_INVAL},
		{"IICT", OCS_ERR_INVAL},       {"IPMS", OCS_ERR_INVAL},
		{"IPNV", OCS_ERR_INVAL},       {"IPEX", OCS_ERR_INVAL},
		{"IDNV", OCS_ERR_INVAL},       {"IBMS", OCS_ERR_INVAL},
		{"IBEX", OCS_ERR_INVAL},       {"INUP", OCS_ERR_INVAL},
		{"IIPG", OCS_ERR_INVAL},       {"IISP", OCS_ERR_INVAL},
		{"ISCH", OCS_ERR_INVAL},       {"ISPC", OCS_ERR_INVAL},
		{"PLNA", OCS_ERR_AUTH},	       {"PIUI", OCS_ERR_AUTH},
		{"PIUC", OCS_ERR_AUTH},	       {"PICC", OCS_ERR_UNSUPPORTED},
		{"SARB", OCS_ERR_RETRY},       {"SSRE", OCS_ERR_RETRY},
		{"SDNR", OCS_ERR_RETRY},
	};
	for (size_t i = 0; i < sizeof map / sizeof *map; i++)
		if (strcasecmp(code, map[i].code) == 0)
			return map[i].err;
	return OCS_ERR_REFUSED;
}

static void
reason(const struct tl1_message *m, char text[OCS_TEXT_MAX])
{
	if (m->code[0] && m->note[0])
		snprintf(text, OCS_TEXT_MAX, "%s: %.*s", m->code, (int)OCS_TEXT_MAX - 8, m->note);
	else
		snprintf(text, OCS_TEXT_MAX, "%.*s", (int)OCS_TEXT_MAX - 1,
			 m->code[0] ? m->code : m->note);
}

/* One circuit's command has been answered with yes. */
static void
item_done(struct core *c, struct core_item *it)
{
	if (it->step == STEP_CLEAN) {
		ocsproto_core_decide(c, it, it->err, it->text);
		return;
	}
	it->tag = 0;
	it->step++;
	if (it->step == TL1_STEPS || !change_format(c, it))
		ocsproto_core_decide(c, it, OCS_ERR_OK, "");
}

static void
item_refused(struct core *c, struct core_item *it, bool of_many, int err, const char *text)
{
	if (it->step == STEP_CLEAN) { /* what made it necessary is the error */
		ocsproto_core_decide(c, it, it->err, it->text);
		return;
	}
	it->err = err;
	ocsproto_core_text(it->text, sizeof it->text, text, OCS_TEXT_MAX);
	if (of_many && err != OCS_ERR_RETRY) { /* which one it was, single commands tell */
		it->single = true;
		it->tag = 0;
		return;
	}
	ocsproto_core_verify(c);
	if (it->removal && it->step + 1 < TL1_STEPS &&
	    ocsproto_tl1_dialect_of(c)
		    ->del[it->step + 1]) { /* was not active: delete it all the same */
		it->step++;
		it->tag = 0;
	} else if (!it->removal && it->step > 0) {
		it->step = STEP_CLEAN;
		it->tag = 0;
	} else {
		ocsproto_core_decide(c, it, err, it->text);
	}
}

static void
change_answered(struct core *c, uint32_t ctag, enum tl1_completion done, int err, const char *text)
{
	struct tl1 *t = c->engine;
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->nitems; i++)
		n += !c->items[i].decided && c->items[i].tag == ctag;
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		if (it->decided || it->tag != ctag)
			continue;
		if (done == TL1_COMPLD) {
			item_done(c, it);
		} else if (done == TL1_PRTL) {
			ocsproto_core_verify(c);
			ocsproto_core_text(it->text, sizeof it->text, text, OCS_TEXT_MAX);
			ocsproto_core_decide(c, it, OCS_ERR_REFUSED, it->text);
		} else {
			item_refused(c, it, n > 1, err, text);
		}
	}
	if (c->session == CORE_UP && c->request == CORE_APPLY &&
	    c->stage == (t->removal ? CORE_REMOVE : CORE_ADD))
		pump_tl1(c);
}

/* ---- the other commands ---- */

static void
next_to_open(struct core *c, enum what done)
{
	const struct tl1_dialect *d = ocsproto_tl1_dialect_of(c);
	struct tl1 *t = c->engine;
	if (done < LOGIN && c->cfg.user) {
		send_command(c, LOGIN, d->login, NULL);
	} else if (done < IDENTITY && d->identity) {
		send_command(c, IDENTITY, d->identity, NULL);
	} else if (done < SIZE && d->size) {
		send_command(c, SIZE, d->size, NULL);
	} else {
		if (!d->size) {
			c->id.ingress = c->id.egress = c->cfg.ports;
			t->sized = true;
		}
		if (!c->id.vendor[0])
			ocsproto_core_text(c->id.vendor, sizeof c->id.vendor, d->vendor, 31);
		if (t->sized)
			ocsproto_core_up(c);
		else
			ocsproto_core_fail(c, OCS_ERR_PROTOCOL, "the switch does not say its size");
	}
}

static void
tl1_start(struct core *c)
{
	struct tl1 *t = c->engine;
	memset(t, 0, sizeof *t);
	ocsproto_tl1_stream_init(&t->stream);
	t->ctag = 1;
	next_to_open(c, NOTHING);
}

static void
tl1_read(struct core *c)
{
	ocsproto_core_have_none(c);
	send_command(c, READ, ocsproto_tl1_dialect_of(c)->read, NULL);
}

static void
tl1_power(struct core *c)
{
	const struct tl1_dialect *d = ocsproto_tl1_dialect_of(c);
	struct tl1 *t = c->engine;
	t->asked = 0;
	send_command(c, POWER, d->power, NULL);
}

static void
power_answered(struct core *c, int err, const char *text)
{
	const struct tl1_dialect *d = ocsproto_tl1_dialect_of(c);
	struct tl1 *t = c->engine;
	t->asked = c->npowers - t->asked > d->power_max ? t->asked + d->power_max : c->npowers;
	if (err || t->asked >= c->npowers)
		ocsproto_core_stage_done(c, err, text);
	else
		send_command(c, POWER, d->power, NULL);
}

static void
tl1_keepalive(struct core *c)
{
	send_command(c, KEEPALIVE, ocsproto_tl1_dialect_of(c)->keepalive, NULL);
}

/* ---- answers ---- */

/* The command an answer belongs to; an agent that could not read the ctag says 0, and
 * then it is the oldest one. */
static struct pending *
pending_of(struct tl1 *t, uint32_t ctag)
{
	struct pending *oldest = NULL;
	for (uint32_t i = 0; i < WINDOW; i++) {
		struct pending *p = &t->pending[i];
		if (!p->what)
			continue;
		if (p->ctag == ctag)
			return p;
		if (!oldest || (p->ctag + TAG_MAX - oldest->ctag) % TAG_MAX > TAG_MAX / 2)
			oldest = p;
	}
	return ctag == 0 ? oldest : NULL;
}

static void
tl1_answered(struct core *c, struct pending *p, enum tl1_completion done, int err, const char *text)
{
	struct tl1 *t = c->engine;
	enum what what = p->what;
	p->what = NOTHING;
	t->outstanding--;
	if (t->outstanding == 0)
		ocsproto_core_settled(c);
	else
		ocsproto_core_expect(c);
	if (err == OCS_ERR_AUTH) {
		/* Not the agent's words: some repeat the command, password and all. */
		ocsproto_core_fail(c, err, what == LOGIN ? "login refused" : "not logged in");
		return;
	}
	switch (what) {
	case LOGIN:
		if (err)
			ocsproto_core_fail(c, OCS_ERR_AUTH, "login refused");
		else
			next_to_open(c, what);
		break;
	case IDENTITY:
	case SIZE:
		next_to_open(c, what);
		break;
	case READ:
		ocsproto_core_stage_done(c, err, text);
		break;
	case POWER:
		power_answered(c, err, text);
		break;
	case CHANGE:
		change_answered(c, p->ctag, done, err, text);
		break;
	default: /* KEEPALIVE: that there is an answer is enough */
		break;
	}
}

static void
message_ends(struct core *c, bool more)
{
	struct tl1 *t = c->engine;
	const struct tl1_message *m = &t->stream.msg;
	char text[OCS_TEXT_MAX] = "";
	if (m->autonomous) {
		if (strncasecmp(m->verb, "REPT DBCHG", 10) == 0)
			ocsproto_core_changed(c);
		return;
	}
	struct pending *p = pending_of(t, m->ctag);
	if (!p)
		return;
	if (more || m->completion == TL1_RTRV || m->completion == TL1_DELAY) {
		ocsproto_core_expect(c);
		return;
	}
	reason(m, text);
	int err = m->completion == TL1_DENY ? error_of(m->code) : OCS_ERR_OK;
	tl1_answered(c, p, m->completion, err, text);
}

/* "REPT ALM": the record begins with the port, severity CL is the end of it. */
static void
alarm_record(struct core *c, const struct tl1_message *m, const char *record)
{
	size_t n = strcspn(record, ":");
	uint32_t port;
	bool ingress;
	if (strncasecmp(m->verb, "REPT ALM", 8) != 0 || record[n] != ':' ||
	    !ocsproto_tl1_any_port(c, record, n, &ingress, &port))
		return;
	bool over = strncasecmp(record + n + 1, "CL,", 3) == 0;
	ocsproto_core_alarm(c, ingress, port, over ? OCS_ERR_OK : OCS_ERR_DARK, record);
}

static void
record_comes(struct core *c, const char *record)
{
	const struct tl1_dialect *d = ocsproto_tl1_dialect_of(c);
	struct tl1 *t = c->engine;
	const struct tl1_message *m = &t->stream.msg;
	void (*take)(struct core *, const char *) = NULL;
	if (m->autonomous) {
		alarm_record(c, m, record);
		return;
	}
	const struct pending *p = pending_of(t, m->ctag);
	switch (p ? p->what : NOTHING) {
	case IDENTITY:
		take = d->identity_record;
		break;
	case SIZE:
		take = d->size_record;
		break;
	case READ:
		take = d->read_record;
		break;
	case POWER:
		take = d->power_record;
		break;
	default:
		break;
	}
	if (take)
		take(c, record);
}

/* "Repeat later", or no: nothing else will come for this command. */
static void
ack_comes(struct core *c, const struct tl1_event *ev)
{
	struct pending *p = pending_of(c->engine, ev->ctag);
	if (!p)
		return;
	if (strcmp(ev->text, "RL") == 0)
		tl1_answered(c, p, TL1_DENY, OCS_ERR_RETRY, "RL");
	else if (ev->text[0] == 'N')
		tl1_answered(c, p, TL1_DENY, OCS_ERR_REFUSED, ev->text);
	else
		ocsproto_core_expect(c);
}

static void
tl1_bytes(struct core *c, const uint8_t *p, size_t len)
{
	struct tl1 *t = c->engine;
	struct tl1_event ev;
	while (len > 0 && c->session != CORE_BROKEN) {
		size_t n = ocsproto_tl1_rx(&t->stream, p, len, &ev);
		p += n;
		len -= n;
		if (ev.kind == TL1_TELNET)
			ocsproto_core_send(c, ev.reply, sizeof ev.reply);
		else if (ev.kind == TL1_RECORD)
			record_comes(c, ev.text);
		else if (ev.kind == TL1_ACK)
			ack_comes(c, &ev);
		else if (ev.kind == TL1_END)
			message_ends(c, ev.more);
	}
}

static size_t
tl1_footprint(const struct ocsproto_config *cfg)
{
	(void)cfg;
	return sizeof(struct tl1);
}

#define TL1_OPS(dialect, port, capabilities)                                                       \
	{                                                                                          \
		.name = "tl1-" dialect, .tcp_port = (port), .caps = (capabilities),                \
		.footprint = tl1_footprint, .start = tl1_start, .rx = tl1_bytes, .read = tl1_read, \
		.change = tl1_change, .power = tl1_power, .keepalive = tl1_keepalive               \
	}
const struct core_ops ocsproto_polatis =
	TL1_OPS("polatis", 3082, OCS_CAP_IMPLICIT_DISPLACE | OCS_CAP_POWER | OCS_CAP_EVENTS);
const struct core_ops ocsproto_calient =
	TL1_OPS("calient", 3083, OCS_CAP_ASYNC_COMPLETE | OCS_CAP_POWER | OCS_CAP_EVENTS);
const struct core_ops ocsproto_glimmerglass =
	TL1_OPS("glimmerglass", 10033, OCS_CAP_ASYNC_COMPLETE | OCS_CAP_POWER | OCS_CAP_EVENTS);
