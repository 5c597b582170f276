// One step of the decoder. All threads run it together, phase by phase, with a barrier between phases.
//
// Exactness: a value depends only on the tokens of its own row. The threads divide columns, rows and attention tasks
// among themselves. The division may vary from run to run, but it changes no operation on a row. The residual stream is
// float32.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "adapter_changes.h"
#include "amx.h"
#include "attention.h"
#include "buffer.h"
#include "head.h"
#include "interface.h"
#include "moves.h"
#include "plan.h"
#include "rows.h"
#include "sampling.h"
#include "shares.h"
#include "threads.h"
#include "weights.h"

namespace ebb {

// Values between two normalized rows. Without a gap, the rows of a tile are often whole pages of memory apart. They then
// compete for the same lines of the L1 cache.
constexpr int kRowGap = 64 / static_cast<int>(sizeof(Activation));

// Memory of one thread for results that are not yet in the shared buffers.
struct ThreadScratch {
    Buffer<Activation> normed;  // [kOwnNormRows][hidden + kRowGap]
    ByteRows bytes;             // [kOwnNormRows]
    Buffer<float> settled;      // [hidden]: a row of the residual stream with its last change
    Buffer<float> product;      // [rows][columns of one multiplication]
    AdapterScratch changes;
    Buffer<Best> best;          // [samples]
    AttentionScratch attention;
    Sampler sampler;
};

class Engine {
public:
    Engine(const Model& model, int threads) : model_(model), pool_(threads), shares_(threads), scratch_(threads) {}

    // Run one step. If `problem` is set afterwards, nothing was computed or moved. Call begun() exactly once: when the
    // threads have started, or at the end of a step that starts no threads.
    template <typename Begun>
    void step(StepInput& step, Begun&& begun) {
        bool is_called = false;
        const auto once = [&] {
            if (!is_called) begun();
            is_called = true;
        };
        try {
            step.problem = run(step, once);
            last_chosen_.assign(step.chosen, step.chosen + (step.problem == nullptr ? step.samples : 0));
        } catch (const std::bad_alloc&) {
            step.problem = "out of memory";
            last_chosen_.clear();
        }
        once();
    }

private:
    template <typename Begun>
    const char* run(StepInput& step, Begun& begun) {
        const StepPlan plan(step, model_, pool_.size());
        if (const char* problem = resolve(step.token_ids, plan.rows)) return problem;
        reserve(plan, step.samples);
        prepare_head(step);
        shares_.reset();
        last_chosen_.reserve(step.samples);
        auto job = [&](int thread) {
            const FloatMode mode;
            const TileMode tiles;
            if (thread == pool_.size() - 1) begun();
            switch (model_.head_dim) {
                case 64: return Run<64>{*this, plan, step, thread}.all();
                case 80: return Run<80>{*this, plan, step, thread}.all();
                case 96: return Run<96>{*this, plan, step, thread}.all();
                case 128: return Run<128>{*this, plan, step, thread}.all();
                default: return Run<256>{*this, plan, step, thread}.all();
            }
        };
        pool_.run(job);
        return nullptr;
    }

    // Replace each reference to a sample of the previous step by the sampled token. Return null, or an error message
    // for the first invalid token id.
    const char* resolve(int32_t* token_ids, int rows) const {
        for (int row = 0; row < rows; ++row) {
            int32_t& id = token_ids[row];
            if (id < 0) {
                if (static_cast<size_t>(~id) >= last_chosen_.size()) return "the step before chose no such token";
                id = last_chosen_[~id];
            }
            if (id >= model_.vocab) return "a token id is not in the vocabulary";
        }
        return nullptr;
    }

    // Up to this number of rows, every thread normalizes all of them for itself, which is cheaper than a barrier.
    static constexpr int kOwnNormRows = 8;
    // Prefetch distance in rows of the residual stream.
    static constexpr int kRowsAhead = 8;
    // Panels of the head that a thread takes at a time.
    static constexpr int kHeadPanels = 16;

    template <int kHeadDim>
    struct Run {
        Engine& engine;
        const StepPlan& plan;
        StepInput& input;
        int thread;

