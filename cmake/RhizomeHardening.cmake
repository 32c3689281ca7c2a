# SPDX-License-Identifier: BSD-3-Clause
# What makes attacks on memory harder, where compiler and linker take it (RZ_HARDENING): guards of return addresses and of stacks that
# grow, marked targets of indirect jumps, bounds of libc's buffers, relocations that are read-only before main(), and addresses that
# differ from run to run. Not with sanitizers, which look for the same and more.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

function(rz_hardened_option option)
  string(MAKE_C_IDENTIFIER "RZ_TAKES${option}" takes)
  check_c_compiler_flag(${option} ${takes})
  if(${takes})
    add_compile_options($<$<COMPILE_LANGUAGE:C>:${option}>)
  endif()
endfunction()

macro(rz_harden)
  foreach(option -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    rz_hardened_option(${option})
  endforeach()
  # Only where the compiler optimises; what a distribution has set for its packages is replaced, so that there is no warning.
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:-U_FORTIFY_SOURCE>
                      $<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:-D_FORTIFY_SOURCE=2>)
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,relro,-z,now)
  check_c_compiler_flag("" RZ_TAKES_RELRO)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(RZ_TAKES_RELRO)
    add_link_options(-Wl,-z,relro,-z,now)
  endif()
endmacro()

# For the components through which a small message goes, below the folder that calls this: the guard of a return address only in functions
# with an array of characters, not in all that pass the address of a local variable on, and no marked targets of jumps. Otherwise MPI_Send
# and MPI_Recv of 8 bytes take 6 % more instructions (tests/bench/calls_test.py counts them).
macro(rz_hot_path)
  if(RZ_HARDENING AND NOT RZ_SANITIZE AND RZ_TAKES_fstack_protector_strong)
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-fstack-protector>)
    if(RZ_TAKES_fcf_protection)
      add_compile_options($<$<COMPILE_LANGUAGE:C>:-fcf-protection=none>)
    endif()
  endif()
endmacro()

# No path of this machine in what is installed: two builds in two folders give the same files. Debuggers find the sources from the folder
# of the source tree. Not in builds for coverage or sanitizers, whose reports name files.
macro(rz_leave_out_paths)
  check_c_compiler_flag(-ffile-prefix-map=/nonexistent=. RZ_TAKES_PREFIX_MAP)
  foreach(place ${PROJECT_SOURCE_DIR}=. ${PROJECT_BINARY_DIR}=./build)
    if(RZ_TAKES_PREFIX_MAP)
      add_compile_options($<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-ffile-prefix-map=${place}>)
    endif()
  endforeach()
endmacro()
