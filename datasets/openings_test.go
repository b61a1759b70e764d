package datasets_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/datasets/agent"
)

// TestOpenings: item i is the first request of session i, and sets that are joined to it
// keep theirs.
func TestOpenings(t *testing.T) {
	c, err := agent.Preset("smoke")
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := agent.New(c, 9, 3)
	if err != nil {
		t.Fatal(err)
	}
	o := datasets.NewOpenings(sessions, sessions)
	both, err := datasets.Join(randomSet(t, 4, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Len() != 9 || both.Len() != 13 || o.Timed() || o.PrefixesUnknown() || o.String() != sessions.String() {
		t.Errorf("%d openings, %d items, named %s", o.Len(), both.Len(), o)
	}
	var it, joined datasets.Item
	var s datasets.Session
	for i := range o.Len() {
		o.Item(i, &it)
		both.Item(4+i, &joined)
		sessions.Session(i, &s)
		first := &s.Threads[0].Steps[0]
		if diff := cmp.Diff(first.Append, it.Prompt); diff != "" || it.In != first.In || it.Out != first.Out || it.Session != s.ID {
			t.Errorf("opening %d is %+v: %s", i, it, diff)
		}
		if diff := cmp.Diff(it.Prompt, joined.Prompt); diff != "" || joined.Session != s.ID|1<<48 {
			t.Errorf("joined opening %d is %+v: %s", i, joined, diff)
		}
	}
}

func ExampleNewOpenings() {
	c, _ := agent.Preset("smoke")
	sessions, _ := agent.New(c, 2, 1)
	o := datasets.NewOpenings(sessions, sessions)
	var it datasets.Item
	o.Item(1, &it)
	fmt.Println(o.Len(), it.Session)
	// Output: 2 2
}
