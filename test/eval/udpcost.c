/* SPDX-License-Identifier: BSD-2-Clause */
/* udpcost - what the kernel costs a node per datagram, in processor time (test/eval/calibrate).
 *
 *   udpcost [ROUNDS]    prints "send_ns receive_ns"
 *
 * Two UDP sockets on the loopback interface, in one thread: batches of 32 datagrams of 1472 bytes
 * by sendmmsg(), then taken by recvmmsg() with the sender's address, as driver/udp does without
 * segmentation offload.  On loopback the sender's call also does the receiver's
 * softirq work, so the two together are what is meaningful.  Best of the rounds. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#define BATCH 32
#define BYTES 1472
#define TURNS 500

static _Noreturn void
die(const char *what)
{
	perror(what);
	exit(1);
}

static int
udp(struct sockaddr_in *at)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0), size = 4 << 20;
	socklen_t len = sizeof *at;
	*at = (struct sockaddr_in){.sin_family = AF_INET};
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s < 0 || bind(s, (struct sockaddr *)at, sizeof *at) ||
	    getsockname(s, (struct sockaddr *)at, &len) ||
	    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof size))
		die("socket");
	return s;
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int
main(int argc, char **argv)
{
	static uint8_t bytes[BATCH][BYTES];
	struct sockaddr_in at[2], from[BATCH];
	struct mmsghdr m[BATCH];
	struct iovec v[BATCH];
	int rounds = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 20;
	int a = udp(&at[0]), b = udp(&at[1]);
	double best[2] = {1e9, 1e9};
	memset(m, 0, sizeof m);
	for (int i = 0; i < BATCH; i++) {
		v[i] = (struct iovec){bytes[i], BYTES};
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	for (int r = 0; r < rounds; r++) {
		uint64_t spent[2] = {0};
		for (int k = 0; k < TURNS; k++) {
			for (int i = 0; i < BATCH; i++) {
				m[i].msg_hdr.msg_name = &at[1];
				m[i].msg_hdr.msg_namelen = sizeof at[1];
			}
			uint64_t t0 = cpu_ns();
			if (sendmmsg(a, m, BATCH, 0) != BATCH)
				die("sendmmsg");
			uint64_t t1 = cpu_ns();
			for (int i = 0; i < BATCH; i++) {
				m[i].msg_hdr.msg_name = &from[i];
				m[i].msg_hdr.msg_namelen = sizeof from[i];
			}
			if (recvmmsg(b, m, BATCH, MSG_DONTWAIT, NULL) != BATCH)
				die("recvmmsg");
			spent[0] += t1 - t0;
			spent[1] += cpu_ns() - t1;
		}
		for (int i = 0; i < 2; i++) {
			double ns = (double)spent[i] / (TURNS * BATCH);
			best[i] = ns < best[i] ? ns : best[i];
		}
	}
	printf("%.1f %.1f\n", best[0], best[1]);
	return 0;
}
