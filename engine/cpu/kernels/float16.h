// Conversion between float16 and float.
#pragma once

#include <bit>
#include <cmath>

#include "vec.h"

namespace ebb {

// Load kLanes float16 and convert them to float. Subnormal numbers are converted exactly too.
inline Vec load_halves(const uint8_t* from) {
    typedef uint16_t Halves __attribute__((vector_size(2 * kLanes), aligned(1), may_alias));
    const Halves halves = *reinterpret_cast<const Halves*>(from);
#if defined(__AVX512F__)
    return (Vec)_mm512_cvtph_ps((__m256i)halves);
#elif defined(__AVX2__)
    return (Vec)_mm256_cvtph_ps((__m128i)halves);
#else
    const Words wide = __builtin_convertvector(halves, Words);
    const Words bits = (wide & 0x7fff) << 13, sign = (wide & 0x8000) << 16;
    constexpr uint32_t kRebias = 112u << 23, kSmallestNormal = 113u << 23;
    const Words normal = bits + kRebias;
    const Vec subnormal = (Vec)(bits + kSmallestNormal) - (Vec)(Words{} + kSmallestNormal);
    return (Vec)((bits < (1u << 23) ? (Words)subnormal : normal) | sign);
#endif
}

// Convert a finite float16 to float.
inline float half_to_float(uint16_t half) {
    const int bits = half & 0x7fff, exponent = bits >> 10;
    const float magnitude =
        std::ldexp(static_cast<float>(bits & 0x3ff) + (exponent ? 1024.f : 0.f), (exponent ? exponent : 1) - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

// Return the smallest float16 that is at least `value`, which must be in [0, 65504].
inline uint16_t half_not_below(float value) {
    constexpr float kSmallestNormal = 0x1p-14f;
    if (value < kSmallestNormal) return static_cast<uint16_t>(std::ceil(value * 0x1p24f));
    constexpr uint32_t kLostBits = 13, kRebias = 112u << 10;
    return static_cast<uint16_t>(((std::bit_cast<uint32_t>(value) + (1u << kLostBits) - 1) >> kLostBits) - kRebias);
}

// Return one of the two float16 next to `value`, the nearer one. Its magnitude must be at most 65504.
inline uint16_t half_nearest(float value) {
    const float magnitude = std::fabs(value);
    const uint16_t above = half_not_below(magnitude);
    const uint16_t below = above == 0 ? above : static_cast<uint16_t>(above - 1);
    const bool is_lower = magnitude - half_to_float(below) < half_to_float(above) - magnitude;
    return static_cast<uint16_t>((is_lower ? below : above) | (value < 0.f ? 0x8000 : 0));
}

}  // namespace ebb
