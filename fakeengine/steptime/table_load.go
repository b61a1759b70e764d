package steptime

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
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
)

// LoadTable reads the kernel times of one GPU in dir: dense.csv,
// per_sequence.csv, attention.csv and, if there, meta.yaml (FORMAT.md). The
// files are of one layer; layers is the number that the model has. Errors name
// the file, the line and the column.
func LoadTable(dir string, layers int) (*Table, error) {
	return readTable(os.DirFS(dir), layers)
}

func readTable(files fs.FS, layers int) (*Table, error) {
	if layers < 1 || layers > maxLayers {
		return nil, fmt.Errorf("kernel tables: %d layers: need 1 to %d, the model's number", layers, maxLayers)
	}
	t := &Table{}
	var err error
	if t.dense, err = readDense(files, layers); err != nil {
		return nil, fmt.Errorf("kernel tables: %w", err)
	}
	if t.rows, err = readRows(files); err != nil {
		return nil, fmt.Errorf("kernel tables: %w", err)
	}
	if t.attention, err = readAttention(files, layers); err != nil {
		return nil, fmt.Errorf("kernel tables: %w", err)
	}
	if t.skew, err = readSkew(files); err != nil {
		return nil, fmt.Errorf("kernel tables: %w", err)
	}
	return t, nil
}

func readDense(files fs.FS, layers int) (line, error) {
	// qk_norm is missing where a model has none. An MLP of experts has no
	// down_proj: its kernels depend on more than the number of tokens.
	needed := []string{"act_fn", "down_proj", "embedding", "final_layernorm", "gate_up_proj", "layernorm", "o_proj", "qkv_proj", "rotary_emb"}
	return readKernels(files, "dense.csv", "tokens", needed, func(kernel string) (float64, error) {
		n, known := repeats(kernel)
		switch {
		case !known:
			return 0, errors.New("need act_fn, down_proj, embedding, final_layernorm, gate_up_proj, layernorm, o_proj, qk_norm, qkv_proj or rotary_emb")
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
	err := readCSV(files, name, []string{"layer", axis, "time_us"}, func(r *row) error {
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
	err := readCSV(files, name, header, func(r *row) error {
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

// skewFit is the part of meta.yaml that matters: the pooled fit of one rank.
type skewFit struct {
	SkewFit struct {
		Enabled bool `yaml:"enabled"`
		PerTP   map[int]struct {
			Alpha float64 `yaml:"alpha_default"`
		} `yaml:"per_tp"`
	} `yaml:"skew_fit"`
}

func readSkew(files fs.FS) (float64, error) {
	const name = "meta.yaml"
	data, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	var m skewFit
	if err := decodeYAML(data, &m); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if !m.SkewFit.Enabled {
		return 0, nil
	}
	fit, ok := m.SkewFit.PerTP[1]
	if !ok {
		return 0, fmt.Errorf("%s: skew_fit is enabled and has no per_tp entry 1", name)
	}
	if !(fit.Alpha >= 0 && fit.Alpha <= 1) {
		return 0, fmt.Errorf("%s: alpha_default is %v: need a share, 0 to 1", name, fit.Alpha)
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

// row is one record of a CSV file.
type row struct {
	file   string
	r      *csv.Reader
	header []string
	fields []string
}

// readCSV calls each with every record after the header, which must be exactly
// the given one.
func readCSV(files fs.FS, name string, header []string, each func(*row) error) error {
	f, err := files.Open(name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	in := csv.NewReader(f)
	in.ReuseRecord = true
	for first := true; ; first = false {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) && !first {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if first {
			if !slices.Equal(fields, header) {
				return fmt.Errorf("%s:1:1: header %q: need %q", name, strings.Join(fields, ","), strings.Join(header, ","))
			}
			continue
		}
		if err := each(&row{file: name, r: in, header: header, fields: fields}); err != nil {
			return err
		}
	}
}

func (r *row) errorf(field int, format string, args ...any) error {
	l, c := r.r.FieldPos(field)
	return fmt.Errorf("%s:%d:%d: %s: %s", r.file, l, c, r.header[field], fmt.Sprintf(format, args...))
}

func (r *row) count(field, least int) (int, error) {
	n, err := strconv.Atoi(r.fields[field])
	if err != nil || n < least || n > maxCount {
		return 0, r.errorf(field, "%q: need a whole number, %d to %d", r.fields[field], least, maxCount)
	}
	return n, nil
}

// picoseconds reads a time in microseconds.
func (r *row) picoseconds(field int) (float64, error) {
	us, err := strconv.ParseFloat(r.fields[field], 64)
	if err != nil || !(us > 0 && us <= maxMicros) {
		return 0, r.errorf(field, "%q: need microseconds, more than 0 and at most %g", r.fields[field], float64(maxMicros))
	}
	return math.Round(us * 1e6), nil
}
