/* SPDX-License-Identifier: BSD-2-Clause */
/* Other keys and peers for an endpoint that runs.
 *
 * A path that is up needs none of them: its secrets are its own, and so it keeps them.  It only
 * remembers which key it came up with, by its place in the list, which may have changed. */
#include "path_internal.h"

#include "base/bytes.h"

#include <string.h>

/* Where the key of that path is now; 0 if it is gone: what still has to be said under it is said
 * under the first, and the other end asks again. */
static uint8_t
key_place(const struct suci_seal_conf *now, const struct seal_psk *was)
{
	for (uint32_t i = 0; i < now->nkeys; i++)
		if (now->key[i].id == was->id &&
		    seal_same(now->key[i].secret, was->secret, sizeof was->secret))
			return (uint8_t)i;
	return 0;
}

static bool
still_known(const struct suci_seal_conf *c, uint64_t who)
{
	for (uint32_t i = 0; i < c->npeers; i++)
		if (be64_load(c->peer[i].public_key) == who)
			return true;
	return false;
}

static void
rekey_path(struct suci *ep, struct suci_path *p, const struct suci_seal_conf *was)
{
	struct suci_seal *s = p->seal;
	const struct suci_seal_conf *now = &ep->conf.seal;
	if (p->state == PATH_HELLO || p->state == PATH_OPEN) {
		p->state = PATH_HELLO;
		p->hs.tries = 0;
		p->hs.due = true;
		suci_seal_again(ep, p);
		suci_path_ready(ep, p);
		return;
	}
	s->psk = key_place(now, &was->key[s->psk]);
	if (now->me && !still_known(now, s->who))
		suci_path_fail(ep, p, SUCI_DOWN_REFUSED, "its key is not among our peers any more");
}

int
suci_rekey(struct suci *ep, const struct suci_seal_conf *keys, uint64_t now_ns)
{
	struct suci_config next = ep->conf;
	struct suci_seal_conf was = ep->conf.seal, *c = &next.seal;
	if (!was.aead || !was.me != !keys->me)
		return SUCI_ERR_INVAL;
	memcpy(c->key, keys->key, sizeof c->key);
	c->nkeys = keys->nkeys;
	c->me = keys->me;
	c->peer = keys->peer;
	c->npeers = keys->npeers;
	c->seed[0] = 1; /* it was used, and is not looked at */
	bool good = suci_seal_good(&next);
	if (good) {
		suci_enter(ep, now_ns);
		ep->conf.seal = *c;
		explicit_bzero(ep->conf.seal.seed, sizeof ep->conf.seal.seed);
		suci_seal_no_psk(&ep->conf.seal);
		for (uint32_t i = 0; i < ep->conf.limits.paths_max; i++) {
			struct suci_path *p = &ep->path[i];
			if (p->state != PATH_FREE && p->seal && !p->closing)
				rekey_path(ep, p, &was);
		}
		suci_leave(ep);
	}
	explicit_bzero(&was, sizeof was);
	explicit_bzero(&next.seal, sizeof next.seal);
	return good ? SUCI_ERR_OK : SUCI_ERR_INVAL;
}
