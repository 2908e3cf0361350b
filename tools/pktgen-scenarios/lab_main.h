/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_main.h - `relay-pktgen --lab LAB SCENARIO...`: all scenarios one after the other
 * over the same ports, then the sum.
 * Threads  one. */
#ifndef PKTGEN_LAB_MAIN_H
#define PKTGEN_LAB_MAIN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct pg_lab_args {
	const char *prog, *lab, *json, *junit, *html;
	const char *leg; /* stateless scenarios are played against that leg */
	bool turns;	 /* measured in turns (turns.h) */
	bool progress;	 /* told even where standard error is no terminal */
	uint32_t soak_s; /* again and again for so long; 0: once */
	char **scenario;
	int nscenarios;
	const volatile sig_atomic_t *stop;
};

/* The exit status: 0 all passed, 1 not, 2 wrong files. */
int pg_lab_main(const struct pg_lab_args *a);

#endif
