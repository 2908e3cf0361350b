/* SPDX-License-Identifier: BSD-2-Clause */
/* suci.h - reliable datagrams between the processes of a parallel program.
 *
 * A process has one UDP socket and an id; an address database says where the
 * others are.  It writes blocks, of any size from 0 bytes on, to ids and reads
 * blocks from whoever sends; each block arrives once, whole, and after those that
 * were written before it to the same id (with the same priority).  There is no
 * connection to make: the first block to an id sets up what it needs, and the
 * number of peers costs memory by the kilobyte, not sockets.
 *
 *      struct datagram_sock *s = datagram("hosts.txt", NULL, 0, my_id);
 *      for (;;) {
 *              compute();
 *              while ((n = datagram_ready(s, 0, 0)) > 0)
 *                      datagram_read(s, buf, sizeof buf);
 *              if (datagram_wait(s, 0, 0, len, next) > 0) {
 *                      datagram_destination(s, next);
 *                      datagram_write(s, data, len);
 *              }
 *      }
 *      datagram_close(s);
 *
 * Progress   Nothing happens behind the program's back: no thread, no signal.
 *            Packets are received, acknowledged and sent again inside the calls that
 *            read, write, wait or ask for a queue length.  A program that computes for long calls
 *            datagram_progress() now and then, or watches datagram_fd().
 * Memory     Received blocks wait in at most read_bytes of memory (struct
 *            datagram_conf).  When that is full, senders are told to keep what they
 *            have; nothing is lost and the bound is never exceeded.  A block that
 *            could never fit is received straight into the buffer of a
 *            datagram_read() with a buffer large enough.  Written blocks are copied
 *            into at most write_bytes until they are acknowledged.
 * Order      Between two ids, and within one priority: that of writing.  Between
 *            different senders: that of becoming complete, higher priority first.
 * Errors     -1 (or NULL) and errno; datagram_error() is a sentence that says
 *            what and where.  See "Peers" for what a lost peer looks like.
 * Peers      A peer that is not there yet is tried for connect_ms; meanwhile blocks
 *            for it wait.  If it does not come, or if it goes while blocks to it
 *            are not acknowledged, those blocks are given up: the next call that
 *            writes to, waits for or asks for the queue of that id returns -1 once
 *            (ETIMEDOUT, ECONNRESET), info.lost_blocks counts them, and after that
 *            the id may be written to anew.  What it sent completely before can
 *            still be read.
 * Threads    A socket has one owner at a time.  Different sockets are independent.
 * fork       The socket stays with the parent: in a child every call fails with
 *            EPERM, datagram_close() only frees memory there.
 * Signals    datagram_ready, _wait, _read and _write return -1 with EINTR when a
 *            handler ran while they slept, unless a block is already on its way
 *            between the caller's buffer and the wire; then they go on.
 * Limits     ids 0 .. 65535, and those of doors; blocks 0 .. 2^42 bytes; IPv4
 *            and IPv6 (global and unique local addresses).
 * Units      bytes, bytes per second, microseconds and milliseconds as the names
 *            say.  sec, usec: a time to wait; 0, 0 only looks, sec < 0 has no end.
 *
 * Source: the API of "Suci, a UDP communication library for parallel and
 * distributed computing"; what goes beyond it is marked [+]. */
#ifndef SUCI_H
#define SUCI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DATAGRAM_ID_MAX	   65535u
#define DATAGRAM_BLOCK_MAX (((uint64_t)1 << 42) - 128)

struct datagram_sock; /* opaque */
struct datagram_db;   /* opaque */

/* ---- the address database ----
 *
 * Text, a line per process; # begins a comment:
 *
 *      # id  address      port
 *      0     10.0.0.1     7700
 *      1     10.0.0.2     7700
 *      2     2001:db8::7  7700
 *      9     *            *
 *
 * A socket at an IPv4 address reaches IPv4 ones, one at an IPv6 address IPv6 ones, one at :: both.
 *
 * An id at "* *" may come from any address: it can be written to once it has
 * written to us.  The last to come has the id.  No id and no address twice. */

