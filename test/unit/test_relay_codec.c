/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of lib/relay: peer frames, job tables; label ranges. */
#include "cmocka_all.h"

#include "relay/peer.h"
#include "relay_job_maker.h"

static void
peer_small_frames_round_trip(void **state)
{
	(void)state;
	static const struct relay_peer_frame cases[] = {
		{.type = RELAY_PEER_OK, .job = 0x01000000},
		{.type = RELAY_PEER_REFUSE, .job = 0x02000040, .text = "no trunk slot left"},
		{.type = RELAY_PEER_END, .job = 5},
		{.type = RELAY_PEER_PING},
		{.type = RELAY_PEER_PONG},
		{.type = RELAY_PEER_GIVE},
		{.type = RELAY_PEER_WAYS, .job = 0x01000040, .ways = 0x80000005},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t out[RELAY_PEER_SMALL_MAX];
		struct relay_peer_frame f;
		size_t n = relay_peer_encode(&cases[i], out), need;
		for (size_t len = 0; len < n; len++) {
			assert_int_equal(relay_peer_decode(out, len, &f, &need), RELAY_ERR_SHORT);
			assert_int_equal(need, len < 4 ? 0 : n);
		}
		assert_int_equal(relay_peer_decode(out, n, &f, NULL), n);
		assert_int_equal(f.type, cases[i].type);
		assert_int_equal(f.job, cases[i].job);
		assert_string_equal(f.text, cases[i].text);
	}
}

static void
peer_bad_frames(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint8_t bytes[16];
		size_t len;
	} cases[] = {
		{"empty frame", {0, 0, 0, 0}, 4},
		{"over the limit", {0x7f, 0, 0, 0, 1}, 5},
		{"type 0", {0, 0, 0, 1, 0}, 5},
		{"type 9", {0, 0, 0, 1, 9}, 5},
		{"GIVE with a body", {0, 0, 0, 2, 7, 0}, 6},
		{"WAYS cut short", {0, 0, 0, 8, 8, 0, 0, 0, 1, 0, 0, 0}, 12},
		{"OK without a job", {0, 0, 0, 1, 2}, 5},
		{"OK too long", {0, 0, 0, 6, 2, 0, 0, 0, 1, 9}, 10},
		{"END text over the frame", {0, 0, 0, 8, 4, 0, 0, 0, 1, 0, 2, 'x'}, 12},
		{"PING with a body", {0, 0, 0, 2, 5, 0}, 6},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct relay_peer_frame f;
		print_message("%s\n", cases[i].name);
		assert_int_equal(relay_peer_decode(cases[i].bytes, cases[i].len, &f, NULL),
				 RELAY_ERR_MALFORMED);
	}
}

static struct relay_job *
sample_job(void)
{
	static const struct job_spec spec = {.nclients = 3,
					     .my_client = 1,
					     .nprocs = {5, 4, 1},
					     .nrelays = {2, 3, 1},
					     .label_base = {0x01000000, 0x02000040, 0x01000080},
					     .token = 0xabcd,
					     .id = 7};
	return make_job(&spec);
}

static struct relay_job *
empty_job(uint32_t nworld, uint32_t nhosts)
{
	struct relay_job_limits l = {nworld, nhosts};
	return relay_job_new(malloc(relay_job_footprint(&l)), &l);
}

static void
job_round_trip(void **state)
{
	(void)state;
	struct relay_job *j = sample_job(), *back = empty_job(10, 6);
	const char *what;
	size_t len = relay_peer_job_len(j);
	uint8_t *buf = malloc(len);
	struct relay_peer_frame f;

	assert_int_equal(relay_job_validate(j, &what), 0);
	assert_int_equal(j->nhosts, 6);
	assert_int_equal(relay_peer_encode_job(j, buf, len - 1), 0);
	assert_int_equal(relay_peer_encode_job(j, buf, len), len);
	assert_int_equal(relay_peer_decode(buf, len, &f, NULL), len);
	assert_int_equal(f.type, RELAY_PEER_JOB);
	assert_int_equal(relay_job_decode(back, f.body, f.body_len, &what), 0);
	assert_int_equal(back->first_local, 5);
	assert_int_equal(back->nlocal, 4);
	assert_memory_equal(back->host, j->host, j->nhosts * sizeof *j->host);
	assert_memory_equal(back->global_id, j->global_id, 10 * RELAY_PROC_ID_LEN);
	assert_memory_equal(back->private_id, j->private_id, 10 * RELAY_PROC_ID_LEN);
	uint8_t *again = malloc(len);
	assert_int_equal(relay_peer_encode_job(back, again, len), len);
	assert_memory_equal(buf, again, len);

	for (size_t n = 0; n < f.body_len; n++)
		assert_int_equal(relay_job_decode(back, f.body, n, &what), RELAY_ERR_MALFORMED);
	free(again);
	free(buf);
	free(back);
	free(j);
}

