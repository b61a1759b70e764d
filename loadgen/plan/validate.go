package plan

import (
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate checks everything that can be known without opening a file or a
// connection. It reports all faults at once, one line each, by flag name.
func (p *Plan) Validate() error {
	v := &checker{}
	p.checkTarget(v)
	p.checkExport(v)
	p.checkNull(v)
	p.checkPool(v)
	p.checkClient(v)
	p.checkResult(v)
	p.checkShard(v)
	if p.Mixed() {
		p.checkClasses(v)
	} else {
		p.checkContent(v)
	}
	return errors.Join(v.errs...)
}

// checkContent checks when requests come and what they ask.
func (p *Plan) checkContent(v *checker) {
	p.checkLoad(v)
	p.checkWarmup(v)
	p.checkDataset(v)
	p.checkAdapters(v)
	p.checkAgent(v)
	v.within("priority", p.Priority, -1<<31, 1<<31-1)
	v.ok(p.Priority == 0 || !p.InPool() || p.EnginePolicy == "priority", "priority", "the engines serve requests as they come: give --engine.scheduling-policy priority, or leave it out")
}

// ValidatePool checks only what describes the fake engines.
func (p *Plan) ValidatePool() error {
	v := &checker{}
	p.checkPool(v)
	return errors.Join(v.errs...)
}

// mostProbes bounds the rate of probes.
const mostProbes = 1000

type checker struct{ errs []error }

func (v *checker) ok(good bool, flag, format string, args ...any) {
	if !good {
		v.errs = append(v.errs, fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...)))
	}
}

func (v *checker) within(flag string, n, lo, hi int) {
	v.ok(lo <= n && n <= hi, flag, "%d is outside %d to %d", n, lo, hi)
}

func (v *checker) oneOf(flag, got string, names ...string) {
	v.ok(slices.Contains(names, got), flag, "%q is unknown: use one of %s", got, strings.Join(names, ", "))
}

func (v *checker) span(flag string, d time.Duration) {
	v.ok(0 <= d && d <= DeadlineCap, flag, "%v is outside 0 to %v", d, DeadlineCap)
}

// address takes "" for none.
func (v *checker) address(flag, addr string) {
	if addr == "" {
		return
	}
	_, port, err := net.SplitHostPort(addr)
	n, perr := strconv.Atoi(port)
	v.ok(err == nil && perr == nil && n >= 0 && n < 1<<16, flag, "%q is not an address of the form 127.0.0.1:4317, or :4317 for this machine only", addr)
}

// collector takes "" for none.
func (v *checker) collector(flag, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	good := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	v.ok(good, flag, "%q is no URL of the form http://127.0.0.1:4317 (gRPC) or http://127.0.0.1:4318/v1/traces (HTTP)", redact(text))
	v.ok(!good || u.User == nil, flag, "a password in the URL would be recorded: set OTEL_EXPORTER_OTLP_HEADERS")
}

// checkExport is of what is told in OpenTelemetry's words.
func (p *Plan) checkExport(v *checker) {
	v.collector("otlp-export", p.OTLPExport)
	v.collector("otlp-tee", p.OTLPTee)
	v.ok(p.OTLPTee == "" || p.OTLPListen != "" || p.OTLPHTTPListen != "", "otlp-tee", "nothing comes that could be handed on: give --otlp-listen or --otlp-http-listen, too")
	v.oneOf("semconv", p.Semconv, "", "1.41", "genai-dev")
	v.ok(p.Semconv == "" || p.OTLPExport != "", "semconv", "it names what --otlp-export sends: give that, or leave this out")
}

