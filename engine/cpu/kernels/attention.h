// Paged causal attention of a tile of query rows over one KV head.
//
// Exactness: keys are divided into splits of 256 at fixed absolute positions. Each split starts from zero, and `merge`
// joins the splits in ascending order. The operations on a row are therefore the same whether one thread computes all
// of its splits or several threads share them. They do not depend on the other rows of the tile either, because a page
// without a key that the row attends to never touches that row. A split without such a key leaves the sums as they are.
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.h"
#include "gemm.h"
#include "kv_pages.h"

namespace ebb {

constexpr int kSplitPages = 4;
// Rows of a tile: query rows times heads per group. With bf16 activations and a head_dim of 64, the scratch of one tile
// takes 48 KB and fits the L1 cache.
constexpr int kTileRows = 48;
constexpr float kBelowAllScores = -1e30f;

// One sequence of the step: rows [first_row, first_row + query_len) of the batch.
struct Sequence {
    int first_row;
    int query_len;
    int context_len;  // keys in the cache before this step
    const int32_t* blocks;

    int position(int row) const { return context_len + row - first_row; }
};

// A part of one layer's attention: some rows of a sequence, one KV head, and a range of splits.
struct AttentionTask {
    int sequence;
    int kv_head;
    int first_row;
    int num_rows;
    int first_split;
    int end_split;
    int partial;     // index of the first partial result; -1: the task has all splits and writes finished rows
    bool writes_kv;  // the task also writes its row's key and value, because no other task reads their page
};

inline int num_splits(int position) { return position / (kPageKeys * kSplitPages) + 1; }

// Sums of a softmax over some of the keys. The weight of a key is 2^(score - maximum), with scores in
// units of log2(e). `values` [head_dim] is the sum
// of weight * value, and `sum` is the sum of the weights.
struct Softmax {
    float* values;
    float maximum;
    float sum;
};

// Merge the sums of the next split into the sums of all splits before it. No other function combines splits.
template <int kHeadDim>
void merge(Softmax& into, const Softmax& next) {
    const float maximum = into.maximum > next.maximum ? into.maximum : next.maximum;
    const float keep = exp2(into.maximum - maximum), take = exp2(next.maximum - maximum);
    for (int d = 0; d < kHeadDim; d += kLanes)
        store(into.values + d, fma(load(next.values + d), broadcast(take), load(into.values + d) * broadcast(keep)));
    into.sum = into.sum * keep + next.sum * take;
    into.maximum = maximum;
}

template <int kHeadDim>
void finish(const Softmax& softmax, Activation* out) {
    const Vec scale = broadcast(1.f / softmax.sum);
    for (int d = 0; d < kHeadDim; d += kLanes) store_activation(out + d, load(softmax.values + d) * scale);
}

// Scratch memory of one thread for one tile.
struct AttentionScratch {
    Buffer<Activation> queries, weights;   // [rows][head_dim], [rows][kPageKeys]
    Buffer<float> products;                // [rows][max(head_dim, kPageKeys)]
    Buffer<float> split_values, values;    // [rows][head_dim]
    Buffer<Softmax> split, total;          // [rows]

    void reserve(int rows, int head_dim) {
        const size_t n = rows, widest = std::max(head_dim, kPageKeys);
        queries.reserve(n * head_dim);
        weights.reserve(n * kPageKeys);
        products.reserve(n * widest);
        split_values.reserve(n * head_dim);
        values.reserve(n * head_dim);
        split.reserve(n);
        total.reserve(n);
    }
};

// Input and output of one layer's attention, shared by all tasks.
struct AttentionLayer {
    const KvCache* cache;
    int layer;
    int heads;
    const float* qkv;     // [rows][(heads + 2 * kv_heads) * head_dim], before normalization and rotation
    const float* q_norm;  // [head_dim]; null if heads are not normalized
    const float* k_norm;
    float norm_epsilon;
    float scale;          // factor of q times k
    float softcap;        // scores s become softcap * tanh(s / softcap); 0: unchanged
    int window;           // keys that a query attends to, the last of which is its own; 0: all up to its own
    const float* cos;     // [positions][head_dim / 2]; null if heads are not rotated
    const float* sin;
    Activation* out;      // [rows][heads * head_dim]
    Softmax* partials;

    int group() const { return heads / cache->kv_heads; }
    // First position that the query at `position` attends to.
    int first_key(int position) const { return window == 0 ? 0 : std::max(0, position - window + 1); }
    ptrdiff_t qkv_stride() const { return static_cast<ptrdiff_t>(heads + 2 * cache->kv_heads) * cache->head_dim; }
};

template <int kHeadDim>
class Attention {
public:
    Attention(const AttentionLayer& layer, AttentionScratch& scratch) : layer_(layer), scratch_(scratch) {}