/* Processes at IPv6 addresses: 16 bytes more for each, behind a table that is as ever. */
static void
job_with_six_round_trip(void **state)
{
	(void)state;
	struct relay_job *j = sample_job(), *back = empty_job(10, 6);
	const struct impi_hostid id = {.token = 5, .kind = IMPI_HOSTID_LIBMPI, .port = 6001};
	static const uint8_t bad[][16] = {
		{0}, {0xff, 2, [15] = 1}, {0xfe, 0x80, [15] = 1}, {[10] = 0xff, 0xff, 10, 0, 0, 1}};
	uint8_t buf[2048];
	const char *what;
	uint32_t rank;
	size_t before = relay_job_encode(j, buf, sizeof buf);
	assert_false(relay_job_has_six(j));
	for (uint32_t i = 1; i < 4; i += 2) {
		impi_hostid_encode(&id, j->local[i].id);
		memcpy(j->local[i].at, (uint8_t[16]){0xfd, [15] = (uint8_t)i}, 16);
	}
	assert_true(relay_job_has_six(j));
	assert_int_equal(relay_job_validate(j, &what), 0);
	assert_false(relay_job_has_foreign(j, &rank));
	size_t len = relay_job_encode(j, buf, sizeof buf);
	assert_int_equal(len, before + 32);
	assert_int_equal(len, relay_job_encoded_len(j));
	assert_int_equal(buf[len - 1], 3);
	assert_int_equal(relay_job_decode(back, buf, len, &what), 0);
	for (uint32_t i = 0; i < j->nlocal; i++) {
		assert_memory_equal(back->local[i].id, j->local[i].id, 16);
		assert_memory_equal(back->local[i].at, j->local[i].at, 16);
	}
	for (size_t n = before - 1; n < len; n++)
		assert_int_equal(relay_job_decode(back, buf, n, &what), RELAY_ERR_MALFORMED);
	/* What an older one, which expects nothing there, says of it. */
	assert_int_equal(relay_job_decode(back, buf, len + 1, &what), RELAY_ERR_MALFORMED);
	assert_string_equal(what, "longer than its counts say");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		memcpy(buf + len - 16, bad[i], 16);
		assert_int_equal(relay_job_decode(back, buf, len, &what), RELAY_ERR_MALFORMED);
		assert_string_equal(what,
				    "a local process has an IPv6 address that nobody can have");
	}
	free(back);
	free(j);
}

static void
job_limits_hold(void **state)
{
	(void)state;
	struct relay_job *j = sample_job(), *procs = empty_job(9, 6), *hosts = empty_job(10, 5);
	uint8_t buf[2048];
	const char *what;
	size_t len = relay_job_encode(j, buf, sizeof buf);
	assert_true(len > 0);
	assert_int_equal(relay_job_decode(procs, buf, len, &what), RELAY_ERR_NOMEM);
	assert_int_equal(relay_job_decode(hosts, buf, len, &what), RELAY_ERR_NOMEM);
	assert_non_null(what);
	struct relay_job_limits bad = {0, 1};
	assert_int_equal(relay_job_footprint(&bad), 0);
	free(procs);
	free(hosts);
	free(j);
}

/* Own client 1 with 3 foreign hosts (one without processes) behind 2 relays, client 0
 * with 2 relays, client 2 foreign with 2 hosts and global addresses, client 3 foreign
 * behind a relay of its own. */
static const struct job_spec foreign_spec = {.nclients = 4,
					     .my_client = 1,
					     .nprocs = {5, 2, 4, 1},
					     .nrelays = {2, 2, 0, 1},
					     .foreign = {0, 3, 2, 1},
					     .label_base = {0x01000000, 0x02000040, 0, 0x01000080},
					     .token = 0xabcd,
					     .id = 7};

#define HEAD_LEN    52
#define FOREIGN_LEN 34
#define GATE_LEN    27

