/* SPDX-License-Identifier: BSD-2-Clause */
/* libsuci: what the calls promise, with real sockets on the loopback interface. */
#include "datagram_kit.h"

#include <sys/wait.h>

static uint8_t buf[2u << 20], other[2u << 20];

static void
write_to(struct datagram_sock *s, uint32_t id, size_t len, uint32_t seed)
{
	kit_fill(other, len, seed);
	assert_int_equal(datagram_destination(s, id), 0);
	if (datagram_write0(s, other, len) != (int64_t)len)
		fail_msg("write0 of %zu: %s", len, datagram_error(s));
}

static void
read_from(struct datagram_sock *s, uint32_t id, size_t len, uint32_t seed)
{
	int64_t n = datagram_read0(s, buf, sizeof buf);
	if (n < 0)
		fail_msg("read0: %s", datagram_error(s));
	assert_int_equal(n, len);
	assert_int_equal(datagram_source(s), id);
	kit_check(buf, len, seed);
}

#define FAILS(call, err)                                \
	do {                                            \
		errno = 0;                              \
		assert_int_equal((call), -1);           \
		assert_int_equal(errno, err);           \
		assert_true(datagram_error(s)[0] != 0); \
	} while (0)

static void
test_nothing_there(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 2);
	struct datagram_sock *s = kit_open(&k, 0);
	struct datagram_info i;
	unsigned major, minor;
	assert_int_equal(sscanf(datagram_version(), "%u.%u", &major, &minor), 2);
	assert_string_equal(datagram_error(s), "");
	assert_int_equal(datagram_ready(s, 0, 0), 0);
	assert_int_equal(datagram_ready(s, 0, 2000), 0);
	assert_int_equal(datagram_peek(s, NULL, NULL), 0);
	assert_int_equal(datagram_source(s), -1);
	FAILS(datagram_read0(s, buf, sizeof buf), EAGAIN);
	FAILS(datagram_write(s, buf, 1), EDESTADDRREQ);
	FAILS(datagram_write0(s, buf, 1), EDESTADDRREQ);
	FAILS(datagram_destination(s, 2), ENOENT);
	FAILS(datagram_wait(s, 0, 0, 1, 77), ENOENT);
	FAILS(datagram_queue_length(s, 77), ENOENT);
	FAILS(datagram_retransmission(s, 77), ENOENT);
	FAILS(datagram_slow_write(s, 77, 1), ENOENT);
	FAILS(datagram_window(s, 77, 1), ENOENT);
	FAILS(datagram_priority(s, 1, 4), EINVAL);
	FAILS(datagram_info_sized(s, 77, &i, sizeof i), ENOENT);
	assert_int_equal(datagram_wait(s, 0, 0, 1000, 1), 1);
	assert_int_equal(datagram_queue_length(s, 1), 0);
	assert_int_equal(datagram_flush(s, 0, 0), 1);
	assert_int_equal(datagram_timeout(s), -1);
	assert_true(datagram_fd(s) >= 0);
	assert_int_equal(datagram_info(s, 1, &i), 0);
	assert_int_equal(i.state, DATAGRAM_IDLE);
	kit_fini(&k);
}

/* More than memory or a type can hold is refused before a byte is touched. */
static void
test_lengths(void **state)
{
	(void)state;
	struct kit k;
	const size_t huge = (size_t)5 << 30;
	kit_init(&k, 2);
	struct datagram_sock *s = kit_open(&k, 0);
	assert_int_equal(datagram_destination(s, 1), 0);
	FAILS(datagram_write0(s, NULL, huge), EMSGSIZE);
	FAILS(datagram_wait(s, 0, 0, huge, 1), EMSGSIZE);
	FAILS(datagram_write(s, NULL, SIZE_MAX), EMSGSIZE);
	FAILS(datagram_write(s, NULL, DATAGRAM_BLOCK_MAX + 1), EMSGSIZE);
	/* The largest that write0 ever takes, and one byte more. */
	k.conf.write_bytes = 1u << 20;
	k.conf.id = 1;
	k.s[1] = s = datagram_open_with(&k.conf);
	size_t lo = 0, hi = 1u << 20;
	while (lo < hi) {
		size_t mid = (lo + hi + 1) / 2;
		if (datagram_wait(s, 0, 0, mid, 0) == 1)
			lo = mid;
		else
			hi = mid - 1;
	}
	assert_true(lo > 900u << 10 && lo < 1u << 20);
	datagram_destination(s, 0);
	FAILS(datagram_write0(s, buf, lo + 1), EMSGSIZE);
	assert_int_equal(datagram_write0(s, buf, lo), lo);
	FAILS(datagram_write0(s, buf, lo), EAGAIN);
	assert_int_equal(datagram_wait(s, 0, 0, lo, 0), 0);
	kit_fini(&k);
}

