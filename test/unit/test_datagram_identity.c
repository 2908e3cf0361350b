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
hear(struct kit *k, uint32_t from)
{
	static char text[512];

	struct datagram_sock *s = k->s[from];
	double end = kit_now() + LIMIT_S;
	int64_t r = 1;

	assert_int_equal(datagram_destination(s, !from), 0);
	assert_int_equal(datagram_write(s, "x", 1), 1);
	while (r > 0 && kit_now() < end) {
		(void)datagram_progress(k->s[!from]);
		(void)datagram_progress(s);
		r = datagram_queue_length(s, !from);
	}
	snprintf(text, sizeof text, "%s", r < 0 ? datagram_error(s) : r ? "" : "it has it");
	return text;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_end_says_what_it_sees)};

	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	static const char *const names[] = {"id.1", "id.2", "peers.0", "peers.1"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	return failed;
}
