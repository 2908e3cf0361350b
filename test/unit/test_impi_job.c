/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole start-ups: lib/impi's clients against lib/impi's server, in memory. */
#include "impi/client.h"
#include "test_impi_rig.h"

#include <stdio.h>

#define HOSTS 4
#define PROCS 12

/* What a client says instead of its offer's value, or besides the standard labels. */
struct odd {
	uint32_t label;
	bool left_out;
	uint32_t len;
	uint8_t data[64];
};

struct peer {
	void *mem;
	struct impi_client *c;
	int conn;
	struct impi_host host[HOSTS];
	struct impi_proc proc[PROCS];
	struct impi_offer offer;
	struct odd odd[6];
	bool lock_step;	      /* one label at a time, as LAM */
	unsigned int said;    /* bit i: label i was said or left out */
	uint32_t strange_len; /* of the last reply to a label that is not standard */
	bool failed;
};

static struct peer peer[IMPI_CLIENTS_MAX];

static void
peer_init(uint32_t rank, uint32_t nhosts, uint32_t nprocs, struct impi_auth auth)
{
	static const struct impi_limits limits = {128, 512};
	struct peer *p = &peer[rank];
	struct impi_client_config cfg = {.auth = auth, .rank = rank, .extra_tx_bytes = 256};
	*p = (struct peer){.conn = -1};
	p->mem = aligned_alloc(64, impi_client_footprint(&limits, &cfg));
	assert_non_null(p->mem);
	p->c = impi_client_new(p->mem, &limits, &cfg);
	for (uint32_t h = 0; h < nhosts; h++) {
		p->host[h] = (struct impi_host){.port = 1000 + 10 * rank + h,
						.nprocs = nprocs / nhosts + (h < nprocs % nhosts),
						.ackmark = 10 + rank,
						.hiwater = 50 + h};
		impi_addr_from_ipv4(p->host[h].addr, 0x0a000000 + 256 * rank + h);
	}
	for (uint32_t i = 0; i < nprocs; i++) {
		memcpy(p->proc[i].hostid, p->host[0].addr, 16);
		p->proc[i].pid = i;
	}
	p->offer = (struct impi_offer){.nhosts = nhosts,
				       .nprocs = nprocs,
				       .datalen = 1000 + rank,
				       .tagub = 40000 + rank,
				       .xsize = -1,
				       .maxlinear = -1,
				       .host = p->host,
				       .proc = p->proc};
}

static const struct odd *
find_odd(const struct peer *p, uint32_t label)
{
	for (size_t i = 0; i < sizeof p->odd / sizeof *p->odd; i++)
		if (p->odd[i].label == label)
			return &p->odd[i];
	return NULL;
}

/* Say the next label; false if there is none. */
static bool
say_one(struct peer *p)
{
	for (unsigned int i = 0; i < IMPI_NLABELS; i++) {
		uint32_t label = impi_label_at(i);
		const struct odd *o = find_odd(p, label);
		if (p->said & (1u << i))
			continue;
		p->said |= 1u << i;
		if (o && o->left_out)
			continue;
		enum impi_err e = o ? impi_client_submit(p->c, label, o->data, o->len)
				    : impi_client_submit_offer(p->c, label, &p->offer);
		assert_int_equal(e, IMPI_ERR_OK);
		return true;
	}
	for (size_t i = 0; i < sizeof p->odd / sizeof *p->odd; i++) {
		struct odd *o = &p->odd[i];
		if (!o->label || impi_label_index(o->label) >= 0 || o->left_out)
			continue;
		o->left_out = true;
		assert_int_equal(impi_client_submit(p->c, o->label, o->data, o->len), IMPI_ERR_OK);
		return true;
	}
	return false;
}

static void
say_more(struct peer *p)
{
	if (impi_client_state(p->c) != IMPI_CLS_COLLECTING)
		return;
	bool more;
	do
		more = say_one(p);
	while (more && !p->lock_step);
	if (!more)
		assert_int_equal(impi_client_done(p->c), IMPI_ERR_OK);
}

