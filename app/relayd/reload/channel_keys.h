/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RD_CHANNEL_KEYS_H
#define RD_CHANNEL_KEYS_H

/* The keys of the control thread's channels, out of the files that the configuration names: to the
 * other relays of the cluster, between circuit controller and agents, and to the IMPI server.
 *
 * Files are read at the start and at a reload; nothing is kept but what the shapes hold, and their
 * owner wipes them. */

#include "seal/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_conf;

/* Both shapes are zero when no leg is sealed.  The channel between relays has the key made of
 * sealing.identity_file; without one, those of sealing.key_file.  The circuit controller's always
 * has the latter, none (nkeys 0) where that is empty.  0, or -1 and in err a text that names the
 * file. */
int rd_channel_keys(const struct rd_conf *conf, struct seal_link_conf *peer,
		    struct seal_link_conf *light, char *err, size_t err_max);
/* With impi.server_sealing those of sealing.key_file, else the shape stays zero.  Likewise. */
int rd_server_keys(const struct rd_conf *conf, struct seal_link_conf *server, char *err,
		   size_t err_max);
/* The key of impi.auth key; false and err if the file cannot be used. */
bool rd_read_key(const char *path, uint64_t *key, char *err, size_t err_max);

#endif
