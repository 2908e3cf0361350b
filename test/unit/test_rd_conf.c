/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include "rd/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char good[] =
	"{\n" /* line 1 */
	" \"cluster\": { \"name\": \"a\",\n"
	"  \"relays\": [ { \"private\": \"10.0.0.2\", \"global\": \"198.51.100.2\" },\n"
	"   { \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\" } ] },\n"
	" \"ports\": {\n" /* line 5 */
	"  \"private\": { \"interface\": \"eth0\", \"address\": \"10.0.0.1\", \"prefix_len\": 24 "
	"},\n"
	"  \"global\": { \"device\": \"0000:03:00.0\", \"address\": \"198.51.100.1\",\n"
	"   \"prefix_len\": 24, \"gateway\": \"198.51.100.254\" } },\n"
	" \"impi\": { \"server\": \"203.0.113.5:7810\" }, \"sealing\": { \"key_file\": \"/k\" }\n"
	"}\n"; /* line 10 */

static void
good_is_good(void **state)
{
	static struct rd_conf c;
	static struct rd_faults f;
	(void)state;
	memset(&f, 0, sizeof f);
	assert_true(rd_conf_parse(good, strlen(good), &c, &f));
	assert_int_equal(f.count, 0);
	assert_int_equal(c.cluster.nrelays, 2);
	assert_int_equal(c.cluster.self, 1);
	assert_int_equal(c.port[RD_LEG_PRIVATE].address, 0x0a000001);
	assert_int_equal(c.port[RD_LEG_GLOBAL].gateway, 0xc63364fe);
	assert_string_equal(c.port[RD_LEG_GLOBAL].device, "0000:03:00.0");
	assert_string_equal(c.impi.server_host, "203.0.113.5");
	assert_int_equal(c.impi.server_port, 7810);
	/* defaults of the table */
	assert_int_equal(c.port[RD_LEG_PRIVATE].mtu, 1500);
	assert_int_equal(c.port[RD_LEG_PRIVATE].sealing, RD_SEALING_OFF);
	assert_int_equal(c.port[RD_LEG_GLOBAL].sealing, RD_SEALING_ON);
	assert_int_equal(c.workers, 1);
	assert_int_equal(c.idle, 0);
	assert_true(c.eal.hugepages);
	assert_string_equal(c.eal.file_prefix, "relayd");
}

static void
congestion_control_by_name(void **state)
{
	static const struct {
		const char *name;
		enum rd_cc cc;
	} row[] = {{"fixed", RD_CC_FIXED}, {"cubic", RD_CC_CUBIC}, {"bbr", RD_CC_BBR}};
	static struct rd_conf c;
	static struct rd_faults f;
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char text[sizeof good + 64];
		memset(&f, 0, sizeof f);
		snprintf(text, sizeof text, "{ \"suci\": { \"global_cc\": \"%s\" },%s", row[i].name,
			 good + 1);
		assert_true(rd_conf_parse(text, strlen(text), &c, &f));
		assert_int_equal(c.suci.global_cc, row[i].cc);
		assert_int_equal(c.suci.private_cc, RD_CC_CUBIC);
	}
}

static void
open_ports(void **state)
{
	static const struct {
		const char *text;
		int n;
	} row[] = {
		{"", 0},
		{"tcp/22", 1},
		{"private:tcp/22,global:udp/5000-5010, tcp/1-65535", 3},
		{"tcp/0", -1},
		{"tcp/65536", -1},
		{"tcp/22-21", -1},
		{"tcp/22,", -1},
		{"tcp/22;tcp/23", -1},
		{"icmp/1", -1},
		{"light:tcp/22", -1},
		{"private:", -1},
		{"22", -1},
		{"tcp/-5", -1},
		{"tcp/5-", -1},
	};
	struct rd_conf_open o[3];
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		print_message("  %s\n", row[i].text);
		assert_int_equal(rd_conf_open_ports(row[i].text, o, 3), row[i].n);
	}
	assert_int_equal(rd_conf_open_ports(row[2].text, o, 2), -1);
	assert_int_equal(rd_conf_open_ports(row[2].text, o, 3), 3);
	assert_int_equal(o[0].legs, 1);
	assert_true(o[0].tcp);
	assert_int_equal(o[1].legs, 2);
	assert_false(o[1].tcp);
	assert_int_equal(o[1].first, 5000);
	assert_int_equal(o[1].last, 5010);
	assert_int_equal(o[2].legs, 3);
	assert_int_equal(o[2].last, 65535);
}

