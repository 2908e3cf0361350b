/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/message.h - short, long and synchronous messages and cancel: which packets
 * a message is made of, what a packet of data is, and which answers a send may get
 * (IMPI reference 5.3, 5.4, 5.7).
 *
 * Sending.  A message of L bytes is one packet if L <= datalen; else its pieces are
 *
 *     struct impi_piece x = impi_message_piece(L, datalen, k);   k = 0 .. packets - 1
 *
 * Piece 0 is DATASYNC if there are more or the send is synchronous, and then waits for
 * SYNCACK; it is DATA otherwise.  Pieces 1, 2, ... are DATA, in order, after the SYNCACK and
 * with pk_drqid from it.  Who has sent a DATASYNC keeps its enum impi_send_state and asks
 * impi_send_next() what an answer does.
 *
 * Receiving.  impi_packet_opens() tells a message from more of one.  A DATASYNC is answered with
 * SYNCACK when a receive takes the message, naming a drqid if bytes are still to come.  A
 * CANCEL gets exactly one answer: CANCELYES if, among the messages of the same (src, dest)
 * with this srqid, the newest, searched from the one that came last, is known and no receive
 * has taken it (it is then destroyed before the answer goes out); else CANCELNO.  Every
 * answer copies the srqid and swaps the processes.
 *
 * Threads  pure functions of their arguments. */
#ifndef IMPI_MESSAGE_H
#define IMPI_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "impi/wire.h"

/* --- cutting ------------------------------------------------------------- */

/* How many packets; 1 for an empty message.  datalen >= 1. */
static inline uint64_t
impi_message_packets(uint64_t msglen, uint32_t datalen)
{
	return msglen == 0 ? 1 : (msglen - 1) / datalen + 1;
}

/* The payload of one packet. */
struct impi_piece {
	uint64_t off; /* of its first byte in the message */
	uint32_t len; /* pk_len */
};

/* Packet k of a message, k < impi_message_packets(). */
static inline struct impi_piece
impi_message_piece(uint64_t msglen, uint32_t datalen, uint64_t k)
{
	uint64_t off = k * datalen, left = msglen - off;
	return (struct impi_piece){.off = off, .len = left < datalen ? (uint32_t)left : datalen};
}

/* --- arriving ------------------------------------------------------------ */

/* Does this DATA or DATASYNC, which passed impi_packet_check(), open a message?  Else it
 * is more of the long one that its drqid names: the rest never has all the bytes. */
static inline bool
impi_packet_opens(const struct impi_packet *p)
{
	return p->type == IMPI_PK_DATASYNC || p->len == p->msglen;
}

/* --- the answers to a send ------------------------------------------------ */

enum impi_send_state {
	IMPI_SEND_SETTLED, /* nothing is to come: DATA, or all has come */
	IMPI_SEND_WAITS,   /* DATASYNC, SYNCACK to come: CANCEL may be asked */
	IMPI_SEND_ASKED,   /* CANCEL too; SYNCACK and its answer may come in any order */
	IMPI_SEND_REFUSED, /* CANCELNO came first: SYNCACK is still to come */
	IMPI_SEND_MATCHED, /* SYNCACK came first: CANCELNO is still to come */
	IMPI_SEND_CANCELLED,
	IMPI_SEND_STATES,
	IMPI_SEND_BAD = IMPI_SEND_STATES, /* the peer answered what was not asked */
};

enum impi_send_event {
	IMPI_SEND_EV_SYNCACK, /* a receive took it; the rest of a long message may go */
	IMPI_SEND_EV_CANCEL,  /* the program asks, and the first packet has gone */
	IMPI_SEND_EV_CANCELYES,
	IMPI_SEND_EV_CANCELNO,
	IMPI_SEND_EVENTS,
};

/* The state after an event; IMPI_SEND_BAD if a peer may not cause it now.  A CANCEL packet
 * goes out when WAITS becomes ASKED; asking at any other time changes nothing. */
enum impi_send_state impi_send_next(enum impi_send_state state, enum impi_send_event ev);

#endif
