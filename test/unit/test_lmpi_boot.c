/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that processes publish through the launcher; IMPI_SERVER's syntax. */
#include "boot.h"
#include "base/version.h"
#include "impi/hostid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define V4(a, b, c, d)            \
	{                         \
		[12] = a, b, c, d \
	}
#define AT(...)                                    \
	{                                          \
		.ip = V4(__VA_ARGS__), .family = 4 \
	}
#define AT6(...)                                                         \
	{                                                                \
		.ip = {0x20, 0x01, 0x0d, 0xb8, __VA_ARGS__}, .family = 6 \
	}

static void
contact_round_trip(void **state)
{
	struct lmpi_contact a = {.token = 0x0123456789abcdefull,
				 .at = {.ip = V4(10, 0, 0, 7), .port = 40001, .family = 4},
				 .tcp_port = 40002,
				 .shm_pid = 4242,
				 .shm_fd = -1,
				 .shm_bytes = 1 << 20,
				 .bell = "lmpi-0011223344556677",
				 .bcast_piece = 65536,
				 .alltoall_piece = 1 << 30},
			    b;
	uint8_t bytes[LMPI_CONTACT_BYTES + 1];
	char why[LMPI_CONTACT_WHY];

	(void)state;
	lmpi_contact_encode(&a, bytes);
	assert_true(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES, &b, why));
	assert_memory_equal(&a, &b, sizeof a);
	for (size_t n = 0; n < LMPI_CONTACT_BYTES; n++)
		assert_false(lmpi_contact_decode(bytes, n, &b, why));
	assert_false(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES + 1, &b, why));
	a.at = (struct suci_addr){.ip = {0x20, 0x01, [15] = 7}, .port = 5, .family = 6};
	lmpi_contact_encode(&a, bytes);
	assert_true(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES, &b, why));
	assert_memory_equal(&a.at, &b.at, sizeof a.at);
	bytes[0] ^= 1;
	assert_false(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES, &b, why));
	assert_string_equal(why, "another version of libmpi than " BASE_VERSION);
	/* One that is alike but for its version, up to 16 characters of it. */
	lmpi_contact_encode(&a, bytes);
	memcpy(bytes + 4, "0.8.12-rc1", 11);
	assert_false(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES, &b, why));
	assert_string_equal(why, "libmpi 0.8.12-rc1, this one is " BASE_VERSION);
	memset(bytes + 4, '9', 16);
	assert_false(lmpi_contact_decode(bytes, LMPI_CONTACT_BYTES, &b, why));
	assert_string_equal(why, "libmpi 9999999999999999, this one is " BASE_VERSION);
}

