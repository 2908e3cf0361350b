/* relayctl - asks a running relayd on its DPDK telemetry socket.
 *
 * The socket is SOCK_SEQPACKET: on connection it sends a greeting with the longest
 * answer it gives; a request is "/relayd/paths,16"; the answer is one JSON object
 * whose only member has the request's name.  Lists come in parts, "next" says
 * where to go on. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <bsd/string.h>

#define RUNTIME_DIR "/var/run/dpdk"
#define SOCKET_NAME "dpdk_telemetry.v2"
#define ANSWER_MAX  65536
#define COLUMNS_MAX 16

static const char usage[] =
	"usage: relayctl [-s SOCKET-OR-PREFIX] [--json] COMMAND\n"
	"  status   who the relay is, load, buffers, custody\n"
	"  jobs     jobs now running\n"
	"  paths    paths to local processes and remote relays\n"
	"  gateway  the gateway to foreign hosts: counters, memory, then its channels\n"
	"  drops    drop counters that are not zero, by name\n"
	"-s   eal.file_prefix of the relay, or the path of its telemetry socket; may be left\n"
	"     out if one relay runs on this machine\n";

static char answer[ANSWER_MAX + 1];

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("relayctl: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static int
try_connect(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	if (strlcpy(sun.sun_path, path, sizeof sun.sun_path) >= sizeof sun.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	struct timeval wait = {.tv_sec = 3};
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	if (connect(fd, (struct sockaddr *)&sun, sizeof sun) == 0)
		return fd;
	int err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* One answer as JSON; NULL after errno or text in why. */
static json_t *
receive(int fd, char *why, size_t why_max)
{
	ssize_t n = recv(fd, answer, ANSWER_MAX, 0);
	if (n <= 0) {
		snprintf(why, why_max, "%s",
			 n == 0		   ? "it closed the connection"
			 : errno == EAGAIN ? "no answer within 3 s"
					   : strerror(errno));
		return NULL;
	}
	json_error_t err;
	json_t *v = json_loadb(answer, (size_t)n, 0, &err);
	if (!v)
		snprintf(why, why_max, "its answer is not JSON: %.100s", err.text);
	return v;
}

/* What "/relayd/..." answers, NULL if this is no relayd. */
static json_t *
ask(int fd, const char *request, char *why, size_t why_max)
{
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) {
		snprintf(why, why_max, "%s", strerror(errno));
		return NULL;
	}
	json_t *v = receive(fd, why, why_max);
	if (!v)
		return NULL;
	/* The member is called like the command, without its parameter. */
	char name[64];
	strlcpy(name, request, sizeof name);
	name[strcspn(name, ",")] = '\0';
	json_t *body = json_incref(json_object_get(v, name));
	json_decref(v);
	if (!json_is_object(body)) {
		snprintf(why, why_max, "it does not know %s, or did not answer in time", name);
		json_decref(body);
		return NULL;
	}
	return body;
}

static int
greet(int fd, char *why, size_t why_max)
{
	json_t *hello = receive(fd, why, why_max);
	json_decref(hello);
	return hello ? 0 : -1;
}

/* The only DPDK process under RUNTIME_DIR that knows /relayd/info. */
static int
find_only(void)
{
	DIR *d = opendir(RUNTIME_DIR);
	char found[64] = "", why[200];
	int fd = -1;
	struct dirent *e;
	while (d && (e = readdir(d))) {
		char path[512];
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof path, RUNTIME_DIR "/%s/" SOCKET_NAME, e->d_name);
		int f = try_connect(path);
		if (f < 0)
			continue;
		json_t *info =
			greet(f, why, sizeof why) ? NULL : ask(f, "/relayd/info", why, sizeof why);
		if (!info) {
			close(f);
			continue;
		}
		json_decref(info);
		if (fd >= 0)
			die("several relays run here (%s, %s); choose with -s", found, e->d_name);
		fd = f;
		strlcpy(found, e->d_name, sizeof found);
	}
	if (d)
		closedir(d);
	if (fd < 0)
		die("no relay runs here (none found under " RUNTIME_DIR "); are you root?");
	return fd;
}

static int
open_relay(const char *name)
{
	char path[512], why[200];
	if (!name)
		return find_only();
	if (strchr(name, '/'))
		strlcpy(path, name, sizeof path);
	else
		snprintf(path, sizeof path, RUNTIME_DIR "/%s/" SOCKET_NAME, name);
	int fd = try_connect(path);
	if (fd < 0)
		die("%s: %s%s", path, strerror(errno),
		    errno == ENOENT ? "; is relayd running with that file_prefix?" : "");
	if (greet(fd, why, sizeof why))
		die("%s: %s", path, why);
	return fd;
}

/* All parts of a list: an array of row objects. */
static json_t *
ask_rows(int fd, const char *what)
{
	json_t *all = json_array();
	json_int_t first = 0;
	for (;;) {
		char request[64], why[200];
		snprintf(request, sizeof request, "/relayd/%s,%lld", what, (long long)first);
		json_t *part = ask(fd, request, why, sizeof why);
		if (!part)
			die("%s", why);
		json_t *rows = json_object_get(part, what), *row, *next;
		const char *key;
		json_object_foreach(rows, key, row) json_array_append(all, row);
		next = json_object_get(part, "next");
		json_int_t at = json_integer_value(next);
		bool more = json_is_integer(next) && at > first;
		first = at;
		json_decref(part);
		if (!more)
			return all;
	}
}

