! SPDX-License-Identifier: BSD-3-Clause
! Global restart: a rank kills itself in the middle, all continue with the newest checkpoint; a clean-up handler runs. WAY as in fortran_ulfm.
#include "ways.inc"
module work
  use, intrinsic :: iso_c_binding, only: c_int
#if WAY == 3
  use mpi_f08
  use rhizome_f08
#else
  use mpi
  use rhizome
#endif
  implicit none
#include "raise.inc"
  integer, parameter :: last = 12
  integer :: cleaned = 0, passes = 0
  integer, save, target :: step = 0
  double precision, save, target :: x(100) = 0
contains
  subroutine clean(state)
    integer :: state
    if (state == MPIX_REINIT_REINITED) cleaned = cleaned + 1
  end subroutine

  subroutine point(state, ierror)
    integer :: state, ierror
    integer :: me, n, incarnation, seen, error
    double precision :: sum
    integer(MPI_COUNT_KIND) :: generation
#if WAY == 3
    type(MPI_Win) :: win
#else
    integer :: win
#endif
    passes = passes + 1
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    call MPI_Comm_size(MPI_COMM_WORLD, n, error)
    call RZ_Incarnation(incarnation, error)
    call MPIX_Reinit_state(seen, error)
    if (seen /= state) call wrong('MPIX_Reinit_state')
    call MPIX_Reinit_cleanup_push(clean, error)
    call RZ_Checkpoint_protect(0, step, 4_MPI_ADDRESS_KIND, error)
    call MPI_Win_create(x, 800_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
    call RZ_Checkpoint_protect_win(1, win, error)
    if (error /= MPI_SUCCESS) call wrong('RZ_Checkpoint_protect_win')
    call RZ_Restore(generation, error)
    if (error /= MPI_SUCCESS) call wrong('RZ_Restore')
    if (generation == 0) then
      step = 0
      x = 0
    else if (any(x /= step)) then
      call wrong('what was restored')
    end if
    do while (step < last)
      call RZ_Progress_mark(int(step, MPI_COUNT_KIND), error)
      if (step == 6 .and. me == n - 1 .and. incarnation == 1) error = c_raise(9)
      call MPI_Allreduce(1.0d0, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
      x = x + sum / n
      step = step + 1
      call RZ_Checkpoint(generation, error)
      if (error /= MPI_SUCCESS) call wrong('RZ_Checkpoint')
    end do
    call MPI_Win_free(win, error)
    call MPIX_Reinit_cleanup_pop(0, error)
    if (any(x /= last)) call wrong('the sum')
    ierror = 42
  end subroutine

  subroutine wrong(what)
    character(len=*), intent(in) :: what
    integer :: error
    print '(2a)', 'not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 3, error)
  end subroutine
end module

program fortran_reinit
  use work
  implicit none
  integer :: me, n, incarnation, ierror
  call MPI_Init(ierror)
  call MPIX_Reinit(point, ierror)
  if (ierror /= 42) call wrong('the result of the restart point')
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call RZ_Incarnation(incarnation, ierror)
  if (me < n - 1 .and. (passes /= 2 .or. cleaned /= 1)) call wrong('the roll-back')
  if (me == n - 1 .and. incarnation /= 2) call wrong('the process that was started again')
  if (me == 0) print '(a)', 'fortran: restarted'
  call MPI_Finalize(ierror)
end program
