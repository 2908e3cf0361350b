/* SPDX-License-Identifier: BSD-2-Clause */
/* scpi.c - the SCPI engine (Polatis): one line out, one line back; see core.h.
 *
 * Commands that set answer nothing, so each is followed by *OPC? on the same line, which
 * answers 1 when it is done, and by the question for the error queue.  Lists are
 * all or nothing; when one is refused its circuits go again one by one. */
#include "ocsproto/core.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX  64u /* circuits in one command */
#define POWER_MAX 64u /* ports in one question; 256 are allowed */

enum waiting { NOTHING, IDN, SIZE, STATE, OPC, ERROR, POWER, KEEPALIVE };

struct scpi {
	enum waiting waiting;
	uint32_t stale; /* answers to come that nobody waits for any more */
	uint32_t true_in;
	uint32_t group; /* of the items that were sent last */
	uint32_t asked, asked_end;
	bool removal, overrun;
	uint32_t len, room;
	char line[];
};

/* An answer names every port in use: up to six characters each. */
static uint32_t
line_room(const struct ocsproto_config *cfg)
{
	return 256 + 2 * 7 * cfg->ports;
}

static size_t
scpi_footprint(const struct ocsproto_config *cfg)
{
	return sizeof(struct scpi) + line_room(cfg);
}

static void
ask_scpi(struct core *c, enum waiting what, const char *text)
{
	struct scpi *s = c->engine;
	s->stale += s->waiting == KEEPALIVE;
	s->waiting = what;
	ocsproto_core_expect(c);
	ocsproto_core_send(c, text, strlen(text));
}

static void
scpi_start(struct core *c)
{
	struct scpi *s = c->engine;
	memset(s, 0, sizeof *s);
	s->room = line_room(&c->cfg);
	ask_scpi(c, IDN, "*IDN?\n");
}

static void
scpi_read(struct core *c)
{
	ask_scpi(c, STATE, ":OXC:SWIT:CONN:STAT?\n");
}

static void
scpi_keepalive(struct core *c)
{
	ask_scpi(c, KEEPALIVE, "*OPC?\n");
}

/* ---- lists of ports ---- */

/* The next number of "1,2,3)"; false at the end of the list, *at behind it. */
static bool
list_next(const char **at, uint32_t *v)
{
	const char *p = *at;
	while (*p == ' ' || *p == ',')
		p++;
	*v = 0;
	const char *first = p;
	for (; *p >= '0' && *p <= '9' && p - first < 6; p++)
		*v = *v * 10 + (uint32_t)(*p - '0');
	*at = p;
	return p > first;
}

/* "(@1,2),(@17,18)": the beginnings of both lists. */
static bool
two_lists(const char *line, const char **ins, const char **outs)
{
	const char *a = strstr(line, "(@"), *b = a ? strstr(a + 2, "(@") : NULL;
	if (!a || !b || !strchr(a, ')') || strchr(a, ')') > b || !strchr(b, ')'))
		return false;
	*ins = a + 2;
	*outs = b + 2;
	return true;
}

static bool
state_line(struct core *c, const char *line)
{
	const struct scpi *s = c->engine;
	const char *ins, *outs;
	uint32_t in, out;
	ocsproto_core_have_none(c);
	if (!two_lists(line, &ins, &outs))
		return false;
	while (list_next(&ins, &in)) {
		if (!list_next(&outs, &out) || in == 0 || out <= s->true_in)
			return false;
		ocsproto_core_have(c, in - 1, out - s->true_in - 1, OCS_SHOWN_STEADY);
	}
	return *ins == ')' && *outs == ')' && !list_next(&outs, &out);
}

static void
power_line(struct core *c, const char *line)
{
	const struct scpi *s = c->engine;
	uint32_t i = s->asked;
	for (const char *p = *line == '(' ? line + 1 : line; *p && i < s->asked_end; i++) {
		size_t n = strcspn(p, ",)");
		int32_t dbm;
		if (ocsproto_core_dbm(p, n, &dbm))
			c->powers[i].dbm_hundredths = dbm;
		p += n;
		p += *p == ',' || *p == ')';
	}
}

/* ---- changes ---- */

struct text {
	char s[64 + LIST_MAX * 14];
	size_t n;
};

static void
put_scpi(struct text *t, const char *s)
{
	size_t n = strlen(s);
	if (n < sizeof t->s - t->n) {
		memcpy(t->s + t->n, s, n + 1);
		t->n += n;
	}
}

static void
put_list(struct core *c, struct text *t, bool ingress)
{
	const struct scpi *s = c->engine;
	const char *before = "(@";
	for (uint32_t i = 0; i < c->nitems; i++) {
		const struct core_item *it = &c->items[i];
		char number[16];
		if (it->decided || it->tag != s->group)
			continue;
		snprintf(number, sizeof number, "%s%u", before,
			 ingress ? it->in + 1 : s->true_in + it->out + 1);
		put_scpi(t, number);
		before = ",";
	}
	put_scpi(t, ")");
}

/* The next list of circuits, or the end of the stage. */
static void
send_list(struct core *c)
{
	struct scpi *s = c->engine;
	struct core_item *it;
	uint32_t n = 0;
	s->group++;
	for (uint32_t i = 0; n < LIST_MAX && (it = ocsproto_core_item(c, s->removal, &i));) {
		if (it->tag || (it->single && n > 0))
			continue;
		it->tag = s->group;
		n++;
		if (it->single)
			break;
	}
	if (n == 0) {
		ocsproto_core_stage_done(c, OCS_ERR_OK, "");
		return;
	}
	struct text t = {.n = 0};
	put_scpi(&t, s->removal ? "*CLS;:OXC:SWIT:CONN:SUB " : "*CLS;:OXC:SWIT:CONN:ADD ");
	put_list(c, &t, true);
	put_scpi(&t, ",");
	put_list(c, &t, false);
	put_scpi(&t, ";*OPC?\n");
	ask_scpi(c, OPC, t.s);
}

