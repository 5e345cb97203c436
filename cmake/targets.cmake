# Finds targets/<name>/ folders and writes the registry from their names. In each folder:
#   target.c   the descriptor, compiled once, as is any other .c file
#   cpu*.c     kernels, compiled once for each instruction set
# and kernels/cpu/*.c is compiled for each instruction set, kernels/peer/*.c once.
function(ridge_find_targets)
  file(GLOB descriptors CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/*/target.c)
  file(GLOB target_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/*/*.c ${PROJECT_SOURCE_DIR}/kernels/peer/*.c)
  file(GLOB cpu_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/*/cpu*.c ${PROJECT_SOURCE_DIR}/kernels/cpu/*.c)
  list(FILTER target_c EXCLUDE REGEX "/cpu[^/]*\\.c$")

  set(declarations "")
  set(entries "")
  list(LENGTH descriptors count)
  foreach(descriptor IN LISTS descriptors) # file(GLOB) sorts
    get_filename_component(folder ${descriptor} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    string(APPEND declarations "extern const ridge_target ridge_target_${name};\n")
    string(APPEND entries "    &ridge_target_${name},\n")
  endforeach()
  set(registry ${PROJECT_BINARY_DIR}/registry.c)
  file(CONFIGURE OUTPUT ${registry} @ONLY CONTENT
"/* Written by cmake/targets.cmake from the folders under targets/. */
#include \"ridge/target.h\"
@declarations@
const ridge_target *const ridge_targets[] = {
@entries@    0};
const int ridge_target_count = @count@;
")
  # Oracles are plain loops in fp64: optimized, but never reassociated.
  set_source_files_properties(${target_c} PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno;-ffp-contract=off")
  set(RIDGE_TARGET_SOURCES ${target_c} PARENT_SCOPE)
  set(RIDGE_CPU_SOURCES ${cpu_c} PARENT_SCOPE)
  set(RIDGE_REGISTRY ${registry} PARENT_SCOPE)
endfunction()
