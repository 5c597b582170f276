// Division of a step's attention into tasks, made once per step and used by every layer. The last layer attends only from
// the rows whose final hidden states are read, as the other rows of a prompt only leave their keys and values behind.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "adapted_rows.h"
#include "attention.h"
#include "interface.h"

namespace ebb {

// Queries of a chunk within one page, whose keys and values one thread writes.
struct WriteTask {
    int first_query;
    int end_query;
    int kv_head;
};

class StepPlan {
public:
    std::vector<Query> queries;  // those of the rows, in order; then copies of those that share pages, in tasks' order
    std::vector<WriteTask> writes;
    std::vector<AttentionTask> tasks;  // roughly longest first
    std::vector<int> read_rows;        // rows whose final hidden states are read, in ascending order
    AdaptedRows adapted;               // rows that have adapters
    AdaptedRows read_adapted;          // the same in the last layer after its attention, by their places in `read_rows`
    std::vector<int> divided;          // decoding rows whose splits are divided among tasks
    int rows = 0;
    int partials = 0;

    StepPlan(const StepInput& step, const Model& model, int threads) : model_(model) {
        std::vector<int> decoding;
        std::vector<std::pair<int, int>> chunks;
        for (int i = 0; i < step.sequences; ++i) {
            const int32_t* blocks = step.block_tables + static_cast<ptrdiff_t>(i) * step.table_width;
            for (int token = 0; token < step.query_lens[i]; ++token)
                queries.push_back({rows + token, step.context_lens[i] + token, blocks, -1});
            if (step.query_lens[i] > 1)
                chunks.push_back({rows, rows + step.query_lens[i]});
            else
                decoding.push_back(rows);
            rows += step.query_lens[i];
        }
        find_read_rows(step);
        adapted = AdaptedRows(step, [](int row) { return row; });
        if (!reads_all())
            read_adapted = AdaptedRows(step, [this](int row) {
                return std::binary_search(read_rows.begin(), read_rows.end(), row) ? place_of(row) : -1;
            });
        for (const auto& [first, end] : chunks) {
            add_writes(first, end);
            add_tiles(first, end, tasks);
        }
        if (!reads_all()) add_last_tiles(chunks);
        add_decoding(decoding, step.sequences <= kFewSequences && threads > 1);
        sort(tasks);
        sort(last_tasks_);
    }

    bool reads_all() const { return static_cast<int>(read_rows.size()) == rows; }

    // Return the tasks of the last layer. A row of one token is always among them, because its task writes its KV.
    const std::vector<AttentionTask>& last_tasks() const { return reads_all() ? tasks : last_tasks_; }

    // Return the place of a row among `read_rows`.
    int place_of(int row) const {
        return static_cast<int>(std::lower_bound(read_rows.begin(), read_rows.end(), row) - read_rows.begin());
    }

private:
    // Up to this number of sequences, rows alone do not keep the threads busy.
    static constexpr int kFewSequences = 4;

    int group() const { return model_.heads / model_.kv_heads; }
    int tile_queries() const { return std::max(1, kTileRows / group()); }

    // Find the rows that the head or a sum of hidden states reads. The engine of the next layers reads all rows.
    void find_read_rows(const StepInput& step) {
        std::vector<bool> is_read(rows, step.hidden_out != nullptr);
        for (int i = 0; i < step.samples; ++i) is_read[step.sample_rows[i]] = true;
        for (int i = 0; i < step.num_sums; ++i)
            std::fill(is_read.begin() + step.sums[i].first, is_read.begin() + step.sums[i].end, true);
        for (int row = 0; row < rows; ++row)
            if (is_read[row]) read_rows.push_back(row);
    }

    // Add the writes of a chunk's keys and values.
    void add_writes(int first, int end) {
        for (int head = 0; head < model_.kv_heads; ++head)
            for (int query = first; query < end;) {
                const int next = std::min(end, query + kPageKeys - queries[query].position % kPageKeys);
                writes.push_back({query, next, head});
                query = next;
            }
    }

    // Add queries [first, end) of one sequence to `to`, in tiles.
    void add_tiles(int first, int end, std::vector<AttentionTask>& to) {
        const int tiles = (end - first + tile_queries() - 1) / tile_queries();
        for (int head = 0; head < model_.kv_heads; ++head)
            // Longest first. The tiles of a head read the same pages.
            for (int tile = tiles - 1; tile >= 0; --tile) {
                const int query = first + tile * tile_queries();
                const int count = std::min(tile_queries(), end - query);
                const int splits = num_splits(queries[query + count - 1].position);
                to.push_back({query, count, head, 0, splits, false});
            }
    }

