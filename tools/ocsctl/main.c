/* SPDX-License-Identifier: BSD-2-Clause */
/* ocsctl - speak to an optical switch by hand, with the drivers of relayd. */
#include "ocsctl.h"

#include "base/clock.h"
#include "base/version.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage_text[] =
	"usage: ocsctl -P PROTOCOL -a ADDRESS [options] COMMAND\n"
	"\n"
	"  show                 what the switch is and which circuits it has\n"
	"  set IN:OUT...        set circuits\n"
	"  clear IN:OUT...      remove circuits\n"
	"  move IN:OUT...       set circuits; what is in their way on these ingress ports goes "
	"first\n"
	"  power [i|o]PORT...   light at ingress (i) or egress (o) ports, in dBm\n"
	"  keep IN:OUT...       keep exactly these on our own ports (-o) until interrupted, or for "
	"-t\n"
	"  churn                for -t seconds: circuits at random on our own ports; then compare\n"
	"\n"
	"  -P, --protocol NAME  tl1-polatis tl1-calient tl1-glimmerglass scpi openflow netconf\n"
	"  -a, --address ADDR   HOST[:PORT]; openflow: listen:HOST[:PORT]; netconf: exec:COMMAND\n"
	"  -c, --credentials F  file: user on the first line, password on the second; mode 600\n"
	"  -n, --ports N        ports of the switch, each way (16)\n"
	"  -N, --names FILE     tl1-calient: names of the ports, one a line\n"
	"  -m, --models DIR     netconf: keep the server's models there\n"
	"  -o, --own A-B,C...   ports that are ours (all): others are never touched\n"
	"  -e, --extra-ms MS    hold additions back for so long, dark\n"
	"  -r, --revert-s S     with set, clear, move: revert unless confirmed (netconf with "
	"confirmed-commit)\n"
	"  -A, --atomic         with set, clear, move: all or nothing\n"
	"  -t, --seconds S      for keep, churn; how long to wait for a session otherwise (10)\n"
	"  -s, --seed N         for churn\n"
	"\n"
	"Ports count from 0, ingress and egress apart; doc/optical.md has what they are called on\n"
	"the switches.  Exit status: 0 all done, 1 something was refused, 2 no session.\n";

volatile bool stopped;
static bool changing; /* circuits are results of a change, not what was read */

uint64_t
clock_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * BASE_S_NS + (uint64_t)ts.tv_nsec;
}

static void
on_ocsctl_signal(int sig)
{
	(void)sig;
	stopped = true;
}

void
turn_until(struct ocs_driver *d, uint64_t at_ns)
{
	struct pollfd p = {.fd = ocs_driver_fd(d), .events = POLLIN};
	uint64_t now = clock_now(), end = base_min_ns(at_ns, ocs_driver_expiry_ns(d));
	if (end > now) {
		uint64_t ns = base_min_ns(end - now, BASE_S_NS);
		struct timespec ts = {.tv_sec = (time_t)(ns / BASE_S_NS),
				      .tv_nsec = (long)(ns % BASE_S_NS)};
		ppoll(&p, 1, &ts, NULL);
	}
	ocs_driver_turn(d, clock_now());
}

/* ---- asking by hand ---- */

static bool
wait_up(struct ocs_driver *d, const char *address, uint64_t seconds)
{
	uint64_t end = base_add_ns(clock_now(), seconds * BASE_S_NS);
	struct ocs_event ev;
	while (!stopped && clock_now() < end) {
		turn_until(d, end);
		while (ocs_driver_switch(d)->ops->next(ocs_driver_switch(d), &ev)) {
			if (ev.kind == OCS_EVENT_UP)
				return true;
			if (ev.kind == OCS_EVENT_DOWN)
				warnx("%s%s%s", ocs_strerror(ev.err), ev.text[0] ? ": " : "",
				      ev.text);
		}
	}
	warnx("no session with the switch at %s%s%s", address, *ocs_driver_trouble(d) ? ": " : "",
	      ocs_driver_trouble(d));
	return false;
}

static void
print_event(const struct ocs_event *ev)
{
	static const char *const shown[] = {"settling", "steady", "dark"};
	switch (ev->kind) {
	case OCS_EVENT_IDENTITY:
		printf("%s %s %s, %u x %u ports;", ev->identity->vendor, ev->identity->model,
		       ev->identity->version, ev->identity->ingress, ev->identity->egress);
		for (uint32_t bit = 0; bit < 32; bit++)
			if (ev->identity->caps & 1u << bit)
				printf(" %s", ocs_cap_name(1u << bit));
		printf("\n");
		break;
	case OCS_EVENT_POWER:
		if (ev->dbm_hundredths == OCS_NO_POWER)
			printf("%c%u -\n", ev->ingress ? 'i' : 'o', ev->port);
		else
			printf("%c%u %.2f dBm\n", ev->ingress ? 'i' : 'o', ev->port,
			       ev->dbm_hundredths / 100.0);
		break;
	case OCS_EVENT_CIRCUIT:
		if (ev->err)
			printf("%u:%u %s%s%s\n", ev->in, ev->out, ocs_strerror(ev->err),
			       ev->text[0] ? ": " : "", ev->text);
		else
			printf("%u:%u %s\n", ev->in, ev->out,
			       ev->removal ? "removed"
			       : changing  ? "set"
					   : shown[ev->shown]);
		break;
	default:
		break;
	}
}

