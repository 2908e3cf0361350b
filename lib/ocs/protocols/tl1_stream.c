/* SPDX-License-Identifier: BSD-2-Clause */
/* tl1_stream.c - see tl1_stream.h. */
#include "tl1_stream.h"

#include <string.h>
#include <strings.h>

enum { BETWEEN, HEAD, BODY };
enum { T_DATA, T_IAC, T_OPTION, T_SUB, T_SUB_IAC };
enum { E_NONE, E_ESC, E_CSI };

#define IAC  255
#define DONT 254
#define DO   253
#define WONT 252
#define WILL 251
#define SB   250
#define SE   240
#define ESC  27

void
ocsproto_tl1_stream_init(struct tl1_stream *s)
{
	memset(s, 0, sizeof *s);
}

/* ---- words of a line ---- */

static const char *
skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_alpha(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* The next word of *p into w; false if there is none. */
static bool
stream_word(const char **p, char *w, size_t room)
{
	const char *q = skip_blanks(*p);
	size_t n = 0;
	while (*q && *q != ' ' && *q != '\t') {
		if (n + 1 < room)
			w[n++] = *q;
		q++;
	}
	w[n] = 0;
	*p = q;
	return n > 0;
}

static uint32_t
stream_number(const char *w)
{
	uint32_t v = 0;
	for (; is_digit(*w); w++) {
		if (v > 999999)
			return 0;
		v = v * 10 + (uint32_t)(*w - '0');
	}
	return *w ? 0 : v;
}

static enum tl1_completion
completion_of(const char *w)
{
	static const char *const names[] = {"", "COMPLD", "DENY", "PRTL", "DELAY", "RTRV"};
	for (unsigned int i = 1; i < sizeof names / sizeof *names; i++)
		if (strcasecmp(w, names[i]) == 0)
			return (enum tl1_completion)i;
	return TL1_NO_COMPLETION;
}

/* ---- lines ---- */

/* "9" a digit, others themselves. */
static bool
shaped(const char *p, const char *shape)
{
	for (; *shape; p++, shape++)
		if (*shape == '9' ? !is_digit(*p) : *p != *shape)
			return false;
	return *p == 0 || *p == ' ';
}

/* "   SID 26-11-21 09:00:00": whatever stands before date and time is the SID. */
static bool
head_line(struct tl1_stream *s)
{
	size_t n = s->len;
	while (n > 0 && s->line[n - 1] == ' ')
		n--;
	if (n < 8 + 1 + 8)
		return false;
	const char *time = s->line + n - 8, *date = time;
	if (!shaped(time, "99:99:99"))
		return false;
	while (date > s->line && date[-1] == ' ')
		date--;
	while (date > s->line && (is_digit(date[-1]) || date[-1] == '-'))
		date--;
	if (!shaped(date, "99-99-99") && !shaped(date, "9999-99-99"))
		return false;
	const char *end = date, *sid = s->line;
	while (end > sid && end[-1] == ' ')
		end--;
	for (const char *p = sid; p < end; p++)
		if (*p == '>')
			sid = p + 1; /* a prompt stood before it */
	sid = skip_blanks(sid);
	memset(&s->msg, 0, sizeof s->msg);
	for (size_t i = 0; sid < end && i + 1 < sizeof s->msg.sid; i++)
		s->msg.sid[i] = *sid++;
	s->state = HEAD;
	return true;
}

/* "M  7 COMPLD" */
static bool
answer_line(struct tl1_stream *s)
{
	char m[4], ctag[TL1_WORD_MAX], done[TL1_WORD_MAX];
	const char *p = s->line;
	if (!stream_word(&p, m, sizeof m) || strcasecmp(m, "M") != 0 ||
	    !stream_word(&p, ctag, sizeof ctag) || !stream_word(&p, done, sizeof done) ||
	    !completion_of(done))
		return false;
	s->msg.autonomous = false;
	s->msg.ctag = stream_number(ctag);
	s->msg.completion = completion_of(done);
	s->state = BODY;
	return true;
}

/* "** 118 REPT ALM CRS", and only behind a head. */
static bool
autonomous_line(struct tl1_stream *s)
{
	static const struct {
		const char *code;
		char alarm;
	} codes[] = {{"*C", 'C'}, {"**", '*'}, {"*^", '^'}, {"*", '^'}, {"A", 'A'}};
	char code[4], atag[TL1_WORD_MAX];
	const char *p = s->line;
	if (!stream_word(&p, code, sizeof code) || !stream_word(&p, atag, sizeof atag))
		return false;
	for (unsigned int i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (strcasecmp(code, codes[i].code) != 0)
			continue;
		p = skip_blanks(p);
		size_t n = strlen(p);
		while (n > 0 && p[n - 1] == ' ')
			n--;
		n = n < sizeof s->msg.verb ? n : sizeof s->msg.verb - 1;
		memcpy(s->msg.verb, p, n);
		s->msg.verb[n] = 0;
		s->msg.alarm = codes[i].alarm;
		s->msg.autonomous = true;
		s->state = BODY;
		return true;
	}
	return false;
}

/* "IP 7", also behind a prompt or an echo that ended without a line end. */
static bool
ack_line(const struct tl1_stream *s, struct tl1_event *ev)
{
	static const char *const acks[] = {"IP", "PF", "OK", "NA", "NG", "RL"};
	char code[4], ctag[TL1_WORD_MAX], rest[2];
	const char *p = s->line;
	if (!stream_word(&p, code, sizeof code) || !stream_word(&p, ctag, sizeof ctag) ||
	    stream_word(&p, rest, sizeof rest))
		return false;
	for (unsigned int i = 0; i < sizeof acks / sizeof *acks; i++)
		if (strcasecmp(code, acks[i]) == 0) {
			ev->kind = TL1_ACK;
			ev->text = acks[i];
			ev->ctag = stream_number(ctag);
			return true;
		}
	return false;
}

static void
note_stream(struct tl1_stream *s, const char *p, size_t len)
{
	size_t at = strlen(s->msg.note);
	if (at > 0 && at + 1 < sizeof s->msg.note)
		s->msg.note[at++] = ' ';
	for (; len > 0 && at + 1 < sizeof s->msg.note; len--)
		s->msg.note[at++] = *p++;
	while (at > 0 && s->msg.note[at - 1] == ' ')
		at--;
	s->msg.note[at] = 0;
}

/* A piece of comment: from behind the opening, or a whole line within it. */
static void
comment_line(struct tl1_stream *s, const char *p)
{
	const char *end = strstr(p, "*/");
	s->comment = !end;
	p = skip_blanks(p);
	size_t len = end ? (end > p ? (size_t)(end - p) : 0) : strlen(p);
	if (len > 0)
		note_stream(s, p, len);
}

static void
record_line(struct tl1_stream *s, const char *p, struct tl1_event *ev)
{
	size_t n = 0;
	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && (p[1] == '"' || p[1] == '\\'))
			p++;
		s->told[n++] = *p;
	}
	s->told[n] = 0;
	ev->kind = TL1_RECORD;
	ev->text = s->told;
}

