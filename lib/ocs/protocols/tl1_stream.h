/* SPDX-License-Identifier: BSD-2-Clause */
/* tl1_stream.h - the messages in what a TL1 agent sends.
 *
 *     while ((n = tl1_rx(s, p, len, &ev)) > 0 || ev.kind) ...
 *
 * Takes bytes up to and including the first thing to tell, so any cuts give the same
 * events.  Copes with what agents really send: Telnet options (answered), echo,
 * banners, prompts, terminal resets, acknowledgements before the answer, autonomous
 * messages glued to answers, comments over several lines, ';' inside text.
 *
 * Within a message its head (kind, ctag, completion, verb) stands in s->msg from the
 * first record until the next head; code and comment are complete at END. */
#ifndef OCSPROTO_TL1_STREAM_H
#define OCSPROTO_TL1_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL1_LINE_MAX 1024u /* longer lines are cut */
#define TL1_WORD_MAX 48u
#define TL1_NOTE_MAX 96u

enum tl1_event_kind {
	TL1_NOTHING,
	TL1_RECORD, /* text: a line of data without its quotes */
	TL1_ACK,    /* text: IP, PF, OK, NA, NG, RL; ctag in ev->ctag */
	TL1_END,    /* the message, or with more set a part of it, is complete */
	TL1_TELNET, /* reply[3] is to be sent */
};

enum tl1_completion {
	TL1_NO_COMPLETION,
	TL1_COMPLD,
	TL1_DENY,
	TL1_PRTL,
	TL1_DELAY,
	TL1_RTRV,
};

struct tl1_event {
	enum tl1_event_kind kind;
	const char *text; /* valid until the next call */
	uint32_t ctag;	  /* TL1_ACK; 0: none that is a number of ours */
	bool more;	  /* TL1_END: ended by '>' */
	uint8_t reply[3];
};

struct tl1_message {
	bool autonomous;
	uint32_t ctag; /* 0: no number of ours */
	enum tl1_completion completion;
	char alarm;		 /* 'C' critical, '*' major, '^' minor, 'A' event */
	char sid[TL1_WORD_MAX];	 /* as the agent calls itself */
	char verb[TL1_WORD_MAX]; /* autonomous: "REPT ALM CRS" */
	char code[5];		 /* first error code, "" if none */
	char note[TL1_NOTE_MAX]; /* beginning of the comment text */
};

struct tl1_stream {
	struct tl1_message msg;
	uint8_t state, telnet, verb, escape;
	bool comment; /* within one */
	uint32_t len;
	char line[TL1_LINE_MAX + 1];
	char told[TL1_LINE_MAX + 1];
};

void ocsproto_tl1_stream_init(struct tl1_stream *s);
size_t ocsproto_tl1_rx(struct tl1_stream *s, const uint8_t *p, size_t len, struct tl1_event *ev);

/* The value of NAME in a record "aid:A=b,NAME=value"; false if it has none.  Values end
 * at ',' or ':'; quotes around one are taken off. */
bool ocsproto_tl1_field(const char *record, const char *name, char *value, size_t room);

#endif
