# ridge_embed(<file.c> <symbol> <file…>): C source with the texts of files as `const ridge_embedded <symbol>[]` (cli/embedded.h), a
# name and bytes each, ended by a name that is NULL. It is written anew when one of them changes.
function(ridge_embed output symbol)
  set(texts "")
  set(rows "")
  set(number 0)
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND texts "static const char text${number}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", text${number}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"/* Written by cmake/embed.cmake. */
#include \"cli/embedded.h\"

@texts@
const ridge_embedded @symbol@[] = {
@rows@    {0, 0}};
")
endfunction()
