/* SPDX-License-Identifier: BSD-2-Clause */
/* The two mappings: values of labels as the other clusters see them, and as our
 * own client sees them. */
#include "startup_internal.h"

#include "base/bytes.h"
#include "impi/hostid.h"
#include "impi/wire.h"

#include <string.h>

/* ---- what is known ---------------------------------------------------------- */

const struct impi_tables *
relay_map_tables(const struct relay_startup *s)
{
	return s->up ? impi_client_tables(s->up) : NULL;
}

static bool
world_known(const struct relay_startup *s)
{
	const struct impi_tables *t = relay_map_tables(s);
	return t && impi_tables_have(t, IMPI_C_NPROCS);
}

/* A single number the client submitted. */
static enum map_result
own_number(const struct relay_startup *s, uint32_t label, uint32_t max, uint32_t *out,
	   const char **what)
{
	const uint8_t *data;
	uint32_t len;
	if (!impi_channel_label(&s->ch, label, &data, &len))
		return MAP_WAIT;
	if (len != 4 || be32_load(data) < 1 || be32_load(data) > max) {
		*what = label == IMPI_C_NHOSTS ? "the client's number of hosts is out of range"
					       : "the client's number of processes is out of range";
		return MAP_BAD;
	}
	*out = be32_load(data);
	return MAP_OK;
}

/* The client's value of an H or P label: n elements. */
enum map_result
relay_map_own(const struct relay_startup *s, uint32_t label, const uint8_t **data, uint32_t *n,
	      const char **what)
{
	bool per_host = label < IMPI_P_IPV6;
	uint32_t len;
	enum map_result r =
		per_host ? own_number(s, IMPI_C_NHOSTS, s->conf.limits.nhosts_max, n, what)
			 : own_number(s, IMPI_C_NPROCS, s->conf.limits.nworld_max, n, what);
	if (r != MAP_OK)
		return r;
	if (!impi_channel_label(&s->ch, label, data, &len))
		return MAP_WAIT;
	if (len != *n * impi_label_elem_bytes(label)) {
		*what = per_host ? "a label of the client has not one value per host"
				 : "a label of the client has not one value per process";
		return MAP_BAD;
	}
	return MAP_OK;
}

static bool
get_base(struct relay_startup *s)
{
	if (!s->base) {
		s->base_n = relay_map_tables(s)->nprocs;
		s->base = relay_labels_alloc(s->conf.labels, s->base_n);
	}
	return s->base != 0;
}

/* ---- values ------------------------------------------------------------------ */

static uint32_t
min_of(const uint8_t *data, uint32_t n)
{
	uint32_t min = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++)
		if (be32_load(data + 4 * i) < min)
			min = be32_load(data + 4 * i);
	return min;
}

/* What a relay that stands for a process says of it.  What is behind another relay's gateway stays
 * another implementation's; the version of libmpi is told on. */
static struct impi_hostid
stand_in_for(const uint8_t id[IMPI_HOSTID_BYTES])
{
	static const uint8_t somewhere[16] = {0xfd}; /* what makes no sense is found elsewhere */
	struct impi_hostid h;
	if (impi_hostid_decode_at(id, somewhere, &h) != IMPI_HOSTID_SUCI ||
	    h.kind == IMPI_HOSTID_RELAY_FOREIGN)
		return (struct impi_hostid){.kind = IMPI_HOSTID_RELAY_FOREIGN};
	return (struct impi_hostid){.kind = IMPI_HOSTID_RELAY, .major = h.major, .minor = h.minor};
}

/* nown is the number of processes of our own client (with which i of nown is dealt
 * as over all relays and shards). */
