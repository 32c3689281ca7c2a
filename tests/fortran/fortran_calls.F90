! SPDX-License-Identifier: BSD-3-Clause
! Each class of arguments of MPI's procedures: handles, strings, logicals, statuses, arrays, constants that are variables, functions of the user.
#include "ways.inc"

module state
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: me, n, ierror, copies = 0, deletions = 0, errors = 0, last_error = 0, queries = 0, frees = 0, cancels = 0
contains
  subroutine check(so, what)
    logical, intent(in) :: so
    character(len=*), intent(in) :: what
    integer :: error
    if (.not. so) then
      print '(a, i0, 2a)', 'rank ', me, ': not so: ', what
      call MPI_Abort(MPI_COMM_WORLD, 3, error)
    end if
  end subroutine

  subroutine good(what)
    character(len=*), intent(in) :: what
    call check(ierror == MPI_SUCCESS, what)
    ierror = -1
  end subroutine
end module

! ---- Functions of the user ----

module functions
  use state
  implicit none
contains
#if WAY == 3
  subroutine add_squares(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    call check(datatype == MPI_INTEGER, 'the datatype of a user operation')
#else
  subroutine add_squares(a, b, len, datatype)
    integer :: len, datatype, a(len), b(len)
    call check(datatype == MPI_INTEGER, 'the datatype of a user operation')
#endif
    b = b + 2 * a
  end subroutine

  subroutine copy(object, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierr)
    HANDLE(MPI_Comm) :: object
    integer :: keyval, ierr
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    call check(extra_state == 77 .and. object == MPI_COMM_WORLD .and. keyval /= MPI_KEYVAL_INVALID, 'extra_state')
    attribute_val_out = attribute_val_in + 1
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine

  subroutine delete(object, keyval, attribute_val, extra_state, ierr)
    HANDLE(MPI_Comm) :: object
    integer :: keyval, ierr
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call check(extra_state == 77 .and. attribute_val >= 1234 .and. object /= MPI_COMM_NULL .and. keyval /= 0, 'delete')
    deletions = deletions + 1
    ierr = MPI_SUCCESS
  end subroutine

  subroutine note_error(object, error_code)
    HANDLE(MPI_Comm) :: object
    integer :: error_code
    call check(object /= MPI_COMM_NULL, 'the communicator of an error')
    errors = errors + 1
    last_error = error_code
  end subroutine

  subroutine query(extra_state, a_status, ierr)
    integer(MPI_ADDRESS_KIND) :: extra_state
    STATUS :: a_status
    integer :: ierr, error
    queries = queries + 1
    call MPI_Status_set_elements(a_status, MPI_INTEGER, int(extra_state), error)
    call MPI_Status_set_cancelled(a_status, .true., error)
    SOURCE_OF(a_status) = 5
    ierr = MPI_SUCCESS
  end subroutine

  subroutine free_state(extra_state, ierr)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierr
    frees = frees + int(extra_state)
    extra_state = extra_state - 1
    ierr = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra_state, complete, ierr)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierr
    call check(extra_state == 3, 'extra_state of a request')
    if (.not. complete) cancels = cancels + 1
    ierr = MPI_SUCCESS
  end subroutine
end module

program fortran_calls
  use functions
  implicit none
  logical :: flag
  HANDLE(MPI_Comm) :: parent
  integer :: provided
  call MPI_Initialized(flag, ierror)
  call check(.not. flag, 'initialized too early')
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call good('MPI_Init_thread')
  call check(provided == MPI_THREAD_MULTIPLE, 'the thread level')
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call MPI_Comm_get_parent(parent, ierror)
  if (parent /= MPI_COMM_NULL) then
    call child(parent)
  else
    call strings
    call messages
    call constants
    call datatypes
    call topologies
    call types_of_each
    call infos
    call attributes
    call error_handlers
    call operations
    call own_requests
    call buffers
    call numbers
    call groups
    call partitions
    call names
    call spawn
  end if
  call MPI_Finalize(ierror)
  call good('MPI_Finalize')