static void
job_round_trip(void **state)
{
	struct lmpi_job_host host[] = {{.client = 0, .nprocs = 2, .addr = {1, 2}, .port = 9},
				       {.client = 1, .nprocs = 1, .addr = {3}, .port = 65535},
				       {.client = 1}};
	struct lmpi_client peer[2] = {
		{.foreign = true, .rep = LMPI_REP_EXTERNAL32_LONG8, .reduce_on_pt2pt = true}};
	uint8_t proc[3][24];
	struct lmpi_job a = {.client = 1,
			     .nclients = 2,
			     .nhosts = 3,
			     .nprocs = 3,
			     .datalen = 65536,
			     .ackmark = 10,
			     .hiwater = 20,
			     .tag_ub = 32767,
			     .coll_xsize = 77,
			     .coll_maxlinear = 3,
			     .server_ipv4 = 0xc6336402,
			     .peer = peer,
			     .host = host,
			     .proc = proc},
			b;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof proc; i++)
		((uint8_t *)proc)[i] = (uint8_t)i;
	uint8_t *bytes = lmpi_job_encode(&a, &len);
	assert_non_null(bytes);
	assert_true(lmpi_job_decode(bytes, len, &b));
	assert_int_equal(b.client, 1);
	assert_int_equal(b.datalen, 65536);
	assert_int_equal(b.ackmark, 10);
	assert_int_equal(b.hiwater, 20);
	assert_int_equal(b.tag_ub, 32767);
	assert_int_equal(b.coll_xsize, 77);
	assert_int_equal(b.coll_maxlinear, 3);
	assert_int_equal(b.server_ipv4, 0xc6336402);
	assert_memory_equal(b.host, host, sizeof host);
	assert_true(b.peer[0].foreign && b.peer[0].reduce_on_pt2pt);
	assert_int_equal(b.peer[0].rep, LMPI_REP_EXTERNAL32_LONG8);
	assert_int_equal(b.peer[0].nhosts, 1);
	assert_int_equal(b.peer[0].nprocs, 2);
	assert_false(b.peer[1].foreign);
	assert_int_equal(b.peer[1].nhosts, 2);
	assert_int_equal(b.peer[1].nprocs, 1);
	assert_int_equal(b.peer[1].first_rank, 2);
	assert_memory_equal(b.proc, proc, sizeof proc);
	lmpi_job_free(&b);
	for (size_t n = 0; n < len; n++)
		assert_false(lmpi_job_decode(bytes, n, &b));
	bytes[48 + 2 * 4 + 7] = 9; /* host 0 claims nine processes of three */
	assert_false(lmpi_job_decode(bytes, len, &b));
	bytes[48 + 2 * 4 + 7] = 2;
	assert_true(lmpi_job_decode(bytes, len, &b));
	lmpi_job_free(&b);
	bytes[48 + 1] = LMPI_REPS; /* client 0: no such representation */
	assert_false(lmpi_job_decode(bytes, len, &b));
	bytes[48 + 1] = 0;
	bytes[48 + 2 * 4 + 3] = 1; /* the hosts' clients do not ascend... */
	bytes[48 + 2 * 4 + 28 + 3] = 0;
	assert_false(lmpi_job_decode(bytes, len, &b));
	free(bytes);
}

/* Addresses of processes, last byte only, and the hosts they make. */
static const struct {
	const char *addresses, *hosts;
	uint32_t nhosts;
} group_cases[] = {
	{"1", "0", 1},	   {"111", "000", 1},	{"112233", "001122", 3}, {"1222", "0111", 2},
	{"123", "012", 3}, {"1213", "0000", 1}, {"11211", "00000", 1},	 {"1231", "0000", 1},
};

static void
hosts_of_a_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof group_cases / sizeof group_cases[0]; i++) {
		struct lmpi_contact c[8] = {0};
		uint32_t of[8], n = (uint32_t)strlen(group_cases[i].addresses);
		printf("  %s\n", group_cases[i].addresses);
		for (uint32_t r = 0; r < n; r++)
			c[r].at = suci_addr_v4(
				(uint8_t[]){10, 0, 0, (uint8_t)group_cases[i].addresses[r]}, 1);
		assert_int_equal(lmpi_hosts_group(c, n, of), group_cases[i].nhosts);
		for (uint32_t r = 0; r < n; r++)
			assert_int_equal(of[r], group_cases[i].hosts[r] - '0');
	}
}

#define KIND_NONE 9  /* ours by its first bytes, and of no kind */
#define KIND_SIX  10 /* a process at an IPv6 host */
#define KIND_LOST 11 /* one that says so, at a host without an address */

/* A job of four clients: 0 this one, 1 behind a relay, 2 foreign with an address, 3
 * foreign behind a relay; kinds 0 = foreign id. */
