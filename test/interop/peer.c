/* SPDX-License-Identifier: BSD-2-Clause */
/* peer SCRIPT [NAME=VALUE ...]: one script; see peer.h.  Exit status 0 if all checks
 * hold; a check that fails says so and calls MPI_Abort. */
#include "peer.h"

int peer_rank, peer_size;
struct peer_args peer_args = {
	.datalen = 16384, .hiwater = 20, .xsize = 1024, .messages = 60, .times = 1};

void
peer_failed(const char *file, int line, const char *what)
{
	const char *slash = strrchr(file, '/');
	fprintf(stderr, "peer: rank %d: %s:%d: %s\n", peer_rank, slash ? slash + 1 : file, line,
		what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

void *
peer_room(size_t n)
{
	void *p = malloc(n + 1);
	CHECK(p);
	return p;
}

unsigned char *
peer_pattern(int n, int seed)
{
	unsigned char *p = peer_room((size_t)n);
	for (int i = 0; i < n; i++)
		p[i] = (unsigned char)(i * 7 + seed * 31 + (i >> 8));
	return p;
}

void
peer_send(int n, int seed, int dest, int tag, int sync)
{
	unsigned char *p = peer_pattern(n, seed);
	(sync ? MPI_Ssend : MPI_Send)(p, n, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
	free(p);
}

void
peer_check_bytes(const unsigned char *got, int n, int seed)
{
	unsigned char *want = peer_pattern(n, seed);
	CHECK(memcmp(got, want, (size_t)n) == 0);
	free(want);
}

void
peer_recv(int n, int seed, int src, int tag)
{
	unsigned char *p = peer_room((size_t)n);
	MPI_Status st;
	int count;
	MPI_Recv(p, n, MPI_BYTE, src, tag, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, MPI_BYTE, &count);
	CHECK(count == n);
	CHECK(src == MPI_ANY_SOURCE || st.MPI_SOURCE == src);
	CHECK(tag == MPI_ANY_TAG || st.MPI_TAG == tag);
	peer_check_bytes(p, n, seed);
	free(p);
}

int
peer_other_end(void)
{
	return peer_rank == 0 ? peer_size - 1 : peer_rank == peer_size - 1 ? 0 : -1;
}

int
peer_first_rank_of_client(int client)
{
	int first = 0;
	for (int c = 0; c < client; c++)
		first += peer_args.client[c];
	return first;
}

int
peer_client_of(int rank)
{
	int c = 0;
	while (c + 1 < peer_args.nclients && rank >= peer_first_rank_of_client(c + 1))
		c++;
	return c;
}

static void
empty(void)
{
}

static void
mixture(void)
{
	peer_pingpong();
	peer_all_pairs();
	peer_reverse_answers();
	peer_overtaking();
	peer_saturate();
	MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
	const char *name;
	void (*run)(void);
} scripts[] = {
	{"empty", empty},
	{"mixture", mixture},
	{"pingpong", peer_pingpong},
	{"sizes", peer_sizes},
	{"all_pairs", peer_all_pairs},
	{"saturate", peer_saturate},
	{"stalled_receiver", peer_stalled_receiver},
	{"reverse_answers", peer_reverse_answers},
	{"overtaking", peer_overtaking},
	{"probe", peer_probe},
	{"cancel", peer_cancel},
	{"cancel_same_id", peer_cancel_same_id},
	{"cancel_receive", peer_cancel_receive},
	{"last_minute", peer_last_minute},
	{"late_rank", peer_late_rank},
	{"endless", peer_endless},
	{"types", peer_types},
	{"all_types", peer_all_types},
	{"collectives", peer_collectives},
	{"profile", peer_profile},
	{"barriers", peer_barriers},
	{"attributes", peer_attributes},
};

/* "2,1,2": procs of each client */
static void
set_clients(const char *text)
{
	char *end;
	while (*text && peer_args.nclients < 32) {
		peer_args.client[peer_args.nclients++] = (int)strtol(text, &end, 10);
		text = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			break;
	}
}

static void
set(const char *name, const char *value)
{
	const struct {
		const char *name;
		int *where;
	} numbers[] = {
		{"datalen", &peer_args.datalen},     {"hiwater", &peer_args.hiwater},
		{"xsize", &peer_args.xsize},	     {"messages", &peer_args.messages},
		{"times", &peer_args.times},	     {"world_only", &peer_args.world_only},
		{"always_no", &peer_args.always_no}, {"long", &peer_args.long_ones},
	};
	if (!strcmp(name, "clients"))
		set_clients(value);
	else if (!strcmp(name, "dir"))
		snprintf(peer_args.dir, sizeof peer_args.dir, "%s", value);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(name, numbers[i].name))
			*numbers[i].where = (int)strtol(value, NULL, 10);
}

int
main(int argc, char **argv)
{
	void (*run)(void) = NULL;
	for (size_t i = 0; argc > 1 && i < sizeof scripts / sizeof *scripts; i++)
		if (!strcmp(argv[1], scripts[i].name))
			run = scripts[i].run;
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (value) {
			*value = '\0';
			set(argv[i], value + 1);
		}
	}
	if (!run) {
		fprintf(stderr, "usage: peer SCRIPT [NAME=VALUE ...]; scripts:");
		for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
			fprintf(stderr, " %s", scripts[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &peer_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &peer_size);
	run();
	MPI_Finalize();
	return 0;
}
