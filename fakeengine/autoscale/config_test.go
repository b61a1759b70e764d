package autoscale

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	defaults := Config{Signal: Queue, Target: 5, Min: 1, Max: 8, Every: 15 * time.Second, ColdStart: time.Minute, CoolDown: 5 * time.Minute}
	tests := []struct {
		text string
		want Config
		err  string
	}{
		{text: "queue:max=8", want: defaults},
		{text: "kv:target=0.7,min=2,max=8,every=1s,cold-start=30s,cool-down=0s", want: Config{KV, 0.7, 2, 8, time.Second, 30 * time.Second, 0}},
		{text: "", err: "queue or kv"},
		{text: "cpu:max=8", err: "queue or kv"},
		{text: "queue", err: "max is missing"},
		{text: "queue:max=0", err: "max is missing"},
		{text: "queue:max=8,min=0", err: "from 1"},
		{text: "queue:max=5000", err: "from 1 to 4096"},
		{text: "queue:max=2,min=3", err: "less than min"},
		{text: "queue:max=8,target=0", err: "target is 0"},
		{text: "queue:max=8,target=NaN", err: "target is NaN"},
		{text: "kv:max=8,target=1.5", err: "up to 1"},
		{text: "queue:max=8,every=0s", err: "every is 0s"},
		{text: "queue:max=8,every=15", err: "with a unit"},
		{text: "queue:max=8,cold-start=-1s", err: "cold-start is -1s"},
		{text: "queue:max=8,cool-down=48h", err: "cool-down is 48h"},
		{text: "queue:max=8,max=9", err: "twice"},
		{text: "queue:max=8,size=9", err: `no parameter "size"`},
		{text: "queue:max", err: "write a number"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := Parse(tt.text)
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

// FuzzParse: what is read can be written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"queue:max=8", "kv:target=0.7,min=2,max=8,every=1s,cold-start=30s,cool-down=0s", "queue:max=8,max", ":", "kv:target=1e-300,max=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		if err != nil || again != c {
			t.Fatalf("%q reads %+v, and %q reads %+v, %v", text, c, c.String(), again, err)
		}
	})
}
