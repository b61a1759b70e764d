package plan

import "time"

// Plan is a whole run. Field tags: yaml is the key and the flag's name, help is
// the flag's text, group sorts the help page. A field marked hash:"-" does not
// change what is offered or answered (where the results go, how they are
// shown), and stays out of Hash.
//
// The zero value of each field is what it says in help; Default gives the usual
// run.
type Plan struct {
	// Where the load goes.
	Target          string   `yaml:"target,omitempty" group:"null" help:"null: every request is answered at once, in this process, to measure the generator alone; without a rate it searches for the highest one that this machine offers honestly. Empty: --base-url or, without it, the in-process pool"`
	BaseURL         []string `yaml:"base-url,omitempty" group:"target" help:"URL of the server or router under test, such as http://127.0.0.1:8000, or a socket, such as unix:///run/vllm.sock; given several times, requests go to them in turn, those of a session too, and an attempt after the first to the next one (column url); without, to the in-process pool of fake engines"`
	HTTP2           bool     `yaml:"http2,omitempty" group:"target" help:"speak HTTP/2: over TLS, or, for http://, in the clear (h2c with prior knowledge). Requests share connections, and column stream_wait is their wait within them; beside the first request of a further connection the next ones wait until the server has told how many it takes, which counts as the time to their connection"`
	Endpoint        string   `yaml:"endpoint,omitempty" group:"target" help:"path of the API; empty: what --backend uses"`
	Backend         string   `yaml:"backend" group:"target" help:"API to speak: openai and vllm (completions), openai-chat (chat completions: of sessions a message each of system, user, assistant and tools; of others one of the user), openai-responses (responses), openai-embeddings (no tokens, so neither ttft nor tpot)"`
	PromptTokenIDs  bool     `yaml:"prompt-token-ids,omitempty" group:"target" help:"send prompts as arrays of token numbers (1000 to 9191) in place of words, so that a server of any vocabulary has exactly the planned number of tokens; completions only"`
	ContinuousUsage bool     `yaml:"continuous-usage,omitempty" group:"target" help:"ask for token counts in every chunk (vLLM's continuous_usage_stats), so that chunks of several tokens are counted; some servers refuse it"`
	NoStream        bool     `yaml:"no-stream,omitempty" group:"target" help:"ask for answers in one piece: they have no first token, so ttft, tpot and itl are unknown; e2e and the server's counts of tokens are not"`
	Insecure        bool     `yaml:"insecure,omitempty" group:"target" help:"trust any certificate of the server"`
	CAFile          string   `yaml:"ca-file,omitempty" group:"target" help:"PEM file of the certificates to trust instead of the system's"`
	Model           string   `yaml:"model,omitempty" group:"target" help:"model name on the wire; empty: the first one of /v1/models"`
	Header          []string `yaml:"header,omitempty" group:"target" help:"extra request header KEY=VALUE; repeatable" secret:"values"`
	ExtraBody       []string `yaml:"extra-body,omitempty" group:"target" help:"JSON object whose fields go into each request's body, such as {\"top_p\":0.9}; a later one counts; repeatable. Without a temperature in it, 0 is sent"`
	IDPrefix        string   `yaml:"request-id-prefix,omitempty" group:"target" help:"what X-Request-Id begins with, before the number that tells attempts apart"`
	CheckTokens     string   `yaml:"check-tokens" group:"target" help:"compare the words that prompts are made of with the server's /tokenize, before the run: warn (say what it makes of them if a word is not one token there, or that it has no such endpoint), require (don't run then), off" hash:"-"`
	ReadyCheck      int      `yaml:"ready-check-timeout-sec" group:"target" help:"seconds to wait until the server answers anything at all; 0: begin at once (vllm bench serve waits for an answer to a first prompt, which this does not send)" hash:"-"`
	ResetCache      bool     `yaml:"reset-prefix-cache,omitempty" group:"target" help:"have the server forget its prefix cache before the run, by POST /reset_prefix_cache (vLLM offers it with VLLM_SERVER_DEV_MODE=1)"`
	APIKeyFile      string   `yaml:"api-key-file,omitempty" group:"target" help:"file that holds the API key; otherwise OPENAI_API_KEY is used if set" hash:"-"`
	OTLPListen      string   `yaml:"otlp-listen,omitempty" group:"target" help:"address to take OpenTelemetry spans of the server at, over gRPC, such as :4317; without a host of this machine only; give the server http://HOST:4317 as its --otlp-traces-endpoint. After the load, spans are waited for up to --drain. They tell what of each request's time was the server's; spans-*.parquet keeps them" hash:"-"`
	OTLPHTTPListen  string   `yaml:"otlp-http-listen,omitempty" group:"target" help:"the same over HTTP, such as :4318, for http://HOST:4318/v1/traces" hash:"-"`
	MetricsURL      []string `yaml:"metrics-url,omitempty" group:"target" help:"where an engine or router behind --base-url tells of itself to Prometheus, such as http://10.0.0.5:8000/metrics, or NAME=URL; repeatable, one for each engine; names of vLLM, SGLang, TensorRT-LLM, Triton, TGI, Dynamo and llm-d are known; none: nowhere; without, /metrics of --base-url if it answers. engine-*.parquet keeps it. A page at the scheme, host and port of a --base-url gets the API key" hash:"-"`
	MetricsKeyFile  string   `yaml:"metrics-api-key-file,omitempty" group:"target" help:"file that holds the key to send to all pages of --metrics-url, in place of the API key; it is never recorded" hash:"-"`

	// What is told of the run, in OpenTelemetry's words.
	OTLPExport string `yaml:"otlp-export,omitempty" group:"export" help:"collector to tell of the run when it is over: a client span of each attempt, of sessions an agent's and its tools', of engines in this process theirs, and histograms; http://HOST:4317 over gRPC, http://HOST:4318/v1/traces over HTTP. Headers come from OTEL_EXPORTER_OTLP_HEADERS; counters otlp_export_* tell what did not arrive" hash:"-"`
	OTLPTee    string `yaml:"otlp-tee,omitempty" group:"export" help:"collector to hand on to what comes at --otlp-listen and --otlp-http-listen, as it came and of all traces; an address as of --otlp-export. It holds up nobody: counters otlp_tee_* tell what found the queue full or did not arrive" hash:"-"`
	Semconv    string `yaml:"semconv,omitempty" group:"export" help:"names in --otlp-export: 1.41 (the last released conventions for generative AI), genai-dev (those that are being worked on); empty: 1.41" hash:"-"`

	// What each fake engine runs on, and what it runs.
	GPU                string `yaml:"gpu" group:"hardware" help:"GPU profile of the engines (goodput profile list), or the .yaml file of one (goodput profile fit), or a mix such as 3*h100-sxm,1*a100-sxm-80gb, whose sum --replicas is; of a mix the limits of a step that follow from a GPU are those of the first one"`
	EngineModel        string `yaml:"engine-model" group:"hardware" help:"model profile of the engines"`
	TP                 int    `yaml:"tp" group:"hardware" help:"GPUs of one engine (tensor parallel degree)"`
	EngineQuantization string `yaml:"engine.quantization,omitempty" group:"hardware" help:"how weights are stored: none, fp8, awq, gptq, mxfp4; empty: as in the model's checkpoint"`
	EngineKVCacheDType string `yaml:"engine.kv-cache-dtype" group:"hardware" help:"element of the KV cache: auto (the model's own), bfloat16, fp8"`

	// The in-process pool.
	Replicas  int    `yaml:"replicas" group:"pool" help:"number of fake engines behind the router"`
	Autoscale string `yaml:"autoscale,omitempty" group:"pool" help:"change the number of replicas by queue (requests that wait) or kv (share of KV blocks in use), from --replicas at the start, as Kubernetes does: such as queue:target=5,min=1,max=8,every=15s,cold-start=60s,cool-down=5m, of which only max has no default"`
	Router    string `yaml:"router" group:"pool" help:"rule that picks the replica, such as p2c or prefix-hash:load-factor=1.5; list prints all with their parameters"`
	PoolSeed  uint64 `yaml:"pool-seed,omitempty" group:"pool" help:"seed of what is random in engines and routers, apart from that of the load; 0: --seed"`
	Faults    string `yaml:"faults,omitempty" group:"pool" help:"YAML file of what happens to the engines, and when: slow, stall, kill, restart, drain, join, http, truncate, usage, metrics (go doc goodput/fakeengine/fault); or the list itself, such as '[{at: 30s, replica: 3, join: true}]'"`

	// Prefill and decode on replicas of their own.
	PrefillReplicas     int           `yaml:"prefill-replicas" group:"pool" help:"replicas that only compute prompts and hand the KV over, as vLLM, llm-d and Dynamo disaggregate prefill and decode; with --decode-replicas, and --replicas is their sum; 0: all do both"`
	DecodeReplicas      int           `yaml:"decode-replicas" group:"pool" help:"replicas that make the answers of prompts from --prefill-replicas; --router picks among them"`
	PrefillRouter       string        `yaml:"prefill-router,omitempty" group:"pool" help:"rule that picks the prefill replica; empty: that of --router"`
	MaxLocalPrefill     int           `yaml:"max-local-prefill-length" group:"pool" help:"most prompt tokens, beside those in its prefix cache, that a decode replica computes itself; 0: none"`
	KVTransferLink      string        `yaml:"kv-transfer-link" group:"pool" help:"what the KV goes over, by name in the GPU profile: rdma (one network adapter a GPU), nvlink or xgmi (within a node)"`
	KVTransferBandwidth float64       `yaml:"kv-transfer-bandwidth" group:"pool" help:"GB/s of that link, a GPU and direction; 0: by the profile"`
	KVTransferLatency   time.Duration `yaml:"kv-transfer-latency" group:"pool" help:"time before the first byte of a transfer; 0: by the profile"`

	// How many routers there are, and what they see.
	Routers       int           `yaml:"routers" group:"routers" help:"routers that share the load, each request coming to any of them; each knows only its own requests"`
	Scrape        time.Duration `yaml:"scrape-interval" group:"routers" help:"how often routers read what engines report, such as 50ms (llm-d) or 30s (vLLM production stack); 0: at each pick"`
	ScrapeStagger bool          `yaml:"scrape-stagger" group:"routers" help:"spread the instants at which routers read over the interval; otherwise all read at the same ones"`
	Shaper        []string      `yaml:"shaper,omitempty" group:"routers" help:"what is in front of the routers and lets requests through, holds, refuses or answers them, such as token-bucket:rate=20 or vtc:in-flight=64; repeatable: they pass one after the other; list prints all with their parameters. A tenant is a value of --cache-salts, or a --class"`
	Canary        string        `yaml:"canary,omitempty" group:"routers" help:"another rule, to which half of the load comes, before the same engines; rows name who had them as arm baseline or canary"`
	CanaryBy      string        `yaml:"canary-by,omitempty" group:"routers" help:"request or session: what --canary is given whole"`

	Speed Speed `yaml:"speed" group:"speed" help:"loop seconds per wall second; max: virtual time, as fast as the processor allows"`

	Engine                    string  `yaml:"engine" group:"engine" help:"serving engine and version whose defaults apply to the flags below: vllm@0.10, vllm@0.15, vllm@0.19"`
	EngineMaxNumSeqs          int     `yaml:"engine.max-num-seqs" group:"engine" help:"most sequences in one step; unless given, by --engine and --gpu"`
	EngineMaxNumBatchedTokens int     `yaml:"engine.max-num-batched-tokens" group:"hardware" help:"token budget of one step; unless given, by --engine and --gpu"`
	EngineMaxModelLen         int     `yaml:"engine.max-model-len" group:"engine" help:"longest prompt plus answer, in tokens; 0: the model's own"`
	EngineBlockSize           int     `yaml:"engine.block-size" group:"hardware" help:"tokens in one KV block"`
	EngineNumGPUBlocks        int     `yaml:"engine.num-gpu-blocks" group:"hardware" help:"KV blocks of one engine; 0: derived from the GPU's memory"`
	EngineGPUMemory           float64 `yaml:"engine.gpu-memory-utilization" group:"hardware" help:"share of the GPU's memory that the engine may use, for deriving the KV blocks"`
	EnginePrefixCaching       bool    `yaml:"engine.enable-prefix-caching" group:"engine" help:"reuse KV blocks of equal prefixes"`
	EngineChunkedPrefill      bool    `yaml:"engine.enable-chunked-prefill" group:"engine" help:"let a prompt be computed over several steps"`
	EngineLongPrefill         int     `yaml:"engine.long-prefill-token-threshold" group:"engine" help:"most tokens of one prompt in one step; 0: no limit but the budget"`
	EngineReserveFullISL      bool    `yaml:"engine.scheduler-reserve-full-isl" group:"engine" help:"admit a request only when its whole prompt fits into free KV blocks; unless given, by --engine"`
	EngineWatermark           float64 `yaml:"engine.watermark" group:"engine" help:"share of the KV blocks kept free at admission; unless given, by --engine"`
	EngineHostOverlap         bool    `yaml:"engine.host-overlap" group:"engine" help:"prepare a step while the GPU computes the last one, so that the host's work is hidden; unless given, by --engine"`
	EngineAsync               bool    `yaml:"engine.async-scheduling" group:"engine" help:"schedule the step after the next one when a step ends, while the next one executes; unless given, by --engine"`
	EnginePrependUnhashed     bool    `yaml:"engine.prepend-unhashed-blocks" group:"engine" help:"use KV blocks without cached content before those with it; unless given, by --engine"`
	EnginePolicy              string  `yaml:"engine.scheduling-policy" group:"engine" help:"order of waiting requests: fcfs, priority"`
	EngineBatching            string  `yaml:"engine.batching" group:"engine" help:"when waiting requests join: continuous (at every step), static (when the last batch is over)"`
	EngineSpecMethod          string  `yaml:"engine.speculative-method,omitempty" group:"hardware" help:"who drafts tokens for speculative decoding: ngram, eagle, mtp, draft_model; empty: nobody"`
	EngineSpecTokens          int     `yaml:"engine.num-speculative-tokens" group:"hardware" help:"tokens drafted for each step, 1 to 32; 0: without --engine.speculative-method"`
	EngineSpecModel           string  `yaml:"engine.speculative-model,omitempty" group:"hardware" help:"model profile of the drafter, for draft_model"`
	EngineSpecWorkload        string  `yaml:"engine.speculative-workload" group:"hardware" help:"kind of text, for how many drafts are accepted: chat, code, summarise, low-overlap"`
	EngineSpecRates           string  `yaml:"engine.speculative-acceptance,omitempty" group:"hardware" help:"share of drafts accepted if those before were, by position, such as 0.8,0.7 (the last one holds beyond); empty: by --engine.speculative-workload, which still says how often ngram finds drafts"`
	EngineSpecSpread          float64 `yaml:"engine.speculative-acceptance-spread" group:"hardware" help:"standard deviation among requests of the first share of --engine.speculative-acceptance; 0: all requests are alike"`
	EngineSpecAdmission       bool    `yaml:"engine.speculative-admission-lookahead" group:"engine" help:"keep KV slots for the drafter from admission on, not from the second step; unless given, by --engine"`
	EngineStepTable           string  `yaml:"engine.step-table,omitempty" group:"engine" help:"folder of measured kernel times of --engine-model (fakeengine/steptime/FORMAT.md), which say how long steps take instead of the profile of --gpu; empty: the profile does"`
	EngineDP                  int     `yaml:"engine.data-parallel-size" group:"engine" help:"replicas in a row that share the experts of --engine-model and so step together; needs --engine.step-table and --engine.enable-expert-parallel; 1: each steps by itself"`
	EngineEP                  bool    `yaml:"engine.enable-expert-parallel" group:"engine" help:"share experts among the replicas of --engine.data-parallel-size"`
	EngineStepJitter          float64 `yaml:"engine.step-jitter" group:"engine" help:"spread of step times: standard deviation of the logarithm of a factor with mean 1 on each step, 0 to 1; 0: none"`

	EngineKVOffloading float64 `yaml:"engine.kv-offloading-size" group:"engine" help:"GiB of host memory of one engine for KV blocks that the GPU has no room for; 0: none"`

	EngineEnableLora  bool `yaml:"engine.enable-lora" group:"engine" help:"serve LoRA adapters"`
	EngineMaxLoras    int  `yaml:"engine.max-loras" group:"engine" help:"LoRA adapters on the GPU, and so the most in one step"`
	EngineMaxLoraRank int  `yaml:"engine.max-lora-rank" group:"engine" help:"rank of the LoRA adapters, which decides how long they take to load"`
	EngineMaxCPULoras int  `yaml:"engine.max-cpu-loras" group:"engine" help:"LoRA adapters in host memory, those on the GPU among them; others are read from their files; 0: as --engine.max-loras"`

	// The load.
	RequestRate Rate          `yaml:"request-rate" group:"load" help:"mean arrivals per second; inf: all at once"`
	Burstiness  Rate          `yaml:"burstiness" group:"load" help:"shape of gamma or weibull gaps: 1 is Poisson, <1 burstier, >1 smoother, inf constant"`
	Arrival     string        `yaml:"arrival,omitempty" group:"load" help:"arrival process: poisson, gamma, weibull, mmpp:FACTOR,BURST,CALM (Poisson whose rate switches at random to FACTOR times itself, for BURST in the mean, and back for CALM; mmpp alone: 10,1s,9s), constant, trace; empty: trace for a dataset with timestamps, else by --burstiness"`
	NumPrompts  int           `yaml:"num-prompts" group:"load" help:"number of requests; 0: all rows of a trace, what --duration holds, or 1000"`
	Duration    time.Duration `yaml:"duration" group:"load" help:"offer load for this long; 0: until --num-prompts were sent"`
	Stages      string        `yaml:"stages,omitempty" group:"load" help:"rate over time instead of --request-rate, as TIME:RATE,...: in straight lines from one to the next, the last one holds; two at one time are a jump (0s:2,60s:8,60s:20,120s:20). Without --num-prompts and --duration the last time ends the load"`
	RampUp      string        `yaml:"ramp-up-strategy,omitempty" group:"load" help:"let the rate go from --ramp-up-start-rps to --ramp-up-end-rps, linear or exponential in time, over --duration or, without it, over --num-prompts (vLLM ramps by request number instead)"`
	RampUpStart Rate          `yaml:"ramp-up-start-rps" group:"load" help:"rate at the start of the ramp"`
	RampUpEnd   Rate          `yaml:"ramp-up-end-rps" group:"load" help:"rate at the end of the ramp"`
	Seed        uint64        `yaml:"seed" group:"load" help:"root of every random choice"`
	IgnoreEOS   bool          `yaml:"ignore-eos" group:"load" help:"ask for exactly the planned number of output tokens, and count another length as a failure"`

	Rescale string `yaml:"rescale,omitempty" group:"load" help:"vllm stretches random gaps so that the last of --num-prompts arrives at --num-prompts / --request-rate exactly, as vllm bench serve does: the count is fixed, and bursts are damped; empty: gaps stay as drawn"`
	Warmup  string `yaml:"warmup,omitempty" group:"load" help:"what precedes the window, at the same rate, with prompts of its own that share the prefixes of the load: a time, such as 30s, through the end of which the load goes on, or a number, such as 20req, all of which end first; empty: nothing"`
	Cache   string `yaml:"cache" group:"load" help:"what servers may have cached when the window opens: cold (prompts of a server's run begin as none before did), warm (the same, and each shared prefix was sent once), keep (the same bytes in all runs of a seed). In-process engines always begin empty"`

	MaxConcurrency int    `yaml:"max-concurrency" group:"load" help:"most requests in flight; arrivals keep their intended time, from which latency counts, and those that found no place are counted; 0: no cap"`
	OnCap          string `yaml:"on-cap" group:"load" help:"what becomes of a request that finds --max-concurrency in flight: queue (sent when one ends; the wait is client_queue), drop (never sent; outcome dropped_cap)"`
	Concurrency    int    `yaml:"concurrency" group:"load" help:"closed loop instead of a rate: keep so many requests in flight, each sent when another ends. A slow server then lowers the load, which hides waiting; 0: open loop"`
	ProbeRate      Rate   `yaml:"probe-request-rate,omitempty" group:"load" help:"send so many probes a second beside the load, evenly spaced: requests of 8 tokens for one token, that pass by --max-concurrency and the client's retries and hedges. What they see of the server is the load's doing; they have a row of their own in the report (class probe), and are in none of its other figures; 0: none"`

	// One of several processes that offer the load together.
	Shard   string `yaml:"shard,omitempty" group:"shard" help:"INDEX/COUNT, such as 0/2: offer only this part of the load, together with COUNT-1 other processes that get the same flags, another INDEX each and the same --start-at; goodput merge makes one run of theirs. Each has every COUNTth request, or whole sessions, of one schedule. Not for engines in this process, closed loops and caps, which are of one process" hash:"-"`
	StartAt string `yaml:"start-at,omitempty" group:"shard" help:"wall-clock instant from which the schedule counts, such as 2031-05-04T10:30:00Z; several processes agree on it as well as their machines' clocks do, which nothing in the record can tell; empty: at once" hash:"-"`

	RequestTimeout time.Duration `yaml:"request-timeout" group:"load" help:"most time for one request, from its intended time; 0: none"`
	TTFTTimeout    time.Duration `yaml:"ttft-timeout" group:"load" help:"most time to the first token, from the intended time; 0: none"`

	// What a client does beside sending each request once.
	Retries         int           `yaml:"retries" group:"load" help:"how often a request is tried again that fails before its first token (no connection, reset, 429, 5xx, broken answer, --ttft-timeout, which each attempt has anew); each attempt is a row; 0: never"`
	RetryBudget     Share         `yaml:"retry-budget" group:"load" help:"most that retries and hedges add to the load, as a share of the requests, beside the first ten"`
	RetryBackoff    time.Duration `yaml:"retry-backoff" group:"load" help:"bound of the random wait before the first retry; it doubles each further one, up to 10s"`
	HonorRetryAfter bool          `yaml:"honor-retry-after,omitempty" group:"load" help:"wait before a retry at least as long as the server asked for"`
	HedgeAfter      string        `yaml:"hedge-after,omitempty" group:"load" help:"send a second attempt beside one without a first token after this time, or after a quantile of those before, such as p95, and give up the slower one; empty: never"`
	CancelRate      Share         `yaml:"cancel-rate" group:"load" help:"share of requests whose client leaves before the answer is complete; they end as canceled, which is no failure; 0: none"`
	CancelAfter     string        `yaml:"cancel-after,omitempty" group:"load" help:"when it leaves: a time from the intended one, such as 2s, or with an output, such as 50tok"`

	Drain        time.Duration `yaml:"drain" group:"load" help:"wait this long after the last arrival for unfinished requests"`
	MaxErrorRate float64       `yaml:"max-error-rate" group:"load" help:"share of failed requests above which the exit code is 5" hash:"-"`
	Goodput      []string      `yaml:"goodput,omitempty" group:"load" help:"SLO of a request, as METRIC:MILLISECONDS pairs of ttft, ttft_send, tpot, e2el; and of a session: sct (completion), turn (response time of a user turn), slowdown:RATIO (against the session alone on an idle engine); repeatable"`

	Priority int      `yaml:"priority,omitempty" group:"load" help:"priority of the requests, for servers that schedule by it (--engine.scheduling-policy priority): a smaller one is served first; others may refuse any but 0, which is not sent"`
	Class    []string `yaml:"class,omitempty" group:"load" help:"class of requests, or of sessions, of which several make up the load, as NAME KEY=VALUE...: the keys are names of flags that say when requests come, what they ask, and what is promised (request-rate, arrival, stages, goodput, priority, dataset-name and those of datasets; dataset-name=agent, sessions-rate, num-sessions and those of agents), and where it has none, the flag counts; repeatable. A warm-up has single requests only, and beside sessions --sessions-drain says how long is waited. Each class has random choices of its own, and column class of the rows names it"`

	// The workload.
	DatasetName string  `yaml:"dataset-name" group:"dataset" help:"generators: prefix_repetition, shared_prefix, rag, random, agent (sessions); trace files: trace (of a format told by its content), azure, mooncake, timed_trace, burstgpt, sharegpt, openai-batch, openai-chat, custom, weka, tracelab, ragpulse, servegen, otel, vllm_replay, goodput"`
	DatasetPath string  `yaml:"dataset-path,omitempty" group:"dataset" help:"trace file"`
	SkipBadRows bool    `yaml:"skip-bad-rows,omitempty" group:"dataset" help:"leave out rows of the trace that are not as its format says, and count them, instead of refusing the file"`
	TraceSlice  string  `yaml:"trace-slice,omitempty" group:"dataset" help:"replay only the rows A:B of a trace, by time since its first row (5m:10m) or by number from 0 (0:1000); either end may be left out"`
	TraceJitter string  `yaml:"trace-jitter,omitempty" group:"dataset" help:"uniform:DURATION delays each row of a trace by up to so much, to spread times that were rounded down, such as the 3s of Mooncake's"`
	TraceSpeed  float64 `yaml:"trace-speed" group:"dataset" help:"replay a trace so many times faster than it was recorded; --request-rate says it as a rate instead"`
	TraceLoop   bool    `yaml:"trace-loop,omitempty" group:"dataset" help:"repeat the rows of a trace until --num-prompts are reached, or its sessions until --num-sessions are, with new content each time"`

	TraceSessions string `yaml:"trace-sessions,omitempty" group:"dataset" help:"how the sessions of a trace run: closed (sessions arrive at their recorded times, or at --sessions-rate; each later step is due when those before it end, after the recorded wait, and --trace-slice, --trace-jitter and --trace-speed act on arrivals of sessions), open (each step at its recorded time, whatever became of the one before); empty: closed, unless --request-rate or --num-prompts count requests, or the trace tells the times of steps but no waits"`
	CustomOut     int    `yaml:"custom-output-len" group:"dataset" help:"tokens of each answer where custom, openai-chat and openai-batch do not say it"`

	ShareGPTOut int     `yaml:"sharegpt-output-len,omitempty" group:"dataset" help:"tokens of each answer of sharegpt; 0: as recorded"`
	TimedBlock  int     `yaml:"timed-trace-chunk-hash-size" group:"dataset" help:"tokens that a hash id of timed_trace stands for; equal ids are equal text in all runs, and times count from the first row"`
	TimedUnit   float64 `yaml:"timed-trace-sec-multiplier" group:"dataset" help:"seconds that one unit of timed_trace's timestamps lasts"`
	TimedTime   string  `yaml:"timed-trace-label-timestamp,omitempty" group:"dataset" help:"name of timed_trace's field of times; empty: timestamp"`
	TimedIn     string  `yaml:"timed-trace-label-input-length,omitempty" group:"dataset" help:"name of timed_trace's field of prompt lengths; empty: input_length"`
	TimedOut    string  `yaml:"timed-trace-label-output-length,omitempty" group:"dataset" help:"name of timed_trace's field of answer lengths; empty: output_length"`
	TimedIDs    string  `yaml:"timed-trace-label-hash-ids,omitempty" group:"dataset" help:"name of timed_trace's field of hash ids; empty: hash_ids"`

	PrefixLen    int `yaml:"prefix-repetition-prefix-len" group:"dataset" help:"tokens of the shared prefix"`
	SuffixLen    int `yaml:"prefix-repetition-suffix-len" group:"dataset" help:"tokens of each request's own suffix"`
	NumPrefixes  int `yaml:"prefix-repetition-num-prefixes" group:"dataset" help:"number of distinct prefixes"`
	PrefixOutput int `yaml:"prefix-repetition-output-len" group:"dataset" help:"tokens of each answer"`

	PrefixZipf      float64 `yaml:"prefix-repetition-zipf" group:"dataset" help:"popularity of prefixes: the n-th is drawn in proportion to n^-S, 0 to 10; 0: each has an equal share"`
	PrefixTargetHit float64 `yaml:"prefix-repetition-target-hit" group:"dataset" help:"ideal hit rate of one endless cache with blocks of --engine.block-size, which decides --prefix-repetition-suffix-len (and nothing else); 0: no target"`

	SharedGroups   int     `yaml:"shared-prefix-num-groups" group:"dataset" help:"number of system prompts of shared_prefix, each shared by a group of prompts"`
	SharedPrompts  int     `yaml:"shared-prefix-prompts-per-group" group:"dataset" help:"prompts of each group, or, with --shared-prefix-num-turns, conversations; with --shared-prefix-zipf their mean; 0: what --num-prompts or --duration make, or 16"`
	SharedSystem   int     `yaml:"shared-prefix-system-prompt-len" group:"dataset" help:"tokens of a group's system prompt"`
	SharedQuestion int     `yaml:"shared-prefix-question-len" group:"dataset" help:"mean tokens of each question"`
	SharedOutput   int     `yaml:"shared-prefix-output-len" group:"dataset" help:"mean tokens of each answer"`
	SharedRange    float64 `yaml:"shared-prefix-range-ratio" group:"dataset" help:"lengths of questions and answers are uniform within len*(1-r) and len*(1+r), 0 <= r < 1"`
	SharedTurns    int     `yaml:"shared-prefix-num-turns" group:"dataset" help:"requests of each conversation, which quote the questions and planned answers before them; all first turns come first, and no turn waits for an answer"`
	SharedZipf     float64 `yaml:"shared-prefix-zipf" group:"dataset" help:"popularity of groups: the n-th is drawn in proportion to n^-S, 0 to 10; 0: each has an equal share"`
	SharedGlobal   int     `yaml:"shared-prefix-global-len" group:"dataset" help:"tokens that all prompts begin with, before those of the tenant and of the group"`
	SharedTenants  int     `yaml:"shared-prefix-tenants" group:"dataset" help:"tenants that the groups belong to in turn; 0: none"`
	SharedTenant   int     `yaml:"shared-prefix-tenant-len" group:"dataset" help:"tokens that all groups of a tenant share, between the global prefix and the system prompt"`

	RAGDocuments int     `yaml:"rag-num-documents" group:"dataset" help:"documents of the corpus of rag"`
	RAGDocument  int     `yaml:"rag-document-len" group:"dataset" help:"mean tokens of a document"`
	RAGTopK      int     `yaml:"rag-top-k" group:"dataset" help:"documents in each prompt, 1 to 100"`
	RAGZipf      float64 `yaml:"rag-zipf" group:"dataset" help:"popularity of documents: the n-th is drawn in proportion to n^-S, 0 to 10; 0: all are alike"`
	RAGOrder     string  `yaml:"rag-order" group:"dataset" help:"order of the documents in a prompt: random, as relevance has it (few prompts begin alike), or rank (the most popular first, which prefix caches like)"`
	RAGSystem    int     `yaml:"rag-system-prompt-len" group:"dataset" help:"tokens before the documents that all prompts share"`
	RAGQuestion  int     `yaml:"rag-question-len" group:"dataset" help:"mean tokens of the question, behind the documents"`
	RAGOutput    int     `yaml:"rag-output-len" group:"dataset" help:"mean tokens of the answer"`
	RAGRange     float64 `yaml:"rag-range-ratio" group:"dataset" help:"lengths of documents, questions and answers are uniform within len*(1-r) and len*(1+r), 0 <= r < 1"`

	RandomInput  int `yaml:"random-input-len" group:"dataset" help:"mean tokens of the prompt"`
	RandomOutput int `yaml:"random-output-len" group:"dataset" help:"mean tokens of the answer"`
	RandomPrefix int `yaml:"random-prefix-len" group:"dataset" help:"tokens of one prefix shared by all requests"`

	RandomRange    Ratios `yaml:"random-range-ratio" group:"dataset" help:"lengths are uniform within len*(1-r) and len*(1+r), 0 <= r < 1; {\"input\":r,\"output\":r} is one for prompts and one for answers"`
	DisableShuffle bool   `yaml:"disable-shuffle" group:"dataset" help:"keep the generator's order (prefix by prefix) instead of a seeded shuffle"`

	AgentPreset         string        `yaml:"agent-preset" group:"dataset" help:"sessions of --dataset-name agent: coding (200k tokens of context), coding-128k, chat, toolagent, smoke"`
	AgentConfig         string        `yaml:"agent-config,omitempty" group:"dataset" help:"YAML file with parameters that differ from --agent-preset: tenants, shape, context, append, wait, fanout, compaction, prefix_break (go doc goodput/datasets/agent.Config)"`
	SessionsRate        Rate          `yaml:"sessions-rate" group:"dataset" help:"mean arrivals of sessions per second, by --arrival and --burstiness; inf: all at once. Later steps are due when those before them end"`
	NumSessions         int           `yaml:"num-sessions" group:"dataset" help:"number of sessions; 0: what --duration holds, or 100"`
	MaxLiveSessions     int           `yaml:"max-live-sessions" group:"dataset" help:"most sessions that are live at a time, of a schedule that goes on regardless; 0: no bound"`
	SessionsOverflow    string        `yaml:"sessions-overflow" group:"dataset" help:"what becomes of a session beyond --max-live-sessions: queue (it begins when another one ends, and is as late), drop (it is not run, and recorded as dropped)"`
	SessionsConcurrency int           `yaml:"sessions-concurrency" group:"dataset" help:"closed loop: so many sessions are live at all times, and where one ends the next one begins, until --num-sessions or --duration; a slow server is then offered less, which every output says; 0: sessions arrive at --sessions-rate"`
	StationaryStart     bool          `yaml:"stationary-start,omitempty" group:"dataset" help:"begin with the sessions of --dataset-name agent that earlier arrivals would have left under way, each somewhere within, their first requests as warm-up; how many follows from --service-rate and --service-delay. Otherwise no session is live at first"`
	ServiceRate         float64       `yaml:"service-rate" group:"dataset" help:"tokens per second that --plan and --stationary-start take an answer to come at"`
	ServiceDelay        time.Duration `yaml:"service-delay" group:"dataset" help:"time beside its tokens that they take an answer to need"`

	SessionsDrain time.Duration `yaml:"sessions-drain" group:"dataset" help:"wait this long after the last arrival for unfinished sessions; those left are censored"`
	AgentInFlight int           `yaml:"agent-max-inflight" group:"dataset" help:"most steps of one session in flight, its sub-agents among them; 0: no bound"`
	AgentOnError  string        `yaml:"agent-on-error" group:"dataset" help:"after a failed step: abort (the session has failed), continue (with the planned text)"`
	AgentScope    string        `yaml:"agent-cache-scope" group:"dataset" help:"who can share cached prefixes: run (sessions of this run), session (no two sessions), none (no limit: equal seeds send equal bytes in all runs)"`
	AgentHistory  string        `yaml:"agent-history" group:"dataset" help:"what later steps quote as the answers before: planned (text by the plan, whatever came back, so runs are the same for every server, and no cache holds the answers), live (the text, the reasoning and the calls of tools that came; results of tools that no call asked for are the user's), live-tokens (the numbers of its tokens, by return_token_ids; with --prompt-token-ids); engines in this process keep answers in their caches under both live ones"`

	LoraModules    []string `yaml:"lora-modules,omitempty" group:"dataset" help:"LoRA adapter to ask for instead of the base model, by name; NAME*N stands for NAME1 to NAMEN; repeatable"`
	LoraAssignment string   `yaml:"lora-assignment" group:"dataset" help:"which of --lora-modules a request asks for: random, round-robin, zipf (the first is asked for most, the n-th 1/n as often), tenant (sessions: each tenant has one)"`
	CacheSalts     int      `yaml:"cache-salts" group:"dataset" help:"tenants whose requests share no cached prefixes: each request carries one of so many values of cache_salt, drawn at random; 0: none"`
	TenantSalts    bool     `yaml:"cache-salt-tenants,omitempty" group:"dataset" help:"sessions carry a cache_salt of their tenant, so that tenants share no cached prefixes"`

	// A sweep of rates.
	SLO        []string      `yaml:"slo,omitempty" group:"sweep" help:"objective that a rate has to hold for: rules that requests meet or miss, all of them at once, such as 'ttft p(95) <= 2s, tpot p(95) <= 50ms' (95 % of the requests each); repeatable: each one has a knee of its own. --goodput is another one"`
	Attainment Share         `yaml:"attainment" group:"sweep" help:"share of requests that have to meet --goodput"`
	Preset     string        `yaml:"preset" group:"sweep" help:"smoke, ci or report: 300, 1000 or 5000 requests a trial, 3, 5 or 5 seeds, a tolerance of 10, 5 or 2 %, unless flags say otherwise"`
	Seeds      int           `yaml:"seeds" group:"sweep" help:"seeds that are searched, each by itself, from --seed on; 0: by --preset"`
	Tolerance  Share         `yaml:"tolerance" group:"sweep" help:"how close a seed's knee is located, such as 5%; 0: by --preset"`
	Method     string        `yaml:"method" group:"sweep" help:"bisect (bracket and bisect the knee), grid (the curve at --points rates), ramp (one rising load that shows about where the knee is, for --start; never the knee)"`
	Start      Rate          `yaml:"start" group:"sweep" help:"first rate that is tried; 0: by a short burst"`
	MinRate    Rate          `yaml:"min-rate" group:"sweep" help:"lowest rate; 0: by the first one"`
	MaxRate    Rate          `yaml:"max-rate" group:"sweep" help:"highest rate; 0: by the first one"`
	Points     int           `yaml:"points" group:"sweep" help:"rates of a grid, in equal ratios"`
	Cooldown   time.Duration `yaml:"cooldown" group:"sweep" help:"pause between two trials against a server"`

	// The result file of vllm bench serve.
	SaveResult        bool     `yaml:"save-result,omitempty" group:"result" help:"write the JSON file of vllm bench serve as well (goodput report --format vllm-json writes it from any run)" hash:"-"`
	SaveDetailed      bool     `yaml:"save-detailed,omitempty" group:"result" help:"with the lists of all requests in it; texts of answers are null: they are not kept" hash:"-"`
	AppendResult      bool     `yaml:"append-result,omitempty" group:"result" help:"append to --result-filename instead of replacing it" hash:"-"`
	ResultDir         string   `yaml:"result-dir,omitempty" group:"result" help:"folder of that file; empty: the current one" hash:"-"`
	ResultFilename    string   `yaml:"result-filename,omitempty" group:"result" help:"its name; empty: {label}-{rate}qps[-concurrencyN]-{model}-{time}.json" hash:"-"`
	Label             string   `yaml:"label,omitempty" group:"result" help:"label of the run in that file and its name; empty: --backend" hash:"-"`
	Metadata          []string `yaml:"metadata,omitempty" group:"result" help:"KEY=VALUE that becomes a key of that file; repeatable" hash:"-"`
	PercentileMetrics string   `yaml:"percentile-metrics" group:"result" help:"metrics in that file: some of ttft,tpot,itl,e2el,client_queue_time,e2el_including_client_queue" hash:"-"`
	MetricPercentiles string   `yaml:"metric-percentiles" group:"result" help:"percentiles in that file (vllm bench serve: 99)" hash:"-"`

	// What is left behind and shown.
	ORCA            bool          `yaml:"orca" group:"target" help:"ask servers for their load with each answer (ORCA, header Endpoint-Load-Metrics), as samples of engines; vLLM tells its KV usage and its queue so, where it answers in one piece"`
	MetricsInterval time.Duration `yaml:"metrics-interval" group:"output" help:"time between two samples of what engines tell of themselves, in process or by --metrics-url (engine-*.parquet); 0: none" hash:"-"`
	Out             string        `yaml:"out,omitempty" group:"output" help:"run directory; empty: runs/<time>-<plan hash>" hash:"-"`
}

