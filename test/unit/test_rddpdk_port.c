/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/port.h, pool.h, eal.h on DPDK's software ports: no hardware, no hugepages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_udp.h>

#include "driver/eal.h"
#include "driver/idle.h"
#include "driver/link.h"
#include "driver/nap.h"
#include "driver/pool.h"
#include "driver/port.h"
#include "../../driver/dpdk/port_internal.h"

static char err[512];

/* A network namespace for TAPs, in which the kernel sends no frames of its own.  Skips without
 * root. */
static void
enter_quiet_net(void)
{
	if (access("/dev/net/tun", R_OK | W_OK) || unshare(CLONE_NEWNET))
		skip();
	FILE *f = fopen("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w");
	if (f) {
		fputs("1", f);
		fclose(f);
	}
}

static int
start_eal(void **state)
{
	(void)state;
	struct rd_eal_opts o = {.prog = "test", .main_lcore = -1, .mem_mb = 96, .resident = true};
	if (rd_eal_start(&o, err, sizeof err) < 0) {
		print_error("%s\n", err);
		return -1;
	}
	return 0;
}

static int
stop_eal(void **state)
{
	(void)state;
	char dir[256];
	snprintf(dir, sizeof dir, "%s", rte_eal_get_runtime_dir());
	rd_eal_stop();
	return access(dir, F_OK) == 0 ? -1 : 0; /* nothing left behind */
}

static struct rte_mempool *
make_pool(uint32_t held)
{
	static unsigned n;
	char name[32];
	struct rte_mempool *mp = NULL;
	struct rd_pool_plan plan = rd_pool_plan(1500, 1024, held, 1);
	snprintf(name, sizeof name, "pool%u", n++);
	if (rd_pool_create(&mp, name, &plan, 0, err, sizeof err) < 0)
		fail_msg("%s", err);
	return mp;
}

static int
absent(const struct rte_memseg_list *list, const struct rte_memseg *seg, size_t len, void *user)
{
	static unsigned char there[96 * 1024 * 1024 / 4096];
	size_t pages = len / 4096, *sum = user;
	(void)list;
	assert_true(pages <= sizeof there);
	assert_int_equal(mincore(seg->addr, len, there), 0);
	sum[0] += pages;
	for (size_t i = 0; i < pages; i++)
		sum[1] += !(there[i] & 1);
	return 0;
}

/* All of it, though hardly any was used. */
static void
test_memory_is_resident(void **state)
{
	(void)state;
	size_t sum[2] = {0, 0};
	assert_int_equal(rte_memseg_contig_walk(absent, sum), 0);
	assert_int_equal(sum[0], 96 * 1024 * 1024 / 4096);
	assert_int_equal(sum[1], 0);
}