/* Events of request id until it is over; its circuits are kept in have, if that is given. */
static int
finish_ocsctl(struct ocs_driver *d, uint32_t id, int err, bool print, struct pairs *have)
{
	struct ocs_event ev;
	int worst = err;
	if (err) {
		warnx("%s", ocs_strerror(err));
		return 1;
	}
	for (;;) {
		while (ocs_driver_switch(d)->ops->next(ocs_driver_switch(d), &ev)) {
			if (print)
				print_event(&ev);
			if (ev.kind == OCS_EVENT_CIRCUIT && have && have->n < PAIRS_MAX)
				have->at[have->n++] =
					(struct ocs_circuit){.in = ev.in, .out = ev.out};
			worst = ev.err && ev.kind == OCS_EVENT_CIRCUIT ? ev.err : worst;
			if (ev.kind != OCS_EVENT_DONE || ev.id != id)
				continue;
			if (ev.err && !worst)
				warnx("%s%s%s", ocs_strerror(ev.err), ev.text[0] ? ": " : "",
				      ev.text);
			return worst || ev.err;
		}
		if (stopped)
			return 1;
		turn_until(d, BASE_NEVER_NS);
	}
}

static int
show_ocsctl(struct ocs_driver *d)
{
	struct ocs_switch *sw = ocs_driver_switch(d);
	return finish_ocsctl(d, 1, sw->ops->identify(sw, 1, clock_now()), true, NULL) ||
	       finish_ocsctl(d, 2, sw->ops->read_all(sw, 2, clock_now()), true, NULL);
}

static int
change(struct ocs_driver *d, const struct options *o, const char *what, const struct pairs *p)
{
	struct ocs_switch *sw = ocs_driver_switch(d);
	static struct pairs have, off;
	struct ocs_change ch = {.atomic = o->atomic, .revert_after_ns = o->revert_ns};
	if (strcmp(what, "clear") == 0) {
		ch.remove = p->at;
		ch.removals = p->n;
	} else {
		ch.add = p->at;
		ch.additions = p->n;
	}
	if (strcmp(what, "move") == 0) {
		if (finish_ocsctl(d, 1, sw->ops->read_all(sw, 1, clock_now()), false, &have))
			return 1;
		for (uint32_t i = 0; i < have.n; i++)
			for (uint32_t k = 0; k < p->n; k++)
				if (have.at[i].in == p->at[k].in && have.at[i].out != p->at[k].out)
					off.at[off.n++] = have.at[i];
		ch.remove = off.at;
		ch.removals = off.n;
	}
	changing = true;
	return finish_ocsctl(d, 2, sw->ops->apply(sw, 2, &ch, clock_now()), true, NULL);
}

static int
power(struct ocs_driver *d, char *const *words, int n)
{
	struct ocs_switch *sw = ocs_driver_switch(d);
	static struct ocs_port_name ports[PAIRS_MAX];
	for (int i = 0; i < n; i++) {
		const char *why;
		if (i == (int)PAIRS_MAX || (words[i][0] != 'i' && words[i][0] != 'o'))
			errx(1, "power: ports are i0, i1, ... and o0, o1, ...");
		ports[i].ingress = words[i][0] == 'i';
		ports[i].port = (uint32_t)strtonum(words[i] + 1, 0, OCS_PORTS_MAX - 1, &why);
		if (why)
			errx(1, "%s: %s", words[i], why);
	}
	return finish_ocsctl(d, 1, sw->ops->power(sw, 1, ports, (uint32_t)n, clock_now()), true,
			     NULL);
}

/* ---- options ---- */

static uint64_t
ocsctl_number(const char *text, const char *what, uint64_t max)
{
	const char *why;
	long long v = strtonum(text, 0, (long long)max, &why);
	if (why)
		errx(1, "%s %s: %s", what, text, why);
	return (uint64_t)v;
}

static void
own_ports(struct options *o, char *text)
{
	char *item;
	while ((item = strsep(&text, ","))) {
		char *last = strchr(item, '-');
		if (last)
			*last++ = 0;
		uint64_t a = ocsctl_number(item, "port", OCS_PORTS_MAX - 1);
		uint64_t b = last ? ocsctl_number(last, "port", OCS_PORTS_MAX - 1) : a;
		for (; a <= b; a++)
			o->own[a] = true;
	}
	o->own_given = true;
}

