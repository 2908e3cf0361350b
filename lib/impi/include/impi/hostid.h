/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/hostid.h - the Suci host id that our processes and relays announce as
 * IMPI_P_IPV6 (doc/job-setup.md, "Suci host ids").
 *
 *     0             4       8                    9                 10     12     16
 *     | fd 53 55 43 | token | MAJOR 4 | ver 4 =1 | MINOR 6 | kind 2 | port | ipv4 |      ("SUC")
 *
 * Version 2 has an ipv4 of 0: the process is at the IPv6 address its host is announced with
 * (IMPI_H_IPV6).  Only processes (kind 1) have it: relays are called by IPv4 addresses.
 *
 * MAJOR and MINOR are of the libmpi of that process; a relay passes on those of the process that it
 * stands for.
 *
 * Anything that does not begin with fd 53 55 43 is a foreign host, reached by
 * IMPI over TCP at its IMPI_H_IPV6 / IMPI_H_PORT. */
#ifndef IMPI_HOSTID_H
#define IMPI_HOSTID_H

#include <stdbool.h>
#include <stdint.h>

#define IMPI_HOSTID_BYTES   16
#define IMPI_HOSTID_VERSION 1
#define IMPI_HOSTID_AT_HOST 2 /* the version of a process that has no IPv4 address */
#define IMPI_MAJOR_MAX	    15
#define IMPI_MINOR_MAX	    63

enum impi_hostid_kind {
	IMPI_HOSTID_LIBMPI = 1,
	IMPI_HOSTID_RELAY = 2,
	/* A relay that stands for a foreign process: spoken to like RELAY, but what
	 * it passes on goes through a gateway to another implementation. */
	IMPI_HOSTID_RELAY_FOREIGN = 3,
};

struct impi_hostid {
	uint32_t token; /* random per job and announcing host; the lower half */
	uint8_t kind;	/* enum impi_hostid_kind */
	uint16_t port;	/* UDP, host byte order */
	uint32_t ipv4;	/* host byte order; 0: at its host's address */
	uint8_t major;	/* of its libmpi's version; at most IMPI_MAJOR_MAX */
	uint8_t minor;	/* at most IMPI_MINOR_MAX */
};

enum impi_hostid_result {
	IMPI_HOSTID_SUCI,    /* *out is filled */
	IMPI_HOSTID_FOREIGN, /* another implementation's; *out untouched */
	IMPI_HOSTID_BAD,     /* ours by its prefix, but version, kind, port or address make
			      * no sense; *out untouched */
};

/* IMPI_P_PID of such a process: its label, and above it the upper half of the token, of which
 * the highest bit is 0 (the standard's type has a sign); all 0: the token has 32 bits. */
#define IMPI_TOKEN_MASK (UINT64_MAX >> 1)
static inline uint64_t
impi_pid_of(uint64_t token, uint32_t label)
{
	return (token & IMPI_TOKEN_MASK) >> 32 << 32 | label;
}
static inline uint64_t
impi_token_of(uint32_t low, uint64_t pid)
{
	return pid >> 32 << 32 | low;
}

void impi_hostid_encode(const struct impi_hostid *id, uint8_t out[IMPI_HOSTID_BYTES]);
/* Version 1 alone: for who calls by IPv4 address. */
enum impi_hostid_result impi_hostid_decode(const uint8_t in[IMPI_HOSTID_BYTES],
					   struct impi_hostid *out);
/* Is it of version 2?  For who refuses those by name. */
bool impi_hostid_is_at_host(const uint8_t in[IMPI_HOSTID_BYTES]);
/* Version 2, too, if host is an IPv6 address, that of its host: out->ipv4 is 0 then. */
enum impi_hostid_result impi_hostid_decode_at(const uint8_t in[IMPI_HOSTID_BYTES],
					      const uint8_t host[16], struct impi_hostid *out);

#endif
