// The transport over Gloo: TCP between all pairs of ranks, on any hosts.
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include "dist/transport/plugin_interface.h"
#include "dist/transport/short_slice.h"
#include "tensor/held_signals.h"

namespace kiln::dist {
namespace {

// Gloo closes all connections when a wait of its own is over in vain: ours never are.
constexpr std::chrono::hours kForever{24 * 365};

// Gloo writes to links that their peers have closed, which is an error to it and, left alone, the end of the
// process.
class HeldPipeSignal {
 public:
  HeldPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HeldPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec now{};
    sigtimedwait(&pipe_, nullptr, &now);  // takes one that waits
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldPipeSignal(const HeldPipeSignal&) = delete;
  HeldPipeSignal& operator=(const HeldPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
};

// The launcher's store in the form that Gloo asks for.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(dist::Store& store, std::string scope, std::chrono::milliseconds limit)
      : store_(store), scope_(std::move(scope)), limit_(limit) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(scope_ + "/" + key, {data.begin(), data.end()});
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_.get(scope_ + "/" + key, limit_);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }

 private:
  dist::Store& store_;
  std::string scope_;
  std::chrono::milliseconds limit_;
};

// A transfer that Gloo does, and the thread that waits for it.
struct Transfer {
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
  bool is_send;
  std::byte nothing{};  // what is sent where there is nothing to send
  std::string failure;  // written before `is_over`
  std::atomic<bool> is_over{false};

  // Returns when it is done, has failed or is aborted.
  void wait() {
    try {
      is_send ? buffer->waitSend(kForever) : buffer->waitRecv(kForever);
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }
  void abort() { is_send ? buffer->abortWaitSend() : buffer->abortWaitRecv(); }
};

// Gloo has no way to ask whether a transfer is done, and none to wait for one of several: threads wait, one
// for each that is under way.
class Waiters {
 public:
  ~Waiters() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // `then` is called on a waiting thread.
  void wait_for(std::shared_ptr<Transfer> transfer, std::function<void()> then) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(transfer), std::move(then)});
    if (waiting_.size() > idle_) {
      const HeldSignals signals;  // they are for the thread that runs the program
      threads_.emplace_back([this] { run(); });
      ++idle_;
    }
    work_.notify_one();
  }

 private:
  struct Work {
    std::shared_ptr<Transfer> transfer;
    std::function<void()> then;
  };

  void run() {
    const ShortSlice slice;
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Work work = std::move(waiting_.front());
      waiting_.pop_front();
      --idle_;
      lock.unlock();
      work.transfer->wait();
      work.transfer->is_over.store(true);
      work.transfer->is_over.notify_all();
      work.then();
      lock.lock();
      ++idle_;
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Work> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;  // threads that wait for work, or are about to
  bool ends_ = false;
};

class GlooRequest final : public Transport::Request {
 public:
  GlooRequest(Transport& transport, int peer, std::shared_ptr<Transfer> transfer)
      : Request(transport), peer_(peer), transfer_(std::move(transfer)) {}
  ~GlooRequest() override {
    if (transfer_->is_over.load()) return;
    transfer_->abort();
    transfer_->is_over.wait(false);
  }
  bool test() override {
    if (!transfer_->is_over.load()) return false;
    if (transfer_->failure.empty()) return true;
    throw PeerLost({peer_},
                   "rank " + std::to_string(peer_) + " closed its link (" + transfer_->failure + ")");
  }

 private:
  int peer_;
  std::shared_ptr<Transfer> transfer_;
};

class GlooTransport final : public Transport {
 public:
  explicit GlooTransport(const GlooOptions& options)
      : context_(std::make_shared<gloo::rendezvous::Context>(options.rank, options.size)) {
    const HeldSignals signals;
    const ShortSlice slice;  // Gloo's own thread inherits it
    gloo::transport::tcp::attr address(options.host.c_str());
    auto device = gloo::transport::tcp::CreateDevice(address);
    GlooStore store(options.store, options.scope, options.limit);
    context_->setTimeout(options.limit);
    context_->connectFullMesh(store, device);
    // A rank that leaves again at once would end the links of those that are about to connect.
    meet(options.store, options.scope, options.rank, options.size, options.limit);
  }
  ~GlooTransport() override {
    end_news();
    const HeldPipeSignal held;
    context_->closeConnections();
  }

  std::string_view name() const override { return "gloo"; }
  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  std::unique_ptr<Request> send(int to, std::uint64_t tag, std::span<const std::byte> bytes) override {
    auto transfer = make(true, {const_cast<std::byte*>(bytes.data()), bytes.size()});
    return begin(to, transfer, [&] { transfer->buffer->send(to, tag); });
  }
  std::unique_ptr<Request> receive(int from, std::uint64_t tag, std::span<std::byte> bytes) override {
    auto transfer = make(false, bytes);
    return begin(from, transfer, [&] { transfer->buffer->recv(from, tag); });
  }

 private:
  std::shared_ptr<Transfer> make(bool is_send, std::span<std::byte> bytes) {
    auto transfer = std::make_shared<Transfer>();
    transfer->is_send = is_send;
    if (bytes.empty()) bytes = std::span(&transfer->nothing, 1);
    transfer->buffer = context_->createUnboundBuffer(bytes.data(), bytes.size());
    return transfer;
  }

  template <class Begin>
  std::unique_ptr<Request> begin(int peer, const std::shared_ptr<Transfer>& transfer, const Begin& call) {
    const HeldPipeSignal held;
    try {
      call();
      waiters_.wait_for(transfer, [this] { notify(); });
    } catch (const gloo::Exception& error) {
      transfer->failure = error.what();
      transfer->is_over = true;
    }
    return std::make_unique<GlooRequest>(*this, peer, transfer);
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  Waiters waiters_;
};

}  // namespace
}  // namespace kiln::dist

extern "C" __attribute__((visibility("default"))) kiln::dist::Transport* KILN_PLUGIN_SYMBOL(gloo)(
    const kiln::dist::GlooOptions& options) {
  try {
    return new kiln::dist::GlooTransport(options);
  } catch (const gloo::Exception& error) {
    throw kiln::dist::PeerLost({}, std::string("the ranks could not connect: ") + error.what());
  }
}
