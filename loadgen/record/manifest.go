package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"goodput/loadgen/clock"
)

// Schema is the version of the files that this package writes and reads. It
// grows when a reader of the old version would misread the new one; added
// columns and added keys do not change it.
const Schema = 1

// ManifestName is the file that makes a directory a run.
const ManifestName = "manifest.json"

// What the manifest of a run on fake engines in process says of their KV cache: two
// keys of Target, and two counters.
const (
	TargetKVBlocks = "kv_blocks"      // of each engine
	TargetKVFrom   = "kv_blocks_from" // KVDerived or KVGiven

	KVDerived = "derived" // from the GPU's memory
	KVGiven   = "given"

	CounterReportPicks = "router_report_picks"  // picks that went by what engines had reported
	CounterReportAge   = "router_report_age_us" // how long before, added up
	CounterKVWaits     = "engine_kv_waits"      // requests that were next in a queue and found too few
	CounterPreemptions = "engine_preemptions"   // for want of blocks

	// CounterReplicaTime is how long replicas of a pool that was scaled were there, cold
	// starts among it, all added up, in milliseconds.
	CounterReplicaTime = "replica_time_ms"
)

// DatasetCache is the key of Dataset with what servers could have cached of the prompts
// before the window: cold, warm or keep (the same bytes in all runs of a seed).
// TargetCacheReset is the key of Target that says that a server was made to forget its
// prefix cache before the run: done.
const (
	DatasetCache     = "cache"
	TargetCacheReset = "prefix_cache_reset"
	TargetModel      = "model" // name on the wire, of a server
	// TargetPerWord is how many tokens a server's tokenizer makes of a planned one.
	TargetPerWord = "tokens_per_word"
)

// CounterWarmups counts the requests of the warm-up, which the account includes;
// CounterWarmupFailed those of them that did not succeed.
const (
	CounterWarmups      = "warmup_requests"
	CounterWarmupFailed = "warmup_failed"
)

// CounterProbes counts the probes, which the account includes; CounterProbesFailed those of
// them that did not succeed.
const (
	CounterProbes       = "probe_requests"
	CounterProbesFailed = "probes_failed"
)

// What the manifest says of the load: keys of Load, and counters of the requests that
// found as many in flight as allowed when they were due.
const (
	LoadKind  = "kind"   // OpenLoop or ClosedLoop
	LoadText  = "text"   // how requests arrive, for people
	LoadOnCap = "on_cap" // what becomes of those beyond LoadMost
	// LoadFree names the classes whose requests were promised nothing, beside others whose
	// were, separated by commas; LoadFreeSessions those whose sessions were not, either.
	LoadFree         = "not_promised"
	LoadFreeSessions = "not_promised_sessions"
	LoadMost         = "max_concurrency"
	LoadLive         = "closed_loop_sessions" // how many are live in a closed loop of sessions; none: it is not one
	OpenLoop         = "open-loop"            // requests, or sessions, are due by a schedule
	ClosedLoop       = "closed-loop"          // they are due when others end: a slow server is offered less
	Sweep            = "sweep"                // many open loops, of which trials.parquet tells

	CounterCapQueued  = "cap_queued"
	CounterCapDropped = "cap_dropped"
	CounterCapLongest = "cap_longest_queue"
)

// State says how far a run came.
type State string

// The states.
const (
	Running     State = "running"     // being written, or cut off by a crash
	Complete    State = "complete"    // everything that was scheduled is accounted for
	Interrupted State = "interrupted" // stopped early; what there is can be read
)

