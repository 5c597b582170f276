// Rows of a step that have adapters, grouped by adapter. A group has its rows in ascending order, and no other part of a
// step knows the groups.
#pragma once

#include <algorithm>
#include <vector>

#include "interface.h"

namespace ebb {

// Rows of one adapter, as indices of AdaptedRows::rows.
struct RowGroup {
    const Adapter* adapter;
    int first, end;
};

class AdaptedRows {
public:
    std::vector<int> rows;         // by group, ascending within a group
    std::vector<RowGroup> groups;  // of all rows of an adapter
    std::vector<RowGroup> blocks;  // the same rows in blocks of at most kBlockRows
    int rank = 0;                  // the largest of the adapters

    static constexpr int kBlockRows = 64;

    AdaptedRows() = default;

    // Group the rows of a step. place_of(row): the place of a row among those that are computed, or -1.
    template <typename PlaceOf>
    AdaptedRows(const StepInput& step, PlaceOf&& place_of) {
        if (step.adapters == nullptr) return;
        std::vector<const Adapter*> adapters;
        for (int i = 0; i < step.sequences; ++i)
            if (const Adapter* adapter = step.adapters[i]; adapter != nullptr)
                if (std::find(adapters.begin(), adapters.end(), adapter) == adapters.end()) adapters.push_back(adapter);
        for (const Adapter* adapter : adapters) {
            const int first = static_cast<int>(rows.size());
            for (int i = 0, row = 0; i < step.sequences; row += step.query_lens[i++]) {
                if (step.adapters[i] != adapter) continue;
                for (int token = step.adapted_from[i]; token < step.query_lens[i]; ++token)
                    if (const int place = place_of(row + token); place >= 0) rows.push_back(place);
            }
            const int end = static_cast<int>(rows.size());
            if (first == end) continue;
            rank = std::max(rank, static_cast<int>(adapter->rank));
            groups.push_back({adapter, first, end});
            for (int block = first; block < end; block += kBlockRows)
                blocks.push_back({adapter, block, std::min(block + kBlockRows, end)});
        }
    }

    bool empty() const { return rows.empty(); }

    // Return whether the rows of a block follow each other in memory.
    bool are_adjacent(const RowGroup& block) const {
        return rows[block.end - 1] - rows[block.first] == block.end - 1 - block.first;
    }

    // Return the part of a group whose rows are in [begin, end).
    RowGroup part(const RowGroup& group, int begin, int end) const {
        const auto first = rows.begin() + group.first, last = rows.begin() + group.end;
        const auto at = [&](int row) { return static_cast<int>(std::lower_bound(first, last, row) - rows.begin()); };
        return {group.adapter, at(begin), at(end)};
    }
};

}  // namespace ebb
