/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting with foreign hosts (IMPI reference 4): who connects to whom, strangers,
 * the address connections come from, time limits; and a host of several processes. */
#include "boot.h"
#include "cmocka_all.h"

#include "base/bytes.h"
#include "impi/hostid.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 120 /* a test that needs longer hangs, on a loaded machine, too */
#define TOKEN	0x1122334455667788u

/* Host 1 is ours, at 127.0.0.2; hosts 0 and 2 are foreign. */
static const uint8_t own_ip[4] = {127, 0, 0, 2};
static const struct suci_addr own_at = {.ip = {[12] = 127, 0, 0, 2}, .family = 4};
static struct lmpi_client peer[3] = {{.foreign = true, .nprocs = 1},
				     {.nprocs = 1, .first_rank = 1},
				     {.foreign = true, .nprocs = 1, .first_rank = 2}};
static uint8_t proc[4][24];
static struct lmpi_job_host host[4] = {{.client = 0}, {.client = 1}, {.client = 2}, {.client = 3}};
static struct lmpi_job job = {.client = 1,
			      .nclients = 3,
			      .nhosts = 3,
			      .nprocs = 3,
			      .peer = peer,
			      .host = host,
			      .proc = proc};

static struct sockaddr_in
address(const uint8_t ip[4], uint16_t port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
	memcpy(&sa.sin_addr, ip, 4);
	return sa;
}

/* --- the foreign hosts, in a thread ------------------------------------------ */

struct foreign {
	_Atomic bool listening; /* port is set */
	uint16_t port;		/* where we listen, as host 1 */
	int low;		/* listening socket of host 0, -1: not there */
	bool late;		/* host 0 begins to listen only after a while */
	bool high;		/* host 2 is there */
	int to_low;		/* result: connection accepted by host 0 */
	uint8_t ident[4];	/* what it was told */
	uint8_t source[4];	/* where it came from */
	int from_high;		/* result: connection of host 2 */
};

static int
connect_and_say(uint16_t port, const void *words, size_t n)
{
	struct sockaddr_in sa = address(own_ip, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	assert_int_equal(send(fd, words, n, MSG_NOSIGNAL), n);
	return fd;
}

static void *
foreign_hosts(void *arg)
{
	struct foreign *f = arg;
	struct timespec nap = {.tv_nsec = 30000000};

	if (f->late) {
		nanosleep(&nap, NULL);
		listen(f->low, 5);
	}
	if (f->high) {
		/* Nobody's, the own rank, one below, one that is not there, half a word. */
		static const uint8_t stranger[][4] = {{'G', 'E', 'T', ' '},
						      {0, 0, 0, 1},
						      {0, 0, 0, 0},
						      {0, 0, 0, 3},
						      {'L', 'M', 'P', 'R'}};
		int fd[8], n = 0;
		for (size_t i = 0; i < 5; i++)
			fd[n++] = connect_and_say(f->port, stranger[i], 4);
		fd[n++] = connect_and_say(f->port, stranger[2], 2);
		f->from_high = connect_and_say(f->port, (uint8_t[]){0, 0, 0}, 3);
		nanosleep(&nap, NULL); /* the identification may come in pieces */
		/* and the first packet right behind it */
		assert_int_equal(send(f->from_high, "\2packet", 7, MSG_NOSIGNAL), 7);
		fd[n++] = connect_and_say(f->port, (uint8_t[]){0, 0, 0, 2}, 4); /* twice */
		nanosleep(&nap, NULL);
		for (int i = 0; i < n; i++)
			close(fd[i]);
	}
	if (f->low >= 0) {
		struct sockaddr_in from;
		socklen_t len = sizeof from;
		f->to_low = accept(f->low, (struct sockaddr *)&from, &len);
		memcpy(f->source, &from.sin_addr, 4);
		assert_int_equal(recv(f->to_low, f->ident, 4, MSG_WAITALL), 4);
	}
	return NULL;
}

static void
set_host(struct lmpi_job_host *h, const uint8_t ip[4], uint16_t port, uint8_t fill)
{
	memset(h->addr, 0, sizeof h->addr);
	h->addr[10] = h->addr[11] = fill;
	memcpy(h->addr + 12, ip, 4);
	h->port = port;
}

/* One dance against f; host_fd and local_fd as lmpi_dance() leaves them. */
static int
dance(struct foreign *f, uint64_t limit_s, int host_fd[3], int *local_fd, uint32_t nlocal)
{
	struct sockaddr_in sa = address((const uint8_t[]){127, 0, 0, 1}, 0);
	socklen_t len = sizeof sa;
	pthread_t thread;

	assert_int_equal(lmpi_dance_listen(&own_at, &f->port), 0);
	atomic_store(&f->listening, true);
	if (f->low >= 0) {
		f->low = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(f->low, (struct sockaddr *)&sa, sizeof sa), 0);
		if (!f->late)
			assert_int_equal(listen(f->low, 5), 0);
		getsockname(f->low, (struct sockaddr *)&sa, &len);
	} else {
		sa.sin_port = htons(1); /* nobody listens there */
	}
	/* LAM/MPI's form of an address, and ours. */
	set_host(&host[0], (const uint8_t[]){127, 0, 0, 1}, ntohs(sa.sin_port), 0);
	set_host(&host[2], (const uint8_t[]){127, 0, 0, 3}, 9, 0xff);
	struct lmpi_dance how = {
		.job = &job, .host = 1, .token = TOKEN, .nlocal = nlocal, .limit_s = limit_s};
	how.at = own_at;
	f->to_low = f->from_high = -1;
	assert_int_equal(pthread_create(&thread, NULL, foreign_hosts, f), 0);
	int rc = lmpi_dance(&how, host_fd, local_fd);
	pthread_join(thread, NULL);
	lmpi_dance_unlisten();
	return rc;
}