    // Add the rows of chunks that the last layer attends from: copies of their queries, so that they follow each other.
    void add_last_tiles(const std::vector<std::pair<int, int>>& chunks) {
        for (const auto& [begin, end] : chunks) {
            const int first = static_cast<int>(queries.size());
            for (int i = place_of(begin); i < place_of(end); ++i) queries.push_back(Query(queries[read_rows[i]]));
            add_tiles(first, static_cast<int>(queries.size()), last_tasks_);
        }
    }

    // Add a task of rows of one token, to those of every layer.
    void add_task(const AttentionTask& task) {
        tasks.push_back(task);
        if (!reads_all()) last_tasks_.push_back(task);
    }

    // Add the rows of one token. few: their splits are divided among the threads.
    void add_decoding(const std::vector<int>& decoding, bool few) {
        const std::vector<int> shared = add_shared_splits(decoding);
        for (int row : decoding) {
            const int splits = num_splits(queries[row].position);
            if (few && splits > 1) divide(row);
            const int at_once = queries[row].partial < 0 ? splits : 1;
            for (int head = 0; head < model_.kv_heads; ++head)
                for (int split = shared[row]; split < splits; split += at_once)
                    add_task({row, 1, head, split, split + at_once, split + at_once == splits});
        }
    }

    // Prepare the partial results of a row whose splits are divided.
    void divide(int row) {
        if (queries[row].partial >= 0) return;
        queries[row].partial = partials;
        partials += model_.heads * num_splits(queries[row].position);
        divided.push_back(row);
    }

    // Add the splits whose pages several rows share, as after a common system prompt. Return the number of these splits
    // for each row. A page belongs to one prefix, so rows that share a split also share the splits before it.
    std::vector<int> add_shared_splits(std::vector<int> sharing) {
        std::vector<int> shared(rows);
        for (int split = 0; sharing.size() > 1; ++split) {
            // A row's last split is never shared: the row writes its own key there.
            std::erase_if(sharing, [&](int row) { return num_splits(queries[row].position) <= split + 1; });
            const auto pages = [&](int row) {
                std::array<int32_t, kSplitPages> blocks;
                std::copy_n(queries[row].blocks + split * kSplitPages, kSplitPages, blocks.begin());
                return blocks;
            };
            std::sort(sharing.begin(), sharing.end(), [&](int a, int b) {
                return std::pair(pages(a), queries[a].position) < std::pair(pages(b), queries[b].position);
            });
            std::vector<int> still;
            for (auto first = sharing.begin(), end = first; first != sharing.end(); first = end) {
                end = std::find_if(first, sharing.end(), [&](int row) { return pages(row) != pages(*first); });
                if (end - first == 1) continue;
                add_shared_split({first, end}, split);
                still.insert(still.end(), first, end);
            }
            for (int row : still) ++shared[row];
            sharing = std::move(still);
        }
        return shared;
    }

    // Add one split of rows that share its pages, in tiles of nearly equal size.
    void add_shared_split(std::span<const int> sharing, int split) {
        const int count = static_cast<int>(sharing.size()), tiles = (count + tile_queries() - 1) / tile_queries();
        for (int tile = 0; tile < tiles; ++tile) {
            const int begin = count * tile / tiles, end = count * (tile + 1) / tiles;
            const int first = static_cast<int>(queries.size());
            for (int i = begin; i < end; ++i) {
                divide(sharing[i]);
                queries.push_back(Query(queries[sharing[i]]));
            }
            for (int head = 0; head < model_.kv_heads; ++head)
                add_task({first, end - begin, head, split, split + 1, false});
        }
    }

    // Sort tasks by their work. Tasks of similar work stay in the order in which they were added, so that pages stay in
    // the L2 cache.
    void sort(std::vector<AttentionTask>& list) const {
        std::stable_sort(list.begin(), list.end(), [this](const AttentionTask& a, const AttentionTask& b) {
            return rounded_work(a) > rounded_work(b);
        });
    }

    // Return the work of a task, rounded down to its first two binary digits.
    unsigned rounded_work(const AttentionTask& task) const {
        const int keys = queries[task.first_query + task.num_queries - 1].position + 1;
        const int seen = std::min(keys, task.end_split * kSplitKeys) - task.first_split * kSplitKeys;
        const unsigned work = static_cast<unsigned>(seen) * task.num_queries;
        const int rest = std::max(0, static_cast<int>(std::bit_width(work)) - 2);
        return work >> rest << rest;
    }

    const Model& model_;
    std::vector<AttentionTask> last_tasks_;  // of the last layer, unless all rows are read
};

}  // namespace ebb
