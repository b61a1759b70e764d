package evidence

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// column is one field of the schema.
type column struct {
	name     string
	required bool // in the header
	set      func(p *Point, cell string) error
}

func columns() []column {
	return []column{
		{"id", true, text(func(p *Point) *string { return &p.ID })},
		{"source", true, text(func(p *Point) *string { return &p.Source })},
		{"url_or_repo_path", true, text(func(p *Point) *string { return &p.Address })},
		{"license", true, text(func(p *Point) *string { return &p.License })},
		{"obtained", false, oneOf(func(p *Point) *string { return &p.Obtained }, "measured-by-source", "setting-recorded-by-source")},
		{"date", false, text(func(p *Point) *string { return &p.Date })},
		{"notes", false, text(func(p *Point) *string { return &p.Notes })},

		{"gpu", true, text(func(p *Point) *string { return &p.GPU })},
		{"num_gpus", false, count(func(p *Point) *int { return &p.GPUs })},
		{"tp", true, count(func(p *Point) *int { return &p.TP })},
		{"replicas", false, count(func(p *Point) *int { return &p.Replicas })},
		{"model", false, text(func(p *Point) *string { return &p.Model })},
		{"model_key", true, text(func(p *Point) *string { return &p.ModelKey })},
		{"params_b", false, amount(func(p *Point) *float64 { return &p.ParamsB }, 0, 1e5, "1e9 parameters")},
		{"dtype", true, text(func(p *Point) *string { return &p.DType })},
		{"kv_dtype", false, text(func(p *Point) *string { return &p.KVDType })},
		{"engine", true, text(func(p *Point) *string { return &p.Engine })},
		{"engine_version", false, text(func(p *Point) *string { return &p.EngineVersion })},
		{"max_num_batched_tokens", false, count(func(p *Point) *int { return &p.MaxBatchedTokens })},

		{"kind", true, kind},
		{"load_mode", false, load},
		{"batch_or_concurrency", false, count(func(p *Point) *int { return &p.Batch })},
		{"request_rate_rps", false, amount(func(p *Point) *float64 { return &p.RequestRate }, 0, 1e6, "requests per second")},
		{"input_len", false, amount(func(p *Point) *float64 { return &p.InputLen }, 1, 1e8, "tokens per request")},
		{"output_len", false, amount(func(p *Point) *float64 { return &p.OutputLen }, 1, 1e8, "tokens per request")},
		{"context_len", false, amount(func(p *Point) *float64 { return &p.ContextLen }, 1, 1e8, "tokens per sequence")},
		{"prefill_tokens", false, amount(func(p *Point) *float64 { return &p.PrefillTokens }, 1, 1e8, "tokens")},

		{"step_time_ms", false, amount(func(p *Point) *float64 { return &p.Step }, 0, 1e7, "ms")},
		{"e2e_ms_mean", false, amount(func(p *Point) *float64 { return &p.E2EMean }, 1, 1e8, "ms")},
		{"ttft_ms_mean", false, amount(func(p *Point) *float64 { return &p.TTFT.Mean }, 1, 1e8, "ms")},
		{"ttft_ms_p50", false, amount(func(p *Point) *float64 { return &p.TTFT.P50 }, 1, 1e8, "ms")},
		{"ttft_ms_p99", false, amount(func(p *Point) *float64 { return &p.TTFT.P99 }, 1, 1e8, "ms")},
		{"tpot_ms_mean", false, amount(func(p *Point) *float64 { return &p.TPOT.Mean }, 0.5, 1e6, "ms")},
		{"tpot_ms_p50", false, amount(func(p *Point) *float64 { return &p.TPOT.P50 }, 0.5, 1e6, "ms")},
		{"tpot_ms_p99", false, amount(func(p *Point) *float64 { return &p.TPOT.P99 }, 0.5, 1e6, "ms")},
		{"itl_ms_mean", false, amount(func(p *Point) *float64 { return &p.ITL.Mean }, 0.5, 1e6, "ms")},
		{"itl_ms_p50", false, amount(func(p *Point) *float64 { return &p.ITL.P50 }, 0, 1e6, "ms")},
		{"itl_ms_p99", false, amount(func(p *Point) *float64 { return &p.ITL.P99 }, 0, 1e6, "ms")},
		{"output_tok_s", false, amount(func(p *Point) *float64 { return &p.OutputTokS }, 0, 1e7, "tokens per second")},
		{"total_tok_s", false, amount(func(p *Point) *float64 { return &p.TotalTokS }, 0, 1e8, "tokens per second")},
		{"request_s", false, amount(func(p *Point) *float64 { return &p.RequestS }, 0, 1e6, "requests per second")},

		{"op", false, text(func(p *Point) *string { return &p.Op })},
		{"op_shape", false, text(func(p *Point) *string { return &p.OpShape })},
		{"metric_name", false, text(func(p *Point) *string { return &p.MetricName })},
		{"metric_value", false, amount(func(p *Point) *float64 { return &p.Metric }, 0, 1e12, "metric_unit")},
		{"metric_unit", false, text(func(p *Point) *string { return &p.Unit })},
		{"fit_ok", false, fitOK},
	}
}

