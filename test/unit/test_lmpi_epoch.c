/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that mpispd has started: waits for a role, starts by what the daemon says, learns that
 * its epoch is over.  The daemon is this test, at the other end of the socket. */
#include "cmocka_all.h"

#include "boot.h"
#include "epoch.h"
#include "join.h"

#include "sp/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANKS = 3, ROLES = 4 }; /* and an I/O process */

static int daemon_fd;

static void
tell(const struct sp_client_msg *m, const struct sp_role *roles)
{
	static uint8_t bytes[SP_CLIENT_MAX];
	size_t n = sp_client_write(m, roles, bytes);

	assert_int_equal(send(daemon_fd, bytes, n, 0), n);
}

/* What the process says next, but for signs of life. */
static struct sp_client_msg
heard(void)
{
	static uint8_t bytes[SP_CLIENT_MAX];
	struct sp_client_msg m;

	do {
		ssize_t n = recv(daemon_fd, bytes, sizeof bytes, 0);
		assert_true(n > 0);
		assert_true(sp_client_read(&m, bytes, (size_t)n));
	} while (m.type == SP_CLIENT_ALIVE);
	return m;
}

static void
tell_epoch(uint64_t epoch, uint32_t mine, uint32_t takeovers)
{
	struct sp_role role[ROLES];

	for (uint32_t r = 0; r < ROLES; r++)
		role[r] = (struct sp_role){
			.slot = r, .unit = (uint16_t)(r / 2), .ip = 0x0a000001 + r / 2};
	role[1].slot = 7;
	role[1].takeovers = takeovers;
	tell(&(struct sp_client_msg){.type = SP_CLIENT_EPOCH,
				     .epoch = epoch,
				     .view = epoch + 6,
				     .role = mine,
				     .n = ROLES},
	     role);
}

static void
tell_card(uint64_t epoch, uint32_t role)
{
	uint8_t card[2] = {(uint8_t)epoch, (uint8_t)role};

	tell(&(struct sp_client_msg){.type = SP_CLIENT_CARD,
				     .epoch = epoch,
				     .role = role,
				     .body = card,
				     .n = sizeof card},
	     NULL);
}

static void
a_spare_starts_as_who_it_replaces(void **state)
{
	struct lmpi_boot b;
	char name[64], number[16];
	void *data;
	size_t len;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	daemon_fd = ends[0];
	snprintf(number, sizeof number, "%d", ends[1]);
	setenv(SP_CLIENT_ENV, number, 1);
	/* All of it lies in the socket before the process comes. */
	struct sp_client_msg welcome = {.type = SP_CLIENT_WELCOME, .compute = RANKS};
	snprintf(welcome.text, sizeof welcome.text, "filter");
	snprintf(welcome.unit, sizeof welcome.unit, "n0");
	tell(&welcome, NULL);
	tell_epoch(2, 1, 1);

	assert_int_equal(lmpi_epoch_join(), LMPI_OK);
	assert_int_equal(heard().type, SP_CLIENT_HELLO);
	assert_null(getenv(SP_CLIENT_ENV));
	assert_true(lmpi_sp());
	assert_true(lmpi_sp_self()->spare && lmpi_sp_self()->takeovers == 1);
	assert_int_equal(lmpi_sp_self()->slot, 7);
	assert_string_equal(lmpi_sp_self()->cluster, "filter");

	assert_int_equal(lmpi_boot_init(&b), 0);
	assert_true(b.rank == 1 && b.size == RANKS);
	assert_true(b.node_size == 2 && b.node_rank == 1 && b.node_peer[0] == 0);
	free(b.node_peer);
	lmpi_boot_node_of(2, name);
	assert_string_equal(name, "10.0.0.2");
	assert_int_equal(lmpi_boot_put("lmpi.contact", "me", 2), 0);
	struct sp_client_msg card = heard();
	assert_true(card.type == SP_CLIENT_CARD && card.epoch == 2 && card.n == 2);
	for (uint32_t r = 0; r < RANKS; r++)
		tell_card(2, r);
	assert_int_equal(lmpi_boot_fence(true, NULL), 0);
	assert_int_equal(lmpi_boot_get(2, "lmpi.contact", &data, &len), 0);
	assert_true(len == 2 && ((uint8_t *)data)[1] == 2);
	free(data);
	assert_false(lmpi_sp_over());
	assert_int_equal(lmpi_sp_code(LMPI_ERR_TRUNCATE), LMPI_ERR_TRUNCATE);
	assert_int_equal(lmpi_sp_code(LMPI_ERR_PROC_FAILED), LMPI_ERR_AGAIN);
}

static void
a_new_epoch_ends_the_start_of_an_old_one(void **state)
{
	(void)state;
	/* Of epoch 3 only one card comes before 4 does. */
	tell_epoch(3, 1, 1);
	lmpi_epoch_inside(false);
	assert_int_equal(lmpi_epoch_join(), LMPI_OK);
	tell_card(3, 0);
	tell_epoch(4, 1, 1);
	assert_int_equal(lmpi_boot_fence(true, NULL), LMPI_ERR_AGAIN);
	assert_true(lmpi_sp_over());
	assert_true(lmpi_epoch_retry(LMPI_ERR_AGAIN));
	assert_int_equal(lmpi_epoch_join(), LMPI_OK);
	assert_true(lmpi_sp_self()->epoch == 4);
	lmpi_boot_abort(3, "enough");
	struct sp_client_msg m = heard();
	assert_int_equal(m.type, SP_CLIENT_ABORT);
	assert_string_equal(m.text, "enough");
	lmpi_boot_fini();
	assert_int_equal(heard().type, SP_CLIENT_LEFT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spare_starts_as_who_it_replaces),
		cmocka_unit_test(a_new_epoch_ends_the_start_of_an_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
