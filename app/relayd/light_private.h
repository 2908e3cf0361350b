/* light_private.h - what the files about circuits share; see light.h. */
#ifndef RD_LIGHT_PRIVATE_H
#define RD_LIGHT_PRIVATE_H

#include "control.h"

#define RD_LIGHT_AGENTS	   32
#define RD_LIGHT_STRANGERS 16 /* that have not said who they are */
#define RD_LIGHT_LINKS	   (RD_LIGHT_AGENTS + RD_LIGHT_STRANGERS)

/* Frames over one TCP connection. */
struct rd_light_link {
	struct rd_control *ctl;
	void *owner;
	struct rd_watch watch;
	bool connecting;
	uint64_t heard_ns, pinged_ns;
	uint8_t in[2 * LIGHT_FRAME_MAX];
	size_t in_len;
	uint8_t *out; /* [RD_LIGHT_OUT] */
	size_t out_off, out_len;
	/* False: nonsense. */
	bool (*frame)(struct rd_light_link *l, const struct light_frame *f);
	void (*up)(struct rd_light_link *l);
	void (*down)(struct rd_light_link *l, const char *why);
};
#define RD_LIGHT_OUT (1u << 20)

/* fd -1: it is to be called later. */
bool rd_light_link_init(struct rd_light_link *l, struct rd_control *c);
void rd_light_link_fini(struct rd_light_link *l);
/* A connected (or, connecting: a calling) socket.  False: closed. */
bool rd_light_link_adopt(struct rd_light_link *l, int fd, bool connecting);
/* False: it is closed, or takes nothing any more; down() follows from the next tick. */
bool rd_light_link_send(struct rd_light_link *l, const struct light_frame *f);
void rd_light_link_close(struct rd_light_link *l, const char *why);
void rd_light_link_tick(struct rd_light_link *l);

struct rd_conductor;
int rd_conductor_open(struct rd_control *c, struct rd_conductor **out, char *err, size_t err_max);
void rd_conductor_turn(struct rd_conductor *k);
void rd_conductor_tick(struct rd_conductor *k);
void rd_conductor_close(struct rd_conductor *k);
void rd_conductor_view(const struct rd_conductor *k, struct rd_light_view *v);

#endif
