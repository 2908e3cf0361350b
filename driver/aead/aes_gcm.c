/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-256-GCM and SHA-256 of intel-ipsec-mb, X25519 of libsodium.  The first one's manager is only
 * a table of functions here: no job is ever queued, so one is enough for all threads. */
#include "driver/aead.h"

#include <intel-ipsec-mb.h>
#include <sodium/crypto_scalarmult_curve25519.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static IMB_MGR *mgr;

_Static_assert(sizeof(struct gcm_key_data) <= SEAL_KEY_MAX, "fits where it is put");

static void
expand_gcm(void *key, const uint8_t secret[SEAL_SECRET])
{
	IMB_AES256_GCM_PRE(mgr, secret, (struct gcm_key_data *)key);
}

static void
seal_gcm(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
	 uint8_t *text, size_t len)
{
	struct gcm_context_data c;
	IMB_AES256_GCM_ENC(mgr, (const struct gcm_key_data *)key, &c, text, text, len, nonce, aad,
			   aad_len, text + len, 16);
}

static bool
open_text(const void *key, const uint8_t nonce[SEAL_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
	  uint8_t *text, size_t len)
{
	struct gcm_context_data c;
	uint8_t tag[16];
	IMB_AES256_GCM_DEC(mgr, (const struct gcm_key_data *)key, &c, text, text, len, nonce, aad,
			   aad_len, tag, sizeof tag);
	return seal_same(tag, text + len, sizeof tag);
}

static void
sha256(const void *msg, size_t len, uint8_t out[SEAL_HASH])
{
	IMB_SHA256(mgr, msg, len, out);
}

/* It needs no sodium_init(): that picks code for this CPU, and without it the portable
 * code is used; either is right. */
static void
dh_public(const uint8_t secret[SEAL_DH], uint8_t out[SEAL_DH])
{
	(void)crypto_scalarmult_curve25519_base(out, secret);
}

static bool
dh(const uint8_t secret[SEAL_DH], const uint8_t public_key[SEAL_DH], uint8_t out[SEAL_DH])
{
	return !crypto_scalarmult_curve25519(out, secret, public_key);
}

static void
start_gcm(void)
{
	/* No allocation that could fail: the manager's memory is ours. */
	static _Alignas(64) uint8_t mem[sizeof(IMB_MGR) + (1u << 18)];
	mgr = imb_get_mb_mgr_size() <= sizeof mem ? imb_set_pointers_mb_mgr(mem, 0, 1)
						  : alloc_mb_mgr(0);
	if (!mgr)
		return;
	init_mb_mgr_auto(mgr, NULL);
#if IMB_VERSION_NUM < IMB_VERSION(2, 0, 0)
	/* Below AVX-512 GCM is AES-NI in either set.  On AMD's cores that of AVX is 7 % faster
	 * than that of AVX2; version 2 has the latter only. */
	__builtin_cpu_init();
	if (mgr->used_arch == IMB_ARCH_AVX2 && __builtin_cpu_is("amd"))
		init_mb_mgr_avx(mgr);
#endif
}

const struct seal_crypto *
seal_aes256gcm(void)
{
	static const struct seal_crypto ops = {
		.name = "AES-256-GCM",
		.key_bytes = sizeof(struct gcm_key_data),
		.expand = expand_gcm,
		.seal = seal_gcm,
		.open = open_text,
		.sha256 = sha256,
		.dh_public = dh_public,
		.dh = dh,
	};
	call_once(&once, start_gcm);
	return mgr ? &ops : NULL;
}
