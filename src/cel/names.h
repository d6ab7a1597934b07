// What the names of an expression stand for: variables of the environment, types, variables of the macros around. Private to
// this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax.h"
#include "cel/value.h"

namespace nodeward::cel {

// A variable and literal keys below it: node.metadata.labels['k'].
struct Path {
  std::size_t variable = 0;
  std::vector<Key> keys;
};

// What a.b.c begins with: the longest part that is the full name of a variable or a type.
struct Named {
  std::size_t consumed = 0;   // how many of the names it took
  std::optional<std::size_t> variable;
  Value type;
};

using NameList = std::vector<const Expr*>;   // the identifier first, then selections
std::string joined(std::span<const Expr* const> names);

class Names {
 public:
  Names(const std::vector<std::string>& variables, std::string_view container);

  // Variables of macros. A macro's second variable is pushed after its first; slots are numbered from the outermost.
  std::size_t push(std::string_view name);
  void pop_to(std::size_t size) { locals_.resize(size); }
  std::size_t depth() const { return locals_.size(); }
  std::optional<std::size_t> find_local(const Expr& ident) const;   // its slot

  // a.b.c, when it is nothing but names and its head is no macro variable.
  std::optional<NameList> plain(const Expr& expr) const;
  std::optional<Named> resolve(std::span<const Expr* const> names) const;
  std::optional<Path> as_path(const Expr& expr) const;
  std::string unknown(const Expr& name) const;   // the message for a name that stands for nothing

  // Calls use(full name) for each place the name could stand for, the nearest first, until it says yes.
  template <class Use>
  bool in_containers(std::string_view name, bool absolute, Use&& use) const {
    if (absolute) return use(std::string(name));
    for (const std::string& container : containers_) {
      if (use(container + std::string(name))) return true;
    }
    return false;
  }

 private:
  const std::vector<std::string>& variables_;
  std::vector<std::string> containers_;   // "a.b.", "a.", ""
  std::vector<std::string_view> locals_;  // index: slot
};

// The key of a.b or a['b'].
std::optional<std::string_view> literal_key(const Expr& expr);

}  // namespace nodeward::cel
