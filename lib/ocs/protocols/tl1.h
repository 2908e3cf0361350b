/* SPDX-License-Identifier: BSD-2-Clause */
/* tl1.h - what makes one vendor's TL1 differ from another's: a table.
 *
 * In commands %-letters stand for:
 *   %c ctag   %u user   %p password   %g group name   %n name of the circuit
 *   %i %o     ingress and egress port of one circuit
 *   %I %O     the same of several, joined by '&'
 *   %P        the ports whose power is asked */
#ifndef OCSPROTO_TL1_H
#define OCSPROTO_TL1_H

#include "ocsproto/core.h"
#include "tl1_stream.h"

#define TL1_STEPS 2

struct tl1_dialect {
	const char *vendor;
	const char *login, *identity, *size, *keepalive, *read, *power;
	const char *add[TL1_STEPS], *del[TL1_STEPS];
	uint32_t group;	    /* circuits in one add[0] or del[0] */
	uint32_t power_max; /* ports in one power */
	uint32_t in_base, out_base;
	bool out_after_in; /* egress is numbered on from the last ingress */
	/* Records of the answers. */
	void (*identity_record)(struct core *c, const char *record);
	void (*size_record)(struct core *c, const char *record);
	void (*read_record)(struct core *c, const char *record);
	void (*power_record)(struct core *c, const char *record);
};

extern const struct tl1_dialect ocsproto_tl1_polatis, ocsproto_tl1_calient,
	ocsproto_tl1_glimmerglass;

const struct tl1_dialect *ocsproto_tl1_dialect_of(const struct core *c);
/* Of the switch: so many ports it says it has. */
void ocsproto_tl1_size(struct core *c, const char *n_by_m);
/* The port of a name on the wire, len bytes; false: none of ours. */
bool ocsproto_tl1_port(const struct core *c, const char *name, size_t len, bool ingress,
		       uint32_t *port);
/* The same for either kind. */
bool ocsproto_tl1_any_port(const struct core *c, const char *name, size_t len, bool *ingress,
			   uint32_t *port);

#endif
