package steptime

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
)

// Link is how the GPUs of one machine talk to each other, as collective operations
// see it: each costs a fixed time, and the bytes that one GPU sends over a bus.
type Link struct {
	// LatencyUS is the fixed time of one collective, in microseconds, and BusGBps the
	// bus bandwidth in 10^9 bytes a second as NCCL's tests define it.
	LatencyUS float64 `yaml:"latency_us"`
	BusGBps   float64 `yaml:"bus_gb_per_s"`
	// None: communication is free, and the other figures are 0.
	None bool `yaml:"none"`
	// Source is where the figures are from.
	Source string `yaml:"source"`
}

// activationBytes is the size of an element of what GPUs exchange: bfloat16.
const activationBytes = 2

// reduce is the time in picoseconds of an all-reduce of so many bytes among n
// GPUs: a ring sends 2(n-1)/n of them.
func (l *Link) reduce(bytes float64, n int) float64 { return l.send(2*bytes, n) }

// gather is the time in picoseconds in which n GPUs get all of the bytes of which
// each has an n-th, or, the other way, the sum of an n-th.
func (l *Link) gather(bytes float64, n int) float64 { return l.send(bytes, n) }

func (l *Link) send(bytes float64, n int) float64 {
	if n < 2 || l.None {
		return 0
	}
	return float64(l.LatencyUS*1e6) + float64(bytes*float64(n-1)/float64(n)/l.BusGBps*1000)
}

func (l *Link) validate() error {
	switch {
	case l.None && (l.LatencyUS != 0 || l.BusGBps != 0):
		return errors.New("none is true and there are figures: leave out the one or the other")
	case l.None:
		return nil
	case !(l.LatencyUS >= 0 && l.LatencyUS <= maxMicros):
		return fmt.Errorf("latency_us is %v: need microseconds, 0 to %g", l.LatencyUS, float64(maxMicros))
	case !(l.BusGBps >= 1e-3 && l.BusGBps <= 1e6) || math.IsInf(l.BusGBps, 0):
		return fmt.Errorf("bus_gb_per_s is %v: need 0.001 to 1e6, or none: true if communication is to be free", l.BusGBps)
	}
	return nil
}

// knownLink is the link of a machine of the profiler's repository, by the label in
// meta.yaml; nil: there is none.
//
// RTXPRO6000: two RTX PRO 6000 Blackwell on PCIe 5.0 x16. NCCL 2-rank all-reduces
// of 10 KB to 21 MB, each between synchronisations (us_isolated, 36.2 us to
// 1,332.6 us), within 5% from 0.1 MB on; all-gathers and reduce-scatters within 8%.
func knownLink(hardware string) *Link {
	if hardware == "RTXPRO6000" {
		return &Link{LatencyUS: 33, BusGBps: 16.2, Source: "casys-kaist/LLMServingSim@e08dc38 profiler/perf/RTXPRO6000/hardware.yaml"}
	}
	return nil
}

// readLink finds the link of the machine: link.yaml, or what is known of the
// hardware that meta.yaml names.
func readLink(files fs.FS, hardware string) (*Link, error) {
	const name = "link.yaml"
	data, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		if l := knownLink(hardware); l != nil {
			return l, nil
		}
		return nil, fmt.Errorf("%s is missing, and nothing is known of how several %q talk to each other: write latency_us and bus_gb_per_s of an all-reduce into it, or none: true", name, hardware)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var l Link
	if err := decodeYAML(data, &l); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &l, nil
}
