/* SPDX-License-Identifier: BSD-2-Clause */
/* The cipher of sealed paths against the published vectors; the file with keys. */
#include "driver/aead.h"
#include "seal/handshake.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static size_t
unhex(const char *s, uint8_t *out)
{
	size_t n = 0;
	for (; s[0] && s[1]; s += 2) {
		char two[3] = {s[0], s[1], 0};
		out[n++] = (uint8_t)strtoul(two, NULL, 16);
	}
	return n;
}

#define K15 "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
#define P15                                                                \
	"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" \
	"1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
#define C15                                                                \
	"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa" \
	"8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
#define ZERO32 "0000000000000000000000000000000000000000000000000000000000000000"

/* Test cases 13 to 16 of "The Galois/Counter Mode of Operation" (McGrew, Viega), which NIST
 * SP 800-38D refers to. */
static const struct gcm_case {
	const char *key, *iv, *aad, *plain, *cipher, *tag;
} gcm_cases[] = {
	{ZERO32, "000000000000000000000000", "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
	{ZERO32, "000000000000000000000000", "", "00000000000000000000000000000000",
	 "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
	{K15, "cafebabefacedbaddecaf888", "", P15 "1aafd255", C15 "898015ad",
	 "b094dac5d93471bdec1a502270e3cc6c"},
	{K15, "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", P15, C15,
	 "76fc6ece0f4e1768cddf8853bb2d551b"},
};

static _Alignas(64) uint8_t key_mem[SEAL_KEY_MAX];

static void
gcm_vectors(void **state)
{
	const struct seal_crypto *ops = seal_aes256gcm();
	(void)state;
	for (size_t i = 0; i < sizeof gcm_cases / sizeof gcm_cases[0]; i++) {
		const struct gcm_case *c = &gcm_cases[i];
		uint8_t key[32], iv[12], aad[32], plain[128], text[128], want[128];
		unhex(c->key, key);
		unhex(c->iv, iv);
		size_t aad_len = unhex(c->aad, aad), len = unhex(c->plain, plain);
		memcpy(text, plain, len);
		unhex(c->cipher, want);
		unhex(c->tag, want + len);
		ops->expand(key_mem, key);
		ops->seal(key_mem, iv, aad, aad_len, text, len);
		assert_memory_equal(text, want, len + 16);
		assert_true(ops->open(key_mem, iv, aad, aad_len, text, len));
		assert_memory_equal(text, plain, len);
	}
}

/* Any length of a datagram, and no bit of it or of what goes along may change. */
static void
gcm_rejects(void **state)
{
	const struct seal_crypto *ops = seal_aes256gcm();
	uint8_t key[32] = {1}, iv[12] = {2}, aad[16] = {3}, sealed[600], text[600];
	(void)state;
	ops->expand(key_mem, key);
	for (size_t len = 0; len <= 500; len += len < 80 ? 1 : 71) {
		for (size_t i = 0; i < len; i++)
			sealed[i] = (uint8_t)i;
		ops->seal(key_mem, iv, aad, sizeof aad, sealed, len);
		for (size_t bit = 0; bit < (len + 16) * 8; bit += len < 40 ? 1 : 37) {
			memcpy(text, sealed, len + 16);
			text[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(ops->open(key_mem, iv, aad, sizeof aad, text, len));
		}
		for (size_t bit = 0; bit < sizeof aad * 8; bit++) {
			memcpy(text, sealed, len + 16);
			aad[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(ops->open(key_mem, iv, aad, sizeof aad, text, len));
			aad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		memcpy(text, sealed, len + 16);
		assert_true(ops->open(key_mem, iv, aad, sizeof aad, text, len));
		for (size_t i = 0; i < len; i++)
			assert_int_equal(text[i], (uint8_t)i);
	}
}

/* RFC 5869, appendix A. */
static void
hkdf_vectors(void **state)
{
	const struct seal_crypto *ops = seal_aes256gcm();
	uint8_t count[256], ikm[22], prk[32], okm[82], want[82];
	(void)state;
	for (int i = 0; i < 256; i++)
		count[i] = (uint8_t)i;
	memset(ikm, 0x0b, sizeof ikm);

	seal_hkdf_extract(ops, count, 13, ikm, sizeof ikm, prk);
	unhex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5", want);
	assert_memory_equal(prk, want, 32);
	seal_hkdf_expand(ops, prk, count + 0xf0, 10, okm, 42);
	unhex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b88718586"
	      "5",
	      want);
	assert_memory_equal(okm, want, 42);

	seal_hkdf_extract(ops, count + 0x60, 80, count, 80, prk);
	unhex("06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244", want);
	assert_memory_equal(prk, want, 32);
	seal_hkdf_expand(ops, prk, count + 0xb0, 80, okm, 82);
	unhex("b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb"
	      "41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
	      want);
	assert_memory_equal(okm, want, 82);

	seal_hkdf_extract(ops, NULL, 0, ikm, sizeof ikm, prk);
	unhex("19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04", want);
	assert_memory_equal(prk, want, 32);
	seal_hkdf_expand(ops, prk, NULL, 0, okm, 42);
	unhex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c"
	      "8",
	      want);
	assert_memory_equal(okm, want, 42);
}

/* RFC 4231, test cases 1, 2 and 6 (a key longer than a block). */
static void
hmac_vectors(void **state)
{
	const struct seal_crypto *ops = seal_aes256gcm();
	uint8_t key[131], out[32], want[32];
	(void)state;
	memset(key, 0x0b, 20);
	seal_hmac(ops, key, 20, "Hi There", 8, out);
	unhex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", want);
	assert_memory_equal(out, want, 32);
	seal_hmac(ops, (const uint8_t *)"Jefe", 4, "what do ya want for nothing?", 28, out);
	unhex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", want);
	assert_memory_equal(out, want, 32);
	memset(key, 0xaa, 131);
	seal_hmac(ops, key, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54, out);
	unhex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", want);
	assert_memory_equal(out, want, 32);
}

/* RFC 7748, sections 5.2 and 6.1. */
static void
curve_vectors(void **state)
{
	static const struct {
		const char *secret, *public_key, *both;
	} cases[] = {
		{"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
		 "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
		 "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"},
		{"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
		 "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
		 "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"},
	};
	const struct seal_crypto *c = seal_aes256gcm();
	uint8_t a[32], b[32], pub_a[32], pub_b[32], out[32], want[32];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		unhex(cases[i].secret, a);
		unhex(cases[i].public_key, pub_b);
		unhex(cases[i].both, want);
		assert_true(c->dh(a, pub_b, out));
		assert_memory_equal(out, want, 32);
	}
	/* Alice and Bob. */
	unhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a", a);
	unhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb", b);
	c->dh_public(a, pub_a);
	c->dh_public(b, pub_b);
	unhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a", want);
	assert_memory_equal(pub_a, want, 32);
	unhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f", want);
	assert_memory_equal(pub_b, want, 32);
	unhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742", want);
	assert_true(c->dh(a, pub_b, out));
	assert_memory_equal(out, want, 32);
	assert_true(c->dh(b, pub_a, out));
	assert_memory_equal(out, want, 32);
	/* Points of small order say nothing of the secret. */
	memset(pub_a, 0, sizeof pub_a);
	assert_false(c->dh(a, pub_a, out));
	pub_a[0] = 1;
	assert_false(c->dh(a, pub_a, out));
}

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"

static void
psk_text(void **state)
{
	static const struct {
		const char *text;
		int n; /* keys, -1: refused */
		const char *why;
	} cases[] = {
		{"1 " HEX64 "\n", 1, ""},
		{"# both sites\n\n 7\t" HEX64 " \r\n4294967295 " HEX64, 2, ""},
		{"", -1, "no key in it"},
		{"# nothing\n", -1, "no key in it"},
		{"0 " HEX64 "\n", -1, "line 1: must begin with the number"},
		{"4294967296 " HEX64 "\n", -1, "line 1: must begin with the number"},
		{"99999999999999999999999 " HEX64 "\n", -1, "line 1: must begin with the number"},
		{HEX64 "\n", -1, "line 1: must begin with the number"},
		{"1\n", -1, "line 1: must begin with the number"},
		{"1 " HEX64 "0\n", -1, "line 1: the key must have 64"},
		{"\n1 " HEX64 "\n1 " HEX64 "\n", -1, "line 3: the number of this key"},
		{"1 g" HEX64 "\n", -1, "line 1: the key must have 64"},
		{"1 \n", -1, "line 1: must begin with the number"},
		{"1 " HEX64 "\n2 " HEX64 "\n3 " HEX64 "\n4 " HEX64 "\n5 " HEX64 "\n", -1,
		 "line 5: too many keys"},
	};
	struct seal_psk k[SEAL_PSK_MAX];
	char why[SEAL_TEXT];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int n = seal_psk_parse(cases[i].text, strlen(cases[i].text), k, why);
		assert_int_equal(n, cases[i].n);
		if (n < 0) {
			assert_true(strstr(why, cases[i].why) == why);
			assert_null(strstr(why, "0011")); /* nothing of a key */
		}
	}
	uint8_t want[32];
	unhex(HEX64, want);
	assert_int_equal(seal_psk_parse(cases[1].text, strlen(cases[1].text), k, why), 2);
	assert_int_equal(k[0].id, 7);
	assert_int_equal(k[1].id, UINT32_MAX);
	assert_memory_equal(k[1].secret, want, 32);
	/* A NUL in it, and no byte behind the end is looked at. */
	assert_int_equal(seal_psk_parse("1 \0", 3, k, why), -1);
	assert_int_equal(seal_psk_parse("1 " HEX64 "5", 66, k, why), 1);
}

static void
psk_file(void **state)
{
	char path[] = "/tmp/test_aead.XXXXXX", why[SEAL_TEXT];
	struct seal_psk k[SEAL_PSK_MAX];
	(void)state;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "3 " HEX64 "\n", 67), 67);
	assert_int_equal(seal_psk_load(path, k, why), 1);
	assert_int_equal(k[0].id, 3);
	for (mode_t m = 0604; m; m = m == 0604 ? 0640 : m == 0640 ? 0602 : 0) {
		assert_int_equal(fchmod(fd, m), 0);
		assert_int_equal(seal_psk_load(path, k, why), -1);
		assert_non_null(strstr(why, "chmod it to 0600"));
	}
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(ftruncate(fd, 5000), 0);
	assert_int_equal(seal_psk_load(path, k, why), -1);
	assert_non_null(strstr(why, "longer"));
	close(fd);
	unlink(path);
	assert_int_equal(seal_psk_load(path, k, why), -1);
	assert_int_equal(seal_psk_load("/dev/null", k, why), -1);
	assert_non_null(strstr(why, "no regular file"));
}

