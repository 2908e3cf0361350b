/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/tables.h"

#include <stdlib.h>

#include "cmocka_all.h"

static const struct impi_limits limits = {.hosts_max = 8, .procs_max = 16};
static _Alignas(64) uint8_t mem[8192];
static struct impi_tables *t;
static struct impi_error err;

static void
begin(uint32_t nclients)
{
	assert_true(impi_tables_footprint(&limits) <= sizeof mem);
	memset(mem, 0xa5, sizeof mem);
	t = impi_tables_new(mem, &limits);
	assert_non_null(t);
	err = (struct impi_error){0};
	assert_int_equal(impi_tables_begin(t, nclients, &err), IMPI_ERR_OK);
}

/* n words of 4 bytes. */
static enum impi_err
words(uint32_t label, uint32_t mask, const uint32_t *v, size_t n)
{
	uint8_t buf[256];
	for (size_t i = 0; i < n; i++)
		be32_store(buf + 4 * i, v[i]);
	return impi_tables_label(t, label, mask, buf, 4 * n, &err);
}
#define WORDS(label, mask, ...)                             \
	words(label, mask, (const uint32_t[]){__VA_ARGS__}, \
	      sizeof(const uint32_t[]){__VA_ARGS__} / 4)

static enum impi_err
ids(uint32_t label, uint32_t mask, const uint64_t *v, size_t n)
{
	uint8_t buf[512] = {0};
	size_t elem = label == IMPI_P_PID ? 8 : 16;
	for (size_t i = 0; i < n; i++)
		be64_store(buf + elem * i + elem - 8, v[i]);
	return impi_tables_label(t, label, mask, buf, elem * n, &err);
}
#define IDS(label, mask, ...) \
	ids(label, mask, (const uint64_t[]){__VA_ARGS__}, sizeof(const uint64_t[]){__VA_ARGS__} / 8)

/* Two clients: 2 hosts (2 + 1 procs) and 1 host (2 procs); skip leaves a label out. */
static void
fill_but(uint32_t skip)
{
	begin(2);
#define UNLESS(label, call)                                  \
	do {                                                 \
		if (skip != (label))                         \
			assert_int_equal(call, IMPI_ERR_OK); \
	} while (0)
	UNLESS(IMPI_C_VERSION, WORDS(IMPI_C_VERSION, 3, 0, 0, 0, 0));
	UNLESS(IMPI_C_NHOSTS, WORDS(IMPI_C_NHOSTS, 3, 2, 1));
	UNLESS(IMPI_C_NPROCS, WORDS(IMPI_C_NPROCS, 3, 3, 2));
	UNLESS(IMPI_C_DATALEN, WORDS(IMPI_C_DATALEN, 3, 65536, 1024));
	UNLESS(IMPI_C_TAGUB, WORDS(IMPI_C_TAGUB, 3, 40000, INT32_MAX));
	UNLESS(IMPI_C_COLL_XSIZE, WORDS(IMPI_C_COLL_XSIZE, 3, UINT32_MAX, 1024));
	UNLESS(IMPI_C_COLL_MAXLINEAR, WORDS(IMPI_C_COLL_MAXLINEAR, 3, 4, UINT32_MAX));
	UNLESS(IMPI_H_IPV6, IDS(IMPI_H_IPV6, 3, 1, 2, 3));
	UNLESS(IMPI_H_PORT, WORDS(IMPI_H_PORT, 3, 1, 65535, 99));
	UNLESS(IMPI_H_NPROCS, WORDS(IMPI_H_NPROCS, 3, 2, 1, 2));
	UNLESS(IMPI_H_ACKMARK, WORDS(IMPI_H_ACKMARK, 3, 10, 7, 8));
	UNLESS(IMPI_H_HIWATER, WORDS(IMPI_H_HIWATER, 3, 20, 30, 15));
	UNLESS(IMPI_P_IPV6, IDS(IMPI_P_IPV6, 3, 9, 9, 9, 5, 9));
	UNLESS(IMPI_P_PID, IDS(IMPI_P_PID, 3, 30, 20, 10, 10, UINT64_MAX));
#undef UNLESS
}

