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
#include "interface.h"
#include "kv_pages.h"
#include "page_product.h"

namespace ebb {

constexpr int kSplitPages = 4;
constexpr int kSplitKeys = kSplitPages * kPageKeys;
// Rows of a tile: query rows times heads per group. AMX multiplies 32 rows at a time.
constexpr int kTileRows = EBB_AMX ? 64 : 36;
// Values of a row's scores, with a gap of one cache line. Without it the rows of a tile would compete for the same lines
// of the L1 cache.
constexpr int kScoreStride = kSplitKeys + 64 / static_cast<int>(sizeof(float));
// Weights replace the scores of their row.
constexpr int kWeightStride = kScoreStride * static_cast<int>(sizeof(float) / sizeof(Activation));
constexpr float kBelowAllScores = -1e30f;

// A query row of the step.
struct Query {
    int row;  // of the batch
    int position;
    const int32_t* blocks;  // of its sequence
    int partial;  // index of the first partial result if the row's splits are divided among tasks; -1: they are not
};

// A part of one layer's attention: some queries, in ascending order of their positions, one KV head, and a range of
// splits whose pages are the same for all of these queries.
struct AttentionTask {
    int first_query;
    int num_queries;
    int kv_head;
    int first_split;
    int end_split;
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
    // One of the two factors is 2^0, which `exp2` computes exactly.
    const float lower = exp2(std::min(into.maximum, next.maximum) - maximum);
    const float keep = into.maximum < maximum ? lower : 1.f, take = next.maximum < maximum ? lower : 1.f;
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

// A row of a tile: one head of a query.
struct TileRow {
    const Query* query;
    int head;
};

// Scratch memory of one thread for one tile.
struct AttentionScratch {
    Buffer<TileRow> tile_rows;            // [rows]
    Buffer<Activation> queries;           // [rows][value_columns(head_dim)]
    Buffer<float> scores;                 // [rows][kScoreStride], later the weights [rows][kWeightStride]
    Buffer<float> split_values, values;   // [rows][value_columns(head_dim)]
    Buffer<Softmax> split, total;         // [rows]

    void reserve(int rows, int head_dim) {
        const size_t n = rows, columns = value_columns(head_dim);
        tile_rows.reserve(n);
        queries.reserve(n * columns);
        scores.reserve(n * kScoreStride);
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
    const Query* queries;  // of the step
    Activation* out;       // [rows][heads * head_dim]
    Softmax* partials;     // of each query whose splits are divided: [kv_heads][splits][group]
    const GivenRow* const* given;  // of the step's rows; null if none is given

    int group() const { return heads / cache->kv_heads; }
    // First position that the query at `position` attends to.
    int first_key(int position) const { return window == 0 ? 0 : std::max(0, position - window + 1); }
    ptrdiff_t qkv_stride() const { return static_cast<ptrdiff_t>(heads + 2 * cache->kv_heads) * cache->head_dim; }

    // Return the given keys of a row, one per KV head, which its values follow; null if they are computed.
    const float* given_keys(int row) const {
        if (given == nullptr || given[row] == nullptr || given[row]->kv == nullptr) return nullptr;
        return given[row]->kv + static_cast<ptrdiff_t>(layer) * 2 * cache->kv_heads * cache->head_dim;
    }
};

template <int kHeadDim>
class Attention {
public:
    Attention(const AttentionLayer& layer, AttentionScratch& scratch) : layer_(layer), scratch_(scratch) {}

    // Write the keys, placed, and the values of queries [first, end), which are all in one page.
    void write(int first, int end, int kv_head) const {
        const Query& start = layer_.queries[first];
        const int block = start.blocks[start.position / kPageKeys];
        bf16* keys = layer_.cache->key_page(block, layer_.layer, kv_head);
        bf16* values = layer_.cache->value_page(block, layer_.layer, kv_head);
        for (int index = first; index < end; ++index) {
            const Query& query = layer_.queries[index];
            const float* key = head_of(query.row, layer_.heads + kv_head);
            float placed[kHeadDim];
            if (const float* given = layer_.given_keys(query.row); given != nullptr) {
                key = given + kv_head * kHeadDim;
                std::copy_n(key, kHeadDim, placed);
            } else {
                place(key, layer_.k_norm, query.position, placed);
            }
            write_key<kHeadDim>(placed, query.position % kPageKeys, keys);
            write_value<kHeadDim>(key + layer_.cache->kv_heads * kHeadDim, query.position % kPageKeys, values);
        }
    }

