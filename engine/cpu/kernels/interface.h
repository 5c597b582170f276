// The values that cross from Python; engine/cpu/library.py mirrors them field by field.
#pragma once

#include <cstdint>

#include "vec.h"

namespace ebb {

// Matrices are in panels of bf16 (panels.h) or of int8 (int8_panels.h), vectors are floats; a bias may be null.
struct LayerWeights {
    const float* attention_norm;  // [hidden]
    const void* qkv;              // [(heads + 2 * kv_heads) * head_dim, hidden]
    const float* qkv_bias;
    const void* output;           // [hidden, heads * head_dim]
    const float* output_bias;
    const float* mlp_norm;        // [hidden]
    const void* gate_up;          // [2 * intermediate, hidden]: a panel of gate, its panel of up, the next of gate ...
    const void* down;             // [hidden, intermediate]
};

// A decoder. Whoever gives it keeps what it points to. hidden, intermediate and head_dim are multiples of 32.
struct Model {
    int32_t layers;
    int32_t hidden;
    int32_t intermediate;
    int32_t heads;
    int32_t kv_heads;
    int32_t head_dim;
    int32_t vocab;
    int32_t int8;  // whether the matrices are int8
    float norm_epsilon;
    const LayerWeights* layer_weights;
    const bf16* embedding;  // [vocab, hidden] row by row, or null: it is the head's matrix
    const float* final_norm;
    const void* head;  // [vocab, hidden] in panels, the last one filled up
    const float* cos;  // [positions, head_dim / 2]
    const float* sin;
};

// What is done to a row's logits before a token is chosen; made once for each request.
struct Adjustments {
    float repetition;  // 1: off
    float presence;    // 0: off
    float frequency;   // 0: off
    int32_t num_biases;
    const int32_t* bias_ids;  // [num_biases], each id once
    const float* biases;      // [num_biases], added to the logits of these ids
    const uint32_t* allowed;  // a mask as in RowSampling, or null
    int32_t* seen_ids;        // [room_for_seen]: the ids of prompt and answer, each once, or null
    int32_t* seen_counts;     // [room_for_seen]: how often they are in the answer
    int32_t* num_seen;        // [1]; the chosen token is added to these three
    int32_t room_for_seen;
};

// How the next token of a row is chosen.
struct RowSampling {
    uint64_t seed;
    float temperature;  // 0: the arg max
    float top_p;        // 1: off
    float min_p;        // 0: off
    int32_t top_k;      // 0: off
    uint32_t position;  // of the new token in its sequence: with seed and choice it names the random number
    uint32_t choice;    // number of the answer among those to one request
    int32_t num_barred;
    int32_t first_barred;  // where its ids begin in StepInput.barred
    const uint32_t* mask;  // bit i % 32 of word i / 32: whether id i may come; null: any
    const Adjustments* adjustments;  // null: none
};

// Copy one block.
struct Move {
    const void* source;
    void* target;
    double seconds;  // written
};

// One step over B sequences; the rows of sequence i follow those of sequence i - 1. Without sequences it only moves
// blocks.
struct StepInput {
    int32_t sequences;
    int32_t samples;
    int32_t table_width;
    int32_t* token_ids;           // [rows]; ~i (negative) stands for what sample i of the step before chose
    const int32_t* query_lens;    // [sequences], each at least 1
    const int32_t* context_lens;  // [sequences]
    const int32_t* block_tables;  // [sequences, table_width]
    const int32_t* sample_rows;   // [samples]: rows whose next token is wanted
    const RowSampling* sampling;  // [samples]
    const int32_t* barred;        // ids that a row may not choose, row after row
    int32_t* chosen;              // [samples], written; of equal largest logits the lowest id
    const int32_t* logits_index;  // [samples]: which row of `logits` to fill, or -1
    float* logits;                // [rows that want them, vocab], written: as the model has them
    bf16* kv;                     // the first block
    uint64_t block_size;          // elements from one block to the next
    Move* moves;                  // first the copies, then the loads, then the stores
    int32_t copies;               // within the device, made first
    int32_t loads;                // made before anything is computed
    int32_t stores;               // made when all is computed
    int32_t done;                 // written under the queue's lock
    double started, ended;        // written: from the loads' end to the last choice, seconds on a monotonic clock
    const char* problem;          // written: null, or why nothing was computed
};

}  // namespace ebb
