/* SPDX-License-Identifier: BSD-2-Clause */
/* suci/wire.h - the Suci datagram, byte by byte.  doc/wire.md says the same
 * in prose; this header is the authority.
 *
 * All integers are big-endian.  One datagram is
 *
 *   path header  16 B
 *   ack block    0 or 16 + 4n + 8m + 0 or 8 + 0 or 12 B (DATA only; length in ack_len)
 *   segment      0 or 32 (+ 8 if FIRST) B lane header, then payload (DATA only);
 *                after PART instead a part header, then a range of bytes of a segment;
 *                after PROBE instead padding of any length and content: its size is
 *                what is probed
 *   seal tag     16 B if SEALED: of AES-GCM over all of it; what is behind the
 *                path header is encrypted (doc/wire.md, Sealing)
 *
 * path header
 *    0  version:4 | type:4
 *    1  flags          SUCI_PF_*
 *    2  ack_len  16    bytes of ack block that follow the header
 *    4  path_tag 32    chosen by the receiver: which path this belongs to
 *    8  pn       32    packet number, from 1, never reused; BARE datagrams count
 *                      by themselves; 0 in handshake types but OPEN and ACCEPT: there
 *                      credit 16 (packets that may come before the first ack block) and
 *                      rtt 16 (OPEN: HELLO to COOKIE, in units of 16 us; 0 = unknown)
 *   12  time_us  32    sender's clock in microseconds
 *   In CHALLENGE and RESPONSE pn and time_us are one 64-bit token, nothing follows.
 *
 * ack block (what of the other direction has arrived)
 *    0  largest    32  largest pn received
 *    4  echo_us    32  time_us of that packet
 *    8  delay_us   16  time between its arrival and this ack, saturating
 *   10  credit     16  low bits of the highest pn the receiver lets be sent (probes and a
 *                      first packet of at most 160 bytes with nothing under way go beyond)
 *   12  ranges      8  n, further ranges, at most SUCI_ACK_RANGES_MAX
 *   13  flags       8  SUCI_AF_*
 *   14  first_len  16  packets largest-first_len+1 .. largest are received;
 *                      0 only with REFUSED or ROOM, n = 0 and largest = 0: none so far
 *   16  n x { gap 16, len 16 }: going down, gap missing packets, then len received
 *       then, only with REFUSED, up to the end of the block (ack_len says where)
 *       m x { pn 32, len 32 }: packets pn .. pn + len - 1 arrived and
 *       were refused; len is not 0, m is at most SUCI_ACK_REFUSED_MAX
 *       then, only with ECN, 8 bytes:
 *       ect 32       packets (new pn) that arrived marked ECT(0) since the path is up
 *       ce 32        and marked CE
 *       then, only with ROOM, the last 12 bytes:
 *       ask 16       packets of mine that you refused and that wait here
 *       waiting 8    packets of mine that wait for credit; 255: or more
 *       prio 8       highest priority among them all
 *       used 32      of all you ever granted me, what I have sent or need no more
 *       grant 32     refused packets I ever let you send again
 *
 * part header, before bytes of a segment that is larger than the path's datagrams
 *    0  id        32   numbers the segments of the path that are sent so, from 1
 *    4  low       32   the lowest id of which parts may still come
 *    8  off       16   of these bytes in the segment, lane header included
 *   10  total     16   bytes of the segment
 *
 * lane header
 *    0  dst_label 32   receiving process, in the next endpoint's label space
 *    4  src_label 32   sending process, in the next endpoint's label space
 *    8  seq       32   segment number in the lane, the same on every hop
 *   12  block     32   seq of the block's first segment
 *   16  ack       32   every segment of the reverse lane before this is placed
 *   20  window    16   segments past ack the reverse lane may have outstanding
 *   22  flags     16   SUCI_SF_*
 *   24  mss       16   payload bytes of every segment of this block but the last
 *   26  credit_shift 8                  window is in units of 2^credit_shift
 *   27  life        8  begins 1 | life 7, lane.h; 0: the lane does not say
 *   28  crc32c    32   end to end, see lane.h; 0 and no SUCI_SF_CRC if unused
 *   32  block_bytes 64 length of the block; only on SUCI_SF_FIRST
 *
 * A segment's byte offset in its block is (seq - block) * mss.
 *
 * handshake body, after the path header of HELLO, COOKIE, OPEN, ACCEPT
 *    0  tag        32  the sender's tag: put it in path_tag towards me (0 in COOKIE)
 *    4  mtu        16  largest UDP payload the sender takes on this path
 *    6  hello_len  16  bytes of hello data after the body
 *    8  incarnation 64 of the sending endpoint (0 in COOKIE)
 *   16  cookie     64  0 in HELLO; echoed in OPEN
 *   24  peer_incarnation 64  ACCEPT: incarnation from the OPEN it answers, else 0
 *   32  hello data
 * In ACCEPT, path_tag is the opener's tag; in HELLO, COOKIE (echo of the
 * HELLO's tag) and OPEN it is 0, the HELLO's tag, 0.
 * CLOSE and RESET bodies: 0 reason 16 | text_len 16 | text.
 *
 * Sealed, OPEN and ACCEPT have 24 bytes more before the hello data, CLOSE and RESET
 * before the text, which stay readable, and the seal tag at the end:
 *    0  nonce     128  of the sender; refusing CLOSE: of the OPEN; RESET: the seal tag
 *                      of the datagram it answers; CLOSE of a path: 0
 *   16  key id     32  which pre-shared key; CLOSE of a path: 0
 *   20  attempt    32  OPEN: counts the keys tried, each with a nonce of its own;
 *                      ACCEPT: of the OPEN; else 0
 * HELLO and COOKIE are never sealed. */
