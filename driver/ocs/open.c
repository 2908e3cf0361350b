/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c - which driver a configuration asks for; see driver/ocs.h. */
#include "driver.h"

#include "ocsproto/ocsproto.h"

#include <stdio.h>
#include <string.h>

/* Those that need libraries of their own. */
static const char *const plugins[] = {"netconf"};

static const struct ocs_plugin streams = {.open = ocsdrv_stream_open};

static void
say_no_protocol(const char *asked, char why[OCS_DRIVER_WHY])
{
	int n = snprintf(why, OCS_DRIVER_WHY, "no protocol \"%.40s\"; there are %s", asked,
			 plugins[0]);
	for (enum ocsproto_kind k = 0; k < OCSPROTO_KINDS && n < OCS_DRIVER_WHY; k++)
		n += snprintf(why + n, (size_t)(OCS_DRIVER_WHY - n), ", %s", ocsproto_name(k));
}

static const struct ocs_plugin *
find_driver(const char *protocol, char why[OCS_DRIVER_WHY])
{
	char folder[256];
	why[0] = 0;
	if (ocsproto_by_name(protocol) < OCSPROTO_KINDS)
		return &streams;
	for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
		if (strcmp(protocol, plugins[i]) == 0)
			return ocsdrv_plugin_folder(folder, why)
				       ? ocsdrv_plugin_load(folder, protocol, why)
				       : NULL;
	say_no_protocol(protocol, why);
	return NULL;
}

bool
ocs_driver_is_there(const char *protocol, char why[OCS_DRIVER_WHY])
{
	return find_driver(protocol, why) != NULL;
}

struct ocs_driver *
ocs_driver_open(const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY])
{
	const struct ocs_plugin *p = find_driver(cfg->protocol, why);
	return p ? p->open(cfg, why) : NULL;
}

void
ocs_driver_close(struct ocs_driver *d)
{
	if (d)
		d->ops->close(d);
}

struct ocs_switch *
ocs_driver_switch(struct ocs_driver *d)
{
	return d->ops->sw(d);
}

int
ocs_driver_fd(const struct ocs_driver *d)
{
	return d->ops->fd(d);
}

uint64_t
ocs_driver_expiry_ns(const struct ocs_driver *d)
{
	return d->ops->expiry_ns(d);
}

void
ocs_driver_turn(struct ocs_driver *d, uint64_t now_ns)
{
	d->ops->turn(d, now_ns);
}

void
ocs_driver_send(struct ocs_driver *d, uint64_t now_ns)
{
	if (d->ops->send)
		d->ops->send(d, now_ns);
}

const char *
ocs_driver_trouble(const struct ocs_driver *d)
{
	return d->ops->trouble(d);
}

bool
ocsdrv_address_split(const char *address, uint16_t default_port, char host[256], char port[8])
{
	const char *end, *colon;
	if (address[0] == '[') {
		end = strchr(++address, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		colon = end[1] ? end + 1 : NULL;
	} else {
		colon = strchr(address, ':');
		end = colon ? colon : address + strlen(address);
	}
	size_t n = (size_t)(end - address);
	if (n == 0 || n > 255 || (colon && (strlen(colon + 1) == 0 || strlen(colon + 1) > 5)))
		return false;
	memcpy(host, address, n);
	host[n] = 0;
	if (colon)
		snprintf(port, 8, "%.5s", colon + 1);
	else
		snprintf(port, 8, "%u", default_port);
	return strspn(port, "0123456789") == strlen(port);
}
