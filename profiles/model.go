package profiles

import (
	"errors"
	"fmt"
	"math"
)

// Model is the shape of a transformer, dense or a mixture of experts. The shape
// is exact, so one source covers all of it.
type Model struct {
	Name   string `yaml:"name"`
	Title  string `yaml:"title"`
	Source string `yaml:"source"`
	Date   string `yaml:"date"`
	Note   string `yaml:"note,omitempty"`
	// Aliases are other checkpoints of the same shape.
	Aliases []string `yaml:"aliases,omitempty"`

	Layers  int `yaml:"layers"`
	Hidden  int `yaml:"hidden"`
	Heads   int `yaml:"heads"`
	KVHeads int `yaml:"kv_heads"`
	HeadDim int `yaml:"head_dim"`
	// Intermediate is the width of the MLP that every token goes through: the
	// dense one, or a shared expert beside the others. 0: there is none.
	Intermediate int  `yaml:"intermediate"`
	GatedMLP     bool `yaml:"gated_mlp"`
	// Experts is the number of routed experts in each layer, ExpertsPerToken how
	// many of them a token goes through, ExpertIntermediate their width. All 0:
	// the model is dense.
	Experts            int `yaml:"experts,omitempty"`
	ExpertsPerToken    int `yaml:"experts_per_token,omitempty"`
	ExpertIntermediate int `yaml:"expert_intermediate,omitempty"`
	// SlidingLayers of the Layers attend to the last SlidingWindow tokens alone.
	SlidingLayers int `yaml:"sliding_layers,omitempty"`
	SlidingWindow int `yaml:"sliding_window,omitempty"`
	Vocab         int `yaml:"vocab"`
	// TiedEmbeddings: the output head is the input embedding.
	TiedEmbeddings bool         `yaml:"tied_embeddings"`
	Quantization   Quantization `yaml:"quantization"`
	KVCacheDType   KVCacheDType `yaml:"kv_cache_dtype"`
	// PlainAttention: quantized checkpoints keep the attention's weights at 16 bits.
	PlainAttention bool `yaml:"plain_attention,omitempty"`
	// OtherWeights is the number of weights that text does not go through, such as a
	// vision tower's. They take memory at 16 bits. 0: none.
	OtherWeights int64 `yaml:"other_weights,omitempty"`
	// OtherMemory is what each GPU holds for this model beside weights, KV cache and
	// what the GPU's profile reserves: the inputs that are tried out at the start,
	// workspaces of experts. The zero value is none.
	OtherMemory Coefficient `yaml:"other_memory,omitempty"`
	// MaxLen is the context length in tokens.
	MaxLen int `yaml:"max_len"`
}

// extent is a whole number of a profile and the values that it can take.
type extent struct {
	name          string
	value, lo, hi int // beyond hi a typing error is likelier, and products overflow
}

func (m *Model) extents() []extent {
	out := []extent{
		{"layers", m.Layers, 1, 1e4},
		{"hidden", m.Hidden, 1, 1e6},
		{"heads", m.Heads, 1, 1e4},
		{"kv_heads", m.KVHeads, 1, 1e4},
		{"head_dim", m.HeadDim, 1, 1e4},
		{"experts", m.Experts, 0, 1e4},
		{"sliding_layers", m.SlidingLayers, 0, max(0, m.Layers-1)},
		{"vocab", m.Vocab, 1, 1e8},
		{"max_len", m.MaxLen, 1, 1e9},
	}
	if m.Experts > 0 {
		out = append(out,
			extent{"intermediate", m.Intermediate, 0, 1e6},
			extent{"experts_per_token", m.ExpertsPerToken, 1, m.Experts},
			extent{"expert_intermediate", m.ExpertIntermediate, 1, 1e6})
	} else {
		out = append(out,
			extent{"intermediate", m.Intermediate, 1, 1e6},
			extent{"experts_per_token", m.ExpertsPerToken, 0, 0},
			extent{"expert_intermediate", m.ExpertIntermediate, 0, 0})
	}
	if m.SlidingLayers > 0 {
		return append(out, extent{"sliding_window", m.SlidingWindow, 1, 1e6})
	}
	return append(out, extent{"sliding_window", m.SlidingWindow, 0, 0})
}