static void
settle_job(struct lmpi_job *j, const uint8_t kind[5])
{
	static struct lmpi_job_host host[4];
	static struct lmpi_client peer[4];
	static uint8_t proc[5][24];

	*j = (struct lmpi_job){
		.nclients = 4, .nhosts = 4, .nprocs = 5, .host = host, .peer = peer, .proc = proc};
	memset(peer, 0, sizeof peer);
	for (uint32_t i = 0; i < 4; i++)
		host[i] = (struct lmpi_job_host){.client = i, .nprocs = i == 3 ? 2 : 1};
	for (int r = 0; r < 5; r++) {
		bool six = kind[r] == KIND_SIX || kind[r] == KIND_LOST;
		struct impi_hostid id = {.token = 5,
					 .kind = six ? IMPI_HOSTID_LIBMPI : kind[r],
					 .port = 9,
					 .ipv4 = six ? 0 : 9};
		if (kind[r] == KIND_SIX)
			memcpy(host[r < 3 ? r : 3].addr, (uint8_t[]){0x20, 1, 0xd, 0xb8}, 4);
		memset(proc[r], 0, 24);
		lmpi_peers_sign(BASE_VERSION, &id);
		if (kind[r] == KIND_NONE)
			proc[r][0] = 0xfd, proc[r][1] = 'S', proc[r][2] = 'U', proc[r][3] = 'C';
		else if (kind[r])
			impi_hostid_encode(&id, proc[r]);
	}
	assert_true(lmpi_job_count(j));
}

static const struct {
	const char *text;
	uint8_t kind[5];
	bool ok;
	enum lmpi_rep rep2, rep3;
	bool reduce2;
} settle_cases[] = {
	/* client 2 offers LAM/MPI's values */
	{NULL, {1, 2, 0, 3, 3}, true, LMPI_REP_NATIVE, LMPI_REP_EXTERNAL32, true},
	{"2:external32;3:long8",
	 {1, 2, 0, 3, 3},
	 true,
	 LMPI_REP_EXTERNAL32,
	 LMPI_REP_EXTERNAL32_LONG8,
	 false},
	{"*:long8",
	 {1, 2, 0, 3, 3},
	 true,
	 LMPI_REP_EXTERNAL32_LONG8,
	 LMPI_REP_EXTERNAL32_LONG8,
	 false},
	{"1:long8", {1, 2, 0, 3, 3}, false, 0, 0, false}, /* runs libmpi */
	{"0:auto", {1, 2, 0, 3, 3}, false, 0, 0, false},
	{"4:long8", {1, 2, 0, 3, 3}, false, 0, 0, false}, /* is not there */
	{"2:nonsense", {1, 2, 0, 3, 3}, false, 0, 0, false},
	{NULL, {1, 2, 0, 3, 2}, false, 0, 0, false}, /* client 3 is of both kinds */
	{NULL, {1, 2, 0, 3, 0}, true, LMPI_REP_NATIVE, LMPI_REP_EXTERNAL32, true},
	{NULL, {1, KIND_NONE, 0, 3, 3}, false, 0, 0, false},
	{NULL, {3, 2, 0, 3, 3}, false, 0, 0, false}, /* we are not foreign */
	{NULL, {KIND_SIX, KIND_SIX, 0, 3, 3}, true, LMPI_REP_NATIVE, LMPI_REP_EXTERNAL32, true},
	{NULL, {1, KIND_SIX, 0, 3, 3}, true, LMPI_REP_NATIVE, LMPI_REP_EXTERNAL32, true},
	{NULL, {1, KIND_LOST, 0, 3, 3}, false, 0, 0, false},
};

static void
who_is_foreign(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof settle_cases / sizeof settle_cases[0]; i++) {
		struct impi_offered o[IMPI_CLIENTS_MAX] = {0};
		struct lmpi_job j;
		printf("  %zu '%s'\n", i, settle_cases[i].text ? settle_cases[i].text : "");
		settle_job(&j, settle_cases[i].kind);
		o[2] = (struct impi_offered){~0u, 65536, INT32_MAX, UINT32_MAX, UINT32_MAX, 10, 20};
		int rc = lmpi_peers_settle(&j, settle_cases[i].text, o);
		assert_int_equal(rc == 0, settle_cases[i].ok);
		if (rc)
			continue;
		assert_false(j.peer[0].foreign || j.peer[1].foreign);
		assert_true(j.peer[2].foreign && j.peer[3].foreign);
		assert_int_equal(j.peer[0].rep, LMPI_REP_NATIVE);
		assert_int_equal(j.peer[2].rep, settle_cases[i].rep2);
		assert_int_equal(j.peer[3].rep, settle_cases[i].rep3);
		assert_int_equal(j.peer[2].reduce_on_pt2pt, settle_cases[i].reduce2);
		assert_false(j.peer[3].reduce_on_pt2pt);
	}
}