static void
scpi_change(struct core *c, bool removal)
{
	struct scpi *s = c->engine;
	s->removal = removal;
	s->group = 0;
	send_list(c);
}

/* "0,"No error"", or what was wrong with the list. */
static void
list_answered(struct core *c, const char *line)
{
	struct scpi *s = c->engine;
	bool refused = line[0] != '0' || (line[1] >= '0' && line[1] <= '9');
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->nitems; i++)
		n += !c->items[i].decided && c->items[i].tag == s->group;
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		if (it->decided || it->tag != s->group)
			continue;
		if (!refused) {
			ocsproto_core_decide(c, it, OCS_ERR_OK, "");
		} else if (n > 1) {
			it->single = true;
			it->tag = 0;
		} else {
			ocsproto_core_verify(c);
			ocsproto_core_decide(c, it, OCS_ERR_REFUSED, line);
		}
	}
	send_list(c);
}

/* ---- power ---- */

static void
scpi_power_from(struct core *c, uint32_t first)
{
	struct scpi *s = c->engine;
	struct text t = {.n = 0};
	const char *before = ":PMON:POW? (@";
	s->asked = first;
	s->asked_end = c->npowers - first > POWER_MAX ? first + POWER_MAX : c->npowers;
	for (uint32_t i = s->asked; i < s->asked_end; i++) {
		const struct ocs_port_name *p = &c->powers[i].port;
		char number[32];
		snprintf(number, sizeof number, "%s%u", before,
			 p->ingress ? p->port + 1 : s->true_in + p->port + 1);
		put_scpi(&t, number);
		before = ",";
	}
	put_scpi(&t, ")\n");
	ask_scpi(c, POWER, t.s);
}

static void
scpi_power(struct core *c)
{
	scpi_power_from(c, 0);
}

/* ---- answers ---- */

static void
idn_line(struct core *c, const char *line)
{
	size_t n = strcspn(line, ",");
	ocsproto_core_text(c->id.vendor, sizeof c->id.vendor, line, n);
	line += n + (line[n] == ',');
	n = strcspn(line, ",");
	ocsproto_core_text(c->id.model, sizeof c->id.model, line, n);
	line += n + (line[n] == ',');
	line += strcspn(line, ",");
	ocsproto_core_text(c->id.version, sizeof c->id.version, line + (*line == ','), 31);
	ask_scpi(c, SIZE, ":OXC:SWIT:SIZE?\n");
}

static void
size_line(struct core *c, const char *line)
{
	struct scpi *s = c->engine;
	uint32_t n, m;
	if (!list_next(&line, &n) || !list_next(&line, &m) || n == 0 || m == 0) {
		ocsproto_core_fail(c, OCS_ERR_PROTOCOL, "the switch does not say its size");
		return;
	}
	s->true_in = n;
	c->id.ingress = n < c->cfg.ports ? n : c->cfg.ports;
	c->id.egress = m < c->cfg.ports ? m : c->cfg.ports;
	ocsproto_core_up(c);
	/* Products without photodetectors say so in their code. */
	if (strstr(c->id.model, "I-OST"))
		c->id.caps &= ~(uint32_t)OCS_CAP_POWER;
}

static void
line_comes(struct core *c, const char *line)
{
	struct scpi *s = c->engine;
	enum waiting was = s->waiting;
	if (s->stale > 0) {
		s->stale--;
		return;
	}
	s->waiting = NOTHING;
	ocsproto_core_settled(c);
	switch (was) {
	case IDN:
		idn_line(c, line);
		break;
	case SIZE:
		size_line(c, line);
		break;
	case STATE:
		if (state_line(c, line))
			ocsproto_core_stage_done(c, OCS_ERR_OK, "");
		else
			ocsproto_core_fail(c, OCS_ERR_PROTOCOL, "no list of circuits");
		break;
	case OPC:
		ask_scpi(c, ERROR, ":SYST:ERR?\n");
		break;
	case ERROR:
		list_answered(c, line);
		break;
	case POWER:
		power_line(c, line);
		if (s->asked_end < c->npowers)
			scpi_power_from(c, s->asked_end);
		else
			ocsproto_core_stage_done(c, OCS_ERR_OK, "");
		break;
	case KEEPALIVE:
		break;
	case NOTHING:
		ocsproto_core_fail(c, OCS_ERR_PROTOCOL, "an answer to no question");
		break;
	}
}

static void
scpi_bytes(struct core *c, const uint8_t *p, size_t len)
{
	struct scpi *s = c->engine;
	for (; len > 0 && c->session != CORE_BROKEN; p++, len--) {
		if (*p == '\n') {
			s->line[s->len] = 0;
			if (s->overrun)
				ocsproto_core_fail(c, OCS_ERR_PROTOCOL, "a line without end");
			else if (s->len > 0)
				line_comes(c, s->line);
			s->len = 0;
			s->overrun = false;
		} else if (*p >= ' ' && *p <= '~') {
			if (s->len + 1 < s->room)
				s->line[s->len++] = (char)*p;
			else
				s->overrun = true;
		}
	}
}

const struct core_ops ocsproto_scpi = {
	.name = "scpi",
	.tcp_port = 5025,
	.caps = OCS_CAP_IMPLICIT_DISPLACE | OCS_CAP_POWER,
	.footprint = scpi_footprint,
	.start = scpi_start,
	.rx = scpi_bytes,
	.read = scpi_read,
	.change = scpi_change,
	.power = scpi_power,
	.keepalive = scpi_keepalive,
};
