package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// vllmFlag is a flag of `vllm bench serve` that is none of a plan's own.
type vllmFlag struct {
	name string
	bool bool
	// says is what becomes of it.
	says string
	// set gives fields of the plan their text, by key; nil: the flag changes nothing,
	// and a warning says so.
	set func(value string) (map[string]string, error)
}

// vllmFlags are those that users of that program type from memory. Its flags are listed
// in rust/src/bench/tests/python_serve_flags.txt of its repository, and their meaning is
// that of add_cli_args in vllm/benchmarks/serve.py and datasets/datasets.py.
func vllmFlags() []vllmFlag {
	return slices.Concat(aliases(), sampling(), ignored())
}

// aliases say something that a plan says by another name.
func aliases() []vllmFlag {
	to := func(keys ...string) func(string) (map[string]string, error) {
		return func(value string) (map[string]string, error) {
			out := map[string]string{}
			for _, k := range keys {
				out[k] = value
			}
			return out, nil
		}
	}
	always := func(key, value string) func(string) (map[string]string, error) {
		return func(text string) (map[string]string, error) {
			on, err := strconv.ParseBool(text)
			if err != nil || !on {
				return nil, err
			}
			return map[string]string{key: value}, nil
		}
	}
	return []vllmFlag{
		{name: "host", says: "with --port, in place of --base-url; 127.0.0.1 unless given", set: to(hostKey)},
		{name: "port", says: "with --host, in place of --base-url; 8000 unless given", set: to(portKey)},
		{name: "served-model-name", says: "--model: the name on the wire is the only one that is needed", set: to("model")},
		{name: "input-len", says: "--random-input-len and --sonnet-input-len", set: to("random-input-len", sonnetIn)},
		{name: "output-len", says: "--random-output-len, --prefix-repetition-output-len, --custom-output-len, --sharegpt-output-len and --sonnet-output-len", set: to("random-output-len", "prefix-repetition-output-len", "custom-output-len", "sharegpt-output-len", sonnetOut)},
		{name: "sonnet-input-len", says: "with --dataset-name sonnet, which is random with --random-prefix-len and what is left of this as --random-input-len; 550 unless given", set: to(sonnetIn)},
		{name: "sonnet-output-len", says: "with --dataset-name sonnet, --random-output-len; 150 unless given", set: to(sonnetOut)},
		{name: "sonnet-prefix-len", says: "with --dataset-name sonnet, --random-prefix-len; 200 unless given. The lines of its file are not read: prompts are as long, and share as much", set: to(sonnetPrefix)},
		{name: "num-warmups", says: "--warmup Nreq: prompts of their own, and not the first one of the load again, which would then be cached", set: func(v string) (map[string]string, error) {
			n, err := strconv.ParseUint(v, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%q is not a number of requests", v)
			}
			return map[string]string{"warmup": strconv.FormatUint(n, 10) + "req"}, nil
		}},
		{name: "self-timed", bool: true, says: "--arrival trace, the default of a dataset with timestamps", set: always("arrival", "trace")},
		{name: "no-self-timed", bool: true, says: "--arrival poisson, at --request-rate", set: always("arrival", "poisson")},
	}
}

// sampling are fields of a request's body.
func sampling() []vllmFlag {
	field := func(flag, key, says string) vllmFlag {
		return vllmFlag{name: flag, says: says, set: func(value string) (map[string]string, error) {
			if !json.Valid([]byte(value)) {
				return nil, fmt.Errorf("%q is no value of JSON", value)
			}
			name, err := json.Marshal(key)
			return map[string]string{"extra-body": "{" + string(name) + ":" + value + "}"}, err
		}}
	}
	number := func(flag string) vllmFlag {
		key := strings.ReplaceAll(flag, "-", "_")
		f := field(flag, key, "field "+key+" of the body; without, the server decides")
		set := f.set
		f.set = func(value string) (map[string]string, error) {
			if _, err := strconv.ParseFloat(value, 64); err != nil {
				return nil, fmt.Errorf("%q is not a number", value)
			}
			return set(value)
		}
		return f
	}
	temperature := number("temperature")
	temperature.says = "field temperature of the body; without, 0 is sent (vllm bench serve leaves it to the server)"
	beam := field("use-beam-search", "use_beam_search", "field use_beam_search of the body")
	beam.bool = true
	return []vllmFlag{
		temperature, number("top-p"), number("top-k"), number("min-p"),
		number("frequency-penalty"), number("presence-penalty"), number("repetition-penalty"), number("logprobs"), beam,
		field("chat-template-kwargs", "chat_template_kwargs", "field chat_template_kwargs of the body"),
	}
}