static void
peer_hears(struct peer *p, const uint8_t *bytes, size_t n)
{
	struct impi_client_event ev;
	for (size_t at = 0; at < n;) {
		at += impi_client_rx(p->c, bytes + at, n - at, &ev);
		if (ev.type == IMPI_CL_FAILED)
			p->failed = true;
		if (ev.type == IMPI_CL_LABEL && impi_label_index(ev.label) < 0)
			p->strange_len = ev.len;
		if (ev.type == IMPI_CL_SIZE || ev.type == IMPI_CL_LABEL)
			say_more(p);
	}
}

/* Move bytes both ways; true if anything moved. */
static bool
peer_turn(struct peer *p, size_t max)
{
	uint8_t buf[97];
	size_t n = impi_client_tx(p->c, buf, max);
	bool moved = n > 0;
	if (n)
		send_bytes(p->conn, buf, n);
	n = impi_server_tx(r.s, p->conn, buf, max);
	moved |= n > 0;
	peer_hears(p, buf, n);
	return moved;
}

/* Connect the clients, the last first, and let everything settle. */
static void
run_start_up(uint32_t n, size_t chunk)
{
	bool moved;
	for (uint32_t i = n; i-- > 0;) {
		peer[i].conn = open_conn();
		assert_true(peer[i].conn >= 0);
	}
	do {
		moved = false;
		for (uint32_t i = 0; i < n; i++)
			moved |= peer_turn(&peer[i], 1 + (i * 13 + chunk) % 97);
	} while (moved);
}

static void
assert_running(uint32_t n)
{
	assert_int_equal(r.started, 1);
	for (uint32_t i = 0; i < n; i++) {
		assert_string_equal(impi_client_error(peer[i].c)->text, "");
		assert_int_equal(impi_client_state(peer[i].c), IMPI_CLS_RUNNING);
	}
}

static void
end_job(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (impi_client_state(peer[i].c) == IMPI_CLS_RUNNING)
			impi_client_fini(peer[i].c);
		while (peer_turn(&peer[i], 97))
			;
		impi_server_eof(r.s, peer[i].conn);
		impi_client_end(peer[i].c);
		free(peer[i].mem);
	}
	run_events();
}

static void
init_job(uint32_t n)
{
	rig_init(n, 3, 128);
	for (uint32_t i = 0; i < n; i++)
		peer_init(i, 1, 1, (struct impi_auth){3, 5678});
}

static void
fini_job(uint32_t n)
{
	end_job(n);
	assert_int_equal(r.complete, 1);
	rig_fini();
}

static const struct impi_tables *
tables(uint32_t client)
{
	return impi_client_tables(peer[client].c);
}

static void
set_odd(uint32_t client, int at, uint32_t label, const uint32_t *words, uint32_t n)
{
	struct odd *o = &peer[client].odd[at];
	o->label = label;
	o->len = 4 * n;
	for (uint32_t i = 0; i < n; i++)
		be32_store(o->data + (size_t)4 * i, words[i]);
}
#define SAYS(client, at, label, ...)                                \
	set_odd(client, at, label, (const uint32_t[]){__VA_ARGS__}, \
		(uint32_t)(sizeof(const uint32_t[]){__VA_ARGS__} / 4))

/* --- reference 13, point 2 ------------------------------------------------- */

