# nw_library(NAME SOURCES a.cc ... [LINKS ...] [PRIVATE ...]): one static library of one folder, headers found from src/.
#   LINKS repeats the include rule (tests/layering compares the two); PRIVATE is for third-party libraries that stop here.
#   nodeward::NAME is the same library. Within another project, where target names are shared, the target itself is nodeward_NAME;
#   a name in LINKS without "::" is one of ours.
function(nw_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE" ${ARGN})
  set(target ${name})
  if(NOT PROJECT_IS_TOP_LEVEL)
    set(target nodeward_${name})
    list(TRANSFORM ARG_LINKS PREPEND nodeward_ REGEX "^[a-z_]+$")
  endif()
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(nodeward::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)    # the headers need it too
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE})
endfunction()

# nw_program(NAME SOURCES ... LINKS ...): a program in <build>/bin.
function(nw_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
endfunction()

# nw_test(NAME SOURCES ... LINKS ...): one test binary per folder, <build>/tests/NAME_test. Every such binary is run by
#   scripts/test.sh; it finds its data below NW_SOURCE_DIR. Within another project there are none.
function(nw_test name)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(${name}_test PRIVATE NW_SOURCE_DIR="${PROJECT_SOURCE_DIR}" NW_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name}_test PRIVATE ${ARG_LINKS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()

# nw_bench(NAME SOURCES ... LINKS ...): a measurement, <build>/bench/NAME. Built by the target bench_all only; run by
#   scripts/bench.sh.
function(nw_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name}_bench EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(${name}_bench PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  target_compile_definitions(${name}_bench PRIVATE NW_SOURCE_DIR="${PROJECT_SOURCE_DIR}" NW_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_include_directories(${name}_bench PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(${name}_bench PRIVATE ${ARG_LINKS})
  add_dependencies(bench_all ${name}_bench)
endfunction()
