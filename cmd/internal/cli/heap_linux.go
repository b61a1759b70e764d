package cli

import "syscall"

// adviseHuge asks for huge pages behind b, and reports whether the system knows them.
func adviseHuge(b []byte) bool { return syscall.Madvise(b, syscall.MADV_HUGEPAGE) == nil }
