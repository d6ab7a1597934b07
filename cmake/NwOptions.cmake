# Compiler, linker and sanitizer choices of the whole tree. A preset sets them; nothing else should.
# Within another project (docs/client.md) only what the code itself needs is chosen here, the rest is that project's.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# simdjson chooses its on-demand kernel when it is compiled: without SSE 4.2 and PCLMUL (any x86 server since 2011) it is scalar.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=x86-64-v2 -mpclmul)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

if(NOT PROJECT_IS_TOP_LEVEL)
  add_compile_options(-w)    # the warnings that project asks for, perhaps as errors, are for its own code
  return()
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(NW_WERROR "Warnings are errors" OFF)
set(NW_SANITIZE "" CACHE STRING "Value for -fsanitize=, empty for none")

find_program(NW_CCACHE ccache)
if(NW_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${NW_CCACHE})
endif()
find_program(NW_MOLD mold)
if(NW_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -g1: line tables are all that a stack trace needs, at a third of the size of full debug information.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(NW_WERROR)
  add_compile_options(-Werror)
endif()
if(NW_SANITIZE)
  add_compile_options(-fsanitize=${NW_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${NW_SANITIZE})
endif()

find_package(GTest REQUIRED)
include(GoogleTest)
