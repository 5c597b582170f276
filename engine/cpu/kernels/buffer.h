// Scratch memory that only grows, aligned for vectors. Growing discards the contents.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace ebb {

template <typename T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Buffer() = default;
    ~Buffer() { std::free(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    void reserve(size_t size) {
        if (size <= size_) return;
        constexpr size_t kAlignment = 64;
        void* grown = std::aligned_alloc(kAlignment, (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment);
        if (grown == nullptr) throw std::bad_alloc();
        std::free(data_);
        data_ = static_cast<T*>(grown);
        size_ = size;
    }

    T* data() { return data_; }
    const T* data() const { return data_; }

private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace ebb