// ignored are accepted, so that a command line of that program runs.
func ignored() []vllmFlag {
	const tokens = "no tokenizer runs here: prompts are of words that are one token each, and answers are counted by the server"
	const fixed = "datasets are no larger than asked for, and are repeated only by --trace-loop"
	out := []vllmFlag{
		{name: "tokenizer", says: tokens},
		{name: "tokenizer-mode", says: tokens},
		{name: "skip-tokenizer-init", bool: true, says: tokens},
		{name: "trust-remote-code", bool: true, says: tokens},
		{name: "disable-tqdm", bool: true, says: "there is no bar: send stderr to /dev/null for silence"},
		{name: "no-oversample", bool: true, says: fixed},
		{name: "skip-chat-template", bool: true, says: "prompts are sent as they are, and templates are the server's"},
		{name: "profile", bool: true, says: "profilers of the server are not driven: call /start_profile yourself"},
		{name: "plot-timeline", bool: true, says: "plot from requests-*.parquet of the run"},
		{name: "timeline-itl-thresholds", says: "nothing is plotted"},
		{name: "plot-dataset-stats", bool: true, says: "goodput dataset describe prints them"},
		{name: "random-batch-size", says: "each request holds one input"},
	}
	for _, group := range []struct{ names, why string }{
		{"hf-name hf-subset hf-split hf-output-len", "datasets of Hugging Face are not downloaded: give a file with --dataset-path"},
		{"spec-bench-category spec-bench-output-len speed-bench-category speed-bench-dataset-subset speed-bench-output-len blazedit-max-distance blazedit-min-distance bfcl-categories", "that dataset is not offered: give a file with --dataset-path"},
		{"asr-max-audio-len-sec asr-min-audio-len-sec random-mm-base-items-per-request random-mm-bucket-config random-mm-limit-mm-per-prompt random-mm-num-mm-items-range-ratio", "prompts are text"},
	} {
		for name := range strings.FieldsSeq(group.names) {
			out = append(out, vllmFlag{name: name, says: group.why})
		}
	}
	for name, why := range map[string]string{
		"enable-multimodal-chat": "prompts are text", "no-reranker": "nothing is reranked", "custom-ensure-client-side-data": "data is read as it is",
	} {
		out = append(out, vllmFlag{name: name, bool: true, says: why})
	}
	slices.SortStableFunc(out, func(a, b vllmFlag) int { return strings.Compare(a.name, b.name) })
	return out
}

// hostKey and portKey are kept beside the plan's fields until an address is made of them,
// and those of sonnet until they are the lengths of a random dataset.
const (
	hostKey, portKey                  = " host", " port"
	sonnetIn, sonnetOut, sonnetPrefix = " sonnet-input-len", " sonnet-output-len", " sonnet-prefix-len"
)

// vllmValue hands the text of a flag on to the fields that it sets.
type vllmValue struct {
	f     vllmFlag
	flags *planFlags
}

func (v *vllmValue) String() string { return "" }
func (v *vllmValue) Type() string {
	if v.f.bool {
		return "bool"
	}
	return "string"
}

func (v *vllmValue) Set(s string) error {
	if v.f.set == nil {
		v.flags.ignored = append(v.flags.ignored, v.f)
		return nil
	}
	fields, err := v.f.set(s)
	if err != nil {
		return err
	}
	for key, text := range fields {
		if err := v.flags.give(key, text); err != nil {
			return err
		}
	}
	return nil
}

