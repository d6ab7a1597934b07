#include "config/datastore.h"

#include <gtest/gtest.h>

#include <map>

namespace nodeward::config {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Datastore> provider(const Variables& variables) {
  return datastore_provider([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Datastore, TheFirstThatIsSetNamesTheProvider) {
  EXPECT_EQ(provider({})->provider, "");
  EXPECT_EQ(provider({{"DATASTORE_PROVIDER", " PostgreSQL "}, {"DATASTORE_YAML", "provider: mongodb"}})->provider, "postgresql");
  const auto yaml = provider({{"DATASTORE_YAML", "provider: postgresql\nconnection: {host: db, password: hush}\n"}});
  EXPECT_EQ(yaml->provider, "postgresql");
  EXPECT_EQ(yaml->source, "DATASTORE_YAML");
}

TEST(Datastore, BadYamlIsNamedByItsVariableAndNeverShown) {
  for (const std::string text : {"provider: [hush", "connection: {password: hush}", "- hush", "provider: {a: hush}"}) {
    const auto bad = provider({{"DATASTORE_YAML", text}});
    ASSERT_FALSE(bad) << text;
    EXPECT_EQ(bad.error().message.find("hush"), std::string::npos);
    EXPECT_NE(bad.error().message.find("DATASTORE_YAML"), std::string::npos);
  }
  EXPECT_NE(provider({{"DATASTORE_YAML_PATH", "/nonexistent/x"}})
                .error()
                .message.find("DATASTORE_YAML_PATH: /nonexistent/x: cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace nodeward::config
