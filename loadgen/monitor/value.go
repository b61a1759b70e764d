package monitor

import (
	"math"
	"strconv"

	"goodput/loadgen/record"
)

// Nanos is a duration, or an instant of the run, in nanoseconds; record.Null, which
// is null in JSON, if it is unknown.
type Nanos int64

// Unknown is the Nanos of what was not observed.
const Unknown = Nanos(record.Null)

// Known reports whether n was observed.
func (n Nanos) Known() bool { return n != Unknown }

// MarshalJSON writes the number, or null.
func (n Nanos) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (n *Nanos) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Unknown
		return nil
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	*n = Nanos(v)
	return err
}

// Whole is a number of things; Unknown, which is null in JSON, if nobody knows it.
type Whole int64

// Known reports whether n was observed.
func (n Whole) Known() bool { return Nanos(n).Known() }

// MarshalJSON writes the number, or null.
func (n Whole) MarshalJSON() ([]byte, error) { return Nanos(n).MarshalJSON() }

// UnmarshalJSON is the inverse of MarshalJSON.
func (n *Whole) UnmarshalJSON(b []byte) error { return (*Nanos)(n).UnmarshalJSON(b) }

// whole is n, which may be record.Null32.
func whole(n int32) Whole {
	if n == record.Null32 {
		return Whole(Unknown)
	}
	return Whole(n)
}

// Number is a quantity whose unit its name tells; NaN, which is null in JSON, if it
// is unknown.
type Number float64

// None is the Number of what was not observed.
func None() Number { return Number(math.NaN()) }

// Known reports whether x was observed.
func (x Number) Known() bool { return !math.IsNaN(float64(x)) }

// MarshalJSON writes the number, or null.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Known() || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(x), 'g', -1, 64), nil
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (x *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*x = None()
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	*x = Number(v)
	return err
}

// over is a/b, None where b is 0.
func over(a, b float64) Number {
	if b == 0 {
		return None()
	}
	return Number(a / b)
}
