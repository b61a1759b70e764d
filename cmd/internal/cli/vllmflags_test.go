package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"goodput/loadgen/plan"
)

// parity is a flag of vllm bench serve, what is typed behind it, and what becomes of it.
type parity struct {
	flag, value string
	mark        mark
	want        string // KEY=TEXT of the plan, several separated by blanks
}

// mark says how a flag is treated.
type mark string

const (
	same    mark = "P"  // the same meaning
	fixed   mark = "P*" // the same name, a meaning that measures right, said in help
	warned  mark = "A"  // accepted, changes nothing, and says so
	pending mark = "?"  // unknown as yet
)

// parities is the whole parser of vllm bench serve, by the list of its long flags that
// the vLLM project keeps for its own parity test
// (rust/src/bench/tests/python_serve_flags.txt) and the defaults and meanings of
// add_cli_args in vllm/benchmarks/serve.py and add_dataset_parser in
// vllm/benchmarks/datasets.
var parities = []parity{
	{"append-result", "", same, "append-result=true"},
	{"asr-max-audio-len-sec", "inf", warned, ""},
	{"asr-min-audio-len-sec", "0", warned, ""},
	{"backend", "openai-chat", same, "backend=openai-chat"},
	{"base-url", "http://h:1", same, "base-url=http://h:1"},
	{"bfcl-categories", "simple", warned, ""},
	{"blazedit-max-distance", "1", warned, ""},
	{"blazedit-min-distance", "0", warned, ""},
	{"burstiness", "0.5", same, "burstiness=0.5"},
	{"chat-template-kwargs", `{"a":1}`, same, `extra-body={"chat_template_kwargs":{"a":1}}`},
	{"custom-ensure-client-side-data", "", warned, ""},
	{"custom-output-len", "7", same, "custom-output-len=7"},
	{"dataset-name", "sharegpt", same, "dataset-name=sharegpt"},
	{"dataset-path", "f", same, "dataset-path=f"},
	{"disable-shuffle", "", same, "disable-shuffle=true"},
	{"disable-tqdm", "", warned, ""},
	{"enable-multimodal-chat", "", warned, ""},
	{"endpoint", "/x", same, "endpoint=/x"},
	{"extra-body", `{"a":1}`, same, `extra-body={"a":1}`},
	{"frequency-penalty", "0.1", same, `extra-body={"frequency_penalty":0.1}`},
	{"goodput", "ttft:500", fixed, "goodput=ttft:500"},
	{"header", "k=v", same, "header=k=v"},
	{"hf-name", "x", warned, ""},
	{"hf-output-len", "1", warned, ""},
	{"hf-split", "x", warned, ""},
	{"hf-subset", "x", warned, ""},
	{"host", "h", same, "base-url=http://h:8000"},
	{"ignore-eos", "", same, "ignore-eos=true"},
	{"input-len", "9", same, "random-input-len=9"},
	{"insecure", "", same, "insecure=true"},
	{"label", "l", same, "label=l"},
	{"logprobs", "2", same, `extra-body={"logprobs":2}`},
	{"lora-assignment", "round-robin", same, "lora-assignment=round-robin"},
	{"lora-modules", "a", same, "lora-modules=a"},
	{"max-concurrency", "3", fixed, "max-concurrency=3"},
	{"metadata", "a=b", same, "metadata=a=b"},
	{"metric-percentiles", "99", fixed, "metric-percentiles=99"},
	{"min-p", "0.1", same, `extra-body={"min_p":0.1}`},
	{"model", "m", same, "model=m"},
	{"no-oversample", "", warned, ""},
	{"no-reranker", "", warned, ""},
	{"no-self-timed", "", same, "arrival=poisson"},
	{"no-stream", "", same, "no-stream=true"},
	{"num-prompts", "5", same, "num-prompts=5"},
	{"num-warmups", "4", fixed, "warmup=4req"},
	{"output-len", "8", same, "random-output-len=8 prefix-repetition-output-len=8 custom-output-len=8 sharegpt-output-len=8"},
	{"percentile-metrics", "ttft", same, "percentile-metrics=ttft"},
	{"plot-dataset-stats", "", warned, ""},
	{"plot-timeline", "", warned, ""},
	{"port", "9", same, "base-url=http://127.0.0.1:9"},
	{"prefix-repetition-num-prefixes", "2", same, "prefix-repetition-num-prefixes=2"},
	{"prefix-repetition-output-len", "2", same, "prefix-repetition-output-len=2"},
	{"prefix-repetition-prefix-len", "2", same, "prefix-repetition-prefix-len=2"},
	{"prefix-repetition-suffix-len", "2", same, "prefix-repetition-suffix-len=2"},
	{"presence-penalty", "-1", same, `extra-body={"presence_penalty":-1}`},
	{"probe-request-rate", "0.5", same, "probe-request-rate=0.5"},
	{"profile", "", warned, ""},
	{"ramp-up-end-rps", "9", fixed, "ramp-up-end-rps=9"},
	{"ramp-up-start-rps", "1", fixed, "ramp-up-start-rps=1"},
	{"ramp-up-strategy", "linear", fixed, "ramp-up-strategy=linear"},
	{"random-batch-size", "1", warned, ""},
	{"random-input-len", "3", same, "random-input-len=3"},
	{"random-mm-base-items-per-request", "1", warned, ""},
	{"random-mm-bucket-config", "{}", warned, ""},
	{"random-mm-limit-mm-per-prompt", "{}", warned, ""},
	{"random-mm-num-mm-items-range-ratio", "0", warned, ""},
	{"random-output-len", "3", same, "random-output-len=3"},
	{"random-prefix-len", "3", same, "random-prefix-len=3"},
	{"random-range-ratio", "0.3", same, "random-range-ratio=0.3"},
	{"random-range-ratio", `{"input":0.3,"output":0}`, same, `random-range-ratio={"input":0.3,"output":0}`},
	{"ready-check-timeout-sec", "3", fixed, "ready-check-timeout-sec=3"},
	{"repetition-penalty", "1.1", same, `extra-body={"repetition_penalty":1.1}`},
	{"request-id-prefix", "x-", same, "request-id-prefix=x-"},
	{"request-rate", "inf", fixed, "request-rate=inf"},
	{"result-dir", "d", same, "result-dir=d"},
	{"result-filename", "f", same, "result-filename=f"},
	{"save-detailed", "", same, "save-detailed=true"},
	{"save-result", "", same, "save-result=true"},
	{"seed", "0", same, "seed=0"},
	{"self-timed", "", same, "arrival=trace"},
	{"served-model-name", "m", same, "model=m"},
	{"sharegpt-output-len", "3", same, "sharegpt-output-len=3"},
	{"skip-chat-template", "", warned, ""},
	{"skip-tokenizer-init", "", warned, ""},
	{"sonnet-input-len", "1", same, ""}, // beside --dataset-name sonnet only: TestSonnet
	{"sonnet-output-len", "1", same, ""},
	{"sonnet-prefix-len", "1", same, ""},
	{"spec-bench-category", "x", warned, ""},
	{"spec-bench-output-len", "1", warned, ""},
	{"speed-bench-category", "x", warned, ""},
	{"speed-bench-dataset-subset", "x", warned, ""},
	{"speed-bench-output-len", "1", warned, ""},
	{"temperature", "0.7", same, `extra-body={"temperature":0.7}`},
	{"timed-trace-chunk-hash-size", "32", fixed, "timed-trace-chunk-hash-size=32"},
	{"timed-trace-label-hash-ids", "h", fixed, "timed-trace-label-hash-ids=h"},
	{"timed-trace-label-input-length", "h", fixed, "timed-trace-label-input-length=h"},
	{"timed-trace-label-output-length", "h", fixed, "timed-trace-label-output-length=h"},
	{"timed-trace-label-timestamp", "h", fixed, "timed-trace-label-timestamp=h"},
	{"timed-trace-sec-multiplier", "0.001", fixed, "timed-trace-sec-multiplier=0.001"},
	{"timeline-itl-thresholds", "25,50", warned, ""},
	{"tokenizer", "t", warned, ""},
	{"tokenizer-mode", "hf", warned, ""},
	{"top-k", "5", same, `extra-body={"top_k":5}`},
	{"top-p", "0.9", same, `extra-body={"top_p":0.9}`},
	{"trust-remote-code", "", warned, ""},
	{"use-beam-search", "", same, `extra-body={"use_beam_search":true}`},
}