static void
test_order(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 3);
	kit_open_all(&k);
	static const size_t len[] = {0, 1, 100, 1400, 1433, 5000, 70000, 4096, 4097, 33, 200000};
	const uint32_t n = 200, lens = sizeof len / sizeof *len;
	uint32_t sent[2] = {0}, got[2] = {0};
	double end = kit_now() + LIMIT_S;
	while (got[0] < n || got[1] < n) {
		if (kit_now() > end)
			fail_msg("sent %u %u, got %u %u, waiting %d %d", sent[0], sent[1], got[0],
				 got[1], (int)datagram_queue_length(k.s[0], 2),
				 (int)datagram_queue_length(k.s[1], 2));
		for (uint32_t i = 0; i < 2; i++)
			if (sent[i] < n &&
			    datagram_wait(k.s[i], 0, 0, len[sent[i] % lens], 2) == 1) {
				write_to(k.s[i], 2, len[sent[i] % lens], sent[i] + i * n);
				sent[i]++;
			}
		kit_progress(&k);
		uint32_t from;
		uint64_t size;
		while (datagram_peek(k.s[2], &from, &size) == 1) {
			assert_int_equal(size, len[got[from] % lens]);
			assert_int_equal(datagram_ready(k.s[2], 0, 0), size);
			read_from(k.s[2], from, size, got[from] + from * n);
			got[from]++;
		}
	}
	KIT_UNTIL(&k, datagram_queue_length(k.s[0], 2) == 0);
	struct datagram_info i;
	assert_int_equal(datagram_info(k.s[2], 1, &i), 0);
	assert_int_equal(i.state, DATAGRAM_UP);
	assert_int_equal(i.read_blocks, n);
	assert_int_equal(i.unread_blocks, 0);
	assert_int_equal(datagram_info(k.s[1], 2, &i), 0);
	assert_int_equal(i.written_blocks, n);
	assert_true(i.delay_us_min <= i.delay_us && i.window > 0 && i.mtu >= 1200);
	assert_int_equal(i.lost_blocks, 0);
	/* Compiled against an older or a newer struct. */
	struct {
		struct datagram_info i;
		uint8_t more[16];
	} wide;
	const size_t less = offsetof(struct datagram_info, delay_us_min);
	memset(&wide, 0xa5, sizeof wide);
	assert_int_equal(datagram_info_sized(k.s[1], 2, &wide.i, less), 0);
	assert_memory_equal(&wide, &i, less);
	assert_int_equal(((uint8_t *)&wide)[less], 0xa5);
	assert_int_equal(datagram_info_sized(k.s[1], 2, &wide.i, sizeof wide), 0);
	assert_int_equal(wide.i.sent_packets, i.sent_packets);
	assert_int_equal(wide.i.received_packets, i.received_packets);
	for (size_t b = 0; b < sizeof wide.more; b++)
		assert_int_equal(wide.more[b], 0);
	kit_fini(&k);
}

static void
test_small_buffer(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 2);
	kit_open_all(&k);
	struct datagram_sock *s = k.s[1];
	write_to(k.s[0], 1, 1000, 1);
	write_to(k.s[0], 1, 0, 2);
	write_to(k.s[0], 1, 5, 3);
	KIT_UNTIL(&k, datagram_ready(s, 0, 0) == 1000);
	FAILS(datagram_read0(s, buf, 999), EMSGSIZE);
	FAILS(datagram_read(s, buf, 999), EMSGSIZE);
	assert_int_equal(datagram_ready(s, 0, 0), 1000); /* it stays */
	read_from(s, 0, 1000, 1);
	/* One of 0 bytes: ready says 0, peek says that it is there. */
	KIT_UNTIL(&k, datagram_peek(s, NULL, NULL) == 1);
	assert_int_equal(datagram_ready(s, 0, 0), 0);
	assert_int_equal(datagram_read(s, NULL, 0), 0);
	KIT_UNTIL(&k, datagram_ready(s, 0, 0) == 5);
	FAILS(datagram_read0(s, NULL, 0), EMSGSIZE);
	read_from(s, 0, 5, 3);
	kit_fini(&k);
}

