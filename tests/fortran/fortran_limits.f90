! SPDX-License-Identifier: BSD-3-Clause
! More requests and datatypes than the library keeps on its stack, empty strings, wrong arguments without and with ierror (mpi_f08); a procedure of the
! program stands before that of the library and calls its twin.
module counted
  implicit none
  integer :: barriers = 0
end module

subroutine MPI_Barrier(comm, ierror)
  use counted
  use mpi_f08, only: MPI_Comm, PMPI_Barrier
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine

subroutine extent_of(datatype, extent, extra_state, ierror)
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: datatype
  integer(MPI_ADDRESS_KIND) :: extent, extra_state
  integer :: ierror
  extra_state = extra_state + 1
  extent = 4
  ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER)
end subroutine

program fortran_limits
  use counted
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function booleans(size, true, false, is_set) bind(C, name='MPI_Abi_get_fortran_booleans')
      import :: c_int
      integer(c_int), value :: size
      integer(c_int), intent(out) :: true, false, is_set
    end function
  end interface
  integer, parameter :: m = 100
  integer :: me, n, ierror, right
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  right = modulo(me + 1, n)
  call the_library_knows
  call many_requests
  call many_datatypes
  call empty_strings
  call wrong_arguments
  call gaps
  call sections
  call representation
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call check(barriers == 2 .and. ierror == MPI_SUCCESS, 'a procedure of the program before that of the library')
  call MPI_Finalize()
