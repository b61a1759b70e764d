package steptime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"goodput/profiles"
)

// repeats says how often a kernel of dense.csv runs in a layer; 0: once in a
// step.
func repeats(kernel string) (n int, known bool) {
	switch kernel {
	case "layernorm": // before attention and before the MLP
		return 2, true
	case "qkv_proj", "qk_norm", "rotary_emb", "o_proj", "gate_up_proj", "act_fn", "down_proj":
		return 1, true
	case "embedding", "final_layernorm":
		return 0, true
	}
	return 0, false
}

// Limits that keep sums of picoseconds well within 63 bits.
const (
	maxMicros = 1e7
	maxLayers = 1000
	maxCount  = 1 << 20
	maxRanks  = 64
)

// Deployment says of what kernel times are to be added up.
type Deployment struct {
	Model profiles.Model
	// TP is the number of GPUs that compute each token together; 0: 1.
	TP int
	// EP is the number of engines that share the experts of each layer out among
	// them, each with a scheduler of its own: vLLM's data parallelism with expert
	// parallelism. 0: 1, each engine has all experts.
	EP int
}

// LoadTable reads the kernel times of one GPU of d in dir (FORMAT.md): a folder
// tp1, tp2 … for each number of GPUs, or one's files without it. They are of one
// layer. Errors name the file, the line and the column.
func LoadTable(dir string, d Deployment) (*Table, error) {
	t, err := readTable(os.DirFS(dir), d)
	if err != nil {
		return nil, fmt.Errorf("kernel tables in %s: %w", dir, err)
	}
	return t, nil
}

func readTable(files fs.FS, d Deployment) (*Table, error) {
	t := &Table{layers: d.Model.Layers, tp: max(d.TP, 1), ep: max(d.EP, 1)}
	m := &d.Model
	switch {
	case t.layers < 1 || t.layers > maxLayers:
		return nil, fmt.Errorf("%d layers: need 1 to %d, the model's number", t.layers, maxLayers)
	case t.tp > maxRanks || t.ep > maxRanks:
		return nil, fmt.Errorf("%d GPUs a rank and %d ranks: at most %d of each", t.tp, t.ep, maxRanks)
	case t.ep > 1 && m.Experts == 0:
		return nil, fmt.Errorf("%s has no experts to share among %d ranks", m.Name, t.ep)
	case t.ep > 1 && t.tp > 1:
		return nil, fmt.Errorf("%d ranks of %d GPUs each: experts shared among ranks of several GPUs are not supported", t.ep, t.tp)
	case m.Experts%t.ep != 0:
		return nil, fmt.Errorf("%d experts can't be shared evenly among %d ranks", m.Experts, t.ep)
	}
	about, err := readMeta(files)
	if err != nil {
		return nil, err
	}
	kernels, err := rank(files, t.tp, about.Degrees)
	if err != nil {
		return nil, err
	}
	if t.skew, err = about.skew(t.tp); err != nil {
		return nil, err
	}
	if t.tp > 1 || t.ep > 1 {
		if t.link, err = readLink(files, about.Hardware); err != nil {
			return nil, err
		}
		t.width, t.vocab = float64(m.Hidden*activationBytes), float64(m.Vocab*activationBytes)
	}
	if m.Experts > 0 {
		if t.experts, err = readExperts(kernels, m, t.ep, t.layers); err != nil {
			return nil, err
		}
	}
	if t.dense, err = readDense(kernels, t.layers, m.Experts > 0); err != nil {
		return nil, err
	}
	if t.rows, err = readRows(kernels); err != nil {
		return nil, err
	}
	if t.attention, err = readAttention(kernels, t.layers); err != nil {
		return nil, err
	}
	return t, nil
}

// rank finds the files of one of tp GPUs: in the folder of that number, or, where
// there is no such folder at all, at the top.
func rank(files fs.FS, tp int, degrees []int) (fs.FS, error) {
	folders, err := fs.Glob(files, "tp[0-9]*")
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("tp%d", tp)
	switch {
	case slices.Contains(folders, name):
		return fs.Sub(files, name)
	case len(folders) > 0:
		return nil, fmt.Errorf("no folder %s: measured are %s", name, strings.Join(folders, ", "))
	case len(degrees) > 0 && !slices.Contains(degrees, tp):
		return nil, fmt.Errorf("meta.yaml: tp_degrees are %v: nothing is measured for %d", degrees, tp)
	}
	return files, nil
}

// readDense adds up the kernels on tokens. An MLP of experts is not among them:
// its time depends on more than the number of tokens.
func readDense(files fs.FS, layers int, experts bool) (line, error) {
	needed := []string{"embedding", "final_layernorm", "layernorm", "o_proj", "qkv_proj", "rotary_emb"}
	mlp := []string{"act_fn", "down_proj", "gate_up_proj"}
	if !experts {
		needed = append(mlp, needed...)
	}
	return readKernels(files, "dense.csv", "tokens", needed, func(kernel string) (float64, error) {
		n, known := repeats(kernel)
		switch {
		case !known:
			return 0, errors.New("need act_fn, down_proj, embedding, final_layernorm, gate_up_proj, layernorm, o_proj, qk_norm, qkv_proj or rotary_emb")
		case experts && slices.Contains(mlp, kernel):
			return 0, errors.New("the model has experts instead, timed in moe.csv; layers of both kinds in one model are not supported")
		case n == 0:
			return 1, nil
		}
		return float64(n * layers), nil
	})
}

func readRows(files fs.FS) (line, error) {
	return readKernels(files, "per_sequence.csv", "sequences", []string{"lm_head", "sampler"}, func(kernel string) (float64, error) {
		if kernel != "lm_head" && kernel != "sampler" {
			return 0, errors.New("need lm_head or sampler")
		}
		return 1, nil
	})
}

