// Arguments of a multiplication by pages of the KV cache: its shape, and the pages.
#pragma once

#include "panels.h"

namespace ebb {

// Shape of a product of rows by pages. Constants keep the addresses of a tile's rows in few registers.
// kDepth: depth of a page, and elements of a row of the left operand from one page to the next.
template <int kLeftStrideOf, int kDepthOf, int kOutStrideOf>
struct PageShape {
    static constexpr int kLeftStride = kLeftStrideOf, kDepth = kDepthOf, kOutStride = kOutStrideOf;
    static constexpr size_t kPanelSize = size_t{kPanel} * kDepth;
};

// One page as the right operand of a product. The product uses the first `pairs` pairs of the page's depth. With
// vectors, it prefetches the page `ahead`.
struct PageFactor {
    const bf16* page;
    const bf16* ahead;
    int pairs;
};

}  // namespace ebb
