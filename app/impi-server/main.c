/* impi-server - the rendezvous server of an IMPI 0.0 job.
 *
 * Prints "address:port" on stdout, logs on stderr.  Exit status: 0 all clients
 * finished (or stopped by a signal while nobody had joined), 1 the job failed,
 * 2 wrong arguments or nothing to serve with. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libutil.h>

#include "serve.h"

#define EXIT_USAGE 2

static const char usage_text[] =
	"usage: impi-server -server N [options]\n"
	"  -server N         number of clients of the job, 1..32\n"
	"  -port P           TCP port (default: any free one)\n"
	"  -auth METHOD      none (0) or key (1); repeatable; default: what the environment\n"
	"                    enables: IMPI_AUTH_NONE=1, IMPI_AUTH_KEY=<decimal number>\n"
	"  --bind ADDR       IPv4 or IPv6 address to listen on (default: all)\n"
	"  --persist         serve one job after another until a signal comes\n"
	"  --timeout S       seconds a connection may take to name itself (default 30)\n"
	"  --label-bytes B   largest amount of waiting label values per client\n"
	"                    (default 67108864)\n"
	"  --pidfile PATH    write the process id there; refuse to start twice\n"
	"  -v, --verbose     log every connection\n"
	"  -h, --help        this text\n"
	"Prints ADDRESS:PORT on stdout.  Exit: 0 finished, 1 job failed, 2 could not start.\n";

struct options {
	struct serve_options serve;
	bool persist;
	const char *bind, *pidfile;
	uint16_t port;
	uint32_t auth_wanted; /* mask of -auth, 0 = by environment */
};

static bool
number(const char *name, const char *text, long long min, long long max, long long *out)
{
	const char *why = NULL;
	*out = strtonum(text, min, max, &why);
	if (why)
		serve_log("-%s %s: %s (allowed: %lld to %lld)", name, text, why, min, max);
	return !why;
}

static bool
auth_word(const char *word, uint32_t *mask)
{
	if (!strcmp(word, "none") || !strcmp(word, "0"))
		*mask |= IMPI_AUTH_MASK_NONE;
	else if (!strcmp(word, "key") || !strcmp(word, "1"))
		*mask |= IMPI_AUTH_MASK_KEY;
	else {
		serve_log("-auth %s: not a method; use none (0) or key (1)", word);
		return false;
	}
	return true;
}

/* 0 go on, else exit status + 1. */
static int
parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{"server", required_argument, NULL, 's'},
		{"port", required_argument, NULL, 'p'},
		{"auth", required_argument, NULL, 'a'},
		{"bind", required_argument, NULL, 'b'},
		{"persist", no_argument, NULL, 'P'},
		{"timeout", required_argument, NULL, 't'},
		{"label-bytes", required_argument, NULL, 'l'},
		{"pidfile", required_argument, NULL, 'f'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	long long n;
	int c;
	while ((c = getopt_long_only(argc, argv, "vh", opts, NULL)) != -1) {
		bool ok = true;
		switch (c) {
		case 's':
			ok = number("server", optarg, 1, IMPI_CLIENTS_MAX, &n);
			o->serve.server.nclients = ok ? (uint32_t)n : 0;
			break;
		case 'p':
			ok = number("port", optarg, 0, 65535, &n);
			o->port = ok ? (uint16_t)n : 0;
			break;
		case 'a':
			ok = auth_word(optarg, &o->auth_wanted);
			break;
		case 'b':
			o->bind = optarg;
			break;
		case 'P':
			o->persist = true;
			break;
		case 't':
			ok = number("-timeout", optarg, 1, 86400, &n);
			o->serve.server.join_timeout_ns = ok ? (uint64_t)n * 1000000000u : 0;
			break;
		case 'l':
			ok = number("-label-bytes", optarg, 64, IMPI_CMD_BYTES_MAX, &n);
			o->serve.server.store_bytes = ok ? (size_t)n : 0;
			break;
		case 'f':
			o->pidfile = optarg;
			break;
		case 'v':
			o->serve.verbose = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 1;
		default:
			ok = false;
		}
		if (!ok)
			return EXIT_USAGE + 1;
	}
	if (optind < argc) {
		serve_log("unexpected argument '%s'", argv[optind]);
		return EXIT_USAGE + 1;
	}
	if (!o->serve.server.nclients) {
		fputs(usage_text, stderr);
		return EXIT_USAGE + 1;
	}
	return 0;
}

