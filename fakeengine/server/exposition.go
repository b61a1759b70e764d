package server

import (
	"math"
	"strconv"
	"strings"

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
	engine  string  // value of the label
	created float64 // Unix seconds
	blocks  int
	stats   engine.Stats
	tally   tally
	nan     bool // a fault: every value reads NaN
	absent  bool // a fault: it is down

	speculated engine.Speculated
	// running and waiting are the adapters of requests, by number.
	running, waiting []uint16
}

// exposition writes metrics in the Prometheus text format 0.0.4.
type exposition struct {
	release   Release
	model     string // value of the label, escaped
	caching   bool   // prefixes are
	families  *[histograms]family
	blockSize int
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
	value            func(*snapshot) float64
}

// count is a scalar of the engine's.
func count(name, kind, help string, value func(*engine.Stats) float64) scalar {
	return scalar{name, kind, help, func(s *snapshot) float64 { return value(&s.stats) }}
}

func scalars(release Release) []scalar {
	type st = engine.Stats
	used := func(s *st) float64 { return s.KVUsed }
	queries := func(s *st) float64 { return float64(s.PrefixQueries) }
	hits := func(s *st) float64 { return float64(s.PrefixHits) }
	out := []scalar{
		count("vllm:num_requests_running", "gauge", "Requests in the running batch.", func(s *st) float64 { return float64(s.Running) }),
		count("vllm:num_requests_waiting", "gauge", "Requests that wait to be scheduled.", func(s *st) float64 { return float64(s.Waiting) }),
		count("vllm:kv_cache_usage_perc", "gauge", "Share of the KV cache blocks in use, 1 is all.", used),
		count("vllm:prefix_cache_queries_total", "counter", "Tokens looked up in the prefix cache.", queries),
		count("vllm:prefix_cache_hits_total", "counter", "Tokens found in the prefix cache.", hits),
		count("vllm:num_preemptions_total", "counter", "Preemptions.", func(s *st) float64 { return float64(s.Preemptions) }),
		count("vllm:prompt_tokens_total", "counter", "Prompt tokens of requests that gave a first token.", func(s *st) float64 { return float64(s.PromptTokens) }),
		count("vllm:generation_tokens_total", "counter", "Tokens generated.", func(s *st) float64 { return float64(s.GenerationTokens) }),
	}
	switch release {
	case V010:
		out = append(out,
			count("vllm:gpu_cache_usage_perc", "gauge", "Old name of vllm:kv_cache_usage_perc.", used),
			count("vllm:gpu_prefix_cache_queries_total", "counter", "Old name of vllm:prefix_cache_queries.", queries),
			count("vllm:gpu_prefix_cache_hits_total", "counter", "Old name of vllm:prefix_cache_hits.", hits))
	case V019:
		out = append(out,
			scalar{"vllm:prompt_tokens_cached_total", "counter", "Prompt tokens that were in a cache.", func(s *snapshot) float64 { return float64(s.tally.prompt.cached) }},
			scalar{"vllm:prompt_tokens_recomputed_total", "counter", "Prompt tokens computed although they were in a cache.", func(s *snapshot) float64 { return float64(s.tally.prompt.recomputed) }})
	}
	return out
}

// write renders all replicas; a family's lines are together, as the format asks.
func (x *exposition) write(replicas []snapshot) []byte {
	for _, m := range scalars(x.release) {
		x.scalar(&m, replicas)
	}
	x.speculation(replicas)
	x.sources(replicas)
	x.successes(replicas)
	x.cacheConfig(replicas)
	x.adapters(replicas)
	x.hostTier(replicas)
	for f, fam := range x.families {
		if fam.name == "" {
			continue
		}
		x.family(fam.name, "histogram", fam.help)
		for i := range replicas {
			x.histogram(&fam, &replicas[i], &replicas[i].tally.hist[f])
		}
		x.created(fam.name, fam.help, replicas)
	}
	return x.out
}

func (x *exposition) family(name, kind, help string) {
	x.add("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n")
}

func (x *exposition) scalar(m *scalar, replicas []snapshot) {
	x.family(m.name, m.kind, m.help)
	for i := range replicas {
		x.sample(m.name, &replicas[i], m.value(&replicas[i]))
	}
	if m.kind == "counter" {
		x.created(m.name, m.help, replicas)
	}
}

// created writes since when a counter or histogram counts. prometheus_client, which
// vLLM uses, has a gauge for it, of a name without the _total of a counter, for each
// series: those that a label tells apart have it, and then its values, in label.
func (x *exposition) created(name, help string, replicas []snapshot, label ...string) {
	if name != x.families[histIteration].name { // whose _total is its own
		name = strings.TrimSuffix(name, "_total")
	}
	name += "_created"
	x.family(name, "gauge", help)
	for i := range replicas {
		r := &replicas[i]
		if len(label) == 0 {
			x.sample(name, r, r.created)
		}
		for _, value := range label[min(1, len(label)):] {
			x.sample(name, r, r.created, label[0], value)
		}
	}
}

func (x *exposition) sample(name string, from *snapshot, v float64, labels ...string) {
	x.bare(name, from, v, append([]string{"model_name", x.model, "engine", from.engine}, labels...)...)
}