// metricUnits are the units of the figures that have no column of their own.
func metricUnit(name string) string {
	switch name {
	case "benchmark_duration":
		return "s"
	case "throughput", "tokens_per_second":
		return "tok/s"
	case "bus_bandwidth":
		return "GB/s"
	case "hbm_bandwidth":
		return "TB/s"
	case "achieved_tflops":
		return "TFLOP/s"
	case "kv_blocks":
		return "blocks"
	}
	return ""
}

func text(field func(*Point) *string) func(*Point, string) error {
	return func(p *Point, cell string) error {
		*field(p) = cell
		return nil
	}
}

func oneOf(field func(*Point) *string, known ...string) func(*Point, string) error {
	return func(p *Point, cell string) error {
		if cell != "" && !slices.Contains(known, cell) {
			return fmt.Errorf("%q: use %s", cell, strings.Join(known, ", "))
		}
		*field(p) = cell
		return nil
	}
}

func kind(p *Point, cell string) error {
	p.Kind = Kind(cell)
	switch p.Kind {
	case StepDecode, StepPrefill, Offline, Serving, Op, KVBlocks:
		return nil
	}
	return fmt.Errorf("%q: use %s, %s, %s, %s, %s or %s", cell, StepDecode, StepPrefill, Offline, Serving, Op, KVBlocks)
}

func load(p *Point, cell string) error {
	p.Load = Load(cell)
	switch p.Load {
	case "", ClosedLoop, OpenPoisson, Burst, StaticBatch, ClosedLoopStatic, OfflineMax:
		return nil
	}
	return fmt.Errorf("%q: use %s, %s, %s, %s, %s or %s", cell, ClosedLoop, OpenPoisson, Burst, StaticBatch, ClosedLoopStatic, OfflineMax)
}

func fitOK(p *Point, cell string) error {
	if cell != "" && cell != "0" && cell != "1" {
		return fmt.Errorf("%q: use 1, or 0 for a row that is no step-time point", cell)
	}
	p.Unfit = cell == "0"
	return nil
}

// amount reads a number of a unit: more than 0, least or more, most or less.
func amount(field func(*Point) *float64, least, most float64, unit string) func(*Point, string) error {
	return func(p *Point, cell string) error {
		if cell == "" {
			return nil
		}
		v, err := decimal(cell)
		switch {
		case err != nil:
			return fmt.Errorf("%q: need a number of %s, without a unit, or nothing if it is unknown", cell, unit)
		case !(v > 0):
			return fmt.Errorf("%s: need more than 0 %s, or nothing if it is unknown", cell, unit)
		case v < least && unit == "ms":
			return fmt.Errorf("%s is too short: need %v to %g ms; is it in seconds?", cell, least, most)
		case v > most && unit == "ms":
			return fmt.Errorf("%s is too long: need %v to %g ms; is it in microseconds?", cell, least, most)
		case v < least || v > most:
			return fmt.Errorf("%s: need %v to %g %s", cell, least, most, unit)
		}
		*field(p) = v
		return nil
	}
}

func count(field func(*Point) *int) func(*Point, string) error {
	return func(p *Point, cell string) error {
		if cell == "" {
			return nil
		}
		v, err := strconv.ParseInt(cell, 10, 32)
		if err != nil || v < 1 {
			return fmt.Errorf("%q: need a whole number from 1 on, or nothing if it is unknown", cell)
		}
		*field(p) = int(v)
		return nil
	}
}

// decimal reads plain numbers only: no infinities, hexadecimals or digit groups.
func decimal(cell string) (float64, error) {
	if strings.Trim(cell, "0123456789.eE+-") != "" {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err == nil && math.IsInf(v, 0) {
		err = strconv.ErrRange
	}
	return v, err
}
