// What an expression may use: variables, extensions, functions. Set up once, then compile any number of expressions:
//   cel::Environment rules;
//   rules.variable("event").extension(cel::Extension::kStrings);
//   auto program = rules.compile("event.isFatal", cel::Wanted::kBool);
//   const cel::Value verdict = program->evaluate(values, scratch);   // values in the order of the variables
// Not for use by two threads while it is being set up; compile() may be called by any number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cel/compile_error.h"
#include "cel/function.h"
#include "cel/program.h"

namespace nodeward::cel {

// kSpecificationOffsets: 'abc'.indexOf('a', 9) is an error, as the specification's cases have it; without it -1, as in cel-go.
enum class Extension { kStrings, kMath, kEncoders, kOptionals, kBindings, kTwoVariableMacros, kSpecificationOffsets };

// What the caller needs. An expression that can never yield it is refused; one that happens not to yields an error value.
enum class Wanted { kAny, kBool, kInt };

struct CompileOptions {
  Wanted wanted = Wanted::kAny;
  std::string container;        // names are looked up here first: "a.b" makes x mean a.b.x, a.x or x
  bool macros = true;
  bool unknown_names = false;   // accepted: using one is an error value, where else it is refused here
  bool traced = false;          // for explain(): slower, keeps the value of each part
};

class Environment {
 public:
  Environment();   // the standard definitions

  Environment& variable(std::string name);
  Environment& extension(Extension extension);
  Environment& all_extensions();
  Environment& function(std::string name, FunctionShape shape, FunctionBody body);

  tl::expected<Program, CompileError> compile(std::string_view text, const CompileOptions& options) const;
  tl::expected<Program, CompileError> compile(std::string_view text, Wanted wanted) const;

  const std::vector<std::string>& variables() const { return variables_; }
  const std::vector<Function>& functions() const { return functions_; }
  bool has(Extension extension) const { return (extensions_ & (1U << static_cast<unsigned>(extension))) != 0; }

 private:
  std::vector<std::string> variables_;
  std::vector<Function> functions_;
  unsigned extensions_ = 0;
};

}  // namespace nodeward::cel
