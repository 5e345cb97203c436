/* xoshiro128** (Blackman and Vigna), its state filled by splitmix64. */
#include "core/core.h"

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void emu_random_seed(emu_random *random, uint64_t seed) {
    for (int i = 0; i < 4; i += 2) {
        uint64_t bits = splitmix(&seed);
        random->state[i] = (uint32_t)bits;
        random->state[i + 1] = (uint32_t)(bits >> 32);
    }
}

static uint32_t rotate(uint32_t x, int k) { return x << k | x >> (32 - k); }

uint32_t emu_random_next(emu_random *random) {
    uint32_t *s = random->state;
    const uint32_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 11);
    return result;
}
