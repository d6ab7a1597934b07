#include "sim/http2_session.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace nodeward::bench {
namespace {

constexpr std::uint32_t kWindow = 1U << 30;      // nothing waits for us

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          .value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
          .namelen = name.size(),
          .valuelen = value.size(),
          .flags = NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    throw std::runtime_error(fmt::format("cannot connect to port {}", port));
  }
  return fd;
}

// Exceptions do not cross nghttp2: a callback that fails says so, and read() throws.
struct Http2Session::Callbacks {
  static Http2Session& self(void* user) { return *static_cast<Http2Session*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void*) {
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    return key == ":status" && text != "200" ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data, std::size_t size, void* user) {
    if (self(user).told_.data) self(user).told_.data({reinterpret_cast<const char*>(data), size});
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    self(user).uploads_.erase(id);
    if (code != NGHTTP2_NO_ERROR) return NGHTTP2_ERR_CALLBACK_FAILURE;
    self(user).told_.answered();
    return 0;
  }
  static ssize_t on_read(nghttp2_session*, std::int32_t id, std::uint8_t* buffer, std::size_t most, std::uint32_t* flags,
                         nghttp2_data_source*, void* user) {
    Upload& upload = self(user).uploads_.at(id);
    const std::size_t size = upload.body.copy(reinterpret_cast<char*>(buffer), most, upload.sent);
    upload.sent += size;
    if (upload.sent == upload.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }
};

Http2Session::Http2Session(int port, bool tls, Told told)
    : told_(std::move(told)), fd_(connect_to(port)), context_(nullptr, &SSL_CTX_free), ssl_(nullptr, &SSL_free) {
  if (tls) {
    constexpr unsigned char kH2[] = {2, 'h', '2'};
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_alpn_protos(context_.get(), kH2, sizeof kH2);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd_);
    if (SSL_connect(ssl_.get()) != 1) throw std::runtime_error("the TLS handshake failed");
  }
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::on_close);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &window, 1);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, static_cast<std::int32_t>(kWindow));
}

Http2Session::~Http2Session() {
  nghttp2_session_del(session_);
  ::close(fd_);
}

void Http2Session::ask(Ask ask) {
  const std::vector<nghttp2_nv> fields = {field(":method", ask.method),
                                          field(":scheme", ssl_ ? "https" : "http"),
                                          field(":authority", "127.0.0.1"),
                                          field(":path", ask.path),
                                          field("authorization", "Bearer sim-token"),
                                          field("accept", ask.accept),
                                          field("content-type", "application/merge-patch+json")};
  const nghttp2_data_provider body = {.source = {}, .read_callback = &Callbacks::on_read};
  const std::int32_t id = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                                 ask.body.empty() ? nullptr : &body, nullptr);
  if (id < 0) throw std::runtime_error(nghttp2_strerror(id));
  if (!ask.body.empty()) uploads_[id] = {std::move(ask.body)};
}

void Http2Session::flush() {
  const std::uint8_t* bytes = nullptr;
  output_.clear();
  for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
    output_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  if (output_.empty()) return;
  const auto size = static_cast<int>(output_.size());
  const auto sent = ssl_ ? SSL_write(ssl_.get(), output_.data(), size)
                         : ::send(fd_, output_.data(), output_.size(), MSG_NOSIGNAL);
  if (sent != size) throw std::runtime_error("the server takes no more");
}

std::size_t Http2Session::receive() {
  if (!ssl_) {
    const ssize_t count = ::recv(fd_, input_.data(), input_.size(), 0);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  std::size_t had = 0;
  do {
    const int count = SSL_read(ssl_.get(), input_.data() + had, static_cast<int>(input_.size() - had));
    if (count <= 0) return 0;
    had += static_cast<std::size_t>(count);
  } while (had < input_.size() && SSL_pending(ssl_.get()) > 0);
  return had;
}

void Http2Session::read() {
  const std::size_t count = receive();
  if (count == 0) throw std::runtime_error("the server closed the connection");
  if (nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(input_.data()), count) < 0) {
    throw std::runtime_error("the server answered with a failure");
  }
}

}  // namespace nodeward::bench
