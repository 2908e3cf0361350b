/* SPDX-License-Identifier: BSD-2-Clause */
/* Sites of the configuration: sites.c. */
#ifndef SPD_SITES_H
#define SPD_SITES_H

#include "read.h"

void spd_read_sites(struct reading *r, struct spd_conf *c, const json_t *root);
/* at: what "units" says of it, a text, an object, or NULL. */
void spd_site_of_unit(struct reading *r, struct spd_conf *c, struct spd_unit *u, const json_t *at,
		      const char *path);
void spd_check_sites(struct reading *r, const struct spd_conf *c);

#endif
