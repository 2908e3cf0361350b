/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h - wanem's command line as a struct. */
#ifndef WANEM_OPTIONS_H
#define WANEM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/idle.h"
#include "driver/port.h"
#include "wanem_core.h"

struct wan_opts {
	const char *dev_a, *dev_b;
	struct wan_conf ab, ba; /* frames_max 0: computed */
	uint16_t mtu;
	enum rd_pmd pmd;
	enum rd_idle_mode idle;
	bool huge;
	const char *lcores;
	const char *file_prefix;
	uint32_t mem_mb;  /* 0: computed */
	uint32_t stats_s; /* 0: no line while running */
	const char *stats_file;
	const char *ready_file; /* made when frames are forwarded */
};

/* Fill o from argv.  0 go on, 1 help was printed, negative: a message was printed. */
int wan_opts_parse(struct wan_opts *o, int argc, char **argv);

#endif