// DefaultNumPrompts is the number of requests of a generated workload when
// neither a number nor a duration is given.
const DefaultNumPrompts = 1000

// DefaultNumSessions is the same for sessions.
const DefaultNumSessions = 100

// Default is the plan of `goodput run` without flags.
func Default() Plan {
	return Plan{
		Backend:                   "openai",
		Replicas:                  4,
		Routers:                   1,
		GPU:                       "h100-sxm",
		EngineModel:               "llama-3.1-8b",
		TP:                        1,
		EngineKVCacheDType:        "auto",
		Router:                    "round-robin",
		KVTransferLink:            "rdma",
		Engine:                    "vllm@0.19",
		EngineMaxNumSeqs:          1024,
		EngineMaxNumBatchedTokens: 8192,
		EngineBlockSize:           16,
		EngineGPUMemory:           0.9,
		EnginePrefixCaching:       true,
		EngineChunkedPrefill:      true,
		EngineReserveFullISL:      true,
		EngineHostOverlap:         true,
		EngineAsync:               true,
		EnginePolicy:              "fcfs",
		EngineBatching:            "continuous",
		EngineSpecWorkload:        "chat",
		EngineDP:                  1,
		EngineMaxLoras:            1,
		EngineMaxLoraRank:         16,
		Burstiness:                1,
		Cache:                     CacheCold,
		ReadyCheck:                10,
		CheckTokens:               "warn",
		MetricsInterval:           time.Second,
		PercentileMetrics:         "ttft,tpot,itl,e2el,client_queue_time,e2el_including_client_queue",
		MetricPercentiles:         "50,90,95,99,99.9",
		OnCap:                     "queue",
		RequestTimeout:            6 * time.Hour,
		RetryBudget:               0.1,
		RetryBackoff:              100 * time.Millisecond,
		Drain:                     60 * time.Second,
		Attainment:                0.95,
		Preset:                    "ci",
		Method:                    "bisect",
		Points:                    12,
		Cooldown:                  5 * time.Second,
		MaxErrorRate:              0.05,
		DatasetName:               "random",
		TraceSpeed:                1,
		CustomOut:                 256,
		TimedBlock:                16,
		TimedUnit:                 1,
		PrefixLen:                 256,
		SuffixLen:                 256,
		NumPrefixes:               10,
		PrefixOutput:              128,
		SharedGroups:              64,
		SharedSystem:              2048,
		SharedQuestion:            128,
		SharedOutput:              256,
		SharedTurns:               1,
		RAGDocuments:              1000,
		RAGDocument:               512,
		RAGTopK:                   5,
		RAGZipf:                   1,
		RAGOrder:                  "random",
		RAGSystem:                 256,
		RAGQuestion:               64,
		RAGOutput:                 128,
		AgentPreset:               "coding-128k",
		SessionsOverflow:          "queue",
		ServiceRate:               40.7,
		ServiceDelay:              time.Second,
		SessionsDrain:             30 * time.Minute,
		AgentInFlight:             5,
		AgentOnError:              "abort",
		AgentScope:                "run",
		AgentHistory:              "planned",
		LoraAssignment:            "random",
		RandomInput:               1024,
		RandomOutput:              128,
	}
}
