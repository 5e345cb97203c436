# Finds target folders and writes the registry from their names. In each folder:
#   target.c   the descriptor, compiled once, as is any other .c file
#   cpu*.c     kernels, compiled once for each instruction set
#   cuda*.cu   kernels for NVIDIA GPUs, compiled where nvcc is found; *_sm100.cu for compute capability 10.0 alone
#
# ridge_find_targets(<prefix> <registry.c> FOLDERS <parent…> [KNOWN <parent…>]) looks into every parent folder and sets
#   <prefix>_SOURCES      what is compiled once
#   <prefix>_CPU_SOURCES  what is compiled for each instruction set
#   <prefix>_CUDA_SOURCES what nvcc compiles
# The registry lists the targets of FOLDERS and KNOWN; sources are those of FOLDERS alone.
function(ridge_find_targets prefix registry)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FOLDERS;KNOWN")
  set(names "")
  set(once "")
  set(each_isa "")
  set(cuda "")
  foreach(parent IN LISTS arg_FOLDERS arg_KNOWN)
    file(GLOB descriptors CONFIGURE_DEPENDS ${parent}/*/target.c)
    foreach(descriptor IN LISTS descriptors)
      get_filename_component(folder ${descriptor} DIRECTORY)
      get_filename_component(name ${folder} NAME)
      if(name IN_LIST names)
        message(FATAL_ERROR "two targets are named ${name}: rename the folder ${folder}")
      endif()
      list(APPEND names ${name})
    endforeach()
  endforeach()
  foreach(parent IN LISTS arg_FOLDERS)
    file(GLOB sources CONFIGURE_DEPENDS ${parent}/*/*.c)
    file(GLOB cpu CONFIGURE_DEPENDS ${parent}/*/cpu*.c)
    if(cpu)
      list(REMOVE_ITEM sources ${cpu})
    endif()
    list(APPEND once ${sources})
    list(APPEND each_isa ${cpu})
    file(GLOB of_parent CONFIGURE_DEPENDS ${parent}/*/cuda*.cu)
    list(APPEND cuda ${of_parent})
  endforeach()
  list(SORT names)
  set(declarations "")
  set(entries "")
  list(LENGTH names count)
  foreach(name IN LISTS names)
    string(APPEND declarations "extern const ridge_target ridge_target_${name};\n")
    string(APPEND entries "    &ridge_target_${name},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${registry} @ONLY CONTENT
"/* Written by cmake/targets.cmake from the names of the target folders. */
#include \"ridge/target.h\"
@declarations@
const ridge_target *const ridge_targets[] = {
@entries@    0};
const int ridge_target_count = @count@;
")
  # Oracles are plain loops in fp64: optimized, but never reassociated.
  set_source_files_properties(${once} PROPERTIES COMPILE_OPTIONS "${RIDGE_ORACLE_FLAGS}")
  set(${prefix}_SOURCES ${once} PARENT_SCOPE)
  set(${prefix}_CPU_SOURCES ${each_isa} PARENT_SCOPE)
  set(${prefix}_CUDA_SOURCES ${cuda} PARENT_SCOPE)
endfunction()
