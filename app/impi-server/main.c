/* SPDX-License-Identifier: BSD-2-Clause */
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

#include "driver/aead.h"
#include "driver/pidfile.h"
#include "driver/secrets.h"
#include "base/version.h"
#include "serve.h"

#define EXIT_USAGE 2

static const char usage_text[] =
	"usage: impi-server -server N [options]\n"
	"  -server N         number of clients of the job, 1..32\n"
	"  -port P           TCP port (default: any free one)\n"
	"  -port-range N:M   the first free port from N to M; default: what the environment\n"
	"                    says, IMPI_SERVER_PORT_RANGE=N:M\n"
	"  -auth METHOD      none (0) or key (1); repeatable, or 0,1; default: what the\n"
	"                    environment enables: IMPI_AUTH_NONE=1, IMPI_AUTH_KEY=<decimal "
	"number>\n"
	"  -host ADDR        IPv4 or IPv6 address to listen on, [..] around it allowed\n"
	"                    (default: all); also --bind\n"
	"  --allow PREFIX    take connections from these addresses only, like 192.0.2.0/24;\n"
	"                    repeatable, or several with commas between (default: from anywhere)\n"
	"  --key-file FILE   pre-shared keys of relays whose impi.server_sealing is on, as in "
	"their\n"
	"                    sealing.key_file; other connections are closed then\n"
	"  --clear-too       with --key-file: connections in clear are served as well\n"
	"  --persist         serve one job after another until a signal comes; the clients of\n"
	"                    the next job wait until the one before has ended\n"
	"  --timeout S       seconds a connection may take to name itself, or between bytes of\n"
	"                    a command (default 30)\n"
	"  --startup-timeout S  seconds in which start-up, once all clients are here, has to get\n"
	"                    on by a step; 0 = for ever (default 300)\n"
	"  --loss-grace S    when a client was lost while the job ran: seconds the others may\n"
	"                    take to end by themselves before they are cut off (default 5)\n"
	"  --label-bytes B   largest amount of waiting label values per client\n"
	"                    (default 67108864)\n"
	"  --pidfile PATH    write the process id there; refuse to start twice\n"
	"  -v, --verbose     log every connection\n"
	"  -h, --help        this text\n"
	"  --version\n"
	"Prints ADDRESS:PORT on stdout.  Exit: 0 finished, 1 job failed, 2 could not start.\n"
	"With --persist: 0 if stopped between jobs, whatever they came to.\n";

struct options {
	struct serve_options serve;
	const char *pidfile;
	const char *key_file;
	char host[INET6_ADDRSTRLEN + 20]; /* with a scope; "" = all addresses */
	bool port_given;
	uint16_t port, port_last; /* port_last > port: a range */
	uint32_t auth_wanted;	  /* mask of -auth, 0 = by environment */
};

static bool
impi_server_number(const char *name, const char *text, long long min, long long max, long long *out)
{
	const char *why = NULL;
	*out = strtonum(text, min, max, &why);
	if (why)
		serve_log("-%s %s: %s (allowed: %lld to %lld)", name, text, why, min, max);
	return !why;
}

/* One method, or several with commas between. */
static bool
auth_words(const char *words, uint32_t *mask)
{
	char copy[32], *rest = copy, *word;
	if ((size_t)snprintf(copy, sizeof copy, "%s", words) >= sizeof copy)
		copy[0] = 0;
	while ((word = strsep(&rest, ","))) {
		if (!strcmp(word, "none") || !strcmp(word, "0")) {
			*mask |= IMPI_AUTH_MASK_NONE;
		} else if (!strcmp(word, "key") || !strcmp(word, "1")) {
			*mask |= IMPI_AUTH_MASK_KEY;
		} else {
			serve_log("-auth %s: not a method; use none (0) or key (1)", words);
			return false;
		}
	}
	return true;
}

