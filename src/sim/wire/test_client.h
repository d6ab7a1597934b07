// Clients that do what no library would: bytes as one likes, and HTTP/2 frame by frame. For tests only.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nodeward::sim::wire {

// A socket; every read waits for 10 s at most.
class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer = 0) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    connect(port);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) {
        reset_ = true;
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  // What has come; empty: the end, or nothing in time.
  std::string read() {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 10'000) != 1) return {};
    std::string bytes(65536, '\0');
    const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
    reset_ = reset_ || count < 0;
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  std::string read_until(std::string_view end) {
    while (seen_.find(end) == std::string::npos) {
      const std::string more = read();
      if (more.empty()) return std::exchange(seen_, {});
      seen_ += more;
    }
    const std::size_t size = seen_.find(end) + end.size();
    std::string taken = seen_.substr(0, size);
    seen_.erase(0, size);
    return taken;
  }
  std::string read_to_end() {
    std::string all = std::exchange(seen_, {});
    for (std::string more = read(); !more.empty(); more = read()) all += more;
    return all;
  }
  bool was_reset() const { return reset_; }
  void end_output() { shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  void connect(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const int yes = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  int fd_;
  bool connected_ = false;
  bool reset_ = false;
  std::string seen_;
};

// HTTP/2 by prior knowledge. It reads and sends in run() only.
class Http2Client {
 public:
  struct Answer {
    int status = 0;
    std::map<std::string, std::string> headers;
    std::string body;
    bool ended = false;                         // END_STREAM has come
    std::optional<std::uint32_t> closed = {};   // with this code
  };

  explicit Http2Client(int port, std::int32_t window = 1 << 20) : raw_(port) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_close);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(window)};
    nghttp2_submit_settings(session_, 0, &settings, 1);
    nghttp2_session_set_local_window_size(session_, 0, 0, 1 << 24);
  }
  ~Http2Client() { nghttp2_session_del(session_); }
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  using Headers = std::vector<std::pair<std::string, std::string>>;
  std::int32_t ask(const std::string& method, const std::string& path, const std::string& body = {}, const Headers& more = {}) {
    const std::string scheme = "http";
    const std::string authority = "test";
    std::vector<nghttp2_nv> fields;
    const auto add = [&](std::string_view name, const std::string& value) {
      fields.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), 0});
    };
    add(":method", method);
    add(":scheme", scheme);
    add(":authority", authority);
    add(":path", path);
    for (const auto& [name, value] : more) add(name, value);
    bodies_.push_back(std::make_unique<Upload>(Upload{body}));
    nghttp2_data_provider provider = {.source = {.ptr = bodies_.back().get()}, .read_callback = &on_read};
    return nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), body.empty() ? nullptr : &provider, nullptr);
  }
  void reset(std::int32_t id) { nghttp2_submit_rst_stream(session_, 0, id, NGHTTP2_CANCEL); }

  bool flush() {
    const std::uint8_t* bytes = nullptr;
    std::string all;  // in one go: small pieces would wait for acknowledgements
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
      all.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    return raw_.send(all);
  }
  // False: the connection ended (or nothing came in time) before it was so.
  bool run(const std::function<bool()>& until) {
    while (!until()) {
      flush();
      const std::string bytes = raw_.read();
      if (bytes.empty()) return until();
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    return true;
  }
  Answer& finish(std::int32_t id) {
    run([&] { return answers[id].closed.has_value(); });
    return answers[id];
  }
  Answer& get(const std::string& path) { return finish(ask("GET", path)); }
  RawClient& raw() { return raw_; }

  std::map<std::int32_t, Answer> answers;
  std::optional<std::int32_t> goaway;  // the last stream it named

 private:
  struct Upload {
    std::string body;
    std::size_t sent = 0;
  };

  static Http2Client& self(void* user) { return *static_cast<Http2Client*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    Answer& answer = self(user).answers[frame->hd.stream_id];
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") answer.status = std::stoi(text);
    answer.headers[key] = text;
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size, void* user) {
    self(user).answers[id].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) self(user).goaway = frame->goaway.last_stream_id;
    const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self(user).answers[frame->hd.stream_id].ended = true;
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    self(user).answers[id].closed = code;
    return 0;
  }
  static ssize_t on_read(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t most, std::uint32_t* flags,
                         nghttp2_data_source* source, void*) {
    auto& upload = *static_cast<Upload*>(source->ptr);
    const std::size_t size = upload.body.copy(reinterpret_cast<char*>(buffer), most, upload.sent);
    upload.sent += size;
    if (upload.sent == upload.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  RawClient raw_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Upload>> bodies_;
};

}  // namespace nodeward::sim::wire
