/* SPDX-License-Identifier: BSD-2-Clause */
/* The job table: who is where, and how foreign hosts and our gates see each other. */
#include "startup_internal.h"

#include "base/bytes.h"
#include "impi/hostid.h"
#include "suci/addr.h"

/* Runs of processes behind one Suci endpoint. */
static bool
table_hosts(struct relay_startup *s, const struct impi_tables *t)
{
	struct relay_job *j = s->job;
	struct impi_hostid id;
	j->nhosts = 0;
	for (uint32_t r = 0; r < t->nprocs; r++) {
		const struct impi_proc *p = &t->proc[r];
		uint32_t client = impi_tables_client_of_rank(t, r);
		bool suci = impi_hostid_decode(p->hostid, &id) == IMPI_HOSTID_SUCI;
		uint32_t label = (uint32_t)p->pid, base = suci ? label - r : 0;
		if (suci &&
		    (p->pid > IMPI_TOKEN_MASK || label < r || base > UINT32_MAX - (1u << 20))) {
			relay_text_set(s->why,
				       "process %u of client %u: its label is not a base "
				       "plus its world rank",
				       r, client);
			return false;
		}
		struct relay_host *h = j->nhosts ? &j->host[j->nhosts - 1] : NULL;
		if (h && h->client == client && h->label_base == base &&
		    memcmp(h->id, p->hostid, sizeof h->id) == 0) {
			h->nprocs++;
			continue;
		}
		h = &j->host[j->nhosts++];
		*h = (struct relay_host){
			.client = client, .first_rank = r, .nprocs = 1, .label_base = base};
		memcpy(h->id, p->hostid, sizeof h->id);
	}
	return true;
}

static bool
table_procs(struct relay_startup *s, const struct impi_tables *t)
{
	struct relay_job *j = s->job;
	const uint8_t *ids, *pids;
	const char *what;
	uint32_t n;
	if (relay_map_own(s, IMPI_P_IPV6, &ids, &n, &what) != MAP_OK ||
	    relay_map_own(s, IMPI_P_PID, &pids, &n, &what) != MAP_OK)
		return false;
	for (uint32_t r = 0; r < j->nworld; r++) {
		impi_proc_encode(&t->proc[r], j->global_id[r]);
		uint32_t client = impi_tables_client_of_rank(t, r);
		uint32_t i = r - t->client[client].first_rank;
		if (client != j->my_client) {
			relay_map_shard_id(s, t->proc[r].hostid, j->nlocal,
					   t->client[client].nprocs, i, false, j->private_id[r]);
			be64_store(j->private_id[r] + 16, relay_map_pid(s, r));
			continue;
		}
		memcpy(j->private_id[r], ids + 16 * (size_t)i, 16);
		memcpy(j->private_id[r] + 16, pids + 8 * (size_t)i, 8);
		struct relay_local *l = &j->local[i];
		*l = (struct relay_local){0};
		memcpy(l->id, ids + 16 * (size_t)i, sizeof l->id);
		l->pid = be64_load(pids + 8 * (size_t)i);
		l->relay = relay_map_index(s, relay_deal_owner(n, s->conf.nmembers, i));
	}
	return true;
}

/* ---- foreign hosts --------------------------------------------------------------- */

/* The id a process announced, whosoever it is.  Only those of the own client may be of version 2.
 */
static enum impi_hostid_result
decode_id_of(const struct relay_job *j, uint32_t rank, struct impi_hostid *id)
{
	if (rank - j->first_local < j->nlocal)
		return relay_local_decode(&j->local[rank - j->first_local], id);
	return impi_hostid_decode(j->global_id[rank], id);
}

static bool
is_foreign(const struct relay_job *j, uint32_t rank)
{
	struct impi_hostid h;
	return decode_id_of(j, rank, &h) != IMPI_HOSTID_SUCI;
}

/* The hosts of one client, as the mapping has them in which they meet gates. */
struct hosts {
	uint32_t client, n, first_rank, nprocs, host_rank;
	const uint8_t *addr, *port, *count; /* own client's values; else NULL */
};

static struct impi_host
host_at(const struct relay_startup *s, const struct hosts *x, uint32_t h)
{
	if (!x->addr)
		return relay_map_tables(s)->host[x->host_rank + h];
	struct impi_host o = {.port = be32_load(x->port + 4 * (size_t)h),
			      .nprocs = be32_load(x->count + 4 * (size_t)h)};
	memcpy(o.addr, x->addr + 16 * (size_t)h, sizeof o.addr);
	return o;
}

