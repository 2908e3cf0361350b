/* SPDX-License-Identifier: BSD-2-Clause */
/* Start and end of the engine. */
#include "internal.h"
#include "cycles.h"
#include "light.h"

#include "boot.h"
#include "end.h"
#include "epoch.h"
#include "join.h"
#include "streams.h"
#include "transport.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "impi/hostid.h"
#include "impi/wire.h"

#include <bsd/stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define eng lmpi_eng

#define NATIVE_DATALEN (1u << 20)

struct lmpi_world lmpi_world;
struct lmpi_stats lmpi_stats;

/* What the steps of starting hand to each other. */
struct start {
	struct lmpi_boot boot;
	struct lmpi_contact me;
	struct lmpi_contact *contact; /* [boot.size] */
	struct lmpi_job job;
	struct lmpi_proc *proc; /* [world.size] */
	struct lmpi_relay *relay;
	uint32_t nrelays;
	uint32_t *host_of; /* [boot.size] IMPI host inside the client */
	uint32_t nhosts;
	bool foreign;	    /* some process is reached over TCP */
	const char *server; /* IMPI_SERVER, NULL: no IMPI */
	uint32_t client;
	bool net, shm;
	struct suci_addr at;
	struct lmpi_places places;
};

static int
out_of_memory(void)
{
	fprintf(stderr, "libmpi: out of memory while starting\n");
	return LMPI_ERR_NO_MEM;
}

/* --- what the user wants -------------------------------------------------- */

static int
read_environment(struct start *s)
{
	const char *client = lmpi_knob_text(LMPI_KNOB_IMPI_CLIENT);
	int transport = lmpi_knob_word_or_fail(LMPI_KNOB_TRANSPORT); /* shm, udp */
	bool udp = transport == 1;
	char why[LMPI_PLACES_WHY];

	if (s->boot.rank == 0)
		lmpi_knobs_warn(environ);
	if (transport < 0 || lmpi_light_init() != LMPI_OK)
		return LMPI_ERR_OTHER;
	if (!lmpi_places_parse(lmpi_knob_text(LMPI_KNOB_PLACES), &s->places, why)) {
		fprintf(stderr, "libmpi: LIBMPI_PLACES: %s\n", why);
		return LMPI_ERR_OTHER;
	}
	s->server = lmpi_knob_text(LMPI_KNOB_IMPI_SERVER);
	/* A job that another one has started is none of that one's clients. */
	if (lmpi_knob_text(LMPI_KNOB_PARENT_PORT) != NULL)
		s->server = client = NULL;
	if (!client != !s->server) {
		fprintf(stderr, "libmpi: IMPI_CLIENT and IMPI_SERVER go together, only one is set; "
				"start with `impirun -client N host:port ...`\n");
		return LMPI_ERR_OTHER;
	}
	if (client) {
		const char *wrong = NULL;
		s->client = (uint32_t)strtonum(client, 0, 31, &wrong);
		if (wrong) {
			fprintf(stderr, "libmpi: IMPI_CLIENT=%s is %s (0 to 31)\n", client, wrong);
			return LMPI_ERR_OTHER;
		}
	}
	s->shm = !udp && s->boot.node_size > 1;
	s->net = s->server || s->boot.size > s->boot.node_size || (udp && s->boot.size > 1);
	return LMPI_OK;
}

/* --- contacts ------------------------------------------------------------- */

/* The name of a node of this client that is not this one; "" if there is none. */
static void
find_other_node(const struct start *s, char name[64])
{
	char own[64];

	name[0] = '\0';
	if (s->boot.size == s->boot.node_size)
		return;
	lmpi_boot_node_of(s->boot.rank, own);
	for (uint32_t r = 0; r < s->boot.size; r++) {
		lmpi_boot_node_of(r, name);
		if (*name && strcmp(name, own) != 0)
			return;
	}
	name[0] = '\0';
}

