/* commands.h - what relayctl's commands share. */
#ifndef RELAYCTL_COMMANDS_H
#define RELAYCTL_COMMANDS_H

#include "client.h"

#include <stdbool.h>
#include <stdint.h>

/* The options of the command line; each command says in its table row which it takes. */
struct options {
	bool json, all, once;
	bool given_n, given_d;
	uint32_t n;	 /* -n: how many */
	double interval; /* -d: seconds */
	const char *kind, *job, *src, *dst, *leg, *dir, *path, *file;
	uint32_t snaplen;
	double duration;
	int nargs;
	char **arg;
};

int cmd_status(struct ctl *c, const struct options *o);
int cmd_jobs(struct ctl *c, const struct options *o);
int cmd_paths(struct ctl *c, const struct options *o);
int cmd_gateway(struct ctl *c, const struct options *o);
int cmd_drops(struct ctl *c, const struct options *o);
int cmd_methods(struct ctl *c, const struct options *o);

/* Wait so long, or until a signal. */
void wait_s(double s);
/* SIGINT or SIGTERM came. */
extern volatile int interrupted;

#endif
