# The emulator under libcudart's name: programs that were linked to the shared CUDA runtime run as they are, when they carry
# PTX as text. <build>/emulate program args… runs one.
set(emulator_cudart_folder ${CMAKE_CURRENT_BINARY_DIR}/cudart)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/cudart.map
"libcudart.so.13 { global: cuda*; __cuda*; local: *; };
libcuda.so.1 { global: cu[A-Z]*; emulator_*; } libcudart.so.13;
")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/cudart.c "/* all of the library's objects */\ntypedef int nothing_here;\n")
add_library(emulator_cudart SHARED ${CMAKE_CURRENT_BINARY_DIR}/cudart.c)
target_link_libraries(emulator_cudart PRIVATE -Wl,--whole-archive $<TARGET_FILE:emulator> -Wl,--no-whole-archive m)
add_dependencies(emulator_cudart emulator)
set_target_properties(emulator_cudart PROPERTIES OUTPUT_NAME cudart SOVERSION 13 LIBRARY_OUTPUT_DIRECTORY ${emulator_cudart_folder})
target_link_options(emulator_cudart PRIVATE -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/cudart.map)
add_custom_command(TARGET emulator_cudart POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink libcudart.so.13 ${emulator_cudart_folder}/libcuda.so.1)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/emulate @ONLY NEWLINE_STYLE UNIX CONTENT "#!/bin/sh
# emulate program args…: runs a CUDA program, linked to the shared CUDA runtime and with PTX inside, on the CPU.
export LD_LIBRARY_PATH=\"@emulator_cudart_folder@\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}\"
exec \"$@\"
")
file(CHMOD ${CMAKE_CURRENT_BINARY_DIR}/emulate PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
     WORLD_READ WORLD_EXECUTE)