        const Model& model = engine.model_;
        ThreadScratch& own = engine.scratch_[thread];
        int rows = plan.rows;  // after the attention of the last layer: those that are read
        const int hidden = model.hidden;
        const int attention_width = model.heads * kHeadDim;
        const int qkv_width = (model.heads + 2 * model.kv_heads) * kHeadDim;
        const KvCache cache{input.kv, input.block_size, model.kv_heads, kHeadDim};
        unsigned phase = 0;
        AdapterChanges changes{plan.adapted, own.changes, engine.shrunk_};  // of `rows`
        // The weight of the norm of a change that is not in the residual stream yet, or null. See `norm`.
        const float* change_norm = nullptr;
        Buffer<float>* stream = &engine.residual_;
        Buffer<float>* next_stream = &engine.next_residual_;

        void all() {
            Move* const loads = input.moves + input.copies;
            move(input.moves, input.copies);
            move(loads, input.loads);
            if (thread == 0) input.started = seconds_now();
            if (rows > 0) compute();
            if (thread == 0) input.ended = seconds_now();
            move(loads + input.loads, input.stores);
        }

        void move(Move* moves, int count) {
            if (count == 0) return;
            make_moves(moves, count, input.block_size * sizeof(bf16), thread, engine.pool_.size());
            barrier();
        }

        void compute() {
            embed();
            barrier();
            for (int layer = 0; layer < model.layers; ++layer) {
                const LayerWeights& weights = model.layer_weights[layer];
                project_qkv(layer, weights);
                attend(layer, weights);
                if (layer + 1 == model.layers && !plan.reads_all()) {
                    keep_read_rows();
                    if (rows == 0) return;
                }
                add_product({engine.attended_.data(), attention_width}, {weights.output, attention_width},
                            {layer, kOutput}, weights.output_bias, weights.attended_norm);
                barrier();
                if (model.gate == Gate::kGelu)
                    gate_and_up<geglu>(layer, weights);
                else
                    gate_and_up<swiglu>(layer, weights);
                barrier();
                add_product({engine.gated_.data(), model.intermediate}, {weights.down, model.intermediate},
                            {layer, kDown}, nullptr, weights.down_norm);
                barrier();
            }
            if (input.hidden_out != nullptr) emit();
            add_to_sums();
            if (input.samples > 0) sample();
            barrier();
        }

        void barrier() { engine.pool_.barrier(); }

        Range share(int count) const { return engine.shares_.own(count, thread); }

        template <typename Work>
        void each(int count, int at_once, Work&& work) {
            engine.shares_.each(phase++, thread, count, at_once, work);
        }

        // Multiply all rows in blocks. See Shares::each_block.
        template <typename Work>
        void each_block(int panels, int at_once, Work&& work) {
            engine.shares_.each_block(phase++, thread, rows, panels, at_once, work);
        }

        float* residual(int row) const { return stream->data() + static_cast<ptrdiff_t>(row) * hidden; }

        void embed() {
            if (input.hidden_in != nullptr) {
                for (auto [row, end] = share(rows); row < end; ++row)
                    std::copy_n(input.hidden_in + static_cast<ptrdiff_t>(row) * hidden, hidden, residual(row));
                return;
            }
            const Weights embedding{model.embedding, hidden};
            for (auto [row, end] = share(rows); row < end; ++row) {
                if (input.given != nullptr && input.given[row] != nullptr) {
                    std::copy_n(input.given[row]->embedding, hidden, residual(row));
                    continue;
                }
                unpack_row(embedding, input.token_ids[row], residual(row));
                if (model.embedding_scale != 1.f) scale(model.embedding_scale, hidden, residual(row));
            }
        }

        // Write the residual stream, with its last change, for the engine that has the next layers.
        void emit() {
            for (auto [row, end] = share(rows); row < end; ++row) {
                const ptrdiff_t at = static_cast<ptrdiff_t>(row) * hidden;
                if (change_norm == nullptr)
                    std::copy_n(residual(row), hidden, input.hidden_out + at);
                else
                    add_change(at, input.hidden_out + at);
            }
        }

        // Normalize rows row_of(0) to row_of(count - 1) of the residual stream, and return the normalized rows.
        //
        // A change that has a norm of its own is added here first, so that its norm needs no barrier. If every thread
        // normalizes all rows, the threads read one copy of the stream and write their shares of another one.
        template <typename RowOf>
        Left norm(const float* weight, int count, RowOf&& row_of) {
            const bool own_copy = count <= kOwnNormRows;
            Activation* to = own_copy ? own.normed.data() : engine.normed_.data();
            const int stride = hidden + kRowGap;
            const Range share_of_rows = share(count), mine = own_copy ? Range{0, count} : share_of_rows;
            for (int i = mine.begin; i < mine.end; ++i) {
                const float* row = residual(row_of(i));
                if (change_norm != nullptr) {
                    const bool is_kept = i >= share_of_rows.begin && i < share_of_rows.end;
                    row = settle(row_of(i), is_kept);
                }
                rms_norm(row, weight, hidden, model.norm_epsilon, to + static_cast<ptrdiff_t>(i) * stride);
            }
            if (change_norm != nullptr) std::swap(stream, next_stream);
            change_norm = nullptr;
            if (!own_copy) barrier();
            return {to, stride};
        }

