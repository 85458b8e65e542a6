#include "dist/cards/nccl_transport.h"

#include <utility>

namespace kiln::dist {

class NcclTransport::Begun final : public Transport::Request {
 public:
  explicit Begun(NcclTransport& transport) : Request(transport), transport_(transport) {}
  bool test() override {
    transport_.flush();
    return true;
  }

 private:
  NcclTransport& transport_;
};

NcclTransport::NcclTransport(std::unique_ptr<cuda::NcclCommunicator> communicator, cuda::SideStream& stream,
                             int rank, int size)
    : communicator_(std::move(communicator)), stream_(stream), rank_(rank), size_(size) {}

NcclTransport::~NcclTransport() { end_news(); }

std::unique_ptr<Transport::Request> NcclTransport::send(int to, std::uint64_t,
                                                        std::span<const std::byte> bytes) {
  begun_.push_back({true, to, const_cast<std::byte*>(bytes.data()), bytes.size()});
  return std::make_unique<Begun>(*this);
}

std::unique_ptr<Transport::Request> NcclTransport::receive(int from, std::uint64_t,
                                                           std::span<std::byte> bytes) {
  begun_.push_back({false, from, bytes.data(), bytes.size()});
  return std::make_unique<Begun>(*this);
}

void NcclTransport::flush() {
  if (begun_.empty()) return;
  communicator_->exchange(std::exchange(begun_, {}), stream_.handle());
}

void NcclTransport::abort() noexcept {
  begun_.clear();
  communicator_->abort();
}

}  // namespace kiln::dist
