#include "sim/wire/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sim/wire/http1.h"
#include "sim/wire/http2.h"

namespace nodeward::sim::wire {
namespace {

constexpr std::size_t kLow = 64UL << 10;       // less than this waits to be sent: the protocol is asked for more
constexpr std::size_t kMostSpares = 64;
constexpr Duration kPartingPatience = 5s;      // for the client to close its side after ours

}  // namespace

Connection::Connection(Shared& shared, int fd) : shared_(shared), fd_(fd) {
  const int yes = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (shared_.tls != nullptr) tls_ = std::make_unique<TlsSession>(*shared_.tls);
}

Connection::~Connection() {
  protocol_.reset();
  shared_.loop.unwatch(fd_);
  close(fd_);
}

void Connection::start() {
  interest_ = EPOLLIN;
  shared_.loop.watch(fd_, *this, interest_);
  set_deadline();
}

void Connection::soon() {
  if (std::exchange(due_, true)) return;
  shared_.due.push_back(this);
}

void Connection::die() {
  if (std::exchange(dead_, true)) return;
  if (protocol_) protocol_->abandon();
  soon();
}

void Connection::drop() {
  const linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  die();
}

void Connection::freeze() {
  frozen_ = true;
  soon();
}

void Connection::ready(std::uint32_t events) {
  if (dead_) return;
  if ((events & EPOLLIN) != 0 && !frozen_) {
    read_socket();
  } else if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    die();
  }
  soon();
}

// One read a turn: epoll tells again of what is left, after everybody else had theirs.
void Connection::read_socket() {
  const ssize_t count = recv(fd_, shared_.input.data(), shared_.input.size(), 0);
  if (count > 0) {
    take({shared_.input.data(), static_cast<std::size_t>(count)});
  } else if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) die();
  } else if (protocol_ && !leaving_ && !cut_short_) {
    protocol_->end_of_input();
  } else {
    die();
  }
}

void Connection::take(std::string_view bytes) {
  if (leaving_ || cut_short_) return;
  borrow(out_);
  if (!tls_) return take_clear(bytes);
  borrow(clear_);
  std::string clear;
  if (!tls_->receive(bytes, clear, out_)) cut_short_ = true;
  if (!clear.empty()) take_clear(clear);
  if (cut_short_ && protocol_) protocol_->end_of_input();
}

void Connection::take_clear(std::string_view bytes) {
  if (protocol_) return protocol_->receive(bytes);
  first_ += bytes;
  const bool preface = first_.starts_with(kHttp2Preface);
  if (preface || (tls_ && tls_->http2())) {
    speak(std::make_unique<Http2>(*this, clear_out(), shared_.options.most_body));
  } else if (!kHttp2Preface.starts_with(first_)) {
    speak(std::make_unique<Http1>(*this, clear_out(), shared_.options.most_body));
  }
}

void Connection::speak(std::unique_ptr<Protocol> protocol) {
  protocol_ = std::move(protocol);
  protocol_->receive(std::exchange(first_, {}));
}

void Connection::settle() {
  due_ = false;
  if (dead_) return;
  if (frozen_) return set_interest();
  if (blocked_ || backlog() >= kLow) write_socket();
  if (!dead_ && backlog() < kLow) {
    fill_out();
    if (!dead_ && backlog() > 0) write_socket();
  }
  if (dead_) return;
  if (finished() && backlog() == 0 && !leaving_) say_goodbye();
  if (more_ && !blocked_) soon();
  set_interest();
  set_deadline();
}

void Connection::fill_out() {
  out_.erase(0, std::exchange(sent_, 0));
  more_ = protocol_ && !leaving_ && protocol_->produce();
  seal();
}

void Connection::seal() {
  if (!tls_ || clear_.empty()) return;
  tls_->seal(clear_, out_);
  give_back(clear_);
}

void Connection::write_socket() {
  const ssize_t count = send(fd_, out_.data() + sent_, backlog(), MSG_NOSIGNAL);
  if (count < 0 && errno != EAGAIN && errno != EINTR) return die();
  if (count > 0) sent_ += static_cast<std::size_t>(count);
  blocked_ = backlog() > 0;
  if (blocked_) return;
  sent_ = 0;
  give_back(out_);
}

void Connection::borrow(std::string& buffer) {
  if (!buffer.empty() || buffer.capacity() >= kLow || shared_.spares.empty()) return;
  buffer.swap(shared_.spares.back());
  shared_.spares.pop_back();
}

// Empties it.
void Connection::give_back(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() < kLow) return;
  if (shared_.spares.size() < kMostSpares) shared_.spares.push_back(std::move(buffer));
  buffer = {};
}

// A close with bytes unread would be a reset, and could overtake the answer: so our side first, and the rest when the client has
// closed its own.
void Connection::say_goodbye() {
  leaving_ = true;
  if (tls_) {
    tls_->close(out_);
    write_socket();
  }
  shutdown(fd_, SHUT_WR);
  deadline_ = Clock::real().now() + kPartingPatience;
  watch_deadline(kPartingPatience);
}

void Connection::set_interest() {
  const bool reads = !frozen_ && (leaving_ || (backlog() < kFull && (!protocol_ || protocol_->wants_input())));
  const std::uint32_t wanted = (reads ? EPOLLIN : 0U) | (blocked_ && !frozen_ ? EPOLLOUT : 0U);
  if (wanted == interest_) return;
  interest_ = wanted;
  shared_.loop.rewatch(fd_, *this, wanted);
}

void Connection::set_deadline() {
  if (leaving_) return;
  const bool owes = !protocol_ || protocol_->half_read();
  if (!owes) {
    deadline_.reset();
  } else if (!deadline_) {
    deadline_ = Clock::real().now() + shared_.options.patience;
    if (!deadline_watched_) watch_deadline(shared_.options.patience);
  }
}

// One timer for all deadlines of a connection, one after the other, and one for its last.
void Connection::watch_deadline(Duration wait) {
  deadline_watched_ = true;
  shared_.loop.after(wait, [weak = weak_from_this()] {
    const std::shared_ptr<Connection> self = weak.lock();
    if (!self) return;
    self->deadline_watched_ = false;
    if (!self->deadline_) return;
    const Duration left = *self->deadline_ - Clock::real().now();
    if (left <= Duration::zero()) {
      self->die();
    } else {
      self->watch_deadline(left);
    }
  });
}

}  // namespace nodeward::sim::wire
