! SPDX-License-Identifier: BSD-3-Clause
! Attributes that one language sets and the other reads, copies and deletes (MPI 5.0, section 19.3.7): of communicators, datatypes and windows.
#include "ways.inc"
#if WAY == 3
#define INT_OF(handle) handle%MPI_VAL
#else
#define INT_OF(handle) handle
#endif

module seen
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer(MPI_ADDRESS_KIND) :: in, deleted
contains
  subroutine check(so, what)
    logical, intent(in) :: so
    character(len=*), intent(in) :: what
    integer :: error
    if (.not. so) then
      print '(2a)', 'Fortran: not so: ', what
      call MPI_Abort(MPI_COMM_WORLD, 3, error)
    end if
  end subroutine

#define COPY(name, kind) \
  subroutine name(object, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierr); \
    HANDLE(kind) :: object; \
    integer :: keyval, ierr; \
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out; \
    logical :: flag; \
    in = attribute_val_in; \
    attribute_val_out = attribute_val_in + extra_state; \
    flag = .true.; \
    ierr = MPI_SUCCESS; \
  end subroutine
#define DELETE(name, kind) \
  subroutine name(object, keyval, attribute_val, extra_state, ierr); \
    HANDLE(kind) :: object; \
    integer :: keyval, ierr; \
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state; \
    deleted = attribute_val; \
    ierr = MPI_SUCCESS; \
  end subroutine

  COPY(copy_comm, MPI_Comm)
  COPY(copy_type, MPI_Datatype)
  COPY(copy_win, MPI_Win)
  DELETE(delete_comm, MPI_Comm)
  DELETE(delete_type, MPI_Datatype)
  DELETE(delete_win, MPI_Win)

  subroutine copy_old(object, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierr)
    HANDLE(MPI_Comm) :: object
    integer :: keyval, extra_state, attribute_val_in, attribute_val_out, ierr
    logical :: flag
    in = attribute_val_in
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine

  subroutine delete_old(object, keyval, attribute_val, extra_state, ierr)
    HANDLE(MPI_Comm) :: object
    integer :: keyval, attribute_val, extra_state, ierr
    deleted = attribute_val
    ierr = MPI_SUCCESS
  end subroutine
end module

program fortran_attributes
  use seen
  implicit none
  integer(MPI_ADDRESS_KIND), parameter :: large = 1234567890123_MPI_ADDRESS_KIND, address = int(z'7000dead0010', MPI_ADDRESS_KIND)
  integer(MPI_ADDRESS_KIND) :: value
  integer, target :: memory(4) = 0
  integer :: ierror, key, i, copies, deletions, old
  logical :: flag
  HANDLE(MPI_Comm) :: comm, copy
  HANDLE(MPI_Datatype) :: datatype, datatype_copy
  HANDLE(MPI_Win) :: win
  call MPI_Init(ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Type_contiguous(2, MPI_INTEGER, datatype, ierror)
  call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)

  ! No blanks between the arguments of these macros: they become parts of names.
  ! Keys of Fortran. Every number has an address of its own, and the same number the same one.
#define READS(kind, Kind, object) \
  call MPI_/**/Kind/**/_create_keyval(copy_/**/kind, delete_/**/kind, key, 5_MPI_ADDRESS_KIND, ierror); \
  do i = -1000, 1000; \
    call MPI_/**/Kind/**/_set_attr(object, key, large * i, ierror); \
    call check(i == -1000 .or. deleted == large * (i - 1), 'Kind: the number that was set before'); \
    call c_/**/kind/**/_reads(INT_OF(object), key, large * i, 0); \
    call MPI_/**/Kind/**/_get_attr(object, key, value, flag, ierror); \
    call check(flag .and. value == large * i, 'Kind: a number of Fortran'); \
  end do; \
  call c_/**/kind/**/_sets(INT_OF(object), key, address); \
  call check(deleted == 1000 * large, 'Kind: a number that C replaces'); \
  call c_/**/kind/**/_reads_address(INT_OF(object), key, address); \
  call MPI_/**/Kind/**/_get_attr(object, key, value, flag, ierror); \
  call check(flag .and. value == address, 'Kind: an address of C')
