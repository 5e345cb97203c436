# emulator_add_program(<name> <sources…>): a CUDA program whose kernels are PTX, linked to the emulator instead of libcudart.
# nvcc compiles; no GPU and no driver are needed. EMULATOR_ARCHITECTURE names the PTX's target; a variable
# <name>_ARCHITECTURE, that of one program.
set(EMULATOR_ARCHITECTURE 90a CACHE STRING "compute capability of the programs' PTX")
set(EMULATOR_PTX_FLAGS -gencode arch=compute_${EMULATOR_ARCHITECTURE},code=compute_${EMULATOR_ARCHITECTURE}
    --compress-mode=none -lineinfo)

function(emulator_add_program name)
  set(objects "")
  set(flags ${EMULATOR_PTX_FLAGS})
  if(${name}_ARCHITECTURE)
    list(TRANSFORM flags REPLACE "${EMULATOR_ARCHITECTURE}" "${${name}_ARCHITECTURE}")
  endif()
  foreach(source ${ARGN})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(stem ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.${stem}.o)
    add_custom_command(OUTPUT ${object} DEPFILE ${object}.d DEPENDS ${path}
      COMMAND ${EMULATOR_CCACHE_COMMAND} ${EMULATOR_NVCC} ${flags} --cudart none -std=c++17 -O2 -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter
              -MD -MF ${object}.d -c ${path} -o ${object}
      COMMENT "nvcc ${stem}.cu to PTX" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_executable(${name} ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE emulator)
endfunction()