func (m *Model) validate() error {
	var errs []error
	for _, f := range m.extents() {
		switch {
		case f.value == 0 && f.lo > 0:
			errs = append(errs, fmt.Errorf("%s is missing", f.name))
		case f.value < f.lo || f.value > f.hi:
			errs = append(errs, fmt.Errorf("%s is %d: need %d to %d", f.name, f.value, f.lo, f.hi))
		}
	}
	if m.Source == "" {
		errs = append(errs, errors.New("source is missing"))
	}
	if m.Date == "" {
		errs = append(errs, errors.New("date is missing"))
	}
	if m.OtherWeights < 0 || m.OtherWeights > 1e12 {
		errs = append(errs, fmt.Errorf("other_weights is %d: need 0 to 1e12", m.OtherWeights))
	}
	if m.OtherMemory != (Coefficient{}) {
		errs = append(errs, m.OtherMemory.check("other_memory", cost, "B"))
	}
	if m.KVHeads > 0 && m.Heads%m.KVHeads != 0 {
		errs = append(errs, fmt.Errorf("heads is %d: need a multiple of kv_heads, %d", m.Heads, m.KVHeads))
	}
	return errors.Join(append(errs, m.checkStorage())...)
}

// sharedWeights is the number of quantizable weights of a layer that every token
// goes through: attention and the dense or shared MLP.
func (m *Model) sharedWeights() int64 {
	return m.attentionWeights() + m.mlp(m.Intermediate)
}

func (m *Model) attentionWeights() int64 {
	return int64(m.Hidden) * int64(m.HeadDim) * int64(2*m.Heads+2*m.KVHeads)
}

// expertWeights is the number of weights of one expert of a layer.
func (m *Model) expertWeights() int64 { return m.mlp(m.ExpertIntermediate) }

func (m *Model) mlp(width int) int64 {
	matrices := int64(2)
	if m.GatedMLP {
		matrices = 3
	}
	return matrices * int64(m.Hidden) * int64(width)
}

// routerWeights is the number of weights that choose the experts of a layer.
func (m *Model) routerWeights() int64 { return int64(m.Hidden) * int64(m.Experts) }

// LayerWeights is the number of weights in the matrices of one layer.
func (m *Model) LayerWeights() int64 {
	return m.sharedWeights() + m.routerWeights() + int64(m.Experts)*m.expertWeights()
}

// ActiveLayerWeights is the number of weights of one layer that a token is
// multiplied with.
func (m *Model) ActiveLayerWeights() int64 {
	return m.sharedWeights() + m.routerWeights() + int64(m.ExpertsPerToken)*m.expertWeights()
}

// HeadWeights is the number of weights of the output head.
func (m *Model) HeadWeights() int64 { return int64(m.Vocab) * int64(m.Hidden) }

// Weights is the number of all weights: layers, head, embedding and norms.
func (m *Model) Weights() int64 { return m.count(m.LayerWeights()) }

// ActiveWeights is Weights without the experts that a token does not go through.
func (m *Model) ActiveWeights() int64 { return m.count(m.ActiveLayerWeights()) }

func (m *Model) count(layer int64) int64 {
	return int64(m.Layers)*layer + m.plainWeights()
}

// plainWeights is the number of weights outside the layers' matrices, which no
// quantization touches.
func (m *Model) plainWeights() int64 {
	n := int64(m.Layers)*2*int64(m.Hidden) + int64(m.Hidden) + m.HeadWeights()
	if !m.TiedEmbeddings {
		n += m.HeadWeights()
	}
	return n
}

// DistinctExperts is the expected number of experts of a layer that at least one
// of the tokens goes through, when each token picks its own at random:
// N(1-(1-k/N)^tokens).
func (m *Model) DistinctExperts(tokens int) float64 {
	if m.Experts == 0 {
		return 0
	}
	n := float64(m.Experts)
	return n * (1 - math.Pow(1-float64(m.ExpertsPerToken)/n, float64(tokens)))
}