/* [+] An empty one to fill in memory; NULL: ENOMEM. */
struct datagram_db *datagram_db_new(void);
/* [+] ip NULL: from any address (port is ignored then).  -1: EINVAL (id, ip or port
 * out of range), EEXIST (id or address is there already), ENOMEM. */
int datagram_db_add(struct datagram_db *db, uint32_t id, const char *ip, uint16_t port);
/* [+] Read a file.  NULL: errno, and in error "file:line: what is wrong" (error may be
 * NULL); EINVAL for what is written in it. */
struct datagram_db *datagram_db_read(const char *file, char *error, size_t error_len);
/* [+] The same from memory; name stands for the file in errors. */
struct datagram_db *datagram_db_parse(const char *name, const char *text, size_t len, char *error,
				      size_t error_len);
/* [+] Number of ids; the index-th smallest id and its address (ip "" for "*"). -1: EINVAL. */
#define DATAGRAM_IP_TEXT 46
size_t datagram_db_count(const struct datagram_db *db);
int datagram_db_get(const struct datagram_db *db, size_t index, uint32_t *id,
		    char ip[DATAGRAM_IP_TEXT], uint16_t *port);
void datagram_db_free(struct datagram_db *db); /* accepts NULL */

/* ---- opening and closing ---- */

/* Be myid of the address database in the file addrdb.  myaddr NULL and myport 0: as
 * the database says; else they take precedence, for a host that sees itself under
 * another address (the others look into their databases).  NULL: errno, and
 * datagram_error(NULL).  ENOENT: myid is not in the database. */
struct datagram_sock *datagram(const char *addrdb, const char *myaddr, uint16_t myport,
			       uint32_t myid);

enum datagram_cc {
	DATAGRAM_CC_CUBIC = 0,
	DATAGRAM_CC_FIXED = 1, /* a window and no reaction to loss: for reserved links */
	DATAGRAM_CC_BBR = 2,   /* by measured rate and delay: for long links that lose */
};

#define DATAGRAM_CRC	    1u /* end-to-end CRC32C over every block, both sides alike */
#define DATAGRAM_NO_OFFLOAD 2u /* no segmentation and merging by the kernel */
#define DATAGRAM_HUGE_PAGES 4u /* receive buffers in reserved huge pages, if there are any */
/* Receive past the kernel's IP and UDP, through AF_XDP, if that can be had: datagram_xdp(). */
#define DATAGRAM_XDP 8u

