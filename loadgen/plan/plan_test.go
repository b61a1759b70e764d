package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLoadIsStrict(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"unknown key", "request-rate: 8\nrequest-rat: 9\n", []string{"f.yaml", "2:1", "request-rat"}},
		{"doubled key", "seed: 1\nseed: 2\n", []string{"f.yaml", "seed"}},
		{"wrong type", "num-prompts: many\n", []string{"f.yaml", "1:14"}},
		{"leading zero", "seed: 1\nnum-prompts: 010\n", []string{"f.yaml:2", "010", "leading zero"}},
		{"negative rate", "request-rate: -1\n", []string{"f.yaml", "-1", "non-negative number or inf"}},
		{"not a number", "request-rate: nan\n", []string{"f.yaml", "nan"}},
		{"speed zero", "speed: 0\n", []string{"f.yaml", "never ends"}},
		{"duration without unit", "duration: 5x\n", []string{"f.yaml", "5x"}},
		{"list for a scalar", "seed: [1, 2]\n", []string{"f.yaml", "1:7"}},
		{"list for a number that may be inf", "seed: 1\nrequest-rate: [8]\n", []string{"f.yaml", "2:15", "one value"}},
		{"map for a value", "request-rate: {a: 1}\n", []string{"f.yaml", "1:15", "plain"}},
		{"fraction of a replica", "replicas: 2.5\n", []string{"f.yaml", "1:11", "2.5", "whole number"}},
		{"infinity of YAML", "request-rate: .inf\n", []string{"f.yaml", "1:15", ".inf"}},
		{"no value", "seed: 1\nreplicas:\n", []string{"f.yaml", "2:", "no value"}},
		{"null", "replicas: ~\n", []string{"f.yaml", "1:11", "no value"}},
		{"null in a list", "goodput: [ttft:5, ~]\n", []string{"f.yaml", "1:19", "no value"}},
		{"two documents", "seed: 1\n---\nreplicas: 2\n", []string{"f.yaml", "3:", "second document"}},
		{"no map", "- seed\n", []string{"f.yaml", "1:1", "key: value"}},
		{"anchor", "seed: &x 1\n", []string{"f.yaml", "1:7", "plain"}},
		{"merge", "<<: {seed: 1}\n", []string{"f.yaml", "1:1", "unknown key"}},
		{"not YAML", "{{{\n", []string{"f.yaml"}},
		{"too long", strings.Repeat("#\n", MaxFile), []string{"f.yaml", "limit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Default()
			err := Load(&p, "f.yaml", []byte(c.text))
			if err == nil {
				t.Fatalf("accepted; plan is %+v", p)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not mention %q", err, w)
				}
			}
		})
	}
}

func TestLoadKeepsWhatTheTextLeavesOut(t *testing.T) {
	p := Default()
	p.Replicas = 7
	if err := Load(&p, "f", []byte("request-rate: inf\nduration: 90s\nspeed: max\nengine.block-size: 32\n")); err != nil {
		t.Fatal(err)
	}
	if !p.RequestRate.Inf() || p.Duration != 90*time.Second || !p.Speed.Virtual() || p.EngineBlockSize != 32 || p.Replicas != 7 {
		t.Errorf("got %+v", p)
	}
	if err := Load(&p, "f", []byte("goodput: ttft:5\n")); err != nil || !cmp.Equal(p.Goodput, []string{"ttft:5"}) {
		t.Errorf("one item for a list: %v, %v", p.Goodput, err)
	}
	if err := Load(&p, "f", []byte("goodput: [tpot:6]\n")); err != nil || !cmp.Equal(p.Goodput, []string{"tpot:6"}) {
		t.Errorf("a later list replaces the one before: %v, %v", p.Goodput, err)
	}
	before := p
	for _, text := range []string{"", "\n", "# nothing\n", "---\n"} {
		if err := Load(&p, "f", []byte(text)); err != nil || !cmp.Equal(before, p) {
			t.Errorf("text %q: err %v, plan %+v", text, err, p)
		}
	}
}