static const struct {
	const char *a, *b;
	bool fit;
} version_cases[] = {
	{"0.9.0", "0.9.0", true},  {"0.9.0", "0.9.7-rc1", true}, {"0.9.0", "0.10.0", false},
	{"0.9.0", "1.9.0", false}, {"1.0.0", "1.62.5", true},	 {"1.0.0", "2.0.0", false},
	{"0.9.0", "0", false},
};

static void
versions_that_fit(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof version_cases / sizeof version_cases[0]; i++) {
		struct impi_hostid a = {0}, b = {0};
		printf("  %s %s\n", version_cases[i].a, version_cases[i].b);
		lmpi_peers_sign(version_cases[i].a, &a);
		lmpi_peers_sign(version_cases[i].b, &b);
		assert_int_equal(lmpi_peers_fit(&a, &b), version_cases[i].fit);
		assert_int_equal(lmpi_peers_fit(&b, &a), version_cases[i].fit);
	}
	/* The next number that would not fit into a host id is in the way of a release. */
	struct impi_hostid own = {0};
	char said[32];
	lmpi_peers_sign(BASE_VERSION, &own);
	snprintf(said, sizeof said, "%u.%u.", own.major, own.minor);
	assert_memory_equal(said, BASE_VERSION, strlen(said));
}

static void
clusters_of_another_release(void **state)
{
	const uint8_t kind[5] = {1, 2, 0, 3, 3};
	struct impi_offered o[IMPI_CLIENTS_MAX] = {0};
	struct impi_hostid id;
	struct lmpi_job j;

	(void)state;
	for (int r = 0; r < 5; r++) {
		settle_job(&j, kind);
		if (!kind[r])
			continue;
		assert_int_equal(impi_hostid_decode(j.proc[r], &id), IMPI_HOSTID_SUCI);
		id.minor++;
		impi_hostid_encode(&id, j.proc[r]);
		/* Another MPI has no libmpi, and the own one was compared to the letter. */
		assert_int_equal(lmpi_peers_settle(&j, NULL, o), r == 1 ? LMPI_ERR_OTHER : LMPI_OK);
	}
}

static const struct {
	const char *in, *host, *port; /* host NULL: refused */
} server_cases[] = {
	{"relay1:7000", "relay1", "7000"},
	{"10.0.0.9:1", "10.0.0.9", "1"},
	{"[fd00::1]:65535", "fd00::1", "65535"},
	{"relay1", NULL, NULL},
	{":7000", NULL, NULL},
	{"relay1:", NULL, NULL},
	{"relay1:x", NULL, NULL},
	{"relay1:0", NULL, NULL},
	{"relay1:65536", NULL, NULL},
	{"[]:1", NULL, NULL},
	{"relay1:99999999999999999999", NULL, NULL},
};

static void
server_syntax(void **state)
{
	char host[256], port[16];

	(void)state;
	for (size_t i = 0; i < sizeof server_cases / sizeof server_cases[0]; i++) {
		printf("  '%s'\n", server_cases[i].in);
		bool ok = lmpi_split_server(server_cases[i].in, host, port);
		assert_int_equal(ok, server_cases[i].host != NULL);
		if (ok) {
			assert_string_equal(host, server_cases[i].host);
			assert_string_equal(port, server_cases[i].port);
		}
	}
}

/* What a node looks like whose docker0, without and with a container, is before eth0. */
static const struct lmpi_addr node[] = {
	{.iface = "lo", .at = AT(127, 0, 0, 1), .carrier = true, .loopback = true},
	{.iface = "docker0", .at = AT(172, 17, 0, 1)},
	{.iface = "eth0", .at = AT(10, 0, 0, 5), .carrier = true},
	{.iface = "br0", .at = AT(172, 18, 0, 1), .carrier = true, .bridge = true},
	{.iface = "eth1", .at = AT(10, 1, 0, 5), .carrier = true},
	{.iface = "eth1", .at = AT6(1), .carrier = true},
	{.iface = "eth0", .at = AT6(0), .carrier = true},
};
#define NNODE (sizeof node / sizeof *node)