static void
test_device_names(void **state)
{
	static const struct {
		const char *device;
		uint16_t mtu;
		int want;
		const char *text; /* of the device, or in the error */
	} cases[] = {
		{"net_null3,size=60", 1500, 0, "net_null3,size=60"},
		{"0000:3b:00.1", 1500, 0, "0000:3b:00.1"},
		{"3b:00.1", 1500, 0, "0000:3b:00.1"},
		{"lo", 1500, 0,
		 "net_af_packet7,iface=lo,qpairs=1,framesz=2048,blocksz=8192,framecnt=1024"},
		{"if:lo", 9000, 0,
		 "net_af_packet7,iface=lo,qpairs=1,framesz=9216,blocksz=36864,framecnt=1024"},
		{"nosuch0", 1500, -ENODEV, "no such interface"},
		{"a-name-that-is-longer-than-any", 1500, -ENODEV, "no such interface"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char out[RD_DEV_NAME_MAX] = "";
		struct rd_port_conf c = {.device = cases[i].device,
					 .index = 7,
					 .mtu = cases[i].mtu,
					 .n_rxq = 1,
					 .n_txq = 1};
		print_message("  %s\n", cases[i].device);
		assert_int_equal(rd_dev_string(&c, out, sizeof out, err, sizeof err),
				 cases[i].want);
		if (cases[i].want == 0)
			assert_string_equal(out, cases[i].text);
		else
			assert_non_null(strstr(err, cases[i].text));
		if (cases[i].want == 0)
			assert_int_equal(rd_dev_string(&c, out, 8, err, sizeof err), -ENAMETOOLONG);
	}
	assert_true(rd_dev_is_pci("0000:3b:00.1"));
	assert_false(rd_dev_is_pci("eth0"));
}

/* The range is the driver's, and in the text. */
static void
test_mtu_is_in_the_drivers_range(void **state)
{
	static const struct {
		bool virtual;
		uint16_t min, max;
		uint32_t frame, mtu;
		const char *text; /* NULL: it is taken */
	} cases[] = {
		{false, 68, 1500, 1518, 1500, NULL},
		{false, 68, 1500, 1518, 9000,
		 "x: MTU 9000 is asked, its driver d takes 68 to 1500"},
		{false, 68, 9710, 9728, 9600, NULL},
		{false, 68, UINT16_MAX, 1518, 1500, NULL},
		{false, 68, UINT16_MAX, 1518, 1501, "takes 68 to 1500"},
		{false, 1500, 9000, 9018, 1400,
		 "MTU 1400 is asked, its driver d takes 1500 to 9000"},
		/* A driver that counts two VLAN tags as well. */
		{false, 68, 9674, 9700, 9674, NULL},
		{false, 68, 9674, 9700, 9675, "takes 68 to 9674"},
		{true, 68, UINT16_MAX, 1514, 9000, NULL},
		{true, 68, 3498, 3512, 9000, "takes 68 to 3498"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rte_eth_dev_info info = {.driver_name = "d",
						.min_mtu = cases[i].min,
						.max_mtu = cases[i].max,
						.max_rx_pktlen = cases[i].frame};
		*err = '\0';
		assert_int_equal(
			rd_port_takes("x", cases[i].virtual, cases[i].mtu, &info, err, sizeof err),
			!cases[i].text);
		assert_true(cases[i].text ? strstr(err, cases[i].text) != NULL : !*err);
	}
}

/* As set, and as its driver would take. */
static void
test_mtu_of_interfaces(void **state)
{
	struct rd_link_mtu m, narrow = {1500, 68, 1500}, wide = {1500, 68, 65535},
			      silent = {1500, 0, 0};
	(void)state;
	assert_true(rd_link_mtu("lo", &m));
	assert_true(m.now >= 1500);
	assert_false(rd_link_mtu("nosuch0", &m));
	assert_false(rd_link_mtu_lacks("x", &narrow, 1500, err, sizeof err));
	assert_true(rd_link_mtu_lacks("x", &narrow, 1501, err, sizeof err));
	assert_string_equal(
		err, "x: MTU 1501 is asked, its driver takes 68 to 1500; fix: ask for no more");
	assert_true(rd_link_mtu_lacks("x", &wide, 9000, err, sizeof err));
	assert_string_equal(err, "x has MTU 1500, 9000 is asked; fix: ip link set x mtu 9000");
	assert_false(rd_link_mtu_outside("x", &wide, 9000, err, sizeof err));
	assert_true(rd_link_mtu_lacks("x", &silent, 9000, err, sizeof err));
	assert_non_null(strstr(err, "fix: ip link set x mtu 9000"));
}

static void
test_port_gives_everything_back(void **state)
{
	(void)state;
	struct rte_mempool *mp = make_pool(100);
	struct rd_port p;
	struct rd_port_conf c = {.device = "net_null0,size=60",
				 .mtu = 1500,
				 .n_rxq = 1,
				 .n_txq = 1,
				 .n_rxd = 256,
				 .n_txd = 256,
				 .pool = mp,
				 .promisc = true};
	if (rd_port_open(&p, &c, err, sizeof err) < 0)
		fail_msg("%s", err);
	assert_true(p.open);
	struct rte_mbuf *m[32];
	uint16_t n = rte_eth_rx_burst(p.id, 0, m, 32);
	assert_int_equal(n, 32);
	assert_int_equal(rd_pool_in_use(mp), 32);
	assert_int_equal(rte_eth_tx_burst(p.id, 0, m, n), 32);
	rd_port_close(&p);
	rd_port_close(&p); /* twice is fine */
	assert_false(p.open);
	assert_int_equal(rd_pool_free(mp), 0);
}

/* A frame shows on the descriptor for as long as nobody has taken it; a long nap ends with it,
 * one with a port that cannot say so stays short. */
static void
test_frames_wake(void **state)
{
	(void)state;
	struct rte_mbuf *m[8];
	struct rd_port p;
	struct rd_nap nap = {0};
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	if (unshare(CLONE_NEWNET))
		skip(); /* not root */
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &up), 0);
	struct rte_mempool *mp = make_pool(2000);
	struct rd_port_conf c = {
		.device = "lo", .mtu = 1500, .n_rxq = 1, .n_txq = 1, .pool = mp, .index = 7};
	assert_int_equal(rd_port_open(&p, &c, err, sizeof err), 0);
	assert_int_equal(p.n_wakes, 1);
	rd_nap_init(&nap, -1);
	rd_nap_add(&nap, &p, 0);
	assert_int_equal(rd_nap_max_ns(&nap), RD_NAP_WOKEN_MAX_NS);
	struct pollfd shown = {.fd = p.wake_fd[0], .events = POLLIN};
	assert_int_equal(poll(&shown, 1, 0), 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to), 1);
	assert_int_equal(poll(&shown, 1, 0), 1);
	rd_nap(&nap, 999999999); /* would be noticed */
	uint16_t n = rte_eth_rx_burst(p.id, 0, m, 8);
	assert_true(n > 0);
	rte_pktmbuf_free_bulk(m, n);
	while ((n = rte_eth_rx_burst(p.id, 0, m, 8)) > 0) /* nobody listens there */
		rte_pktmbuf_free_bulk(m, n);
	assert_int_equal(poll(&shown, 1, 0), 0);
	rd_nap_add(&nap, &p, 1);
	assert_int_equal(rd_nap_max_ns(&nap), RD_IDLE_SLEEP_MAX_NS);
	close(fd);
	rd_port_close(&p);
	assert_int_equal(rd_pool_free(mp), 0);
}

