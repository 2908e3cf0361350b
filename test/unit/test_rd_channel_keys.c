/* SPDX-License-Identifier: BSD-2-Clause */
/* Which key the channels of the control thread have, with key files as an administrator has them.
 */
#include "channel_keys.h"

#include "rd/conf.h"

#include "driver/aead.h"

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_rd_channel_keys.XXXXXX";
static char psk[64], site_a[64], site_b[64], none[64];

static int
make_files(void **state)
{
	struct seal_identity id;
	char why[SEAL_TEXT];
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(psk, sizeof psk, "%s/psk", dir);
	snprintf(site_a, sizeof site_a, "%s/a", dir);
	snprintf(site_b, sizeof site_b, "%s/b", dir);
	snprintf(none, sizeof none, "%s/none", dir);
	FILE *f = fopen(psk, "w");
	if (!f)
		return -1;
	fputs("7 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n", f);
	if (fclose(f) || chmod(psk, 0600) || seal_identity_make(site_a, &id, why) ||
	    seal_identity_make(site_b, &id, why))
		return -1;
	return 0;
}

static int
remove_files(void **state)
{
	(void)state;
	unlink(psk);
	unlink(site_a);
	unlink(site_b);
	return rmdir(dir);
}

struct keys {
	struct seal_link_conf peer, light;
	char err[256];
	int rc;
};

static struct keys
keys_of(const char *key_file, const char *identity_file, enum rd_sealing sealing)
{
	static struct rd_conf conf;
	struct keys k = {.err = ""};
	memset(&conf, 0, sizeof conf);
	conf.nlegs = 2;
	conf.port[1].sealing = sealing;
	snprintf(conf.sealing.key_file, sizeof conf.sealing.key_file, "%s", key_file);
	snprintf(conf.sealing.identity_file, sizeof conf.sealing.identity_file, "%s",
		 identity_file);
	k.rc = rd_channel_keys(&conf, &k.peer, &k.light, k.err, sizeof k.err);
	return k;
}

static void
without_a_sealed_leg_there_are_none(void **state)
{
	(void)state;
	struct keys k = keys_of(none, none, RD_SEALING_OFF);
	assert_int_equal(k.rc, 0);
	assert_int_equal(k.peer.nkeys + k.light.nkeys, 0);
}

static void
the_pre_shared_key_is_for_both(void **state)
{
	(void)state;
	struct keys k = keys_of(psk, "", RD_SEALING_ON);
	assert_int_equal(k.rc, 0);
	assert_int_equal(k.peer.nkeys, 1);
	assert_int_equal(k.light.nkeys, 1);
	assert_int_equal(k.peer.key[0].id, 7);
	assert_memory_equal(&k.peer.key[0], &k.light.key[0], sizeof k.peer.key[0]);
	assert_string_not_equal(k.peer.purpose, k.light.purpose);
}

static void
an_identity_is_the_key_among_siblings(void **state)
{
	(void)state;
	struct keys a = keys_of(psk, site_a, RD_SEALING_ON);
	struct keys again = keys_of(psk, site_a, RD_SEALING_ON);
	struct keys b = keys_of(psk, site_b, RD_SEALING_ON);
	assert_int_equal(a.rc | again.rc | b.rc, 0);
	assert_int_equal(a.peer.nkeys, 1);
	assert_memory_equal(&a.peer.key[0], &again.peer.key[0], sizeof a.peer.key[0]);
	assert_memory_not_equal(a.peer.key[0].secret, b.peer.key[0].secret,
				sizeof a.peer.key[0].secret);
	assert_memory_not_equal(a.peer.key[0].secret, a.light.key[0].secret,
				sizeof a.peer.key[0].secret);
	assert_memory_equal(&a.light.key[0], &b.light.key[0], sizeof a.light.key[0]);
}

static void
an_identity_alone_is_enough(void **state)
{
	(void)state;
	struct keys k = keys_of("", site_a, RD_SEALING_ON);
	assert_int_equal(k.rc, 0);
	assert_int_equal(k.peer.nkeys, 1);
	assert_int_equal(k.light.nkeys, 0);
}

static void
a_file_that_is_not_there_is_named(void **state)
{
	(void)state;
	struct keys k = keys_of(none, "", RD_SEALING_ON);
	assert_int_equal(k.rc, -1);
	assert_non_null(strstr(k.err, "sealing.key_file"));
	assert_non_null(strstr(k.err, none));
	k = keys_of(psk, none, RD_SEALING_ON);
	assert_int_equal(k.rc, -1);
	assert_non_null(strstr(k.err, "sealing.identity_file"));
	assert_non_null(strstr(k.err, none));
}

static void
the_server_has_the_pre_shared_keys(void **state)
{
	struct seal_link_conf server = {.nkeys = 0};
	struct rd_conf conf = {.nlegs = 2};
	char err[256] = "";
	(void)state;
	assert_int_equal(rd_server_keys(&conf, &server, err, sizeof err), 0);
	assert_int_equal(server.nkeys, 0);
	conf.impi.server_sealing = RD_SEALING_ON;
	snprintf(conf.sealing.key_file, sizeof conf.sealing.key_file, "%s", psk);
	assert_int_equal(rd_server_keys(&conf, &server, err, sizeof err), 0);
	assert_int_equal(server.nkeys, 1);
	assert_int_equal(server.key[0].id, 7);
	assert_string_equal(server.purpose, SEAL_LINK_IMPI);
	snprintf(conf.sealing.key_file, sizeof conf.sealing.key_file, "%s", none);
	assert_int_equal(rd_server_keys(&conf, &server, err, sizeof err), -1);
	assert_non_null(strstr(err, none));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_sealed_leg_there_are_none),
		cmocka_unit_test(the_pre_shared_key_is_for_both),
		cmocka_unit_test(an_identity_is_the_key_among_siblings),
		cmocka_unit_test(an_identity_alone_is_enough),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
		cmocka_unit_test(the_server_has_the_pre_shared_keys),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
