package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/termenv"
)

// quitTime is how long Stop waits for the program to put the terminal back.
const quitTime = 2 * time.Second

// fps is how often the frame is compared with what the terminal shows.
const fps = 20

// Program is a Model that runs in a terminal.
type Program struct {
	tea  *tea.Program
	done chan struct{}
	err  error
}

// Start shows m on out, a terminal, with keys from in. Signals are left to the caller.
func Start(m Model, in io.Reader, out io.Writer) *Program {
	p := &Program{
		tea: tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(),
			tea.WithMouseCellMotion(), tea.WithoutSignalHandler(), tea.WithFPS(fps)),
		done: make(chan struct{}),
	}
	go func() {
		defer close(p.done)
		_, p.err = p.tea.Run()
	}()
	return p
}

// Stop ends the view and puts the terminal back to what it was. It may be called again.
func (p *Program) Stop() error {
	p.tea.Quit()
	ctx, cancel := context.WithTimeout(context.Background(), quitTime)
	defer cancel()
	select {
	case <-p.done:
		return p.error()
	case <-ctx.Done():
		p.tea.Kill()
		return errors.New("the view did not end; reset puts the terminal back")
	}
}

// Done is closed when the view has ended.
func (p *Program) Done() <-chan struct{} { return p.done }

// Wait returns when the user has ended the view.
func (p *Program) Wait() error {
	<-p.done
	return p.error()
}

func (p *Program) error() error {
	if p.err == nil || errors.Is(p.err, tea.ErrProgramKilled) && !errors.Is(p.err, tea.ErrProgramPanic) {
		return nil
	}
	return fmt.Errorf("showing the view: %w", p.err)
}

// IsTerminal reports whether f is one.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(f.Fd()) }

// Restore is what a terminal is sent that may have missed the end of the view: no mouse,
// the usual screen, a cursor.
const Restore = "\x1b[?1002l\x1b[?1006l\x1b[?2004l\x1b[?1049l\x1b[?25h\x1b[0m"

// Colors is what the terminal that the environment describes can show. NO_COLOR and
// TERM=dumb ask for none.
func Colors(getenv func(string) string) termenv.Profile {
	if getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return termenv.Ascii
	}
	return termenv.NewOutput(io.Discard, termenv.WithEnvironment(environ(getenv)), termenv.WithTTY(true)).EnvColorProfile()
}

// environ is an environment for termenv, which lists none.
type environ func(string) string

func (e environ) Environ() []string         { return nil }
func (e environ) Getenv(name string) string { return e(name) }