/* False: the own client has not told them. */
static bool
hosts_of(const struct relay_startup *s, uint32_t client, struct hosts *x)
{
	const struct impi_client_entry *e = &relay_map_tables(s)->client[client];
	const char *what;
	uint32_t n;

	*x = (struct hosts){.client = client,
			    .n = e->nhosts,
			    .first_rank = e->first_rank,
			    .nprocs = e->nprocs,
			    .host_rank = e->first_host};
	if (client != s->job->my_client)
		return true;
	x->host_rank = client * s->conf.nmembers;
	return relay_map_own(s, IMPI_H_IPV6, &x->addr, &x->n, &what) == MAP_OK &&
	       relay_map_own(s, IMPI_H_PORT, &x->port, &n, &what) == MAP_OK &&
	       relay_map_own(s, IMPI_H_NPROCS, &x->count, &n, &what) == MAP_OK;
}

/* "2001:db8::7" of the host of a process, as it was announced. */
static void
name_host(const struct relay_startup *s, uint32_t client, uint32_t rank,
	  char text[SUCI_ADDR_TEXT_MAX])
{
	struct suci_addr at = {0};
	struct hosts x;

	for (uint32_t h = 0, last = 0; hosts_of(s, client, &x) && h < x.n; h++) {
		struct impi_host o = host_at(s, &x, h);
		at = suci_addr_of(o.addr, 0);
		if (o.nprocs > rank - x.first_rank - last)
			break;
		last += o.nprocs;
	}
	(void)suci_addr_ip_text(&at, text);
}

/* Those of the own client that say they are where their host is announced. */
static void
place_locals(struct relay_startup *s)
{
	struct relay_job *j = s->job;
	struct hosts x;
	uint32_t i = 0;

	for (uint32_t h = 0; hosts_of(s, j->my_client, &x) && h < x.n; h++) {
		struct impi_host o = host_at(s, &x, h);
		for (uint32_t n = 0; n < o.nprocs && i < j->nlocal; n++, i++)
			if (impi_hostid_is_at_host(j->local[i].id))
				memcpy(j->local[i].at, o.addr, sizeof j->local[i].at);
	}
}