// bare writes a sample with these labels only.
func (x *exposition) bare(name string, from *snapshot, v float64, labels ...string) {
	x.add(name)
	sep := "{"
	for i := 0; i < len(labels); i += 2 {
		x.add(sep, labels[i], `="`, labels[i+1], `"`)
		sep = ","
	}
	x.add("} ")
	if from.nan {
		v = math.NaN()
	}
	x.number(v)
	x.add("\n")
}

// sources writes where prompt tokens came from.
func (x *exposition) sources(replicas []snapshot) {
	if x.release != V019 {
		return
	}
	const name, help, label = "vllm:prompt_tokens_by_source_total", "Prompt tokens, by where their KV came from.", "source"
	const computed, local, external = "local_compute", "local_cache_hit", "external_kv_transfer"
	x.family(name, "counter", help)
	for i := range replicas {
		r := &replicas[i]
		p := &r.tally.prompt
		x.sample(name, r, float64(p.computed), label, computed)
		x.sample(name, r, float64(p.local), label, local)
		x.sample(name, r, float64(p.external), label, external)
	}
	x.created(name, help, replicas, label, computed, local, external)
}

func (x *exposition) successes(replicas []snapshot) {
	const name, help, label = "vllm:request_success_total", "Requests that ended, by reason.", "finished_reason"
	x.family(name, "counter", help)
	never := x.release.never()
	for i := range replicas {
		for f, n := range replicas[i].tally.finished {
			x.sample(name, &replicas[i], float64(n), label, finishName(engine.Finish(f)))
		}
		for _, reason := range never {
			x.sample(name, &replicas[i], 0, label, reason)
		}
	}
	all := []string{label}
	for f := range finishes {
		all = append(all, finishName(engine.Finish(f)))
	}
	x.created(name, help, replicas, append(all, never...)...)
}

// cacheConfig writes those of vLLM's settings that there are here. They have no
// model_name in vLLM.
func (x *exposition) cacheConfig(replicas []snapshot) {
	const name = "vllm:cache_config_info"
	x.family(name, "gauge", "Settings of the KV cache, as labels.")
	caching := "False" // as Python writes it
	if x.caching {
		caching = "True"
	}
	for i := range replicas {
		r := &replicas[i]
		x.bare(name, r, 1, "block_size", strconv.Itoa(x.blockSize), "enable_prefix_caching", caching,
			"num_gpu_blocks", strconv.Itoa(r.blocks), "engine", r.engine)
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
		count("vllm:external_prefix_cache_queries_total", "counter", "Tokens looked up in host memory, because the GPU did not have them.", func(s *st) float64 { return float64(s.HostQueries) }),
		count("vllm:external_prefix_cache_hits_total", "counter", "Tokens found in host memory.", func(s *st) float64 { return float64(s.HostHits) }),
		count("vllm:kv_offload_load_bytes_total", "counter", "Bytes loaded from host memory.", func(s *st) float64 { return size * float64(s.HostLoads) }),
		count("vllm:kv_offload_load_time_total", "counter", "Seconds of loading.", func(s *st) float64 { return float64(s.HostLoadPS) / 1e12 }),
		count("vllm:kv_offload_store_bytes_total", "counter", "Bytes stored in host memory.", func(s *st) float64 { return size * float64(s.HostStores) }),
		count("vllm:kv_offload_store_time_total", "counter", "Seconds of storing.", func(s *st) float64 { return float64(s.HostStorePS) / 1e12 }),
		count("vllm:kv_offload_allocation_failure_total", "counter", "Blocks that found no room in host memory.", func(s *st) float64 { return float64(s.HostFailures) }),
	} {
		x.scalar(&m, replicas)
	}
}

// adapters writes which adapters requests have, as labels; the value is the time.
// vLLM has no other labels there, and one server an engine; several on one port need
// the label to be told apart.
func (x *exposition) adapters(replicas []snapshot) {
	if x.maxLoras == 0 {
		return
	}
	const name = "vllm:lora_requests_info"
	x.family(name, "gauge", "LoRA adapters of running and waiting requests, as labels; the value is the time.")
	for i := range replicas {
		r := &replicas[i]
		labels := []string{
			"max_lora", strconv.Itoa(x.maxLoras),
			"waiting_lora_adapters", escapeLabel(x.names(r.waiting)), "running_lora_adapters", escapeLabel(x.names(r.running)),
		}
		if len(replicas) > 1 {
			labels = append(labels, "engine", r.engine)
		}
		x.bare(name, r, float64(x.now), labels...)
	}
}

func (x *exposition) histogram(f *family, from *snapshot, h *histogram) {
	var total uint64
	for i, bound := range f.bounds {
		total += h.counts[i]
		x.sample(f.name+"_bucket", from, float64(total), "le", boundText(bound))
	}
	total += h.counts[len(f.bounds)]
	x.sample(f.name+"_bucket", from, float64(total), "le", "+Inf")
	x.sample(f.name+"_sum", from, float64(h.sum)/f.per)
	x.sample(f.name+"_count", from, float64(total))
}

// boundText is a bound as Python writes it, so that the label is the same text: 1.0
// and not 1.
func boundText(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func (x *exposition) add(parts ...string) {
	for _, p := range parts {
		x.out = append(x.out, p...)
	}
}

func (x *exposition) number(v float64) {
	x.out = strconv.AppendFloat(x.out, v, 'g', -1, 64)
}
