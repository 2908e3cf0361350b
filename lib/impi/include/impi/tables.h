/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/tables.h - who is in the job: clients, hosts and procs, made from the
 * label replies of the server, and the values all sides agreed on.
 *
 * Feed each reply to impi_tables_label(), in any order; counts and arrays of
 * one label are usable as soon as impi_tables_have() says so.  When the server
 * has sent DONE, impi_tables_finish() checks the whole and fills in what needs
 * several labels (owners, first ranks, rank lookup).
 *
 * Combining rules: DATALEN, TAGUB, ACKMARK, HIWATER are minima over everybody;
 * XSIZE and MAXLINEAR must be equal after -1 became the default.  Every pair of
 * clients uses the highest version both list.  A client that left out one of
 * these (MetaMPICH does) has no say in it; the labels that describe hosts and
 * procs must come from everybody.
 *
 * What one client submits is a reply in a job of one client: a relay reads its
 * own client's values with impi_tables_begin(t, 1) and mask 1.
 *
 * Memory   brought by the caller, impi_tables_footprint() bytes.
 * Threads  one owner while it is filled; afterwards read by anybody.
 * Limits   IMPI_CLIENTS_MAX clients; hosts and procs as the caller says. */
#ifndef IMPI_TABLES_H
#define IMPI_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/error.h"
#include "impi/wire.h"

#define IMPI_VERSIONS_MAX 8 /* kept per client, the lowest ones; more are ignored */

struct impi_limits {
	uint32_t hosts_max; /* 1..IMPI_HOSTS_MAX, all clients together */
	uint32_t procs_max; /* 1..IMPI_PROCS_MAX, all clients together */
};

struct impi_version {
	uint32_t major, minor;
};

struct impi_client_entry {
	uint32_t nhosts;     /* have NHOSTS */
	uint32_t nprocs;     /* have NPROCS */
	uint32_t first_host; /* have NHOSTS */
	uint32_t first_rank; /* have NPROCS */
	uint32_t nversions;
	struct impi_version version[IMPI_VERSIONS_MAX];
};

struct impi_host {
	uint8_t addr[16]; /* IMPI_H_IPV6, see impi_addr_classify() */
	uint32_t port;	  /* 1..65535 */
	uint32_t nprocs;
	uint32_t ackmark, hiwater; /* as offered; the job's are in impi_tables */
	uint32_t client;	   /* finished */
	uint32_t first_rank;	   /* finished */
};

/* All fields are for reading.  By host rank and by world rank. */
struct impi_tables {
	uint32_t nclients; /* 0 before impi_tables_begin() */
	uint32_t nhosts;   /* have NHOSTS */
	uint32_t nprocs;   /* have NPROCS */
	struct impi_client_entry client[IMPI_CLIENTS_MAX];
	struct impi_host *host;
	struct impi_proc *proc;
	uint32_t *proc_host;  /* finished: host rank of a world rank */
	uint32_t *proc_order; /* finished: world ranks ordered by impi_proc_cmp() */
	/* agreed; minima are 0 until the label has come */
	uint32_t datalen;
	uint32_t tagub;
	uint32_t ackmark, hiwater;
	uint32_t xsize, maxlinear;
	bool finished;
	struct impi_limits limits;
	/* private */
	uint32_t have;			 /* bit i: label impi_label_at(i) has come */
	uint32_t mask[IMPI_NLABELS];	 /* its client mask */
	uint32_t elements[IMPI_NLABELS]; /* how many elements came */
};

/* Bytes of memory for limits; 0 if they are invalid. */
size_t impi_tables_footprint(const struct impi_limits *limits);
/* mem: footprint bytes, aligned to 64.  NULL if limits are invalid. */
struct impi_tables *impi_tables_new(void *mem, const struct impi_limits *limits);

/* The number of clients is known (reply to IMPI).  IMPI_ERR_VALUE unless
 * 1..IMPI_CLIENTS_MAX. */
enum impi_err impi_tables_begin(struct impi_tables *t, uint32_t nclients, struct impi_error *err);
/* One reply.  Labels that are not of IMPI 0.0 are ignored (IMPI_ERR_OK).
 * An error means that the job cannot start; *err names label and client. */
enum impi_err impi_tables_label(struct impi_tables *t, uint32_t label, uint32_t mask,
				const uint8_t *data, size_t len, struct impi_error *err);
/* After the last reply: check sums and lengths, order the procs.
 * O(procs log procs).  t->finished afterwards. */
enum impi_err impi_tables_finish(struct impi_tables *t, struct impi_error *err);

/* Has this label's reply come? */
bool impi_tables_have(const struct impi_tables *t, uint32_t label);
/* Client of a world rank (< nprocs) / of a host rank (< nhosts); needs NPROCS /
 * NHOSTS only, so it works before the tables are finished. */
uint32_t impi_tables_client_of_rank(const struct impi_tables *t, uint32_t rank);
uint32_t impi_tables_client_of_host(const struct impi_tables *t, uint32_t host);

/* --- the other direction ------------------------------------------------ */

/* What a client has to say.  A server that composes replies itself (a relay)
 * puts all hosts and procs of the job in here and gets the reply's data. */
struct impi_offer {
	uint32_t nhosts;
	uint32_t nprocs;
	uint32_t datalen;
	uint32_t tagub;
	int32_t xsize;		      /* -1 = default */
	int32_t maxlinear;	      /* -1 = default */
	const struct impi_host *host; /* [nhosts]: addr, port, nprocs, ackmark, hiwater */
	const struct impi_proc *proc; /* [nprocs] */
};

/* Bytes of the label's data in this offer; 0 if the label is not standard. */
size_t impi_offer_bytes(const struct impi_offer *o, uint32_t label);
/* Write them; 0 if the label is not standard or cap is too small.  host / proc
 * are looked at for H_* / P_* labels only, so the rest may be known earlier. */
size_t impi_offer_encode(const struct impi_offer *o, uint32_t label, uint8_t *out, size_t cap);

#endif