// LayerBytes is the number of bytes that the matrices of one layer are read as
// when they are multiplied with so many tokens: all of the shared ones, and the
// experts that some token needs.
func (m *Model) LayerBytes(tokens int) float64 { return m.layerBytes(m.DistinctExperts(tokens)) }

func (m *Model) layerBytes(experts float64) float64 {
	q := m.Quantization.bytes()
	shared := q
	if m.Quantization == MXFP4 {
		shared = plainBytes
	}
	attention := shared
	if m.PlainAttention {
		attention = plainBytes
	}
	return float64(m.attentionWeights())*attention + float64(m.mlp(m.Intermediate))*shared + float64(m.routerWeights())*plainBytes + experts*float64(m.expertWeights())*q
}

// ExpertBytes is the part of LayerBytes that routed experts take, and
// ActiveExpertWeights the part of ActiveLayerWeights.
func (m *Model) ExpertBytes(tokens int) float64 {
	return m.DistinctExperts(tokens) * float64(m.expertWeights()) * m.Quantization.bytes()
}

// ActiveExpertWeights is the number of weights of one layer's routed experts that a
// token is multiplied with.
func (m *Model) ActiveExpertWeights() int64 {
	return int64(m.ExpertsPerToken) * m.expertWeights()
}

// HeadBytes is the size of the output head.
func (m *Model) HeadBytes() float64 { return float64(m.HeadWeights()) * plainBytes }

// WeightBytes is the size of all weights.
func (m *Model) WeightBytes() float64 {
	return float64(m.Layers)*m.layerBytes(float64(m.Experts)) + float64(m.plainWeights()+m.OtherWeights)*plainBytes
}

// ActivationBytes is the size of one token's hidden state.
func (m *Model) ActivationBytes() float64 { return float64(m.Hidden) * plainBytes }

// FullLayers is the number of layers that attend to the whole context.
func (m *Model) FullLayers() int { return m.Layers - m.SlidingLayers }

// KVBytesPerToken is the KV cache that each token of context takes for good, of
// one of tp ranks: that of the layers that attend to the whole context. KV heads
// are copied when there are fewer of them than ranks.
func (m *Model) KVBytesPerToken(tp int) int64 {
	return int64(m.FullLayers()) * m.layerKV(tp)
}

// AdapterWeights is the number of weights of a LoRA adapter of the given rank that
// one of tp ranks holds: for each adapted matrix one of rank x inputs, A, and one
// of outputs x rank, B. Adapted are the matrices that every token goes through:
// attention, and the dense or shared MLP; not the experts, the head or the
// embedding. As vLLM shards them by default: of matrices cut by output (query,
// key, value, gate, up) A is whole on every rank, and of those cut by input
// (attention output, down) B is.
func (m *Model) AdapterWeights(rank, tp int) int64 {
	hidden, heads, wide := int64(m.Hidden), int64(m.Heads*m.HeadDim), int64(m.Intermediate)
	kv := int64(max(1, m.KVHeads/tp) * m.HeadDim)
	n := int64(tp)
	layer := 3*hidden + heads/n + 2*kv // query, key, value
	layer += heads/n + hidden          // attention output
	if wide > 0 {
		up := int64(1)
		if m.GatedMLP {
			up = 2
		}
		layer += up*(hidden+wide/n) + wide/n + hidden
	}
	return int64(m.Layers) * int64(rank) * layer
}

// AdapterBytes is AdapterWeights in bytes: vLLM holds adapters at 16 bits.
func (m *Model) AdapterBytes(rank, tp int) int64 { return 2 * m.AdapterWeights(rank, tp) }

// WindowBytes is the KV cache of a full window in all sliding layers, of one
// sequence and one of tp ranks.
func (m *Model) WindowBytes(tp int) int64 {
	return int64(m.SlidingLayers) * int64(m.SlidingWindow) * m.layerKV(tp)
}

func (m *Model) layerKV(tp int) int64 {
	heads := max(1, m.KVHeads/tp)
	return 2 * int64(heads) * int64(m.HeadDim) * m.KVCacheDType.bytes()
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
