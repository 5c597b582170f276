// A matrix of weights in one of the formats of interface.h.
#pragma once

#include "gemm.h"
#include "int4_format.h"
#include "int8_format.h"
#include "interface.h"

namespace ebb {

struct Weights {
    const void* data;
    int depth;
    WeightFormat format;

    // Call `use` with the panels in their own type.
    template <typename Use>
    void as_panels(Use&& use) const {
        switch (format) {
            case WeightFormat::kBf16:
                return use(Panels{static_cast<const bf16*>(data), depth});
            case WeightFormat::kInt8:
                return use(GroupPanels<Int8>{static_cast<const uint8_t*>(data), depth});
            case WeightFormat::kInt4:
                return use(GroupPanels<Int4>{static_cast<const uint8_t*>(data), depth});
        }
    }
};

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`.
inline void multiply(Left left, int rows, const Weights& right, int first, int columns, Out out) {
    right.as_panels([&](const auto& panels) { multiply(left, rows, panels, first, columns, out); });
}

inline void unpack_row(const Weights& matrix, int column, float* to) {
    matrix.as_panels([&](const auto& panels) { unpack_row(panels, column, to); });
}

}  // namespace ebb
