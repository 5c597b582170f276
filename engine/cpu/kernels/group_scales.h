// Scales and offsets of groups of integer weights: what the headers of blocks and groups hold. See group_panels.h.
//
// The numbers of the 32 columns of a panel are adjacent. All products here are exact in float32, so a weight is the
// value that a GGUF file defines, rounded once.
#pragma once

#include <cstring>
#include <type_traits>

#include "float16.h"
#include "group_panels.h"

namespace ebb {

constexpr int kHalves = kPanel * sizeof(uint16_t);  // bytes of a float16 per column

// Load kLanes integers of 8 bits, of type Byte, and convert them to float. Compilers may convert a vector of bytes one
// lane after another, so instructions that widen them are named where they exist.
template <typename Byte>
Vec load_bytes(const uint8_t* from) {
    constexpr bool kSigned = std::is_signed_v<Byte>;
#if defined(__AVX512F__)
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return (Vec)_mm512_cvtepi32_ps(kSigned ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
#elif defined(__AVX2__)
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return (Vec)_mm256_cvtepi32_ps(kSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
#else
    typedef Byte Bytes __attribute__((vector_size(kLanes), aligned(1), may_alias));
    return __builtin_convertvector(__builtin_convertvector(*reinterpret_cast<const Bytes*>(from), Ints), Vec);
#endif
}

template <typename Number>
void put_number(uint8_t* numbers, int column, Number number) {
    std::memcpy(numbers + column * sizeof number, &number, sizeof number);
}

// A float16 scale per group: int8, int4, Q8_0, Q4_0, IQ4_NL.
struct HalfScales {
    static constexpr int kBlockGroups = 1, kBlockHeader = 0, kGroupHeader = kHalves, kSpans = 1;
    static constexpr bool kHasOffset = false;

    struct Values {
        uint16_t scale;
    };
    static void put(uint8_t*, uint8_t* group, int column, const Values& values) {
        put_number(group, column, values.scale);
    }
    // Return the scale of a span, for columns [first, first + kLanes).
    static Vec scale(const Group& group, int, int first) { return load_halves(group.header + first * 2); }
};

// A float16 scale and a float16 offset per group: Q4_1, Q5_0, Q5_1.
struct HalfOffsets {
    static constexpr int kBlockGroups = 1, kBlockHeader = 0, kGroupHeader = 2 * kHalves, kSpans = 1;
    static constexpr bool kHasOffset = true;

    struct Values {
        uint16_t scale, offset;
    };
    static void put(uint8_t*, uint8_t* group, int column, const Values& values) {
        put_number(group, column, values.scale);
        put_number(group + kHalves, column, values.offset);
    }
    static Vec scale(const Group& group, int, int first) { return load_halves(group.header + first * 2); }
    static Vec offset(const Group& group, int first) { return load_halves(group.header + kHalves + first * 2); }
};

// Scales and offsets of 6 bits per group, in units that are a float16 per block of 8 groups: Q4_K, Q5_K.
struct BlockOffsets {
    static constexpr int kBlockGroups = 8, kBlockHeader = 2 * kHalves, kGroupHeader = 2 * kPanel, kSpans = 1;
    static constexpr bool kHasOffset = true;

    struct Values {
        uint16_t scale_unit, offset_unit;
        uint8_t scale, offset;
    };
    static void put(uint8_t* block, uint8_t* group, int column, const Values& values) {
        put_number(block, column, values.scale_unit);
        put_number(block + kHalves, column, values.offset_unit);
        put_number(group, column, values.scale);
        put_number(group + kPanel, column, values.offset);
    }
    static Vec scale(const Group& group, int, int first) {
        return load_halves(group.block + first * 2) * load_bytes<uint8_t>(group.header + first);
    }
    static Vec offset(const Group& group, int first) {
        return -(load_halves(group.block + kHalves + first * 2) * load_bytes<uint8_t>(group.header + kPanel + first));
    }
};

// A scale of 8 bits per half of a group, in units that are a float16 per block of 8 groups: Q6_K.
struct HalfGroupScales {
    static constexpr int kBlockGroups = 8, kBlockHeader = kHalves, kGroupHeader = 2 * kPanel, kSpans = 2;
    static constexpr bool kHasOffset = false;

    struct Values {
        uint16_t unit;
        int8_t scales[2];
    };
    static void put(uint8_t* block, uint8_t* group, int column, const Values& values) {
        put_number(block, column, values.unit);
        for (int span = 0; span < kSpans; ++span) put_number(group + span * kPanel, column, values.scales[span]);
    }
    static Vec scale(const Group& group, int span, int first) {
        return load_halves(group.block + first * 2) * load_bytes<int8_t>(group.header + span * kPanel + first);
    }
};

}  // namespace ebb