static int
make_contact(struct start *s)
{
	int err = 0;

	s->me.shm_fd = -1;
	if (s->boot.rank == 0 &&
	    getrandom(&s->me.token, sizeof s->me.token, 0) != (ssize_t)sizeof s->me.token)
		return out_of_memory();
	if (s->net) {
		char other[64];
		find_other_node(s, other);
		err = lmpi_choose_address(s->server, other, true, &s->at);
		if (!err)
			lmpi_tune_net(&s->at);
		s->me.bcast_piece = lmpi_tuned.bcast_piece;
		s->me.alltoall_piece = lmpi_tuned.alltoall_piece;
		if (!err)
			err = lmpi_net_open(&s->at);
		if (err)
			return err;
		s->me.at = s->at;
		s->me.at.port = lmpi_net_port();
		if (s->boot.size > 1)
			s->me.stream_port = lmpi_streams_open(&s->at);
		/* Before the port can be announced, and by everybody: who needs it is not
		 * known before all addresses are. */
		if (s->server)
			err = lmpi_dance_listen(&s->at, &s->me.tcp_port);
		if (err)
			return err;
	}
	err = lmpi_bell_make(s->me.bell);
	if (err) {
		fprintf(stderr, "libmpi: cannot make a pipe: %s\n", strerror(-err));
		return LMPI_ERR_OTHER;
	}
	if (s->shm) {
		struct lmpi_shm_place p;
		lmpi_tune_node();
		err = lmpi_shm_make(s->boot.node_size, &p);
		if (err)
			return err;
		s->me.shm_pid = p.pid;
		s->me.shm_fd = p.fd;
		s->me.shm_bytes = p.bytes;
	}
	uint8_t blob[LMPI_CONTACT_BYTES];
	lmpi_contact_encode(&s->me, blob);
	return lmpi_boot_put("lmpi.contact", blob, sizeof blob);
}

static int
read_contacts(struct start *s)
{
	s->contact = calloc(s->boot.size, sizeof *s->contact);
	if (!s->contact)
		return out_of_memory();
	for (uint32_t r = 0; r < s->boot.size; r++) {
		void *data;
		size_t len;
		if (r == s->boot.rank) {
			s->contact[r] = s->me;
			continue;
		}
		int err = lmpi_boot_get(r, "lmpi.contact", &data, &len);
		if (err)
			return err;
		char why[LMPI_CONTACT_WHY];
		bool ok = lmpi_contact_decode(data, len, &s->contact[r], why);
		free(data);
		if (!ok) {
			fprintf(stderr,
				"libmpi: rank %u has %s; fix: the same libmpi on all nodes of a "
				"cluster\n",
				r, why);
			return LMPI_ERR_OTHER;
		}
	}
	lmpi_loop.token = s->contact[0].token & IMPI_TOKEN_MASK;
	lmpi_tune_adopt_pieces(s->contact[0].bcast_piece, s->contact[0].alltoall_piece);
	s->host_of = calloc(s->boot.size, sizeof *s->host_of);
	if (!s->host_of)
		return out_of_memory();
	s->nhosts = lmpi_hosts_group(s->contact, s->boot.size, s->host_of);
	if (s->boot.rank > 0 && s->host_of[s->boot.rank] == s->host_of[s->boot.rank - 1])
		lmpi_dance_unlisten(); /* a lower rank listens for this host */
	return LMPI_OK;
}

/* --- the table of processes ----------------------------------------------- */

/* Without IMPI the job is this client. */
static int
job_of_one_client(struct start *s)
{
	s->job = (struct lmpi_job){.nclients = 1,
				   .nhosts = 1,
				   .nprocs = s->boot.size,
				   .datalen = NATIVE_DATALEN,
				   .tag_ub = INT32_MAX,
				   .coll_xsize = IMPI_COLL_XSIZE_DEFAULT,
				   .coll_maxlinear = IMPI_COLL_MAXLINEAR_DEFAULT};
	s->job.peer = calloc(1, sizeof *s->job.peer);
	s->job.host = calloc(1, sizeof *s->job.host);
	s->job.proc = calloc(s->boot.size, sizeof *s->job.proc);
	if (!s->job.peer || !s->job.host || !s->job.proc)
		return out_of_memory();
	s->job.host[0].nprocs = s->boot.size;
	lmpi_job_count(&s->job);
	return LMPI_OK;
}

