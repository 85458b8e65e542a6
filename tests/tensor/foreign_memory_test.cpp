// Memory that another library owns, and memory that is lent to one.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace kiln::foreign_memory_test {

namespace {

struct Owner {
  alignas(64) std::array<float, 4> elements{1, 2, 3, 4};
  int releases = 0;

  Tensor tensor(bool is_read_only = false) {
    const ForeignMemory memory{reinterpret_cast<std::byte*>(elements.data()),
                               sizeof elements,
                               Device{},
                               is_read_only,
                               this,
                               [](void* owner) { ++static_cast<Owner*>(owner)->releases; }};
    const Dims sizes{4};
    return Tensor::from_storage(Storage::create(memory), Layout{sizes, contiguous_strides(sizes), 0},
                                DType::F32);
  }
};

float first(const Tensor& x) { return x.data<float>()[0]; }

}  // namespace

TEST_CASE("foreign memory: nothing is copied, and it is released once", "[foreign]") {
  Owner owner;
  {
    const Tensor x = owner.tensor();
    CHECK(x.raw() == reinterpret_cast<const std::byte*>(owner.elements.data()));
    const Tensor view = ops::select(x, 0, 1);
    CHECK(view.item_float() == 2.0);
    CHECK(owner.releases == 0);
  }
  CHECK(owner.releases == 1);
}

TEST_CASE("foreign memory: writes of views are seen by the owner", "[foreign]") {
  Owner owner;
  const Tensor x = owner.tensor();
  ops::copy_(ops::select(x, 0, 2), Tensor::number(9.0));
  CHECK(owner.elements[2] == 9);
  CHECK(first(x) == 1);
}

TEST_CASE("foreign memory: what is read-only is copied by the first write", "[foreign]") {
  Owner owner;
  const Tensor x = owner.tensor(true);
  ops::copy_(x, Tensor::number(9.0));
  CHECK(owner.elements[0] == 1);
  CHECK(first(x) == 9);
  CHECK(owner.releases == 1);
}

TEST_CASE("foreign memory: a storage that shares the buffer writes into a copy", "[foreign]") {
  Owner owner;
  Tensor kept;
  {
    const Tensor x = owner.tensor();
    kept = Tensor::from_storage(Storage::create(x.storage()->buffer()), x.layout(), x.dtype());
  }
  ops::copy_(kept, Tensor::number(9.0));
  CHECK(owner.elements[0] == 1);
  CHECK(first(kept) == 9);
}

TEST_CASE("foreign memory: a recorded write stores elements and exchanges no memory", "[foreign]") {
  Owner owner;
  const Tensor x = owner.tensor();
  const Tensor w = ops::full({}, Tensor::number(3.0), DType::F32);
  set_requires_grad(w, true);
  const Tensor operands[] = {x, w};
  const Op& add = *OpTable::get().find("add");
  bind_inplace(add, operands, Attrs(add));
  CHECK(owner.elements[3] == 7);
  CHECK(x.raw() == reinterpret_cast<const std::byte*>(owner.elements.data()));
}

TEST_CASE("foreign memory: what a gradient needs of it is kept, and the write goes to a copy", "[foreign]") {
  Owner owner;
  const Tensor x = owner.tensor();
  const Tensor w = ops::full({}, Tensor::number(3.0), DType::F32);
  set_requires_grad(w, true);
  const Tensor loss = ops::sum(ops::mul(x, w));
  ops::copy_(x, Tensor::number(100.0));
  CHECK(owner.elements[3] == 4);
  CHECK(first(x) == 100);
  backward(loss);
  CHECK(grad_of(w).item_float() == 10);
}

TEST_CASE("lent memory: the borrower sees writes and outlives the tensor", "[foreign]") {
  Tensor x = ops::full({}, Tensor::number(3.0), DType::F32);
  const auto lent = std::make_unique<LentStorage>(x.storage());
  CHECK(lent->data() == x.raw());
  CHECK_FALSE(x.storage()->copies_before_write());
  ops::copy_(x, Tensor::number(4.0));
  x = {};
  float seen = 0;
  std::memcpy(&seen, lent->data(), sizeof seen);
  CHECK(seen == 4);
}

TEST_CASE("lent memory: another storage of the same memory is lent a copy", "[foreign]") {
  const Tensor x = ops::full({}, Tensor::number(3.0), DType::F32);
  const Tensor same = Tensor::from_storage(Storage::create(x.storage()->buffer()), x.layout(), x.dtype());
  const LentStorage first_lent(x.storage());
  const LentStorage second_lent(same.storage());
  CHECK(first_lent.data() != second_lent.data());
}

TEST_CASE("lent memory: it is the storage's own again afterwards", "[foreign]") {
  const Tensor x = ops::full({}, Tensor::number(3.0), DType::F32);
  {
    const LentStorage lent(x.storage());
  }
  CHECK(x.storage()->buffer()->has_one_owner());
}

}  // namespace kiln::foreign_memory_test
