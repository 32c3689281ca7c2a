! SPDX-License-Identifier: BSD-3-Clause
! Random sections of arrays, with strides in each dimension, some of them negative, in calls that return before they have used their buffers (mpi_f08).
! The reference: the same call, blocking, on copies without gaps. No element outside of a section, and none that a call does not name, changes.
program fortran_sections
  use mpi_f08
  implicit none
  integer, parameter :: sizes(3) = [11, 9, 10]
  integer, target :: xs(11, 9, 10), ys(11, 9, 10), xr(11, 9, 10), yr(11, 9, 10)
  integer, pointer :: ps(:, :, :), qs(:, :, :), pr(:, :, :), qr(:, :, :)
  integer, allocatable :: out(:), in(:)
  type(MPI_Comm) :: ring
  type(MPI_Datatype) :: gappy
  type(MPI_Request) :: request
  integer :: me, n, round, rounds, step, i, left, right, ierror
  integer, allocatable :: counts(:), displs(:), scounts(:), sdispls(:), bytes(:), sbytes(:)
  type(MPI_Datatype), allocatable :: types(:)
  character(len=20) :: word
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  rounds = 20
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) rounds
  end if
  allocate (counts(n), displs(n), scounts(n), sdispls(n), bytes(n), sbytes(n), types(n))
  ! Two integers, with a gap of one between them and another one behind.
  call gappy_type
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [n], [.true.], .false., ring)
  call check(MPI_SUBARRAYS_SUPPORTED, 'MPI_SUBARRAYS_SUPPORTED')
  do round = 1, rounds
    do step = 1, 2 ! 2: persistent
      call moves
      call reductions
      call neighbours
    end do
    call in_place
    call messages
    call partitions
    call windows
  end do
  call freed_early
  call files
  call addresses
  call components
  call too_much
  call MPI_Type_free(gappy)
  call MPI_Comm_free(ring)
  call MPI_Finalize()
