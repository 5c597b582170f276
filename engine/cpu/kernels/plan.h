// Division of a step's attention into tasks, made once per step and used by every layer.
#pragma once

#include <algorithm>
#include <vector>

#include "attention.h"
#include "interface.h"

namespace ebb {

// Rows of a chunk within one page, whose keys and values one thread writes.
struct WriteTask {
    int sequence;
    int kv_head;
    int first_row;
    int end_row;
};

// A decoding row whose splits are divided among several tasks. The layout of its partial results, from index `partial`
// on, is [kv_heads][splits][group].
struct SharedRow {
    int row;
    int splits;
    int partial;
};

class StepPlan {
public:
    std::vector<Sequence> sequences;
    std::vector<WriteTask> writes;
    std::vector<AttentionTask> tasks;  // longest first
    std::vector<SharedRow> shared;
    int rows = 0;
    int partials = 0;

    StepPlan(const StepInput& step, const Model& model, int threads) : model_(model) {
        const bool few = step.sequences <= kFewSequences && threads > 1;
        for (int i = 0; i < step.sequences; ++i) {
            const int32_t* blocks = step.block_tables + static_cast<ptrdiff_t>(i) * step.table_width;
            sequences.push_back({rows, step.query_lens[i], step.context_lens[i], blocks});
            rows += step.query_lens[i];
            const int splits = num_splits(sequences[i].position(rows - 1));
            if (step.query_lens[i] > 1)
                add_chunk(i);
            else if (few && splits > 1)
                add_shared_row(i, splits);
            else
                add_row(i, splits);
        }
        std::stable_sort(tasks.begin(), tasks.end(), [this](const AttentionTask& a, const AttentionTask& b) {
            return work(a) > work(b);
        });
    }

private:
    // Up to this number of sequences, rows alone do not keep the threads busy.
    static constexpr int kFewSequences = 4;

    void add_chunk(int index) {
        const Sequence& sequence = sequences[index];
        const int end = sequence.first_row + sequence.query_len;
        const int tile = std::max(1, kTileRows / (model_.heads / model_.kv_heads));
        for (int head = 0; head < model_.kv_heads; ++head) {
            for (int row = sequence.first_row; row < end;) {
                const int next = std::min(end, row + kPageKeys - sequence.position(row) % kPageKeys);
                writes.push_back({index, head, row, next});
                row = next;
            }
            for (int row = sequence.first_row; row < end; row += tile) {
                const int count = std::min(tile, end - row);
                tasks.push_back({index, head, row, count, 0, num_splits(sequence.position(row + count - 1)), -1, false});
            }
        }
    }

    void add_row(int index, int splits) {
        for (int head = 0; head < model_.kv_heads; ++head)
            tasks.push_back({index, head, sequences[index].first_row, 1, 0, splits, -1, true});
    }

    void add_shared_row(int index, int splits) {
        const int group = model_.heads / model_.kv_heads, row = sequences[index].first_row;
        shared.push_back({row, splits, partials});
        for (int head = 0; head < model_.kv_heads; ++head)
            for (int split = 0; split < splits; ++split, partials += group)
                tasks.push_back({index, head, row, 1, split, split + 1, partials, split == splits - 1});
    }

    long work(const AttentionTask& task) const {
        const Sequence& sequence = sequences[task.sequence];
        const int keys = sequence.position(task.first_row + task.num_rows - 1) + 1;
        const int split_keys = kPageKeys * kSplitPages;
        const int seen = std::min(keys, task.end_split * split_keys) - task.first_split * split_keys;
        return static_cast<long>(seen) * task.num_rows;
    }

    const Model& model_;
};

}  // namespace ebb
