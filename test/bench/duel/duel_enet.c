/* SPDX-License-Identifier: BSD-2-Clause */
/* ENet: reliable packets on one channel, no bandwidth limit, its largest MTU. */
#include "duel.h"

#include <enet/enet.h>
#include <poll.h>
#include <string.h>

#define IN_FLIGHT_MAX (4u << 20)

const char duel_name[] = "enet";
static ENetHost *host;
static ENetPeer *peer;
static ENetPacket *last;
static int up;

static uint64_t queued; /* bytes given to ENet and not yet acknowledged */
/* Arrived and not yet asked for. */
static struct {
	ENetPacket *p[4096];
	uint32_t head, n;
} in;

static void ENET_CALLBACK
gone(ENetPacket *p)
{
	queued -= p->dataLength;
}

static int
turn(void)
{
	ENetEvent e;
	int moved = 0;
	while (in.n < 4096 && enet_host_service(host, &e, 0) > 0) {
		moved = 1;
		if (e.type == ENET_EVENT_TYPE_CONNECT) {
			peer = e.peer;
			up = 1;
		} else if (e.type == ENET_EVENT_TYPE_DISCONNECT) {
			up = -1;
			break;
		} else if (e.type == ENET_EVENT_TYPE_RECEIVE) {
			in.p[(in.head + in.n++) % 4096] = e.packet;
		}
	}
	return moved;
}

static void
nap(int moved, uint64_t *since)
{
	if (moved)
		*since = 0;
	else
		duel_nap(host->socket, POLLIN, since, 1);
}

void
duel_open(int server, const char *ip, size_t most)
{
	ENetAddress a = {.port = duel_port};
	(void)most;
	if (enet_initialize() || enet_address_set_host_ip(&a, ip))
		duel_die("enet");
	host = enet_host_create(server ? &a : NULL, 1, 1, 0, 0);
	if (!host)
		duel_die("enet_host_create");
	uint32_t mtu = duel_mtu - 28;
	host->mtu = mtu > ENET_PROTOCOL_MAXIMUM_MTU ? ENET_PROTOCOL_MAXIMUM_MTU : mtu;
	enet_socket_set_option(host->socket, ENET_SOCKOPT_RCVBUF, 8 << 20);
	enet_socket_set_option(host->socket, ENET_SOCKOPT_SNDBUF, 8 << 20);
	if (server)
		duel_ready();
	else
		peer = enet_host_connect(host, &a, 1, 0);
	uint64_t since = 0, until = duel_now_ns() + 10000000000ull;
	while (!up && duel_now_ns() < until)
		nap(turn(), &since);
	if (up != 1)
		duel_die("connect");
	enet_peer_timeout(peer, 0, 30000, 60000);
}

void
duel_send(const void *bytes, size_t n)
{
	uint64_t since = 0;
	while (queued && queued + n > IN_FLIGHT_MAX)
		nap(turn(), &since);
	ENetPacket *p = enet_packet_create(
		bytes, n, ENET_PACKET_FLAG_RELIABLE | ENET_PACKET_FLAG_NO_ALLOCATE);
	p->freeCallback = gone;
	if (enet_peer_send(peer, 0, p) < 0)
		duel_die("enet_peer_send");
	queued += n;
	enet_host_flush(host);
}

const void *
duel_recv(void *buf, size_t n)
{
	uint64_t since = 0;
	(void)buf;
	while (!in.n) {
		if (up < 0)
			duel_die("disconnected");
		nap(turn(), &since);
	}
	if (last)
		enet_packet_destroy(last);
	last = in.p[in.head];
	in.head = (in.head + 1) % 4096;
	in.n--;
	if (last->dataLength != n)
		duel_die("length");
	return last->data;
}

void
duel_idle(int until)
{
	struct pollfd p = {.fd = until, .events = POLLIN};

	while (poll(&p, 1, 1) == 0)
		(void)turn();
}

void
duel_close(void)
{
	uint64_t until = duel_now_ns() + 2000000000ull, since = 0;
	while (queued && up == 1 && duel_now_ns() < until)
		nap(turn(), &since);
	enet_peer_disconnect_later(peer, 0);
	until = duel_now_ns() + 200000000ull;
	while (up == 1 && duel_now_ns() < until)
		nap(turn(), &since);
	enet_host_destroy(host);
}
