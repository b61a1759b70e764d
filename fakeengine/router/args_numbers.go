package router

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// named is a policy's name and parameters, as New parses them.
type named string

// String implements Policy.
func (n named) String() string { return string(n) }

// named is the spec with all parameters, in order.
func (a *args) named() named {
	var b strings.Builder
	b.WriteString(a.rule)
	for i, n := range a.names {
		b.WriteByte(":,"[min(i, 1)])
		b.WriteString(n + "=" + a.value[i])
	}
	return named(b.String())
}

// float reads a number in lo..hi.
func (a *args) float(name string, lo, hi float64) float64 {
	v := a.get(name)
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= lo && n <= hi) {
		a.complain(name, v, fmt.Sprintf("a number from %v to %v", lo, hi))
		return lo
	}
	return n
}

// duration reads a time such as 10s, in lo..hi.
func (a *args) duration(name string, lo, hi time.Duration) time.Duration {
	v := a.get(name)
	d, err := time.ParseDuration(v)
	if err != nil || d < lo || d > hi {
		a.complain(name, v, fmt.Sprintf("a time from %v to %v, such as 10s", lo, hi))
		return lo
	}
	return d
}

// maxReplicas bounds lists that have a number for each replica.
const maxReplicas = 4096

// floats reads numbers in lo..hi with slashes between, one for each replica.
func (a *args) floats(name string, lo, hi float64) []float64 {
	v := a.get(name)
	parts := strings.Split(v, "/")
	if len(parts) > maxReplicas {
		a.complain(name, v[:20]+"…", fmt.Sprintf("at most %d numbers", maxReplicas))
		return []float64{lo}
	}
	out := make([]float64, len(parts))
	for i, p := range parts {
		n, err := strconv.ParseFloat(p, 64)
		if err != nil || !(n >= lo && n <= hi) || math.IsInf(n, 0) {
			a.complain(name, v, fmt.Sprintf("numbers from %v to %v with / between, the last one for all further replicas", lo, hi))
			return []float64{lo}
		}
		out[i] = n
	}
	return out
}

// of is the number of a replica: the last one holds for all further replicas.
func of(values []float64, id int) float64 { return values[min(id, len(values)-1)] }