    // Write the keys, placed, and the values of rows [first_row, end_row), which are all in one page.
    void write(const Sequence& sequence, int kv_head, int first_row, int end_row) const {
        const int block = sequence.blocks[sequence.position(first_row) / kPageKeys];
        bf16* keys = layer_.cache->key_page(block, layer_.layer, kv_head);
        bf16* values = layer_.cache->value_page(block, layer_.layer, kv_head);
        for (int row = first_row; row < end_row; ++row) {
            const float* key = layer_.qkv + row * layer_.qkv_stride() + (layer_.heads + kv_head) * kHeadDim;
            const int position = sequence.position(row);
            float placed[kHeadDim];
            place(key, layer_.k_norm, position, placed);
            write_key<kHeadDim>(placed, position % kPageKeys, keys);
            write_value<kHeadDim>(key + layer_.cache->kv_heads * kHeadDim, position % kPageKeys, values);
        }
    }

    void run(const AttentionTask& task, const Sequence& sequence) {
        if (task.writes_kv) write(sequence, task.kv_head, task.first_row, task.first_row + 1);
        load_queries(task, sequence);
        const int group = layer_.group(), rows = task.num_rows * group;
        Softmax* split = scratch_.split.data();
        Softmax* total = scratch_.total.data();
        for (int index = task.first_split; index < task.end_split; ++index) {
            run_split(task, sequence, index);
            if (task.partial >= 0) {
                Softmax* partial = layer_.partials + task.partial;
                for (int row = 0; row < rows; ++row) {
                    std::copy_n(split[row].values, kHeadDim, partial[row].values);
                    partial[row].maximum = split[row].maximum;
                    partial[row].sum = split[row].sum;
                }
                continue;
            }
            for (int row = 0; row < rows; ++row) {
                if (index == 0) {
                    total[row] = {scratch_.values.data() + row * kHeadDim, split[row].maximum, split[row].sum};
                    std::copy_n(split[row].values, kHeadDim, total[row].values);
                } else if (sequence.position(task.first_row + row / group) >= index * kSplitPages * kPageKeys) {
                    merge<kHeadDim>(total[row], split[row]);
                }
            }
        }
        if (task.partial >= 0) return;
        for (int row = 0; row < rows; ++row)
            finish<kHeadDim>(total[row], out(task.first_row + row / group, task.kv_head * group + row % group));
    }

    // Finish one row and head whose splits were divided among tasks. Partial result i is first[i * step].
    void join(int row, int head, Softmax* first, int splits, int step) const {
        for (int index = 1; index < splits; ++index) merge<kHeadDim>(*first, first[index * step]);
        finish<kHeadDim>(*first, out(row, head));
    }

private:
    Activation* out(int row, int head) const {
        return layer_.out + (static_cast<ptrdiff_t>(row) * layer_.heads + head) * kHeadDim;
    }

    // Normalize a head of q or k if `norm` is given, and rotate it to its position if the layer rotates.
    void place(const float* head, const float* norm, int position, float* placed) const {
        float normed[kHeadDim];
        if (norm != nullptr) {
            rms_norm(head, norm, kHeadDim, layer_.norm_epsilon, normed);
            head = normed;
        }
        if (layer_.cos == nullptr) {
            std::copy_n(head, kHeadDim, placed);
            return;
        }
        const ptrdiff_t angles = static_cast<ptrdiff_t>(position) * (kHeadDim / 2);
        rotate(head, kHeadDim, layer_.cos + angles, layer_.sin + angles, placed);
    }

    // Load the queries of a tile, placed. Tile row r is batch row first_row + r / group and query head
    // kv_head * group + r % group.
    void load_queries(const AttentionTask& task, const Sequence& sequence) {
        const int group = layer_.group();
        for (int row = 0; row < task.num_rows * group; ++row) {
            const int batch_row = task.first_row + row / group, head = task.kv_head * group + row % group;
            float placed[kHeadDim];
            place(layer_.qkv + batch_row * layer_.qkv_stride() + head * kHeadDim, layer_.q_norm,
                  sequence.position(batch_row), placed);
            for (int d = 0; d < kHeadDim; d += kLanes)
                store_activation(scratch_.queries.data() + row * kHeadDim + d, load(placed + d));
        }
    }

    void run_split(const AttentionTask& task, const Sequence& sequence, int index) {
        const int rows = task.num_rows * layer_.group();
        for (int row = 0; row < rows; ++row) {
            scratch_.split.data()[row] = {scratch_.split_values.data() + row * kHeadDim, kBelowAllScores, 0.f};
            std::fill_n(scratch_.split.data()[row].values, kHeadDim, 0.f);
        }
        const int first_page = layer_.first_key(sequence.position(task.first_row)) / kPageKeys;
        const int last_page = sequence.position(task.first_row + task.num_rows - 1) / kPageKeys;
        const int end = std::min((index + 1) * kSplitPages, last_page + 1);
        for (int page = std::max(index * kSplitPages, first_page); page < end; ++page) {
            run_page(task, sequence, page, rows <= kFewRows && page < last_page);
        }
    }