static void
conformance_13_2_jobs_of_1_2_and_32_clients_with_several_hosts(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {1, 2, 5, 32};
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (int lock_step = 0; lock_step < 2; lock_step++) {
			uint32_t n = sizes[k], nhosts = 0, nprocs = 0;
			rig_init(n, 3, 128);
			for (uint32_t i = 0; i < n; i++) {
				uint32_t h = 1 + i % HOSTS, p = h + i % 5;
				peer_init(i, h, p, (struct impi_auth){3, 5678});
				peer[i].lock_step = lock_step;
				nhosts += h;
				nprocs += p;
			}
			run_start_up(n, k);
			assert_running(n);
			for (uint32_t i = 0; i < n; i++) {
				const struct impi_tables *t = tables(i);
				uint32_t host = 0, rank = 0;
				assert_int_equal(t->nclients, n);
				assert_int_equal(t->nhosts, nhosts);
				assert_int_equal(t->nprocs, nprocs);
				assert_int_equal(t->datalen, 1000);
				assert_int_equal(t->tagub, 40000);
				assert_int_equal(t->ackmark, 10);
				assert_int_equal(t->hiwater, 50);
				for (uint32_t c = 0; c < n; c++) {
					assert_int_equal(t->client[c].first_host, host);
					assert_int_equal(t->client[c].first_rank, rank);
					for (uint32_t h = 0; h < peer[c].offer.nhosts;
					     h++, host++) {
						assert_int_equal(t->host[host].client, c);
						assert_int_equal(t->host[host].port,
								 peer[c].host[h].port);
						assert_int_equal(t->host[host].first_rank, rank);
						rank += peer[c].host[h].nprocs;
					}
				}
				const struct impi_proc *last = NULL;
				for (uint32_t p = 0; p < nprocs; p++) {
					const struct impi_proc *next = &t->proc[t->proc_order[p]];
					assert_true(!last || impi_proc_cmp(last, next) < 0);
					last = next;
				}
			}
			fini_job(n);
		}
}

static void
conformance_13_2_versions_of_different_length(void **state)
{
	(void)state;
	init_job(3);
	SAYS(1, 0, IMPI_C_VERSION, 0, 0, 0, 1);
	SAYS(2, 0, IMPI_C_VERSION, 0, 0, 0, 1, 1, 0);
	run_start_up(3, 5);
	assert_running(3);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t a = 0; a < 3; a++) {
			const struct impi_client_entry *c = &tables(i)->client[a];
			assert_int_equal(c->nversions, a + 1);
			assert_int_equal(c->version[a].major, a == 2);
			assert_int_equal(c->version[a].minor, a == 1);
		}
	fini_job(3);
}

static void
conformance_13_2_minus_one_is_the_default(void **state)
{
	(void)state;
	static const uint32_t labels[] = {IMPI_C_COLL_XSIZE, IMPI_C_COLL_MAXLINEAR};
	static const uint32_t dflt[] = {1024, 4};
	for (uint32_t who = 0; who < 8; who++)
		for (int k = 0; k < 2; k++) {
			init_job(3);
			for (uint32_t i = 0; i < 3; i++)
				SAYS(i, 0, labels[k], who & (1u << i) ? UINT32_MAX : dflt[k]);
			run_start_up(3, 5);
			assert_running(3);
			for (uint32_t i = 0; i < 3; i++) {
				assert_int_equal(tables(i)->xsize, 1024);
				assert_int_equal(tables(i)->maxlinear, 4);
			}
			fini_job(3);
		}
	/* another value, from everybody; 0 is one */
	init_job(2);
	SAYS(0, 0, IMPI_C_COLL_XSIZE, 77);
	SAYS(1, 0, IMPI_C_COLL_XSIZE, 77);
	SAYS(0, 1, IMPI_C_COLL_MAXLINEAR, 0);
	SAYS(1, 1, IMPI_C_COLL_MAXLINEAR, 0);
	run_start_up(2, 5);
	assert_running(2);
	assert_int_equal(tables(1)->xsize, 77);
	assert_int_equal(tables(1)->maxlinear, 0);
	fini_job(2);
}

