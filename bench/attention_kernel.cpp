// Measures attention of the native step alone, for bench/attention.py. Prints one line per measurement: a name, then
// seconds, floating point operations and bytes read.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "attention.h"
#include "machine_limits.h"
#include "plan.h"

using namespace ebb;

namespace {

// Streams of one step. shared: first keys that all of them have in the same blocks.
struct Load {
    const char* name;
    int streams, context, tokens, shared = 0;
};

constexpr Load kLoads[] = {
    {"prefill 512", 1, 0, 512},       {"prefill 2048", 1, 0, 2048},   {"prefill 6000", 1, 0, 6000},
    {"decode 1 at 8000", 1, 8000, 1}, {"decode 4 at 5000", 4, 5000, 1}, {"decode 32 at 512", 32, 512, 1},
    {"decode 8 at 2304", 8, 2304, 1}, {"8, 2048 shared", 8, 2304, 1, 2048},
    {"decode 32 at 2304", 32, 2304, 1}, {"32, 2048 shared", 32, 2304, 1, 2048},
};

// Loads of the shapes that only some families have.
constexpr Load kFewLoads[] = {{"prefill 2048", 1, 0, 2048}, {"decode 4 at 5000", 4, 5000, 1}, {"decode 32 at 512", 32, 512, 1}};

// Rules of a layer: AttentionLayer has the same members.
struct Rules {
    int window = 0;
    float softcap = 0;
};

template <int kHeadDim>
class Measured {
public:
    // kv: memory for keys and values, which all shapes use in turns.
    Measured(const char* shape, int heads, int kv_heads, int threads, Buffer<bf16>& kv, Rules rules = {})
        : shape_(shape), heads_(heads), kv_heads_(kv_heads), threads_(threads), rules_(rules), scratch_(threads), kv_(kv) {}

    void measure(const Load& load) {
        const int length = load.context + load.tokens, blocks = (length + kPageKeys - 1) / kPageKeys;
        const size_t layer_size = size_t{kPageKeys} * kv_heads_ * (kHeadDim + value_columns(kHeadDim));
        const size_t fitting = kMostMemory / (layer_size * sizeof(bf16) * blocks * load.streams);
        const int layers = load.tokens > 1 ? 2 : std::min<int>(kDecodedLayers, fitting);
        const size_t block_size = layers * layer_size;
        kv_.reserve(block_size * blocks * load.streams);
        for (size_t i = 0; i < block_size * blocks * load.streams; ++i) kv_.data()[i] = 0x3c00 + i * 37 % 256;
        const int rows = load.streams * load.tokens, width = (heads_ + 2 * kv_heads_) * kHeadDim;
        qkv_.reserve(size_t(rows) * width);
        for (size_t i = 0; i < size_t(rows) * width; ++i) qkv_.data()[i] = i * 31 % 64 / 32.f - 1.f;
        out_.reserve(size_t(rows) * heads_ * kHeadDim);
        std::vector<int32_t> tables, lengths(load.streams, load.tokens), contexts(load.streams, load.context);
        for (int i = 0; i < load.streams * blocks; ++i) tables.push_back(i * 7919L % (load.streams * blocks));
        for (int i = 0; i < load.streams * blocks; ++i)
            if (i % blocks < load.shared / kPageKeys) tables[i] = tables[i % blocks];
        StepInput step{};
        step.sequences = load.streams;
        step.query_lens = lengths.data();
        step.context_lens = contexts.data();
        step.block_tables = tables.data();
        step.table_width = blocks;
        Model model{};
        model.heads = heads_;
        model.kv_heads = kv_heads_;
        model.head_dim = kHeadDim;
        const StepPlan plan(step, model, threads_);
        std::vector<Softmax> partials(plan.partials);
        std::vector<float> values(size_t(plan.partials) * kHeadDim);
        for (int i = 0; i < plan.partials; ++i) partials[i].values = values.data() + size_t(i) * kHeadDim;
        for (AttentionScratch& scratch : scratch_) scratch.reserve(kTileRows, kHeadDim);
        const KvCache cache{kv_.data(), block_size, kv_heads_, kHeadDim};
        AttentionLayer layer{};
        layer.cache = &cache;
        layer.heads = heads_;
        layer.qkv = qkv_.data();
        layer.scale = 0.125f;
        layer.window = rules_.window;
        layer.softcap = rules_.softcap;
        layer.queries = plan.queries.data();
        layer.out = out_.data();
        layer.partials = partials.data();
        std::vector<std::atomic<size_t>> taken(layers);
        const double seconds = timed(threads_, [&](int thread) {
            for (int i = 0; i < layers; ++i) run(plan, layer, i, taken[i], scratch_[thread]);
        });
        const double joining = timed(threads_, [&](int thread) { join(plan, layer, layers, thread); });
        double keys = 0;
        for (int position = load.context; position < length; ++position)
            keys += load.streams * double(position + 1 - layer.first_key(position));
        const double read = keys - (load.streams - 1.0) * load.shared;
        const double bytes = load.tokens > 1 ? 0 : sizeof(bf16) * double(layer_size) / kPageKeys * read * layers;
        print(shape_, load.name, seconds + joining, 4.0 * heads_ * kHeadDim * keys * layers, bytes);
    }

private:
    static constexpr int kDecodedLayers = 24;
    static constexpr size_t kMostMemory = size_t{2} << 30;

    void run(const StepPlan& plan, AttentionLayer layer, int index, std::atomic<size_t>& taken,
             AttentionScratch& scratch) const {
        layer.layer = index;
        Attention<kHeadDim> attention(layer, scratch);
        for (size_t i; (i = taken++) < plan.tasks.size();) {
            const size_t later = i + threads_;
            attention.run(plan.tasks[i], later < plan.tasks.size() ? &plan.tasks[later] : nullptr);
        }
    }

    void join(const StepPlan& plan, const AttentionLayer& layer, int layers, int thread) {
        const Attention<kHeadDim> attention(layer, scratch_[thread]);
        for (int i = 0; i < layers; ++i)
            for (int row : plan.divided)
                for (int head = thread; head < heads_; head += threads_) attention.join(plan.queries[row], head);
    }

    const char* shape_;
    int heads_, kv_heads_, threads_;
    Rules rules_;
    std::vector<AttentionScratch> scratch_;
    Buffer<bf16>& kv_;
    Buffer<float> qkv_;
    Buffer<Activation> out_;
};

}  // namespace

int main(int, char** arguments) {
    permit_tiles();
    const int threads = std::atoi(arguments[1]), rounds = std::atoi(arguments[2]);
    Buffer<bf16> kv;
    Measured<64> small("9/3 heads of 64", 9, 3, threads, kv);
    Measured<128> large("16/8 heads of 128", 16, 8, threads, kv);
    Measured<64> grouped("8/1 heads of 64", 8, 1, threads, kv);
    Measured<80> odd("32/32 heads of 80", 32, 32, threads, kv);
    Measured<96> single("32/32 heads of 96", 32, 32, threads, kv);
    Measured<256> wide("4/1 heads of 256", 4, 1, threads, kv);
    Measured<256> capped("4/1 heads of 256, window 512, softcap", 4, 1, threads, kv, {512, 50.f});
    for (int round = 0; round < rounds; ++round) {
        measure_limits(threads);
        for (const Load& load : kLoads) {
            small.measure(load);
            large.measure(load);
        }
        for (const Load& load : kFewLoads) {
            grouped.measure(load);
            odd.measure(load);
            single.measure(load);
            wide.measure(load);
            capped.measure(load);
        }
    }
}