    // Add one page to the sums of the split. With few rows, memory bandwidth limits attention, so the next page is
    // prefetched while this one is multiplied.
    void run_page(const AttentionTask& task, const Sequence& sequence, int page, bool fetch_next) {
        const int group = layer_.group(), rows = task.num_rows * group, block = sequence.blocks[page];
        const Panels keys{layer_.cache->key_page(block, layer_.layer, task.kv_head), kHeadDim};
        const Panels values{layer_.cache->value_page(block, layer_.layer, task.kv_head), kPageKeys};
        float* products = scratch_.products.data();
        if (fetch_next) fetch(layer_.cache->key_page(sequence.blocks[page + 1], layer_.layer, task.kv_head));
        multiply({scratch_.queries.data(), kHeadDim}, rows, keys, 0, kPageKeys, {products, kPageKeys});
        const auto seen_by = [&](int row) {
            const int position = sequence.position(task.first_row + row / group), first = page * kPageKeys;
            return Slots{layer_.first_key(position) - first, position - first + 1};
        };
        for (int row = 0; row < rows; ++row) {
            const Slots seen = seen_by(row);
            if (seen.is_empty()) continue;
            float* scores = products + row * kPageKeys;
            float factor = layer_.scale;
            if (layer_.softcap != 0.f) {
                ebb::scale(factor, kPageKeys, scores);
                ebb::softcap(layer_.softcap, kPageKeys, scores);
                factor = 1.f;
            }
            (seen.is_whole() ? weigh<true> : weigh<false>)(scores, factor, seen,
                                                           scratch_.weights.data() + row * kPageKeys,
                                                           scratch_.split.data()[row]);
        }
        // The last row attends to the most keys. Pairs of slots after them have weight 0 in every row and are skipped.
        const int visible_to_any = sequence.position(task.first_row + task.num_rows - 1) - page * kPageKeys + 1;
        const int pairs = (std::min(kPageKeys, visible_to_any) + 1) / 2;
        if (fetch_next) fetch(layer_.cache->value_page(sequence.blocks[page + 1], layer_.layer, task.kv_head));
        multiply({scratch_.weights.data(), kPageKeys}, rows, values, pairs, 0, kHeadDim, {products, kHeadDim});
        for (int row = 0; row < rows; ++row)
            if (!seen_by(row).is_empty())
                add(products + row * kHeadDim, kHeadDim, scratch_.split.data()[row].values);
    }

    // Slots [begin, end) of a page, of which those outside of [0, kPageKeys) do not exist.
    struct Slots {
        int begin, end;

        bool is_empty() const { return begin >= kPageKeys || end <= 0; }
        bool is_whole() const { return begin <= 0 && end >= kPageKeys; }
    };

    // Convert the scores of one page to softmax weights, and add the weights to `softmax.sum`. Keys outside of `seen`
    // get weight 0; with kWhole there are none. The earlier sums are scaled to the new maximum.
    template <bool kWhole>
    static void weigh(const float* scores, float factor, Slots seen, Activation* weights, Softmax& softmax) {
        constexpr int kVectors = kPageKeys / kLanes;
        const float scale = kLog2OfE * factor;
        const Vec numbers = lane_numbers();
        // Select instead of masking by arithmetic: the score of a stale key may be NaN.
        const auto where_visible = [&](int v, Vec value, Vec other) {
            if constexpr (kWhole) return value;
            const Vec slots = numbers + broadcast(static_cast<float>(v * kLanes));
            const Vec started = slots >= broadcast(static_cast<float>(seen.begin)) ? value : other;
            return slots < broadcast(static_cast<float>(seen.end)) ? started : other;
        };
        Vec scaled[kVectors], highest = broadcast(kBelowAllScores);
        for (int v = 0; v < kVectors; ++v) {
            scaled[v] = where_visible(v, load(scores + v * kLanes) * scale, broadcast(kBelowAllScores));
            highest = maximum(highest, scaled[v]);
        }
        const float page_maximum = maximum_lane(highest);
        if (page_maximum > softmax.maximum) {
            const float keep = exp2(softmax.maximum - page_maximum);
            softmax.maximum = page_maximum;
            softmax.sum *= keep;
            for (int d = 0; d < kHeadDim; d += kLanes)
                store(softmax.values + d, load(softmax.values + d) * broadcast(keep));
        }
        Vec total = Vec{};
        for (int v = 0; v < kVectors; ++v) {
            const Vec weight = where_visible(v, exp2(scaled[v] - broadcast(softmax.maximum)), Vec{});
            total += weight;
            store_activation(weights + v * kLanes, weight);
        }
        softmax.sum += sum(total);
    }

    static void fetch(const bf16* page) {
        for (int i = 0; i < kPageKeys * kHeadDim; i += kCacheLine / 2) __builtin_prefetch(page + i, 0, 2);
    }

    static constexpr int kFewRows = 6, kCacheLine = 64;

    const AttentionLayer& layer_;
    AttentionScratch& scratch_;
};

}  // namespace ebb