/* Rank 0 joins and tells the others. */
static int
get_job(struct start *s)
{
	void *blob;
	size_t len;
	int err;

	if (!s->server)
		return job_of_one_client(s);
	if (s->boot.rank == 0) {
		struct lmpi_join how = {.server = s->server,
					.client = s->client,
					.nprocs = s->boot.size,
					.contact = s->contact,
					.nhosts = s->nhosts,
					.host_of = s->host_of,
					.places = &s->places,
					.token = lmpi_loop.token};
		err = lmpi_join(&how, &s->job);
		if (err)
			return err;
		blob = lmpi_job_encode(&s->job, &len);
		if (!blob)
			return out_of_memory();
		err = lmpi_boot_put("lmpi.job", blob, len);
		free(blob);
		return err;
	}
	return LMPI_OK;
}

static int
read_job(struct start *s)
{
	void *blob;
	size_t len;

	if (!s->server || s->boot.rank == 0)
		return LMPI_OK;
	int err = lmpi_boot_get(0, "lmpi.job", &blob, &len);
	if (err)
		return err;
	bool ok = lmpi_job_decode(blob, len, &s->job);
	free(blob);
	if (!ok) {
		fprintf(stderr,
			"libmpi: rank 0 published a table of the job that makes no sense\n");
		return LMPI_ERR_INTERN;
	}
	return LMPI_OK;
}

static void
host_and_client(struct start *s)
{
	uint32_t r = 0;

	lmpi_world.client_first = UINT32_MAX;
	lmpi_world.client_size = 0;
	for (uint32_t h = 0; h < s->job.nhosts; h++) {
		for (uint32_t i = 0; i < s->job.host[h].nprocs; i++, r++) {
			s->proc[r].host = h;
			s->proc[r].client = s->job.host[h].client;
			if (s->job.host[h].client == s->job.client) {
				if (lmpi_world.client_first == UINT32_MAX)
					lmpi_world.client_first = r;
				lmpi_world.client_size++;
			}
		}
	}
}

/* Where a process or a relay is whose id says that, at a host that is announced at host. */
static struct suci_addr
place_of(const struct start *s, const struct impi_hostid *id, const uint8_t host[16], bool *placed)
{
	struct suci_addr at = suci_addr_of(host, id->port);
	uint8_t ip[16];

	*placed = id->ipv4 && s->at.family == 6 && lmpi_places_at(&s->places, id->ipv4, ip);
	if (*placed)
		return suci_addr_of(ip, id->port);
	/* A relay that is announced at an IPv6 address is there, whatever it is called, and so is
	 * a process for who has that alone. */
	if (!id->ipv4 || (at.family == 6 && (id->kind != IMPI_HOSTID_LIBMPI || s->at.family == 6)))
		return at;
	be32_store(ip, id->ipv4);
	return suci_addr_v4(ip, id->port);
}

/* The relay that leads to a process; its index, or UINT32_MAX: no memory. */
static uint32_t
relay_index(struct start *s, const struct suci_addr *at, uint32_t ipv4, uint64_t token,
	    uint32_t base)
{
	for (uint32_t i = 0; i < s->nrelays; i++) {
		if (memcmp(&s->relay[i].at, at, sizeof *at) == 0)
			return i;
	}
	struct lmpi_relay *p = realloc(s->relay, (s->nrelays + 1) * sizeof *p);
	if (!p)
		return UINT32_MAX;
	s->relay = p;
	p[s->nrelays] = (struct lmpi_relay){.at = *at, .ipv4 = ipv4, .token = token, .base = base};
	return s->nrelays++;
}

static bool
fits_socket(const struct start *s, uint32_t r)
{
	char who[24], why[LMPI_WHY];

	snprintf(who, sizeof who, "rank %u", r);
	if (!s->net || lmpi_addr_meets(&s->at, who, &lmpi_route[r].at, why))
		return true;
	fprintf(stderr, "libmpi: %s\n", why);
	return false;
}

