package evidence

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Kind is what was measured.
type Kind string

// The kinds.
const (
	StepDecode  Kind = "step_decode"   // one step of Batch sequences that attend to ContextLen tokens each
	StepPrefill Kind = "step_prefill"  // one prefill of PrefillTokens in all, over Batch prompts
	Offline     Kind = "offline_batch" // a batch run to its end, or a run at maximum throughput
	Serving     Kind = "serving"       // through a server, under Load
	Op          Kind = "op"            // one kernel
	KVBlocks    Kind = "kv_blocks"     // the KV blocks that an engine logged, as Metric
)

// Load is how requests were sent.
type Load string

// The load modes.
const (
	ClosedLoop       Load = "closed-loop"            // Batch requests in flight at any time
	OpenPoisson      Load = "open-loop-poisson"      // RequestRate arrivals per second
	Burst            Load = "burst-all-at-once"      // Batch requests at time 0
	StaticBatch      Load = "static-batch"           // one batch, started together and run to its end
	ClosedLoopStatic Load = "closed-loop-static"     // static batches of Batch requests, one after the other
	OfflineMax       Load = "offline-max-throughput" // Batch requests at time 0, without a server
)

// Point is one row. In every field of numbers 0 means that the source does not
// say: none of them can be 0. Times are in ms.
type Point struct {
	File string // as given to Parse
	Line int

	ID      string
	Source  string
	Address string // repository@commit:path#row, or an address
	// Obtained is how the figure came about; Date when it was read, as YYYY-MM.
	Obtained, Date string
	License, Notes string

	GPU string // as the table spells it
	// GPUs is all GPUs of the run, TP those of one of Replicas.
	GPUs, TP, Replicas    int
	Model, ModelKey       string
	ParamsB               float64 // 1e9 parameters
	DType, KVDType        string
	Engine, EngineVersion string
	MaxBatchedTokens      int // token budget of a step

	Kind                                           Kind
	Load                                           Load
	Batch                                          int // or concurrency, or number of requests
	RequestRate                                    float64
	InputLen, OutputLen, ContextLen, PrefillTokens float64 // tokens; means where they vary

	Step             float64
	E2EMean          float64
	TTFT, TPOT, ITL  Times
	OutputTokS       float64 // of the whole run, not per GPU
	TotalTokS        float64
	RequestS         float64
	Op, OpShape      string
	MetricName, Unit string
	Metric           float64
	// Unfit: kept for reference, not to be used as a step time. The zero value is
	// a usable row.
	Unfit bool
}

// Times are mean, median and 99th percentile.
type Times struct{ Mean, P50, P99 float64 }

// Typical is the mean, or the median where only that is known; 0: neither.
func (t Times) Typical() float64 {
	if t.Mean > 0 {
		return t.Mean
	}
	return t.P50
}

// Where is file and line, for messages.
func (p *Point) Where() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Bucket is a number from 0 to 99 that follows from the configuration alone, not
// from the engine or what was measured: the first 32 bits of a SHA-256 over the
// configuration, modulo 100. Splits made by it keep all rows of one configuration
// on one side. The tables that profiles are made from hold 30 to 99 only; the
// others were set aside where the tables were collected.
func (p *Point) Bucket() int {
	output := number(p.OutputLen)
	if p.Kind == StepPrefill {
		output = ""
	}
	key := strings.Join([]string{
		p.GPU, p.ModelKey, number(float64(p.TP)), p.DType, string(p.Kind), string(p.Load), number(float64(p.Batch)),
		number(p.RequestRate), number(p.InputLen), output, p.Op, p.OpShape,
	}, "|")
	sum := sha256.Sum256([]byte(key))
	return int(binary.BigEndian.Uint32(sum[:4]) % 100)
}

func number(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