contains

  subroutine check(so, what)
    logical, intent(in) :: so
    character(len=*), intent(in) :: what
    if (.not. so) then
      print '(a, i0, a, i0, 2a)', 'rank ', me, ', round ', round, ': not so: ', what
      call MPI_Abort(MPI_COMM_WORLD, 3)
    end if
  end subroutine

  subroutine gappy_type
    type(MPI_Datatype) :: vector
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, vector)
    call MPI_Type_create_resized(vector, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, gappy)
    call MPI_Type_commit(gappy)
    call MPI_Type_free(vector)
  end subroutine

  ! A number from 0 to less than below, another one at each call.
  integer function draw(below)
    integer, intent(in) :: below
    integer(8), save :: state = 0
    if (state == 0) state = 88172645463325252_8 + 7919_8 * me
    state = ieor(state, ishft(state, 13))
    state = ieor(state, ishft(state, -7))
    state = ieor(state, ishft(state, 17))
    draw = int(modulo(state, int(below, 8)))
  end function

  ! A section of one array, and the same one of another.
  subroutine cut(x, y, p, q)
    integer, target :: x(:, :, :), y(:, :, :)
    integer, pointer, intent(out) :: p(:, :, :), q(:, :, :)
    integer :: first(3), last(3), stride(3), k
    do
      do k = 1, 3
        stride(k) = 1 + draw(2)
        first(k) = 1 + draw(3)
        last(k) = sizes(k) - draw(3)
        if (draw(3) == 0) then
          i = first(k)
          first(k) = last(k)
          last(k) = i
          stride(k) = -stride(k)
        end if
      end do
      p => x(first(1):last(1):stride(1), first(2):last(2):stride(2), first(3):last(3):stride(3))
      q => y(first(1):last(1):stride(1), first(2):last(2):stride(2), first(3):last(3):stride(3))
      if (size(p) >= 24 * n) return
    end do
  end subroutine

  subroutine fresh
    integer :: a, b, c
    do c = 1, sizes(3)
      do b = 1, sizes(2)
        do a = 1, sizes(1)
          xs(a, b, c) = 100000 * me + 1000 * draw(90) + a + 11 * b
          xr(a, b, c) = -(100000 * me + a + 11 * b + 99 * c)
        end do
      end do
    end do
    ys = xs
    yr = xr
    call cut(xs, ys, ps, qs)
    call cut(xr, yr, pr, qr)
    out = reshape(qs, [size(qs)])
    in = reshape(qr, [size(qr)])
  end subroutine

  ! Starts, waits, and frees what is persistent.
  subroutine finish
    if (step == 2) call MPI_Start(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (step == 2) then
      ! A second time gives the same, for the receive buffer is as it was.
      xr = yr
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Request_free(request)
    end if
  end subroutine

  ! What the blocking call has written to `in` is what the other one has written to the section.
  subroutine compare(what)
    character(len=*), intent(in) :: what
    call check(all(xs == ys), what // ': the data that were sent')
    qr = reshape(in, shape(qr))
    call check(all(xr == yr), what)
  end subroutine

  subroutine draw_blocks(c)
    integer, intent(in) :: c
    integer :: place, k
    place = draw(3)
    do k = n, 1, -1 ! in the reverse order of the ranks
      counts(k) = c + k
      displs(k) = place
      place = place + counts(k) + draw(3)
    end do
    place = draw(3)
    do k = 1, n
      scounts(k) = c + me + 1
      sdispls(k) = place
      place = place + scounts(k) + draw(3)
    end do
    bytes = 4 * displs
    sbytes = 4 * sdispls
    types = MPI_INTEGER
  end subroutine

  subroutine moves
    integer :: c, root
    root = modulo(round, n)
    c = modulo(round, 4) ! the same at all
    call fresh
    call MPI_Allgather(out, 2 * c, MPI_INTEGER, in, c, gappy, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iallgather(ps, 2 * c, MPI_INTEGER, pr, c, gappy, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Allgather_init(ps, 2 * c, MPI_INTEGER, pr, c, gappy, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('allgather')
    call fresh
    call draw_blocks(c)
    call MPI_Allgatherv(out, c + me + 1, MPI_INTEGER, in, counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iallgatherv(ps, c + me + 1, MPI_INTEGER, pr, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Allgatherv_init(ps, c + me + 1, MPI_INTEGER, pr, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('allgatherv')
    call fresh
    call MPI_Alltoall(out, c, gappy, in, 2 * c, MPI_INTEGER, MPI_COMM_WORLD)
    if (step == 1) call MPI_Ialltoall(ps, c, gappy, pr, 2 * c, MPI_INTEGER, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Alltoall_init(ps, c, gappy, pr, 2 * c, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('alltoall')
    call fresh
    call draw_blocks(c)
    call MPI_Alltoallv(out, scounts, sdispls, MPI_INTEGER, in, counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    if (step == 1) call MPI_Ialltoallv(ps, scounts, sdispls, MPI_INTEGER, pr, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Alltoallv_init(ps, scounts, sdispls, MPI_INTEGER, pr, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('alltoallv')
    call fresh
    call draw_blocks(c)
    call MPI_Alltoallw(out, scounts, sbytes, types, in, counts, bytes, types, MPI_COMM_WORLD)
    if (step == 1) call MPI_Ialltoallw(ps, scounts, sbytes, types, pr, counts, bytes, types, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Alltoallw_init(ps, scounts, sbytes, types, pr, counts, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('alltoallw')
    call fresh ! by large counts
    call draw_blocks(c)
    call MPI_Alltoallv(out, scounts, sdispls, MPI_INTEGER, in, counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    if (step == 1) call MPI_Ialltoallv(ps, int(scounts, MPI_COUNT_KIND), int(sdispls, MPI_ADDRESS_KIND), MPI_INTEGER, pr, &
      int(counts, MPI_COUNT_KIND), int(displs, MPI_ADDRESS_KIND), MPI_INTEGER, MPI_COMM_WORLD, request)
    if (step == 2) call PMPI_Alltoallv_init(ps, int(scounts, MPI_COUNT_KIND), int(sdispls, MPI_ADDRESS_KIND), MPI_INTEGER, pr, &
      int(counts, MPI_COUNT_KIND), int(displs, MPI_ADDRESS_KIND), MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('alltoallv by large counts')
    call fresh ! what MPI ignores at the others is not looked at
    call MPI_Gather(out, 2 * c, MPI_INTEGER, in, c, gappy, root, MPI_COMM_WORLD)
    i = c
    if (me /= root) i = -5
    if (step == 1) call MPI_Igather(ps, 2 * c, MPI_INTEGER, pr, i, gappy, root, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Gather_init(ps, 2 * c, MPI_INTEGER, pr, i, gappy, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('gather')
    call fresh
    call draw_blocks(c)
    call MPI_Gatherv(out, c + me + 1, MPI_INTEGER, in, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD)
    if (step == 1) call MPI_Igatherv(ps, c + me + 1, MPI_INTEGER, pr, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Gatherv_init(ps, c + me + 1, MPI_INTEGER, pr, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('gatherv')
    call fresh
    call MPI_Scatter(out, c, gappy, in, 2 * c, MPI_INTEGER, root, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iscatter(ps, c, gappy, pr, 2 * c, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Scatter_init(ps, c, gappy, pr, 2 * c, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('scatter')
    call fresh
    call draw_blocks(c)
    call MPI_Scatterv(out, counts, displs, MPI_INTEGER, in, c + me + 1, MPI_INTEGER, root, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iscatterv(ps, counts, displs, MPI_INTEGER, pr, c + me + 1, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Scatterv_init(ps, counts, displs, MPI_INTEGER, pr, c + me + 1, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('scatterv')
  end subroutine

  subroutine reductions
    integer :: c, root
    root = modulo(round, n)
    c = 1 + modulo(5 * round, 12)
    call draw_blocks(modulo(round, 3))
    call fresh
    call MPI_Allreduce(out, in, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iallreduce(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Allreduce_init(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('allreduce')
    call fresh ! a pair is in two elements
    call MPI_Allreduce(out, in, c, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iallreduce(ps, pr, c, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Allreduce_init(ps, pr, c, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('allreduce of pairs')
    call fresh
    call MPI_Reduce(out, in, c, MPI_INTEGER, MPI_MAX, root, MPI_COMM_WORLD)
    if (step == 1) call MPI_Ireduce(ps, pr, c, MPI_INTEGER, MPI_MAX, root, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Reduce_init(ps, pr, c, MPI_INTEGER, MPI_MAX, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('reduce')
    call fresh
    call MPI_Scan(out, in, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iscan(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Scan_init(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('scan')
    call fresh
    call MPI_Exscan(out, in, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (step == 1) call MPI_Iexscan(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Exscan_init(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('exscan')
    call fresh
    call MPI_Reduce_scatter(out, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (step == 1) call MPI_Ireduce_scatter(ps, pr, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Reduce_scatter_init(ps, pr, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('reduce_scatter')
    call fresh
    call MPI_Reduce_scatter_block(out, in, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (step == 1) call MPI_Ireduce_scatter_block(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    if (step == 2) call MPI_Reduce_scatter_block_init(ps, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call finish
    call compare('reduce_scatter_block')
  end subroutine

  subroutine neighbours
    integer :: c(2), d(2), s(2), e(2)
    integer(MPI_ADDRESS_KIND) :: dw(2), ew(2)
    type(MPI_Datatype) :: pair(2)
    pair = MPI_INTEGER
    c = [1, 1] + modulo(round, 5)
    d = [2 + c(1), 0] ! the second block first
    s = c
    e = [0, 1 + c(1)]
    call fresh
    call MPI_Neighbor_allgather(out, 2 * c(1), MPI_INTEGER, in, c(1), gappy, ring)
    if (step == 1) call MPI_Ineighbor_allgather(ps, 2 * c(1), MPI_INTEGER, pr, c(1), gappy, ring, request)
    if (step == 2) call MPI_Neighbor_allgather_init(ps, 2 * c(1), MPI_INTEGER, pr, c(1), gappy, ring, MPI_INFO_NULL, request)
    call finish
    call compare('neighbor_allgather')
    call fresh
    call MPI_Neighbor_allgatherv(out, c(1), MPI_INTEGER, in, c, d, MPI_INTEGER, ring)
    if (step == 1) call MPI_Ineighbor_allgatherv(ps, c(1), MPI_INTEGER, pr, c, d, MPI_INTEGER, ring, request)
    if (step == 2) call MPI_Neighbor_allgatherv_init(ps, c(1), MPI_INTEGER, pr, c, d, MPI_INTEGER, ring, MPI_INFO_NULL, request)
    call finish
    call compare('neighbor_allgatherv')
    call fresh
    call MPI_Neighbor_alltoall(out, c(1), gappy, in, 2 * c(1), MPI_INTEGER, ring)
    if (step == 1) call MPI_Ineighbor_alltoall(ps, c(1), gappy, pr, 2 * c(1), MPI_INTEGER, ring, request)
    if (step == 2) call MPI_Neighbor_alltoall_init(ps, c(1), gappy, pr, 2 * c(1), MPI_INTEGER, ring, MPI_INFO_NULL, request)
    call finish
    call compare('neighbor_alltoall')
    call fresh
    call MPI_Neighbor_alltoallv(out, s, e, MPI_INTEGER, in, c, d, MPI_INTEGER, ring)
    if (step == 1) call MPI_Ineighbor_alltoallv(ps, s, e, MPI_INTEGER, pr, c, d, MPI_INTEGER, ring, request)
    if (step == 2) call MPI_Neighbor_alltoallv_init(ps, s, e, MPI_INTEGER, pr, c, d, MPI_INTEGER, ring, MPI_INFO_NULL, request)
    call finish
    call compare('neighbor_alltoallv')
    call fresh
    dw = 4 * d
    ew = 4 * e
    call MPI_Neighbor_alltoallw(out, s, ew, pair, in, c, dw, pair, ring)
    if (step == 1) call MPI_Ineighbor_alltoallw(ps, s, ew, pair, pr, c, dw, pair, ring, request)
    if (step == 2) call MPI_Neighbor_alltoallw_init(ps, s, ew, pair, pr, c, dw, pair, ring, MPI_INFO_NULL, request)
    call finish
    call compare('neighbor_alltoallw')
  end subroutine

  subroutine in_place
    integer :: c, root
    root = modulo(round, n)
    c = 1 + modulo(round, 4)
    call draw_blocks(c)
    call fresh
    call MPI_Allreduce(MPI_IN_PLACE, in, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Iallreduce(MPI_IN_PLACE, pr, c, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare('allreduce in place')
    call fresh
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, c, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, pr, c, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare('allgather in place')
    call fresh
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, c, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, pr, c, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare('alltoall in place')
    call fresh
    counts = c + [(i, i = 1, n)]
    call MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Ireduce_scatter(MPI_IN_PLACE, pr, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    out = reshape(pr, [size(pr)]) ! the rest of the buffer may be anything
    call check(all(out(1:counts(me + 1)) == in(1:counts(me + 1))), 'reduce_scatter in place')
    call fresh
    if (me == root) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, c, MPI_INTEGER, root, MPI_COMM_WORLD)
      call MPI_Igather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, pr, c, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    else
      call MPI_Gather(out, c, MPI_INTEGER, in, c, MPI_INTEGER, root, MPI_COMM_WORLD)
      call MPI_Igather(ps, c, MPI_INTEGER, pr, c, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    end if
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare('gather in place')
    call fresh ! at an absolute address
    out = in
    call MPI_Iallreduce(MPI_BOTTOM, pr, 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare('allreduce of nothing')
  end subroutine

  ! Any datatype, with gaps of its own: its displacements are places among the elements of the section.
  subroutine messages
    type(MPI_Request) :: both(2)
    type(MPI_Status) :: status
    integer :: c, root
    root = modulo(round, n)
    c = 1 + modulo(round, 5)
    call fresh
    call MPI_Sendrecv(out, c, gappy, right, 1, in, c, gappy, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Irecv(pr, c, gappy, left, 2, MPI_COMM_WORLD, both(1))
    call MPI_Isend(ps, c, gappy, right, 2, MPI_COMM_WORLD, both(2))
    call MPI_Wait(both(1), status)
    call MPI_Wait(both(2), MPI_STATUS_IGNORE)
    call MPI_Get_count(status, gappy, i)
    call check(i == c, 'the count of a message')
    call compare('a message of a datatype with gaps')
    call fresh ! a shorter message, in bytes, from two elements and a half
    call MPI_Sendrecv(out, 10, MPI_BYTE, right, 1, in, 40, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Irecv(pr, 40, MPI_BYTE, left, 2, MPI_COMM_WORLD, both(1))
    call MPI_Isend(ps, 10, MPI_BYTE, right, 2, MPI_COMM_WORLD, both(2))
    call MPI_Waitall(2, both, MPI_STATUSES_IGNORE)
    call compare('a message of bytes')
    call fresh
    call MPI_Bcast(in, c, gappy, root, MPI_COMM_WORLD)
    call MPI_Ibcast(pr, c, gappy, root, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare('a broadcast of a datatype with gaps')
    call fresh ! cancelled: nothing changes
    call MPI_Irecv(pr, c, gappy, left, 3, MPI_COMM_WORLD, request)
    call MPI_Cancel(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call compare('a receive that was cancelled')
  end subroutine

  ! Partitions: each is read when it is ready, and there when it has arrived.
  subroutine partitions
    integer, parameter :: m = 4
    type(MPI_Request) :: both(2)
    integer :: c, k, again
    logical :: arrived
    c = 1 + modulo(round, 3)
    call fresh
    call MPI_Precv_init(pr, m, int(c, MPI_COUNT_KIND), MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, both(1))
    call MPI_Psend_init(ps, m, int(c, MPI_COUNT_KIND), MPI_INTEGER, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, both(2))
    do again = 1, 2
      call MPI_Startall(2, both)
      do k = 1, m
        out(c * (k - 1) + 1:c * k) = 1000 * me + 100 * again + k
        qs = reshape(out, shape(qs))
        ps = qs
        if (k < m) call MPI_Pready(k - 1, both(2))
      end do
      call MPI_Pready_range(m - 1, m - 1, both(2))
      do k = m, 1, -1
        arrived = .false.
        do while (.not. arrived)
          call MPI_Parrived(both(1), k - 1, arrived)
        end do
        in(c * (k - 1) + 1:c * k) = 1000 * left + 100 * again + k
        call check(all(in(c * (k - 1) + 1:c * k) == [row_of(c * (k - 1) + 1, c)]), 'a partition that has arrived')
      end do
      call MPI_Waitall(2, both, MPI_STATUSES_IGNORE)
      call compare('partitions')
    end do
    call MPI_Request_free(both(1))
    call MPI_Request_free(both(2))
  end subroutine

  ! So many elements of the section, in order.
  function row_of(first, m) result(row)
    integer, intent(in) :: first, m
    integer :: row(m)
    integer, allocatable :: whole(:)
    whole = reshape(pr, [size(pr)])
    row = whole(first:first + m - 1)
  end function

  subroutine windows
    integer, target :: memory(40), before(40)
    integer :: one(1)
    type(MPI_Win) :: win
    call fresh
    memory = [(1000 * me + i, i = 1, 40)]
    before = [(1000 * right + i, i = 1, 40)]
    call MPI_Win_create(memory, 160_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Get(pr, 3, gappy, right, 1_MPI_ADDRESS_KIND, 6, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    in([1, 3, 5, 7, 9, 11]) = before(2:7)
    call compare('MPI_Get')
    call fresh
    call MPI_Accumulate(ps, 2, gappy, right, 4_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call MPI_Get(before, 40, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 40, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(before(5:8) == [(1000 * right + i, i = 5, 8)] + out([1, 3, 5, 7])), 'MPI_Accumulate')
    call MPI_Fetch_and_op(ps, pr, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, MPI_REPLACE, win)
    call MPI_Win_fence(0, win)
    in(1) = 1000 * right + 1
    call compare('MPI_Fetch_and_op')
    call MPI_Get(one, 1, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(one(1) == out(1), 'what MPI_Fetch_and_op has put')
    call MPI_Win_free(win)
  end subroutine

  ! A persistent operation that is freed while it runs still ends.
  subroutine freed_early
    integer, pointer :: first
    call fresh
    call MPI_Allreduce(out, in, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce_init(ps, pr, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call MPI_Start(request)
    call MPI_Request_free(request)
    call MPI_Barrier(MPI_COMM_WORLD)
    first => pr(1, 1, 1)
    do while (is_still(first))
    end do
    call compare('a request that was freed early')
  end subroutine

  logical function is_still(first)
    integer, volatile :: first
    logical :: flag
    call MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
    is_still = first /= in(1)
  end function

  subroutine files
    type(MPI_File) :: fh
    type(MPI_Status) :: status
    character(len=40) :: name
    write (name, '(a, i0)') 'fortran_sections_', own_number()
    call MPI_Bcast(name, len(name), MPI_CHARACTER, 0, MPI_COMM_WORLD)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, fh)
    call MPI_File_set_view(fh, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'external32', MPI_INFO_NULL)
    call fresh
    call MPI_File_write_at_all_begin(fh, 20_MPI_OFFSET_KIND * me, ps, 10, gappy)
    call MPI_File_write_at_all_end(fh, ps, status)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_read_at_all_begin(fh, 20_MPI_OFFSET_KIND * me, pr, 10, gappy)
    call MPI_File_read_at_all_end(fh, pr, status)
    do i = 1, 20
      in(2 * i - 1) = out(2 * i - 1)
    end do
    call compare('a file, by split calls')
    call fresh
    call MPI_File_iread_at(fh, 20_MPI_OFFSET_KIND * me, pr, 5, gappy, request)
    call MPI_Wait(request, status)
    call MPI_File_read_at(fh, 20_MPI_OFFSET_KIND * me, in, 5, gappy, status)
    call compare('a file, by MPI_File_iread_at')
    call MPI_File_close(fh)
  end subroutine

  integer function own_number()
    interface
      integer(c_int) function c_getpid() bind(C, name='getpid')
        use, intrinsic :: iso_c_binding, only: c_int
      end function
    end interface
    own_number = c_getpid()
  end function

  ! The address of a section is that of its first element, not that of a copy.
  subroutine addresses
    integer(MPI_ADDRESS_KIND) :: one, other
    call MPI_Get_address(xs(3, :, 2), one)
    call MPI_Get_address(xs(3, 1, 2), other)
    call check(one == other, 'the address of a section')
    call MPI_F_sync_reg(xs(3, :, 2))
  end subroutine

  subroutine components
    type particle
      integer :: id
      double precision :: x, v(3)
    end type
    type(particle), target :: some(12), others(12)
    double precision :: sum(4)
    integer :: k
    do k = 1, 12
      some(k) = particle(k, me + k, [1d0, 2d0, 3d0] * k)
      others(k) = particle(-k, 0d0, [0d0, 0d0, 0d0])
    end do
    call MPI_Iallreduce(some(2:12:3)%x, others(11:2:-3)%v(2), 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    sum = [(n * (n - 1) / 2 + n * k, k = 2, 12, 3)]
    call check(all(abs(others(11:2:-3)%v(2) - sum) < 1d-9), 'components')
    call check(count(others%v(2) > 0d0) == 4 .and. all(others%id == [(-k, k = 1, 12)]), 'the other components')
  end subroutine

  ! What a section does not have, and what takes no section.
  subroutine too_much
    integer :: class
    integer, target :: a(4, 6)
    type(MPI_Win) :: win
    a = 0
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Iallreduce(MPI_IN_PLACE, a(1, :), 7, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, request, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_COUNT, 'more than a section has')
    call MPI_Isend(a(1, :), 4, gappy, 0, 1, MPI_COMM_SELF, request, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_COUNT, 'more than a section has, with gaps')
    call MPI_Isend(a(1, :), 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, request, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_TYPE, 'an item across two elements')
    call MPI_Iallreduce(MPI_IN_PLACE, a(1, :), -1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, request, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_COUNT, 'a negative count')
    call MPI_Iallreduce(MPI_IN_PLACE, a(1, :), 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_SELF, request, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_TYPE, 'no datatype')
    call MPI_Iallreduce(MPI_IN_PLACE, a(1, :), 1, MPI_INTEGER, MPI_MINLOC, MPI_COMM_SELF, request, ierror)
    call check(ierror /= MPI_SUCCESS, 'an operation that does not fit')
    call MPI_Win_create(a(1, :), 24_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, 'a window of a section')
    call MPI_Buffer_attach(a(1, :), 24, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, 'a buffer that is a section')
  end subroutine
end program