        // Return a row of the residual stream with its last change: in the next copy of the stream if `is_kept`.
        const float* settle(int row, bool is_kept) {
            const ptrdiff_t at = static_cast<ptrdiff_t>(row) * hidden;
            float* to = is_kept ? next_stream->data() + at : own.settled.data();
            add_change(at, to);
            return to;
        }

        // Write the row at offset `at` of the residual stream with its last change.
        void add_change(ptrdiff_t at, float* to) {
            add_normed(stream->data() + at, engine.changes_.data() + at, change_norm, hidden, model.norm_epsilon,
                       model.residual_scale, to);
        }

        Left norm(const float* weight) {
            return norm(weight, rows, [](int row) { return row; });
        }

        // Return the left operand of a product with `right`, in bytes where the product needs them. As with norms, every
        // thread rounds few rows for itself.
        Left operand(Left left, int count, const Weights& right) {
            if (!right.is_in_bytes()) return left;
            if (count <= kOwnNormRows) return own.bytes.rounded(left, count, right, 0, count);
            const Range mine = share(count);
            left = engine.bytes_.rounded(left, count, right, mine.begin, mine.end);
            barrier();
            return left;
        }

        // Compute the first half of what adapters change of a product, before the product itself.
        void shrink(const AdaptedProduct& product, const Left& left, int depth) {
            if (changes.empty()) return;
            each(changes.pieces(product), 1, [&](int piece, int) { changes.shrink(product, left, depth, piece); });
            barrier();
        }

        void project_qkv(int layer, const LayerWeights& weights) {
            const Weights qkv{weights.qkv, hidden};
            const AdaptedProduct product{layer, kQkv};
            const Left x = operand(norm(weights.attention_norm), rows, qkv);
            shrink(product, x, hidden);
            const QkvPanels place_of{attention_width / kPanel, model.kv_heads * kHeadDim / kPanel};
            each_block(qkv_width / kPanel, 4, [&](Range block, int panel, int end) {
                const int first = panel * kPanel, columns = (end - panel) * kPanel;
                float* out = engine.qkv_.data() + static_cast<ptrdiff_t>(block.begin) * qkv_width + first;
                multiply(rows_from(x, block.begin), block.size(), qkv, first, columns, {out, qkv_width});
                changes.expand(product, block, panel, end, {out, qkv_width}, place_of);
                if (weights.qkv_bias == nullptr) return;
                for (int i = 0; i < block.size(); ++i, out += qkv_width) add(weights.qkv_bias + first, columns, out);
            });
            // No thread takes an attention task before the barrier.
            if (thread == 0) engine.next_task_.store(0, std::memory_order_relaxed);
            barrier();
        }

        void attend(int layer, const LayerWeights& weights) {
            const AttentionLayer context{&cache,
                                         layer,
                                         model.heads,
                                         engine.qkv_.data(),
                                         weights.q_norm,
                                         weights.k_norm,
                                         model.norm_epsilon,
                                         model.attention_scale,
                                         model.attention_softcap,
                                         weights.window,
                                         weights.cos,
                                         weights.sin,
                                         model.query_factors,
                                         plan.queries.data(),
                                         engine.attended_.data(),
                                         engine.partials_.data(),
                                         input.given};
            Attention<kHeadDim> attention(context, own.attention);
            if (!plan.writes.empty()) {
                for (auto [i, end] = share(static_cast<int>(plan.writes.size())); i < end; ++i) {
                    const WriteTask& write = plan.writes[i];
                    attention.write(write.first_query, write.end_query, write.kv_head);
                }
                barrier();
            }
            const std::vector<AttentionTask>& tasks = layer + 1 == model.layers ? plan.last_tasks() : plan.tasks;
            for (size_t i; (i = engine.next_task_.fetch_add(1, std::memory_order_relaxed)) < tasks.size();) {
                const size_t later = i + engine.pool_.size();
                attention.run(tasks[i], later < tasks.size() ? &tasks[later] : nullptr);
            }
            barrier();
            if (plan.divided.empty()) return;
            for (int row : plan.divided)
                for (auto [head, end] = share(model.heads); head < end; ++head) attention.join(plan.queries[row], head);
            barrier();
        }

