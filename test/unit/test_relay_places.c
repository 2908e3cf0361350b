/* SPDX-License-Identifier: BSD-2-Clause */
/* Relays that are called by IPv4 addresses and reached at IPv6 ones: there is one trunk to each,
 * whoever speaks of it and whatever it is called. */
#include "relay_core_kit.h"

#define BASE 0x01000040u

static struct suci_addr
at_six(uint32_t relay)
{
	struct suci_addr a = maker_relay_addr(1, relay);
	memset(a.ip, 0, sizeof a.ip);
	a.ip[0] = 0xfd;
	a.ip[15] = (uint8_t)(1 + relay);
	a.family = 6;
	return a;
}

/* The first relay of client 1 has IPv6, the second has not. */
static struct relay *
new_mixed(enum relay_policy policy, const struct relay_policy_rule *rule)
{
	struct relay_core_conf conf = relay_conf_of_two(policy, 6, 5 * BASE_S_NS);
	struct suci_addr first = at_six(0);
	conf.place[0].ipv4 = maker_relay_ip(1, 0);
	memcpy(conf.place[0].ipv6, first.ip, 16);
	conf.nplaces = 1;
	if (rule)
		conf.rule[conf.nrules++] = *rule;
	struct relay *r = relay_new_conf(&conf);
	add_job(r, spec_one);
	return r;
}

static void
trunks_go_to_where_relays_are(void **state)
{
	struct relay *r = new_mixed(RELAY_POLICY_DEST, NULL);
	struct suci_addr six = at_six(0), second = maker_relay_addr(1, 1),
			 four = maker_relay_addr(1, 0);
	(void)state;
	uint32_t p = fake_find(&r->ep, &six);
	assert_int_not_equal(p, UINT32_MAX);
	assert_int_not_equal(fake_find(&r->ep, &second), UINT32_MAX);
	assert_int_equal(fake_find(&r->ep, &four), UINT32_MAX);
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	fake_accepted(&r->ep, p, &h);
	uint32_t trunk2 = connect_trunk(r, 1, 1);
	uint32_t proc = connect_proc(r, &spec_one, 0, 0);
	/* The other one tells of both by their names: nobody is new. */
	struct relay_list l = {
		.label_base = BASE,
		.token = 0xabcd,
		.client = 1,
		.self = 1,
		.own = RELAY_LIST_NONE,
		.n = 2,
		.relay = {{.weight = 100, .flags = RELAY_LIST_LOST}, {.weight = 100}}};
	uint8_t note[RELAY_LIST_MAX];
	for (uint32_t i = 0; i < 2; i++) {
		l.relay[i].ipv4 = maker_relay_ip(1, i);
		l.relay[i].port = 7000;
	}
	relay_ops()->note(r->c, trunk2, note, relay_list_encode(&l, note), r->ep.now);
	relay_core_tick(r->c, r->ep.now);
	check(r);
	assert_int_equal(fake_find(&r->ep, &four), UINT32_MAX);
	/* It said that the first is lost to its processes, so all goes to the second. */
	struct suci_segment s = make_segment(r, 1, BASE + 1, BASE, 0);
	assert_int_equal(feed(r, proc, &s), SUCI_TAKEN);
	assert_int_equal(r->ep.path[p].nsent, 0);
	assert_int_equal(r->ep.path[trunk2].nsent, 1);
	fake_give_back(&r->ep, trunk2, SUCI_FATE_ACKED);
	relay_free(r);
}

/* A policy for a prefix is about names. */
static void
policies_know_names(void **state)
{
	struct relay_policy_rule rule = {
		.ipv4 = maker_relay_ip(1, 0), .prefix_len = 32, .policy = RELAY_POLICY_STRIPE};
	struct relay *r = new_mixed(RELAY_POLICY_DEST, &rule);
	struct suci_addr six = at_six(0);
	(void)state;
	uint32_t p = fake_find(&r->ep, &six), other;
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	fake_accepted(&r->ep, p, &h);
	other = connect_trunk(r, 1, 1);
	uint32_t proc = connect_proc(r, &spec_one, 0, 0);
	for (uint64_t i = 0; i < 4; i++) {
		struct suci_segment s = make_segment(r, i, BASE + 1, BASE, 0);
		assert_int_equal(feed(r, proc, &s), SUCI_TAKEN);
	}
	assert_true(r->ep.path[p].nsent > 0 && r->ep.path[other].nsent > 0);
	fake_give_back(&r->ep, p, SUCI_FATE_ACKED);
	fake_give_back(&r->ep, other, SUCI_FATE_ACKED);
	relay_free(r);
}