func (p *Plan) checkTarget(v *checker) {
	v.oneOf("backend", p.Backend, "openai", "vllm", "openai-chat", "openai-responses", "openai-embeddings")
	v.ok(!p.ContinuousUsage || p.Backend != "openai-responses" && p.Backend != "openai-embeddings", "continuous-usage", "--backend %s has no such option", p.Backend)
	v.ok(!p.PromptTokenIDs || p.Remote(), "prompt-token-ids", "engines in this process take no text: leave it out, or give --base-url")
	v.ok(!p.PromptTokenIDs || p.Backend == "openai" || p.Backend == "vllm", "prompt-token-ids", "--backend %s takes text only: use openai or vllm", p.Backend)
	p.checkNoStream(v)
	v.ok(!p.IgnoreEOS || p.Backend != "openai-embeddings", "ignore-eos", "an embedding has no output tokens: leave it out")
	for _, h := range p.Header {
		name, value, found := strings.Cut(h, "=")
		good := found && validHeader(name)
		v.ok(good, "header", "write it as NAME=VALUE, with a valid header name (a recorded plan holds no values: give them again)")
		v.ok(!good || !strings.ContainsFunc(value, control), "header", "the value of %s holds a control character, such as a line break", name)
	}
	v.ok(p.MetricsInterval == 0 || p.MetricsInterval >= 100*time.Millisecond && p.MetricsInterval <= time.Hour, "metrics-interval", "%v is neither 0 nor from 100ms to 1h", p.MetricsInterval)
	if !p.Remote() {
		v.ok(len(p.MetricsURL) == 0, "metrics-url", "engines in this process are asked without it: leave it out or give --base-url")
		v.ok(p.MetricsKeyFile == "", "metrics-api-key-file", "engines in this process are asked without a key: leave it out or give --base-url")
		v.ok(!p.HTTP2, "http2", "the in-process pool speaks no HTTP: leave it out or give --base-url")
		v.ok(p.APIKeyFile == "", "api-key-file", "the in-process pool needs no key: leave it out or give --base-url")
		v.ok(p.OTLPListen == "", "otlp-listen", "engines in this process hand over their account without spans: leave it out or give --base-url")
		v.ok(p.OTLPHTTPListen == "", "otlp-http-listen", "engines in this process hand over their account without spans: leave it out or give --base-url")
		return
	}
	v.address("otlp-listen", p.OTLPListen)
	v.address("otlp-http-listen", p.OTLPHTTPListen)
	v.ok(!p.Insecure || p.CAFile == "", "ca-file", "--insecure trusts any certificate: leave out one of the two")
	v.ok(p.Speed.Virtual(), "speed", "a real server keeps its own time: leave --speed out, or leave --base-url out")
	v.ok(p.Endpoint == "" || strings.HasPrefix(p.Endpoint, "/"), "endpoint", "%q does not start with /", p.Endpoint)
	for _, text := range p.BaseURL {
		checkURL(v, text)
	}
	pages, err := p.MetricsPages()
	if v.ok(err == nil, "metrics-url", "%v", err); err == nil {
		v.ok(len(pages) == 0 || p.MetricsInterval > 0, "metrics-interval", "0 samples nothing, and --metrics-url says where: leave out one of the two")
	}
}

// checkNoStream refuses what needs the time of a token.
func (p *Plan) checkNoStream(v *checker) {
	if !p.NoStream {
		return
	}
	const why = "with --no-stream nothing is known of single tokens: leave one of the two out"
	v.ok(p.Remote(), "no-stream", "engines in this process send no text: leave it out, or give --base-url")
	v.ok(p.Backend != "openai-embeddings", "no-stream", "embeddings never come as a stream: leave it out")
	v.ok(!p.ContinuousUsage, "continuous-usage", why)
	v.ok(p.TTFTTimeout == 0, "ttft-timeout", why)
	v.ok(p.HedgeAfter == "", "hedge-after", why)
	v.ok(!strings.HasSuffix(p.CancelAfter, "tok"), "cancel-after", why)
}

// Remote reports whether the load goes to servers, and not to the in-process pool.
func (p *Plan) Remote() bool { return len(p.BaseURL) > 0 }

func checkURL(v *checker, text string) {
	if path, ok := strings.CutPrefix(text, "unix://"); ok {
		v.ok(strings.HasPrefix(path, "/"), "base-url", "%q: write a socket with its whole path, such as unix:///run/vllm.sock", text)
		return
	}
	u, err := url.Parse(text)
	good := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	v.ok(good, "base-url", "%q is no URL of the form http://host:port", redact(text))
	if good {
		v.ok(u.User == nil, "base-url", "a password in the URL would be recorded: use --header or --api-key-file")
		v.ok(u.RawQuery == "" && u.Fragment == "", "base-url", "leave out the query and the fragment")
	}
}