static void
known_macs(void **state)
{
	static const struct {
		const char *text;
		int n;
	} row[] = {
		{"", 0},
		{"10.0.0.10=02:00:00:00:00:0a", 1},
		{"10.0.0.10=02:00:00:00:00:0a, 10.0.0.11=2:0:0:0:0:B", 2},
		{"10.0.0.10=02:00:00:00:00", -1},
		{"10.0.0.10=03:00:00:00:00:0a", -1}, /* multicast */
		{"10.0.0.10=ff:ff:ff:ff:ff:ff", -1},
		{"10.0.0=02:00:00:00:00:0a", -1},
		{"10.0.0.10=02:00:00:00:00:0a,", -1},
		{"10.0.0.10 02:00:00:00:00:0a", -1},
		{"=", -1},
		{"2001:db8::fe=02:00:00:00:00:0a", 1},
		{"10.0.0.10=02:00:00:00:00:0a,fe80::1=2:0:0:0:0:B", 2},
		{"::ffff:10.0.0.1=02:00:00:00:00:0a", -1}, /* IPv4 is written as such */
		{"2001:db8:::fe=02:00:00:00:00:0a", -1},
	};
	struct rd_conf_mac m[2];
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		print_message("  %s\n", row[i].text);
		assert_int_equal(rd_conf_macs(row[i].text, m, 2), row[i].n);
	}
	assert_int_equal(rd_conf_macs(row[2].text, m, 1), -1);
	assert_int_equal(rd_conf_macs(row[2].text, m, 2), 2);
	static const uint8_t wanted[6] = {2, 0, 0, 0, 0, 0xb};
	assert_int_equal(m[1].address, 0x0a00000b);
	assert_memory_equal(m[1].mac, wanted, 6);
}

