package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RescaleVLLM is the value of Rescale.
const RescaleVLLM = "vllm"

// ownFields are the fields of a body that the load itself decides.
var ownFields = []string{
	"model", "prompt", "messages", "input", "stream", "stream_options", "max_tokens", "max_completion_tokens",
	"max_output_tokens", "min_tokens", "ignore_eos", "priority", "cache_salt",
}

// Body is what ExtraBody adds to each request's body.
func (p *Plan) Body() (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, text := range p.ExtraBody {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
			return nil, fmt.Errorf("%q is no JSON object, such as {\"top_p\":0.9}", text)
		}
		for k, v := range fields {
			if slices.Contains(ownFields, k) {
				return nil, fmt.Errorf("field %s is decided by the load: use the flag for it", k)
			}
			out[k] = v
		}
	}
	return out, nil
}

// checkResult checks what is added to requests, and the result file.
func (p *Plan) checkResult(v *checker) {
	_, err := p.Body()
	v.ok(err == nil, "extra-body", "%v", err)
	v.ok(!strings.ContainsFunc(p.IDPrefix, func(r rune) bool { return r <= ' ' || r > '~' }) && len(p.IDPrefix) <= 128, "request-id-prefix",
		"%q can't begin a header's value: use up to 128 characters that can be seen", p.IDPrefix)
	v.oneOf("check-tokens", p.CheckTokens, "warn", "require", "off")
	v.within("ready-check-timeout-sec", p.ReadyCheck, 0, 86_400)
	for _, m := range p.Metadata {
		v.ok(strings.IndexByte(m, '=') > 0, "metadata", "%q is not KEY=VALUE", m)
	}
	v.ok(!p.AppendResult || p.ResultFilename != "", "append-result", "to which file? give --result-filename: the name by itself is a new one for each run")
	if p.Rescale == "" {
		return
	}
	v.oneOf("rescale", p.Rescale, RescaleVLLM)
	v.ok(p.Duration == 0, "rescale", "the number of requests must be known: give --num-prompts in place of --duration")
	v.ok(p.RequestRate > 0 && !p.RequestRate.Inf() && p.Arrival != "trace" && !IsAgent(p.DatasetName), "rescale", "it is for random gaps at a finite --request-rate")
}
