/* SPDX-License-Identifier: BSD-2-Clause */
/* lmpi/knobs.h - what a user can set in the environment: one table of all variables.
 *
 * A row is all there is to know of a variable: name, unit, default, bounds, text.  The parsers
 * below, the control variables of MPI_T, man page libmpi(7) and doc/environment.md come from it
 * (libmpi/knobs/document); test/tidy fails when a document is older than the table, and when
 * another file of libmpi asks the environment for a variable of its own.
 *
 *   NUMBER  bounds are inclusive; a default that is computed is shown as a text.
 *   WORD    one of several words; the first is the default.
 *   TEXT    names, addresses, paths; what reads it says what is wrong with it.
 *   SECRET  a text that no tool may show.
 *
 * A variable that is set to nothing counts as not set.
 *
 * Threads  the environment is read, never written; any thread.  Errors go to stderr: a number out
 * of bounds and an unknown word are said with what is used instead. */
#ifndef LMPI_KNOBS_H
#define LMPI_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMPI_KNOB_EAGER_MOST  (1u << 30)
#define LMPI_KNOB_CREDIT_MOST 1024
#define LMPI_KNOB_STREAM_MOST (1u << 30)

/* NUMBER(ID, name, unit, default, least, most, default as text or NULL, text)
 * WORD(ID, name, words, text), TEXT(ID, name, default as text, text), SECRET likewise */
