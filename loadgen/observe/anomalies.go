package observe

import "goodput/loadgen/record"

// Anomaly is something that a well-behaved target does not do. None fails a
// request by itself.
type Anomaly uint8

// The anomalies.
const (
	// TokensAfterFinish are chunks that came after the finish_reason. They count
	// as tokens.
	TokensAfterFinish Anomaly = iota
	// TokensAfterDone are chunks that came after the terminal marker. They are
	// left out of the row: a client that stops reading there never sees them.
	TokensAfterDone
	// DuplicateFinish and DuplicateDone are further finish_reasons and terminal
	// markers; the first of each is kept.
	DuplicateFinish
	DuplicateDone
	// OutOfOrder are tokens stamped before the one that they follow. They count
	// as having come together with it.
	OutOfOrder
	// GapsClamped are gaps between tokens above 35 minutes, the most that the
	// row's 32 bits of microseconds hold.
	GapsClamped
	// UsageDiffers are requests whose usage and whose streamed token counts
	// disagree. The row has the usage.
	UsageDiffers
	// DecodeFallbacks are chunks that needed a full JSON decode.
	DecodeFallbacks
	// AfterEnd are events that came after End. They are ignored.
	AfterEnd
	NumAnomalies int = iota
)

var anomalyNames = [NumAnomalies]string{
	"tokens_after_finish", "tokens_after_done", "duplicate_finish", "duplicate_done",
	"tokens_out_of_order", "token_gaps_clamped", record.CounterUsageDiffers, "decode_fallbacks", "events_after_end",
}

// String returns the counter's name in the manifest.
func (a Anomaly) String() string { return anomalyNames[a] }

// Anomalies counts each Anomaly. The zero value is "nothing odd was seen".
type Anomalies [NumAnomalies]int64

// Add adds b to a.
func (a *Anomalies) Add(b *Anomalies) {
	for i, n := range b {
		a[i] += n
	}
}
