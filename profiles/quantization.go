package profiles

import (
	"fmt"
	"slices"
	"strings"
)

// Quantization is how a checkpoint stores the weights of its matrices. The names
// are those of vLLM's --quantization. Embeddings, output head, router and norms
// stay at 16 bits under all of them.
type Quantization string

// The quantizations. FP8 multiplies in FP8 where the GPU can; the others, and FP8
// elsewhere, are unpacked and multiplied at 16 bits ("weight-only").
const (
	Unquantized Quantization = "none"  // bf16 or fp16
	FP8         Quantization = "fp8"   // 8-bit floats
	AWQ         Quantization = "awq"   // 4-bit integers in groups of 128
	GPTQ        Quantization = "gptq"  // the same, chosen otherwise
	MXFP4       Quantization = "mxfp4" // 4-bit floats in groups of 32; experts only
)

// Quantizations lists the names, in the order of the constants.
func Quantizations() []Quantization { return []Quantization{Unquantized, FP8, AWQ, GPTQ, MXFP4} }

// text is for people, where "none" would be read as no weights.
func (q Quantization) text() string {
	if q == Unquantized {
		return "16-bit"
	}
	return string(q)
}

// bytes is the size of a quantized weight with its share of the group's scale
// (and, for integers, zero point).
func (q Quantization) bytes() float64 {
	switch q {
	case FP8:
		return 1
	case AWQ, GPTQ:
		return (4 + (16+4)/128.0) / 8
	case MXFP4:
		return (4 + 8/32.0) / 8
	}
	return plainBytes
}

// plainBytes is the size of an element at 16 bits.
const plainBytes = 2

// KVCacheDType is the element type of the KV cache, as vLLM's --kv-cache-dtype
// names it.
type KVCacheDType string

// The KV cache types.
const (
	KVBFloat16 KVCacheDType = "bfloat16"
	KVFP8      KVCacheDType = "fp8"
)

// KVCacheDTypes lists the names.
func KVCacheDTypes() []KVCacheDType { return []KVCacheDType{KVBFloat16, KVFP8} }

func (k KVCacheDType) bytes() int64 {
	if k == KVFP8 {
		return 1
	}
	return plainBytes
}

// Stored returns the model with its weights and its KV cache stored otherwise.
// An empty quantization, and an empty KV type or "auto", mean the checkpoint's
// own.
func (m Model) Stored(quantization, kvCacheDType string) (Model, error) {
	if quantization != "" {
		m.Quantization = Quantization(quantization)
	}
	if kvCacheDType != "" && kvCacheDType != "auto" {
		m.KVCacheDType = KVCacheDType(kvCacheDType)
	}
	return m, m.checkStorage()
}

func (m *Model) checkStorage() error {
	if !slices.Contains(Quantizations(), m.Quantization) {
		return fmt.Errorf("quantization %q is unknown: use one of %s", m.Quantization, list(Quantizations()))
	}
	if !slices.Contains(KVCacheDTypes(), m.KVCacheDType) {
		return fmt.Errorf("kv_cache_dtype %q is unknown: use one of %s", m.KVCacheDType, list(KVCacheDTypes()))
	}
	if m.Quantization == MXFP4 && m.Experts == 0 {
		return fmt.Errorf("quantization mxfp4 packs experts, and %s has none: use %s", m.Name, list([]Quantization{Unquantized, FP8, AWQ, GPTQ}))
	}
	return nil
}

func list[T ~string](names []T) string {
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}
	return strings.Join(out, ", ")
}
