package tui

import (
	"fmt"
	"math"
	"time"

	"goodput/loadgen/monitor"
)

const unknown = "–"

// span prints a duration with three digits and its unit.
func span(n monitor.Nanos) string {
	if !n.Known() {
		return unknown
	}
	v, unit := float64(n)/1e6, "ms"
	switch a := math.Abs(v); {
	case a == 0:
		return "0 ms"
	case a < 0.9995:
		v, unit = v*1000, "µs"
	case a >= 999.5:
		v, unit = v/1000, "s"
	}
	return digits(v) + " " + unit
}

// digits prints v with about three digits.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a < 9.995:
		return fmt.Sprintf("%.2f", v)
	case a < 99.95:
		return fmt.Sprintf("%.1f", v)
	case a >= 1e12:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// rate prints a number per second.
func rate(x monitor.Number) string {
	switch {
	case !x.Known():
		return unknown
	case x >= 9_999.5:
		return digits(float64(x)/1000) + "k/s"
	}
	return digits(float64(x)) + "/s"
}

// percent prints a share.
func percent(x monitor.Number) string {
	if !x.Known() {
		return unknown
	}
	return fmt.Sprintf("%.1f %%", 100*float64(x))
}

// whole prints a count.
func whole(n monitor.Whole) string {
	if !n.Known() {
		return unknown
	}
	return fmt.Sprint(int64(n))
}

// clockText prints an instant of the run.
func clockText(n monitor.Nanos) string {
	if !n.Known() {
		return unknown
	}
	s := int64(time.Duration(n) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// instant is clockText to the millisecond.
func instant(n monitor.Nanos) string {
	if !n.Known() {
		return unknown
	}
	return fmt.Sprintf("%s.%03d", clockText(n), int64(n)%1e9/1e6)
}

// plural prints so many things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// or is s, or a dash if there is none.
func or(s string) string {
	if s == "" {
		return unknown
	}
	return Clean(s)
}
