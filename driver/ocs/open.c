/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c - which kind of driver a configuration asks for; see driver/ocs.h. */
#include "driver.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define RETRY_NS     (100 * BASE_MS_NS)
#define RETRY_MAX_NS (10 * BASE_S_NS)

struct ocs_driver *
ocs_driver_open(const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY])
{
	why[0] = 0;
	return strcmp(cfg->protocol, "netconf") == 0 ? ocsdrv_netconf_open(cfg, why)
						     : ocsdrv_stream_open(cfg, why);
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

void
ocsdrv_pause_init(struct ocsdrv_pause *p, const struct ocs_driver_config *cfg)
{
	p->first_ns = cfg->retry_ns ? cfg->retry_ns : RETRY_NS;
	p->max_ns = cfg->retry_max_ns ? cfg->retry_max_ns : RETRY_MAX_NS;
	p->now_ns = 0;
	p->seed = (uintptr_t)p;
}

uint64_t
ocsdrv_pause_next_ns(struct ocsdrv_pause *p)
{
	uint64_t twice = base_add_ns(p->now_ns, p->now_ns);
	p->now_ns = twice < p->first_ns ? p->first_ns : base_min_ns(twice, p->max_ns);
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return p->now_ns - (p->seed >> 33) % (p->now_ns / 4 + 1);
}
