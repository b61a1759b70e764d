package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// What is allocated next lies in memory that asks for huge pages ("hg" in proc(5)).
func TestHeapAsksForHugePages(t *testing.T) {
	if !adviseHuge(make([]byte, 1<<20)) {
		t.Skip("the system has no transparent huge pages")
	}
	preferHugePages(hugeHeap)
	b := make([]byte, hugeHeap/2)
	flags, ok := flagsOf(t, uintptr(unsafe.Pointer(&b[0])))
	if !ok {
		t.Skip("the system does not tell")
	}
	if !strings.Contains(" "+flags, " hg ") {
		t.Errorf("memory of flags %s", flags)
	}
}

// flagsOf are the flags of the mapping that holds the address.
func flagsOf(t *testing.T, at uintptr) (flags string, ok bool) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return "", false
	}
	inside := false
	for line := range bytes.Lines(text) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(string(line), "%x-%x ", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if flags, found := strings.CutPrefix(string(line), "VmFlags:"); found && inside {
			return strings.TrimSpace(flags) + " ", true
		}
	}
	return "", false
}
