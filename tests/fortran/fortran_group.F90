! SPDX-License-Identifier: BSD-3-Clause
! A group monitor with functions of the program: rounds, then the last rank fails, and the others are told. WAY as in fortran_ulfm.
#include "ways.inc"
module watched
  use, intrinsic :: iso_c_binding, only: c_int
#if WAY == 3
  use mpi_f08
  use rhizome_f08
#else
  use mpi
  use rhizome
#endif
  implicit none
  integer(MPI_ADDRESS_KIND), parameter :: of_tests = 41, of_changes = 7
  integer, volatile :: tests = 0, wrong = 0, told = 0, changes = 0
  integer :: last
contains
  ! In a thread of the library.
  recursive subroutine answer(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    if (extra_state /= of_tests) wrong = 1
    tests = tests + 1
    ierror = 0
  end subroutine

  subroutine hear(rank, why, extra_state)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: rank, why, n, ierror
    call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
    if (extra_state /= of_changes .or. rank /= n - 1) wrong = 2
    changes = changes + 1
    told = why
  end subroutine
end module

program fortran_group
  use watched
  implicit none
#include "raise.inc"
  HANDLE(MPI_Comm) :: members
  HANDLE(MPI_Info) :: settings
  type(RZ_Group_monitor_state) :: known
  integer(MPI_ADDRESS_KIND) :: monitor
  integer(MPI_COUNT_KIND) :: progress, agreed, number
  integer, allocatable :: ranks(:)
  integer :: me, n, i, size, ierror, error
  logical :: lost, flag
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  last = n - 1
  call MPI_Info_create(settings, ierror)
  call MPI_Info_set(settings, 'interval', '20ms', ierror)
  call MPI_Info_set(settings, 'first_threshold', '600s', ierror) ! no process is slow here
  call MPI_Info_set(settings, 'least_threshold', '600s', ierror)
  monitor = RZ_GROUP_MONITOR_NULL
  call RZ_Group_monitor_start(MPI_COMM_WORLD, settings, answer, of_tests, monitor, ierror)
  if (ierror /= MPI_SUCCESS .or. monitor == RZ_GROUP_MONITOR_NULL) call stop_at('RZ_Group_monitor_start')
  call MPI_Info_free(settings, ierror)
  call RZ_Group_monitor_on_change(monitor, hear, of_changes, ierror)
  if (ierror /= MPI_SUCCESS) call stop_at('RZ_Group_monitor_on_change')
  allocate(ranks(n))

  do i = 1, 5
    progress = i
    call RZ_Group_monitor_round(monitor, progress, agreed, members, ierror)
    if (ierror /= MPI_SUCCESS .or. agreed /= progress) call stop_at('RZ_Group_monitor_round')
    call MPI_Comm_size(members, size, ierror)
    if (size /= n) call stop_at('the communicator of a round')
  end do
  call RZ_Group_monitor_get_round(monitor, number, size, ranks, ierror)
  if (number < 5 .or. size /= n .or. any(ranks /= [(i, i = 0, n - 1)])) call stop_at('RZ_Group_monitor_get_round')
  call RZ_Group_monitor_owner(monitor, last, i, ierror)
  if (i /= last) call stop_at('RZ_Group_monitor_owner')
  call PRZ_Group_monitor_get_state(monitor, last, known, ierror)
  if (known%why /= RZ_GROUP_RECOMMENDED .or. known%events /= 0) call stop_at('RZ_Group_monitor_get_state')
  call RZ_Group_monitor_get_state(monitor, n, known, ierror)
  call MPI_Error_class(ierror, i, error)
  if (i /= MPI_ERR_RANK) call stop_at('a rank that is not there')
  do while (tests == 0)
    call MPI_Iprobe(0, 0, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE, ierror)
  end do

  call RZ_Group_monitor_round(monitor, progress, agreed, members, ierror) ! all have looked
  if (me == last) ierror = c_raise(9)
  do while (size == n)
    call RZ_Group_monitor_round(monitor, progress, agreed, members, ierror)
    if (ierror /= MPI_SUCCESS) call stop_at('a round without a member')
    call MPI_Comm_size(members, size, ierror)
  end do
  do while (told /= RZ_GROUP_FAILED)
    call MPI_Iprobe(0, 0, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE, ierror)
  end do
  call RZ_Group_monitor_changed(monitor, lost, ierror)
  if (lost .or. size /= n - 1 .or. changes /= 1) call stop_at('RZ_Group_monitor_changed')
  call RZ_Group_monitor_get_state(monitor, last, known, ierror)
  if (known%why /= RZ_GROUP_FAILED) call stop_at('the state of a failed process')
  call RZ_Group_monitor_on_change(monitor, RZ_GROUP_CHANGE_NULL, of_changes, ierror)
  if (ierror /= MPI_SUCCESS) call stop_at('RZ_GROUP_CHANGE_NULL')
  call RZ_Group_monitor_stop(monitor, ierror)
  if (ierror /= MPI_SUCCESS .or. monitor /= RZ_GROUP_MONITOR_NULL) call stop_at('RZ_Group_monitor_stop')
  call RZ_Group_monitor_start(MPI_COMM_SELF, MPI_INFO_NULL, RZ_GROUP_TEST_NULL, of_tests, monitor, ierror)
  if (ierror /= MPI_SUCCESS) call stop_at('RZ_GROUP_TEST_NULL')
  call RZ_Group_monitor_stop(monitor, ierror)
  if (wrong /= 0) call stop_at('the arguments of a function of the program')
  call MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, i, ierror)
  if (me == 0) print '(a)', 'fortran: the group goes on'
  call MPI_Finalize(ierror)
contains
  subroutine stop_at(what)
    character(len=*), intent(in) :: what
    integer :: e
    print '(a, i0, 2a)', 'rank ', me, ': not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 3, e)
  end subroutine
end program