    // Run a task. next: the task that this thread probably takes next, whose first pages may be prefetched, or null.
    void run(const AttentionTask& task, const AttentionTask* next) {
        if (task.writes_kv) write(task.first_query, task.first_query + task.num_queries, task.kv_head);
        load_queries(task);
        for (int row = 0; row < rows_; ++row)
            scratch_.total.data()[row] = {scratch_.values.data() + row * kColumns, kBelowAllScores, 0.f};
        for (int split = task.first_split; split < task.end_split; ++split) {
            for (int row = 0; row < rows_; ++row)
                scratch_.split.data()[row] = {scratch_.split_values.data() + row * kColumns, kBelowAllScores, 0.f};
            const Pages pages = pages_of(task, split);
            if (!pages.is_empty()) run_split(task, split, pages, pages_after(task, split, next));
            for (int row = 0; row < rows_; ++row) take_split(split, row);
        }
        for (int row = 0; row < rows_; ++row) {
            const auto [query, head] = scratch_.tile_rows.data()[row];
            if (query->partial < 0) finish<kHeadDim>(scratch_.total.data()[row], out(query->row, head));
        }
    }

    // Finish one head of a query whose splits were divided among tasks.
    void join(const Query& query, int head) const {
        Softmax& first = partial(query, 0, head);
        for (int split = 1; split < num_splits(query.position); ++split)
            merge<kHeadDim>(first, partial(query, split, head));
        finish<kHeadDim>(first, out(query.row, head));
    }

private:
    Activation* out(int row, int head) const {
        return layer_.out + (static_cast<ptrdiff_t>(row) * layer_.heads + head) * kHeadDim;
    }

    // Return a head of q, k or v, before normalization and rotation.
    const float* head_of(int row, int head) const {
        return layer_.qkv + row * layer_.qkv_stride() + head * kHeadDim;
    }

    int first_position(const AttentionTask& task) const { return layer_.queries[task.first_query].position; }

    int last_position(const AttentionTask& task) const {
        return layer_.queries[task.first_query + task.num_queries - 1].position;
    }

    // Return the sums of one split of a query whose splits are divided.
    Softmax& partial(const Query& query, int split, int head) const {
        const int group = layer_.group(), kv_head = head / group;
        return layer_.partials[query.partial + (kv_head * num_splits(query.position) + split) * group + head % group];
    }