static void
fault(const struct relay_job *j, const char *name, size_t at, uint32_t value, size_t bytes)
{
	struct relay_job *back = empty_job(16, 16);
	uint8_t *buf = malloc(4096);
	const char *what = NULL;
	size_t len = relay_job_encode(j, buf, 4096);
	print_message("%s\n", name);
	assert_true(len > 0 && at + bytes <= len);
	assert_int_equal(relay_job_decode(back, buf, len, &what), 0);
	for (size_t i = 0; i < bytes; i++)
		buf[at + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	assert_int_equal(relay_job_decode(back, buf, len, &what), RELAY_ERR_MALFORMED);
	assert_non_null(what);
	assert_int_equal(back->nworld + back->nforeign + back->ngates, 0);
	free(back);
	free(buf);
}

static void
job_faults_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t at; /* in the encoded table */
		uint32_t value;
	} cases[] = {
		{"base not on a page", 8, 0x02000041},
		{"base below all", 8, 64},
		{"client 32", 12, 32},
		{"client without processes", 12, 5},
		{"fewer in the world", 16, 9},
		{"a foreign host that is not there", 24, 1},
		{"a gate that is not there", 28, 1},
		{"gap", HEAD_LEN + 32 + 20, 4},
		{"overlap", HEAD_LEN + 24, 4},
		{"clients in disorder", HEAD_LEN + 16, 2},
		{"host without processes", HEAD_LEN + 24, 0},
		{"relay index", HEAD_LEN + 6 * 32 + 24, 64},
		{"labels wrap", HEAD_LEN + 28, 0xfffffff0},
		{"a foreign process without a host", HEAD_LEN, 0},
	};
	struct relay_job *j = sample_job();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		fault(j, cases[i].name, cases[i].at, cases[i].value, 4);
	free(j);
}

static void
job_foreign_faults_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		bool gate; /* else foreign host */
		uint32_t index;
		size_t at;
		uint32_t value;
		size_t bytes;
	} cases[] = {
		{"client 32", false, 0, 0, 32, 4},
		{"another client's host", false, 0, 0, 2, 4},
		{"rank over the mapping", false, 0, 4, 9, 4},
		{"rank twice", false, 1, 4, 2, 4},
		{"ranks not its own", false, 0, 8, 4, 4},
		{"processes of two clients", false, 0, 12, 3, 4},
		{"fewer than there are", false, 0, 12, 0, 4},
		{"processes without end", false, 4, 12, 0xffffffff, 4},
		{"no port", false, 3, 32, 0, 2},
		{"third side", true, 0, 0, 2, 1},
		{"sides in disorder", true, 0, 0, 1, 1},
		{"relay 64", true, 0, 1, 64, 4},
		{"own client on the private side", true, 0, 5, 1, 4},
		{"remote client on the global side", true, 6, 5, 2, 4},
		{"rank over the mapping", true, 5, 9, 9, 4},
		{"rank twice", true, 1, 9, 0, 4},
		{"ranks not its client's", true, 0, 13, 6, 4},
		{"a process without a gate", true, 0, 17, 2, 4},
		{"a process at two gates", true, 0, 17, 4, 4},
		{"no address", true, 0, 21, 0, 4},
		{"no port", true, 7, 25, 0, 2},
	};
	struct relay_job *j = make_job(&foreign_spec);
	assert_int_equal(j->nforeign, 5);
	assert_int_equal(j->ngates, 8);
	assert_int_equal(relay_job_validate(j, NULL), 0);
	size_t foreign = relay_job_encoded_len(j) - 8 * GATE_LEN - 5 * FOREIGN_LEN;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t at = foreign + (cases[i].gate ? 5 * FOREIGN_LEN + cases[i].index * GATE_LEN
						     : cases[i].index * FOREIGN_LEN);
		fault(j, cases[i].name, at + cases[i].at, cases[i].value, cases[i].bytes);
	}
	/* Gates nobody foreign can see. */
	uint32_t gates = j->ngates;
	j->ngates = 6;
	assert_int_equal(relay_job_validate(j, NULL), RELAY_ERR_MALFORMED);
	j->ngates = gates;
	assert_int_equal(relay_job_validate(j, NULL), 0);
	free(j);
}

