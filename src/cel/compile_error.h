// What is wrong with an expression, and where. to_text() shows the place:
//   1:1: unknown name 'evnt'
//     evnt.isFatal
//     ^
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nodeward::cel {

struct CompileError {
  std::string message;
  std::size_t line = 1, column = 1;   // from 1; columns count code points
  std::string excerpt;                // the line, cut around the place when it is long
  std::string caret;                  // spaces and one ^, to be put under the excerpt

  std::string to_text() const;
};

// Works out line, column and excerpt of the byte `at` of `text`.
CompileError compile_error_at(std::string_view text, std::size_t at, std::string message);

}  // namespace nodeward::cel
