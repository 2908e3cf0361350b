/* SPDX-License-Identifier: BSD-2-Clause */
/* commands.h - what relayctl's commands share. */
#ifndef RELAYCTL_COMMANDS_H
#define RELAYCTL_COMMANDS_H

#include "ask.h"

#include <stdbool.h>
#include <stdint.h>

/* The options of the command line; each command says in its table row which it takes. */
struct options {
	bool json, all, once, no_lanes;
	bool wide; /* tables with all columns, however narrow the terminal */
	bool full; /* bytes and rates with all digits */
	bool given_n, given_d;
	uint32_t n;	 /* -n: how many */
	double interval; /* -d: seconds */
	const char *kind, *job, *src, *dst, *leg, *dir, *peer, *path, *worker, *file;
	const char *snaplen, *mbytes;
	bool wait, log, check;
	char seen[64]; /* letters of those that were given, without -s and -j */
	int nargs;
	char **arg;
};

int cmd_status(struct ctl *c, const struct options *o);
int cmd_ports(struct ctl *c, const struct options *o);
int cmd_reset(struct ctl *c, const struct options *o);
int cmd_jobs(struct ctl *c, const struct options *o);
int cmd_starts(struct ctl *c, const struct options *o);
int cmd_paths(struct ctl *c, const struct options *o);
int cmd_doors(struct ctl *c, const struct options *o);
int cmd_gateway(struct ctl *c, const struct options *o);
int cmd_drops(struct ctl *c, const struct options *o);
int cmd_methods(struct ctl *c, const struct options *o);
int cmd_lanes(struct ctl *c, const struct options *o);
int cmd_advise(struct ctl *c, const struct options *o);
int cmd_top(struct ctl *c, const struct options *o);
int cmd_set(struct ctl *c, const struct options *o);
/* NAME of NAME=VALUE is none that set changes: the program ends with those there are. */
void check_setting(const char *name);
int cmd_drain(struct ctl *c, const struct options *o);
int cmd_reload(struct ctl *c, const struct options *o);
int cmd_undrain(struct ctl *c, const struct options *o);
int cmd_lights(struct ctl *c, const struct options *o);
int cmd_light(struct ctl *c, const struct options *o);
int cmd_circuits(struct ctl *c, const struct options *o);
int cmd_capture(struct ctl *c, const struct options *o);

/* Rows, or that there are none. */
struct column;
int show_rows(json_t *rows, const struct options *o, const char *what,
	      const struct column *columns);
/* A number of an option or argument; else the program ends. */
uint32_t number_of(const char *text, const char *name, uint32_t min, uint32_t max);
/* Label base of a job by that or by its number, as "relayctl jobs" shows both. */
uint32_t job_of(struct ctl *c, const char *text);
json_int_t int_of(const json_t *o, const char *key);
/* Wait so long, or until a signal. */
void wait_s(double s);
/* SIGINT or SIGTERM came. */
extern volatile int interrupted;

#endif