// parse resolves a command line of goodput run as far as the plan.
func parse(args ...string) (plan.Plan, *planFlags, error) {
	c := &cobra.Command{Use: "run", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
	f := newPlanFlags(c, "load", "dataset", "target", "hardware", "pool", "routers", "speed", "engine", "result", "output")
	f.addVLLM(c)
	if err := c.ParseFlags(spread(args)); err != nil {
		return plan.Plan{}, f, err
	}
	p, err := f.resolve(&Env{Getenv: func(string) string { return "" }}, func(*plan.Plan) error { return nil })
	return p, f, err
}

func (c parity) args() []string {
	if c.value == "" {
		return []string{"--" + c.flag}
	}
	return []string{"--" + c.flag + "=" + c.value}
}

func TestParityWithVLLM(t *testing.T) {
	for _, c := range parities {
		t.Run(c.flag, func(t *testing.T) {
			p, f, err := parse(c.args()...)
			switch {
			case c.mark == pending:
				if err == nil {
					t.Fatal("it is offered by now: say what it maps to")
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			var warnings bytes.Buffer
			f.warnIgnored(&warnings)
			if got := strings.HasPrefix(warnings.String(), "goodput: --"+c.flag+" changes nothing: "); got != (c.mark == warned) {
				t.Errorf("warnings are %q", warnings.String())
			}
			got := differences(&p)
			want := map[string]string{}
			for item := range strings.FieldsSeq(c.want) {
				k, v, _ := strings.Cut(item, "=")
				want[k] = v
			}
			for k, v := range want {
				if def := plan.Default(); get(&def, k) == v {
					delete(want, k) // the default, typed
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// vLLM's sonnet is a random dataset with a prefix that all prompts share.
func TestSonnet(t *testing.T) {
	for args, want := range map[string]string{
		"--dataset-name sonnet": "random-prefix-len=200 random-input-len=350 random-output-len=150",
		"--dataset-name sonnet --dataset-path sonnet.txt --sonnet-input-len 1000 --sonnet-prefix-len 0 --sonnet-output-len 9": "random-prefix-len=0 random-input-len=1000 random-output-len=9",
		"--input-len 700 --output-len 8 --dataset-name sonnet":                                                                "random-prefix-len=200 random-input-len=500 random-output-len=8",
	} {
		p, _, err := parse(strings.Fields(args)...)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if p.DatasetName != "random" || p.DatasetPath != "" {
			t.Errorf("%s: dataset %s of %q", args, p.DatasetName, p.DatasetPath)
		}
		for item := range strings.FieldsSeq(want) {
			key, text, _ := strings.Cut(item, "=")
			if got := get(&p, key); got != text {
				t.Errorf("%s: %s is %s, want %s", args, key, got, text)
			}
		}
	}
	for _, args := range []string{"--dataset-name sonnet --sonnet-input-len 200", "--dataset-name sonnet --sonnet-output-len many"} {
		if _, _, err := parse(strings.Fields(args)...); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

// differences are the fields of p that are not as by default.
func differences(p *plan.Plan) map[string]string {
	out, def := map[string]string{}, plan.Default()
	for _, f := range plan.Fields() {
		if got := f.Get(p); got != f.Get(&def) {
			out[f.Key] = got
		}
	}
	return out
}

func get(p *plan.Plan, key string) string {
	for _, f := range plan.Fields() {
		if f.Key == key {
			return f.Get(p)
		}
	}
	return ""
}

// Every hidden flag is in the table above, and on the page of help; those with a fixed
// meaning are said to be so there or in their own help.
func TestVLLMFlagsAreTold(t *testing.T) {
	known := map[string]mark{}
	for _, c := range parities {
		known[c.flag] = c.mark
	}
	page := newVLLMTopic().Long
	for _, f := range vllmFlags() {
		if _, ok := known[f.name]; !ok {
			t.Errorf("--%s is no flag of vllm bench serve", f.name)
		}
		if !strings.Contains(page, "--"+f.name+" ") || f.says == "" {
			t.Errorf("--%s is not explained", f.name)
		}
	}
	for _, word := range []string{"--request-rate", "--goodput", "--num-warmups", "--metric-percentiles", "--rescale vllm"} {
		if !strings.Contains(page, word) {
			t.Errorf("the page does not mention %s", word)
		}
	}
}

func TestCommandLineOfVLLM(t *testing.T) {
	p, f, err := parse(strings.Fields(`--backend vllm --host ::1 --port 8001 --model m --tokenizer t --dataset-name random
		--random-input-len 512 --num-prompts 10 --request-rate 4 --goodput ttft:500 tpot:50 --header a=b c=d --metadata x=y z=w
		--temperature 0.5 --top-p 0.9 --extra-body {"top_p":0.8} --save-result --num-warmups 2`)...)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(p.BaseURL, " ") != "http://[::1]:8001" || strings.Join(p.Goodput, " ") != "ttft:500 tpot:50" || len(p.Header) != 2 || len(p.Metadata) != 2 || p.Warmup != "2req" {
		t.Errorf("plan is %+v", p)
	}
	fields, err := extraFields(&p)
	if err != nil || len(fields) != 2 || string(fields[1].Value) != "0.8" {
		t.Errorf("body gets %v, %v", fields, err)
	}
	if len(f.ignored) != 1 || f.ignored[0].name != "tokenizer" {
		t.Errorf("ignored %v", f.ignored)
	}
	for args, want := range map[string]string{
		"--host h --base-url http://x": "give one of the two",
		"--num-warmups many":           "not a number of requests",
		"--temperature hot":            "not a number",
		"--chat-template-kwargs {":     "no value of JSON",
	} {
		if _, _, err := parse(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