static void
end(struct foreign *f, const int host_fd[3])
{
	int all[] = {f->low, f->to_low, f->from_high, host_fd[0], host_fd[1], host_fd[2]};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i] >= 0)
			close(all[i]);
	}
}

static void
partners_and_strangers(void **state)
{
	struct foreign f = {.low = 0, .late = true, .high = true};
	int fd[3];
	char b[8] = {0};

	(void)state;
	assert_int_equal(dance(&f, LIMIT_S, fd, NULL, 0), 0);
	assert_true(fd[0] >= 0 && fd[1] < 0 && fd[2] >= 0);
	/* We told our rank, from the address that we announce. */
	assert_memory_equal(f.ident, "\0\0\0\1", 4);
	assert_memory_equal(f.source, own_ip, 4);
	/* Of what came behind the identification not a byte is lost. */
	assert_int_equal(recv(fd[2], b, sizeof b, 0), 6);
	assert_string_equal(b, "packet");
	end(&f, fd);
}

static void
somebody_does_not_come(void **state)
{
	struct foreign f = {.low = 0}, g = {.low = -1, .high = true};
	int fd[3];

	(void)state;
	assert_int_not_equal(dance(&f, 1, fd, NULL, 0), 0);
	end(&f, fd);
	assert_int_not_equal(dance(&g, 1, fd, NULL, 0), 0);
	end(&g, fd);
}

/* 127.0.1.1 of a host that is elsewhere is not waited for. */
static void
loopback_of_a_remote_host(void **state)
{
	struct lmpi_dance how = {.job = &job,
				 .host = 1,
				 .at = suci_addr_v4((const uint8_t[]){10, 0, 0, 1}, 0),
				 .limit_s = 60};
	time_t begin = time(NULL);
	int fd[3];

	(void)state;
	set_host(&host[0], (const uint8_t[]){10, 0, 0, 2}, 1, 0);
	for (uint8_t fill = 0; fill < 2; fill++) {
		set_host(&host[2], (const uint8_t[]){127, 0, 1, 1}, 9, fill ? 0xff : 0);
		assert_int_not_equal(lmpi_dance(&how, fd, NULL), 0);
	}
	assert_true(time(NULL) - begin < 30);
}

