/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet switch of a host with several processes: routing, flow control ahead of
 * data, one slow side that does not stop the others, FINI. */
#include "cmocka_all.h"
#include "impi/link.h"
#include "quick_ack_kit.h"
#include "transport.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATALEN 50000u
#define LIMIT	10000 /* ms */

/* Hosts 0 and 2 are foreign with ranks 0 and 3, 4; host 1 is ours with ranks 1, 2. */
enum { HOSTS = 3, PROCS = 5 };
static uint8_t id[PROCS][24];
static const uint32_t host_of[PROCS] = {0, 1, 1, 2, 2};
static int far_end[HOSTS], near_end[2]; /* the other ends of the switch's sockets */

/* of_host: makes the connections to foreign hosts. */
static int
start_switch(void (*of_host)(int pair[2]))
{
	static const char name[HOSTS][LMPI_HOST_NAME] = {"host 0", "", "host 2"};
	int host_fd[HOSTS], local_fd[2], pair[2];

	for (uint8_t r = 0; r < PROCS; r++)
		memset(id[r], 0x20 + r, sizeof id[r]);
	for (int h = 0; h < HOSTS; h++) {
		host_fd[h] = far_end[h] = -1;
		if (h == 1)
			continue;
		of_host(pair);
		host_fd[h] = pair[0];
		far_end[h] = pair[1];
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		local_fd[i] = pair[0];
		near_end[i] = pair[1];
	}
	struct lmpi_switch_conf conf = {.nhosts = HOSTS,
					.host_fd = host_fd,
					.host_name = name,
					.nlocal = 2,
					.first_rank = 1,
					.local_fd = local_fd,
					.nprocs = PROCS,
					.id = (const uint8_t(*)[24])id,
					.host_of = host_of,
					.datalen = DATALEN,
					.hiwater = 20};
	return lmpi_switch_start(&conf);
}

static void
pair_in_memory(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
}

static int
set_up(void **state)
{
	(void)state;
	return start_switch(pair_in_memory);
}

static void
give(int fd, uint32_t type, uint32_t from, uint32_t to, uint32_t len, uint64_t srqid)
{
	static uint8_t b[IMPI_PACKET_BYTES + DATALEN];
	struct impi_packet p = {.type = type,
				.len = len,
				.msglen = len,
				.srqid = srqid,
				.src = impi_proc_decode(id[from]),
				.dest = impi_proc_decode(id[to])};

	impi_packet_encode(&p, b);
	for (uint32_t i = 0; i < len; i++)
		b[IMPI_PACKET_BYTES + i] = (uint8_t)(srqid + i);
	size_t n = IMPI_PACKET_BYTES + impi_packet_payload_bytes(&p);
	assert_int_equal(send(fd, b, n, MSG_NOSIGNAL), n);
}

static void
give_fini(int fd)
{
	uint8_t b[IMPI_PACKET_BYTES];

	impi_link_fini_packet(b);
	assert_int_equal(send(fd, b, sizeof b, MSG_NOSIGNAL), sizeof b);
}

/* The next packet, whole and unchanged. */
static struct impi_packet
get(int fd)
{
	static uint8_t b[DATALEN];
	struct pollfd w = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&w, 1, LIMIT), 1);
	assert_int_equal(recv(fd, b, IMPI_PACKET_BYTES, MSG_WAITALL), IMPI_PACKET_BYTES);
	struct impi_packet p = impi_packet_decode(b);
	uint32_t n = impi_packet_payload_bytes(&p);
	if (n)
		assert_int_equal(recv(fd, b, n, MSG_WAITALL), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(b[i], (uint8_t)(p.srqid + i));
	return p;
}

static void
expect(int fd, uint32_t type, uint32_t from, uint64_t srqid)
{
	struct impi_packet p = get(fd);
	struct impi_proc src = impi_proc_decode(id[from]);

	assert_int_equal(p.type, type);
	assert_int_equal(impi_proc_cmp(&p.src, &src), 0);
	assert_int_equal(p.srqid, srqid);
}

static bool
silent(int fd)
{
	struct pollfd w = {.fd = fd, .events = POLLIN};
	return poll(&w, 1, 50) == 0;
}

/* FINI from all, in an order in which none may come out early. */
static void
finish(void)
{
	give_fini(near_end[0]);
	give_fini(far_end[2]);
	assert_true(silent(far_end[0]) && silent(far_end[2]));
	give_fini(near_end[1]);
	assert_int_equal(get(far_end[0]).type, IMPI_PK_FINI);
	assert_int_equal(get(far_end[2]).type, IMPI_PK_FINI);
	assert_true(silent(near_end[0]) && silent(near_end[1]));
	give_fini(far_end[0]);
	assert_int_equal(get(near_end[0]).type, IMPI_PK_FINI);
	assert_int_equal(get(near_end[1]).type, IMPI_PK_FINI);
	lmpi_switch_join();
	for (int h = 0; h < HOSTS; h++) {
		if (far_end[h] >= 0)
			close(far_end[h]);
	}
	close(near_end[0]);
	close(near_end[1]);
}