void
relay_map_shard_id(const struct relay_startup *s, const uint8_t id_of_proc[IMPI_HOSTID_BYTES],
		   uint32_t nown, uint32_t n, uint32_t i, bool global,
		   uint8_t out[IMPI_HOSTID_BYTES])
{
	uint32_t relays = relay_deal_takers(nown, s->conf.nmembers);
	uint32_t m = relay_deal_owner(n, relays, i);
	const struct relay_member *r = &s->conf.member[m];
	uint32_t shards =
		relay_deal_takers(relay_deal_count(nown, s->conf.nmembers, m), r->nshards);
	uint32_t shard = relay_deal_owner(relay_deal_count(n, relays, m), shards,
					  i - relay_deal_first(n, relays, m));
	struct impi_hostid id = stand_in_for(id_of_proc);
	id.token = (uint32_t)s->conf.token;
	id.port = global ? r->port_global[shard] : r->port_private[shard];
	id.ipv4 = global ? r->ipv4_global : r->ipv4_private;
	impi_hostid_encode(&id, out);
}

/* What we announce for the process.  An own client that shows labels alone cannot read more. */
uint64_t
relay_map_pid(const struct relay_startup *s, uint32_t rank)
{
	const uint8_t *own;
	const char *what;
	uint32_t n;
	bool whole = relay_map_own(s, IMPI_P_PID, &own, &n, &what) == MAP_OK && n && be32_load(own);
	return impi_pid_of(whole ? s->conf.token : 0, s->base + rank);
}

uint32_t
relay_map_index(const struct relay_startup *s, uint32_t m)
{
	return s->conf.member_index ? s->conf.member_index[m] : m;
}

struct relay_gate
relay_map_gate(const struct relay_startup *s, uint32_t m, uint32_t client)
{
	const struct relay_member *r = &s->conf.member[m];
	if ((int32_t)client == s->rank)
		return (struct relay_gate){
			.side = RELAY_GATE_GLOBAL,
			.relay = relay_map_index(s, m),
			.client = client,
			.ipv4 = r->gate_global ? r->gate_global : r->ipv4_global,
			.port = (uint16_t)(r->gateway_port_global + s->conf.gateway_slot),
		};
	uint32_t nth = client - ((int32_t)client > s->rank);
	return (struct relay_gate){
		.side = RELAY_GATE_PRIVATE,
		.relay = relay_map_index(s, m),
		.client = client,
		.ipv4 = r->ngate_private ? r->gate_private[nth % r->ngate_private]
					 : r->ipv4_private,
		.port = (uint16_t)(r->gateway_port_private + s->conf.gateway_slot),
	};
}

bool
relay_map_has_six(const struct relay_member *m)
{
	static const uint8_t nowhere[16];
	return memcmp(m->six_private, nowhere, sizeof nowhere) != 0;
}

/* Is the own client at IPv6 addresses? */
static bool
is_six_inside(const struct relay_startup *s)
{
	const uint8_t *host;
	const char *what;
	uint32_t n, ipv4;
	if (relay_map_own(s, IMPI_H_IPV6, &host, &n, &what) != MAP_OK)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (impi_addr_classify(host + 16 * (size_t)i, &ipv4) == IMPI_ADDR_V6)
			return true;
	return false;
}

/* A relay's value of a host label other than H_NPROCS where it stands for client;
 * mark is that of the client. */
static void
write_member(struct base_writer *w, const struct relay_startup *s, uint32_t label, uint32_t m,
	     uint32_t client, uint32_t mark)
{
	struct relay_gate g = relay_map_gate(s, m, client);
	uint8_t addr[16];
	switch (label) {
	case IMPI_H_IPV6:
		impi_addr_from_ipv4(addr, g.ipv4);
		if (g.side == RELAY_GATE_PRIVATE && relay_map_has_six(&s->conf.member[m]) &&
		    is_six_inside(s))
			memcpy(addr, s->conf.member[m].six_private, sizeof addr);
		base_write_bytes(w, addr, sizeof addr);
		break;
	case IMPI_H_PORT:
		base_write_be32(w, g.port);
		break;
	default: /* ACKMARK, HIWATER */
		base_write_be32(w, mark);
		break;
	}
}

/* H_NPROCS of all our relays for a client of n processes. */
static void
write_nprocs(struct base_writer *w, const struct relay_startup *s, uint32_t nown, uint32_t n)
{
	uint32_t relays = relay_deal_takers(nown, s->conf.nmembers);
	for (uint32_t m = 0; m < s->conf.nmembers; m++)
		base_write_be32(w, m < relays ? relay_deal_count(n, relays, m) : 0);
}

