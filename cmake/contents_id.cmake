# Sets `out` to 16 hexadecimal digits that change with the contents of any of the files. Functions of a library that is
# opened at run time carry them in their names: a program and a library that were built from different headers do not
# find each other.
function(kiln_contents_id out)
  set(contents "")
  foreach(file ${ARGN})
    file(SHA256 ${file} hash)
    string(APPEND contents ${hash})
  endforeach()
  string(SHA256 id "${contents}")
  string(SUBSTRING ${id} 0 16 id)
  set(${out} ${id} PARENT_SCOPE)
endfunction()