static void
pick6(const char *iface, const char *text, const struct suci_addr *routed, uint32_t n,
      uint8_t family, const char *want)
{
	struct lmpi_nets nets;
	char why[LMPI_NETS_WHY];

	assert_true(lmpi_nets_parse(text, &nets, why));
	const struct lmpi_addr *a = lmpi_addr_pick(node, n, family, iface, &nets, routed);
	if (want)
		assert_non_null(a);
	else
		assert_null(a);
	if (want)
		assert_string_equal(a->iface, want);
}

static void
pick(const char *iface, const char *text, const struct suci_addr *routed, uint32_t n,
     const char *want)
{
	pick6(iface, text, routed, n, 4, want);
}

static void
address_of_a_node(void **state)
{
	static const struct suci_addr eth1 = AT(10, 1, 0, 5), bridge = AT(172, 18, 0, 1);
	static const struct suci_addr none = AT(10, 9, 9, 9), self = AT(127, 0, 0, 1);
	static const struct suci_addr six = AT6(0);

	(void)state;
	pick(NULL, NULL, NULL, NNODE, "eth0"); /* the first has no carrier */
	pick(NULL, NULL, NULL, 2, "docker0");  /* better than none */
	pick(NULL, NULL, NULL, 1, NULL);
	pick(NULL, NULL, &eth1, NNODE, "eth1");
	pick(NULL, NULL, &none, NNODE, "eth0");
	pick(NULL, NULL, &self, NNODE, "eth0");
	pick("lo", NULL, NULL, NNODE, "lo");
	pick("docker0", NULL, &eth1, NNODE, "docker0");
	pick("nope0", NULL, NULL, NNODE, NULL);
	pick(NULL, "10.1.0.0/16", NULL, NNODE, "eth1");
	pick(NULL, "10.0.0.0/8,!10.0.0.0/24", NULL, NNODE, "eth1");
	pick(NULL, "!10.0.0.0/8", NULL, NNODE, "br0");
	pick(NULL, "!172.18.0.0/16", &bridge, NNODE, "eth0");
	pick(NULL, "!0.0.0.0/0", NULL, NNODE, NULL);
	pick(NULL, "10.1.0.5", NULL, NNODE, "eth1");
	pick("eth0", "10.1.0.0/16", NULL, NNODE, NULL);
	pick("eth0", "2001:db8::/32", NULL, NNODE, NULL); /* that names none of IPv4 */
	pick6(NULL, NULL, NULL, NNODE, 6, "eth1");
	pick6(NULL, NULL, &six, NNODE, 6, "eth0");
	pick6("eth0", NULL, NULL, NNODE, 6, "eth0");
	pick6(NULL, "2001:db8::/33", &eth1, NNODE, 6, "eth1");
	pick6(NULL, "!2001:db8::/32", NULL, NNODE, 6, NULL);
	pick6(NULL, "10.0.0.0/8", NULL, NNODE, 6, NULL);
	pick6(NULL, NULL, NULL, 5, 6, NULL);
}

/* What no route tells apart: a docker0 with containers, or a new one, has a carrier as eth0 has. */
static void
bridges_come_last(void **state)
{
	static const struct lmpi_addr some[] = {
		{.iface = "docker0", .at = AT(172, 17, 0, 1), .carrier = true, .bridge = true},
		{.iface = "br0", .at = AT(10, 0, 0, 5), .carrier = true, .bridge = true},
		{.iface = "eth1", .at = AT(10, 1, 0, 5)},
		{.iface = "eth0", .at = AT(10, 2, 0, 5), .carrier = true},
	};
	static const struct suci_addr br0 = AT(10, 0, 0, 5);
	const struct lmpi_nets all = {0};

	(void)state;
	assert_ptr_equal(lmpi_addr_pick(some, 4, 4, NULL, &all, NULL), &some[3]);
	assert_ptr_equal(lmpi_addr_pick(some, 4, 4, NULL, &all, &br0), &some[1]);
	assert_ptr_equal(lmpi_addr_pick(some, 3, 4, NULL, &all, NULL), &some[0]); /* a carrier */
	assert_ptr_equal(lmpi_addr_pick(some, 4, 4, "docker0", &all, NULL), &some[0]);
}