    // Take the sums of a split into those of the splits before it, or keep them for `join`.
    void take_split(int split, int row) {
        const auto [query, head] = scratch_.tile_rows.data()[row];
        const Softmax& sums = scratch_.split.data()[row];
        if (query->partial < 0)
            merge<kHeadDim>(scratch_.total.data()[row], sums);
        else
            copy<kHeadDim>(sums, partial(*query, split, head));
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

    // Load the queries of a tile, placed. The heads of a query follow each other.
    void load_queries(const AttentionTask& task) {
        const int group = layer_.group();
        rows_ = 0;
        const int end = task.first_query + task.num_queries;
        for (int index = task.first_query; index < end; ++index) {
            const Query& later = layer_.queries[std::min(index + kQueriesAhead, end - 1)];
            prefetch(head_of(later.row, task.kv_head * group), group * kHeadDim);
            for (int head = task.kv_head * group; head < (task.kv_head + 1) * group; ++head)
                load_query(layer_.queries[index], head, rows_++);
        }
    }

    void load_query(const Query& query, int head, int row) {
        scratch_.tile_rows.data()[row] = {&query, head};
        // AMX multiplies whole steps of the depth, and zeros after a query complete the last one.
        float placed[kColumns] = {};
        place(head_of(query.row, head), layer_.q_norm, query.position, placed);
        if (layer_.query_factors != nullptr) scale(layer_.query_factors[query.position], kHeadDim, placed);
        for (int d = 0; d < kColumns; d += kLanes)
            store_activation(scratch_.queries.data() + row * kColumns + d, load(placed + d));
    }

    // Pages [first, end) of a split, for one KV head.
    struct Pages {
        const int32_t* blocks;
        int kv_head;
        int first, end;

        int count() const { return end - first; }
        bool is_empty() const { return first >= end; }
    };

    // Return the pages of a split that a query of the task attends to.
    Pages pages_of(const AttentionTask& task, int split) const {
        const int start = split * kSplitPages, end = start + kSplitPages;
        const int seen = layer_.first_key(first_position(task)) / kPageKeys, last = last_position(task) / kPageKeys;
        return {layer_.queries[task.first_query].blocks, task.kv_head, std::max(start, seen), std::min(end, last + 1)};
    }

    // Return the pages that follow those of a split in the order of use: of the next split, or of the task `next`.
    Pages pages_after(const AttentionTask& task, int split, const AttentionTask* next) const {
        if (split + 1 < task.end_split) return pages_of(task, split + 1);
        if (next == nullptr) return {};
        const int first_seen = layer_.first_key(first_position(*next)) / kSplitKeys;
        return pages_of(*next, std::min(std::max(next->first_split, first_seen), next->end_split - 1));
    }

    const bf16* keys_of(const Pages& pages, int index) const {
        return layer_.cache->key_page(pages.blocks[pages.first + index], layer_.layer, pages.kv_head);
    }

    const bf16* values_of(const Pages& pages, int index) const {
        return layer_.cache->value_page(pages.blocks[pages.first + index], layer_.layer, pages.kv_head);
    }

    // Compute the sums of one split: the scores of all of its keys, then their weights, then the sums of values. Each
    // page may prefetch the one that is used kPagesAhead pages later, which may be among the pages `after` the split.
    void run_split(const AttentionTask& task, int split, const Pages& pages, const Pages& after) {
        const int count = pages.count();
        const int first = split * kSplitKeys, skipped = pages.first * kPageKeys;
        const auto used = [&](int index) {
            if (index < count) return keys_of(pages, index);
            if (index < 2 * count) return values_of(pages, index - count);
            return index < 2 * count + after.count() ? keys_of(after, index - 2 * count) : values_of(pages, count - 1);
        };
        PageFactor values[kSplitPages];
        for (int i = 0; i < count; ++i) {
            // The last query attends to the most keys. Slots after them have weight 0 for every query.
            const int seen = std::min(kPageKeys, last_position(task) + 1 - (pages.first + i) * kPageKeys);
            const PageFactor keys{used(i), used(i + kPagesAhead), kHeadDim / 2};
            values[i] = {used(count + i), used(count + i + kPagesAhead), (seen + 1) / 2};
            multiply_pages<Scores>(scratch_.queries.data(), rows_, &keys, 1, up_to_whole(seen, kPanel),
                                   scratch_.scores.data() + skipped - first + i * kPageKeys);
        }
        const Keys covered{skipped - first, pages.end * kPageKeys - first};
        const auto seen = [&](int row) {
            const int position = scratch_.tile_rows.data()[row].query->position;
            return Keys{std::max(0, layer_.first_key(position) - first), std::min(kSplitKeys, position - first + 1)};
        };
        // The maxima of all rows come first, so that no weight waits for the maximum of its own row.
        for (int row = 0; row < rows_; ++row) find_maximum(row, seen(row));
        for (int row = 0; row < rows_; ++row) weigh(row, seen(row), covered);
        multiply_pages<Values>(weights_of(0) + covered.begin, rows_, values, count, kColumns,
                               scratch_.split_values.data());
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

    // Apply the softcap to a row's scores, and set the row's maximum to that of the keys in `seen`.
    void find_maximum(int row, Keys seen) {
        if (seen.is_empty()) return;
        float* scores = scores_of(row);
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
        scratch_.split.data()[row].maximum = maximum_lane(maximum(highest[0], highest[1])) * exponent_scale();
    }

    float* scores_of(int row) const { return scratch_.scores.data() + row * kScoreStride; }
    Activation* weights_of(int row) const { return reinterpret_cast<Activation*>(scores_of(row)); }

    // Convert the scores of the keys in `seen` to softmax weights, and sum them. The other keys in `covered` get weight
    // 0.
    void weigh(int row, Keys seen, Keys covered) {
        Activation* weights = weights_of(row);
        if (seen.is_empty()) return std::fill(weights + covered.begin, weights + covered.end, Activation{});
        Softmax& softmax = scratch_.split.data()[row];
        if (seen.is_whole_split()) {
            softmax.sum = weigh_steps<true>(row, seen, softmax.maximum);
        } else {
            const Keys steps = seen.steps();
            // No weight is further back than its score. The weights after `steps` may replace scores of `seen`.
            std::fill(weights + covered.begin, weights + steps.begin, Activation{});
            softmax.sum = weigh_steps<false>(row, seen, softmax.maximum);
            std::fill(weights + steps.end, weights + covered.end, Activation{});
        }
    }

    // Weigh the keys in `seen`, two vectors at a time, and return the sum of the weights. kWhole: these are all keys.
    template <bool kWhole>
    float weigh_steps(int row, Keys seen, float maximum) const {
        const float* scores = scores_of(row);
        Activation* weights = weights_of(row);
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
    using Scores = PageShape<kColumns, kHeadDim, kScoreStride>;
    using Values = PageShape<kWeightStride, kPageKeys, kColumns>;
    static constexpr int kStep = 2 * kLanes, kPagesAhead = 2, kQueriesAhead = 2;

    const AttentionLayer& layer_;
    AttentionScratch& scratch_;
    int rows_ = 0;  // of the tile
};

}  // namespace ebb