/* The kernel gives the interface behind a port of net_tap a frame. */
static void
give_frame(const char *ifname)
{
	static const uint8_t frame[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,
					  0,	0,    0,    0,	  1,	0x88, 0xb5};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int)if_nametoindex(ifname)};
	assert_true(fd >= 0);
	assert_int_equal(sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to),
			 sizeof frame);
	close(fd);
}

/* The first long nap enables the interrupt and does not sleep; a frame that comes then ends the
 * second one, and after that the interrupt is off and nothing is left to be seen. */
static void
test_interrupts_wake(void **state)
{
	(void)state;
	struct rte_mbuf *m[8];
	struct rd_port p;
	struct rd_nap nap = {0};
	enter_quiet_net();
	struct rte_mempool *mp = make_pool(2000);
	struct rd_port_conf c = {.device = "net_tap0,iface=wake0",
				 .mtu = 1500,
				 .n_rxq = 1,
				 .n_txq = 1,
				 .pool = mp,
				 .rx_intr = true};
	if (rd_port_open(&p, &c, err, sizeof err))
		fail_msg("%s", err);
	assert_true(p.rx_intr);
	assert_string_equal(rd_port_woken_by(&p), "interrupts");
	rd_nap_fini(&nap);
	rd_nap_init(&nap, -1);
	rd_nap_add(&nap, &p, 0);
	assert_int_equal(nap.n_intr, 1);
	assert_int_equal(rd_nap_max_ns(&nap), RD_NAP_WOKEN_MAX_NS);
	rd_nap(&nap, RD_NAP_WOKEN_MAX_NS);
	assert_true(nap.armed);
	struct pollfd shown = {.fd = nap.epfd, .events = POLLIN};
	rd_nap(&nap, 1000); /* a short one changes nothing */
	assert_true(nap.armed);
	give_frame("wake0");
	assert_int_equal(poll(&shown, 1, 10000), 1);
	rd_nap(&nap, 999999999); /* would be noticed */
	assert_false(nap.armed);
	assert_int_equal(poll(&shown, 1, 0), 0);
	uint16_t n = 0;
	while (n == 0)
		n = rte_eth_rx_burst(p.id, 0, m, 8);
	rte_pktmbuf_free_bulk(m, n);
	/* It sleeps for as long as it was told if there is nothing. */
	rd_nap(&nap, 200000);
	rd_nap(&nap, 200000);
	assert_false(nap.armed);
	rd_nap_fini(&nap);
	rd_nap_fini(&nap);
	rd_port_close(&p);
	/* A driver without: nobody is woken, and naps stay short. */
	c.device = "net_null5,size=60";
	assert_int_equal(rd_port_open(&p, &c, err, sizeof err), 0);
	assert_string_equal(rd_port_woken_by(&p), "nothing");
	rd_nap_init(&nap, -1);
	rd_nap_add(&nap, &p, 0);
	assert_int_equal(rd_nap_max_ns(&nap), RD_IDLE_SLEEP_MAX_NS);
	rd_nap_fini(&nap);
	rd_port_close(&p);
	assert_int_equal(rd_pool_free(mp), 0);
}

