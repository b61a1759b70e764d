package server

import (
	"math"
	"strconv"

	"goodput/fakeengine/engine"
)

// finishes is the number of reasons for which a request can end.
const finishes = int(engine.Aborted) + 1

// finishName is a reason as the wire, the metrics and the truth log call it.
func finishName(f engine.Finish) string {
	switch f {
	case engine.Length:
		return "length"
	case engine.Stop:
		return "stop"
	}
	return "abort"
}

// contentType of the Prometheus text format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// snapshot is the state of one replica at an instant of the loop.
type snapshot struct {
	engine    string // value of the label
	stats     engine.Stats
	latencies latencies
	nan       bool // a fault: every value reads NaN
	absent    bool // a fault: it is down

	speculated engine.Speculated
	// running and waiting are the adapters of requests, by number.
	running, waiting []uint16
}

// exposition writes metrics in the Prometheus text format 0.0.4.
type exposition struct {
	model     string // value of the label, escaped
	blockSize int
	blocks    int
	drafts    int   // for each step; 0: no speculation
	maxLoras  int   // 0: adapters have no places, and no metric
	now       int64 // Unix seconds
	names     func(adapters []uint16) string
	// offload: there is a tier of KV blocks in host memory. blockBytes is their size.
	offload    bool
	blockBytes int64
	out        []byte
}

// scalar is a metric of one number.
type scalar struct {
	name, kind, help string
	value            func(*engine.Stats) float64
}

func scalars() []scalar {
	type st = engine.Stats
	return []scalar{
		{"vllm:num_requests_running", "gauge", "Requests in the running batch.", func(s *st) float64 { return float64(s.Running) }},
		{"vllm:num_requests_waiting", "gauge", "Requests that wait to be scheduled.", func(s *st) float64 { return float64(s.Waiting) }},
		{"vllm:kv_cache_usage_perc", "gauge", "Share of the KV cache blocks in use, 1 is all.", func(s *st) float64 { return s.KVUsed }},
		{"vllm:prefix_cache_queries_total", "counter", "Tokens looked up in the prefix cache.", func(s *st) float64 { return float64(s.PrefixQueries) }},
		{"vllm:prefix_cache_hits_total", "counter", "Tokens found in the prefix cache.", func(s *st) float64 { return float64(s.PrefixHits) }},
		{"vllm:num_preemptions_total", "counter", "Preemptions.", func(s *st) float64 { return float64(s.Preemptions) }},
		{"vllm:prompt_tokens_total", "counter", "Prompt tokens of requests that gave a first token.", func(s *st) float64 { return float64(s.PromptTokens) }},
		{"vllm:generation_tokens_total", "counter", "Tokens generated.", func(s *st) float64 { return float64(s.GenerationTokens) }},
	}
}

// write renders all replicas; a family's lines are together, as the format asks.
func (x *exposition) write(replicas []snapshot) []byte {
	for _, m := range scalars() {
		x.family(m.name, m.kind, m.help)
		for i := range replicas {
			x.sample(m.name, &replicas[i], m.value(&replicas[i].stats))
		}
	}
	x.speculation(replicas)
	x.successes(replicas)
	x.cacheConfig(replicas)
	x.adapters(replicas)
	x.hostTier(replicas)
	for f, fam := range families() {
		x.family(fam.name, "histogram", fam.help)
		for i := range replicas {
			x.histogram(&fam, &replicas[i], &replicas[i].latencies.hist[f])
		}
	}
	return x.out
}

func (x *exposition) family(name, kind, help string) {
	x.add("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n")
}

func (x *exposition) sample(name string, from *snapshot, v float64, labels ...string) {
	x.add(name, `{model_name="`, x.model, `",engine="`, from.engine, `"`)
	for i := 0; i < len(labels); i += 2 {
		x.add(",", labels[i], `="`, labels[i+1], `"`)
	}
	x.add("} ")
	if from.nan {
		v = math.NaN()
	}
	x.number(v)
	x.add("\n")
}