static void
a_job_is_understood(void **state)
{
	(void)state;
	fill_but(0);
	assert_int_equal(impi_tables_finish(t, &err), IMPI_ERR_OK);
	assert_int_equal(t->nhosts, 3);
	assert_int_equal(t->nprocs, 5);
	assert_int_equal(t->datalen, 1024);
	assert_int_equal(t->tagub, 40000);
	assert_int_equal(t->xsize, 1024);
	assert_int_equal(t->maxlinear, 4);
	assert_int_equal(t->ackmark, 7);
	assert_int_equal(t->hiwater, 15);
	assert_int_equal(t->client[1].first_host, 2);
	assert_int_equal(t->client[1].first_rank, 3);
	static const uint32_t host_of[] = {0, 0, 1, 2, 2};
	for (uint32_t r = 0; r < 5; r++) {
		assert_int_equal(t->proc_host[r], host_of[r]);
		assert_int_equal(impi_tables_client_of_rank(t, r), r >= 3);
	}
	assert_int_equal(t->host[1].first_rank, 2);
	assert_int_equal(t->host[2].client, 1);
	assert_int_equal(t->host[1].ackmark, 7);
	assert_int_equal(impi_tables_client_of_host(t, 1), 0);
	assert_int_equal(impi_tables_client_of_host(t, 2), 1);
}

static void
labels_that_may_be_missing(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < IMPI_NLABELS; i++) {
		uint32_t label = impi_label_at(i);
		bool optional = label == IMPI_C_VERSION || label == IMPI_C_TAGUB ||
				label == IMPI_C_COLL_XSIZE || label == IMPI_C_COLL_MAXLINEAR;
		fill_but(label);
		assert_false(impi_tables_have(t, label));
		enum impi_err e = impi_tables_finish(t, &err);
		print_message("without %s: %s\n", impi_label_name(label), err.text);
		assert_int_equal(e, optional ? IMPI_ERR_OK : IMPI_ERR_TABLE);
	}
	fill_but(IMPI_C_TAGUB);
	assert_int_equal(impi_tables_finish(t, &err), IMPI_ERR_OK);
	assert_int_equal(t->tagub, 32767);
}

/* MetaMPICH sends no TAGUB and no marks: the others decide. */
static void
metampich_without_marks(void **state)
{
	(void)state;
	fill_but(IMPI_H_ACKMARK);
	assert_int_equal(WORDS(IMPI_H_ACKMARK, 2, 12), IMPI_ERR_OK);
	assert_int_equal(impi_tables_finish(t, &err), IMPI_ERR_OK);
	assert_int_equal(t->ackmark, 12);
	assert_int_equal(t->host[0].ackmark, 0);
	assert_int_equal(t->host[1].ackmark, 0);
	assert_int_equal(t->host[2].ackmark, 12);
	fill_but(IMPI_H_HIWATER);
	assert_int_equal(WORDS(IMPI_H_HIWATER, 1, 40, 50), IMPI_ERR_OK);
	assert_int_equal(impi_tables_finish(t, &err), IMPI_ERR_OK);
	assert_int_equal(t->host[1].hiwater, 50);
	assert_int_equal(t->host[2].hiwater, 0);
	fill_but(IMPI_H_HIWATER);
	assert_int_equal(WORDS(IMPI_H_HIWATER, 2, 40, 50), IMPI_ERR_OK);
	assert_int_equal(impi_tables_finish(t, &err), IMPI_ERR_TABLE);
}