/* Replace the first `from` in the good text by `to`; want a fault there. */
static const struct {
	const char *name, *from, *to, *pointer;
	uint32_t line;
	const char *text; /* part of the fault's text */
} fault_cases[] = {
	{"number too large", "\"prefix_len\": 24 }", "\"prefix_len\": 32 }",
	 "/ports/private/prefix_len", 6, "32 is out of range, 1 to 31 bits"},
	{"number negative", "\"prefix_len\": 24 }", "\"prefix_len\": -1 }",
	 "/ports/private/prefix_len", 6, "out of range"},
	{"number as string", "\"prefix_len\": 24,", "\"prefix_len\": \"24\",",
	 "/ports/global/prefix_len", 8, "is a string"},
	{"number with fraction", "\"prefix_len\": 24 }", "\"prefix_len\": 24.5 }",
	 "/ports/private/prefix_len", 6, "fraction"},
	{"sealing without a key", "\"key_file\": \"/k\"", "\"key_file\": \"\"",
	 "/ports/global/sealing", 0, "needs sealing.key_file"},
	{"sealing is a word", "198.51.100.254\" }", "198.51.100.254\", \"sealing\": \"maybe\" }",
	 "/ports/global/sealing", 8, "not one of off|on"},
	{"unknown top key", "\"impi\":", "\"colour\": 1, \"impi\":", "/colour", 9, "unknown key"},
	{"unknown nested key", "\"name\": \"a\"", "\"name\": \"a\", \"names\": 1", "/cluster/names",
	 2, "did you mean cluster.name?"},
	{"slip in a nested key", "\"key_file\"", "\"key_flie\"", "/sealing/key_flie", 9,
	 "did you mean sealing.key_file?"},
	{"right word in the wrong object", "\"name\": \"a\"",
	 "\"name\": \"a\", \"key_file\": \"x\"", "/cluster/key_file", 2, "did you mean"},
	{"right word in no object", "\"impi\":", "\"global_mtu_start\": 1500, \"impi\":",
	 "/global_mtu_start", 9, "did you mean suci.global_mtu_start?"},
	{"dotted key is unknown", "\"impi\":", "\"ports.private.mtu\": 1500, \"impi\":",
	 "/ports.private.mtu", 9, "nested keys are written as objects"},
	{"slash in a key is escaped", "\"impi\":", "\"a/b~c\": 1, \"impi\":", "/a~1b~0c", 9,
	 "unknown key"},
	{"missing required", ", \"prefix_len\": 24 }", " }", "/ports/private/prefix_len", 6,
	 "is missing"},
	{"bad address", "\"address\": \"10.0.0.1\"", "\"address\": \"10.0.0.256\"",
	 "/ports/private/address", 6, "not an IPv4 address"},
	{"address with junk", "\"address\": \"10.0.0.1\"", "\"address\": \"10.0.0.1x\"",
	 "/ports/private/address", 6, "not an IPv4 address"},
	{"multicast address", "\"address\": \"10.0.0.1\"", "\"address\": \"224.0.0.1\"",
	 "/ports/private/address", 6, "cannot be the address of a host"},
	{"network address", "\"address\": \"198.51.100.1\"", "\"address\": \"198.51.100.0\"",
	 "/ports/global/address", 7, "network or broadcast"},
	{"gateway outside", "198.51.100.254", "198.51.101.254", "/ports/global/gateway", 8,
	 "not in the subnet"},
	{"gateway is us", "198.51.100.254", "198.51.100.1", "/ports/global/gateway", 8,
	 "our own address"},
	{"IPv6 address without a length", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"2001:db8::1\" }", "/ports/global/ipv6", 8,
	 "is not an IPv6 address and a length of its prefix, like 2001:db8::7/64"},
	{"IPv6 address that is IPv4", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"10.0.0.1/24\" }", "/ports/global/ipv6", 8,
	 "is not an IPv6"},
	{"IPv6 address of one link", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"fe80::1/64\" }", "/ports/global/ipv6", 8, "is link-local"},
	{"IPv6 address of a group", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"ff02::1/64\" }", "/ports/global/ipv6", 8, "multicast"},
	{"IPv6 prefix of 0 bits", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"2001:db8::1/0\" }", "/ports/global/ipv6", 8, "length"},
	{"IPv6 gateway without an address", "198.51.100.254\" }",
	 "198.51.100.254\", \"gateway6\": \"2001:db8::fe\" }", "/ports/global/gateway6", 8,
	 "leads nowhere without ports.global.ipv6"},
	{"IPv6 gateway elsewhere", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"2001:db8::1/64\", \"gateway6\": \"2001:db9::fe\" }",
	 "/ports/global/gateway6", 8, "not in the prefix"},
	{"IPv6 on the private leg of one relay of two", "\"prefix_len\": 24 }",
	 "\"prefix_len\": 24, \"ipv6\": \"2001:db8::1/64\" }", "/cluster/relays/0", 3,
	 "lacks \"private6\""},
	{"relays by IPv6, but we have none", "\"impi\":",
	 "\"trunks\": { \"ipv6\": \"198.51.100.21=2001:db8::21\" }, \"impi\":", "/trunks/ipv6", 9,
	 "needs ports.global.ipv6"},
	{"relays by IPv6 without names",
	 "\"impi\":", "\"trunks\": { \"ipv6\": \"2001:db8::21\" }, \"impi\":", "/trunks/ipv6", 9,
	 "is not a list like 198.51.100.21=2001:db8::21"},
	{"a relay behind no router", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"2001:db8::1/64\" } }, \"trunks\": { \"ipv6\": "
	 "\"198.51.100.21=2001:db9::21\" ",
	 "/trunks/ipv6", 8, "there is no ports.global.gateway6"},
	{"a relay of ours by IPv6", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"2001:db8::1/64\" } }, \"trunks\": { \"ipv6\": "
	 "\"198.51.100.1=2001:db8::21\" ",
	 "/trunks/ipv6", 8, "is a relay of this cluster"},
	{"one IPv6 address for two relays", "198.51.100.254\" }",
	 "198.51.100.254\", \"ipv6\": \"2001:db8::1/64\" } }, \"trunks\": { \"ipv6\": "
	 "\"198.51.100.21=2001:db8::21,198.51.100.22=2001:db8:0::21\" ",
	 "/trunks/ipv6", 8, "198.51.100.22=2001:db8::21: one of the two was there before"},
	{"a fixed IPv6 neighbour elsewhere",
	 "\"impi\":", "\"neighbours\": { \"mac\": \"2001:db8::9=02:00:00:00:00:09\" }, \"impi\":",
	 "/neighbours/mac", 9, "2001:db8::9 is neither in the IPv6 prefix"},
	{"both device and interface", "\"interface\": \"eth0\"",
	 "\"interface\": \"eth0\", \"device\": \"net_null0\"", "/ports/private", 6, "not both"},
	{"controller nowhere", "\"impi\":",
	 "\"optical\": { \"controller\": \"here:7820\" }, \"impi\":", "/optical/controller", 9,
	 "not IP:PORT"},
	{"controller that is deaf", "\"impi\":",
	 "\"optical\": { \"switch\": { \"protocol\": \"scpi\", \"address\": \"h\" } }, \"impi\":",
	 "/optical/listen", 0, "needed by whoever drives a switch"},
	{"switch nowhere", "\"impi\":",
	 "\"optical\": { \"listen\": \"10.0.0.9:1\", \"switch\": { \"protocol\": \"scpi\" } }, "
	 "\"impi\":",
	 "/optical/switch/address", 0, "where the switch is"},
	{"ports beyond the switch", "\"impi\":",
	 "\"optical\": { \"listen\": \"10.0.0.9:1\", \"switch\": { \"protocol\": \"scpi\", "
	 "\"address\": \"h\", \"ports\": 8, \"own\": \"0-8\" } }, \"impi\":",
	 "/optical/switch/own", 9, "not a list of ports below 8"},
	{"groups of wavelengths", "\"impi\":",
	 "\"optical\": { \"listen\": \"10.0.0.9:1\", \"lit_groups\": \"0-3=2;3=1\", "
	 "\"switch\": { \"protocol\": \"scpi\", \"address\": \"h\" } }, \"impi\":",
	 "/optical/lit_groups", 9, "port 3 is in two groups"},
	{"a relay in two groups", "\"impi\":",
	 "\"optical\": { \"listen\": \"10.0.0.9:1\", \"lit_groups\": \"0=1\", \"ports\": [ "
	 "{ \"interface\": \"l0\", \"address\": \"10.50.0.1/24\", \"switch_port\": 0 }, "
	 "{ \"interface\": \"l1\", \"address\": \"10.50.0.2/24\", \"switch_port\": 1 } ], "
	 "\"switch\": { \"protocol\": \"scpi\", \"address\": \"h\" } }, \"impi\":",
	 "/optical/lit_groups", 9, "ports 0 and 1 of this relay are not in one group"},
	{"light port beyond the switch", "\"impi\":",
	 "\"optical\": { \"listen\": \"10.0.0.9:1\", \"ports\": [ "
	 "{ \"interface\": \"l0\", \"address\": \"10.50.0.1/24\", \"switch_port\": 8 } ], "
	 "\"switch\": { \"protocol\": \"scpi\", \"address\": \"h\", \"ports\": 8 } }, \"impi\":",
	 "/optical/ports/0/switch_port", 9, "8 is not below optical.switch.ports, 8"},
	{"two light ports at one of the switch", "\"impi\":",
	 "\"optical\": { \"controller\": \"10.0.0.9:1\", \"ports\": [ "
	 "{ \"interface\": \"l0\", \"address\": \"10.50.0.1/24\", \"switch_port\": 3 }, "
	 "{ \"interface\": \"l1\", \"address\": \"10.50.0.2/24\", \"switch_port\": 3 } ] }, "
	 "\"impi\":",
	 "/optical/ports/1/switch_port", 9, "is that of optical.ports 0, too"},
	{"ports without names", "\"impi\":",
	 "\"optical\": { \"listen\": \"10.0.0.9:1\", \"switch\": { \"protocol\": \"tl1-calient\", "
	 "\"address\": \"h\" } }, \"impi\":",
	 "/optical/switch/names", 0, "a file with the names of its ports"},
	{"no such protocol",
	 "\"impi\":", "\"optical\": { \"switch\": { \"protocol\": \"telnet\" } }, \"impi\":",
	 "/optical/switch/protocol", 9, "not one of"},
	{"light port wired nowhere", "\"impi\":",
	 "\"optical\": { \"controller\": \"10.0.0.9:1\", \"ports\": [ { \"interface\": \"l0\", "
	 "\"address\": \"10.50.0.1/24\" } ] }, \"impi\":",
	 "/optical/ports/0/switch_port", 0, "has to know where the port is wired"},
	{"neither", "\"interface\": \"eth0\",", "", "/ports/private", 6, "give device"},
	{"interface name too long", "\"eth0\"", "\"eth0123456789abc\"", "/ports/private/interface",
	 6, "longer than 15"},
	{"word not in the list", "\"impi\":", "\"idle\": \"doze\", \"impi\":", "/idle", 9,
	 "busy|pause|sleep"},
	{"object where a value is", "\"name\": \"a\"", "\"name\": {}", "/cluster/name", 2,
	 "is an object"},
	{"value where an object is", "\"impi\": {", "\"eal\": 3, \"impi\": {", "/eal", 9,
	 "must be an object"},
	{"null", "\"impi\":", "\"workers\": null, \"impi\":", "/workers", 9, "is null"},
	{"too many workers", "\"impi\":", "\"workers\": 17, \"impi\":", "/workers", 9,
	 "17 is out of range, 1 to 16"},
	{"own address not listed", "\"private\": \"10.0.0.1\"", "\"private\": \"10.0.0.3\"",
	 "/cluster/relays", 3, "no relay of the list has our private address 10.0.0.1"},
	{"global address differs", "\"global\": \"198.51.100.1\" }",
	 "\"global\": \"198.51.100.7\" }", "/cluster/relays/1/global", 4, "differs"},
	{"address twice", "\"global\": \"198.51.100.2\"", "\"global\": \"198.51.100.1\"",
	 "/cluster/relays/1", 4, "address of relay 0"},
	{"relay lacks global", "\"private\": \"10.0.0.2\", \"global\": \"198.51.100.2\"",
	 "\"private\": \"10.0.0.2\"", "/cluster/relays/0", 3, "lacks \"global\""},
	{"unknown key in a relay", "\"private\": \"10.0.0.2\"",
	 "\"private\": \"10.0.0.2\", \"weight\": 1", "/cluster/relays/0/weight", 3, "unknown key"},
	{"server without port", "203.0.113.5:7810", "203.0.113.5", "/impi/server", 9,
	 "is not host:port"},
	{"server with port 0", "203.0.113.5:7810", "203.0.113.5:0", "/impi/server", 9,
	 "is not host:port"},
	{"key without file", "\"server\":", "\"auth\": \"key\", \"server\":", "/impi/auth", 9,
	 "needs impi.key_file"},
	{"no prefixes", "\"server\":", "\"allow\": \"10.0.0.0/8;x\", \"server\":", "/impi/allow", 9,
	 "is not a list of up to 32 prefixes"},
	{"keepalive slower than liveness",
	 "\"impi\":", "\"suci\": { \"liveness_ms\": 1000, \"keepalive_ms\": 900 }, \"impi\":",
	 "/suci/keepalive_ms", 9, "at most half"},
	{"window above segments", "\"impi\":",
	 "\"limits\": { \"segments\": 100, \"queue\": 100, \"window\": 101 }, \"impi\":",
	 "/limits/window", 9, "more than limits.segments"},
	{"doors", "\"impi\":", "\"doors\": { \"max\": 63 }, \"impi\":", "/doors/max", 9,
	 "at least 64"},
	{"imports of doors", "\"impi\":", "\"doors\": { \"max\": 64, \"imports\": 65 }, \"impi\":",
	 "/doors/imports", 9, "more than doors.max"},
	{"subnets overlap", "\"address\": \"10.0.0.1\", \"prefix_len\": 24",
	 "\"address\": \"198.51.100.77\", \"prefix_len\": 24", "/ports/global/address", 7,
	 "overlap"},
	{"gates are no array", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gates\": \"10.0.0.5\"", "/cluster/relays/1/gates", 4,
	 "array of IPv4 addresses"},
	{"gate is no address", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gates\": [\"10.0.0.5\", \"10.0.0\"]",
	 "/cluster/relays/1/gates/1", 4, "not an IPv4 address"},
	{"gate is empty", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gates\": [\"\"]", "/cluster/relays/1/gates/0", 4,
	 "not an IPv4 address"},
	{"gate is a relay", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gates\": [\"10.0.0.2\"]", "/cluster/relays/1/gates/0", 4,
	 "also an address of relay 0"},
	{"gate twice", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gates\": [\"10.0.0.7\", \"10.0.0.7\"]",
	 "/cluster/relays/1/gates/1", 4, "also an address of relay 1"},
	{"gate is on no leg of ours", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gates\": [\"10.0.1.7\"]", "/cluster/relays/1/gates/0", 4,
	 "needs gateway.private_via host"},
	{"gate is the broadcast address", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gates\": [\"10.0.0.255\"]", "/cluster/relays/1/gates/0", 4,
	 "network or broadcast"},
	{"global gate is the next hop", "\"private\": \"10.0.0.1\"",
	 "\"private\": \"10.0.0.1\", \"gate_global\": \"198.51.100.254\"",
	 "/cluster/relays/1/gate_global", 4, "the global leg's gateway"},
	{"via host without gates",
	 "\"impi\":", "\"gateway\": { \"private_via\": \"host\" }, \"impi\":", "/cluster/relays/0",
	 3, "private_via host needs gates"},
	{"via host without global gate",
	 "\"impi\":", "\"gateway\": { \"global_via\": \"host\" }, \"impi\":", "/cluster/relays/1",
	 4, "global_via host needs gate_global"},
	{"gate ports hold another",
	 "\"impi\":", "\"gateway\": { \"private_port\": 7800 }, \"impi\":", "/gateway/private_port",
	 9, "contains impi.listen_port 7811"},
	{"gate ports hold one of several", "\"impi\": {",
	 "\"gateway\": { \"private_port\": 7812 }, \"impi\": { \"ports\": 3,",
	 "/gateway/private_port", 9,
	 "contains 7812, one of impi.ports 3 from impi.listen_port 7811"},
	{"no port", "\"server\":", "\"ports\": 0, \"server\":", "/impi/ports", 9, "out of range"},
	{"more ports than there may be", "\"server\":", "\"ports\": 65, \"server\":", "/impi/ports",
	 9, "out of range"},
	{"ports reach the peers' one", "\"server\":", "\"ports\": 3, \"server\":", "/impi/ports", 9,
	 "contains cluster.peer_port 7813"},
	{"ports beyond the last",
	 "\"server\":", "\"listen_port\": 65535, \"ports\": 2, \"server\":", "/impi/ports", 9,
	 "impi.listen_port 65535 on end behind 65535"},
	{"the server's ports beyond the last", "203.0.113.5:7810\"",
	 "203.0.113.5:65535\", \"ports\": 2", "/impi/ports", 9,
	 "that of impi.server, 65535, on end behind 65535"},
	{"gate ports beyond the last",
	 "\"impi\":", "\"gateway\": { \"global_port\": 65505 }, \"impi\":", "/gateway/global_port",
	 9, "end behind 65535"},
	{"gateway has the relay's port",
	 "\"impi\":", "\"gateway\": { \"udp_port\": 7812 }, \"impi\":", "/gateway/udp_port", 9,
	 "7812 is also one of ports.private.udp_port 7812 to 7812"},
	{"gateway at the port of the fourth worker", "\"impi\":",
	 "\"workers\": 4, \"gateway\": { \"udp_port\": 7815 }, \"impi\":", "/gateway/udp_port", 9,
	 "7812 to 7815 of the workers"},
	{"another number of workers for ourselves", "\"global\": \"198.51.100.1\" }",
	 "\"global\": \"198.51.100.1\", \"workers\": 2 }", "/cluster/relays/1/workers", 4,
	 "2 differs from workers 1"},
	{"a relay with too many workers", "\"global\": \"198.51.100.2\" }",
	 "\"global\": \"198.51.100.2\", \"workers\": 17 }", "/cluster/relays/0/workers", 3,
	 "17 is out of range, 1 to 16"},
	{"CPU list", "\"impi\":", "\"gateway\": { \"cpus\": \"2-\" }, \"impi\":", "/gateway/cpus",
	 9, "not a list of CPUs"},
	{"not EAL's lcores", "\"impi\":", "\"eal\": { \"lcores\": \"2-3x\" }, \"impi\":",
	 "/eal/lcores", 9, "\"2-3x\" is not EAL --lcores syntax"},
	{"no lcores", "\"impi\":", "\"eal\": { \"lcores\": \"\" }, \"impi\":", "/eal/lcores", 9,
	 "is not EAL --lcores syntax"},
	{"fewer lcores than workers",
	 "\"impi\":", "\"workers\": 3, \"eal\": { \"lcores\": \"0-2\" }, \"impi\":", "/eal/lcores",
	 9, "names 3 lcores, 4 are needed (control and workers 3)"},
	{"the server is our private leg", "203.0.113.5:7810", "10.0.0.1:7810", "/impi/server", 9,
	 "our own address (ports.private.address)"},
	{"the server is our global leg", "203.0.113.5:7810", "198.51.100.1:7810", "/impi/server", 9,
	 "\"tap_allow\": \"global:tcp/7810\""},
	{"an IPv6 server without brackets", "203.0.113.5:7810", "2001:db8::9:7810", "/impi/server",
	 9, "in brackets"},
	{"an IPv6 server, and we have no IPv6", "203.0.113.5:7810", "[2001:db8::9]:7810",
	 "/impi/server", 9, "needs ports.global.ipv6"},
	{"a server of a group", "203.0.113.5:7810", "[ff02::9]:7810", "/impi/server", 9,
	 "multicast"},
	{"brackets with nothing in them", "203.0.113.5:7810", "[]:7810", "/impi/server", 9,
	 "no host"},
	{"a name in brackets", "203.0.113.5:7810", "[impi.example]:7810", "/impi/server", 9,
	 "in brackets"},
	{"trunks begin above the MTU", "\"impi\":",
	 "\"suci\": { \"global_mtu_start\": 9000 }, \"impi\":", "/suci/global_mtu_start", 9,
	 "9000 is more than ports.global.mtu 1500"},
	{"NUL in a string", "\"name\": \"a\"", "\"name\": \"a\\u0000b\"", "", 2, "not JSON"},
	{"duplicate key", "\"name\": \"a\"", "\"name\": \"a\", \"name\": \"b\"", "", 2, "not JSON"},
	{"not JSON", "\"impi\":", "\"impi\"", "", 9, "not JSON"},
};

