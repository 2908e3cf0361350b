/* SPDX-License-Identifier: BSD-2-Clause */
/* What relays must say alike: of one cluster nearly all, of two what their trunks need. */
#include "rd/conf.h"

#include "conf_internal.h"

#include <string.h>

/* Keys that are the same at all relays of a cluster. */
static const char *const in_cluster[] = {
	"cluster.relays",
	"cluster.peer_port",
	"ports.private.prefix_len",

	"ports.private.udp_port",
	"ports.private.sealing",
	"ports.global.udp_port",
	"ports.global.sealing",
	"impi.listen_port",
	"impi.ports",
	"impi.server",
	"impi.auth",
	"impi.server_sealing",
	"limits.jobs",
	"gateway.enable",
	"gateway.private_port",
	"gateway.global_port",
	"gateway.udp_port",
	"gateway.private_via",
	"gateway.global_via",
	"trunks.policy",
	"trunks.pairs",
};
/* And at those of all clusters. */
static const char *const between_clusters[] = {
	"ports.global.sealing",
	"impi.auth",
};

static void
must_agree(const struct rd_conf *a, const char *a_name, const struct rd_conf *b, const char *path,
	   struct rd_faults *faults)
{
	char pointer[128], va[RD_VALUE_TEXT], vb[RD_VALUE_TEXT];
	const struct rd_key *key = NULL;
	for (uint32_t i = 0; i < rd_conf_keys_count && !key; i++)
		if (strcmp(rd_conf_keys[i].path, path) == 0)
			key = &rd_conf_keys[i];
	if (!key || rd_conf_same_value(a, b, key))
		return;
	snprintf(pointer, sizeof pointer, "/%s", path);
	for (char *c = pointer; *c; c++)
		if (*c == '.')
			*c = '/';
	rd_conf_put_value(a, key, va);
	rd_conf_put_value(b, key, vb);
	rd_fault_add(faults, pointer, 0, "%.60s here, and %.60s in %.60s: they must be the same",
		     vb, va, a_name);
}

void
rd_conf_agree(const struct rd_conf *a, const char *a_name, const struct rd_conf *b,
	      struct rd_faults *faults)
{
	bool one = strcmp(a->cluster.name, b->cluster.name) == 0;
	const char *const *list = one ? in_cluster : between_clusters;
	size_t n = one ? sizeof in_cluster / sizeof in_cluster[0]
		       : sizeof between_clusters / sizeof between_clusters[0];
	for (size_t i = 0; i < n; i++)
		must_agree(a, a_name, b, list[i], faults);
	if (one && a->cluster.self == b->cluster.self)
		rd_fault_add(faults, "/ports/private/address", 0,
			     "it is relay %u of cluster %s, as that of %.60s", b->cluster.self,
			     b->cluster.name, a_name);
}
