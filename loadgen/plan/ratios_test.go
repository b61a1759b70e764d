package plan

import "testing"

func TestRatios(t *testing.T) {
	for text, want := range map[string]Ratios{
		"0": {}, "0.25": {0.25, 0.25}, `{"input":0.5,"output":0}`: {0.5, 0}, ` {"output": 0.1, "input": 0.1}`: {0.1, 0.1},
	} {
		var got, again Ratios
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%s: %s comes back as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "x", "-1", `{"input":0.5}`, `{"input":0.5,"output":0,"x":1}`, `{"input":0.5,"output":0} 1`, `{"input":"a","output":0}`} {
		var got Ratios
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}

// FuzzRatios reads any text: what is accepted survives being written.
func FuzzRatios(f *testing.F) {
	for _, s := range []string{"0", "0.25", `{"input":0.5,"output":0}`, "{}", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, again Ratios
		if got.UnmarshalText([]byte(text)) != nil || !got.valid() {
			return
		}
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Fatalf("%q is %v, which comes back as %v: %v", text, got, again, err)
		}
	})
}