static void replace(char *out, size_t max, const char *from, const char *to);

/* Beside what is a fault: a small MTU with the default start; a server of this machine's own. */
static void
near_faults_is_good(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"\"198.51.100.254\"", "\"198.51.100.254\", \"mtu\": 1400"},
		{"\"198.51.100.254\"", "\"198.51.100.254\", \"mtu\": 9000"},
		{"\"impi\":", "\"suci\": { \"global_mtu_start\": 1500 }, \"impi\":"},
		{"203.0.113.5:7810\" }",
		 "198.51.100.1:7810\" }, \"tap_allow\": \"global:tcp/7810\""},
		{"203.0.113.5:7810", "198.51.100.2:7810"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		static struct rd_conf c;
		static struct rd_faults f;
		char text[4096];
		memset(&f, 0, sizeof f);
		replace(text, sizeof text, cases[i].from, cases[i].to);
		bool ok = rd_conf_parse(text, strlen(text), &c, &f);
		print_message("%s: %s\n", cases[i].to, f.count ? f.fault[0].text : "good");
		assert_true(ok);
	}
}

/* Ranges of ports that touch and do not overlap. */
static void
impi_ports(void **state)
{
	static const struct {
		const char *to;
		uint32_t listen_port, ports;
	} cases[] = {
		{"\"server\":", 7811, 1},
		{"\"ports\": 2, \"server\":", 7811, 2},
		{"\"listen_port\": 7814, \"ports\": 6, \"server\":", 7814, 6},
		{"\"listen_port\": 7852, \"ports\": 64, \"server\":", 7852, 64},
		{"\"listen_port\": 65535, \"server\":", 65535, 1},
		{"\"listen_port\": 65472, \"ports\": 64, \"server\":", 65472, 64},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		static struct rd_conf c;
		static struct rd_faults f;
		char text[4096];
		memset(&f, 0, sizeof f);
		replace(text, sizeof text, "\"server\":", cases[i].to);
		bool ok = rd_conf_parse(text, strlen(text), &c, &f);
		print_message("%s: %s\n", cases[i].to, f.count ? f.fault[0].text : "good");
		assert_true(ok);
		assert_int_equal(c.impi.listen_port, cases[i].listen_port);
		assert_int_equal(c.impi.ports, cases[i].ports);
	}
}

