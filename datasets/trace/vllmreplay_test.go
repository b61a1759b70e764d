package trace

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"goodput/datasets"
)

const replayFile = `index,scheduled_arrival_s,arrival_s,input_tokens,output_tokens,queued_s,prompt_block_ids
0,0.1,0.5,35,3,0.0,0 1
1,0.2,0.75,15,1,0.1,
2,0.3,0.750000001,32,7,0.2,0 9
`

func TestVLLMReplay(t *testing.T) {
	set, err := read(VLLMReplay, strings.NewReader(replayFile), "f", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []datasets.Item
	for i := range set.Len() {
		var it datasets.Item
		set.Item(i, &it)
		got = append(got, it)
	}
	want := []datasets.Item{
		{In: 35, Out: 3, Prefix: 1, Prompt: []datasets.Span{{Tokens: 16}, {Tokens: 16, Private: true}, {Tokens: 3, Private: true}}},
		{In: 15, Out: 1, At: 250 * time.Millisecond, Prompt: []datasets.Span{{Tokens: 15, Private: true}}},
		{In: 32, Out: 7, At: 250*time.Millisecond + 1, Prefix: 1, Prompt: []datasets.Span{{Tokens: 16}, {Tokens: 16, Private: true}}},
	}
	keys := cmp.Options{cmpopts.IgnoreFields(datasets.Item{}, "OutKey"), cmpopts.IgnoreFields(datasets.Span{}, "Key")}
	if diff := cmp.Diff(want, got, keys); diff != "" {
		t.Errorf("want - got +:\n%s", diff)
	}
	if a, b := got[0].Prompt[0].Key, got[2].Prompt[0].Key; a != b {
		t.Errorf("block 0 is %x and %x", a, b)
	}
	seen := map[uint64]bool{}
	for i, it := range got {
		for j, s := range it.Prompt {
			if seen[s.Key] && !(i == 2 && j == 0) {
				t.Errorf("row %d, span %d has the content of another one", i, j)
			}
			seen[s.Key] = true
		}
	}
}

func TestVLLMReplayRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, with, want string }{
		{"empty", replayFile, "", "f: found no rows"},
		{"header only", replayFile[strings.IndexByte(replayFile, '\n')+1:], "", "f: found no rows"},
		{"missing column", "arrival_s,input", "arrived,input", "f:1: header: found no column arrival_s"},
		{"column twice", "queued_s", "arrival_s", "f:1: header: found column arrival_s twice"},
		{"fields", "0,0.1,0.5", "0.1,0.5", "f:2: row: found 6 fields"},
		{"time", "0.5,35", "-0.5,35", `f:2: arrival_s: found "-0.5"`},
		{"no time", "0.5,35", ",35", `f:2: arrival_s: found ""`},
		{"order", "0.750000001", "0.7", "f:4: arrival_s: found a time that is 50ms before the previous"},
		{"no prompt", "0.75,15", "0.75,0", `f:3: input_tokens: found "0"`},
		{"no answer", "15,1", "15,", `f:3: output_tokens: found ""`},
		{"too few ids", "0 1\n", "0\n", "f:2: prompt_block_ids: found 1 ids, expected 2"},
		{"no id", "0 1\n", "0 -1\n", `f:2: prompt_block_ids: found "-1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(replayFile, c.old) {
				t.Fatal(c.old)
			}
			_, err := read(VLLMReplay, strings.NewReader(strings.Replace(replayFile, c.old, c.with, 1)), "f", Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzVLLMReplay(f *testing.F) {
	f.Add([]byte(replayFile))
	f.Add([]byte("prompt_block_ids,output_tokens,input_tokens,arrival_s\n7  7,1,33,0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := read(VLLMReplay, bytes.NewReader(data), "f", Options{})
		if err == nil {
			checkItems(t, set)
		}
	})
}
