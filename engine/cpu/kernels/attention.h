// Paged causal attention of a tile of query rows over one KV head.
//
// Exactness: keys are divided into splits of 256 at fixed absolute positions. Each split starts from zero, and `merge`
// joins the splits in ascending order. The operations on a row are therefore the same whether one thread computes all
// of its splits or several threads share them. They do not depend on the other rows of the tile either, because a key
// that the row does not attend to adds a product with weight 0. A split without such a key leaves the sums as they are.
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.h"
#include "kv_pages.h"
#include "page_product.h"

namespace ebb {

constexpr int kSplitPages = 4;
constexpr int kSplitKeys = kSplitPages * kPageKeys;
// Rows of a tile: query rows times heads per group. AMX multiplies 16 rows at a time.
constexpr int kTileRows = EBB_AMX ? 48 : 36;
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
    int partial;     // index of the first partial result, of one split; -1: the task writes finished rows
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

template <int kHeadDim>
void copy(const Softmax& from, Softmax& to) {
    std::copy_n(from.values, kHeadDim, to.values);
    to.maximum = from.maximum;
    to.sum = from.sum;
}

// Merge the sums of the next split into the sums of all splits before it. No other function combines splits. A sum of 0
// has no keys.
template <int kHeadDim>
void merge(Softmax& into, const Softmax& next) {
    if (next.sum == 0.f) return;
    if (into.sum == 0.f) return copy<kHeadDim>(next, into);
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
    Buffer<Activation> queries, weights;  // [rows][value_columns(head_dim)], [rows][kSplitKeys]
    Buffer<float> scores;                 // [rows][kSplitKeys]
    Buffer<float> products;               // [rows][value_columns(head_dim)]
    Buffer<float> split_values, values;   // [rows][value_columns(head_dim)]
    Buffer<Softmax> split, total;         // [rows]

    void reserve(int rows, int head_dim) {
        const size_t n = rows, columns = value_columns(head_dim);
        queries.reserve(n * columns);
        weights.reserve(n * kSplitKeys);
        scores.reserve(n * kSplitKeys);
        products.reserve(n * columns);
        split_values.reserve(n * columns);
        values.reserve(n * columns);
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
    const float* query_factors;  // [positions], factor of a query after it is placed; null: none
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

    // Run a task. next: the first page of keys of the task that this thread probably takes next, to prefetch, or null.
    void run(const AttentionTask& task, const Sequence& sequence, const bf16* next) {
        if (task.writes_kv) write(sequence, task.kv_head, task.first_row, task.first_row + 1);
        load_queries(task, sequence);
        const int group = layer_.group(), rows = task.num_rows * group;
        Softmax* split = scratch_.split.data();
        Softmax* total = scratch_.total.data();
        for (int row = 0; row < rows; ++row)
            total[row] = {scratch_.values.data() + row * kHeadDim, kBelowAllScores, 0.f};
        for (int index = task.first_split; index < task.end_split; ++index) {
            const Pages pages = pages_of(task, sequence, index);
            if (pages.is_empty()) continue;
            run_split(task, sequence, pages, next);
            for (int row = 0; row < rows; ++row) merge<kHeadDim>(total[row], split[row]);
        }
        for (int row = 0; row < rows; ++row)
            if (task.partial < 0)
                finish<kHeadDim>(total[row], out(task.first_row + row / group, task.kv_head * group + row % group));
            else
                copy<kHeadDim>(total[row], layer_.partials[task.partial + row]);
    }

    // Return the first page of keys that a task reads.
    const bf16* first_keys(const AttentionTask& task, const Sequence& sequence) const {
        const int page = std::max(task.first_split * kSplitPages, first_page(task, sequence));
        return layer_.cache->key_page(sequence.blocks[page], layer_.layer, task.kv_head);
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
            // AMX multiplies whole steps of the depth, and zeros after a query complete the last one.
            float placed[kColumns] = {};
            place(layer_.qkv + batch_row * layer_.qkv_stride() + head * kHeadDim, layer_.q_norm,
                  sequence.position(batch_row), placed);
            if (layer_.query_factors != nullptr)
                scale(layer_.query_factors[sequence.position(batch_row)], kHeadDim, placed);
            for (int d = 0; d < kColumns; d += kLanes)
                store_activation(scratch_.queries.data() + row * kColumns + d, load(placed + d));
        }
    }

    // Pages [first, end) of the split whose first page is `start`.
    struct Pages {
        int start, first, end;

        bool is_empty() const { return first >= end; }
    };

    // Return the first page that a query of the task attends to.
    int first_page(const AttentionTask& task, const Sequence& sequence) const {
        return layer_.first_key(sequence.position(task.first_row)) / kPageKeys;
    }

    // Return the pages of a split that a query of the task attends to.
    Pages pages_of(const AttentionTask& task, const Sequence& sequence, int index) const {
        const int start = index * kSplitPages;
        const int last = sequence.position(task.first_row + task.num_rows - 1) / kPageKeys;
        return {start, std::max(start, first_page(task, sequence)), std::min(start + kSplitPages, last + 1)};
    }

    // Compute the sums of one split: the scores of all of its keys, then their weights, then the sums of values.
    void run_split(const AttentionTask& task, const Sequence& sequence, const Pages& pages, const bf16* next) {
        const int group = layer_.group(), rows = task.num_rows * group, first = pages.start * kPageKeys;
        const int last_position = sequence.position(task.first_row + task.num_rows - 1);
        const Factors factors = factors_of(task, sequence, pages, next);
        for (int i = 0, page = pages.first; page < pages.end; ++i, ++page) {
            const int keys = std::min(kPageKeys, last_position - page * kPageKeys + 1);
            multiply_pages<Scores>(scratch_.queries.data(), rows, factors.keys + i, 1, up_to_whole(keys, kPanel),
                                   scratch_.scores.data() + (page - pages.start) * kPageKeys, nullptr);
        }
        const Keys covered{(pages.first - pages.start) * kPageKeys, (pages.end - pages.start) * kPageKeys};
        const auto seen = [&](int row) {
            const int position = sequence.position(task.first_row + row / group);
            return Keys{std::max(0, layer_.first_key(position) - first), std::min(kSplitKeys, position - first + 1)};
        };
        // The maxima of all rows come first, so that no weight waits for the maximum of its own row.
        for (int row = 0; row < rows; ++row) find_maximum(row, seen(row));
        for (int row = 0; row < rows; ++row) weigh(row, seen(row), covered);
        multiply_pages<Values>(scratch_.weights.data() + covered.begin, rows, factors.values, pages.end - pages.first,
                               kColumns, scratch_.split_values.data(), scratch_.products.data());
    }

    struct Factors {
        PageFactor keys[kSplitPages], values[kSplitPages];
    };

    // List the pages of a split. Each one prefetches the page that is used kPagesAhead pages later: a page of keys, then
    // of values, then of the keys of the next split, or `next` after the last split.
    Factors factors_of(const AttentionTask& task, const Sequence& sequence, const Pages& pages,
                       const bf16* next) const {
        const int count = pages.end - pages.first;
        const int last_position = sequence.position(task.first_row + task.num_rows - 1);
        const int end = std::min(task.end_split * kSplitPages, last_position / kPageKeys + 1);
        const auto keys = [&](int page) {
            return layer_.cache->key_page(sequence.blocks[page], layer_.layer, task.kv_head);
        };
        const auto values = [&](int page) {
            return layer_.cache->value_page(sequence.blocks[page], layer_.layer, task.kv_head);
        };
        const auto used = [&](int index) -> const bf16* {
            if (index < count) return keys(pages.first + index);
            if (index < 2 * count) return values(pages.first + index - count);
            const int later = pages.start + kSplitPages + index - 2 * count;
            if (later < end) return keys(later);
            return later == end && next != nullptr ? next : values(pages.end - 1);
        };
        Factors factors;
        for (int i = 0; i < count; ++i) {
            // The last row attends to the most keys. Pairs of slots after them have weight 0 in every row.
            const int seen = std::min(kPageKeys, last_position - (pages.first + i) * kPageKeys + 1);
            factors.keys[i] = {used(i), used(i + kPagesAhead), kHeadDim / 2};
            factors.values[i] = {used(count + i), used(count + i + kPagesAhead), (seen + 1) / 2};
        }
        return factors;
    }

    // Keys [begin, end) of a split.
    struct Keys {
        int begin, end;

        bool is_empty() const { return begin >= end; }
        // Return the whole steps that contain the keys.
        Keys steps() const { return {begin / kStep * kStep, up_to_whole(end, kStep)}; }
        bool is_whole_split() const { return begin == 0 && end == kSplitKeys; }

        // Return `value` in the lanes whose keys are in this range, else `other`. The first lane is key `key`.
        // This selects instead of masking by arithmetic, because the score of a stale key may be NaN.
        Vec select(int key, Vec value, Vec other) const {
            const Vec keys = lane_numbers() + broadcast(static_cast<float>(key));
            const Vec started = keys >= broadcast(static_cast<float>(begin)) ? value : other;
            return keys < broadcast(static_cast<float>(end)) ? started : other;
        }
    };

    static constexpr int up_to_whole(int count, int unit) { return (count + unit - 1) / unit * unit; }

    // Return the factor from a row's scores, after the softcap if there is one, to exponents of 2.
    float exponent_scale() const { return kLog2OfE * (layer_.softcap == 0.f ? layer_.scale : 1.f); }

    // Set a row's sums to those of no values yet, with the maximum of the keys in `seen`, and apply the softcap.
    void find_maximum(int row, Keys seen) {
        Softmax& softmax = scratch_.split.data()[row];
        softmax = {scratch_.split_values.data() + row * kColumns, kBelowAllScores, 0.f};
        if (seen.is_empty()) return;
        float* scores = scratch_.scores.data() + row * kSplitKeys;
        const Keys steps = seen.steps();
        if (layer_.softcap != 0.f) {
            scale(layer_.scale, steps.end - steps.begin, scores + steps.begin);
            softcap(layer_.softcap, steps.end - steps.begin, scores + steps.begin);
        }
        const Vec lowest = broadcast(kBelowAllScores);
        Vec highest[2] = {lowest, lowest};
        const bool is_whole = seen.is_whole_split();
        for (int key = steps.begin; key < steps.end; key += kStep)
            for (int v = 0, at = key; v < 2; ++v, at += kLanes) {
                const Vec values = load(scores + at);
                highest[v] = maximum(is_whole ? values : seen.select(at, values, lowest), highest[v]);
            }
        softmax.maximum = maximum_lane(maximum(highest[0], highest[1])) * exponent_scale();
    }

    // Convert the scores of the keys in `seen` to softmax weights, and sum them. The other keys in `covered` get weight 0.
    void weigh(int row, Keys seen, Keys covered) {
        Activation* weights = scratch_.weights.data() + row * kSplitKeys;
        if (seen.is_empty()) return std::fill(weights + covered.begin, weights + covered.end, Activation{});
        const float* scores = scratch_.scores.data() + row * kSplitKeys;
        Softmax& softmax = scratch_.split.data()[row];
        if (seen.is_whole_split()) {
            softmax.sum = weigh_steps<true>(scores, seen, softmax.maximum, weights);
        } else {
            const Keys steps = seen.steps();
            std::fill(weights + covered.begin, weights + steps.begin, Activation{});
            std::fill(weights + steps.end, weights + covered.end, Activation{});
            softmax.sum = weigh_steps<false>(scores, seen, softmax.maximum, weights);
        }
    }

    // Weigh the keys in `seen`, two vectors at a time, and return the sum of the weights. kWhole: these are all keys.
    template <bool kWhole>
    float weigh_steps(const float* scores, Keys seen, float maximum, Activation* weights) const {
        const Keys steps = kWhole ? Keys{0, kSplitKeys} : seen.steps();
        const Vec factor = broadcast(exponent_scale()), lowered = broadcast(-maximum);
        const auto weight = [&](int key) {
            const Vec value = exp2_as_activation(fma(load(scores + key), factor, lowered));
            return kWhole ? value : seen.select(key, value, Vec{});
        };
        Vec totals[2] = {};
        for (int key = steps.begin; key < steps.end; key += kStep) {
            const Vec low = weight(key), high = weight(key + kLanes);
            totals[0] += low;
            totals[1] += high;
            store_activations(weights + key, low, high);
        }
        return sum(totals[0] + totals[1]);
    }

    static constexpr int kColumns = value_columns(kHeadDim);
    using Scores = PageShape<kColumns, kHeadDim, kSplitKeys>;
    using Values = PageShape<kSplitKeys, kPageKeys, kColumns>;
    static constexpr int kStep = 2 * kLanes, kPagesAhead = 2;

    const AttentionLayer& layer_;
    AttentionScratch& scratch_;
};

}  // namespace ebb
