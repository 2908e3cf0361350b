/* SPDX-License-Identifier: BSD-2-Clause */
/* Which clients of the job are not libmpi, and how to speak with them. */
#include "boot.h"

#include "internal.h"

#include "base/version.h"
#include "impi/hostid.h"

#include <stdio.h>
#include <stdlib.h>

static int
wrong(const char *text)
{
	fprintf(stderr, "libmpi: IMPI_PEERS (impirun --peer): %s\n", text);
	return LMPI_ERR_OTHER;
}

void
lmpi_peers_sign(const char *version, struct impi_hostid *id)
{
	char *rest;
	unsigned long major = strtoul(version, &rest, 10);
	unsigned long minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;

	id->major = (uint8_t)(major < IMPI_MAJOR_MAX ? major : IMPI_MAJOR_MAX);
	id->minor = (uint8_t)(minor < IMPI_MINOR_MAX ? minor : IMPI_MINOR_MAX);
}

bool
lmpi_peers_fit(const struct impi_hostid *a, const struct impi_hostid *b)
{
	return a->major == b->major && (a->major > 0 || a->minor == b->minor);
}

/* Clusters say to each other what the code of one release says.  Own processes were compared to the
 * letter (blob.c). */
static bool
version_fits(const struct lmpi_job *job, uint32_t client, const struct impi_hostid *id)
{
	struct impi_hostid own = {0};

	lmpi_peers_sign(BASE_VERSION, &own);
	if (client == job->client || lmpi_peers_fit(&own, id))
		return true;
	fprintf(stderr,
		"libmpi: client %u has libmpi %u.%u, this one is " BASE_VERSION
		"; fix: one release of libmpi in all clusters of a job\n",
		client, id->major, id->minor);
	return false;
}

/* What announced process r of that client: 0 libmpi or a relay for one, 1 another implementation
 * or a relay for one, -1 neither, or a libmpi that does not fit (said). */
static int
kind_of(const struct lmpi_job *job, uint32_t client, uint32_t r, const uint8_t at[16])
{
	struct impi_hostid id;

	switch (impi_hostid_decode_at(job->proc[r], at, &id)) {
	case IMPI_HOSTID_FOREIGN:
		return 1;
	case IMPI_HOSTID_SUCI:
		if (id.kind == IMPI_HOSTID_RELAY_FOREIGN)
			return 1;
		return version_fits(job, client, &id) ? 0 : -1;
	case IMPI_HOSTID_BAD:
		break;
	}
	fprintf(stderr,
		"libmpi: rank %u is announced with a Suci host id that makes no sense: another "
		"version of libmpi or relayd?\n",
		r);
	return -1;
}

/* Fill foreign of every client. */
static int
find_foreign(struct lmpi_job *job)
{
	uint32_t h = 0, of_host = 0; /* of rank r, and how many of that host's come before it */

	for (uint32_t c = 0; c < job->nclients; c++) {
		struct lmpi_client *p = &job->peer[c];
		for (uint32_t i = 0; i < p->nprocs; i++, of_host++) {
			uint32_t r = p->first_rank + i;
			for (; of_host == job->host[h].nprocs; of_host = 0)
				h++;
			int kind = kind_of(job, c, r, job->host[h].addr);
			if (kind < 0)
				return LMPI_ERR_OTHER;
			if (i > 0 && p->foreign != (kind == 1)) {
				fprintf(stderr,
					"libmpi: client %u: rank %u is a process of %s, rank %u "
					"of %s; one client is one MPI implementation\n",
					c, r - 1, p->foreign ? "another MPI" : "libmpi", r,
					kind ? "another MPI" : "libmpi");
				return LMPI_ERR_OTHER;
			}
			p->foreign = kind == 1;
		}
	}
	if (!job->peer[job->client].foreign)
		return LMPI_OK;
	fprintf(stderr,
		"libmpi: the table of the job does not show client %u, this one, as libmpi\n",
		job->client);
	return LMPI_ERR_OTHER;
}

static const char *
rep_word(enum lmpi_rep rep)
{
	return rep == LMPI_REP_NATIVE	    ? "native-payload"
	       : rep == LMPI_REP_EXTERNAL32 ? "external32"
					    : "long8";
}

/* Nobody said what client c is: tell what was taken for granted. */
static void
tell_guess(uint32_t c, const struct lmpi_client *p, bool is_lam)
{
	if (is_lam)
		fprintf(stderr,
			"libmpi: client %u offers LAM/MPI's values: taken for LAM/MPI "
			"(%s%s; other: impirun --peer %u=external32)\n",
			c, rep_word(p->rep), p->reduce_on_pt2pt ? ",reduce-on-pt2pt-context" : "",
			c);
}

static enum lmpi_rep
rep_of(enum impi_payload payload)
{
	return payload == IMPI_PAYLOAD_NATIVE  ? LMPI_REP_NATIVE
	       : payload == IMPI_PAYLOAD_LONG8 ? LMPI_REP_EXTERNAL32_LONG8
					       : LMPI_REP_EXTERNAL32;
}

int
lmpi_peers_settle(struct lmpi_job *job, const char *text,
		  const struct impi_offered offered[IMPI_CLIENTS_MAX])
{
	struct impi_switch_table table;
	struct impi_error err = {0};
	char why[160];

	if (impi_switches_parse(text, &table, &err) != IMPI_ERR_OK)
		return wrong(err.text);
	int rc = find_foreign(job);
	if (rc)
		return rc;
	for (uint32_t c = 0; c < IMPI_CLIENTS_MAX; c++) {
		if (!table.client[c].said || (c < job->nclients && job->peer[c].foreign))
			continue;
		if (c >= job->nclients)
			snprintf(why, sizeof why, "client %u: the job has clients 0 to %u", c,
				 job->nclients - 1);
		else
			snprintf(why, sizeof why,
				 "client %u runs libmpi; switches are for foreign clients", c);
		return wrong(why);
	}
	for (uint32_t c = 0; c < job->nclients; c++) {
		struct lmpi_client *p = &job->peer[c];
		if (!p->foreign)
			continue;
		bool is_lam = impi_offered_is_lam(&offered[c]);
		struct impi_switches s = impi_switches_for(&table, c, is_lam);
		p->rep = rep_of(s.payload);
		p->reduce_on_pt2pt = s.reduce_on_pt2pt;
		if (!s.said || s.guess)
			tell_guess(c, p, is_lam);
	}
	return LMPI_OK;
}
