/* SPDX-License-Identifier: BSD-2-Clause */
/* openflow.h - the few messages of OpenFlow 1.3 and 1.4 a fibre switch needs. */
#ifndef OCSPROTO_OPENFLOW_H
#define OCSPROTO_OPENFLOW_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define OF_13	      4u
#define OF_14	      5u
#define OF_HEAD	      8u
#define OF_PORT_MAX   0xffffff00u
#define OF_PORT_ANY   0xffffffffu
#define OF_GROUP_ANY  0xffffffffu
#define OF_NO_BUFFER  0xffffffffu
#define OF_PRIORITY   0x8000u
#define OF_PORT_BYTES 64u /* of the 1.3 port description */

enum of_type {
	OF_HELLO,
	OF_ERROR,
	OF_ECHO_REQUEST,
	OF_ECHO_REPLY,
	OF_FEATURES_REQUEST = 5,
	OF_FEATURES_REPLY,
	OF_FLOW_REMOVED = 11,
	OF_PORT_STATUS,
	OF_FLOW_MOD = 14,
	OF_MULTIPART_REQUEST = 18,
	OF_MULTIPART_REPLY,
	OF_BARRIER_REQUEST,
	OF_BARRIER_REPLY,
	OF_BUNDLE_CONTROL = 33,
	OF_BUNDLE_ADD,
};

enum of_multipart { OF_MP_DESC = 0, OF_MP_FLOW = 1, OF_MP_PORTS = 13 };
enum of_command { OF_ADD = 0, OF_DELETE_STRICT = 4 };
enum of_bundle { OF_OPEN = 0, OF_OPENED = 1, OF_COMMIT = 4, OF_COMMITTED = 5, OF_DISCARD = 6 };
#define OF_BUNDLE_FLAGS 3u /* atomic, ordered */
#define OF_SEND_REMOVED 1u

/* What one flow entry is to a matrix. */
struct of_flow {
	uint64_t cookie;
	uint16_t priority;
	bool has_in;	  /* it matches one ingress port */
	bool more_match;  /* and something else */
	uint32_t in, out; /* port numbers; out: the last of its outputs */
	uint32_t noutputs;
};

/* The head of a message whose length is filled in by ocsproto_of_end(). */
uint8_t *ocsproto_of_begin(struct base_writer *w, uint8_t version, enum of_type type, uint32_t xid);
void ocsproto_of_end(struct base_writer *w, uint8_t *start);
void ocsproto_of_hello(struct base_writer *w, uint32_t xid);
void ocsproto_of_multipart(struct base_writer *w, uint8_t version, uint32_t xid,
			   enum of_multipart what);
/* in -> out, by port numbers. */
void ocsproto_of_flow_mod(struct base_writer *w, uint8_t version, uint32_t xid,
			  enum of_command command, uint64_t cookie, uint32_t in, uint32_t out);
void ocsproto_of_bundle(struct base_writer *w, uint32_t xid, uint32_t bundle, enum of_bundle what);

/* The highest version of ours a HELLO offers, 0: none.  body is what follows the head. */
uint8_t ocsproto_of_hello_version(uint8_t version, const uint8_t *body, size_t len);
/* The next entry of a flow multipart body; false at its end or at nonsense (r->overrun). */
bool ocsproto_of_flow_next(struct base_reader *r, struct of_flow *f);

#endif
