/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.h - what the files of driver/ocs share.
 *
 *     open.c      configuration; which driver
 *     plugin.c    drivers that are shared objects (netconf/)
 *     pause.c     pauses between attempts
 *     secret.c    files with credentials
 *     names.c     files with names of ports
 *     stream.c    sessions of lib/ocs/protocols over TCP */
#ifndef DRIVER_OCS_DRIVER_H
#define DRIVER_OCS_DRIVER_H

#include "driver/ocs_plugin.h"

#include <stdbool.h>

#define OCSDRV_SECRET_MAX 128u

struct ocsdrv_secret {
	char user[OCSDRV_SECRET_MAX], password[OCSDRV_SECRET_MAX];
};
/* False: why says what is wrong with the file, never what is in it. */
bool ocsdrv_secret_read(struct ocsdrv_secret *s, const char *path, char why[OCS_DRIVER_WHY]);
void ocsdrv_secret_wipe(struct ocsdrv_secret *s);

/* "HOST", "HOST:PORT", "[V6]:PORT" in pieces; false: no address. */
bool ocsdrv_address_split(const char *address, uint16_t default_port, char host[256], char port[8]);

/* protocol: one of ocsproto_name(). */
struct ocs_driver *ocsdrv_stream_open(const struct ocs_driver_config *cfg,
				      char why[OCS_DRIVER_WHY]);

/* The folder of plugins that belongs to this program; false: why. */
bool ocsdrv_plugin_folder(char folder[256], char why[OCS_DRIVER_WHY]);
/* Loads FOLDER/ocs-PROTOCOL.so, which stays loaded; NULL: why. */
const struct ocs_plugin *ocsdrv_plugin_load(const char *folder, const char *protocol,
					    char why[OCS_DRIVER_WHY]);

#endif