contains

  subroutine strings
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=6) :: short
    character(len=40) :: long
    HANDLE(MPI_Comm) :: comm
    integer :: length, major, minor
    call MPI_Get_library_version(version, length, ierror)
    call good('MPI_Get_library_version')
    call check(index(version(1:length), 'Rhizome') > 0 .and. version(length + 1:) == ' ', 'the version')
    call MPI_Get_version(major, minor, ierror)
    call check(major == MPI_VERSION .and. minor == MPI_SUBVERSION, 'the numbers of the version')
    call MPI_Get_processor_name(name, length, ierror)
    call check(length > 0 .and. len_trim(name) == length, 'the name of the processor')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call good('MPI_Comm_dup')
    call MPI_Comm_set_name(comm, ' a name with blanks   ', ierror)
    call good('MPI_Comm_set_name')
    long = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
    call MPI_Comm_get_name(comm, long, length, ierror)
    call check(long == ' a name with blanks' .and. length == 19, 'the name of a communicator')
    call MPI_Comm_get_name(comm, short, length, ierror)
    call check(short == ' a nam' .and. length == 6, 'what does not fit')
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, length, ierror)
    call check(length == MPI_CONGRUENT, 'MPI_Comm_compare')
    call MPI_Comm_free(comm, ierror)
    call check(comm == MPI_COMM_NULL, 'a handle that was freed')
  end subroutine

  subroutine messages
    HANDLE(MPI_Request) :: requests(3)
    STATUSES(3) :: statuses
    STATUS :: one
    HANDLE(MPI_Message) :: message
    integer :: left, right, in(4, 2), out(4), which, count, several(3), i
    logical :: flag
    left = modulo(me - 1, n)
    right = modulo(me + 1, n)
    out = [(10 * me + i, i = 1, 4)]
    call MPI_Irecv(in(:, 1), 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), ierror)
    call good('MPI_Irecv')
    call MPI_Irecv(in(1, 2), 4, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(2), ierror)
    requests(3) = MPI_REQUEST_NULL
    call MPI_Send(out, 4, MPI_INTEGER, right, 2, MPI_COMM_WORLD, ierror)
    call good('MPI_Send')
    call MPI_Waitany(3, requests, which, one, ierror)
    call good('MPI_Waitany')
    call check(which == 2 .and. requests(2) == MPI_REQUEST_NULL, 'numbers of requests begin with 1')
    call check(SOURCE_OF(one) == left .and. TAG_OF(one) == 2 .and. all(in(:, 2) == 10 * left + [1, 2, 3, 4]), 'a message')
    call MPI_Get_count(one, MPI_INTEGER, count, ierror)
    call check(count == 4, 'MPI_Get_count')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Testsome(3, requests, count, several, statuses, ierror)
    call good('MPI_Testsome')
    call check(count == 0, 'MPI_Testsome without a message')
    call MPI_Request_get_status(requests(1), flag, one, ierror)
    call check(.not. flag, 'MPI_Request_get_status')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Ssend_init(out, 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(3), ierror)
    call MPI_Startall(1, requests(3), ierror)
    call good('MPI_Startall')
    call MPI_Waitsome(3, requests, count, several, statuses, ierror)
    call check(count >= 1 .and. all(several(1:count) == 1 .or. several(1:count) == 3), 'MPI_Waitsome')
    call MPI_Waitall(3, requests, statuses, ierror)
    call check(all(in(:, 1) == 10 * left + [1, 2, 3, 4]), 'the other message')
    call MPI_Request_free(requests(3), ierror)
    call check(requests(3) == MPI_REQUEST_NULL, 'MPI_Request_free')
    call MPI_Waitany(3, requests, which, MPI_STATUS_IGNORE, ierror)
    call check(which == MPI_UNDEFINED, 'MPI_UNDEFINED')
    call MPI_Isend(me, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, message, one, ierror)
    call MPI_Mrecv(which, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierror)
    call check(which == left .and. message == MPI_MESSAGE_NULL, 'MPI_Mrecv')
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, ierror)
    call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE, ierror)
    call check(.not. flag, 'MPI_Iprobe')
    ! A section with gaps, in a blocking call: the compiler copies it.
    in = 0
    call MPI_Sendrecv(out(1:4:2), 2, MPI_INTEGER, right, 4, in(2:4:2, 2), 2, MPI_INTEGER, left, 4, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierror)
    call check(in(2, 2) == 10 * left + 1 .and. in(4, 2) == 10 * left + 3 .and. in(3, 2) == 0, 'sections')
  end subroutine

  subroutine constants
    integer :: sum, i, x(3)
    integer(MPI_ADDRESS_KIND) :: address
    HANDLE(MPI_Datatype) :: absolute
    sum = me
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call good('MPI_IN_PLACE')
    call check(sum == n * (n - 1) / 2, 'MPI_IN_PLACE')
    x = [1, 2, 3] * (me + 1)
    call MPI_Get_address(x, address, ierror)
    call MPI_Type_create_hindexed(1, [3], [address], MPI_INTEGER, absolute, ierror)
    call MPI_Type_commit(absolute, ierror)
    call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD, ierror)
    call good('MPI_BOTTOM')
    call check(all(x == [1, 2, 3]), 'MPI_BOTTOM')
    call MPI_Type_free(absolute, ierror)
    call MPI_Scan(me, i, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call check(i == me, 'a scalar as a buffer')
  end subroutine

  subroutine datatypes
    HANDLE(MPI_Datatype) :: made, inner(2), parts(2)
    integer :: integers(8), combiner, counts(3), size, position
    integer(MPI_ADDRESS_KIND) :: places(2), lb, extent
    character(len=64) :: packed
    integer :: a(2)
    double precision :: b
    parts = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    places = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND]
    call MPI_Type_create_struct(2, [2, 1], places, parts, made, ierror)
    call good('MPI_Type_create_struct')
    call MPI_Type_commit(made, ierror)
    call MPI_Type_get_extent(made, lb, extent, ierror)
    call MPI_Type_size(made, size, ierror)
    call check(lb == 0 .and. extent == 16 .and. size == 16, 'a structure')
    call MPI_Type_get_envelope(made, counts(1), counts(2), counts(3), combiner, ierror)
    call check(combiner == MPI_COMBINER_STRUCT .and. all(counts == [3, 2, 2]), 'the envelope')
    places = -1
    call MPI_Type_get_contents(made, 8, 2, 2, integers, places, inner, ierror)
    call check(all(integers(1:3) == [2, 2, 1]) .and. places(2) == 8 .and. inner(2) == MPI_DOUBLE_PRECISION, 'the contents')
    call MPI_Type_free(made, ierror)
    position = 0
    call MPI_Pack([1, 2], 2, MPI_INTEGER, packed, 64, position, MPI_COMM_WORLD, ierror)
    call MPI_Pack(2.5d0, 1, MPI_DOUBLE_PRECISION, packed, 64, position, MPI_COMM_WORLD, ierror)
    call check(position == 16, 'MPI_Pack')
    position = 0
    call MPI_Unpack(packed, 64, position, a, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Unpack(packed, 64, position, b, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
    call check(all(a == [1, 2]) .and. b == 2.5d0, 'MPI_Unpack')
    call MPI_Pack_external_size('external32', 3, MPI_INTEGER, extent, ierror)
    call check(extent == 12, 'MPI_Pack_external_size')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, made, ierror)
    call good('MPI_Type_match_size')
    call MPI_Type_create_f90_integer(9, made, ierror)
    call MPI_Type_size(made, size, ierror)
    call check(size == 4, 'MPI_Type_create_f90_integer')
  end subroutine

  subroutine topologies
    HANDLE(MPI_Comm) :: cart, row, ring
    logical :: periods(1), inter
    integer :: dims(1), coords(1), rank, up, down, sources(1), destinations(1), weights(2), in, out
    dims = 0
    call MPI_Dims_create(n, 1, dims, ierror)
    call check(dims(1) == n, 'MPI_Dims_create')
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, [.true.], .false., cart, ierror)
    call good('MPI_Cart_create')
    periods = .false.
    call MPI_Cart_get(cart, 1, dims, periods, coords, ierror)
    call check(periods(1) .and. coords(1) == me, 'MPI_Cart_get')
    call MPI_Cart_shift(cart, 0, 1, down, up, ierror)
    call MPI_Cart_rank(cart, [me + 1], rank, ierror)
    call check(up == rank .and. rank == modulo(me + 1, n), 'MPI_Cart_rank')
    call MPI_Cart_sub(cart, [.false.], row, ierror)
    call MPI_Comm_size(row, rank, ierror)
    call check(rank == 1, 'MPI_Cart_sub')
    call MPI_Comm_test_inter(row, inter, ierror)
    call check(.not. inter, 'MPI_Comm_test_inter')
    call MPI_Comm_free(row, ierror)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [down], MPI_UNWEIGHTED, 1, [up], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., ring, ierror)
    call good('MPI_UNWEIGHTED')
    call MPI_Dist_graph_neighbors_count(ring, in, out, inter, ierror)
    call check(in == 1 .and. out == 1 .and. .not. inter, 'MPI_Dist_graph_neighbors_count')
    call MPI_Dist_graph_neighbors(ring, 1, sources, weights, 1, destinations, weights, ierror)
    call check(sources(1) == down .and. destinations(1) == up, 'MPI_Dist_graph_neighbors')
    call neighbour_types(ring, down)
    call MPI_Comm_free(ring, ierror)
    call MPI_Comm_free(cart, ierror)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, sources, MPI_WEIGHTS_EMPTY, 0, sources, MPI_WEIGHTS_EMPTY, &
                                        MPI_INFO_NULL, .false., ring, ierror)
    call good('MPI_WEIGHTS_EMPTY')
    call MPI_Comm_free(ring, ierror)
  end subroutine

  subroutine neighbour_types(ring, down)
    HANDLE(MPI_Comm) :: ring
    integer :: down, got
    HANDLE(MPI_Datatype) :: types(1)
    HANDLE(MPI_Request) :: request
    integer(MPI_ADDRESS_KIND) :: none(1)
    none = 0
    types = MPI_INTEGER
    got = -1
    call MPI_Neighbor_alltoallw(me, [1], none, types, got, [1], none, types, ring, ierror)
    call check(got == down, 'MPI_Neighbor_alltoallw')
    got = -1
    call MPI_Ineighbor_alltoallw(me, [1], none, types, got, [1], none, types, ring, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check(got == down, 'MPI_Ineighbor_alltoallw')
  end subroutine

  ! A datatype for each member; those of a call that has returned may change.
  subroutine types_of_each
    HANDLE(MPI_Datatype), allocatable :: types(:)
    HANDLE(MPI_Request) :: request
    integer, allocatable :: out(:), in(:), ones(:), places(:)
    integer :: i, round
    allocate(types(n), out(n), in(n), ones(n), places(n))
    types = MPI_INTEGER
    ones = 1
    places = [(4 * i, i = 0, n - 1)]
    out = [(100 * me + i, i = 0, n - 1)]
    in = -1
    call MPI_Alltoallw(out, ones, places, types, in, ones, places, types, MPI_COMM_WORLD, ierror)
    call good('MPI_Alltoallw')
    call check(all(in == [(100 * i + me, i = 0, n - 1)]), 'MPI_Alltoallw')
    in = -1
    call MPI_Alltoallw_init(out, ones, places, types, in, ones, places, types, MPI_COMM_WORLD, MPI_INFO_NULL, request, ierror)
    types = MPI_DATATYPE_NULL
    do round = 1, 2
      in = -1
      call MPI_Start(request, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      call check(all(in == [(100 * i + me, i = 0, n - 1)]), 'MPI_Alltoallw_init')
    end do
    call MPI_Request_free(request, ierror)
  end subroutine

  subroutine infos
    HANDLE(MPI_Info) :: info, other
    character(len=20) :: value, key
    logical :: flag
    integer :: length
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, '  key  ', ' some value ', ierror)
    call good('MPI_Info_set')
    call MPI_Info_get(info, 'key', 20, value, flag, ierror)
    call check(flag .and. value == 'some value', 'MPI_Info_get')
    length = 4
    value = 'xxxxxxxx'
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    call check(flag .and. value == 'some' .and. length == 10, 'MPI_Info_get_string')
    length = 0
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    call check(flag .and. length == 10, 'the length of a value')
    call MPI_Info_get_string(info, 'nothing', length, value, flag, ierror)
    call check(.not. flag, 'a key that is not there')
    call MPI_Info_get_nthkey(info, 0, key, ierror)
    call check(key == 'key', 'MPI_Info_get_nthkey')
    call MPI_Info_create_env(other, ierror)
    call good('MPI_Info_create_env')
    call MPI_Info_free(info, ierror)
    call MPI_Info_free(other, ierror)
  end subroutine

  subroutine attributes
    integer :: key
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    HANDLE(MPI_Comm) :: comm
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_create_keyval(copy, delete, key, 77_MPI_ADDRESS_KIND, ierror)
    call good('MPI_Comm_create_keyval')
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 1234567890123_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    call check(flag .and. value == 1234567890124_MPI_ADDRESS_KIND .and. copies == 1, 'the copy of an attribute')
    call MPI_Comm_free(comm, ierror)
    call check(deletions == 1, 'an attribute of a communicator that was freed')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    call check(deletions == 2, 'MPI_Comm_delete_attr')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierror)
    call check(.not. flag, 'an attribute that was deleted')
    call MPI_Comm_free_keyval(key, ierror)
    call check(key == MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, -5_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    call check(flag .and. value == -5, 'MPI_COMM_DUP_FN')
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    call MPI_Comm_free_keyval(key, ierror)
  end subroutine

  subroutine error_handlers
    HANDLE(MPI_Errhandler) :: handler, before
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: class, length
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, before, ierror)
    call MPI_Comm_create_errhandler(note_error, handler, ierror)
    call good('MPI_Comm_create_errhandler')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
    call MPI_Send(me, 1, MPI_INTEGER, n + 7, 1, MPI_COMM_WORLD, ierror)
    call MPI_Error_class(ierror, class, length)
    call check(class == MPI_ERR_RANK .and. errors == 1 .and. last_error == ierror, 'an error handler')
    call MPI_Error_string(ierror, text, length, class)
    call check(index(text(1:length), 'MPI_Send') > 0, 'MPI_Error_string')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
    call MPI_Send(me, 1, MPI_INTEGER, n + 7, 1, MPI_COMM_WORLD, ierror)
    call check(ierror /= MPI_SUCCESS .and. errors == 1, 'MPI_ERRORS_RETURN')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, before, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Errhandler_free(before, ierror)
  end subroutine

  subroutine operations
    HANDLE(MPI_Op) :: op
    integer :: result(2)
    logical :: commutes, any
    call MPI_Op_create(add_squares, .false., op, ierror)
    call good('MPI_Op_create')
    call MPI_Op_commutative(op, commutes, ierror)
    call check(.not. commutes, 'MPI_Op_commutative')
    result = 1
    call MPI_Reduce_local([1, 2], result, 2, MPI_INTEGER, op, ierror)
    call check(all(result == [3, 5]), 'a function of the user')
    call MPI_Allreduce([me, 1], result, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    call good('MPI_Allreduce with it')
    call MPI_Op_free(op, ierror)
    call MPI_Allreduce(me == 0, any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    call check(any, 'MPI_LOR')
  end subroutine

  subroutine own_requests
    HANDLE(MPI_Request) :: request
    STATUS :: status
    logical :: flag
    integer :: count
    integer(MPI_ADDRESS_KIND) :: extra_state
    extra_state = 3
    call MPI_Grequest_start(query, free_state, cancel, extra_state, request, ierror)
    call good('MPI_Grequest_start')
    call MPI_Test(request, flag, status, ierror)
    call check(.not. flag, 'a request that is not complete')
    call MPI_Cancel(request, ierror)
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call good('MPI_Wait for it')
    call MPI_Test_cancelled(status, flag, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call check(flag .and. count == 3 .and. SOURCE_OF(status) == 5, 'what the query has set')
    call check(queries == 1 .and. frees == 3 .and. cancels == 1 .and. request == MPI_REQUEST_NULL, 'the calls of the functions')
    call check(extra_state == 2, 'extra_state is the variable itself')
  end subroutine

  subroutine buffers
#if WAY == 3
    use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_f_pointer, c_associated
    type(c_ptr) :: address
    double precision, pointer :: memory(:)
#endif
    integer, target, save :: room(1024)
    integer :: got, size
    HANDLE(MPI_Request) :: request
    call MPI_Buffer_attach(room, 4096, ierror)
    call good('MPI_Buffer_attach')
    call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 8, MPI_COMM_SELF, request, ierror)
    call MPI_Bsend(42, 1, MPI_INTEGER, 0, 8, MPI_COMM_SELF, ierror)
    call good('MPI_Bsend')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
#if WAY == 3
    call MPI_Buffer_detach(address, size, ierror)
    call check(c_associated(address, c_loc(room)), 'the address of the buffer')
    call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, ierror)
    call good('MPI_Alloc_mem')
    call c_f_pointer(address, memory, [10])
    memory = 1
    call MPI_Free_mem(memory, ierror)
#else
    room(1) = 7
    call MPI_Buffer_detach(room, size, ierror)
    call check(room(1) == 7 .or. size == 4096, 'the buffer is not changed')
#endif
    call good('the end of a buffer')
    call check(size == 4096 .and. got == 42, 'a buffered message')
  end subroutine

  subroutine numbers
    double precision :: begun
#if WAY != 1
    integer :: size
    complex(8) :: z(3)
    character(len=3) :: text
    call MPI_Sizeof(z, size, ierror)
    call check(size == 16, 'MPI_Sizeof of an array')
    call MPI_Sizeof(text, size, ierror)
    call check(size == 3, 'MPI_Sizeof')
    call check(PMPI_Wtick() > 0, 'PMPI_Wtick')
#endif
    begun = MPI_Wtime()
    call check(MPI_Wtime() >= begun .and. MPI_Wtick() > 0, 'MPI_Wtime')
    call check(MPI_Aint_diff(MPI_Aint_add(40_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND), 1_MPI_ADDRESS_KIND) == 41, 'MPI_Aint_add')
    call PMPI_Barrier(MPI_COMM_WORLD, ierror)
    call good('PMPI_Barrier')
    call MPI_Pcontrol(1)
#if WAY == 3
    begin_large: block
      integer(MPI_COUNT_KIND) :: count
      type(MPI_Status) :: status
      integer :: old(MPI_STATUS_SIZE)
      call MPI_Sendrecv(me, 1_MPI_COUNT_KIND, MPI_INTEGER, 0, 1, size, 1_MPI_COUNT_KIND, MPI_INTEGER, 0, 1, &
                        MPI_COMM_SELF, status)
      call MPI_Get_count(status, MPI_INTEGER, count)
      call check(count == 1 .and. size == me, 'large counts; no ierror')
      call MPI_Status_f082f(status, old)
      call check(old(1) == 0 .and. old(2) == 1, 'MPI_Status_f082f')
      call MPI_Type_size(MPI_INTEGER, count)
      call check(count == 4, 'a large result')
    end block begin_large
#endif
  end subroutine

  subroutine groups
    HANDLE(MPI_Group) :: all, some
    integer :: ranges(3, 1), rank(1), size
    call MPI_Comm_group(MPI_COMM_WORLD, all, ierror)
    ranges(:, 1) = [n - 1, 0, -1]
    call MPI_Group_range_incl(all, 1, ranges, some, ierror)
    call good('MPI_Group_range_incl')
    call MPI_Group_size(some, size, ierror)
    call MPI_Group_translate_ranks(some, 1, [0], all, rank, ierror)
    call check(size == n .and. rank(1) == n - 1, 'ranges')
    call MPI_Group_free(all, ierror)
    call MPI_Group_free(some, ierror)
    call check(some == MPI_GROUP_NULL, 'MPI_Group_free')
  end subroutine

  subroutine partitions
    HANDLE(MPI_Request) :: requests(2)
    integer :: out(6), in(6), i
    logical :: flag
    out = [(i, i = 1, 6)]
    call MPI_Psend_init(out, 3, 2, MPI_INTEGER, modulo(me + 1, n), 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
    call good('MPI_Psend_init')
    call MPI_Precv_init(in, 2, 3, MPI_INTEGER, modulo(me - 1, n), 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierror)
    call MPI_Startall(2, requests, ierror)
    call MPI_Pready_list(2, [2, 0], requests(1), ierror)
    call MPI_Pready(1, requests(1), ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Parrived(requests(2), 0, flag, ierror)
    end do
    call check(all(in(1:3) == [1, 2, 3]), 'MPI_Parrived')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call check(all(in == out), 'partitions')
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)
  end subroutine

  subroutine spawn
    HANDLE(MPI_Comm) :: children
    character(len=1024) :: program
    character(len=12) :: arguments(4), many(2, 3)
    character(len=1024) :: programs(2)
    HANDLE(MPI_Info) :: infos(2)
    integer :: codes(3)
    call get_command_argument(0, program)
    ! Blanks at both ends are no part of a command and its arguments.
    arguments = [character(len=12) :: '  first', ' and second', ' ', 'not this']
    codes = -1
    call MPI_Comm_spawn('  ' // program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes(1:1), ierror)
    call good('MPI_Comm_spawn')
    call check(codes(1) == MPI_SUCCESS, 'error codes')
    call MPI_Comm_disconnect(children, ierror)
    programs = [character(len=1024) :: program, ' ' // program]
    many = ' '
    many(1, 1:2) = [character(len=12) :: 'first', 'and second']
    many(2, 1:2) = [character(len=12) :: ' first', '  and second']
    infos = MPI_INFO_NULL
    call MPI_Comm_spawn_multiple(2, programs, many, [1, 1], infos, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE, ierror)
    call good('MPI_Comm_spawn_multiple')
    call MPI_Comm_disconnect(children, ierror)
    call MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE, ierror)
    call good('MPI_ARGV_NULL')
    call MPI_Comm_disconnect(children, ierror)
  end subroutine

  ! Nor of names of files and services.
  subroutine names
    HANDLE(MPI_File) :: fh
    character(len=64) :: file
    character(len=MPI_MAX_PORT_NAME) :: port, found
    if (me /= 0) return
    write (file, '(a, i0)') '  fortran-names-', getpid() ! of several tests at once
    call MPI_File_open(MPI_COMM_SELF, file, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, fh, ierror)
    call good('MPI_File_open')
    call MPI_File_close(fh, ierror)
    call MPI_File_delete(adjustl(file), MPI_INFO_NULL, ierror)
    call good('MPI_File_delete')
    call MPI_Open_port(MPI_INFO_NULL, port, ierror)
    call MPI_Publish_name('  fortran names  ', MPI_INFO_NULL, port, ierror)
    call good('MPI_Publish_name')
    call MPI_Lookup_name('fortran names', MPI_INFO_NULL, found, ierror)
    call good('MPI_Lookup_name')
    call check(found == port, 'the name of a service')
    call MPI_Unpublish_name(' fortran names', MPI_INFO_NULL, port, ierror)
    call good('MPI_Unpublish_name')
    call MPI_Close_port(port, ierror)
  end subroutine

  subroutine child(parent)
    HANDLE(MPI_Comm) :: parent
    character(len=20) :: argument(2)
    integer :: length(2)
    if (command_argument_count() > 0) then
      call get_command_argument(1, argument(1), length(1))
      call get_command_argument(2, argument(2), length(2))
      call check(command_argument_count() == 2 .and. all(argument == ['first     ', 'and second']) .and. all(length == [5, 10]), &
                 'the arguments of a spawned process')
    end if
    call MPI_Comm_disconnect(parent, ierror)
    call good('MPI_Comm_disconnect')
  end subroutine
end program