func (p *Plan) checkPool(v *checker) {
	v.within("replicas", p.Replicas, 1, 4096)
	p.checkGPUs(v)
	v.ok(p.Autoscale == "" || !p.Split() && p.EngineDP <= 1, "autoscale", "only replicas that work by themselves can be scaled: leave out --prefill-replicas, --decode-replicas and --engine.data-parallel-size")
	v.within("routers", p.Routers, 1, 256)
	v.ok(p.Scrape >= 0 && p.Scrape <= time.Hour, "scrape-interval", "%v is not from 0 to 1h", p.Scrape)
	v.ok(!p.ScrapeStagger || p.Scrape > 0 && p.Routers > 1, "scrape-stagger", "there is nothing to spread without --scrape-interval and more than one of --routers")
	v.oneOf("canary-by", p.CanaryBy, "", CanaryByRequest, CanaryBySession)
	v.ok((p.Canary == "") == (p.CanaryBy == ""), "canary", "--canary and --canary-by belong together: give both, or none")
	v.ok(p.Canary == "" || p.Routers == 1, "canary", "it is the second of two routers: leave --routers out")
	v.ok(p.CanaryBy != CanaryBySession || p.InSessions(), "canary-by", "the requests of %s belong to no sessions: use request, or --dataset-name agent", p.DatasetName)
	p.checkSplit(v)
	v.within("tp", p.TP, 1, 64)
	v.within("engine.max-num-seqs", p.EngineMaxNumSeqs, 1, 1<<16)
	v.within("engine.max-num-batched-tokens", p.EngineMaxNumBatchedTokens, 1, 1<<20)
	v.within("engine.max-model-len", p.EngineMaxModelLen, 0, 1<<24)
	v.within("engine.block-size", p.EngineBlockSize, 1, 4096)
	v.within("engine.num-gpu-blocks", p.EngineNumGPUBlocks, 0, 1<<28)
	v.within("engine.long-prefill-token-threshold", p.EngineLongPrefill, 0, 1<<20)
	v.ok(p.EngineNumGPUBlocks != 1, "engine.num-gpu-blocks", "one block is the reserved null block: at least 2 are needed")
	v.ok(p.EngineGPUMemory > 0 && p.EngineGPUMemory <= 1, "engine.gpu-memory-utilization", "%v is outside 0 (excluded) to 1", p.EngineGPUMemory)
	v.ok(p.EngineWatermark >= 0 && p.EngineWatermark < 1, "engine.watermark", "%v is outside 0 to 1 (excluded)", p.EngineWatermark)
	v.oneOf("engine.scheduling-policy", p.EnginePolicy, "fcfs", "priority")
	v.oneOf("engine.batching", p.EngineBatching, "continuous", "static")
	p.checkSpeculation(v)
	p.checkTable(v)
	v.ok(p.EngineStepJitter >= 0 && p.EngineStepJitter <= 1, "engine.step-jitter", "%v is outside 0 to 1: 0.05 varies steps by about 5 %%", p.EngineStepJitter)
	v.ok(p.EngineKVOffloading >= 0 && p.EngineKVOffloading <= 1<<20, "engine.kv-offloading-size", "%v GiB is outside 0 to %d", p.EngineKVOffloading, 1<<20)
	v.ok(p.EngineKVOffloading == 0 || p.EnginePrefixCaching, "engine.kv-offloading-size", "blocks in host memory are found as prefixes are: turn --engine.enable-prefix-caching on")
	v.within("engine.max-loras", p.EngineMaxLoras, 1, 1<<12)
	v.within("engine.max-lora-rank", p.EngineMaxLoraRank, 1, 1<<12)
	v.ok(p.EngineMaxCPULoras == 0 || p.EngineMaxLoras <= p.EngineMaxCPULoras && p.EngineMaxCPULoras <= MaxAdapters, "engine.max-cpu-loras",
		"%d is outside --engine.max-loras, %d, to %d: adapters on the GPU are in host memory too", p.EngineMaxCPULoras, p.EngineMaxLoras, MaxAdapters)
	v.ok(p.Speed >= 0 && p.Speed <= MaxSpeed, "speed", "%v is outside 0 to %v: for more, use max", p.Speed, MaxSpeed)
}

