! SPDX-License-Identifier: BSD-3-Clause
! A rank kills itself; the others agree, shrink and go on. WAY 2: modules mpi and rhizome; 3: mpi_f08 and rhizome_f08. EXT: the names of Open MPI,
! also mpif-ext.h beside mpif.h.
#include "ways.inc"
program fortran_ulfm
  use, intrinsic :: iso_c_binding, only: c_int
#if WAY == 3 && defined(EXT)
  use mpi_f08
  use mpi_f08_ext
#elif WAY == 3
  use mpi_f08
  use rhizome_f08
#elif WAY == 2 && defined(EXT)
  use mpi_ext
#elif WAY == 2
  use mpi
  use rhizome
#endif
  implicit none
#if WAY == 1
  include 'mpif.h'
  include 'mpif-ext.h'
#endif
#include "raise.inc"
  HANDLE(MPI_Comm) :: rest
  HANDLE(MPI_Group) :: failed
  HANDLE(MPI_Request) :: request
  integer :: me, n, ierror, class, error, all, sum
  logical :: revoked
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  if (me == n - 2) ierror = c_raise(9)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Error_class(ierror, class, error)
#ifdef EXT
  if (MPIX_ERR_PROC_FAILED /= MPI_ERR_PROC_FAILED .or. MPIX_ERR_REVOKED /= MPI_ERR_REVOKED) call stop_at('the error classes')
#endif
  if (class /= MPI_ERR_PROC_FAILED .and. class /= MPI_ERR_REVOKED) call stop_at('a barrier without a failed rank')
  call MPIX_Comm_revoke(MPI_COMM_WORLD, ierror)
  call MPIX_Comm_is_revoked(MPI_COMM_WORLD, revoked, ierror)
  if (.not. revoked) call stop_at('MPIX_Comm_is_revoked')
  all = ieor(-1, ishft(1, me))
  call MPIX_Comm_agree(MPI_COMM_WORLD, all, ierror)
  if (iand(all, ishft(1, me)) /= 0) call stop_at('MPIX_Comm_agree')
  all = 6
  call MPIX_Comm_iagree(MPI_COMM_WORLD, all, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  if (all /= 6) call stop_at('MPIX_Comm_iagree')
  call MPIX_Comm_shrink(MPI_COMM_WORLD, rest, ierror)
  if (ierror /= MPI_SUCCESS) call stop_at('MPIX_Comm_shrink')
  call MPIX_Comm_get_failed(MPI_COMM_WORLD, failed, ierror)
  call MPI_Group_size(failed, error, ierror)
  if (error /= 1) call stop_at('MPIX_Comm_get_failed')
  call MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, error, ierror)
  if (error /= 1) call stop_at('MPIX_Comm_ack_failed')
  call MPI_Group_free(failed, ierror)
  call MPI_Comm_size(rest, error, ierror)
  call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, rest, ierror)
  if (ierror /= MPI_SUCCESS .or. sum /= n - 1 .or. error /= n - 1) call stop_at('the rest')
  if (me == 0) print '(a)', 'fortran: one is gone'
  call MPI_Comm_free(rest, ierror)
  call MPI_Finalize(ierror)
contains
  subroutine stop_at(what)
    character(len=*), intent(in) :: what
    integer :: e
    print '(a, i0, 2a)', 'rank ', me, ': not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 3, e)
  end subroutine
end program
