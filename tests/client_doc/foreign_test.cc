// Another project that follows docs/client.md to the letter (foreign/CMakeLists.txt) gets the client library and nothing else.
#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"

namespace nodeward {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

struct Said {
  int status = -1;
  std::string text;
};
Said run(const std::string& command) {
  Said said;
  FILE* const pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (pipe == nullptr) return said;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) said.text.append(buffer, count);
  said.status = pclose(pipe);
  return said;
}

// What stands on the page between ```LANGUAGE and ```.
std::string block_of(const std::string& page, const std::string& language) {
  const std::string opens = "```" + language + "\n";
  const std::size_t begin = page.find(opens) + opens.size();
  return page.substr(begin, page.find("```\n", begin) - begin);
}

// The project in a folder of its own, where the compiler's cache finds what an earlier run has built; configured where none of the
// packages is to be had that only our programs and tests need.
struct Foreign {
  Foreign() {
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string page = read_file(NW_SOURCE_DIR "/docs/client.md").value();
    std::ofstream(folder / "main.cc") << block_of(page, "cpp");
    std::ofstream(folder / "page.cmake") << block_of(page, "cmake");
    fs::copy(NW_SOURCE_DIR "/tests/client_doc/foreign/CMakeLists.txt", folder);
    fs::create_directory_symlink(NW_SOURCE_DIR, folder / "nodeward");
    std::string command = "cd '" + folder.string() + "' && cmake -S . -B build -G Ninja -DPKG_CONFIG_EXECUTABLE=/bin/false";
    for (const char* package : {"benchmark", "CLI11", "GTest", "tomlplusplus"})
      command += std::string(" -DCMAKE_DISABLE_FIND_PACKAGE_") + package + "=ON";
    configured = run(command + " -DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache)");
  }
  Said in_build(const std::string& command) const { return run("cd '" + (folder / "build").string() + "' && " + command); }

  const fs::path folder = NW_BINARY_DIR "/tests/client_doc_foreign";
  Said configured;
};

TEST(ClientInAnotherProject, NeedsNoPackageOfTheRestTakesNoNameAndAddsNoTest) {
  const Foreign project;
  ASSERT_EQ(project.configured.status, 0) << project.configured.text;
  EXPECT_THAT(project.in_build("ctest -N").text, EndsWith("\nTotal Tests: 1\n"));
}

TEST(ClientInAnotherProject, BuildsTheExampleOfThePage) {
  const Foreign project;
  ASSERT_EQ(project.configured.status, 0) << project.configured.text;
  const Said built = project.in_build("cmake --build . --parallel $(nproc)");
  ASSERT_EQ(built.status, 0) << built.text;
  EXPECT_THAT(project.in_build("KUBECONFIG=/nowhere/config ./mine").text, HasSubstr("/nowhere/config"));
}

}  // namespace
}  // namespace nodeward
