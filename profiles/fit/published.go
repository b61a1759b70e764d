package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"goodput/profiles"
	"goodput/profiles/evidence"
)

// Drop is why rows are no points, and how many there are of them.
type Drop struct {
	Why  string `json:"why"`
	Rows int    `json:"rows"`
}

// drops counts them, in the order in which reasons first occur.
type drops []Drop

func (d *drops) add(why string) {
	for i := range *d {
		if (*d)[i].Why == why {
			(*d)[i].Rows++
			return
		}
	}
	*d = append(*d, Drop{why, 1})
}

// Published turns the rows of tables that tell of step times on a GPU into points.
// memory is what one GPU has, in bytes: rows whose batch would not fit measure
// queueing. The rows that are no points are counted by reason.
func Published(rows []evidence.Point, gpu string, memory float64) ([]Point, []Drop) {
	var out []Point
	var left drops
	for i := range rows {
		p, why := published(&rows[i], gpu, memory)
		if why != "" {
			left.add(why)
			continue
		}
		out = append(out, p)
	}
	return out, left
}

// spellings are the names by which tables call a GPU. An A800 is an A100 with
// slower links.
func spellings(gpu string) []string {
	switch gpu {
	case "h100-sxm":
		return []string{"H100-SXM-80GB", gpu}
	case "a100-sxm-80gb":
		return []string{"A100-SXM-80GB", "A800-SXM-80GB", gpu}
	case "mi300x":
		return []string{"MI300X", gpu}
	}
	return []string{gpu}
}

// budget is the tokens of a step where the source does not tell: that of vLLM's
// server on large GPUs.
const budget = 8192

func published(r *evidence.Point, gpu string, memory float64) (p Point, why string) {
	switch {
	case !slices.Contains(spellings(gpu), r.GPU):
		return p, "another GPU"
	case r.Kind == evidence.Op, r.Kind == evidence.KVBlocks:
		return p, "not a step"
	case r.Unfit:
		return p, "for reference only, says the table"
	case r.TP < 1 || r.Replicas > 1:
		return p, "no single engine"
	}
	model, err := profiles.LoadModel(r.ModelKey)
	if err != nil {
		return p, "no profile of the model " + r.ModelKey
	}
	quantization, ok := storage(r.DType)
	if !ok {
		return p, "weights of type " + r.DType
	}
	kv := profiles.KVBFloat16
	if strings.HasPrefix(r.KVDType, "fp8") {
		kv = profiles.KVFP8
	}
	if model, err = model.Stored(string(quantization), string(kv)); err != nil {
		return p, "a model that is not stored so"
	}
	if model.CheckTP(r.TP) != nil {
		return p, "a tensor parallel degree that the model does not have"
	}
	p = Point{
		Source: r.Source, Family: profiles.Family(r.Engine, r.EngineVersion), Version: strings.TrimSpace(r.Engine + " " + r.EngineVersion),
		Overlap: profiles.Overlaps(r.Engine, r.EngineVersion), Model: model, TP: r.TP,
		Batch: float64(r.Batch), Input: r.InputLen, Output: r.OutputLen, Budget: budget, Config: config(r),
	}
	if r.MaxBatchedTokens > 0 {
		p.Budget = r.MaxBatchedTokens
	}
	room := (0.9*memory*float64(r.TP) - model.WeightBytes()) / float64(model.KVBytesPerToken(1))
	if why := p.measured(r, room); why != "" {
		return p, why
	}
	answers := p.Kind == ClosedLoop || p.Kind == StaticBatch || p.Kind == Burst
	if !(p.Batch >= 1 && p.Input >= 1 && p.Seconds > 0) || answers && p.Output < 1 {
		return p, "lengths or batch are not stated"
	}
	return p, ""
}

// measured fills in what the row measured. room is how many tokens the KV caches of
// the engine hold.
func (p *Point) measured(r *evidence.Point, room float64) string {
	fits := p.Batch*(p.Input+p.Output) <= room
	tpot := r.TPOT.Typical()
	switch {
	case r.Kind == evidence.StepDecode:
		p.Kind, p.Input, p.Seconds = DecodeStep, r.ContextLen, r.Step/1e3
	case r.Kind == evidence.StepPrefill:
		p.Kind, p.Input, p.Seconds = PrefillStep, r.PrefillTokens/max(p.Batch, 1), r.Step/1e3
	case r.Kind == evidence.Offline && !fits, r.Load == evidence.ClosedLoop && !fits:
		return "the KV cache cannot hold the batch"
	case r.Kind == evidence.Offline && tpot > 0:
		if tpot < 8 || p.Output < 128 {
			return "too short for a figure rounded to the millisecond"
		}
		p.Kind, p.Input, p.Seconds = DecodeStep, p.Input+p.Output/2, tpot/1e3
	case r.Kind == evidence.Offline && r.E2EMean > 0:
		p.Kind, p.Seconds = StaticBatch, r.E2EMean/1e3
	case r.Kind == evidence.Offline && r.OutputTokS > 0:
		p.Kind, p.Seconds = StaticBatch, p.Batch*p.Output/r.OutputTokS
	case r.Load == evidence.ClosedLoop && tpot > 0:
		if p.Batch > 1 && r.TTFT.Typical() > waiting*p.Output*tpot {
			return "waiting dominates"
		}
		p.Kind, p.Seconds = ClosedLoop, tpot/1e3
	case r.Load == evidence.Burst && r.MetricName == "benchmark_duration":
		if p.Input < 1900 || p.Output > 250 || room < 16*(p.Input+p.Output) {
			return "a burst that prompts do not dominate"
		}
		p.Kind, p.Seconds = Burst, r.Metric
		p.Running = max(1, min(256, p.Batch, math.Floor(room/(p.Input+p.Output))))
	default:
		return "no figure that follows from step times"
	}
	return ""
}

// storage names how weights of a table's type are stored and multiplied.
func storage(dtype string) (profiles.Quantization, bool) {
	switch d := strings.ToLower(dtype); {
	case d == "bf16" || d == "fp16":
		return profiles.Unquantized, true
	case d == "fp8" || d == "fp8_block":
		return profiles.FP8, true
	case strings.HasPrefix(d, "mxfp4"):
		return profiles.MXFP4, true
	}
	return "", false
}

func config(r *evidence.Point) string {
	output := r.OutputLen
	if r.Kind == evidence.StepPrefill {
		output = 0
	}
	return fmt.Sprint(r.GPU, "|", r.ModelKey, "|", r.TP, "|", r.DType, "|", r.Kind, "|", r.Load, "|", r.Batch, "|", r.RequestRate,
		"|", r.InputLen, "|", r.ContextLen, "|", output)
}