/* A foreign client behind somebody's relay has no channel with us. */
static void
relayed_client_is_left_alone(void **state)
{
	struct lmpi_client four[4] = {peer[0], peer[1], peer[2], {.nprocs = 1, .first_rank = 3}};
	struct lmpi_job all = job;
	struct impi_hostid id = {
		.token = 1, .kind = IMPI_HOSTID_RELAY_FOREIGN, .port = 1, .ipv4 = 1};
	struct lmpi_dance how = {.job = &all, .host = 3, .limit_s = 1};
	int fd[4];
	uint16_t port;

	(void)state;
	/* Seen from host 3, if hosts 0 and 2 are such clients, and host 1 libmpi. */
	impi_hostid_encode(&id, proc[0]);
	impi_hostid_encode(&id, proc[2]);
	all.nclients = all.nhosts = all.nprocs = 4;
	all.peer = four;
	assert_int_equal(lmpi_dance_listen(&own_at, &port), 0);
	assert_int_equal(lmpi_dance(&how, fd, NULL), 0);
	lmpi_dance_unlisten();
	for (int h = 0; h < 4; h++)
		assert_int_equal(fd[h], -1);
	memset(proc, 0, sizeof proc);
}

/* --- a host of several processes ---------------------------------------------- */

static struct foreign *local_of;

/* -1: closed. */
static int
next_byte(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t c;

	assert_int_equal(poll(&p, 1, LIMIT_S * 1000), 1);
	return recv(fd, &c, 1, 0) == 1 ? c : -1;
}

static void *
processes(void *arg)
{
	int *fd = arg;

	/* Another job's, one too high; then the right ones. */
	assert_int_equal(lmpi_dance_join(&own_at, local_of->port, TOKEN + 1, 1, &fd[0]), 0);
	assert_int_equal(lmpi_dance_join(&own_at, local_of->port, TOKEN, 3, &fd[1]), 0);
	assert_int_equal(lmpi_dance_join(&own_at, local_of->port, TOKEN, 2, &fd[2]), 0);
	assert_int_equal(lmpi_dance_join(&own_at, local_of->port, TOKEN, 1, &fd[3]), 0);
	return NULL;
}

static void *
processes_when_it_listens(void *arg)
{
	struct timespec nap = {.tv_nsec = 20000000};

	while (!atomic_load(&local_of->listening))
		nanosleep(&nap, NULL);
	return processes(arg);
}

static void
processes_of_one_host(void **state)
{
	struct foreign f = {.low = 0, .high = true};
	int fd[3], local[3] = {99, -1, -1}, theirs[4];
	pthread_t thread;

	(void)state;
	local_of = &f;
	assert_int_equal(pthread_create(&thread, NULL, processes_when_it_listens, theirs), 0);
	assert_int_equal(dance(&f, LIMIT_S, fd, local, 3), 0);
	pthread_join(thread, NULL);
	assert_int_equal(local[0], 99); /* was there before */
	assert_int_equal(send(theirs[2], "2", 1, 0), 1);
	assert_int_equal(next_byte(local[2]), '2');
	assert_int_equal(send(theirs[3], "1", 1, 0), 1);
	assert_int_equal(next_byte(local[1]), '1');
	/* The strangers among them were closed. */
	assert_int_equal(next_byte(theirs[0]), -1);
	assert_int_equal(next_byte(theirs[1]), -1);
	for (int i = 0; i < 4; i++)
		close(theirs[i]);
	close(local[1]);
	close(local[2]);
	end(&f, fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(partners_and_strangers),
		cmocka_unit_test(loopback_of_a_remote_host),
		cmocka_unit_test(somebody_does_not_come),
		cmocka_unit_test(relayed_client_is_left_alone),
		cmocka_unit_test(processes_of_one_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
