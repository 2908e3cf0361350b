/* SPDX-License-Identifier: BSD-2-Clause */
/* SRT in file mode: no TSBPD, no message boundaries, FileCC, large windows.  It waits in its
 * own threads. */
#include "duel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <srt/srt.h>
#include <stdbool.h>
#include <unistd.h>

const char duel_name[] = "srt";
static SRTSOCKET sock;

static SRTSOCKET
make(void)
{
	SRTSOCKET s = srt_create_socket();
	int file = SRTT_FILE, fc = 65536, buf = 64 << 20, kbuf = 8 << 20, mss = (int)duel_mtu;

	/* It knows no longer packets. */
	mss = mss > 1500 ? 1500 : mss;
	bool messages = false;
	srt_setsockflag(s, SRTO_TRANSTYPE, &file, sizeof file);
	srt_setsockflag(s, SRTO_MESSAGEAPI, &messages, sizeof messages);
	srt_setsockflag(s, SRTO_MSS, &mss, sizeof mss);
	srt_setsockflag(s, SRTO_FC, &fc, sizeof fc);
	srt_setsockflag(s, SRTO_SNDBUF, &buf, sizeof buf);
	srt_setsockflag(s, SRTO_RCVBUF, &buf, sizeof buf);
	srt_setsockflag(s, SRTO_UDP_SNDBUF, &kbuf, sizeof kbuf);
	srt_setsockflag(s, SRTO_UDP_RCVBUF, &kbuf, sizeof kbuf);
	return s;
}

void
duel_open(int server, const char *ip, size_t most)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(duel_port)};
	(void)most;
	inet_pton(AF_INET, ip, &a.sin_addr);
	srt_startup();
	sock = make();
	if (server) {
		if (srt_bind(sock, (struct sockaddr *)&a, sizeof a) == SRT_ERROR ||
		    srt_listen(sock, 1) == SRT_ERROR)
			duel_die(srt_getlasterror_str());
		duel_ready();
		sock = srt_accept(sock, NULL, NULL);
		if (sock == SRT_INVALID_SOCK)
			duel_die(srt_getlasterror_str());
		return;
	}
	for (int i = 0; srt_connect(sock, (struct sockaddr *)&a, sizeof a) == SRT_ERROR; i++) {
		if (i == 5)
			duel_die(srt_getlasterror_str());
		srt_close(sock);
		usleep(100000);
		sock = make();
	}
}

void
duel_send(const void *bytes, size_t n)
{
	const char *p = bytes;
	while (n) {
		int want = n > (1u << 30) ? 1 << 30 : (int)n;
		int r = srt_send(sock, p, want);
		if (r == SRT_ERROR)
			duel_die(srt_getlasterror_str());
		p += r;
		n -= (size_t)r;
	}
}

const void *
duel_recv(void *buf, size_t n)
{
	for (size_t have = 0; have < n;) {
		size_t left = n - have;
		int want = left > (1u << 30) ? 1 << 30 : (int)left;
		int r = srt_recv(sock, (char *)buf + have, want);
		if (r == SRT_ERROR)
			duel_die(srt_getlasterror_str());
		have += (size_t)r;
	}
	return buf;
}

void
duel_idle(int until)
{
	struct pollfd p = {until, POLLIN, 0};

	(void)poll(&p, 1, -1);
}

void
duel_close(void)
{
	usleep(300000); /* file mode lingers, but not for the last small message */
	srt_close(sock);
	srt_cleanup();
}