// checkSplit checks what describes prefill and decode replicas.
func (p *Plan) checkSplit(v *checker) {
	v.within("prefill-replicas", p.PrefillReplicas, 0, 4096)
	v.within("decode-replicas", p.DecodeReplicas, 0, 4096)
	v.within("max-local-prefill-length", p.MaxLocalPrefill, 0, 1<<24)
	v.ok(p.KVTransferBandwidth >= 0 && p.KVTransferBandwidth <= 1e6, "kv-transfer-bandwidth", "%v GB/s is outside 0 to 1e6", p.KVTransferBandwidth)
	v.ok(p.KVTransferBandwidth == 0 || p.KVTransferBandwidth >= 1e-6, "kv-transfer-bandwidth", "%v GB/s is less than a kilobyte a second", p.KVTransferBandwidth)
	v.ok(0 <= p.KVTransferLatency && p.KVTransferLatency <= time.Minute, "kv-transfer-latency", "%v is outside 0 to 1m", p.KVTransferLatency)
	v.ok(p.PrefillReplicas == 0 || p.DecodeReplicas > 0, "decode-replicas", "how many of them answer? --prefill-replicas alone make no answer")
	v.ok(p.DecodeReplicas == 0 || p.PrefillReplicas > 0, "prefill-replicas", "how many compute prompts? without any, --replicas says how many there are")
	if p.Split() {
		v.ok(p.Replicas == p.PrefillReplicas+p.DecodeReplicas, "replicas", "%d is not the sum of --prefill-replicas and --decode-replicas: leave it out", p.Replicas)
		return
	}
	for _, f := range []struct {
		flag string
		set  bool
	}{
		{"prefill-router", p.PrefillRouter != ""},
		{"max-local-prefill-length", p.MaxLocalPrefill > 0},
		{"kv-transfer-bandwidth", p.KVTransferBandwidth > 0},
		{"kv-transfer-latency", p.KVTransferLatency > 0},
	} {
		v.ok(!f.set, f.flag, "it is for prefill and decode replicas: give --prefill-replicas and --decode-replicas, or leave it out")
	}
}

// Chance is the seed of what is random in engines and routers.
func (p *Plan) Chance() uint64 {
	if p.PoolSeed != 0 {
		return p.PoolSeed
	}
	return p.Seed
}

// Split reports whether prompts are computed on replicas of their own.
func (p *Plan) Split() bool { return p.PrefillReplicas > 0 && p.DecodeReplicas > 0 }

func (p *Plan) checkLoad(v *checker) {
	p.checkArrivals(v)
	v.within("num-prompts", p.NumPrompts, 0, 1<<31-1)
	for _, d := range []struct {
		flag string
		d    time.Duration
	}{{"duration", p.Duration}, {"request-timeout", p.RequestTimeout}, {"ttft-timeout", p.TTFTTimeout}, {"drain", p.Drain}} {
		v.span(d.flag, d.d)
	}
	v.ok(p.ProbeRate >= 0 && p.ProbeRate <= mostProbes, "probe-request-rate", "%v is outside 0 to %d a second: probes are to be few beside the load", p.ProbeRate, mostProbes)
	v.ok(p.MaxErrorRate >= 0 && p.MaxErrorRate <= 1, "max-error-rate", "%v is outside 0 to 1", p.MaxErrorRate)
}