#define LMPI_KNOBS(NUMBER, WORD, TEXT, SECRET)                                                     \
	TEXT(IMPI_CLIENT, "IMPI_CLIENT", "alone",                                                  \
	     "number of this cluster's client, 0 to 31; impirun sets it")                          \
	TEXT(IMPI_SERVER, "IMPI_SERVER", "none", "host:port of the rendezvous; impirun sets it")   \
	TEXT(IMPI_AUTH_NONE, "IMPI_AUTH_NONE", "no",                                               \
	     "1: offer the server no authentication; this or IMPI_AUTH_KEY has to be set")         \
	SECRET(IMPI_AUTH_KEY, "IMPI_AUTH_KEY", "none", "number that server and clients share")     \
	TEXT(IMPI_PEERS, "IMPI_PEERS", "judged by what they offer",                                \
	     "how to speak with clients that are not libmpi, as 1:native-payload;*:long8")         \
	NUMBER(IMPI_DATALEN, "IMPI_DATALEN", "bytes", 1048576, 0, 1u << 30, NULL,                  \
	       "longest payload of an IMPI packet that this client offers")                        \
	NUMBER(IMPI_COLL_XSIZE, "IMPI_COLL_XSIZE", "bytes", 1024, 0, INT32_MAX, NULL,              \
	       "from this size on IMPI collectives are for long data; the same in all clients")    \
	NUMBER(IMPI_COLL_MAXLINEAR, "IMPI_COLL_MAXLINEAR", "clients", 4, 0, INT32_MAX, NULL,       \
	       "up to so many clients IMPI collectives are linear; the same in all clients")       \
	NUMBER(IMPI_SILENCE, "IMPI_SILENCE_S", "s", 0, 0, 1000000, "for ever",                     \
	       "silence of a host of another MPI, while a rank waits, that ends the job")          \
	TEXT(IFACE, "LIBMPI_IFACE", "the one that routes to the relay, or to the other nodes",     \
	     "interface whose address carries MPI traffic")                                        \
	TEXT(NET, "LIBMPI_NET", "all",                                                             \
	     "networks whose addresses may carry it, and not: "                                    \
	     "10.0.0.0/24,!172.17.0.0/16,fd00::/8")                                                \
	TEXT(PLACES, "LIBMPI_PLACES", "none",                                                      \
	     "where relays elsewhere and processes without one are, ours, too, if they have IPv6 " \
	     "alone: 198.51.100.21=2001:db8::21")                                                  \
	WORD(TRANSPORT, "LIBMPI_TRANSPORT", "shm|udp", "what is used within a node")               \
	NUMBER(LIVENESS, "LIBMPI_LIVENESS_MS", "ms", 4000, 0, 86400000, NULL,                      \
	       "silence of a relay after which the others are used")                               \
	NUMBER(PARTITION_TIMEOUT, "LIBMPI_PARTITION_TIMEOUT_S", "s", 0, 0, 1000000,                \
	       "what the relays say",                                                              \
	       "how long a rank waits without any relay; then the job ends")                       \
	NUMBER(KEEP_GOING, "LIBMPI_KEEP_GOING", "", 0, 0, 1, NULL,                                 \
	       "1: the death of a rank is an error of calls, not the end of the job")              \
	NUMBER(LAST_WORDS, "LIBMPI_LAST_WORDS_MS", "ms", 100, 0, 600000, NULL,                     \
	       "a collective call with a rank that dies may end well for so long; then it fails")  \
	NUMBER(PROCESSES_MAX, "LIBMPI_PROCESSES_MAX", "processes", 4096, 1, 1048576, NULL,         \
	       "those of this job and of all jobs that it ever connects to or starts")             \
	TEXT(RELAY, "LIBMPI_RELAY", "those of the job",                                            \
	     "one or two relays of this cluster for jobs in others: "                              \
	     "10.0.0.254:7812,10.0.0.253:7812")                                                    \
	TEXT(REALM, "LIBMPI_REALM", "none",                                                        \
	     "word that jobs which connect over relays have in common")                            \
	TEXT(PARENT_PORT, "LIBMPI_PARENT_PORT", "none",                                            \
	     "port of who has started this job; MPI_Comm_spawn sets it")                           \
	NUMBER(SPX_FEED, "LIBMPI_SPX_FEED", "", 0, 0, 1u << 20, "none",                            \
	       "descriptor of the stream to who manages the pipeline; mpisprun sets it")           \
	WORD(ERRHANDLER, "LIBMPI_ERRHANDLER",                                                      \
	     "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return",                            \
	     "error handler of MPI_COMM_WORLD and MPI_COMM_SELF in the beginning")                 \
	NUMBER(JOIN_TIMEOUT, "LIBMPI_JOIN_TIMEOUT_S", "s", 300, 0, 1000000, NULL,                  \
	       "how long to wait for the other clusters")                                          \
	NUMBER(DANCE_TIMEOUT, "LIBMPI_DANCE_TIMEOUT_S", "s", 60, 0, 1000000, NULL,                 \
	       "how long to try to connect the hosts of other MPIs")                               \
	TEXT(KEY_FILE, "LIBMPI_KEY_FILE", "none: not sealed",                                      \
	     "keys that seal paths to other clusters, for processes with global addresses")        \
	TEXT(IDENTITY_FILE, "LIBMPI_IDENTITY_FILE", "none",                                        \
	     "private key of the site, where sites have identities; needs LIBMPI_PEERS_FILE")      \
	TEXT(PEERS_FILE, "LIBMPI_PEERS_FILE", "none",                                              \
	     "public keys of the other sites; needs LIBMPI_IDENTITY_FILE")                         \
	WORD(CC, "LIBMPI_CC", "cubic|bbr", "congestion control of paths")                          \
	NUMBER(ECN, "LIBMPI_ECN", "", 0, 0, 1, NULL,                                               \
	       "1: mark packets ECT(0) and heed congestion marks")                                 \
	NUMBER(MTU, "LIBMPI_MTU", "bytes", 0, 0, 65000, "the interface's", "datagram size")        \
	NUMBER(CREDIT, "LIBMPI_CREDIT", "packets", 0, 1, LMPI_KNOB_CREDIT_MOST,                    \
	       "3/4 of what the socket buffer holds",                                              \
	       "what may be on its way to a rank from all ranks near it")                          \
	NUMBER(PATHS_MAX, "LIBMPI_PATHS_MAX", "paths", 0, 2, 1u << 20, "one to each process",      \
	       "direct paths to processes of other nodes at a time")                               \
	NUMBER(XDP, "LIBMPI_XDP", "", 0, 0, 1, NULL,                                               \
	       "1: receive through AF_XDP, past the kernel's UDP; needs CAP_NET_RAW, "             \
	       "CAP_NET_ADMIN, CAP_BPF; one process for each interface")                           \
	NUMBER(BUSY_POLL, "LIBMPI_BUSY_POLL_US", "us", 0, 0, 1000000, NULL,                        \
	       "how long the kernel polls the device in a read")                                   \
	NUMBER(HUGE_PAGES, "LIBMPI_HUGE_PAGES", "", 0, 0, 1, NULL,                                 \
	       "1: receive buffers lie in reserved huge pages")                                    \
	NUMBER(EAGER, "LIBMPI_EAGER", "bytes", 65536, 0, LMPI_KNOB_EAGER_MOST,                     \
	       "65536, or what mpitune found; without either up to 1 MiB to a process that is 1 "  \
	       "ms or more away",                                                                  \
	       "longest message that goes to another node of this cluster without asking")         \
	NUMBER(STREAM, "LIBMPI_STREAM", "bytes", 65536, 0, LMPI_KNOB_STREAM_MOST,                  \
	       "65536 where a datagram carries less than 4096 bytes, else never, or what "         \
	       "mpitune found",                                                                    \
	       "from this size on data of a message that was asked for goes over TCP to another "  \
	       "node of this cluster; 0: never")                                                   \
	NUMBER(STREAMS_MAX, "LIBMPI_STREAMS_MAX", "connections", 64, 1, 4096, NULL,                \
	       "processes that data goes to or comes from over TCP at a time; to others over UDP") \
	NUMBER(EAGER_NODE, "LIBMPI_EAGER_NODE", "bytes", 40960, 512, 49152,                        \
	       "40960, 12288 with more than two ranks on the node, or what mpitune found",         \
	       "longest message that goes to a process of this node through its ring")             \
	NUMBER(SHARE, "LIBMPI_SHARE", "bytes", 40960, 16384, 4194304,                              \
	       "40960, or what mpitune found",                                                     \
	       "shortest message that two processes of a node copy together")                      \
	NUMBER(PIECE, "LIBMPI_PIECE", "bytes", 0, 0, 1048576, "65536, or what mpitune found",      \
	       "what two processes of a node combine at a time in a long reduction: 0 or at "      \
	       "least 4096, the same in both, for calls of communicators made after it")           \
	NUMBER(BCAST_PIECE, "LIBMPI_BCAST_PIECE", "bytes", 0, 0, 1073741824,                       \
	       "not cut, or what mpitune found",                                                   \
	       "what of a long Bcast over several nodes goes on within a node while the next "     \
	       "comes: 0, not cut, or at least 4096; that of rank 0 holds for all")                \
	NUMBER(ALLTOALL_PIECE, "LIBMPI_ALLTOALL_PIECE", "bytes", 0, 0, 1073741824,                 \
	       "not cut, or what mpitune found",                                                   \
	       "what of a long block of Alltoall has to have come before as much of the next "     \
	       "round's goes: 0, not cut, or at least 4096; that of rank 0 holds for all")         \
	NUMBER(RUN, "LIBMPI_RUN", "datagrams", 0, 0, 64, "30, or what mpitune found",              \
	       "what the kernel is given at a time")                                               \
	NUMBER(ACK, "LIBMPI_ACK", "packets", 32, 1, 256, "32, or what mpitune found",              \
	       "what is taken from a process of another node before an ack goes at once")          \
	NUMBER(UNEXPECTED, "LIBMPI_UNEXPECTED_MB", "MiB", 64, 0, 1u << 20, NULL,                   \
	       "memory for messages that come before their receives")                              \
	NUMBER(COPY, "LIBMPI_COPY_MB", "MiB", 32, 0, 1u << 20, NULL,                               \
	       "memory for data of sends that are complete for the program")                       \
	NUMBER(RESULTS, "LIBMPI_RESULTS_MB", "MiB", 16, 0, 1u << 20, NULL,                         \
	       "results for one rank, of a window, that wait to be taken before the next is made") \
	NUMBER(CMA, "LIBMPI_CMA", "", 1, 0, 1, NULL,                                               \
	       "0: long messages within a node go through the rings, not from memory to memory")   \
	NUMBER(SPIN, "LIBMPI_SPIN_US", "us", 200, 0, 1000000,                                      \
	       "200, or 500, yielding all the time, with more ranks than cores",                   \
	       "how long a waiting process polls before it sleeps")                                \
	WORD(PROGRESS, "LIBMPI_PROGRESS", "calls|thread",                                          \
	     "progress is made inside MPI calls only, or by a thread of the library too")          \
	WORD(COLL_PROFILE, "LIBMPI_COLL_PROFILE", "own|impi-0.0",                                  \
	     "collectives between our own clusters, as between other MPIs for tests; the same in " \
	     "all processes")                                                                      \
	TEXT(COLL_RULES, "LIBMPI_COLL_RULES", "libmpi's choice",                                   \
	     "JSON file of rules that choose the algorithm of a collective by operation, size "    \
	     "and number of processes; the same in all processes")                                 \
	WORD(OPTICAL, "LIBMPI_OPTICAL", "auto|off|naive|batched|pipelined|cached|hybrid",          \
	     "how circuits are planned for collectives where relays have light; auto: as the "     \
	     "circuit controller says; the same in all processes")                                 \
	NUMBER(STATS, "LIBMPI_STATS", "", 0, 0, 1, NULL, "1: MPI_Finalize prints counters")        \
	TEXT(TRACE, "LIBMPI_TRACE", "mpitrace", "folder that libmpitrace writes to")

