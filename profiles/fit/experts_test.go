package fit

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"goodput/profiles"
)

// expertRun is one kernel of experts that was timed alone. See
// testdata/expert_kernels.csv, times of vLLM 0.20 published with AIConfigurator
// (Apache-2.0).
type expertRun struct {
	gpu     string
	seconds float64
	// read and multiply are the seconds of the full bandwidth and of the peak rate.
	read, multiply float64
	// certain: which experts are read is known, and little is multiplied.
	certain bool
}

func readExpertRuns(t *testing.T) []expertRun {
	t.Helper()
	f, err := os.Open("testdata/expert_kernels.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []expertRun
	for _, row := range rows[1:] {
		n := func(i int) float64 {
			v, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		g, err := profiles.LoadGPU(row[0])
		if err != nil {
			t.Fatal(err)
		}
		size, peak := 2.0, g.Peak.Value
		if row[1] == "fp8" {
			size, peak = 1, g.FP8.Peak.Value
		}
		each, experts, tokens := n(4), n(5), n(8)
		weights := 3 * n(2) * n(3) / n(6) // of one expert, on one of the GPUs
		left := experts * math.Pow(1-each/experts, tokens)
		reached := experts - left
		if row[7] == "balanced" {
			reached, left = min(experts, tokens*each), 0
		}
		r := expertRun{gpu: row[0], seconds: n(9) / 1e3, read: reached * weights * size / g.HBM.Value, multiply: 2 * weights * each * tokens / peak}
		r.certain = left < 0.01*experts && r.multiply < 0.1*r.read
		out = append(out, r)
	}
	return out
}

// expertForm fits launch + read/bandwidth + multiply/matmul: the first two to the runs
// in which little is multiplied, the last to the others, by least squares of relative
// errors.
func expertForm(runs []expertRun) (launch, bandwidth, matmul float64, reads, products int) {
	var s0, s1, s2, y0, y1 float64
	for _, r := range runs {
		if r.certain {
			reads++
			w := 1 / (r.seconds * r.seconds)
			s0, s1, s2 = s0+w, s1+w*r.read, s2+w*r.read*r.read
			y0, y1 = y0+w*r.seconds, y1+w*r.read*r.seconds
		}
	}
	det := s0*s2 - s1*s1
	launch = (y0*s2 - s1*y1) / det
	slow := (s0*y1 - s1*y0) / det
	var num, den float64
	for _, r := range runs {
		if !r.certain && r.multiply > 0.2*r.read {
			products++
			w := 1 / (r.seconds * r.seconds)
			num += w * r.multiply * (r.seconds - launch - slow*r.read)
			den += w * r.multiply * r.multiply
		}
	}
	return launch, 1 / slow, den / num, reads, products
}

// TestExpertKernels: the shipped shares are what kernels timed alone tell, and reading
// and multiplying add up.
func TestExpertKernels(t *testing.T) {
	all := readExpertRuns(t)
	for _, name := range []string{"h100-sxm", "a100-sxm-80gb"} {
		t.Run(name, func(t *testing.T) {
			var runs []expertRun
			for _, r := range all {
				if r.gpu == name {
					runs = append(runs, r)
				}
			}
			launch, bandwidth, matmul, reads, products := expertForm(runs)
			g, err := profiles.LoadGPU(name)
			if err != nil {
				t.Fatal(err)
			}
			k := g.ExpertKernels
			if math.Abs(bandwidth-k.Bandwidth.Value) > 1e-3 || math.Abs(matmul-k.Matmul.Value) > 1e-3 {
				t.Errorf("the kernels reach %.4f and %.4f, shipped are %v and %v", bandwidth, matmul, k.Bandwidth.Value, k.Matmul.Value)
			}
			if reads != k.Bandwidth.Points || products != k.Matmul.Points {
				t.Errorf("%d and %d kernels, shipped are %d and %d", reads, products, k.Bandwidth.Points, k.Matmul.Points)
			}
			if launch < 15e-6 || launch > 40e-6 {
				t.Errorf("%v s of launch", launch)
			}
			var sum, larger []float64
			for _, r := range runs {
				read, multiply := r.read/bandwidth, r.multiply/matmul
				sum = append(sum, math.Abs((launch+read+multiply)/r.seconds-1))
				larger = append(larger, math.Abs((launch+max(read, multiply))/r.seconds-1))
			}
			if a, b := quantile(sum, 0.5), quantile(larger, 0.5); a > 0.07 || a > b {
				t.Errorf("median error %.3f by the sum, %.3f by the larger of the two", a, b)
			}
		})
	}
}
