package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGPUs(t *testing.T) {
	tests := []struct {
		text string
		want []GPUGroup
		err  string
	}{
		{text: "h100-sxm", want: []GPUGroup{{0, "h100-sxm"}}},
		{text: "3*h100-sxm,1*a100-sxm-80gb", want: []GPUGroup{{3, "h100-sxm"}, {1, "a100-sxm-80gb"}}},
		{text: "2*h100-sxm", want: []GPUGroup{{2, "h100-sxm"}}},
		{text: "3*h100-sxm,a100-sxm-80gb", err: "COUNT*PROFILE"},
		{text: "0*h100-sxm", err: "COUNT*PROFILE"},
		{text: "-1*h100-sxm", err: "COUNT*PROFILE"},
		{text: "5000*h100-sxm", err: "COUNT*PROFILE"},
		{text: "3*", err: "COUNT*PROFILE"},
		{text: ",", err: "COUNT*PROFILE"},
		{text: "1*2*x", err: "COUNT*PROFILE"},
		{text: strings.Repeat("1*x,", 64) + "1*x", err: "more than 64 parts"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := GPUs(tt.text)
			if tt.err == "" {
				if d := cmp.Diff(tt.want, got); d != "" || err != nil {
					t.Errorf("%v\n%s", err, d)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestMixedReplicas(t *testing.T) {
	p := Default()
	if p.RequestRate = 1; p.MixedReplicas() != 0 {
		t.Errorf("one profile counts %d replicas", p.MixedReplicas())
	}
	p.GPU, p.Replicas = "3*h100-sxm,1*a100-sxm-80gb", 4
	if err := p.Validate(); err != nil || p.MixedReplicas() != 4 {
		t.Errorf("%d replicas, %v", p.MixedReplicas(), err)
	}
	for flag, change := range map[string]func(p *Plan){
		"--replicas": func(p *Plan) { p.Replicas = 5 },
		"--gpu":      func(p *Plan) { p.PrefillReplicas, p.DecodeReplicas = 2, 2 },
	} {
		q := p
		change(&q)
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v, want a complaint of %s", err, flag)
		}
	}
}

// FuzzGPUs: whatever is read can be counted, and a mix never names an empty profile.
func FuzzGPUs(f *testing.F) {
	for _, s := range []string{"h100-sxm", "3*h100-sxm,1*a100-sxm-80gb", "0*x", ",", "1**", " 2*a , 3*b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := GPUs(text)
		if err != nil {
			return
		}
		for _, g := range groups {
			if len(groups) > 1 && (g.Name == "" || g.Count < 1) || g.Count < 0 {
				t.Fatalf("%q: %+v", text, groups)
			}
		}
		if FirstGPU(text) != groups[0].Name {
			t.Fatalf("%q: the first is %q of %+v", text, FirstGPU(text), groups)
		}
	})
}
