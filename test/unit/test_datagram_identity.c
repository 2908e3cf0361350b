/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends that seal and do not know each other: nothing on the wire says so, each end's text does. */
#include "datagram_kit.h"

#include "driver/aead.h"
#include "seal/keys.h"

#include <sys/stat.h>

static char folder[] = "/tmp/test_datagram_identity.XXXXXX";

/* A file of ours alone; its name is good until the next call but three. */
static const char *
write_file(const char *name, const char *text)
{
	static char path[4][128];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", folder, name);
	FILE *f = fopen(p, "w");
	assert_non_null(f);
	assert_int_equal(chmod(p, 0600), 0);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return p;
}

/* The identity whose private key has that digit all over. */
static const char *
write_identity(char digit, char public_key[2 * SEAL_DH + 1])
{
	char secret[66], name[] = "id.x", why[SEAL_TEXT];
	struct seal_identity id;

	memset(secret, digit, 64);
	memcpy(secret + 64, "\n", 2);
	name[3] = digit;
	const char *path = write_file(name, secret);
	if (seal_identity_load(path, &id, why))
		fail_msg("%s", why);
	seal_hex(id.public_key, public_key);
	return path;
}

/* What the one hears that writes to the other, which reads. */
static const char *
hear_from(struct kit *k, uint32_t from, uint32_t to)
{
	static char text[512];

	struct datagram_sock *s = k->s[from];
	double end = kit_now() + LIMIT_S;
	int64_t r = 1;

	assert_int_equal(datagram_destination(s, to), 0);
	assert_int_equal(datagram_write(s, "x", 1), 1);
	while (r > 0 && kit_now() < end) {
		(void)datagram_progress(k->s[to]);
		(void)datagram_progress(s);
		r = datagram_queue_length(s, to);
		kit_nap();
	}
	snprintf(text, sizeof text, "%s", r < 0 ? datagram_error(s) : r ? "" : "it has it");
	return text;
}

static const char *
hear(struct kit *k, uint32_t from)
{
	return hear_from(k, from, !from);
}

static void
wants(size_t i, const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("case %zu: \"%s\", not \"%s\"", i, text, wanted);
}

/* 0 has identity 1, which end 1 does not know, or knows elsewhere; then both know each other. */
static void
each_end_says_what_it_sees(void **state)
{
	(void)state;
	static const struct {
		const char *prefix; /* of 0 in the peers_file of 1; NULL: it is not in there */
		const char *says;   /* 0 */
		bool own_key;	    /* and its public key */
		const char *other_says;
	} cases[] = {
		{NULL, "does its peers_file have our public key", true,
		 "its public key is not in our"},
		{"10.0.0.0/8", "does its peers_file have our public key", true,
		 "its site's prefixes in our peers_file do not cover it"},
		{"127.0.0.0/8", "it has it", false, NULL},
	};
	char key[2][2 * SEAL_DH + 1], list[400], own[200] = "";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct kit k;
		kit_init(&k, 2);
		k.conf.connect_ms = 1000;
		const char *id0 = write_identity('1', key[0]), *id1 = write_identity('2', key[1]);
		snprintf(list, sizeof list, "one %s 127.0.0.0/8\n", key[1]);
		k.conf.identity_file = id0;
		k.conf.peers_file = write_file("peers.0", list);
		kit_open(&k, 0);
		if (cases[i].prefix)
			snprintf(own, sizeof own, "zero %s %s\n", key[0], cases[i].prefix);
		snprintf(list, sizeof list, "one %s 127.0.0.0/8\n%s", key[1], own);
		k.conf.identity_file = id1;
		k.conf.peers_file = write_file("peers.1", list);
		kit_open(&k, 1);
		const char *text = hear(&k, 0);
		wants(i, text, cases[i].says);
		if (cases[i].own_key)
			wants(i, text, key[0]);
		if (cases[i].other_says)
			wants(i, hear(&k, 1), cases[i].other_says);
		kit_fini(&k);
	}
}

/* A line of a file of keys. */
static const char *
key_line(char digit)
{
	static char line[2][68];
	static unsigned next;
	char *l = line[next++ % 2];

	l[0] = digit;
	l[1] = ' ';
	memset(l + 2, digit, 64);
	memcpy(l + 66, "\n", 2);
	return l;
}

/* What is open stays, what is opened then needs a new key; a file that is wrong changes nothing. */
static void
other_keys_are_taken(void **state)
{
	(void)state;
	struct kit k;

	kit_init(&k, 4);
	k.conf.connect_ms = 1000;
	k.conf.psk_file = write_file("psk", key_line('1'));
	kit_open(&k, 0);
	kit_open(&k, 1);
	wants(0, hear(&k, 0), "it has it");
	write_file("psk", "no key\n");
	assert_int_equal(datagram_rekey(k.s[0]), -1);
	assert_int_equal(errno, EINVAL);
	wants(1, datagram_error(k.s[0]), "psk");
	write_file("psk", key_line('2'));
	assert_int_equal(datagram_rekey(k.s[0]), 0);
	wants(2, hear(&k, 0), "it has it");
	kit_open(&k, 2);
	wants(3, hear_from(&k, 2, 0), "it has it");
	k.conf.psk_file = write_file("old", key_line('1'));
	kit_open(&k, 3);
	wants(4, hear_from(&k, 3, 0), "does it have a key of our psk_file");
	wants(5, hear_from(&k, 3, 1), "it has it");
	kit_fini(&k);
}

/* Who is struck off the list of peers is sent away, though its path was open. */
static void
strangers_go(void **state)
{
	(void)state;
	char key[2][2 * SEAL_DH + 1], list[400];
	struct kit k;

	kit_init(&k, 2);
	k.conf.connect_ms = 1000;
	const char *id0 = write_identity('1', key[0]), *id1 = write_identity('2', key[1]);
	k.conf.identity_file = id0;
	snprintf(list, sizeof list, "one %s 127.0.0.0/8\nzero %s 127.0.0.0/8\n", key[1], key[0]);
	k.conf.peers_file = write_file("peers.0", list);
	kit_open(&k, 0);
	k.conf.identity_file = id1;
	k.conf.peers_file = write_file("peers.1", list);
	kit_open(&k, 1);
	wants(0, hear(&k, 0), "it has it");
	assert_int_equal(datagram_rekey(k.s[1]), 0);
	wants(1, hear(&k, 0), "it has it");
	snprintf(list, sizeof list, "one %s 127.0.0.0/8\n", key[1]);
	write_file("peers.1", list);
	assert_int_equal(datagram_rekey(k.s[1]), 0);
	wants(2, hear(&k, 0), "is not among our peers any more");
	kit_fini(&k);
}

/* A socket without keys has none to read again. */
static void
bare_sockets_have_none(void **state)
{
	(void)state;
	struct kit k;

	kit_init(&k, 1);
	kit_open(&k, 0);
	assert_int_equal(datagram_rekey(k.s[0]), -1);
	assert_int_equal(errno, EINVAL);
	kit_fini(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_says_what_it_sees),
		cmocka_unit_test(other_keys_are_taken),
		cmocka_unit_test(strangers_go),
		cmocka_unit_test(bare_sockets_have_none),
	};

	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	static const char *const names[] = {"id.1", "id.2", "peers.0", "peers.1", "psk", "old"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	return failed;
}
