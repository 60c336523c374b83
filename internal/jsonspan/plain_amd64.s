//go:build !purego

#include "textflag.h"

// Characters to compare with: quote, backslash, the last control character,
// and the letters of the usual escapes.
DATA chars<>+0(SB)/8, $0x0000_7274_6e1f_5c22
GLOBL chars<>(SB), RODATA|NOPTR, $8

// func plainBlocks(data []byte) int
//
// Each round looks at 64 bytes and makes three sets of them, with one bit for
// each byte: backslashes (R9), characters that may not stand alone (R11), and
// characters that may follow a backslash (R12).
TEXT ·plainBlocks(SB), NOSPLIT, $0-32
	MOVQ data_base+0(FP), SI
	MOVQ data_len+8(FP), CX
	XORL AX, AX                    // offset of the block
	XORL R8, R8                    // 1 if its first byte is escaped, else 0
	SUBQ $64, CX                   // the last offset that has a whole block
	JLT  done
	MOVQ $0x5555555555555555, DX
	VPBROADCASTB chars<>+0(SB), Y1 // "
	VPBROADCASTB chars<>+1(SB), Y2 // \
	VPBROADCASTB chars<>+2(SB), Y3 // 0x1f
	VPBROADCASTB chars<>+3(SB), Y4 // n
	VPBROADCASTB chars<>+4(SB), Y5 // t
	VPBROADCASTB chars<>+5(SB), Y6 // r

block:
	VMOVDQU (SI)(AX*1), Y8
	VMOVDQU 32(SI)(AX*1), Y9

	// Backslashes.
	VPCMPEQB  Y8, Y2, Y10
	VPCMPEQB  Y9, Y2, Y11
	VPMOVMSKB Y10, R9
	VPMOVMSKB Y11, R10
	SHLQ      $32, R10
	ORQ       R10, R9

	// Quotes and control characters: min(b, 0x1f) == b.
	VPCMPEQB  Y8, Y1, Y12
	VPCMPEQB  Y9, Y1, Y13
	VPMINUB   Y8, Y3, Y7
	VPMINUB   Y9, Y3, Y14
	VPCMPEQB  Y8, Y7, Y7
	VPCMPEQB  Y9, Y14, Y14
	VPOR      Y12, Y7, Y7
	VPOR      Y13, Y14, Y14
	VPMOVMSKB Y7, R11
	VPMOVMSKB Y14, R10
	SHLQ      $32, R10
	ORQ       R10, R11

	// Quotes, backslashes, n, t and r.
	VPOR      Y12, Y10, Y10
	VPOR      Y13, Y11, Y11
	VPCMPEQB  Y8, Y4, Y12
	VPCMPEQB  Y9, Y4, Y13
	VPOR      Y12, Y10, Y10
	VPOR      Y13, Y11, Y11
	VPCMPEQB  Y8, Y5, Y12
	VPCMPEQB  Y9, Y5, Y13
	VPOR      Y12, Y10, Y10
	VPOR      Y13, Y11, Y11
	VPCMPEQB  Y8, Y6, Y12
	VPCMPEQB  Y9, Y6, Y13
	VPOR      Y12, Y10, Y10
	VPOR      Y13, Y11, Y11
	VPMOVMSKB Y10, R12
	VPMOVMSKB Y11, R10
	SHLQ      $32, R10
	ORQ       R10, R12

	// DI = the escaped bytes. In a run of backslashes every second one is
	// escaped, and so is the byte behind the run if its length is odd. The
	// addition carries through the runs that start at odd positions, which
	// tells where each of them ends. (Langdale and Lemire, "Parsing
	// Gigabytes of JSON per Second", section 3.1.1.)
	MOVQ R8, BX
	NOTQ BX
	ANDQ BX, R9
	LEAQ (R8)(R9*2), R13           // bytes behind a backslash
	MOVQ R13, DI
	ORQ  DX, DI
	NOTQ DI
	ANDQ R9, DI                    // runs that start at odd positions
	XORL R8, R8
	ADDQ R9, DI
	ADCQ $0, R8
	SHLQ $1, DI
	XORQ DX, DI
	ANDQ R13, DI

	// Stop at a bad escape, or at a quote or control character unescaped.
	NOTQ R12
	ANDQ DI, R12
	NOTQ DI
	ANDQ DI, R11
	ORQ  R12, R11
	JNZ  stop
	ADDQ $64, AX
	CMPQ AX, CX
	JLE  block
	VZEROUPPER
	SUBQ R8, AX                    // not between a backslash and its escaped byte

done:
	MOVQ AX, ret+24(FP)
	RET

stop:
	VZEROUPPER
	BSFQ R11, BX
	ADDQ BX, AX
	BTQ  BX, DI
	JCS  done
	DECQ AX                        // it is escaped: stop at its backslash
	JMP  done

// func cpuid(leaf uint32) (eax, ebx, ecx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-20
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