/* A datagram with 64 bytes of payload. */
static void
write_datagram(uint8_t frame[], const uint8_t mac[6], bool ip_good, bool udp_good)
{
	struct rte_ipv4_hdr ip = {.version_ihl = 0x45,
				  .total_length = rte_cpu_to_be_16(20 + 72),
				  .time_to_live = 64,
				  .next_proto_id = IPPROTO_UDP,
				  .src_addr = rte_cpu_to_be_32(0x0a000002),
				  .dst_addr = rte_cpu_to_be_32(0x0a000001)};
	struct {
		struct rte_udp_hdr hdr;
		uint8_t payload[64];
	} udp = {.hdr = {.src_port = 7, .dst_port = 7, .dgram_len = rte_cpu_to_be_16(72)}};
	memset(udp.payload, 0x5a, sizeof udp.payload);
	ip.hdr_checksum = (uint16_t)(rte_ipv4_cksum(&ip) ^ !ip_good);
	udp.hdr.dgram_cksum = (uint16_t)(rte_ipv4_udptcp_cksum(&ip, &udp) ^ !udp_good);
	memcpy(frame, mac, 6);
	memset(frame + 6, 2, 6);
	frame[12] = 8;
	frame[13] = 0;
	memcpy(frame + 14, &ip, sizeof ip);
	memcpy(frame + 34, &udp, sizeof udp);
}

/* One frame as it came to a port of net_tap, which sums up by itself: its marks. */
static uint64_t
marks_of(const struct rd_port *p, const char *ifname, bool ip_good, bool udp_good)
{
	uint8_t frame[34 + 72];
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int)if_nametoindex(ifname)};
	struct rte_mbuf *m;
	write_datagram(frame, p->mac, ip_good, udp_good);
	assert_int_equal(sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to),
			 sizeof frame);
	close(fd);
	for (uint32_t i = 0; i < 10000; i++) {
		uint64_t marks;
		if (!rte_eth_rx_burst(p->id, 0, &m, 1)) {
			usleep(1000);
			continue;
		}
		marks = m->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
		rte_pktmbuf_free(m);
		return marks;
	}
	fail_msg("no frame came");
	return 0;
}

