! SPDX-License-Identifier: BSD-3-Clause
! A program to save: allocatable arrays, and a unit that is open and read back.
program arrays
  implicit none
  integer :: round, i, n, u, ios
  real(8), allocatable :: a(:,:), b(:)
  character(len=80) :: line
  real(8) :: s
  integer(8) :: check
  open(newunit=u, file='arrays.txt', status='replace', action='readwrite')
  s = 1.0d0
  do round = 1, 600
     n = 50 + mod(round*37, 200)
     allocate(a(n,n), b(n))
     call fill(a, round)
     b = matmul(a, [(sin(dble(i)*s), i=1,n)])
     s = 0.5d0 + abs(mod(sum(b) + s, 3.0d0))
     write(u,'(a,i6,1x,es24.16)') 'round ', round, s
     deallocate(a, b)
     if (mod(round,100) == 0) print '(i6,1x,es24.16)', round, s
  end do
  rewind(u)
  check = 0
  do
     read(u,'(a)',iostat=ios) line
     if (ios /= 0) exit
     do i = 1, len_trim(line)
        check = mod(check*31 + ichar(line(i:i)), 1000000007_8)
     end do
  end do
  close(u)
  print *, 'end', check
contains
  subroutine fill(m, seed)
    real(8), intent(out) :: m(:,:)
    integer, intent(in) :: seed
    integer :: p, q
    do q = 1, size(m,2)
       do p = 1, size(m,1)
          m(p,q) = cos(dble(p)*1.7d0 + dble(q)*dble(seed))
       end do
    end do
  end subroutine
end program
