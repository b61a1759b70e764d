package record

import (
	"fmt"

	"goodput/loadgen/clock"
)

// sessionRow is a Session as the files have it.
type sessionRow struct {
	SessionID    string   `parquet:"session_id" json:"session_id"`
	Class        *string  `parquet:"class,optional,dict" json:"class,omitempty"`
	Tenant       *string  `parquet:"tenant,optional,dict" json:"tenant,omitempty"`
	Arrival      int64    `parquet:"arrival" json:"arrival"`
	Ended        *int64   `parquet:"ended,optional" json:"ended,omitempty"`
	Outcome      string   `parquet:"outcome,dict" json:"outcome"`
	Threads      int32    `parquet:"threads" json:"threads"`
	StepsPlanned int32    `parquet:"steps_planned" json:"steps_planned"`
	StepsOK      int32    `parquet:"steps_ok" json:"steps_ok"`
	StepsFailed  int32    `parquet:"steps_failed" json:"steps_failed"`
	StepsUnsent  int32    `parquet:"steps_unsent" json:"steps_unsent"`
	PromptTokens int64    `parquet:"prompt_tokens" json:"prompt_tokens"`
	OutputTokens int64    `parquet:"output_tokens" json:"output_tokens"`
	Underway     bool     `parquet:"underway" json:"underway"`
	Queued       int64    `parquet:"queued" json:"queued"`
	SCT          *int64   `parquet:"sct,optional" json:"sct,omitempty"`
	ModelTime    *int64   `parquet:"model_time,optional" json:"model_time,omitempty"`
	WaitTime     *int64   `parquet:"wait_time,optional" json:"wait_time,omitempty"`
	Lag          *int64   `parquet:"lag,optional" json:"lag,omitempty"`
	Unloaded     *int64   `parquet:"unloaded_model_time,optional" json:"unloaded_model_time,omitempty"`
	Slowdown     *float64 `parquet:"slowdown,optional" json:"slowdown,omitempty"`
	Turns        []int64  `parquet:"turn_response,list" json:"turn_response,omitempty"`
	StepsMet     int32    `parquet:"steps_slo_met" json:"steps_slo_met"`
	StepsMissed  int32    `parquet:"steps_slo_missed" json:"steps_slo_missed"`
	SLOMet       *bool    `parquet:"slo_met,optional" json:"slo_met,omitempty"`
}

func (s *Session) row() sessionRow {
	r := sessionRow{
		SessionID: s.SessionID, Arrival: int64(s.Arrival), Ended: orNil(int64(s.Ended)), Outcome: s.Outcome.String(),
		Threads: s.Threads, StepsPlanned: s.StepsPlanned, StepsOK: s.StepsOK, StepsFailed: s.StepsFailed, StepsUnsent: s.StepsUnsent,
		PromptTokens: s.PromptTokens, OutputTokens: s.OutputTokens,
		Underway: s.Underway, Queued: s.Queued,
		SCT: orNil(s.SCT), ModelTime: orNil(s.ModelTime), WaitTime: orNil(s.WaitTime), Lag: orNil(s.Lag),
		Unloaded: orNil(s.Unloaded), Turns: s.Turns, StepsMet: s.StepsMet, StepsMissed: s.StepsMissed,
	}
	if tenant := s.Tenant; tenant != "" {
		r.Tenant = &tenant // a copy: s is used again
	}
	if class := s.Class; class != "" {
		r.Class = &class
	}
	if v, ok := s.Slowdown(); ok {
		r.Slowdown = &v
	}
	if s.SLOMet != Unknown {
		met := s.SLOMet == Yes
		r.SLOMet = &met
	}
	return r
}

func (r *sessionRow) session() (Session, error) {
	s := Session{
		SessionID: r.SessionID, Arrival: clock.Time(r.Arrival), Ended: clock.Time(orNull(r.Ended)),
		Threads: r.Threads, StepsPlanned: r.StepsPlanned, StepsOK: r.StepsOK, StepsFailed: r.StepsFailed, StepsUnsent: r.StepsUnsent,
		PromptTokens: r.PromptTokens, OutputTokens: r.OutputTokens,
		Underway: r.Underway, Queued: r.Queued,
		SCT: orNull(r.SCT), ModelTime: orNull(r.ModelTime), WaitTime: orNull(r.WaitTime), Lag: orNull(r.Lag),
		Unloaded: orNull(r.Unloaded), Turns: r.Turns, StepsMet: r.StepsMet, StepsMissed: r.StepsMissed,
	}
	if len(s.Turns) == 0 {
		s.Turns = nil
	}
	if r.Tenant != nil {
		s.Tenant = *r.Tenant
	}
	if r.Class != nil {
		s.Class = *r.Class
	}
	if r.SLOMet != nil {
		s.SLOMet = No
		if *r.SLOMet {
			s.SLOMet = Yes
		}
	}
	for o, name := range sessionOutcomes {
		if name == r.Outcome {
			s.Outcome = SessionOutcome(o)
			return s, nil
		}
	}
	return s, fmt.Errorf("session %s has the unknown outcome %q; use the release that wrote it", r.SessionID, r.Outcome)
}

func orNil(v int64) *int64 {
	if v == Null {
		return nil
	}
	return &v
}

func orNull(v *int64) int64 {
	if v == nil {
		return Null
	}
	return *v
}