/* Where it is wished and the driver has it; not elsewhere. */
static void
test_checksums_are_looked_at(void **state)
{
	(void)state;
	struct rd_port p;
	enter_quiet_net();
	struct rte_mempool *mp = make_pool(2000);
	struct rd_port_conf c = {.device = "net_tap1,iface=sums0",
				 .mtu = 1500,
				 .n_rxq = 1,
				 .n_txq = 1,
				 .pool = mp,
				 .rx_cksum = true};
	if (rd_port_open(&p, &c, err, sizeof err))
		fail_msg("%s", err);
	assert_true(p.rx_ip_cksum && p.rx_udp_cksum);
	struct rd_link_mtu mtu;
	assert_true(rd_link_mtu("sums0", &mtu));
	assert_true(mtu.now == 1500 && mtu.min == 68 && mtu.max > 60000); /* of the kernel's tun */
	assert_int_equal(marks_of(&p, "sums0", true, true),
			 RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	assert_int_equal(marks_of(&p, "sums0", true, false),
			 RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD);
	assert_int_equal(marks_of(&p, "sums0", false, true) & RTE_MBUF_F_RX_IP_CKSUM_MASK,
			 RTE_MBUF_F_RX_IP_CKSUM_BAD);
	rd_port_close(&p);
	c.rx_cksum = false;
	if (rd_port_open(&p, &c, err, sizeof err))
		fail_msg("%s", err);
	assert_false(p.rx_ip_cksum || p.rx_udp_cksum);
	rd_port_close(&p);
	c.rx_cksum = true;
	c.device = "net_null6,size=60";
	assert_int_equal(rd_port_open(&p, &c, err, sizeof err), 0);
	assert_false(p.rx_ip_cksum || p.rx_udp_cksum);
	rd_port_close(&p);
	assert_int_equal(rd_pool_free(mp), 0);
}

/* A driver without flow rules says so; whether RSS sorts is another matter. */
static void
test_refused_rules_are_told(void **state)
{
	(void)state;
	struct rte_mempool *mp = make_pool(2000);
	struct rd_port p;
	struct rd_port_conf c = {.device = "net_null8,size=60",
				 .mtu = 1500,
				 .n_rxq = 2,
				 .n_txq = 2,
				 .pool = mp,
				 .sort = {{.ipv4 = 0x0a000001, .port = 7812}},
				 .nsort = 1,
				 .sort_ports = 2};
	if (rd_port_open(&p, &c, err, sizeof err))
		fail_msg("%s", err);
	assert_int_not_equal(p.sort, RD_SORT_FLOW);
	char want[128];
	snprintf(want, sizeof want, "rte_flow_validate of UDP port 7812 of 10.0.0.1 to a queue: %s",
		 strerror(ENOSYS));
	assert_string_equal(p.sort_refused, want);
	rd_port_close(&p);
	c.n_rxq = 1; /* nothing to sort */
	assert_int_equal(rd_port_open(&p, &c, err, sizeof err), 0);
	assert_string_equal(p.sort_refused, "");
	rd_port_close(&p);
	assert_int_equal(rd_pool_free(mp), 0);
}

static void
test_failed_open_leaves_nothing(void **state)
{
	(void)state;
	struct rte_mempool *mp = make_pool(10);
	struct rd_port p;
	struct rd_port_conf c = {
		.device = "net_null1", .mtu = 1500, .n_rxq = 5000, .n_txq = 1, .pool = mp};
	uint16_t before = rte_eth_dev_count_avail();
	assert_int_equal(rd_port_open(&p, &c, err, sizeof err), -ENOTSUP);
	assert_non_null(strstr(err, "5000 rx"));
	c.n_rxq = 1;
	c.device = "net_nosuchdriver0";
	assert_true(rd_port_open(&p, &c, err, sizeof err) < 0);
	assert_int_equal(rte_eth_dev_count_avail(), before);
	assert_int_equal(rd_pool_free(mp), 0);
}

static void
test_leak_is_seen(void **state)
{
	(void)state;
	struct rte_mempool *mp = make_pool(10);
	assert_non_null(rte_pktmbuf_alloc(mp));
	assert_int_equal(rd_pool_in_use(mp), 1);
	assert_int_equal(rd_pool_free(mp), 1);
	assert_int_equal(rd_pool_free(NULL), 0);
}

static void
test_shortage_is_explained(void **state)
{
	(void)state;
	struct rte_mempool *mp = NULL;
	struct rd_pool_plan plan = rd_pool_plan(9000, 1024, 1000000, 1);
	assert_true(rd_pool_create(&mp, "toolarge", &plan, 0, err, sizeof err) < 0);
	assert_non_null(strstr(err, "do not fit"));
	assert_null(mp);
	assert_int_equal(rd_huge_check(1ull << 60, err, sizeof err), -ENOMEM);
	assert_non_null(strstr(err, "sysctl -w vm.nr_hugepages="));
	assert_int_equal(rd_huge_check(0, err, sizeof err), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_resident),
		cmocka_unit_test(test_device_names),
		cmocka_unit_test(test_mtu_is_in_the_drivers_range),
		cmocka_unit_test(test_mtu_of_interfaces),
		cmocka_unit_test(test_port_gives_everything_back),
		cmocka_unit_test(test_frames_wake),
		cmocka_unit_test(test_interrupts_wake),
		cmocka_unit_test(test_checksums_are_looked_at),
		cmocka_unit_test(test_refused_rules_are_told),
		cmocka_unit_test(test_failed_open_leaves_nothing),
		cmocka_unit_test(test_leak_is_seen),
		cmocka_unit_test(test_shortage_is_explained),
	};
	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
