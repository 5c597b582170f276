// Multiplication of a tile of rows by pages of the KV cache, with AMX tiles.
//
// Exactness: an output adds up tile products (see amx.h) in ascending order of the depth, page after page. It reads only
// its own row of the left operand. The sums stay in the tiles from the first page to the last.
#pragma once

#include <algorithm>

#include "gemm_amx.h"
#include "page_shape.h"

namespace ebb {

// Compute the first `columns` columns of out = left times the pages. columns is a multiple of kPanel.
template <typename Shape>
void multiply_pages_by_tiles(const Activation* left, int rows, const PageFactor* factors, int pages, int columns,
                             float* out) {
    configure_tiles(std::min(rows, kAmxRows));
    finish_stores();
    size_t panel = 0;  // offset inside a page
    const auto multiply_tiles = [&](const auto& sums, int row, int second) {
        for (int index = 0; index < pages; ++index) {
            const char* const ahead = reinterpret_cast<const char*>(factors[index].ahead + panel);
            sums.add(left + row * Shape::kLeftStride + index * Shape::kDepth, Shape::kLeftStride, second,
                     factors[index].page + panel, factors[index].pairs, [ahead, row](int step) {
                         if (row > 0) return;
                         for (size_t at = 0; at < kPanelStep; at += 64)
                             __builtin_prefetch(ahead + step * kPanelStep + at, 0, 2);
                     });
        }
        sums.store(out + row * Shape::kOutStride, Shape::kOutStride, second);
    };
    for (int column = 0; column < columns; column += kPanel, panel += Shape::kPanelSize, out += kPanel)
        each_pair_of_tiles(rows, multiply_tiles);
}

}  // namespace ebb