static void
conformance_13_2_unequal_xsize_is_an_error_on_every_client(void **state)
{
	(void)state;
	static const uint32_t labels[] = {IMPI_C_COLL_XSIZE, IMPI_C_COLL_MAXLINEAR};
	for (int k = 0; k < 4; k++)
		for (uint32_t odd = 0; odd < 3; odd++) {
			uint32_t label = labels[k % 2];
			bool lock_step = k < 2; /* else DONE may have been said already */
			char words[64];
			init_job(3);
			SAYS(odd, 0, label, 2048);
			for (uint32_t i = 0; i < 3; i++)
				peer[i].lock_step = lock_step;
			run_start_up(3, 5);
			assert_true(!r.started || !lock_step);
			snprintf(words, sizeof words, "%s must be the same in all clients",
				 impi_label_name(label));
			for (uint32_t i = 0; i < 3; i++) {
				const struct impi_error *e = impi_client_error(peer[i].c);
				assert_true(peer[i].failed);
				assert_int_equal(e->code, IMPI_ERR_TABLE);
				assert_non_null(strstr(e->text, words));
			}
			end_job(3);
			assert_int_equal(r.failed, 1);
			assert_int_equal(r.complete, 0);
			rig_fini();
		}
}

static void
conformance_13_2_unknown_labels_are_ignored(void **state)
{
	(void)state;
	for (uint32_t who = 1; who < 4; who++) { /* bit mask of clients that say them */
		init_job(2);
		for (uint32_t i = 0; i < 2; i++)
			if (who & (1u << i)) {
				SAYS(i, 0, 0x1700, 1, 2, 3);
				SAYS(i, 1, 0x7fffffff, i);
			}
		run_start_up(2, 5);
		assert_running(2);
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t both = (uint32_t)__builtin_popcount(who);
			assert_int_equal(peer[i].strange_len, who & (1u << i) ? 4 * both : 0);
		}
		fini_job(2);
	}
}

/* --- single rules -------------------------------------------------------------- */

static void
marks_and_datalen_are_minima_over_all_hosts(void **state)
{
	(void)state;
	rig_init(2, 3, 128);
	peer_init(0, 3, 3, (struct impi_auth){3, 5678});
	peer_init(1, 2, 2, (struct impi_auth){3, 5678});
	SAYS(0, 0, IMPI_H_ACKMARK, 9, 3, 9);
	SAYS(1, 0, IMPI_H_ACKMARK, 8, 7);
	SAYS(0, 1, IMPI_H_HIWATER, 12, 13, 14);
	SAYS(1, 1, IMPI_H_HIWATER, 15, 11);
	SAYS(0, 2, IMPI_C_DATALEN, 65536);
	SAYS(1, 2, IMPI_C_DATALEN, 1);
	SAYS(0, 3, IMPI_C_TAGUB, 0x7fffffff);
	SAYS(1, 3, IMPI_C_TAGUB, 32767);
	run_start_up(2, 5);
	assert_running(2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(tables(i)->ackmark, 3);
		assert_int_equal(tables(i)->hiwater, 11);
		assert_int_equal(tables(i)->datalen, 1);
		assert_int_equal(tables(i)->tagub, 32767);
	}
	fini_job(2);
}

/* It sends neither TAGUB nor the marks (reference 9.2); the others decide. */
static void
metampich_leaves_labels_out(void **state)
{
	(void)state;
	static const uint32_t missing[] = {IMPI_C_TAGUB, IMPI_H_ACKMARK, IMPI_H_HIWATER};
	for (uint32_t who = 0; who < 2; who++) {
		const uint32_t other = 1 - who;
		init_job(2);
		for (int k = 0; k < 3; k++)
			peer[who].odd[k] = (struct odd){.label = missing[k], .left_out = true};
		run_start_up(2, 5);
		assert_int_equal(r.started, 1);
		assert_int_equal(impi_client_state(peer[other].c), IMPI_CLS_RUNNING);
		assert_int_equal(tables(other)->tagub, 40000 + other);
		assert_int_equal(tables(other)->ackmark, 10 + other);
		assert_int_equal(tables(other)->hiwater, 50);
		assert_int_equal(tables(other)->host[who].ackmark, 0);
		assert_int_equal(tables(other)->host[other].ackmark, 10 + other);
		/* who did not say a label is not told it either: it has no use for that */
		for (int k = 0; k < 3; k++)
			assert_false(impi_tables_have(tables(who), missing[k]));
		end_job(2);
		rig_fini();
	}
}

