/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/ocs_plugin.h - what a driver is made of, and the table by which a shared object brings
 * one.
 *
 * A driver that rests on libraries most sites do not need is no part of the programs.  It is
 * PREFIX/lib/relayd/ocs-PROTOCOL.so beside PREFIX/bin, in the tree build/SETTING/lib/relayd beside
 * build/SETTING/bin, and is loaded when a configuration names its protocol.  It exports one thing:
 *
 *     const struct ocs_plugin ocs_plugin = {OCS_PLUGIN_VERSION, OCS_PLUGIN_SIZES, "netconf", open};
 *
 * and has all else in it that it needs of this tree: nothing of the program is called but by
 * pointers.
 *
 * Version  a number, raised when a structure of driver/ocs.h, ocs/switch.h or this header, or
 *          what is agreed about it, changes.  The sizes find who forgot it.
 * Trust    it runs with the rights of the program, so whoever may write the object, or its folder,
 *          has to be somebody who may write the program.
 * Threads  as driver/ocs.h. */
#ifndef DRIVER_OCS_PLUGIN_H
#define DRIVER_OCS_PLUGIN_H

#include "driver/ocs.h"

#include <stdint.h>

struct ocs_driver_ops {
	void (*close)(struct ocs_driver *d);
	struct ocs_switch *(*sw)(struct ocs_driver *d);
	int (*fd)(const struct ocs_driver *d);
	uint64_t (*expiry_ns)(const struct ocs_driver *d);
	void (*turn)(struct ocs_driver *d, uint64_t now_ns);
	void (*send)(struct ocs_driver *d, uint64_t now_ns); /* NULL: requests send themselves */
	const char *(*trouble)(const struct ocs_driver *d);
};

/* First in a driver's own structure. */
struct ocs_driver {
	const struct ocs_driver_ops *ops;
};

#define OCS_PLUGIN_VERSION 1u
#define OCS_PLUGIN_SIZES                                                         \
	{                                                                        \
		sizeof(struct ocs_driver_config), sizeof(struct ocs_driver_ops), \
			sizeof(struct ocs_switch_ops), sizeof(struct ocs_event), \
			sizeof(struct ocs_identity), sizeof(struct ocs_change)   \
	}

struct ocs_plugin {
	uint32_t version;  /* first, for ever: with another one nothing behind it is read */
	uint32_t sizes[6]; /* OCS_PLUGIN_SIZES */
	const char *protocol;
	/* ocs_driver_open() of its protocol. */
	struct ocs_driver *(*open)(const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY]);
};

/* The one that a shared object exports. */
extern const struct ocs_plugin ocs_plugin;

/* Pauses between attempts: doubled from one to the next, less up to a quarter by chance. */
struct ocsdrv_pause {
	uint64_t first_ns, max_ns, now_ns;
	uint64_t seed;
};
void ocsdrv_pause_init(struct ocsdrv_pause *p, const struct ocs_driver_config *cfg);
uint64_t ocsdrv_pause_next_ns(struct ocsdrv_pause *p);
void ocsdrv_pause_reset(struct ocsdrv_pause *p);

#endif
