//go:build !unix

package cli

import "time"

// processorTime is not known here.
func processorTime() (d time.Duration, ok bool) { return 0, false }