/* [+] Everything that can be set.  datagram_conf_init() first. */
struct datagram_conf {
	size_t size; /* of this struct, as the program was compiled */
	uint32_t id;
	/* One of them; db is copied. */
	const char *db_file;
	const struct datagram_db *db;
	const char *ip; /* NULL: as in the database; "*" in it: any of IPv4; "::": any of both */
	uint16_t port;	/* 0: as in the database; "*" in it: the kernel chooses */
	unsigned flags; /* DATAGRAM_CRC, ... */
	/* Memory: received and not read; written and not acknowledged, of that for one
	 * peer (0: all).  At least 64 KiB each. */
	uint64_t read_bytes;	   /* 64 MiB */
	uint64_t write_bytes;	   /* 16 MiB */
	uint64_t write_bytes_peer; /* 0 */
	uint32_t blocks;	   /* written blocks not acknowledged, 16 .. 2^20; 4096 */
	uint32_t packets;	   /* packets of ours in flight or queued, all peers; 16384 */
	/* Packets that came before the beginning of their block and wait for it; each may
	 * keep a receive buffer of 64 KiB (mtu bytes with DATAGRAM_NO_OFFLOAD). */
	uint32_t early_packets; /* 512 */
	uint32_t window; /* packets in flight to one peer, at most; 4096; datagram_window() */
	uint32_t sockbuf_bytes; /* kernel buffers, each direction; 8 MiB */
	uint32_t mtu;		/* UDP payload; 0: what the interface takes */
	int cc;			/* enum datagram_cc */
	/* Of every peer at first; datagram_slow_write(), datagram_priority(). */
	uint64_t slow_write; /* bytes/s, 0: as fast as congestion control lets */
	int priority;	     /* 0 .. 3 */
	/* How long a peer that is not there is tried. 30 000; 0: for ever */
	uint32_t connect_ms;
	/* How long a peer may leave packets unanswered before it counts as gone, so also
	 * how long it may compute without calling this library; 60 000; 0: for ever */
	uint32_t liveness_ms;
	uint32_t close_ms;     /* datagram_close() waits for acknowledgements; 5000 */
	uint32_t spin_us;      /* look again and again so long before sleeping; 50 */
	uint32_t busy_poll_us; /* the kernel polls the device so long in a read; 0 */
	/* Pre-shared keys: everything is encrypted and authenticated (AES-256-GCM), and a
	 * peer without one of them gets no answer.  Lines "number key", the key as 64
	 * hexadecimal digits; the file is ours alone (mode 0600).  NULL: not sealed. */
	const char *psk_file;
	/* Identities, beside psk_file or in place of it; both files or none.  identity_file has
	 * our private key (64 hexadecimal digits, mode 0600; `relayd --make-identity` makes
	 * one), peers_file lines "name public-key prefix ...": who may call from there, and
	 * whose key is expected there.  Processes with one identity name themselves in it. */
	const char *identity_file, *peers_file;
	/* Doors: how many ids beyond the database there may be at a time, 0 .. 65535; 0: none.
	 * With doors db and db_file may both be NULL. */
	uint32_t doors;
	/* The relay of our cluster that carries them, "IPv4:port" or "[IPv6]:port", or two of
	 * one kind with a comma between them; NULL: nobody, others reach us at ip and port
	 * themselves. */
	const char *relay;
	uint64_t realm; /* only doors of one realm find each other */
	/* How long a relay of ours may leave packets unanswered before it counts as dead; it is
	 * asked four times in that time.  0: liveness_ms, and once a second. */
	uint32_t relay_ms;
	/* The address that we are to have, of datagram_address_for(); NULL: the relay makes one up.
	 * It is asked for as soon as the socket is open, and again whenever it is lost. */
	const char *address;
};
void datagram_conf_init(struct datagram_conf *conf);
struct datagram_sock *datagram_open_with(const struct datagram_conf *conf);

/* Wait until every peer has every block written to it, at most close_ms, tell them that
 * we leave, free everything.  The socket is gone whatever is returned.  -1: ETIMEDOUT,
 * some blocks were not acknowledged; ECONNRESET, some were lost.  Blocks not read are
 * thrown away.  Accepts NULL. */
int datagram_close(struct datagram_sock *s);
/* [+] Only the waiting.  1: every peer has everything; 0: not in that time; -1. */
int datagram_flush(struct datagram_sock *s, long sec, long usec);

/* The last failure on s as a sentence, "" if there was none; of opening if s is NULL
 * (this thread's).  Valid until the next failure. */
const char *datagram_error(const struct datagram_sock *s);

/* [+] NULL if length of runs, acks, and what is copied to near peers are as measured on this
 * machine (mpitune; doc/tuning.md), else why they are the defaults; a text that lives as long as s.
 */
const char *datagram_tuned(const struct datagram_sock *s);
/* [+] With DATAGRAM_XDP: NULL if datagrams come through AF_XDP, else why they come through the
 * UDP socket.  It takes CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; an IPv4 address of an interface
 * with one receive queue, an MTU of at most 3.7 KB and no other XDP program: one process for each
 * interface.  While the socket is open the interface has our XDP program, which leaves
 * everything to the kernel that is not for our address and port; what it takes has not seen the
 * packet filter.  No more than 256 packets are in flight to us: the device's ring. */
const char *datagram_xdp(const struct datagram_sock *s);

/* ---- writing ---- */