/* Has the server sent one element per host or process?  Minima and sums are checked
 * by the tables, this only when they are finished. */
bool
relay_map_is_whole(const struct relay_startup *s, uint32_t label)
{
	const struct impi_tables *t = relay_map_tables(s);
	return t->elements[impi_label_index(label)] ==
	       (label < IMPI_P_IPV6 ? t->nhosts : t->nprocs);
}

bool
relay_map_is_composed(uint32_t label)
{
	return label == IMPI_C_NHOSTS || (label >= IMPI_H_IPV6 && impi_label_index(label) >= 0);
}

/* ---- upwards ------------------------------------------------------------------ */

static enum map_result
up_hosts(struct relay_startup *s, struct base_writer *w, uint32_t label, const char **what)
{
	const uint8_t *data;
	uint32_t n, nprocs = 0;
	enum map_result r = relay_map_own(s, label, &data, &n, what);
	if (r == MAP_OK && label == IMPI_H_NPROCS)
		r = own_number(s, IMPI_C_NPROCS, s->conf.limits.nworld_max, &nprocs, what);
	if (r != MAP_OK)
		return r;
	if (label == IMPI_H_NPROCS) {
		write_nprocs(w, s, nprocs, nprocs);
		return MAP_OK;
	}
	uint32_t mark = label == IMPI_H_ACKMARK || label == IMPI_H_HIWATER ? min_of(data, n) : 0;
	for (uint32_t m = 0; m < s->conf.nmembers; m++)
		write_member(w, s, label, m, (uint32_t)s->rank, mark);
	return MAP_OK;
}