static void
test_to_ourselves(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 1);
	k.conf.read_bytes = 65536;
	struct datagram_sock *s = kit_open(&k, 0);
	write_to(s, 0, 10, 1);
	write_to(s, 0, 20000, 2);
	assert_int_equal(datagram_ready(s, 0, 0), 10);
	read_from(s, 0, 10, 1);
	FAILS(datagram_write(s, buf, 60000), ENOBUFS);
	FAILS(datagram_write0(s, buf, 60000), EAGAIN);
	read_from(s, 0, 20000, 2);
	assert_int_equal(datagram_queue_length(s, 0), 0);
	kit_fini(&k);
}

static uint64_t
count_of_kind(struct datagram_sock *s, const char *name)
{
	struct datagram_counter c;

	for (unsigned i = 0; datagram_counter(s, i, &c) == 0; i++)
		if (strcmp(c.name, name) == 0)
			return c.value;
	fail_msg("no counter %s", name);
	return 0;
}

/* Strangers' datagrams are counted by what is wrong with them, ours by what they carried. */
static void
test_counters(void **state)
{
	(void)state;
	struct kit k;
	struct datagram_counter c, d;
	unsigned n = 0;
	kit_init(&k, 3); /* a socket with one peer hears nobody else */
	kit_open_all(&k);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(k.port[1])};
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sendto(fd, "?", 1, 0, (struct sockaddr *)&to, sizeof to), 1);
	close(fd);
	KIT_UNTIL(&k, count_of_kind(k.s[1], "suci_drop_short") == 1);
	write_to(k.s[0], 1, 5, 1);
	KIT_UNTIL(&k, datagram_peek(k.s[1], NULL, NULL) == 1);
	read_from(k.s[1], 0, 5, 1);
	assert_int_equal(count_of_kind(k.s[0], "suci_drop_short"), 0);
	assert_int_equal(count_of_kind(k.s[0], "lane_tx_blocks"), 1);
	assert_int_equal(count_of_kind(k.s[1], "lane_rx_blocks"), 1);
	assert_int_equal(count_of_kind(k.s[1], "lane_rx_bytes"), 5);
	assert_true(count_of_kind(k.s[1], "udp_rx_datagrams") > 1);
	for (; datagram_counter(k.s[1], n, &c) == 0; n++) {
		assert_true(c.help[0] != '\0');
		for (unsigned i = 0; i < n; i++)
			if (datagram_counter(k.s[1], i, &d) != 0 || strcmp(c.name, d.name) == 0)
				fail_msg("%s stands there twice", c.name);
	}
	struct datagram_sock *s = k.s[1];
	FAILS(datagram_counter(s, n, &c), ENOENT);
	kit_fini(&k);
}

/* Nobody reads: memory stays within its bound at both ends, and nothing is lost. */
static void
test_back_pressure(void **state)
{
	(void)state;
	struct kit k;
	struct datagram_memory m;
	const uint32_t n = 400;
	const size_t len = 10000;
	uint32_t sent = 0;
	kit_init(&k, 2);
	k.conf.read_bytes = 256u << 10;
	k.conf.write_bytes = 1u << 20;
	k.conf.early_packets = 64;
	kit_open_all(&k);
	struct datagram_sock *s = k.s[0];
	KIT_UNTIL(&k, datagram_wait(s, 0, 0, len, 1) == 1);
	/* As much as goes, then for a while longer. */
	for (double quiet = kit_now() + 0.3; kit_now() < quiet; kit_progress(&k))
		while (sent < n && datagram_wait(s, 0, 0, len, 1) == 1) {
			write_to(s, 1, len, sent++);
			quiet = kit_now() + 0.3;
		}
	assert_true(sent < n);
	FAILS(datagram_write0(s, other, len), EAGAIN);
	assert_int_equal(datagram_wait(s, 0, 1000, len, 1), 0);
	assert_true(datagram_queue_length(s, 1) >= (1 << 20) / 16000);
	for (uint32_t got = 0; got < n;) {
		double end = kit_now() + LIMIT_S;
		while (datagram_ready(k.s[1], 0, 0) == 0) {
			assert_true(kit_now() < end);
			kit_progress(&k);
			while (sent < n && datagram_wait(s, 0, 0, len, 1) == 1)
				write_to(s, 1, len, sent++);
		}
		read_from(k.s[1], 0, len, got++);
		datagram_memory(k.s[1], &m);
		assert_true(m.read_bytes_max <= 256u << 10);
		datagram_memory(s, &m);
		assert_true(m.write_bytes_max <= 1u << 20);
	}
	assert_true(m.write_bytes_max > 900u << 10);
	KIT_UNTIL(&k, datagram_queue_length(s, 1) == 0);
	kit_fini(&k);
}

