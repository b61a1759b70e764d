package steptime_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/steptime"
	"goodput/profiles"
)

func TestAdapterCost(t *testing.T) {
	text, err := os.ReadFile("../../profiles/testdata/complete.yaml")
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := profiles.ParseGPU("complete", text)
	if err != nil {
		t.Fatal(err)
	}
	model, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	a, err := steptime.New(gpu, model, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	us := func(ps int64) time.Duration { return time.Duration(ps / 1000).Round(100 * time.Nanosecond) }
	c := a.Adapter(16) // 83.9 MB
	got := []time.Duration{us(c.Fetch), us(c.Load), us(c.Step), us(c.Each), us(1000 * c.Token), us(a.Copy(100, 16))}
	want := []time.Duration{
		83_886_100, // at 1 GB/s
		1_508_700,  // at 55.6 GB/s
		512_000,    // 32 layers of 8 kernels of 2 us
		27_800,     // at 0.9 of 3.35 TB/s
		121_100,    // 1,000 tokens at 0.7 of 989.5 TFLOP/s
		3_771_900,  // 1,600 tokens of 128 KiB
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