static enum map_result
up_procs(struct relay_startup *s, struct base_writer *w, uint32_t label, const char **what)
{
	const uint8_t *data;
	uint8_t id[IMPI_HOSTID_BYTES];
	uint32_t n;
	enum map_result r = relay_map_own(s, label, &data, &n, what);
	if (r != MAP_OK)
		return r;
	if (label == IMPI_P_PID) {
		if (!world_known(s))
			return MAP_WAIT;
		if (!get_base(s)) {
			*what = "no range of labels is free on this relay: too many jobs";
			return MAP_BAD;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (label == IMPI_P_IPV6) {
			relay_map_shard_id(s, data + sizeof id * i, n, n, i, true, id);
			base_write_bytes(w, id, sizeof id);
		} else {
			base_write_be64(
				w, relay_map_pid(
					   s, relay_map_tables(s)->client[s->rank].first_rank + i));
		}
	}
	return MAP_OK;
}

enum map_result
relay_map_up(struct relay_startup *s, uint32_t label, uint32_t *len, const char **what)
{
	struct base_writer w = base_writer(s->scratch, s->scratch_len);
	enum map_result r = MAP_OK;
	uint32_t n;

	if (label == IMPI_C_NPROCS) {
		r = own_number(s, label, s->conf.limits.nworld_max, &n, what);
		return r == MAP_OK ? MAP_RAW : r;
	}
	if (!relay_map_is_composed(label))
		return MAP_RAW;
	if (label == IMPI_C_NHOSTS) {
		r = own_number(s, label, s->conf.limits.nhosts_max, &n, what);
		base_write_be32(&w, s->conf.nmembers);
	} else if (label < IMPI_P_IPV6) {
		r = up_hosts(s, &w, label, what);
	} else {
		r = up_procs(s, &w, label, what);
	}
	if (r == MAP_OK && !base_writer_ok(&w)) {
		*what = "the job is larger than this relay is configured for";
		return MAP_BAD;
	}
	*len = (uint32_t)base_writer_len(&w);
	return r;
}

/* ---- downwards ------------------------------------------------------------------ */

/* The smallest of a client's marks.  Before the tables are finished those of
 * clients that sent none take no space. */
static uint32_t
remote_mark(const struct impi_tables *t, uint32_t label, uint32_t mask, uint32_t client)
{
	uint32_t min = UINT32_MAX, first = 0;
	for (uint32_t c = 0; c < client; c++)
		first += mask >> c & 1 ? t->client[c].nhosts : 0;
	for (uint32_t h = first; h < first + t->client[client].nhosts; h++) {
		uint32_t v = label == IMPI_H_ACKMARK ? t->host[h].ackmark : t->host[h].hiwater;
		min = v < min ? v : min;
	}
	return min;
}

static void
down_hosts(struct relay_startup *s, struct base_writer *w, uint32_t label, uint32_t mask,
	   uint32_t client)
{
	const struct impi_tables *t = relay_map_tables(s);
	bool marks = label == IMPI_H_ACKMARK || label == IMPI_H_HIWATER;
	uint32_t mark = marks ? remote_mark(t, label, mask, client) : 0;
	if (label == IMPI_H_NPROCS) {
		write_nprocs(w, s, t->client[s->rank].nprocs, t->client[client].nprocs);
		return;
	}
	for (uint32_t m = 0; m < s->conf.nmembers; m++)
		write_member(w, s, label, m, client, mark);
}

static void
down_procs(struct relay_startup *s, struct base_writer *w, uint32_t label, uint32_t client)
{
	const struct impi_tables *t = relay_map_tables(s);
	const struct impi_client_entry *e = &t->client[client];
	uint32_t nown = relay_map_tables(s)->client[s->rank].nprocs;
	uint8_t id[IMPI_HOSTID_BYTES];
	for (uint32_t i = 0; i < e->nprocs; i++) {
		if (label == IMPI_P_IPV6) {
			relay_map_shard_id(s, t->proc[e->first_rank + i].hostid, nown, e->nprocs, i,
					   false, id);
			base_write_bytes(w, id, sizeof id);
		} else {
			base_write_be64(w, relay_map_pid(s, e->first_rank + i));
		}
	}
}

/* Has everything come that the mapping of label looks at? */
static bool
down_ready(const struct relay_startup *s, uint32_t label)
{
	const struct impi_tables *t = relay_map_tables(s);
	if (label == IMPI_H_ACKMARK || label == IMPI_H_HIWATER)
		return impi_tables_have(t, IMPI_C_NHOSTS);
	if (label == IMPI_P_IPV6 && !impi_tables_have(t, label))
		return false;
	if (label == IMPI_H_NPROCS || label >= IMPI_P_IPV6)
		return impi_tables_have(t, IMPI_C_NPROCS);
	return true;
}

enum map_result
relay_map_down(struct relay_startup *s, uint32_t label, uint32_t mask, uint32_t *len,
	       const char **what)
{
	struct base_writer w = base_writer(s->scratch, s->scratch_len);
	const uint8_t *own = NULL;
	uint32_t n = 0;

	if (!down_ready(s, label))
		return MAP_WAIT;
	if (label == IMPI_P_IPV6 && !relay_map_is_whole(s, label)) {
		*what = "the server's IMPI_P_IPV6 has not one value per process";
		return MAP_BAD;
	}
	if (label == IMPI_P_PID && !get_base(s)) {
		*what = "no range of labels is free on this relay: too many jobs";
		return MAP_BAD;
	}
	enum map_result r = label == IMPI_C_NHOSTS
				    ? own_number(s, label, s->conf.limits.nhosts_max, &n, what)
				    : relay_map_own(s, label, &own, &n, what);
	if (r != MAP_OK)
		return r;
	for (uint32_t c = 0; c < s->nclients; c++) {
		if (!(mask >> c & 1))
			continue;
		bool mine = (int32_t)c == s->rank;
		if (label == IMPI_C_NHOSTS)
			base_write_be32(&w, mine ? n : s->conf.nmembers);
		else if (mine)
			base_write_bytes(&w, own, n * impi_label_elem_bytes(label));
		else if (label < IMPI_P_IPV6)
			down_hosts(s, &w, label, mask, c);
		else
			down_procs(s, &w, label, c);
	}
	if (!base_writer_ok(&w)) {
		*what = "the job is larger than this relay is configured for";
		return MAP_BAD;
	}
	*len = (uint32_t)base_writer_len(&w);
	return MAP_OK;
}