static void
body_line(struct tl1_stream *s, struct tl1_event *ev)
{
	const char *p = skip_blanks(s->line);
	if (s->comment) {
		comment_line(s, p);
	} else if (p[0] == '"') {
		record_line(s, p, ev);
	} else if (p[0] == '/' && p[1] == '*') {
		comment_line(s, p + 2);
	} else if (is_alpha(p[0]) && is_alpha(p[1]) && is_alpha(p[2]) && is_alpha(p[3]) &&
		   *skip_blanks(p + 4) == 0) {
		if (!s->msg.code[0])
			memcpy(s->msg.code, p, 4);
	} else if (*p && !head_line(s)) { /* the end of the message before was lost */
		note_stream(s, p, strlen(p));
	}
}

static void
line_ends(struct tl1_stream *s, struct tl1_event *ev)
{
	while (s->len > 0 && s->line[s->len - 1] == ' ')
		s->len--;
	s->line[s->len] = 0;
	switch (s->state) {
	case HEAD:
		if (s->len == 0 || answer_line(s) || autonomous_line(s))
			break;
		s->state = BETWEEN;
		/* fall through */
	case BETWEEN:
		if (!head_line(s) && !ack_line(s, ev)) {
			struct tl1_message before = s->msg;
			memset(&s->msg, 0, sizeof s->msg);
			if (!answer_line(s))
				s->msg = before;
		}
		break;
	default:
		body_line(s, ev);
	}
	s->len = 0;
}

