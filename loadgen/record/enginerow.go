package record

import (
	"math"

	"goodput/loadgen/clock"
)

// engineRow is an EngineSample as the files have it.
type engineRow struct {
	At               int64    `parquet:"at,delta"`
	AsOf             *int64   `parquet:"as_of,optional"`
	Arm              *string  `parquet:"arm,optional,dict"`
	Trial            int32    `parquet:"trial"`
	Replica          string   `parquet:"replica,dict"`
	Role             string   `parquet:"role,dict"`
	Source           string   `parquet:"source,dict"`
	Dialect          *string  `parquet:"dialect,optional,dict"`
	Running          *float64 `parquet:"running,optional"`
	Waiting          *float64 `parquet:"waiting,optional"`
	WaitingCapacity  *float64 `parquet:"waiting_capacity,optional"`
	WaitingDeferred  *float64 `parquet:"waiting_deferred,optional"`
	KVUsage          *float64 `parquet:"kv_usage,optional"`
	PrefixQueries    *float64 `parquet:"prefix_queries,optional"`
	PrefixHits       *float64 `parquet:"prefix_hits,optional"`
	Preemptions      *float64 `parquet:"preemptions,optional"`
	PromptTokens     *float64 `parquet:"prompt_tokens,optional"`
	GenerationTokens *float64 `parquet:"generation_tokens,optional"`
	Requests         *float64 `parquet:"requests,optional"`
	SpecDrafts       *float64 `parquet:"spec_drafts,optional"`
	SpecDrafted      *float64 `parquet:"spec_drafted,optional"`
	SpecAccepted     *float64 `parquet:"spec_accepted,optional"`
	TTFTSum          *float64 `parquet:"ttft_sum,optional"`
	TTFTCount        *float64 `parquet:"ttft_count,optional"`
	E2ESum           *float64 `parquet:"e2e_sum,optional"`
	E2ECount         *float64 `parquet:"e2e_count,optional"`
	QueueSum         *float64 `parquet:"queue_sum,optional"`
	QueueCount       *float64 `parquet:"queue_count,optional"`
	PrefillSum       *float64 `parquet:"prefill_sum,optional"`
	PrefillCount     *float64 `parquet:"prefill_count,optional"`
	DecodeSum        *float64 `parquet:"decode_sum,optional"`
	DecodeCount      *float64 `parquet:"decode_count,optional"`
	TPOTSum          *float64 `parquet:"tpot_sum,optional"`
	TPOTCount        *float64 `parquet:"tpot_count,optional"`
	Started          *float64 `parquet:"started,optional"`
}

// values are the columns of the signals, in their order.
func (r *engineRow) values() [NumSignals]**float64 {
	return [NumSignals]**float64{
		&r.Running, &r.Waiting, &r.WaitingCapacity, &r.WaitingDeferred, &r.KVUsage,
		&r.PrefixQueries, &r.PrefixHits, &r.Preemptions, &r.PromptTokens, &r.GenerationTokens, &r.Requests,
		&r.SpecDrafts, &r.SpecDrafted, &r.SpecAccepted,
		&r.TTFTSum, &r.TTFTCount, &r.E2ESum, &r.E2ECount, &r.QueueSum, &r.QueueCount,
		&r.PrefillSum, &r.PrefillCount, &r.DecodeSum, &r.DecodeCount, &r.TPOTSum, &r.TPOTCount, &r.Started,
	}
}

func (s *EngineSample) row() engineRow {
	r := engineRow{
		At: int64(s.At), AsOf: orNil(int64(s.AsOf)), Arm: words(s.Arm), Trial: s.Trial,
		Replica: s.Replica, Role: string(s.Role), Source: string(s.Source), Dialect: words(s.Dialect),
	}
	for i, to := range r.values() {
		if v := s.Values[i]; !math.IsNaN(v) {
			*to = &s.Values[i]
		}
	}
	return r
}

func (r *engineRow) sample() EngineSample {
	s := UnknownSample()
	s.At, s.AsOf = clock.Time(r.At), clock.Time(orNull(r.AsOf))
	s.Arm, s.Trial, s.Replica = orEmpty(r.Arm), r.Trial, r.Replica
	s.Role, s.Source, s.Dialect = SampleRole(r.Role), SampleSource(r.Source), orEmpty(r.Dialect)
	for i, from := range r.values() {
		if *from != nil {
			s.Values[i] = **from
		}
	}
	return s
}