/* What was read of files with keys is wiped when they have been taken from it, and when not. */
static const char *sought = "no key";
static uint32_t wiped;

void explicit_bzero(void *at, size_t len);
void
explicit_bzero(void *at, size_t len)
{
	volatile char *p = at;
	size_t n = strlen(sought), same = 0;

	for (size_t i = 0; i < len && same < n; i++)
		same = p[i] == sought[same] ? same + 1 : p[i] == sought[0];
	wiped += same == n;
	for (size_t i = 0; i < len; i++)
		p[i] = 0;
}

static void
text_is_wiped(void **state)
{
	char path[] = "/tmp/test_aead.XXXXXX", why[SEAL_TEXT];
	struct seal_psk k[SEAL_PSK_MAX];
	struct seal_identity id;
	(void)state;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	sought = HEX64;
	wiped = 0;
	assert_int_equal(pwrite(fd, "3 " HEX64 "\n", 67, 0), 67);
	assert_int_equal(seal_psk_load(path, k, why), 1);
	assert_int_equal(wiped, 1);
	assert_int_equal(pwrite(fd, "x " HEX64 "\n", 67, 0), 67);
	assert_int_equal(seal_psk_load(path, k, why), -1);
	assert_int_equal(wiped, 2);
	assert_int_equal(pwrite(fd, HEX64 "\n\n\n", 67, 0), 67);
	assert_int_equal(seal_identity_load(path, &id, why), 0);
	assert_int_equal(wiped, 3);
	sought = "no key";
	close(fd);
	unlink(path);
}

