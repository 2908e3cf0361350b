/* SPDX-License-Identifier: BSD-2-Clause */
// UDT 4: stream sockets, MSS of the interface, windows and buffers far above what a
// veth needs.  It waits in its own threads.
#include "duel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <udt/udt.h>
#include <unistd.h>

extern const char duel_name[] = "udt";
static UDTSOCKET sock;

static UDTSOCKET
make(void)
{
	UDTSOCKET s = UDT::socket(AF_INET, SOCK_STREAM, 0);
	int mss = (int)duel_mtu, fc = 65536, buf = 64 << 20, kbuf = 8 << 20;
	UDT::setsockopt(s, 0, UDT_MSS, &mss, sizeof mss);
	UDT::setsockopt(s, 0, UDT_FC, &fc, sizeof fc);
	UDT::setsockopt(s, 0, UDT_SNDBUF, &buf, sizeof buf);
	UDT::setsockopt(s, 0, UDT_RCVBUF, &buf, sizeof buf);
	UDT::setsockopt(s, 0, UDP_SNDBUF, &kbuf, sizeof kbuf);
	UDT::setsockopt(s, 0, UDP_RCVBUF, &kbuf, sizeof kbuf);
	return s;
}

void
duel_open(int server, const char *ip, size_t most)
{
	struct sockaddr_in a = {};
	(void)most;
	a.sin_family = AF_INET;
	a.sin_port = htons(duel_port);
	inet_pton(AF_INET, ip, &a.sin_addr);
	UDT::startup();
	sock = make();
	if (server) {
		if (UDT::bind(sock, (struct sockaddr *)&a, sizeof a) == UDT::ERROR ||
		    UDT::listen(sock, 1) == UDT::ERROR)
			duel_die(UDT::getlasterror().getErrorMessage());
		duel_ready();
		struct sockaddr_in from;
		int len = sizeof from;
		sock = UDT::accept(sock, (struct sockaddr *)&from, &len);
		if (sock == UDT::INVALID_SOCK)
			duel_die(UDT::getlasterror().getErrorMessage());
		return;
	}
	for (int i = 0; UDT::connect(sock, (struct sockaddr *)&a, sizeof a) == UDT::ERROR; i++) {
		if (i == 5)
			duel_die(UDT::getlasterror().getErrorMessage());
		UDT::close(sock);
		usleep(100000);
		sock = make();
	}
}

void
duel_send(const void *bytes, size_t n)
{
	const char *p = (const char *)bytes;
	while (n) {
		int want = n > (1u << 30) ? 1 << 30 : (int)n;
		int r = UDT::send(sock, p, want, 0);
		if (r == UDT::ERROR)
			duel_die(UDT::getlasterror().getErrorMessage());
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
		int r = UDT::recv(sock, (char *)buf + have, want, 0);
		if (r == UDT::ERROR)
			duel_die(UDT::getlasterror().getErrorMessage());
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
	UDT::close(sock); // lingers
	UDT::cleanup();
}