/* A process of another client. */
static int
reach_remote(struct start *s, uint32_t r, const struct lmpi_peer *peer)
{
	struct impi_hostid id;
	uint64_t pid = be64_load(peer->id + 16);
	struct lmpi_route *to = &lmpi_route[r];
	const uint8_t *host = s->job.host[s->proc[r].host].addr;
	bool placed;

	/* lmpi_peers_settle() has looked for ids that make no sense. */
	if (impi_hostid_decode_at(peer->id, host, &id) != IMPI_HOSTID_SUCI) {
		to->reach = LMPI_REACH_TCP;
		s->foreign = true;
		return LMPI_OK;
	}
	if (pid > IMPI_TOKEN_MASK || (uint32_t)pid < r) {
		fprintf(stderr, "libmpi: rank %u: process id %llu is not a label\n", r,
			(unsigned long long)pid);
		return LMPI_ERR_OTHER;
	}
	to->label = (uint32_t)pid;
	to->at = place_of(s, &id, host, &placed);
	if (!fits_socket(s, r))
		return LMPI_ERR_OTHER;
	if (id.kind == IMPI_HOSTID_LIBMPI) {
		to->token = impi_token_of(id.token, pid);
		to->reach = LMPI_REACH_DIRECT;
		return LMPI_OK;
	}
	to->reach = LMPI_REACH_RELAY;
	to->relay = relay_index(s, &to->at, id.ipv4, impi_token_of(id.token, pid), to->label - r);
	if (to->relay == UINT32_MAX)
		return out_of_memory();
	s->relay[to->relay].placed |= placed;
	return LMPI_OK;
}

static int
reach_own(struct start *s, uint32_t c, struct lmpi_peer *peer)
{
	const struct lmpi_contact *k = &s->contact[c];
	struct lmpi_route *to = &lmpi_route[peer->world];

	to->label = LMPI_LABEL_BASE + peer->world;
	to->token = lmpi_loop.token;
	to->at = k->at;
	to->stream_port = k->stream_port;
	to->reach = LMPI_REACH_DIRECT;
	if (c == s->boot.rank)
		to->reach = LMPI_REACH_SELF;
	for (uint32_t i = 0; s->shm && i < s->boot.node_size; i++) {
		if (s->boot.node_peer[i] == c && c != s->boot.rank) {
			to->reach = LMPI_REACH_SHM;
			peer->at = i;
		}
	}
	return to->reach != LMPI_REACH_DIRECT || fits_socket(s, peer->world) ? LMPI_OK
									     : LMPI_ERR_OTHER;
}

static uint64_t
eager_max(enum lmpi_reach reach)
{
	switch (reach) {
	case LMPI_REACH_SHM:
		return lmpi_shm_eager_max();
	case LMPI_REACH_RELAY:
	case LMPI_REACH_TCP:
		return eng.datalen;
	default:
		return lmpi_eager();
	}
}

/* node_first of all: equal names side by side, lower ranks first. */
static int
by_node(const void *a, const void *b)
{
	const struct lmpi_proc *const *x = a, *const *y = b;
	int order = strcmp((*x)->node, (*y)->node);

	return order != 0 ? order : (*x > *y) - (*x < *y);
}

static void
find_nodes(struct lmpi_proc *proc, uint32_t n)
{
	struct lmpi_proc **sorted = calloc(n, sizeof(struct lmpi_proc *));

	for (uint32_t r = 0; r < n; r++) {
		proc[r].node_first = UINT32_MAX;
		if (sorted)
			sorted[r] = &proc[r];
	}
	if (!sorted)
		return;
	qsort(sorted, n, sizeof(struct lmpi_proc *), by_node);
	for (uint32_t i = 0, first = 0; i < n; i++) {
		if (strcmp(sorted[i]->node, sorted[first]->node) != 0)
			first = i;
		if (sorted[i]->node[0] != '\0')
			sorted[i]->node_first = (uint32_t)(sorted[first] - proc);
	}
	free(sorted);
}