static void
read_names(struct options *o, const char *path)
{
	char why[OCS_DRIVER_WHY] = "no memory";
	char **names = ocs_names_read(path, &o->driver.ports, why); /* for as long as we run */
	if (!names)
		errx(1, "%s", why);
	o->driver.names = (const char *const *)names;
}

static void
read_pairs(struct pairs *p, char *const *words, int n)
{
	for (int i = 0; i < n && p->n < PAIRS_MAX; i++) {
		char text[32], *out;
		snprintf(text, sizeof text, "%s", words[i]);
		if (!(out = strchr(text, ':')))
			errx(1, "%s: a circuit is IN:OUT", words[i]);
		*out++ = 0;
		p->at[p->n].in = (uint32_t)ocsctl_number(text, "port", OCS_PORTS_MAX - 1);
		p->at[p->n++].out = (uint32_t)ocsctl_number(out, "port", OCS_PORTS_MAX - 1);
	}
}

static void
options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"protocol", 1, NULL, 'P'},
		{"address", 1, NULL, 'a'},
		{"credentials", 1, NULL, 'c'},
		{"ports", 1, NULL, 'n'},
		{"names", 1, NULL, 'N'},
		{"own", 1, NULL, 'o'},
		{"extra-ms", 1, NULL, 'e'},
		{"atomic", 0, NULL, 'A'},
		{"seconds", 1, NULL, 't'},
		{"seed", 1, NULL, 's'},
		{"help", 0, NULL, 'h'},
		{"revert-s", 1, NULL, 'r'},
		{"models", 1, NULL, 'm'},
		{"version", 0, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	for (int c; (c = getopt_long(argc, argv, "P:a:c:n:N:o:e:At:s:r:m:h", longs, NULL)) != -1;) {
		switch (c) {
		case 'P':
			o->driver.protocol = optarg;
			break;
		case 'a':
			o->driver.address = optarg;
			break;
		case 'c':
			o->driver.credentials = optarg;
			break;
		case 'n':
			o->driver.ports = (uint32_t)ocsctl_number(optarg, "ports", OCS_PORTS_MAX);
			break;
		case 'N':
			read_names(o, optarg);
			break;
		case 'o':
			own_ports(o, optarg);
			break;
		case 'e':
			o->extra_ns = ocsctl_number(optarg, "extra-ms", 100000) * BASE_MS_NS;
			break;
		case 'A':
			o->atomic = true;
			break;
		case 't':
			o->seconds = ocsctl_number(optarg, "seconds", 1000000);
			break;
		case 's':
			o->seed = ocsctl_number(optarg, "seed", INT64_MAX);
			break;
		case 'r':
			o->revert_ns = ocsctl_number(optarg, "revert-s", 1000000) * BASE_S_NS;
			break;
		case 'm':
			o->driver.models = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case 'V':
			puts("ocsctl " BASE_VERSION);
			exit(0);
		default:
			fputs("ocsctl --help lists commands and options\n", stderr);
			exit(1);
		}
	}
}

static int
command(struct ocs_driver *d, const struct options *o, char *const *words, int n)
{
	static struct pairs p;
	const char *what = words[0];
	bool pairs = strcmp(what, "power") != 0 && strcmp(what, "show") != 0 &&
		     strcmp(what, "churn") != 0;
	if (pairs)
		read_pairs(&p, words + 1, n - 1);
	if (strcmp(what, "keep") == 0)
		return keep(d, o, &p);
	if (strcmp(what, "churn") == 0)
		return churn(d, o);
	if (!wait_up(d, o->driver.address, o->seconds ? o->seconds : 10))
		return 2;
	if (strcmp(what, "show") == 0)
		return show_ocsctl(d);
	if (strcmp(what, "power") == 0)
		return power(d, words + 1, n - 1);
	return change(d, o, what, &p);
}

int
main(int argc, char **argv)
{
	static const char *const commands[] = {"show",	"set",	"clear", "move",
					       "power", "keep", "churn"};
	static struct options o = {.driver = {.ports = 16, .batch = 64, .cookie = 0x6f637363}};
	struct sigaction sa = {.sa_handler = on_ocsctl_signal};
	char why[OCS_DRIVER_WHY];
	bool known = false;
	options(&o, argc, argv);
	for (size_t i = 0; optind < argc && i < sizeof commands / sizeof *commands; i++)
		known = known || strcmp(argv[optind], commands[i]) == 0;
	if (optind == argc)
		errx(1, "no command; show says what the switch is, --help all others");
	if (!known)
		errx(1, "there is no command %s; --help lists them", argv[optind]);
	if (!o.driver.protocol)
		errx(1, "which protocol does the switch speak? fix: -P, see --help");
	if (!o.driver.address)
		errx(1, "where is the switch? fix: -a HOST[:PORT], see --help");
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	struct ocs_driver *d = ocs_driver_open(&o.driver, why);
	if (!d)
		errx(1, "%s", why);
	int rc = command(d, &o, argv + optind, argc - optind);
	ocs_driver_close(d);
	return rc;
}
