! SPDX-License-Identifier: BSD-3-Clause
! A rank kills itself while the others wait in operations on sections: they end with an error, no element outside of a section changes, and what the
! requests held is gone.
program fortran_sections_failure
  use mpi_f08
  use rhizome_f08
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
#include "raise.inc"
  type(MPI_Comm) :: rest
  type(MPI_Request) :: request, again
  integer :: a(4, 600), b(4, 600), me, n, ierror, class, sum(2, 3)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  a = me
  b = -1
  call MPI_Allreduce_init(a(2, ::2), b(3, ::2), 300, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, again)
  if (me == n - 1) ierror = c_raise(9)
  call MPI_Iallreduce(a(1, :), b(2, :), 600, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
  if (ierror == MPI_SUCCESS) call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call failed('MPI_Iallreduce')
  call MPI_Start(again, ierror)
  if (ierror == MPI_SUCCESS) call MPI_Wait(again, MPI_STATUS_IGNORE, ierror)
  call failed('MPI_Allreduce_init')
  call MPI_Request_free(again, ierror)
  if (any(b(1, :) /= -1) .or. any(b(4, :) /= -1) .or. any(b(3, 2::2) /= -1)) call stop_at('the rest of the array')
  call MPIX_Comm_shrink(MPI_COMM_WORLD, rest, ierror)
  if (ierror /= MPI_SUCCESS) call stop_at('MPIX_Comm_shrink')
  sum = -1
  call MPI_Iallreduce(a(1, 1:3), sum(1, :), 3, MPI_INTEGER, MPI_SUM, rest, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  if (any(sum(1, :) /= (n - 1) * (n - 2) / 2) .or. any(sum(2, :) /= -1)) call stop_at('the sum of the rest')
  if (me == 0) print '(a)', 'fortran: one is gone'
  call MPI_Comm_free(rest, ierror)
  call MPI_Finalize(ierror)
contains
  subroutine failed(what)
    character(len=*), intent(in) :: what
    call MPI_Error_class(ierror, class)
    if (class /= MPI_ERR_PROC_FAILED) call stop_at(what // ' without a failed rank')
  end subroutine

  subroutine stop_at(what)
    character(len=*), intent(in) :: what
    print '(a, i0, 2a)', 'rank ', me, ': not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 3)
  end subroutine
end program
