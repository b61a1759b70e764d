package cli

import (
	"fmt"
	"io"
	"strings"

	"goodput/fakeengine/steptime"
	"goodput/report/plot"
)

// band is what a figure may really be if a prediction is off by its error: an error
// is relative to the truth, so the truth lies between v/(1+e) and v/(1-e).
type band struct {
	AtLeast float64  `json:"at_least"`
	AtMost  *float64 `json:"at_most"` // null: unbounded, the error is 100 % or more
}

func newBand(v, e float64) *band {
	b := &band{AtLeast: v / (1 + e)}
	if e < 1 {
		most := v / (1 - e)
		b.AtMost = &most
	}
	return b
}

// roofPoint is a step on the roofline of one GPU.
type roofPoint struct {
	FLOPs     float64 `json:"flops"`
	Bytes     float64 `json:"bytes"`          // weights and KV cache read
	Intensity float64 `json:"flops_per_byte"` // FLOPs over Bytes
	Reached   float64 `json:"flops_per_s"`
	Roof      float64 `json:"roof_flops_per_s"` // the most at this intensity
}

func newRoofPoint(h *hardware, b *steptime.Batch, ps int64) roofPoint {
	w := h.step.Work(b)
	p := roofPoint{FLOPs: w.FLOPs(), Bytes: w.Read, Intensity: w.FLOPs() / w.Read, Reached: w.FLOPs() / (float64(ps) / 1e12)}
	p.Roof = min(h.peak(), p.Intensity*h.gpu.HBM.Value)
	return p
}

// peak is the rate of the layers' matrix products at best.
func (h *hardware) peak() float64 { return h.gpu.Rates(h.model.Quantization).Peak }

// roofline draws the steps.
func (x *explanation) roofline(w io.Writer, h *hardware) error {
	if len(x.Steps) > plot.MaxWork {
		_, err := fmt.Fprintf(w, "no roofline of %d columns: ask for %d at most\n", len(x.Steps), plot.MaxWork)
		return err
	}
	r := plot.Roofline{Peak: h.peak(), Bandwidth: h.gpu.HBM.Value}
	for i := range x.Steps {
		e := &x.Steps[i]
		r.Work = append(r.Work, plot.Work{
			Name:      fmt.Sprintf("batch %d (%s, %.0f %% of the roof)", e.Batch, e.Bound, 100*e.Roof.Reached/e.Roof.Roof),
			Intensity: e.Roof.Intensity, Rate: e.Roof.Reached,
		})
	}
	fmt.Fprintf(w, "roofline of one GPU: %.4g TB/s, then %.4g TFLOP/s in %s\n", h.gpu.HBM.Value/1e12, h.peak()/1e12, x.Multiplies)
	return r.WriteText(w)
}

// predicted writes a figure with its band.
func (x *explanation) predicted(b *strings.Builder, name string, of func(*explainedStep) (*float64, *band)) {
	x.line(b, name, func(e *explainedStep) string { v, _ := of(e); return optional(v) })
	any := false
	for i := range x.Steps {
		_, band := of(&x.Steps[i])
		any = any || band != nil
	}
	if !any {
		return
	}
	x.line(b, "  at least", func(e *explainedStep) string {
		if _, band := of(e); band != nil {
			return number(band.AtLeast)
		}
		return "-"
	})
	x.line(b, "  at most", func(e *explainedStep) string {
		if _, band := of(e); band != nil {
			return optional(band.AtMost)
		}
		return "-"
	})
}

func validated(gaps []string) string {
	if len(gaps) > 0 {
		return "no"
	}
	return "yes"
}