// genPlan draws plans whose every field has a text form.
func genPlan(t *rapid.T) Plan {
	p := Default()
	for _, f := range Fields() {
		v := reflect.ValueOf(&p).Elem().Field(f.index)
		switch v.Interface().(type) {
		case string:
			v.SetString(rapid.StringMatching(`[a-z0-9/:#. '"-]{0,12}`).Draw(t, f.Key))
		case []string:
			if n := rapid.IntRange(0, 3).Draw(t, f.Key+" items"); n > 0 {
				v.Set(reflect.ValueOf(rapid.SliceOfN(rapid.StringMatching(`[a-z_]{1,5}:[0-9]{1,4}`), n, n).Draw(t, f.Key)))
			}
		case bool:
			v.SetBool(rapid.Bool().Draw(t, f.Key))
		case int:
			v.SetInt(int64(rapid.IntRange(0, 1<<31-1).Draw(t, f.Key)))
		case uint64:
			v.SetUint(rapid.Uint64().Draw(t, f.Key))
		case float64, Rate, Speed, Share:
			v.SetFloat(rapid.Float64Range(0, 1e9).Draw(t, f.Key))
		case Ratios:
			both := rapid.SliceOfN(rapid.Float64Range(0, 1e9), 2, 2).Draw(t, f.Key)
			v.Set(reflect.ValueOf(Ratios{both[0], both[rapid.IntRange(0, 1).Draw(t, f.Key+" both")]}))
		case time.Duration:
			v.SetInt(rapid.Int64Range(0, 1e15).Draw(t, f.Key))
		default:
			t.Fatalf("field %s has type %v, which this test does not draw", f.Key, v.Type())
		}
	}
	p.Header = nil // its values are not written
	return p
}

func TestYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPlan(t)
		text, err := p.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var q Plan
		if err := Load(&q, "plan.yaml", text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(p, q); d != "" {
			t.Fatalf("plan changed (-written +read):\n%s\n%s", d, text)
		}
		if p.Hash() != q.Hash() {
			t.Fatalf("hash changed: %s %s", p.Hash(), q.Hash())
		}
	})
}

func TestFieldsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPlan(t)
		var q Plan
		for _, f := range Fields() {
			if f.List {
				for _, item := range strings.Fields(f.Get(&p)) {
					if err := f.Set(&q, item); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			if err := f.Set(&q, f.Get(&p)); err != nil {
				t.Fatalf("%s: %v", f.Key, err)
			}
		}
		if d := cmp.Diff(p, q); d != "" {
			t.Fatalf("(-got +set back):\n%s", d)
		}
	})
}

func TestHash(t *testing.T) {
	base := Default()
	for _, f := range Fields() {
		p := Default()
		text := map[string]string{"bool": fmt.Sprint(!strings.Contains(f.Get(&p), "true")), "int": "77", "number": "77", "duration": "77s", "string": "K=77"}[f.Type()]
		if err := f.Set(&p, text); err != nil {
			t.Fatalf("%s: %v", f.Key, err)
		}
		if changed := p.Hash() != base.Hash(); changed != f.Hashed {
			t.Errorf("%s: hash changed %v, hashed %v", f.Key, changed, f.Hashed)
		}
	}
	a, b := base, base
	a.Header, b.Header = []string{"Authorization=one"}, []string{"Authorization=two"}
	if a.Hash() != b.Hash() {
		t.Error("a header's value is part of the hash")
	}
	if text, _ := a.YAML(); strings.Contains(string(text), "one") {
		t.Errorf("a header's value is written:\n%s", text)
	}
}