// readKernels adds up the kernels of a file, each times its weight. The needed
// ones must be there.
func readKernels(files fs.FS, name, axis string, needed []string, weight func(string) (float64, error)) (line, error) {
	curves := map[string]map[int]float64{}
	err := readCSV(files, name, [][]string{{"layer", axis, "time_us"}}, func(r *row) error {
		kernel := r.fields[0]
		w, err := weight(kernel)
		if err != nil {
			return r.errorf(0, "%q: %v", kernel, err)
		}
		n, err := r.count(1, 1)
		if err != nil {
			return err
		}
		ps, err := r.picoseconds(2)
		if err != nil {
			return err
		}
		if curves[kernel] == nil {
			curves[kernel] = map[int]float64{}
		}
		if _, twice := curves[kernel][n]; twice {
			return r.errorf(1, "%s has %d %s twice", kernel, n, axis)
		}
		curves[kernel][n] = w * ps
		return nil
	})
	if err != nil {
		return nil, err
	}
	// In order of name: sums of floats depend on their order.
	var names []string
	for kernel := range curves {
		names = append(names, kernel)
	}
	slices.Sort(names)
	for _, kernel := range needed {
		if curves[kernel] == nil {
			return nil, fmt.Errorf("%s: no rows of %s: a step without it would be too short", name, kernel)
		}
	}
	var sum line
	for _, kernel := range names {
		sum = sum.plus(newCurve(curves[kernel]))
	}
	return sum, nil
}

func newCurve(points map[int]float64) curve {
	var c curve
	for n := range points {
		c.x = append(c.x, float64(n))
	}
	slices.Sort(c.x)
	for _, x := range c.x {
		c.y = append(c.y, points[int(x)])
	}
	return c
}

// plus adds a curve up to the longer one's last point; both are extended
// linearly. Below its first point a curve is flat.
func (l line) plus(c curve) line {
	last := max(len(l)-1, int(c.x[len(c.x)-1]), 1)
	sum := make(line, last+1)
	for n := range sum {
		if len(l) > 0 {
			sum[n] = l.at(n)
		}
		sum[n] += c.at(max(float64(n), c.x[0]))
	}
	return sum
}

func readAttention(files fs.FS, layers int) (attention, error) {
	const name = "attention.csv"
	var alone, prefill, mixed []sample
	seen := map[[4]float64]bool{}
	header := []string{"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"}
	err := readCSV(files, name, [][]string{header}, func(r *row) error {
		var v [4]int
		for i := range v {
			n, err := r.count(i, 0)
			if err != nil {
				return err
			}
			v[i] = n
		}
		ps, err := r.picoseconds(4)
		if err != nil {
			return err
		}
		chunk, history, decodes, context := v[0], v[1], v[2], v[3]
		s := sample{[4]float64{float64(chunk), float64(decodes), float64(history), float64(context)}, ps * float64(layers)}
		switch {
		case seen[s.at]:
			return r.errorf(0, "this point is there twice")
		case chunk == 0 && history > 0:
			return r.errorf(1, "%d tokens of history without a prefill_chunk", history)
		case decodes == 0 && context > 0:
			return r.errorf(3, "%d tokens of context without n_decode", context)
		case chunk == 0 && decodes == 0:
			return r.errorf(0, "neither a prefill nor a decode")
		case chunk == 0:
			alone = append(alone, s)
		case decodes == 0:
			prefill = append(prefill, s)
		default:
			mixed = append(mixed, s)
		}
		seen[s.at] = true
		return nil
	})
	if err != nil {
		return attention{}, err
	}
	var a attention
	for _, g := range []struct {
		to      *grid
		samples []sample
		what    string
	}{
		{&a.decode, alone, "decodes alone"},
		{&a.prefill, prefill, "prefill alone"},
		{&a.mixed, mixed, "prefill beside decodes"},
	} {
		if len(g.samples) == 0 {
			return attention{}, fmt.Errorf("%s: no rows of %s: need all of decodes alone, prefill alone, and both", name, g.what)
		}
		if *g.to, err = newGrid(g.samples); err != nil {
			return attention{}, fmt.Errorf("%s: %s: %w", name, g.what, err)
		}
	}
	return a, nil
}

// meta is the part of meta.yaml that matters.
type meta struct {
	Hardware string `yaml:"hardware"`
	Degrees  []int  `yaml:"tp_degrees"`
	SkewFit  struct {
		Enabled bool `yaml:"enabled"`
		PerTP   map[int]struct {
			Alpha float64 `yaml:"alpha_default"`
		} `yaml:"per_tp"`
	} `yaml:"skew_fit"`
}

func readMeta(files fs.FS) (m meta, err error) {
	const name = "meta.yaml"
	data, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("reading %s: %w", name, err)
	}
	if err := decodeYAML(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// skew is the pooled fit of one of tp GPUs.
func (m *meta) skew(tp int) (float64, error) {
	if !m.SkewFit.Enabled {
		return 0, nil
	}
	fit, ok := m.SkewFit.PerTP[tp]
	if !ok {
		return 0, fmt.Errorf("meta.yaml: skew_fit is enabled and has no per_tp entry %d", tp)
	}
	if !(fit.Alpha >= 0 && fit.Alpha <= 1) {
		return 0, fmt.Errorf("meta.yaml: alpha_default is %v: need a share, 0 to 1", fit.Alpha)
	}
	return fit.Alpha, nil
}

// decodeYAML turns a panic of the library, which unusual tags provoke, into an
// error.
func decodeYAML(data []byte, to any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML can't be read: write plain keys and values, without tags or anchors")
		}
	}()
	return yaml.Unmarshal(data, to)
}
