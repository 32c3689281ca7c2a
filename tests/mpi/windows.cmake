# SPDX-License-Identifier: BSD-3-Clause
# Windows and one-sided communication.
# One-sided operations against a naive reference: SEED TRIALS. By messages: as between nodes, also within one.
mpi_program(windows_any)
target_sources(windows_any PRIVATE coll_any_layout.c)
mpi_run(alone windows_any RZRUN -n 1 ARGS 1 100)
mpi_run(pair windows_any RZRUN -n 2 ARGS 2 60)
mpi_run(five windows_any RZRUN -n 5 ARGS 3 30)
mpi_run(messages windows_any RZRUN -n 4 -x RZ_RMA=message ARGS 4 30)
mpi_run(nodes windows_any RZRUN -n 3 --nodes 3 ARGS 5 30)
mpi_run(mixed windows_any RZRUN -n 5 --nodes 2 ARGS 6 30)

mpi_program(windows_passive)
mpi_run(alone windows_passive RZRUN -n 1)
mpi_run(one_node windows_passive RZRUN -n 4)
mpi_run(messages windows_passive RZRUN -n 3 -x RZ_RMA=message ARGS 40)
mpi_run(nodes windows_passive RZRUN -n 4 --nodes 2 ARGS 40)
mpi_run(apart windows_passive RZRUN -n 3 --nodes 3 ARGS 40)

mpi_program(windows_failure)
mpi_fails(one_node windows_failure 0 "windows: correct" RZRUN -n 12)
mpi_fails(messages windows_failure 0 "windows: correct" RZRUN -n 11 -x RZ_RMA=message)
mpi_fails(nodes windows_failure 0 "windows: correct" RZRUN -n 12 --nodes 3)
mpi_fails(apart windows_failure 0 "windows: correct" RZRUN -n 11 --nodes 11)
mpi_run(no_ft windows_failure RZRUN -n 8 --nodes 2 --no-ft ARGS 5)

# What is on its way to some delays nothing to others.
mpi_program(windows_beside)
mpi_run(messages windows_beside RZRUN -n 10 -x RZ_RMA=message)
mpi_run(nodes windows_beside RZRUN -n 10 --nodes 10)

# No operation waits for a target that is outside MPI.
mpi_program(windows_outside)
mpi_run(messages windows_outside RZRUN -n 2 -x RZ_RMA=message)
mpi_run(one_node windows_outside RZRUN -n 2)
mpi_run(nodes windows_outside RZRUN -n 2 --nodes 2)

# Long rows, which go as messages: SEED ROUNDS, or failures while they move.
mpi_program(windows_rows)
mpi_run(alone windows_rows RZRUN -n 1 ARGS 1 10)
mpi_run(messages windows_rows RZRUN -n 4 -x RZ_RMA=message ARGS 2 25)
mpi_run(pair windows_rows RZRUN -n 2 ARGS 5 25)
mpi_run(nodes windows_rows RZRUN -n 3 --nodes 3 ARGS 3 25)
mpi_run(mixed windows_rows RZRUN -n 5 --nodes 2 ARGS 4 25)
mpi_fails(fails_messages windows_rows 0 "rows: correct" RZRUN -n 6 -x RZ_RMA=message ARGS fails)
mpi_fails(fails_nodes windows_rows 0 "rows: correct" RZRUN -n 6 --nodes 3 ARGS fails)
mpi_fails(fails_apart windows_rows 0 "rows: correct" RZRUN -n 5 --nodes 5 ARGS fails)
mpi_tsan(windows_rows mixed)

mpi_program(windows_objects)
mpi_run(alone windows_objects RZRUN -n 1)
mpi_run(one_node windows_objects RZRUN -n 4)
mpi_run(nodes windows_objects RZRUN -n 4 --nodes 2)

# Changes of memory of the user that its owner carries out for others; a rank fails on the way.
mpi_program(windows_owner_requests)
mpi_run(one_node windows_owner_requests RZRUN -n 4 ARGS none)
mpi_run(pair windows_owner_requests RZRUN -n 2 ARGS none)
mpi_run(messages windows_owner_requests RZRUN -n 3 -x RZ_RMA=message ARGS none)
foreach(point owner-request-taken owner-request-done)
  mpi_fails(${point} windows_owner_requests 0 "windows: correct" RZRUN -n 3 -x RZ_KILL_AT=${point}:50@0 ARGS 0)
endforeach()
mpi_fails(owner-request-asked windows_owner_requests 0 "windows: correct" RZRUN -n 4 -x RZ_KILL_AT=owner-request-asked:50@1 ARGS 1)

# Long rows in memory of the user, of which its owner copies pieces; a rank fails on the way. Where there are more ranks than
# processors no owner is asked.
mpi_program(windows_shares)
mpi_run(pair windows_shares RZRUN -n 2 ARGS none)
mpi_run(three windows_shares RZRUN -n 3 ARGS none)
mpi_run(messages windows_shares RZRUN -n 3 -x RZ_RMA=message ARGS none)
foreach(point share-taken:40@1 share-taken:200@1)
  mpi_fails(${point} windows_shares 0 "shares: correct" RZRUN -n 2 -x RZ_KILL_AT=${point} ARGS 1)
endforeach()
foreach(point share-asked:20@0 share-asked:30@0)
  mpi_fails(${point} windows_shares 0 "shares: correct" RZRUN -n 2 -x RZ_KILL_AT=${point} ARGS 0)
endforeach()

# Global restart while windows are in use; several threads.
mpi_program(windows_reinit)
mpi_run(one_node windows_reinit RZRUN -n 4 --max-restarts 0 ARGS 4)
mpi_run(nodes windows_reinit RZRUN -n 4 --nodes 2 --max-restarts 0 ARGS 4)
mpi_program(windows_threads)
mpi_run(one_node windows_threads RZRUN -n 3)
mpi_run(nodes windows_threads RZRUN -n 3 --nodes 3)
mpi_tsan(windows_threads one_node nodes)

# Windows in checkpoints, taken in the middle of epochs.
mpi_program(checkpoint_windows)
mpi_run(alone checkpoint_windows RZRUN -n 1)
mpi_run(one_node checkpoint_windows RZRUN -n 5)
mpi_run(messages checkpoint_windows RZRUN -n 4 -x RZ_RMA=message)
mpi_run(nodes checkpoint_windows RZRUN -n 5 --nodes 2)
mpi_run(no_ft checkpoint_windows RZRUN -n 3 --no-ft)
mpi_tsan(checkpoint_windows nodes)
mpi_program(checkpoint_window_freed)
mpi_run(no_ft checkpoint_window_freed RZRUN -n 3 --no-ft)
foreach(what table seeds)
  add_test(NAME checkpoint_kills_windows_${what} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/checkpoint_kills.py
           $<TARGET_FILE:rzrun> $<TARGET_FILE:checkpoint_windows> ${what} 1..6 --scheme each)
  set_tests_properties(checkpoint_kills_windows_${what} PROPERTIES LABELS mpi)
endforeach()

rz_quick(windows_any_pair windows_any_mixed windows_passive_nodes)
rz_test_target(quick windows_any windows_passive)
