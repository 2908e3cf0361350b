/* SPDX-License-Identifier: BSD-2-Clause */
/* A port is reset while the relay runs. */
#include "nics.h"

#include "log.h"

#include "base/clock.h"

#define AGAIN_NS BASE_S_NS

static void
leg_answered(struct rd_mail *mail)
{
	struct rd_nics *s = mail->owner;
	s->reset.mails--;
}

static void
mail_leg(struct rd_nics *s, bool off)
{
	for (uint32_t i = 0; i < s->post->nworkers; i++) {
		struct rd_mail *mail = rd_post_mail(s->post, i, RD_MAIL_LEG);
		mail->port.leg = s->reset.leg;
		mail->port.off = off;
		mail->owner = s;
		mail->done = leg_answered;
		s->reset.mails++;
		rd_post_send(s->post, mail);
	}
}

static void *
run_reset(void *arg)
{
	struct rd_nic_reset *r = arg;
	r->result = rd_port_reset(&r->next, r->conf, r->why, sizeof r->why);
	atomic_store(&r->done, true);
	return NULL;
}

/* The thread has a copy; for all others the port is closed. */
static void
begin_reset(struct rd_nics *s, uint64_t now_ns)
{
	struct rd_nic_reset *r = &s->reset;
	struct rd_port *port = &s->port[r->leg];
	rd_nic_unwatch(s, r->leg);
	r->next = *port;
	port->open = false;
	s->nic[r->leg].up = false;
	r->conf = &s->port_conf[r->leg];
	atomic_store(&r->done, false);
	r->phase = RD_NIC_RESETS;
	if (pthread_create(&r->thread, NULL, run_reset, r) == 0)
		return;
	*port = r->next;
	r->phase = RD_NIC_STOPS;
	r->again_ns = now_ns + AGAIN_NS;
}

static void
end_reset(struct rd_nics *s, uint64_t now_ns)
{
	struct rd_nic_reset *r = &s->reset;
	const char *leg = rd_leg_names[r->leg];
	pthread_join(r->thread, NULL);
	s->port[r->leg] = r->next;
	if (r->result) {
		rd_log(RD_LOG_ERROR, "%s leg: the reset failed, and is tried again: %s", leg,
		       r->why);
		r->phase = RD_NIC_STOPS;
		r->again_ns = now_ns + AGAIN_NS;
		return;
	}
	rd_nic_watch(s, r->leg);
	s->nic[r->leg].resets_done++;
	rd_log(RD_LOG_INFO, "%s leg: %s was reset, %llu ms without it", leg, r->next.device,
	       (unsigned long long)((now_ns - r->begun_ns) / BASE_MS_NS));
	r->phase = RD_NIC_STARTS;
	mail_leg(s, false);
}

static void
find_wanted(struct rd_nics *s, uint64_t now_ns)
{
	struct rd_nic_reset *r = &s->reset;
	for (uint32_t i = 0; i < s->n && r->phase == RD_NIC_WORKS; i++) {
		if (!s->nic[i].wanted)
			continue;
		s->nic[i].wanted = false;
		r->phase = RD_NIC_STOPS;
		r->leg = i;
		r->begun_ns = r->again_ns = now_ns;
		mail_leg(s, true);
	}
}

void
rd_nic_reset_tick(struct rd_nics *s, uint64_t now_ns)
{
	struct rd_nic_reset *r = &s->reset;
	find_wanted(s, now_ns);
	if (r->mails)
		return;
	if (r->phase == RD_NIC_STOPS && now_ns >= r->again_ns)
		begin_reset(s, now_ns);
	else if (r->phase == RD_NIC_RESETS && atomic_load(&r->done))
		end_reset(s, now_ns);
	else if (r->phase == RD_NIC_STARTS)
		r->phase = RD_NIC_WORKS;
}

bool
rd_nics_reset(struct rd_nics *s, uint32_t leg)
{
	/* Two legs may have one port, the first one's. */
	if (leg == RD_LEG_GLOBAL && leg < s->n && !s->port_conf[leg].device)
		leg = RD_LEG_PRIVATE;
	if (leg >= s->n || s->nic[leg].wanted ||
	    (s->reset.phase != RD_NIC_WORKS && s->reset.leg == leg))
		return false;
	s->nic[leg].wanted = true;
	return true;
}

void
rd_nic_reset_fini(struct rd_nics *s)
{
	struct rd_nic_reset *r = &s->reset;
	if (r->phase == RD_NIC_RESETS) {
		pthread_join(r->thread, NULL);
		s->port[r->leg] = r->next;
	}
	r->phase = RD_NIC_WORKS;
}
