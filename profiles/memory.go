package profiles

import (
	"fmt"
	"math"
)

// KVBlocks derives the number of KV blocks of an engine, the null block
// included, as vLLM does: the engine's share of the memory, less weights and
// less what the two profiles reserve for everything else, cut into blocks of
// blockSize tokens. All of it per GPU of a group of tp.
//
// A count that a real engine has logged is better: near saturation latencies
// follow the block count more closely than any other setting.
//
// Models beside it, such as a drafter, keep KV of the same tokens in the same
// blocks.
//
// Of layers with a sliding window nothing is counted: vLLM frees what has left
// the window, so they take a few blocks per sequence, whatever its length.
func KVBlocks(gpu GPU, model Model, tp int, utilization float64, blockSize int, beside ...Model) (int, error) {
	if err := model.CheckTP(tp); err != nil {
		return 0, err
	}
	if !(utilization > 0 && utilization <= 1) {
		return 0, fmt.Errorf("memory utilization is %v: need a share, 0 < u <= 1", utilization)
	}
	if blockSize < 1 {
		return 0, fmt.Errorf("block size is %d tokens: need at least 1", blockSize)
	}
	weights, perToken := model.WeightBytes()/float64(tp), model.KVBytesPerToken(tp)
	for _, m := range beside {
		if err := m.CheckTP(tp); err != nil {
			return 0, err
		}
		weights += m.WeightBytes() / float64(tp)
		perToken += m.KVBytesPerToken(tp)
	}
	left := gpu.Memory.Value*utilization - weights - gpu.NonKV.Value - model.OtherMemory.Value
	blocks := math.Floor(left / float64(perToken*int64(blockSize)))
	if blocks < 2 {
		return 0, fmt.Errorf("%s on %d x %s: weights take %.1f GB of the %.1f GB that utilization %v allows on each, which leaves no room for KV blocks; use a higher tensor parallel degree, a quantization, or a higher utilization",
			model.Name, tp, gpu.Name, weights/1e9, gpu.Memory.Value*utilization/1e9, utilization)
	}
	return int(blocks), nil
}
