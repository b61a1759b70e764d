// Bubbletea closes its reader of keys under a goroutine that reads when it is killed, as
// after a panic: a race in the library, which is not what this test is about.

//go:build linux && !race

package tui_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"
	"golang.org/x/sys/unix"

	"goodput/loadgen/monitor"
	"goodput/report/tui"
)

// pty is a terminal and its other end, as the kernel makes them.
func pty(t *testing.T) (terminal, other *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = other.Close() })
	fd := int(other.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal, other
}

// settings are what a terminal is set to.
func settings(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// panicking breaks at its second picture.
type panicking struct {
	pic monitor.Picture
	set func() // is called before
	n   *int
}

func (p panicking) Picture(monitor.Query) (monitor.Picture, error) {
	if *p.n++; *p.n > 1 {
		p.set()
		panic("a defect of the source")
	}
	return p.pic, nil
}

// TestPanicPutsTheTerminalBack: after a panic within the view a real terminal is set as it
// was, on its usual screen, with a cursor and without the mouse, and who waits is told.
func TestPanicPutsTheTerminalBack(t *testing.T) {
	terminal, other := pty(t)
	before := settings(t, terminal)
	var during unix.Termios
	out := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(other) // ends with an error when the terminal is closed
		out <- string(b)
	}()
	n := 0
	p := tui.Start(tui.New(panicking{seeded(), func() { during = settings(t, terminal) }, &n}, tui.Options{Colors: termenv.ANSI}), terminal, terminal)
	if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("the panic is told as %v", err)
	}
	if diff := cmp.Diff(before, settings(t, terminal)); diff != "" {
		t.Errorf("the terminal was (-) and is (+):\n%s", diff)
	}
	if before == during {
		t.Error("the view has not set the terminal, so that this test shows nothing")
	}
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	text := <-out
	for _, want := range []string{"\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h", "\x1b[?1002l"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q was sent", want)
		}
	}
}
