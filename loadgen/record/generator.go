package record

import "time"

// Generator is how the process fared that offered the load, from the first to the last
// moment of it, as far as the system told. In-process engines are part of the process.
type Generator struct {
	// Watched is how long, in Samples samples; Procs is how many processors Go used.
	Watched time.Duration `json:"watched_ns"`
	Samples int           `json:"samples"`
	Procs   int           `json:"procs"`
	// CPU is the processor time of the process. Busiest is its largest share of Procs
	// between two samples, and MachineBusy the share of all processors that anybody used.
	CPU         *time.Duration `json:"cpu_ns,omitempty"`
	Busiest     *float64       `json:"busiest_share,omitempty"`
	MachineBusy *float64       `json:"machine_busy_share,omitempty"`
	// SchedP99 is how long goroutines that could run waited for a processor, of so many
	// waits, and GCPauseMax the longest stop of all of them for a garbage collection.
	// Both are upper bounds of a histogram's bucket.
	SchedP99   *time.Duration `json:"sched_p99_ns,omitempty"`
	Waits      int64          `json:"sched_waits"`
	GCPauseMax *time.Duration `json:"gc_pause_max_ns,omitempty"`
	GCPauses   int64          `json:"gc_pauses"`
	// Files is the most that were open, and FileLimit how many may be. Sockets is the
	// most TCP sockets of the machine, those in TIME_WAIT among them, and Ports how many
	// of them one address of a server can have.
	Files     *int64 `json:"files,omitempty"`
	FileLimit *int64 `json:"file_limit,omitempty"`
	Sockets   *int64 `json:"sockets,omitempty"`
	Ports     *int64 `json:"ports,omitempty"`
}

// Share is the part of Procs that the process used; ok is false if it is not known.
func (g *Generator) Share() (share float64, ok bool) {
	if g == nil || g.CPU == nil || g.Watched <= 0 || g.Procs < 1 {
		return 0, false
	}
	return g.CPU.Seconds() / g.Watched.Seconds() / float64(g.Procs), true
}

// Counters of the attempts for which the system had no file descriptor, or no local
// port.
const (
	CounterNoFiles = "exhausted_files"
	CounterNoPorts = "exhausted_ports"
)