#define PUB_A "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
#define PUB_B "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
#define SEC_A "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"

static void
peers_text(void **state)
{
	static const struct {
		const char *text;
		int n;
		const char *why;
	} cases[] = {
		{"a " PUB_A "\n", 1, ""},
		{"a " PUB_A " 10.0.0.1 10.1.0.0/16 fd00::/8\n# x\n\nb\t" PUB_B " 10.1.2.0/24\r\n",
		 2, ""},
		{"", -1, "no peer"},
		{"a\n", -1, "line 1: behind the name"},
		{"a " PUB_A "0\n", -1, "line 1: behind the name"},
		{"a " PUB_A "\nb " PUB_A "\n", -1, "line 2: this public key was"},
		{"a " PUB_A " 10.0.0.1/8\n", -1, "line 1: a prefix"},
		{"a " PUB_A " 10.0.0.0/33\n", -1, "line 1: a prefix"},
		{"a " PUB_A " 10.0.0.0/\n", -1, "line 1: a prefix"},
		{"a " PUB_A " 10.0.0/8\n", -1, "line 1: a prefix"},
		{"a " PUB_A " 1.0.0.1 1.0.0.2 1.0.0.3 1.0.0.4 1.0.0.5 1.0.0.6 1.0.0.7 1.0.0.8 "
		 "1.0.0.9\n",
		 -1, "line 1: more than 8"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " PUB_A "\n", -1, "line 1: the name is longer"},
	};
	struct seal_peer p[2];
	struct seal_identity me = {.secret = {9}};
	char why[SEAL_TEXT];
	uint8_t ip[16] = {[12] = 10, 1, 2, 3}, zero[SEAL_DH] = {0};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int n = seal_peers_parse(cases[i].text, strlen(cases[i].text), p, 2, why);
		assert_int_equal(n, cases[i].n);
		if (n < 0)
			assert_true(strstr(why, cases[i].why) == why);
	}
	/* The longest prefix; who calls, and from where. */
	assert_int_equal(seal_peers_parse(cases[1].text, strlen(cases[1].text), p, 2, why), 2);
	assert_string_equal(seal_peer_at(p, 2, 4, ip)->name, "b");
	assert_ptr_equal(seal_peer_from(p, 2, p[0].public_key, 4, ip), &p[0]);
	ip[14] = 3;
	assert_string_equal(seal_peer_at(p, 2, 4, ip)->name, "a");
	assert_null(seal_peer_from(p, 2, p[1].public_key, 4, ip));
	ip[13] = 2;
	assert_null(seal_peer_at(p, 2, 4, ip));
	p[1].nprefixes = 0;
	assert_ptr_equal(seal_peer_from(p, 2, p[1].public_key, 4, ip), &p[1]);
	assert_null(seal_peer_from(p, 2, zero, 4, ip));
	/* A key that is none. */
	memset(p[1].public_key, 0, SEAL_DH);
	assert_false(seal_peers_agree(seal_aes256gcm(), &me, p, 2, why));
	assert_non_null(strstr(why, "b"));
}