#ifndef SUCI_WIRE_H
#define SUCI_WIRE_H

#define SUCI_VERSION 1

enum suci_type {
	SUCI_T_DATA = 0,
	SUCI_T_HELLO = 1,  /* initiator -> responder, no state there yet */
	SUCI_T_COOKIE = 2, /* responder -> initiator, stateless */
	SUCI_T_OPEN = 3,   /* HELLO with the cookie: address proven */
	SUCI_T_ACCEPT = 4, /* the path is up */
	SUCI_T_RESET = 5,  /* "no path with that tag here": path_tag is the sender's own, echoed */
	SUCI_T_CLOSE = 6,  /* orderly end of a path, with reason and text */
	/* "Your datagrams come from this address now?", to the new address, and the answer:
	 * path_tag is the receiver's, the token the challenger's. */
	SUCI_T_CHALLENGE = 7,
	SUCI_T_RESPONSE = 8,
};

#define SUCI_PF_ACK_NOW 0x01 /* acknowledge at once, the sender waits */
#define SUCI_PF_PROBE	0x02 /* asks for an ack, carries no segment but perhaps padding */
#define SUCI_PF_BARE	0x04 /* only an ack block; pn counts such datagrams, is never acked */
#define SUCI_PF_MORE	0x08 /* others wait for a higher limit than what is left of mine */
/* DATA: a part of a segment.  OPEN, ACCEPT: the sender puts parts together. */
#define SUCI_PF_PART   0x10
#define SUCI_PF_EPOCH  0x60 /* with SEALED: the key's epoch, modulo 4 */
#define SUCI_PF_SEALED 0x80 /* AEAD sealed, tag at the end */

#define SUCI_AF_REFUSED 0x01 /* alive, but had no room for some of what came; see the list */
#define SUCI_AF_ROOM	0x02 /* ends with ask and grant */
#define SUCI_AF_ECN	0x04 /* has ect and ce; always, once a marked packet has come */

#define SUCI_PATH_HDR	     16
#define SUCI_ACK_HDR	     16
#define SUCI_ACK_RANGE	     4
#define SUCI_ACK_RANGES_MAX  16
#define SUCI_ACK_REFUSED     8 /* bytes of one refused range */
#define SUCI_ACK_REFUSED_MAX 8
#define SUCI_ACK_ECN	     8
#define SUCI_ACK_ROOM	     12
#define SUCI_ACK_MAX                                           \
	(SUCI_ACK_HDR + SUCI_ACK_RANGE * SUCI_ACK_RANGES_MAX + \
	 SUCI_ACK_REFUSED * SUCI_ACK_REFUSED_MAX + SUCI_ACK_ECN + SUCI_ACK_ROOM)
#define SUCI_PART_HDR  12
#define SUCI_LANE_HDR  32
#define SUCI_FIRST_EXT 8
#define SUCI_SEAL_TAG  16
#define SUCI_SEAL_EXT  24 /* of a sealed handshake datagram */
#define SUCI_BODY_HDR  32 /* handshake body */
#define SUCI_HELLO_MAX 256
#define SUCI_TEXT_MAX  200
/* Largest header a datagram can have in front of its payload. */
#define SUCI_HEAD_MAX (SUCI_PATH_HDR + SUCI_ACK_MAX + SUCI_LANE_HDR + SUCI_FIRST_EXT)
/* UDP payload of a full segment minus this is the mss of a path: room for the
 * path header, the lane header, the seal tag, and 8 bytes that help an ack block to ride
 * along.  A first segment has SUCI_FIRST_EXT bytes more header, as many less payload. */
#define SUCI_OVERHEAD (SUCI_PATH_HDR + SUCI_LANE_HDR + SUCI_FIRST_EXT + SUCI_SEAL_TAG)

#define SUCI_SF_FIRST 0x0001 /* first segment of its block */
#define SUCI_SF_LAST  0x0002 /* last segment of its block */
#define SUCI_SF_ACK \
	0x0004 /* no data: carries ack and window only; seq, block are 0 but with REFUSED */
#define SUCI_SF_ASK	   0x0008 /* the sender waits: acknowledge the lane promptly */
#define SUCI_SF_CRC	   0x0010 /* crc32c is valid */
#define SUCI_SF_PRIO_SHIFT 5	  /* two bits of priority, 0 = normal .. 3 = highest */
#define SUCI_SF_PRIO_MASK  0x0060
#define SUCI_SF_NOTE	   0x0080 /* payload is a note to the next endpoint itself (labels 0) */
/* With ACK: the receiving process had no room for block segments from seq on and threw
 * them away; window says how many past ack it can take now. */
#define SUCI_SF_REFUSED 0x0100

#endif