static void
values_that_cannot_be(void **state)
{
	(void)state;
#define CASE(what, call, want)                             \
	do {                                               \
		begin(2);                                  \
		enum impi_err e = call;                    \
		print_message("%s: %s\n", what, err.text); \
		assert_int_equal(e, want);                 \
	} while (0)
	CASE("no clients in mask", WORDS(IMPI_C_NHOSTS, 0, 1), IMPI_ERR_VALUE);
	CASE("third of two", WORDS(IMPI_C_NHOSTS, 7, 1, 1, 1), IMPI_ERR_VALUE);
	CASE("one without NHOSTS", WORDS(IMPI_C_NHOSTS, 1, 1), IMPI_ERR_TABLE);
	CASE("one without PID", IDS(IMPI_P_PID, 2, 1), IMPI_ERR_TABLE);
	CASE("0 hosts", WORDS(IMPI_C_NHOSTS, 3, 1, 0), IMPI_ERR_VALUE);
	CASE("negative procs", WORDS(IMPI_C_NPROCS, 3, 1, UINT32_MAX), IMPI_ERR_VALUE);
	CASE("9 hosts", WORDS(IMPI_C_NHOSTS, 3, 8, 1), IMPI_ERR_LIMIT);
	CASE("17 procs", WORDS(IMPI_C_NPROCS, 3, 1, 16), IMPI_ERR_LIMIT);
	CASE("overflowing procs", WORDS(IMPI_C_NPROCS, 3, 16, INT32_MAX), IMPI_ERR_LIMIT);
	CASE("three counts of two", WORDS(IMPI_C_NHOSTS, 3, 1, 1, 1), IMPI_ERR_LENGTH);
	CASE("no bytes", impi_tables_label(t, IMPI_C_NHOSTS, 3, mem, 0, &err), IMPI_ERR_LENGTH);
	CASE("7 bytes", impi_tables_label(t, IMPI_C_NHOSTS, 3, mem, 7, &err), IMPI_ERR_LENGTH);
	CASE("DATALEN 0", WORDS(IMPI_C_DATALEN, 3, 0, 1), IMPI_ERR_VALUE);
	CASE("TAGUB too small", WORDS(IMPI_C_TAGUB, 3, 32766, 40000), IMPI_ERR_VALUE);
	CASE("TAGUB negative", WORDS(IMPI_C_TAGUB, 3, 40000, 1u << 31), IMPI_ERR_VALUE);
	CASE("XSIZE unequal", WORDS(IMPI_C_COLL_XSIZE, 3, UINT32_MAX, 2048), IMPI_ERR_TABLE);
	CASE("XSIZE -2", WORDS(IMPI_C_COLL_XSIZE, 3, UINT32_MAX - 1, 1), IMPI_ERR_VALUE);
	CASE("MAXLINEAR unequal", WORDS(IMPI_C_COLL_MAXLINEAR, 3, 3, UINT32_MAX), IMPI_ERR_TABLE);
	CASE("MAXLINEAR 0", WORDS(IMPI_C_COLL_MAXLINEAR, 3, 0, 0), IMPI_ERR_OK);
	CASE("port 0", WORDS(IMPI_H_PORT, 3, 1, 0), IMPI_ERR_VALUE);
	CASE("port 65536", WORDS(IMPI_H_PORT, 3, 65536, 1), IMPI_ERR_VALUE);
	CASE("9 ports", WORDS(IMPI_H_PORT, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9), IMPI_ERR_LIMIT);
	CASE("ACKMARK 0", WORDS(IMPI_H_ACKMARK, 3, 1, 0), IMPI_ERR_VALUE);
	CASE("another's label", WORDS(0x7777, 0, 1), IMPI_ERR_OK);
#undef CASE
	begin(2);
	assert_int_equal(WORDS(IMPI_C_DATALEN, 3, 1, 1), IMPI_ERR_OK);
	assert_int_equal(WORDS(IMPI_C_DATALEN, 3, 1, 1), IMPI_ERR_LABEL);
	assert_int_equal(impi_tables_begin(t, 2, NULL), IMPI_ERR_STATE);
	t = impi_tables_new(mem, &limits);
	err = (struct impi_error){0};
	assert_int_equal(impi_tables_begin(t, 33, NULL), IMPI_ERR_VALUE);
	assert_int_equal(WORDS(IMPI_C_DATALEN, 3, 1, 1), IMPI_ERR_STATE);
}

static void
wholes_that_contradict(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t n;
		uint32_t label;
		enum impi_err want;
		uint32_t words[6];
	} cases[] = {
		{"too many procs on hosts", 3, IMPI_H_NPROCS, IMPI_ERR_TABLE, {2, 2, 2}},
		{"wrapping procs on hosts", 3, IMPI_H_NPROCS, IMPI_ERR_TABLE, {UINT32_MAX, 4, 2}},
		{"too few procs on hosts", 3, IMPI_H_NPROCS, IMPI_ERR_TABLE, {2, 0, 2}},
		{"a host without procs", 3, IMPI_H_NPROCS, IMPI_ERR_OK, {3, 0, 2}},
		{"two ports for three hosts", 2, IMPI_H_PORT, IMPI_ERR_TABLE, {1, 2}},
		{"four ports for three hosts", 4, IMPI_H_PORT, IMPI_ERR_TABLE, {1, 2, 3, 4}},
		{"two ACKMARKs", 2, IMPI_H_ACKMARK, IMPI_ERR_TABLE, {1, 2}},
		{"ACKMARK above HIWATER", 3, IMPI_H_ACKMARK, IMPI_ERR_VALUE, {16, 16, 16}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fill_but(cases[i].label);
		assert_int_equal(words(cases[i].label, 3, cases[i].words, cases[i].n), IMPI_ERR_OK);
		enum impi_err e = impi_tables_finish(t, &err);
		print_message("%s: %s\n", cases[i].name, err.text);
		assert_int_equal(e, cases[i].want);
	}
	fill_but(IMPI_P_PID);
	assert_int_equal(IDS(IMPI_P_PID, 3, 1, 2, 3, 4, 2), IMPI_ERR_OK);
	assert_int_equal(impi_tables_finish(t, &err), IMPI_ERR_TABLE);
	assert_non_null(strstr(err.text, "1 and 4"));
}