        // Move the rows that are read, of attention and of the residual stream, to the front. Every thread moves its share
        // of the columns. A row never moves towards the end, so it is moved before another row takes its place.
        void keep_read_rows() {
            const std::vector<int>& read = plan.read_rows;
            const auto move_rows = [&](auto* data, int width) {
                const Range mine = share(width);
                for (size_t i = 0; i < read.size(); ++i)
                    std::copy_n(data + static_cast<ptrdiff_t>(read[i]) * width + mine.begin, mine.end - mine.begin,
                                data + static_cast<ptrdiff_t>(i) * width + mine.begin);
            };
            move_rows(engine.attended_.data(), attention_width);
            move_rows(stream->data(), hidden);
            rows = static_cast<int>(read.size());
            changes.select(plan.read_adapted);
            barrier();
        }

        // Add left times right, and the bias if there is one, to the residual stream. If `norm`, the weight of a norm of
        // the sum, is not null, the next call of `norm` adds the sum.
        void add_product(Left left, const Weights& right, const AdaptedProduct& product, const float* bias,
                         const float* norm) {
            const int at_once = rows == 1 ? 4 : rows <= 6 ? 2 : 1;
            left = operand(left, rows, right);
            shrink(product, left, right.depth);
            each_block(hidden / kPanel, at_once, [&](Range block, int panel, int end) {
                const int first = panel * kPanel, columns = (end - panel) * kPanel;
                const ptrdiff_t at = static_cast<ptrdiff_t>(block.begin) * hidden + first;
                float* values = norm == nullptr ? own.product.data() : engine.changes_.data() + at;
                const int stride = norm == nullptr ? columns : hidden;
                multiply(rows_from(left, block.begin), block.size(), right, first, columns, {values, stride});
                changes.expand(product, block, panel, end, {values, stride}, place_alone);
                for (int row = block.begin; row < block.end; ++row, values += stride) {
                    if (norm == nullptr) prefetch(residual(std::min(row + kRowsAhead, block.end - 1)) + first, columns);
                    if (bias != nullptr) add(bias + first, columns, values);
                    if (norm == nullptr) add_scaled(values, model.residual_scale, columns, residual(row) + first);
                }
            });
            change_norm = norm;
        }

        // kGated: swiglu or geglu.
        template <auto kGated>
        void gate_and_up(int layer, const LayerWeights& weights) {
            const Weights gate_up{weights.gate_up, hidden};
            const AdaptedProduct product{layer, kGateUp};
            const Left x = operand(norm(weights.mlp_norm), rows, gate_up);
            shrink(product, x, hidden);
            const int at_once = rows == 1 ? 2 : 1;
            each_block(model.intermediate / kPanel, at_once, [&](Range block, int panel, int end) {
                const int count = end - panel, columns = 2 * count * kPanel;
                const float* gate = own.product.data();
                multiply(rows_from(x, block.begin), block.size(), gate_up, 2 * panel * kPanel, columns,
                         {own.product.data(), columns});
                changes.expand(product, block, 2 * panel, 2 * end, {own.product.data(), columns}, place_of_two);
                for (int row = block.begin; row < block.end; ++row)
                    for (int i = panel; i < end; ++i, gate += 2 * kPanel)
                        kGated(gate, gate + kPanel, kPanel,
                               engine.gated_.data() + static_cast<ptrdiff_t>(row) * model.intermediate + i * kPanel);
            });
        }

        // Add final hidden states to the sums. One thread adds all rows of a sum in their order, so the number of
        // threads changes no bit of it. The residual stream stays as it is for `sample`.
        void add_to_sums() {
            for (int i = thread; i < input.num_sums; i += engine.pool_.size()) {
                const HiddenSum& sum = input.sums[i];
                float* normed = own.settled.data();
                const int first = plan.place_of(sum.first);
                for (int row = first; row < first + sum.end - sum.first; ++row) {
                    const float* from = change_norm == nullptr ? residual(row) : settle(row, false);
                    rms_norm(from, model.final_norm, hidden, model.norm_epsilon, normed);
                    for (int column = 0; column < hidden; ++column) sum.total[column] += normed[column];
                }
            }
        }