static void
who_has_no_name_is_refused(void **state)
{
	struct relay *r = new_mixed(RELAY_POLICY_DEST, NULL);
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	struct suci_addr stranger = at_six(7);
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX] = "";
	(void)state;
	relay_hello_encode(&h, hello);
	assert_int_equal(fake_incoming(&r->ep, &stranger, hello, sizeof hello, why), UINT32_MAX);
	assert_non_null(strstr(why, "[fd00::8]:7000"));
	assert_non_null(strstr(why, "trunks.ipv6"));
	relay_free(r);
}

/* A process of this cluster with IPv6 alone: it is called there, comes from there, and is told
 * where the relays are. */
static void
a_process_inside(void **state)
{
	struct relay_core_conf conf = relay_conf_of_two(RELAY_POLICY_DEST, 6, 5 * BASE_S_NS);
	struct relay_job *j = make_job(&spec_one);
	const struct impi_hostid id = {.token = 9, .kind = IMPI_HOSTID_LIBMPI, .port = 6000};
	struct relay_hello h = {
		.kind = RELAY_HELLO_PROCESS, .token = spec_one.token, .label = BASE};
	struct suci_addr at = {.ip = {0xfd, [15] = 1}, .port = 6000, .family = 6};
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	struct relay_list l;
	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		memcpy(conf.cluster[i].private6, (uint8_t[16]){0xfd, [15] = (uint8_t)(0xfe - i)},
		       16);
	struct relay *r = relay_new_conf(&conf);
	impi_hostid_encode(&id, j->local[0].id);
	memcpy(j->local[0].at, at.ip, sizeof at.ip);
	assert_int_equal(relay_job_add(r->c, j, r->ep.now), 0);
	free(j);
	check(r);
	uint32_t p = fake_find(&r->ep, &at);
	assert_int_not_equal(p, UINT32_MAX); /* the relay calls */
	relay_hello_encode(&h, hello);
	fake_down(&r->ep, p, SUCI_DOWN_SILENT, "");
	assert_int_not_equal(fake_incoming(&r->ep, &at, hello, sizeof hello, why), UINT32_MAX);
	p = fake_find(&r->ep, &at);
	relay_core_tick(r->c, r->ep.now);
	const struct fake_path *f = &r->ep.path[p];
	uint32_t n = 0;
	while (n < f->nnotes && f->note[n][0] != RELAY_NOTE_RELAYS)
		n++;
	assert_true(n < f->nnotes);
	assert_int_equal(relay_list_decode(f->note[n], f->note_len[n], &l), 0);
	assert_true(l.places);
	assert_int_equal(l.n, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(l.relay[i].ipv4, 0x0a0000c8 + i);
		assert_memory_equal(l.place[i], conf.cluster[i].private6, 16);
	}
	/* It says of the other relay, by its name, that it is lost to it. */
	uint32_t trunk = connect_trunk(r, 1, 0);
	struct relay_note lost = {.type = RELAY_NOTE_LOST,
				  .label_base = BASE,
				  .ipv4 = l.relay[1].ipv4,
				  .port = 7000,
				  .lost = true};
	uint8_t note[RELAY_NOTE_MAX];
	relay_ops()->note(r->c, p, note, relay_note_encode(&lost, note), r->ep.now);
	relay_core_tick(r->c, r->ep.now);
	f = &r->ep.path[trunk];
	assert_int_equal(relay_list_decode(f->note[f->nnotes - 1], f->note_len[f->nnotes - 1], &l),
			 0);
	assert_false(l.places); /* other clusters have no use for it */
	assert_int_equal(l.relay[1].flags, RELAY_LIST_LOST);
	relay_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trunks_go_to_where_relays_are),
		cmocka_unit_test(policies_know_names),
		cmocka_unit_test(who_has_no_name_is_refused),
		cmocka_unit_test(a_process_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