// Meta is what is known of a run before it starts. Empty fields are left out of
// the manifest.
type Meta struct {
	// RunID is written to every row. A virtual run whose files are to be equal
	// byte by byte needs one that follows from the plan.
	RunID    string
	PlanHash string
	Seed     uint64
	// Version is that of the program that makes the run.
	Version string
	// Virtual tells that the run's time is not the wall's. Epoch and Started then
	// only reach the manifest, never the Parquet files or the latency log.
	Virtual bool
	// Epoch is the wall time of instant 0, Started that of the program's start.
	Epoch, Started time.Time
	// Arms are the names of what is compared; one entry or none for a plain run.
	Arms []string
	// Load, Target and Dataset describe the three in the reader's words. The kind of
	// the load, Load[LoadKind], is in the metadata of each Parquet file too.
	Load, Target, Dataset map[string]string
	// Shard says which part of the load the run is; nil: it is all of it.
	Shard *Shard
}

// Final is what is known of a run when it ends.
type Final struct {
	// State is Complete or Interrupted; empty means Complete.
	State State
	// Ended is the wall time of the end, EndedAt the same instant on the run's
	// clock (together they show how far the two drifted). Zero Ended: absent.
	Ended   time.Time
	EndedAt clock.Time
	// Window is the part of the run that counts; nil: not known.
	Window *Window
	// Counts is the account of all scheduled requests; nil: not known.
	Counts *Counts
	// Events are what happened to the target; nil: nothing is known. Those that were
	// noted on the way need not be among them.
	Events []Event
	// Generator is how the process fared that offered the load; nil: nobody watched it.
	Generator *Generator
	// Problem says why the record is not whole, although all of it was written; empty: it
	// is whole.
	Problem string
	// Shards are the parts that the run was merged from; nil: it was not.
	Shards []MergedShard
	// Counters holds what was dropped, clamped or not understood, by name. The
	// writer adds its own, whose names start with "record_".
	Counters map[string]int64
}

// Event is something that happened to the target, such as a fault that was asked
// for, or to the load: its rate was changed by hand.
type Event struct {
	At clock.Time `json:"at_ns"`
	// Replica is its name; empty: all of them.
	Replica string `json:"replica,omitempty"`
	What    string `json:"what"`
	// Over: it ended then; otherwise it began.
	Over bool `json:"over,omitempty"`
	// Percent of the planned rate holds from then on; 0: it is no change of the rate.
	Percent int64 `json:"rate_percent,omitempty"`
}

// RateByHand is What of an event that is a change of the rate.
const RateByHand = "rate changed by hand"

// Steered counts the changes of the rate by hand, and gives the lowest and the highest
// share of the planned rate, in per cent, that they led to.
func (m *Manifest) Steered() (n int, least, most int64) {
	for _, e := range m.Events {
		switch {
		case e.Percent == 0:
			continue
		case n == 0:
			least, most = e.Percent, e.Percent
		}
		n, least, most = n+1, min(least, e.Percent), max(most, e.Percent)
	}
	return n, least, most
}

// Window is the measured part of a run: from the end of the warm-up to the last
// scheduled arrival.
type Window struct {
	Start clock.Time `json:"start_ns"`
	End   clock.Time `json:"end_ns"`
}