static void
print_json(json_t *v)
{
	json_dumpf(v, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
	putchar('\n');
}

static void
text_of(const json_t *v, char *out, size_t max)
{
	if (json_is_string(v))
		strlcpy(out, json_string_value(v), max);
	else if (json_is_integer(v))
		snprintf(out, max, "%lld", (long long)json_integer_value(v));
	else
		strlcpy(out, "-", max);
}

/* Columns of the keys, as wide as their widest value; numbers to the right. */
static void
print_table(json_t *rows, const char *const *keys)
{
	size_t width[COLUMNS_MAX], i;
	char text[128];
	json_t *row;
	for (size_t k = 0; keys[k]; k++) {
		width[k] = strlen(keys[k]);
		json_array_foreach(rows, i, row)
		{
			text_of(json_object_get(row, keys[k]), text, sizeof text);
			if (strlen(text) > width[k])
				width[k] = strlen(text);
		}
	}
	for (size_t k = 0; keys[k]; k++)
		printf("%s%*s", k ? "  " : "", (int)width[k], keys[k]);
	putchar('\n');
	json_array_foreach(rows, i, row)
	{
		for (size_t k = 0; keys[k]; k++) {
			const json_t *v = json_object_get(row, keys[k]);
			text_of(v, text, sizeof text);
			printf(json_is_string(v) ? "%s%-*s" : "%s%*s", k ? "  " : "", (int)width[k],
			       text);
		}
		putchar('\n');
	}
}

static void
print_pairs(json_t *v)
{
	size_t width = 0;
	const char *key;
	json_t *val;
	char text[128];
	json_object_foreach(v, key, val) if (strlen(key) > width) width = strlen(key);
	json_object_foreach(v, key, val)
	{
		text_of(val, text, sizeof text);
		printf("%-*s  %s\n", (int)width, key, text);
	}
}

static void
list(int fd, const char *what, const char *const *keys, bool json)
{
	json_t *rows = ask_rows(fd, what);
	if (json)
		print_json(rows);
	else if (json_array_size(rows))
		print_table(rows, keys);
	else
		printf("no %s\n", what);
	json_decref(rows);
}

static void
pairs(int fd, const char *what, bool json)
{
	char request[64], why[200];
	snprintf(request, sizeof request, "/relayd/%s", what);
	json_t *v = ask(fd, request, why, sizeof why);
	if (!v)
		die("%s", why);
	if (json)
		print_json(v);
	else if (json_object_size(v))
		print_pairs(v);
	else
		printf("no %s\n", what);
	json_decref(v);
}

/* Both answers; as JSON one object. */
static void
show_gateway(int fd, const char *const *keys, bool json)
{
	char why[200];
	json_t *v = ask(fd, "/relayd/gateway", why, sizeof why);
	if (!v)
		die("%s", why);
	json_t *rows = ask_rows(fd, "channels");
	if (json) {
		json_object_set_new(v, "channel", rows);
		print_json(v);
	} else {
		print_pairs(v);
		if (json_array_size(rows)) {
			putchar('\n');
			print_table(rows, keys);
		}
		json_decref(rows);
	}
	json_decref(v);
}

int
main(int argc, char **argv)
{
	static const char *const path_keys[] = {
		"path",	       "kind", "peer",	    "state",  "job",	     "rank",
		"rtt_us",      "cwnd", "in_flight", "queued", "tx_segments", "retransmits",
		"rx_segments", "held", "dropped",   NULL,
	};
	static const char *const job_keys[] = {
		"job",	    "client",	  "clients", "processes", "local",
		"local_up", "local_left", "trunks",  "trunks_up", "rx_segments",
		"rx_bytes", "age_ms",	  NULL,
	};
	static const char *const channel_keys[] = {
		"channel",    "label_base",   "state",	    "local",  "remote", "rx_packets",
		"tx_packets", "queued_bytes", "held_bytes", "paused", NULL,
	};
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *name = NULL;
	bool json = false;
	int c;
	while ((c = getopt_long(argc, argv, "s:h", options, NULL)) != -1) {
		if (c == 's') {
			name = optarg;
		} else if (c == 'j') {
			json = true;
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	const char *command = optind + 1 == argc ? argv[optind] : "";
	bool rows = strcmp(command, "paths") == 0 || strcmp(command, "jobs") == 0;
	bool gateway = strcmp(command, "gateway") == 0;
	if (!rows && !gateway && strcmp(command, "status") != 0 && strcmp(command, "drops") != 0) {
		fputs(usage, stderr);
		return 2;
	}
	int fd = open_relay(name);
	if (gateway)
		show_gateway(fd, channel_keys, json);
	else if (rows)
		list(fd, command, *command == 'p' ? path_keys : job_keys, json);
	else
		pairs(fd, *command == 's' ? "info" : "drops", json);
	close(fd);
	return fflush(stdout) ? 1 : 0;
}
