#include "sim/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "sim/names.h"

namespace nodeward::sim {
namespace {

constexpr std::string_view kSpecial = "!=<>(),";

// Fields that are booleans: absent means false.
bool is_boolean_field(const std::vector<std::string>& path) {
  return path.back() == "unschedulable" || path.back() == "hostNetwork";
}

// The name that the stored object has for a field of another version's form.
std::string stored_name(std::string_view name, const Resource& resource) {
  for (const Rename& rename : resource.renames) {
    if (split(name, '.').front() == rename.shown)
      return std::string(rename.stored) + std::string(name.substr(rename.shown.size()));
  }
  return std::string(name);
}

}  // namespace

// The grammar of labels.Parse: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a>1`, `a<1`, joined by commas.
class Selector::LabelParser {
 public:
  explicit LabelParser(std::string_view text) : text_(text) { advance(); }

  Answered<std::vector<Label>> parse() {
    std::vector<Label> labels;
    while (!token_.empty()) {
      if (token_ == "," || (is_special(token_) && token_ != "!")) {
        return tl::unexpected(bad_request(fmt::format("found '{}', expected: !, identifier, or 'end of string'", token_)));
      }
      auto label = requirement();
      if (!label) return tl::unexpected(bad_request("unable to parse requirement: " + error_));
      labels.push_back(std::move(*label));
      if (token_.empty()) break;
      if (token_ != ",") return tl::unexpected(bad_request(fmt::format("found '{}', expected: ',' or 'end of string'", token_)));
      advance();
      if (token_.empty()) {
        return tl::unexpected(bad_request("found '', expected: identifier after ','"));
      }
    }
    return labels;
  }

 private:
  static bool is_special(std::string_view token) { return kSpecial.find(token.front()) != std::string_view::npos; }

  void advance() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    const std::size_t start = at_;
    const auto ends = [&] {
      return at_ >= text_.size() || std::isspace(static_cast<unsigned char>(text_[at_])) ||
             kSpecial.find(text_[at_]) != std::string_view::npos;
    };
    while (!ends()) ++at_;
    if (at_ == start && at_ < text_.size()) {
      ++at_;
      if (at_ < text_.size() && text_[at_] == '=' && (text_[start] == '=' || text_[start] == '!')) ++at_;
    }
    token_ = text_.substr(start, at_ - start);
  }

  std::optional<Label> complain(std::string error) {
    error_ = std::move(error);
    return std::nullopt;
  }

  std::optional<Label> requirement() {
    Label label;
    if (token_ == "!") {
      label.test = Test::kAbsent;
      advance();
    }
    if (token_.empty() || is_special(token_)) return complain(fmt::format("found '{}', expected: identifier", token_));
    label.key = token_;
    if (const auto wrong = check_qualified_name(label.key); !wrong.empty()) {
      return complain(fmt::format("<nil>: Invalid value: {}: {}", json_quoted(label.key), wrong.front()));
    }
    advance();
    if (label.test == Test::kAbsent || token_.empty() || token_ == ",") return label;
    return comparison(std::move(label));
  }

  std::optional<Label> comparison(Label label) {
    const std::string_view word = token_;
    advance();
    if (word == "in" || word == "notin") {
      label.test = word == "in" ? Test::kIn : Test::kNotIn;
      if (!read_set(label)) return std::nullopt;
    } else if (word == "=" || word == "==" || word == "!=" || word == ">" || word == "<") {
      label.test = word == ">" ? Test::kGreater : word == "<" ? Test::kLess : word == "!=" ? Test::kNotIn : Test::kIn;
      const bool has_value = !token_.empty() && token_ != ",";
      label.values.emplace_back(has_value ? token_ : "");
      if (has_value) advance();
    } else {
      return complain(fmt::format("found '{}', expected: in, notin, =, ==, !=, gt, lt", word));
    }
    for (std::size_t i = 0; i < label.values.size(); ++i) {
      const std::string& value = label.values[i];
      if (const auto wrong = check_label_value(value); !wrong.empty()) {
        return complain(fmt::format("values[{}][{}]: Invalid value: {}: {}", i, label.key, json_quoted(value), wrong.front()));
      }
      if ((label.test == Test::kGreater || label.test == Test::kLess) && !parse_int(value)) {
        return complain(fmt::format("values[{}][{}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                                    i, label.key, json_quoted(value)));
      }
    }
    return label;
  }

  bool read_set(Label& label) {
    if (token_ != "(") return complain(fmt::format("found '{}' expected: '('", token_)).has_value();
    for (advance(); token_ != ")"; advance()) {
      if (token_.empty()) return complain("found '', expected: ',', or ')'").has_value();
      if (token_ == ",") continue;
      label.values.emplace_back(token_);
    }
    advance();
    if (label.values.empty()) label.values.emplace_back();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view token_;                        // empty: the end
  std::string error_;
};

Answered<Selector> Selector::parse(std::string_view labels, std::string_view fields, const Resource& resource) {
  Selector selector;
  auto parsed = LabelParser(labels).parse();
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  selector.labels_ = std::move(*parsed);
  for (const std::string& term : split(fields, ',')) {
    if (term.empty()) continue;
    const std::size_t equals = term.find('=');
    if (equals == std::string::npos) {
      return tl::unexpected(bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", fields, term)));
    }
    const bool negated = equals > 0 && term[equals - 1] == '!';
    const std::string name = term.substr(0, negated ? equals - 1 : equals);
    const bool known = name == "metadata.name" || (name == "metadata.namespace" && resource.namespaced) ||
                       std::find(resource.fields.begin(), resource.fields.end(), name) != resource.fields.end();
    if (!known) return tl::unexpected(bad_request("field label not supported: " + name));
    const std::size_t value = term.compare(equals, 2, "==") == 0 ? equals + 2 : equals + 1;
    selector.fields_.push_back({split(stored_name(name, resource), '.'), !negated, term.substr(value)});
  }
  return selector;
}

bool Selector::holds(const Label& label, const Doc& labels) {
  const Doc& value = labels.at(label.key);
  const auto listed = [&] { return std::find(label.values.begin(), label.values.end(), value.text()) != label.values.end(); };
  switch (label.test) {
    case Test::kExists: return !value.is_null();
    case Test::kAbsent: return value.is_null();
    case Test::kIn: return !value.is_null() && listed();
    case Test::kNotIn: return value.is_null() || !listed();
    case Test::kGreater:
    case Test::kLess: {
      const auto number = parse_int(value.text());
      if (!number) return false;
      const auto limit = parse_int(label.values.front()).value_or(0);
      return label.test == Test::kGreater ? *number > limit : *number < limit;
    }
  }
  return false;
}

bool Selector::matches(const Doc& object) const {
  if (!labels_.empty()) {
    const Doc& labels = object.at({"metadata", "labels"});
    if (!std::all_of(labels_.begin(), labels_.end(), [&](const Label& label) { return holds(label, labels); })) return false;
  }
  return std::all_of(fields_.begin(), fields_.end(), [&](const Field& field) {
    const Doc* here = &object;
    for (const std::string& key : field.path) here = &here->at(key);
    const std::string_view value = here->is_null() && is_boolean_field(field.path) ? "false" : here->text();
    return (value == field.value) == field.equal;
  });
}

}  // namespace nodeward::sim
