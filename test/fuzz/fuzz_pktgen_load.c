/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario and lab files: any bytes are a scenario in bounds or an error with words. */
#include "pktgen/lab.h"
#include "pktgen/load.h"
#include "pktgen/scenario.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pg_load load;
	static struct pg_lab lab;
	static struct pg_scenario frames;
	char err[256] = "";
	if (pg_load_parse(&load, (const char *)data, size, err, sizeof err) == 0) {
		must(load.nsizes >= 1 && load.nsizes <= PG_SIZES_MAX &&
		     load.nwants <= PG_WANTS_MAX);
		must(pg_load_lanes(&load) * load.jobs <= 4u << 20);
	} else {
		must(*err != 0);
	}
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	*err = 0;
	must(pg_lab_parse(&lab, text, err, sizeof err) == 0 || *err != 0);
	*err = 0;
	must(pg_scenario_parse(&frames, text, err, sizeof err) == 0 || *err != 0);
	free(text);
	return 0;
}
