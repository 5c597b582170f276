// Multiplication of a tile of rows by pages of the KV cache, with AMX tiles.
//
// Exactness: an output adds up tile products (see amx.h) in ascending order of the depth, page after page. It reads only
// its own row of the left operand. The sums stay in the tiles from the first page to the last.
#pragma once

#include <algorithm>

#include "gemm_amx.h"
#include "page_shape.h"

namespace ebb {

// Last pairs of a depth that does not fill its last step. The pairs after them may hold NaN and are replaced by zeros.
struct LastPairs {
    alignas(64) bf16 values[kAmxPairs * 2 * kPanel];

    LastPairs(const bf16* columns, int pairs) {
        std::memcpy(values, columns, pairs * kPairStride);
        std::memset(values + pairs * 2 * kPanel, 0, (kAmxPairs - pairs) * kPairStride);
        finish_stores(values);
    }
};

// Compute the first `columns` columns of out = left times the pages. columns is a multiple of kPanel.
template <typename Shape>
void multiply_pages_by_tiles(const Activation* left, int rows, const PageFactor* factors, int pages, int columns,
                             float* out) {
    configure_tiles(std::min(rows, kAmxRows));
    finish_stores();
    size_t panel = 0;  // offset inside a page
    const auto multiply_tiles = [&](const auto& tiles, int row, int second) {
        tiles.clear();
        const Activation* from = left + row * Shape::kLeftStride;
        for (int index = 0; index < pages; ++index, from += Shape::kDepth) {
            const bf16* const columns_of_page = factors[index].page + panel;
            const int steps = factors[index].pairs / kAmxPairs, rest = factors[index].pairs % kAmxPairs;
            tiles.add(from, Shape::kLeftStride, second, columns_of_page, steps, [] {});
            if (rest > 0) {
                const LastPairs last(columns_of_page + static_cast<size_t>(steps) * kAmxDepth * kPanel, rest);
                tiles.add_step(from + steps * kAmxDepth, Shape::kLeftStride, second, last.values);
            }
        }
        tiles.store(out + row * Shape::kOutStride, Shape::kOutStride, second);
    };
    for (int column = 0; column < columns; column += kPanel, panel += Shape::kPanelSize, out += kPanel)
        each_pair_of_tiles(rows, multiply_tiles);
}

}  // namespace ebb