// addVLLM registers the flags of vllm bench serve, outside of the help page.
func (p *planFlags) addVLLM(c *cobra.Command) {
	for _, f := range vllmFlags() {
		c.Flags().Var(&vllmValue{f, p}, f.name, f.says)
		flag := c.Flags().Lookup(f.name)
		flag.Hidden = true
		if f.bool {
			flag.NoOptDefVal = "true"
		}
	}
}

// address makes --base-url of --host and --port.
func (p *planFlags) address() error {
	host, port := p.flag(hostKey), p.flag(portKey)
	if host == "" && port == "" {
		return nil
	}
	if p.flag("base-url") != "" {
		return fmt.Errorf("--host, --port: --base-url says where the server is: give one of the two")
	}
	if port == "" {
		port = "8000"
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return p.give("base-url", "http://"+net.JoinHostPort(strings.Trim(host, "[]"), port))
}

// sonnet makes a random dataset of vLLM's sonnet: prompts of one length that begin with the
// same lines.
func (p *planFlags) sonnet() error {
	if p.flag("dataset-name") != "sonnet" {
		return nil
	}
	n := map[string]int{sonnetIn: 550, sonnetOut: 150, sonnetPrefix: 200}
	for _, key := range []string{sonnetIn, sonnetOut, sonnetPrefix} {
		text := p.flag(key)
		if text == "" {
			continue
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 {
			return fmt.Errorf("--%s: %q is not a number of tokens", strings.TrimSpace(key), text)
		}
		n[key] = v
	}
	if n[sonnetIn] <= n[sonnetPrefix] {
		return fmt.Errorf("--sonnet-input-len: %d tokens are no more than the %d of --sonnet-prefix-len: nothing would be left of a prompt", n[sonnetIn], n[sonnetPrefix])
	}
	delete(p.given, "dataset-path")
	for _, f := range []struct {
		key  string
		text int
	}{{"random-prefix-len", n[sonnetPrefix]}, {"random-input-len", n[sonnetIn] - n[sonnetPrefix]}, {"random-output-len", n[sonnetOut]}} {
		if err := p.give(f.key, strconv.Itoa(f.text)); err != nil {
			return err
		}
	}
	return p.give("dataset-name", "random")
}

// warnIgnored says what was accepted and changes nothing.
func (p *planFlags) warnIgnored(w io.Writer) {
	for _, f := range p.ignored {
		fmt.Fprintf(w, "goodput: --%s changes nothing: %s\n", f.name, f.says)
	}
}

// spread gives each of the words behind a flag that takes several ones a flag of its
// own, as in --goodput ttft:500 tpot:50. The command has no other words.
func spread(args []string) []string {
	lists := []string{"--goodput", "--header", "--metadata", "--lora-modules"}
	var out []string
	list := "" // the flag whose values follow
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-"):
			list = ""
			if slices.Contains(lists, a) {
				list = a
			}
			out = append(out, a)
		case list != "" && args[i-1] != list:
			out = append(out, list, a)
		default:
			out = append(out, a)
		}
	}
	return out
}

// newVLLMTopic is a page of help: goodput help vllm-flags.
func newVLLMTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString(`goodput run takes the command line of vllm bench serve. Flags of the same name mean the
same; where they measured something wrong there, the help of goodput run says what is
different. The differences that matter:

  --request-rate       must be given; inf is all at once, and is called so. Random gaps are
                       not stretched to end at N/rate, unless you give --rescale vllm
  --goodput            failures count as misses; an answer of one token has no tpot to miss
  --num-warmups        prompts of their own (--warmup)
  --metric-percentiles 50,90,95,99,99.9 unless given
  --save-result        beside the run directory, which holds each request anyway
  --header, --goodput, --metadata and --lora-modules take several words, or may be repeated

These flags have another name here, or set fields of the request's body:

`)
	row := func(f vllmFlag) { fmt.Fprintf(&b, "  --%-24s %s\n", f.name, f.says) }
	for _, f := range slices.Concat(aliases(), sampling()) {
		row(f)
	}
	b.WriteString("\nThese are accepted, change nothing, and a warning says so:\n\n")
	for _, f := range ignored() {
		row(f)
	}
	return &cobra.Command{Use: "vllm-flags", Short: "flags of vllm bench serve that goodput run takes", Long: b.String()}
}
