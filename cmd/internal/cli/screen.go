package cli

import (
	"os"

	"goodput/report/tui"
)

// screen is a terminal that never makes its writer wait: what a stuck one does not take
// is dropped. It is a file for those who ask for its size.
type screen struct {
	*os.File
	behind *patient
}

func newScreen(f *os.File) *screen { return &screen{f, newPatient(f)} }

// Write takes a copy of b, or drops it.
func (s *screen) Write(b []byte) (int, error) { return s.behind.Write(b) }

// WriteString is Write: that of the file would wait, and come before what waits.
func (s *screen) WriteString(text string) (int, error) { return s.behind.Write([]byte(text)) }

// Close waits, but not for long, until all is written. The file stays open.
func (s *screen) Close() error {
	if s.behind.missed.Load() {
		_, _ = s.behind.Write([]byte(tui.Restore))
	}
	s.behind.close()
	return nil
}

// showOn runs the view m on the environment's terminal.
func showOn(env *Env, build func(stale func() bool) tui.Model) (p *tui.Program, closeScreen func()) {
	s, release := newScreen(env.Screen), env.guard()
	return tui.Start(build(s.behind.stale), env.Keys, s), func() {
		_ = s.Close()
		release()
	}
}
