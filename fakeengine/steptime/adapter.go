package steptime

// AdapterCost is what LoRA adapters cost an engine, in picoseconds.
type AdapterCost struct {
	// Fetch is the time from an adapter's file to host memory, Load that from there
	// to the GPU.
	Fetch, Load int64
	// Step is what a step with adapters takes longer, Each what every adapter in it
	// adds, and Token every token of a sequence that has one.
	Step, Each, Token int64
}

// adapterKernels is the number of kernels that adapters add to a layer: one that
// shrinks to the rank and one that expands again for each of the fused matrices of
// vLLM (query-key-value, attention output, gate-up, down).
const adapterKernels = 8

// kernelLaunch is the seconds between the starts of two short kernels in a CUDA graph:
// a guess.
const kernelLaunch = 2e-6

// Adapter is the cost of adapters of the given rank:
//
//	fetch  bytes / file rate
//	load   bytes of one GPU / host link
//	step   layers * 8 kernels * launch of an element-wise kernel
//	each   bytes of one GPU / (eb*BW)
//	token  2 * weights of one GPU / (mfu*F)
//
// Each of them is the least that the work can take: a load is one copy, where
// vLLM makes a few hundred, and a kernel is a launch. Nothing here was compared
// with a measurement, but the sum is of the size of what is reported: Punica (Chen
// and others, 2023) adds about 2 ms to a token, and vLLM lost 8 to 24 % of its
// throughput to adapters on a TPU (its pull request 15655). Products of adapters
// are at 16 bits whatever the model's weights are stored as.
func (a *Analytic) Adapter(rank int) AdapterCost {
	file, part := float64(a.model.AdapterBytes(rank, 1)), float64(a.model.AdapterBytes(rank, a.tp))
	g := &a.gpu
	return AdapterCost{
		Fetch: ps(file / g.AdapterFile.Value),
		Load:  ps(part / g.HostLink.Value),
		Step:  ps(float64(a.model.Layers) * adapterKernels * kernelLaunch),
		Each:  ps(part / (g.WeightBandwidth.Value * g.HBM.Value)),
		Token: ps(2 * float64(a.model.AdapterWeights(rank, a.tp)) / (g.MatmulRate.Value * g.Peak.Value)),
	}
}

// Copy is the time in picoseconds in which n KV blocks of the given size in tokens
// cross the links between the GPUs of an engine and their host, one way. Every GPU
// copies its own part over its own link.
func (a *Analytic) Copy(n, blockSize int) int64 {
	return ps(float64(n) * float64(a.model.KVBytesPerToken(a.tp)*int64(blockSize)) / a.gpu.HostLink.Value)
}
