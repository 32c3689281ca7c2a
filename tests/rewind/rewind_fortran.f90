! SPDX-License-Identifier: BSD-3-Clause
! A program in Fortran that knows nothing of failures: allocatable arrays that grow and go, an open unit with
! buffered lines, and one that is opened, appended to and closed in each step.
!
!   rewind_fortran STEPS FOLDER
program rewind_fortran
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  type row
    real(real64), allocatable :: numbers(:)
  end type row
  type(row) :: rows(50)
  character(len=300) :: word, folder
  integer :: rank, n_ranks, steps, step, at, unit, log, read_step, lines, status
  integer(int64) :: wrong, all_wrong
  real(real64) :: mine, together, total

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks)
  call get_command_argument(1, word)
  read (word, *) steps
  call get_command_argument(2, folder)
  write (word, '(a,a,i0)') trim(folder), '/unit', rank
  open (newunit=unit, file=trim(word), status='replace', action='readwrite')
  write (word, '(a,a,i0)') trim(folder), '/log', rank
  open (newunit=log, file=trim(word), status='replace')
  close (log)
  total = 0
  do step = 0, steps - 1
    at = mod(step * 7, 50) + 1
    if (allocated(rows(at)%numbers)) deallocate (rows(at)%numbers)
    allocate (rows(at)%numbers(mod(step * 331, 20000) + 1))
    rows(at)%numbers = real(step + rank, real64) / 8
    mine = sum(rows(at)%numbers)
    if (allocated(rows(mod(step, 50) + 1)%numbers)) mine = mine + sum(rows(mod(step, 50) + 1)%numbers)
    write (unit, '(i0,1x,f0.3)') step, mine
    open (newunit=log, file=trim(word), position='append')
    write (log, '(i0,1x,f0.3)') step, mine
    close (log)
    call sleep_a_little()
    call MPI_Allreduce(mine, together, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    total = total + together
    if (rank == 0 .and. mod(step, 20) == 0) print '(a,i0,a,f0.4)', 'step ', step, ': ', total
  end do
  wrong = 0
  call check_lines(unit)
  open (newunit=log, file=trim(word), action='read')
  call check_lines(log)
  close (log)
  close (unit)
  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) print '(i0,a,i0,a,f0.4,a,i0,a)', steps, ' steps of ', n_ranks, ' ranks: ', total, ', ', all_wrong, ' wrong'
  call MPI_Finalize()
contains
  ! A line for each step.
  subroutine check_lines(lines_of)
    integer, intent(in) :: lines_of
    lines = 0
    rewind (lines_of)
    do
      read (lines_of, *, iostat=status) read_step, mine
      if (status /= 0) exit
      if (read_step /= lines) wrong = wrong + 1
      lines = lines + 1
    end do
    if (lines /= steps) wrong = wrong + 1
  end subroutine check_lines

  ! As the computation of a real program would.
  subroutine sleep_a_little()
    integer(int64) :: begun, now, rate
    call system_clock(begun, rate)
    do
      call system_clock(now)
      if (now - begun > rate / 1000) exit
    end do
  end subroutine sleep_a_little
end program rewind_fortran
