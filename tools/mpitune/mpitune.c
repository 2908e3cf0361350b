/* SPDX-License-Identifier: BSD-2-Clause */
/* mpitune - measures a node, or a pair of nodes, once, and keeps what libmpi is to use there.
 *
 *      mpirun -n 2 mpitune                     the node
 *      mpirun -n 2 --host A,B mpitune          from A to B and back; run it on both sides' homes
 *      mpirun -n 4 --host A:2,B:2 mpitune      in what pieces long collectives go between them
 *      mpitune --show                          what is kept, and what of it holds here */
#include "mpitune.h"

#include "base/clock.h"
#include "driver/tune_file.h"
#include "base/version.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS	   20
#define KNOBS_MAX  4
#define PASSES_MAX 1000000u

static const char usage[] =
	"usage: mpirun -n 2 [--host A,B] mpitune [--seconds S] [--dry-run]\n"
	"       mpirun -n 4 --host A:2,B:2 mpitune [--seconds S] [--dry-run]\n"
	"       mpitune --show\n"
	"\n"
	"Measures which lengths suit this node (both ranks on it) or this pair of nodes best, and\n"
	"keeps them for libmpi in $XDG_CACHE_HOME/mpitune/store, or ~/.cache/mpitune/store.\n"
	"Four ranks, two on each node: the pieces of long Bcasts and Alltoalls between the nodes.\n"
	"\n"
	"  --seconds S   at most so long, 5 to 600; 20 if not given\n"
	"  --dry-run     say what would be kept, keep nothing\n"
	"  --show        what is kept, what of it holds on this machine, what libmpi uses\n"
	"  --help        this text\n";

struct order { /* of rank 0 for the next turn */
	uint64_t value, passes;
};

static int rank;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (rank == 0)
		vprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
}

