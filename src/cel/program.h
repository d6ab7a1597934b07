// A compiled expression. evaluate() may be called by any number of threads, each with its own Scratch. Once the Scratch is
// warm, an expression that builds no list, map or text does not touch the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cel/function.h"
#include "cel/value.h"

namespace nodeward::cel {

class Node;
class Compiler;
struct Syntax;

// The memory of one evaluation. The result, and texts within it, live until the next evaluation with the same Scratch.
class Scratch {
 public:
  Arena& arena() { return arena_; }

 private:
  Arena arena_;
};

// A member of a variable that the expression looks at: node.metadata.labels['k'] has the path metadata, labels, k. All below
// the end of the path counts as looked at, unless only its presence is asked for. What lies on the way to it must keep
// telling present from absent: 'k' in node.metadata.labels is an error on a node without labels.
struct Touch {
  std::string variable;
  std::vector<std::string> path;
  bool presence_only = false;   // has(node.metadata.labels): nothing below is needed

  friend bool operator==(const Touch&, const Touch&) = default;
  friend auto operator<=>(const Touch&, const Touch&) = default;
};

// The value that one part of a traced program had.
struct Part {
  std::string_view text;        // lives in the program
  std::size_t at = 0;           // byte of the expression that an error about it points to
  std::size_t depth = 0;
  bool evaluated = false;       // false: short-circuited
  std::size_t times = 0;        // in a macro: how often; the value is the last
  Value value;
};

// Steps one evaluation may take: each round of a macro costs the size of its body, building text or lists costs its size.
constexpr std::int64_t kCostLimit = 1'000'000;

class Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // `variables` in the order in which the environment declares them; it must hold all of them.
  Value evaluate(std::span<const Value> variables, Scratch& scratch) const;
  // For a traced program: the parts in the order of the text, outer ones first.
  Value explain(std::span<const Value> variables, Scratch& scratch, std::vector<Part>& parts) const;

  const std::vector<Touch>& touches() const { return touches_; }   // sorted, without repeats
  Kinds result() const { return result_; }                         // what it can yield, as far as the text tells

 private:
  friend class Compiler;
  friend class Environment;
  Program();

  std::unique_ptr<Syntax> syntax_;      // owns texts and literals of the nodes
  std::unique_ptr<Arena> constants_;    // values worked out while compiling
  std::unique_ptr<const Node> root_;
  std::vector<Touch> touches_;
  Kinds result_ = kAnyKind;
  Kinds accepted_ = kAnyKind;           // of Wanted
  std::size_t slots_ = 0;
  std::size_t variables_ = 0;           // how many the environment declared
};

}  // namespace nodeward::cel