/* Writes go to id from now on.  -1: ENOENT, not in the address database. */
int datagram_destination(struct datagram_sock *s, uint32_t id);
/* Write one block to the destination.  Returns len once buf may be used again: short
 * blocks are copied and sent on, long ones (over 256 KiB to a peer within 1 ms, over
 * half of write_bytes_peer to others) are sent from buf and the call waits until the peer
 * has them.  To our own id: needs room among the blocks not read (else
 * ENOBUFS, as nobody else could make room).
 * -1: EDESTADDRREQ, EMSGSIZE (> DATAGRAM_BLOCK_MAX), EINTR (nothing was written), an
 * error of the peer. */
int64_t datagram_write(struct datagram_sock *s, const void *buf, size_t len);
/* The same, never waiting.  -1: EAGAIN, no room now; EMSGSIZE, larger than
 * write_bytes_peer: only datagram_write() can do that. */
int64_t datagram_write0(struct datagram_sock *s, const void *buf, size_t len);
/* Wait until size bytes can be written to id without blocking, so by write0.
 * 1: they can; 0: not in that time; -1: EMSGSIZE: never; EINTR; an error of the peer. */
int datagram_wait(struct datagram_sock *s, long sec, long usec, size_t size, uint32_t id);
/* Blocks written to id and not acknowledged; the program's measure of congestion. */
int64_t datagram_queue_length(struct datagram_sock *s, uint32_t id);
/* Send again to id what is due for it: lost packets, and those refused for want of
 * room as far as it has granted some meanwhile.  That also happens in every other
 * call; here a program that looks at queue lengths only asks for it.  Returns the
 * queue length afterwards. */
int64_t datagram_retransmission(struct datagram_sock *s, uint32_t id);
/* [+] Slow write: at most so many bytes a second to id, headers included; 0: no limit
 * but congestion control's.  Takes effect at once. */
int datagram_slow_write(struct datagram_sock *s, uint32_t id, uint64_t bytes_per_s);
/* [+] At most so many packets in flight to id, whatever congestion control says; 0: conf.window,
 * the most in any case.  Takes effect at once: what is in flight beyond it stays.  A short window
 * keeps a queue short that others wait in; slow write bounds the rate, this the bytes. */
int datagram_window(struct datagram_sock *s, uint32_t id, uint32_t packets);
/* [+] What is written to id from now on has priority prio (0 normal .. 3 highest) before
 * lower ones here, on the way and at its reader.  It may overtake what was written
 * with a lower one. */
int datagram_priority(struct datagram_sock *s, uint32_t id, int prio);
/* [+] Read conf.psk_file, or identity_file and peers_file, again, under the names that
 * datagram_open_with() was given.  From now on paths are opened with what they say.  Those that are
 * there stay as they are, but for those to identities that peers_file does not have any more.  To
 * change a key without a gap add the new one behind the old one everywhere, then put it first
 * everywhere, then remove the old one.  -1: nothing is changed (EINVAL, and datagram_error() says
 * what is wrong with a file, or that the socket is not sealed). */
int datagram_rekey(struct datagram_sock *s);

/* ---- doors ----
 *
 * [+] A socket with conf.doors can be reached by processes that it knows nothing of: it has an
 * address, a text that is handed on by whatever means (a file, a message, a command line).  Who
 * opens the address gets an id for it, DATAGRAM_DOOR_ID or larger, and uses it like any other; the
 * first block sets up what it needs.  Who was opened sees blocks of a new id and answers to that.
 *
 *      there: datagram_address(s, text);            here: id = datagram_open_at(s, text);
 *             datagram_read(s, ...);                      datagram_destination(s, id);
 *             datagram_destination(s,                     datagram_write(s, ...);
 *                     datagram_source(s));
 *
 * Without conf.relay the address names our ip and port, and both sides reach each other
 * directly.  With it the relay carries the door, and the relay of the other side's cluster brings
 * blocks there; both clusters may have private addresses, also the same ones.  The calls are
 * the same.  Sockets of one cluster reach each other without the relay, if both have IPv4 and the
 * one that opens had its own address before.
 *
 * An address holds a secret: who has it may write to us, nobody else.  It is for sockets of our
 * conf.realm only.  A socket that is opened again has another address, and so has one whose only
 * relay died, once that is there again (datagram_address_changes()); nobody is reached by the old
 * one.  With two relays that know each other the address is good while one of them is there.  What
 * was under way over the other one is lost with ECONNRESET, on both sides; what is written then
 * goes by the one that is left.  When one side gives the other one up (liveness_ms) and begins
 * anew, what is under way is lost with ECONNRESET there, too.
 *
 * Ids of doors are used again: that of a process that is gone when all of its blocks are read, that
 * of an address after datagram_close_at(); over a relay when that process is gone, and until
 * then its place is taken.  DATAGRAM_CRC covers blocks between doors, but not
 * who sent them. */