static void
networks_syntax(void **state)
{
	static const char *const bad[] = {"10.0.0.0/33", "10.0.0/8", "eth0",	   "!",
					  "10.0.0.0/",	 ",",	     "fe80::/129", ",10.0.0.0/8"};
	char why[LMPI_NETS_WHY], many[16 * (LMPI_NETS_MAX + 1) + 1] = "";
	struct lmpi_nets nets;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		why[0] = 0;
		if (lmpi_nets_parse(bad[i], &nets, why))
			fail_msg("%s is taken", bad[i]);
		assert_non_null(strstr(why, "is not [!]ADDRESS/BITS"));
	}
	for (int i = 0; i <= LMPI_NETS_MAX; i++)
		memcpy(many + 11 * i, "10.0.0.0/8,", 12);
	assert_false(lmpi_nets_parse(many, &nets, why));
	assert_non_null(strstr(why, "more than"));
	memset(many, '1', sizeof many - 1);
	many[sizeof many - 1] = 0;
	assert_false(lmpi_nets_parse(many, &nets, why));
}

static void
names_have_places(void **state)
{
	static const char *const bad[] = {
		"198.51.100.21",
		"=2001:db8::1",
		"198.51.100.21=",
		"198.51.100.21=198.51.100.22",
		"2001:db8::1=2001:db8::2",
		"0.0.0.0=2001:db8::1",
		"198.51.100.21=ff02::1",
		"198.51.100.21=2001:db8::1,",
		"198.51.100.21=2001:db8::1,,192.0.2.7=2001:db8::2",
		"198.51.100.21=2001:db8::1 ",
		"198.51.100.21=[2001:db8::1]",
		"198.51.100.21=::ffff:192.0.2.1",
	};
	static const uint8_t ip4[4] = {198, 51, 100, 21}, one[16] = {0x20, 1, 0xd, 0xb8, [15] = 1},
			     two[16] = {0x20, 1, 0xd, 0xb8, [15] = 2};
	struct suci_addr at = suci_addr_of(two, 9), four = suci_addr_v4(ip4, 9);
	struct lmpi_places p;
	char why[LMPI_PLACES_WHY], many[LMPI_PLACES_MAX * 40] = "";
	uint8_t ip[16];

	(void)state;
	assert_true(lmpi_places_parse(NULL, &p, why) && p.n == 0);
	assert_true(lmpi_places_parse("", &p, why) && p.n == 0);
	assert_int_equal(lmpi_places_name(&p, &at), 0);
	assert_int_equal(lmpi_places_name(NULL, &at), 0);
	assert_true(lmpi_places_parse("198.51.100.21=2001:db8::1,192.0.2.7=2001:db8::2", &p, why));
	assert_int_equal(p.n, 2);
	assert_true(lmpi_places_at(&p, 0xc6336415, ip));
	assert_memory_equal(ip, one, 16);
	assert_false(lmpi_places_at(&p, 0xc6336416, ip));
	assert_int_equal(lmpi_places_name(&p, &at), 0xc0000207);
	assert_int_equal(lmpi_places_name(&p, &four), 0); /* its name is its address */
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		print_message("  %s\n", bad[i]);
		assert_false(lmpi_places_parse(bad[i], &p, why));
		assert_non_null(strstr(why, "is not an IPv4 address and an IPv6 address"));
	}
	assert_false(lmpi_places_parse("192.0.2.7=2001:db8::2,192.0.2.7=2001:db8::3", &p, why));
	assert_string_equal(why, "'192.0.2.7=2001:db8::3' is there twice");
	for (uint32_t i = 0, n = 0; i <= LMPI_PLACES_MAX; i++)
		n += (uint32_t)snprintf(many + n, sizeof many - n, "%s192.0.2.%u=2001:db8::2",
					i ? "," : "", i + 1);
	assert_false(lmpi_places_parse(many, &p, why));
	assert_string_equal(why, "more than 64 of them");
}

