/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.h - what the files of driver/ocs share.
 *
 *     open.c      configuration; which kind of driver
 *     secret.c    files with credentials
 *     names.c     files with names of ports
 *     stream.c    sessions of lib/ocs/protocols over TCP
 *     netconf.c   NETCONF: the thread and its requests
 *     ncsession.c NETCONF: what is said to the server */
#ifndef DRIVER_OCS_DRIVER_H
#define DRIVER_OCS_DRIVER_H

#include "driver/ocs.h"

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

struct ocs_driver_ops {
	void (*close)(struct ocs_driver *d);
	struct ocs_switch *(*sw)(struct ocs_driver *d);
	int (*fd)(const struct ocs_driver *d);
	uint64_t (*expiry_ns)(const struct ocs_driver *d);
	void (*turn)(struct ocs_driver *d, uint64_t now_ns);
	void (*send)(struct ocs_driver *d, uint64_t now_ns); /* NULL: requests send themselves */
	const char *(*trouble)(const struct ocs_driver *d);
};

struct ocs_driver {
	const struct ocs_driver_ops *ops;
};

/* Pauses between attempts: doubled from one to the next, with a quarter of it by chance. */
struct ocsdrv_pause {
	uint64_t first_ns, max_ns, now_ns;
	uint64_t seed;
};
void ocsdrv_pause_init(struct ocsdrv_pause *p, const struct ocs_driver_config *cfg);
uint64_t ocsdrv_pause_next_ns(struct ocsdrv_pause *p);
static inline void
ocsdrv_pause_reset(struct ocsdrv_pause *p)
{
	p->now_ns = 0;
}

struct ocs_driver *ocsdrv_stream_open(const struct ocs_driver_config *cfg,
				      char why[OCS_DRIVER_WHY]);
struct ocs_driver *ocsdrv_netconf_open(const struct ocs_driver_config *cfg,
				       char why[OCS_DRIVER_WHY]);

#endif