/* ---- peers that are not there, or not any more ---- */

static void
test_never_there(void **state)
{
	(void)state;
	struct kit k;
	struct datagram_info i;
	kit_init(&k, 2);
	k.conf.connect_ms = 150;
	k.conf.write_bytes = 1u << 20;
	struct datagram_sock *s = kit_open(&k, 0);
	for (int again = 1; again <= 2; again++) {
		write_to(s, 1, 100, 1);
		write_to(s, 1, 100, 2);
		assert_int_equal(datagram_queue_length(s, 1), 2);
		KIT_UNTIL(&k,
			  datagram_info(s, 1, &i) == 0 && i.lost_blocks == 2u * (unsigned)again);
		FAILS(datagram_wait(s, 0, 0, 10, 1), ETIMEDOUT);
		assert_non_null(strstr(datagram_error(s), "id 1 (127.0.0.1:"));
		assert_non_null(strstr(datagram_error(s), "2 blocks to it lost"));
		assert_int_equal(datagram_wait(s, 0, 0, 10, 1), 1); /* told once */
		assert_int_equal(datagram_queue_length(s, 1), 0);
	}
	/* A write that waits for the peer ends with it, too. */
	assert_int_equal(datagram_destination(s, 1), 0);
	FAILS(datagram_write(s, buf, sizeof buf), ETIMEDOUT);
	assert_int_equal(datagram_close(s), 0);
	k.s[0] = NULL;
	kit_fini(&k);
}

static void
test_late_start(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 2);
	kit_open(&k, 0);
	for (uint32_t i = 0; i < 5; i++)
		write_to(k.s[0], 1, 3000, i);
	for (double end = kit_now() + 0.2; kit_now() < end;)
		kit_progress(&k);
	assert_int_equal(datagram_queue_length(k.s[0], 1), 5);
	kit_open(&k, 1);
	for (uint32_t i = 0; i < 5; i++) {
		KIT_UNTIL(&k, datagram_ready(k.s[1], 0, 0) == 3000);
		read_from(k.s[1], 0, 3000, i);
	}
	kit_fini(&k);
}

/* The peer is killed and comes again: its loss is told once, then all is well. */
static void
test_restart(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 2);
	pid_t pid = fork();
	if (!pid) { /* reads one block and is gone without a word */
		struct datagram_sock *s = kit_open(&k, 1);
		_exit(datagram_read(s, buf, sizeof buf) == 100 ? 0 : 1);
	}
	struct datagram_sock *s = kit_open(&k, 0);
	int status, r = 0;
	write_to(s, 1, 100, 1);
	KIT_UNTIL(&k, waitpid(pid, &status, WNOHANG) == pid);
	assert_int_equal(status, 0);
	kit_open(&k, 1);
	write_to(s, 1, 100, 2); /* on the path to the one that is gone */
	KIT_UNTIL(&k,
		  (r = datagram_wait(s, 0, 0, 10, 1)) < 0 || datagram_ready(k.s[1], 0, 0) == 100);
	assert_int_equal(r, -1);
	assert_int_equal(errno, ECONNRESET);
	struct datagram_info i;
	assert_int_equal(datagram_info(s, 1, &i), 0);
	assert_true(i.lost_blocks >= 1 && i.lost_blocks <= 2);
	write_to(s, 1, 100, 3);
	KIT_UNTIL(&k, datagram_ready(k.s[1], 0, 0) == 100);
	read_from(k.s[1], 0, 100, 3);
	kit_fini(&k);
}

