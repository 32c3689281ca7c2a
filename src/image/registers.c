/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers, stacks, the return from signals: what cannot be said in C. */
#include "image/area.h"

#include <stddef.h>

_Static_assert(offsetof(struct rz_image_registers, rsp) == 48, "as below");
_Static_assert(offsetof(struct rz_image_registers, mxcsr) == 64, "as below");
_Static_assert(sizeof(struct rz_image_registers) == 96, "as below");

/* fnstenv masks the exceptions of the unit that it saves: fldenv makes them what they were. */

__asm__(".text\n"
        ".globl rz_image_registers_save, rz_image_registers_load, rz_image_on_stack\n"
        ".globl rz_image_signal_return, rz_image_clone\n"
        ".hidden rz_image_registers_save, rz_image_registers_load, rz_image_on_stack\n"
        ".hidden rz_image_signal_return, rz_image_clone\n"
        ".type rz_image_registers_save, @function\n"
        "rz_image_registers_save:\n"
        "    mov %rbx, 0(%rdi); mov %rbp, 8(%rdi); mov %r12, 16(%rdi); mov %r13, 24(%rdi)\n"
        "    mov %r14, 32(%rdi); mov %r15, 40(%rdi)\n"
        "    lea 8(%rsp), %rax; mov %rax, 48(%rdi)\n"
        "    mov (%rsp), %rax; mov %rax, 56(%rdi)\n"
        "    stmxcsr 64(%rdi); fnstenv 68(%rdi); fldenv 68(%rdi)\n"
        "    xor %eax, %eax\n"
        "    ret\n"
        ".type rz_image_registers_load, @function\n"
        "rz_image_registers_load:\n"
        "    mov 0(%rdi), %rbx; mov 8(%rdi), %rbp; mov 16(%rdi), %r12; mov 24(%rdi), %r13\n"
        "    mov 32(%rdi), %r14; mov 40(%rdi), %r15; mov 48(%rdi), %rsp\n"
        "    fninit; ldmxcsr 64(%rdi); fldenv 68(%rdi)\n"
        "    mov $1, %eax\n"
        "    jmp *56(%rdi)\n"
        ".type rz_image_on_stack, @function\n"
        "rz_image_on_stack:\n"
        "    mov %rdi, %rsp; and $-16, %rsp; xor %ebp, %ebp\n"
        "    call *%rsi\n"
        "    ud2\n"
        /* (flags, stack, tid_at, fs, registers): the new thread continues at the registers */
        ".type rz_image_clone, @function\n"
        "rz_image_clone:\n"
        "    mov %r8, %r9; mov %rcx, %r8; mov %rdx, %r10\n"
        "    mov $56, %eax\n"
        "    syscall\n"
        "    test %eax, %eax\n"
        "    jnz 1f\n"
        "    mov %r9, %rdi\n"
        "    jmp rz_image_registers_load\n"
        "1:  ret\n"
        ".type rz_image_signal_return, @function\n"
        "rz_image_signal_return:\n"
        "    mov $15, %eax\n"
        "    syscall\n");
