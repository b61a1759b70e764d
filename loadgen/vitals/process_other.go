//go:build !unix || solaris || illumos || aix

package vitals

import "time"

func cpuTime() time.Duration { return -1 }

func fileLimit() int64 { return -1 }
