#include "cel/environment.h"

#include "cel/node.h"

namespace nodeward::cel {

Environment::Environment() {
  add_standard_functions(functions_);
  add_time_functions(functions_);
}

Environment& Environment::variable(std::string name) {
  variables_.push_back(std::move(name));
  return *this;
}

Environment& Environment::extension(Extension extension) {
  if (has(extension)) return *this;
  extensions_ |= 1U << static_cast<unsigned>(extension);
  switch (extension) {
    case Extension::kStrings: add_string_functions(functions_); break;
    case Extension::kMath: add_math_functions(functions_); break;
    case Extension::kEncoders: add_encoder_functions(functions_); break;
    case Extension::kOptionals: add_optional_functions(functions_); break;
    case Extension::kSpecificationOffsets: add_specification_offsets(functions_); break;
    case Extension::kBindings:
    case Extension::kTwoVariableMacros: break;   // syntax only
  }
  return *this;
}

Environment& Environment::all_extensions() {
  for (const Extension each : {Extension::kStrings, Extension::kMath, Extension::kEncoders, Extension::kOptionals,
                               Extension::kBindings, Extension::kTwoVariableMacros, Extension::kSpecificationOffsets}) {
    extension(each);
  }
  return *this;
}

Environment& Environment::function(std::string name, FunctionShape shape, FunctionBody body) {
  functions_.push_back({std::move(name), shape, body});
  return *this;
}

}  // namespace nodeward::cel