#define DELETES(Kind, object) \
  call MPI_/**/Kind/**/_delete_attr(object, key, ierror); \
  call MPI_/**/Kind/**/_free_keyval(key, ierror)

  READS(comm,Comm,comm)
  call MPI_Comm_dup(comm, copy, ierror)
  call check(in == address, 'Comm: a copy function gets the address of C')
  call c_comm_reads(INT_OF(copy), key, address + 5, 0)
  call MPI_Comm_free(copy, ierror)
  call check(deleted == address + 5, 'Comm: a delete function')
  DELETES(Comm,comm)
  call check(deleted == address, 'Comm: a delete function gets the address of C')

  READS(type,Type,datatype)
  call MPI_Type_dup(datatype, datatype_copy, ierror)
  call c_type_reads(INT_OF(datatype_copy), key, address + 5, 0)
  call MPI_Type_free(datatype_copy, ierror)
  call check(deleted == address + 5, 'Type: a delete function')
  DELETES(Type,datatype)
  call check(deleted == address, 'Type: a delete function gets the address of C')

  READS(win,Win,win)
  DELETES(Win,win)
  call check(deleted == address, 'Win: a delete function gets the address of C')

  ! Keys of C: its functions get addresses of Fortran's numbers.
  call c_comm_key(key, large)
  call MPI_Comm_set_attr(comm, key, large, ierror)
  call MPI_Comm_dup(comm, copy, ierror)
  call MPI_Comm_get_attr(copy, key, value, flag, ierror)
  call check(flag .and. value == large, 'Comm: a copy by C')
  call MPI_Comm_free(copy, ierror)
  DELETES(Comm,comm)
  call c_calls(copies, deletions)
  call check(copies == 1 .and. deletions == 2, 'Comm: calls of functions of C')
  call c_type_key(key, large)
  call MPI_Type_set_attr(datatype, key, large, ierror)
  call MPI_Type_dup(datatype, datatype_copy, ierror)
  call MPI_Type_get_attr(datatype_copy, key, value, flag, ierror)
  call check(flag .and. value == large, 'Type: a copy by C')
  call MPI_Type_free(datatype_copy, ierror)
  DELETES(Type,datatype)
  call c_calls(copies, deletions)
  call check(copies == 1 .and. deletions == 2, 'Type: calls of functions of C')
  call c_win_key(key, large)
  call MPI_Win_set_attr(win, key, large, ierror)
  DELETES(Win,win)
  call c_calls(copies, deletions)
  call check(copies == 0 .and. deletions == 1, 'Win: calls of functions of C')

  ! MPI_COMM_DUP_FN: the copy is what the original is.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierror)
  call c_comm_sets(INT_OF(comm), key, address)
  call MPI_Comm_dup(comm, copy, ierror)
  call c_comm_reads_address(INT_OF(copy), key, address)
  call MPI_Comm_free(copy, ierror)
  call MPI_Comm_set_attr(comm, key, -7_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_dup(comm, copy, ierror)
  call MPI_Comm_delete_attr(comm, key, ierror)
  call c_comm_reads(INT_OF(copy), key, -7_MPI_ADDRESS_KIND, 0)
  call MPI_Comm_free(copy, ierror)
  call MPI_Comm_free_keyval(key, ierror)

  ! Default integers (MPI-1): C gets the address of one, MPI_Comm_get_attr the number with its sign.
#if WAY != 3
  call MPI_Keyval_create(copy_old, delete_old, key, 5, ierror)
  call MPI_Attr_put(comm, key, -9, ierror)
  call c_comm_reads(comm, key, -9_MPI_ADDRESS_KIND, 1)
  call MPI_Comm_get_attr(comm, key, value, flag, ierror)
  call check(flag .and. value == -9, 'a default integer with its sign')
  call MPI_Comm_dup(comm, copy, ierror)
  call check(in == -9, 'a copy function with default integers')
  call c_comm_reads(copy, key, -4_MPI_ADDRESS_KIND, 1)
  call MPI_Comm_free(copy, ierror)
  call check(deleted == -4, 'a delete function with default integers')
  call MPI_Comm_set_attr(comm, key, large, ierror)
  call MPI_Attr_get(comm, key, old, flag, ierror)
  call check(flag .and. old == int(iand(large, int(z'7fffffff', MPI_ADDRESS_KIND))), 'the low part of a number')
  call MPI_Attr_delete(comm, key, ierror)
  call MPI_Keyval_free(key, ierror)
#else
  old = 0
#endif

  ! Attributes of MPI are numbers to Fortran.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  call check(flag .and. value >= 32767, 'MPI_TAG_UB')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, value, flag, ierror)
  call check(.not. flag .or. value >= 1, 'MPI_UNIVERSE_SIZE')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, value, flag, ierror)
  call check(flag .and. value >= MPI_ERR_LASTCODE, 'MPI_LASTUSEDCODE')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierror)
  call check(flag .and. value == 16, 'MPI_WIN_SIZE')
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierror)
  call check(flag .and. value == 4, 'MPI_WIN_DISP_UNIT')
  call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierror)
  call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'MPI_WIN_CREATE_FLAVOR')
  call MPI_Win_get_attr(win, MPI_WIN_MODEL, value, flag, ierror)
  call check(flag .and. (value == MPI_WIN_UNIFIED .or. value == MPI_WIN_SEPARATE), 'MPI_WIN_MODEL')
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierror)
  call MPI_Get_address(memory, in, ierror)
  call check(flag .and. value == in, 'MPI_WIN_BASE')

  call MPI_Win_free(win, ierror)
  call MPI_Type_free(datatype, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Finalize(ierror)
end program
