package cli

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// Memory that asks for huge pages is marked so ("hg" in proc(5)).
func TestHugePagesAreAskedFor(t *testing.T) {
	b := make([]byte, 8<<20)
	if !adviseHuge(b) {
		t.Skip("the system has no transparent huge pages")
	}
	flags, ok := flagsOf(t, uintptr(unsafe.Pointer(&b[len(b)/2])))
	if !ok {
		t.Skip("the system does not tell")
	}
	if !strings.Contains(" "+flags, " hg ") {
		t.Errorf("memory of flags %s", flags)
	}
	runtime.KeepAlive(b)
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