/* ---- bytes ---- */

/* At the beginning of a line; true: it is no part of one. */
static bool
lone(struct tl1_stream *s, char c, struct tl1_event *ev)
{
	if (s->len > 0 || s->comment)
		return false;
	if (s->state != BODY)
		return c == ';' || c == '<' || c == '>';
	if (c != ';' && c != '>')
		return false;
	s->state = BETWEEN;
	ev->kind = TL1_END;
	ev->more = c == '>';
	return true;
}

/* "agent>" and the like between messages. */
static bool
is_prompt(const struct tl1_stream *s)
{
	if (s->state == BODY || s->len == 0 || s->len > 16)
		return false;
	for (uint32_t i = 0; i < s->len; i++)
		if (!is_alpha(s->line[i]) && !is_digit(s->line[i]) && s->line[i] != '-')
			return false;
	return true;
}

static void
text_byte(struct tl1_stream *s, char c, struct tl1_event *ev)
{
	if (c == '\n') {
		line_ends(s, ev);
		return;
	}
	if (c == '\t')
		c = ' ';
	if (c < ' ' || c > '~' || lone(s, c, ev))
		return;
	if (c == '>' && is_prompt(s)) {
		s->len = 0;
		return;
	}
	if (s->len < TL1_LINE_MAX)
		s->line[s->len++] = c;
}

/* Terminal resets: ESC x, ESC [ ... letter. */
static bool
escape_byte(struct tl1_stream *s, uint8_t b)
{
	switch (s->escape) {
	case E_ESC:
		s->escape = b == '[' ? E_CSI : E_NONE;
		return true;
	case E_CSI:
		if (b >= 0x40 && b <= 0x7e)
			s->escape = E_NONE;
		return true;
	default:
		s->escape = b == ESC ? E_ESC : E_NONE;
		return b == ESC;
	}
}

static bool
telnet_byte(struct tl1_stream *s, uint8_t b, struct tl1_event *ev)
{
	switch (s->telnet) {
	case T_IAC:
		s->verb = b;
		s->telnet = b == SB ? T_SUB : b >= WILL && b <= DONT ? T_OPTION : T_DATA;
		return true;
	case T_OPTION:
		s->telnet = T_DATA;
		if (s->verb == DO || s->verb == WILL) {
			ev->kind = TL1_TELNET;
			ev->reply[0] = IAC;
			ev->reply[1] = s->verb == DO ? WONT : DONT;
			ev->reply[2] = b;
		}
		return true;
	case T_SUB:
		if (b == IAC)
			s->telnet = T_SUB_IAC;
		return true;
	case T_SUB_IAC:
		s->telnet = b == SE ? T_DATA : T_SUB;
		return true;
	default:
		if (b == IAC)
			s->telnet = T_IAC;
		return b == IAC;
	}
}

size_t
ocsproto_tl1_rx(struct tl1_stream *s, const uint8_t *p, size_t len, struct tl1_event *ev)
{
	size_t i = 0;
	*ev = (struct tl1_event){0};
	while (i < len && !ev->kind) {
		uint8_t b = p[i++];
		if (!telnet_byte(s, b, ev) && !escape_byte(s, b))
			text_byte(s, (char)b, ev);
	}
	return i;
}

bool
ocsproto_tl1_field(const char *record, const char *name, char *value, size_t room)
{
	size_t len = strlen(name), n = 0;
	const char *p = record;
	for (bool begins = true; *p; begins = *p == ',' || *p == ':' || *p == ' ', p++)
		if (begins && strncasecmp(p, name, len) == 0 && p[len] == '=')
			break;
	if (!*p)
		return false;
	p += len + 1;
	bool quoted = *p == '"';
	for (p += quoted; *p && (quoted ? *p != '"' : *p != ',' && *p != ':'); p++)
		if (n + 1 < room)
			value[n++] = *p;
	value[n] = 0;
	return true;
}
