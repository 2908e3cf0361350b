/* SPDX-License-Identifier: BSD-2-Clause */
/* mpisp-io - the I/O process of a pipeline for who does not write one.
 *
 * It receives in the world of the sender, sends in the world of the receiver, and holds a frame
 * until its COMMIT has come back.  All of that is lib/spx; the program waits for the end. */
#include "base/version.h"
#include "driver/spxrun.h"
#include "lmpi/knobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: mpisp-io [-v]\n"
	"The I/O process between two clusters of a pipeline.  mpisprun starts it.\n"
	"  -v, --verbose  print what happens, and counters in the end\n"
	"  -h, --help     this text\n"
	"  --version      print the version\n";

static void
print_events(struct spxrun *r)
{
	struct spxrun_event e;

	while (spxrun_event(r, &e))
		fprintf(stderr, "mpisp-io: %s\n", e.text);
}

static void
print_counters(struct spxrun *r)
{
	struct spx_counts c;
	struct spxrun_counts own;

	spxrun_counters(r, &c, &own);
	fprintf(stderr, "mpisp-io: unsent %llu, oversized %llu", (unsigned long long)own.unsent,
		(unsigned long long)own.oversized);
#define X(name, help) fprintf(stderr, ", " #name " %llu", (unsigned long long)c.name);
	SPX_COUNTERS(X)
#undef X
	fprintf(stderr, "\n");
}

int
main(int argc, char **argv)
{
	bool verbose = false;
	char why[SPX_TEXT_MAX];
	struct spx_frame f;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(help, stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--version")) {
			puts("mpisp-io " BASE_VERSION);
			return 0;
		}
		if (strcmp(argv[i], "-v") != 0 && strcmp(argv[i], "--verbose") != 0) {
			fprintf(stderr, "mpisp-io: unknown option %s; see mpisp-io --help\n",
				argv[i]);
			return 2;
		}
		verbose = true;
	}
	uint64_t feed = lmpi_knob_number(LMPI_KNOB_SPX_FEED);
	if (feed == 0) {
		fprintf(stderr, "mpisp-io: nobody manages this process: mpisprun starts it, for a "
				"line \"io FROM TO\"\n");
		return 2;
	}
	struct spxrun *r = spxrun_open((int)feed, why);
	if (!r) {
		fprintf(stderr, "mpisp-io: %s\n", why);
		return 1;
	}
	while (spxrun_begin(r, &f, 1000) != SPXRUN_OVER)
		if (verbose)
			print_events(r);
	snprintf(why, sizeof why, "%s", spxrun_over(r));
	if (verbose)
		print_counters(r);
	if (why[0])
		fprintf(stderr, "mpisp-io: %s\n", why);
	spxrun_free(r);
	return why[0] ? 1 : 0;
}