static void
identity_file(void **state)
{
	char dir[] = "/tmp/test_aead.XXXXXX", file[64], peers[64], link_to[64], why[SEAL_TEXT];
	static struct seal_ring ring;
	struct seal_identity id, again;
	struct stat st;
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof file, "%s/id", dir);
	snprintf(peers, sizeof peers, "%s/peers", dir);
	snprintf(link_to, sizeof link_to, "%s/link", dir);
	assert_int_equal(seal_identity_make(file, &id, why), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(seal_identity_load(file, &again, why), 0);
	assert_memory_equal(&id, &again, sizeof id);
	assert_int_equal(seal_identity_make(file, &again, why), -1); /* it is there */
	assert_int_equal(symlink(file, link_to), 0);
	assert_int_equal(seal_identity_load(link_to, &again, why), -1);
	assert_non_null(strstr(why, "symbolic link"));
	FILE *f = fopen(peers, "w");
	assert_non_null(f);
	fputs("a " PUB_A " 10.0.0.0/8\n", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(peers, 0644), 0);
	assert_int_equal(seal_ring_load(file, peers, &ring, why), 0);
	assert_int_equal(ring.npeers, 1);
	assert_int_equal(chmod(peers, 0664), 0);
	assert_int_equal(seal_ring_load(file, peers, &ring, why), -1);
	assert_non_null(strstr(why, "others may write it"));
	assert_int_equal(ring.me.secret[5] | ring.me.secret[6] | ring.me.secret[7], 0); /* wiped */
	assert_int_equal(chmod(file, 0640), 0);
	assert_int_equal(seal_identity_load(file, &again, why), -1);
	assert_non_null(strstr(why, "chmod it to 0600"));
	/* The text alone. */
	assert_int_equal(seal_identity_parse(seal_aes256gcm(), "# x\n" SEC_A "\n", 69, &id, why),
			 0);
	uint8_t want[SEAL_DH];
	unhex(PUB_A, want);
	assert_memory_equal(id.public_key, want, SEAL_DH);
	assert_int_equal(seal_identity_parse(seal_aes256gcm(), "12\n", 3, &id, why), -1);
	assert_int_equal(seal_identity_parse(seal_aes256gcm(), "", 0, &id, why), -1);
	unlink(file), unlink(peers), unlink(link_to), rmdir(dir);
}

/* Keys of single paths: each another one, and none comes again out of what is there after it. */
static void
source_goes_on(void **state)
{
	enum { DRAWS = 8 };
	const struct seal_crypto *c = seal_aes256gcm();
	static const uint8_t seed[SEAL_HASH] = {1, 2, 3};
	uint8_t key[DRAWS][SEAL_DH], later[SEAL_DH];
	struct seal_source s;
	(void)state;
	seal_source_init(c, &s, seed);
	assert_memory_not_equal(s.state, seed, SEAL_HASH);
	for (int i = 0; i < DRAWS; i++) {
		seal_source_next(c, &s, key[i]);
		assert_memory_not_equal(s.state, key[i], SEAL_DH);
		struct seal_source stolen = s;
		for (int more = 0; more < 4; more++) {
			seal_source_next(c, &stolen, later);
			for (int k = 0; k <= i; k++)
				assert_memory_not_equal(later, key[k], SEAL_DH);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcm_vectors),	  cmocka_unit_test(gcm_rejects),
		cmocka_unit_test(hmac_vectors),	  cmocka_unit_test(hkdf_vectors),
		cmocka_unit_test(curve_vectors),  cmocka_unit_test(psk_text),
		cmocka_unit_test(psk_file),	  cmocka_unit_test(text_is_wiped),
		cmocka_unit_test(peers_text),	  cmocka_unit_test(identity_file),
		cmocka_unit_test(source_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