/* A relay calls processes of other clusters by IPv4 addresses. */
static void
refuse_ipv6_alone(struct relay_startup *s, uint32_t client, uint32_t rank)
{
	uint32_t ip = s->conf.member[0].ipv4_global;
	char host[SUCI_ADDR_TEXT_MAX];

	name_host(s, client, rank, host);
	relay_text_set(
		s->why,
		"process %u (client %u) is at %s and has IPv6 alone, relay %u.%u.%u.%u "
		"calls it by IPv4; fix: a relay for it, an IPv4 address (LIBMPI_NET) or a name "
		"(LIBMPI_PLACES)",
		rank, client, host, ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

/* Of the own client, and at host: the relays need addresses of its kind. */
static bool
meets_relays(struct relay_startup *s, uint32_t rank, const uint8_t host[16])
{
	const struct suci_addr at = suci_addr_of(host, 0);
	const char *fault = at.family != 6 ? "is none of IPv6" : suci_addr_fault(&at);
	char text[SUCI_ADDR_TEXT_MAX];

	suci_addr_ip_text(&at, text);
	for (uint32_t m = 0; m < s->conf.nmembers && !fault; m++) {
		uint32_t ip = s->conf.member[m].ipv4_private;
		if (relay_map_has_six(&s->conf.member[m]))
			continue;
		relay_text_set(s->why,
			       "process %u is at %s and has IPv6 alone, relay %u.%u.%u.%u has none "
			       "inside; fix: ports.private.ipv6 and private6 of the relays, or an "
			       "IPv4 address (LIBMPI_NET)",
			       rank, text, ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
		return false;
	}
	if (fault)
		relay_text_set(s->why,
			       "process %u says that it is where its host is, and the address of "
			       "that, %s, %s",
			       rank, text, fault);
	return !fault;
}

/* An id that is ours by its first bytes and nonsense in the others would pass for
 * another implementation's. */
static bool
ids_make_sense(struct relay_startup *s)
{
	const struct relay_job *j = s->job;
	struct impi_hostid h;
	for (uint32_t r = 0; r < j->nworld; r++) {
		const struct relay_local *l =
			r - j->first_local < j->nlocal ? &j->local[r - j->first_local] : NULL;
		if (l && impi_hostid_is_at_host(l->id) && !meets_relays(s, r, l->at))
			return false;
		if (decode_id_of(j, r, &h) != IMPI_HOSTID_BAD)
			continue;
		uint32_t client = impi_tables_client_of_rank(relay_map_tables(s), r);
		if (!l && impi_hostid_is_at_host(j->global_id[r]))
			refuse_ipv6_alone(s, client, r);
		else
			relay_text_set(s->why,
				       "process %u (client %u): its Suci host id is of no version "
				       "or kind known here",
				       r, client);
		return false;
	}
	return true;
}

/* Are the processes [first, first + n) foreign?  1 all, 0 none, -1 some. */
static int
foreign_range(const struct relay_job *j, uint32_t first, uint32_t n)
{
	uint32_t foreign = 0;
	for (uint32_t r = first; r < first + n; r++)
		foreign += is_foreign(j, r);
	return foreign == 0 ? 0 : foreign == n ? 1 : -1;
}

static bool
add_foreign(struct relay_startup *s, const struct hosts *x, uint32_t h, uint32_t first)
{
	struct relay_job *j = s->job;
	struct impi_host o = host_at(s, x, h);
	uint32_t ip;

	if (impi_addr_classify(o.addr, &ip) != IMPI_ADDR_V4 || o.port < 1 || o.port > 65535) {
		relay_text_set(s->why,
			       "host %u of client %u, another implementation's, has no IPv4 "
			       "address and port to reach it at",
			       h, x->client);
		return false;
	}
	if (j->nforeign == relay_startup_job_limits(&s->conf.limits).nhosts_max) {
		relay_text_set(s->why, "more hosts of other implementations than this relay is "
				       "configured for");
		return false;
	}
	struct relay_foreign *f = &j->foreign[j->nforeign++];
	*f = (struct relay_foreign){
		.client = x->client,
		.rank = x->host_rank + h,
		.first_rank = first,
		.nprocs = o.nprocs,
		.port = (uint16_t)o.port,
	};
	memcpy(f->addr, o.addr, sizeof f->addr);
	return true;
}

/* Those of a client's hosts that are not reached by Suci. */
static bool
foreign_hosts(struct relay_startup *s, const struct hosts *x)
{
	const struct relay_job *j = s->job;
	int whole = foreign_range(j, x->first_rank, x->nprocs);
	uint32_t at = 0;

	for (uint32_t h = 0; h < x->n; h++) {
		uint32_t n = host_at(s, x, h).nprocs;
		if (n > x->nprocs - at)
			break;
		/* A host without processes is what the others of its client are. */
		int f = n ? foreign_range(j, x->first_rank + at, n) : whole == 1;
		if (f < 0) {
			relay_text_set(s->why,
				       "host %u of client %u has processes of two implementations",
				       h, x->client);
			return false;
		}
		if (f && !add_foreign(s, x, h, x->first_rank + at))
			return false;
		at += n;
		if (h + 1 == x->n && at == x->nprocs)
			return true;
	}
	relay_text_set(s->why, "the hosts of client %u have not the %u processes it announced",
		       x->client, x->nprocs);
	return false;
}

static bool
table_foreign(struct relay_startup *s, const struct impi_tables *t)
{
	struct relay_job *j = s->job;

	j->nforeign = 0;
	for (uint32_t c = 0; c < t->nclients; c++) {
		struct hosts x;
		if (!hosts_of(s, c, &x))
			return false;
		if (c == j->my_client)
			j->nhosts_private = x.n + (t->nclients - 1) * s->conf.nmembers;
		if (!foreign_hosts(s, &x))
			return false;
	}
	j->nhosts_global = t->nhosts;
	return true;
}

/* ---- gates ------------------------------------------------------------------------ */

static void
add_gates(struct relay_startup *s, uint32_t client, uint32_t host_rank)
{
	struct relay_job *j = s->job;
	const struct impi_client_entry *e = &relay_map_tables(s)->client[client];
	uint32_t relays = relay_deal_takers(j->nlocal, s->conf.nmembers);
	for (uint32_t m = 0; m < s->conf.nmembers; m++) {
		struct relay_gate *g = &j->gate[j->ngates++];
		*g = relay_map_gate(s, m, client);
		g->rank = host_rank + m;
		g->nprocs = m < relays ? relay_deal_count(e->nprocs, relays, m) : 0;
		g->first_rank = e->first_rank +
				(m < relays ? relay_deal_first(e->nprocs, relays, m) : e->nprocs);
	}
}

/* Two gates at one address look like one host. */
static bool
enough_gates(struct relay_startup *s, uint32_t nclients)
{
	for (uint32_t m = 0; m < s->conf.nmembers; m++) {
		uint32_t have = s->conf.member[m].ngate_private, need = nclients - 1;
		have = have ? have : 1;
		if (have >= need)
			continue;
		/* The operator has not written the private address among gates. */
		const struct relay_member *r = &s->conf.member[m];
		bool private = !r->ngate_private || r->gate_private[0] == r->ipv4_private;
		relay_text_set(s->why,
			       "client %d is another implementation's MPI and sees each of the %u "
			       "remote clients at an address of its own%s: add %u to the %u of "
			       "cluster.relays[%u].gates",
			       s->rank, need, private ? ", one at the private address" : "",
			       need - have, have - private, relay_map_index(s, m));
		return false;
	}
	return true;
}

static bool
table_gates(struct relay_startup *s, const struct impi_tables *t)
{
	struct relay_job *j = s->job;
	bool own = false, remote = false;

	j->ngates = 0;
	for (uint32_t i = 0; i < j->nforeign; i++) {
		own |= j->foreign[i].client == j->my_client;
		remote |= j->foreign[i].client != j->my_client;
	}
	if (own && !enough_gates(s, t->nclients))
		return false;
	for (uint32_t c = 0, rank = 0; own && c < t->nclients; c++) {
		if (c != j->my_client)
			add_gates(s, c, rank);
		rank += c == j->my_client ? j->nhosts_private - (t->nclients - 1) * s->conf.nmembers
					  : s->conf.nmembers;
	}
	if (remote)
		add_gates(s, j->my_client, t->client[j->my_client].first_host);
	return true;
}

/* ---- all of it -------------------------------------------------------------------- */

/* Did the server send a value for each host and process? */
static bool
replies_whole(struct relay_startup *s)
{
	static const uint32_t label[] = {IMPI_H_IPV6, IMPI_H_PORT, IMPI_H_NPROCS, IMPI_P_IPV6,
					 IMPI_P_PID};
	for (size_t i = 0; i < sizeof label / sizeof label[0]; i++) {
		if (relay_map_is_whole(s, label[i]))
			continue;
		relay_text_set(s->why, "the server's reply to %s has not one value per %s",
			       impi_label_name(label[i]),
			       label[i] < IMPI_P_IPV6 ? "host" : "process");
		return false;
	}
	return true;
}

bool
relay_map_table(struct relay_startup *s)
{
	const struct impi_tables *t = relay_map_tables(s);
	struct relay_job *j = s->job;
	const char *what = "the tables of the clients contradict each other";
	uint32_t rank;

	j->id = s->conf.job_id;
	j->token = (uint32_t)s->conf.token;
	j->label_base = s->base;
	j->my_client = (uint32_t)s->rank;
	j->nworld = t->nprocs;
	j->first_local = t->client[s->rank].first_rank;
	j->nlocal = t->client[s->rank].nprocs;
	j->datalen = t->datalen;
	j->ackmark = t->ackmark;
	j->hiwater = t->hiwater;
	if (!replies_whole(s) || !table_hosts(s, t))
		return false;
	if (!table_procs(s, t)) {
		relay_text_set(s->why, "no job table: %s", what);
		return false;
	}
	place_locals(s);
	if (!ids_make_sense(s))
		return false;
	if (!s->conf.gateway && relay_job_has_foreign(j, &rank)) {
		relay_text_set(s->why,
			       "process %u (client %u) belongs to another IMPI implementation, and "
			       "this relay has no IMPI/TCP gateway to reach it",
			       rank, impi_tables_client_of_rank(t, rank));
		return false;
	}
	relay_text_set(s->why, "no job table: %s", what);
	if (!table_foreign(s, t) || !table_gates(s, t))
		return false;
	if (relay_job_validate(j, &what)) {
		relay_text_set(s->why, "no job table: %s", what);
		return false;
	}
	s->why[0] = '\0';
	return true;
}