static void
replace(char *out, size_t max, const char *from, const char *to)
{
	const char *at = strstr(good, from);
	assert_non_null(at);
	int n = snprintf(out, max, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	assert_in_range(n, 1, max - 1);
}

static void
each_fault_has_pointer_and_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fault_cases / sizeof fault_cases[0]; i++) {
		static struct rd_conf c;
		static struct rd_faults f;
		char text[4096];
		print_message("  %s\n", fault_cases[i].name);
		memset(&f, 0, sizeof f);
		replace(text, sizeof text, fault_cases[i].from, fault_cases[i].to);
		assert_false(rd_conf_parse(text, strlen(text), &c, &f));
		bool found = false;
		for (uint32_t k = 0; k < f.count && k < RD_FAULTS_MAX; k++) {
			found |= strcmp(f.fault[k].pointer, fault_cases[i].pointer) == 0 &&
				 f.fault[k].line == fault_cases[i].line &&
				 strstr(f.fault[k].text, fault_cases[i].text);
			print_message("    %s:%u %s\n", f.fault[k].pointer, f.fault[k].line,
				      f.fault[k].text);
		}
		assert_true(found);
	}
}

static void
all_faults_at_once(void **state)
{
	static const char text[] = "{\n"
				   "\"workers\": 0,\n"
				   "\"idle\": 1,\n"
				   "\"drain_ms\": \"x\",\n"
				   "\"nonsense\": {}\n"
				   "}\n";
	static struct rd_conf c;
	static struct rd_faults f;
	uint32_t missing = 0;
	(void)state;
	memset(&f, 0, sizeof f);
	assert_false(rd_conf_parse(text, strlen(text), &c, &f));
	static const char *const want[] = {"/workers", "/idle", "/drain_ms", "/nonsense"};
	for (uint32_t w = 0; w < 4; w++) {
		uint32_t hits = 0;
		for (uint32_t k = 0; k < f.count; k++)
			hits += strcmp(f.fault[k].pointer, want[w]) == 0 &&
				f.fault[k].line == w + 2;
		assert_int_equal(hits, 1);
	}
	for (uint32_t k = 0; k < f.count; k++)
		missing += strstr(f.fault[k].text, "is missing") != NULL;
	assert_int_equal(missing, 3); /* cluster, ports, impi.server */
}

