/* AES-256-GCM and SHA-256 of intel-ipsec-mb.  Its manager is only a table of
 * functions here: no job is ever queued, so one is enough for all threads. */
#include "driver/aead.h"

#include <intel-ipsec-mb.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static IMB_MGR *mgr;

_Static_assert(sizeof(struct gcm_key_data) <= SUCI_AEAD_KEY_MAX, "fits where lib/suci puts it");

static void
expand(void *key, const uint8_t secret[SUCI_AEAD_SECRET])
{
	IMB_AES256_GCM_PRE(mgr, secret, (struct gcm_key_data *)key);
}

static void
seal(const void *key, const uint8_t nonce[SUCI_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
     uint8_t *text, size_t len)
{
	struct gcm_context_data c;
	IMB_AES256_GCM_ENC(mgr, (const struct gcm_key_data *)key, &c, text, text, len, nonce, aad,
			   aad_len, text + len, 16);
}

/* In a time that does not tell how much of the tag was right. */
static bool
same(const uint8_t a[16], const uint8_t b[16])
{
	unsigned differ = 0;
	for (int i = 0; i < 16; i++)
		differ |= (unsigned)a[i] ^ b[i];
	return differ == 0;
}

static bool
open_text(const void *key, const uint8_t nonce[SUCI_AEAD_NONCE], const uint8_t *aad, size_t aad_len,
	  uint8_t *text, size_t len)
{
	struct gcm_context_data c;
	uint8_t tag[16];
	IMB_AES256_GCM_DEC(mgr, (const struct gcm_key_data *)key, &c, text, text, len, nonce, aad,
			   aad_len, tag, sizeof tag);
	return same(tag, text + len);
}

static void
sha256(const void *msg, size_t len, uint8_t out[SUCI_SHA256])
{
	IMB_SHA256(mgr, msg, len, out);
}

static void
start(void)
{
	/* No allocation that could fail: the manager's memory is ours. */
	static _Alignas(64) uint8_t mem[sizeof(IMB_MGR) + (1u << 18)];
	mgr = imb_get_mb_mgr_size() <= sizeof mem ? imb_set_pointers_mb_mgr(mem, 0, 1)
						  : alloc_mb_mgr(0);
	if (!mgr)
		return;
	init_mb_mgr_auto(mgr, NULL);
	/* Below AVX-512 GCM is AES-NI in either set.  On AMD's cores that of AVX is 7 % faster
	 * than that of AVX2. */
	__builtin_cpu_init();
	if (mgr->used_arch == IMB_ARCH_AVX2 && __builtin_cpu_is("amd"))
		init_mb_mgr_avx(mgr);
}

const struct suci_aead_ops *
suci_aes256gcm(void)
{
	static const struct suci_aead_ops ops = {
		.name = "AES-256-GCM",
		.key_bytes = sizeof(struct gcm_key_data),
		.expand = expand,
		.seal = seal,
		.open = open_text,
		.sha256 = sha256,
	};
	call_once(&once, start);
	return mgr ? &ops : NULL;
}