static int
build_world(struct start *s)
{
	uint32_t n = s->job.nprocs;
	uint32_t slots = (uint32_t)lmpi_knob_number(LMPI_KNOB_PROCESSES_MAX);

	slots = slots < n ? n : slots;
	struct lmpi_client *clients = calloc(s->job.nclients, sizeof *clients);
	/* What is never used costs no memory. */
	s->proc = calloc(slots, sizeof *s->proc);
	eng.peer = calloc(slots, sizeof *eng.peer);
	lmpi_route = calloc(slots, sizeof *lmpi_route);
	if (!clients || !s->proc || !eng.peer || !lmpi_route) {
		free(clients);
		return out_of_memory();
	}
	lmpi_world.clients = clients;
	host_and_client(s);
	if (lmpi_world.client_size != s->boot.size) {
		fprintf(stderr,
			"libmpi: the IMPI job lists %u processes for client %u, but %u run\n",
			lmpi_world.client_size, s->job.client, s->boot.size);
		return LMPI_ERR_OTHER;
	}
	lmpi_world.size = lmpi_world.slots = eng.size = n;
	eng.slots_max = slots;
	lmpi_world.rank = eng.rank = lmpi_world.client_first + s->boot.rank;
	lmpi_world.client = s->job.client;
	lmpi_world.nclients = s->job.nclients;
	lmpi_world.nhosts = s->job.nhosts;
	lmpi_world.node_rank = s->boot.node_rank;
	lmpi_world.node_size = s->boot.node_size;
	lmpi_world.tag_ub = (int)(s->job.tag_ub > INT32_MAX ? INT32_MAX : s->job.tag_ub);
	lmpi_world.universe_size = s->boot.universe_size;
	lmpi_world.appnum = s->boot.appnum;
	memcpy(lmpi_world.node_name, s->boot.node_name, sizeof lmpi_world.node_name);
	lmpi_world.proc = s->proc;
	lmpi_world.coll_xsize = (int)s->job.coll_xsize;
	lmpi_world.coll_maxlinear = (int)s->job.coll_maxlinear;
	for (uint32_t c = 0; c < s->job.nclients; c++) {
		clients[c] = s->job.peer[c];
		lmpi_world.any_foreign |= clients[c].foreign;
	}
	eng.datalen = s->job.datalen;
	eng.ackmark = s->job.ackmark;
	eng.hiwater = s->job.hiwater;
	for (uint32_t r = 0; r < n; r++) {
		struct lmpi_peer *peer = &eng.peer[r];
		peer->world = r;
		lmpi_route[r].path = UINT32_MAX;
		memcpy(peer->id, s->job.proc[r], sizeof peer->id);
		if (s->proc[r].client == s->job.client) {
			uint32_t c = r - lmpi_world.client_first;
			reach_own(s, c, peer);
			lmpi_boot_node_of(c, s->proc[r].node);
		} else {
			int err = reach_remote(s, r, peer);
			if (err)
				return err;
		}
		peer->foreign = lmpi_world.clients[s->proc[r].client].foreign;
		lmpi_reach_by(peer, lmpi_route[r].reach);
		peer->eager_max = eager_max(lmpi_route[r].reach);
		s->proc[r].reach = lmpi_route[r].reach;
		s->proc[r].job = lmpi_loop.token;
		s->proc[r].number = r;
	}
	find_nodes(s->proc, n);
	return LMPI_OK;
}

static int
attach_node(struct start *s)
{
	for (uint32_t i = 0; s->shm && i < s->boot.node_size; i++) {
		uint32_t c = s->boot.node_peer[i];
		const struct lmpi_contact *k = &s->contact[c];
		struct lmpi_shm_place p = {k->shm_pid, k->shm_fd, k->shm_bytes};
		if (c == s->boot.rank)
			continue;
		int err = lmpi_shm_attach(i, c, &p);
		if (err)
			return err;
		lmpi_shm_set_bell(i, k->bell);
	}
	return LMPI_OK;
}