enum lmpi_knob {
#define X(id, ...) LMPI_KNOB_##id,
	LMPI_KNOBS(X, X, X, X)
#undef X
		LMPI_KNOB_COUNT
};

enum lmpi_knob_kind { LMPI_KNOB_NUMBER, LMPI_KNOB_WORD, LMPI_KNOB_TEXT, LMPI_KNOB_SECRET };

struct lmpi_knob_row {
	enum lmpi_knob_kind kind;
	const char *name, *unit, *text;
	const char *words;    /* of a WORD: with | between them */
	const char *fallback; /* the default as a text; NULL: the number below */
	uint64_t number, least, most;
};
extern const struct lmpi_knob_row lmpi_knob_rows[LMPI_KNOB_COUNT];

/* What is set; NULL if it is not, or to nothing. */
const char *lmpi_knob_text(enum lmpi_knob k);
/* A number that is set and within its bounds, else the default of the table, or `computed`. */
uint64_t lmpi_knob_number(enum lmpi_knob k);
uint64_t lmpi_knob_number_or(enum lmpi_knob k, uint64_t computed);
/* The index of a word; 0, the default, if it is not set.  One that is not known: what is then
 * used is said, and it is 0; for whom a wrong word is an error, -1 with a text that says so. */
int lmpi_knob_word(enum lmpi_knob k);
int lmpi_knob_word_or_fail(enum lmpi_knob k);
/* Word `i` of a WORD as out[size]; false: it has not so many. */
bool lmpi_knob_word_at(enum lmpi_knob k, int i, char *out, size_t size);

#define LMPI_KNOB_WARNING 160
/* Does `setting`, as NAME=VALUE, begin with LIBMPI_ and is in no row?  Then warning names it, and
 * the variable with the nearest name if one is near. */
bool lmpi_knob_unknown(const char *setting, char warning[LMPI_KNOB_WARNING]);
/* Warns of all such, at most eight. */
void lmpi_knobs_warn(char *const *environment);

#endif
