/* SPDX-License-Identifier: BSD-2-Clause */
/* The XDP program and its attachment, by bpf(2) itself: libbpf would come with every MPI
 * program for some twenty instructions. */
#include "xdp.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <netinet/ip6.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IP_AT	    ((int16_t)sizeof(struct ethhdr))
#define MATCHES_MAX 8

static int
bpf(enum bpf_cmd cmd, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, cmd, a, sizeof *a);
}

/* Load size bytes at off of the packet and pass it on unless they are value. */
struct match {
	uint8_t size;
	int16_t off;
	uint32_t value;
};

static void
add_match(struct match *m, uint32_t *n, uint8_t size, size_t off, uint32_t value)
{
	m[(*n)++] = (struct match){size, (int16_t)off, value};
}

/* The headers of a datagram for that address and port; returns how many bytes they have. */
static uint32_t
match_headers(const struct suci_addr *at, struct match m[MATCHES_MAX], uint32_t *n)
{
	bool six = at->family == 6;
	size_t udp = IP_AT + (six ? sizeof(struct ip6_hdr) : sizeof(struct iphdr));
	uint32_t word;

	*n = 0;
	add_match(m, n, BPF_H, offsetof(struct ethhdr, h_proto),
		  htons(six ? ETH_P_IPV6 : ETH_P_IP));
	if (!six) /* version 4, no options */
		add_match(m, n, BPF_B, IP_AT, 0x45);
	add_match(m, n, BPF_B,
		  IP_AT + (six ? offsetof(struct ip6_hdr, ip6_nxt)
			       : offsetof(struct iphdr, protocol)),
		  IPPROTO_UDP);
	for (size_t i = six ? 0 : 12; i < 16; i += 4) {
		memcpy(&word, at->ip + i, 4);
		add_match(m, n, BPF_W,
			  IP_AT + (six ? offsetof(struct ip6_hdr, ip6_dst) + i
				       : offsetof(struct iphdr, daddr)),
			  word);
	}
	add_match(m, n, BPF_H, udp + offsetof(struct udphdr, dest), htons(at->port));
	return (uint32_t)(udp + sizeof(struct udphdr));
}

/* As C: if (data + headers > data_end || any match fails) return XDP_PASS;
 *       return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS); */
static uint32_t
write_program(struct bpf_insn *p, int map_fd, const struct suci_addr *at)
{
	struct match m[MATCHES_MAX];
	uint32_t nm, headers = match_headers(at, m, &nm);
	uint32_t n = 0, nj = 0, jump[16]; /* jumps to the end */

#define INSN(c, d, s, o, i)          \
	(p[n++] = (struct bpf_insn){ \
		 .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (int32_t)(i)})
	INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct xdp_md, data), 0);
	INSN(BPF_LDX | BPF_MEM | BPF_W, 3, 1, offsetof(struct xdp_md, data_end), 0);
	INSN(BPF_LDX | BPF_MEM | BPF_W, 6, 1, offsetof(struct xdp_md, rx_queue_index), 0);
	INSN(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0);
	INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, headers);
	jump[nj++] = n;
	INSN(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 0, 0);
	for (uint32_t i = 0; i < nm; i++) {
		INSN(BPF_LDX | BPF_MEM | m[i].size, 5, 2, m[i].off, 0);
		INSN(BPF_ALU | BPF_MOV | BPF_K, 7, 0, 0, m[i].value); /* 32 bits, no sign */
		jump[nj++] = n;
		INSN(BPF_JMP | BPF_JNE | BPF_X, 5, 7, 0, 0);
	}
	/* Fragments are the kernel's; those of IPv6 are no UDP by their header. */
	if (at->family != 6) {
		INSN(BPF_LDX | BPF_MEM | BPF_H, 5, 2, IP_AT + offsetof(struct iphdr, frag_off), 0);
		jump[nj++] = n;
		INSN(BPF_JMP | BPF_JSET | BPF_K, 5, 0, 0, htons(0x3fff));
	}
	INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map_fd);
	INSN(0, 0, 0, 0, 0);
	INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 6, 0, 0);
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS);
	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map);
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	while (nj-- > 0)
		p[jump[nj]].off = (int16_t)(n - jump[nj] - 1);
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS);
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
#undef INSN
	return n;
}

int
suci_udp_xdp_attach(struct udp_xdp *x, unsigned ifindex, const struct suci_addr *at,
		    const char **why)
{
	struct bpf_insn prog[64];
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_XSKMAP,
			    .key_size = sizeof(uint32_t),
			    .value_size = sizeof(int),
			    .max_entries = 1};

	*why = "the kernel refuses a BPF map (CAP_BPF)";
	x->map_fd = bpf(BPF_MAP_CREATE, &a);
	if (x->map_fd < 0)
		return -errno;
	uint32_t n = write_program(prog, x->map_fd, at);
	memset(&a, 0, sizeof a);
	a.prog_type = BPF_PROG_TYPE_XDP;
	a.expected_attach_type = BPF_XDP;
	a.insns = (uintptr_t)prog;
	a.insn_cnt = n;
	a.license = (uintptr_t) "GPL";
	*why = "the kernel refuses the XDP program (CAP_BPF)";
	x->prog_fd = bpf(BPF_PROG_LOAD, &a);
	if (x->prog_fd < 0)
		return -errno;
	memset(&a, 0, sizeof a);
	a.link_create.prog_fd = (uint32_t)x->prog_fd;
	a.link_create.target_ifindex = ifindex;
	a.link_create.attach_type = BPF_XDP;
	/* In the driver or not at all: on copies of finished packets it gains nothing. */
	a.link_create.flags = XDP_FLAGS_DRV_MODE;
	x->link_fd = bpf(BPF_LINK_CREATE, &a);
	if (x->link_fd >= 0)
		return 0;
	*why = errno == EBUSY	 ? "the interface has an XDP program already"
	       : errno == EPERM	 ? "not allowed to attach an XDP program (CAP_NET_ADMIN)"
	       : errno == ERANGE ? "the interface's MTU is too large for XDP"
				 : "the interface takes no XDP program";
	return -errno;
}

int
suci_udp_xdp_start(struct udp_xdp *x)
{
	uint32_t queue = 0;
	union bpf_attr a = {.map_fd = (uint32_t)x->map_fd,
			    .key = (uintptr_t)&queue,
			    .value = (uintptr_t)&x->fd};

	if (bpf(BPF_MAP_UPDATE_ELEM, &a) < 0)
		return -errno;
	x->on = true;
	return 0;
}