// Counts is the account of the requests: Scheduled is the sum of the others once
// a run has ended.
type Counts struct {
	Scheduled int64 `json:"scheduled"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Dropped   int64 `json:"dropped"`
	Censored  int64 `json:"censored"`
	// Canceled requests were given up on purpose, by --cancel-rate.
	Canceled int64 `json:"canceled"`
}

// Anchor ties an instant of the run to the wall clock.
type Anchor struct {
	At   clock.Time `json:"at_ns"`
	Wall string     `json:"wall"` // RFC 3339 with nanoseconds, UTC
}

// File is one finished Parquet segment.
type File struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// Manifest is manifest.json. Absent keys were not known.
type Manifest struct {
	Schema    int               `json:"schema"`
	RunID     string            `json:"run_id"`
	State     State             `json:"state"`
	Problem   string            `json:"problem,omitempty"` // why recording stopped early
	PlanHash  string            `json:"plan_hash,omitempty"`
	Seed      uint64            `json:"seed"`
	Version   string            `json:"version,omitempty"`
	Virtual   bool              `json:"virtual"`
	Started   string            `json:"started,omitempty"`
	Ended     string            `json:"ended,omitempty"`
	Anchors   []Anchor          `json:"anchors,omitempty"`
	Arms      []string          `json:"arms,omitempty"`
	Load      map[string]string `json:"load,omitempty"`
	Target    map[string]string `json:"target,omitempty"`
	Dataset   map[string]string `json:"dataset,omitempty"`
	Window    *Window           `json:"window,omitempty"`
	Counts    *Counts           `json:"counts,omitempty"`
	Events    []Event           `json:"events,omitempty"`
	Generator *Generator        `json:"generator,omitempty"`
	Shard     *Shard            `json:"shard,omitempty"`
	Shards    []MergedShard     `json:"shards,omitempty"`
	Outcomes  map[string]int64  `json:"outcomes,omitempty"` // recorded final attempts by outcome
	Counters  map[string]int64  `json:"counters,omitempty"`
	Files     []File            `json:"files,omitempty"`
}

func newManifest(m Meta) Manifest {
	out := Manifest{
		Schema: Schema, RunID: m.RunID, State: Running, PlanHash: m.PlanHash, Seed: m.Seed,
		Version: m.Version, Virtual: m.Virtual, Started: wall(m.Started),
		Arms: m.Arms, Load: m.Load, Target: m.Target, Dataset: m.Dataset, Shard: m.Shard,
	}
	if !m.Epoch.IsZero() {
		out.Anchors = []Anchor{{At: 0, Wall: wall(m.Epoch)}}
	}
	return out
}

func wall(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// ParseManifest reads manifest.json strictly: an unknown key, a second value or
// a schema of another version is an error.
func ParseManifest(b []byte) (Manifest, error) {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return Manifest{}, fmt.Errorf("parse manifest: %w", err)
	}
	switch {
	case head.Schema == nil:
		return Manifest{}, errors.New(`parse manifest: key "schema" is missing; is this the manifest of a goodput run?`)
	case *head.Schema != Schema:
		return Manifest{}, fmt.Errorf("parse manifest: schema %d, but this program reads schema %d; use the version of goodput that made the run", *head.Schema, Schema)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var m Manifest
	if err := d.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("parse manifest: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Manifest{}, errors.New("parse manifest: text after the closing brace")
	}
	switch m.State {
	case Running, Complete, Interrupted:
	default:
		return Manifest{}, fmt.Errorf("parse manifest: state %q is none of running, complete, interrupted", m.State)
	}
	for _, f := range m.Files {
		if _, ok := segmentNumber(f.Name, segmentSuffix); !ok || f.Rows < 0 {
			return Manifest{}, fmt.Errorf("parse manifest: %q with %d rows is not a segment of a run", f.Name, f.Rows)
		}
	}
	return m, nil
}

// encode is the inverse of ParseManifest; keys of maps come out sorted.
func (m Manifest) encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return append(b, '\n'), nil
}

// epoch is the wall time of instant 0; zero: not known.
func (m Manifest) epoch() time.Time {
	for _, a := range m.Anchors {
		if t, err := time.Parse(time.RFC3339Nano, a.Wall); err == nil && a.At == 0 {
			return t
		}
	}
	return time.Time{}
}

// Epoch is the wall time of the run's instant 0; of a run in virtual time, which has
// none, when it was made. Zero: it is not known.
func (m Manifest) Epoch() time.Time {
	if t := m.epoch(); !t.IsZero() || !m.Virtual {
		return t
	}
	t, err := time.Parse(time.RFC3339Nano, m.Started)
	if err != nil {
		return time.Time{}
	}
	return t
}

// count sets a counter.
func (m *Manifest) count(name string, n int64) {
	if m.Counters == nil {
		m.Counters = map[string]int64{}
	}
	m.Counters[name] = n
}
