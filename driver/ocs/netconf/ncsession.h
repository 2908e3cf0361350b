/* SPDX-License-Identifier: BSD-2-Clause */
/* ncsession.h - a conversation with one NETCONF server about cross-connects, blocking.
 *
 * The model is the one optical switches publish (namespace http://www.polatis.com/yang/
 * optical-switch): cross-connects / pair [ingress], egress, both numbered from 1, egress
 * from N + 1.  With :candidate changes go there first and are committed under a lock.
 *
 * Threads  one: libnetconf2 keeps its settings by thread. */
#ifndef DRIVER_OCS_NCSESSION_H
#define DRIVER_OCS_NCSESSION_H

#include "ocs/switch.h"

#include <stdbool.h>
#include <stddef.h>

struct nc_session;

struct ocsdrv_ncs {
	struct nc_session *session;
	bool candidate, deadman, rollback, locked;
	uint32_t ports; /* N, and so many egress ports too */
	int answer_ms;
	char trouble[OCS_TEXT_MAX]; /* why the last call failed */
};

struct ocsdrv_ncs_pair {
	uint32_t in, out;
	bool removal;
};

/* Over fds that carry NETCONF.  schemas: a directory libnetconf2 may write to. */
bool ocsdrv_ncs_open(struct ocsdrv_ncs *n, int fd_in, int fd_out, const char *schemas);
void ocsdrv_ncs_close(struct ocsdrv_ncs *n);
bool ocsdrv_ncs_is_alive(const struct ocsdrv_ncs *n);
/* These answer enum ocs_err. */
int ocsdrv_ncs_read(struct ocsdrv_ncs *n, void (*have)(void *user, uint32_t in, uint32_t out),
		    void *user);
/* All or nothing; revert_s > 0: taken back unless ocsdrv_ncs_confirm() comes within it. */
int ocsdrv_ncs_edit(struct ocsdrv_ncs *n, const struct ocsdrv_ncs_pair *pairs, uint32_t count,
		    uint32_t revert_s);
int ocsdrv_ncs_confirm(struct ocsdrv_ncs *n);
int ocsdrv_ncs_lock(struct ocsdrv_ncs *n, bool on);
/* What the server tells of itself; left as it is where it says nothing. */
void ocsdrv_ncs_identify(struct ocsdrv_ncs *n, struct ocs_identity *id);
/* Notifications that have come: true if somebody else changed the configuration. */
bool ocsdrv_ncs_changed(struct ocsdrv_ncs *n);

#endif
