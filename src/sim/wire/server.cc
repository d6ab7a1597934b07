#include "sim/wire/server.h"

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <unordered_map>
#include <utility>

#include "sim/wire/connection.h"
#include "sim/wire/listener.h"
#include "sim/wire/loop.h"
#include "sim/wire/tls.h"

namespace nodeward::sim::wire {
namespace {

class LoopServer final : public Server {
 public:
  LoopServer(ServerOptions options, Handler handler, TlsContext tls)
      : options_(std::move(options)), handler_(std::move(handler)), tls_(std::move(tls)) {}
  ~LoopServer() override { thread_ = {}; }

  // The owner, once.
  Result<> start() {
    NW_TRY(open_again());
    options_.port = listener_->port();  // of all listeners to come
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    return {};
  }

  int port() const override { return options_.port; }
  void post(std::function<void()> task) override { loop_.post(std::move(task)); }
  void after(Duration wait, std::function<void()> task) override { loop_.after(wait, std::move(task)); }

  void shut() override {
    if (listener_) listener_->close();
    for (const auto& [raw, connection] : connections_) connection->die();
  }

  Result<> open_again() override {
    NW_TRY_ASSIGN(auto listener, Listener::open(loop_, options_.address, options_.port, [this](int fd) { take(fd); }));
    if (listener_) loop_.post([old = std::shared_ptr<Listener>(std::move(listener_))] {});  // its events may be in hand
    listener_ = std::move(listener);
    return {};
  }

 private:
  void run(const std::stop_token& stop) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the main thread
    loop_.run(stop, [this] { return settle(); });
    shut();
    connections_.clear();
  }

  void take(int fd) {
    const auto connection = std::make_shared<Connection>(shared_, fd);
    connections_.emplace(connection.get(), connection);
    connection->start();
  }

  // Those that become due meanwhile have their turn in the next one.
  bool settle() {
    due_.swap(shared_.due);
    for (Connection* const connection : due_) {
      if (connection->dead()) {
        connections_.erase(connection);
      } else {
        connection->settle();  // one that dies of it is due again
      }
    }
    due_.clear();
    return !shared_.due.empty();
  }

  ServerOptions options_;
  const Handler handler_;
  const TlsContext tls_;
  Loop loop_;
  Shared shared_{.loop = loop_, .options = options_, .handler = handler_, .tls = tls_.get()};
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::vector<Connection*> due_;
  std::unique_ptr<Listener> listener_;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, Handler handler) {
  TlsContext tls;
  if (!options.tls.certificate_pem.empty() || !options.tls.key_pem.empty()) {
    NW_TRY_ASSIGN(tls, make_tls_context(options.tls));
  }
  auto server = std::make_unique<LoopServer>(std::move(options), std::move(handler), std::move(tls));
  NW_TRY(server->start());
  return server;
}

}  // namespace nodeward::sim::wire