/* "N:M"; from: what the user called it. */
static bool
port_range(const char *from, const char *text, struct options *o)
{
	char copy[32], *rest = copy;
	long long low, high;
	const char *why = NULL;
	bool fits = (size_t)snprintf(copy, sizeof copy, "%s", text) < sizeof copy;
	const char *first = strsep(&rest, ":");
	if (fits && rest) {
		low = strtonum(first, 1, 65535, &why);
		high = why ? 0 : strtonum(rest, 1, 65535, &why);
		if (!why && low <= high) {
			o->port = (uint16_t)low;
			o->port_last = (uint16_t)high;
			return true;
		}
	}
	serve_log("%s %s: not a range of ports; wanted is N:M, 1 <= N <= M <= 65535", from, text);
	return false;
}

/* An address without the brackets it may have. */
static bool
host_word(const char *text, struct options *o)
{
	size_t len = strlen(text);
	bool brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
	if (len == 0 || len >= sizeof o->host) {
		serve_log("-host %s: an IPv4 or IPv6 address is wanted", text);
		return false;
	}
	snprintf(o->host, sizeof o->host, "%.*s", (int)(brackets ? len - 2 : len),
		 brackets ? text + 1 : text);
	return true;
}

static bool
take_option(int c, struct options *o)
{
	struct impi_server_config *cfg = &o->serve.server;
	long long n = 0;
	bool ok = true;

	switch (c) {
	case 's':
		ok = impi_server_number("server", optarg, 1, IMPI_CLIENTS_MAX, &n);
		cfg->nclients = (uint32_t)n;
		break;
	case 'p':
		ok = impi_server_number("port", optarg, 0, 65535, &n);
		o->port = o->port_last = (uint16_t)n;
		o->port_given = true;
		break;
	case 'r':
		ok = port_range("-port-range", optarg, o);
		o->port_given = true;
		break;
	case 'a':
		ok = auth_words(optarg, &o->auth_wanted);
		break;
	case 'b':
		ok = host_word(optarg, o);
		break;
	case 'A':
		ok = base_prefixes_add(&o->serve.allow, optarg);
		if (!ok)
			serve_log("--allow %s: wanted are up to %u prefixes like 192.0.2.0/24 or "
				  "2001:db8::/32, with commas between",
				  optarg, BASE_PREFIXES_MAX);
		break;
	case 'k':
		o->key_file = optarg;
		break;
	case 'c':
		o->serve.door.clear_too = true;
		break;
	case 'P':
		o->serve.one_after_another = true;
		break;
	case 't':
		ok = impi_server_number("-timeout", optarg, 1, 86400, &n);
		cfg->join_timeout_ns = (uint64_t)n * 1000000000u;
		break;
	case 'T':
		ok = impi_server_number("-startup-timeout", optarg, 0, 86400, &n);
		cfg->startup_timeout_ns = (uint64_t)n * 1000000000u;
		break;
	case 'g':
		ok = impi_server_number("-loss-grace", optarg, 0, 86400, &n);
		cfg->loss_grace_ns = (uint64_t)n * 1000000000u;
		break;
	case 'l':
		ok = impi_server_number("-label-bytes", optarg, 64, IMPI_CMD_BYTES_MAX, &n);
		cfg->store_bytes = (size_t)n;
		break;
	case 'f':
		o->pidfile = optarg;
		break;
	case 'v':
		o->serve.verbose = true;
		break;
	default: /* getopt has said what it is */
		fputs("impi-server --help lists the options\n", stderr);
		ok = false;
	}
	return ok;
}

