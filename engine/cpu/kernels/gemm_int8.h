// Multiplication by int8 weights: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: for each group of the depth in ascending order, a chain of dot products with the integers, then one fused
// multiply-add of its sum with the scale. The same for every tile, whether it decodes weights in registers or not.
#pragma once

#include <array>
#include <utility>

#include "buffer.h"
#include "gemm.h"
#include "int8_panels.h"

namespace ebb {

// A tile keeps two sums for each output: of the group, and of all before it.
#if defined(__AVX512F__)
constexpr int kMaxInt8Rows = 6;
constexpr int int8_panels_for(int rows) { return rows <= 2 ? 2 : 1; }
#else
constexpr int kMaxInt8Rows = kLanes == 8 ? 2 : 1;
constexpr int int8_panels_for(int) { return 1; }
#endif

// Bytes that are fetched ahead of their use.
constexpr int kInt8PrefetchBytes = 4096;

// Decodes weights as it goes: for few rows, which use each of them a few times.
class DecodingSource {
public:
    DecodingSource(const Int8Panels& panels, int panel) : panels_(panels), panel_(panel) {}

    void pairs(int panel, int group, int pair, Pair* to) const {
        const uint8_t* bytes = pair_bytes(panels_.group(panel_ + panel, group), pair);
        __builtin_prefetch(bytes + kInt8PrefetchBytes, 0, 3);
        decoder_.decode(bytes, to);
    }

private:
    const Int8Panels& panels_;
    const int panel_;
    const Int8Decoder decoder_{};
};

// Reads one panel that was decoded before: for many rows.
class DecodedSource {
public:
    explicit DecodedSource(const bf16* decoded) : decoded_(decoded) {}

    void pairs(int, int group, int pair, Pair* to) const {
        const bf16* from = decoded_ + static_cast<size_t>(group * kGroupPairs + pair) * kPairBytes;
        for (int v = 0; v < kPairVectors; ++v) to[v] = load_pair(from + 2 * v * kLanes);
    }

private:
    const bf16* decoded_;
};

// One tile: kRows rows by kPanels panels, the first of which is `panel`.
template <int kRows, int kPanels, typename Source>
void multiply_int8_tile(Left left, const Int8Panels& right, const Source& source, int panel, Out out) {
    constexpr int kVectors = kPanels * kPairVectors;
    Vec sums[kRows][kVectors];
    for (int row = 0; row < kRows; ++row)
        for (int v = 0; v < kVectors; ++v) sums[row][v] = Vec{};
    for (int group = 0; group < right.groups(); ++group) {
        Vec partial[kRows][kVectors];
        for (int row = 0; row < kRows; ++row)
            for (int v = 0; v < kVectors; ++v) partial[row][v] = Vec{};
        for (int pair = 0; pair < kGroupPairs; ++pair) {
            Pair weights[kVectors];
#pragma GCC unroll 2
            for (int p = 0; p < kPanels; ++p) source.pairs(p, group, pair, weights + p * kPairVectors);
#pragma GCC unroll 6
            for (int row = 0; row < kRows; ++row) {
                const Pair values = broadcast_pair(left.data + row * left.stride + group * kGroup + 2 * pair);
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) partial[row][v] = dot(partial[row][v], weights[v], values);
            }
        }
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            const uint8_t* scales = right.group(panel + v / kPairVectors, group);
            const Vec scale = load_scales(scales, v % kPairVectors * kLanes);
#pragma GCC unroll 6
            for (int row = 0; row < kRows; ++row) sums[row][v] = fma(scale, partial[row][v], sums[row][v]);
        }
    }
    for (int row = 0; row < kRows; ++row)
        for (int v = 0; v < kVectors; ++v) store(out.data + row * out.stride + v * kLanes, sums[row][v]);
}

template <int kPanels, typename Source>
using Int8Tile = void (*)(Left, const Int8Panels&, const Source&, int, Out);

template <int kPanels, typename Source, int... kRows>
constexpr std::array<Int8Tile<kPanels, Source>, sizeof...(kRows)> make_int8_tiles(std::integer_sequence<int, kRows...>) {
    return {&multiply_int8_tile<kRows + 1, kPanels, Source>...};
}

template <int kPanels, int kMaxRows, typename Source>
void multiply_int8_panels(Left left, int rows, const Int8Panels& right, const Source& source, int panel, Out out) {
    static constexpr auto kTiles = make_int8_tiles<kPanels, Source>(std::make_integer_sequence<int, kMaxRows>());
    for (int tiles = (rows + kMaxRows - 1) / kMaxRows; rows > 0; --tiles) {
        const int taken = (rows + tiles - 1) / tiles;
        kTiles[taken - 1](left, right, source, panel, out);
        left.data += taken * left.stride;
        out.data += taken * out.stride;
        rows -= taken;
    }
}

inline void decode_panel(const Int8Panels& right, int panel, bf16* to) {
    const DecodingSource source(right, panel);
    for (int group = 0; group < right.groups(); ++group)
        for (int pair = 0; pair < kGroupPairs; ++pair, to += kPairBytes) {
            Pair pairs[kPairVectors];
            source.pairs(0, group, pair, pairs);
            for (int v = 0; v < kPairVectors; ++v) store_pair(to + 2 * v * kLanes, pairs[v]);
        }
}

// out [rows, columns] = left times columns [first, first + columns) of `right`; both are multiples of kPanel. `decoded`
// holds [depth, kPanel].
inline void multiply(Left left, int rows, const Int8Panels& right, int first, int columns, Out out, bf16* decoded) {
    int panel = first / kPanel;
    const int end = (first + columns) / kPanel;
    if (rows > kMaxInt8Rows) {
        for (; panel < end; ++panel, out.data += kPanel) {
            decode_panel(right, panel, decoded);
            multiply_int8_panels<1, kMaxInt8Rows>(left, rows, right, DecodedSource(decoded), panel, out);
        }
        return;
    }
    constexpr int kWide = int8_panels_for(1);
    if constexpr (kWide > 1) {
        constexpr int kWideRows = 2;
        if (rows <= kWideRows)
            for (; end - panel >= kWide; panel += kWide, out.data += kWide * kPanel)
                multiply_int8_panels<kWide, kWideRows>(left, rows, right, DecodingSource(right, panel), panel, out);
    }
    for (; panel < end; ++panel, out.data += kPanel)
        multiply_int8_panels<1, kMaxInt8Rows>(left, rows, right, DecodingSource(right, panel), panel, out);
}

}  // namespace ebb
