# CUTLASS's headers, for the target cutlass_gemm alone: where RIDGE_CUTLASS says, or where the Python package nvidia-cutlass has
# them. Without them the target says "not built".
set(RIDGE_CUTLASS "" CACHE PATH "folder with cutlass/cutlass.h: CUTLASS 4's include folder")
if(RIDGE_HAVE_CUDA AND NOT RIDGE_CUTLASS)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(Python3_FOUND)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import importlib.util as u; print(u.find_spec('cutlass_library').submodule_search_locations[0])"
                    OUTPUT_VARIABLE package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(package AND EXISTS ${package}/source/include/cutlass/cutlass.h)
      set(RIDGE_CUTLASS ${package}/source/include)
    endif()
  endif()
endif()
if(RIDGE_HAVE_CUDA AND RIDGE_CUTLASS)
  if(NOT EXISTS ${RIDGE_CUTLASS}/cutlass/cutlass.h)
    message(FATAL_ERROR "RIDGE_CUTLASS: ${RIDGE_CUTLASS} has no cutlass/cutlass.h")
  endif()
  message(STATUS "ridge: cutlass_gemm with the headers in ${RIDGE_CUTLASS}")
  set(folder ${PROJECT_SOURCE_DIR}/targets/cutlass_gemm)
  set_property(SOURCE ${folder}/target.c ${folder}/cuda.cu APPEND PROPERTY COMPILE_DEFINITIONS RIDGE_HAVE_CUTLASS=1)
  set_property(SOURCE ${folder}/cuda.cu APPEND PROPERTY COMPILE_OPTIONS "-isystem=${RIDGE_CUTLASS};-DNDEBUG") # its asserts are calls
endif()