/* Who reads nothing from us and has another opinion on who we are. */
static void
test_wrong_database(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 3);
	kit_open(&k, 0);
	struct datagram_db *db = datagram_db_new();
	datagram_db_add(db, 2, "127.0.0.1", k.port[1]);
	datagram_db_add(db, 0, "127.0.0.1", k.port[0]);
	k.conf.db = db;
	k.conf.id = 2;
	k.s[1] = datagram_open_with(&k.conf); /* id 2 where we look for id 1 */
	assert_non_null(k.s[1]);
	datagram_close(k.s[0]);
	k.conf.db = k.db;
	k.conf.connect_ms = 200;
	struct datagram_sock *s = kit_open(&k, 0);
	write_to(s, 1, 10, 1);
	struct datagram_info i;
	KIT_UNTIL(&k, datagram_info(s, 1, &i) == 0 && i.lost_blocks == 1);
	FAILS(datagram_wait(s, 0, 0, 10, 1), ETIMEDOUT);
	assert_non_null(strstr(datagram_error(s), "refuses us: id 2 is here, not id 1"));
	datagram_db_free(db);
	kit_fini(&k);
}

static void
test_from_anywhere(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 1);
	datagram_db_add(k.db, 1, NULL, 0);
	k.n = 2;
	kit_open_all(&k); /* id 1 gets a port from the kernel */
	for (uint32_t round = 0; round < 2; round++) {
		write_to(k.s[1], 0, 50, round);
		KIT_UNTIL(&k, datagram_ready(k.s[0], 0, 0) == 50);
		read_from(k.s[0], 1, 50, round);
		write_to(k.s[0], 1, 60, round);
		KIT_UNTIL(&k, datagram_ready(k.s[1], 0, 0) == 60);
		read_from(k.s[1], 0, 60, round);
		/* It comes again from another port: that is id 1 now. */
		KIT_UNTIL(&k, datagram_queue_length(k.s[0], 1) == 0);
		datagram_close(k.s[1]);
		kit_open(&k, 1);
	}
	kit_fini(&k);
}

static void
test_fork(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 2);
	kit_open_all(&k);
	struct datagram_sock *s = k.s[0];
	write_to(s, 1, 9, 1);
	pid_t pid = fork();
	if (!pid) {
		errno = 0;
		bool good = datagram_ready(s, 0, 0) == -1 && errno == EPERM;
		errno = 0;
		good = good && datagram_write(s, buf, 1) == -1 && errno == EPERM;
		good = good && datagram_close(s) == 0;
		_exit(good ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	KIT_UNTIL(&k, datagram_ready(k.s[1], 0, 0) == 9); /* the child did not say goodbye */
	read_from(k.s[1], 0, 9, 1);
	kit_fini(&k);
}

static void
test_open_errors(void **state)
{
	(void)state;
	struct kit k;
	kit_init(&k, 1);
	struct datagram_conf c = k.conf;
	static const struct {
		const char *what;
		int err;
	} want[] = {{"no db", EINVAL},	{"id", ENOENT},	     {"ip", EINVAL},
		    {"memory", EINVAL}, {"no file", ENOENT}, {"port in use", EADDRINUSE}};
	kit_open(&k, 0);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct datagram_conf bad = c;
		bad.db = i == 0 || i == 4 ? NULL : c.db;
		bad.id = i == 1 ? 5 : 0;
		bad.ip = i == 2 ? "10.0.0" : NULL;
		bad.read_bytes = i == 3 ? 1000 : c.read_bytes;
		bad.db_file = i == 4 ? "/nonexistent/db" : NULL;
		errno = 0;
		assert_null(datagram_open_with(&bad));
		assert_int_equal(errno, want[i].err);
		assert_true(datagram_error(NULL)[0] != 0);
	}
	assert_null(datagram("/nonexistent/db", NULL, 0, 0));
	assert_int_equal(datagram_close(NULL), 0);
	kit_fini(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_there), cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_order),	      cmocka_unit_test(test_small_buffer),
		cmocka_unit_test(test_to_ourselves),  cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_never_there),   cmocka_unit_test(test_late_start),
		cmocka_unit_test(test_restart),	      cmocka_unit_test(test_wrong_database),
		cmocka_unit_test(test_from_anywhere), cmocka_unit_test(test_fork),
		cmocka_unit_test(test_counters),      cmocka_unit_test(test_open_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