contains

  subroutine check(so, what)
    logical, intent(in) :: so
    character(len=*), intent(in) :: what
    if (.not. so) then
      print '(a, i0, 2a)', 'rank ', me, ': not so: ', what
      call MPI_Abort(MPI_COMM_WORLD, 3)
    end if
  end subroutine

  ! Calls whose buffer stays MPI's refuse sections with gaps, and no others.
  subroutine gaps
    integer, target :: a(4, 6), b(4, 6)
    character(len=8) :: text, copy
    type(MPI_Request) :: request(2)
    type(MPI_Win) :: win
    a = reshape([(me * 100 + ierror, ierror = 1, 24)], [4, 6])
    b = 0
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Win_create(a(1, :), 24_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call refused('MPI_Win_create')
    call MPI_Comm_attach_buffer(MPI_COMM_SELF, a(1, :), 24, ierror)
    call refused('MPI_Comm_attach_buffer')
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, win)
    call MPI_Win_attach(win, a(1, :), 24_MPI_ADDRESS_KIND, ierror)
    call refused('MPI_Win_attach')
    call MPI_Fetch_and_op(a(1, :), b, MPI_DOUBLE_PRECISION, 0, 0_MPI_ADDRESS_KIND, MPI_NO_OP, win, ierror)
    call refused('MPI_Fetch_and_op, of two elements,')
    call MPI_Win_free(win)
    call PMPI_Irecv(a(:3, :), int(19, MPI_COUNT_KIND), MPI_INTEGER, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, request(1), ierror)
    call check(ierror == MPI_ERR_COUNT, 'more than a section has')
    call MPI_Irecv(b(:, 2:3), 8, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, request(1))
    call MPI_Isend(a(:, 2:3), 8, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    call check(all(modulo(b(:, 2:3), 100) == modulo(a(:, 2:3), 100)) .and. all(b(:, 4:) == 0), 'whole columns')
    call MPI_Irecv(b(3, 3), 3, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, request(1))
    call MPI_Isend(a(2:2, 3:3), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    call check(modulo(b(3, 3), 100) == 10, 'one element')
    call MPI_Irecv(b(:, 1:0), 0, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, request(1))
    call send_of_any_size(a, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    write (text, '(i8)') me
    call MPI_Irecv(copy, 8, MPI_CHARACTER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, request(1))
    call MPI_Isend(text, 8, MPI_CHARACTER, right, 4, MPI_COMM_WORLD, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    read (copy, *) ierror
    call check(ierror == modulo(me - 1, n), 'a string')
  end subroutine

  ! Sections with gaps in calls that use them after they have returned: no copy, each element in its place, and no other changes.
  subroutine sections
    type pair
      integer :: i
      real :: r
      double precision :: d
    end type
    integer :: a(4, 6), b(4, 6), c(4, 3, 5), d(4, 3, 5), i, j, k, left
    integer, target :: memory(8)
    integer, pointer :: every_other(:)
    complex(kind(1d0)) :: z(6), y(6)
    type(pair) :: p(5), q(5)
    type(MPI_Request) :: request(2)
    type(MPI_Status) :: status
    type(MPI_Datatype) :: two
    type(MPI_Win) :: win
    left = modulo(me - 1, n)
    do i = 1, 6
      a(:, i) = [(1000 * me + 10 * j + i, j = 1, 4)]
    end do
    b = -1
    call MPI_Irecv(b(3, :), 6, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request(1))
    call MPI_Isend(a(1, :), 6, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request(2))
    call MPI_Wait(request(1), status)
    call MPI_Wait(request(2), MPI_STATUS_IGNORE)
    call MPI_Get_count(status, MPI_INTEGER, k)
    call check(k == 6 .and. all(b(3, :) == [(1000 * left + 10 + i, i = 1, 6)]) .and. count(b /= -1) == 6, 'a row')

    ! Three dimensions, one of them backwards; 7 of 12 elements, by large counts and by PMPI.
    c = reshape([(1000 * me + i, i = 1, 60)], shape(c))
    d = -1
    call PMPI_Irecv(d(1:4:2, 3:1:-1, 2:5:3), 7_MPI_COUNT_KIND, MPI_INTEGER, left, 2, MPI_COMM_WORLD, request(1))
    call PMPI_Isend(c(1:4:2, 3:1:-1, 2:5:3), 7_MPI_COUNT_KIND, MPI_INTEGER, right, 2, MPI_COMM_WORLD, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    k = 0
    do i = 2, 5, 3
      do j = 3, 1, -1
        if (k < 7) call check(d(1, j, i) == 1000 * left + 1 + 4 * (j - 1) + 12 * (i - 1), 'a box')
        if (k < 6) call check(d(3, j, i) == 1000 * left + 3 + 4 * (j - 1) + 12 * (i - 1), 'a box')
        k = k + 2
      end do
    end do
    call check(count(d /= -1) == 7, 'the rest of a box')

    ! A component of structures; parts of elements; a contiguous datatype; one side with gaps, the other without.
    p%i = 1
    p%d = [(me + 0.5d0 * i, i = 1, 5)]
    q = pair(7, 8.0, 0d0)
    call MPI_Isendrecv(p%d, 5, MPI_DOUBLE_PRECISION, right, 3, q%d, 5, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, request(1))
    call MPI_Wait(request(1), MPI_STATUS_IGNORE)
    call check(all(q%d == [(left + 0.5d0 * i, i = 1, 5)]) .and. all(q%i == 7) .and. all(q%r == 8.0), 'a component')
    z = [(cmplx(i, -i, kind(1d0)), i = 1, 6)]
    y = 0
    call MPI_Irecv(y(5:1:-2), 5, MPI_DOUBLE_PRECISION, left, 4, MPI_COMM_WORLD, request(1))
    call MPI_Isend(z(2:6:2), 5, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    call check(y(5) == (2, -2) .and. y(3) == (4, -4) .and. y(1) == (6, 0) .and. y(2) == 0 .and. y(4) == 0, 'a part of an element')
    call MPI_Type_contiguous(2, MPI_INTEGER, two)
    call MPI_Type_commit(two)
    memory = -1
    call MPI_Irecv(memory, 4, MPI_INTEGER, left, 5, MPI_COMM_WORLD, request(1))
    call MPI_Isend(a(2, 1:4), 2, two, right, 5, MPI_COMM_WORLD, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
    call check(all(memory(1:4) == [(1000 * left + 20 + i, i = 1, 4)]), 'a contiguous datatype')
    call MPI_Type_free(two)

    ! Persistent ones see new values; the datatypes end with the requests.
    b = -1
    every_other => memory(1:8:2)
    call MPI_Recv_init(every_other, 4, MPI_INTEGER, left, 6, MPI_COMM_WORLD, request(1))
    call MPI_Send_init(b(4, 6:1:-2), 3, MPI_INTEGER, right, 6, MPI_COMM_WORLD, request(2))
    do i = 1, 3
      b(4, :) = [(100 * i + j, j = 1, 6)]
      memory = 0
      call MPI_Startall(2, request)
      call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
      call check(all(memory == [100 * i + 6, 0, 100 * i + 4, 0, 100 * i + 2, 0, 0, 0]), 'a persistent request')
    end do
    call MPI_Request_free(request(1))
    call MPI_Request_free(request(2))

    ! Collective and one-sided calls.
    b = -1
    if (me == 0) b(2, :) = [(i, i = 1, 6)]
    call MPI_Ibcast(b(2, :), 6, MPI_INTEGER, 0, MPI_COMM_WORLD, request(1))
    call MPI_Wait(request(1), MPI_STATUS_IGNORE)
    call check(all(b(2, :) == [(i, i = 1, 6)]) .and. count(b /= -1) == 6, 'MPI_Ibcast')
    memory = 0
    b = -1
    call MPI_Win_create(memory, 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(3, 1:5:2), 3, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(memory == [0, 0, 1000 * left + 31, 1000 * left + 33, 1000 * left + 35, 0, 0, 0]), 'MPI_Put')
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(a(3, 1:5:2), 3, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 3, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call MPI_Get(b(1, 2:4), 3, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(b(1, 2:4) == 2000 * me + [62, 66, 70]) .and. count(b /= -1) == 3, 'MPI_Accumulate, MPI_Get')
    call MPI_Win_free(win)
  end subroutine

  ! The functions of a data representation get the variable of the program itself.
  subroutine representation
    integer(MPI_ADDRESS_KIND), save :: calls = 0
    procedure(MPI_Datarep_extent_function) :: extent_of
    type(MPI_File) :: fh
    character(len=30) :: name
    call MPI_Register_datarep('numbers', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, calls)
    write (name, '(a, i0)') 'fortran_limits_', me
    call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, fh)
    call MPI_File_set_view(fh, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'numbers', MPI_INFO_NULL)
    call MPI_File_write(fh, me, 1, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_close(fh)
    call check(calls > 0, 'extra_state of a data representation')
  end subroutine

  subroutine refused(what)
    character(len=*), intent(in) :: what
    character(len=MPI_MAX_ERROR_STRING) :: why
    integer :: class, length
    call MPI_Error_class(ierror, class)
    call MPI_Error_string(ierror, why, length)
    call check(class == MPI_ERR_BUFFER .and. index(why, 'section of an array with gaps') > 0, what // ' of a section with gaps')
  end subroutine

  subroutine send_of_any_size(array, request)
    integer :: array(4, *)
    type(MPI_Request) :: request
    call MPI_Isend(array, 0, MPI_INTEGER, right, 3, MPI_COMM_WORLD, request)
  end subroutine

  subroutine the_library_knows
    integer(c_int) :: true, false, is_set
    ierror = booleans(4_c_int, true, false, is_set)
    call check(ierror == MPI_SUCCESS .and. is_set == 1 .and. true == 1 .and. false == 0, 'the values of LOGICAL')
  end subroutine

  subroutine many_requests
    type(MPI_Request) :: requests(2 * m)
    type(MPI_Status) :: statuses(2 * m)
    integer :: in(m), out(m), indices(2 * m), i, count, received
    out = [(me * 1000 + i, i = 1, m)]
    do i = 1, m
      call MPI_Irecv(in(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(i))
    end do
    do i = m, 1, -1
      call MPI_Issend(out(i), 1, MPI_INTEGER, modulo(me - 1, n), i, MPI_COMM_WORLD, requests(m + i))
    end do
    call MPI_Waitall(0, requests, statuses)
    received = 0
    do
      call MPI_Waitsome(2 * m, requests, count, indices, statuses)
      if (count == MPI_UNDEFINED) exit
      do i = 1, count
        call check(indices(i) >= 1 .and. indices(i) <= 2 * m, 'a number of a request')
        call check(indices(i) > m .or. statuses(i)%MPI_TAG == indices(i), 'the status of a request')
      end do
      received = received + count
    end do
    call check(received == 2 * m .and. all(requests == MPI_REQUEST_NULL), 'all requests')
    call check(all(in == [(right * 1000 + i, i = 1, m)]), 'all messages')
  end subroutine

  subroutine many_datatypes
    type(MPI_Datatype) :: types(m), made
    integer(MPI_ADDRESS_KIND) :: places(m)
    integer :: in(m), out(m), lengths(m), i
    types = MPI_INTEGER
    lengths = 1
    places = [(4_MPI_ADDRESS_KIND * (m - i), i = 1, m)]
    out = [(i, i = 1, m)]
    call MPI_Type_create_struct(m, lengths, places, types, made)
    call MPI_Type_commit(made)
    call MPI_Sendrecv(out, m, MPI_INTEGER, 0, 1, in, 1, made, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(all(in == out(m:1:-1)), 'a structure of many parts')
    call MPI_Type_free(made)
  end subroutine

  subroutine empty_strings
    character(len=0) :: empty
    character(len=MPI_MAX_OBJECT_NAME) :: name
    integer :: length
    call MPI_Comm_set_name(MPI_COMM_SELF, empty)
    call MPI_Comm_get_name(MPI_COMM_SELF, name, length)
    call check(length == 0 .and. name == ' ', 'an empty name')
    call MPI_Comm_set_name(MPI_COMM_SELF, repeat('x', MPI_MAX_OBJECT_NAME))
    call MPI_Comm_get_name(MPI_COMM_SELF, name, length)
    call check(length == MPI_MAX_OBJECT_NAME .and. name == repeat('x', MPI_MAX_OBJECT_NAME), 'the longest name')
    call MPI_Comm_get_name(MPI_COMM_SELF, empty, length)
    call check(length == 0, 'no room for a name')
  end subroutine

  subroutine wrong_arguments
    type(MPI_Request) :: requests(1)
    type(MPI_Status) :: statuses(1)
    integer :: row(2, 2) = 0
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Waitall(-1, requests, statuses, ierror)
    call check(ierror /= MPI_SUCCESS, 'a negative count of requests')
    call MPI_Send(me, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, ierror)
    call check(ierror /= MPI_SUCCESS, 'a negative count')
    call MPI_Send(me, 1, MPI_Datatype(12345678), 0, 0, MPI_COMM_WORLD, ierror)
    call check(ierror /= MPI_SUCCESS, 'a handle of nothing')
    call MPI_Isend(row(1, :), -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, requests(1), ierror)
    call check(ierror == MPI_ERR_COUNT, 'a negative count of a section')
    call MPI_Isend(row(1, :), 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, requests(1), ierror)
    call check(ierror == MPI_ERR_TYPE, 'no datatype of a section')
    call MPI_Send(me, 1, MPI_INTEGER, 0, -9, MPI_COMM_WORLD) ! no ierror: nothing is returned
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine
end program
