// Owns a vector that keeps its first N elements inline: sizes, strides and op arguments live without the
// heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace kiln {

template <class T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(std::size_t count, const T& value = T()) { resize(count, value); }
  SmallVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <std::forward_iterator It>
  SmallVector(It first, It last) {
    append(first, last);
  }
  SmallVector(const SmallVector& other) {
    if (copies_whole() && other.is_inline()) {
      copy_inline(other);
    } else {
      append(other.begin(), other.end());
    }
  }
  SmallVector(SmallVector&& other) noexcept { take(std::move(other)); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(std::move(other));
    }
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T item) {
    if (size_ == capacity_) grow(size_ + 1);
    std::construct_at(data_ + size_, std::move(item));
    ++size_;
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      push_back(T(std::forward<Args>(args)...));  // the arguments may lie in what is about to move
    } else {
      std::construct_at(data_ + size_, std::forward<Args>(args)...);
      ++size_;
    }
    return back();
  }
  void pop_back() { std::destroy_at(data_ + --size_); }
  void clear() {
    std::destroy_n(data_, size_);
    size_ = 0;
  }
  void resize(std::size_t count, const T& value = T()) {
    if (count > capacity_) grow(count);
    while (size_ > count) pop_back();
    while (size_ < count) std::construct_at(data_ + size_++, value);
  }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  iterator insert(const_iterator where, T item) {
    const auto index = where - begin();
    push_back(std::move(item));
    std::rotate(begin() + index, end() - 1, end());
    return begin() + index;
  }
  iterator erase(const_iterator where) {
    const auto index = where - begin();
    std::move(begin() + index + 1, end(), begin() + index);
    pop_back();
    return begin() + index;
  }
  template <std::forward_iterator It>
  void append(It first, It last) {
    reserve(size_ + static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) std::construct_at(data_ + size_++, *first);
  }

  operator std::span<const T>() const { return {data_, size_}; }
  operator std::span<T>() { return {data_, size_}; }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool is_inline() const { return data_ == inline_data(); }
  T* inline_data() { return reinterpret_cast<T*>(storage_); }
  const T* inline_data() const { return reinterpret_cast<const T*>(storage_); }

  // Short runs of plain values are copied as one block of fixed size, the unused rest too: no loop, no
  // branch.
  static constexpr bool copies_whole() { return std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64; }
  void copy_inline(const SmallVector& other) {
    std::memcpy(static_cast<void*>(storage_), other.storage_, sizeof(storage_));
    size_ = other.size_;
  }

  void grow(std::size_t wanted) {
    const std::size_t capacity = std::max<std::size_t>(wanted, capacity_ * 2);
    T* memory = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data_, size_, memory);
    std::destroy_n(data_, size_);
    if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = memory;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void release() {
    clear();
    if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = inline_data();
    capacity_ = N;
  }
  // Leaves `other` empty; expects this to be empty and inline.
  void take(SmallVector&& other) noexcept {
    if (copies_whole() && other.is_inline()) {
      copy_inline(other);
      other.size_ = 0;
      return;
    }
    if (other.is_inline()) {
      std::uninitialized_move_n(other.data_, other.size_, data_);
      size_ = other.size_;
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, other.inline_data());
    size_ = std::exchange(other.size_, 0U);
    capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
  }

  T* data_ = inline_data();
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) std::byte storage_[N * sizeof(T)];
};

}  // namespace kiln