static bool
choose_auth(struct options *o)
{
	struct impi_error err = {0};
	struct impi_auth *auth = &o->serve.server.auth;
	const char *none = getenv("IMPI_AUTH_NONE"), *key = getenv("IMPI_AUTH_KEY");

	if (o->auth_wanted) {
		none = o->auth_wanted & IMPI_AUTH_MASK_NONE ? "1" : NULL;
		if (!(o->auth_wanted & IMPI_AUTH_MASK_KEY)) {
			key = NULL;
		} else if (!key) {
			serve_log("-auth key: set IMPI_AUTH_KEY to the key of the job, a decimal "
				  "number");
			return false;
		}
	}
	if (impi_auth_from_env(auth, none, key, &err) == IMPI_ERR_OK)
		return true;
	serve_log("%s%s", err.text, key ? "" : " (or -auth none)");
	return false;
}

static int
listen_on(const struct addrinfo *ai, bool any)
{
	int on = 1, off = 0;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (ai->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, any ? &off : &on, sizeof on);
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, 128) == 0)
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Default: one IPv6 socket that takes IPv4 as well; IPv4 alone where there is no IPv6. */
static int
open_listener(const struct options *o)
{
	static const char *const any[] = {"::", "0.0.0.0"};
	char port[8];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	int fd = -1;

	snprintf(port, sizeof port, "%u", o->port);
	for (int i = 0; i < 2 && fd < 0; i++) {
		struct addrinfo *ai;
		const char *addr = o->bind ? o->bind : any[i];
		int e = getaddrinfo(addr, port, &hints, &ai);
		if (e != 0) {
			serve_log("--bind %s: %s (an IPv4 or IPv6 address is wanted)", addr,
				  gai_strerror(e));
			return -1;
		}
		fd = listen_on(ai, !o->bind);
		freeaddrinfo(ai);
		if (o->bind)
			break;
		if (fd < 0 && errno == EADDRINUSE)
			break;
	}
	if (fd < 0)
		serve_log("cannot listen on %s port %u: %s", o->bind ? o->bind : "any address",
			  o->port, strerror(errno));
	return fd;
}

/* An address others can use, for when we listen on all of them. */
static void
own_address(char *out, size_t cap)
{
	struct ifaddrs *list, *i;
	snprintf(out, cap, "127.0.0.1");
	if (getifaddrs(&list) != 0)
		return;
	for (i = list; i; i = i->ifa_next) {
		struct sockaddr_in sin;
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
			continue;
		memcpy(&sin, i->ifa_addr, sizeof sin);
		inet_ntop(AF_INET, &sin.sin_addr, out, (socklen_t)cap);
		break;
	}
	freeifaddrs(list);
}

static void
print_address(int fd, const struct options *o)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof ss;
	char addr[INET6_ADDRSTRLEN];
	uint16_t port;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) != 0)
		return;
	if (ss.ss_family == AF_INET6) {
		struct sockaddr_in6 sin6;
		memcpy(&sin6, &ss, sizeof sin6);
		port = ntohs(sin6.sin6_port);
	} else {
		struct sockaddr_in sin;
		memcpy(&sin, &ss, sizeof sin);
		port = ntohs(sin.sin_port);
	}
	if (o->bind && strcmp(o->bind, "::") != 0 && strcmp(o->bind, "0.0.0.0") != 0)
		snprintf(addr, sizeof addr, "%s", o->bind);
	else
		own_address(addr, sizeof addr);
	printf(strchr(addr, ':') ? "[%s]:%u\n" : "%s:%u\n", addr, port);
	fflush(stdout);
}

static int
signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int
main(int argc, char **argv)
{
	struct options o = {
		.serve.server = {.join_timeout_ns = 30000000000u,
				 .store_bytes = IMPI_CMD_BYTES_MAX,
				 .tx_bytes = 65536},
	};
	struct pidfh *pid = NULL;
	enum serve_result result = SERVE_BROKEN;
	pid_t other = 0;

	int e = parse(argc, argv, &o);
	if (e)
		return e - 1;
	if (!choose_auth(&o))
		return EXIT_USAGE;
	if (o.pidfile && !(pid = pidfile_open(o.pidfile, 0644, &other))) {
		if (errno == EEXIST)
			serve_log("already running as process %d (%s)", (int)other, o.pidfile);
		else
			serve_log("%s: %s", o.pidfile, strerror(errno));
		return EXIT_USAGE;
	}
	int signal_fd = signals();
	int listen_fd = open_listener(&o);
	if (signal_fd >= 0 && listen_fd >= 0) {
		if (pid)
			pidfile_write(pid);
		print_address(listen_fd, &o);
		do
			result = serve_job(&o.serve, listen_fd, signal_fd);
		while (o.persist && (result == SERVE_COMPLETE || result == SERVE_FAILED));
	}
	if (listen_fd >= 0)
		close(listen_fd);
	if (signal_fd >= 0)
		close(signal_fd);
	if (pid)
		pidfile_remove(pid);
	explicit_bzero(&o, sizeof o);
	if (result == SERVE_BROKEN)
		return EXIT_USAGE;
	return result == SERVE_COMPLETE || result == SERVE_IDLE_STOP ? 0 : 1;
}
