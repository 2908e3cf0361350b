/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_Comm_join over sockets as they come: dead ones, files, who says something else or goes away
 * half-way.  Other threads go on while one waits for the other end.  Who has connected to a port
 * may close it, which changes nothing.
 *
 * The other process is a copy of this program without a launcher's marks. */
#include "other.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *self;

/* ---- wrong ones ---- */

/* Of fd, which is closed then. */
static void
join_fails(int fd, const char *says)
{
	MPI_Comm inter = MPI_COMM_WORLD;

	CHECK(check_says(MPI_Comm_join(fd, &inter), MPI_ERR_OTHER, says));
	CHECK(inter == MPI_COMM_NULL);
	if (fd >= 0)
		close(fd);
}

static void
join_no_sockets(void)
{
	int ends[2];

	join_fails(-1, "socket -1");
	join_fails(open("/dev/null", O_RDWR), "is not connected");
	CHECK(pipe(ends) == 0);
	close(ends[0]);
	join_fails(ends[1], "is not connected");
	join_fails(socket(AF_INET, SOCK_STREAM, 0), "is not connected");
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
	join_fails(ends[0], "SOCK_STREAM");
	close(ends[1]);
}

/* The other end says n bytes of text, and leaves or stays. */
static void
join_what_says(const char *text, size_t n, bool leaves, const char *says)
{
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(send(ends[1], text, n, 0) == (ssize_t)n);
	if (leaves)
		close(ends[1]);
	join_fails(ends[0], says);
	if (!leaves)
		close(ends[1]);
}

static void
join_no_process(void)
{
	static char name[MPI_MAX_PORT_NAME] = "HTTP/1.0 200 OK\r\n\r\n";

	join_what_says(name, 0, true, "is not connected");
	join_what_says(name, 3, false, "is not what MPI_Comm_join says");
	join_what_says(name, sizeof(name), false, "is not what MPI_Comm_join says");
	/* It comes behind all names of ports: this one is to accept.  Before: to connect. */
	snprintf(name, sizeof(name), "door:~");
	join_what_says(name, sizeof(name), true, "");
	snprintf(name, sizeof(name), "door:+");
	join_what_says(name, sizeof(name), true, "");
}

/* It leaves while this one waits for the rest of its name, or for it to come. */
struct leaver {
	int fd;
	size_t says;
};

static void *
say_and_leave(void *arg)
{
	static const char name[MPI_MAX_PORT_NAME] = "door:~";
	const struct leaver *l = arg;

	CHECK(send(l->fd, name, l->says, 0) == (ssize_t)l->says);
	usleep(200000);
	close(l->fd);
	return NULL;
}

static void
join_who_leaves(size_t says)
{
	int ends[2];
	pthread_t other;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	struct leaver l = {ends[1], says};
	pthread_create(&other, NULL, say_and_leave, &l);
	join_fails(ends[0], "has gone");
	pthread_join(other, NULL);
}

/* ---- right ones ---- */

static void
talk(MPI_Comm inter, bool high)
{
	int mine = high, theirs = -1;

	MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
	CHECK(theirs == !high);
	MPI_Comm_disconnect(&inter);
}

static void *
join_by(void *arg)
{
	MPI_Comm inter;
	bool joined = MPI_Comm_join(*(int *)arg, &inter) == MPI_SUCCESS;

	CHECK(joined);
	if (joined)
		talk(inter, false);
	else
		shutdown(*(int *)arg, SHUT_RDWR); /* else the other one waits */
	return NULL;
}

/* The other end comes to its call after a message of this process that joins. */
static void
threads_go_on(bool waits)
{
	char number[16];
	int ends[2], word = 0;
	pthread_t joiner;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	if (!waits)
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pthread_create(&joiner, NULL, join_by, &ends[0]);
	usleep(200000);
	MPI_Sendrecv(&check_size, 1, MPI_INT, 0, 0, &word, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
		     MPI_STATUS_IGNORE);
	CHECK(word == check_size);
	snprintf(number, sizeof(number), "%d", ends[1]);
	pid_t pid = start_other(self, "join", number);
	pthread_join(joiner, NULL);
	await_other(pid);
	close(ends[0]);
	close(ends[1]);
}

static void
closed_by_others(void)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm inter;

	CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
	pid_t pid = start_other(self, "client", port);
	for (int i = 0; i < 2; i++) {
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
		talk(inter, false);
	}
	await_other(pid);
	CHECK(MPI_Close_port(port) == MPI_SUCCESS);
	CHECK(check_says(MPI_Close_port(port), MPI_ERR_PORT, "closed"));
}

static int
be_other(const char *what, const char *arg)
{
	MPI_Comm inter;

	if (strcmp(what, "join") == 0) {
		CHECK(MPI_Comm_join((int)strtol(arg, NULL, 10), &inter) == MPI_SUCCESS);
		talk(inter, true);
	} else {
		for (int i = 0; i < 2; i++) {
			MPI_Comm_connect(arg, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
			CHECK(MPI_Close_port(arg) == MPI_SUCCESS);
			talk(inter, true);
		}
	}
	MPI_Finalize();
	return check_failed != 0;
}

int
main(int argc, char **argv)
{
	self = argv[0];
	start_threaded(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (argc > 2)
		return be_other(argv[1], argv[2]);
	if (check_rank == 0) {
		join_no_sockets();
		join_no_process();
		join_who_leaves(100);
		join_who_leaves(MPI_MAX_PORT_NAME);
		threads_go_on(true);
		threads_go_on(false);
		closed_by_others();
	}
	return finish();
}
