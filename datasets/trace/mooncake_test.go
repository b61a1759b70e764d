package trace_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/datasets/trace"
)

// TestMooncakeBlocks gives each distinct key the name of its order of appearance,
// and writes private spans with a star.
func TestMooncakeBlocks(t *testing.T) {
	names := map[uint64]int{}
	var got []string
	for _, it := range items(open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 0)) {
		text := fmt.Sprintf("%v group %d:", it.At, it.Prefix)
		for _, sp := range it.Prompt {
			if _, ok := names[sp.Key]; !ok {
				names[sp.Key] = len(names)
			}
			text += fmt.Sprintf(" %d*%d", names[sp.Key], sp.Tokens)
			if sp.Private {
				text += "*"
			}
		}
		got = append(got, text)
	}
	want := []string{
		"0s group 1: 0*512 1*512 2*276",
		"0s group 1: 0*512 3*512*",
		"3s group 1: 0*512 1*512 4*512 5*364*",
		"3s group 1: 0*512 1*512 2*276",
		"5.999s group 0: 6*13*",
		"9s group 1: 0*512 1*512 4*512 7*512* 8*52*",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMooncakeHits(t *testing.T) {
	s := open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 0)
	hit, full := endlessCache(s)
	if want := 4372. / 7637; hit != want {
		t.Errorf("hit %v, want %v", hit, want)
	}
	if want := 4096. / 7637; full != want {
		t.Errorf("hit of full blocks %v, want %v", full, want)
	}
	for block, want := range map[int]int64{
		512: 4096,
		16:  4096 + 272,              // 276 tokens of the repeated partial block
		1:   4096 + 276 - 1,          // the repeated prompt computes its last token
		256: 4096 + 256,              // the last token is not in a full block
		300: 300 + 900 + 1200 + 1500, // rows 2, 3, 4 and 6 match 512, 1024, 1300 and 1536 tokens
	} {
		got := datasets.Ideal(s, s.Len(), block, nil)
		if diff := cmp.Diff(datasets.IdealHit{Known: true, Tokens: 7637, Hit: want}, got); diff != "" {
			t.Errorf("block %d (-want +got):\n%s", block, diff)
		}
	}
}

// TestMooncakeIDsNameContent: the same id has the same key in another file, in
// another place.
func TestMooncakeIDsNameContent(t *testing.T) {
	row := func(ids string) datasets.Item {
		return items(open(t, trace.Mooncake, write(t, "m.jsonl",
			`{"timestamp":5,"input_length":1024,"output_length":1,"hash_ids":[`+ids+`]}`), 0))[0]
	}
	a, b := row("7, 9223372036854775807"), row("9223372036854775807, 8")
	if a.Prompt[1].Key != b.Prompt[0].Key {
		t.Errorf("%+v and %+v", a, b)
	}
	if a.Prompt[0].Key == a.Prompt[1].Key || a.Prompt[0].Key == b.Prompt[1].Key {
		t.Errorf("different ids have one key: %+v and %+v", a, b)
	}
}

// TestMooncakeBadRows reads each line of a file of bad rows by itself.
func TestMooncakeBadRows(t *testing.T) {
	want := []string{
		"hash_ids: found 2 ids, expected 3, one for each block of 512 tokens of an input_length of 1300",
		`timestamp: found "-1", expected a whole number from 0 to 9223372036854`,
		"row: found the end of the line, expected a JSON object",
		"output_length: found none, expected it in every row",
		`row: found "not", expected a JSON object`,
		`output_length: found "0", expected a whole number from 1 to 268435456`,
	}
	lines := bytes.Split(bytes.TrimSuffix(readFile(t, "testdata/mooncake_bad.jsonl"), []byte("\n")), []byte("\n"))
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i, line := range lines {
		checkMooncakeError(t, string(line)+"\n", ":1: "+want[i])
	}
}

func checkMooncakeError(t *testing.T, text, want string) {
	t.Helper()
	path := write(t, "m.jsonl", text)
	s, err := trace.Open(trace.Mooncake, path, trace.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), path+want) || s != nil {
		t.Errorf("%.200q: got %v, %v, want an error with %q", text, s, err, want)
	}
}