/* The text has both addresses, and the fix. */
static void
who_cannot_talk_is_told(void **state)
{
	static const uint8_t ip4[4] = {10, 0, 0, 1};
	static const uint8_t ip6[16] = {0xfd, [15] = 2};
	struct suci_addr four = suci_addr_v4(ip4, 7), six = suci_addr_of(ip6, 8);
	char why[LMPI_WHY] = "";

	(void)state;
	assert_true(lmpi_addr_meets(&four, "rank 3", &four, why));
	assert_true(lmpi_addr_meets(&six, "rank 3", &six, why));
	assert_string_equal(why, "");
	assert_false(lmpi_addr_meets(&four, "rank 3", &six, why));
	assert_string_equal(why,
			    "rank 3 is at fd00::2, this process at 10.0.0.1: they cannot talk; "
			    "fix: LIBMPI_NET names a network of one kind that both have, a "
			    "relay in between, or LIBMPI_PLACES");
	assert_false(lmpi_addr_meets(&six, "the port", &four, why));
	assert_non_null(strstr(why, "the port is at 10.0.0.1, this process at fd00::2"));
}

static void
card_says_where_the_hall_is(void **state)
{
	struct lmpi_card a = {.job = 7,
			      .token = 8,
			      .number = 9,
			      .at = {.ip = V4(10, 0, 0, 7), .port = 40001, .family = 4},
			      .hall = {.pid = 4242, .fd = 17, .key = 0x0123456789abcdefull}},
			 b;
	uint8_t bytes[LMPI_CARD_BYTES];

	(void)state;
	/* As long as it may be, and one more: the name is worth more. */
	for (size_t n = 0; n < sizeof a.node; n++) {
		memset(a.node, 0, sizeof a.node);
		memset(a.node, 'n', n);
		lmpi_card_encode(&a, bytes);
		assert_true(lmpi_card_decode(bytes, &b));
		assert_string_equal(a.node, b.node);
		assert_int_equal(b.hall.pid, n < 48 ? 4242 : 0);
		assert_int_equal(b.hall.key, n < 48 ? a.hall.key : 0);
		/* libmpi 0.9.0 takes 63 bytes for the name. */
		assert_int_equal(strnlen((char *)bytes + 44, 63), n);
	}
	memset(a.node + 4, 0, sizeof a.node - 4);
	/* One of 0.9.0; and what is no process, no descriptor, no key. */
	static const struct lmpi_hall_place none[] = {
		{0}, {-1, 17, 1}, {0, 17, 1}, {4242, -1, 1}, {4242, 17, 0}};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		a.hall = none[i];
		lmpi_card_encode(&a, bytes);
		assert_true(lmpi_card_decode(bytes, &b));
		assert_string_equal(b.node, "nnnn");
		assert_int_equal(b.hall.pid, 0);
		assert_int_equal(b.hall.key, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contact_round_trip),
		cmocka_unit_test(card_says_where_the_hall_is),
		cmocka_unit_test(job_round_trip),
		cmocka_unit_test(names_have_places),
		cmocka_unit_test(who_cannot_talk_is_told),
		cmocka_unit_test(hosts_of_a_client),
		cmocka_unit_test(who_is_foreign),
		cmocka_unit_test(versions_that_fit),
		cmocka_unit_test(clusters_of_another_release),
		cmocka_unit_test(address_of_a_node),
		cmocka_unit_test(networks_syntax),
		cmocka_unit_test(bridges_come_last),
		cmocka_unit_test(server_syntax),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