static void
more_faults_than_kept_are_counted(void **state)
{
	static struct rd_conf c;
	static struct rd_faults f;
	char text[8192] = "{";
	(void)state;
	memset(&f, 0, sizeof f);
	for (int i = 0; i < 100; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof text - n, "\"zz%d\": 1,", i);
	}
	snprintf(text + strlen(text), 16, "\"zz\": 1}");
	assert_false(rd_conf_parse(text, strlen(text), &c, &f));
	assert_true(f.count > 100);
}

static void
printed_defaults_parse(void **state)
{
	static struct rd_conf c;
	static struct rd_faults f;
	char *text;
	size_t len;
	(void)state;
	memset(&f, 0, sizeof f);
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	rd_conf_print_defaults(out);
	fclose(out);
	bool ok = rd_conf_parse(text, len, &c, &f);
	for (uint32_t k = 0; k < f.count; k++)
		print_message("    %s:%u %s\n", f.fault[k].pointer, f.fault[k].line,
			      f.fault[k].text);
	assert_true(ok);
	free(text);
}

/* Each UINT default lies within its own bounds; each ENUM default is a word. */
static void
table_is_sound(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < rd_conf_keys_count; i++) {
		const struct rd_key *k = &rd_conf_keys[i];
		if (k->type == RD_KEY_UINT) {
			unsigned long v = strtoul(k->fallback, NULL, 10);
			assert_in_range(v, k->min, k->max);
			assert_int_equal(k->size, 4);
		}
		if (k->type == RD_KEY_ENUM)
			assert_non_null(strstr(k->words, k->fallback));
		if (k->type == RD_KEY_STRING)
			assert_true(strlen(k->fallback) < k->size);
		assert_null(strchr(k->help, '"')); /* goes into JSON as it is */
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(k->path, rd_conf_keys[j].path);
	}
}