static void
versions(void **state)
{
	(void)state;
	begin(3);
	assert_int_equal(WORDS(IMPI_C_VERSION, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0), IMPI_ERR_OK);
	for (uint32_t c = 0; c < 3; c++) {
		const struct impi_client_entry *e = &t->client[c];
		assert_int_equal(e->nversions, c + 1);
		assert_true(e->version[c].major == (c == 2) && e->version[c].minor == (c == 1));
	}
	begin(2);
	assert_int_equal(WORDS(IMPI_C_VERSION, 3, 0, 1, 0, 0), IMPI_ERR_TABLE);
	begin(2);
	assert_int_equal(WORDS(IMPI_C_VERSION, 3, 0, 0, 0, 2, 0, 1, 0, 0), IMPI_ERR_TABLE);
	begin(2);
	assert_int_equal(WORDS(IMPI_C_VERSION, 3, 0, 0, 0, 2), IMPI_ERR_TABLE);
	begin(2);
	assert_int_equal(WORDS(IMPI_C_VERSION, 3, 0, 0, 0, 0, 0, 0), IMPI_ERR_TABLE);
	begin(1); /* more than are kept */
	assert_int_equal(WORDS(IMPI_C_VERSION, 1, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0,
			       8, 0, 9),
			 IMPI_ERR_OK);
	assert_int_equal(t->client[0].nversions, IMPI_VERSIONS_MAX);
}

/* Ids in an order that is bad for naive sorts; every one is found again. */
static void
many_procs_are_found(void **state)
{
	(void)state;
	enum { N = 5000 };
	struct impi_limits big = {1, N};
	void *m = aligned_alloc(64, impi_tables_footprint(&big));
	struct impi_proc *proc = calloc(N, sizeof *proc);
	uint8_t *buf = malloc(N * 16);
	assert_true(m && proc && buf);
	struct impi_host host = {.port = 1, .nprocs = N, .ackmark = 1, .hiwater = 1};
	struct impi_offer o = {.nhosts = 1,
			       .nprocs = N,
			       .datalen = 1,
			       .tagub = INT32_MAX,
			       .xsize = -1,
			       .maxlinear = -1,
			       .host = &host,
			       .proc = proc};
	for (uint32_t i = 0; i < N; i++) {
		proc[i].pid = i % 2 ? N - i : N + i;
		proc[i].hostid[15] = (uint8_t)(i % 3);
	}
	t = impi_tables_new(m, &big);
	assert_int_equal(impi_tables_begin(t, 1, &err), IMPI_ERR_OK);
	for (unsigned int i = 0; i < IMPI_NLABELS; i++) {
		size_t len = impi_offer_encode(&o, impi_label_at(i), buf, N * 16);
		assert_int_equal(len, impi_offer_bytes(&o, impi_label_at(i)));
		assert_int_equal(impi_offer_encode(&o, impi_label_at(i), buf, len - 1), 0);
		assert_int_equal(impi_tables_label(t, impi_label_at(i), 1, buf, len, &err),
				 IMPI_ERR_OK);
	}
	assert_int_equal(impi_tables_finish(t, &err), IMPI_ERR_OK);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(impi_proc_cmp(&t->proc[i], &proc[i]), 0);
	for (uint32_t i = 1; i < N; i++)
		assert_true(impi_proc_cmp(&proc[t->proc_order[i - 1]], &proc[t->proc_order[i]]) <
			    0);
	assert_int_equal(impi_offer_encode(&o, 0x1234, buf, 100), 0);
	free(m);
	free(proc);
	free(buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_understood),
		cmocka_unit_test(labels_that_may_be_missing),
		cmocka_unit_test(metampich_without_marks),
		cmocka_unit_test(values_that_cannot_be),
		cmocka_unit_test(wholes_that_contradict),
		cmocka_unit_test(versions),
		cmocka_unit_test(many_procs_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
