package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"goodput/profiles"
)

func newProfile(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "show what GPUs and models cost, and where the figures come from",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newProfileList(env), newProfileShow(env), newProfileExplain(env), newProfileFit(env), newProfileValidate(env))
	return c
}

// gpuSummary and modelSummary are the lines of profile list.
type gpuSummary struct {
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	PeakBF16     float64  `json:"peak_flops_bf16"`
	PeakFP8      *float64 `json:"peak_flops_fp8"` // null: it multiplies FP8 at 16 bits
	HBM          float64  `json:"hbm_bytes_per_s"`
	Memory       float64  `json:"memory_bytes"`
	ITLError     float64  `json:"itl_error"`
	TTFTError    float64  `json:"ttft_error"`
	ErrorsStatus string   `json:"errors_status"`
}

type modelSummary struct {
	Name         string                `json:"name"`
	Title        string                `json:"title"`
	Weights      int64                 `json:"weights"`
	Active       int64                 `json:"active_weights"`
	WeightBytes  float64               `json:"weight_bytes"`
	Quantization profiles.Quantization `json:"quantization"`
	KVPerToken   int64                 `json:"kv_bytes_per_token"`
	MaxLen       int                   `json:"max_len"`
}

type profileList struct {
	Schema int            `json:"schema"`
	GPUs   []gpuSummary   `json:"gpus"`
	Models []modelSummary `json:"models"`
}

func newProfileList(env *Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "list the profiles of GPUs and models",
		Example: "  goodput profile list\n  goodput profile list --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := listProfiles()
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(env.Stdout, l)
			}
			return l.text(env.Stdout)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return c
}

func listProfiles() (profileList, error) {
	out := profileList{Schema: 1}
	for _, name := range profiles.GPUs() {
		g, err := profiles.LoadGPU(name)
		if err != nil {
			return out, err
		}
		s := gpuSummary{
			Name: name, Title: g.Title, PeakBF16: g.Peak.Value, HBM: g.HBM.Value, Memory: g.Memory.Value,
			ITLError: g.ITLError.Value, TTFTError: g.TTFTError.Value, ErrorsStatus: string(g.ITLError.Status),
		}
		if g.FP8 != nil {
			s.PeakFP8 = &g.FP8.Peak.Value
		}
		out.GPUs = append(out.GPUs, s)
	}
	for _, name := range profiles.Models() {
		m, err := profiles.LoadModel(name)
		if err != nil {
			return out, err
		}
		out.Models = append(out.Models, modelSummary{
			Name: name, Title: m.Title, Weights: m.Weights(), Active: m.ActiveWeights(), WeightBytes: m.WeightBytes(),
			Quantization: m.Quantization, KVPerToken: m.KVBytesPerToken(1), MaxLen: m.MaxLen,
		})
	}
	return out, nil
}

func (l *profileList) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GPU\tbf16 TFLOP/s\tFP8 TFLOP/s\tHBM TB/s\tmemory GB\tTPOT error\tTTFT error\tthe errors are")
	for _, g := range l.GPUs {
		fp8 := "none"
		if g.PeakFP8 != nil {
			fp8 = fmt.Sprintf("%.0f", *g.PeakFP8/1e12)
		}
		fmt.Fprintf(t, "%s\t%.0f\t%s\t%.2f\t%.1f\t%.0f %%\t%.0f %%\t%s\n",
			g.Name, g.PeakBF16/1e12, fp8, g.HBM/1e12, g.Memory/1e9, 100*g.ITLError, 100*g.TTFTError, g.ErrorsStatus)
	}
	fmt.Fprintln(t, "\nmodel\tweights 1e9\tper token\tstored as\tGB\tKV KiB/token\tcontext")
	for _, m := range l.Models {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%s\t%.1f\t%.0f\t%d\n",
			m.Name, float64(m.Weights)/1e9, float64(m.Active)/1e9, stored(m.Quantization), m.WeightBytes/1e9, float64(m.KVPerToken)/1024, m.MaxLen)
	}
	return t.Flush()
}

// stored names a quantization for people.
func stored(q profiles.Quantization) string {
	if q == profiles.Unquantized {
		return "bf16"
	}
	return string(q)
}

func newProfileShow(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "print a profile with the source of every figure",
		Example: "  goodput profile show h100-sxm\n  goodput profile show llama-3.1-70b",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exitf(exitUsage, "which profile? name one, as in: goodput profile show h100-sxm (goodput profile list has them)")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := profiles.Text(args[0])
			if err != nil {
				return err
			}
			_, err = env.Stdout.Write(text)
			return err
		},
	}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
