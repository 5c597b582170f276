// From hidden rows to tokens: logits in small pieces, so that a row which only needs its arg max never stores them.
#pragma once

#include <algorithm>
#include <limits>

#include "buffer.h"
#include "weights.h"

namespace ebb {

struct Best {
    float logit = -std::numeric_limits<float>::infinity();
    int id = 0;

    // Ids ascend from call to call, so the lowest of equal ones stays.
    void update(const float* logits, int count, int first_id) {
        Vec highest = broadcast(logit);
        int i = 0;
        for (; i + kLanes <= count; i += kLanes) highest = maximum(load(logits + i), highest);
        float top = maximum_lane(highest);
        for (; i < count; ++i) top = std::max(top, logits[i]);
        if (!(top > logit)) return;
        logit = top;
        id = first_id + static_cast<int>(std::find(logits, logits + count, top) - logits);
    }
};

// Columns [first_panel, end_panel) of the head for all rows. best [rows]; destinations [rows]: where a row's logits go
// (row-major [vocab]), or null.
constexpr int kHeadColumns = 4 * kPanel;

struct HeadScratch {
    float* piece;   // [rows][kHeadColumns]
    bf16* decoded;  // as `multiply` wants it
};

inline void compute_logits(Left hidden, int rows, const Weights& head, int vocab, int first_panel, int end_panel,
                           HeadScratch scratch, Best* best, float* const* destinations) {
    const int end = end_panel * kPanel;
    for (int first = first_panel * kPanel; first < end; first += kHeadColumns) {
        const int columns = std::min(kHeadColumns, end - first), known = std::min(columns, vocab - first);
        multiply(hidden, rows, head, first, columns, {scratch.piece, kHeadColumns}, scratch.decoded);
        for (int row = 0; row < rows; ++row) {
            const float* logits = scratch.piece + row * kHeadColumns;
            best[row].update(logits, known, first);
            if (destinations[row] != nullptr) std::copy_n(logits, known, destinations[row] + first);
        }
    }
}

}  // namespace ebb
