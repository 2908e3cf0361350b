/* SPDX-License-Identifier: BSD-2-Clause */
/* tl1_dialects.c - Polatis, Calient, Glimmerglass; see tl1.h. */
#include "tl1.h"

#include <string.h>
#include <strings.h>

/* ---- Polatis: ports numbered through, one command sets a circuit ---- */

static void
polatis_identity(struct core *c, const char *record)
{
	/* vendor,model,type,version */
	char *const to[] = {c->id.vendor, c->id.model, NULL, c->id.version};
	for (unsigned int i = 0; i < 4; i++) {
		size_t n = strcspn(record, ",");
		if (to[i])
			ocsproto_core_text(to[i], sizeof c->id.vendor, record, n);
		record += n;
		record += *record == ',';
	}
}

static void
polatis_size(struct core *c, const char *record)
{
	char size[32];
	if (ocsproto_tl1_field(record, "SIZE", size, sizeof size))
		ocsproto_tl1_size(c, size);
}

static void
polatis_read(struct core *c, const char *record)
{
	size_t n = strcspn(record, ",");
	uint32_t in = CORE_OTHER, out = CORE_OTHER;
	if (record[n] != ',')
		return;
	const char *second = record + n + 1;
	/* Lower number first, but whoever sends them the other way means the same. */
	if (!ocsproto_tl1_port(c, record, n, true, &in) &&
	    ocsproto_tl1_port(c, record, n, false, &out))
		ocsproto_tl1_port(c, second, strlen(second), true, &in);
	else
		ocsproto_tl1_port(c, second, strlen(second), false, &out);
	ocsproto_core_have(c, in, out, OCS_SHOWN_STEADY);
}

static void
polatis_power(struct core *c, const char *record)
{
	size_t n = strcspn(record, ":");
	int32_t dbm;
	uint32_t port;
	bool ingress;
	if (record[n] == ':' && ocsproto_tl1_any_port(c, record, n, &ingress, &port) &&
	    ocsproto_core_dbm(record + n + 1, strlen(record + n + 1), &dbm))
		ocsproto_core_power_is(c, ingress, port, dbm);
}

const struct tl1_dialect ocsproto_tl1_polatis = {
	.vendor = "Polatis",
	.login = "ACT-USER::%u:%c::%p;",
	.identity = "RTRV-NETYPE:::%c:;",
	.size = "RTRV-EQPT::SYSTEM:%c:::PARAMETER=SIZE;",
	.keepalive = "RTRV-HDR:::%c;",
	.read = "RTRV-PATCH:::%c:;",
	.power = "RTRV-PORT-POWER::%P:%c:;",
	/* Whether it accepts lists on both sides is not known: single commands, pipelined. */
	.add = {"ENT-PATCH::%i,%o:%c:;"},
	.del = {"DLT-PATCH::%i:%c:;"},
	.group = 1,
	.power_max = 32,
	.in_base = 1,
	.out_after_in = true,
	.identity_record = polatis_identity,
	.size_record = polatis_size,
	.read_record = polatis_read,
	.power_record = polatis_power,
};

/* ---- Calient: named circuits, provisioned, then activated ---- */

static void
calient_identity(struct core *c, const char *record)
{
	char v[32];
	if (ocsproto_tl1_field(record, "MODEL", v, sizeof v) ||
	    ocsproto_tl1_field(record, "TYPE", v, sizeof v))
		ocsproto_core_text(c->id.model, sizeof c->id.model, v, sizeof v);
	if (ocsproto_tl1_field(record, "VERSION", v, sizeof v) ||
	    ocsproto_tl1_field(record, "SWVER", v, sizeof v))
		ocsproto_core_text(c->id.version, sizeof c->id.version, v, sizeof v);
}

static enum ocs_shown
calient_shown(const char *record)
{
	char as[8] = "", os[8] = "", oc[8] = "";
	ocsproto_tl1_field(record, "AS", as, sizeof as);
	ocsproto_tl1_field(record, "OS", os, sizeof os);
	ocsproto_tl1_field(record, "OC", oc, sizeof oc);
	if (strcasecmp(oc, "FAIL") == 0)
		return OCS_SHOWN_DARK;
	if (strcasecmp(as, "IS") == 0 && strcasecmp(os, "IS") == 0 && strcasecmp(oc, "OK") == 0)
		return OCS_SHOWN_STEADY;
	return OCS_SHOWN_SETTLING;
}

static void
calient_read(struct core *c, const char *record)
{
	char src[32], dst[32], type[8] = "";
	uint32_t in = CORE_OTHER, out = CORE_OTHER;
	if (!ocsproto_tl1_field(record, "SRCPORT", src, sizeof src) ||
	    !ocsproto_tl1_field(record, "DSTPORT", dst, sizeof dst))
		return;
	ocsproto_tl1_field(record, "CONNTYPE", type, sizeof type);
	ocsproto_tl1_port(c, src, strlen(src), true, &in);
	ocsproto_tl1_port(c, dst, strlen(dst), false, &out);
	ocsproto_core_have(c, in, out, calient_shown(record));
	if (strncasecmp(type, "2", 1) == 0)
		ocsproto_core_have(c, out, in, calient_shown(record));
}

