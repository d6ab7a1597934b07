#include "api/cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace nodeward::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "nodeward-cluster-";

// Shared memory spares the disk, where there is enough (containers often have 64 MiB).
fs::path parent_folder() {
  std::error_code error;
  const fs::space_info memory = fs::space("/dev/shm", error);
  const bool roomy = !error && memory.available >= (2ULL << 30);
  return roomy && ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

// A killed test binary leaves its folder behind, but not its lock.
void remove_abandoned_folders(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kFolderPrefix)) continue;
    const int lock = ::open((entry.path() / "lock").c_str(), O_RDWR | O_CLOEXEC);
    if (lock < 0) continue;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    ::close(lock);
  }
}

bool is_free(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return free;
}

}  // namespace

// Below the range that the kernel takes outgoing ports from: there, a client that keeps trying a stopped server's port would
// sooner or later be connected to itself, or take the port while the server is away.
int free_port() {
  static std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> ports(12000, 32000);
  for (int tries = 0; tries < 1000; ++tries) {
    if (const int port = ports(random); is_free(port)) return port;
  }
  throw std::runtime_error("no free port on 127.0.0.1");
}

TempFolder::TempFolder() {
  const fs::path parent = parent_folder();
  remove_abandoned_folders(parent);
  std::string name = parent / (std::string(kFolderPrefix) + "XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + parent.string());
  path_ = name;
  lock_ = ::open((path_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::flock(lock_, LOCK_EX);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace nodeward::api
