/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *
word(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static long long
json_count(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void
print_slot(const json_t *s, bool last)
{
	const char *state = word(s, "state");
	const json_t *rank = json_object_get(s, "rank"), *io = json_object_get(s, "io");

	printf("   %s slot %-4lld ", last ? "└─" : "├─", json_count(s, "slot"));
	if (json_object_get(s, "name") && strcmp(state, "dead") != 0)
		printf("%s", word(s, "name"));
	else if (rank)
		printf("rank %lld", (long long)json_integer_value(rank));
	else if (io)
		printf("I/O process %lld", (long long)json_integer_value(io));
	else
		printf("%s", strcmp(state, "dead") == 0 ? "was a spare" : "spare");
	if (strcmp(state, "dead") == 0)
		printf(", dead: %s", word(s, "why"));
	else if (json_is_true(json_object_get(s, "finished")))
		printf(", has finished");
	if (json_object_get(s, "pid"))
		printf("  (pid %lld%s)", json_count(s, "pid"),
		       json_is_true(json_object_get(s, "in_mpi")) ? "" : ", before MPI_Init");
	putchar('\n');
}

static void
print_unit(const json_t *u, const char *master)
{
	const json_t *slots = json_object_get(u, "slots");
	size_t n = json_array_size(slots);

	printf("%s%s%s", word(u, "unit"), strcmp(word(u, "unit"), master) == 0 ? ", master" : "",
	       json_is_true(json_object_get(u, "down")) ? ", down" : "");
	if (json_count(u, "life") > 1)
		printf(", life %lld", json_count(u, "life"));
	if (json_object_get(u, "silent_ms"))
		printf(", heard %lld ms ago", json_count(u, "silent_ms"));
	printf(", of %s%s%s%s", word(u, "cluster"),
	       json_is_true(json_object_get(u, "off")) ? ", which is not started" : "",
	       word(u, "site")[0] ? ", at " : "", word(u, "site"));
	putchar('\n');
	for (size_t i = 0; i < n; i++)
		print_slot(json_array_get(slots, i), i + 1 == n);
}

/* Daemons of other sites do not hear this one. */
static void
print_unreached(const json_t *v)
{
	if (word(v, "unreached")[0])
		printf("other sites do not reach %s: %s\n", word(v, "unit"), word(v, "unreached"));
}

void
tree_print(const json_t *v)
{
	const json_t *u, *missing = json_object_get(v, "missing");
	size_t i;

	if (missing) {
		printf("universe %s: unit %s waits for", word(v, "universe"), word(v, "unit"));
		json_array_foreach(missing, i, u) printf(" %s", json_string_value(u));
		puts(json_array_size(missing) ? "" : " the others to be ready");
		print_unreached(v);
		return;
	}
	printf("universe %s, %s%s: view %lld, epoch %lld", word(v, "universe"),
	       word(v, "cluster")[0] ? "cluster " : "pipeline", word(v, "cluster"),
	       json_count(v, "view"), json_count(v, "epoch"));
	if (word(v, "over")[0])
		printf(", over: %s", word(v, "over"));
	else if (!json_is_true(json_object_get(v, "lease")))
		printf("; %s stands still, it has no lease", word(v, "unit"));
	putchar('\n');
	print_unreached(v);
	json_array_foreach(json_object_get(v, "units"), i, u) print_unit(u, word(v, "master"));
}

void
chain_print(const json_t *c)
{
	printf("%s -> %s  %s, policy %s, window %lld%s, on_lost %s\n", word(c, "from"),
	       word(c, "to"), word(c, "state"), word(c, "policy"), json_count(c, "window"),
	       json_is_true(json_object_get(c, "ordered")) ? ", ordered" : "", word(c, "on_lost"));
}

void
line_print(const json_t *l)
{
	long long ms = json_count(l, "ms");
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	char text[32] = "";

	if (localtime_r(&s, &tm))
		strftime(text, sizeof text, "%H:%M:%S", &tm);
	printf("%s.%03lld %s\n", text, ms % 1000, word(l, "text"));
}
