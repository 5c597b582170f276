// C functions that engine/cpu/library.py calls. None of them throws: a failure is a null pointer or a message.
#include <exception>
#include <new>

#include "gguf_blocks.h"
#include "product.h"
#include "queue.h"

using namespace ebb;

#define EBB_EXPORT __attribute__((visibility("default")))

extern "C" {

EBB_EXPORT void ebb_pack_rows(const bf16* source, int32_t rows, int32_t depth, bf16* packed, int32_t first_panel,
                              int32_t step) {
    pack_rows(source, rows, depth, packed, first_panel, step);
}

EBB_EXPORT void ebb_pack_rows_int8(const bf16* source, int32_t rows, int32_t depth, uint8_t* packed,
                                   int32_t first_panel, int32_t step) {
    pack_rows_in_groups<Int8>(source, rows, depth, packed, first_panel, step);
}

EBB_EXPORT void ebb_pack_rows_int8_bytes(const bf16* source, int32_t rows, int32_t depth, uint8_t* packed,
                                         int32_t first_panel, int32_t step) {
    pack_rows_in_groups<Int8Bytes>(source, rows, depth, packed, first_panel, step);
}

EBB_EXPORT void ebb_pack_rows_int4(const bf16* source, int32_t rows, int32_t depth, uint8_t* packed,
                                   int32_t first_panel, int32_t step) {
    pack_rows_in_groups<Int4>(source, rows, depth, packed, first_panel, step);
}

// Pack a matrix [rows, depth] in blocks of a GGUF file into panels of the format that fits the blocks.
EBB_EXPORT void ebb_pack_blocks(BlockType type, const uint8_t* source, int32_t rows, int32_t depth, uint8_t* packed,
                                int32_t first_panel, int32_t step) {
    pack_blocks(type, source, rows, depth, packed, first_panel, step);
}

// Return the number of bytes of a panel.
EBB_EXPORT uint64_t ebb_panel_bytes(WeightFormat format, int32_t depth) {
    uint64_t bytes = 0;
    with_panels({nullptr, 0, format}, depth, [&](const auto& panels) { bytes = panels.panel_bytes(); });
    return bytes;
}

EBB_EXPORT Multiplier* ebb_create_multiplier(int32_t threads) {
    try {
        return new Multiplier(threads);
    } catch (const std::exception&) {
        return nullptr;
    }
}

EBB_EXPORT void ebb_destroy_multiplier(Multiplier* multiplier) { delete multiplier; }

// Compute a product. Return null, or the reason why nothing was computed. Call from one thread at a time.
EBB_EXPORT const char* ebb_multiply(Multiplier* multiplier, const Product* product) {
    try {
        multiplier->run(*product);
        return nullptr;
    } catch (const std::bad_alloc&) {
        return "out of memory";
    }
}

// turn, place: descriptors of the files by whose locks engines take turns, which stay open until the queue is destroyed;
// -1 for an engine that has the cores alone.
EBB_EXPORT StepQueue* ebb_create(const Model* model, int32_t threads, int32_t turn, int32_t place) {
    try {
        return new StepQueue(*model, threads, {turn, place});
    } catch (const std::exception&) {
        return nullptr;
    }
}

EBB_EXPORT void ebb_destroy(StepQueue* queue) { delete queue; }

// Queue a step. Return null, or the reason why the queue refused the step.
EBB_EXPORT const char* ebb_submit(StepQueue* queue, StepInput* step) {
    try {
        queue->submit(step);
        return nullptr;
    } catch (const std::bad_alloc&) {
        return "out of memory";
    }
}

EBB_EXPORT void ebb_wait(StepQueue* queue, const StepInput* step) { queue->wait(step); }

}  // extern "C"