/* --- foreign hosts -------------------------------------------------------- */

/* A channel to every foreign host, in this process. */
static int
open_channels(struct start *s, const int *host_fd, const char (*name)[LMPI_HOST_NAME])
{
	struct lmpi_tcp_conf *conf = calloc(s->job.nhosts, sizeof *conf);
	uint32_t n = 0, *index = calloc(s->job.nhosts, sizeof *index);
	int err = LMPI_ERR_NO_MEM;

	if (conf && index) {
		for (uint32_t h = 0; h < s->job.nhosts; h++) {
			if (host_fd[h] < 0)
				continue;
			index[h] = n;
			conf[n++] = (struct lmpi_tcp_conf){
				.fd = host_fd[h], .host = h, .name = name[h]};
		}
		for (uint32_t r = 0; r < lmpi_world.size; r++) {
			if (lmpi_route[r].reach == LMPI_REACH_TCP)
				eng.peer[r].at = index[s->proc[r].host];
		}
		err = lmpi_tcp_start(conf, n);
	}
	free(conf);
	free(index);
	return err;
}

/* One channel, to the switch of my host; peer->at is 0 already. */
static int
open_switched(int fd)
{
	struct lmpi_tcp_conf conf = {
		.fd = fd, .host = UINT32_MAX, .name = "the packet switch of this host"};

	return lmpi_tcp_start(&conf, 1);
}

/* I own my host's channels, for all its processes. */
static int
be_switch(struct start *s, struct lmpi_dance *how, int *host_fd, const char (*name)[LMPI_HOST_NAME],
	  uint32_t nlocal)
{
	int *local_fd = malloc(nlocal * sizeof *local_fd), pair[2], err;
	uint32_t *host_of = calloc(lmpi_world.size, sizeof *host_of);

	if (!local_fd || !host_of || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(local_fd);
		free(host_of);
		return out_of_memory();
	}
	local_fd[0] = pair[0];
	for (uint32_t i = 1; i < nlocal; i++)
		local_fd[i] = -1;
	for (uint32_t r = 0; r < lmpi_world.size; r++)
		host_of[r] = s->proc[r].host;
	how->nlocal = nlocal;
	err = lmpi_dance(how, host_fd, local_fd);
	if (!err) {
		struct lmpi_switch_conf conf = {.nhosts = s->job.nhosts,
						.host_fd = host_fd,
						.host_name = name,
						.nlocal = nlocal,
						.first_rank = lmpi_world.rank,
						.local_fd = local_fd,
						.nprocs = lmpi_world.size,
						.id = (const uint8_t(*)[24])s->job.proc,
						.host_of = host_of,
						.datalen = eng.datalen,
						.hiwater = eng.hiwater};
		err = lmpi_switch_start(&conf);
	}
	free(local_fd);
	free(host_of);
	return err ? err : open_switched(pair[1]);
}

static int
connect_foreign(struct start *s)
{
	uint32_t host = s->proc[lmpi_world.rank].host, nlocal = s->job.host[host].nprocs;
	uint32_t first = lmpi_world.rank, c;
	int fd, err = LMPI_ERR_NO_MEM;

	while (first > 0 && s->proc[first - 1].host == host)
		first--;
	c = first - lmpi_world.client_first;
	if (first < lmpi_world.rank) {
		err = lmpi_dance_join(&s->contact[c].at, s->contact[c].tcp_port, lmpi_loop.token,
				      lmpi_world.rank - first, &fd);
		return err ? err : open_switched(fd);
	}
	struct lmpi_dance how = {
		.job = &s->job,
		.host = host,
		.token = lmpi_loop.token,
		.limit_s = lmpi_knob_number(LMPI_KNOB_DANCE_TIMEOUT),
		.at = s->at,
	};
	int *host_fd = calloc(s->job.nhosts, sizeof *host_fd);
	char(*name)[LMPI_HOST_NAME] = calloc(s->job.nhosts, sizeof *name);
	if (host_fd && name) {
		for (uint32_t h = 0; h < s->job.nhosts; h++)
			lmpi_host_name(&s->job.host[h], h, name[h]);
		if (nlocal > 1) {
			err = be_switch(s, &how, host_fd, (const char(*)[LMPI_HOST_NAME])name,
					nlocal);
		} else {
			err = lmpi_dance(&how, host_fd, NULL);
			if (!err)
				err = open_channels(s, host_fd,
						    (const char(*)[LMPI_HOST_NAME])name);
		}
	}
	free(host_fd);
	free(name);
	return err;
}