func (p *Plan) checkDataset(v *checker) {
	v.oneOf("dataset-name", p.DatasetName, append([]string{"prefix_repetition", "shared_prefix", "rag", "random", "agent"}, Traces()...)...)
	read := IsTrace(p.DatasetName)
	v.ok(!read || p.DatasetPath != "", "dataset-path", "which file? dataset %s is read from a trace", p.DatasetName)
	v.ok(read || p.DatasetPath == "", "dataset-path", "dataset %s is generated: it reads no file", p.DatasetName)
	v.ok(read || !p.SkipBadRows, "skip-bad-rows", "dataset %s is generated: it reads no file", p.DatasetName)
	p.checkReplay(v)
	p.checkPrefixes(v)
	const most = 1 << 24
	v.within("prefix-repetition-prefix-len", p.PrefixLen, 0, most)
	v.within("prefix-repetition-suffix-len", p.SuffixLen, 0, most)
	v.ok(p.PrefixLen+p.SuffixLen > 0, "prefix-repetition-suffix-len", "the prompt would be empty")
	v.within("prefix-repetition-num-prefixes", p.NumPrefixes, 1, most)
	v.within("prefix-repetition-output-len", p.PrefixOutput, 1, most)
	v.within("random-input-len", p.RandomInput, 1, most)
	v.within("random-output-len", p.RandomOutput, 1, most)
	v.within("random-prefix-len", p.RandomPrefix, 0, most)
	v.within("custom-output-len", p.CustomOut, 1, most)
	v.within("sharegpt-output-len", p.ShareGPTOut, 0, most)
	v.within("timed-trace-chunk-hash-size", p.TimedBlock, 1, most)
	v.ok(p.TimedUnit >= 1e-9 && p.TimedUnit <= 1e4, "timed-trace-sec-multiplier", "%v is outside 1e-9 to 1e4 seconds", p.TimedUnit)
	v.ok(p.RandomRange.valid(), "random-range-ratio", "%v is outside 0 (included) to 1 (excluded)", p.RandomRange)
}

// checkReplay checks how a trace is replayed.
func (p *Plan) checkReplay(v *checker) {
	read := IsTrace(p.DatasetName)
	const generated = "dataset %s is generated: it replays no trace"
	v.ok(read || p.TraceSlice == "", "trace-slice", generated, p.DatasetName)
	v.ok(read || p.TraceJitter == "", "trace-jitter", generated, p.DatasetName)
	v.ok(read || p.TraceSpeed == 1, "trace-speed", generated, p.DatasetName)
	v.ok(read || !p.TraceLoop, "trace-loop", generated, p.DatasetName)
	v.ok(p.TraceSpeed >= 1e-6 && p.TraceSpeed <= 1e6, "trace-speed", "%v is outside 1e-6 to 1e6: 2 replays a trace in half its time", p.TraceSpeed)
	v.ok(p.TraceSpeed == 1 || p.RequestRate == 0, "trace-speed", "--request-rate sets the speed already: give one of them")
	v.ok(!p.TraceLoop || p.NumPrompts > 0 || p.NumSessions > 0, "trace-loop", "how often? give --num-prompts, or --num-sessions")
	_, err := p.Jitter()
	v.ok(err == nil, "trace-jitter", "%v", err)
}

// Jitter is the most by which TraceJitter delays a row.
func (p *Plan) Jitter() (time.Duration, error) {
	if p.TraceJitter == "" {
		return 0, nil
	}
	text, ok := strings.CutPrefix(p.TraceJitter, "uniform:")
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d <= 0 || d > DeadlineCap {
		return 0, fmt.Errorf("%q is not uniform: and a duration above 0, such as uniform:3s", p.TraceJitter)
	}
	return d, nil
}

// Traces are the names of datasets that are read from a trace file. "trace" leaves
// the format to the file.
func Traces() []string {
	return append([]string{
		"trace", "azure", "mooncake", "timed_trace", "burstgpt", "weka", "tracelab", "ragpulse", "servegen", "otel", "vllm_replay", "goodput",
	}, untimed()...)
}

// untimed are the formats that hold no times.
func untimed() []string { return []string{"sharegpt", "openai-batch", "openai-chat", "custom"} }

// IsTrace reports whether the named dataset is read from a trace file.
func IsTrace(dataset string) bool { return slices.Contains(Traces(), dataset) }

// Timed reports whether the named dataset can have recorded arrival times. Some
// files of such a format may lack them.
func Timed(dataset string) bool {
	return IsTrace(dataset) && !slices.Contains(untimed(), dataset)
}

// control reports whether a header's value can't hold r.
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func validHeader(name string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}) {
		return false
	}
	return textproto.CanonicalMIMEHeaderKey(name) != "Content-Length"
}

// headerNames drops the values of NAME=VALUE items, which may be keys.
func headerNames(items []string) []string {
	out := make([]string, len(items))
	for i, h := range items {
		name, _, _ := strings.Cut(h, "=")
		out[i] = name
	}
	return out
}

// redact keeps what an error text may show of a URL that did not parse.
func redact(raw string) string {
	if i := strings.LastIndexByte(raw, '@'); i >= 0 {
		return "…" + raw[i:]
	}
	return raw
}
