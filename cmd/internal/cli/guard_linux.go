package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminalSettings are those of a terminal, in one line.
func terminalSettings(terminal *os.File) ([]byte, error) {
	s, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// restoreTerminal sets a terminal as it was, if it is still set for a view: a shell may
// have set it for itself.
func restoreTerminal(terminal *os.File, settings []byte) error {
	var was unix.Termios
	if err := json.Unmarshal(settings, &was); err != nil {
		return fmt.Errorf("reading the settings of the terminal: %w", err)
	}
	fd := int(terminal.Fd())
	now, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("asking how the terminal is set: %w", err)
	}
	if now.Lflag&(unix.ISIG|unix.ICANON|unix.ECHO) != 0 {
		return nil
	}
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &was); err != nil {
		return fmt.Errorf("setting the terminal: %w: reset puts it back", err)
	}
	return nil
}

// ignoreBackground lets a process set a terminal that now is that of others.
func ignoreBackground() { signal.Ignore(syscall.SIGTTOU) }