#define DATAGRAM_DOOR_ID     65536u
#define DATAGRAM_ADDRESS_MAX 80u /* bytes of the text and its NUL */

/* Our address; the first call makes it.  Waits for the relay for connect_ms at most.  -1: EINVAL,
 * conf.doors is 0, or neither relay nor ip says where we are; ETIMEDOUT, the relay does not
 * answer; ECONNREFUSED, it takes no more doors, or none at all; EINTR; with conf.address what
 * datagram_claimed() says. */
int datagram_address(struct datagram_sock *s, char out[DATAGRAM_ADDRESS_MAX]);

/* [+] How often our address has become another one since it was there first.  A socket whose relays
 * have all died asks for another address by itself, as long as its calls are made, and has it when
 * a relay is there again.  Who was given the old one has to hear the new one. */
uint32_t datagram_address_changes(const struct datagram_sock *s);

/* [+] Processes that know nothing but a file all of them have may know each other's addresses
 * before the first one is there: each is made of what says who it is, and conf.address claims it.
 * One process has it at a time.  One that died has it until its relay finds that out, and 2 s more.
 */
struct datagram_claim {
	/* Of the one who claims: as relays of other clusters reach it, "IPv4:port" at which its
	 * trunks are; or two with a comma between them, in the order of the cluster's list. */
	const char *relay;
	uint32_t number; /* below DATAGRAM_CLAIMS, of all who claim behind that relay */
	uint64_t realm;	 /* conf.realm of all of them */
	uint64_t token;	 /* who knows it may write to it, or claim it */
};
#define DATAGRAM_CLAIMS 65535u
/* -1: EINVAL, relay or number; datagram_error(NULL) says which. */
int datagram_address_for(const struct datagram_claim *c, char out[DATAGRAM_ADDRESS_MAX]);
/* Is conf.address ours now?  0; -1 and datagram_error() says why not: EAGAIN, its relay has not
 * answered yet, or does not; EADDRINUSE, somebody has it; EADDRNOTAVAIL, the relay is elsewhere
 * than it says, or has no room.  It is asked for on. */
int datagram_claimed(struct datagram_sock *s);
/* The id of who has that address; what is opened twice has one id.  Never waits: that nobody is
 * there is told like of every peer, with ECONNREFUSED if the address is no door's now.  -1:
 * EINVAL, not an address, or conf.doors is 0; EACCES, it is of another realm; EHOSTUNREACH, it is
 * behind a relay, and we have none; ENOBUFS, conf.doors ids are in use. */
int64_t datagram_open_at(struct datagram_sock *s, const char *address);
/* The id is given back: nobody is told any more what becomes of blocks not acknowledged.
 * -1: ENOENT. */
int datagram_close_at(struct datagram_sock *s, uint32_t id);

/* ---- reading ---- */

/* Wait for a complete block.  Its size; 0: none in that time, or one of 0 bytes, for
 * programs that send such see datagram_peek(); -1: EINTR.
 * A block too large for read_bytes is reported as soon as it is announced. */
int64_t datagram_ready(struct datagram_sock *s, long sec, long usec);
/* [+] Is there a block to read, without waiting?  1: its sender and size (each may be
 * NULL); 0: none. */