// The fields of a timed trace may have other names, which messages use as well.
func TestTimedTraceLabels(t *testing.T) {
	const usual = `{"timestamp":0.5,"input_length":20,"output_length":3,"hash_ids":[4,5]}` + "\n"
	const other = `{"t":0.5,"in":20,"output_length":3,"blocks":[4,5]}` + "\n"
	labels := trace.Options{TimedTime: "t", TimedIn: "in", TimedIDs: "blocks"}
	renamed, err := trace.Open(trace.TimedTrace, write(t, "other.jsonl", other), labels)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(items(open(t, trace.TimedTrace, write(t, "usual.jsonl", usual), 0)), items(renamed)); diff != "" {
		t.Errorf("usual names (-), others (+):\n%s", diff)
	}
	for text, want := range map[string]string{
		usual:                                    `row: found field "timestamp", expected t, in, output_length and blocks only`,
		`{"t":0,"output_length":3,"blocks":[4]}`: "in: found none, expected it in every row",
		`{"t":0,"in":20,"output_length":3,"blocks":[4]}`:    "blocks: found 1 ids, expected 2, one for each block of 16 tokens of an in of 20",
		`{"t":-1,"in":20,"output_length":3,"blocks":[4,5]}`: "t: found",
	} {
		if _, err := trace.Open(trace.TimedTrace, write(t, "bad.jsonl", text), labels); err == nil || !strings.Contains(err.Error(), ":1: "+want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := trace.Open(trace.TimedTrace, write(t, "same.jsonl", usual), trace.Options{TimedIn: "timestamp"}); err == nil || !strings.Contains(err.Error(), "two fields") {
		t.Errorf("two fields of one name: %v", err)
	}
}

func TestMooncakeErrors(t *testing.T) {
	const good = `{"timestamp": 1, "input_length": 2, "output_length": 3, "hash_ids": [4]}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"order", strings.Replace(good, "1", "5", 1) + good, ":2: timestamp: found a time that is 4ms before the previous row's"},
		{"session dialect", `{"session_id":"a","input_length":2}`, ":1: output_length: found none, expected it in every row"},
		{"delay dialect", good + `{"input_length":2,"delay":1.5}`, ":2: delay: found a row of the dialect with sessions"},
		{"unknown field", `{"text_input":"x"}`, `:1: row: found field "text_input", expected timestamp`},
		{"other case", `{"Timestamp":1}`, `:1: row: found field "Timestamp"`},
		{"twice", `{"timestamp":1,"timestamp":1}`, ":1: timestamp: found it twice"},
		{"fraction", `{"timestamp":1.5}`, `:1: timestamp: found "1.5", expected a whole number`},
		{"exponent", `{"timestamp":1e3}`, `:1: timestamp: found "1e3", expected a whole number`},
		{"text", `{"timestamp":"1"}`, `:1: timestamp: found "\"1\"", expected a whole number`},
		{"null", `{"timestamp":null}`, `:1: timestamp: found "null", expected a whole number`},
		{"object", `{"timestamp":{}}`, `:1: timestamp: found "{", expected a whole number`},
		{"late", `{"timestamp":9223372036855}`, `:1: timestamp: found "9223372036855"`},
		{"no input", `{"input_length":0}`, `:1: input_length: found "0", expected a whole number from 1`},
		{"too long", `{"input_length":268435457}`, `:1: input_length: found "268435457"`},
		{"ids of another kind", `{"hash_ids":{"a":1}}`, `:1: hash_ids: found "{\"a\"", expected an array of whole numbers`},
		{"negative id", `{"hash_ids":[1,-2]}`, `:1: hash_ids: found "-2", expected a whole number from 0`},
		{"endless id", `{"hash_ids":[` + strings.Repeat("9", 100) + `]}`, `:1: hash_ids: found "` + strings.Repeat("9", 60) + `" and 40 bytes more, expected`},
		{"nested ids", `{"hash_ids":[[1]]}`, `:1: hash_ids: found "[1", expected a whole number`},
		{"huge id", `{"hash_ids":[9223372036854775808]}`, `:1: hash_ids: found "9223372036854775808"`},
		{"blocks of 16", `{"timestamp":1,"input_length":40,"output_length":3,"hash_ids":[1,2,3]}`, ":1: hash_ids: found 3 ids, expected 1"},
		{"array", "[1]", `:1: row: found "[1", expected a JSON object`},
		{"cut", `{"timestamp": 1, "input`, ":1: row: found \"\\\"input\", expected a key"},
		{"no comma", `{"timestamp": 1 "input_length":1}`, `:1: row: found "\"input_length\"", expected a comma`},
		{"no comma between ids", `{"hash_ids": [1 2]}`, `:1: hash_ids: found "2", expected a comma`},
		{"no colon", `{"timestamp" 1}`, `:1: row: found "\"timestamp\"", expected a key in quotes and a colon`},
		{"leading zero", `{"timestamp": 01}`, `:1: timestamp: found "01", expected a whole number`},
		{"escaped key", `{"\u0074imestamp": 1}`, `:1: row: found "\"\\u0074imestamp\"", expected a key`},
		{"no end", `{"timestamp": 1`, ":1: row: found the end of the line"},
		{"comma", `{"timestamp": 1,}`, `:1: row: found "}", expected a key in quotes and a colon`},
		{"two objects", strings.TrimSpace(good) + good, `:1: row: found "{\"timestamp\"" after the object, expected one object per line`},
		{"blank line", good + "\n" + good, ":2: row: found the end of the line"},
		{"missing time", `{"input_length": 2, "output_length": 3, "hash_ids": [4]}`, ":1: timestamp: found none"},
		{"missing ids", `{"timestamp":1,"input_length": 2, "output_length": 3}`, ":1: hash_ids: found none"},
	} {
		t.Run(c.name, func(t *testing.T) { checkMooncakeError(t, c.text, c.want) })
	}
}
