//go:build !linux

package cli

import (
	"errors"
	"os"
)

func terminalSettings(*os.File) ([]byte, error) { return nil, errors.ErrUnsupported }

func restoreTerminal(*os.File, []byte) error { return errors.ErrUnsupported }

func ignoreBackground() {}