static void
calient_power(struct core *c, const char *record)
{
	size_t n = strcspn(record, ":");
	char v[16];
	int32_t dbm;
	uint32_t port;
	if (!ocsproto_tl1_port(c, record, n, true, &port))
		return;
	/* "NONE" is no number: no reading. */
	if (ocsproto_tl1_field(record, "INPWR", v, sizeof v) &&
	    ocsproto_core_dbm(v, strlen(v), &dbm))
		ocsproto_core_power_is(c, true, port, dbm);
	if (ocsproto_tl1_field(record, "OUTPWR", v, sizeof v) &&
	    ocsproto_core_dbm(v, strlen(v), &dbm))
		ocsproto_core_power_is(c, false, port, dbm);
}

const struct tl1_dialect ocsproto_tl1_calient = {
	.vendor = "Calient",
	.login = "ACT-USER::%u:%c::%p;",
	.identity = "RTRV-NE:::%c:;",
	.keepalive = "RTRV-HDR:::%c;",
	.read = "RTRV-CRS:::%c::ALL;",
	.power = "RTRV-PORT-SUM::%P:%c:;",
	.add = {"ENT-CRS::%i,%o:%c::%g,1WAY;", "ACT-CRS::%i,%o:%c::%n,%g;"},
	.del = {"CANC-CRS::%i,%o:%c::%n;", "DLT-CRS::%i,%o:%c::,%g,%n;"},
	.group = 1,
	.power_max = 1,
	.identity_record = calient_identity,
	.read_record = calient_read,
	.power_record = calient_power,
};

/* ---- Glimmerglass: lists, and mirrors that settle after the answer ---- */

static void
glimmerglass_size(struct core *c, const char *record)
{
	char v[32];
	if (ocsproto_tl1_field(record, "LicensedPortMatrix", v, sizeof v))
		ocsproto_tl1_size(c, v);
	if (ocsproto_tl1_field(record, "ProductName", v, sizeof v))
		ocsproto_core_text(c->id.model, sizeof c->id.model, v, sizeof v);
	if (ocsproto_tl1_field(record, "SoftwareVersion", v, sizeof v))
		ocsproto_core_text(c->id.version, sizeof c->id.version, v, sizeof v);
}

static enum ocs_shown
glimmerglass_shown(const char *state)
{
	if (strcasecmp(state, "steady") == 0)
		return OCS_SHOWN_STEADY;
	return strcasecmp(state, "fault") == 0 ? OCS_SHOWN_DARK : OCS_SHOWN_SETTLING;
}

static void
glimmerglass_read(struct core *c, const char *record)
{
	char in_name[16], out_name[16], state[24] = "";
	uint32_t in = CORE_OTHER, out = CORE_OTHER;
	if (!ocsproto_tl1_field(record, "IPORTID", in_name, sizeof in_name) ||
	    !ocsproto_tl1_field(record, "OPORTID", out_name, sizeof out_name) ||
	    strcmp(out_name, "0") == 0 || strcmp(in_name, "0") == 0)
		return;
	ocsproto_tl1_field(record, "CONNSTATE", state, sizeof state);
	ocsproto_tl1_port(c, in_name, strlen(in_name), true, &in);
	ocsproto_tl1_port(c, out_name, strlen(out_name), false, &out);
	ocsproto_core_have(c, in, out, glimmerglass_shown(state));
}

static void
glimmerglass_power(struct core *c, const char *record)
{
	static const char *const ids[] = {"OPORTID", "IPORTID"};
	static const char *const powers[] = {"OUTPWR", "INPWR"};
	for (unsigned int k = 0; k < 2; k++) {
		char name[16], v[16];
		uint32_t port;
		int32_t dbm;
		if (ocsproto_tl1_field(record, ids[k], name, sizeof name) &&
		    ocsproto_tl1_port(c, name, strlen(name), k, &port) &&
		    ocsproto_tl1_field(record, powers[k], v, sizeof v) &&
		    ocsproto_core_dbm(v, strlen(v), &dbm))
			ocsproto_core_power_is(c, k, port, dbm);
	}
}

const struct tl1_dialect ocsproto_tl1_glimmerglass = {
	.vendor = "Glimmerglass",
	.login = "ACT-USER::%u:%c::%p;",
	.size = "RTRV-SYSTEM-INFO:::%c:;",
	.keepalive = "RTRV-HDR:::%c;",
	.read = "RTRV-CRS-FIBER::ALL:%c:;",
	.power = "RTRV-CRS-FIBER::ALL:%c:;",
	.add = {"ENT-CRS-FIBER::%I,%O:%c:::OPMODE=ASYNC;"},
	.del = {"DLT-CRS-FIBER::%I,%O:%c:::OPMODE=SYNC;"},
	.group = 32,
	.power_max = UINT32_MAX,
	.in_base = 10001,
	.out_base = 20001,
	.size_record = glimmerglass_size,
	.read_record = glimmerglass_read,
	.power_record = glimmerglass_power,
};
