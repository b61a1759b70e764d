package monitor

import (
	"fmt"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Sample is what screens need of one ended request. Unknown is Unknown, record.Unknown
// and an empty string; durations and instants are nanoseconds.
type Sample struct {
	At       Nanos `json:"at_ns"` // when it ended
	Seq      int64 `json:"seq"`
	Intended Nanos `json:"intended_ns"`

	Lag     Nanos `json:"lag_ns"`
	Connect Nanos `json:"connect_ns"`
	TTFT    Nanos `json:"ttft_ns"`
	TPOT    Nanos `json:"tpot_ns"`
	E2E     Nanos `json:"e2e_ns"`
	// The server's own account. Other is preemption, interference and transfer.
	FrontEnd  Nanos `json:"front_end_ns"`
	Queue     Nanos `json:"queue_ns"`
	Prefill   Nanos `json:"prefill_ns"`
	Decode    Nanos `json:"decode_ns"`
	Other     Nanos `json:"other_ns"`
	ServerE2E Nanos `json:"server_e2e_ns"`

	PromptTokens Whole `json:"prompt_tokens"`
	CachedTokens Whole `json:"cached_tokens"`
	OutputTokens Whole `json:"output_tokens"`
	Preemptions  Whole `json:"preemptions"`
	HTTPStatus   Whole `json:"http_status"`
	Turn         int32 `json:"turn"`

	Outcome Ending     `json:"outcome"`
	SLOMet  record.Tri `json:"-"`

	ID           string `json:"id,omitempty"`
	Session      string `json:"session,omitempty"`
	Class        string `json:"class,omitempty"`
	Tenant       string `json:"tenant,omitempty"`
	Replica      string `json:"replica,omitempty"`
	Arm          string `json:"arm,omitempty"`
	Error        string `json:"error,omitempty"`
	FinishReason string `json:"finish_reason,omitempty"`
}

// Ending is an outcome that is its name in JSON.
type Ending record.Outcome

// String is the outcome's name.
func (e Ending) String() string { return record.Outcome(e).String() }

// MarshalText writes the name.
func (e Ending) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (e *Ending) UnmarshalText(b []byte) error {
	o, ok := record.ParseOutcome(string(b))
	if !ok {
		return fmt.Errorf("outcome %q is unknown: was it written by another version of goodput?", b)
	}
	*e = Ending(o)
	return nil
}

// fill copies what s needs of r, which ended at now.
func (s *Sample) fill(now clock.Time, r *record.Request) {
	*s = Sample{
		At: Nanos(now), Seq: r.Seq, Intended: Nanos(r.Intended),
		Lag: Nanos(r.Lag()), Connect: Nanos(r.Connect()), TTFT: Nanos(r.TTFT()), TPOT: Nanos(r.TPOT()), E2E: Nanos(r.E2E()),
		FrontEnd: Nanos(r.ServerSpentFrontEnd), Queue: Nanos(r.ServerSpentQueue),
		Prefill: Nanos(r.ServerSpentPrefill), Decode: Nanos(r.ServerSpentDecode),
		Other:        sum(r.ServerPreempted, r.ServerSpentInterference, r.ServerSpentTransfer),
		ServerE2E:    Nanos(r.ServerE2E),
		PromptTokens: whole(r.PromptTokens), CachedTokens: whole(r.CachedTokens), OutputTokens: whole(r.OutputTokens),
		Preemptions: whole(r.ServerPreemptions), HTTPStatus: whole(r.HTTPStatus), Turn: r.Turn,
		Outcome: Ending(r.Outcome), SLOMet: r.SLOMet,
		ID: r.RequestID, Session: r.SessionID, Class: r.Class, Tenant: r.Tenant, Replica: r.Replica, Arm: r.Arm,
		Error: r.Error, FinishReason: r.FinishReason,
	}
	if !s.Queue.Known() { // a server that tells its phases, but not whose fault they were
		s.FrontEnd, s.Queue = Nanos(r.ServerFrontEnd()), Nanos(r.ServerQueue)
		s.Prefill, s.Decode = Nanos(r.ServerPrefill), Nanos(r.ServerDecode)
	}
}

// sum adds those that are known; Unknown if none is.
func sum(parts ...int64) Nanos {
	out := Unknown
	for _, p := range parts {
		if p == record.Null {
			continue
		}
		out = max(out, 0) + Nanos(p)
	}
	return out
}

// Failed reports whether the request ended neither as a success nor unfinished.
func (s *Sample) Failed() bool {
	return s.Outcome != Ending(record.OK) && s.Outcome != Ending(record.Censored)
}

// Ended is the instant at which r was over, as far as its row tells; Never: it does
// not.
func Ended(r *record.Request) clock.Time {
	return max(r.Dispatched, r.LastToken, r.Done, r.Closed)
}