static void
routes(void **state)
{
	(void)state;
	give(near_end[0], IMPI_PK_DATA, 1, 0, 10, 1);
	give(near_end[0], IMPI_PK_DATASYNC, 1, 4, DATALEN, 2);
	give(near_end[1], IMPI_PK_SYNCACK, 2, 3, 0, 3);
	expect(far_end[0], IMPI_PK_DATA, 1, 1);
	expect(far_end[2], IMPI_PK_DATASYNC, 1, 2);
	expect(far_end[2], IMPI_PK_SYNCACK, 2, 3);
	give(far_end[2], IMPI_PK_DATA, 3, 1, 10, 4);
	give(far_end[2], IMPI_PK_DATA, 4, 2, 0, 5);
	give(far_end[0], IMPI_PK_CANCEL, 0, 2, 128, 6); /* LAM's length: no payload follows */
	give(far_end[0], IMPI_PK_DATA, 0, 1, DATALEN, 7);
	expect(near_end[0], IMPI_PK_DATA, 3, 4);
	expect(near_end[0], IMPI_PK_DATA, 0, 7);
	for (int i = 0; i < 2; i++) {
		struct impi_packet p = get(near_end[1]);
		assert_true((p.type == IMPI_PK_DATA && p.srqid == 5) ||
			    (p.type == IMPI_PK_CANCEL && p.srqid == 6));
	}
	finish();
}

/* Rank 1 does not read.  What is for it waits, and stops nobody; PROTOACK overtakes. */
static void
one_process_computes(void **state)
{
	enum { PACKETS = 20 };
	(void)state;
	for (uint64_t k = 0; k < PACKETS; k++) {
		give(far_end[2], IMPI_PK_DATA, 3, 1, DATALEN, k);
		give(far_end[2], IMPI_PK_DATA, 4, 2, 100, k);
		expect(near_end[1], IMPI_PK_DATA, 4, k);
	}
	give(far_end[0], IMPI_PK_PROTOACK, 0, 1, 0, 0);
	/* The switch has it when a packet sent after it has come through. */
	give(far_end[0], IMPI_PK_DATA, 0, 2, 0, 1);
	expect(near_end[1], IMPI_PK_DATA, 0, 1);
	uint64_t next = 0;
	for (int i = 0; i < PACKETS + 1; i++) {
		struct impi_packet p = get(near_end[0]);
		if (p.type == IMPI_PK_PROTOACK)
			assert_true(next < PACKETS);
		else
			assert_int_equal(p.srqid, next++);
	}
	assert_int_equal(next, PACKETS);
	finish();
}

/* Data that waits for a slow host goes before our FINI to it. */
static void
a_slow_host_at_the_end(void **state)
{
	enum { PACKETS = 20 };
	(void)state;
	for (uint64_t k = 0; k < PACKETS; k++)
		give(near_end[0], IMPI_PK_DATA, 1, 0, DATALEN, k);
	give_fini(near_end[0]);
	give_fini(near_end[1]);
	assert_int_equal(get(far_end[2]).type, IMPI_PK_FINI);
	give_fini(far_end[2]);
	for (uint64_t k = 0; k < PACKETS; k++)
		expect(far_end[0], IMPI_PK_DATA, 1, k);
	assert_int_equal(get(far_end[0]).type, IMPI_PK_FINI);
	give_fini(far_end[0]);
	close(far_end[0]); /* at once: it has said and heard FINI */
	far_end[0] = -1;
	assert_int_equal(get(near_end[0]).type, IMPI_PK_FINI);
	assert_int_equal(get(near_end[1]).type, IMPI_PK_FINI);
	lmpi_switch_join();
	close(far_end[2]);
	close(near_end[0]);
	close(near_end[1]);
	assert_false(lmpi_failing());
}

/* As test_lmpi_tcp has it for one process: header and payload of a foreign host come apart. */
static void
a_header_alone_is_acknowledged_at_once(void **state)
{
	uint8_t b[IMPI_PACKET_BYTES + 8] = {0};
	struct impi_packet p = {.type = IMPI_PK_DATA, .len = 8, .msglen = 8};
	int quick = 0;

	(void)state;
	assert_int_equal(start_switch(quick_tcp_pair), 0);
	p.src = impi_proc_decode(id[0]);
	p.dest = impi_proc_decode(id[1]);
	impi_packet_encode(&p, b);
	for (uint8_t i = 0; i < 8; i++)
		b[IMPI_PACKET_BYTES + i] = i;
	for (int i = 0; i < QUICK_ROUNDS; i++) {
		assert_int_equal(send(far_end[0], b, IMPI_PACKET_BYTES, 0), IMPI_PACKET_BYTES);
		quick += quick_acknowledged(far_end[0]);
		assert_int_equal(send(far_end[0], b + IMPI_PACKET_BYTES, 8, 0), 8);
		expect(near_end[0], IMPI_PK_DATA, 0, 0);
		/* who answers is taken for somebody whose answers acknowledge */
		give(near_end[0], IMPI_PK_DATA, 1, 0, 8, 0);
		expect(far_end[0], IMPI_PK_DATA, 1, 0);
	}
	finish();
	if (quick < QUICK_ENOUGH)
		fail_msg("%d of %d headers were acknowledged at once", quick, QUICK_ROUNDS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(routes, set_up),
		cmocka_unit_test_setup(one_process_computes, set_up),
		cmocka_unit_test_setup(a_slow_host_at_the_end, set_up),
		cmocka_unit_test(a_header_alone_is_acknowledged_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
