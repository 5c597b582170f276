// Structures that Python passes to the kernels. engine/cpu/library.py mirrors them field by field.
#pragma once

#include <cstdint>

#include "vec.h"

namespace ebb {

// Format of panels: bf16 (panels.h), or integers in groups (group_panels.h).
enum class WeightFormat : int32_t { kBf16, kInt8, kInt4, kIq4Nl, kQ4_1, kQ5_1, kQ4K, kQ5K, kQ6K, kInt8Bytes };

// Type of the blocks of a matrix in a GGUF file (gguf_blocks.h).
enum class BlockType : int32_t { kQ8_0, kQ4_0, kIq4Nl, kQ4_1, kQ5_0, kQ5_1, kQ4K, kQ5K, kQ6K };

// Consecutive panels of a matrix that have one format.
struct Part {
    const void* data;
    int32_t end;  // panel of the matrix after the last one of this part
    WeightFormat format;
};

// A matrix in panels. Each part begins where the part before it ends.
struct Matrix {
    const Part* parts;
    int32_t num_parts;
};

// One multiplication outside of a step: out = left times the transposed `right`, plus the bias.
struct Product {
    const bf16* left;   // [rows, depth]
    Matrix right;       // [columns, depth]
    const float* bias;  // [columns]; null: none
    bf16* out;          // [rows, columns], output
    int32_t rows;
    int32_t depth;  // a multiple of 32
    int32_t columns;
};

// Activation of the MLP's gate. kGelu is the one by tanh.
enum class Gate : int32_t { kSilu, kGelu };

// Weights of one layer. Vectors are float32. A bias may be null, and so may the norms of q and k, and of what attention
// and MLP add to the residual stream.
struct LayerWeights {
    const float* attention_norm;  // [hidden]
    Matrix qkv;                   // [(heads + 2 * kv_heads) * head_dim, hidden]
    const float* qkv_bias;
    const float* q_norm;          // [head_dim], of each head of q before rotation
    const float* k_norm;          // [head_dim]
    const float* cos;             // [positions, head_dim / 2]; null if q and k have no rotary positions in this layer
    const float* sin;             // [positions, head_dim / 2]
    int32_t window;               // keys that a query attends to, the last of which is its own; 0: all up to its own
    Matrix output;                // [hidden, heads * head_dim]
    const float* output_bias;
    const float* attended_norm;   // [hidden], of what attention adds to the residual stream
    const float* mlp_norm;        // [hidden]
    Matrix gate_up;               // [2 * intermediate, hidden]: panels of gate and of up alternate, gate first
    Matrix down;                  // [hidden, intermediate]
    const float* down_norm;       // [hidden], of what the MLP adds to the residual stream
};

// A decoder. hidden, intermediate, heads * head_dim and kv_heads * head_dim are multiples of 32, head_dim is 64, 80, 96,
// 128 or 256. The caller keeps the memory behind all pointers alive until the queue is destroyed.
struct Model {
    int32_t layers;
    int32_t hidden;
    int32_t intermediate;
    int32_t heads;
    int32_t kv_heads;
    int32_t head_dim;
    int32_t vocab;
    Gate gate;
    float norm_epsilon;
    float attention_scale;    // factor of q times k
    float attention_softcap;  // scores s become softcap * tanh(s / softcap); 0: unchanged
    float embedding_scale;    // factor of an embedding
    float residual_scale;     // factor of what attention and MLP add to the residual stream
    float logits_scale;       // factor of the logits
    float logits_softcap;     // logits l become softcap * tanh(l / softcap); 0: unchanged
    const float* query_factors;  // [positions], factor of a rotated query at each position; null: none
    const LayerWeights* layer_weights;
    Matrix embedding;  // [vocab, hidden]; the head's panels if the two are tied; empty if every step has hidden_in
    const float* final_norm;
    Matrix head;       // [vocab, hidden], of which the last panel is padded to 32 columns; empty if no step samples
};

// The change that an adapter makes to a product: out += factor * b (a x). Both matrices are panels of bf16.
struct LowRank {
    const bf16* a;  // [rank, depth of the product]; null: the product is not changed
    const bf16* b;  // [columns of the product, rank]
    int32_t rank;   // a multiple of 32
    float factor;
};

// The changes of one layer. If the columns that follow a norm are levelled, so are the columns of `a`.
struct AdapterLayer {
    LowRank q, k, v, output, gate, up, down;
};

// An adapter. Its memory stays alive until no step has it.
struct Adapter {
    const AdapterLayer* layers;  // [layers of the model]
    int32_t rank;                // the largest of all changes
};

// A row that is given in place of a token. Its memory stays alive until no step has it.
struct GivenRow {
    const float* embedding;  // [hidden]: the residual stream before the layers
    const float* kv;  // [layers][2][kv_heads][head_dim]: keys, normalized and placed, and values; null: they are computed
};

// Changes to a row's logits before a token is sampled. The arrays are built once per request, not per step.
struct Adjustments {
    float repetition;  // 1: off
    float presence;    // 0: off
    float frequency;   // 0: off
    int32_t num_biases;
    const int32_t* bias_ids;  // [num_biases], distinct ids
    const float* biases;      // [num_biases], added to the logits of bias_ids
    const uint32_t* allowed;  // bits of the allowed ids, as in RowSampling::mask; null: all are allowed
    int32_t* seen_ids;        // [room_for_seen]: distinct ids of prompt and answer; null: no penalties
    int32_t* seen_counts;     // [room_for_seen]: occurrences of each id in the answer
    int32_t* num_seen;        // [1]: entries in use. Sampling a token updates all three arrays
    int32_t room_for_seen;
};

// Sampling parameters of one row.
struct RowSampling {
    uint64_t seed;
    float temperature;  // 0: the arg max
    float top_p;        // 1: off
    float min_p;        // 0: off
    int32_t top_k;      // 0: off
    uint32_t position;  // position of the sampled token; seed, choice and position determine the random number
    uint32_t choice;    // number of the answer among the answers to one request
    int32_t num_barred;
    int32_t first_barred;  // index in StepInput::barred of the row's first barred id
    const uint32_t* mask;  // bit i % 32 of word i / 32 is set if id i is allowed; null: all are allowed
    const Adjustments* adjustments;  // null: none
};

// The copy of one block.
struct Move {
    const void* source;
    void* target;
    double seconds;  // output: duration of the copy
};

// Consecutive rows of a step whose final hidden states are added to a sum, in order.
struct HiddenSum {
    double* total;  // [hidden], input and output
    int32_t first;
    int32_t end;
};

// One step over a batch of sequences. The rows of sequence i follow the rows of sequence i - 1. A step without
// sequences only moves blocks. The kernels write the fields that are marked as output.
struct StepInput {
    int32_t sequences;
    int32_t samples;
    int32_t table_width;
    int32_t* token_ids;           // [rows]; the kernels replace ~i (negative) by sample i of the previous step
    const float* hidden_in;       // [rows, hidden]: the residual stream before the layers; null: embeddings of the ids
    float* hidden_out;            // [rows, hidden], output: the residual stream after the layers; null: not needed
    const int32_t* query_lens;    // [sequences], each at least 1
    const int32_t* context_lens;  // [sequences]: keys in the cache before this step
    const int32_t* block_tables;  // [sequences, table_width]
    const Adapter* const* adapters;  // [sequences]: null entries for none; null if no sequence has one
    const int32_t* adapted_from;  // [sequences]: number of the sequence's first rows that its adapter does not change
    const GivenRow* const* given;  // [rows]: null entries for tokens; null if all rows are tokens
    const int32_t* sample_rows;   // [samples]: rows whose next token is sampled
    const RowSampling* sampling;  // [samples]
    const int32_t* barred;        // ids that must not be sampled, concatenated over the samples
    int32_t* chosen;              // [samples], output: sampled ids. The lowest id wins a tie of the arg max
    const int32_t* logits_index;  // [samples]: row of `logits` to fill; -1: none
    float* logits;                // [filled rows, vocab], output: the model's logits, before any setting is applied
    bf16* kv;                     // the first block of the pool
    uint64_t block_size;          // elements from one block to the next
    Move* moves;                  // the copies, then the loads, then the stores
    int32_t copies;               // number of copies within the pool, made first
    int32_t loads;                // number of loads, made before the computation
    int32_t stores;               // number of stores, made after the computation
    int32_t num_sums;
    const HiddenSum* sums;        // [num_sums]: sums of hidden states, normalized by the final norm
    int32_t done;                 // output: 1 once the step has ended; guarded by the queue's lock
    double started, ended;        // output: times of the computation, without moves, in seconds of a monotonic clock
    const char* problem;          // output: null, or the reason why nothing was computed
};

}  // namespace ebb