        void sample() {
            std::fill_n(own.best.data(), input.samples, Best{});
            const Weights head{model.head, hidden};
            const auto row_of = [this](int i) { return plan.place_of(input.sample_rows[i]); };
            const Left x = operand(norm(model.final_norm, input.samples, row_of), input.samples, head);
            each((model.vocab + kPanel - 1) / kPanel, kHeadPanels, [&](int panel, int end) {
                compute_logits(x, input.samples, head, model.logits_scale, model.logits_softcap,
                               model.vocab, panel, end, own.product.data(), own.best.data(), engine.head_rows_.data());
            });
            barrier();
            for (int i = thread; i < input.samples; i += engine.pool_.size()) choose(i);
        }

        void choose(int i) {
            Best best;
            for (ThreadScratch& scratch : engine.scratch_) best.update(scratch.best.data()[i]);
            float* all = engine.head_rows_[i].all;
            input.chosen[i] =
                all == nullptr ? best.id : own.sampler.choose(all, model.vocab, best, input.sampling[i]);
        }
    };

    void reserve(const StepPlan& plan, int samples) {
        const size_t rows = std::max(plan.rows, samples), head_dim = model_.head_dim;
        residual_.reserve(rows * model_.hidden);
        if (model_.layer_weights[0].attended_norm != nullptr) {
            changes_.reserve(rows * model_.hidden);
            next_residual_.reserve(rows * model_.hidden);
        }
        normed_.reserve(rows * (model_.hidden + kRowGap));
        qkv_.reserve(rows * (model_.heads + 2 * model_.kv_heads) * head_dim);
        attended_.reserve(rows * model_.heads * head_dim);
        gated_.reserve(rows * model_.intermediate);
        const size_t deepest = std::max({model_.hidden, model_.heads * model_.head_dim, model_.intermediate});
        bytes_.reserve(rows, deepest);
        shrunk_.reserve(kQkv.size() * plan.adapted.rows.size() * plan.adapted.rank);
        partials_.reserve(plan.partials);
        partial_values_.reserve(plan.partials * head_dim);
        for (int i = 0; i < plan.partials; ++i) partials_.data()[i].values = partial_values_.data() + i * head_dim;
        const int group = model_.heads / model_.kv_heads;
        for (ThreadScratch& scratch : scratch_) {
            scratch.normed.reserve(static_cast<size_t>(kOwnNormRows) * (model_.hidden + kRowGap));
            scratch.bytes.reserve(kOwnNormRows, deepest);
            scratch.settled.reserve(model_.hidden);
            scratch.product.reserve(rows * kHeadColumns);
            scratch.changes.reserve(plan.adapted.rows.size(), deepest);
            scratch.best.reserve(samples);
            scratch.attention.reserve(std::max(kTileRows, group), model_.head_dim);
        }
    }

    void prepare_head(const StepInput& step) {
        const ptrdiff_t vocab = model_.vocab;
        const auto needs_all = [&](int i) { return Sampler::needs_all(step.sampling[i]); };
        size_t whole = 0;
        for (int i = 0; i < step.samples; ++i) whole += needs_all(i);
        whole_rows_.reserve(whole * vocab);
        if (whole > 0)
            for (ThreadScratch& scratch : scratch_) scratch.sampler.reserve(model_.vocab);
        head_rows_.clear();
        float* next = whole_rows_.data();
        for (int i = 0; i < step.samples; ++i) {
            const int wanted = step.logits_index[i];
            head_rows_.push_back({step.barred + step.sampling[i].first_barred, step.sampling[i].num_barred,
                                  wanted < 0 ? nullptr : step.logits + wanted * vocab, needs_all(i) ? next : nullptr});
            if (needs_all(i)) next += vocab;
        }
    }

    const Model model_;
    ThreadPool pool_;
    Shares shares_;
    std::vector<ThreadScratch> scratch_;
    Buffer<float> residual_, qkv_, partial_values_;
    // [rows][hidden]: what attention or MLP adds if it is normalized first, and the residual stream with it.
    Buffer<float> changes_, next_residual_;
    Buffer<Activation> normed_, attended_, gated_, shrunk_;
    ByteRows bytes_;
    Buffer<Softmax> partials_;
    Buffer<float> whole_rows_;  // [rows that need all logits][vocab]
    std::vector<HeadRow> head_rows_;
    std::vector<int32_t> last_chosen_;  // samples of the previous step; empty if that step failed
    std::atomic<size_t> next_task_{0};
};

}  // namespace ebb