static void
job_with_foreign_round_trip(void **state)
{
	(void)state;
	struct relay_job *j = make_job(&foreign_spec), *back = empty_job(12, 12);
	uint8_t buf[4096], again[4096];
	const char *what = NULL;
	size_t len = relay_job_encode(j, buf, sizeof buf);
	assert_int_equal(len, relay_job_encoded_len(j));
	for (size_t n = 0; n < len; n++) {
		assert_int_equal(relay_job_encode(j, again, n), 0);
		assert_int_equal(relay_job_decode(back, buf, n, &what), RELAY_ERR_MALFORMED);
	}
	assert_int_equal(relay_job_decode(back, buf, len, &what), 0);
	assert_int_equal(back->nforeign, 5);
	assert_int_equal(back->ngates, 8);
	assert_int_equal(back->nhosts_private, j->nhosts_private);
	assert_int_equal(back->nhosts_global, j->nhosts_global);
	assert_int_equal(back->datalen, 65536);
	assert_int_equal(back->ackmark, 10);
	assert_int_equal(back->hiwater, 20);
	assert_memory_equal(back->foreign[4].addr, j->foreign[4].addr, 16);
	assert_int_equal(back->gate[7].port, 9000);
	assert_int_equal(relay_job_encode(back, again, sizeof again), len);
	assert_memory_equal(buf, again, len);
	struct relay_job *few = empty_job(12, 4);
	assert_int_equal(relay_job_decode(few, buf, len, &what), RELAY_ERR_NOMEM);
	free(few);
	free(back);
	free(j);
}

/* Every rank and every pair, counted out. */
static void
job_gates_and_gateways(void **state)
{
	(void)state;
	struct relay_job *j = make_job(&foreign_spec);
	static const int host[12] = {-1, -1, -1, -1, -1, 0, 1, 3, 3, 4, 4, -1};
	static const int private_gate[12] = {0, 0, 0, 1, 1, -1, -1, 2, 2, 3, 3, 4};
	static const int global_gate[12] = {-1, -1, -1, -1, -1, 6, 7, -1, -1, -1, -1, -1};
	for (uint32_t r = 0; r < 13; r++) {
		const struct relay_foreign *f = relay_job_foreign_of(j, r);
		const struct relay_gate *p = relay_job_gate_of(j, RELAY_GATE_PRIVATE, r),
					*g = relay_job_gate_of(j, RELAY_GATE_GLOBAL, r);
		assert_ptr_equal(f, r < 12 && host[r] >= 0 ? &j->foreign[host[r]] : NULL);
		assert_ptr_equal(p,
				 r < 12 && private_gate[r] >= 0 ? &j->gate[private_gate[r]] : NULL);
		assert_ptr_equal(g,
				 r < 12 && global_gate[r] >= 0 ? &j->gate[global_gate[r]] : NULL);
	}
	for (uint32_t src = 0; src < 12; src++) {
		for (uint32_t dst = 0; dst < 12; dst++) {
			int gate = -1;
			if (host[dst] >= 0)
				gate = dst == 5 || dst == 6 ? private_gate[src] : global_gate[src];
			uint32_t want = gate < 0 ? UINT32_MAX : j->gate[gate].relay;
			assert_int_equal(relay_job_gateway(j, src, dst), want);
		}
	}
	free(j);
}

static void
gateway_bases(void **state)
{
	(void)state;
	static struct relay_labels l;
	uint32_t last = 0;
	for (uint32_t i = 0; i < RELAY_RELAYS_MAX; i += 21) {
		relay_labels_init(&l, i);
		for (uint32_t first; (first = relay_labels_alloc(&l, 64)) != 0;) {
			uint32_t base = relay_gateway_base(first);
			assert_true(base > last && base % RELAY_LABEL_PAGE == 0);
			assert_true(base + 64 <= RELAY_GATEWAY_LABELS(i + 1));
			last = base;
		}
		assert_int_equal(last + 64, RELAY_GATEWAY_LABELS(i + 1));
	}
	static const uint32_t bad[] = {0,	   64,	       0x00ffffc0, 0x01000001,
				       0x01040000, 0x41000000, 0xffffffc0};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(relay_gateway_base(bad[i]), 0);
	assert_int_equal(relay_gateway_base(0x01000000), 64);
}

static void
job_host_of_and_foreign(void **state)
{
	(void)state;
	struct relay_job *j = sample_job();
	static const uint32_t want[11] = {0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6};
	uint32_t rank = 99;
	for (uint32_t r = 0; r < 11; r++)
		assert_int_equal(relay_job_host_of(j, r), want[r]);
	assert_false(relay_job_has_foreign(j, &rank));
	j->local[2].id[0] = 0;
	assert_true(relay_job_has_foreign(j, &rank));
	assert_int_equal(rank, 7);
	j->host[1].id[0] = 0;
	assert_true(relay_job_has_foreign(j, &rank));
	assert_int_equal(rank, 3);
	free(j);
}

