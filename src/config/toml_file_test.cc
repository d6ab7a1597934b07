#include "config/toml_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nodeward::config {
namespace {

// Where the code point `within` of the value of x is in the file, and which character stands there.
std::string found(std::string text, Place within) {
  Findings findings;
  const auto table = parse_toml(text, findings);
  if (!table) return findings.at(0).message;
  const Place place = place_in_string(text, place_of(*table->get("x")), within);
  std::size_t at = 0;
  for (std::size_t line = 1; line < place.line; ++line) at = text.find('\n', at) + 1;
  std::size_t column = 1;
  while (column < place.column) column += (static_cast<unsigned char>(text.at(++at)) & 0xC0) != 0x80;
  return fmt::format("{}:{} {}", place.line, place.column, at < text.size() ? text[at] : '$');
}

TEST(PlaceInString, SeesThroughQuotesAndEscapes) {
  EXPECT_EQ(found("x = 'abc'", {1, 2}), "1:7 b");
  EXPECT_EQ(found("x = \"abc\"", {1, 4}), "1:9 \"");
  EXPECT_EQ(found(R"(x = "\"\t\u00e4b\U0001F600c")", {1, 4}), "1:16 b");
  EXPECT_EQ(found(R"(x = "\"\t\u00e4b\U0001F600c")", {1, 6}), "1:27 c");
  EXPECT_EQ(found(R"(x = "a\nb")", {2, 1}), "1:9 b");
  EXPECT_EQ(found("\n  x = '''\nab\n c\\d'''", {2, 2}), "4:2 c");
  EXPECT_EQ(found("\n  x = '''\nab\n c\\d'''", {2, 4}), "4:4 d");
  EXPECT_EQ(found("x = '''ab\nc'''", {1, 2}), "1:9 b");
  EXPECT_EQ(found("x = \"\"\"\na \\\n   b\nc\"\"\"", {1, 3}), "3:4 b");
  EXPECT_EQ(found("x = \"\"\"\na \\\n   b\nc\"\"\"", {2, 1}), "4:1 c");
  EXPECT_EQ(found("x = 'gr\xc3\xb6\xc3\x9f"
                  "e'",
                  {1, 5}),
            "1:10 e");
  EXPECT_EQ(found("\xef\xbb\xbfx = '''\r\nab\r\ncd'''", {2, 2}), "3:2 d");
}

TEST(TomlFile, SaysWhyItCannotBeRead) {
  const auto problem = [](std::string text) {
    Findings findings;
    EXPECT_FALSE(parse_toml(text, findings));
    return fmt::format("{}:{} {}", findings.at(0).place.line, findings.at(0).place.column, findings.at(0).message);
  };
  EXPECT_EQ(problem("a = 1\nb = \"x\xff\"\n"), "2:6 not UTF-8; save the file as UTF-8") << "the last good character";
  EXPECT_EQ(problem("a = 1\r\nb = 2\rc = 3"), "2:6 a carriage return alone ends no line; use LF or CRLF line ends");
  EXPECT_EQ(problem(std::string("a = \"x\0\"", 8)).substr(0, 4), "1:7 ");
  EXPECT_EQ(problem("a =\n").substr(0, 2), "1:");
}

TEST(TomlFile, AKeyWithoutEndIsRefusedBeforeItIsFollowed) {
  const auto problem = [](std::string text) {
    Findings findings;
    if (parse_toml(text, findings)) return std::string("fine");
    return fmt::format("{}:{} {}", findings.at(0).place.line, findings.at(0).place.column, findings.at(0).message);
  };
  const auto repeated = [](std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  constexpr auto kWhy = "a key of more than 1000 parts; no key has more than a few";
  EXPECT_EQ(problem("\n" + repeated("a.", 100'000) + "a = 1\n"), fmt::format("2:2000 {}", kWhy));
  EXPECT_EQ(problem("[" + repeated("a . ", 100'000) + "a]\n"), fmt::format("1:4000 {}", kWhy));
  EXPECT_EQ(problem(repeated("'a'.\"b\".", 50'000) + "a = 1\n"), fmt::format("1:4000 {}", kWhy));
  EXPECT_EQ(problem("[" + repeated("a.", 500) + "a]\nx = \"" + repeated("event.isFatal || ", 5'000) + "\"\n"), "fine");
}

TEST(TableReader, ToleratesAnyCaseAndReportsWhatItCannotUse) {
  std::string text = "Name = 'n'\ncount = '3'\nother = 1\nflag = 1\nTwice = 1\ntwice = 2\n[sub]\n[[list]]\n[[list]]\n";
  Findings findings;
  const auto table = parse_toml(text, findings);
  ASSERT_TRUE(table);
  TableReader in(*table, "p.", findings);
  EXPECT_EQ(in.text("name"), "n");
  EXPECT_EQ(in.whole_number("count"), std::nullopt);
  EXPECT_EQ(in.flag("flag"), std::nullopt);
  EXPECT_EQ(in.whole_number("twice"), std::nullopt);
  EXPECT_EQ(in.table("count"), nullptr);
  EXPECT_NE(in.table("SUB"), nullptr);
  int tables = 0;
  in.each_table("list", [&](const toml::table&, std::size_t) { ++tables; });
  in.each_table("sub", [&](const toml::table&, std::size_t) { ++tables; });
  EXPECT_EQ(tables, 2);
  in.warn_of_unknown();
  std::string all;
  for (const Finding& one : findings) all += fmt::format("{}:{} {}\n", one.place.line, one.place.column, one.message);
  EXPECT_EQ(all,
            "2:9 p.count: must be a whole number, not text\n"
            "4:8 p.flag: must be true or false, not a whole number\n"
            "5:9 p.twice: given twice, also as Twice\n"
            "2:9 p.count: must be a table, as in [count], not text\n"
            "7:1 p.sub: must be a list of tables, as in [[sub]], not a table\n"
            "3:1 p.other: unknown key, ignored\n");
}

}  // namespace
}  // namespace nodeward::config