static MPI_T_cvar_handle
handle_of(const char *cvar)
{
	MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
	int i, count;
	if (MPI_T_cvar_get_index(cvar, &i) || MPI_T_cvar_handle_alloc(i, NULL, &h, &count)) {
		fprintf(stderr, "mpitune: libmpi has no variable %s; is it of another version?\n",
			cvar);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return h;
}

static uint64_t
value_of(const char *cvar)
{
	MPI_T_cvar_handle h = handle_of(cvar);
	unsigned long long v = 0;
	MPI_T_cvar_read(h, &v);
	MPI_T_cvar_handle_free(&h);
	return v;
}

/* Where a call of another communicator begins, plans of the setting before are not used. */
static MPI_Comm
set(const struct knob *k, uint64_t value)
{
	MPI_T_cvar_handle h = handle_of(k->cvar);
	unsigned long long v = value;
	MPI_Comm c;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_T_cvar_write(h, &v);
	MPI_T_cvar_handle_free(&h);
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	return c;
}

/* One turn, in both ranks.  The time is rank 0's. */
static void
take_turn(const struct knob *k, const struct order *o, uint64_t *moved, uint64_t *ns)
{
	MPI_Comm c = set(k, o->value);

	k->pass(c, rank);
	MPI_Barrier(c);
	double t = MPI_Wtime();
	*moved = 0;
	for (uint64_t i = 0; i < o->passes; i++)
		*moved += k->pass(c, rank);
	MPI_Barrier(c);
	*ns = (uint64_t)((MPI_Wtime() - t) * 1e9);
	MPI_Comm_free(&c);
}

static uint64_t
clock_ns(void)
{
	return (uint64_t)(MPI_Wtime() * 1e9);
}

/* The values that will be believed when they are read again. */
static uint32_t
believed_list(const struct knob *k, uint64_t list[TUNE_STEPS])
{
	struct tune_caches c;
	uint64_t least = 0, most = UINT64_MAX;
	uint32_t n = 0;

	tune_file_caches(&c);
	(void)tune_believed(&c, k->value, &least, &most);
	for (uint32_t i = 0; i < k->n && n < TUNE_STEPS; i++)
		if (k->list[i] >= least && k->list[i] <= most)
			list[n++] = k->list[i];
	return n;
}

/* Rank 0 decides, the other follows; both leave with the best value set, which is returned. */
static uint64_t
tune(const struct knob *k, uint64_t start, uint64_t limit_ns, struct tuner *t)
{
	struct tuner_conf conf = {.ndims = 1, .limit_ns = limit_ns};
	struct order o = {.passes = 1};
	uint64_t moved, ns, turn_ns, v[TUNE_DIMS], list[TUNE_STEPS];
	uint32_t n = believed_list(k, list);

	if (!tune_dim_list(&conf.dim[0], list, n, start) || !tuner_start(t, &conf, clock_ns())) {
		fprintf(stderr, "mpitune: %s is %llu, which cannot be tuned\n", k->cvar,
			(unsigned long long)start);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (;;) {
		bool more = rank == 0 && tuner_ask(t, v, &turn_ns);
		o.value = v[0];
		if (rank == 0 && !more)
			o.passes = 0;
		MPI_Bcast(&o, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
		if (!o.passes)
			break;
		take_turn(k, &o, &moved, &ns);
		if (rank == 0) {
			tuner_tell(t, moved, ns, clock_ns());
			uint64_t fit = ns ? o.passes * turn_ns / ns : PASSES_MAX;
			o.passes = fit < 1 ? 1 : fit > PASSES_MAX ? PASSES_MAX : fit;
		}
	}
	MPI_Comm c = set(k, o.value);
	MPI_Comm_free(&c);
	return o.value;
}

/* ---- keeping it ---- */

/* The address of this process, if it has one. */
static bool
own_ip(uint8_t ip[4])
{
	MPI_T_pvar_session s;
	MPI_T_pvar_handle h;
	unsigned long long v = 0;
	int i, count;

	if (MPI_T_pvar_get_index("ipv4", MPI_T_PVAR_CLASS_LEVEL, &i) ||
	    MPI_T_pvar_session_create(&s))
		return false;
	if (!MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count)) {
		MPI_T_pvar_read(s, h, &v);
		MPI_T_pvar_handle_free(s, &h);
	}
	MPI_T_pvar_session_free(&s);
	for (int b = 0; b < 4; b++)
		ip[b] = (uint8_t)(v >> (24 - 8 * b));
	return v != 0;
}

/* What is measured. */
struct what {
	const char *name;
	bool node; /* else its network */
	const struct knob *knob;
	uint32_t n;
	uint64_t rtt_ns; /* in rank 0 */
};

static bool
key_of(bool node, uint64_t rtt_ns, struct tune_key *k)
{
	uint8_t ip[4];
	if (node) {
		tune_file_key(k, "shm", "mpi");
		return true;
	}
	if (!own_ip(ip) || !tune_file_key_ip(k, "udp", "mpi", ip, 4))
		return false;
	k->rtt = tune_rtt_bucket(rtt_ns);
	return true;
}

/* Two ranks and four measure one network, whose round trip may not be of one class for both: what
 * the four found goes into the row that libmpi would take. */
static void
key_in_use(struct tune_key *k)
{
	static struct tune_store s;
	char path[TUNE_FILE_PATH], why[TUNE_FILE_WHY];
	uint32_t least = TUNE_RTT_ANY;

	if (!tune_file_path(path) || tune_file_read(path, &s, why) != TUNE_FILE_FOUND)
		return;
	for (uint32_t i = 0; i < s.n; i++) {
		struct tune_key same = *k;
		same.rtt = s.entry[i].key.rtt;
		if (same.rtt < least && tune_key_same(&same, &s.entry[i].key))
			least = same.rtt;
	}
	if (least != TUNE_RTT_ANY)
		k->rtt = least;
}

/* What a row that holds says beside v stays. */
static int
keep_row(const struct tune_key *k, const struct tune_values *v)
{
	char why[TUNE_FILE_WHY];
	struct tune_values all = *v, old = {0};
	bool found = tune_file_find(k, &old, why) == TUNE_FILE_FOUND;

	for (enum tune_value i = 0; found && i < TUNE_NVALUES; i++)
		if (!(all.set >> i & 1) && (old.set >> i & 1))
			(void)tune_value_set(&all, i, old.v[i]);
	if (tune_file_keep(k, &all, why)) {
		fprintf(stderr, "mpitune: %s\n", why);
		return 1;
	}
	return 0;
}

static int
keep_figures(const struct what *w, const struct tune_values *v)
{
	struct tune_key k;
	char path[TUNE_FILE_PATH];

	if (!key_of(w->node, w->rtt_ns, &k)) {
		fprintf(stderr, "mpitune: this process has no address in a network\n");
		return 1;
	}
	if (w->knob == group_knobs)
		key_in_use(&k);
	int err = keep_row(&k, v);
	/* The kernel cuts libsuci's runs as it cuts libmpi's, and the protocol is the same. */
	if (!err && w->knob == net_knobs) {
		struct tune_values both = {0};
		tune_word(k.mode, sizeof k.mode, "suci");
		(void)tune_value_set(&both, TUNE_RUN, tune_value_or(v, TUNE_RUN, 30));
		(void)tune_value_set(&both, TUNE_ACK, tune_value_or(v, TUNE_ACK, 32));
		err = keep_row(&k, &both);
	}
	if (!err && tune_file_path(path))
		say("kept in %s\n", path);
	return err;
}

/* By who is where; false: four that are not two on each of two nodes. */
static bool
what_to_measure(struct what *w)
{
	MPI_Comm near, pair;
	int here, all, at;

	MPI_Comm_size(MPI_COMM_WORLD, &all);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
	MPI_Comm_size(near, &here);
	MPI_Comm_rank(near, &at);
	MPI_Comm_free(&near);
	/* Two ranks of a node that speak as if they were on two. */
	const char *transport = getenv("LIBMPI_TRANSPORT");
	bool node = here == 2 && !(transport && !strcmp(transport, "udp"));

	if (all == GROUP)
		*w = (struct what){"two ranks on each of two nodes", false, group_knobs,
				   group_nknobs, 0};
	else if (node)
		*w = (struct what){"two ranks on this node", true, node_knobs, node_nknobs, 0};
	else
		*w = (struct what){"two nodes", false, net_knobs, net_nknobs, 0};
	int good = all == 2 || here == 2;
	MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	/* Of two, or of the first of each node. */
	MPI_Comm_split(MPI_COMM_WORLD, all == 2 || at == 0, rank, &pair);
	if (good && (all == 2 || at == 0))
		w->rtt_ns = work_rtt(pair, rank != 0);
	MPI_Comm_free(&pair);
	return good;
}

/* Says what one number is now. */
static void
say_knob(enum tune_value which, uint64_t start, uint64_t got, const struct tuner *t)
{
	const char *end = t->end == TUNER_SETTLED ? "" : " (the time was over)";

	if (got == start)
		say("  %-14s  %10llu stays%s\n", tune_value_name(which), (unsigned long long)start,
		    end);
	else
		say("  %-14s  %10llu -> %-10llu  +%.1f %%%s\n", tune_value_name(which),
		    (unsigned long long)start, (unsigned long long)got,
		    (double)tuner_gain_ppm(t) / 1e4, end);
}

static int
measure(const struct what *w, uint32_t seconds, bool dry)
{
	int err = 0;
	static struct tuner t;
	struct tune_values v = {0};
	uint64_t gain = 0;

	say("mpitune: %s, round trip %.2f us, at most %u s\n", w->name, (double)w->rtt_ns / 1e3,
	    seconds);
	for (uint32_t i = 0; i < w->n; i++) {
		const struct knob *k = &w->knob[i];
		uint64_t start = value_of(k->cvar);
		start = start ? start : k->fallback;
		uint64_t got = tune(k, start, seconds * BASE_S_NS / w->n, &t);
		enum tune_value which = k->value;
		/* Without a processor for each of the two their rings are narrow. */
		if (which == TUNE_EAGER_WIDE && got <= 12288 && start <= 12288)
			which = TUNE_EAGER_NODE;
		if (rank != 0)
			continue;
		say_knob(which, start, got, &t);
		gain = tuner_gain_ppm(&t) > gain ? tuner_gain_ppm(&t) : gain;
		(void)tune_value_set(&v, which, got);
		(void)tune_value_set(&v, TUNE_RATE, tuner_rate(&t));
	}
	(void)tune_value_set(&v, TUNE_GAIN, gain);
	if (rank == 0 && !dry)
		err = keep_figures(w, &v);
	MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return err;
}

/* ---- showing it ---- */

/* 0: what the collective or the driver takes by itself. */
static void
show_use(const char *cvar)
{
	uint64_t v = value_of(cvar);

	if (v)
		printf(" %s=%llu", cvar, (unsigned long long)v);
	else
		printf(" %s=default", cvar);
}

static void
show_row(const struct tune_key *k, const struct tune_values *v)
{
	struct tune_key node, net;
	struct tune_values found;
	char why[TUNE_FILE_WHY];
	uint8_t ip[4];
	const char *what = "another machine's, or before something changed";

	tune_file_key(&node, "shm", k->mode);
	bool ours = tune_key_same(k, &node);
	if (!ours && own_ip(ip) && tune_file_key_ip(&net, k->driver, k->mode, ip, 4)) {
		net.rtt = k->rtt;
		ours = tune_key_same(k, &net);
	}
	if (ours)
		what = tune_file_find(k, &found, why) == TUNE_FILE_FOUND ? "holds here" : "stale";
	printf("%s %s, %s, kernel %s, mtu %u, %u Mb/s: %s\n ", k->mode, k->driver, k->cpu,
	       k->kernel, k->mtu, k->speed, what);
	for (enum tune_value i = 0; i < TUNE_NVALUES; i++)
		if (v->set >> i & 1)
			printf(" %s=%llu", tune_value_name(i), (unsigned long long)v->v[i]);
	printf("\n");
}

static int
show(void)
{
	static struct tune_store s;
	char path[TUNE_FILE_PATH], why[TUNE_FILE_WHY];

	if (!tune_file_path(path)) {
		fprintf(stderr, "mpitune: set XDG_CACHE_HOME or HOME\n");
		return 1;
	}
	enum tune_file r = tune_file_read(path, &s, why);
	if (r == TUNE_FILE_REFUSED)
		fprintf(stderr, "mpitune: %s\n", why);
	else if (r == TUNE_FILE_NONE)
		printf("%s: there is none\n", path);
	for (uint32_t i = 0; i < s.n; i++)
		show_row(&s.entry[i].key, &s.entry[i].values);
	printf("libmpi uses:");
	for (uint32_t i = 0; i < node_nknobs; i++)
		show_use(node_knobs[i].cvar);
	for (uint32_t i = 0; i < net_nknobs; i++)
		show_use(net_knobs[i].cvar);
	for (uint32_t i = 0; i < group_nknobs; i++)
		show_use(group_knobs[i].cvar);
	printf("\n");
	return r == TUNE_FILE_REFUSED;
}

static int
say_fault(const char *what)
{
	if (rank == 0)
		fprintf(stderr, "mpitune: %s\nmpitune --help lists the options\n", what);
	return 2;
}

static int
say_option(int o, const char *word)
{
	char what[128];
	snprintf(what, sizeof what, "%.80s: %s", word,
		 o == ':' ? "its value is missing" : "there is no such option");
	return say_fault(what);
}

static int
run_measure(int argc, char **argv)
{
	static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
						{"dry-run", no_argument, NULL, 'n'},
						{"show", no_argument, NULL, 'w'},
						{NULL, 0, NULL, 0}};
	const char *wrong = NULL;
	bool dry = false, only_show = false;
	uint32_t seconds = SECONDS;
	int size, o;

	opterr = 0;
	while ((o = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (o == 'n')
			dry = true;
		else if (o == 'w')
			only_show = true;
		else if (o == 's')
			seconds = (uint32_t)strtonum(optarg, 5, 600, &wrong);
		else
			return say_option(o, argv[optind - 1]);
		if (wrong)
			return say_fault("--seconds is no number from 5 to 600");
	}
	if (optind < argc)
		return say_fault("it takes options only");
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (only_show)
		return rank == 0 ? show() : 0;
	if (size != 2 && size != GROUP)
		return say_fault("it takes two ranks: mpirun -n 2 mpitune; or four");
	struct what w;
	if (!what_to_measure(&w))
		return say_fault("of four ranks two are on each of two nodes");
	if (!work_init()) {
		fprintf(stderr, "mpitune: out of memory\n");
		return 1;
	}
	return measure(&w, seconds, dry);
}

int
main(int argc, char **argv)
{
	int provided;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("mpitune " BASE_VERSION);
		return 0;
	}
	MPI_Init(&argc, &argv);
	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	int err = run_measure(argc, argv);
	MPI_T_finalize();
	MPI_Finalize();
	return err;
}