/* --- start ---------------------------------------------------------------- */

static int
start_engine(struct start *s)
{
	int err = lmpi_epoch_join();

	if (!err)
		err = lmpi_boot_init(&s->boot);
	if (!err) {
		/* For messages until the world is known. */
		lmpi_world.rank = s->boot.rank;
		lmpi_world.size = s->boot.size;
		lmpi_world.node_rank = s->boot.node_rank;
		err = read_environment(s);
	}
	if (!err)
		err = make_contact(s);
	if (!err)
		err = lmpi_boot_fence(true, NULL);
	if (!err)
		err = read_contacts(s);
	if (!err)
		err = attach_node(s);
	if (!err)
		err = get_job(s);
	if (!err)
		err = lmpi_boot_fence(true, NULL);
	/* Under mpispd nobody has said yet that he has attached it. */
	if (!lmpi_sp())
		lmpi_shm_seal();
	if (!err)
		err = read_job(s);
	if (!err)
		err = build_world(s);
	for (uint32_t i = 0; !err && s->shm && i < s->boot.node_size; i++)
		lmpi_shm_set_world(i, lmpi_world.client_first + s->boot.node_peer[i]);
	if (!err && s->net)
		err = lmpi_net_start(s->relay, s->nrelays, s->job.server_ipv4);
	if (!err && s->foreign)
		err = connect_foreign(s);
	lmpi_dance_unlisten();
	return err;
}

/* Those whose memory is mapped here: their pid means the same process to all. */
static void
watch_neighbours(const struct start *s)
{
	for (uint32_t i = 0; i < s->boot.node_size; i++) {
		uint32_t peer = s->boot.node_peer[i], r = lmpi_world.client_first + peer;
		if (lmpi_world.proc[r].reach == LMPI_REACH_SHM)
			lmpi_control_watch(r, s->contact[peer].shm_pid);
	}
}

static int
open_engine(bool *launched)
{
	struct start s = {0};

	lmpi_cycles_start();
	lmpi_make_engine();
	lmpi_loop.end_job = lmpi_end_job;
	lmpi_memory_limits();
	int err = start_engine(&s);
	if (!err) {
		lmpi_set_spin(lmpi_world.node_size);
		lmpi_calls_init();
		lmpi_loop.up = true;
		err = lmpi_survive_start();
	}
	if (!err) {
		lmpi_epoch_inside(true);
		if (lmpi_survives() && !lmpi_sp())
			watch_neighbours(&s);
		if (s.server || (s.boot.launched && !lmpi_sp()))
			err = lmpi_control_start();
		lmpi_boot_watch(lmpi_control_report);
		/* Who was spawned says so when it has met its parent. */
		if (lmpi_survives() && !lmpi_knob_text(LMPI_KNOB_PARENT_PORT))
			lmpi_boot_tell_met();
	}
	if (!err && s.nrelays)
		err = lmpi_net_connect_relays();
	free(s.boot.node_peer);
	free(s.contact);
	free(s.host_of);
	free(s.relay);
	lmpi_job_free(&s.job);
	*launched = s.boot.launched;
	return err;
}

int
lmpi_engine_init(void)
{
	bool launched = false;
	int err;

	while ((err = open_engine(&launched)) != LMPI_OK && lmpi_epoch_retry(err))
		lmpi_close_engine();
	/* The others wait for us in a fence; the launcher ends them. */
	if (err && launched)
		lmpi_boot_abort(1, "a process could not start its MPI library; see its message");
	return err;
}

uint64_t
lmpi_job_token(void)
{
	return lmpi_loop.token;
}