/* Its port has 2 bytes instead of 4: nobody can use that, and everybody says so. */
static void
metampich_port_of_two_bytes_is_refused_in_words(void **state)
{
	(void)state;
	init_job(2);
	peer[1].odd[0] = (struct odd){.label = IMPI_H_PORT, .len = 2, .data = {0x9c, 0x40}};
	run_start_up(2, 5);
	const struct impi_error *e = impi_client_error(peer[0].c);
	assert_int_equal(e->code, IMPI_ERR_LENGTH);
	assert_string_equal(e->text, "IMPI_H_PORT with 6 bytes, not a multiple of 4");
	end_job(2);
	rig_fini();
}

/* --- reference 13, point 3 ------------------------------------------------------- */

static void
conformance_13_3_authentication(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct impi_auth server, client;
		enum impi_err closed; /* of the client's connection */
	} cases[] = {
		{"none and none", {1, 0}, {1, 0}, IMPI_ERR_OK},
		{"key, right", {2, 5678}, {2, 5678}, IMPI_ERR_OK},
		{"both, right key", {3, 5678}, {3, 5678}, IMPI_ERR_OK},
		{"both, so the key counts", {3, 5678}, {3, 1}, IMPI_ERR_KEY},
		{"none, the client could more", {1, 0}, {3, 1}, IMPI_ERR_OK},
		{"key of 64 bits", {2, UINT64_MAX}, {2, UINT64_MAX}, IMPI_ERR_OK},
		{"key, wrong", {2, 5678}, {2, 5679}, IMPI_ERR_KEY},
		{"key, its halves exchanged", {2, 1ull << 32}, {2, 1}, IMPI_ERR_KEY},
		{"none in common", {2, 5678}, {1, 0}, IMPI_ERR_AUTH},
		{"none in common, other way", {1, 0}, {2, 5678}, IMPI_ERR_AUTH},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		rig_init_mem(1, cases[i].server, 128, 4096);
		peer_init(0, 1, 1, cases[i].client);
		run_start_up(1, 3);
		print_message("%s: %s\n", cases[i].name, r.close_err[0].text);
		bool good = cases[i].closed == IMPI_ERR_OK;
		assert_int_equal(r.started, good);
		assert_int_equal(r.is_closed[0], !good);
		if (!good) {
			assert_int_equal(r.close_err[0].code, cases[i].closed);
			assert_true(impi_client_eof(peer[0].c));
			assert_int_equal(impi_client_error(peer[0].c)->code, IMPI_ERR_EOF);
			/* nobody's job has failed: the right one may still come */
			assert_int_equal(impi_server_state(r.s), IMPI_SVS_GATHERING);
		}
		end_job(1);
		assert_int_equal(r.complete, good);
		rig_fini();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conformance_13_2_jobs_of_1_2_and_32_clients_with_several_hosts),
		cmocka_unit_test(conformance_13_2_versions_of_different_length),
		cmocka_unit_test(conformance_13_2_minus_one_is_the_default),
		cmocka_unit_test(conformance_13_2_unequal_xsize_is_an_error_on_every_client),
		cmocka_unit_test(conformance_13_2_unknown_labels_are_ignored),
		cmocka_unit_test(marks_and_datalen_are_minima_over_all_hosts),
		cmocka_unit_test(metampich_leaves_labels_out),
		cmocka_unit_test(metampich_port_of_two_bytes_is_refused_in_words),
		cmocka_unit_test(conformance_13_3_authentication),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