static const struct {
	const char *pointer;
	uint32_t line;
} locate_cases[] = {
	{"", 1},
	{"/cluster", 2},
	{"/cluster/relays", 3},
	{"/cluster/relays/0", 3},
	{"/cluster/relays/1", 4},
	{"/cluster/relays/1/global", 4},
	{"/cluster/relays/2", 0},
	{"/ports/global/prefix_len", 8},
	{"/impi/server", 9},
	{"/impi/servers", 0},
	{"/nothing", 0},
};

static void
locator_finds_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof locate_cases / sizeof locate_cases[0]; i++) {
		print_message("  %s\n", locate_cases[i].pointer);
		assert_int_equal(rd_conf_locate(good, strlen(good), locate_cases[i].pointer),
				 locate_cases[i].line);
	}
	static const char odd[] = "{ \"a\\\"b\": [1,\n {\"x\": \"}\"},\n \"y\"],\n \"z\": 0 }";
	assert_int_equal(rd_conf_locate(odd, strlen(odd), "/a\"b/2"), 3);
	assert_int_equal(rd_conf_locate(odd, strlen(odd), "/z"), 4);
}

static void
parse_ok(const char *from, const char *to, struct rd_conf *c)
{
	static struct rd_faults f;
	char text[4096];
	memset(&f, 0, sizeof f);
	replace(text, sizeof text, from, to);
	bool ok = rd_conf_parse(text, strlen(text), c, &f);
	for (uint32_t k = 0; k < f.count; k++)
		print_message("    %s:%u %s\n", f.fault[k].pointer, f.fault[k].line,
			      f.fault[k].text);
	assert_true(ok);
}

static void
gates_of_a_relay(void **state)
{
	static struct rd_conf c;
	uint32_t gate[RD_GATES_MAX];
	(void)state;
	/* The private address is the first gate, and the only one that need not be written. */
	parse_ok("\"a\"", "\"a\"", &c);
	assert_true(c.gateway.enable);
	assert_int_equal(rd_conf_gates(&c, 1, gate), 1);
	assert_int_equal(gate[0], 0x0a000001);
	assert_int_equal(rd_conf_gate_global(&c, 1), 0xc6336401);
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_PRIVATE, gate), 0);
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_GLOBAL, gate), 0);

	parse_ok("\"private\": \"10.0.0.1\"",
		 "\"private\": \"10.0.0.1\", \"gates\": [\"10.0.0.201\", \"10.0.0.202\"], "
		 "\"gate_global\": \"198.51.100.77\"",
		 &c);
	assert_int_equal(rd_conf_gates(&c, 0, gate), 1);
	assert_int_equal(rd_conf_gates(&c, 1, gate), 3);
	assert_int_equal(gate[0], 0x0a000001);
	assert_int_equal(gate[2], 0x0a0000ca);
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_PRIVATE, gate), 2);
	assert_int_equal(gate[0], 0x0a0000c9);
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_GLOBAL, gate), 1);
	assert_int_equal(gate[0], 0xc633644d);
	c.gateway.enable = false;
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_PRIVATE, gate), 0);
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_GLOBAL, gate), 0);
}