int datagram_peek(struct datagram_sock *s, uint32_t *id, uint64_t *size);
/* Read the next block; waits for it.  Returns its size.  While it waits, what comes is
 * placed straight into buf, beyond the size of the block too up to len.
 * -1: EMSGSIZE, the block is larger than len: it stays, datagram_ready() tells its
 * size; EINTR. */
int64_t datagram_read(struct datagram_sock *s, void *buf, size_t len);
/* [+] The same, waiting so long.  -1: EAGAIN, no block in that time.  One that was coming
 * into buf then goes on in memory of ours, or, if there is none, into buf until it is
 * complete. */
int64_t datagram_read_within(struct datagram_sock *s, long sec, long usec, void *buf, size_t len);
/* The same, never waiting.  -1: EAGAIN, no block is complete. */
int64_t datagram_read0(struct datagram_sock *s, void *buf, size_t len);
/* Who sent the block that was read last.  -1: ENOENT, none was read yet. */
int64_t datagram_source(const struct datagram_sock *s);

/* ---- flow information ---- */

enum datagram_state {
	DATAGRAM_IDLE = 0,	 /* nothing was exchanged yet, or the peer is gone */
	DATAGRAM_CONNECTING = 1, /* tried */
	DATAGRAM_UP = 2,
};

/* [+] One peer. */
struct datagram_info {
	uint32_t id;
	int state; /* enum datagram_state */
	int priority;
	uint32_t mtu;				       /* UDP payload */
	uint64_t delay_us, delay_us_min, delay_us_var; /* round trip */
	uint32_t window, credit, in_flight, queued;    /* packets: ours, the peer's; */
	uint32_t refused;			       /* of queued: the peer had no room */
	uint64_t rate, slow_write;		       /* pacing, bytes/s; 0: none */
	uint64_t queue_blocks, queue_bytes;	       /* written, not acknowledged */
	uint64_t unread_blocks, unread_bytes;	       /* complete, not read */
	uint64_t written_blocks, written_bytes;	       /* ever */
	uint64_t read_blocks, read_bytes;	       /* ever */
	uint64_t lost_blocks;			       /* given up, see Peers */
	uint64_t sent_packets, retransmissions, received_packets; /* since it is up */
};
/* -1: ENOENT. */
int datagram_info(struct datagram_sock *s, uint32_t id, struct datagram_info *out);
/* [+] The same, compiled against another version of the struct: size bytes are filled. */
int datagram_info_sized(struct datagram_sock *s, uint32_t id, struct datagram_info *out,
			size_t size);

/* [+] The socket as a whole. */
struct datagram_memory {
	uint64_t read_bytes, read_bytes_max;   /* blocks not read: now, most ever */
	uint64_t write_bytes, write_bytes_max; /* blocks not acknowledged */
	uint64_t fixed_bytes;		       /* taken at opening */
};
int datagram_memory(const struct datagram_sock *s, struct datagram_memory *out);

/* [+] What the socket has counted since it was opened, all peers together: datagrams, packets sent
 * again, and what was dropped, each reason by its name ("suci_drop_seal").  Names begin with
 * suci_ (paths), lane_ (blocks) or udp_ (the kernel's socket). */
struct datagram_counter {
	const char *name, *help; /* never freed */
	uint64_t value;
};
/* Number i of them, from 0.  -1: ENOENT, there are no more. */
int datagram_counter(struct datagram_sock *s, unsigned i, struct datagram_counter *out);

/* ---- event loops ---- */

/* [+] One turn: receive, acknowledge, send, send again; never waits.  1: packets moved. */
int datagram_progress(struct datagram_sock *s);
/* [+] For poll(2): the descriptor, the events to wait for, and after how many
 * milliseconds (-1: never) datagram_progress() is to be called without one. */
int datagram_fd(const struct datagram_sock *s);
short datagram_events(const struct datagram_sock *s);
int datagram_timeout(struct datagram_sock *s);

/* [+] Version of the library, "major.minor". */
const char *datagram_version(void);

#ifdef __cplusplus
}
#endif
#endif
