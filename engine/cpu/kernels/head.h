// Logits of hidden rows, computed in small pieces. A row that needs only its arg max never stores all of its logits.
#pragma once

#include <algorithm>
#include <limits>

#include "buffer.h"
#include "rows.h"
#include "weights.h"

namespace ebb {

// The largest logit so far, and its token id.
struct Best {
    float logit = -std::numeric_limits<float>::infinity();
    int id = 0;

    // Update the best with the logits of ids [first_id, first_id + count). The lowest id wins among equal logits,
    // whatever the order of the pieces.
    void update(const float* logits, int count, int first_id) {
        Vec highest = broadcast(-std::numeric_limits<float>::infinity());
        int i = 0;
        for (; i + kLanes <= count; i += kLanes) highest = maximum(load(logits + i), highest);
        float top = maximum_lane(highest);
        for (; i < count; ++i) top = std::max(top, logits[i]);
        if (top > logit || (top == logit && first_id < id))
            *this = {top, first_id + static_cast<int>(std::find(logits, logits + count, top) - logits)};
    }

    void update(const Best& other) {
        if (other.logit > logit || (other.logit == logit && other.id < id)) *this = other;
    }
};

// Columns of the head in one multiplication.
constexpr int kHeadColumns = 4 * kPanel;

// Barred ids of one row, and the destinations of its logits.
struct HeadRow {
    const int32_t* barred;  // ids whose logits become -inf
    int num_barred;
    float* logits;  // [vocab], output: logits before ids are barred; null: not needed
    float* all;     // [vocab], output: logits after ids are barred; null: not needed
};

// Compute the logits of panels [first_panel, end_panel) of the head and update the best of each row.
// Logits are multiplied by `factor`, then capped by `cap` unless it is 0.
// piece: scratch [num_rows][kHeadColumns]. best, rows: [num_rows].
inline void compute_logits(Left hidden, int num_rows, const Weights& head, float factor, float cap, int vocab,
                           int first_panel, int end_panel, float* piece, Best* best, const HeadRow* rows) {
    const int end = end_panel * kPanel;
    for (int first = first_panel * kPanel; first < end; first += kHeadColumns) {
        const int columns = std::min(kHeadColumns, end - first), known = std::min(columns, vocab - first);
        multiply(hidden, num_rows, head, first, columns, {piece, kHeadColumns});
        for (int row = 0; row < num_rows; ++row) {
            float* logits = piece + row * kHeadColumns;
            if (factor != 1.f) scale(factor, columns, logits);
            if (cap != 0.f) softcap(cap, columns, logits);
            if (rows[row].logits != nullptr) std::copy_n(logits, known, rows[row].logits + first);
            for (int i = 0; i < rows[row].num_barred; ++i) {
                const int column = rows[row].barred[i] - first;
                if (column >= 0 && column < known) logits[column] = -std::numeric_limits<float>::infinity();
            }
            best[row].update(logits, known, first);
            if (rows[row].all != nullptr) std::copy_n(logits, known, rows[row].all + first);
        }
    }
}

}  // namespace ebb