func (x *exposition) successes(replicas []snapshot) {
	const name = "vllm:request_success_total"
	x.family(name, "counter", "Requests that ended, by reason.")
	for i := range replicas {
		for f, n := range replicas[i].latencies.finished {
			x.sample(name, &replicas[i], float64(n), "finished_reason", finishName(engine.Finish(f)))
		}
	}
}

func (x *exposition) cacheConfig(replicas []snapshot) {
	const name = "vllm:cache_config_info"
	x.family(name, "gauge", "Settings of the KV cache, as labels.")
	for i := range replicas {
		x.sample(name, &replicas[i], 1,
			"block_size", strconv.Itoa(x.blockSize), "num_gpu_blocks", strconv.Itoa(x.blocks))
	}
}

// hostTier writes what passes between GPU and host memory, under the names of
// vLLM's OffloadingConnector.
func (x *exposition) hostTier(replicas []snapshot) {
	if !x.offload {
		return
	}
	size := float64(x.blockBytes)
	type st = engine.Stats
	for _, m := range []scalar{
		{"vllm:external_prefix_cache_queries_total", "counter", "Tokens looked up in host memory, because the GPU did not have them.", func(s *st) float64 { return float64(s.HostQueries) }},
		{"vllm:external_prefix_cache_hits_total", "counter", "Tokens found in host memory.", func(s *st) float64 { return float64(s.HostHits) }},
		{"vllm:kv_offload_load_bytes_total", "counter", "Bytes loaded from host memory.", func(s *st) float64 { return size * float64(s.HostLoads) }},
		{"vllm:kv_offload_load_time_total", "counter", "Seconds of loading.", func(s *st) float64 { return float64(s.HostLoadPS) / 1e12 }},
		{"vllm:kv_offload_store_bytes_total", "counter", "Bytes stored in host memory.", func(s *st) float64 { return size * float64(s.HostStores) }},
		{"vllm:kv_offload_store_time_total", "counter", "Seconds of storing.", func(s *st) float64 { return float64(s.HostStorePS) / 1e12 }},
		{"vllm:kv_offload_allocation_failure_total", "counter", "Blocks that found no room in host memory.", func(s *st) float64 { return float64(s.HostFailures) }},
	} {
		x.family(m.name, m.kind, m.help)
		for i := range replicas {
			x.sample(m.name, &replicas[i], m.value(&replicas[i].stats))
		}
	}
}

// adapters writes which adapters requests have, as labels; the value is the time.
func (x *exposition) adapters(replicas []snapshot) {
	if x.maxLoras == 0 {
		return
	}
	const name = "vllm:lora_requests_info"
	x.family(name, "gauge", "LoRA adapters of running and waiting requests, as labels; the value is the time.")
	for i := range replicas {
		r := &replicas[i]
		x.sample(name, r, float64(x.now), "max_lora", strconv.Itoa(x.maxLoras),
			"waiting_lora_adapters", escapeLabel(x.names(r.waiting)), "running_lora_adapters", escapeLabel(x.names(r.running)))
	}
}

func (x *exposition) histogram(f *family, from *snapshot, h *histogram) {
	var total uint64
	for i, bound := range f.bounds {
		total += h.counts[i]
		x.sample(f.name+"_bucket", from, float64(total), "le", strconv.FormatFloat(bound, 'g', -1, 64))
	}
	total += h.counts[len(f.bounds)]
	x.sample(f.name+"_bucket", from, float64(total), "le", "+Inf")
	x.sample(f.name+"_sum", from, h.sum.Seconds())
	x.sample(f.name+"_count", from, float64(total))
}

func (x *exposition) add(parts ...string) {
	for _, p := range parts {
		x.out = append(x.out, p...)
	}
}

func (x *exposition) number(v float64) {
	x.out = strconv.AppendFloat(x.out, v, 'g', -1, 64)
}