static void
labels_ranges(void **state)
{
	(void)state;
	static struct relay_labels l;
	relay_labels_init(&l, 2);
	assert_int_equal(relay_labels_alloc(&l, 0), 0);
	assert_int_equal(relay_labels_alloc(&l, RELAY_LABEL_PAGES_MAX * RELAY_LABEL_PAGE + 1), 0);
	uint32_t a = relay_labels_alloc(&l, 1), b = relay_labels_alloc(&l, 65);
	assert_int_equal(a, 3u << 24);
	assert_int_equal(b, (3u << 24) + 64);
	relay_labels_free(&l, a, 1);
	/* What an earlier run gave away, if it is whole, free and of this space. */
	assert_false(relay_labels_take(&l, b, 1));
	assert_false(relay_labels_take(&l, a + 1, 1));
	assert_false(relay_labels_take(&l, 2u << 24, 1));
	assert_false(relay_labels_take(&l, a, 65));
	assert_true(relay_labels_take(&l, a, 64));
	relay_labels_free(&l, a, 64);
	/* Round robin: the range just freed is not the next one. */
	uint32_t c = relay_labels_alloc(&l, 1);
	assert_int_equal(c, (3u << 24) + 64 + 128);
	uint32_t n = 0;
	while (relay_labels_alloc(&l, 64))
		n++;
	assert_int_equal(n, RELAY_LABEL_PAGES_MAX - 3);
	relay_labels_free(&l, b, 65);
	assert_int_equal(relay_labels_alloc(&l, 129), 0);
	assert_int_equal(relay_labels_alloc(&l, 128), b);
}

static void
labels_never_overlap(void **state)
{
	(void)state;
	static struct relay_labels l;
	struct {
		uint32_t first, n;
	} held[64] = {{0, 0}};
	uint64_t x = 88172645463325252ull;
	relay_labels_init(&l, 0);
	for (int turn = 0; turn < 20000; turn++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		size_t i = x % 64;
		if (held[i].first) {
			relay_labels_free(&l, held[i].first, held[i].n);
			held[i].first = 0;
			continue;
		}
		uint32_t n = 1 + (uint32_t)(x >> 32) % 9000, first = relay_labels_alloc(&l, n);
		if (!first)
			continue;
		assert_int_equal(first % RELAY_LABEL_PAGE, 0);
		for (size_t k = 0; k < 64; k++)
			if (held[k].first)
				assert_true(first + n <= held[k].first ||
					    held[k].first + held[k].n <= first);
		held[i].first = first;
		held[i].n = n;
	}
	for (size_t i = 0; i < 64; i++)
		if (held[i].first)
			relay_labels_free(&l, held[i].first, held[i].n);
	assert_int_equal(l.used, 0);
}

static void
addresses(void **state)
{
	(void)state;
	char text[SUCI_ADDR_TEXT_MAX];
	struct suci_addr a = relay_addr_v4(0xc0000207, 7000, RELAY_LEG_GLOBAL);
	assert_string_equal(suci_addr_text(&a, text), "192.0.2.7:7000");
	struct suci_addr b = {.ip = {0x20, 1, 0xd, 0xb8, [15] = 1}, .port = 9, .family = 6};
	assert_string_equal(suci_addr_text(&b, text), "[2001:db8::1]:9");
	assert_string_equal(relay_strerror(RELAY_ERR_LABELS),
			    "label base outside the range this relay serves");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peer_small_frames_round_trip),
		cmocka_unit_test(peer_bad_frames),
		cmocka_unit_test(job_round_trip),
		cmocka_unit_test(job_with_six_round_trip),
		cmocka_unit_test(job_limits_hold),
		cmocka_unit_test(job_faults_are_found),
		cmocka_unit_test(job_foreign_faults_are_found),
		cmocka_unit_test(job_with_foreign_round_trip),
		cmocka_unit_test(job_gates_and_gateways),
		cmocka_unit_test(gateway_bases),
		cmocka_unit_test(job_host_of_and_foreign),
		cmocka_unit_test(labels_ranges),
		cmocka_unit_test(labels_never_overlap),
		cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