/* 0 go on, else exit status + 1. */
static int
parse_impi_server(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{"server", required_argument, NULL, 's'},
		{"port", required_argument, NULL, 'p'},
		{"port-range", required_argument, NULL, 'r'},
		{"auth", required_argument, NULL, 'a'},
		{"bind", required_argument, NULL, 'b'},
		{"host", required_argument, NULL, 'b'},
		{"allow", required_argument, NULL, 'A'},
		{"key-file", required_argument, NULL, 'k'},
		{"clear-too", no_argument, NULL, 'c'},
		{"persist", no_argument, NULL, 'P'},
		{"timeout", required_argument, NULL, 't'},
		{"startup-timeout", required_argument, NULL, 'T'},
		{"loss-grace", required_argument, NULL, 'g'},
		{"label-bytes", required_argument, NULL, 'l'},
		{"pidfile", required_argument, NULL, 'f'},
		{"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;
	while ((c = getopt_long_only(argc, argv, "vh", opts, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			return 1;
		}
		if (c == 'V') {
			puts("impi-server " BASE_VERSION);
			return 1;
		}
		if (!take_option(c, o))
			return EXIT_USAGE + 1;
	}
	if (optind < argc) {
		serve_log("unexpected argument '%s'", argv[optind]);
		return EXIT_USAGE + 1;
	}
	if (!o->serve.server.nclients) {
		fputs("impi-server: -server N is needed, the number of clients\n"
		      "impi-server --help lists the options\n",
		      stderr);
		return EXIT_USAGE + 1;
	}
	const char *range = getenv("IMPI_SERVER_PORT_RANGE");
	if (!o->port_given && range && !port_range("IMPI_SERVER_PORT_RANGE", range, o))
		return EXIT_USAGE + 1;
	return 0;
}

static bool
choose_auth(struct options *o)
{
	struct impi_error err = {0};
	struct impi_auth *auth = &o->serve.server.auth;
	char text[64];
	const char *none = getenv("IMPI_AUTH_NONE"), *key = getenv("IMPI_AUTH_KEY") ? text : NULL;

	if (key && !process_take_env("IMPI_AUTH_KEY", text, sizeof text))
		strlcpy(text, "too long", sizeof text);

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
	bool ok = impi_auth_from_env(auth, none, key, &err) == IMPI_ERR_OK;
	explicit_bzero(text, sizeof text);
	if (ok)
		return true;
	serve_log("%s%s", err.text, key ? "" : " (or -auth none)");
	return false;
}

/* The keys of sealed connections, if there are to be any. */
static bool
load_impi_server_keys(struct options *o)
{
	struct seal_link_conf *k = &o->serve.door.keys;
	char why[SEAL_TEXT];

	if (!o->key_file && o->serve.door.clear_too)
		serve_log("--clear-too: without --key-file all connections are in clear");
	if (!o->key_file)
		return !o->serve.door.clear_too;
	*k = (struct seal_link_conf){.crypto = seal_aes256gcm(), .purpose = SEAL_LINK_IMPI};
	if (!k->crypto) {
		serve_log("--key-file: the AES library cannot be used on this machine");
		return false;
	}
	int n = seal_psk_load(o->key_file, k->key, why);
	if (n < 0)
		serve_log("--key-file %s: %s", o->key_file, why);
	k->nkeys = n < 0 ? 0 : (uint32_t)n;
	return n > 0;
}

/* SIGHUP: connections from now on have the keys that are in the file now, if it is good. */
static void
read_keys_again(void *user)
{
	struct options *o = user;
	struct seal_psk key[SEAL_PSK_MAX];
	char why[SEAL_TEXT];
	int n;

	if (!o->key_file) {
		serve_log("SIGHUP: without --key-file there is nothing to read again");
		return;
	}
	n = seal_psk_load(o->key_file, key, why);
	if (n > 0) {
		memcpy(o->serve.door.keys.key, key, sizeof key);
		o->serve.door.keys.nkeys = (uint32_t)n;
		serve_log("SIGHUP: %d key%s from %s", n, n == 1 ? "" : "s", o->key_file);
	} else {
		serve_log("SIGHUP: --key-file %s: %s; the keys stay as they are", o->key_file, why);
	}
	explicit_bzero(key, sizeof key);
}

/* The keys, where nobody else sees them. */
static bool
keep_secrets(struct options *o)
{
	if (!process_hide())
		serve_log("core files cannot be forbidden: %s", strerror(errno));
	if (!process_keep(o, sizeof *o) && o->serve.verbose)
		serve_log("keys may be swapped out: %s (ulimit -l)", strerror(errno));
	return choose_auth(o) && load_impi_server_keys(o);
}

static bool
take_pidfile(const struct options *o, struct process_pidfile *pid)
{
	char why[300];

	if (!o->pidfile || process_pidfile_open(pid, o->pidfile, why, sizeof why) == 0)
		return true;
	serve_log("--%s", why);
	return false;
}

static int
listen_on_impi_server(const struct addrinfo *ai, bool any)
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

/* Is the user's word for all addresses? */
static bool
is_any(const struct options *o)
{
	return o->host[0] == 0 || !strcmp(o->host, "::") || !strcmp(o->host, "0.0.0.0");
}

/* -1, with errno, if this port cannot be had.  -2: said already why. */
static int
listen_at_impi_server(const struct options *o, const char *addr, uint16_t port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *ai;
	char port_text[8];

	snprintf(port_text, sizeof port_text, "%u", port);
	int e = getaddrinfo(addr, port_text, &hints, &ai);
	if (e != 0) {
		serve_log("-host %s: %s (an IPv4 or IPv6 address is wanted)", addr,
			  gai_strerror(e));
		return -2;
	}
	int fd = listen_on_impi_server(ai, is_any(o));
	int saved = errno;
	freeaddrinfo(ai);
	errno = saved;
	return fd;
}

/* All addresses: one IPv6 socket that takes IPv4 as well; IPv4 alone where there is
 * no IPv6. */
static int
open_listener(const struct options *o)
{
	for (uint32_t port = o->port; port <= o->port_last; port++) {
		int fd = listen_at_impi_server(o, o->host[0] ? o->host : "::", (uint16_t)port);
		if (fd == -1 && !o->host[0] && errno != EADDRINUSE)
			fd = listen_at_impi_server(o, "0.0.0.0", (uint16_t)port);
		if (fd >= 0 || fd == -2)
			return fd;
		if (errno != EADDRINUSE)
			break;
	}
	const char *where = o->host[0] ? o->host : "any address";
	if (o->port_last > o->port && errno == EADDRINUSE)
		serve_log("cannot listen on %s: every port of %u:%u is in use", where, o->port,
			  o->port_last);
	else
		serve_log("cannot listen on %s port %u: %s", where, o->port, strerror(errno));
	return -1;
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
	char addr[sizeof o->host];
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
	if (is_any(o))
		own_address(addr, sizeof addr);
	else
		snprintf(addr, sizeof addr, "%s", o->host);
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
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int
main(int argc, char **argv)
{
	struct options o = {
		.serve.server = {.join_timeout_ns = 30000000000u,
				 .startup_timeout_ns = 300000000000u,
				 .loss_grace_ns = 5000000000u,
				 .store_bytes = IMPI_CMD_BYTES_MAX,
				 .tx_bytes = 65536},
	};
	o.serve.again = read_keys_again;
	o.serve.user = &o;
	struct process_pidfile pid = {.fd = -1};
	enum serve_result result = SERVE_BROKEN;

	int e = parse_impi_server(argc, argv, &o);
	if (e)
		return e - 1;
	if (!keep_secrets(&o) || !take_pidfile(&o, &pid)) {
		explicit_bzero(&o, sizeof o);
		return EXIT_USAGE;
	}
	int signal_fd = signals();
	int listen_fd = open_listener(&o);
	if (signal_fd >= 0 && listen_fd >= 0) {
		print_address(listen_fd, &o);
		do
			result = serve_job(&o.serve, listen_fd, signal_fd);
		while (o.serve.one_after_another &&
		       (result == SERVE_COMPLETE || result == SERVE_FAILED));
	}
	if (listen_fd >= 0)
		close(listen_fd);
	if (signal_fd >= 0)
		close(signal_fd);
	process_pidfile_remove(&pid);
	explicit_bzero(&o, sizeof o);
	if (result == SERVE_BROKEN)
		return EXIT_USAGE;
	return result == SERVE_COMPLETE || result == SERVE_IDLE_STOP ? 0 : 1;
}
