/* SPDX-License-Identifier: BSD-2-Clause */
/* loss.h - acks, loss, probes: loss.c. */
#ifndef SUCI_LOSS_H
#define SUCI_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#define LOST_HISTORY 16 /* lost packet numbers watched for a late ack */

struct suci_loss {
	uint64_t largest_acked;
	uint64_t after_ns;   /* when the first packet after largest_acked was sent; 0 = none */
	uint64_t sampled_ns; /* when the round trip was first known */
	uint64_t at_ns;	     /* the next one is lost then */
	uint32_t probes;     /* timeouts since the last ack */
	uint32_t probe_rec;  /* outstanding REC_PROBE */
	bool probe_due;	     /* a probe timeout fired */
	uint8_t history_next, history_live;
	uint8_t full_delay_acks;  /* acks to come before a probe is again sent early */
	uint8_t reorder_extra;	  /* eighths added to the loss time threshold */
	uint32_t reorder_packets; /* packet threshold */
	uint32_t reorder_quiet;	  /* losses since one was spurious */
	struct suci_lost {
		uint64_t pn; /* 0 = unused */
		uint32_t rec;
		bool probing; /* given up by a probe timeout */
		uint64_t sent_ns;
	} history[LOST_HISTORY];
};

struct suci;
struct suci_path;
struct suci_ack;

/* The longest that we let an ack wait: two round trips, within 50 us and ack_delay_ns. */
uint64_t suci_loss_ack_delay(const struct suci *ep, const struct suci_path *p);
/* False if the block acknowledges what was never sent. */
bool suci_loss_ack(struct suci *ep, struct suci_path *p, const struct suci_ack *ack,
		   uint64_t now_ns);
void suci_loss_detect(struct suci *ep, struct suci_path *p, uint64_t now_ns);
void suci_loss_probe_fired(struct suci *ep, struct suci_path *p, uint64_t now_ns);
uint64_t suci_loss_probe_at(const struct suci *ep, const struct suci_path *p);
/* Give up the transmission of a record that is in flight; its number is watched
 * for a late ack. */
void suci_loss_mark_lost(struct suci *ep, struct suci_path *p, uint32_t rec, bool probing);

#endif