/* The machine's own addresses: anywhere, not put on a leg, the private one not among them. */
static void
gates_of_the_machine(void **state)
{
	static struct rd_conf c;
	uint32_t gate[RD_GATES_MAX];
	(void)state;
	parse_ok("{ \"private\": \"10.0.0.2\", \"global\": \"198.51.100.2\" },\n"
		 "   { \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\" } ] },\n",
		 "{ \"private\": \"10.0.0.2\", \"global\": \"198.51.100.2\",\n"
		 "     \"gates\": [\"192.0.2.2\"], \"gate_global\": \"203.0.113.2\" },\n"
		 "   { \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\",\n"
		 "     \"gates\": [\"192.0.2.1\"], \"gate_global\": \"203.0.113.1\" } ] },\n"
		 "\"gateway\": { \"private_via\": \"host\", \"global_via\": \"host\", "
		 "\"cpus\": \"0,2-3\" },\n",
		 &c);
	assert_int_equal(rd_conf_gates(&c, 1, gate), 1);
	assert_int_equal(gate[0], 0xc0000201);
	assert_int_equal(rd_conf_gate_global(&c, 1), 0xcb007101);
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_PRIVATE, gate), 0);
	assert_int_equal(rd_conf_leg_more(&c, RD_LEG_GLOBAL, gate), 0);
}

/* A relay of the list has as many workers as this one, or as it says. */
static void
workers_of_relays(void **state)
{
	static struct rd_conf c;
	static struct rd_faults f;
	char text[4096];
	(void)state;
	memset(&f, 0, sizeof f);
	replace(text, sizeof text,
		"\"impi\":", "\"workers\": 3, \"eal\": { \"lcores\": \"0-3\" }, \"impi\":");
	assert_true(rd_conf_parse(text, strlen(text), &c, &f));
	assert_int_equal(c.workers, 3);
	assert_int_equal(c.cluster.relay[0].workers, 3);
	assert_int_equal(c.cluster.relay[1].workers, 3);
	replace(text, sizeof text, "\"global\": \"198.51.100.2\" }",
		"\"global\": \"198.51.100.2\", \"workers\": 5 }");
	assert_true(rd_conf_parse(text, strlen(text), &c, &f));
	assert_int_equal(c.cluster.relay[0].workers, 5);
	assert_int_equal(c.cluster.relay[1].workers, 1);
}

static void
ports_of_workers_end_somewhere(void **state)
{
	static struct rd_conf c;
	static struct rd_faults f;
	char text[4096], more[4200];
	(void)state;
	for (uint32_t workers = 6; workers <= 7; workers++) {
		memset(&f, 0, sizeof f);
		replace(text, sizeof text, "\"interface\": \"eth0\"",
			"\"interface\": \"eth0\", \"udp_port\": 65530");
		snprintf(more, sizeof more,
			 "{ \"workers\": %u, \"eal\": { \"lcores\": \"0-7\" },%s", workers,
			 text + 1);
		assert_int_equal(rd_conf_parse(more, strlen(more), &c, &f), workers == 6);
		if (workers == 6)
			continue;
		assert_int_equal(f.count, 1);
		assert_string_equal(f.fault[0].pointer, "/ports/private/udp_port");
	}
}

static const struct {
	const char *text;
	bool ok;
	uint32_t value;
} ipv4_cases[] = {
	{"1.2.3.4", true, 0x01020304}, {"255.255.255.255", true, 0xffffffff},
	{"256.1.1.1", false, 0},       {"1.2.3", false, 0},
	{"1.2.3.4.5", false, 0},       {"", false, 0},
	{"1..2.3", false, 0},	       {" 1.2.3.4", false, 0},
	{"1.2.3.4 ", false, 0},	       {"0001.2.3.4", false, 0},
	{"a.b.c.d", false, 0},	       {"-1.2.3.4", false, 0},
};

static void
ipv4_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof ipv4_cases / sizeof ipv4_cases[0]; i++) {
		uint32_t v = 0;
		char buf[RD_IPV4_TEXT];
		print_message("  \"%s\"\n", ipv4_cases[i].text);
		assert_int_equal(rd_ipv4_parse(ipv4_cases[i].text, &v), ipv4_cases[i].ok);
		if (!ipv4_cases[i].ok)
			continue;
		assert_int_equal(v, ipv4_cases[i].value);
		assert_string_equal(rd_ipv4_text(v, buf), ipv4_cases[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_is_good),
		cmocka_unit_test(congestion_control_by_name),
		cmocka_unit_test(near_faults_is_good),
		cmocka_unit_test(impi_ports),
		cmocka_unit_test(each_fault_has_pointer_and_line),
		cmocka_unit_test(all_faults_at_once),
		cmocka_unit_test(more_faults_than_kept_are_counted),
		cmocka_unit_test(printed_defaults_parse),
		cmocka_unit_test(table_is_sound),
		cmocka_unit_test(locator_finds_lines),
		cmocka_unit_test(gates_of_a_relay),
		cmocka_unit_test(gates_of_the_machine),
		cmocka_unit_test(workers_of_relays),
		cmocka_unit_test(ports_of_workers_end_somewhere),
		cmocka_unit_test(ipv4_text),
		cmocka_unit_test(open_ports),
		cmocka_unit_test(known_macs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