func TestValidate(t *testing.T) {
	valid := func() Plan { p := Default(); p.RequestRate = 8; return p }
	if p := valid(); p.Validate() != nil {
		t.Fatalf("the valid plan: %v", p.Validate())
	}
	for _, c := range []struct {
		name string
		set  func(*Plan)
		want string
	}{
		{"no rate", func(p *Plan) { p.RequestRate = 0 }, "--request-rate"},
		{"rate too high", func(p *Plan) { p.RequestRate = 1e9 }, "--request-rate"},
		{"burstiness zero", func(p *Plan) { p.Burstiness = 0 }, "--burstiness"},
		{"bad URL", func(p *Plan) { p.BaseURL = []string{"localhost:80"} }, "--base-url"},
		{"one bad URL of two", func(p *Plan) { p.BaseURL = []string{"http://h:80", ""} }, "--base-url"},
		{"HTTP/2 without URL", func(p *Plan) { p.HTTP2 = true }, "--http2"},
		{"password in URL", func(p *Plan) { p.BaseURL = []string{"http://u:hunter2@h:80"} }, "--base-url"},
		{"speed with URL", func(p *Plan) { p.BaseURL, p.Speed = []string{"http://h:80"}, 2 }, "--speed"},
		{"no replicas", func(p *Plan) { p.Replicas = 0 }, "--replicas"},
		{"prefill alone", func(p *Plan) { p.PrefillReplicas = 2 }, "--decode-replicas"},
		{"decode alone", func(p *Plan) { p.DecodeReplicas = 2 }, "--prefill-replicas"},
		{"a wrong sum", func(p *Plan) { p.PrefillReplicas, p.DecodeReplicas = 2, 3 }, "--replicas"},
		{"a link for nobody", func(p *Plan) { p.KVTransferBandwidth = 10 }, "--kv-transfer-bandwidth"},
		{"latency below zero", func(p *Plan) { p.KVTransferLatency = -1 }, "--kv-transfer-latency"},
		{"no GPU", func(p *Plan) { p.TP = 0 }, "--tp"},
		{"jitter", func(p *Plan) { p.EngineStepJitter = 1.5 }, "--engine.step-jitter"},
		{"unknown drafter", func(p *Plan) { p.EngineSpecMethod, p.EngineSpecTokens = "medusa", 3 }, "--engine.speculative-method"},
		{"no drafts", func(p *Plan) { p.EngineSpecMethod = "eagle" }, "--engine.num-speculative-tokens"},
		{"many drafts", func(p *Plan) { p.EngineSpecMethod, p.EngineSpecTokens = "eagle", 33 }, "--engine.num-speculative-tokens"},
		{"drafts of nobody", func(p *Plan) { p.EngineSpecTokens = 3 }, "--engine.num-speculative-tokens"},
		{"acceptance of nobody's drafts", func(p *Plan) { p.EngineSpecRates = "0.5" }, "--engine.speculative-acceptance"},
		{"no draft model", func(p *Plan) { p.EngineSpecMethod, p.EngineSpecTokens = "draft_model", 3 }, "--engine.speculative-model"},
		{"model of a layer", func(p *Plan) {
			p.EngineSpecMethod, p.EngineSpecTokens, p.EngineSpecModel = "eagle", 3, "llama-3.2-1b"
		}, "--engine.speculative-model"},
		{"unknown workload", func(p *Plan) { p.EngineSpecWorkload = "poems" }, "--engine.speculative-workload"},
		{"no share", func(p *Plan) { p.EngineSpecRates = "0.8,1.2" }, "--engine.speculative-acceptance"},
		{"empty share", func(p *Plan) { p.EngineSpecRates = "0.8," }, "--engine.speculative-acceptance"},
		{"spread of a workload", func(p *Plan) { p.EngineSpecSpread = 0.1 }, "--engine.speculative-acceptance-spread"},
		{"n-grams ahead", func(p *Plan) { p.EngineSpecMethod, p.EngineSpecTokens = "ngram", 3 }, "--engine.async-scheduling"},
		{"negative prompts", func(p *Plan) { p.NumPrompts = -5 }, "--num-prompts"},
		{"empty prompt", func(p *Plan) { p.PrefixLen, p.SuffixLen = 0, 0 }, "--prefix-repetition-suffix-len"},
		{"range ratio", func(p *Plan) { p.RandomRange.Input = 1 }, "--random-range-ratio"},
		{"unknown dataset", func(p *Plan) { p.DatasetName = "sharegtp" }, "--dataset-name"},
		{"trace without file", func(p *Plan) { p.DatasetName = "azure" }, "--dataset-path"},
		{"file without trace", func(p *Plan) { p.DatasetPath = "x" }, "--dataset-path"},
		{"trace arrivals of a generator", func(p *Plan) { p.Arrival = "trace" }, "--arrival"},
		{"infinite without number", func(p *Plan) { p.RequestRate = Rate(inf()); p.Duration = time.Second }, "--num-prompts"},
		{"negative duration", func(p *Plan) { p.Duration = -1 }, "--duration"},
		{"one block", func(p *Plan) { p.EngineNumGPUBlocks = 1 }, "--engine.num-gpu-blocks"},
		{"header without value", func(p *Plan) { p.Header = []string{"X-Key"} }, "--header"},
		{"header value with a line break", func(p *Plan) { p.Header = []string{"A=hunter2\r\nB: 1"} }, "--header"},
		{"no memory", func(p *Plan) { p.EngineGPUMemory = 0 }, "--engine.gpu-memory-utilization"},
		{"header injection", func(p *Plan) { p.Header = []string{"A\r\nB=1"} }, "--header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := valid()
			c.set(&p)
			err := p.Validate()
			if err == nil || !strings.Contains(err.Error(), c.want+":") {
				t.Fatalf("got %v, want an error about %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

func inf() float64 { var r Rate; _ = r.UnmarshalText([]byte("inf")); return float64(r) }

func TestWithDefaults(t *testing.T) {
	for _, c := range []struct {
		name        string
		set         func(*Plan)
		timed       bool
		rows        int
		wantArrival string
		wantN       int
	}{
		{"generator", func(*Plan) {}, false, 0, "poisson", DefaultNumPrompts},
		{"bursty", func(p *Plan) { p.Burstiness = 0.5 }, false, 0, "gamma", DefaultNumPrompts},
		{"constant", func(p *Plan) { p.Burstiness = Rate(inf()) }, false, 0, "constant", DefaultNumPrompts},
		{"trace", func(*Plan) {}, true, 42, "trace", 42},
		{"part of a trace", func(p *Plan) { p.NumPrompts = 5 }, true, 42, "trace", 5},
		{"by duration", func(p *Plan) { p.Duration = time.Minute }, false, 0, "poisson", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Default()
			c.set(&p)
			got := p.WithDefaults(c.timed, c.rows)
			if got.Arrival != c.wantArrival || got.NumPrompts != c.wantN || got.Endpoint != "/v1/completions" {
				t.Errorf("got arrival %q, num-prompts %d, endpoint %q", got.Arrival, got.NumPrompts, got.Endpoint)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("request-rate: 8\n"))
	f.Add([]byte("goodput: [\"ttft:2000\", tpot:50]\nspeed: max\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Add([]byte("seed: 18446744073709551616\n"))
	if files, _ := filepath.Glob("testdata/*.yaml"); files != nil {
		for _, name := range files {
			if b, err := os.ReadFile(name); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := Default()
		if Load(&p, "fuzz", text) != nil || p.Validate() != nil {
			return
		}
		out, err := p.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var q Plan
		if err := Load(&q, "again", out); err != nil {
			t.Fatalf("a valid plan does not read back: %v\n%s", err, out)
		}
	})
}

func ExampleLoad() {
	p := Default()
	err := Load(&p, "run.yaml", []byte("request-rate: 8\nreplicas: 2\n"))
	fmt.Println(p.RequestRate, p.Replicas, p.Router, err)
	// Output: 8 2 round-robin <nil>
}
