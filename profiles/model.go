package profiles

import (
	"errors"
	"fmt"
)

// Model is the shape of a dense transformer. The shape is exact, so one source
// covers all of it.
type Model struct {
	Name   string `yaml:"name"`
	Title  string `yaml:"title"`
	Source string `yaml:"source"`
	Date   string `yaml:"date"`

	Layers       int  `yaml:"layers"`
	Hidden       int  `yaml:"hidden"`
	Heads        int  `yaml:"heads"`
	KVHeads      int  `yaml:"kv_heads"`
	HeadDim      int  `yaml:"head_dim"`
	Intermediate int  `yaml:"intermediate"`
	GatedMLP     bool `yaml:"gated_mlp"`
	Vocab        int  `yaml:"vocab"`
	// TiedEmbeddings: the output head is the input embedding.
	TiedEmbeddings bool `yaml:"tied_embeddings"`
	// WeightBytes and KVBytes are the bytes of one weight and one cached element.
	WeightBytes int `yaml:"weight_bytes"`
	KVBytes     int `yaml:"kv_bytes"`
	// MaxLen is the context length in tokens.
	MaxLen int `yaml:"max_len"`
}

func (m *Model) validate() error {
	var errs []error
	for _, f := range []struct {
		name       string
		value, max int // beyond max a typing error is likelier, and products overflow
	}{
		{"layers", m.Layers, 1e4},
		{"hidden", m.Hidden, 1e6},
		{"heads", m.Heads, 1e4},
		{"kv_heads", m.KVHeads, 1e4},
		{"head_dim", m.HeadDim, 1e4},
		{"intermediate", m.Intermediate, 1e7},
		{"vocab", m.Vocab, 1e8},
		{"weight_bytes", m.WeightBytes, 8},
		{"kv_bytes", m.KVBytes, 8},
		{"max_len", m.MaxLen, 1e9},
	} {
		switch {
		case f.value == 0:
			errs = append(errs, fmt.Errorf("%s is missing", f.name))
		case f.value < 0 || f.value > f.max:
			errs = append(errs, fmt.Errorf("%s is %d: need 1 to %d", f.name, f.value, f.max))
		}
	}
	if m.Source == "" {
		errs = append(errs, errors.New("source is missing"))
	}
	if m.Date == "" {
		errs = append(errs, errors.New("date is missing"))
	}
	if m.KVHeads > 0 && m.Heads%m.KVHeads != 0 {
		errs = append(errs, fmt.Errorf("heads is %d: need a multiple of kv_heads, %d", m.Heads, m.KVHeads))
	}
	return errors.Join(errs...)
}

// LayerWeights is the number of weights in the matrices of one layer.
func (m *Model) LayerWeights() int64 {
	attn := m.Hidden * m.HeadDim * (2*m.Heads + 2*m.KVHeads)
	mlp := 2 * m.Hidden * m.Intermediate
	if m.GatedMLP {
		mlp = 3 * m.Hidden * m.Intermediate
	}
	return int64(attn) + int64(mlp)
}

// HeadWeights is the number of weights of the output head.
func (m *Model) HeadWeights() int64 { return int64(m.Vocab) * int64(m.Hidden) }

// Weights is the number of all weights: layers, head, embedding and norms.
func (m *Model) Weights() int64 {
	n := int64(m.Layers)*(m.LayerWeights()+2*int64(m.Hidden)) + int64(m.Hidden) + m.HeadWeights()
	if !m.TiedEmbeddings {
		n += m.HeadWeights()
	}
	return n
}

// KVBytesPerToken is the KV cache of one token over all layers, of one of tp
// ranks. KV heads are copied when there are fewer of them than ranks.
func (m *Model) KVBytesPerToken(tp int) int64 {
	heads := max(1, m.KVHeads/tp)
	return 2 * int64(m.Layers) * int64(heads) * int64(m.HeadDim) * int64(m.KVBytes)
}

// CheckTP reports why the model cannot be split over tp ranks, as vLLM does.
func (m *Model) CheckTP(tp int) error {
	switch {
	case tp < 1:
		return fmt.Errorf("tensor parallel degree is %d: need at least 1", tp)
	case m.Heads%tp != 0:
		return fmt.Errorf("tensor parallel degree %d does not divide the %d heads of %s", tp, m.Heads, m.Name)
	case m.KVHeads%tp != 0 && tp%m.KVHeads != 0:
		return fmt.Errorf("tensor parallel degree %d and the %d KV heads of %s: need one to divide the other", tp, m.KVHeads, m.Name)
	}
	return nil
}
